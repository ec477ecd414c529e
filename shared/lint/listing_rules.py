"""What the listing of a bucket says about the models in it: names of versions, whole uploads, versions that are not there. Pure.

What a version needs to load and to answer was measured with TensorFlow's own loader; see `shared.tfserving.model_files_problems`.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.model_folders import Base, Folder, ModelFolder, model_folders
from shared.tfserving.faults import shown
from shared.tfserving.model_files_listing import INDEX, SAVED_MODEL, SAVED_MODEL_TEXT, VARIABLES

_SHARD = re.compile(r"variables/variables\.data-(?P<number>\d{1,9})-of-(?P<total>\d{1,9})")
_SHOWN_NAMES = 5
_SHOWN = 120


def listing_rules(deployment: Deployment) -> Iterator[Finding]:
    """All of them, over folders that are put together once."""
    folders = model_folders(deployment)
    yield from _naming(folders)
    yield from _partial(folders)
    yield from _absent(deployment, folders)


def _naming(folders: Sequence[ModelFolder]) -> Iterator[Finding]:
    """model-no-integer-version, model-base-path-is-version: one of the two, where the server finds no version."""
    for folder in folders:
        if folder.versions:
            continue
        if folder.own.has_graph:
            yield _base_is_version(folder)
        elif folder.children:
            yield _no_version(folder)


def _partial(folders: Sequence[ModelFolder]) -> Iterator[Finding]:
    """model-partial-upload, for each version that is not whole."""
    for folder in folders:
        versions = folder.versions
        free = max((version.version or 0 for version in versions), default=0) + 1
        for version in versions:
            missing = _missing(version)
            if not missing:
                continue
            yield Finding(
                "model-partial-upload",
                f"Version {version.name} of {folder.path} lacks {', '.join(missing)} (a file of 0 bytes counts as missing). "
                f"{_consequence(missing)}",
                version.where,
                f"gcloud storage cp -r export/{VARIABLES.rstrip('/')} {folder.path}/{free}/ && "
                f"gcloud storage cp export/{SAVED_MODEL} {folder.path}/{free}/",
            )


def _absent(deployment: Deployment, folders: Sequence[ModelFolder]) -> Iterator[Finding]:
    """model-version-absent, for each version that a policy names and the listing lacks."""
    for folder in folders:
        base = folder.base
        if base is None or base.model is None or not base.wanted:
            continue
        numbers = {number for child in folder.children.values() if (number := child.version) is not None}
        there = sorted(numbers)
        whole = [child.version or 0 for child in folder.versions if not _missing(child)]
        for wanted in dict.fromkeys(base.wanted) if there else ():
            if wanted in numbers:
                continue
            yield Finding(
                "model-version-absent",
                f'Model "{shown(base.model.name, limit=_SHOWN)}" is pinned to version {wanted}, and {folder.path} has '
                f"{', '.join(map(str, there[-_SHOWN_NAMES:]))}. The server waits for the version and opens no port",
                _where_policy(deployment, base),
                f"model_version_policy {{ specific {{ versions: {max(whole)} }} }}"
                if whole
                else f"gcloud storage cp -r export/* {folder.path}/{wanted}/",
            )


def _where_policy(deployment: Deployment, base: Base) -> Where:
    file = deployment.models
    if file is None or base.at is None:
        return base.where
    field = f"config[{base.at}].model_version_policy.specific.versions"
    return file.where(field) if field in file.reading.lines else base.where


def _base_is_version(folder: ModelFolder) -> Finding:
    above, _, _ = folder.path.rpartition("/")
    said = f"{SAVED_MODEL} lies directly in the base path {folder.path}: the server looks for folders with whole numbers below it"
    said += " and finds none (`Did you forget to name your leaf directory as a number (eg. '/1/')?`); no port opens"
    if folder.own.version is not None:
        return Finding("model-base-path-is-version", said, _where(folder), _set(folder.base, above))
    return Finding("model-base-path-is-version", said, _where(folder), f"gcloud storage mv '{folder.path}/*' {folder.path}/1/")


def _no_version(folder: ModelFolder) -> Finding:
    names = [child.name for child in folder.children.values()]
    listed = ", ".join(shown(name, limit=_SHOWN) for name in names[:_SHOWN_NAMES]) + (", ..." if len(names) > _SHOWN_NAMES else "")
    return Finding(
        "model-no-integer-version",
        f"No folder directly below {folder.path} is a whole number (there: {listed}), so none is a version: the server waits for ever "
        "(`No versions of servable ... found under base path`) and opens no port",
        _where(folder),
        f"gcloud storage mv {folder.path}/{shown(names[-1], limit=_SHOWN)} {folder.path}/1",
    )


def _where(folder: ModelFolder) -> Where:
    return folder.own.where


def _set(base: Base | None, path: str) -> str:
    return f'base_path: "{path}"' if base is not None and not base.is_flag else f"--model_base_path={path}"


def _missing(version: Folder) -> list[str]:
    """The files without which the version does not load or does not answer; none where the folder is no SavedModel at all."""
    has_variables = any(path.startswith(VARIABLES) for path in version.files)
    if not version.has_graph and not has_variables:
        return []
    missing = [] if version.holds(SAVED_MODEL, SAVED_MODEL_TEXT) else [SAVED_MODEL]
    if not version.holds(INDEX):
        missing.append(INDEX)
    return missing + _missing_shards(version)


def _missing_shards(version: Folder) -> list[str]:
    """The first data shard that is not there; the names of the others say how many there are."""
    by_total: dict[int, set[int]] = {}
    for path in version.files:
        shard = _SHARD.fullmatch(path)
        if shard is not None and int(shard["total"]):
            numbers = by_total.setdefault(int(shard["total"]), set())
            if version.holds(path):
                numbers.add(int(shard["number"]))
    if not by_total:
        return [f"{VARIABLES}variables.data-00000-of-00001"]
    firsts = {total: _first_missing(numbers) for total, numbers in by_total.items()}
    if any(first >= total for total, first in firsts.items()):
        return []
    total = max(by_total)
    first = firsts[total]
    return [f"{VARIABLES}variables.data-{first:05d}-of-{total:05d}"]


def _first_missing(numbers: set[int]) -> int:
    first = 0
    while first in numbers:
        first += 1
    return first


def _consequence(missing: list[str]) -> str:
    if SAVED_MODEL in missing:
        return "It does not load: `Could not find SavedModel .pb or .pbtxt at supplied export directory path`"
    if INDEX in missing:
        return "It loads, becomes AVAILABLE, and fails each request (`Could not find variable`), unless its graph has no variables at all"
    return "It does not load: `No such file or directory`"


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (listing_rules,)
