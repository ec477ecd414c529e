"""What is said of a Terraform plan as a whole: one that failed, that takes Trimtab away, that is of something else. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from shared.cloudrun.terraform_reading import resources
from shared.deployment import FUNCTIONS, service_name
from shared.doctor.finding import Finding, Level
from shared.doctor.picture import NotAsked, NotSeen, Picture
from shared.doctor.plan_values import Values, mapping, mappings, text
from shared.records.subject import ServiceId

FUNCTION: Final = "google_cloudfunctions2_function"
NAMES: Final = frozenset(service_name(function) for function in FUNCTIONS)
_WANTED: Final = "want the output of `terraform show -json PLAN`"
_HOW: Final = (
    "plan the folder whose configuration has the module terraform/modules/control-plane, with neither -destroy, -refresh-only nor "
    "-target, and give that plan"
)


class NoPlanError(ValueError):
    """The document is no Terraform plan that can be judged; the message says what it should be."""


def readable(document: Mapping[str, Any]) -> None:
    """Whether it is a plan, or a state, that says what will be there.

    Raises:
        NoPlanError: it is none, or one that ends halfway.
    """
    if not any(isinstance(document.get(name), Mapping) for name in ("planned_values", "values")):
        raise NoPlanError(f"no planned_values in it: {_WANTED}")
    if document.get("errored") is True:
        raise NoPlanError(
            "this plan failed: what is in it ends at the first error, and the rest cannot be told from what is missing. Run terraform "
            "plan again, mend the error that it prints, and give the new plan"
        )
    if document.get("complete") is False:
        raise NoPlanError(
            "this plan is of a part alone (-target, or Terraform puts something off): what it leaves out cannot be told from what is "
            "missing. Plan the whole, and give that plan"
        )


def of_the_whole(
    document: Mapping[str, Any], *, functions: bool, owned: Collection[ServiceId], services: Collection[ServiceId]
) -> Iterator[Finding]:
    """What is said of a plan without any of Trimtab's functions; nothing where it answers whether a spec's service is written in it."""
    if functions:
        return
    yield from (away := list(taken_away(document)))
    if away or (owned and services):
        return
    there = any(True for _ in resources(document))
    of = "it is of another configuration" if there else "it has no resource at all, as with -refresh-only, or in another folder"
    asked, more = ("", "; or name with --spec what Trimtab owns of its services") if services else (", and no Cloud Run service", "")
    why = f"{of}: nothing of Trimtab could be looked at"
    yield Finding("function", Level.UNKNOWN, f"no function of Trimtab is in the plan{asked}", why, _HOW + more)


def taken_away(document: Mapping[str, Any]) -> Iterator[Finding]:
    """That a plan deletes every function of Trimtab that it knows."""
    gone = sorted(deleted(document))
    if gone and not any(kind == FUNCTION and text(values.get("name")) in NAMES for _, kind, values in resources(document)):
        why = "once it is applied no event is handled, and no service is looked after"
        mend = f"nothing, where that is meant (-destroy); else {_HOW}"
        yield Finding("function", Level.PROBLEM, f"the plan takes Trimtab away: it deletes {', '.join(gone)}", why, mend)


def deleted(document: Mapping[str, Any]) -> dict[str, Values]:
    """Trimtab's functions that the plan deletes and does not make anew, by name, as they are."""
    found: dict[str, Values] = {}
    for each in mappings(document.get("resource_changes")):
        change = mapping(each.get("change"))
        before = mapping(change.get("before"))
        if each.get("type") == FUNCTION and change.get("actions") == ["delete"] and text(before.get("name")) in NAMES:
            found[str(before["name"])] = before
    return found


def beside(document: Mapping[str, Any], planned: Picture, project: Picture) -> Iterator[Finding]:
    """What is said of a plan that is given beside a project, and of which its services alone are read."""
    yield from (away := list(taken_away(document)))
    ours = {project.project, *project.served}
    named = {each.project for each in planned.services}
    if not isinstance(planned.functions, NotSeen | NotAsked):
        named.add(planned.project)
    if not away and not named & ours:
        of = f"it is of {', '.join(sorted(named))}" if named else "it has neither a function of Trimtab nor a Cloud Run service"
        why = f"{of}: which services Terraform writes could not be looked at"
        yield Finding("owner", Level.UNKNOWN, f"nothing of {' and '.join(sorted(ours))} is in the plan", why, _HOW)
