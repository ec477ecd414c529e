"""Values of v2 JSON read leniently: what is not of the type that its field has counts as not there. Pure."""

from collections.abc import Mapping
from typing import Any

from shared.cloudrun.fields import Json
from shared.cloudrun.quantities import quantity


def part(holder: Mapping[str, Any], name: str) -> Json:
    """The object under the name; empty if there is none."""
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The list; empty if it is none."""
    return value if isinstance(value, list) else []


def texts_of(value: Any) -> list[str]:
    """The texts in the list."""
    return [each for each in list_of(value) if isinstance(each, str)]


def limits_of(container: Json) -> Json:
    """The container's limits: CPU, memory, GPUs."""
    return part(part(container, "resources"), "limits")


def amount_of(value: Any) -> float | None:
    """A quantity (`4`, `16Gi`) as a number; None if it is none."""
    amount = quantity(value) if isinstance(value, str) else None
    return None if amount is None else float(amount)


def whole_of(value: Any) -> int | None:
    """A whole number of v2 JSON, which writes 64-bit ones as texts."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19 else None  # noqa: PLR2004
