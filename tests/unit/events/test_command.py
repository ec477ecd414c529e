"""Commands: what is taken, what is refused and in which words, and what they are known by."""

import hashlib
import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.errors import Park
from shared.events.command import COMMAND_LIMIT_BYTES, InvalidCommand, fact_of, parse_command, read_command
from shared.events.envelope import Envelope
from shared.records.commands import COMMANDS, DELETE_WORDS, HoldCommand, PatchCommand

RANKER = "northwind-vision:us-east4:ranker"
AT = datetime(2026, 11, 2, 7, 15, tzinfo=UTC)
SPEC = {"scale": {"max_instance_count": 4}}
GOOD: dict[str, dict[str, Any]] = {
    "apply": {"service": RANKER, "spec": SPEC, "if_generation": 0},
    "patch": {"service": RANKER, "patch": {"autonomy": "act"}, "issued_at": "2026-11-02T08:15:00+01:00"},
    "hold": {"service": RANKER, "reason": "load test", "fields": ["scaling.min_instance_count"], "expires_at": "2026-11-03T00:00:00Z"},
    "release": {"service": RANKER, "hold_id": "h-1"},
    "rollback": {"service": RANKER, "to_revision": "ranker-0123456789-1"},
    "reconcile": {"service": RANKER},
    "redrive": {"key": "alert:66001"},
    "discard": {"key": "alert:66001"},
    "delete": {"service": RANKER, "delete_cloud_run_service": DELETE_WORDS},
}


def command(name: str, **fields: Any) -> bytes:
    return json.dumps({"command": name, **GOOD.get(name, {}), **fields}).encode()


def problems(payload: bytes) -> list[str]:
    with pytest.raises(InvalidCommand) as caught:
        read_command(payload)
    assert caught.value.reason.isprintable()
    assert len(caught.value.reason) <= 1_024
    return [str(problem) for problem in caught.value.problems]


def test_every_command_has_a_good_one_here() -> None:
    assert set(GOOD) == set(COMMANDS)


@pytest.mark.parametrize("name", GOOD)
def test_every_command_is_read_and_stored_and_read_again(name: str) -> None:
    fact = fact_of(read_command(command(name, command_id="c-1", author="sam")))
    assert (fact.key, fact.claimed_author, fact.verified_author, fact.command.command) == ("c-1", "sam", None, name)
    assert type(fact).from_stored(json.loads(json.dumps(fact.to_stored()))) == fact


@pytest.mark.parametrize("name", GOOD)
def test_no_command_takes_a_field_it_does_not_know(name: str) -> None:
    (problem,) = problems(command(name, forse=True))
    assert problem.startswith("forse: there is no such field")


@pytest.mark.parametrize("name", GOOD)
def test_a_command_without_its_fields_names_each(name: str) -> None:
    found = problems(json.dumps({"command": name}).encode())
    needed = {"apply": ["service", "spec"], "patch": ["service", "patch"], "hold": ["reason"], "redrive": ["key"], "discard": ["key"]}
    if name == "release":
        assert found == ["the command: release wants either hold_id or all: true"]
    else:
        assert found == [f"{field}: is not there and is needed; add it" for field in needed.get(name, ["service"])]


def test_the_author_is_a_claim_whatever_it_says() -> None:
    fact = parse_command(Envelope(form="push", data=command("reconcile", author="root@northwind.example"), message_id="9"))
    assert (fact.claimed_author, fact.verified_author) == ("root@northwind.example", None)


@pytest.mark.parametrize("field", ["verified_author", "subscription", "published_at", "claimed_author", "schema_version"])
def test_nothing_that_is_found_out_elsewhere_can_be_claimed(field: str) -> None:
    assert "there is no such field" in problems(command("reconcile", **{field: "x"}))[0]


@pytest.mark.parametrize(
    ("stated", "attributes", "message_id", "key"),
    [
        ("c-1", {"command_id": "c-2"}, "9", "c-1"),
        (None, {"command_id": "c-2"}, "9", "c-2"),
        (None, {}, "9", "9"),
        (None, {}, "a b", f"sha256:{hashlib.sha256(b'a b').hexdigest()}"),
    ],
)
def test_the_key_is_the_first_id_there_is(stated: str | None, attributes: dict[str, str], message_id: str, key: str) -> None:
    payload = command("reconcile", **({"command_id": stated} if stated else {}))
    assert parse_command(Envelope(form="push", data=payload, attributes=attributes, message_id=message_id)).key == key


def test_a_command_that_nothing_names_is_read_but_becomes_no_fact() -> None:
    reading = read_command(command("reconcile"))
    assert reading.command_id is None
    with pytest.raises(InvalidCommand, match="command_id: is not there and is needed"):
        fact_of(reading)


@pytest.mark.parametrize("stated", ["", "a b", "x" * 129, "é", "a\n"])
def test_an_id_with_spaces_or_too_long_is_refused_in_body_and_attribute(stated: str) -> None:
    assert problems(command("reconcile", command_id=stated))[0].startswith("command_id: ")
    with pytest.raises(InvalidCommand, match="attribute command_id"):
        read_command(command("reconcile"), attributes={"command_id": stated})


def test_a_patch_that_says_neither_when_nor_for_which_generation_counts_as_issued_when_pubsub_took_it() -> None:
    payload = json.dumps({"command": "patch", "service": RANKER, "patch": {"autonomy": "act"}}).encode()
    fact = parse_command(Envelope(form="push", data=payload, message_id="9", published_at=AT))
    assert isinstance(fact.command, PatchCommand)
    assert fact.command.issued_at == AT


def test_a_patch_for_a_generation_is_not_dated() -> None:
    payload = json.dumps({"command": "patch", "service": RANKER, "patch": {"autonomy": "act"}, "if_generation": 4}).encode()
    fact = parse_command(Envelope(form="push", data=payload, message_id="9", published_at=AT))
    assert isinstance(fact.command, PatchCommand)
    assert (fact.command.issued_at, fact.command.if_generation) == (None, 4)


@pytest.mark.parametrize(
    "when", [1793604900, "1793604900", "2026-11-02", "2026-11-02T08:00:00", "soon", True, [], "2026-11-02T08:00:00+99:99"]
)
def test_a_time_needs_its_offset(when: object) -> None:
    (problem,) = problems(command("patch", issued_at=when))
    assert problem.startswith("issued_at: ")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"all": True}, "either service or all"),
        ({"service": None}, "either service or all"),
        ({"minutes": 5}, "expires_at or minutes, not both"),
        ({"service": None, "all": True}, "leave fields out"),
        ({"reason": " \n"}, "reason: "),
        ({"reason": "x" * 1_025}, "reason: "),
        ({"kind": "stop"}, "want pause, pin or freeze"),
        ({"fields": ["image"]}, "fields.0: 'image'"),
        ({"expires_at": None, "minutes": 0}, "minutes: 0: want 1 or more"),
        ({"expires_at": None, "minutes": "5"}, "minutes: '5': want a whole number"),
        ({"all": 1}, "all: 1: want true or false"),
    ],
)
def test_a_hold_says_of_what_why_and_how_long(fields: dict[str, Any], says: str) -> None:
    assert any(says in problem for problem in problems(command("hold", **fields)))


def test_a_hold_of_all_services_is_a_pause_without_end_unless_it_says_otherwise() -> None:
    reading = read_command(json.dumps({"command": "hold", "all": True, "reason": "incident 7"}).encode())
    assert isinstance(reading.command, HoldCommand)
    assert (reading.service, reading.command.kind, reading.command.expires_at) == (None, "pause", None)


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        ({}, "changes nothing"),
        ({"scal": {}}, "'scal': no field of a spec"),
        ({"autonomy": "act", "\u202e": 1}, "no field of a spec"),
        ([], "want a mapping"),
        ("autonomy", "want a mapping"),
        (None, "want a mapping"),
    ],
)
def test_a_patch_names_fields_of_the_spec(patch: object, says: str) -> None:
    (problem,) = problems(command("patch", patch=patch))
    assert says in problem


@pytest.mark.parametrize("words", ["yes", True, DELETE_WORDS.upper(), f"{DELETE_WORDS} ", "", 1])
def test_only_the_very_words_delete_a_cloud_run_service(words: object) -> None:
    (problem,) = problems(command("delete", delete_cloud_run_service=words))
    assert DELETE_WORDS in problem


@pytest.mark.parametrize(
    "service", ["ranker", "a:b", "northwind-vision:us-east4:RANKER", "northwind-vision:us-east4:../x", 7, {}, "x" * 10_000, "a\u0000:b:c"]
)
def test_a_service_is_named_whole(service: object) -> None:
    (problem,) = problems(command("reconcile", service=service))
    assert problem.startswith("service: ")
    assert "want project:region:name" in problem or "for example acme-ml:europe-west1:ranker" in problem


@pytest.mark.parametrize("key", ["", "a/b", "a b", "x" * 1_401, None, 7])
def test_a_parked_key_is_one_document_id(key: object) -> None:
    assert problems(command("redrive", key=key))[0].startswith("key: ")


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"[]", "want a JSON object"),
        (b'"apply"', "want a JSON object"),
        (b"{}", "command: is not there and is needed"),
        (b'{"command": "Apply"}', "'Apply': there is no such command; one of apply, patch"),
        (b'{"command": ["apply"]}', "there is no such command"),
        (b'{"command": "patch", "patch": ' + b'{"a":' * 100 + b"1" + b"}" * 101, "more than 32 levels"),
        (b'{"command": "apply", "x": 1e999}', "x: inf: this is no number"),
        (b'{"command": "apply", "x": 99999999999999999999}', "x: 99999999999999999999: the number has more than 64 bits"),
        (b'{"command": "apply", "x": ["\\ud800"]}', "x.0: '\\ud800': the text has half of a surrogate pair"),
        (b'{"command": "apply", "\\ud800": 1}', "the name has half of a surrogate pair"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_no_command_can_hold_is_named(payload: bytes, says: str) -> None:
    assert any(says in problem for problem in problems(payload))


@pytest.mark.parametrize("payload", [b"", b"\xff", b"{", b'{"command": NaN}', b'{"command": "apply", "command": "delete"}', b"[" * 100_000])
def test_what_is_no_json_is_parked(payload: bytes) -> None:
    with pytest.raises(Park) as caught:
        read_command(payload)
    assert caught.value.code == "unparsable"


def test_a_command_of_more_than_its_limit_is_parked_unread() -> None:
    with pytest.raises(Park) as caught:
        read_command(b"[" * (COMMAND_LIMIT_BYTES + 1))
    assert caught.value.code == "too-large"


def test_expansions_in_a_spec_are_refused_with_their_place() -> None:
    spec = {**SPEC, "serving": {"image": "tensorflow/serving:2.20.0-gpu", "environment": {"A": "$(SECRET)"}}}
    found = problems(command("apply", spec=spec))
    assert any(problem.startswith("spec.serving.environment.A: '$(SECRET)'") for problem in found)


def test_thousands_of_wrong_fields_are_told_in_bounded_time_and_length() -> None:
    payload = json.dumps({"command": "apply", "service": RANKER, "spec": {f"s{n}": n for n in range(14_000)}}).encode()
    began = time.process_time()
    assert len(problems(payload)) == 50
    assert time.process_time() - began < 5
