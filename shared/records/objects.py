"""What a bucket says of its objects."""

from typing import Annotated

from pydantic import Field

from shared.records.base import Record, UtcTime
from shared.records.facts import ObjectName


class BucketObject(Record):
    """One object as a listing has it."""

    name: ObjectName
    size_bytes: Annotated[int, Field(ge=0)]
    generation: Annotated[int, Field(ge=0)]
    crc32c: Annotated[str, Field(max_length=64)] | None = None
    """Base64 of four bytes, big-endian; None where the bucket does not say."""
    updated_at: UtcTime


class ObjectListing(Record):
    """The objects below a prefix; `complete` is False where there are more than were asked for."""

    objects: tuple[BucketObject, ...]
    complete: bool = True
