"""What Terraform writes of a resource: texts, blocks and lists, whatever stands there. Pure."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)s")
Values: TypeAlias = Mapping[str, Any]
"""The attributes of a resource; what is known only after apply is not among them."""


def mappings(value: Any) -> list[Values]:
    """The objects of a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def block(values: Values, name: str) -> Values:
    """The block of that name, which Terraform writes as a list of one."""
    found = mappings(values.get(name))
    return found[0] if found else {}


def texts(value: Any) -> frozenset[str]:
    """The texts of a list."""
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()


def text(value: Any) -> str | None:
    """A text; None where there is none, or an empty one."""
    return value if isinstance(value, str) and value else None


def short(value: Any) -> str | None:
    """The last part of a name."""
    found = text(value)
    return None if found is None else found.rpartition("/")[2]


def seconds(value: Any) -> float | None:
    """A duration, `600s`."""
    found = _DURATION.fullmatch(text(value) or "")
    return float(found[1]) if found else None


def mapping(value: Any) -> Values:
    """An object; an empty one where there is none."""
    return value if isinstance(value, Mapping) else {}
