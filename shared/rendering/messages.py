"""Cloud Run's messages as JSON and back, without losing what this client has never heard of.

The Admin API's REST form (`v2` JSON) has fields that the client library lacks, the autoscaling set-points among them. As JSON they
are kept by name; inside a message that came over gRPC they are protobuf's unknown fields, which copying keeps.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from google.cloud import run_v2
from google.protobuf import json_format

from shared.records.serving import DISABLED, SetPoints

M = TypeVar("M")
Json = dict[str, Any]

_SET_POINTS = {"cpuUtilization": "cpu_utilization", "concurrencyUtilization": "concurrency_utilization"}
_KEYS = {"containers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath", "traffic": "revision"}
"""By what the elements of a list are told apart; others by their place."""


def clone(message: M) -> M:
    """A copy, unknown fields included."""
    kind: Any = type(message)
    raw = kind.pb(message)
    copied = type(raw)()
    copied.CopyFrom(raw)
    return kind.wrap(copied)  # type: ignore[no-any-return]  # proto-plus declares no types


def service_from_json(document: Mapping[str, Any]) -> run_v2.Service:
    """The message that a v2 JSON document says; keys the client does not know are not in it.

    Raises:
        ValueError: a value is not of its field's type; the message names the field.
    """
    raw = run_v2.Service.pb()()
    try:
        json_format.ParseDict(dict(document), raw, ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise ValueError(str(error)) from None
    service: run_v2.Service = run_v2.Service.wrap(raw)
    return service


def service_to_json(service: run_v2.Service, set_points: SetPoints | None = None) -> Json:
    """The v2 JSON document of a service, with its set-points where the message cannot hold them."""
    document: Json = json_format.MessageToDict(run_v2.Service.pb(service))
    return document if set_points is None else with_set_points(document, set_points)


def set_points_of(document: Mapping[str, Any]) -> SetPoints | None:
    """The autoscaling set-points of a v2 JSON document; None where it has none.

    Raises:
        pydantic.ValidationError: they are none that Cloud Run documents.
    """
    scaling = document.get("template", {}).get("scaling", {})
    found = {ours: _set_point(scaling[theirs]) for theirs, ours in _SET_POINTS.items() if theirs in scaling}
    return SetPoints.model_validate(found) if found else None


def with_set_points(document: Json, set_points: SetPoints) -> Json:
    """The document with these set-points; one that is None is left as it is."""
    template: Json = document.get("template", {})
    scaling: Json = dict(template.get("scaling", {}))
    for theirs, ours in _SET_POINTS.items():
        value = getattr(set_points, ours)
        if value is not None:
            scaling[theirs] = 0.0 if value == DISABLED else value
    return {**document, "template": {**template, "scaling": scaling}}


def holds_unknown(service: run_v2.Service) -> bool:
    """Whether the service holds anything, anywhere in it, that this client cannot name: set-points, as like as not."""
    raw = run_v2.Service.pb(service)
    known = run_v2.Service.pb(clone(service))
    known.DiscardUnknownFields()
    return bool(known.ByteSize() != raw.ByteSize())


def carried(original: Json, before: Json, after: Json) -> Json:
    """`original` with the change from `before` to `after` made in it.

    All three are v2 JSON documents of a service; `before` is what the client library understands of `original`. Whatever it does not
    understand, unknown keys and values of enumerations it has never heard of included, is in neither of the two and stays.
    """
    result = _applied("", original, before, after)
    return result if isinstance(result, dict) else after


def _set_point(value: Any) -> Any:
    """As our record has it. In REST both are numbers, and 0 takes a driver out (REST reference, RevisionScaling)."""
    return DISABLED if value == 0 else value


def _applied(name: str, original: Any, before: Any, after: Any) -> Any:
    if before == after:
        return original
    if isinstance(original, dict) and isinstance(before, dict) and isinstance(after, dict):
        kept = {key: value for key, value in original.items() if key in after or key not in before}
        changed = {key: _applied(key, original.get(key), before.get(key), value) for key, value in after.items()}
        return {**kept, **changed}
    lists = isinstance(original, list) and isinstance(before, list) and isinstance(after, list)
    return _applied_list(name, original, before, after) if lists and len(original) == len(before) else after


def _applied_list(name: str, original: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Elements that were there before are found again by what they are, by their name, or as the container that serves."""
    free = list(range(len(before)))
    places: dict[int, int] = {}
    for same in (lambda one, other: one == other, lambda one, other: _alike(name, one, other)):
        for at, element in enumerate(after):
            if at not in places and (found := next((place for place in free if same(before[place], element)), None)) is not None:
                places[at] = found
                free.remove(found)
    return [
        element if at not in places else _applied("", original[places[at]], before[places[at]], element) for at, element in enumerate(after)
    ]


def _alike(name: str, one: Any, other: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    if name == "containers" and one.get("ports") and other.get("ports"):
        return True
    key = _KEYS.get(name)
    return key is not None and one.get(key, "") == other.get(key, "")
