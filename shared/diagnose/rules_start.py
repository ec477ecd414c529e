"""Rules for what does not start: ports, probes, windows, and the platform's sentences that only say that it did not. Pure."""

import re
from collections.abc import Callable

from shared.diagnose.board import Board
from shared.diagnose.load_seen import above, number
from shared.diagnose.picture import Picture
from shared.diagnose.settings_seen import DEFAULT_STARTUP_WINDOW_S
from shared.diagnose.signatures import Sighting

_BUSY = 0.8
_NEAR_ZERO = 0.01
_HELD_BYTES, _HELD_SHARE = 2.0**30, 0.2
"""GPU memory in use from which somebody has opened the card."""
_SPAN = r"(\d{1,6}(?:\.\d)?) ?(s|sec|seconds|m|min|minutes|h|hours?)\b"
_ELAPSED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"elapsed(?: time)?[:=]? {_SPAN}",
        rf"\b(?:for|since|after|already|waiting|waited) (?:the last )?{_SPAN}",
        rf"lasttransitiontime:? {_SPAN} ago",
        rf"\b{_SPAN} (?:ago|elapsed|have passed)",
    )
)
_DEADLINE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (rf"deadline(?: of| is| was)?[:=]? ?{_SPAN}", rf"\b(?:of|within|at most|limit(?: of)?) {_SPAN}", rf"\b{_SPAN} deadline")
)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_START_S = 1_800.0
"""The longest start-up window that Cloud Run takes, with a GPU."""
_STATUS_PATH = re.compile(r"/v1/models/[^/\s\"]+(?:/(?:versions|labels)/[^/\s\"]+)?(?:/metadata)?")
_PROBED_PATH = re.compile(r"path \"?(/[^\s\"]*)")


def ports(picture: Picture, board: Board) -> None:
    """Cloud Run knocks at a port that the server did not open."""
    failed = picture.saw("not-listening", "startup-probe")
    if failed is None:
        return
    answered = picture.saw("probe-path")
    if answered is not None:
        board.doubt("port-mismatch", 0.9, f"{answered}")
        return
    knocked = _knocked_port(picture)
    opened = _opened_ports(picture)
    if knocked is not None and opened and knocked not in opened:
        board.support("port-mismatch", 0.85, str(failed), by_text=True)
        listening = picture.saw("listening")
        board.support("port-mismatch", 0.5, f"{listening}; Cloud Run looks at port {knocked}")
    elif knocked is None and (early := _listening_before(picture, failed)) is not None:
        board.support("port-mismatch", 0.6, str(failed), by_text=True)
        board.support(
            "port-mismatch", 0.5, f"{early}, and after it Cloud Run still found nothing on its port, which is 8080 where none is set"
        )
    elif knocked is not None and not opened and picture.settings.open_ports is not None and knocked not in picture.settings.open_ports:
        listed = ", ".join(map(str, sorted(picture.settings.open_ports))) or "none"
        board.support("port-mismatch", 0.7, str(failed), by_text=True)
        board.support("port-mismatch", 0.3, f"Cloud Run looks at port {knocked}, and by its flags the server opens {listed}")
        if picture.last("loading") is not None and picture.saw("loaded") is None:
            board.doubt("port-mismatch", 0.2, f"{picture.last('loading')}: it had not finished loading either")
    elif knocked is not None and knocked in opened:
        board.doubt("port-mismatch", 0.9, f"{picture.saw('listening')}: that is the port Cloud Run looks at")


def _listening_before(picture: Picture, failed: Sighting) -> Sighting | None:
    """A line, before the verdict, by which the server had its port open."""
    return next((each for each in picture.all_seen("listening") if each.line.number < failed.line.number), None)


def _knocked_port(picture: Picture) -> int | None:
    for sighting in picture.all_seen("startup-probe", "not-listening"):
        port = sighting.match.groupdict().get("port")
        if port is not None:
            return int(port)
    return picture.settings.container_port


def _opened_ports(picture: Picture) -> frozenset[int]:
    groups = [each.match.groupdict() for each in picture.all_seen("listening")]
    return frozenset(int(port) for found in groups for port in (found.get("port"), found.get("rest")) if port is not None)


def window(picture: Picture, board: Board) -> None:
    """The server was still loading when the probe's time was up."""
    settings, start_s = picture.settings, picture.given.workload.start_s
    probe = picture.saw("startup-probe")
    cut = probe or picture.saw("not-listening")
    if cut is None:
        return
    opened = picture.saw("listening")
    loading = picture.last("loading")
    if opened is not None and opened.line.number < cut.line.number and _knocked_port(picture) in _opened_ports(picture) | {None}:
        return
    if probe is not None:
        weight = 0.5 if "DEADLINE_EXCEEDED" in probe.line.text.upper() or _kind(probe) == "tcp" else 0.3
        board.support("startup-window-too-short", weight, str(probe), by_text=True)
    if loading is not None and opened is None and picture.saw("loaded") is None:
        board.support("startup-window-too-short", 0.65, f"{loading}; nothing says that it was done", by_text=True)
    if start_s is not None and settings.startup_window_s is not None:
        if start_s >= settings.startup_window_s:
            board.support(
                "startup-window-too-short",
                0.7,
                f"a start takes {start_s:g} s by measurement, and the probe gives it {settings.startup_window_s:g} s",
            )
        else:
            board.doubt(
                "startup-window-too-short",
                0.5,
                f"a start takes {start_s:g} s by measurement, inside the window of {settings.startup_window_s:g} s",
            )
    lasted = lasted_seconds(picture)
    if lasted is not None and settings.startup_window_s is not None and lasted >= settings.startup_window_s * 0.9:
        board.support(
            "startup-window-too-short",
            0.4,
            f"the log runs for {lasted:g} s up to the probe's verdict; the window is {settings.startup_window_s:g} s",
        )
    if picture.saw("ended") is not None:
        board.doubt("startup-window-too-short", 0.6, f"{picture.saw('ended')}: it did not run until the window's end")


def lasted_seconds(picture: Picture) -> float | None:
    """From the log's first time to the probe's verdict; None where one of the two has no time."""
    cut = picture.saw("startup-probe") or picture.saw("not-listening")
    begun = next((line.second_of_day for line in picture.lines if line.second_of_day is not None), None)
    if begun is None or cut is None or cut.line.second_of_day is None:
        return None
    return (cut.line.second_of_day - begun) % 86400


def _kind(probe: Sighting) -> str:
    return str(probe.match.groupdict().get("kind") or "").lower()


def probes(picture: Picture, board: Board) -> None:
    """A probe that asks wrongly, or gives up at the first refused connection."""
    settings, probe = picture.settings, picture.saw("startup-probe")
    threshold = settings.startup_probe.get("failureThreshold")
    if probe is not None and _kind(probe) in {"http", "grpc"}:
        times = probe.match.groupdict().get("times")
        single = threshold == 1 or (threshold is None and times == "1")
        refused = re.search(r"ERROR_CONNECTION_FAILED|connection refused|UNAVAILABLE", probe.line.text, re.IGNORECASE)
        if single:
            board.support("probe-misconfigured", 0.7, str(probe), by_text=True)
            board.support(
                "probe-misconfigured",
                0.6 if refused else 0.3,
                "one attempt: an HTTP or gRPC probe with failureThreshold 1 is decided by the first refused connection, whatever its "
                "timeout, "
                "and TF Serving opens its port only when the model is loaded",
            )
        path = _PROBED_PATH.search(probe.line.text)
        if path is not None and not _STATUS_PATH.fullmatch(path[1]) and "metrics" not in path[1]:
            board.support("probe-misconfigured", 0.8, f"TF Serving has no path {path[1]}: it answers 404", by_text=True)
        if picture.saw("listening") is not None and (picture.saw("listening").line.number < probe.line.number):  # type: ignore[union-attr]
            board.support("probe-misconfigured", 0.6, f"{picture.saw('listening')}, before the probe's verdict")
        if (
            _kind(probe) == "grpc"
            and picture.deployment.flags is not None
            and not picture.deployment.flag("enable_grpc_healthcheck_service")
        ):
            board.support(
                "probe-misconfigured", 0.7, "the server is started without --enable_grpc_healthcheck_service: it answers UNIMPLEMENTED"
            )
    live = picture.saw("liveness-probe")
    if live is not None:
        for reading in (picture.load.gpu, picture.load.cpu):
            if above(reading, _BUSY):
                board.support("probe-misconfigured", 0.3, f"{reading}: the instance is busy, not dead")
                break
        if picture.saw("memory-limit", "killed") is not None:
            board.doubt("probe-misconfigured", 0.5, "instances are ended for memory")


def platform(picture: Picture, board: Board) -> None:
    """The platform's own step failed; the container never spoke."""
    if not board.confidence("platform-transient"):
        return
    own = picture.saw("loading", "loaded", "listening", "load-failed", "start-refused", "path-empty", "architecture", "ended")
    if own is not None:
        board.doubt("platform-transient", 0.5, f"{own}: the container ran")
    elsewhere = next(
        (line for line in picture.lines if re.search(r"same (?:digest|image).{0,80}\bready\b", line.text, re.IGNORECASE)), None
    )
    if elsewhere is not None:
        board.support("platform-transient", 0.4, f"{elsewhere.quoted()}")


def unused_gpu(picture: Picture, board: Board) -> None:
    """The GPU at exactly nothing while there is work."""
    load, image = picture.load, picture.deployment.image
    wrong_build = picture.settings.gpu and image is not None and image.is_gpu_build is False
    working = (
        above(load.cpu, 0.3) or bool(load.answered_all) or above(load.latency_middle, 1) or above(load.latency, 1) or bool(load.served_all)
    )
    if load.gpu_peak is not None and load.gpu_peak.value is not None and load.gpu_peak.value < _NEAR_ZERO / 2 and working:
        board.support("gpu-unused", 0.75, f"{load.gpu_peak}, while requests are served")
        if load.gpu_memory_used is not None and not load.gpu_memory_used.value:
            board.support("gpu-unused", 0.5, f"{load.gpu_memory_used}: TensorFlow with a GPU takes nearly all of its memory at start")
    if (board.confidence("gpu-unused")) and wrong_build and image is not None:
        board.support("gpu-unused", 0.5, f"the image {image.text} is TF Serving's CPU build, on a service that pays for a GPU")
    if picture.saw("gpu-device") is not None:
        board.doubt("gpu-unused", 0.9, f"{picture.saw('gpu-device')}")
    for held, least in ((load.gpu_memory_used, _HELD_BYTES), (load.gpu_memory, _HELD_SHARE)):
        if above(held, least):
            board.doubt("gpu-unused", 0.85, f"{held}: something holds the card's memory, as TensorFlow does when it has opened it")
            break
    if (number(load.gpu_peak) or 0.0) > _NEAR_ZERO:
        board.doubt("gpu-unused", 0.8, f"{load.gpu_peak}: small, and not nothing")


def rollout(picture: Picture, board: Board) -> None:
    """A change under way, inside its time."""
    if not board.confidence("rollout-in-progress"):
        return
    failed = picture.saw("condition-failed", "no-gpu-left")
    if failed is not None:
        board.doubt("rollout-in-progress", 0.9, f"{failed}: it has failed, and is not under way")
    elapsed, said = elapsed_seconds(picture), _told(picture, _DEADLINE)
    given = said if said is not None else picture.settings.startup_window_s
    of = "of the deadline that the log names" if said is not None else "that the start-up probe gives"
    if elapsed is not None and elapsed >= (given or _LONGEST_START_S):
        limit = given or _LONGEST_START_S
        _overdue(picture, board, f"{elapsed:g} s have passed, more than the {limit:g} s {of if given else 'that any start-up probe gives'}")
    elif elapsed is not None and given is not None:
        board.support("rollout-in-progress", 0.3, f"{elapsed:g} s have passed of the {given:g} s {of}")
    elif elapsed is not None and elapsed >= DEFAULT_STARTUP_WINDOW_S:
        board.doubt(
            "rollout-in-progress",
            0.4,
            f"{elapsed:g} s have passed, more than the {DEFAULT_STARTUP_WINDOW_S:g} s of a service that sets no start-up probe",
        )
    if elapsed is not None and picture.given.workload.start_s is not None and elapsed < picture.given.workload.start_s:
        board.support("rollout-in-progress", 0.2, f"a start takes {picture.given.workload.start_s:g} s by measurement")


def _overdue(picture: Picture, board: Board, sentence: str) -> None:
    """It takes longer than it may: where no instance came up at all, a GPU service lacks GPUs; else the start does not end in time."""
    board.doubt("rollout-in-progress", 0.8, sentence)
    none_came = picture.mentions(("min_instances_not_provisioned", "mininstancesnotprovisioned"))
    ran = picture.saw("loading", "loaded", "listening", "path-empty", "load-failed")
    if none_came and ran is None and (picture.settings.gpu or picture.mentions(("gpu",))):
        board.support(
            "gpu-surge-at-rollout", 0.5, f"{sentence}; the minimum instances were never there, and nothing of the container is seen"
        )
        quota, total = picture.settings.gpu_quota, picture.load.instance_total
        if quota is not None and total is not None and total >= quota:
            board.support("gpu-surge-at-rollout", 0.5, f"{total:g} instances hold the quota of {quota} GPUs")
        board.support("startup-window-too-short", 0.3, sentence)
        return
    board.support("startup-window-too-short", 0.6, f"{sentence}{f'; {ran}' if ran is not None else ''}")


def elapsed_seconds(picture: Picture) -> float | None:
    """How long a change has been under way, by its condition's own line; None where it does not say."""
    return _told(picture, _ELAPSED)


def _told(picture: Picture, patterns: tuple[re.Pattern[str], ...]) -> float | None:
    """Seconds that a line about the rollout names; of several lines the last counts."""
    for sighting in reversed(picture.all_seen("in-progress", "reconciling", "condition-open")):
        for pattern in patterns:
            found = pattern.search(sighting.line.text)
            if found is not None:
                return float(found[1]) * _SECONDS[found[2][0].lower()]
    return None


RULES: tuple[Callable[[Picture, Board], None], ...] = (ports, window, probes, platform, unused_gpu, rollout)
