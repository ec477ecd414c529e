"""Alert policies on TF Serving's own metrics, where nothing brings those metrics to Cloud Monitoring. Pure."""

from collections import defaultdict
from collections.abc import Iterator

from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NotSeen, Picture, Served, Unseen
from shared.doctor.rules_parts import unseen
from shared.records.subject import ServiceId

SERVING = ":tensorflow:"
"""In every name of a metric that TF Serving itself counts."""
MEND = (
    "set serving.metrics_sidecar: true in its spec and let Trimtab deploy it (trimtab render shows the container); with own_entry, or "
    "until then, add Google's collector to the service yourself (cloud.google.com/stackdriver/docs/managed-prometheus/cloudrun-sidecar), "
    "or leave these signals out of models.signals in terraform.tfvars"
)


def collectors(picture: Picture) -> Iterator[Finding]:
    """Served services whose policies wait for metrics that no collector sends."""
    policies: dict[ServiceId, list[str]] = defaultdict(list)
    for policy in () if not isinstance(picture.alert_policies, tuple) else picture.alert_policies:
        if policy.enabled and any(SERVING in metric for metric in policy.metrics):
            for service in _watched(policy.watches, picture):
                policies[service].append(policy.signal or repr(policy.name))
    for service, names in policies.items():
        served = picture.services[service]
        if isinstance(served, NotSeen) and service not in _owned(picture):
            yield from unseen("sidecar", f"the service {service}", served)
        elif isinstance(served, Served) and served.collector is False:
            what = f"{service} has no collector beside TF Serving, and alert policies wait for its metrics: {', '.join(sorted(set(names)))}"
            why = "TF Serving's own metrics reach Cloud Monitoring by a collector only: these policies never open an incident"
            yield Finding("sidecar", Level.WARNING, what, why, MEND)


def _watched(watches: tuple[tuple[str, str | None], ...], picture: Picture) -> Iterator[ServiceId]:
    """The services of the picture that a policy says it is about."""
    yield from (each for each in picture.services if any(each.name == name and region in (None, each.region) for name, region in watches))


def _owned(picture: Picture) -> tuple[ServiceId, ...]:
    owned: tuple[ServiceId, ...] | Unseen = picture.owned
    return owned if isinstance(owned, tuple) else ()
