"""Thousands of spoilt requests through the six functions as they are served: what is acknowledged is kept, nothing is ever a 5xx.

The one exception is said so: where the store or the bus cannot be reached, the answer is 503, and delivery repeats.
"""

import hashlib
import io
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shared import log, wiring
from shared.errors import Retry
from shared.events.alert import Ignored, parse_alert
from shared.events.audit import RoutedAudit, parse_audit
from shared.events.envelope import open_envelope
from shared.events.storage import parse_upload
from shared.events.wake import encode_wake
from shared.handlers.keeping import FactPorts
from shared.handlers.upload import UploadPorts
from shared.records.model_subject import ModelSubject
from shared.records.parked import BODY_LIMIT_BYTES, ParkCode, Parked
from shared.records.subject import Wake, document_id
from shared.simulation.bucket import SimulatedBucket
from tests.functions.apps import Functions, pushed, wake, wired
from tests.support.mutate import Mutator

ROOT = Path(__file__).parents[2]
FIXTURES = [json.loads(path.read_text()) for path in sorted((ROOT / "tests" / "fixtures" / "events").glob("*.json"))]
COMMANDS = [json.loads(path.read_text()) for path in sorted((ROOT / "docs" / "examples").glob("command-*.json"))]
CASES = {"alert": 3_000, "audit": 1_500, "upload": 1_500, "command": 1_500, "reconcile": 1_000, "schedule": 500}
KINDS = {"alert": None, "audit": "audit", "upload": "storage"}
"""What the fixtures call the events of a function; those of alerts say no kind."""
HOSTILE = "\n\r\x00\x1b[31m\u2028\u202e\ud800"
SECONDS = 5.0
"""No request takes longer: the largest take a fraction of a second, and Pub/Sub waits for ten."""
TO_CALLERS = {200, 400, 403, 409}
"""What a caller of the command function may be answered."""


class Sent(NamedTuple):
    """One request, what came back, how long that took, and what it left in the log."""

    function: str
    headers: dict[str, str]
    body: bytes
    status: int
    text: str
    log: str
    seconds: float


class Run(NamedTuple):
    functions: Functions
    sent: list[Sent]
    parked: dict[str, Parked]


class Deleter:
    """A Cloud Run that deletes what it is told to."""

    def delete_service(self, service: object) -> None:
        pass


@contextmanager
def connected() -> Iterator[Functions]:
    """The functions with everything in memory, a bucket and a way to delete services as well."""
    with wired() as functions:
        rig = functions.rig
        bucket = SimulatedBucket(now=rig.clock.now)
        bucket.put("acme-models", "ranker/7/saved_model.pb", b"\xff")
        store: Any = rig.reconcile_ports.store
        wiring.install(
            command=replace(rig.command_ports, deleter=Deleter),
            reconcile=replace(rig.reconcile_ports, models=store, files=bucket),
        )
        yield functions


def valid(function: str, case: int) -> tuple[dict[str, str], bytes]:
    """A request that works, or one of the fixtures of every kind; each with a message id of its own."""
    if case % 4 and function not in KINDS:
        data = {
            "schedule": b"",
            "reconcile": wake() if case % 8 < 5 else encode_wake(Wake.of_model(ModelSubject(uri="gs://acme-models/ranker").uri, "test"))[0],
            "command": json.dumps({**COMMANDS[case % len(COMMANDS)], "command_id": f"c{case}"}).encode(),
        }[function]
        return ({}, data) if function == "command" and case % 3 == 0 else ({}, pushed(data, f"m{case}"))
    own = [each for each in FIXTURES if function in KINDS and each["expect"].get("kind") == KINDS[function]]
    chosen = own if own and case % 2 else FIXTURES
    fixture = chosen[case % len(chosen)]
    headers, body = {**fixture["headers"]}, json.dumps(fixture["body"]).encode()
    if "incident" in fixture["body"]:
        return headers, pushed(body, f"m{case}")
    headers.update({name: f"m{case}" for name in headers if name.lower() == "ce-id"})
    return headers, re.sub(rb'"(id|messageId|message_id)": "[^"]*"', rb'"\1": "m%d"' % case, body)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """All requests, and what is parked after them."""
    with connected() as functions:
        sent = []
        for function, cases in CASES.items():
            mutator = Mutator(seed=20261130)
            for case in range(cases):
                headers, body = mutator.request(*valid(function, case))
                began = time.perf_counter()
                with redirect_stdout(io.StringIO()) as said:
                    answer = functions.post(function, body, headers)
                sent.append(Sent(function, headers, body, *answer, said.getvalue(), time.perf_counter() - began))
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


def test_no_answer_is_a_5xx_and_every_event_is_acknowledged(run: Run) -> None:
    statuses = Counter((sent.function, sent.status) for sent in run.sent if sent.function != "command")
    assert statuses == {(function, 200): cases for function, cases in CASES.items() if function != "command"}
    assert {sent.status for sent in run.sent if sent.function == "command"} <= TO_CALLERS


def test_no_request_takes_long(run: Run) -> None:
    assert max(run.sent, key=lambda sent: sent.seconds).seconds < SECONDS


def test_the_spoilt_requests_reach_every_outcome(run: Run) -> None:
    texts = {function: {sent.text for sent in run.sent if sent.function == function} for function in CASES}
    for function in KINDS:
        assert texts[function] == {"done\n", "duplicate\n", "ignored\n", "parked\n"}
    assert {"done\n", "parked\n"} <= texts["reconcile"]
    assert texts["schedule"] == {"done\n"}
    told = {json.loads(sent.text)["outcome"] for sent in run.sent if sent.function == "command" and sent.text.startswith("{")}
    assert {"done", "refused"} <= told
    assert {"done\n", "parked\n"} <= texts["command"]
    codes = {entry.code for entry in run.parked.values()}
    assert codes >= {ParkCode.UNPARSABLE, ParkCode.UNSUPPORTED, ParkCode.UNROUTABLE, ParkCode.NO_SIGNAL, ParkCode.INVALID_COMMAND}


def test_every_acknowledged_alert_is_a_fact_or_parked_or_the_consoles_test(run: Run) -> None:
    lost = [sent for sent in run.sent if sent.function == "alert" and not kept(run, sent)]
    assert [(sent.text, sent.body[:200]) for sent in lost] == []


@pytest.mark.parametrize("function", ["audit", "upload"])
def test_every_acknowledged_audit_entry_and_upload_is_a_fact(run: Run, function: str) -> None:
    store: Any = run.functions.rig.store
    acknowledged = [sent for sent in run.sent if sent.function == function and sent.text in {"done\n", "duplicate\n"}]
    assert len(acknowledged) > 100
    for sent in acknowledged:
        envelope = open_envelope(sent.headers, sent.body)
        if function == "audit":
            entry = parse_audit(envelope.payload(), published_at=envelope.published_at)
            assert isinstance(entry, RoutedAudit)
            assert store.create_fact(entry.service, entry.fact) == "duplicate"
        else:
            upload = parse_upload(envelope)
            assert not isinstance(upload, Ignored)
            assert store.create_upload(upload.model, upload.fact) == "duplicate"


@pytest.mark.parametrize("function", ["audit", "upload", "command", "reconcile"])
def test_whatever_is_answered_with_parked_is_there(run: Run, function: str) -> None:
    lost = [sent for sent in run.sent if sent.function == function and sent.text == "parked\n" and not kept(run, sent)]
    assert [sent.body[:200] for sent in lost] == []


def test_whatever_is_parked_is_bounded_and_says_why(run: Run) -> None:
    for entry in run.parked.values():
        assert len(entry.body) <= BODY_LIMIT_BYTES * 4 // 3 + 4
        assert len(json.dumps(entry.to_stored(), ensure_ascii=False).encode()) < 150_000
        assert entry.reason
        assert entry.reason.isprintable()


def test_each_request_leaves_bounded_lines_of_plain_json_and_its_outcome_in_the_last(run: Run) -> None:
    for sent in run.sent:
        lines = sent.log.splitlines()
        assert len(lines) == 1 or sent.function == "reconcile"
        for line in lines:
            assert len(line) <= log.LINE_LIMIT_BYTES
            assert line.isascii()
            assert line.isprintable()
        said = json.loads(lines[-1], parse_constant=pytest.fail)
        outcome = json.loads(sent.text)["outcome"] if sent.text.startswith("{") else sent.text.removesuffix("\n")
        assert (said["function"], said["message"]) == (sent.function, outcome)


@pytest.mark.parametrize("function", CASES)
def test_the_same_requests_again_keep_nothing_anew(run: Run, function: str) -> None:
    again = [run.functions.post(function, sent.body, sent.headers) for sent in run.sent if sent.function == function][:500]
    assert {key for _, key in run.functions.parked()} == set(run.parked)
    assert {answer.status for answer in again} <= (TO_CALLERS if function == "command" else {200})
    if function in KINDS:
        assert {answer.text for answer in again} <= {"duplicate\n", "ignored\n", "parked\n"}


class Unreachable:
    """A port that nobody answers behind."""

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> Any:
            raise Retry(f"{name}: nobody answers", after_seconds=3)

        return call


@pytest.mark.parametrize("function", CASES)
def test_without_a_store_and_a_bus_the_answer_is_503_or_nothing_was_to_be_kept(function: str) -> None:
    nobody: Any = Unreachable()
    mutator, statuses = Mutator(seed=5), Counter[int]()
    with connected() as functions, log.silenced():
        rig = functions.rig
        facts = FactPorts.of(nobody, nobody, rig.clock)
        wiring.install(
            alert=facts,
            audit=replace(rig.audit_ports, facts=facts),
            upload=UploadPorts.of(nobody, nobody, rig.clock),
            schedule=replace(rig.schedule_ports, store=nobody, bus=nobody, models=nobody),
            command=replace(rig.command_ports, store=nobody, states=nobody, bus=nobody, redriver=nobody, deleter=Unreachable),
            reconcile=replace(rig.reconcile_ports, store=nobody, bus=nobody, models=nobody, platform=nobody, files=nobody),
        )
        for case in range(200):
            headers, body = mutator.request(*valid(function, case))
            answer = functions.post(function, body, headers)
            statuses[answer.status] += 1
            assert answer.status != 200 or answer.text == "ignored\n", answer
    assert statuses[503] > 100
    assert set(statuses) <= ({200, 400, 503} if function == "command" else {200, 503})


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
