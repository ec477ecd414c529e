"""The bucket on one machine: a folder, and below it one folder for each bucket.

What lies outside is out of reach: symbolic links are never followed, neither as files nor on the way to one (each step of a path is
opened by itself, O_NOFOLLOW), and `..` is no name. Only plain files are objects. An object's generation is made of the file's time of
change and its inode, so a file that is written anew or replaced has another one; checksums are not known here.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from shared.errors import Refused, Retry
from shared.records.objects import BucketObject, ObjectListing

MAX_FOLDERS_WALKED = 50_000
"""A listing that has walked through more says that it is not complete."""
MAX_DEPTH = 32
"""Folders that lie deeper are not looked into: no SavedModel has any."""
_INODE_MASK = 0xFFF
_NO_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


class ModelFolder:
    """The `ModelFiles` port on a folder of this machine: `<root>/<bucket>/<name of the object>`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def list_objects(self, bucket: str, prefix: str, *, limit: int) -> ObjectListing:
        """The files below the prefix's folder, at most `limit`.

        Raises:
            Refused: there is no folder of the bucket's name, or it may not be read.
            Retry: the machine could not read it.
        """
        with self._bucket(bucket) as folder:
            start = prefix.rpartition("/")[0]
            found: list[BucketObject] = []
            with _opened(folder, [part for part in start.split("/") if part]) as top:
                if top is None:
                    return ObjectListing(objects=())
                for each in _walk(top, f"{start}/" if start else ""):
                    if each is None or len(found) >= limit:
                        return ObjectListing(objects=tuple(found), complete=False)
                    if each.name.startswith(prefix):
                        found.append(each)
        return ObjectListing(objects=tuple(found))

    def list_folders(self, bucket: str, prefix: str, *, limit: int) -> list[str]:
        """The folders just below the prefix, at most `limit`.

        Raises:
            Refused, Retry: as `list_objects`.
        """
        with self._bucket(bucket) as folder, _opened(folder, [part for part in prefix.split("/") if part]) as top:
            if top is None:
                return []
            names = sorted(entry.name for entry in os.scandir(top) if entry.is_dir(follow_symlinks=False))
        return names[:limit]

    def read_object(self, bucket: str, name: str, *, generation: int, limit_bytes: int) -> bytes | None:
        """The first `limit_bytes` of the file, if it still is that generation before and after the read.

        Raises:
            Refused, Retry: as `list_objects`.
        """
        *folders, last = name.split("/")
        if not _is_name(last):
            return None
        with self._bucket(bucket) as folder, _opened(folder, folders) as place:
            if place is None:
                return None
            try:
                handle = os.open(last, _NO_FOLLOW | os.O_NONBLOCK, dir_fd=place)
            except OSError as error:
                if isinstance(error, PermissionError):
                    raise Refused(f"gs://{bucket}/{name[:200]} may not be read: {error.strerror}") from error
                return None
            with os.fdopen(handle, "rb") as file:
                if not _is(file.fileno(), generation):
                    return None
                data = file.read(limit_bytes)
                return data if _is(file.fileno(), generation) else None

    @contextmanager
    def _bucket(self, bucket: str) -> Iterator[int]:
        """The bucket's folder, open.

        Raises:
            Refused: there is none, or it may not be read.
            Retry: the machine could not read something in it.
        """
        if _BUCKET.fullmatch(bucket) is None:
            raise Refused(f"{bucket[:80]!r} is no name of a bucket")
        try:
            handle = os.open(self._root / bucket, _NO_FOLLOW | os.O_DIRECTORY)
        except OSError as error:
            text = (
                f"bucket {bucket}: {self._root / bucket} is no folder that can be read ({error.strerror}); make it, or copy the model there"
            )
            raise Refused(text) from error
        try:
            yield handle
        except PermissionError as error:
            raise Refused(f"bucket {bucket}: {error.strerror}") from error
        except OSError as error:
            raise Retry(f"bucket {bucket}: {error.strerror}") from error
        finally:
            os.close(handle)


def _is_name(part: str) -> bool:
    return part not in {"", ".", ".."} and "\0" not in part


@contextmanager
def _opened(folder: int, parts: list[str]) -> Iterator[int | None]:
    """The folder that lies below another one, each step opened by itself; None if there is none."""
    handle: int | None = os.dup(folder)
    try:
        for part in parts:
            handle = _step(handle, part) if handle is not None else None
        yield handle
    finally:
        if handle is not None:
            os.close(handle)


def _step(folder: int, part: str) -> int | None:
    """Into the folder of that name, and out of the one before."""
    try:
        if not _is_name(part):
            return None
        return os.open(part, _NO_FOLLOW | os.O_DIRECTORY, dir_fd=folder)
    except PermissionError:
        raise
    except (OSError, ValueError):
        return None  # not there, a link, a file, or no name that a file system takes
    finally:
        os.close(folder)


def _walk(top: int, prefix: str) -> Iterator[BucketObject | None]:
    """The plain files below an open folder; None, at the end, if there are too many folders."""
    for walked, (root, folders, files, handle) in enumerate(os.fwalk(".", dir_fd=top, follow_symlinks=False, onerror=_unless_gone)):
        if walked >= MAX_FOLDERS_WALKED:
            yield None
            return
        folders.sort()
        if root.count("/") >= MAX_DEPTH:
            folders.clear()
        below = "" if root == "." else f"{root.removeprefix('./')}/"
        for name in sorted(files):
            made = _object(f"{prefix}{below}{name}", name, handle)
            if made is not None:
                yield made


def _unless_gone(error: OSError) -> None:
    """A folder that cannot be read must not look like an empty one.

    Raises:
        OSError: the error, unless it says that the folder was removed meanwhile.
    """
    if not isinstance(error, FileNotFoundError):
        raise error


def _object(name: str, file: str, folder: int) -> BucketObject | None:
    """The file as an object; None for what is no plain file, is gone meanwhile, or has a name that no object has."""
    try:
        found = os.stat(file, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    plain = os.fsencode(name).decode(errors="replace")
    updated_at = datetime.fromtimestamp(found.st_mtime_ns / 1e9, UTC)
    try:
        return BucketObject(name=plain, size_bytes=found.st_size, generation=_generation(found), updated_at=updated_at)
    except ValidationError:
        return None


def _generation(found: os.stat_result) -> int:
    return max(0, found.st_mtime_ns) ^ (found.st_ino & _INODE_MASK)


def _is(handle: int, generation: int) -> bool:
    found = os.fstat(handle)
    return stat.S_ISREG(found.st_mode) and _generation(found) == generation
