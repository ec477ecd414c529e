"""Rules for answers that break off, or that never reach the server: memory, sockets, bodies that are too large. Pure."""

from collections.abc import Callable

from shared.diagnose.board import Board
from shared.diagnose.load_seen import NOISE, above, below, number
from shared.diagnose.picture import Picture

_HOST_FULL = 0.95
_NEAR = 0.9
_MANY_STARTS = 3.0
"""Starts in one window that look like instances that end and come back."""
_MALFORMED_RATE = 800.0
"""Requests a second and instance over HTTP/1, from which sockets run out (Cloud Run's troubleshooting page)."""
_MAX_HTTP1_MIB = 32.0
_LARGE = 413
"""HTTP status."""


def host_memory(picture: Picture, board: Board) -> None:
    """Instances ended at the container's memory limit."""
    load = picture.load
    if above(load.memory, _HOST_FULL) and (board.confidence("host-memory-exceeded") or picture.saw("malformed", "ended") is not None):
        board.support("host-memory-exceeded", 0.4, f"{load.memory}")
    if picture.saw("malformed") is not None and picture.saw("memory-limit", "killed", "host-oom") is None:
        if below(load.memory, 0.9):
            board.doubt("host-memory-exceeded", 0.8, f"{load.memory}")
        elif not load.memory:
            board.support("host-memory-exceeded", 0.3, f"{picture.saw('malformed')}", by_text=True)
    _memory_by_numbers(picture, board)


def _memory_by_numbers(picture: Picture, board: Board) -> None:
    """Memory at its limit, 503s and starts again and again: no text says so, and together they hardly mean anything else."""
    load = picture.load
    broken = load.answered("503") or load.answered("5xx") or 0.0
    told = picture.saw("malformed")
    if not above(load.memory, _HOST_FULL) or (told is None and broken <= NOISE * (load.answered_all or 0.0)):
        return
    board.support("host-memory-exceeded", 0.4, f"{load.memory}")
    board.support("host-memory-exceeded", 0.2, f"{broken:g} requests a second end as 5xx" if told is None else f"{told}")
    total = load.instance_total
    if above(load.starts, max(_MANY_STARTS, 2 * (total or 0.0))):
        of = f", and {total:g} are active" if total is not None else ""
        board.support("host-memory-exceeded", 0.35, f"{load.starts}{of}: instances end and are started again")
    elif below(load.starts, 1):
        board.doubt("host-memory-exceeded", 0.5, f"{load.starts}: no instance ended")


def sockets(picture: Picture, board: Board) -> None:
    """Many short HTTP/1 requests on one instance."""
    load, settings = picture.load, picture.settings
    malformed, refused = picture.saw("malformed"), load.answered("503")
    each = number(load.per_instance)
    if each is None and load.answered_all and load.instance_total:
        each = load.answered_all / load.instance_total
    if each is not None and each <= _MALFORMED_RATE:
        board.doubt("socket-exhaustion", 0.9, f"one instance gets {each:g} requests a second; sockets run out from about 800")
    if each is None or each <= _MALFORMED_RATE or (malformed is None and not refused):
        return
    board.support(
        "socket-exhaustion",
        0.7,
        str(malformed) if malformed is not None else f"{refused:g} requests a second end as 503",
        by_text=malformed is not None,
    )
    board.support("socket-exhaustion", 0.5, f"one instance gets {each:g} requests a second; over HTTP/1 its sockets run out from about 800")
    if picture.saw("memory-limit", "killed") is not None or above(load.memory, _HOST_FULL):
        board.doubt("socket-exhaustion", 0.8, "instances run out of memory")
    if above(load.starts, 1):
        board.doubt("socket-exhaustion", 0.3, f"{load.starts}: instances restart, which sockets do not explain")
    if settings.h2c:
        board.doubt("socket-exhaustion", 0.6, "the container port speaks HTTP/2")


def too_large(picture: Picture, board: Board) -> None:
    """413 of Google's front end."""
    size = picture.given.workload.request_mib
    line = next((line for line in picture.lines if line.http == _LARGE), None)
    rate = picture.load.answered("413")
    if line is not None:
        board.support("request-too-large", 0.75, line.quoted(), by_text=True)
    elif rate:
        board.support("request-too-large", 0.7, f"{rate:g} requests a second are answered 413")
    if size is not None and size > _MAX_HTTP1_MIB and board.confidence("request-too-large"):
        board.support(
            "request-too-large", 0.4, f"a request has {size:g} MiB, and over HTTP/1 Google's front end takes {_MAX_HTTP1_MIB:g} MiB"
        )


RULES: tuple[Callable[[Picture, Board], None], ...] = (host_memory, sockets, too_large)
