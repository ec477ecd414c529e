"""Rules about numbers outside Cloud Run's limits: concurrency, timeouts, bounds of instances, times of probes. Pure."""

from collections.abc import Callable, Iterator

from shared.cloudrun.limits import MAX_CONCURRENCY, MAX_TIMEOUT_SECONDS, LimitFault, concurrency_faults, scaling_faults, timeout_faults
from shared.cloudrun.probes import probe_faults
from shared.cloudrun.server_texts import ServerText
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.limit_findings import limit_finding, limit_findings
from shared.lint.pasting import paste
from shared.lint.probe_views import probes
from shared.lint.service_parts import is_document, part, seconds, whole

LIMIT = "cloud-run-limit"
INVALID = "service-document-invalid"
_OWN_RULE = frozenset({ServerText.PROBE_TCP})
MAX_INT32 = 2**31 - 1
_COUNTS = ("minInstanceCount", "maxInstanceCount", "manualInstanceCount")
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
        for finding in limit_findings(deployment, LIMIT, scaling_faults(min_instance_count=least, max_instance_count=most, field=field)):
            refused = True
            yield finding
    least, most = whole(template, "minInstanceCount"), whole(service, "maxInstanceCount")
    if not refused and 0 < most < least:
        where = deployment.where("/template/scaling/minInstanceCount")
        message = f"{where.field} is {least}, above the service's maximum of {most} instances: no revision can have so many."
        yield Finding(LIMIT, message, where, f"lower it to {most}, or raise the service's maximum")


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
            yield limit_finding(deployment, LIMIT, _no_int32(field, probe.timing.failure_threshold, "use up to 180"))
        for fault in probe_faults(probe.kind, probe.timing, actions=probe.actions, port=probe.port or 0, container=probe.container):
            is_order = fault.text is None and fault.field.endswith(".timeout_seconds")
            if fault.text in _OWN_RULE or (fault.text is None and not is_order):
                continue
            # A part of a document leaves the action to the rest of it; a flag of gcloud's says the whole probe.
            if fault.text is ServerText.PROBE_ACTION and not probe.actions and not deployment.complete and is_document(deployment):
                continue
            yield limit_finding(deployment, INVALID if fault.text in _FORM else LIMIT, fault)


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (request_limits, instance_bounds, probe_limits)
