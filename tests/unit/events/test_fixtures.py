"""Every fixture becomes what stands beside it: shapes as captured or documented, values of our own."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from shared.errors import Park
from shared.events.alert import parse_alert
from shared.events.audit import parse_audit
from shared.events.command import parse_command
from shared.events.envelope import Envelope, open_envelope
from shared.events.ignored import Ignored
from shared.events.kinds import opened
from shared.events.storage import parse_upload
from shared.records.commands import service_of

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "events").glob("*.json"))


def test_there_are_fixtures() -> None:
    assert len(FIXTURES) >= 100


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_becomes_what_stands_beside_it(path: Path) -> None:
    fixture = json.loads(path.read_text())
    expect, body = fixture["expect"], json.dumps(fixture["body"]).encode()
    if "kind" in expect:
        _check_kind(expect, fixture["headers"], body)
        return
    published_at = None
    if "envelope" in expect:
        want = dict(expect["envelope"])
        if "parked" in want:
            _check_parked(want, lambda: open_envelope(fixture["headers"], body))
            return
        envelope = open_envelope(fixture["headers"], body)
        _check_envelope(want, envelope)
        body, published_at = envelope.data, envelope.published_at
    if "alert" in expect:
        _check(dict(expect["alert"]), lambda: _alert(body, published_at))


def _check_kind(expect: dict[str, Any], headers: dict[str, str], body: bytes) -> None:
    kind, envelope = opened(headers, body)
    assert kind == expect["kind"]
    name, become = {
        "storage": ("upload", _upload),
        "audit": ("audit", _audit),
        "command": ("command", _command),
    }[expect["kind"]]
    _check(dict(expect[name]), lambda: become(envelope))


def _alert(payload: bytes, published_at: datetime | None) -> dict[str, Any] | Ignored:
    found = parse_alert(payload, published_at=published_at)
    return found if isinstance(found, Ignored) else _stored(found.fact, service=str(found.service))


def _upload(envelope: Envelope) -> dict[str, Any] | Ignored:
    found = parse_upload(envelope)
    return found if isinstance(found, Ignored) else _stored(found.fact, model=found.model.uri)


def _audit(envelope: Envelope) -> dict[str, Any] | Ignored:
    found = parse_audit(envelope.payload(), published_at=envelope.published_at)
    return found if isinstance(found, Ignored) else _stored(found.fact, service=str(found.service), change_id=found.fact.change_id)


def _command(envelope: Envelope) -> dict[str, Any]:
    fact = parse_command(envelope)
    service = service_of(fact.command)
    return _stored(fact, **{**fact.to_stored()["command"], "command_id": fact.command_id, "service": str(service) if service else None})


def _stored(fact: Any, **beside: Any) -> dict[str, Any]:
    """The fact as stored, which must be readable again, and what stands beside it."""
    stored: dict[str, Any] = fact.to_stored()
    assert type(fact).from_stored(json.loads(json.dumps(stored))) == fact
    return {**stored, "key": fact.key, **beside}


def _check(want: dict[str, Any], become: Callable[[], dict[str, Any] | Ignored]) -> None:
    if "parked" in want:
        _check_parked(want, become)
        return
    found = become()
    if isinstance(found, Ignored):
        assert want["ignored"] in found.reason
        return
    for name, value in want.items():
        got = found[name]
        is_time = name.endswith("_at") and value is not None
        assert (datetime.fromisoformat(got) if is_time else got) == (datetime.fromisoformat(value) if is_time else value), name


def _check_envelope(want: dict[str, Any], envelope: Envelope) -> None:
    assert envelope.published_at == datetime.fromisoformat(want.pop("published_at"))
    if "json" in want:
        assert json.loads(envelope.data) == want.pop("json")
    if "data_hex" in want:
        assert envelope.data.hex() == want.pop("data_hex")
    if "data" in want:
        assert envelope.data.decode() == want.pop("data")
    if "fault" in want:
        fault = want.pop("fault")
        assert envelope.fault is None if fault is None else fault in str(envelope.fault)
    assert {name: getattr(envelope, name) for name in want} == want


def _check_parked(want: dict[str, Any], act: Callable[[], object]) -> None:
    with pytest.raises(Park) as caught:
        act()
    assert caught.value.code == want["parked"]
    for text in want.get("says", []):
        assert text in caught.value.reason
