"""Rules for counts since the server's start: one page of metrics tells that requests were refused, and only narrows down why. Pure.

A count has no window: the refusals may be over. Each candidate is therefore named with little confidence, and never beside a cause that a
text or a rate tells.
"""

from collections.abc import Callable

from shared.diagnose.board import Board
from shared.diagnose.load_seen import above, below
from shared.diagnose.measures import Measure
from shared.diagnose.picture import Picture

LONG_WAIT_MS = 20.0
"""Mean wait in the batching queue from which deadlines of its slow requests pass; a queue that keeps up holds a request a few ms."""
_LIKELY, _POSSIBLE, _EITHER, _REMOTE = 0.45, 0.25, 0.4, 0.35
_KNOWN = 0.4


def counted(picture: Picture, status: str) -> Measure | None:
    """TF Serving's count of requests that ended so since its start, where it is more than noise; None where a rate is known."""
    own = picture.load.refusing(status)
    return own if own is not None and own.statistic == "count" else None


def exhausted(picture: Picture, board: Board) -> None:
    """RESOURCE_EXHAUSTED: by the wait in the queue a deadline that passed there, or the GPU's allocator."""
    own, wait = counted(picture, "RESOURCE_EXHAUSTED"), picture.load.queue_wait
    known = ("gpu-out-of-memory", "batch-queue-wait-timeout", "server-thread-quota", "host-memory-exceeded")
    if own is None or board.strongest(known) >= _KNOWN:
        return
    queue, card, why = _EITHER, _EITHER, "how long requests wait in the batching queue is not known, so both are possible"
    if above(wait, LONG_WAIT_MS):
        queue, card, why = _LIKELY, _POSSIBLE, f"{wait}: long enough for deadlines to pass in the batching queue"
    elif below(wait, LONG_WAIT_MS):
        queue, card, why = _POSSIBLE, _LIKELY, f"{wait}: too short for deadlines to pass in the batching queue"
    told = f"{own} since the server's start, counted by TF Serving itself; {why}"
    board.support("batch-queue-wait-timeout", queue, told)
    board.support("gpu-out-of-memory", card, told)


def invalid(picture: Picture, board: Board) -> None:
    """INVALID_ARGUMENT: requests the server will not run; with batching most often for their rows."""
    own = counted(picture, "INVALID_ARGUMENT")
    if own is None or board.strongest(("request-rows-over-limit", "model-not-batchable")) >= _KNOWN:
        return
    told = f"{own} since the server's start: a wrong input says the same, so only the error's text decides"
    board.support("request-rows-over-limit", _REMOTE, told)
    board.support("model-not-batchable", _POSSIBLE, told)


RULES: tuple[Callable[[Picture, Board], None], ...] = (exhausted, invalid)
