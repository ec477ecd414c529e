"""The rows of `trimtab read`: what each kind of event would become, and every field that could be read of it."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from shared.errors import Park
from shared.events.alert import SERVICE_LABEL, route
from shared.events.alert_meaning import meaning
from shared.events.alert_reading import AlertReading, read_alert, usable
from shared.events.audit import not_ours, route_audit
from shared.events.audit import usable as usable_entry
from shared.events.audit_reading import AuditReading, read_audit
from shared.events.command import InvalidCommand, read_command
from shared.events.envelope import AUDIT_LOG_WRITTEN, MESSAGE_PUBLISHED, STORAGE_EVENT, Envelope
from shared.events.ignored import Ignored
from shared.events.kinds import Kind, object_in
from shared.events.lenient import clean, shown
from shared.events.storage import UploadReading, parse_upload, read_upload
from shared.records.commands import HoldCommand, ReleaseCommand
from shared.records.parked import ParkCode

FLEET = "fleet"
"""The subject of a command about all services."""


def row_of(kind: Kind, envelope: Envelope) -> dict[str, Any]:
    """The row of one event: `kind`, `parked`, `key`, `subject`, `fields`. Raises nothing."""
    fields = _envelope_fields(envelope)
    if kind is Kind.UNKNOWN:
        taken = f"{MESSAGE_PUBLISHED}, {STORAGE_EVENT}* and {AUDIT_LOG_WRITTEN}"
        reason = f"unsupported: CloudEvent of type {shown(envelope.event_type)}; taken are {taken}, and commands of any type"
        return _row(kind, fields, parked=reason, key=envelope.message_id)
    if kind is Kind.STORAGE:
        return _storage(envelope, fields)
    if envelope.fault is not None:
        return _row(kind, fields, parked=f"{ParkCode.UNPARSABLE}: {envelope.fault}", key=envelope.message_id)
    read = _ROWS.get(kind)
    return read(envelope, fields) if read is not None else _row(kind, fields, key=envelope.message_id)


def _alert(envelope: Envelope, around: dict[str, Any]) -> dict[str, Any]:
    try:
        reading = read_alert(envelope.data)
    except Park as park:
        return _row(Kind.ALERT, around, parked=str(park))
    fields = {**around, **_alert_fields(reading)}
    if reading.test:
        return _row(Kind.ALERT, fields)
    try:
        incident_id, state = usable(reading)
    except Park as park:
        return _row(Kind.ALERT, fields, parked=str(park))
    subject = None
    try:
        subject = str(route(reading))
        fields["signal"], fields["signal_source"] = meaning(reading)
    except Park as park:
        fields["problem"] = str(park)
    return _row(Kind.ALERT, fields, key=f"{incident_id}:{state}", subject=subject)


def _storage(envelope: Envelope, around: dict[str, Any]) -> dict[str, Any]:
    reading = read_upload(envelope)
    fields = {**around, **_upload_fields(reading)}
    try:
        upload = parse_upload(envelope)
    except Park as park:
        return _row(Kind.STORAGE, fields, parked=str(park))
    if isinstance(upload, Ignored):
        fields["problem"] = upload.reason
        return _row(Kind.STORAGE, fields)
    return _row(Kind.STORAGE, fields, key=upload.fact.key, subject=upload.model.id)


def _audit(envelope: Envelope, around: dict[str, Any]) -> dict[str, Any]:
    try:
        reading = read_audit(envelope.data)
    except Park as park:
        return _row(Kind.AUDIT, around, parked=str(park))
    fields = {**around, **_audit_fields(reading)}
    fields["problem"] = not_ours(reading)
    if fields["problem"] is not None:
        return _row(Kind.AUDIT, fields, key=reading.insert_id)
    try:
        insert_id = usable_entry(reading)
    except Park as park:
        return _row(Kind.AUDIT, fields, parked=str(park))
    subject = None
    try:
        subject = str(route_audit(reading))
    except Park as park:
        fields["problem"] = str(park)
    return _row(Kind.AUDIT, fields, key=insert_id, subject=subject)


def _command(envelope: Envelope, around: dict[str, Any]) -> dict[str, Any]:
    try:
        reading = read_command(envelope.data, attributes=envelope.attributes, message_id=envelope.message_id)
    except Park as park:
        stated = object_in(envelope.data)
        told = {name: clean(stated.get(name), 256) or None for name in ("command", "command_id", "service")}
        problems = [str(problem) for problem in park.problems] if isinstance(park, InvalidCommand) else []
        fields = {**around, **told, "claimed_author": clean(stated.get("author"), 256) or None, "problems": problems}
        return _row(Kind.COMMAND, fields, parked=str(park))
    command = reading.command
    own = command.model_dump(mode="json", exclude={"command_id", "author"}, exclude_unset=True)
    fields = {**around, **own, "command_id": reading.command_id, "claimed_author": command.author, "problem": None}
    if reading.command_id is None:
        fields["problem"] = "no command_id, and no message around it: it gets the id of the message that will carry it"
    of_all = isinstance(command, HoldCommand | ReleaseCommand) and command.service is None
    subject = FLEET if of_all else str(reading.service) if reading.service is not None else None
    return _row(Kind.COMMAND, fields, key=reading.command_id, subject=subject)


_ROWS: dict[Kind, Callable[[Envelope, dict[str, Any]], dict[str, Any]]] = {
    Kind.ALERT: _alert,
    Kind.AUDIT: _audit,
    Kind.COMMAND: _command,
}


def _envelope_fields(envelope: Envelope) -> dict[str, Any]:
    return {
        "message_id": envelope.message_id,
        "data_base64_ok": envelope.data_base64_ok,
        "attributes": envelope.attributes,
        "ordering_key": envelope.ordering_key,
        "delivery_attempt": envelope.delivery_attempt,
        "published_at": _written(envelope.published_at),
        "subscription": envelope.subscription,
    }


def _alert_fields(reading: AlertReading) -> dict[str, Any]:
    return {
        "version": reading.version,
        "test": reading.test,
        "incident_id": reading.incident_id,
        "state": reading.state,
        "service_name": reading.resource_labels.get("service_name"),
        "service_label": reading.policy_labels.get(SERVICE_LABEL),
        "metric_type": reading.metric_type,
        "metric_label_value": reading.metric_label_value,
        "observed": reading.observed,
        "threshold": reading.threshold,
        "condition": reading.condition_kind,
        "closes": not reading.log_match,
        "started_at": _written(reading.started_at),
        "ended_at": _written(reading.ended_at),
        "policy_name": reading.policy_name,
        "condition_name": reading.condition_name,
        "summary": reading.summary,
        "signal": None,
        "signal_source": None,
        "problem": None,
    }


def _upload_fields(reading: UploadReading) -> dict[str, Any]:
    told = asdict(reading)
    for name in ("fault", "fault_code", "published_at"):
        del told[name]
    model = reading.model
    return {
        **told,
        "occurred_at": _written(reading.occurred_at),
        "model": model.uri if model is not None else None,
        "problem": None,
    }


def _audit_fields(reading: AuditReading) -> dict[str, Any]:
    told = asdict(reading)
    del told["has_payload"]
    told["service_name"] = told.pop("name")
    places = {(True, True): "only", (True, False): "first", (False, True): "last"}
    return {
        **told,
        "delegation": list(reading.delegation),
        "operation": places.get((reading.operation_first, reading.operation_last)),
        "occurred_at": _written(reading.occurred_at),
        "problem": None,
    }


def _written(time: datetime | None) -> str | None:
    return time.isoformat() if time is not None else None


def _row(
    kind: Kind, fields: dict[str, Any], *, parked: str | None = None, key: str | None = None, subject: str | None = None
) -> dict[str, Any]:
    return {"kind": str(kind), "parked": parked, "key": key, "subject": subject, "fields": fields}
