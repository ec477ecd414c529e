"""gcloud's syntax for lists and dictionaries in one argument.

A list is split at commas, or at the text between two carets in front (`^@^a@b`); an item cannot hold what it is split at. A delimiter at
the very end is not an empty last item, so such an item needs one more. A dictionary is a list of KEY=VALUE.
"""

from collections.abc import Mapping, Sequence

_DELIMITERS = ",@|;#%~!:+"
_FIRST_RARE = 0xA1


def listed(items: Sequence[str]) -> str | None:
    """The argument that gcloud reads as exactly these items; None for no items."""
    if not items:
        return None
    everything = "".join(items)
    delimiter = next((each for each in _DELIMITERS if each not in everything), None) or _rare(everything)
    text = delimiter.join(items)
    if not items[-1]:
        text += delimiter
    plain = delimiter == "," and not text.startswith("^")
    return text if plain else f"^{delimiter}^{text}"


def dictionary(values: Mapping[str, str]) -> str | None:
    """The argument that gcloud reads as exactly this dictionary; None for an empty one. Keys must not be empty nor hold a `=`."""
    return listed([f"{key}={value}" for key, value in values.items()])


def on_or_off(name: str, *, on: bool) -> str:
    """The flag of a setting that gcloud turns on with `--NAME` and off with `--no-NAME`."""
    return f"--{name}" if on else f"--no-{name}"


def _rare(text: str) -> str:
    """A printable character that is not in the text: there are more of them than any text has."""
    used = set(text)
    code = _FIRST_RARE
    while chr(code) in used or not chr(code).isprintable():
        code += 1
    return chr(code)
