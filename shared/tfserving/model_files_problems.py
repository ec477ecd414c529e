"""What can be wrong with a version of a model: codes, and what is said about each.

Every text names the file, what is wrong, what TF Serving would make of it and when, and what to do.
"""

from dataclasses import dataclass
from enum import StrEnum

from shared.tfserving.faults import shown
from shared.tfserving.model_files_listing import INDEX, MANIFEST, MAX_FILES, MAX_INDEX_BYTES, MAX_SAVED_MODEL_BYTES, SAVED_MODEL, WARM_UP

MAX_SHOWN = 120
MAX_NAMED = 5
_NEW_NUMBER = "Publish the version again, under a new number."


class ProblemCode(StrEnum):
    """What is wrong, for programs. Stored and published: a code keeps its meaning."""

    SAVED_MODEL_MISSING = "saved_model_missing"
    """Neither saved_model.pb nor saved_model.pbtxt is there."""
    INDEX_MISSING = "index_missing"
    """variables/variables.index is not there, and the graph has variables, or may have."""
    SHARD_MISSING = "shard_missing"
    """A data file that the index names is not there."""
    ASSET_MISSING = "asset_missing"
    """A file that the graph opens when it loads is not there."""
    MANIFEST_FILE_MISSING = "manifest_file_missing"
    """A file that the manifest names is not there."""
    CHANGED_WHILE_READ = "changed_while_read"
    """A file was not as long as listed when it was read: somebody is writing."""
    NOT_READ = "not_read"
    """A file is there and was not read, so nothing is known of it."""
    NOT_SETTLED = "not_settled"
    """All that is known to be needed is there; whether more comes is not known yet."""

    SAVED_MODEL_DAMAGED = "saved_model_damaged"
    """saved_model.pb is no SavedModel, or not a whole one."""
    NO_SERVING_GRAPH = "no_serving_graph"
    """No graph in saved_model.pb has exactly the tags that TF Serving asks for."""
    INDEX_DAMAGED = "index_damaged"
    """variables/variables.index is no table, or not a whole one."""
    SHARD_TOO_SHORT = "shard_too_short"
    """A data file ends before a value that the index places in it."""
    MANIFEST_UNREADABLE = "manifest_unreadable"
    """trimtab-manifest.json is no manifest."""
    MANIFEST_MISMATCH = "manifest_mismatch"
    """A file has not the size or the checksum that the manifest says."""
    WARM_UP_DAMAGED = "warm_up_damaged"
    """The warm-up file holds something that fails the load."""
    WARM_UP_SIGNATURE_UNKNOWN = "warm_up_signature_unknown"
    """A warm-up request names a signature that the graph does not have."""

    NOT_A_VERSION = "not_a_version"
    """The folder's name is not digits that fit an int64."""
    AMBIGUOUS_VERSION = "ambiguous_version"
    """Two folders are the same number to TF Serving."""
    TOO_MANY_FILES = "too_many_files"
    """More objects than a version has."""
    HOSTILE_NAME = "hostile_name"
    """An object's name is no path of a file below the folder."""
    OVERWRITTEN = "overwritten"
    """A file got other content after the version was complete."""

    STRUCTURE_UNKNOWN = "structure_unknown"
    """A note: the graph was not looked into."""
    INDEX_UNKNOWN = "index_unknown"
    """A note: the index was not looked into."""
    WARM_UP_CUT = "warm_up_cut"
    """A note: the warm-up file ends inside the header of a record."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong or, as a note, not known. `path` is relative to the version's folder, None where it is no one file's."""

    code: ProblemCode
    path: str | None
    text: str


def shown_path(path: str) -> str:
    """A path for a message."""
    return shown(path, limit=MAX_SHOWN)


def saved_model_missing() -> Problem:
    """Neither form of the graph is there."""
    return Problem(
        ProblemCode.SAVED_MODEL_MISSING,
        SAVED_MODEL,
        f"{SAVED_MODEL} is not there (nor saved_model.pbtxt). A load would fail with NOT_FOUND: Could not find SavedModel .pb or .pbtxt "
        "at supplied export directory path. Finish the upload; a publisher does best to write this file last.",
    )


def index_missing(why_needed: str) -> Problem:
    """The variables' index is not there."""
    return Problem(
        ProblemCode.INDEX_MISSING,
        INDEX,
        f"{INDEX} is not there, and {why_needed}. TF Serving would load the version all the same and fail every request with "
        "FAILED_PRECONDITION: Could not find variable. Finish the upload.",
    )


def shards_missing(paths: list[str], named_by: str) -> Problem:
    """Data files are not there."""
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return Problem(
        ProblemCode.SHARD_MISSING,
        paths[0],
        f"{', '.join(shown_path(path) for path in paths[:MAX_NAMED])}{more}: not there, and named by {named_by}. A load would fail with "
        "NOT_FOUND: No such file or directory. Finish the upload.",
    )


def assets_missing(paths: list[str]) -> Problem:
    """Files that the graph opens are not there."""
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return Problem(
        ProblemCode.ASSET_MISSING,
        paths[0],
        f"{', '.join(shown_path(path) for path in paths[:MAX_NAMED])}{more}: not there, and the graph in {SAVED_MODEL} opens it. The "
        "load, or the first request that needs it, would fail with NOT_FOUND. Finish the upload.",
    )


def manifest_files_missing(paths: list[str]) -> Problem:
    """Files that the manifest names are not there."""
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return Problem(
        ProblemCode.MANIFEST_FILE_MISSING,
        paths[0],
        f"{', '.join(shown_path(path) for path in paths[:MAX_NAMED])}{more}: not there, and named by {MANIFEST}. Finish the upload, or "
        "correct the manifest.",
    )


def changed_while_read(path: str, listed_bytes: int, read_bytes: int) -> Problem:
    """What was read is not what was listed."""
    return Problem(
        ProblemCode.CHANGED_WHILE_READ,
        path,
        f"{path} was listed with {listed_bytes} bytes and read with {read_bytes}: it is being written. It is looked at again.",
    )


def not_read(path: str) -> Problem:
    """A file that had to be read was not."""
    return Problem(
        ProblemCode.NOT_READ,
        path,
        f"{path} is there and could not be read, so the version cannot be judged. It is tried again; if that does not help, see whether "
        "the control plane's service account may read the bucket's objects.",
    )


def not_settled(settle_seconds: float) -> Problem:
    """More may come."""
    return Problem(
        ProblemCode.NOT_SETTLED,
        None,
        f"Everything that is known to be needed is there. It counts as complete when nothing has changed for {settle_seconds:g} s; with "
        f"a {MANIFEST} there is nothing to wait for.",
    )


def saved_model_damaged(text: str) -> Problem:
    """The graph cannot be read."""
    return Problem(
        ProblemCode.SAVED_MODEL_DAMAGED,
        SAVED_MODEL,
        f"{SAVED_MODEL} is {text}. A load would fail (with OUT_OF_RANGE where the file is cut off). {_NEW_NUMBER}",
    )


def no_serving_graph(text: str) -> Problem:
    """The graph has other tags."""
    return Problem(
        ProblemCode.NO_SERVING_GRAPH,
        SAVED_MODEL,
        f"{SAVED_MODEL}: a load would fail with NOT_FOUND: {text}. An empty or cut off file says the same. Export the model for serving "
        "(tf.saved_model.save does) under a new number.",
    )


def index_damaged(text: str) -> Problem:
    """The variables' index cannot be read."""
    return Problem(
        ProblemCode.INDEX_DAMAGED,
        INDEX,
        f"{INDEX} is damaged or cut off. A load would fail with DATA_LOSS: {shown_path(text)}. {_NEW_NUMBER}",
    )


def shard_too_short(path: str, has_bytes: int, needs_bytes: int) -> Problem:
    """A data file ends too early."""
    return Problem(
        ProblemCode.SHARD_TOO_SHORT,
        path,
        f"{path} has {has_bytes} bytes; {INDEX} places values up to byte {needs_bytes} in it. A load would fail with OUT_OF_RANGE: Read "
        f"less bytes than requested. {_NEW_NUMBER}",
    )


def manifest_unreadable(text: str) -> Problem:
    """The manifest is none."""
    return Problem(
        ProblemCode.MANIFEST_UNREADABLE,
        MANIFEST,
        f"{MANIFEST} is no manifest: {text}. TF Serving does not read it, but what it was to prove is not known. Correct or delete it.",
    )


def manifest_mismatch(path: str, what: str) -> Problem:
    """A file is not as the manifest says."""
    return Problem(
        ProblemCode.MANIFEST_MISMATCH,
        path,
        f"{shown_path(path)} is not the file that {MANIFEST} names: {what}. TF Serving might load it and answer wrongly. {_NEW_NUMBER}",
    )


def warm_up_damaged(text: str) -> Problem:
    """The warm-up file fails the load."""
    return Problem(
        ProblemCode.WARM_UP_DAMAGED,
        WARM_UP,
        f"{WARM_UP}: a load would fail with: {text} Write the file again with tf.io.TFRecordWriter, uncompressed, one PredictionLog a "
        "record, and publish under a new number. A version without the file loads, and is slow at first.",
    )


def warm_up_signature_unknown(name: str, there: list[str]) -> Problem:
    """A warm-up request asks for what the model has not."""
    more = f" and {len(there) - MAX_NAMED} more" if len(there) > MAX_NAMED else ""
    known = ", ".join(shown_path(signature) for signature in there[:MAX_NAMED]) or "none"
    return Problem(
        ProblemCode.WARM_UP_SIGNATURE_UNKNOWN,
        WARM_UP,
        f'{WARM_UP}: a load would fail with FAILED_PRECONDITION: Serving signature key "{shown_path(name)}" not found. The graph has '
        f"{known}"
        f"{more}. Record the requests again for this model, and publish under a new number.",
    )


def not_a_version(name: str) -> Problem:
    """The folder's name is no number."""
    return Problem(
        ProblemCode.NOT_A_VERSION,
        None,
        f'"{shown_path(name)}" is no version: a version\'s folder is named with digits only, at most {2**63 - 1}. TF Serving passes '
        "other "
        "folders over (Did you forget to name your leaf directory as a number (eg. '/1/')?). Publish under a number.",
    )


def ambiguous_version(name: str, alike: tuple[str, ...]) -> Problem:
    """Several folders are one number."""
    others = ", ".join(f'"{shown_path(other)}"' for other in alike[:MAX_NAMED])
    return Problem(
        ProblemCode.AMBIGUOUS_VERSION,
        None,
        f'"{name}" and {others} are the same version to TF Serving (Duplicate version directories detected): it loads one and ignores '
        "the "
        "others. Delete all but one, or publish under a new number.",
    )


def too_many_files(count: int) -> Problem:
    """More objects than a version has."""
    return Problem(
        ProblemCode.TOO_MANY_FILES,
        None,
        f"The folder holds {count} objects or more; a version of at most {MAX_FILES} is taken. Is something else written below it? "
        "Publish the model alone, under a new number.",
    )


def hostile_name(path: str) -> Problem:
    """An object that cannot be a file."""
    return Problem(
        ProblemCode.HOSTILE_NAME,
        None,
        f'"{shown_path(path)}" cannot be the path of a file below the folder: empty parts, "." or "..", control characters, a slash at '
        "the end, "
        "or too long. Copied to a disk it would be lost or land elsewhere. Delete the object.",
    )


def overwritten(paths: tuple[str, ...]) -> Problem:
    """A complete version was changed."""
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return Problem(
        ProblemCode.OVERWRITTEN,
        paths[0],
        f"{', '.join(shown_path(path) for path in paths[:MAX_NAMED])}{more}: overwritten in place after the version was complete. "
        "Running instances keep the old content, new ones load the new: the same version answers differently. Publish under a new "
        "number.",
    )


def structure_unknown(path: str, why: str) -> Problem:
    """A note: the graph was not looked into."""
    return Problem(
        ProblemCode.STRUCTURE_UNKNOWN,
        path,
        f"{path} was not looked into: {why} (up to {MAX_SAVED_MODEL_BYTES} bytes of saved_model.pb are). Signatures and assets are not "
        "known.",
    )


def index_unknown(why: str) -> Problem:
    """A note: the index was not looked into."""
    return Problem(
        ProblemCode.INDEX_UNKNOWN,
        INDEX,
        f"{INDEX} was not looked into: {why} (up to {MAX_INDEX_BYTES} bytes, uncompressed, are). The data files are judged by their "
        "names only; one that is cut off would be found when the version loads.",
    )


def warm_up_cut(stray_bytes: int) -> Problem:
    """A note: the warm-up file does not end with a record."""
    return Problem(
        ProblemCode.WARM_UP_CUT,
        WARM_UP,
        f"{WARM_UP} ends with {stray_bytes} bytes that are no record. TF Serving takes them for the end; the file may have been cut off.",
    )
