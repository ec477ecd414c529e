"""Findings as people and programs read them: text, JSON, SARIF, annotations of GitHub."""

import json
import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer

from shared.lint.asking import Answer
from shared.lint.finding import Finding, Severity

_LINK = re.compile(r" \(https?://[^)\s]*\)")
"""Links of a source: `trimtab explain` and the formats for programs have them."""
MIN_WIDTH = 40
MAX_WIDTH = 110
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


@dataclass(frozen=True, slots=True)
class Unread:
    """A file without an answer, and why."""

    name: str
    why: str


def written(answers: Sequence[Answer | Unread], output_format: str) -> None:
    """Write all answers to standard output in the format; what could not be read is said on standard error too, in words."""
    for each in answers:
        if isinstance(each, Unread):
            typer.echo(f"{plain(each.name)}: {plain(each.why)}", err=True)
    match output_format:
        case "json":
            typer.echo(json.dumps({"files": [_row(each) for each in answers]}, indent=2, ensure_ascii=False))
        case "jsonl":
            for each in answers:
                typer.echo(json.dumps(_row(each), ensure_ascii=False))
        case "sarif":
            typer.echo(json.dumps(_sarif(answers), indent=2, ensure_ascii=False))
        case "github":
            for line in _github(answers):
                typer.echo(line)
        case _:
            for line in _text([each for each in answers if isinstance(each, Answer)]):
                typer.echo(line)


def plain(text: str) -> str:
    """Somebody's text without characters that move a terminal's cursor; ends of lines stay."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def _row(answer: Answer | Unread) -> dict[str, Any]:
    if isinstance(answer, Unread):
        return {"file": answer.name, "error": answer.why, "findings": []}
    return {"file": answer.name, "findings": [_object(finding) for finding in answer.findings]}


def _object(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "where": str(finding.where),
        "fix": finding.fix,
        "authority": finding.authority,
    }


def terminal_width() -> int | None:
    """The columns to wrap at; None where the output is no terminal and lines stay whole."""
    if not sys.stdout.isatty():
        return None
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size().columns))


def coloured(text: str, colour: str, *, bold: bool = False) -> str:
    """The text in a colour where the output is a terminal and NO_COLOR is not set."""
    return typer.style(text, fg=colour, bold=bold) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def dimmed(text: str) -> str:
    """The text set back where the output is a terminal and NO_COLOR is not set."""
    return typer.style(text, dim=True) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def wrapped(text: str, indent: str, width: int | None, *, hang: str = "") -> list[str]:
    """A sentence on as many lines as it takes, each behind the indent, those after the first behind `hang` too."""
    flat = " ".join(text.split("\n"))
    if width is None:
        return [f"{indent}{flat}"]
    return textwrap.wrap(
        flat, width, initial_indent=indent, subsequent_indent=f"{indent}{hang}", break_long_words=False, break_on_hyphens=False
    )


def _text(answers: Sequence[Answer]) -> Iterator[str]:
    width = terminal_width()
    for answer in answers:
        read_as = " and ".join(dict.fromkeys(str(kind) for kind in answer.kinds))
        if not answer.findings:
            yield f"{plain(answer.name)}: {coloured('nothing found', 'green')} (read as {read_as})"
            continue
        for finding in answer.findings:
            yield from _finding(finding, width)
        yield f"{plain(answer.name)}: {_counted(answer.findings)} (read as {read_as}); trimtab explain CODE says more"
        yield ""


def _finding(finding: Finding, width: int | None) -> Iterator[str]:
    place = finding.where.file if finding.where.line is None else f"{finding.where.file}:{finding.where.line}"
    severity = coloured(finding.severity.value, _COLOURS[finding.severity], bold=True)
    field = finding.where.field if finding.where.field and len(finding.where.field) <= MIN_WIDTH * 2 else ""
    yield " ".join(part for part in (f"{plain(place)}:", severity, finding.code, plain(field).replace("\n", " ")) if part)
    yield from wrapped(plain(finding.message).replace("\n", " "), "    ", width)
    fix = plain(finding.fix).rstrip("\n")
    if "\n" in fix:
        yield "    fix:"
        yield from (f"      {line}" for line in fix.split("\n"))
    elif fix:
        yield f"    fix: {fix}"
    yield from (dimmed(line) for line in wrapped(f"source: {_LINK.sub('', finding.authority)}", "    ", width))


def _counted(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    words = {Severity.ERROR: ("error", "errors"), Severity.WARNING: ("warning", "warnings"), Severity.INFO: ("note", "notes")}
    said = [f"{counts[level]} {one if counts[level] == 1 else many}" for level, (one, many) in words.items() if counts[level]]
    return ", ".join(said)


def _github(answers: Sequence[Answer | Unread]) -> Iterator[str]:
    for answer in answers:
        if isinstance(answer, Unread):
            yield f"::error file={_property(answer.name)},title=unreadable::{_data(answer.why)}"
            continue
        for finding in answer.findings:
            line = "" if finding.where.line is None else f",line={finding.where.line}"
            fix = f"\nFix: {finding.fix}" if finding.fix else ""
            yield (
                f"::{_GITHUB_LEVELS[finding.severity]} file={_property(finding.where.file)}{line},title={_property(finding.code)}"
                f"::{_data(finding.message + fix)}"
            )


def _data(text: str) -> str:
    """As GitHub's workflow commands escape a message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(answers: Sequence[Answer | Unread]) -> dict[str, Any]:
    """SARIF 2.1.0."""
    from importlib.metadata import version

    from shared.lint.catalog import CODES

    findings = [finding for answer in answers if isinstance(answer, Answer) for finding in answer.findings]
    used = sorted({finding.code for finding in findings})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].when},
            "help": {"text": f"{CODES[code].fix}\n\nSource: {CODES[code].authority}"},
            "defaultConfiguration": {"level": _SARIF_LEVELS[Severity(CODES[code].severity)]},
        }
        for code in used
    ]
    unread = [each for each in answers if isinstance(each, Unread)]
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "trimtab", "version": version("trimtab"), "rules": rules}},
                "results": [_sarif_result(finding, used) for finding in findings],
                "invocations": [
                    {
                        "executionSuccessful": not unread,
                        "toolExecutionNotifications": [
                            {
                                "level": "error",
                                "message": {"text": each.why},
                                "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(each.name)}}}],
                            }
                            for each in unread
                        ],
                    }
                ],
            }
        ],
    }


def _sarif_result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.where.file)}}
    if finding.where.line is not None:
        location["region"] = {"startLine": finding.where.line}
    fix = f"\n\nFix: {finding.fix}" if finding.fix else ""
    return {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.code),
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": f"{finding.message}{fix}"},
        "locations": [{"physicalLocation": location}],
    }


def _uri(name: str) -> str:
    from urllib.parse import quote

    return quote(name.replace(os.sep, "/"), safe="/-._~")
