"""Where an object belongs, and which folders TF Serving reads as one version."""

import hashlib

import pytest

from shared.tfserving.model_files_names import MAX_OBJECT_NAME_BYTES, NoPlace, Place, model_id, named_alike, place, version_number


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("1", 1),
        ("0001", 1),
        ("1700000000", 1_700_000_000),
        ("0", 0),
        ("-1", -1),
        ("+7", 7),
        (" 7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("v1", None),
        ("1.0", None),
        ("1-tmp", None),
        ("1e3", None),
        ("0x1", None),
        ("1_000", None),
        ("\u0661", None),
        ("²", None),
        ("", None),
        (" ", None),
        ("9" * 5_000, None),
    ],
)
def test_the_number_of_a_folder(name: str, number: int | None) -> None:
    assert version_number(name) == number


def test_an_objects_place() -> None:
    found = place("acme-ml-models", "models/ranker/0042/variables/variables.index")
    assert found == Place("acme-ml-models", "models/ranker", "0042", "variables/variables.index")
    assert found.version == 42
    assert found.model_uri == "gs://acme-ml-models/models/ranker"
    assert found.model_id == hashlib.sha256(b"gs://acme-ml-models/models/ranker").hexdigest()[:20] == model_id(found.model_uri)


def test_the_first_part_of_digits_is_the_version() -> None:
    assert place("b", "models/ranker/7/assets/2024/words.txt") == Place("b", "models/ranker", "7", "assets/2024/words.txt")


def test_a_model_at_the_buckets_root() -> None:
    found = place("b", "7/saved_model.pb")
    assert found == Place("b", "", "7", "saved_model.pb")
    assert found.model_uri == "gs://b/"


def test_a_name_with_spaces_accents_and_signs_is_a_name() -> None:
    assert place("b", "models/rang é/1/poids (final)#2.bin") == Place("b", "models/rang é", "1", "poids (final)#2.bin")


def test_what_a_shell_or_yaml_would_read_otherwise_is_a_name() -> None:
    assert place("b", "m$(reboot)/1/a: &b *c") == Place("b", "m$(reboot)", "1", "a: &b *c")


def test_the_longest_name_that_cloud_storage_takes() -> None:
    name = "m/7/" + "x" * (MAX_OBJECT_NAME_BYTES - 4)
    assert isinstance(place("b", name), Place)
    assert place("b", name + "x") is NoPlace.HOSTILE_NAME


def test_a_folders_marker_inside_a_version_has_a_place() -> None:
    assert place("b", "m/1/variables/") == Place("b", "m", "1", "variables/")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("models/ranker/v1/saved_model.pb", NoPlace.NO_VERSION),
        ("models/ranker/1.0/saved_model.pb", NoPlace.NO_VERSION),
        ("models/ranker/1-tmp/saved_model.pb", NoPlace.NO_VERSION),
        ("models/ranker/-1/saved_model.pb", NoPlace.NO_VERSION),
        ("models/ranker/\u0661/saved_model.pb", NoPlace.NO_VERSION),
        ("README.md", NoPlace.NO_VERSION),
        ("models/9223372036854775808/saved_model.pb", NoPlace.VERSION_TOO_LARGE),
        ("models/ranker/7", NoPlace.NO_FILE),
        ("models/ranker/7/", NoPlace.NO_FILE),
        ("models/ranker/7/../8/saved_model.pb", NoPlace.HOSTILE_NAME),
        ("../7/saved_model.pb", NoPlace.HOSTILE_NAME),
        ("models/./7/saved_model.pb", NoPlace.HOSTILE_NAME),
        ("/models/7/saved_model.pb", NoPlace.HOSTILE_NAME),
        ("models//7/saved_model.pb", NoPlace.HOSTILE_NAME),
        ("models/7/variables//", NoPlace.HOSTILE_NAME),
        ("models/7/saved_model.pb\n", NoPlace.HOSTILE_NAME),
        ("models/7/\x00", NoPlace.HOSTILE_NAME),
        ("models/7/\x85", NoPlace.HOSTILE_NAME),
        ("models/7/\u202etxt.bp", NoPlace.HOSTILE_NAME),
        ("models/7/\ud800", NoPlace.HOSTILE_NAME),
        ("", NoPlace.HOSTILE_NAME),
        ("m/7/" + "é" * MAX_OBJECT_NAME_BYTES, NoPlace.HOSTILE_NAME),
    ],
)
def test_an_object_without_a_place(name: str, why: NoPlace) -> None:
    assert place("b", name) is why


def test_folders_that_are_one_number() -> None:
    assert named_alike("1", ["1", "001", "2", "v1", "+1", "001"]) == ("+1", "001")
    assert named_alike("2", ["1", "001", "2"]) == ()
    assert named_alike("v1", ["v1", "v01"]) == ()
