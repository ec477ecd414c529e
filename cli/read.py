"""`trimtab read`: what would each of these bodies become? Nothing is touched: files are read and a verdict is printed.

A file holds a body as a function would receive it (a Pub/Sub push body, a structured CloudEvent), or a bare Cloud Monitoring
notification, or `{"headers": {...}, "body": ...}` for a request whose headers matter. The kind is told by content.

One row per file:

* `file`, `kind`: `alert`, `pubsub` (a Pub/Sub message with nothing in it that is known) or `unknown`.
* `parked`: why it can never be parsed, or null. What is well formed but names no service, or has no meaning, is not parked here: then
  `subject` is null or `fields.signal` is, and `fields.problem` says why.
* `key`: what the event would be deduplicated by: of an alert `incident_id:state`, of another message its id.
* `subject`: the service it is about, `project:region:name`.
* `fields`: what could be read, also of a parked body.
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shared.errors import Park
from shared.events.alert import SERVICE_LABEL, route
from shared.events.alert_meaning import meaning
from shared.events.alert_reading import AlertReading, read_alert, usable
from shared.events.envelope import MESSAGE_PUBLISHED, Envelope, open_envelope
from shared.events.lenient import clean, load_json, mapping, shown
from shared.records.parked import ParkCode

EXIT_UNREADABLE = 2
"""At least one file could not be read at all."""
LINE_LIMIT = 4_096
"""Characters of one line of text output."""


class Format(StrEnum):
    """How the rows are printed."""

    TEXT = "text"
    JSONL = "jsonl"


def read(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Bodies as received, bare Cloud Monitoring notifications, or {headers, body} objects."),
    ],
    output_format: Annotated[Format, typer.Option("--format", help="One line of text, or one JSON object, per file.")] = Format.TEXT,
) -> None:
    """Say what each event body would become, touching nothing. Exit code 2 if a file cannot be read; a parked body is an answer, too."""
    unreadable = False
    for file in files:
        try:
            raw = file.read_bytes()
        except OSError as error:
            unreadable = True
            typer.echo(f"{clean(str(file), 1_024)}: cannot be read: {error.strerror or type(error).__name__}", err=True)
            continue
        row = {"file": str(file), **read_event(raw)}
        typer.echo(json.dumps(row) if output_format is Format.JSONL else _line(row))
    if unreadable:
        raise typer.Exit(EXIT_UNREADABLE)


def read_event(raw: bytes) -> dict[str, Any]:
    """The row of one body, without its file: `kind`, `parked`, `key`, `subject`, `fields`. Raises nothing, whatever the bytes."""
    try:
        headers, body, content = _request(raw)
    except Park as park:
        return _row("unknown", {}, parked=str(park))
    if "incident" in content and "message" not in content:
        return _alert(body, {})
    try:
        return _delivery(open_envelope(headers, body))
    except Park as park:
        return _row("pubsub" if "message" in content else "unknown", {}, parked=str(park))


def _delivery(envelope: Envelope) -> dict[str, Any]:
    """The row of what came in an envelope."""
    fields = _envelope_fields(envelope)
    if envelope.event_type not in {None, MESSAGE_PUBLISHED}:
        reason = f"unsupported: CloudEvent of type {shown(envelope.event_type)}; taken is {MESSAGE_PUBLISHED}"
        return _row("unknown", fields, parked=reason, key=envelope.message_id)
    if envelope.fault is not None:
        return _row("pubsub", fields, parked=f"{ParkCode.UNPARSABLE}: {envelope.fault}", key=envelope.message_id)
    if "incident" in _object(envelope.data):
        return _alert(envelope.data, fields)
    return _row("pubsub", fields, key=envelope.message_id)


def _request(raw: bytes) -> tuple[dict[str, str], bytes, dict[str, Any]]:
    """Headers, body, and the body's JSON object if it is one."""
    content = mapping(load_json(raw, "body", non_finite_as_null=True))
    if not (isinstance(content.get("headers"), dict) and "body" in content):
        return {}, raw, content
    headers = {name: value for name, value in content["headers"].items() if isinstance(value, str)}
    inner = content["body"]
    if isinstance(inner, str):
        body = inner.encode("utf-8", "surrogatepass")
        return headers, body, _object(body)
    try:
        return headers, json.dumps(inner).encode(), mapping(inner)
    except RecursionError:
        raise Park(ParkCode.UNPARSABLE, "body: JSON nested too deeply") from None


def _object(raw: bytes) -> dict[str, Any]:
    try:
        return mapping(load_json(raw, "body", non_finite_as_null=True))
    except Park:
        return {}


def _alert(payload: bytes, around: dict[str, Any]) -> dict[str, Any]:
    """The row of a notification, with the fields of the envelope `around` it."""
    try:
        reading = read_alert(payload)
    except Park as park:
        return _row("alert", around, parked=str(park))
    fields = {**around, **_alert_fields(reading)}
    if reading.test:
        return _row("alert", fields)
    try:
        incident_id, state = usable(reading)
    except Park as park:
        return _row("alert", fields, parked=str(park))
    subject = None
    try:
        subject = str(route(reading))
        fields["signal"], fields["signal_source"] = meaning(reading)
    except Park as park:
        fields["problem"] = str(park)
    return _row("alert", fields, key=f"{incident_id}:{state}", subject=subject)


def _envelope_fields(envelope: Envelope) -> dict[str, Any]:
    return {
        "message_id": envelope.message_id,
        "data_base64_ok": envelope.data_base64_ok,
        "attributes": envelope.attributes,
        "ordering_key": envelope.ordering_key,
        "delivery_attempt": envelope.delivery_attempt,
        "published_at": envelope.published_at.isoformat() if envelope.published_at else None,
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
        "started_at": reading.started_at.isoformat() if reading.started_at else None,
        "ended_at": reading.ended_at.isoformat() if reading.ended_at else None,
        "policy_name": reading.policy_name,
        "condition_name": reading.condition_name,
        "summary": reading.summary,
        "signal": None,
        "signal_source": None,
        "problem": None,
    }


def _row(
    kind: str, fields: dict[str, Any], *, parked: str | None = None, key: str | None = None, subject: str | None = None
) -> dict[str, Any]:
    return {"kind": kind, "parked": parked, "key": key, "subject": subject, "fields": fields}


def _line(row: dict[str, Any]) -> str:
    """The row as one line for people."""
    fields = row["fields"]
    if row["parked"]:
        verdict = f"parked: {row['parked']}"
    elif fields.get("test"):
        verdict = "console test notification, ignored"
    else:
        verdict = f"{row['subject'] or 'no subject'}, key {row['key']}"
        verdict += f", signal {fields['signal']}" if fields.get("signal") else ""
        verdict += f"; {fields['problem']}" if fields.get("problem") else ""
    return clean(f"{row['file']}: {row['kind']}: {verdict}", LINE_LIMIT)
