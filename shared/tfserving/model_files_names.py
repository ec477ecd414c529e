"""Where an object of a bucket belongs: to which model, to which version, under which path. Names only.

TF Serving reads the children of a model's folder as versions where `SimpleAtoi` makes an int64 of their names
(file_system_storage_path_source.cc); others it passes over. Trimtab takes names of digits only.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MAX_OBJECT_NAME_BYTES = 1_024
"""Cloud Storage's own limit for the name of an object, in UTF-8."""
MAX_VERSION = 2**63 - 1
_MIN_INT64 = -(2**63)
_MODEL_ID_DIGITS = 20

_DIGITS = re.compile(r"[0-9]+")
_SIMPLE_ATOI = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]{1,100})[ \t\n\v\f\r]*")
_NOT_IN_A_NAME = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, breaks of lines, what turns the direction of writing, halves of surrogate pairs."""


class NoPlace(StrEnum):
    """Why an object belongs to no version of a model. Such objects are ignored and counted."""

    NO_VERSION = "no_version"
    """No part of the name is all digits."""
    VERSION_TOO_LARGE = "version_too_large"
    """The first part that is all digits is no int64: TF Serving passes it over."""
    NO_FILE = "no_file"
    """The name ends with the version: a folder's marker, or a file where a folder would be."""
    HOSTILE_NAME = "hostile_name"
    """Empty parts (`//`), `.` or `..`, control characters, or too long: no file has such a path."""


@dataclass(frozen=True, slots=True)
class Place:
    """An object's place: `gs://bucket/prefix/version_name/path`. The prefix is empty for a model at the bucket's root."""

    bucket: str
    prefix: str
    version_name: str
    path: str

    @property
    def model_uri(self) -> str:
        """The folder above the versions, as a base path names it."""
        return f"gs://{self.bucket}/{self.prefix}"

    @property
    def model_id(self) -> str:
        """The model's id as a subject."""
        return model_id(self.model_uri)

    @property
    def version(self) -> int:
        """The number that TF Serving reads: `0001` is 1."""
        return int(self.version_name)


def model_id(model_uri: str) -> str:
    """The first 20 hexadecimal digits of the SHA-256 of `gs://bucket/prefix`."""
    return hashlib.sha256(model_uri.encode()).hexdigest()[:_MODEL_ID_DIGITS]


def place(bucket: str, object_name: str) -> Place | NoPlace:
    """Where the object belongs; the first part of its name that is all digits is the version."""
    if not is_safe_name(object_name):
        return NoPlace.HOSTILE_NAME
    parts = object_name.split("/")
    at = next((index for index, part in enumerate(parts) if _DIGITS.fullmatch(part)), None)
    if at is None:
        return NoPlace.NO_VERSION
    if version_number(parts[at]) is None:
        return NoPlace.VERSION_TOO_LARGE
    path = "/".join(parts[at + 1 :])
    if not path:
        return NoPlace.NO_FILE
    return Place(bucket=bucket, prefix="/".join(parts[:at]), version_name=parts[at], path=path)


def is_safe_name(name: str) -> bool:
    """Whether the name can be a path below a folder. One slash at the end is the marker of a folder, and safe."""
    if not name or _NOT_IN_A_NAME.search(name) or len(name.encode()) > MAX_OBJECT_NAME_BYTES:
        return False
    return all(part not in ("", ".", "..") for part in name.removesuffix("/").split("/"))


def version_number(name: str) -> int | None:
    """The number TF Serving makes of a folder's name, None where it passes it over.

    `SimpleAtoi` takes leading zeros, a sign and blanks around it: `1`, `0001`, `+1` and ` 1` are one number.
    """
    found = _SIMPLE_ATOI.fullmatch(name)
    if not found:
        return None
    number = int(found[1])
    return number if _MIN_INT64 <= number <= MAX_VERSION else None


def named_alike(version_name: str, siblings: Iterable[str]) -> tuple[str, ...]:
    """The other folders beside a version which TF Serving reads as the same number: it takes one of them and says which in its log."""
    number = version_number(version_name)
    return tuple(sorted({name for name in siblings if name != version_name and number is not None and version_number(name) == number}))
