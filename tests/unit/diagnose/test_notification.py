"""The body of a notification as the incident."""

import base64
import json

import pytest

from shared.diagnose.evidence_text import EvidenceTextError
from shared.diagnose.notification import read_notification

INCIDENT = {"incident_id": "0.abc", "state": "open", "policy_name": "p99", "metric": {"type": "run.googleapis.com/request_latencies"}}
BODY = json.dumps({"incident": INCIDENT, "version": "1.2"})


def test_the_body_of_a_webhook() -> None:
    assert read_notification(BODY) == INCIDENT


def test_the_body_that_pub_sub_pushes() -> None:
    pushed = {"message": {"data": base64.b64encode(BODY.encode()).decode(), "messageId": "1"}, "subscription": "s"}
    assert read_notification(json.dumps(pushed)) == INCIDENT


def test_the_incident_alone() -> None:
    assert read_notification(json.dumps(INCIDENT)) == INCIDENT


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"incident": 1}', '{"message": {}}', '{"message": {"data": "*"}}', "[" * 100_000])
def test_what_is_no_notification_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(EvidenceTextError, match="notification of Cloud Monitoring"):
        read_notification(text)
