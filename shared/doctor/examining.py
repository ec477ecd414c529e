"""All rules over one picture, in the order in which things must be mended. Pure."""

from collections.abc import Callable, Iterator, Mapping

from shared.doctor import (
    rules_delivery,
    rules_doors,
    rules_grants,
    rules_models,
    rules_parts,
    rules_services,
    rules_settings,
    rules_sidecar,
)
from shared.doctor.finding import CHECKS, Finding, Level, Verdict
from shared.doctor.picture import NOT_ASKED, NotAsked, Picture, Source

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
    rules_doors.strangers,
    rules_doors.act_as_default,
    rules_parts.tick,
    rules_parts.sinks,
    rules_parts.database,
    rules_services.owners,
    rules_services.runners,
    rules_services.quotas,
    rules_services.metrics,
    rules_sidecar.collectors,
    rules_services.clock,
)


def examine(picture: Picture) -> tuple[Finding, ...]:
    """Everything that is wrong, or that could not be looked at."""
    return (*picture.said, *(finding for rule in RULES for finding in rule(picture)))


def verdicts(picture: Picture, findings: tuple[Finding, ...]) -> dict[str, Level | Verdict]:
    """Of each check the worst that was found; where nothing was found, whether it was looked at at all."""
    return {check: _verdict(check, picture, findings) for check in CHECKS}


def _verdict(check: str, picture: Picture, findings: tuple[Finding, ...]) -> Level | Verdict:
    found = {each.level for each in findings if each.check == check}
    worst = next((level for level in Level if level in found), None)
    if worst is not None:
        return worst
    return Verdict.NOT_ASKED if isinstance(_LOOKED_AT[check](picture), NotAsked) else Verdict.SILENT


def _of_plan(picture: Picture) -> object:
    return picture.functions if picture.source is Source.PLAN else NOT_ASKED


def _of_project(picture: Picture) -> object:
    return picture.owned if picture.source is Source.PROJECT else NOT_ASKED


def _of_functions(picture: Picture) -> object:
    return picture.functions


_LOOKED_AT: Mapping[str, Callable[[Picture], object]] = {
    "api": lambda picture: picture.apis,
    "account": lambda picture: picture.accounts,
    "function": _of_functions,
    "setting": _of_functions,
    "ingress": _of_functions,
    "version": _of_functions,
    "topic": lambda picture: picture.topics,
    "subscription": lambda picture: picture.subscriptions,
    "dead-letter": lambda picture: picture.subscriptions,
    "bucket": _of_functions,
    "grant": _of_functions,
    "excess": _of_functions,
    "tick": lambda picture: picture.jobs,
    "sink": _of_functions,
    "database": lambda picture: picture.database,
    "ttl": lambda picture: picture.ttl,
    "index": lambda picture: picture.indexes,
    "quota": lambda picture: picture.quotas,
    "metric": lambda picture: picture.alert_policies,
    "sidecar": lambda picture: picture.alert_policies,
    "alert": _of_plan,
    "owner": lambda picture: picture.owned,
    "service": _of_project,
    "clock": lambda picture: picture.clock_ahead_seconds,
}
"""What of a picture each check looks at: where that was not asked for, nothing was looked at."""
