"""Whatever arrives, the parsers answer with a fact or with `Park`, and what they say is bounded and printable."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.read import read_event
from shared.errors import Park
from shared.events.alert import parse_alert
from shared.events.audit import parse_audit
from shared.events.command import parse_command
from shared.events.envelope import Envelope, open_envelope
from shared.events.storage import RoutedUpload, is_notification, parse_upload
from shared.events.wake import encode_wake, parse_wake
from shared.records.base import Record
from shared.records.commands import COMMANDS
from shared.records.parked import ParkCode
from shared.records.subject import Wake
from tests.support.mutate import Mutator

FIXTURES = Path(__file__).parents[1] / "fixtures" / "events"
CASES = 5_000
ROW_LIMIT = 64 * 1024
FACT_LIMIT_BYTES = 900 * 1024
"""Firestore takes documents of up to 1 MiB."""

QUICK = settings(max_examples=300, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HEADER = st.sampled_from(["ce-id", "CE-Type", "ce-source", "ce-specversion", "ce-time", "content-type", "x"]) | st.text()
NOTIFICATION = {
    "bucketId": "northwind-models",
    "objectId": "ranker/7/saved_model.pb",
    "objectGeneration": "7",
    "eventType": "OBJECT_FINALIZE",
}
AUDIT_FIELDS = st.sampled_from(
    [
        "serviceName",
        "methodName",
        "resourceName",
        "status",
        "authenticationInfo",
        "requestMetadata",
        "request",
        "response",
        "resourceLocation",
    ]
)
COMMAND_FIELDS = st.sampled_from(sorted({field for model in COMMANDS.values() for field in model.model_fields} - {"command"}))
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
    row = read_event(body)
    assert len(json.dumps(row)) <= ROW_LIMIT + 12 * len(body)
    outcomes = every_parser(Envelope(form="push", data=body))
    try:
        envelope = open_envelope(headers, body)
    except Park as park:
        return {*outcomes, park.code}
    assert envelope.fault is None or (envelope.fault.isprintable() and len(envelope.fault) <= 2_048)
    return {*outcomes, outcome(envelope.payload), *every_parser(envelope)}


def every_parser(envelope: Envelope) -> set[str]:
    data = envelope.data
    return {
        outcome(lambda: parse_alert(data, published_at=envelope.published_at)),
        outcome(lambda: parse_wake(data)),
        stored(lambda: parse_upload(envelope)),
        stored(lambda: parse_audit(data, published_at=envelope.published_at)),
        stored(lambda: parse_command(envelope)),
    }


def stored(act: Callable[[], Any]) -> str:
    """As `outcome`; a fact must be fit to be stored: of bounded size, text that UTF-8 can carry, and readable again."""

    def kept() -> None:
        found = act()
        fact = getattr(found, "fact", found)
        if isinstance(fact, Record):
            text = json.dumps(fact.to_stored())
            assert len(text.encode()) <= FACT_LIMIT_BYTES
            assert type(fact).from_stored(json.loads(text)) == fact

    return outcome(kept)


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


@QUICK
@given(
    attributes=st.dictionaries(st.sampled_from([*NOTIFICATION, "overwroteGeneration", "eventTime"]), st.text(max_size=40)),
    resource=st.dictionaries(
        st.sampled_from(["bucket", "name", "generation", "metageneration", "size", "crc32c", "md5Hash", "updated"]), JSON
    ),
    event=st.sampled_from(["OBJECT_FINALIZE", "OBJECT_DELETE", "OBJECT_METADATA_UPDATE"]),
)
def test_any_notification_ends_in_a_fact_or_in_park(attributes: dict[str, str], resource: dict[str, Any], event: str) -> None:
    stated = {**NOTIFICATION, "eventType": event, **attributes}
    assert is_notification(stated)
    for data in (b"", json.dumps(resource).encode()):
        stored(lambda data=data: parse_upload(Envelope(form="push", data=data, attributes=stated)))  # type: ignore[misc]


@QUICK
@given(name=st.text(min_size=1, max_size=300))
def test_any_name_of_an_object_is_kept_as_it_is_or_parked(name: str) -> None:
    found = None
    with contextlib.suppress(Park):
        found = parse_upload(Envelope(form="push", attributes={**NOTIFICATION, "eventType": "OBJECT_FINALIZE", "objectId": name}))
    assert not isinstance(found, RoutedUpload) or (found.fact.name == name and found.model.uri.startswith("gs://northwind-models"))


@QUICK
@given(
    audit=st.dictionaries(AUDIT_FIELDS, JSON),
    around=st.dictionaries(st.sampled_from(["insertId", "operation", "resource", "timestamp"]), JSON),
)
def test_any_audit_entry_ends_in_a_fact_or_in_park(audit: dict[str, Any], around: dict[str, Any]) -> None:
    usual = {"serviceName": "run.googleapis.com", "resourceName": "projects/northwind-vision/locations/us-east4/services/ranker"}
    for log in ("activity", "system_event"):
        entry = {
            "insertId": "1",
            "logName": f"projects/p/logs/cloudaudit.googleapis.com%2F{log}",
            "protoPayload": {**usual, **audit},
            **around,
        }
        everything({}, json.dumps(entry).encode())


@QUICK
@given(name=st.sampled_from(sorted(COMMANDS)), fields=st.dictionaries(COMMAND_FIELDS, JSON))
def test_any_command_ends_in_a_fact_or_in_park(name: str, fields: dict[str, Any]) -> None:
    usual = {"command": name, "command_id": "1", "service": "northwind-vision:us-east4:ranker"}
    everything({}, json.dumps({**usual, **fields}).encode())
