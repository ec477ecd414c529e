"""What is wrong with a value that TF Serving can read: the rule, what the server says, and when it says so."""

from dataclasses import dataclass
from enum import StrEnum

FaultValue = bool | int | float | str | tuple[int, ...] | None


class Found(StrEnum):
    """When the server notices."""

    START = "start"
    """At once: it prints `Failed to start server. Error: INVALID_ARGUMENT: <text>` to stdout and exits with status 255."""
    MODEL_LOAD = "model load"
    """When a version loads. The load is tried 1 + --max_num_load_retries times (6 by default, a minute apart) with no port open;
    only then does the server exit, with `<n> servable(s) did not become available: {... due to error: <text>}`."""
    NEVER = "never"
    """Never: it starts, and does something else than was meant."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One broken rule. `text` is the stable part of what the server prints, None where it prints nothing."""

    field: str
    value: FaultValue
    rule: str
    text: str | None
    found: Found


def missing_file_text(path: str) -> str:
    """What the server prints about a configuration file that is not there; it then exits with status 255."""
    return f"NOT_FOUND: {path}; No such file or directory"


def unreadable_file_text(path: str) -> str:
    """What the server prints about a configuration file that does not parse; the parser's own line goes to stderr before it."""
    return f"Invalid protobuf file: '{path}'"


def shown(text: str, *, limit: int) -> str:
    """A user's text for a message: on one line, printable, cut to `limit` characters (the cut is marked)."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    if cut.isprintable():
        return cut
    printable = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
    return printable if len(printable) <= limit else printable[: limit - 1] + "…"
