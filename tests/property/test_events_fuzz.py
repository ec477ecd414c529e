"""Whatever arrives, the parsers answer with a fact or with `Park`, and what they say is bounded and printable."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.read import read_event
from shared.errors import Park
from shared.events.alert import parse_alert
from shared.events.envelope import open_envelope
from shared.events.wake import encode_wake, parse_wake
from shared.records.parked import ParkCode
from shared.records.subject import Wake
from tests.support.mutate import Mutator

FIXTURES = Path(__file__).parents[1] / "fixtures" / "events"
CASES = 5_000

QUICK = settings(max_examples=300, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HEADER = st.sampled_from(["ce-id", "CE-Type", "ce-source", "ce-specversion", "ce-time", "content-type", "x"]) | st.text()
INCIDENT_FIELDS = st.sampled_from(
    [
        "incident_id",
        "state",
        "started_at",
        "ended_at",
        "summary",
        "url",
        "resource",
        "metric",
        "policy_user_labels",
        "policy_name",
        "condition",
        "observed_value",
        "threshold_value",
        "scoping_project_id",
        "documentation",
    ]
)


def outcome(act: Callable[[], object]) -> str:
    """`ok`, or the code of the park, whose reason must be fit to be stored and shown."""
    parked: Park | None = None
    try:
        act()
    except Park as park:
        parked = park
    if parked is None:
        return "ok"
    assert parked.code in set(ParkCode)
    assert parked.reason.isprintable()
    assert len(parked.reason) <= 2_048
    return parked.code


def everything(headers: dict[str, str], body: bytes) -> set[str]:
    """All parsers over one request, as the functions and the command line call them."""
    outcomes = {
        outcome(lambda: parse_alert(body, published_at=None)),
        outcome(lambda: parse_wake(body)),
    }
    row = read_event(body)
    json.dumps(row).encode()
    try:
        envelope = open_envelope(headers, body)
    except Park as park:
        return {*outcomes, park.code}
    assert envelope.fault is None or (envelope.fault.isprintable() and len(envelope.fault) <= 2_048)
    outcomes |= {
        outcome(envelope.payload),
        outcome(lambda: parse_wake(envelope.data)),
        outcome(lambda: parse_alert(envelope.data, published_at=envelope.published_at)),
    }
    return outcomes


def requests() -> list[tuple[dict[str, str], bytes]]:
    fixtures = [json.loads(path.read_text()) for path in sorted(FIXTURES.glob("*.json"))]
    payload, _ = encode_wake(Wake(subject_id="northwind-vision:us-east4:ranker", reason="tick"))
    return [*((fixture["headers"], json.dumps(fixture["body"]).encode()) for fixture in fixtures), ({}, payload)]


def test_five_thousand_spoilt_requests_end_in_a_fact_or_in_park() -> None:
    valid, mutator = requests(), Mutator(seed=20261101)
    seen: set[str] = set()
    for case in range(CASES):
        headers, body = mutator.request(*valid[case % len(valid)])
        seen |= everything(headers, body)
    assert seen >= {"ok", "unparsable", "unsupported", "unroutable", "no-signal"}


def test_the_same_seed_spoils_in_the_same_way() -> None:
    request = requests()[0]
    first, second = Mutator(seed=7), Mutator(seed=7)
    assert [first.request(*request) for _ in range(50)] == [second.request(*request) for _ in range(50)]


@QUICK
@given(headers=st.dictionaries(HEADER, st.text()), body=st.binary())
def test_any_bytes_end_in_a_fact_or_in_park(headers: dict[str, str], body: bytes) -> None:
    everything(headers, body)


@QUICK
@given(headers=st.dictionaries(HEADER, st.text()), content=JSON)
def test_any_json_ends_in_a_fact_or_in_park(headers: dict[str, str], content: Any) -> None:
    everything(headers, json.dumps(content).encode())


@QUICK
@given(incident=st.dictionaries(INCIDENT_FIELDS, JSON), version=st.sampled_from(["1.2", "1.0", "test"]) | JSON)
def test_any_incident_ends_in_a_fact_or_in_park(incident: dict[str, Any], version: Any) -> None:
    labels = {"trimtab_service": "ranker", "trimtab_region": "us-east4", "trimtab_signal": "latency"}
    usual = {"incident_id": "1", "state": "open", "policy_user_labels": labels, "scoping_project_id": "northwind-vision"}
    everything({}, json.dumps({"version": version, "incident": {**usual, **incident}}).encode())


@QUICK
@given(message=st.dictionaries(st.sampled_from(["data", "attributes", "messageId", "publishTime", "orderingKey"]), JSON), around=JSON)
def test_any_message_ends_in_a_fact_or_in_park(message: dict[str, Any], around: Any) -> None:
    everything({}, json.dumps({"message": message, "subscription": around, "deliveryAttempt": around}).encode())
