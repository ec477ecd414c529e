"""The form of a scenario's file for editors and for the reference. Pure."""

import inspect
from dataclasses import replace
from typing import Any, get_args

from pydantic import BaseModel

from shared.records.spec_schema import FieldRow, field_rows, json_schema
from shared.simulation.scenario import Scenario
from shared.simulation.scenario_workload import Load

SCHEMA_ID = "urn:trimtab:scenario:1"
SPEC = "service.spec."


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a scenario's file, with the meaning of every field."""
    return json_schema(Scenario, schema_id=SCHEMA_ID, title="Trimtab scenario")


def scenario_rows() -> list[FieldRow]:
    """Every field for the reference, but those of a spec, which has a page of its own, and those of a workload."""
    return [row for row in field_rows(scenario_schema()) if not row.path.startswith(SPEC)]


def load_rows() -> dict[str, tuple[str, list[FieldRow]]]:
    """Of each kind of workload: what it is, and its own fields. What all have is under the empty name."""
    kinds: tuple[type[BaseModel], ...] = get_args(get_args(Load)[0])
    names = [get_args(kind.model_fields["kind"].annotation)[0] for kind in kinds]
    common = [row for row in _fields(kinds[0]) if _is_common(row)]
    common.sort(key=lambda row: row.path != "kind")
    common[0] = replace(common[0], type=" or ".join(f"`{name}`" for name in names))
    found = {"": ("", common)}
    for name, kind in zip(names, kinds, strict=True):
        found[name] = (" ".join((inspect.getdoc(kind) or "").split()), [row for row in _fields(kind) if not _is_common(row)])
    return found


def _fields(kind: type[BaseModel]) -> list[FieldRow]:
    return field_rows(json_schema(kind, schema_id=SCHEMA_ID, title="workload"))


def _is_common(row: FieldRow) -> bool:
    return row.path.split(".")[0] in {"rows", "retries", "kind"}
