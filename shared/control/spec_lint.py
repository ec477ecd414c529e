"""What lint says of an admitted spec before it is stored, in the words of a command's answer. Pure.

Admission judges the spec field by field; lint judges what would be rendered of it, with the rules that hold for everybody's services.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from shared.records.refusal import shown
from shared.records.spec_problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.lint.finding import Finding
    from shared.records.service import ServiceSpec
    from shared.records.subject import ServiceId

NOTES_LIMIT = 700
MOST_FAULTS = 10
FAULT_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Linted:
    """The errors, for each of which the spec is refused, and a word on the warnings; both empty where there is nothing to say."""

    problems: tuple[Problem, ...] = ()
    notes: str = ""


def linted(service: ServiceId, spec: ServiceSpec) -> Linted:
    """What is wrong with the service that would be rendered. A template that is left to its owner, or keeps a command, is not judged."""
    if spec.serving is None or spec.serving.own_entry is not None:
        return Linted()
    # A fifth of a second of CPU to load; commands that change no template, and cold starts, do without.
    from shared.lint.specs import check_spec  # noqa: PLC0415

    return in_words(check_spec(service, spec).findings)


def faults(service: ServiceId, document: dict[str, Any]) -> tuple[str, ...]:
    """The errors in a rendered service (v2 JSON), each in a sentence; at most `MOST_FAULTS`. There should be none: admission was before."""
    from shared.cloudrun.described import Described, Form  # noqa: PLC0415 (as above)
    from shared.lint.checking import check  # noqa: PLC0415
    from shared.lint.given import Given, Text  # noqa: PLC0415

    given = Given(name=str(service), deploy=Text("", "the rendered template"))
    described = Described(form=Form.V2, service=document, complete=True, region=service.region, project=service.project)
    found = (each for each in check(given, described).findings if each.severity == "error")
    return tuple(f"{each.code}: {each.message} {each.fix}"[:FAULT_LIMIT] for each in islice(found, MOST_FAULTS))


def in_words(findings: Iterable[Finding]) -> Linted:
    """The findings as problems and notes."""
    found = tuple(findings)
    problems = tuple(
        Problem(f"spec ({each.where.field or each.where.part})", shown(each.code), each.message, each.fix)
        for each in found
        if each.severity == "error"
    )
    warnings = [f"{each.code}: {each.message}" for each in found if each.severity == "warning"]
    notes = f"lint warns: {'; '.join(warnings)}" if warnings else ""
    return Linted(problems, notes if len(notes) <= NOTES_LIMIT else f"{notes[: NOTES_LIMIT - 1]}…")
