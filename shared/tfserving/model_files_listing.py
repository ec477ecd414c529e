"""What a bucket lists of one version, what is remembered of it, and which of its files must be read to judge it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

SAVED_MODEL = "saved_model.pb"
SAVED_MODEL_TEXT = "saved_model.pbtxt"
"""Read by TF Serving where there is no saved_model.pb."""
VARIABLES = "variables/"
INDEX = "variables/variables.index"
ASSETS = "assets/"
WARM_UP = "assets.extra/tf_serving_warmup_requests"
MANIFEST = "trimtab-manifest.json"

MAX_FILES = 20_000
"""Of one version; a version with more is refused. List one more than this and no further."""
MAX_INDEX_BYTES = 16 * 2**20
"""Some hundred thousand variables. A larger index is not looked into, and not refused for it."""
MAX_SAVED_MODEL_BYTES = 64 * 2**20
"""A larger graph is not looked into, and not refused for it. The graphs of models with their weights in variables/ stay far below."""
MAX_MANIFEST_BYTES = 4 * 2**20
"""A larger manifest is refused: it cannot describe a version of at most `MAX_FILES` files."""
WARM_UP_HEAD_BYTES = 2**20
"""Of the warm-up file only the beginning is read."""
MAX_REMEMBERED_FILES = 1_000

_READ_WHOLE = {INDEX: MAX_INDEX_BYTES, SAVED_MODEL: MAX_SAVED_MODEL_BYTES, MANIFEST: MAX_MANIFEST_BYTES}
_SERVED_FIRST = (SAVED_MODEL, SAVED_MODEL_TEXT, VARIABLES, WARM_UP, ASSETS)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One object of a version. `path` is relative to the version's folder, `crc32c` is Cloud Storage's base64, None where unknown.

    `generation` changes whenever the content is written anew. `updated_at` is when that, or a change of metadata, happened.
    """

    path: str
    size_bytes: int
    generation: int
    crc32c: str | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of one version at one time, ordered by path."""

    version_name: str
    files: tuple[StoredFile, ...]
    listed_at: datetime

    @classmethod
    def of(cls, version_name: str, files: Iterable[StoredFile], listed_at: datetime) -> Self:
        """The listing without the empty markers of folders (`variables/`); of two generations of a path the newer one."""
        newest: dict[str, StoredFile] = {}
        for file in files:
            if file.path == "" or (file.path.endswith("/") and file.size_bytes == 0):
                continue
            if file.path not in newest or newest[file.path].generation < file.generation:
                newest[file.path] = file
        return cls(version_name, tuple(newest[path] for path in sorted(newest)), listed_at)

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(file.size_bytes for file in self.files)

    def by_path(self) -> dict[str, StoredFile]:
        """The files by their path."""
        return {file.path: file for file in self.files}

    def digest(self) -> str:
        """The same for two listings with the same paths, sizes and generations; the SHA-256 in hexadecimal digits."""
        whole = hashlib.sha256()
        for file in self.files:
            whole.update(f"{file.path!a} {file.size_bytes} {file.generation}\n".encode())
        return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class RememberedFile:
    """What a later listing is compared with."""

    path: str
    size_bytes: int
    generation: int
    crc32c: str | None

    def is_same_content(self, file: StoredFile) -> bool:
        """Whether the file holds what was there, even if it was written again."""
        if file.generation == self.generation:
            return True
        return self.crc32c is not None and (self.crc32c, self.size_bytes) == (file.crc32c, file.size_bytes)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is remembered of a listing: small enough to be stored between two looks.

    `first_seen_at`: when a listing first looked exactly so. `files`: at most `MAX_REMEMBERED_FILES`, those that are served first.
    """

    digest: str
    first_seen_at: datetime
    files: tuple[RememberedFile, ...]

    def changed_in(self, listing: Listing) -> tuple[str, ...]:
        """The remembered files that are there with other content; files that came or went are no change of content."""
        now = listing.by_path()
        return tuple(file.path for file in self.files if file.path in now and not file.is_same_content(now[file.path]))


def sighting(listing: Listing, previous: Sighting | None) -> Sighting:
    """What to remember of the listing, given what was remembered of the one before."""
    digest = listing.digest()
    if previous is not None and previous.digest == digest:
        return previous
    files = sorted(listing.files, key=lambda file: (_rank(file.path), file.path))[:MAX_REMEMBERED_FILES]
    remembered = tuple(RememberedFile(file.path, file.size_bytes, file.generation, file.crc32c) for file in files)
    return Sighting(digest, listing.listed_at, remembered)


def _rank(path: str) -> int:
    return next((rank for rank, start in enumerate(_SERVED_FIRST) if path.startswith(start)), len(_SERVED_FIRST))


@dataclass(frozen=True, slots=True)
class FileRead:
    """A read to make: of this generation, the first `max_bytes` bytes (which is the whole file where it is no larger)."""

    path: str
    generation: int
    max_bytes: int


def reads_needed(listing: Listing) -> tuple[FileRead, ...]:
    """The files to read before the version is judged. None where it will be refused for its number of files alone.

    A file above its bound is not read, `judge` is then given None for it; of the warm-up file the head is read, whatever its size.
    """
    if len(listing.files) > MAX_FILES:
        return ()
    reads = []
    for file in listing.files:
        if file.path == WARM_UP:
            reads.append(FileRead(file.path, file.generation, WARM_UP_HEAD_BYTES))
        elif file.size_bytes <= _READ_WHOLE.get(file.path, -1):
            reads.append(FileRead(file.path, file.generation, _READ_WHOLE[file.path]))
    return tuple(reads)
