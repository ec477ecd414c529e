"""Reading what others wrote: strict about JSON, tolerant about types, bounded in everything that is repeated in a message.

Nothing here raises anything but `Park`, whatever the bytes.
"""

import json
import math
import re
from codecs import BOM_UTF8
from datetime import UTC, datetime
from typing import Any, NoReturn

from shared.errors import Park
from shared.records.parked import ParkCode

SHOWN_CHARACTERS = 80
"""At most so much of a foreign value is repeated in a message."""
LONGEST_INTEGER_DIGITS = 400
"""Longer integers are read as infinity: Python refuses to convert 4,300 digits, and no field of ours needs twenty."""

INT64_LIMIT = 2**63
"""Google's APIs write 64-bit integers as text; some senders write them as numbers."""

_DIGITS = re.compile(r"[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,4})?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def load_json(raw: bytes, what: str, *, non_finite_as_null: bool = False) -> Any:
    """Read one JSON document from UTF-8 text.

    A key that stands twice in one object is refused: two readers would see two different events. The literals NaN and Infinity,
    which are no JSON, are refused too, or read as null where `non_finite_as_null` says so.

    Raises:
        Park: unparsable; the reason begins with `what` and is bounded.
    """
    try:
        return (_TOLERANT if non_finite_as_null else _STRICT).decode(raw.removeprefix(BOM_UTF8).decode())
    except _NotTaken as refusal:
        _refuse(f"{what}: {refusal}")
    except UnicodeDecodeError as error:
        _refuse(f"{what}: not UTF-8 text (byte {error.start})")
    except RecursionError:
        _refuse(f"{what}: JSON nested too deeply")
    except json.JSONDecodeError as error:
        _refuse(f"{what}: not JSON ({error.msg}, line {error.lineno} column {error.colno})")


def shown(value: object) -> str:
    """A foreign value as it may stand in a message: escaped, on one line, of bounded length; of containers only their type."""
    if isinstance(value, str):
        text = repr(value[:SHOWN_CHARACTERS])
        fits = len(value) <= SHOWN_CHARACTERS and len(text) <= SHOWN_CHARACTERS + 2
        return text if fits else f"{text[: SHOWN_CHARACTERS + 1]}..."
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a huge number"
    if isinstance(value, float):
        return repr(value)
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"a {type(value).__name__}"


def clean(value: object, limit: int) -> str:
    """Text of at most `limit` characters without control characters; "" for what is no text. Line breaks become spaces."""
    if not isinstance(value, str):
        return ""
    if len(value) <= limit and value.isprintable():
        return value.strip()
    kept = value[: 4 * limit]
    if not kept.isprintable():
        kept = "".join(ch if ch.isprintable() else " " if ch.isspace() else "" for ch in kept)
    kept = kept.strip()
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def number(value: object) -> float | None:
    """A finite number from a JSON number or from text that is nothing but a number; None for all else, sentences included."""
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return None
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def whole(value: object, limit: int = INT64_LIMIT) -> int | None:
    """A whole number from 0 up to `limit`, itself excluded, from a JSON number or a text of digits; exact where a float would not be."""
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    elif isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < limit else None


def moment(value: object) -> datetime | None:
    """A point in time from unix seconds (number or text) or RFC 3339 text; None for null, "null", 0 and what no calendar holds."""
    if isinstance(value, str) and _TIME.fullmatch(value):
        try:
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
    seconds = number(value)
    if seconds is None or seconds <= 0:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def mapping(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _refuse(reason: str) -> NoReturn:
    raise Park(ParkCode.UNPARSABLE, reason) from None


class _NotTaken(Exception):
    """JSON that Python's parser takes and this one does not."""


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= LONGEST_INTEGER_DIGITS else math.inf


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise _NotTaken(f"the key {shown(twice)} stands twice in one object")
    return found


def _no_constant(literal: str) -> NoReturn:
    raise _NotTaken(f"{literal} is not JSON")


def _null(literal: str) -> None:
    """What NaN and Infinity are read as where they are let pass."""


_STRICT = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant, object_pairs_hook=_unique)
_TOLERANT = json.JSONDecoder(parse_int=_integer, parse_constant=_null, object_pairs_hook=_unique)
