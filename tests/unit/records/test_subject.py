"""The names of services and documents: what is taken, what is refused, and that both directions agree."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.records.subject import DOCUMENT_ID_LIMIT_BYTES, SWEEP_SLOTS, ServiceId, Wake, document_id
from tests.support.builders import RANKER

LETTER = "abcdefghijklmnopqrstuvwxyz"
NAME = LETTER + "0123456789-"

projects = st.from_regex(re.compile(r"(?:[a-z0-9][a-z0-9.-]{0,20}:)?[a-z][a-z0-9-]{4,28}[a-z0-9]", re.ASCII), fullmatch=True)
regions = st.from_regex(re.compile(r"[a-z]{2,9}-[a-z]{4,9}[0-9]{1,2}", re.ASCII), fullmatch=True)
names = st.from_regex(re.compile(r"[a-z](?:[a-z0-9-]{0,47}[a-z0-9])?", re.ASCII), fullmatch=True)


@given(projects, regions, names)
def test_what_is_written_is_read_back(project: str, region: str, name: str) -> None:
    service = ServiceId(project=project, region=region, name=name)
    assert ServiceId.parse(str(service)) == service
    assert ServiceId.from_stored(service.to_stored()) == service
    assert document_id(str(service)) == str(service)
    assert 0 <= service.sweep_slot < SWEEP_SLOTS


@given(st.text())
def test_any_text_is_a_service_or_is_refused_and_never_something_else(text: str) -> None:
    try:
        service = ServiceId.parse(text)
    except ValueError:
        return
    assert str(service) == text


@pytest.mark.parametrize("text", ["", "ranker", "acme-ml:ranker", "acme-ml:europe-west1", "::", "a" * 500])
def test_what_has_not_three_parts_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"service id|validation error") as refusal:
        ServiceId.parse(text)
    assert len(str(refusal.value)) < 900


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ACME:europe-west1:ranker", "project"),
        ("acme:europe-west1:ranker", "project"),
        ("1acme-ml:europe-west1:ranker", "project"),
        ("acme-ml-:europe-west1:ranker", "project"),
        ("acme-ml:europe-west1-b:ranker", "region"),
        ("acme-ml:europe:ranker", "region"),
        ("acme-ml:Europe-west1:ranker", "region"),
        ("acme-ml:europe-west1:Ranker", "name"),
        ("acme-ml:europe-west1:ranker-", "name"),
        ("acme-ml:europe-west1:1ranker", "name"),
        ("acme-ml:europe-west1:" + "r" * 50, "name"),
        ("acme-ml:europe-west1:ranker\n", "name"),
        ("acme-ml:europe-west1:r/../x", "name"),
    ],
)
def test_a_part_that_cloud_run_would_refuse_is_refused_by_its_name(text: str, part: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        ServiceId.parse(text)
    assert [fault["loc"] for fault in refusal.value.errors()] == [(part,)]


def test_a_domain_scoped_project_keeps_its_own_colon() -> None:
    service = ServiceId.parse("example.com:acme-ml:europe-west1:ranker")
    assert (service.project, str(service)) == ("example.com:acme-ml", "example.com:acme-ml:europe-west1:ranker")


def test_the_longest_name_leaves_room_for_a_revisions_name() -> None:
    name = ServiceId(project="acme-ml", region="europe-west1", name="r" * 49).name
    assert len(f"{name}-0123456789-99") <= 63


def test_cloud_runs_own_name() -> None:
    assert RANKER.resource_name == "projects/acme-ml/locations/europe-west1/services/ranker"


def test_settled_services_are_spread_evenly_over_the_minutes() -> None:
    slots = [RANKER.model_copy(update={"name": f"s{number}"}).sweep_slot for number in range(2_000)]
    assert all(150 < slots.count(slot) < 250 for slot in range(SWEEP_SLOTS))


def test_a_wakes_reason_is_cut_not_refused() -> None:
    assert len(Wake.of(RANKER, "x" * 5_000).reason) == 200


@given(st.text(min_size=0, max_size=2_000))
def test_every_key_becomes_a_document_id_that_firestore_takes(key: str) -> None:
    found = document_id(key)
    assert 0 < len(found.encode()) <= 1_500
    assert "/" not in found
    assert found not in {".", ".."}
    assert not re.fullmatch("__.*__", found)
    assert document_id(key) == found


@pytest.mark.parametrize("key", ["", ".", "..", "__x__", "____", "__", "a/b", "a\nb", "a\x00b", "\ud800", "x" * 1_401, "é" * 701])
def test_a_key_that_is_no_document_id_is_hashed(key: str) -> None:
    assert re.fullmatch("[0-9a-f]{64}", document_id(key))


@pytest.mark.parametrize("key", ["0.mtdi83m6w8ao:open", "x" * DOCUMENT_ID_LIMIT_BYTES, "__x", "x__", "...", "é:open", " "])
def test_any_other_key_stays_readable(key: str) -> None:
    assert document_id(key) == key


def test_different_keys_stay_different() -> None:
    keys = ["a/b", "a/c", "", ".", "..", "x" * 2_000, "x" * 2_001]
    assert len({document_id(key) for key in keys}) == len(keys)
