"""Cloud Storage as far as models need it, in memory: objects with generations, listings with pages' limits, refusals and outages.

It implements the port `ModelFiles`, and says what a notification of each change would carry.
"""

import base64
import itertools
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.errors import Refused, Retry
from shared.records.objects import BucketObject, ObjectListing
from shared.tfserving.model_files_checksum import crc32c

FIRST_GENERATION = 1_796_000_000_000_000
CHECKSUM_LIMIT_BYTES = 64 * 1024
"""Larger objects are listed without a checksum, as those that were made without one are: it is computed byte by byte here."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as it is now."""

    data: bytes
    generation: int
    metageneration: int
    updated_at: datetime
    crc32c: str | None


class SimulatedBucket:
    """Buckets and their objects. All time comes from `now`.

    `calls` counts what was asked. `refusal` and `outage` are raised by every call while they are set (`Refused`, `Retry`);
    `before_read` is called before each read, for what happens between a listing and a read.
    """

    def __init__(self, *, now: Callable[[], datetime]) -> None:
        self._now = now
        self._objects: dict[str, dict[str, StoredObject]] = {}
        self._generations = itertools.count(FIRST_GENERATION, 1_000)
        self.calls: Counter[str] = Counter()
        self.read_bytes = 0
        self.refusal: str | None = None
        self.outage: str | None = None
        self.before_read: Callable[[str, str], None] | None = None

    def put(self, bucket: str, name: str, data: bytes) -> dict[str, Any]:
        """Write an object anew, as every write is; returns its resource, as the notification has it."""
        checksum = base64.b64encode(struct.pack(">I", crc32c(data))).decode() if len(data) <= CHECKSUM_LIMIT_BYTES else None
        stored = StoredObject(data, next(self._generations), 1, self._now(), checksum)
        self._objects.setdefault(bucket, {})[name] = stored
        return self.resource(bucket, name)

    def put_all(self, bucket: str, folder: str, files: Mapping[str, bytes]) -> list[dict[str, Any]]:
        """Write the files of a folder, in their order."""
        return [self.put(bucket, f"{folder}/{path}", data) for path, data in files.items()]

    def delete(self, bucket: str, name: str) -> None:
        """Delete an object; one that is not there is no error."""
        self._objects.get(bucket, {}).pop(name, None)

    def delete_folder(self, bucket: str, folder: str) -> None:
        """Delete everything below a folder."""
        for name in [each for each in self._objects.get(bucket, {}) if each.startswith(f"{folder}/")]:
            self.delete(bucket, name)

    def resource(self, bucket: str, name: str) -> dict[str, Any]:
        """The object's resource; 64-bit numbers are texts there."""
        stored = self._objects[bucket][name]
        time = stored.updated_at.isoformat().replace("+00:00", "Z")
        checksum = {"crc32c": stored.crc32c} if stored.crc32c is not None else {}
        return {
            "kind": "storage#object",
            "id": f"{bucket}/{name}/{stored.generation}",
            "bucket": bucket,
            "name": name,
            "generation": str(stored.generation),
            "metageneration": str(stored.metageneration),
            "size": str(len(stored.data)),
            "timeCreated": time,
            "updated": time,
            **checksum,
        }

    def list_objects(self, bucket: str, prefix: str, *, limit: int) -> ObjectListing:
        """The objects below a prefix in the order of their names, as Cloud Storage lists them.

        Raises:
            Retry: an outage is simulated.
            Refused: a refusal is, or there is no such bucket.
        """
        self._called("list_objects", bucket)
        found = list(itertools.islice(self._below(bucket, prefix), limit + 1))
        return ObjectListing(objects=tuple(found[:limit]), complete=len(found) <= limit)

    def list_folders(self, bucket: str, prefix: str, *, limit: int) -> list[str]:
        """The folders just below a prefix.

        Raises:
            Retry, Refused: as `list_objects`.
        """
        self._called("list_folders", bucket)
        rest = (name[len(prefix) :].split("/", 1) for name in sorted(self._objects[bucket]) if name.startswith(prefix))
        return list(dict.fromkeys(parts[0] for parts in rest if len(parts) > 1))[:limit]

    def read_object(self, bucket: str, name: str, *, generation: int, limit_bytes: int) -> bytes | None:
        """The beginning of that generation; None if there is another one, or none.

        Raises:
            Retry, Refused: as `list_objects`.
        """
        self._called("read_object", bucket)
        if self.before_read is not None:
            self.before_read(bucket, name)
        stored = self._objects.get(bucket, {}).get(name)
        if stored is None or stored.generation != generation:
            return None
        self.read_bytes += min(len(stored.data), limit_bytes)
        return stored.data[:limit_bytes]

    def _called(self, name: str, bucket: str) -> None:
        self.calls[name] += 1
        if self.outage is not None:
            raise Retry(self.outage)
        if self.refusal is not None:
            raise Refused(self.refusal)
        if bucket not in self._objects:
            raise Refused(f"HTTP 404: The specified bucket does not exist: {bucket}")

    def _below(self, bucket: str, prefix: str) -> Iterator[BucketObject]:
        objects = self._objects[bucket]
        for name in sorted(objects):
            if name.startswith(prefix):
                stored = objects[name]
                yield BucketObject(
                    name=name,
                    size_bytes=len(stored.data),
                    generation=stored.generation,
                    crc32c=stored.crc32c,
                    updated_at=stored.updated_at,
                )
