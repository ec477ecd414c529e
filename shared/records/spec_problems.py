"""pydantic's errors about a spec as sentences for its owner: the field as it was written, the value, what is wrong, what to do. Pure."""

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from shared.records.refusal import shown
from shared.records.subject import ServiceId

TEXT_LIMIT = 300
"""Characters of one part of a problem."""
_CLOSE = 0.7

_EXAMPLES = {
    "image": "tensorflow/serving:2.20.0-gpu",
    "name": "ranker",
    "accelerator": "nvidia-l4",
    "service_account": "ranker@acme-ml.iam.gserviceaccount.com",
    "start": '"22:00"',
    "end": '"06:00"',
}
"""What a field that has a pattern looks like."""
_TIMES = ("start", "end")
VERSION_DIGITS = 40
"""Of a version folder's name, zeros before the number included."""
_FORMS = {
    "image": "[host[:port]/]path[:tag][@sha256:digest], the path in lower case, its parts and the tag beginning with a letter or digit",
    "connector": "a connector's name, or projects/P/locations/R/connectors/C",
    "network": "a network's name, or projects/P/global/networks/N",
    "subnetwork": "a subnetwork's name, or projects/P/regions/R/subnetworks/S",
}
"""What a field whose pattern nobody can read is to be."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a spec's file."""

    field: str
    value: str
    wrong: str
    fix: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.field, self.value, f"{self.wrong}; {self.fix}" if self.fix else self.wrong) if part)


def problems_of(error: ValidationError, model: type[BaseModel], data: object) -> list[Problem]:
    """Every problem once, in the order of the fields; `data` is what was validated, `model` what it was to be."""
    grouped: dict[tuple[str, ...], list[ErrorDetails]] = defaultdict(list)
    for detail in error.errors(include_url=False):
        grouped[_path(detail, data)].append(detail)
    paths = [path for path in grouped if not _is_noise(path, grouped)]
    return [_problem(path, grouped[path], model) for path in paths]


def model_at(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel] | None:
    """The record that stands at a path (positions in lists included); None where there is none."""
    for part in path:
        if part.isdecimal():
            continue
        field = model.model_fields.get(part)
        inner = _model_in(field.annotation) if field is not None else None
        if inner is None:
            return None
        model = inner
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if annotation is ServiceId:
        return None  # people write it as one text
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def fields_of(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The path of every field, those of inner records included."""
    for name, field in model.model_fields.items():
        path = (*above, name)
        yield path
        inner = _model_in(field.annotation)
        if inner is not None:
            yield from fields_of(inner, path)


def _path(detail: ErrorDetails, data: object) -> tuple[str, ...]:
    """Where the error is in the file: pydantic's location without the names of the types it tried."""
    at: Any = data
    path: list[str] = []
    for position, part in enumerate(detail["loc"]):
        if isinstance(at, Mapping) and part in at:
            at = at[part]
        elif isinstance(at, list | tuple) and isinstance(part, int):
            at = at[part] if part < len(at) else None
        elif not (detail["type"] == "missing" and position == len(detail["loc"]) - 1):
            continue
        path.append(str(part))
    return tuple(path)


def _is_noise(path: tuple[str, ...], grouped: Mapping[tuple[str, ...], list[ErrorDetails]]) -> bool:
    """Whether the errors here only say that a mapping is none of the plain values the field also takes, while it was read as a mapping."""
    plain = all(detail["type"] == "literal_error" or detail["type"].endswith("_type") for detail in grouped[path])
    return plain and any(len(other) > len(path) and other[: len(path)] == path for other in grouped)


def _problem(path: tuple[str, ...], details: list[ErrorDetails], model: type[BaseModel]) -> Problem:
    field = shown(".".join(path)) or "the file"
    first = details[0]
    value = first["input"]
    if first["type"] == "missing":
        return Problem(field, "", "is not there and is needed", "add it")
    if first["type"] == "extra_forbidden":
        return Problem(field, "", "there is no such field", _nearest(path, model))
    said = [detail for detail in details if detail["type"] == "value_error"]
    if said:
        text = said[0]["msg"].removeprefix("Value error, ")
        return Problem(field, "" if isinstance(value, Mapping) else _quoted(value), text[:TEXT_LIMIT], "")
    if any(detail["loc"][-1] == "[key]" for detail in details):
        return Problem(field, _quoted(value), "the name is not possible", f"want {_wanted(details)}")
    if path and path[-1] in _TIMES and isinstance(value, int):
        return Problem(field, _quoted(value), "YAML reads a time without quotes as a number", 'put it in quotes, like "22:00"')
    if path and path[-1] == "version" and isinstance(value, str) and value.isdecimal() and len(value) <= VERSION_DIGITS:
        return Problem(field, _quoted(value), "a version is a number", f"write {shown(value.lstrip('0') or '0')} without quotes")
    form = _FORMS.get(path[-1]) if path else None
    if form is not None and any(detail["type"] == "string_pattern_mismatch" for detail in details):
        return Problem(field, _quoted(value), f"want {form}", f"for example {_EXAMPLES[path[-1]]}" if path[-1] in _EXAMPLES else "")
    example = _EXAMPLES.get(path[-1]) if path else None
    fix = f"for example {example}" if example else "put it in quotes" if _wants_quotes(details, value) else ""
    return Problem(field, _quoted(value), f"want {_wanted(details)}", fix)


def _wants_quotes(details: list[ErrorDetails], value: object) -> bool:
    return all(detail["type"] == "string_type" for detail in details) and isinstance(value, bool | int | float)


def _quoted(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "nothing"
    return repr(shown(value)) if isinstance(value, str) else shown(value)


def _nearest(path: tuple[str, ...], model: type[BaseModel]) -> str:
    """The field that was probably meant: of the same name elsewhere, or of a similar name here or elsewhere."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path[-1][:100]).replace("-", "_").lower()
    here = model_at(model, path[:-1])
    known_here = list(here.model_fields) if here is not None else []
    everywhere = {known[-1]: ".".join(known) for known in fields_of(model)}
    near = difflib.get_close_matches(name, known_here, n=1, cutoff=_CLOSE)
    if near:
        return f"{near[0]} is near"
    if name in everywhere:
        return f"it belongs to {everywhere[name]}"
    far = difflib.get_close_matches(name, everywhere, n=1, cutoff=_CLOSE)
    if far:
        return f"{everywhere[far[0]]} is near"
    return f"leave it out; the fields here are {', '.join(known_here)}"[:TEXT_LIMIT]


def _wanted(details: list[ErrorDetails]) -> str:
    wanted = list(dict.fromkeys(_want(detail) for detail in details))
    # "a number" already takes whole ones.
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    return " or ".join(wanted)[:TEXT_LIMIT]


_KINDS: dict[str, str] = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "string_unicode": "a text",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}
_BOUNDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "literal_error": lambda limit: limit["expected"].replace("'", ""),
    "enum": lambda limit: limit["expected"].replace("'", ""),
    "greater_than_equal": lambda limit: f"{limit['ge']:g} or more",
    "greater_than": lambda limit: f"more than {limit['gt']:g}",
    "less_than_equal": lambda limit: f"{limit['le']:g} or less",
    "less_than": lambda limit: f"less than {limit['lt']:g}",
    "string_too_short": lambda limit: f"{limit['min_length']} characters or more",
    "string_too_long": lambda limit: f"{limit['max_length']} characters or fewer",
    "too_short": lambda limit: f"{limit['min_length']} entries or more",
    "too_long": lambda limit: f"{limit['max_length']} entries or fewer",
    "multiple_of": lambda limit: f"a multiple of {limit['multiple_of']:g}",
    "union_tag_invalid": lambda limit: f"a {limit['discriminator'].strip(chr(39))} of {limit['expected_tags'].replace(chr(39), '')}",
    "union_tag_not_found": lambda limit: f"a {limit['discriminator'].strip(chr(39))} in it, which says what it is",
    "string_pattern_mismatch": lambda limit: f"a text that matches {limit['pattern']}",
}


def _want(detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _BOUNDS:
        return _BOUNDS[kind](detail.get("ctx", {}))
    return detail["msg"]
