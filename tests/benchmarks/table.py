"""What was measured, as Markdown that people read in a terminal as well."""

import os
import platform
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

BEGIN = "<!-- measured: begin (written by `python -m tests.benchmarks --write`) -->"
END = "<!-- measured: end -->"


@dataclass(frozen=True)
class Row:
    """One measure. A row without a bound is for information; one whose bound could not be tried holds None."""

    measure: str
    value: str
    bound: str = ""
    holds: bool | None = None

    def cells(self) -> tuple[str, str, str, str]:
        verdict = "" if not self.bound else "not tried" if self.holds is None else "yes" if self.holds else "**NO**"
        return self.measure, self.value, self.bound, verdict


@dataclass(frozen=True)
class Area:
    """One table, and how its numbers came about."""

    title: str
    how: str
    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        return all(row.holds is not False for row in self.rows)

    def markdown(self) -> str:
        cells = [("measure", "value", "bound", "holds"), *(row.cells() for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(4)]
        lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |" for row in cells]
        lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
        return "\n".join([f"## {self.title}", "", self.how, "", *lines, ""])


def at_most(measure: str, value: float, bound: float, unit: str = "", *, digits: int = 2) -> Row:
    shown = f"{value:,.{digits}f}{unit}"
    return Row(measure, shown, f"<= {bound:,.{digits}f}{unit}", value <= bound)


def spread(values: Sequence[float], unit: str, *, digits: int = 2) -> str:
    """The smallest and the middle of several runs."""
    return f"min {min(values):,.{digits}f}{unit}, median {statistics.median(values):,.{digits}f}{unit}"


def header() -> str:
    load = os.getloadavg()[0]
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} cores ({platform.machine()}), {platform.system()}, "
        f"Python {platform.python_version()}, load average {load:.1f} at the start. Times of different runs or machines cannot be "
        "compared; what counts are the ratios, whose two sides ran in turns within one run.\n"
    )


def write_into(page: Path, text: str, begin: str = BEGIN) -> None:
    """Put the text between the page's two marks, the first of which is `begin`.

    Raises:
        ValueError: the page lacks them.
    """
    before, found, rest = page.read_text().partition(begin)
    _, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"{page}: the marks {begin!r} and {END!r} are missing")
    page.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{END}{after}")


def splice_into(page: Path, area: Area, about: str) -> None:
    """Put one area between the page's marks: in the place of the one with its title, else at the end; `about` says when and where.

    Raises:
        ValueError: the page lacks the marks.
    """
    before, found, rest = page.read_text().partition(BEGIN)
    held, end, after = rest.partition(END)
    if not found or not end:
        raise ValueError(f"{page}: the marks {BEGIN!r} and {END!r} are missing")
    heading, *lines = area.markdown().strip().splitlines()
    section = "\n".join([heading, "", f"*{about.strip()}*", *lines])
    parts = re.split(r"(?m)^(?=## )", held.strip())
    parts = [section if part.startswith(f"{heading}\n") else part.strip() for part in parts]
    if section not in parts:
        parts.append(section)
    page.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}")
