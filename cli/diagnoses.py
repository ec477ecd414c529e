"""Diagnoses as people and programs read them: text, JSON."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from cli.findings import Unread, coloured, plain, terminal_width, wrapped
from shared.diagnose.answer import Cause, Remedy
from shared.diagnose.asking import Answer

SHOWN_CAUSES = 4
"""In text; JSON has them all."""
SURE = 0.75
"""Confidence from which the first cause is called the cause."""


def written(answers: Sequence[Answer | Unread], output_format: str) -> None:
    """Write all answers to standard output in the format; what could not be read is said on standard error too, in words."""
    for each in answers:
        if isinstance(each, Unread):
            typer.echo(f"{plain(each.name)}: {plain(each.why)}", err=True)
        else:
            for name, why in each.unread:
                typer.echo(f"{plain(name)}: left out: {plain(why)}", err=True)
    if output_format == "json":
        typer.echo(json.dumps({"files": [_row(each) for each in answers]}, indent=2, ensure_ascii=False))
    elif output_format == "jsonl":
        for each in answers:
            typer.echo(json.dumps(_row(each), ensure_ascii=False))
    else:
        for line in _text([each for each in answers if isinstance(each, Answer)]):
            typer.echo(line)


def _row(answer: Answer | Unread) -> dict[str, Any]:
    if isinstance(answer, Unread):
        return {"file": answer.name, "error": answer.why, "causes": [], "remedies": [], "avoid": [], "missing": []}
    found = answer.diagnosis
    return {
        "file": answer.name,
        "causes": [
            {
                "cause": cause.cause,
                "confidence": round(cause.confidence, 2),
                "evidence": list(cause.evidence),
                "against": list(cause.against),
            }
            for cause in found.causes
        ],
        "remedies": [
            {
                "remedy": remedy.remedy,
                "knob": remedy.knob,
                "why": remedy.why,
                "before": remedy.before,
                "after": remedy.after,
                "new_revision": remedy.new_revision,
                "risk": remedy.risk,
            }
            for remedy in found.remedies
        ],
        "avoid": [{"remedy": each.remedy, "why": each.why} for each in found.avoid],
        "missing": list(found.missing),
    }


def _text(answers: Sequence[Answer]) -> Iterator[str]:
    width = terminal_width()
    for answer in answers:
        read_as = ", ".join(dict.fromkeys(str(kind) for _, kind in answer.kinds))
        yield f"{coloured(plain(answer.name), 'white', bold=True)} (read as {read_as})"
        found = answer.diagnosis
        for at, cause in enumerate(found.causes[:SHOWN_CAUSES], start=1):
            yield from _cause(at, cause, width)
        if len(found.causes) > SHOWN_CAUSES:
            rest = ", ".join(f"{cause.cause} {cause.confidence:.2f}" for cause in found.causes[SHOWN_CAUSES:])
            yield from wrapped(f"Less likely: {rest}", "  ", width)
        if found.remedies:
            yield "  Do"
            for at, remedy in enumerate(found.remedies, start=1):
                yield from _remedy(at, remedy, width)
        if found.avoid:
            yield "  Do not"
            for why in dict.fromkeys(each.why for each in found.avoid):
                names = ", ".join(each.remedy for each in found.avoid if each.why == why)
                yield from wrapped(f"{names}: {plain(why)}", "    ", width, hang="  ")
        if found.missing:
            yield "  Look at next"
            for line in found.missing:
                yield from wrapped(plain(line), "    ", width, hang="  ")
        yield ""


def _cause(at: int, cause: Cause, width: int | None) -> Iterator[str]:
    colour = "red" if at == 1 and cause.confidence >= SURE else "yellow"
    yield f"  {at}. {coloured(cause.cause, colour, bold=True)} (confidence {cause.confidence:.2f})"
    for line in cause.evidence:
        yield from wrapped(f"+ {plain(line)}", "     ", width, hang="  ")
    for line in cause.against:
        yield from wrapped(f"- {plain(line)}", "     ", width, hang="  ")


def _remedy(at: int, remedy: Remedy, width: int | None) -> Iterator[str]:
    change = f"{remedy.before} -> {remedy.after}" if remedy.before and remedy.after else f"-> {remedy.after}" if remedy.after else ""
    knob = " ".join(part for part in (plain(remedy.knob), plain(change)) if part)
    yield from wrapped(f"{at}. {remedy.remedy}: {knob}" if knob else f"{at}. {remedy.remedy}", "    ", width, hang="   ")
    yield from wrapped(plain(remedy.why), "       ", width)
    effects = [
        {True: "new revision", False: "no new revision", None: ""}[remedy.new_revision],
        f"risk: {remedy.risk}" if remedy.risk else "",
    ]
    said = "; ".join(part for part in effects if part)
    if said:
        yield from wrapped(f"({said})", "       ", width)
