"""What the fields of a service's document are: the kinds of values, and the objects and lists that are made of them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Union


class Scalar(StrEnum):
    """A value without parts. The texts are what a message asks for."""

    TEXT = "a text"
    WHOLE = "a whole number"
    LONG = "a whole number or its text"
    """64 bits: REST writes them as texts."""
    FLAG = "true or false"
    RATIO = "a number such as 0.6"
    DURATION = 'a duration such as "300s"'
    ANY = "anything"
    """Only Cloud Run writes it, or it means nothing here: it is not looked into."""


@dataclass(frozen=True, slots=True)
class Words:
    """One of a set of words. `short` are what people write instead, to the right word."""

    allowed: tuple[str, ...]
    short: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shape:
    """An object with these fields. `elsewhere` are fields that people put here, to what is right."""

    name: str
    fields: Mapping[str, "Kind"]
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of such values."""

    item: "Kind"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object of any names, each with such a value."""

    item: "Kind"


Kind = Union[Scalar, Words, Shape, ListOf, MapOf]  # noqa: UP007 (refers to itself by name)

TEXTS = ListOf(Scalar.TEXT)
TEXT_MAP = MapOf(Scalar.TEXT)


def texts(*names: str) -> dict[str, Kind]:
    """These fields, each a text."""
    return dict.fromkeys(names, Scalar.TEXT)


def wholes(*names: str) -> dict[str, Kind]:
    """These fields, each a whole number."""
    return dict.fromkeys(names, Scalar.WHOLE)


def flags(*names: str) -> dict[str, Kind]:
    """These fields, each true or false."""
    return dict.fromkeys(names, Scalar.FLAG)


def ignored(*names: str) -> dict[str, Kind]:
    """These fields, whatever they hold."""
    return dict.fromkeys(names, Scalar.ANY)
