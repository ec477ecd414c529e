"""`models/{id}/state/current`: reconcile's document of one model, a folder of version folders in a bucket.

Fields of the document: `record` (a `ModelState` as JSON), `committed_at`, `next_look_at` (native time: the schedule asks for what is
due), `listed_at` (native time: uploads after it have not been looked at). `models/{id}/facts/{key}` holds one `UploadFact` for each
notification, kept for the dedupe: which files there are is for the bucket's listing to say. It stays below `MODEL_STATE_LIMIT_BYTES`
whatever is uploaded: every list and every text in it is bounded here, and texts are ASCII.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from shared.records.base import Record, UtcTime

MODEL_STATE_LIMIT_BYTES = 100_000
KEPT_VERSIONS = 30
"""The newest are kept one by one; older ones are counted."""
KEPT_MISSING = 4
KEPT_NOTES = 2
KEPT_FILES = 150
"""Of all complete versions together, the newest first."""
KEPT_FILES_OF_ONE = 60
"""A SavedModel has some four files and its shards; those that are served first are remembered."""
REASON_LIMIT = 360
DETAIL_LIMIT = 160
NOTE_LIMIT = 240
KEPT_PATH_CHARACTERS = 100
"""A file with a longer path, or one that is not ASCII, is not remembered."""

VersionFolder = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,40}$")]
"""A version's folder as it is named: `7`, `0007`."""
AsciiText = StringConstraints(pattern=r"^[\x20-\x7e]*$")
ReasonText = Annotated[str, AsciiText, StringConstraints(max_length=REASON_LIMIT)]
DetailText = Annotated[str, AsciiText, StringConstraints(max_length=DETAIL_LIMIT)]
NoteText = Annotated[str, AsciiText, StringConstraints(max_length=NOTE_LIMIT)]
ModelText = Annotated[str, StringConstraints(max_length=512)]


class KeptFile(Record):
    """A file of a complete version: what a later listing is compared with, so that an overwritten version is noticed."""

    path: Annotated[str, AsciiText, StringConstraints(max_length=KEPT_PATH_CHARACTERS)]
    """Relative to the version's folder."""
    size_bytes: Annotated[int, Field(ge=0)]
    generation: Annotated[int, Field(ge=0, lt=2**64)]
    crc32c: Annotated[str, AsciiText, StringConstraints(max_length=8)] | None = None
    """As Cloud Storage writes it."""


class VersionState(Record):
    """One version, as its files say."""

    version: Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]
    folder: VersionFolder
    outcome: Literal["complete", "incomplete", "refused"]
    reason: ReasonText = ""
    """Why it is not complete, in one sentence."""
    code: Annotated[str, StringConstraints(pattern=r"^[a-z_]{0,40}$")] = ""
    """The first problem's code, for programs: `tfserving.model_files_problems.ProblemCode`."""
    missing: Annotated[tuple[DetailText, ...], Field(max_length=KEPT_MISSING)] = ()
    """The files that its problems are about, as paths below the folder."""
    notes: Annotated[tuple[NoteText, ...], Field(max_length=KEPT_NOTES)] = ()
    """What could not be looked into, and what a complete version will not do well with batching on."""
    size_bytes: Annotated[int, Field(ge=0)] = 0
    first_seen_at: UtcTime
    changed_at: UtcTime
    """When a listing first looked exactly as the last one: the time a version must settle is counted from here."""
    judged_at: UtcTime
    look_again_at: UtcTime | None = None
    """When the same files may be judged differently; None where only a new file can change anything."""
    content: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{0,64}$")] = ""
    """Stands for its files, their sizes and generations: the SHA-256 of that."""
    stalled: bool = False
    """It has been incomplete for too long without any change."""
    completed_at: UtcTime | None = None
    """When it was first found complete; from then on its content must not change."""
    completed_files: Annotated[tuple[KeptFile, ...], Field(max_length=KEPT_FILES_OF_ONE)] = ()
    """Its files as they were then."""


class ModelState(Record):
    """Everything reconcile remembers of one model."""

    schema_version: Literal[1] = 1
    uri: Annotated[str, StringConstraints(max_length=1_300)]
    versions: Annotated[tuple[VersionState, ...], Field(max_length=KEPT_VERSIONS)] = ()
    """By number, the newest last."""
    versions_not_kept: Annotated[int, Field(ge=0)] = 0
    followed: bool = True
    """Whether any service's spec named this model at the last look; one that nobody follows is not listed."""
    listed_at: UtcTime | None = None
    """When the last look began: what was uploaded before it has been taken into account."""
    not_before: UtcTime | None = None
    """No listing begins before this: another one is under way, or was a moment ago, or was refused."""
    list_error: ModelText | None = None
    """Why the last listing failed; what is known stays as it is."""
    list_note: ModelText | None = None
    """What the last listing left out, where there were too many objects."""
    next_look_at: UtcTime | None = None
    """Due from then on, at every tick; None: nobody follows it."""
    untold: bool = False
    """Something changed that the followers have not been woken for yet."""

    @property
    def latest(self) -> int | None:
        """The newest version that is complete and fit to serve; None if there is none."""
        return max((each.version for each in self.versions if each.outcome == "complete"), default=None)

    @property
    def complete(self) -> tuple[int, ...]:
        """The versions that are complete and fit to serve, the newest first."""
        return tuple(sorted((each.version for each in self.versions if each.outcome == "complete"), reverse=True))


class ModelSnapshot(Record):
    """One strong read of a model's state. `unreadable` is what is wrong with a document that could not be read."""

    state: ModelState | None
    token: str | None
    unreadable: ModelText | None = None


def kept_text(text: str, limit: int) -> str:
    """A text for a model's state: ASCII, at most `limit` characters, the cut marked."""
    plain = "".join(char if " " <= char <= "~" else ascii(char)[1:-1] for char in text[: limit + 1])
    return plain if len(plain) <= limit else f"{plain[: limit - 3]}..."


def kept_versions(versions: Iterable[VersionState]) -> tuple[VersionState, ...]:
    """The versions that a state keeps, the newest last.

    The newest, and the newest complete one, however many incomplete ones came after it. Of complete versions the files are remembered as
    far as `KEPT_FILES` go.
    """
    by_number = sorted(versions, key=lambda each: (each.version, each.folder), reverse=True)
    kept = by_number[:KEPT_VERSIONS]
    latest = next((each for each in by_number if each.outcome == "complete"), None)
    if latest is not None and latest not in kept:
        kept[-1] = latest
    left = KEPT_FILES
    bounded = []
    for each in kept:
        files = each.completed_files[: min(left, KEPT_FILES_OF_ONE)]
        left -= len(files)
        bounded.append(each if files == each.completed_files else each.model_copy(update={"completed_files": files}))
    return tuple(reversed(bounded))
