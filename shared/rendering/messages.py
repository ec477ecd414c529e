"""Cloud Run's messages as JSON and back, without losing what this client has never heard of.

The Admin API's REST form (`v2` JSON) has fields that the client library lacks, the autoscaling set-points among them. As JSON they
are kept by name; inside a message that came over gRPC they are protobuf's unknown fields, which copying keeps.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from google.cloud import run_v2
from google.protobuf import json_format
from google.protobuf.unknown_fields import UnknownFieldSet

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


def holds_unknown_scaling(service: run_v2.Service) -> bool:
    """Whether the template's scaling holds fields that this client cannot name: set-points, as like as not."""
    return len(UnknownFieldSet(run_v2.RevisionScaling.pb(service.template.scaling))) > 0


def carried(original: Json, rendered: Json) -> Json:
    """`rendered` with every key of `original` that the client library does not know, wherever its place still is.

    Both are v2 JSON documents of a service. Elements of lists are matched by their name; what was taken out is not brought back.
    """
    descriptor = run_v2.Service.pb().DESCRIPTOR
    result = _carry(original, rendered, descriptor)
    return result if isinstance(result, dict) else rendered


def _set_point(value: Any) -> Any:
    """As our record has it. In REST both are numbers, and 0 takes a driver out (REST reference, RevisionScaling)."""
    return DISABLED if value == 0 else value


def _carry(original: Any, rendered: Any, descriptor: Any) -> Any:
    if not isinstance(original, dict) or not isinstance(rendered, dict):
        return rendered
    fields = {field.json_name: field for field in descriptor.fields}
    result: Json = {}
    for name, value in rendered.items():
        field = fields.get(name)
        below = field.message_type if field is not None else None
        if name not in original or below is None or below.GetOptions().map_entry:
            result[name] = value
        elif isinstance(value, list):
            result[name] = _carry_list(name, original[name], value, below)
        else:
            result[name] = _carry(original[name], value, below)
    result |= {name: value for name, value in original.items() if name not in fields}
    return result


def _carry_list(name: str, originals: Any, rendered: list[Any], descriptor: Any) -> list[Any]:
    if not isinstance(originals, list):
        return rendered
    key = _KEYS.get(name)
    if key is None:
        pairs = zip(rendered, [*originals, *[None] * len(rendered)], strict=False)
        return [_carry(before, after, descriptor) for after, before in pairs]
    by_key = {each.get(key, ""): each for each in originals if isinstance(each, dict)}
    return [_carry(by_key.get(after.get(key, "")) if isinstance(after, dict) else None, after, descriptor) for after in rendered]
