"""The form of a spec's file for editors and for the reference: a JSON Schema and a table of fields, both made from the records. Pure.

The meaning of a field is the docstring behind it in the source. It is read here, when somebody asks, and not when the records are
imported: functions that only store a spec do not pay for it.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from types import ModuleType
from typing import Any, get_args

from pydantic import BaseModel

from shared.records.spec_file import SpecFile

SCHEMA_ID = "urn:trimtab:spec:1"
_FROM_THE_MESSAGE = {
    "thread_pool_name": "Names the threads, nothing else.",
    "enable_large_batch_splitting": "Whether a request may be split over several batches of max_execution_batch_size rows.",
}
"""Fields of TF Serving's message that have no docstring of ours."""


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field for the reference."""

    path: str
    """As people write it; `[]` behind a list."""
    type: str
    default: str
    meaning: str


def documented(owner: type | ModuleType) -> dict[str, str]:
    """Name to docstring of what is assigned in a class or a module and followed by a string."""
    body = ast.parse(inspect.getsource(owner)).body
    if isinstance(owner, type):
        first = body[0]
        body = first.body if isinstance(first, ast.ClassDef) else []
    found = {}
    for statement, following in pairwise(body):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
        else:
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
            found[name] = " ".join(following.value.value.split())
    return found


def json_schema(file: type[BaseModel] = SpecFile, *, schema_id: str = SCHEMA_ID, title: str = "Trimtab spec") -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file, of a spec's if none is said, with the meaning of every field and value."""
    schema = file.model_json_schema()
    definitions = schema.pop("$defs")
    owners = dict(_owners(file))
    for name, definition in definitions.items():
        _describe(definition, owners[name])
    _describe(schema, file)
    schema.pop("title")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id,
        "title": title,
        **schema,
        "$defs": definitions,
    }


def field_rows(schema: dict[str, Any] | None = None) -> list[FieldRow]:
    """Every field of the file, of a spec's if no schema is given, inner ones behind the field that holds them."""
    schema = json_schema() if schema is None else schema
    return list(_rows(schema, schema["$defs"], ""))


def _owners(owner: Any) -> Iterator[tuple[str, type[BaseModel] | type[Enum]]]:
    """The records and enumerations below a record, by the name they have in its schema."""
    if isinstance(owner, type) and issubclass(owner, Enum):
        yield owner.__name__, owner
    elif isinstance(owner, type) and issubclass(owner, BaseModel):
        yield owner.__name__, owner
        for field in owner.model_fields.values():
            yield from _owners(field.annotation)
    else:
        for part in get_args(owner):
            yield from _owners(part)


def _describe(definition: dict[str, Any], owner: type[BaseModel] | type[Enum]) -> None:
    said = _said(owner)
    summary = " ".join((inspect.getdoc(owner) or "").split())
    if issubclass(owner, Enum):
        values = " ".join(f"{member.value}: {said[name]}" for name, member in owner.__members__.items() if name in said)
        definition["description"] = f"{summary} {values}".strip()
        return
    definition["description"] = summary
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        meaning = said.get(name) or _FROM_THE_MESSAGE.get(name)
        if meaning is not None:
            # A file has no None: leaving the field out says the same.
            field["description"] = re.sub(r"\bNone\b", "unset", meaning)


def _said(owner: type) -> dict[str, str]:
    """The docstrings of a record's fields, those that it inherits included."""
    ours = [each for each in reversed(owner.__mro__) if each.__module__.split(".")[0] == "shared"]
    return {name: text for each in ours for name, text in documented(each).items()}


def _rows(definition: dict[str, Any], definitions: dict[str, Any], above: str) -> Iterator[FieldRow]:
    required = definition.get("required", [])
    for name, field in definition["properties"].items():
        path = f"{above}.{name}" if above else name
        default = "required" if name in required else _default(field.get("default"))
        meaning = field.get("description", "")
        inner, in_list = _inner(field, definitions)
        if inner is not None and not meaning:
            meaning = inner["description"]
        yield FieldRow(path, _type(field, definitions), default, meaning)
        if inner is not None:
            yield from _rows(inner, definitions, f"{path}[]" if in_list else path)


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _inner(field: dict[str, Any], definitions: dict[str, Any]) -> tuple[dict[str, Any] | None, bool]:
    """The record that a field holds, and whether it holds a list of them."""
    for choice in field.get("anyOf", [field]):
        in_list = choice.get("type") == "array"
        name = (choice.get("items", {}) if in_list else choice).get("$ref", "").rpartition("/")[2]
        if name and "properties" in definitions[name]:
            return definitions[name], in_list
    return None, False


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "anyOf" in field:
        # null is what leaving the field out means, except where the default is something else.
        choices = [choice for choice in field["anyOf"] if choice.get("type") != "null" or field.get("default") is not None]
        return " or ".join(dict.fromkeys(_type(choice, definitions) for choice in choices))
    if "$ref" in field:
        definition = definitions[field["$ref"].rpartition("/")[2]]
        return " or ".join(f"`{value}`" for value in definition["enum"]) if "enum" in definition else "mapping"
    if "const" in field or "enum" in field:
        return " or ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    match field.get("type"):
        case "integer" | "number" as kind:
            return f"{'whole number' if kind == 'integer' else 'number'}{_range(field)}"
        case "array":
            return _array(field, definitions)
        case "object":
            values = next(iter(field.get("patternProperties", {}).values()), field.get("additionalProperties", True))
            return "mapping" if values is True else f"mapping of names to {_type(values, definitions)}"
        case "string":
            return "text"
        case "boolean":
            return "`true` or `false`"
        case "null":
            return "`null`"
    return "anything"


def _array(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "prefixItems" in field:
        return f"[{', '.join(_type(each, definitions) for each in field['prefixItems'])}]"
    return f"list of {_type(field['items'], definitions)}"


_HUGE = 2**62


def _range(field: dict[str, Any]) -> str:
    low = field.get("minimum", field.get("exclusiveMinimum"))
    high = field.get("maximum", field.get("exclusiveMaximum"))
    if low is None or high is None or low < -_HUGE:
        return ""
    above = "above " if "exclusiveMinimum" in field else ""
    if high > _HUGE:
        return f", {above}{_count(low)} or more"
    return f", {above}{_count(low)} to {'below ' if 'exclusiveMaximum' in field else ''}{_count(high)}"


def _count(number: float) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"
