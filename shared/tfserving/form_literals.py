"""Scalars as the text format reads them, and what others were meant to be. Pure."""

import re
from dataclasses import dataclass

from google.protobuf import text_encoding

from shared.tfserving.form_nodes import Scalar, Written
from shared.tfserving.text import NO_ESCAPE

_INTEGER = re.compile(r"-?(?:0[xX][0-9A-Fa-f]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,19})")
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:([,_.' \u00a0\u2009\u202f])[0-9]{3})(?:\1[0-9]{3})*")
_UNDERSCORED = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)+")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})(?:[eE][+-]?[0-9]{1,2})?[fF]?")
_OTHER_BASE = re.compile(r"[+-]?0(?:[bB][01]{1,64}|[oO][0-7]{1,22})")
_DURATION = re.compile(r"([0-9]{1,15})\s*(us|µs|micros|microseconds|ms|s)")
_MICROS = {"us": 1, "µs": 1, "micros": 1, "microseconds": 1, "ms": 1_000, "s": 1_000_000}
_LIST_SPLIT = re.compile(r"\s*,\s*|\s+")
_EXACT = 2**53
_TRUE, _FALSE = frozenset({"true", "True", "t", "1"}), frozenset({"false", "False", "f", "0"})
_YES, _NO = frozenset({"true", "t", "yes", "y", "on", "1", "enabled"}), frozenset({"false", "f", "no", "n", "off", "0", "disabled"})
_DOUBLE = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF]?")

QUOTED = "The number stands in quotes."
QUOTED_WORD = "The value stands in quotes."


@dataclass(frozen=True, slots=True)
class Literal:
    """A scalar for its field. `text`: as the parser reads it, None where that is not certain. `mistake`: empty where all is right."""

    text: str | None
    mistake: str = ""


def integer(scalar: Scalar, *, low: int, high: int, micros: bool = False) -> Literal:
    """A whole number between the bounds of its type; `micros`: the field counts microseconds, so a unit behind the number is certain."""
    quoted, said = _content(scalar)
    said = said.strip()
    if scalar.written is not Written.RUN and _INTEGER.fullmatch(said):
        if not low <= _value(said) <= high:
            return Literal(None, f"{said} does not fit the field, which holds {low} to {high}.")
        return Literal(said, QUOTED if quoted else "")
    number, mistake = _meant(said, micros=micros)
    if number is None or not low <= number <= high:
        return Literal(None, mistake)
    return Literal(str(number), f"{mistake} And it stands in quotes." if quoted else mistake)


def _value(said: str) -> int:
    digits = said.removeprefix("-")
    base = 16 if digits[:2] in ("0x", "0X") else 8 if digits.startswith("0") else 10
    number = int(digits, base)
    return -number if said.startswith("-") else number


def _meant(said: str, *, micros: bool) -> tuple[int | None, str]:
    """What whole number was meant, and what is wrong with how it is written."""
    plain = "The parser reads plain whole numbers only (8, -1, 0x10)"
    if said.startswith("+") and _INTEGER.fullmatch(said[1:]):
        return _value(said[1:]), f"{said} has a plus sign. {plain}."
    if (duration := _DURATION.fullmatch(said)) and micros:
        return int(duration[1]) * _MICROS[duration[2]], f"{said} has a unit. {plain}: the field counts microseconds."
    if (grouped := _GROUPED.fullmatch(said)) and (grouped[1] != "." or said.count(".") > 1):
        return int(re.sub(r"[^0-9+-]", "", said)), f"{said} has separators between its thousands. {plain}."
    if _UNDERSCORED.fullmatch(said):
        return int(said), f"{said} has an underscore. {plain}."
    if _OTHER_BASE.fullmatch(said):
        return int(said, 0), f"{said} is written to another base. {plain}."
    if re.fullmatch(r"[+-]?0[0-9]{1,18}", said):
        return int(said), f"{said} starts with a zero, and would be a number of eights. {plain}."
    if _FLOAT.fullmatch(said):
        number = float(said.rstrip("fF"))
        ambiguous = re.fullmatch(r"[+-]?[0-9]{1,3}\.[0-9]{3}", said) is not None
        if number.is_integer() and abs(number) < _EXACT and not ambiguous:
            return int(number), f"{said} has a decimal point or an exponent. {plain}, and says: Couldn't parse integer: {said}."
        return None, f"{said} is no whole number. The parser says: Couldn't parse integer: {said}."
    return None, f"{shortened(said)} is no whole number. {plain}."


def several(scalar: Scalar) -> list[Scalar]:
    """The numbers of a list without brackets, or of one in quotes; one scalar as it is."""
    quoted, said = _content(scalar)
    if scalar.written is Written.RUN or (quoted and re.fullmatch(r"\s*\[?\s*[0-9]+(?:[\s,]+[0-9]+)+\s*\]?\s*", said)):
        return [Scalar(part, Written.WORD, scalar.line) for part in _LIST_SPLIT.split(said.strip().strip("[] ")) if part]
    return [scalar]


def boolean(scalar: Scalar) -> Literal:
    """A truth value: true or false."""
    quoted, said = _content(scalar)
    if not quoted and said in _TRUE | _FALSE:
        return Literal(said)
    lower = said.strip().lower()
    mistake = QUOTED_WORD if quoted else f'{shortened(said)} is neither true nor false. The parser says: Expected "true" or "false".'
    if lower in _YES | _NO:
        return Literal("true" if lower in _YES else "false", mistake)
    return Literal(None, mistake)


def string(scalar: Scalar) -> Literal:
    """A text in straight quotes."""
    if scalar.written is Written.REPORTED:
        return Literal(quote(scalar.text))
    if scalar.written is not Written.STRING:
        return Literal(quote(scalar.text), f"{shortened(scalar.text)} stands without quotes. The parser says: Expected string.")
    try:
        if (escape := NO_ESCAPE.search(scalar.text)) is not None:
            mistake = f"{shortened(scalar.text)} has {escape['escape']}, and a backslash itself is written twice."
            return Literal(NO_ESCAPE.sub(lambda found: "\\" + found[0], scalar.text), mistake)
        text_encoding.CUnescape(scalar.text[1:-1]).decode()
    except ValueError as error:
        return Literal(None, f"{shortened(scalar.text)} is no text that can be read: {error}.")
    return Literal(scalar.text)


def real(scalar: Scalar) -> Literal:
    """A number that may have a fraction."""
    quoted, said = _content(scalar)
    if _DOUBLE.fullmatch(said.strip()) or (not quoted and said.lower() in {"inf", "nan", "-inf"}):
        return Literal(said.strip(), QUOTED if quoted else "")
    if percent := re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%", said.strip()):
        return Literal(None, f"{percent[0]} has a percent sign. The parser reads plain numbers only.")
    return Literal(None, f"{shortened(said)} is no number. The parser says: Couldn't parse float.")


def choice(scalar: Scalar, names: dict[str, int]) -> Literal:
    """One of the names of an enum, or a number."""
    quoted, said = _content(scalar)
    if not quoted and (said in names or _INTEGER.fullmatch(said)):
        return Literal(said)
    if said.upper() in names:
        return Literal(said.upper(), QUOTED_WORD if quoted else f"{said} is written in capitals: {said.upper()}.")
    return Literal(None, f"{shortened(said)} is none of {', '.join(names)}.")


def quote(content: str) -> str:
    """The content as a text in straight quotes."""
    return f'"{text_encoding.CEscape(content.encode(errors="replace"), as_utf8=False)}"'


def content_of(scalar: Scalar) -> str:
    """What the scalar says, without quotes."""
    return _content(scalar)[1]


def _content(scalar: Scalar) -> tuple[bool, str]:
    """Whether it stands in straight quotes, and what it says without them."""
    if scalar.written is not Written.STRING:
        return False, scalar.text
    return True, scalar.text[1:-1]


def shortened(said: str) -> str:
    """So much of a text as a message repeats."""
    return said if len(said) <= 60 else said[:59] + "…"  # noqa: PLR2004 (enough to find the place)
