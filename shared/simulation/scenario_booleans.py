"""`true` is no 1: booleans of a scenario's file that were taken for numbers. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from shared.records.refusal import shown
from shared.records.spec_problems import Problem


def booleans_as_numbers(data: object, read: Any, path: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Every boolean of `data` that is a number in `read`, which is what was made of it; tables, lists and records inside included."""
    if isinstance(data, bool):
        if isinstance(read, int | float) and not isinstance(read, bool):
            yield Problem(shown(".".join(path)), _written(data), "want a number", "")
    elif isinstance(data, Mapping) and isinstance(read, BaseModel):
        for name, value in data.items():
            yield from booleans_as_numbers(value, getattr(read, str(name), None), (*path, str(name)))
    elif isinstance(data, Mapping) and isinstance(read, Mapping):
        for (name, value), (key, made) in zip(data.items(), read.items(), strict=False):
            yield from booleans_as_numbers(name, key, path)
            yield from booleans_as_numbers(value, made, (*path, _written(name) if isinstance(name, bool) else str(name)))
    elif isinstance(data, list | tuple) and isinstance(read, list | tuple):
        for place, (value, made) in enumerate(zip(data, read, strict=False)):
            yield from booleans_as_numbers(value, made, (*path, str(place)))


def _written(value: bool) -> str:
    return "true" if value else "false"
