"""The variables of a shell script that is read and never run: values that the script itself sets, and marks for those it does not. Pure."""

import re

UNKNOWN = "\ue000"
"""Stands in a word before what nobody gave: a variable, the output of a command, `<NAME>`. A character of private use, in no real text."""

MAX_VALUE = 16_384
"""Characters of a value; a longer one counts as not known, for a script may double a variable line by line."""

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]{0,200})\+?=(?P<value>.*)", re.DOTALL)
_BRACED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?:\[[@*]\])?(?::?(?P<how>[-=])(?P<default>.*))?", re.DOTALL)


def assignment(word: str) -> tuple[str, str] | None:
    """Name and value of `NAME=value`; None for any other word."""
    found = _ASSIGNMENT.fullmatch(word)
    return (found["name"], found["value"]) if found else None


def shown(text: str) -> str:
    """A word as its author wrote it."""
    return text.replace(UNKNOWN, "")


class Variables:
    """What the script has set so far. `budget` bounds what all replacements together may make of the text."""

    def __init__(self, budget: int) -> None:
        self._values: dict[str, tuple[str, ...]] = {}
        self._left = 1_000_000 + budget

    def set(self, name: str, values: tuple[str, ...]) -> None:
        """Set a variable, or an array of several values."""
        if sum(map(len, values)) > MAX_VALUE:
            self._values.pop(name, None)
        else:
            self._values[name] = values

    def forget(self) -> None:
        """From here on nothing is known."""
        self._values.clear()

    def get(self, name: str) -> tuple[str, ...] | None:
        """The values of a variable, None where they are not known."""
        found = self._values.get(name)
        if found is not None:
            self._left -= sum(map(len, found))
            if self._left < 0:
                return None
        return found

    def braced(self, inside: str) -> tuple[str, ...] | None:
        """The values of `${inside}`: a variable, an array, or a default where the variable is not known; None for all else."""
        found = _BRACED.fullmatch(inside)
        if found is None:
            return None
        values = self.get(found["name"])
        if values is None and found["how"]:
            return (found["default"],) if "$" not in found["default"] and "`" not in found["default"] else None
        return values
