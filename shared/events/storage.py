"""Cloud Storage says that something happened to an object: read from any of its forms, and routed to the model it belongs to.

* A CloudEvent `google.cloud.storage.object.v1.finalized` (`archived`, `deleted`, `metadataUpdated`): the data are the object's resource.
* A notification through Pub/Sub, pushed or behind an Eventarc trigger: the attributes say what happened to which object, and with
  `payloadFormat: JSON_API_V1` the data are the object's resource; with `NONE` there are no data.

64-bit numbers come as text or as numbers. Composite objects have no MD5. Nothing is concluded from one notification: they come late,
twice, in any order, or not at all. A name is 1,024 bytes of anything; it is compared and shown, and never used as a path.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from shared.errors import Park
from shared.events.envelope import MESSAGE_PUBLISHED, STORAGE_EVENT, Envelope
from shared.events.ignored import Ignored
from shared.events.lenient import load_json, mapping, moment, shown, whole
from shared.records.facts import OBJECT_NAME_LIMIT_BYTES, UploadFact
from shared.records.model_subject import ModelSubject
from shared.records.parked import ParkCode

_Value = TypeVar("_Value")
Event = Literal["finalize", "archive", "delete", "metadataUpdate"]

_OF_CLOUD_EVENT: dict[str, Event] = {
    "finalized": "finalize",
    "archived": "archive",
    "deleted": "delete",
    "metadataUpdated": "metadataUpdate",
}
_OF_NOTIFICATION: dict[str, Event] = {
    "OBJECT_FINALIZE": "finalize",
    "OBJECT_ARCHIVE": "archive",
    "OBJECT_DELETE": "delete",
    "OBJECT_METADATA_UPDATE": "metadataUpdate",
}
_TIME_OF: dict[Event, str] = {
    "finalize": "timeCreated",
    "archive": "timeDeleted",
    "delete": "timeDeleted",
    "metadataUpdate": "updated",
}
"""Where the object's resource keeps the time of the event."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_CRC32C = re.compile(r"[A-Za-z0-9+/]{6}==")
_MD5 = re.compile(r"[A-Za-z0-9+/]{22}==")


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadReading:
    """What a notification says. None where it says nothing that can be used."""

    bucket: str | None = None
    name: str | None = None
    generation: int | None = None
    metageneration: int | None = None
    event: Event | None = None
    size_bytes: int | None = None
    crc32c: str | None = None
    md5: str | None = None
    overwrote_generation: int | None = None
    overwritten_by_generation: int | None = None
    occurred_at: datetime | None = None
    published_at: datetime | None = None
    fault: str | None = None
    """What is missing or wrong, where no fact can be made of it."""
    fault_code: ParkCode = ParkCode.UNPARSABLE

    @property
    def model(self) -> ModelSubject | None:
        """The model that the object belongs to; None where it is no file of a version."""
        return ModelSubject.of_object(self.bucket, self.name) if self.bucket is not None and self.name is not None else None


@dataclass(frozen=True, slots=True)
class RoutedUpload:
    """Something happened to a file of a model."""

    model: ModelSubject
    fact: UploadFact


def is_notification(attributes: Mapping[str, str]) -> bool:
    """Whether these attributes of a Pub/Sub message are those of a notification of Cloud Storage."""
    return attributes.get("eventType", "").startswith("OBJECT_") or ("bucketId" in attributes and "objectId" in attributes)


def parse_upload(envelope: Envelope) -> RoutedUpload | Ignored:
    """The notification as a fact about a model; of an object whose path has no part of digits only, nothing.

    Raises:
        Park: unparsable (bucket, name, generation or event are missing or malformed), or unsupported (an event that is not known).
    """
    reading = read_upload(envelope)
    if reading.fault is not None:
        raise Park(reading.fault_code, reading.fault)
    model = reading.model
    if model is None:
        return Ignored(f"object {shown(reading.name)} in {reading.bucket}: no part of its path is a version's number")
    fact = UploadFact.model_validate({name: value for name, value in asdict(reading).items() if name in UploadFact.model_fields})
    return RoutedUpload(model, fact)


def read_upload(envelope: Envelope) -> UploadReading:
    """Read a notification in any of its forms; what is wrong is said in `fault`, and what could be read is kept. Raises nothing."""
    attributes = envelope.attributes
    faults: list[tuple[ParkCode, str]] = []
    resource = _resource(envelope, faults)
    event = _event(envelope, faults)
    bucket = _known("bucket", _either(attributes.get("bucketId"), resource.get("bucket")), _bucket, faults)
    name = _known("name", _either(attributes.get("objectId"), resource.get("name")), _name, faults)
    generation = _known("generation", _either(attributes.get("objectGeneration"), resource.get("generation")), whole, faults)
    if not _same_object(attributes, resource):
        faults.append((ParkCode.UNPARSABLE, "the attributes and the data of the message are about different objects"))
        resource = {}
    code, fault = faults[0] if faults else (ParkCode.UNPARSABLE, None)
    return UploadReading(
        bucket=bucket,
        name=name,
        generation=generation,
        metageneration=whole(resource.get("metageneration")),
        event=event,
        size_bytes=whole(resource.get("size")),
        crc32c=_matching(_CRC32C, resource.get("crc32c")),
        md5=_matching(_MD5, resource.get("md5Hash")),
        overwrote_generation=whole(attributes.get("overwroteGeneration")),
        overwritten_by_generation=whole(attributes.get("overwrittenByGeneration")),
        occurred_at=_occurred_at(envelope, event, resource),
        published_at=envelope.published_at,
        fault=f"storage notification: {fault}" if fault is not None else None,
        fault_code=code,
    )


def _resource(envelope: Envelope, faults: list[tuple[ParkCode, str]]) -> dict[str, Any]:
    """The object's resource, empty where the message has none."""
    if envelope.fault is not None:
        faults.append((ParkCode.UNPARSABLE, envelope.fault))
        return {}
    if is_notification(envelope.attributes) and (envelope.attributes.get("payloadFormat") == "NONE" or not envelope.data):
        return {}
    try:
        content = load_json(envelope.data, "data", non_finite_as_null=True)
    except Park as park:
        faults.append((ParkCode(park.code), park.reason))
        return {}
    if not isinstance(content, dict):
        faults.append((ParkCode.UNPARSABLE, f"data: want the object's resource as a JSON object, got {shown(content)}"))
    return mapping(content)


def _event(envelope: Envelope, faults: list[tuple[ParkCode, str]]) -> Event | None:
    if envelope.event_type not in {None, MESSAGE_PUBLISHED}:
        stated = envelope.event_type or ""
        event = _OF_CLOUD_EVENT.get(stated.removeprefix(STORAGE_EVENT)) if stated.startswith(STORAGE_EVENT) else None
    else:
        stated = envelope.attributes.get("eventType", "")
        event = _OF_NOTIFICATION.get(stated)
    if event is None and stated:
        faults.append((ParkCode.UNSUPPORTED, f"event {shown(stated)}; taken are {', '.join(_OF_NOTIFICATION)} and their CloudEvents"))
    elif event is None:
        faults.append((ParkCode.UNPARSABLE, "which event it is stands neither in the attribute eventType nor in the header ce-type"))
    return event


def _known(field: str, value: object, read: Callable[[object], _Value | None], faults: list[tuple[ParkCode, str]]) -> _Value | None:
    found = read(value)
    if found is None:
        what = "is missing" if value is None else f"got {shown(value)}, want {_WANTED[field]}"
        faults.append((ParkCode.UNPARSABLE, f"{field}: {what}"))
    return found


_WANTED = {
    "bucket": "a bucket's name",
    "name": f"an object's name, a text of 1 to {OBJECT_NAME_LIMIT_BYTES} bytes",
    "generation": "a whole number",
}


def _either(attribute: str | None, value: object) -> object:
    """The attributes stand in every notification; CloudEvents have the resource alone."""
    return attribute if attribute is not None else value


def _same_object(attributes: Mapping[str, str], resource: Mapping[str, Any]) -> bool:
    pairs = (
        (attributes.get("bucketId"), resource.get("bucket")),
        (attributes.get("objectId"), resource.get("name")),
        (whole(attributes.get("objectGeneration")), whole(resource.get("generation"))),
    )
    return all(stated is None or value is None or stated == value for stated, value in pairs)


def _bucket(value: object) -> str | None:
    return value if isinstance(value, str) and _BUCKET.fullmatch(value) else None


def _name(value: object) -> str | None:
    if not isinstance(value, str) or not 0 < len(value) <= OBJECT_NAME_LIMIT_BYTES:
        return None
    try:
        return value if len(value.encode()) <= OBJECT_NAME_LIMIT_BYTES else None
    except UnicodeEncodeError:
        return None


def _matching(pattern: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None


def _occurred_at(envelope: Envelope, event: Event | None, resource: Mapping[str, Any]) -> datetime | None:
    stated = moment(envelope.attributes.get("eventTime"))
    if stated is not None:
        return stated
    of_event = envelope.published_at if envelope.event_type not in {None, MESSAGE_PUBLISHED} else None
    return of_event or (moment(resource.get(_TIME_OF[event])) if event is not None else None) or envelope.published_at
