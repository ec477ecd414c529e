"""Rules for models and their versions: half uploads, loads given up, versions gone, reloads without effect. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from shared.diagnose.board import Board
from shared.diagnose.files_seen import VersionFiles
from shared.diagnose.lines import second_of_day
from shared.diagnose.load_seen import above
from shared.diagnose.measures import Measure
from shared.diagnose.picture import Picture
from shared.diagnose.signatures import Sighting

_NAMED = re.compile(r"\{ ?name: ?(?P<model>[^\s{}]{1,200}) version: ?(?P<version>\d{1,19})\}")
_IN_PATH = re.compile(r"(?:gs|s3)://\S{1,300}?/(?P<version>\d{1,19})(?:/|\b)|/models/\S{1,200}?/(?P<local>\d{1,19})(?:/|\b)")
_STATUS = re.compile(r"version\\?[\"']?: ?\\?[\"']?(?P<version>\d{1,19}).{0,20}?state\\?[\"']?: ?\\?[\"']?(?P<state>[A-Z]{3,12})")
_SPIKE = 2.0
_NOISE_S = 60.0


def failing_version(picture: Picture) -> int | None:
    """The version that a load failure names, else the one of a path in such a line."""
    for sighting in picture.all_seen(
        "load-failed", "gave-up", "not-available", "files-short", "variables-missing", "no-saved-model", "ended-in-error", "warm-up-broken"
    ):
        for pattern in (_NAMED, _IN_PATH):
            found = pattern.search(sighting.line.text)
            if found is not None:
                groups = found.groupdict()
                return int(groups.get("version") or groups.get("local") or 0)
    return None


def named_servable(sighting: Sighting) -> tuple[str, int] | None:
    """The model and version that a line names."""
    found = _NAMED.search(sighting.line.text)
    return (found["model"], int(found["version"])) if found is not None else None


def version_policies(picture: Picture) -> tuple[object, ...]:
    """The models' version policies; empty without a file of models."""
    models = picture.deployment.models.meant if picture.deployment.models is not None else None
    return () if models is None else tuple(model.model_version_policy for model in models.models)


def stops_at_start(picture: Picture) -> Sighting | None:
    """A line that says the server ended because of the load: nothing older serves in that process."""
    return picture.saw("not-available", "ended")


def old_version_serves(picture: Picture) -> str | None:
    """Why an older version is known to serve; None where nothing says so."""
    available = picture.saw("version-available")
    if available is not None:
        return str(available)
    if stops_at_start(picture) is not None:
        return None
    ok = picture.load.served("OK")
    failing = failing_version(picture)
    if ok is not None and ok.value and (failing is None or picture.saw("variables-missing") is None):
        return f"{ok}"
    reached = picture.load.answered("2xx")
    return f"Cloud Run answers {reached:g} requests a second with 2xx" if reached and picture.saw("variables-missing") is None else None


def partial_upload(picture: Picture, board: Board) -> None:
    """Missing or short files, seen in the listing or by what the server says of them."""
    version = _looked_at(picture)
    if version is None:
        return
    fault = picture.files.fault_of(version)
    load_trouble = board.strongest(("partial-upload", "model-load-failed"))
    if fault is not None:
        board.support("partial-upload", 0.7 if load_trouble else 0.6, fault)
    elif picture.saw("files-short") is not None:
        board.doubt("partial-upload", 0.25, f"the listing of {version.base}/{version.number} looks whole now")


def _looked_at(picture: Picture) -> VersionFiles | None:
    number = failing_version(picture)
    found = picture.files.numbered(number) if number is not None else None
    return found or (picture.files.newest() if number is None else None)


def gave_up(picture: Picture, board: Board) -> None:
    """A version that failed while an older one goes on serving."""
    given_up = picture.saw("gave-up", "ended-in-error")
    if given_up is None or picture.saw("not-available") is not None:
        return
    serves = old_version_serves(picture)
    if serves is None:
        return
    board.support("version-load-gave-up", 0.8, str(given_up), by_text=True)
    board.support("version-load-gave-up", 0.4, f"an older version serves: {serves}")
    version = _looked_at(picture)
    if version is not None:
        fault = picture.files.fault_of(version)
        if fault is None:
            board.support(
                "version-load-gave-up", 0.3, f"the listing of {version.base}/{version.number} is whole now, and it is not tried again"
            )
        else:
            board.doubt("version-load-gave-up", 0.6, fault)
    if picture.saw("gpu-oom", "warm-up-broken", "graph-unusable", "driver-too-old", "variables-missing") is not None:
        board.doubt("version-load-gave-up", 0.4, "the line of the failure names a lasting reason")


def unloaded(picture: Picture, board: Board) -> None:
    """Callers miss a version that was taken out in order; that an old one goes when a newer one has come is routine."""
    lost = picture.load.served("NOT_FOUND")
    missed = picture.saw("servable-not-found")
    for sighting in picture.all_seen("unloading", "ended-in-order"):
        number, newest = _number_in(sighting), _newest_loaded(picture, sighting)
        if number is None:
            continue
        asked_for = missed is not None and re.search(rf"\b{number}\b", missed.line.text) is not None
        if asked_for or newest is None or (number >= newest and (missed is not None or above(lost, 1e-9))):
            board.support("version-unloaded", 0.45, str(sighting), by_text=True)
    if not board.confidence("version-unloaded"):
        return
    numbers = [number for each in picture.all_seen("ended-in-order", "unloading") if (number := _number_in(each)) is not None]
    gone = next((number for number in numbers if picture.files.given and picture.files.numbered(number) is None), None)
    if gone is not None:
        board.support("version-unloaded", 0.5, f"the listing has no version {gone}")
    if lost is not None and lost.value:
        board.support("version-unloaded", 0.3, f"{lost}")
    failed = picture.saw("ended-in-error", "gave-up")
    if failed is not None:
        board.doubt("version-unloaded", 0.6, f"{failed}: it failed to load, and was not taken out")


def _number_in(sighting: Sighting) -> int | None:
    found = _NAMED.search(sighting.line.text) or _STATUS.search(sighting.match[0].upper()) or _STATUS.search(sighting.line.text)
    return int(found["version"]) if found is not None else None


def available_versions(picture: Picture) -> set[int]:
    """Versions that the server's status shows as AVAILABLE."""
    lines = {each.line.number: each.line for each in picture.all_seen("version-available")}
    found = [each for line in lines.values() for each in _STATUS.finditer(line.text)]
    return {int(each["version"]) for each in found if each["state"] == "AVAILABLE"}


def _newest_loaded(picture: Picture, leaving: Sighting) -> int | None:
    """The highest version of the same model that was loaded or is available; an old one that leaves after it leaves in order."""
    model = (named_servable(leaving) or ("", 0))[0]
    loaded = [(own[0], own[1]) for each in picture.all_seen("loaded") if (own := named_servable(each)) is not None]
    return max([*(number for name, number in loaded if model in {"", name}), *available_versions(picture)], default=None)


def reload(picture: Picture, board: Board) -> None:
    """A reload, a new version or a directory written again, that changed nothing, or not everywhere."""
    call, overwritten, without = picture.saw("reload-call"), picture.saw("overwritten"), picture.saw("no-effect")
    written = picture.saw("config-written")
    slow = next(
        (each for each in picture.all_seen("reload-call") if each.line.grpc == "DEADLINE_EXCEEDED" or "return" in each.line.text.lower()),
        None,
    )
    poll = picture.deployment.flag("file_system_poll_wait_seconds")
    if call is not None and (without is not None or slow is not None or poll == 0):
        board.support("reload-not-effective", 0.6, str(slow or call), by_text=True)
        if without is not None:
            board.support("reload-not-effective", 0.4, str(without))
    elif overwritten is not None and not _starts_badly(picture):
        _overwritten(picture, board, overwritten, without)
    elif (written is not None and without is not None) or (poll == 0 and without is not None and not board.suspicions):
        board.support("reload-not-effective", 0.5, str(without), by_text=True)
        if written is not None:
            board.support(
                "reload-not-effective", 0.3, f"{written}; without --model_config_file_poll_wait_seconds it is read once, at the start"
            )
    _never_looks(picture, board, poll)
    _one_of_many(picture, board, call or written)
    if board.confidence("reload-not-effective") and poll == 0:
        board.support("reload-not-effective", 0.6, "--file_system_poll_wait_seconds=0 switches off the poll that every reload waits for")


def _starts_badly(picture: Picture) -> bool:
    return picture.saw("load-failed", "not-available", "gave-up", "files-short", "variables-missing", "path-empty") is not None


def _overwritten(picture: Picture, board: Board, overwritten: Sighting, without: Sighting | None) -> None:
    """The same number written again: a loaded version is not read a second time, whatever says that it is still the old one."""
    board.support("reload-not-effective", 0.55, str(overwritten), by_text=True)
    if without is not None:
        board.support("reload-not-effective", 0.5, str(without))
    serves = picture.saw("version-available")
    if serves is not None:
        board.support("reload-not-effective", 0.3, f"{serves}: the number is the same, and it stays loaded")


def _never_looks(picture: Picture, board: Board, poll: object) -> None:
    """A newer version lies there whole, the server has the old one, and it was told not to look."""
    newest, loaded = picture.files.newest(), available_versions(picture)
    if poll != 0 or newest is None or not loaded or newest.number <= max(loaded) or picture.files.fault_of(newest) is not None:
        return
    told = picture.saw("version-available")
    board.support(
        "reload-not-effective", 0.7, f"{told}, while the listing of {newest.base}/{newest.number} is whole: it is newer", by_text=True
    )


def _one_of_many(picture: Picture, board: Board, call: Sighting | None) -> None:
    """A reload call is answered by one instance; the others have not heard of it."""
    if call is None:
        return
    total, some, missed = picture.load.instance_total, picture.saw("some-tries"), picture.saw("servable-not-found")
    several = total is not None and total > 1
    partly = some is not None and int(some.match["some"]) < int(some.match["all"])
    if missed is not None and (several or partly):
        board.support("reload-not-effective", 0.6, str(call), by_text=True)
        board.support("reload-not-effective", 0.5, str(missed))
        if partly:
            board.support("reload-not-effective", 0.4, f"{some}")
    elif partly and several:
        board.support("reload-not-effective", 0.6, f"{some}", by_text=True)
    if several and board.confidence("reload-not-effective"):
        board.support("reload-not-effective", 0.3, f"{picture.load.instances}: such a call reaches one instance of them")


def load_failures(picture: Picture, board: Board) -> None:
    """What stands beside a failed load."""
    if board.confidence("model-load-failed") and picture.saw("ended") is not None:
        board.support("model-load-failed", 0.2, f"{picture.saw('ended')}")
    batching = picture.saw("batching-values")
    if batching is not None:
        board.doubt("model-load-failed", 0.4, f"{batching}: the version's files are not what is refused")


@dataclass(frozen=True, slots=True)
class _Load:
    model: str
    begins_s: float
    ends_s: float
    line: Sighting


def interference(picture: Picture, board: Board) -> None:
    """Latency that rises exactly while a version loads."""
    loads = list(_loads(picture))
    if picture.saw("load-failed", "not-available", "gave-up") is not None or not (loads or picture.saw("loading", "loaded")):
        return
    series = [
        each
        for each in picture.measures.series(
            "tensorflow_serving_request_latency", "request_latencies", "tensorflow_serving_runtime_latency", "client_latency"
        )
        if each.statistic != "count"
    ]
    inside = [each for each in series if _is_inside(each, loads)]
    outside = [each for each in series if each not in inside]
    if inside and outside:
        calm, spike = max(outside, key=_value), max(inside, key=_value)
        if _value(spike) >= _SPIKE * _value(calm):
            told = loads[0].line if loads else picture.saw("loading", "loaded")
            board.support("load-interference", 0.75, f"{spike}, and outside of the load {calm}")
            board.support("load-interference", 0.6, f"{told}", by_text=True)
    if not board.confidence("load-interference"):
        return
    starts = picture.load.starts
    if starts is not None:
        if starts.value:
            board.doubt("load-interference", 0.3, f"{starts}: instances started too")
        else:
            board.support("load-interference", 0.3, f"{starts}: no instance started, so it is no cold start")


def _loads(picture: Picture) -> list[_Load]:
    begun: dict[str, Sighting] = {}
    found: list[_Load] = []
    for sighting in picture.all_seen("loading", "loaded"):
        named = _NAMED.search(sighting.line.text)
        at = sighting.line.second_of_day
        if named is None or at is None:
            continue
        key = named[0].replace(" ", "")
        if sighting.signature.sign == "loading":
            begun.setdefault(key, sighting)
        elif key in begun:
            begins = begun[key].line.second_of_day
            if begins is not None:
                found.append(_Load(named["model"], begins, at, begun[key]))
    return found


def _is_inside(point: Measure, loads: list[_Load]) -> bool:
    words = " ".join(point.point.values()).lower()
    if re.search(r"\bload(?:ing)?\b|during", words):
        return True
    at = second_of_day(words)
    return at is not None and any(load.begins_s - _NOISE_S < at <= load.ends_s for load in loads)


def _value(measure: Measure) -> float:
    return measure.value or 0.0


RULES: tuple[Callable[[Picture, Board], None], ...] = (partial_upload, gave_up, unloaded, reload, load_failures, interference)
