"""From evidence to ranked causes: the specific sentence before the general one, what decides before what follows from it. Pure."""

from collections.abc import Iterable, Mapping

from shared.diagnose import rules_breaks, rules_control, rules_counts, rules_refusals, rules_speed, rules_start, rules_versions
from shared.diagnose.answer import Cause
from shared.diagnose.board import Board, Suspicion, as_cause
from shared.diagnose.picture import Picture

_RULES = (
    *rules_refusals.RULES,
    *rules_breaks.RULES,
    *rules_start.RULES,
    *rules_versions.RULES,
    *rules_speed.RULES,
    *rules_control.RULES,
    *rules_counts.RULES,
)
_SPECIFIC_ENOUGH = 0.5
_LEAST = 0.15
"""Suspicions below this are not shown."""
_WEAK = 0.4
"""Below this nothing is known."""
_CONSEQUENCE = 0.55
"""What is left of a cause that a more specific one explains."""
_QUIET = frozenset({"insufficient-data", "no-fault", "over-provisioned", "metric-name-wrong"})
"""Causes that say that nothing is broken, or that nothing is known."""

_START = ("port-mismatch", "startup-window-too-short", "probe-misconfigured")
_LOAD = ("model-load-failed", "version-load-gave-up", *_START)
_CAPACITY = (
    "instance-cap-reached",
    "scale-out-lag",
    "request-timeout",
    "batch-queue-full",
    "cpu-bound-host",
    "queue-too-deep",
    "concurrency-too-high",
    "compute-bound-model",
)

_REFUSED = frozenset(
    {
        "gpu-quota-refused",
        "cpu-memory-quota-refused",
        "gpu-surge-at-rollout",
        "admin-api-rate-limit",
        "stale-etag",
        "revision-name-conflict",
    }
)
"""Refusals whose words are exact: the same line then says nothing about the form of the request."""
_CANDIDATE, _NEXT_CANDIDATE = 0.3, 0.03
_MOST_OPEN = 2

CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "not-listening": ("port-mismatch", "startup-window-too-short", "server-config-invalid", "model-load-failed"),
    "startup-probe": ("startup-window-too-short", "port-mismatch", "probe-misconfigured"),
    "condition-failed": ("port-mismatch", "startup-window-too-short", "model-load-failed"),
    "malformed": ("host-memory-exceeded", "socket-exhaustion", "protocol-mismatch"),
    "platform-answered": ("scale-out-lag", "host-memory-exceeded", "protocol-mismatch"),
    "no-instance": ("instance-cap-reached", "scale-out-lag"),
    "no-instance-500": ("scale-out-lag",),
    "ended": ("server-config-invalid", "model-load-failed", "host-memory-exceeded"),
    "killed": ("host-memory-exceeded", "probe-misconfigured"),
    "transport-closed": ("protocol-mismatch", "host-memory-exceeded"),
    "deadline": ("request-timeout", "queue-too-deep", "scale-out-lag"),
    "upstream-timeout": ("request-timeout",),
    "reload-call": ("reload-not-effective",),
    "load-failed": ("model-load-failed", "partial-upload"),
    "unknown-argument": ("server-config-invalid",),
    "servable-not-found": ("version-unloaded", "version-load-gave-up"),
    "reconciling": ("rollout-in-progress",),
    "condition-open": ("rollout-in-progress",),
    "latest-created": ("rollout-in-progress",),
    "retrying": ("retry-amplification", "instance-cap-reached"),
}
"""Signs that are well known and do not tell the cause by themselves, and the causes that are behind them, the likeliest first."""

EXPLAINS: Mapping[str, tuple[str, ...]] = {
    "retry-amplification": _CAPACITY,
    "server-config-invalid": ("model-load-failed", *_START),
    "partial-upload": (*_LOAD, "model-path-empty", "reload-not-effective"),
    "cuda-driver-mismatch": (*_LOAD, "gpu-unused", "gpu-kernels-jit"),
    "image-architecture": (*_START, "platform-transient"),
    "access-denied": ("model-path-empty", "platform-transient", "rollout-in-progress", "gpu-unused", *_LOAD),
    "model-path-empty": ("model-load-failed", *_START),
    "version-load-gave-up": ("model-load-failed", "reload-not-effective"),
    "gpu-out-of-memory": ("server-thread-quota", "version-load-gave-up", "load-interference", *_LOAD),
    "host-memory-exceeded": (
        *_LOAD,
        "socket-exhaustion",
        "instance-cap-reached",
        "scale-out-lag",
        "protocol-mismatch",
        "request-timeout",
        "compute-bound-model",
    ),
    "model-load-failed": _START,
    "port-mismatch": ("startup-window-too-short", "probe-misconfigured", "protocol-mismatch"),
    "probe-misconfigured": ("startup-window-too-short", "request-timeout"),
    "gpu-kernels-jit": _START,
    "gpu-surge-at-rollout": ("rollout-in-progress", "gpu-quota-refused", "admin-api-rate-limit", *_START),
    "cpu-memory-quota-refused": ("gpu-quota-refused", "api-request-invalid", "admin-api-rate-limit"),
    "gpu-quota-refused": ("api-request-invalid", "admin-api-rate-limit"),
    "admin-api-rate-limit": ("api-request-invalid", "instance-cap-reached", "server-thread-quota"),
    "stale-etag": ("api-request-invalid",),
    "revision-name-conflict": ("api-request-invalid", "stale-etag"),
    "batch-queue-full": ("concurrency-too-high", "queue-too-deep", "compute-bound-model"),
    "batch-queue-wait-timeout": (
        "queue-too-deep",
        "request-timeout",
        "server-thread-quota",
        "gpu-out-of-memory",
        "compute-bound-model",
        "concurrency-too-high",
    ),
    "server-thread-quota": ("batch-underfilled", "concurrency-too-high"),
    "client-message-limit": ("server-thread-quota",),
    "instance-cap-reached": ("scale-out-lag", "compute-bound-model", "queue-too-deep", "server-thread-quota", "cpu-bound-host"),
    "scale-out-lag": ("instance-cap-reached", "server-thread-quota"),
    "queue-too-deep": ("compute-bound-model",),
    "gpu-unused": ("cpu-bound-host", "batch-underfilled", "over-provisioned"),
    "batch-timeout-latency": ("batch-underfilled", "queue-too-deep", "over-provisioned"),
    "reload-not-effective": ("request-timeout", "version-unloaded", "no-fault"),
    "metric-name-wrong": ("insufficient-data", "over-provisioned"),
    "request-rows-over-limit": ("model-not-batchable",),
    "protocol-mismatch": ("instance-cap-reached",),
}
"""A cause to those that it brings about, or that show themselves by the same words: where both are seen, the first is the answer."""


def ranked(picture: Picture) -> tuple[Cause, ...]:
    """All causes worth showing, the likeliest first."""
    board = gathered(picture)
    return tuple(as_cause(suspicion) for suspicion in in_order(board))


def gathered(picture: Picture) -> Board:
    """The evidence for and against every cause."""
    board = Board()
    _by_texts(picture, board)
    for rule in _RULES:
        rule(picture, board)
    _rest_on_data(picture, board)
    _explain(board)
    _fall_back(picture, board)
    return board


def in_order(board: Board) -> list[Suspicion]:
    """The suspicions that are left, the strongest first; of equals the one that explains the other."""
    kept = [each for each in board.suspicions.values() if each.confidence >= _LEAST]
    return sorted(kept, key=lambda each: (-each.confidence, each.explained_by is not None, each.cause))


def _by_texts(picture: Picture, board: Board) -> None:
    """What the words of the log say by themselves; lines that say the same count once, and are numbered."""
    first: dict[str, list[int]] = {}
    exact = {sighting.line.number for sighting in picture.seen if sighting.signature.cause in _REFUSED}
    for sighting in picture.seen:
        if sighting.signature.cause is not None:
            first.setdefault(sighting.signature.sign, []).append(sighting.line.number)
    done: set[str] = set()
    for sighting in picture.seen:
        signature = sighting.signature
        if signature.cause is None or signature.sign in done:
            continue
        if signature.cause == "api-request-invalid" and sighting.line.number in exact:
            continue
        done.add(signature.sign)
        others = len(set(first[signature.sign])) - 1
        more = f", and {others} more line{'s' if others > 1 else ''} like it" if others else ""
        board.support(signature.cause, signature.weight, f"{sighting}{more}", by_text=True)


def _rest_on_data(picture: Picture, board: Board) -> None:
    """A conclusion from numbers is only as good as the window; a text is what it is."""
    if not (picture.load.too_fresh or picture.load.sparse is not None):
        if picture.measures.unknown and board.confidence("insufficient-data"):
            _texts_outweigh(board)
        return
    for suspicion in board.suspicions.values():
        if not suspicion.by_text and suspicion.cause not in {"insufficient-data", "metric-name-wrong"}:
            board.doubt(suspicion.cause, 0.7, "the window is too new or too thin to rest a decision on it")
    _texts_outweigh(board)


def _texts_outweigh(board: Board) -> None:
    """Where a text names the cause, that some numbers are unknown decides nothing."""
    told = max((each.confidence for each in board.suspicions.values() if each.by_text and each.cause not in _QUIET), default=0.0)
    measured = max((each.confidence for each in board.suspicions.values() if not each.by_text and each.cause not in _QUIET), default=0.0)
    if told >= 0.8:  # noqa: PLR2004 (a text that leaves little doubt)
        board.doubt("insufficient-data", 0.7, "a text in the log tells the cause")
    elif measured >= 0.8:  # noqa: PLR2004 (numbers that leave little doubt)
        board.doubt("insufficient-data", 0.3, "what is known points one way")


def _explain(board: Board) -> None:
    strong = sorted(board.suspicions.values(), key=lambda each: -each.confidence)
    for suspicion in strong:
        if suspicion.explained_by is not None or suspicion.confidence < _SPECIFIC_ENOUGH:
            continue
        for general in EXPLAINS.get(suspicion.cause, ()):
            other = board.suspicions.get(general)
            if other is None or other.explained_by is not None or suspicion.explained_by == general:
                continue
            if general in _mutual(suspicion.cause) and other.confidence > suspicion.confidence:
                continue
            other.explained_by = suspicion.cause
            board.doubt(general, 1 - _CONSEQUENCE, f"{suspicion.cause} explains it")
    troubles = [each for each in board.suspicions.values() if each.cause not in _QUIET and each.confidence >= _WEAK]
    if troubles:
        for quiet in ("no-fault", "over-provisioned"):
            board.doubt(quiet, 0.8, f"{troubles[0].cause} is seen")
    if board.confidence("over-provisioned") >= _SPECIFIC_ENOUGH:
        board.doubt("no-fault", 0.6, "it holds more than it needs")


def _mutual(cause: str) -> Iterable[str]:
    """Causes that explain this one as it explains them: the stronger wins."""
    return [other for other in EXPLAINS.get(cause, ()) if cause in EXPLAINS.get(other, ())]


def _fall_back(picture: Picture, board: Board) -> None:
    """Nothing decided: that is an answer too, and never a healthy service."""
    if any(each.confidence >= _WEAK for each in board.suspicions.values()):
        return
    what = []
    if not picture.lines and not picture.measures.all:
        what.append("neither log lines nor metrics were given")
    elif not picture.seen and picture.lines:
        what.append("no line of the log says what this program knows")
    if picture.measures.all and not picture.measures.known:
        what.append("no metric has points")
    alert = picture.given.alert
    if alert is not None:
        name = alert.get("condition_name") or alert.get("policy_name") or "its condition"
        what.append(f"the alert says that {str(name)[:100]!r} is {str(alert.get('state') or 'open')[:20]}, and not why")
    open_lines = _without_a_cause(picture, board)
    if what or not open_lines:
        candidates = ", ".join(each.cause for each in in_order(board) if each.cause not in _QUIET)
        unclear = f"what was given leaves the cause open: {candidates}" if candidates else "what was given fits no cause"
        sentence = "; ".join(what) or unclear
        board.support("insufficient-data", 0.7, f"{sentence}: nothing can be said of the cause from it")
    for sentence in open_lines:
        board.support("insufficient-data", 0.6, sentence)


def _doubted(board: Board, cause: str) -> bool:
    suspicion = board.suspicions.get(cause)
    return suspicion is not None and bool(suspicion.doubts)


def _without_a_cause(picture: Picture, board: Board) -> list[str]:
    """Lines that are known and leave the cause open: each with the causes that it may have, which are named with little confidence."""
    found: list[str] = []
    for sighting in picture.seen:
        listed = CANDIDATES.get(sighting.signature.sign, ())
        candidates = [cause for cause in listed if cause not in board.ruled_out and not _doubted(board, cause)]
        if not candidates or len(found) == _MOST_OPEN:
            continue
        for place, cause in enumerate(candidates):
            if cause not in board.suspicions:
                board.support(cause, _CANDIDATE - place * _NEXT_CANDIDATE, str(sighting), by_text=True)
        sentence = f"{sighting}; the line leaves the cause open: {', '.join(candidates)}"
        if sentence not in found:
            found.append(sentence)
    return found
