"""The file in which people write a spec: `service: project:region:name` and `spec:`, read with every mistake named. Pure.

What comes in is what a YAML or JSON parser made of the file, or anything else: it is bounded before it is looked at, since a few
lines of YAML can stand for billions of values. YAML's own traps are met here: `off` is read as false (and taken as `off` for
batching), a time without quotes (22:00) is read as a number.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, ValidationError, WithJsonSchema

from shared.errors import TrimtabError
from shared.records.base import Record
from shared.records.refusal import shown
from shared.records.service import ServiceSpec
from shared.records.serving import OFF
from shared.records.spec_problems import Problem, problems_of
from shared.records.subject import ServiceId

VALUES_LIMIT = 50_000
"""Values in the file, mappings and lists included; what an anchor repeats counts each time."""
DEPTH_LIMIT = 32
PROBLEMS_LIMIT = 20
_RESOURCE_NAME = re.compile(r"projects/([^/]+)/locations/([^/]+)/services/([^/]+)")
_PARTS = {
    "project": "a project's id has 6 to 30 lower case letters, digits and dashes, and begins with a letter",
    "region": "a region looks like europe-west1",
    "name": "a service's name has at most 49 lower case letters, digits and dashes, begins with a letter and does not end with a dash",
}
"""Cloud Run's rules of the parts of a service's id."""
"""Problems that one message names."""
_INT64 = 2**63


class SpecFileError(TrimtabError):
    """The file is no spec. `problems` are all that were found, the message names the first `PROBLEMS_LIMIT` of them."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        named = [f"  {problem}" for problem in problems[:PROBLEMS_LIMIT]]
        if len(problems) > PROBLEMS_LIMIT:
            named.append(f"  and {len(problems) - PROBLEMS_LIMIT} more")
        super().__init__("\n".join([f"the spec has {'1 problem' if len(problems) == 1 else f'{len(problems)} problems'}:", *named]))


def read_service_id(text: str) -> ServiceId:
    """The service that people name: `project:region:name`, or Cloud Run's own `projects/P/locations/R/services/S`.

    Raises:
        ValueError: it is none; the message says which part is wrong and what it may be.
    """
    full = _RESOURCE_NAME.fullmatch(text)
    try:
        return ServiceId(project=full[1], region=full[2], name=full[3]) if full else ServiceId.parse(text)
    except ValidationError as error:
        first = error.errors()[0]
        part, found = str(first["loc"][0]), str(first["input"])
        if part == "project" and found.isdecimal():
            raise ValueError(f"{shown(found)} is a project's number: write its id, as in acme-ml:europe-west1:ranker") from None
        raise ValueError(f"its {part} {shown(found)!r} is not possible: {_PARTS[part]}; for example acme-ml:europe-west1:ranker") from None


def _service_id(value: object) -> object:
    if isinstance(value, ServiceId):
        return value
    if not isinstance(value, str):
        raise ValueError("want project:region:name, for example acme-ml:europe-west1:ranker")  # noqa: TRY004 (pydantic catches ValueError)
    return read_service_id(value)


ServiceText = Annotated[
    ServiceId,
    BeforeValidator(_service_id),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": "^[^\\s]+:[a-z0-9-]+:[a-z0-9-]+$", "examples": ["acme-ml:europe-west1:ranker"]}),
]
"""A service as people write it: `project:region:name`."""


class SpecFile(Record):
    """One service and what its owner wants of it."""

    service: ServiceText
    """The Cloud Run service, as `project:region:name`."""
    spec: ServiceSpec
    """What it is to be."""


def read_spec_file(data: object) -> SpecFile:
    """Read what a parser made of a spec's file.

    Raises:
        SpecFileError: it is no spec; every problem is named with its field, its value and what to do.
    """
    if not isinstance(data, Mapping):
        raise SpecFileError(
            [Problem("the file", shown(_kind(data)), "a spec is a mapping with service and spec", "see docs/examples/ranker.yaml")]
        )
    if "apiVersion" in data or ("template" in data and "spec" not in data):
        kind = shown(data.get("kind", "Service")) if isinstance(data.get("kind", ""), str) else "Service"
        raise SpecFileError(
            [Problem("the file", f"kind {kind}", "this is a service's document, no spec", "trimtab adopt FILE makes a spec of it")]
        )
    broken = list(_unreadable(data))
    if broken:
        raise SpecFileError(broken)
    try:
        return SpecFile.model_validate(_without_yaml_traps(data))
    except ValidationError as error:
        raise SpecFileError(problems_of(error, SpecFile, data)) from None


def to_file_data(file: SpecFile) -> dict[str, Any]:
    """What the file holds, for a YAML or JSON writer: defaults left out, in the order of the fields, names of mappings sorted."""
    data = file.model_dump(mode="json", exclude_defaults=True)
    serving = data["spec"].get("serving", {})
    for field in ("extra_flags", "environment"):
        if field in serving:
            serving[field] = dict(sorted(serving[field].items()))
    return data


def _without_yaml_traps(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """`batching: off`, which YAML reads as false."""
    spec = data.get("spec")
    serving = spec.get("serving") if isinstance(spec, Mapping) else None
    if isinstance(spec, Mapping) and isinstance(serving, Mapping) and serving.get("batching") is False:
        return {**data, "spec": {**spec, "serving": {**serving, "batching": OFF}}}
    return data


def _kind(value: object) -> str:
    return "empty" if value is None else type(value).__name__


def _unreadable(data: Mapping[Any, Any]) -> Iterator[Problem]:
    """What no spec can hold, whatever the field, and too much of anything."""
    left = VALUES_LIMIT
    pending: list[tuple[str, Any, int]] = [("", data, 1)]
    while pending:
        path, value, depth = pending.pop()
        left -= 1
        if left < 0:
            yield Problem("the file", f"more than {VALUES_LIMIT} values", "a spec is smaller", "look for a repeated anchor")
            return
        if depth > DEPTH_LIMIT:
            yield Problem(
                path, f"more than {DEPTH_LIMIT} levels", "nothing in a spec is nested that deep", "look for an anchor inside itself"
            )
            return
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if isinstance(key, str):
                    pending.append((_joined(path, key), inner, depth + 1))
                else:
                    yield Problem(
                        path or "the file", shown(key), "a name is no text", "put it in quotes: YAML reads on, yes and numbers otherwise"
                    )
        elif isinstance(value, list | tuple):
            pending.extend((_joined(path, str(at)), inner, depth + 1) for at, inner in enumerate(value))
        elif (wrong := _wrong_scalar(value)) is not None:
            yield Problem(path, shown(value), *wrong)


def _joined(path: str, part: str) -> str:
    whole = f"{path}.{part}" if path else part
    return shown(whole)


def _wrong_scalar(value: object) -> tuple[str, str] | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return None if -_INT64 <= value < _INT64 else ("the number has more than 64 bits", "write a smaller one, or a text in quotes")
    if isinstance(value, float):
        return None if math.isfinite(value) else ("this is no number of JSON", "write a number")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return "the text has half of a surrogate pair", "write the character itself"
        return None
    return f"a spec holds no {type(value).__name__}", "put it in quotes"
