"""Texts without quotes that YAML 1.1 takes for something else: `yes` is true, `1:30` is 90. Pure.

Source: gcloud 528, whose loader reads the file of `gcloud run services replace` as YAML 1.1.
"""

import re
from typing import Self

_TRUTH = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_WHOLE = re.compile(
    r"(?P<sign>[-+]?)(?:0b(?P<binary>[01_]{1,64})|0x(?P<hex>[0-9a-fA-F_]{1,32})|(?P<sixty>[1-9][0-9_]{0,17}(?::[0-5]?[0-9]){1,4})"
    r"|0(?P<octal>[0-7_]{1,32})|(?P<plain>0|[1-9][0-9_]{0,32}))"
)
_FRACTION = re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})|[1-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.{0,40}")
_BASES = {"binary": 2, "hex": 16, "octal": 8, "plain": 10}
_MINUTE = 60


class OlderScalar(str):
    """A text as YAML 1.2 has it, and what it is in YAML 1.1: a truth value, a whole number, or (None) another thing, which `what` names."""

    __slots__ = ("value", "what")
    value: bool | int | None
    what: str

    def __new__(cls, text: str, value: bool | int | None, what: str) -> Self:
        """The text, with what YAML 1.1 makes of it."""
        made = super().__new__(cls, text)
        made.value, made.what = value, what
        return made

    def __deepcopy__(self, memo: object) -> Self:
        return self


def older_scalar(text: str) -> str:
    """A text that is no number and no truth value in YAML 1.2, with what it is in YAML 1.1 where that is something else."""
    truth = _TRUTH.get(text)
    if truth is not None:
        return OlderScalar(text, truth, "true" if truth else "false")
    if text[:1] not in "-+.0123456789" or not text:
        return text
    found = _WHOLE.fullmatch(text)
    number = None if found is None else _whole(found)
    if number is not None:
        return OlderScalar(text, number, f"the number {number}")
    if _FRACTION.fullmatch(text) or _NO_NUMBER.fullmatch(text):
        return OlderScalar(text, None, "a number")
    return OlderScalar(text, None, "a date") if _DATE.fullmatch(text) else text


def _whole(found: re.Match[str]) -> int | None:
    sign = -1 if found["sign"] == "-" else 1
    if found["sixty"] is not None:
        number = 0
        for part in found["sixty"].replace("_", "").split(":"):
            number = number * _MINUTE + int(part)
        return sign * number
    name, digits = next((name, digits) for name, digits in found.groupdict().items() if name in _BASES and digits is not None)
    digits = digits.replace("_", "")
    return sign * int(digits, _BASES[name]) if digits else None
