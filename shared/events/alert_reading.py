"""A Cloud Monitoring notification (schema 1.2) as it was read: every field optional, nothing judged.

Written for what is really sent, not only for what is documented: payloads of 2020 lack `scoping_project_*`, `metadata` and labels;
`ended_at` is null, 0 or the text "null"; numbers come as numbers or as text, and `observed_value` may be a whole sentence; the console's
test message has `documentation` as text; PromQL conditions say "__missing__" where the metric's type belongs and keep the value in
`metric.labels.value`; log-match policies send neither metric nor value.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Literal, NoReturn

from shared.errors import Park
from shared.events.lenient import clean, load_json, mapping, moment, number, shown
from shared.records.parked import ParkCode

SHORT, LONG = 256, 1_024
"""The bounds, in characters, of the short and the long texts of the alert's record."""
INCIDENT_ID_LIMIT = 64
"""Cloud Monitoring's ids have some 14 characters; reconcile keeps hundreds of them in one document of bounded size."""
CONDITION_TEXT_LIMIT = 16 * 1024
"""So much of a condition's filter or query is looked at; Cloud Monitoring allows 2,048 characters for a filter."""
LABEL_LIMIT = 128

TEST_VERSION = "test"
"""The version of the message that the console's "send test notification" sends."""

_STATES: dict[str, Literal["open", "closed"]] = {"open": "open", "closed": "closed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertReading:
    """What a notification says. None, or empty, where it says nothing that can be used."""

    version: str | None = None
    has_incident: bool = False
    incident_id: str | None = None
    """As sent; one of more than `INCIDENT_ID_LIMIT` characters, or not of printable ASCII, is replaced by `sha256:` and its digest."""
    state: str | None = None
    """Lower case; what is neither open nor closed is for `usable` to refuse."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    summary: str = ""
    url: str = ""
    """Only http(s) links are kept: it will be shown as one."""
    severity: str = ""
    documentation: str = ""
    policy_name: str = ""
    condition_name: str = ""
    policy_labels: Mapping[str, str] = field(default_factory=dict)
    """`policy_user_labels`: where people put `trimtab_signal`, `trimtab_service` and `trimtab_region`."""
    scoping_project_id: str | None = None
    scoping_project_number: str | None = None
    resource_type: str | None = None
    resource_labels: Mapping[str, str] = field(default_factory=dict)
    metric_type: str | None = None
    metric_labels: Mapping[str, str] = field(default_factory=dict)
    metric_label_value: float | None = None
    """`metric.labels.value`: where PromQL conditions keep the number."""
    observed: float | None = None
    threshold: float | None = None
    condition_kind: str | None = None
    """`conditionThreshold`, `conditionAbsent`, `conditionMatchedLog` and so on; None where the condition only has a name."""
    condition_texts: tuple[str, ...] = ()
    """The condition's filter, denominator filter or query."""

    @property
    def test(self) -> bool:
        """Whether it is the console's test message, which is about nothing."""
        return self.version == TEST_VERSION

    @property
    def log_match(self) -> bool:
        """Whether a log-match policy sent it. Older ones lack the condition and are known by the wording of their summary."""
        return self.condition_kind == "conditionMatchedLog" or (
            self.condition_kind is None and self.metric_type is None and self.summary.startswith("Log match condition")
        )


def read_alert(payload: bytes) -> AlertReading:
    """Read a notification; what is missing or of an odd type becomes None, unknown fields are passed over.

    Raises:
        Park: unparsable: the payload is no JSON object.
    """
    content = load_json(payload, "alert", non_finite_as_null=True)
    if not isinstance(content, dict):
        raise Park(ParkCode.UNPARSABLE, f"alert: want a JSON object with an incident in it, got {shown(content)}")
    incident = mapping(content.get("incident"))
    resource, metric = mapping(incident.get("resource")), mapping(incident.get("metric"))
    condition = mapping(incident.get("condition"))
    kind, details = _condition(condition)
    metric_labels = _labels(metric.get("labels"))
    threshold = number(incident.get("threshold_value"))
    documentation = incident.get("documentation")
    return AlertReading(
        version=_word(content.get("version")),
        has_incident=isinstance(content.get("incident"), dict),
        incident_id=_incident_id(incident.get("incident_id")),
        state=_word(incident.get("state")),
        started_at=moment(incident.get("started_at")),
        ended_at=moment(incident.get("ended_at")),
        summary=clean(incident.get("summary"), LONG),
        url=_url(incident.get("url")),
        severity=clean(incident.get("severity"), SHORT),
        documentation=clean(mapping(documentation).get("content") or documentation, LONG),
        policy_name=clean(incident.get("policy_name"), SHORT),
        condition_name=clean(incident.get("condition_name"), SHORT),
        policy_labels=_labels(incident.get("policy_user_labels")),
        scoping_project_id=_label(incident.get("scoping_project_id")),
        scoping_project_number=_label(incident.get("scoping_project_number")),
        resource_type=_label(resource.get("type")),
        resource_labels=_labels(resource.get("labels")),
        metric_type=_metric_type(metric.get("type")),
        metric_labels=metric_labels,
        metric_label_value=number(metric_labels.get("value")),
        observed=number(incident.get("observed_value")),
        threshold=threshold if threshold is not None else number(mapping(condition.get("conditionThreshold")).get("thresholdValue")),
        condition_kind=kind,
        condition_texts=tuple(
            text[:CONDITION_TEXT_LIMIT]
            for text in (details.get(name) for name in ("filter", "denominatorFilter", "query"))
            if isinstance(text, str)
        ),
    )


def usable(reading: AlertReading) -> tuple[str, Literal["open", "closed"]]:
    """The incident's id and its state, `open` or `closed`.

    Raises:
        Park: unparsable: no incident, no id or no state; unsupported: a version of the schema other than 1.x.
    """
    if not reading.has_incident:
        _refuse(ParkCode.UNPARSABLE, "no incident object: not a Cloud Monitoring notification")
    if reading.version is None or not reading.version.startswith("1."):
        _refuse(ParkCode.UNSUPPORTED, f"version {shown(reading.version)}; taken is 1.x")
    if reading.incident_id is None:
        _refuse(ParkCode.UNPARSABLE, "incident.incident_id is missing or empty")
    state = _STATES.get(reading.state or "")
    if state is None:
        _refuse(ParkCode.UNPARSABLE, f"incident.state: want open or closed, got {shown(reading.state)}")
    return reading.incident_id, state


def _condition(condition: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    for name, details in condition.items():
        if name.startswith("condition") and isinstance(details, dict):
            return clean(name, SHORT), details
    return None, {}


def _incident_id(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        return None
    if len(value) <= INCIDENT_ID_LIMIT and value.isascii() and value.isprintable():
        return value
    return f"sha256:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _metric_type(value: object) -> str | None:
    text = _label(value)
    return None if text == "__missing__" else text


def _word(value: object) -> str | None:
    return clean(value, SHORT).lower() or None


def _label(value: object) -> str | None:
    """A label's text; whole numbers are taken for text."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return clean(value, SHORT) or None


def _labels(value: object) -> dict[str, str]:
    """The labels that have a text; an empty one says nothing."""
    read: dict[str, str] = {}
    for name, text in islice(mapping(value).items(), LABEL_LIMIT):
        label = _label(text)
        if label is not None:
            read[name] = label
    return read


def _url(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    plain = len(text) <= LONG and text.isprintable() and " " not in text
    return text if plain and text.startswith(("https://", "http://")) else ""


def _refuse(code: ParkCode, reason: str) -> NoReturn:
    raise Park(code, f"alert: {reason}")
