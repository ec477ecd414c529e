"""Thousands of spoilt requests through the functions as they are served: what is acknowledged is kept, and nothing is ever a 5xx."""

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shared import log
from shared.events.alert import Ignored, parse_alert
from shared.events.envelope import open_envelope
from shared.records.parked import BODY_LIMIT_BYTES, ParkCode, Parked
from shared.records.subject import document_id
from tests.functions.apps import Functions, pushed, wake, wired
from tests.support.mutate import Mutator

FIXTURES = [json.loads(path.read_text()) for path in sorted((Path(__file__).parents[1] / "fixtures" / "events").glob("*.json"))]
CASES = {"alert": 3_000, "reconcile": 1_000, "schedule": 1_000}
HOSTILE = "\n\r\x00\x1b[31m\u2028\u202e\ud800"


class Sent(NamedTuple):
    """One request, what came back and what it left in the log."""

    function: str
    headers: dict[str, str]
    body: bytes
    status: int
    text: str
    log: str


class Run(NamedTuple):
    functions: Functions
    sent: list[Sent]
    parked: dict[str, Parked]


def valid(function: str, case: int) -> tuple[dict[str, str], bytes]:
    """A request that works, or one of the envelopes' fixtures; each with a message id of its own."""
    fixture = FIXTURES[case % len(FIXTURES)]
    headers, body = {**fixture["headers"]}, json.dumps(fixture["body"]).encode()
    if function != "alert" and case % 4:
        return {}, pushed({"schedule": b"", "reconcile": wake()}[function], f"m{case}")
    if "incident" in fixture["body"]:
        return headers, pushed(body, f"m{case}")
    headers.update({name: f"m{case}" for name in headers if name.lower() == "ce-id"})
    return headers, re.sub(rb'"(id|messageId|message_id)": "[^"]*"', rb'"\1": "m%d"' % case, body)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """All requests, and what is parked after them."""
    with wired() as functions:
        sent = []
        for function, cases in CASES.items():
            mutator = Mutator(seed=20261130)
            for case in range(cases):
                headers, body = mutator.request(*valid(function, case))
                with redirect_stdout(io.StringIO()) as said:
                    answer = functions.post(function, body, headers)
                sent.append(Sent(function, headers, body, *answer, said.getvalue()))
        yield Run(functions, sent, {entry.key: entry for entry in functions.rig.store.parked(limit=20_000)})


def kept(run: Run, sent: Sent) -> bool:
    """Whether the store has the event: its fact, or parked with this very body (or under an id that another message had before)."""
    if sent.text == "parked\n" and hashlib.sha256(sent.body).hexdigest() in {entry.body_sha256 for entry in run.parked.values()}:
        return True
    envelope = open_envelope(sent.headers, sent.body)
    if sent.text == "parked\n":
        ids = (envelope.message_id, f"{envelope.event_source}:{envelope.message_id}")
        return envelope.message_id is not None and any(document_id(f"{sent.function}:{id_}") in run.parked for id_ in ids)
    read = parse_alert(envelope.payload(), published_at=envelope.published_at)
    if isinstance(read, Ignored):
        return sent.text == "ignored\n"
    return read.fact.key in run.functions.rig.store.facts_by_key(read.service, [read.fact.key])


def test_each_answer_is_a_200_whatever_was_sent(run: Run) -> None:
    assert Counter(sent.status for sent in run.sent) == {200: sum(CASES.values())}


def test_the_spoilt_requests_reach_every_outcome(run: Run) -> None:
    assert {sent.text for sent in run.sent if sent.function == "alert"} == {"done\n", "duplicate\n", "ignored\n", "parked\n"}
    codes = {entry.code for entry in run.parked.values()}
    assert codes >= {ParkCode.UNPARSABLE, ParkCode.UNSUPPORTED, ParkCode.UNROUTABLE, ParkCode.NO_SIGNAL}


def test_every_acknowledged_alert_is_a_fact_or_parked_or_the_consoles_test(run: Run) -> None:
    lost = [sent for sent in run.sent if sent.function == "alert" and not kept(run, sent)]
    assert [(sent.text, sent.body[:200]) for sent in lost] == []


def test_whatever_is_parked_is_bounded_and_says_why(run: Run) -> None:
    for entry in run.parked.values():
        assert len(entry.body) <= BODY_LIMIT_BYTES * 4 // 3 + 4
        assert len(json.dumps(entry.to_stored(), ensure_ascii=False).encode()) < 150_000
        assert entry.reason
        assert entry.reason.isprintable()


def test_each_request_leaves_one_bounded_line_of_plain_json(run: Run) -> None:
    for sent in run.sent:
        (line,) = sent.log.splitlines()
        assert len(line) <= log.LINE_LIMIT_BYTES
        assert line.isascii()
        assert line.isprintable()
        said = json.loads(line, parse_constant=pytest.fail)
        assert (said["function"], f"{said['message']}\n") == (sent.function, sent.text)


def test_the_same_requests_again_keep_nothing_anew(run: Run) -> None:
    again = [run.functions.post(sent.function, sent.body, sent.headers) for sent in run.sent[:1_000]]
    assert {key for _, key in run.functions.parked()} == set(run.parked)
    assert {answer.status for answer in again} == {200}
    assert {answer.text for answer in again} <= {"duplicate\n", "ignored\n", "parked\n"}


@pytest.mark.parametrize("place", ["incident_id", "state", "policy_name", "summary", "url", "resource", "policy_user_labels"])
def test_hostile_text_never_reaches_a_log_line_unescaped(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    value: Any = {"labels": {"service_name": HOSTILE}} if place == "resource" else HOSTILE
    if place == "policy_user_labels":
        value = {"trimtab_service": HOSTILE, "trimtab_signal": HOSTILE}
    usual = {"incident_id": "0.a1", "state": "open", "policy_user_labels": {"trimtab_signal": "latency"}}
    body = json.dumps({"version": "1.2", "incident": {**usual, place: value}}).encode()
    with wired() as functions:
        functions.post("alert", pushed(body, f"id{HOSTILE[:5]}"))
    out = capsys.readouterr().out
    assert out.endswith("\n")
    assert out.isascii()
    assert out[:-1].isprintable()


@pytest.mark.parametrize("name", ["ce-id", "ce-source", "ce-type", "ce-specversion", "content-type"])
def test_hostile_headers_never_reach_a_log_line_unescaped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    headers = {"ce-id": "1", "ce-source": "x", "ce-type": "y", "ce-specversion": "1.0", name: "\x1b[31m\xe9\x85"}
    with wired() as functions:
        assert functions.post("alert", b"{}", headers).status == 200
    out = capsys.readouterr().out
    assert out.isascii()
    assert out[:-1].isprintable()
