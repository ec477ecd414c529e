"""One look at a model's folder in its bucket: which versions lie there, and what is to be made of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from shared.errors import Refused, Retry
from shared.ports import Clock, ModelFiles
from shared.records.model import (
    DETAIL_LIMIT,
    KEPT_FILES_OF_ONE,
    KEPT_MISSING,
    KEPT_NOTES,
    KEPT_PATH_CHARACTERS,
    KEPT_VERSIONS,
    NOTE_LIMIT,
    REASON_LIMIT,
    KeptFile,
    VersionState,
    kept_text,
)
from shared.records.model_subject import ModelSubject
from shared.records.objects import BucketObject
from shared.tfserving.model_files import Judgement, Outcome, judge
from shared.tfserving.model_files_findings import findings
from shared.tfserving.model_files_listing import (
    INDEX,
    MANIFEST,
    MAX_FILES,
    SAVED_MODEL,
    WARM_UP,
    FileRead,
    Listing,
    RememberedFile,
    Sighting,
    StoredFile,
    reads_needed,
    sighting,
)
from shared.tfserving.model_files_names import version_number
from shared.tfserving.model_files_problems import ProblemCode

LOOK_WITHIN_SECONDS = 30.0
"""No call to the bucket begins later than this in a look: reconcile must end within 50 s, and a call may take 15."""
MAX_OBJECTS = MAX_FILES + 1
"""Of one listing. A folder that has more is looked into version by version."""
MAX_FOLDERS = 20_000
LISTED_SINGLY = 10
"""So many versions, the newest, are listed each by itself where there are too many objects for one listing."""
MAX_READS = 60
"""Files read in one look, a version's whole set above it; the versions that are left come next."""
MAX_READ_BYTES = 192 * 2**20
"""Likewise, as the listing has the sizes."""
_FOLDER_CHARACTERS = 40


@dataclass(frozen=True)
class Folders:
    """The version folders that were listed, the newest first."""

    listings: tuple[Listing, ...]
    count: int
    """How many version folders there are, listed or not."""
    alike: Mapping[str, tuple[str, ...]]
    """Of a version's folder: itself and those beside it that TF Serving reads as the same number."""
    whole: bool = True
    """False where there was more than one look can list: what is not here may still be there."""
    note: str | None = None


@dataclass
class Verdicts:
    """What a look made of the versions."""

    versions: list[VersionState] = field(default_factory=list)
    changed: list[VersionState] = field(default_factory=list)
    """Those that were judged in this look."""
    waiting: int = 0
    """How many are to be judged in the next look."""
    unknown: int = 0
    """How many of those have never been judged."""
    failed: Retry | Refused | None = None
    """Why a file could not be read. A refusal may be about this one file: the others are judged all the same."""


class _OutOfTimeError(Exception):
    """The look has used up its time or its reads."""


def is_late(clock: Clock, began: datetime) -> bool:
    """Whether a look that began then begins nothing more."""
    return clock.now() - began > timedelta(seconds=LOOK_WITHIN_SECONDS)


def place_of(model: ModelSubject) -> tuple[str, str]:
    """The bucket, and the prefix that the names of the model's objects begin with: it ends with a slash, or is empty."""
    bucket, slash, folder = model.uri.removeprefix("gs://").partition("/")
    return bucket, f"{folder}/" if slash else ""


def list_folders(model: ModelSubject, files: ModelFiles, clock: Clock, began: datetime) -> Folders:
    """List the model's folder. With too many objects the newest versions are listed, each by itself, as far as the time goes.

    Raises:
        Retry, Refused: as the port has it.
    """
    bucket, prefix = place_of(model)
    listing = files.list_objects(bucket, prefix, limit=MAX_OBJECTS)
    if listing.complete:
        found, names = _grouped(listing.objects, prefix)
        return Folders(_listings(found, began), len(found), _alike(names))
    names = tuple(files.list_folders(bucket, prefix, limit=MAX_FOLDERS))
    newest = sorted((name for name in names if _is_version(name)), key=lambda name: (int(name), name), reverse=True)
    found = {}
    for name in newest[:LISTED_SINGLY]:
        if is_late(clock, began):
            break
        objects = files.list_objects(bucket, f"{prefix}{name}/", limit=MAX_OBJECTS).objects
        found |= _grouped(objects, prefix)[0]
    note = f"more than {MAX_OBJECTS - 1} objects lie below {model.uri}: of {len(newest)} versions the newest {len(found)} were looked at"
    if len(names) >= MAX_FOLDERS:
        note = f"more than {MAX_FOLDERS} folders lie below {model.uri}: newer versions may be among those that were not listed"
    return Folders(
        _listings(found, began), len(newest), _alike(names), whole=False, note=f"{note}. Remove old versions that nothing serves."
    )


def _alike(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    by_number: dict[int, list[str]] = {}
    for name in names:
        number = version_number(name)
        if number is not None:
            by_number.setdefault(number, []).append(name)
    return {name: tuple(same) for same in by_number.values() for name in same}


def _is_version(name: str) -> bool:
    """Digits that TF Serving reads as a number; longer ones than a state keeps are passed over, too."""
    return name.isascii() and name.isdigit() and len(name) <= _FOLDER_CHARACTERS and version_number(name) is not None


def _grouped(objects: Iterable[BucketObject], prefix: str) -> tuple[dict[str, list[StoredFile]], tuple[str, ...]]:
    found: dict[str, list[StoredFile]] = {}
    names: dict[str, None] = {}
    for each in objects:
        if not each.name.startswith(prefix):
            continue
        name, slash, path = each.name[len(prefix) :].partition("/")
        if not slash:
            continue
        names[name] = None
        if _is_version(name):
            file = StoredFile(path, each.size_bytes, each.generation, each.crc32c, each.updated_at)
            found.setdefault(name, []).append(file)
    return found, tuple(names)


def _listings(found: Mapping[str, list[StoredFile]], listed_at: datetime) -> tuple[Listing, ...]:
    """A folder of which only the marker is there is none."""
    made = (Listing.of(name, files, listed_at) for name, files in found.items())
    newest_first = sorted(made, key=lambda listing: (int(listing.version_name), listing.version_name), reverse=True)
    return tuple(listing for listing in newest_first if listing.files)


def judge_folders(
    model: ModelSubject, folders: Folders, known: tuple[VersionState, ...], files: ModelFiles, clock: Clock, *, began: datetime
) -> Verdicts:
    """Judge what is new, changed or due, the newest first; the rest stays as it is known."""
    before = {each.folder: each for each in known}
    wanted = folders.listings[:KEPT_VERSIONS]
    latest = max((each for each in known if each.outcome == "complete"), key=lambda each: each.version, default=None)
    if latest is not None:
        wanted = (*wanted, *(listing for listing in folders.listings[KEPT_VERSIONS:] if listing.version_name == latest.folder))
    verdicts = Verdicts()
    reader = _Reader(model, files, clock, began)
    for listing in wanted:
        version = before.get(listing.version_name)
        if version is not None and not _is_due(listing, version, folders, began):
            verdicts.versions.append(version)
            continue
        judged = None
        if not isinstance(verdicts.failed, Retry):
            try:
                judged = _judged(listing, version, folders, reader, began)
            except _OutOfTimeError:
                judged = None
            except (Retry, Refused) as failure:
                verdicts.failed = failure
        if judged is not None:
            verdicts.versions.append(judged)
            verdicts.changed.append(judged)
        else:
            verdicts.waiting += 1
            verdicts.unknown += version is None
            verdicts.versions += [version] if version is not None else []
    return verdicts


def _is_due(listing: Listing, version: VersionState, folders: Folders, now: datetime) -> bool:
    alike = len(folders.alike[listing.version_name]) > 1
    if version.content != listing.digest() or alike != (version.code == ProblemCode.AMBIGUOUS_VERSION):
        return True
    return version.outcome == "incomplete" and version.look_again_at is not None and version.look_again_at <= now


def _judged(listing: Listing, before: VersionState | None, folders: Folders, reader: "_Reader", now: datetime) -> VersionState:
    """Judge it without a read first: what is refused already is not worth one.

    Raises:
        _OutOfTimeError: the look has no time or no reads left for it.
        Retry, Refused: a file could not be read.
    """
    found = _judgement(listing, before, folders, {}, now)
    if found.outcome is not Outcome.REFUSED:
        found = _judgement(listing, before, folders, reader.read(listing), now)
    return _version(listing, before, found, now)


def _judgement(
    listing: Listing, before: VersionState | None, folders: Folders, read: Mapping[str, bytes | None], now: datetime
) -> Judgement:
    return judge(
        listing,
        index=read.get(INDEX),
        saved_model=read.get(SAVED_MODEL),
        manifest=read.get(MANIFEST),
        warm_up_head=read.get(WARM_UP),
        now=now,
        previous=Sighting(before.content, before.changed_at, ()) if before is not None else None,
        completed=_completed(before),
        siblings=folders.alike[listing.version_name],
    )


def _completed(before: VersionState | None) -> Sighting | None:
    if before is None or before.completed_at is None:
        return None
    files = (RememberedFile(each.path, each.size_bytes, each.generation, each.crc32c) for each in before.completed_files)
    return Sighting(before.content, before.completed_at, tuple(files))


def _version(listing: Listing, before: VersionState | None, found: Judgement, now: datetime) -> VersionState:
    complete = found.outcome is Outcome.COMPLETE
    reason = found.problems[0].text if found.problems else ""
    more = len(found.problems) - 1 + found.problems_left_out
    paths = dict.fromkeys(kept_text(each.path, DETAIL_LIMIT) for each in found.problems if each.path is not None)
    notes = [each.text for each in found.notes]
    if complete:
        notes += [each.text for each in findings(found.structure, size_bytes=found.size_bytes, batching_enabled=True)]
    return VersionState(
        version=int(listing.version_name),
        folder=listing.version_name,
        outcome=found.outcome.value,
        reason=kept_text(f"{reason} And {more} more." if more > 0 else reason, REASON_LIMIT),
        code=found.problems[0].code.value if found.problems else "",
        missing=tuple(paths)[:KEPT_MISSING] if found.outcome is Outcome.INCOMPLETE else (),
        notes=tuple(kept_text(text, NOTE_LIMIT) for text in notes[:KEPT_NOTES]),
        size_bytes=found.size_bytes,
        first_seen_at=before.first_seen_at if before is not None else now,
        changed_at=found.sighting.first_seen_at,
        judged_at=now,
        look_again_at=found.look_again_at,
        content=found.sighting.digest,
        stalled=found.stalled_since is not None,
        completed_at=(before.completed_at if before is not None else None) or (now if complete else None),
        completed_files=_kept_files(listing) if complete else before.completed_files if before is not None else (),
    )


def _kept_files(listing: Listing) -> tuple[KeptFile, ...]:
    return tuple(
        KeptFile(path=each.path, size_bytes=each.size_bytes, generation=each.generation, crc32c=_checksum(each.crc32c))
        for each in sighting(listing, None).files
        if each.path.isascii() and each.path.isprintable() and len(each.path) <= KEPT_PATH_CHARACTERS
    )[:KEPT_FILES_OF_ONE]


def _checksum(crc32c: str | None) -> str | None:
    return crc32c if crc32c is not None and len(crc32c) == len("AAAAAA==") and crc32c.isascii() and crc32c.isprintable() else None


class _Reader:
    """Reads the files of versions as long as the look has time and reads left."""

    def __init__(self, model: ModelSubject, files: ModelFiles, clock: Clock, began: datetime) -> None:
        self._bucket, self._prefix = place_of(model)
        self._files, self._clock, self._began = files, clock, began
        self._reads, self._bytes = 0, 0

    def read(self, listing: Listing) -> dict[str, bytes | None]:
        """What `judge` needs of a version.

        Raises:
            _OutOfTimeError: there is no time, or too much has been read already.
            Retry, Refused: a file could not be read.
        """
        needed = reads_needed(listing)
        sizes = {file.path: file.size_bytes for file in listing.files}
        count, size = len(needed), sum(min(sizes[each.path], each.max_bytes) for each in needed)
        if self._reads and (self._reads + count > MAX_READS or self._bytes + size > MAX_READ_BYTES):
            raise _OutOfTimeError
        self._reads += count
        self._bytes += size
        return {each.path: self._one(listing, each) for each in needed}

    def _one(self, listing: Listing, wanted: FileRead) -> bytes | None:
        if is_late(self._clock, self._began):
            raise _OutOfTimeError
        name = f"{self._prefix}{listing.version_name}/{wanted.path}"
        return self._files.read_object(self._bucket, name, generation=wanted.generation, limit_bytes=wanted.max_bytes)
