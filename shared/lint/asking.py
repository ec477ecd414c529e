"""One file, one question, one answer: recognise, resolve, check. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from shared.cloudrun.described import Described
from shared.cloudrun.terraform_reading import alert_policies, read_plan
from shared.lint.checking import Checked, check
from shared.lint.finding import Finding, Severity
from shared.lint.given import Given, Text
from shared.lint.recognition import Kind, UnreadableError, recognised

_ONLY_DIAGNOSED = frozenset({Kind.LOGS, Kind.METRICS, Kind.NOTIFICATION})


@dataclass(frozen=True, slots=True)
class Answer:
    """What lint says of one question. `checked` has an entry for each service that the question is about (a plan may have several)."""

    name: str
    kinds: tuple[Kind, ...]
    given: Given
    checked: tuple[Checked, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them."""
        return tuple(finding for each in self.checked for finding in each.findings)

    @property
    def has_errors(self) -> bool:
        """Whether one is an error."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def ask(name: str, text: str) -> Answer:
    """What lint says of one file.

    Raises:
        UnreadableError: it is nothing that lint reads.
    """
    kind, given = recognised(name, text)
    if kind in _ONLY_DIAGNOSED:
        raise UnreadableError(f"it was read as {kind}: that is evidence, not a configuration. Ask trimtab diagnose {name}")
    return _answered(name, (kind,), given)


def ask_together(files: Iterable[tuple[str, str]]) -> Answer:
    """What lint says of several files that are one deployment.

    Raises:
        UnreadableError: one of them is nothing that lint reads, or two are the same part of a deployment.
    """
    kinds: list[Kind] = []
    names: list[str] = []
    merged: Given | None = None
    for name, text in files:
        kind, given = recognised(name, text)
        if kind in _ONLY_DIAGNOSED:
            raise UnreadableError(f"{name} was read as {kind}: that is evidence, not a configuration. Ask trimtab diagnose {name}")
        kinds.append(kind)
        names.append(name)
        merged = given if merged is None else merge(merged, given)
    if merged is None:
        raise UnreadableError("no file was given")
    name = " + ".join(names)
    return _answered(name, tuple(kinds), replace(merged, name=name))


_SINGLE = ("deploy", "spec", "batching", "models", "monitoring", "alert_policy", "plan", "flags", "objects", "p99_ms", "alert")


def merge(first: Given, second: Given) -> Given:
    """Both as one question.

    Raises:
        UnreadableError: both have the same part.
    """
    update: dict[str, Any] = {}
    describing = [given.name for given in (first, second) if given.deploy or given.spec or given.plan]
    if len(describing) > 1:
        raise UnreadableError(
            f"{second.name} and {first.name} both describe the service (deploy): one deployment has one. Ask about them one by one"
        )
    for part in _SINGLE:
        one, other = getattr(first, part), getattr(second, part)
        if one is not None and other is not None:
            raise UnreadableError(f"{second.name} and {first.name} both have {part}: one deployment has one. Ask about them one by one")
        update[part] = one if one is not None else other
    if first.workload != Given("").workload and second.workload != Given("").workload:
        raise UnreadableError(f"{second.name} and {first.name} both have workload: one deployment has one. Ask about them one by one")
    update["workload"] = second.workload if first.workload == Given("").workload else first.workload
    update["env"] = {**first.env, **second.env}
    update["logs"] = (*first.logs, *second.logs)
    update["metrics"] = {**first.metrics, **second.metrics}
    return replace(first, **update)


def _answered(name: str, kinds: tuple[Kind, ...], given: Given) -> Answer:
    if given.plan is not None:
        return Answer(name, kinds, given, tuple(check(each, described) for each, described in _of_plan(given, given.plan)))
    if given.spec is not None:
        from shared.lint.spec_texts import check_spec_text  # noqa: PLC0415 (the records of a spec are loaded for a spec only)

        return Answer(name, kinds, given, (check_spec_text(given, given.spec),))
    checked = check(given)
    if kinds == (Kind.COMMANDS,) and checked.deployment.described is None:
        raise UnreadableError("no command in it deploys or updates a Cloud Run service or runs a container: there is nothing to judge")
    return Answer(name, kinds, given, (checked,))


def _of_plan(given: Given, plan: Text) -> list[tuple[Given, Described | None]]:
    """A question for each service of a Terraform plan, and for each of its alert policies."""
    try:
        document = json.loads(plan.text)
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno}: {error.msg})" if isinstance(error, json.JSONDecodeError) else ""
        said = f"it begins like a Terraform plan and is no JSON{place}. Write it with: terraform show -json PLANFILE"
        raise UnreadableError(said) from None
    found: list[tuple[Given, Described | None]] = [(given, described) for _, described in read_plan(document)]
    for address, values in alert_policies(document):
        policy = Text(json.dumps(values), given.name, exact=False)
        found.append((Given(f"{given.name}: {address}", alert_policy=policy), None))
    if not found:
        raise UnreadableError("the plan has no google_cloud_run_v2_service, google_cloud_run_service or google_monitoring_alert_policy")
    return found
