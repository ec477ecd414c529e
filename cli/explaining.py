"""How codes, causes and remedies are explained: as text of a terminal's width, and as JSON."""

import difflib
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import typer

from shared.diagnose.cause_catalog import CAUSE_GROUPS, CAUSES
from shared.diagnose.known import KnownCause, KnownRemedy
from shared.diagnose.remedy_catalog import REMEDIES, REMEDY_GROUPS
from shared.lint.catalog import CODES, GROUPS, Code

NARROWEST = 24
WIDEST = 100
"""Columns of text: longer lines are hard to read."""
SIDE_BY_SIDE = 72
"""Columns from which a list has name and title on one line."""
NAME_COLUMNS = 33
"""Of a list: an indent of two and the longest name."""
COLOURS = {"error": typer.colors.RED, "warning": typer.colors.YELLOW, "info": typer.colors.BLUE}
NEAREST = 4
NEAR_ENOUGH = 0.6


@dataclass(frozen=True, slots=True)
class Page:
    """Where text is printed: columns, and whether it may have colour."""

    columns: int
    coloured: bool = False

    @property
    def width(self) -> int:
        """Columns that are used."""
        return max(NARROWEST, min(self.columns, WIDEST))

    def heading(self, text: str, severity: str = "") -> str:
        """A line that stands out."""
        return typer.style(text, bold=True, fg=COLOURS.get(severity)) if self.coloured else text

    def wrapped(self, text: str, indent: str = "  ", first: str | None = None) -> list[str]:
        """A paragraph. Words are never broken, so that flags and links can be copied."""
        return textwrap.wrap(
            text,
            self.width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything of one name."""

    name: str
    code: Code | None
    cause: KnownCause | None
    remedy: KnownRemedy | None

    def as_json(self) -> dict[str, Any]:
        """Each kind that the name is, None for the others."""
        return {
            "name": self.name,
            "code": asdict(self.code) if self.code else None,
            "cause": asdict(self.cause) if self.cause else None,
            "remedy": asdict(self.remedy) if self.remedy else None,
        }

    def lines(self, page: Page) -> Iterator[str]:
        """The text, a line each."""
        parts = []
        if self.code:
            parts.append(_code(self.code, page))
        if self.cause:
            parts.append(_cause(self.cause, page))
        if self.remedy:
            parts.append(_remedy(self.remedy, page))
        for at, part in enumerate(parts):
            if at:
                yield ""
            yield from part


class Known:
    """All names."""

    def find(self, name: str) -> Explanation | None:
        """What has the name; capitals and underscores do not matter. None: nothing has it."""
        plain = _plain(name)
        found = Explanation(plain, CODES.get(plain), CAUSES.get(plain), REMEDIES.get(plain))
        return found if found.code or found.cause or found.remedy else None

    def nearest(self, name: str) -> list[str]:
        """Names that are spelt alike, then names with most words of it, the best first."""
        plain = _plain(name)
        names = list(dict.fromkeys([*CODES, *CAUSES, *REMEDIES]))
        alike = difflib.get_close_matches(plain, names, n=NEAREST, cutoff=NEAR_ENOUGH)
        words = {word for word in re.split(r"[^a-z0-9]+", plain) if len(word) > 2}  # noqa: PLR2004 (of, to, a)
        shared = sorted((each for each in names if words & set(each.split("-"))), key=lambda each: -len(words & set(each.split("-"))))
        return list(dict.fromkeys([*alike, *shared]))[:NEAREST]

    def as_json(self) -> dict[str, Any]:
        """Names and titles of every kind, by group."""
        return {
            "codes": [
                {"name": each.name, "severity": each.severity, "title": each.title, "group": group.title}
                for group in GROUPS
                for each in group.codes
            ],
            "causes": [
                {"name": cause.name, "title": cause.title, "group": group.title} for group in CAUSE_GROUPS for cause in group.causes
            ],
            "remedies": [
                {"name": remedy.name, "title": remedy.title, "group": group.title} for group in REMEDY_GROUPS for remedy in group.remedies
            ],
        }

    def listed(self, page: Page) -> Iterator[str]:
        """The list of all names, a line each."""
        yield page.heading(f"LINT CODES ({len(CODES)})")
        for group in GROUPS:
            yield from _group(group.title, [(each.name, f"{each.title} ({each.severity})") for each in group.codes], page)
        yield ""
        yield page.heading(f"CAUSES ({len(CAUSES)})")
        for causes in CAUSE_GROUPS:
            yield from _group(causes.title, [(each.name, each.title) for each in causes.causes], page)
        yield ""
        yield page.heading(f"REMEDIES ({len(REMEDIES)})")
        for remedies in REMEDY_GROUPS:
            yield from _group(remedies.title, [(each.name, each.title) for each in remedies.remedies], page)
        yield ""
        yield from page.wrapped("trimtab explain NAME says all of one.", "")


def everything() -> Known:
    """All names that can be explained."""
    return Known()


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _group(title: str, rows: Sequence[tuple[str, str]], page: Page) -> Iterator[str]:
    yield ""
    yield from page.wrapped(title, "")
    for name, about in rows:
        if page.width >= SIDE_BY_SIDE:
            yield from page.wrapped(about, " " * NAME_COLUMNS, f"  {name} ".ljust(NAME_COLUMNS))
        else:
            yield f"  {name}"
            yield from page.wrapped(about, "    ")


def _title(name: str, kind: str, title: str, page: Page, severity: str = "") -> Iterator[str]:
    yield page.heading(name, severity)
    yield from page.wrapped(f"{kind}. {title}.", "")


def _section(label: str, texts: Sequence[str], page: Page) -> Iterator[str]:
    yield ""
    yield page.heading(label)
    for text in texts:
        yield from page.wrapped(text, "  " if len(texts) == 1 else "    ", "  ")


def _pasted(text: str) -> Iterator[str]:
    yield ""
    for line in text.splitlines():
        yield f"    {line}"


def _code(code: Code, page: Page) -> Iterator[str]:
    yield from _title(code.name, f"Lint code, {code.severity}", code.title, page, code.severity)
    yield from _section("Reported", [code.when], page)
    yield from _section("Not reported", [code.not_when], page)
    yield from _section("Why", [code.why], page)
    yield from _section("Fix", [code.fix], page)
    yield from _pasted(code.example)
    yield from _section("Source", code.authority.split("; "), page)


def _cause(cause: KnownCause, page: Page) -> Iterator[str]:
    yield from _title(cause.name, "Cause", cause.title, page)
    yield from _section("Seen", [cause.seen], page)
    yield from _section("Where", [cause.where_visible], page)
    yield from _section("Not to be confused with", [f"{other.cause}: {other.tell}." for other in cause.not_to_be_confused_with], page)
    yield from _section("Remedies, the best first", [f"{name}: {_lower(REMEDIES[name].title)}." for name in cause.remedies], page)
    yield from _section("Wrong answers", [f"{', '.join(harm.remedies)}: {_lower(harm.why)}" for harm in cause.wrong_answers], page)


def _remedy(remedy: KnownRemedy, page: Page) -> Iterator[str]:
    yield from _title(remedy.name, "Remedy", remedy.title, page)
    yield from _section("Knob", [f"{remedy.knob}."], page)
    yield from _section("New revision", [NEW_REVISION[remedy.new_revision]], page)
    yield from _section("Risk", [remedy.risk], page)
    yield from _section("How", [], page)
    yield from _pasted(remedy.how)
    good = [cause.name for cause in CAUSES.values() if remedy.name in cause.remedies]
    harm = [cause.name for cause in CAUSES.values() if any(remedy.name in each.remedies for each in cause.wrong_answers)]
    if good:
        yield from _section("Mends", [", ".join(good)], page)
    if harm:
        yield from _section("Wrong answer to", [", ".join(harm)], page)


NEW_REVISION: dict[bool | None, str] = {
    True: "Yes: a GPU cold start beside the old revision.",
    False: "No: it changes in place.",
    None: "It depends on how it is done; the risk says how.",
}


def _lower(sentence: str) -> str:
    """A sentence as the second half of a line; names and acronyms keep their capitals."""
    return sentence[0].lower() + sentence[1:] if sentence[1:2].islower() and not sentence.startswith(("Google", "Cloud Run")) else sentence
