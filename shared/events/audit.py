"""An audit log entry becomes a fact about one Cloud Run service; entries about anything else are nothing to us.

It comes as the data of a CloudEvent `google.cloud.audit.log.v1.written`, or as a message of a log sink. It only says that somebody did
something: what the service is now is for reading the service to say.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import ValidationError

from shared.errors import Park
from shared.events.audit_reading import AuditReading, read_audit
from shared.events.ignored import Ignored
from shared.events.lenient import shown
from shared.records.facts import AuditFact
from shared.records.parked import ParkCode
from shared.records.subject import ServiceId

CLOUD_RUN = "run.googleapis.com"

_LOGS: dict[str, Literal["activity", "system_event"]] = {"activity": "activity", "system_event": "system_event"}


@dataclass(frozen=True, slots=True)
class RoutedAudit:
    """An entry about one service."""

    service: ServiceId
    fact: AuditFact


def parse_audit(payload: bytes, *, published_at: datetime | None) -> RoutedAudit | Ignored:
    """The entry in `payload` (the message's decoded bytes) as a fact; `published_at` is the envelope's, aware.

    Raises:
        Park: unparsable: no entry of an audit log, or one without the id that Cloud Logging gives to each; unroutable: it is about a
            Cloud Run service, and does not say which.
    """
    reading = read_audit(payload)
    foreign = not_ours(reading)
    if foreign is not None:
        return Ignored(foreign)
    insert_id = usable(reading)
    service = route_audit(reading)
    fact = AuditFact(
        insert_id=insert_id,
        log=_LOGS[reading.log or ""],
        method=reading.method,
        principal=reading.principal,
        principal_subject=reading.principal_subject,
        delegation=reading.delegation,
        user_agent=reading.user_agent,
        client=reading.client,
        resource=reading.resource or "",
        revision_name=reading.revision_name,
        status_code=reading.status_code,
        message=reading.message,
        dry_run=reading.dry_run,
        operation_id=reading.operation_id,
        operation_first=reading.operation_first,
        operation_last=reading.operation_last,
        ready=reading.ready,
        ready_kind=reading.ready_kind,
        generation=reading.generation,
        occurred_at=reading.occurred_at,
        published_at=published_at,
    )
    return RoutedAudit(service, fact)


def not_ours(reading: AuditReading) -> str | None:
    """Why an entry is about nothing that Trimtab looks at; None where it is about a Cloud Run service.

    Reads are left out: Trimtab reads services itself, and a wake for each would never end. So are refusals by an organisation's policy.
    """
    if not reading.has_payload:
        return None
    if reading.service != CLOUD_RUN:
        return f"audit log of {shown(reading.service)}, not of Cloud Run"
    if reading.log is not None and reading.log not in _LOGS:
        return f"audit log {shown(reading.log)}: nothing was changed"
    if reading.name is None and "/services/" not in (reading.resource or ""):
        return f"audit log about {shown(reading.resource)}, which is no service"
    return None


def usable(reading: AuditReading) -> str:
    """The entry's id.

    Raises:
        Park: unparsable: it is no entry of an audit log, or has no id.
    """
    if not reading.has_payload:
        raise Park(ParkCode.UNPARSABLE, "audit log entry: no protoPayload object: not an entry of an audit log")
    if reading.log is None:
        raise Park(ParkCode.UNPARSABLE, "audit log entry: logName is missing, or names no log of cloudaudit.googleapis.com")
    if reading.insert_id is None:
        raise Park(ParkCode.UNPARSABLE, "audit log entry: insertId is missing or empty")
    return reading.insert_id


def route_audit(reading: AuditReading) -> ServiceId:
    """The service that the entry is about.

    Raises:
        Park: unroutable: project, region or name is missing or malformed.
    """
    parts = {"project": reading.project, "region": reading.region, "name": reading.name}
    missing = [part for part, value in parts.items() if value is None]
    try:
        if not missing:
            return ServiceId.model_validate(parts)
        what = f"it says no {' and no '.join(missing)} of the service"
    except ValidationError as error:
        wrong = [str(fault["loc"][0]) for fault in error.errors(include_url=False, include_input=False)]
        what = "; ".join(f"{part} {shown(parts[part])} is none of a Cloud Run service" for part in wrong)
    raise Park(ParkCode.UNROUTABLE, f"audit log entry about {shown(reading.resource)}: {what}")
