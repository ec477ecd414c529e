"""Random edits of service documents: of their fields, and of the text that they are written in."""

import copy
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import yaml

from tests.support.lint_edits_texts import VALUES, edited_characters, edited_lines, misspelt

Path = tuple[str | int, ...]

_FOREIGN_FIELDS: tuple[tuple[str, Any], ...] = (
    ("gpu", 1),
    ("concurrency", 80),
    ("containerConcurrency", 8),
    ("maxInstanceRequestConcurrency", 2000),
    ("maxInstances", 3),
    ("maxInstanceCount", -1),
    ("minInstanceCount", 7),
    ("replicas", 2),
    ("image", "tensorflow/serving"),
    ("timeoutSeconds", 4000),
    ("timeout", "3601s"),
    ("timeout", 300),
    ("cpu", "4"),
    ("memory", "8Gi"),
    ("nvidia.com/gpu", "2"),
    ("port", 8500),
    ("containerPort", 70000),
    ("env", {"A": "1"}),
    ("args", "--port=8500"),
    ("command", []),
    ("labels", ["a"]),
    ("annotations", {"run.googleapis.com/cpu-throttling": "true"}),
    ("annotations", {"autoscaling.knative.dev/maxScale": "2"}),
    ("executionEnvironment", "EXECUTION_ENVIRONMENT_GEN1"),
    ("nodeSelector", {"accelerator": "nvidia-t4"}),
    ("livenessProbe", {"tcpSocket": {"port": 8500}}),
    ("startupProbe", {"periodSeconds": 10}),
    ("readinessProbe", {"httpGet": {"path": "/"}}),
    ("restartPolicy", "Always"),
    ("spec", {}),
    ("percent", 50),
    ("cpuIdle", True),
    ("description", "x" * 600),
)
_VALUES: tuple[Any, ...] = (
    *VALUES,
    0,
    -1,
    1,
    3,
    7,
    80,
    241,
    1001,
    3601,
    65536,
    2**31,
    2**63,
    0.5,
    True,
    False,
    None,
    [],
    {},
    ["a", "b"],
    {"a": "b"},
    "GEN2",
    "Bad_Name",
    "x" * 70,
    "INGRESS_TRAFFIC_EVERYBODY",
    "300",
    "1h",
    "2Gi",
    "64Gi",
    "8000m",
    "16GB",
    "h2c",
    "http2",
)
_ALPHABET = ":-{}[],\"'# \n\t&*|>!%@`01ax"


def edit_json(random: Random, text: str) -> tuple[str, str]:
    """The document with one edit in it, and what was done."""
    return _edited(random, text, json.loads, lambda tree: json.dumps(tree, indent=random.choice((None, 1, 2)), ensure_ascii=False) + "\n")


def edit_yaml(random: Random, text: str) -> tuple[str, str]:
    """The document with one edit in it, and what was done."""
    flow = random.choice((False, None))
    return _edited(random, text, yaml.safe_load, lambda tree: yaml.safe_dump(tree, sort_keys=False, default_flow_style=flow, width=200))


edit_v1 = edit_yaml


def _edited(random: Random, text: str, read: Callable[[str], Any], write: Callable[[Any], str]) -> tuple[str, str]:
    how = random.random()
    if how < 0.15:
        return edited_characters(random, text, _ALPHABET)
    if how < 0.3:
        return edited_lines(random, text)
    if how < 0.38:
        return _edited_scalar(random, text)
    try:
        tree = read(text)
    except (ValueError, yaml.YAMLError, RecursionError):
        return edited_characters(random, text, _ALPHABET)
    places = [place for place in _places(tree) if place]
    if not places:
        return edited_lines(random, text)
    edit = random.choice(_EDITS)
    changed = copy.deepcopy(tree)
    said = edit(random, changed, random.choice(places))
    try:
        return write(changed), f"{edit.__name__.strip('_')}: {said}"
    except (TypeError, ValueError):
        return edited_lines(random, text)


def _edited_scalar(random: Random, text: str) -> tuple[str, str]:
    """Another value in the text itself, with or without its quotes."""
    found = list(re.finditer(r"(?<=: )(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s,\"'{\[|>&*#][^\n,}\]]*)", text))
    if not found:
        return edited_characters(random, text, _ALPHABET)
    match = random.choice(found)
    bare = match["value"].strip("\"'")
    value = random.choice((bare, f'"{bare}"', f"'{bare}'", *(random.choice(VALUES) for _ in range(3))))
    return text[: match.start()] + value + text[match.end() :], f"{match['value']} to {value}"


def _places(value: Any, at: Path = ()) -> list[Path]:
    found = [at]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found += _places(item, (*at, key))
    return found


def _at(tree: Any, place: Path) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _shown(place: Path) -> str:
    return "/".join(str(key) for key in place)


def _remove(random: Random, tree: Any, place: Path) -> str:
    del _at(tree, place[:-1])[place[-1]]
    return _shown(place)


def _rename(random: Random, tree: Any, place: Path) -> str:
    holder, key = _at(tree, place[:-1]), place[-1]
    if not isinstance(key, str):
        return _retype(random, tree, place)
    other = random.choice((misspelt(random, key), misspelt(random, key), key.lower(), _snake(key), key.capitalize(), _camel(key)))
    items = [(other if name == key else name, value) for name, value in holder.items()]
    holder.clear()
    holder.update(items)
    return f"{_shown(place)} to {other}"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", name)


def _camel(name: str) -> str:
    return re.sub(r"[-_.]([a-z])", lambda found: found[1].upper(), name)


def _double(random: Random, tree: Any, place: Path) -> str:
    """An item of a list twice; a field of a mapping a second time in one of its neighbours."""
    holder, value = _at(tree, place[:-1]), copy.deepcopy(_at(tree, place))
    if isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), value)
        return _shown(place)
    return _move(random, tree, place, keep=True)


def _move(random: Random, tree: Any, place: Path, *, keep: bool = False) -> str:
    """The field in another object: one level too high, or too low."""
    value, key = copy.deepcopy(_at(tree, place)), place[-1]
    objects = [
        other for other in _places(tree) if isinstance(_at(tree, other), dict) and other[: len(place)] != place and other != place[:-1]
    ]
    if not objects or not isinstance(key, str):
        return _retype(random, tree, place)
    to = random.choice(objects)
    _at(tree, to)[key] = value
    around = (*to, key) == place[: len(to) + 1]
    if not keep and not around:  # else it is gone with what was around it
        del _at(tree, place[:-1])[key]
    return f"{_shown(place)} moved"


def _retype(random: Random, tree: Any, place: Path) -> str:
    holder, key = _at(tree, place[:-1]), place[-1]
    value = holder[key]
    holder[key] = random.choice(_retyped(value))
    return f"{_shown(place)} to {holder[key]!r:.60}"


def _retyped(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [str(value).lower(), int(value), not value, [value]]
    if isinstance(value, int | float):
        return [str(value), -value, value * 10, value * 1000, value + 0.5, [value], {"value": value}]
    if isinstance(value, str):
        number = [int(value)] if value.isdecimal() else [0]
        return [*number, [value], {"value": value}, value.upper(), f"{value} ", value.split("/")[-1], None]
    if isinstance(value, list):
        return [value[0] if value else "", {str(index): each for index, each in enumerate(value)}, str(value)[:50], [value], []]
    if isinstance(value, dict):
        return [[value], [{"name": key, "value": each} for key, each in value.items()], str(value)[:50], None, {}]
    return ["", 0, [], {}]


def _other_value(random: Random, tree: Any, place: Path) -> str:
    leaves = [each for each in _places(tree) if each and not isinstance(_at(tree, each), dict | list)]
    place = random.choice(leaves) if leaves else place
    holder = _at(tree, place[:-1])
    holder[place[-1]] = random.choice(_VALUES)
    return f"{_shown(place)} to {holder[place[-1]]!r:.60}"


def _scale(random: Random, tree: Any, place: Path) -> str:
    """A number, or the number in a text, made larger, smaller, negative."""
    leaves = [
        each
        for each in _places(tree)
        if each and re.search(r"[0-9]", str(_at(tree, each))) and not isinstance(_at(tree, each), dict | list)
    ]
    place = random.choice(leaves) if leaves else place
    holder, key = _at(tree, place[:-1]), place[-1]
    if isinstance(holder[key], dict | list):
        return _retype(random, tree, place)
    factor = random.choice((0, -1, 2, 3, 5, 10, 100))
    text = re.sub(r"[0-9]+", lambda found: str(int(found[0]) * factor), str(holder[key]), count=1)
    holder[key] = int(text) if isinstance(holder[key], int) and re.fullmatch(r"-?[0-9]+", text) else text
    return f"{_shown(place)} to {text}"


def _foreign(random: Random, tree: Any, place: Path) -> str:
    objects = [each for each in _places(tree) if isinstance(_at(tree, each), dict)]
    place = random.choice(objects)
    name, value = random.choice(_FOREIGN_FIELDS)
    _at(tree, place)[name] = copy.deepcopy(value)
    return f"{name} in {_shown(place)}"


_EDITS: tuple[Callable[[Random, Any, Path], str], ...] = (
    _remove,
    _remove,
    _rename,
    _rename,
    _double,
    _move,
    _retype,
    _retype,
    _other_value,
    _other_value,
    _scale,
    _scale,
    _foreign,
)
