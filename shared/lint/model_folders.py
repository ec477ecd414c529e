"""The folders of models in a listing: which base path they are, what lies in them, and which of their folders are versions. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.lint.deployment import Deployment
from shared.lint.finding import Where
from shared.lint.given import Listing, StoredObject
from shared.lint.server_command import DEFAULT_MODEL_BASE_PATH, DEFAULT_MODEL_NAME
from shared.lint.server_flags import server_flags
from shared.tfserving.model_config import ModelConfig, Specific
from shared.tfserving.model_files_listing import SAVED_MODEL, SAVED_MODEL_TEXT
from shared.tfserving.model_files_names import version_number

_LIKE_A_VERSION = re.compile(r"(?i)v?\d.*|version[._\-]?\d.*")
_SLASHES = re.compile(r"(?<!:)/{2,}")
_LONGEST_PATH = 4_096
"""Characters; Linux has no longer path, Cloud Storage no longer name."""


@dataclass(frozen=True, slots=True)
class Base:
    """A base path that the server is given. `model` is its entry in models.config, the one with the number `at`."""

    path: str
    where: Where
    is_flag: bool
    model: ModelConfig | None = None
    at: int | None = None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The versions that the policy names."""
        policy = self.model.model_version_policy if self.model is not None else None
        return policy.versions if isinstance(policy, Specific) else ()


@dataclass(slots=True)
class Folder:
    """One folder directly below a base path, or the base path itself. `files`: path below it to size, None where not known."""

    path: str
    where: Where
    files: dict[str, int | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def version(self) -> int | None:
        """The number that TF Serving makes of its name."""
        return version_number(self.name)

    def holds(self, *paths: str) -> bool:
        """Whether one of the files is there, and not empty."""
        return any(path in self.files and self.files[path] != 0 for path in paths)

    @property
    def has_graph(self) -> bool:
        """Whether a saved_model.pb, or its text form, is listed."""
        return SAVED_MODEL in self.files or SAVED_MODEL_TEXT in self.files


@dataclass(slots=True)
class ModelFolder:
    """What the listing has below one base path. `base` is None where the path was inferred from the listing alone."""

    path: str
    base: Base | None
    own: Folder
    children: dict[str, Folder] = field(default_factory=dict)

    @property
    def versions(self) -> list[Folder]:
        """The folders that are versions to TF Serving."""
        return [child for child in self.children.values() if child.version is not None]


def model_folders(deployment: Deployment) -> list[ModelFolder]:
    """The base paths with something in the listing.

    Where the server's base paths are known and the listing has others, it says nothing about naming, and versions are all that is
    certain in it: then, as where no base path is known, the folders are inferred from where SavedModels lie.
    """
    listing = deployment.given.objects
    if listing is None:
        return []
    objects = [(at, _normal(each.path), each) for at, each in enumerate(listing.objects) if len(each.path) <= _LONGEST_PATH]
    bases = list(_bases(deployment))
    mounted = _mounted(deployment)
    by_path: dict[str, Base] = {}
    for base in bases:
        for spelling in _spellings(base.path, mounted):
            by_path.setdefault(spelling, base)
    found = _collect(objects, by_path, listing) if by_path else []
    if found:
        return found
    inferred = dict.fromkeys(found_at for _, path, _ in objects if (found_at := _inferred(path)) is not None)
    collected = _collect(objects, inferred, listing)
    if not bases:
        return collected
    ends = {path.rpartition("/")[2] for path in by_path}
    return [_only_versions(folder) if folder.path.rpartition("/")[2] not in ends else folder for folder in collected]


def _only_versions(folder: ModelFolder) -> ModelFolder:
    """The folder without what only a known base path makes wrong."""
    return ModelFolder(folder.path, None, Folder(folder.path, folder.own.where), {each.name: each for each in folder.versions})


def _collect(objects: list[tuple[int, str, StoredObject]], bases: Mapping[str, Base | None], listing: Listing) -> list[ModelFolder]:
    found: dict[str, ModelFolder] = {}
    for at, path, stored in objects:
        base_path = next((above for above in _prefixes(path) if above in bases), None)
        if base_path is None:
            continue
        folder = found.get(base_path)
        if folder is None:
            where = Where("objects", listing.file, listing.first_line + at, stored.path)
            folder = found[base_path] = ModelFolder(base_path, bases[base_path], Folder(base_path, where))
        name, slash, below = path[len(base_path) + 1 :].partition("/")
        if not slash:
            if name:
                folder.own.files[name] = stored.size_bytes
            continue
        child = folder.children.get(name)
        if child is None:
            where = Where("objects", listing.file, listing.first_line + at, stored.path)
            child = folder.children[name] = Folder(f"{base_path}/{name}", where)
        if below:
            child.files[below] = stored.size_bytes
    return list(found.values())


def _prefixes(path: str) -> Iterator[str]:
    """The folders above an object, the nearest first."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def _bases(deployment: Deployment) -> Iterator[Base]:
    file = deployment.models
    if file is not None:
        if file.meant is not None:
            for at, model in enumerate(file.meant.models):
                if model.base_path:
                    yield Base(model.base_path, file.where(f"config[{at}].base_path"), is_flag=False, model=model, at=at)
        return
    flags = server_flags(deployment)
    if flags is not None and not flags.given.get("model_config_file"):
        path = flags.given.get("model_base_path")
        if isinstance(path, str) and path:
            yield Base(path, deployment.where_flag("model_base_path"), is_flag=True)
    elif deployment.flags is None and {"MODEL_NAME", "MODEL_BASE_PATH"} & set(deployment.env):
        parent = deployment.env.get("MODEL_BASE_PATH", DEFAULT_MODEL_BASE_PATH)
        name = deployment.env.get("MODEL_NAME", DEFAULT_MODEL_NAME)
        yield Base(f"{parent}/{name}", Where("env", deployment.given.name, None, "MODEL_BASE_PATH"), is_flag=True)


def _mounted(deployment: Deployment) -> dict[str, str]:
    """The folders of the container in which a bucket is mounted, with the bucket."""
    volumes = deployment.template.get("volumes")
    buckets = {str(volume.get("name")): _bucket(volume) for volume in _objects(volumes)}
    found: dict[str, str] = {}
    for mount in _objects(deployment.container.get("volumeMounts")):
        folder = str(mount.get("mountPath", "")).rstrip("/")
        bucket = buckets.get(str(mount.get("name")))
        if folder and bucket:
            found.setdefault(folder, bucket)
    return found


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _spellings(path: str, mounted: Mapping[str, str]) -> Iterator[str]:
    """The path, and the bucket's where it lies in a bucket that is mounted as a folder."""
    plain = _normal(path).rstrip("/")
    yield plain
    if len(plain) > _LONGEST_PATH or not mounted:
        return
    for folder in (plain, *_prefixes(plain)):
        if folder in mounted:
            yield f"gs://{mounted[folder]}{plain[len(folder) :]}".rstrip("/")


def _bucket(volume: Mapping[str, Any]) -> str:
    gcs = volume.get("gcs")
    bucket = gcs.get("bucket") if isinstance(gcs, dict) else None
    return bucket if isinstance(bucket, str) else ""


def _normal(path: str) -> str:
    return _SLASHES.sub("/", path.removeprefix("file://"))


def _inferred(path: str) -> str | None:
    """The base path of the SavedModel to which an object belongs, as far as its name tells."""
    parts = path.split("/")
    if parts[-1] in (SAVED_MODEL, SAVED_MODEL_TEXT):
        root = parts[:-1]
    elif len(parts) > 2 and parts[-2] == "variables" and parts[-1].startswith("variables."):  # noqa: PLR2004 (a folder above both)
        root = parts[:-2]
    else:
        return None
    if root and _LIKE_A_VERSION.fullmatch(root[-1]):
        root = root[:-1]
    return "/".join(root) if any(root) else None
