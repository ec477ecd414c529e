"""What Cloud Monitoring would publish about a simulated service: alert policies as data, and the notifications they send."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from shared.records.signals import Signal
from shared.records.subject import ServiceId

EVALUATED_S = 60
"""Policies are looked at once a minute, as often as there is a new point."""


class Form(StrEnum):
    """The kind of a policy's condition, by its name in Cloud Monitoring's API."""

    THRESHOLD = "conditionThreshold"
    ABSENT = "conditionAbsent"
    PROMQL = "conditionPrometheusQueryLanguage"


@dataclass(frozen=True, slots=True)
class AlertPolicy:
    """One alert policy of a served model. `{service}`, `{region}`, `{project}` and `{threshold}` in its texts are filled in."""

    signal: Signal
    title: str
    """Of the policy, behind the service's name."""
    condition: str
    """Of its condition."""
    form: Form
    query: str
    """The filter of a threshold or an absence, or the PromQL query, which compares by itself."""
    threshold: float
    duration_s: int
    """The condition holds for so long before an incident opens (the retest window)."""
    metric: str = ""
    """Of a threshold or an absence."""
    metric_name: str = ""
    metric_labels: tuple[tuple[str, str], ...] = ()
    aligner: str = "ALIGN_RATE"
    reducer: str = "REDUCE_SUM"
    documentation: str = ""

    def text(self, service: ServiceId) -> str:
        """The filter or query for that service."""
        values = {"service": service.name, "region": service.region, "project": service.project, "threshold": f"{self.threshold:g}"}
        found = self.query
        for name, value in values.items():
            found = found.replace(f"{{{name}}}", value)
        return found


_CLOUD_RUN = 'resource.type="cloud_run_revision" AND resource.labels.service_name="{service}" AND resource.labels.location="{region}"'

NO_INSTANCE = AlertPolicy(
    signal=Signal.NO_INSTANCE,
    title="no instance available",
    condition="429 answers per second",
    form=Form.THRESHOLD,
    query=f'{_CLOUD_RUN} AND metric.type="run.googleapis.com/request_count" AND metric.labels.response_code="429"',
    threshold=0.0,
    duration_s=60,
    metric="run.googleapis.com/request_count",
    metric_name="Request Count",
    metric_labels=(("response_code", "429"), ("response_code_class", "4xx")),
    documentation="Requests are refused for want of an instance.",
)


def notification(
    service: ServiceId,
    incident_id: str,
    state: Literal["open", "closed"],
    *,
    started_at: datetime,
    now: datetime,
    policy: AlertPolicy = NO_INSTANCE,
    observed: float | None = None,
) -> dict[str, Any]:
    """A Cloud Monitoring notification (schema 1.2) of an alert policy, with Trimtab's routing labels.

    `observed` is the value that opened or closed the incident; of an absence there is none. By default it is of the policy on 429 answers.
    """
    if observed is None and policy is NO_INSTANCE:
        observed = 3.2 if state == "open" else 0.0
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
            "summary": _summary(service, policy, state, observed),
            "policy_name": f"{service.name}: {policy.title}",
            "policy_user_labels": {
                "trimtab_service": service.name,
                # The labels of a resource say it too; a PromQL condition has none.
                **({"trimtab_region": service.region} if policy.form is Form.PROMQL else {}),
                "trimtab_signal": policy.signal.value,
            },
            "condition_name": policy.condition,
            "documentation": {"content": policy.documentation, "mime_type": "text/markdown"},
            **_measured(service, policy, observed),
        },
    }


def _summary(service: ServiceId, policy: AlertPolicy, state: str, observed: float | None) -> str:
    if policy.form is Form.PROMQL:
        return f'Condition "{policy.condition}" was {"true" if state == "open" else "false"} for the last {policy.duration_s // 60}m0s.'
    labels = (
        f" with metric labels {{{', '.join(f'{name}={value}' for name, value in policy.metric_labels)}}}" if policy.metric_labels else ""
    )
    what = f"{policy.metric_name} for {service.project} {service.name}{labels}"
    if policy.form is Form.ABSENT:
        return f"{what} is {'absent' if state == 'open' else 'present again'}."
    value = "" if observed is None else f" with a value of {observed:.3f}"
    if state == "open":
        return f"{what} is above the threshold of {policy.threshold:.3f}{value}."
    return f"{what} returned to normal{value}."


def _measured(service: ServiceId, policy: AlertPolicy, observed: float | None) -> dict[str, Any]:
    """The parts that depend on the condition's form: PromQL keeps its value in a label and names no metric."""
    name = f"projects/{service.project}/alertPolicies/1/conditions/1"
    condition: dict[str, Any] = {"name": name, "displayName": policy.condition}
    duration = f"{policy.duration_s}s"
    if policy.form is Form.PROMQL:
        labels = {} if observed is None else {"value": f"{observed:.6g}"}
        asked = {"query": policy.text(service), "duration": duration, "evaluationInterval": f"{EVALUATED_S}s"}
        return {
            "resource": {"type": "", "labels": {}},
            "metric": {"type": "__missing__", "displayName": "__missing__", "labels": labels},
            "condition": {**condition, policy.form.value: asked},
        }
    aggregation = {"alignmentPeriod": f"{EVALUATED_S}s", "perSeriesAligner": policy.aligner, "crossSeriesReducer": policy.reducer}
    details: dict[str, Any] = {"filter": policy.text(service), "aggregations": [aggregation], "duration": duration}
    if policy.form is Form.THRESHOLD:
        details |= {"comparison": "COMPARISON_GT", "thresholdValue": policy.threshold}
    return {
        "resource": {
            "type": "cloud_run_revision",
            "labels": {"project_id": service.project, "location": service.region, "service_name": service.name},
        },
        "metric": {"type": policy.metric, "displayName": policy.metric_name, "labels": dict(policy.metric_labels)},
        "condition": {**condition, policy.form.value: details},
        **({} if observed is None else {"observed_value": f"{observed:.3f}"}),
        **({} if policy.form is Form.ABSENT else {"threshold_value": f"{policy.threshold:g}"}),
    }
