"""Structured logging: one JSON line per event on standard output, as Cloud Logging reads it; no line without a bound."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Literal

FIELD_LIMIT = 1_000
LINE_LIMIT_BYTES = 16_000
INTEGER_LIMIT_BITS = 64

_quiet = False
_around: ContextVar[Mapping[str, object]] = ContextVar("_around", default=MappingProxyType({}))

Severity = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


def line(severity: Severity, message: str, fields: Mapping[str, object], around: Mapping[str, object] = MappingProxyType({})) -> str:
    """The line, newline excluded: `severity`, `message` and the fields, each cut to `FIELD_LIMIT` characters.

    What is `around` stands beside them, uncut, and gives way to a field of its name.
    """
    record: dict[str, object] = {"severity": severity, "message": _bounded(message)}
    for name, value in fields.items():
        record[name] = value if _is_plain(value) else _bounded(_text(value))
    text = json.dumps({**around, **record})
    if len(text) > LINE_LIMIT_BYTES:
        text = json.dumps({**around, "severity": severity, "message": _bounded(message), "fields_left_out": len(fields)})
    return text


def event(severity: Severity, message: str, **fields: object) -> None:
    """Print one line. Nothing secret may be handed in: what is logged is read by many."""
    if _quiet:
        return
    sys.stdout.write(line(severity, message, fields, _around.get()) + "\n")
    sys.stdout.flush()


def _is_plain(value: object) -> bool:
    """Whether JSON has a short form of it: neither NaN nor infinity is JSON, and an integer may have any length."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and value.bit_length() <= INTEGER_LIMIT_BITS)


def _text(value: object) -> str:
    return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else str(value)


def _bounded(text: str) -> str:
    return text if len(text) <= FIELD_LIMIT else f"{text[:FIELD_LIMIT]}… ({len(text)} characters)"


@contextmanager
def within(fields: Mapping[str, object]) -> Iterator[None]:
    """Lines inside, of this thread, carry these fields as well: the trace of a request."""
    token = _around.set({**_around.get(), **fields})
    try:
        yield
    finally:
        _around.reset(token)


@contextmanager
def silenced() -> Iterator[None]:
    """Print nothing inside: for commands whose own output tells the same."""
    global _quiet  # noqa: PLW0603 (one switch for one process)
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before
