"""Rows of the SQLite store to records and back."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from shared.records.base import Record
from shared.records.facts import Fact, StoredFact, UnreadableFact

POSITION_DIGITS = 19
"""A SQLite row id has at most 19 digits; positions are padded to that, so that they sort as text."""
ERROR_LIMIT_CHARACTERS = 1_024
BODY_LIMIT_CHARACTERS = 64 * 1024

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_R = TypeVar("_R", bound=Record)
_T = TypeVar("_T")


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(whole_micros: int) -> datetime:
    """The time of so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=whole_micros)


def encode(record: Record) -> str:
    """The record as JSON text."""
    return json.dumps(record.to_stored(), separators=(",", ":"))


def decode(kind: type[_R], text: str | None, name: str, unreadable: dict[str, str]) -> _R | None:
    """The record of a JSON text; None if there is no text, or if it cannot be read: then `unreadable[name]` says why."""
    return _read(kind.from_stored, text, name, unreadable)


def fact_of(row: Any) -> StoredFact | UnreadableFact:
    """The fact of a row (seq, key, created_at, record)."""
    seq, key, created_at, text = row
    position = f"{seq:0{POSITION_DIGITS}d}"
    unreadable: dict[str, str] = {}
    fact = _read(_facts().validate_python, text, "fact", unreadable)
    if fact is None:
        return UnreadableFact(key=key, position=position, error=unreadable["fact"], body=text[:BODY_LIMIT_CHARACTERS])
    return StoredFact(key=fact.key, position=position, created_at=_EPOCH + timedelta(microseconds=created_at), fact=fact)


@cache
def _facts() -> TypeAdapter[Fact]:
    return TypeAdapter(Fact)


def _read(read: Callable[[Any], _T], text: str | None, name: str, unreadable: dict[str, str]) -> _T | None:
    if text is None:
        return None
    try:
        return read(json.loads(text))
    except (ValueError, RecursionError) as error:
        unreadable[name] = str(error)[:ERROR_LIMIT_CHARACTERS]
        return None
