"""The evidence of a look as the question that a diagnosis answers. Pure.

The evidence is about the revisions that serve while an incident is open: a candidate that fails to start says much in the same log, and
must not be taken for the trouble of those that answer requests. Only where no incident is open and a candidate failed is it about that one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shared.cloudrun.described import Described, Form
from shared.control.asking import failed_candidate
from shared.control.episodes import open_signals
from shared.lint.given import Given, Text, Workload
from shared.records.evidence import NO_SERIES, Evidence, LogLine, LogLines, LogSource, Readings
from shared.records.evidence_keys import EXPECTED_KEYS
from shared.records.metric import Known, Unknown
from shared.records.observed import Observed, ReadyState
from shared.records.rollout import TemplateView
from shared.records.service import ServiceSpec
from shared.records.snapshot import ManagedService, Observation
from shared.records.state import Incident, ServiceState
from shared.records.subject import ServiceId

_NAMED_REVISION = re.compile(r"[Rr]evision '?([a-z][a-z0-9-]{1,62})'?")


def question(service: ManagedService, observation: Observation, evidence: Evidence, now: datetime) -> tuple[Given, Described | None]:
    """The evidence as a diagnosis takes it, and the service as Cloud Run describes it.

    Metrics are minutes old: what was changed since their window began describes nothing that they measured, and is left out.
    """
    state, spec, observed = service.state, service.document.spec, observation.cloud_run
    about = _revisions(state, observation)
    given = Given(
        name=str(service.document.id),
        deploy=Text("", f"Cloud Run service {service.document.id.name}"),
        p99_ms=spec.objective.p99_ms,
        workload=_workload(spec, observation),
        logs=tuple(map(as_text, _lines(evidence, about))),
        metrics=_metrics(evidence.readings) if isinstance(evidence.readings, Readings) else {},
        alert=_alert(state, service.document.id),
    )
    described = _described(service.document.id, state, observation.template, evidence, observed)
    return given, None if described is None else _as_measured(described, state, now - _reach(evidence))


def as_text(line: LogLine) -> str:
    """The line as a person would paste it: who wrote it, when, and what it says."""
    text = " ".join(line.text.split())
    if line.source is LogSource.REQUEST:
        return f'request log: {line.at:%H:%M:%S} severity={line.severity} httpRequest.status={line.status} "{text}"'
    return f"{'server' if line.source is LogSource.SERVER else 'platform'}: {line.at:%H:%M:%S} {text}"


def _revisions(state: ServiceState, observation: Observation) -> frozenset[str]:
    """The revisions that the evidence is about; empty: all of them."""
    view, observed = observation.template, observation.cloud_run
    failed = failed_candidate(state, view)
    if failed is not None and not state.open_incident_count:
        return frozenset({failed})
    if view is not None:
        return frozenset(target.revision for target in view.traffic if target.percent)
    latest = observed.latest_ready_revision if isinstance(observed, Observed) else ""
    return frozenset({latest} if latest else ())


def _lines(evidence: Evidence, about: frozenset[str]) -> Iterable[LogLine]:
    """The lines of those revisions, and those that speak of no revision."""
    for line in evidence.logs.lines if isinstance(evidence.logs, LogLines) else ():
        named = {line.revision} if line.revision else set(_NAMED_REVISION.findall(line.text))
        if not about or not named or named & about:
            yield line


def _metrics(readings: Readings) -> Mapping[str, float | None]:
    """Key to value; None where a query gave no points that every service with traffic has.

    What could not be asked, and what may be without points in good order, is left out: a question that nobody asked.
    """
    values: dict[str, float | None] = {key: metric.value for key, metric in readings.values.items() if isinstance(metric, Known)}
    values |= dict.fromkeys(key for key in EXPECTED_KEYS if readings.values.get(key) == Unknown(reason=NO_SERIES))
    if values:
        # When it ended is not said: the source of the readings ends a window only where all of it can be seen.
        values["window [s]"] = readings.window_seconds
    return values


def _workload(spec: ServiceSpec, observation: Observation) -> Workload:
    serving, quota = spec.serving, observation.quota_instances
    return Workload(
        rows_per_request=None if serving is None else serving.rows_per_request,
        client_deadline_ms=None if serving is None else serving.client_deadline_ms,
        gpu_quota=int(quota.value) if isinstance(quota, Known) else None,
    )


def _alert(state: ServiceState, service: ServiceId) -> Mapping[str, Any] | None:
    """The most urgent open incident, in the words of Cloud Monitoring's notification."""
    order = {signal: at for at, signal in enumerate(open_signals(state))}
    incident: Incident | None = min(state.incidents, key=lambda each: (order[each.signal], each.started_at), default=None)
    if incident is None:
        return None
    said: dict[str, Any] = {
        "incident_id": incident.incident_id,
        "state": "open",
        "started_at": int(incident.started_at.timestamp()),
        "policy_name": incident.policy_name,
        "policy_user_labels": {"trimtab_signal": incident.signal.value},
        "resource": {"type": "cloud_run_revision", "labels": {"service_name": service.name, "location": service.region}},
    }
    for name in ("observed_value", "threshold_value"):
        value = getattr(incident, name)
        if value is not None:
            said[name] = f"{value:g}"
    return said


def _described(
    service: ServiceId, state: ServiceState, view: TemplateView | None, evidence: Evidence, observed: Observed | Unknown
) -> Described | None:
    """The service whose revisions serve: Cloud Run's own document, else what a reading of the bounds has of it.

    While a candidate is on its way the service's template is the candidate's, and says nothing of those that serve.
    """
    if state.open_incident_count and _template_is_elsewhere(state, view, observed):
        return None
    if evidence.service is not None:
        return Described(form=Form.V2, service=evidence.service, complete=True, region=service.region, project=service.project)
    if not isinstance(observed, Observed):
        return None
    return Described(form=Form.V2, service=_as_document(observed), complete=False, region=service.region, project=service.project)


def _reach(evidence: Evidence) -> timedelta:
    """How far back the metrics go."""
    readings = evidence.readings if isinstance(evidence.readings, Readings) else Readings()
    return timedelta(seconds=readings.window_seconds + readings.end_age_seconds)


def _as_measured(described: Described, state: ServiceState, since: datetime) -> Described | None:
    """The service without what was changed since: the whole of it after a promotion, its bounds after a change of these."""
    if state.served is not None and state.served.since > since:
        return None
    moved = [state.clocks.scaled_out_at, state.clocks.scaled_in_at, *(change.seen_at for change in state.foreign_changes)]
    moved.append(state.act.announced_at if state.act is not None else None)
    if all(moment is None or moment <= since for moment in moved):
        return described
    service = {name: value for name, value in described.service.items() if name != "scaling"}
    if isinstance(service.get("template"), dict):
        service["template"] = {name: value for name, value in service["template"].items() if name != "scaling"}
    return replace(described, service=service, complete=False)


def _template_is_elsewhere(state: ServiceState, view: TemplateView | None, observed: Observed | Unknown) -> bool:
    """Whether the service's template is not that of the revisions that serve."""
    if state.rollout is not None or (isinstance(observed, Observed) and observed.ready is ReadyState.FAILED):
        return True
    if view is None:
        return False
    serving = {target.revision for target in view.traffic if target.percent}
    return bool(serving) and (view.template_revision or view.latest_created) not in serving


def _as_document(observed: Observed) -> dict[str, Any]:
    """What is known of the service, as v2 JSON: an absent field was not said."""
    shape = observed.shape
    limits = {
        "cpu": None if shape.cpu is None else f"{shape.cpu:g}",
        "memory": None if shape.memory_gib is None else f"{shape.memory_gib:g}Gi",
    }
    said: dict[str, Any] = {name: text for name, text in limits.items() if text is not None}
    template: dict[str, Any] = {}
    if shape.accelerator is not None:
        said["nvidia.com/gpu"] = str(shape.gpu_count or 1)
        template["nodeSelector"] = {"accelerator": shape.accelerator}
        template["gpuZonalRedundancyDisabled"] = not shape.gpu_zonal_redundancy
    if said:
        template["containers"] = [{"resources": {"limits": said}}]
    if observed.max_instance_request_concurrency:
        template["maxInstanceRequestConcurrency"] = observed.max_instance_request_concurrency
    template["scaling"] = {"maxInstanceCount": observed.max_in_force}
    bounds = observed.bounds
    return {
        "scaling": {"minInstanceCount": bounds.min_instance_count, "maxInstanceCount": observed.max_in_force},
        "template": template,
    }
