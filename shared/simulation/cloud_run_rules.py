"""What an update mask does to a service of the simulated Cloud Run. Pure."""

from collections.abc import Iterable
from typing import Any, cast

from google.cloud import run_v2
from google.protobuf import field_mask_pb2

from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_extras import drop_overridden, extras_of, set_extras

OUTPUT_ONLY = frozenset(
    {
        "name",
        "uid",
        "generation",
        "create_time",
        "update_time",
        "delete_time",
        "expire_time",
        "creator",
        "last_modifier",
        "urls",
        "uri",
        "observed_generation",
        "terminal_condition",
        "conditions",
        "latest_ready_revision",
        "latest_created_revision",
        "traffic_statuses",
        "reconciling",
        "satisfies_pzs",
        "threat_detection_enabled",
        "etag",
    }
)
"""Fields of `Service` that only Cloud Run writes; in a request they are ignored."""


def merged(stored: run_v2.Service, given: run_v2.Service, mask: field_mask_pb2.FieldMask | None) -> run_v2.Service:
    """The stored service with the given one's values where the mask says so; output-only fields stay as stored.

    No mask, an empty one or `*` replaces everything writable, fields unknown to this code included. A masked field that the given
    service does not set is cleared. A path may end in a JSON key that the messages have no field for, if either service has it.
    With an enum field its kept text is replaced or cleared, and a value that is given counts more than a text.

    Raises:
        SimulatedError: INVALID_ARGUMENT, a path of the mask is no field of a service.
    """
    before, source = run_v2.Service.pb(stored), run_v2.Service.pb(given)
    paths = list(mask.paths) if mask is not None else []
    result = run_v2.Service.pb()()
    if not paths or paths == ["*"]:
        result.CopyFrom(source)
        for field in OUTPUT_ONLY:
            result.ClearField(field)
        _copy_fields(before, result, OUTPUT_ONLY)
        drop_overridden(result)
        return cast("run_v2.Service", run_v2.Service.wrap(result))
    result.CopyFrom(before)
    wanted = [path for path in paths if path.split(".", 1)[0] not in OUTPUT_ONLY]
    extra = [path for path in wanted if _names_an_extra(path, (before, source))]
    writable = field_mask_pb2.FieldMask(paths=[path for path in wanted if path not in extra])
    if not writable.IsValidForDescriptor(result.DESCRIPTOR):
        raise SimulatedError("INVALID_ARGUMENT", f"Invalid update mask: {', '.join(paths)}", field="update_mask")
    for path in writable.paths:
        _clear(result, path)
    # replace_message_field and replace_repeated_field: an update mask replaces, it does not add.
    writable.MergeMessage(source, result, True, True)  # noqa: FBT003
    for path in (*extra, *_texts_of_enums(writable.paths, (before, source))):
        _replace_extra(source, result, path)
    drop_overridden(result)
    return cast("run_v2.Service", run_v2.Service.wrap(result))


def _names_an_extra(path: str, messages: Iterable[Any]) -> bool:
    *parents, key = path.split(".")
    holders = [_parent(message, parents) for message in messages]
    return any(holder is not None and key not in holder.DESCRIPTOR.fields_by_name and key in extras_of(holder) for holder in holders)


def _texts_of_enums(paths: Iterable[str], messages: Iterable[Any]) -> list[str]:
    """Where a path names an enum field whose text one of the messages keeps: the path to that text."""
    found: list[str] = []
    for path in paths:
        *parents, leaf = path.split(".")
        for message in messages:
            holder = _parent(message, parents)
            field = None if holder is None else holder.DESCRIPTOR.fields_by_name.get(leaf)
            if field is not None and field.enum_type is not None and field.json_name in extras_of(holder):
                found.append(".".join([*parents, field.json_name]))
    return found


def _parent(message: Any, parents: Iterable[str]) -> Any:
    """The message below these fields; None where the path leaves the messages or names a list."""
    for name in parents:
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None or field.message_type is None or field.is_repeated:
            return None
        message = getattr(message, name)
    return message


def _replace_extra(source: Any, target: Any, path: str) -> None:
    *parents, key = path.split(".")
    given, holder = extras_of(_parent(source, parents)), _parent(target, parents)
    kept = {name: value for name, value in extras_of(holder).items() if name != key}
    if key in given:
        kept[key] = given[key]
    if kept or extras_of(holder):
        set_extras(holder, kept)


def _clear(message: Any, path: str) -> None:
    """Clear the field at the path. MergeMessage skips a path whose parent the source does not set; a mask must clear it."""
    *parents, leaf = path.split(".")
    for parent in parents:
        if not message.HasField(parent):
            return
        message = getattr(message, parent)
    message.ClearField(leaf)


def _copy_fields(source: Any, target: Any, names: frozenset[str]) -> None:
    """Copy the named top-level fields; other fields of the target stay."""
    kept = type(source)()
    kept.CopyFrom(source)
    for field, _ in source.ListFields():
        if field.name not in names:
            kept.ClearField(field.name)
    kept.DiscardUnknownFields()
    target.MergeFrom(kept)
