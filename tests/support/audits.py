"""Entries of Cloud Run's audit log, as a log sink publishes them."""

import json
from datetime import datetime

from shared.records.subject import ServiceId
from shared.simulation.platform import TRIMTAB


def entry(service: ServiceId, insert_id: str, *, at: datetime, principal: str = TRIMTAB) -> bytes:
    """A change of a service through the v2 API."""
    return json.dumps(
        {
            "insertId": insert_id,
            "logName": f"projects/{service.project}/logs/cloudaudit.googleapis.com%2Factivity",
            "protoPayload": {
                "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
                "serviceName": "run.googleapis.com",
                "methodName": "google.cloud.run.v2.Services.UpdateService",
                "resourceName": service.resource_name,
                "authenticationInfo": {"principalEmail": principal},
            },
            "resource": {
                "type": "cloud_run_revision",
                "labels": {"project_id": service.project, "location": service.region, "service_name": service.name},
            },
            "timestamp": at.isoformat(),
            "severity": "NOTICE",
        }
    ).encode()
