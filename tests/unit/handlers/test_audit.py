"""Entries of the audit log: one fact, one wake; ours and others' business are left out."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from shared.records.facts import AuditFact, StoredFact
from tests.support.builders import RANKER
from tests.support.rig import Rig

KIM = "kim@example.com"


def entry(insert_id: str = "a1", principal: str = KIM, *, service: str = "ranker", **payload: Any) -> bytes:
    """What a log sink publishes of a change through the v2 API."""
    name = f"projects/{RANKER.project}/locations/{RANKER.region}/services/{service}"
    return json.dumps(
        {
            "insertId": insert_id,
            "logName": f"projects/{RANKER.project}/logs/cloudaudit.googleapis.com%2Factivity",
            "protoPayload": {
                "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
                "serviceName": "run.googleapis.com",
                "methodName": "google.cloud.run.v2.Services.UpdateService",
                "resourceName": name,
                "authenticationInfo": {"principalEmail": principal},
                **payload,
            },
            "resource": {
                "type": "cloud_run_revision",
                "labels": {"project_id": RANKER.project, "location": RANKER.region, "service_name": service},
            },
            "timestamp": "2026-11-30T03:00:00Z",
        }
    ).encode()


def facts(rig: Rig) -> list[AuditFact]:
    page = rig.store.facts_after(RANKER, None, limit=100)
    return [each.fact for each in page.facts if isinstance(each, StoredFact) and isinstance(each.fact, AuditFact)]


def test_a_change_by_somebody_is_one_fact_and_brings_a_look() -> None:
    rig = Rig()
    for _ in range(3):
        rig.bus.publish("changes", entry())
    rig.run()
    (fact,) = facts(rig)
    assert (fact.insert_id, fact.principal) == ("a1", KIM)
    assert rig.state().observed is not None


def test_our_own_writes_are_left_out() -> None:
    rig = Rig()
    rig.bus.publish("changes", entry(principal="Trimtab@simulated.iam.gserviceaccount.com"))
    rig.run()
    assert facts(rig) == []
    assert ("reconcile", 200) not in rig.statuses


def test_a_change_of_a_bound_is_held_on_to_within_the_minute_it_is_reported() -> None:
    rig = Rig()
    rig.minutes(11)
    rig.cloud_run.change_by(RANKER.resource_name, KIM, max_instance_count=7)
    rig.bus.publish("changes", entry())
    rig.run()
    (change,) = rig.state().foreign_changes
    assert (change.modifier, change.theirs) == (KIM, 7)


def test_a_change_of_a_service_that_nobody_gave_to_trimtab_is_dropped() -> None:
    rig = Rig(known_service=False)
    rig.bus.publish("changes", entry())
    rig.run()
    assert rig.store.parked(limit=10) == []
    assert {status for _, status in rig.statuses} == {200}


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[2] / "fixtures" / "events").glob("*.json")), ids=lambda path: path.stem)
def test_no_event_of_any_kind_is_answered_with_an_error(path: Path) -> None:
    rig = Rig()
    stored = json.loads(path.read_text())
    body = stored["body"] if isinstance(stored, dict) and "body" in stored else stored
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = {"content-type": "application/json", **(stored.get("headers") or {} if isinstance(stored, dict) else {})}
    assert rig.post("audit", raw, headers) == 200
    message = {"message": {"data": base64.b64encode(raw).decode(), "messageId": "1"}, "subscription": "projects/p/subscriptions/s"}
    assert rig.post("audit", json.dumps(message).encode()) == 200
