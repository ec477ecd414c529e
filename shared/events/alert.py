"""A Cloud Monitoring notification becomes a fact about one service: read, then routed, then understood."""

from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

from pydantic import ValidationError

from shared.errors import Park
from shared.events.alert_meaning import meaning
from shared.events.alert_reading import AlertReading, read_alert, usable
from shared.events.ignored import Ignored
from shared.events.lenient import shown
from shared.records.facts import AlertFact
from shared.records.parked import ParkCode
from shared.records.subject import ServiceId

__all__ = ["REGION_LABEL", "SERVICE_LABEL", "Ignored", "RoutedAlert", "parse_alert", "route"]

SERVICE_LABEL = "trimtab_service"
REGION_LABEL = "trimtab_region"

_WANTED = {
    "project": "a Google Cloud project id (6-30 lower case letters, digits, hyphens)",
    "region": "a Cloud Run region, for example europe-west1",
    "name": "a Cloud Run service name (at most 49 lower case letters, digits, hyphens)",
}


@dataclass(frozen=True, slots=True)
class RoutedAlert:
    """An alert about one service."""

    service: ServiceId
    fact: AlertFact


def parse_alert(payload: bytes, *, published_at: datetime | None) -> RoutedAlert | Ignored:
    """The notification in `payload` (the message's decoded bytes) as a fact; `published_at` is the envelope's, aware.

    Raises:
        Park: unparsable, unsupported (a version other than 1.x), unroutable (it does not name one service), or no-signal.
    """
    reading = read_alert(payload)
    if reading.test:
        return Ignored("console test notification")
    incident_id, state = usable(reading)
    service = route(reading)
    signal, source = meaning(reading)
    observed = reading.observed
    if observed is None and reading.metric_type is None:
        observed = reading.metric_label_value
    fact = AlertFact(
        incident_id=incident_id,
        state=state,
        signal=signal,
        signal_source=source,
        started_at=reading.started_at,
        ended_at=reading.ended_at,
        closes=not reading.log_match,
        metric_type=reading.metric_type,
        observed_value=observed,
        threshold_value=reading.threshold,
        policy_name=reading.policy_name,
        condition_name=reading.condition_name,
        revision_name=reading.resource_labels.get("revision_name"),
        summary=reading.summary,
        url=reading.url,
        published_at=published_at,
    )
    return RoutedAlert(service, fact)


def route(reading: AlertReading) -> ServiceId:
    """The service that the alert is about.

    The policy's user labels come first: `trimtab_service` is the Cloud Run name, `trimtab_region` its region. What they do not say comes
    from the labels of the resource, which hold only what the policy did not aggregate away. The project is the resource's, else the
    scoping project.

    Raises:
        Park: unroutable: project, region or name is missing or malformed; the reason names which, and the label to add.
    """
    labels, resource = reading.policy_labels, reading.resource_labels
    parts = {
        "name": _first(
            (f"user label {SERVICE_LABEL}", labels.get(SERVICE_LABEL)), ("resource.labels.service_name", resource.get("service_name"))
        ),
        "region": _first((f"user label {REGION_LABEL}", labels.get(REGION_LABEL)), ("resource.labels.location", resource.get("location"))),
        "project": _first(("resource.labels.project_id", resource.get("project_id")), ("scoping_project_id", reading.scoping_project_id)),
    }
    missing = [part for part, (_, value) in parts.items() if value is None]
    if missing:
        _refuse(reading, f"it says no {' and no '.join('service name' if part == 'name' else part for part in missing)}", missing)
    try:
        return ServiceId.model_validate({part: value for part, (_, value) in parts.items()})
    except ValidationError as error:
        wrong = [str(fault["loc"][0]) for fault in error.errors(include_url=False, include_input=False)]
        texts = [f"{part} {shown(parts[part][1])} (from {parts[part][0]}) is not {_WANTED[part]}" for part in wrong]
        _refuse(reading, "; ".join(texts), wrong)


def _first(*choices: tuple[str, str | None]) -> tuple[str, str | None]:
    return next(((source, value) for source, value in choices if value is not None), ("", None))


def _refuse(reading: AlertReading, what: str, parts: list[str]) -> NoReturn:
    advice = {
        "name": f"the user label {SERVICE_LABEL} (the Cloud Run name) on the policy, or service_name kept in its grouping",
        "region": f"the user label {REGION_LABEL} (for example europe-west1) on the policy, or location kept in its grouping",
        "project": "project_id kept in the policy's grouping",
    }
    remedies = "; ".join(advice[part] for part in parts)
    raise Park(ParkCode.UNROUTABLE, f"alert of policy {shown(reading.policy_name)}: {what}; this helps: {remedies}") from None
