"""Rules about numbers outside Cloud Run's limits: concurrency, timeouts, bounds of instances, times of probes. Pure."""

import math
from collections.abc import Callable, Iterator

from shared.cloudrun.limits import MAX_CONCURRENCY, MAX_TIMEOUT_SECONDS, LimitFault, concurrency_faults, scaling_faults, timeout_faults
from shared.cloudrun.probes import (
    DEFAULT_FAILURE_THRESHOLD,
    DEFAULT_PERIOD_SECONDS,
    MAX_LIVENESS_FIELD_SECONDS,
    MAX_READINESS_FIELD_SECONDS,
    MAX_STARTUP_FIELD_SECONDS,
    ProbeKind,
    probe_faults,
)
from shared.cloudrun.probes import DEFAULT_TIMEOUT_SECONDS as DEFAULT_TIMEOUT_SECONDS_OF_PROBE
from shared.cloudrun.server_texts import ServerText
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.limit_findings import limit_finding, limit_findings
from shared.lint.pasting import paste
from shared.lint.probe_views import Probe, probe_text, probes
from shared.lint.service_parts import is_document, seconds, whole
from shared.lint.v2_values import part

LIMIT = "cloud-run-limit"
INVALID = "service-document-invalid"
_OWN_RULE = frozenset({ServerText.PROBE_TCP})
MAX_INT32 = 2**31 - 1
_COUNTS = ("minInstanceCount", "maxInstanceCount", "manualInstanceCount")
_LONGEST_SECONDS = {
    ProbeKind.STARTUP: MAX_STARTUP_FIELD_SECONDS,
    ProbeKind.LIVENESS: MAX_LIVENESS_FIELD_SECONDS,
    ProbeKind.READINESS: MAX_READINESS_FIELD_SECONDS,
}
_FORM = frozenset({ServerText.PROBE_ACTION, ServerText.PROBE_PORT})


def request_limits(deployment: Deployment) -> Iterator[Finding]:
    """Concurrency above 1000, a request timeout above an hour."""
    template = deployment.template
    if not deployment.is_service:
        return
    most = MAX_CONCURRENCY
    fix = paste(deployment, flags=f"--concurrency={most}", v2={"maxInstanceRequestConcurrency": most}, v1={"containerConcurrency": most})
    yield from limit_findings(deployment, LIMIT, concurrency_faults(whole(template, "maxInstanceRequestConcurrency")), fix=fix)
    timeout = seconds(template.get("timeout"))
    if timeout is not None:
        longest = MAX_TIMEOUT_SECONDS
        fix = paste(deployment, flags=f"--timeout={longest}", v2={"timeout": f"{longest}s"}, v1={"timeoutSeconds": longest})
        yield from limit_findings(deployment, LIMIT, timeout_faults(timeout), fix=fix)


def instance_bounds(deployment: Deployment) -> Iterator[Finding]:
    """A minimum above the maximum, or a negative one, of the service, of the revision, and of both together."""
    service, template = part(deployment.service, "scaling"), part(deployment.template, "scaling")
    if not deployment.is_service:
        return
    refused = False
    for field, scaling in (("scaling", service), ("template.scaling", template)):
        for name in _COUNTS:
            if whole(scaling, name) > MAX_INT32:
                fix = "write the number of instances that the quota allows"
                yield limit_finding(deployment, LIMIT, _no_int32(f"{field}.{name}", whole(scaling, name), fix))
        least, most = whole(scaling, "minInstanceCount"), whole(scaling, "maxInstanceCount")
        for fault in scaling_faults(min_instance_count=least, max_instance_count=most, field=field):
            refused = True
            yield from limit_findings(deployment, LIMIT, [fault], fix=_bounds_fix(deployment, fault, least, most))
    least, most = whole(template, "minInstanceCount"), whole(service, "maxInstanceCount")
    if not refused and 0 < most < least:
        where = deployment.where("/template/scaling/minInstanceCount")
        message = f"{where.field} is {least}, above the service's maximum of {most} instances: no revision can have so many."
        lower = _bound(deployment, "minInstanceCount", most, on_service=False)
        yield Finding(LIMIT, message, where, f"{lower}\nor {_bound(deployment, 'maxInstanceCount', least, on_service=True)}")


def _bounds_fix(deployment: Deployment, fault: LimitFault, least: int, most: int) -> str:
    """A minimum that is no more than the maximum, or a maximum that is no less than the minimum; no bound below zero."""
    on_service = not fault.field.startswith("template.")
    if isinstance(fault.value, int) and fault.value < 0:
        name = "minInstanceCount" if fault.field.endswith("min_instance_count") else "maxInstanceCount"
        return _bound(deployment, name, 0 if name == "minInstanceCount" else max(1, least), on_service=on_service)
    higher = _bound(deployment, "maxInstanceCount", least, on_service=on_service)
    return f"{higher}\nor {_bound(deployment, 'minInstanceCount', most, on_service=on_service)}"


def _bound(deployment: Deployment, name: str, count: int, *, on_service: bool) -> str:
    short = name[:3]
    where = "run.googleapis.com" if on_service else "autoscaling.knative.dev"
    return paste(
        deployment,
        flags=f"--{short}={count}" if on_service else f"--{short}-instances={count}",
        v2={"scaling": {name: count}},
        v1={f"{where}/{short}Scale": str(count)},
    )


def _no_int32(field: str, value: int, fix: str) -> LimitFault:
    return LimitFault(
        field=field,
        value=value,
        limit=f"up to {MAX_INT32}",
        why="the Admin API counts in 32 bits and refuses the whole request",
        fix=fix,
    )


def probe_limits(deployment: Deployment) -> Iterator[Finding]:
    """Times of probes beyond their limits, a timeout longer than the period, a probe without an action or with two."""
    for probe in probes(deployment):
        if probe.timing.failure_threshold > MAX_INT32:
            field = f"template.containers[{probe.container}].{probe.kind}.failure_threshold"
            fault = _no_int32(field, probe.timing.failure_threshold, "use up to 180")
            yield limit_finding(deployment, LIMIT, fault, fix=probe_text(deployment, probe, {"failureThreshold": 180}))
        for fault in probe_faults(probe.kind, probe.timing, actions=probe.actions, port=probe.port or 0, container=probe.container):
            is_order = fault.text is None and fault.field.endswith(".timeout_seconds")
            if fault.text in _OWN_RULE or (fault.text is None and not is_order):
                continue
            # A part of a document leaves the action to the rest of it; a flag of gcloud's says the whole probe.
            if fault.text is ServerText.PROBE_ACTION and not probe.actions and not deployment.complete and is_document(deployment):
                continue
            better = _within_limits(probe, fault.field.rpartition(".")[2])
            fix = probe_text(deployment, probe, better) if better else None
            yield limit_finding(deployment, INVALID if fault.text in _FORM else LIMIT, fault, fix=fix)


def _within_limits(probe: Probe, field: str) -> dict[str, int]:
    """Numbers for the field of a probe that Cloud Run takes, and that wait as long as the user's as far as they can; else none."""
    timing, most = probe.timing, _LONGEST_SECONDS[probe.kind]
    period, timeout = timing.period_in_force_seconds, timing.timeout_in_force_seconds
    if field == "failure_threshold":
        return {"failureThreshold": DEFAULT_FAILURE_THRESHOLD}
    if field == "initial_delay_seconds" and probe.kind is not ProbeKind.READINESS:
        return {"initialDelaySeconds": most if timing.initial_delay_seconds > 0 else 0}
    if field == "period_seconds" and period < 0:
        return {"periodSeconds": max(DEFAULT_PERIOD_SECONDS, min(timeout, most))}
    if field == "period_seconds":
        times = math.ceil(timing.window_seconds / most)
        return {"periodSeconds": most} | (
            {"failureThreshold": times} if times > (timing.failure_threshold or DEFAULT_FAILURE_THRESHOLD) else {}
        )
    if field == "timeout_seconds" and timeout < 0:
        return {"timeoutSeconds": DEFAULT_TIMEOUT_SECONDS_OF_PROBE}
    if field == "timeout_seconds" and timeout > most:
        return {"timeoutSeconds": most, "periodSeconds": most}
    if field == "timeout_seconds":
        return {"periodSeconds": timeout} if 0 < period < timeout else {"timeoutSeconds": DEFAULT_TIMEOUT_SECONDS_OF_PROBE}
    return {}


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (request_limits, instance_bounds, probe_limits)
