"""What Cloud Monitoring would publish about a simulated service."""

from datetime import datetime
from typing import Any, Literal

from shared.records.subject import ServiceId


def notification(
    service: ServiceId, incident_id: str, state: Literal["open", "closed"], *, started_at: datetime, now: datetime
) -> dict[str, Any]:
    """A Cloud Monitoring notification (schema 1.2) of an alert policy on 429 answers, with Trimtab's routing labels."""
    what = "is above the threshold of 0.000 with a value of 3.200" if state == "open" else "returned to normal with a value of 0.000"
    return {
        "version": "1.2",
        "incident": {
            "incident_id": incident_id,
            "scoping_project_id": service.project,
            "scoping_project_number": 123456789012,
            "url": f"https://console.cloud.google.com/monitoring/alerting/alerts/{incident_id}?project={service.project}",
            "severity": "Error",
            "started_at": int(started_at.timestamp()),
            "ended_at": int(now.timestamp()) if state == "closed" else None,
            "state": state,
            "summary": f"Request Count for {service.project} {service.name} with metric labels {{response_code=429}} {what}.",
            "resource": {
                "type": "cloud_run_revision",
                "labels": {"project_id": service.project, "location": service.region, "service_name": service.name},
            },
            "metric": {
                "type": "run.googleapis.com/request_count",
                "displayName": "Request Count",
                "labels": {"response_code": "429", "response_code_class": "4xx"},
            },
            "policy_name": f"{service.name}: no instance available",
            "policy_user_labels": {"trimtab_service": service.name, "trimtab_signal": "no-instance"},
            "condition_name": "429 answers per second",
            "threshold_value": "0",
            "observed_value": "3.200" if state == "open" else "0.000",
            "condition": {
                "name": f"projects/{service.project}/alertPolicies/1/conditions/1",
                "displayName": "429 answers per second",
                "conditionThreshold": {
                    "filter": 'resource.type="cloud_run_revision" AND metric.type="run.googleapis.com/request_count" '
                    'AND metric.labels.response_code="429"',
                    "comparison": "COMPARISON_GT",
                    "thresholdValue": 0,
                    "duration": "60s",
                },
            },
            "documentation": {"content": "Requests are refused for want of an instance.", "mime_type": "text/markdown"},
        },
    }
