"""The form of commands for other systems: a JSON Schema made from the records. Pure; made when somebody asks for it."""

import inspect
import re
from enum import Enum
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter

from shared.records import commands
from shared.records.commands import AnyCommand, Command
from shared.records.service import HoldKind, OwnedField
from shared.records.spec_schema import documented, json_schema

SCHEMA_ID = "urn:trimtab:command:1"


def command_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a command, with the meaning of every command, field and value."""
    schema = TypeAdapter[AnyCommand](Command).json_schema()
    definitions = schema.pop("$defs")
    described = json_schema()["$defs"]
    owners: dict[str, type[BaseModel | Enum]] = {model.__name__: model for model in get_args(AnyCommand)}
    owners |= {owner.__name__: owner for owner in (HoldKind, OwnedField)}
    for name, definition in definitions.items():
        if name in owners:
            _describe(definition, owners[name])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Trimtab command",
        "description": " ".join((inspect.getdoc(commands) or "").split()),
        **schema,
        "$defs": {name: described.get(name, definition) for name, definition in definitions.items()},
    }


def _describe(definition: dict[str, Any], owner: type[BaseModel | Enum]) -> None:
    said = _documented(owner)
    summary = " ".join((inspect.getdoc(owner) or "").split())
    if issubclass(owner, Enum):
        values = " ".join(f"{member.value}: {said[name]}" for name, member in owner.__members__.items() if name in said)
        definition["description"] = f"{summary} {values}".strip()
        return
    definition["description"] = summary
    for name, field in definition["properties"].items():
        field.pop("title", None)
        field["description"] = re.sub(r"\bNone\b", "unset", said[name])


def _documented(owner: type) -> dict[str, str]:
    """Name to docstring, those of the records that it builds on included."""
    bases = [base for base in reversed(owner.__mro__) if base.__module__ == commands.__name__]
    return {name: text for base in bases or [owner] for name, text in documented(base).items()}
