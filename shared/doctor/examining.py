"""All rules over one picture, in the order in which things must be mended. Pure."""

from collections.abc import Callable, Iterator

from shared.doctor import rules_delivery, rules_grants, rules_models, rules_parts, rules_services, rules_settings, rules_sidecar
from shared.doctor.finding import Finding
from shared.doctor.picture import Picture

RULES: tuple[Callable[[Picture], Iterator[Finding]], ...] = (
    rules_parts.apis,
    rules_parts.accounts,
    rules_parts.functions,
    rules_settings.settings,
    rules_settings.ingress,
    rules_delivery.topics,
    rules_delivery.subscriptions,
    rules_models.buckets,
    rules_grants.missing,
    rules_grants.excess,
    rules_parts.tick,
    rules_parts.sinks,
    rules_parts.database,
    rules_services.owners,
    rules_services.quotas,
    rules_services.metrics,
    rules_sidecar.collectors,
    rules_services.clock,
)


def examine(picture: Picture) -> tuple[Finding, ...]:
    """Everything that is wrong, or that could not be looked at."""
    return tuple(finding for rule in RULES for finding in rule(picture))
