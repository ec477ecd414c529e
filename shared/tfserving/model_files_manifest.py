"""trimtab-manifest.json: what a publisher says a version consists of.

    {"files": {"saved_model.pb": {"size": 48213004, "crc32c": "yZRlqg=="}, "variables/variables.index": {"size": 4794}}}

Paths are relative to the version's folder. `size` is in bytes; `crc32c`, which may be left out, is base64 of the four bytes of the
CRC-32C, highest first, as Cloud Storage writes it (`gcloud storage hash`). Other keys beside these are passed over. With a manifest
there is no guessing whether more files will come; it may be written first or last.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from shared.errors import TrimtabError
from shared.tfserving.faults import shown
from shared.tfserving.model_files_checksum import from_cloud_storage
from shared.tfserving.model_files_listing import MANIFEST, MAX_FILES, MAX_MANIFEST_BYTES
from shared.tfserving.model_files_names import is_safe_name

_SHOWN_PATH = 120


class ManifestError(TrimtabError):
    """The file is no manifest: what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file as its publisher describes it; `crc32c` is None where nothing is said."""

    path: str
    size_bytes: int
    crc32c: str | None


def read_manifest(data: bytes) -> tuple[ManifestFile, ...]:
    """The files that the manifest names, ordered by path, without the manifest itself; at least one.

    Raises:
        ManifestError: it is too large, no JSON, or not of this form.
    """
    if len(data) > MAX_MANIFEST_BYTES:
        raise ManifestError(f"it has {len(data)} bytes; at most {MAX_MANIFEST_BYTES} are read")
    try:
        document = json.loads(data, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ManifestError("it is nested too deep") from None
    except ValueError as broken:
        raise ManifestError(f"it is no JSON ({shown(str(broken), limit=_SHOWN_PATH)})") from None
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict) or not files.keys() - {MANIFEST}:
        raise ManifestError('it has no {"files": {path: {"size": bytes, "crc32c": base64}}} with at least one file')
    if len(files) > MAX_FILES:
        raise ManifestError(f"it names {len(files)} files; a version has at most {MAX_FILES}")
    return tuple(_file(path, files[path]) for path in sorted(files) if path != MANIFEST)


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise ManifestError(f'it says "{shown(key, limit=_SHOWN_PATH)}" twice')
        members[key] = value
    return members


def _file(path: str, said: object) -> ManifestFile:
    name = shown(path, limit=_SHOWN_PATH)
    if not is_safe_name(path) or path.endswith("/"):
        raise ManifestError(f'"{name}" is no path of a file below the version\'s folder')
    size = said.get("size") if isinstance(said, dict) else None
    if not isinstance(said, dict) or type(size) is not int or size < 0:
        raise ManifestError(f'"{name}" has no "size", a whole number of bytes')
    crc32c = said.get("crc32c")
    if crc32c is not None and (not isinstance(crc32c, str) or from_cloud_storage(crc32c) is None):
        raise ManifestError(f'the "crc32c" of "{name}" is not base64 of four bytes, like yZRlqg==')
    return ManifestFile(path, size, crc32c)
