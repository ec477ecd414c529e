"""Every fixture becomes what stands beside it: shapes as captured or documented, values of our own."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from shared.errors import Park
from shared.events.alert import Ignored, parse_alert
from shared.events.envelope import Envelope, open_envelope

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "events").glob("*.json"))


def test_there_are_fixtures() -> None:
    assert len(FIXTURES) >= 60


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_becomes_what_stands_beside_it(path: Path) -> None:
    fixture = json.loads(path.read_text())
    expect, body = fixture["expect"], json.dumps(fixture["body"]).encode()
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
        _check_alert(dict(expect["alert"]), body, published_at)


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


def _check_alert(want: dict[str, Any], payload: bytes, published_at: datetime | None) -> None:
    if "parked" in want:
        _check_parked(want, lambda: parse_alert(payload, published_at=published_at))
        return
    found = parse_alert(payload, published_at=published_at)
    if isinstance(found, Ignored):
        assert found.reason == want["ignored"]
        return
    stored = {**found.fact.to_stored(), "service": str(found.service), "key": found.fact.key}
    for name, value in want.items():
        got = stored[name]
        is_time = name.endswith("_at") and value is not None
        assert (datetime.fromisoformat(got) if is_time else got) == (datetime.fromisoformat(value) if is_time else value), name


def _check_parked(want: dict[str, Any], act: Any) -> None:
    with pytest.raises(Park) as caught:
        act()
    assert caught.value.code == want["parked"]
    for text in want.get("says", []):
        assert text in caught.value.reason
