"""What is known about one lint code. Pure."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One code. Its name keeps its meaning for ever, or is retired; its severity is the same everywhere.

    Texts are sentences in Markdown without markup other than `code`, without line breaks. `title` is a heading and what SARIF shows;
    `when` is the whole rule and `not_when` the healthy setting that looks most like it; `why` is what happens otherwise; `fix` is what
    to do and `example` lines to paste, in the language of the thing that is wrong; `authority` is where the rule comes from, parts
    separated by `; `.
    """

    name: str
    severity: Literal["error", "warning", "info"]
    title: str
    when: str
    not_when: str
    why: str
    fix: str
    example: str
    authority: str


@dataclass(frozen=True, slots=True)
class Group:
    """Codes about one thing."""

    title: str
    codes: tuple[Code, ...]
