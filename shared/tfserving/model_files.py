"""Whether a version of a model is all there and fit to be loaded, judged by its listing and a few small reads. Pure.

TF Serving itself loads a version as soon as its saved_model.pb is there, and finds out the rest at the first request. So what is
missing is waited for by name, and what is damaged is refused before an instance is spent on it. Damage counts as such only when the
listing has settled: until then a file may be about to be written again. Nothing of this is remembered in here; what one look needs to
know of the one before is in its `Sighting`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from shared.tfserving import model_files_problems as problems
from shared.tfserving.model_files_checksum import from_cloud_storage
from shared.tfserving.model_files_index import VariablesIndex, VariablesIndexError, read_index, shard_path, shards_by_name
from shared.tfserving.model_files_listing import (
    ASSETS,
    INDEX,
    MANIFEST,
    MAX_FILES,
    MAX_INDEX_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_SAVED_MODEL_BYTES,
    SAVED_MODEL,
    SAVED_MODEL_TEXT,
    WARM_UP,
    WARM_UP_HEAD_BYTES,
    Listing,
    Sighting,
    StoredFile,
    sighting,
)
from shared.tfserving.model_files_manifest import ManifestError, ManifestFile, read_manifest
from shared.tfserving.model_files_names import is_safe_name, named_alike, version_number
from shared.tfserving.model_files_problems import Problem, ProblemCode
from shared.tfserving.model_files_saved_model import NoServingGraphError, SavedModelError, Structure, read_saved_model
from shared.tfserving.model_files_warm_up import WarmUpError, read_warm_up

SETTLE_SECONDS = 60.0
"""A version without a manifest is complete when nothing has changed for so long."""
STALL_SECONDS = 900.0
"""An upload that lacks something counts as stalled when nothing has come for so long."""
MAX_PROBLEMS = 20

_READ_AGAIN = (ProblemCode.NOT_READ, ProblemCode.CHANGED_WHILE_READ)
"""What another look may put right although nothing new comes."""


class Outcome(StrEnum):
    """What is made of a version."""

    COMPLETE = "complete"
    """Everything TF Serving needs is there and whole, as far as that can be known without loading it."""
    INCOMPLETE = "incomplete"
    """Something is missing or still being written: the version waits."""
    REFUSED = "refused"
    """It is not served: loading it would fail, or what it is cannot be relied on."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A version at one time.

    `problems` are why it is not complete, at most `MAX_PROBLEMS`, and `problems_left_out` counts the others. `notes` say what could not
    be looked into. `stalled_since` is when the last file came, set where something is missing and nothing has come for long.
    `look_again_at` is when the same listing may be judged differently; None where only a new file can change anything.
    `sighting` is to be stored and given back as `previous`; that of the look which first said complete also as `completed`.
    """

    outcome: Outcome
    version: int | None
    size_bytes: int
    problems: tuple[Problem, ...]
    problems_left_out: int
    notes: tuple[Problem, ...]
    structure: Structure | None
    stalled_since: datetime | None
    look_again_at: datetime | None
    sighting: Sighting


@dataclass(slots=True)
class _Found:
    """What the checks find: missing waits, damaged is refused once the listing has settled."""

    missing: list[Problem]
    damaged: list[Problem]
    notes: list[Problem]


def judge(
    listing: Listing,
    *,
    index: bytes | None,
    saved_model: bytes | None,
    manifest: bytes | None,
    warm_up_head: bytes | None,
    now: datetime,
    previous: Sighting | None,
    completed: Sighting | None = None,
    siblings: tuple[str, ...] = (),
    settle_seconds: float = SETTLE_SECONDS,
    stall_seconds: float = STALL_SECONDS,
) -> Judgement:
    """Judge the version by its listing and the files of `reads_needed`, None for those that were not to be read or could not be.

    `previous` is the sighting of the look before, `completed` that of the look which found the version complete: it need not settle a
    second time, and its content must not change. `siblings` are the names of all folders beside the version's, itself included or not.
    """
    seen = sighting(listing, previous)
    found = _Found([], [], [])
    structure, proved = None, False
    at_once = _refused_at_once(listing, siblings, completed)
    if not at_once:
        files = listing.by_path()
        named = _check_manifest(found, files, manifest)
        structure = _check_saved_model(found, files, saved_model)
        _check_variables(found, files, index, structure, named)
        _check_assets(found, files, structure)
        _check_warm_up(found, files, warm_up_head, structure)
        proved = bool(named) and any(file.path in (SAVED_MODEL, SAVED_MODEL_TEXT) for file in named)
    settled_at = seen.first_seen_at + timedelta(seconds=settle_seconds)
    settled = listing.listed_at >= settled_at
    outcome, why = Outcome.COMPLETE, at_once
    if at_once:
        outcome = Outcome.REFUSED
    elif found.damaged and settled:
        outcome, why = Outcome.REFUSED, found.damaged + found.missing
    elif found.damaged or found.missing:
        outcome, why = Outcome.INCOMPLETE, found.missing + found.damaged
    elif not settled and not proved and completed is None:
        outcome, why = Outcome.INCOMPLETE, [problems.not_settled(settle_seconds)]
    judgement = Judgement(
        outcome=outcome,
        version=version_number(listing.version_name),
        size_bytes=listing.size_bytes,
        problems=tuple(why[:MAX_PROBLEMS]),
        problems_left_out=max(0, len(why) - MAX_PROBLEMS),
        notes=tuple(found.notes),
        structure=structure,
        stalled_since=None,
        look_again_at=None,
        sighting=seen,
    )
    if outcome is not Outcome.INCOMPLETE:
        return judgement
    if not settled:
        judgement = replace(judgement, look_again_at=settled_at)
    if not found.missing:
        return judgement
    judgement = _with_stall(judgement, listing, now, stall_seconds)
    if any(problem.code in _READ_AGAIN for problem in found.missing):
        judgement = replace(judgement, look_again_at=now + timedelta(seconds=settle_seconds))
    return judgement


def _with_stall(judgement: Judgement, listing: Listing, now: datetime, stall_seconds: float) -> Judgement:
    last = max((file.updated_at for file in listing.files), default=None)
    if last is None:
        return judgement
    stalls_at = last + timedelta(seconds=stall_seconds)
    if now >= stalls_at:
        return replace(judgement, stalled_since=last)
    return replace(judgement, look_again_at=min(stalls_at, judgement.look_again_at or stalls_at))


def _refused_at_once(listing: Listing, siblings: tuple[str, ...], completed: Sighting | None) -> list[Problem]:
    """What no further file puts right."""
    refused = []
    name = listing.version_name
    if not (name.isascii() and name.isdigit()) or version_number(name) is None:
        refused.append(problems.not_a_version(name))
    elif alike := named_alike(name, siblings):
        refused.append(problems.ambiguous_version(name, alike))
    if len(listing.files) > MAX_FILES:
        return [*refused, problems.too_many_files(len(listing.files))]
    refused.extend(problems.hostile_name(file.path) for file in listing.files if not is_safe_name(file.path) or file.path.endswith("/"))
    if completed is not None and (changed := completed.changed_in(listing)):
        refused.append(problems.overwritten(changed))
    return refused


def _whole(found: _Found, file: StoredFile, data: bytes | None) -> bytes | None:
    """The file's bytes, where they are what was listed; else it is said what is not."""
    if data is None:
        found.missing.append(problems.not_read(file.path))
    elif len(data) != file.size_bytes:
        found.missing.append(problems.changed_while_read(file.path, file.size_bytes, len(data)))
    else:
        return data
    return None


def _check_manifest(found: _Found, files: dict[str, StoredFile], data: bytes | None) -> tuple[ManifestFile, ...]:
    """The files that the manifest names; none where there is no manifest that can be read."""
    if MANIFEST not in files:
        return ()
    if files[MANIFEST].size_bytes > MAX_MANIFEST_BYTES:
        too_large = f"it has {files[MANIFEST].size_bytes} bytes; at most {MAX_MANIFEST_BYTES} are read"
        found.damaged.append(problems.manifest_unreadable(too_large))
        return ()
    whole = _whole(found, files[MANIFEST], data)
    if whole is None:
        return ()
    try:
        named = read_manifest(whole)
    except ManifestError as refused:
        found.damaged.append(problems.manifest_unreadable(str(refused)))
        return ()
    absent = [file.path for file in named if file.path not in files]
    if absent:
        found.missing.append(problems.manifest_files_missing(absent))
    for file in named:
        if file.path in files and (difference := _difference(file, files[file.path])):
            found.damaged.append(problems.manifest_mismatch(file.path, difference))
    return named


def _difference(named: ManifestFile, there: StoredFile) -> str | None:
    if named.size_bytes != there.size_bytes:
        return f"it has {there.size_bytes} bytes, not {named.size_bytes}"
    if named.crc32c is None or there.crc32c is None:
        return None
    if from_cloud_storage(named.crc32c) != from_cloud_storage(there.crc32c):
        return f"its crc32c is {problems.shown_path(there.crc32c)}, not {named.crc32c}"
    return None


def _check_saved_model(found: _Found, files: dict[str, StoredFile], data: bytes | None) -> Structure | None:
    if SAVED_MODEL not in files:
        if SAVED_MODEL_TEXT in files:
            found.notes.append(problems.structure_unknown(SAVED_MODEL_TEXT, "it is the text form"))
        else:
            found.missing.append(problems.saved_model_missing())
        return None
    size = files[SAVED_MODEL].size_bytes
    if size > MAX_SAVED_MODEL_BYTES:
        found.notes.append(problems.structure_unknown(SAVED_MODEL, f"it has {size} bytes"))
        return None
    whole = _whole(found, files[SAVED_MODEL], data)
    if whole is None:
        return None
    try:
        structure = read_saved_model(whole)
    except NoServingGraphError as refused:
        found.damaged.append(problems.no_serving_graph(refused.text))
        return None
    except SavedModelError as refused:
        found.damaged.append(problems.saved_model_damaged(refused.text))
        return None
    if structure is None:
        found.notes.append(problems.structure_unknown(SAVED_MODEL, "it has too many parts"))
    return structure


def _check_variables(
    found: _Found, files: dict[str, StoredFile], data: bytes | None, structure: Structure | None, named: tuple[ManifestFile, ...]
) -> None:
    shards = [path for path in files if shards_by_name(path)]
    if INDEX not in files:
        vouched = bool(named) and INDEX not in {file.path for file in named}
        if structure is not None and structure.has_variables:
            found.missing.append(problems.index_missing("the graph has variables"))
        elif shards:
            found.missing.append(problems.index_missing(f"{shards[0]} is there"))
        elif not vouched and _has_note(found, ProblemCode.STRUCTURE_UNKNOWN):
            found.missing.append(problems.index_missing("it is not known that the graph has no variables"))
        return
    read = _read_index(found, files[INDEX], data)
    if read is not None:
        _check_shards(found, files, read)
    elif _has_note(found, ProblemCode.INDEX_UNKNOWN):
        _check_shard_names(found, shards)


def _has_note(found: _Found, code: ProblemCode) -> bool:
    return any(note.code is code for note in found.notes)


def _read_index(found: _Found, file: StoredFile, data: bytes | None) -> VariablesIndex | None:
    if file.size_bytes > MAX_INDEX_BYTES:
        found.notes.append(problems.index_unknown(f"it has {file.size_bytes} bytes"))
        return None
    whole = _whole(found, file, data)
    if whole is None:
        return None
    try:
        read = read_index(whole)
    except VariablesIndexError as refused:
        found.damaged.append(problems.index_damaged(refused.text))
        return None
    if read is None:
        found.notes.append(problems.index_unknown("it is compressed, or has too many entries"))
    return read


def _check_shards(found: _Found, files: dict[str, StoredFile], index: VariablesIndex) -> None:
    paths = [shard_path(shard, index.num_shards) for shard in range(index.num_shards)]
    absent = [path for path in paths if path not in files]
    if absent:
        found.missing.append(problems.shards_missing(absent, INDEX))
    for path, needed in zip(paths, index.shard_bytes, strict=True):
        if path in files and files[path].size_bytes < needed:
            found.damaged.append(problems.shard_too_short(path, files[path].size_bytes, needed))


def _check_shard_names(found: _Found, shards: list[str]) -> None:
    """One complete set of data files, as their own names count them; that of which most are there is asked for."""
    by_total: dict[int, set[int]] = {}
    for path in shards:
        if numbers := shards_by_name(path):
            by_total.setdefault(numbers[1], set()).add(numbers[0])
    total = max(by_total, key=lambda count: len(by_total[count]) / count, default=1)
    there = by_total.get(total, set())
    absent = [shard_path(shard, total) for shard in range(min(total, MAX_FILES)) if shard not in there]
    if absent:
        found.missing.append(problems.shards_missing(absent, "the names of the other data files" if there else INDEX))


def _check_assets(found: _Found, files: dict[str, StoredFile], structure: Structure | None) -> None:
    if structure is None:
        return
    absent = [path for path in (f"{ASSETS}{name}" for name in structure.assets) if path not in files]
    if absent:
        found.missing.append(problems.assets_missing(absent))


def _check_warm_up(found: _Found, files: dict[str, StoredFile], head: bytes | None, structure: Structure | None) -> None:
    if WARM_UP not in files:
        return
    size = files[WARM_UP].size_bytes
    if head is None:
        found.missing.append(problems.not_read(WARM_UP))
        return
    if len(head) > size or len(head) < min(size, WARM_UP_HEAD_BYTES):
        found.missing.append(problems.changed_while_read(WARM_UP, size, len(head)))
        return
    try:
        warm_up = read_warm_up(head, size_bytes=size)
    except WarmUpError as refused:
        found.damaged.append(problems.warm_up_damaged(refused.text))
        return
    if warm_up.stray_bytes:
        found.notes.append(problems.warm_up_cut(warm_up.stray_bytes))
    if structure is None or structure.signatures_left_out:
        return
    there = [signature.name for signature in structure.signatures]
    found.damaged.extend(problems.warm_up_signature_unknown(name, there) for name in warm_up.signatures if name not in there)
