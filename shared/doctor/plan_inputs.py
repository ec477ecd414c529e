"""What the modules of a Terraform plan are given, by the plan's variables and its configuration. Pure.

An input is known where it is a constant, the module's default, or a variable handed on as it is, up to the root. Anything that is computed
is `UNKNOWN`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.doctor.plan_values import Values, mapping

UNKNOWN: Final = object()
_KEY = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[\d+\]')
_DEPTH = 20
"""Of modules within modules; more than anybody has."""
Path = tuple[str, ...]


class Inputs:
    """The inputs of one plan."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._root = mapping(mapping(document.get("configuration")).get("root_module"))
        self._variables = mapping(document.get("variables"))

    def around(self, address: str, name: str) -> Any:
        """The input of that name of the nearest module around a resource that has one."""
        path = modules_of(address)
        for depth in range(len(path), -1, -1):
            if name in self._declared(path[:depth]):
                return self._value(path[:depth], name)
        return UNKNOWN

    def every(self, name: str) -> list[Any]:
        """The input of that name of each module that has one."""
        return [self._value(path, name) for path in self._paths(()) if name in self._declared(path)]

    def _paths(self, path: Path) -> Iterator[Path]:
        yield path
        for name in mapping(self._module(path).get("module_calls")) if len(path) < _DEPTH else ():
            yield from self._paths((*path, name))

    def _module(self, path: Path) -> Values:
        found = self._root
        for name in path:
            found = mapping(mapping(mapping(found.get("module_calls")).get(name)).get("module"))
        return found

    def _declared(self, path: Path) -> Values:
        return mapping(self._module(path).get("variables"))

    def _value(self, path: Path, name: str) -> Any:
        declared = mapping(self._declared(path).get(name))
        default = declared.get("default", UNKNOWN)
        if not path:
            given = mapping(self._variables.get(name))
            return given.get("value", default)
        call = mapping(mapping(self._module(path[:-1]).get("module_calls")).get(path[-1]))
        expression = mapping(call.get("expressions")).get(name)
        if expression is None:
            return default
        if not isinstance(expression, Mapping):
            return UNKNOWN
        if "constant_value" in expression:
            return expression["constant_value"]
        return self._referred(path[:-1], expression.get("references"))

    def _referred(self, path: Path, references: Any) -> Any:
        """What one variable, or a part of one, is; Terraform names with `var.x.y` each name that it begins with."""
        names = [each for each in references if isinstance(each, str)] if isinstance(references, list) else []
        first, *rest = names or [""]
        if not first.startswith("var.") or any(not f"{first}.".startswith(f"{each}.") for each in rest):
            return UNKNOWN
        _, name, *parts = first.split(".")
        found = self._value(path, name)
        for part in parts:
            if not isinstance(found, Mapping):
                return UNKNOWN
            found = found.get(part, UNKNOWN)
        return found


def modules_of(address: str) -> Path:
    """The modules that a resource's address leads through, without their keys."""
    names = _KEY.sub("", address).split(".")
    found: list[str] = []
    while names[:1] == ["module"] and len(names) > 1:
        found.append(names[1])
        names = names[2:]
    return tuple(found)


def root_of(address: str) -> str:
    """What of the root configuration a resource is in: a module, or itself."""
    path = modules_of(address)
    return f"module.{path[0]}" if path else _KEY.sub("", address)


def is_no(value: Any) -> bool:
    """Whether a switch is off; a variable given on the command line is a text."""
    return value is False or value == "false"
