"""A document held against what its fields are: the mistakes, and the rest of it as clean values. Pure.

What a value plainly means is kept beside its problem (`cpu: 4` is the text "4"); what cannot be held is left out.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.cloudrun.described import Problem, ReadingProblem
from shared.cloudrun.document_scalars import OlderScalar
from shared.cloudrun.document_shapes import Kind, ListOf, MapOf, Scalar, Shape, Words
from shared.cloudrun.fields import Json, ServiceDocumentError, Spelled, as_flag, as_ratio, as_text, as_whole, pointer, shown

_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]*")
_DURATION = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?s")
_BARE_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_OTHER_DURATION = re.compile(r"(?P<number>[0-9]{1,6}) *(?P<unit>m|min|h)")
_UNIT_SECONDS = {"m": 60, "min": 60, "h": 3600}
_SNAKE = re.compile(r"_([a-z0-9])")
_ABSENT = object()


@dataclass(slots=True)
class DocumentCheck:
    """The checking of one document.

    `lines` are those of its fields by JSON pointer; `snake_case`: names may be written so as well, as in the Admin API's JSON.
    """

    lines: Mapping[str, int]
    snake_case: bool
    problems: list[Problem] = field(default_factory=list)
    ways: dict[str, str] = field(default_factory=dict)
    """Pointer of a clean field to its pointer in the document, where names may be in snake_case."""

    def clean(self, value: Any, kind: Kind) -> Any:
        """The value without what is wrong with it, the mistakes added to `problems`; None if nothing of it can be held."""
        found = self._value(value, kind, "", "")
        return None if found is _ABSENT else found

    def say(self, way: str, message: str, fix: str = "") -> None:
        """Add a problem of the field at a JSON pointer."""
        name = dotted(way)
        self.problems.append(Problem(ReadingProblem.DOCUMENT_INVALID, message, fix, self.line(way), name))

    def line(self, way: str) -> int | None:
        """The line of a field, or of the nearest object around it."""
        while way and way not in self.lines:
            way = way.rpartition("/")[0]
        return self.lines.get(way)

    def _value(self, value: Any, kind: Kind, way: str, clean_way: str) -> Any:
        if value is None:
            return _ABSENT
        self.ways[clean_way] = way
        if isinstance(kind, Shape):
            return self._object(value, kind, way, clean_way)
        if isinstance(kind, ListOf):
            return self._list(value, kind, way, clean_way)
        if isinstance(kind, MapOf):
            return self._map(value, kind, way, clean_way)
        if isinstance(kind, Words):
            return self._word(value, kind, way)
        return self._scalar(value, kind, way)

    def _object(self, value: Any, shape: Shape, way: str, clean_way: str) -> Any:
        if not isinstance(value, dict):
            self._wrong(way, value, "an object with named fields")
            return _ABSENT
        found: Json = {}
        for name, each in value.items():
            known = self._known(name, shape)
            if known is None:
                self._unknown(name, shape, pointer(way, name))
                continue
            if each == [] and not self.snake_case and not isinstance(shape.fields[known], ListOf):
                continue  # gcloud takes an empty list for a field that is not there
            clean = self._value(each, shape.fields[known], pointer(way, name), pointer(clean_way, known))
            if clean is not _ABSENT:
                found[known] = clean
        return found

    def _known(self, name: str, shape: Shape) -> str | None:
        if name in shape.fields:
            return name
        camel = _SNAKE.sub(lambda found: found[1].upper(), name) if self.snake_case else name
        return camel if camel in shape.fields else None

    def _unknown(self, name: str, shape: Shape, way: str) -> None:
        right = shape.elsewhere.get(name)
        near = difflib.get_close_matches(name, shape.fields, n=1, cutoff=0.75)
        refusal = f'Cloud Run answers `Unknown name "{name[:60]}"`' if self.snake_case else "gcloud refuses the file"
        message = f"{dotted(way)} is no field of a Cloud Run service, {refusal}"
        if right is not None:
            self.say(way, f"{message}: here it is {right}", f"write {right}")
        elif near:
            self.say(way, f"{message}: {near[0]} is near", f"write {near[0]} if that is meant, or take the field out")
        else:
            self.say(way, message, "take the field out")

    def _list(self, value: Any, kind: ListOf, way: str, clean_way: str) -> Any:
        if not isinstance(value, list) and not self.snake_case:
            # gcloud takes one value for a list of it.
            one = self._value(value, kind.item, way, pointer(clean_way, 0))
            return [] if one is _ABSENT else [one]
        if not isinstance(value, list):
            self._wrong(way, value, "a list")
            return _ABSENT
        for at, each in enumerate(value):
            if each is None and kind.item is not Scalar.ANY:
                self._null(pointer(way, at))
        # An item that cannot be held leaves its place empty: the others keep their numbers.
        empty: Any = "" if kind.item is Scalar.TEXT else {}
        items = [self._value(each, kind.item, pointer(way, at), pointer(clean_way, at)) for at, each in enumerate(value)]
        return [empty if each is _ABSENT else each for each in items]

    def _map(self, value: Any, kind: MapOf, way: str, clean_way: str) -> Any:
        if not isinstance(value, dict):
            self._wrong(way, value, "an object of names and texts")
            return _ABSENT
        for name, each in value.items():
            if each is None and self.snake_case:  # gcloud takes it for a name that is not there
                self._null(pointer(way, name))
        items = {name: self._value(each, kind.item, pointer(way, name), pointer(clean_way, name)) for name, each in value.items()}
        return {name: each for name, each in items.items() if each is not _ABSENT}

    def _word(self, value: Any, kind: Words, way: str) -> Any:
        if isinstance(value, str) and value in kind.allowed:
            return value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(kind.allowed):
            return kind.allowed[value]
        meant = kind.short.get(value.lower()) if isinstance(value, str) else None
        named = [word for word in kind.allowed if not word.endswith("UNSPECIFIED")]
        message = f"{dotted(way)} is {_shown(value)}; the words are {', '.join(named)}"
        self.say(way, message, f"{_last(way)}: {meant}" if meant else f"write one of {', '.join(named)}")
        return meant or _ABSENT

    def _scalar(self, value: Any, kind: Scalar, way: str) -> Any:
        if kind is Scalar.ANY:
            return plain_numbers(value)
        if isinstance(value, OlderScalar) and not self.snake_case:
            if kind is Scalar.TEXT:
                message = (
                    f"{dotted(way)} is {value.what} to gcloud, which reads YAML 1.1, and has to be a text: it is refused without quotes"
                )
                self.say(way, message, f'{_last(way)}: "{value}"')
                return str(value)
            value = str(value) if value.value is None else value.value
        if kind is Scalar.TEXT:
            return self._text(value, way)
        if kind is Scalar.DURATION:
            return self._duration(value, way)
        read, mends = _READERS[kind]
        try:
            found = read(value, way)
        except ServiceDocumentError:
            self._wrong(way, value, kind)
            return _ABSENT
        if not isinstance(value, mends) or (kind is Scalar.WHOLE and isinstance(value, float) and not self.snake_case):
            self._wrong(way, value, kind, f"{_last(way)}: {_written(found)}")
        return found

    def _text(self, value: Any, way: str) -> Any:
        if isinstance(value, str):
            return value
        try:
            text = as_text(value, way)
        except ServiceDocumentError:
            self._wrong(way, value, Scalar.TEXT)
            return _ABSENT
        kind = "true or false" if isinstance(value, bool) else "the number"
        said = f"{kind} ({text})" if isinstance(value, bool) else f"{kind} {text}"
        self.say(way, f"{dotted(way)} is {said} and has to be a text: it is refused without quotes", f'{_last(way)}: "{text}"')
        return text

    def _duration(self, value: Any, way: str) -> Any:
        text = value if isinstance(value, str) else as_text(value, way) if isinstance(value, int | float) else ""
        if isinstance(value, str) and _DURATION.fullmatch(text):
            return text
        other = _OTHER_DURATION.fullmatch(text)
        seconds = text if _BARE_SECONDS.fullmatch(text) else str(int(other["number"]) * _UNIT_SECONDS[other["unit"]]) if other else None
        meant = None if seconds is None or isinstance(value, bool) else f"{seconds}s"
        self._wrong(way, value, Scalar.DURATION, f'{_last(way)}: "{meant}"' if meant else "")
        return meant or _ABSENT

    def _null(self, way: str) -> None:
        self.say(way, f"{dotted(way)} is null, and a null is no value here: it is refused", "give it a value, or take it out")

    def _wrong(self, way: str, value: Any, wanted: str, fix: str = "") -> None:
        where = dotted(way) or "the document"
        self.say(way, f"{where} is {_shown(value)}; it has to be {wanted}", fix or f"write {wanted}")


def dotted(way: str) -> str:
    """A JSON pointer as people write it: `spec.template.spec.containers[0].image`, `annotations["run.googleapis.com/ingress"]`."""
    text = ""
    for token in (token.replace("~1", "/").replace("~0", "~") for token in way.split("/")[1:]):
        if token.isascii() and token.isdecimal():
            text += f"[{token}]"
        elif _PLAIN_NAME.fullmatch(token):
            text += f".{token}" if text else token
        else:
            text += f'["{token}"]'
    return text


def plain_numbers(value: Any) -> Any:
    """The same without the spelling of its numbers."""
    if isinstance(value, dict):
        return {name: plain_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [plain_numbers(each) for each in value]
    return float(value) if isinstance(value, Spelled) else value


def _long(value: Any, way: str) -> str:
    return str(as_whole(value, way))


def _ratio(value: Any, way: str) -> float:
    return float(as_ratio(value, way))


_READERS: dict[Scalar, tuple[Callable[[Any, str], Any], type[object] | tuple[type[object], ...]]] = {
    Scalar.WHOLE: (as_whole, (int, float, str)),
    Scalar.LONG: (_long, (int, float, str)),
    Scalar.FLAG: (as_flag, bool),
    Scalar.RATIO: (_ratio, (int, float, str)),
}


def _last(way: str) -> str:
    token = way.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    return token if not token.isdecimal() else "-"


def _written(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, Spelled) else shown(value)
