"""A bundle of evidence: YAML or JSON with a command, files, flags, logs and metrics as its parts. Pure.

```
deploy      commands, or a service document       batching, models, monitoring   TF Serving's files
flags       a list of the server's flags          env         the container's environment
objects     a listing, an item an object          logs        a list of lines
metrics     metric key to number, or null         slo         {p99_ms: N}
workload    what is known of traffic and model    alert       the incident of a notification
alert_policy  a policy or a query as text
```
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from shared.cloudrun.fields import shown
from shared.cloudrun.yaml_values import YamlTextError, load_yaml, plain_value
from shared.errors import TrimtabError
from shared.lint.given import Arguments, Given, Listing, StoredObject, Text, Workload

PARTS: Final = (
    "deploy",
    "batching",
    "models",
    "monitoring",
    "flags",
    "env",
    "objects",
    "logs",
    "metrics",
    "slo",
    "workload",
    "alert",
    "alert_policy",
)
_WRAPPED = frozenset({"given", "id", "title", "source", "asks", "expect", "why", "confidence"})
"""A bundle may stand under `given`, with its story beside it."""
MAX_ITEMS = 5_000
"""Of a list or a mapping."""
_OBJECT = re.compile(r"(?P<path>\S(?:.*\S)?)\s+(?P<size>[0-9]{1,18})")
_BLOCK = re.compile(r":\s*\|[+-]?[1-9]?[+-]?\s*(?:#.*)?$")
_INT64 = 2**63


class BundleError(TrimtabError):
    """Something in the bundle is not what its part is; the message names the part, the value and what it should be."""


def read_bundle(name: str, text: str) -> Given:
    """The parts of a bundle.

    Raises:
        BundleError: not YAML, or a part of the wrong shape.
    """
    try:
        document, lines = load_yaml(text, plain_value)
    except YamlTextError as error:
        raise BundleError(str(error)) from None
    root = ""
    if isinstance(document, dict) and isinstance(document.get("given"), dict) and set(document) <= _WRAPPED:
        document, root = document["given"], "/given"
    if not isinstance(document, dict):
        raise BundleError(f"the bundle is {shown(document)}; write its parts as names with values: {', '.join(PARTS)}")
    unknown = [part for part in document if part not in PARTS]
    if unknown:
        raise BundleError(f"the bundle has no part {shown(unknown[0])}; its parts are {', '.join(PARTS)}")
    return _Reader(name, text.splitlines(), lines, root).read(document)


class _Reader:
    def __init__(self, name: str, source: list[str], lines: Mapping[str, int], root: str) -> None:
        self._name = name
        self._source = source
        self._lines = lines
        self._root = root

    def read(self, document: Mapping[str, Any]) -> Given:
        parts = {part: value for part, value in document.items() if value is not None}
        slo = _mapping(parts.get("slo"), "slo")
        return Given(
            name=self._name,
            deploy=self._text(parts, "deploy"),
            batching=self._text(parts, "batching"),
            models=self._text(parts, "models"),
            monitoring=self._text(parts, "monitoring"),
            alert_policy=self._text(parts, "alert_policy"),
            flags=self._flags(parts.get("flags")),
            env={key: _word(value, f"env.{key}") for key, value in _mapping(parts.get("env"), "env").items()},
            objects=self._objects(parts.get("objects")),
            p99_ms=_number(slo.get("p99_ms"), "slo.p99_ms"),
            workload=_workload(_mapping(parts.get("workload"), "workload")),
            logs=tuple(_line(value) for value in _list(parts.get("logs"), "logs")),
            metrics={key: _number(value, f"metrics.{key}") for key, value in _mapping(parts.get("metrics"), "metrics").items()},
            alert=_mapping(parts["alert"], "alert") if "alert" in parts else None,
        )

    def _line(self, part: str) -> int:
        return self._lines.get(f"{self._root}/{part}", 1)

    def _text(self, parts: Mapping[str, Any], part: str) -> Text | None:
        if part not in parts:
            return None
        value = parts[part]
        if not isinstance(value, str):
            raise BundleError(f"{part} is {shown(value)}; write the text itself, as a block under `{part}: |`")
        line = self._line(part)
        # Lines of a block scalar are lines of the file; those of quoted texts are not.
        block = line <= len(self._source) and _BLOCK.search(self._source[line - 1]) is not None
        return Text(value, self._name, line + 1 if block else line, exact=block)

    def _flags(self, value: Any) -> Arguments | None:
        if value is None:
            return None
        values = tuple(_word(each, "flags") for each in _list(value, "flags"))
        numbers = tuple(self._lines.get(f"{self._root}/flags/{index}") for index in range(len(values)))
        return Arguments(values, self._name, numbers)

    def _objects(self, value: Any) -> Listing | None:
        if value is None:
            return None
        found: list[StoredObject] = []
        for each in _list(value, "objects"):
            text = _word(each, "objects").strip()
            sized = _OBJECT.fullmatch(text)
            found.append(StoredObject(sized["path"], int(sized["size"])) if sized else StoredObject(text, None))
        return Listing(tuple(found), self._name, self._line("objects"))


def _workload(stated: Mapping[str, Any]) -> Workload:
    def number(name: str) -> float | None:
        return _number(stated.get(name), f"workload.{name}")

    def whole(name: str) -> int | None:
        value = number(name)
        return None if value is None else int(value)

    batch_ms: dict[int, float] = {}
    for rows, milliseconds in _mapping(stated.get("batch_ms"), "workload.batch_ms").items():
        taken = _number(milliseconds, f"workload.batch_ms.{rows}")
        if not str(rows).isdecimal() or len(str(rows)) > 9:  # noqa: PLR2004 (rows of a batch)
            raise BundleError(f"workload.batch_ms: {shown(rows)} is no number of rows; write rows: milliseconds, like 16: 12")
        if taken is not None:
            batch_ms[int(rows)] = taken
    bulk = stated.get("bulk", False)
    if not isinstance(bulk, bool):
        raise BundleError(f"workload.bulk is {shown(bulk)}; write true or false")
    return Workload(
        rows_per_request=whole("rows_per_request"),
        request_mib=number("request_mib"),
        client_deadline_ms=number("client_deadline_ms"),
        model_gib=number("model_gib"),
        start_s=number("start_s"),
        batch_ms=batch_ms,
        bulk=bulk,
        gpu_quota=whole("gpu_quota"),
    )


def _number(value: Any, field: str) -> float | None:
    """A number that is not negative, or nothing; numbers in quotes are read."""
    if value is None or (isinstance(value, str) and value.strip().lower() in {"", "null", "none", "no data"}):
        return None
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _INT64:
        number = float(value)
    elif isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
    if not math.isfinite(number) or number < 0:
        raise BundleError(f"{field} is {shown(value)}; write a number that is zero or more, or null where there were no points")
    return number


def _word(value: Any, field: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    raise BundleError(f"{field} has {shown(value)}; write a text")


def _line(value: Any) -> str:
    """A log line; YAML makes a mapping of a line such as `ERROR: failed`, which is given back as it was."""
    if isinstance(value, Mapping) and len(value) == 1:
        (key, rest), *_ = value.items()
        return f"{key}: {_line(rest)}"
    return "" if value is None else _word(value, "logs")


def _mapping(value: Any, field: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BundleError(f"{field} is {shown(value)}; write names with values")
    if len(value) > MAX_ITEMS:
        raise BundleError(f"{field} has {len(value):,} entries; at most {MAX_ITEMS:,} are read")
    return {str(key): each for key, each in value.items()}


def _list(value: Any, field: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) and field == "logs":
        return value.splitlines()
    if not isinstance(value, list):
        raise BundleError(f"{field} is {shown(value)}; write a list, an item a line")
    if len(value) > MAX_ITEMS:
        raise BundleError(f"{field} has {len(value):,} items; at most {MAX_ITEMS:,} are read")
    return value
