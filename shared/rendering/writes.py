"""The requests that write a service: exactly the fields that differ, in one request, template and traffic together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.records.serving import TrafficTarget
from shared.rendering.differences import Difference, differences
from shared.rendering.messages import Json, clone, service_to_json

CLIENT = "trimtab"
"""What Cloud Run is told of who wrote: `service.client`."""


REVISION: Any = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
TARGET_KEYS = frozenset({"type", "revision", "percent", "tag"})


@dataclass(frozen=True, slots=True)
class RestUpdate:
    """A PATCH of a service: the fields it replaces (JSON names) and its body."""

    mask: tuple[str, ...]
    body: Json


def document_with_traffic(document: Json, traffic: Sequence[TrafficTarget]) -> Json:
    """The same of a v2 JSON document.

    Raises:
        ValueError: see `traffic_json`.
    """
    there = {(each.get("revision", ""), each.get("tag", "")): each for each in document.get("traffic", [])}
    wanted = []
    for said in traffic_json(traffic):
        before = there.pop((said["revision"], said.get("tag", "")), {})
        wanted.append({**{key: value for key, value in before.items() if key not in TARGET_KEYS}, **said})
    return {**document, "traffic": wanted}


def traffic_json(traffic: Sequence[TrafficTarget]) -> list[Json]:
    """The traffic split by revisions' names, never by "the latest", as v2 JSON.

    Raises:
        ValueError: the shares do not add up to 100, or a tag is given twice.
    """
    percent = sum(target.percent for target in traffic)
    if percent != 100:  # noqa: PLR2004 (percent)
        raise ValueError(f"traffic: the shares add up to {percent}: they must be 100")
    tags = [target.tag for target in traffic if target.tag is not None]
    if len(set(tags)) < len(tags):
        raise ValueError(f"traffic: a tag is given twice in {', '.join(sorted(tags))}: each names one revision")
    return [
        {
            "type": "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION",
            "revision": target.revision,
            "percent": target.percent,
            **({} if target.tag is None else {"tag": target.tag}),
        }
        for target in traffic
    ]


def with_traffic(service: run_v2.Service, traffic: Sequence[TrafficTarget]) -> run_v2.Service:
    """The service with its traffic split by revisions' names; of targets that stay, what this client has no name for stays.

    Raises:
        ValueError: see `traffic_json`.
    """
    result = clone(service)
    there = {(target.revision, target.tag): clone(target) for target in service.traffic}
    wanted = []
    for said in traffic_json(traffic):
        target = there.pop((said["revision"], said.get("tag", "")), run_v2.TrafficTarget())
        target.type_ = REVISION
        target.revision, target.percent, target.tag = said["revision"], said["percent"], said.get("tag", "")
        wanted.append(target)
    result.traffic = wanted
    return result


def with_template_of(service: run_v2.Service, revision: run_v2.Revision) -> run_v2.Service:
    """The service with the template that the revision was made from: the fields that both messages have.

    What this client has no name for keeps its number only below them; beside them it stays as the service's template has it now, where
    the writes since have left it alone.
    """
    result = clone(service)
    source, target = run_v2.Revision.pb(revision), run_v2.RevisionTemplate.pb(result.template)
    fields = source.DESCRIPTOR.fields_by_name
    for field in target.DESCRIPTOR.fields:
        target.ClearField(field.name)
        same = fields.get(field.name)
        if same is None or field.name == "revision" or (field.has_presence and not source.HasField(field.name)):
            continue
        value = getattr(source, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(target, field.name).update(value)
        elif field.is_repeated:
            getattr(target, field.name).extend(value)
        elif field.message_type is not None:
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)
    return result


def changed_fields(found: Sequence[Difference]) -> tuple[str, ...]:
    """The top-level fields (v2 JSON names) that a write of these differences replaces, in their order."""
    return tuple(sorted({each.path.split(".", 1)[0].split("[", 1)[0] for each in found}))


def service_update(
    before: run_v2.Service, after: run_v2.Service, *, etag: str, revision: str | None, version: str, again: bool = False
) -> run_v2.UpdateServiceRequest | None:
    """The one request that makes `before` into `after`, if the etag still holds; None where nothing differs in meaning.

    `revision` names the new revision where the template differs; with `again` also where it does not: a revision for which Cloud Run
    had no room is made once more under another name.

    Raises:
        ValueError: the template differs and no revision is named, or no etag is given (Cloud Run would write without looking).
    """
    fields = _fields_to_write(service_to_json(before), service_to_json(after), etag=etag, revision=revision, again=again)
    if not fields:
        return None
    service = clone(after)
    service.etag = etag
    service.client, service.client_version = CLIENT, version
    if "template" in fields and revision is not None:
        service.template.revision = revision
    paths = sorted(_SNAKE.get(name, name) for name in fields)
    return run_v2.UpdateServiceRequest(service=service, update_mask=field_mask_pb2.FieldMask(paths=paths))


def rest_update(before: Json, after: Json, *, etag: str, revision: str | None, version: str, again: bool = False) -> RestUpdate | None:
    """The same as one PATCH of the REST API, for what the client library has no field for.

    Raises:
        ValueError: as `service_update`.
    """
    fields = _fields_to_write(before, after, etag=etag, revision=revision, again=again)
    if not fields:
        return None
    body: Json = {**{name: after[name] for name in fields if name in after}, "name": before["name"], "etag": etag}
    body |= {"client": CLIENT, "clientVersion": version}
    if "template" in fields and revision is not None:
        body["template"] = {**body["template"], "revision": revision}
    return RestUpdate(mask=fields, body=body)


def _fields_to_write(
    before: Mapping[str, object], after: Mapping[str, object], *, etag: str, revision: str | None, again: bool
) -> tuple[str, ...]:
    """The top-level fields that the write replaces, with who wrote; none where nothing differs in meaning."""
    found = differences(before, after)
    if not found and not again:
        return ()
    if not etag:
        raise ValueError("etag is empty: Cloud Run would write without looking whether the service changed; read it first")
    fields = {*changed_fields(found), *(("template",) if again else ())}
    if "template" in fields and revision is None:
        raise ValueError("the template differs and no revision is named: name it, so that it is known when it is seen again")
    return tuple(sorted({*fields, "client", "clientVersion"}))


_SNAKE = {field.json_name: field.name for field in run_v2.Service.pb().DESCRIPTOR.fields}
