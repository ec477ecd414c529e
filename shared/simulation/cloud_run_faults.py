"""Faults on order for the simulated Cloud Run: refuse a call, lose its reply, delay it, run something in its middle."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from shared.simulation.cloud_run_errors import SimulatedError

Method = Literal["get", "list", "create", "update", "delete", "operation", "get-revision", "list-revisions", "delete-revision"]
Hook = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one call: `before` it is looked at, then the error (before or after it is applied), `after` it is applied."""

    method: Method
    before: Hook | None = None
    error: SimulatedError | None = None
    applied: bool = False
    """The call is carried out although the error is answered: its reply is lost."""
    after: Hook | None = None


class Faults:
    """The faults on order; each is used by the next call of its method, in the order they were placed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ordered: list[Fault] = []

    def fail_next(self, status: str, text: str, *, method: Method = "update", applied: bool = False, times: int = 1) -> None:
        """The next `times` calls of the method are answered with that gRPC status and text.

        With `applied` they are carried out all the same: what a caller sees of a write whose reply was lost.
        """
        self._place(*(Fault(method, error=SimulatedError(status, text), applied=applied) for _ in range(times)))

    def on_next(self, method: Method, *, before: Hook | None = None, after: Hook | None = None) -> None:
        """The next call of the method runs `before` before it is looked at and `after` once it is applied.

        Both run without a lock held, so they may change the simulation (a foreign edit between read and write), move a virtual
        clock or sleep: that is how latency is injected on either side of applying a write.
        """
        self._place(Fault(method, before=before, after=after))

    def take(self, method: Method) -> Fault:
        """The fault of the call that begins now; one without effect if none is on order."""
        with self._lock:
            for index, fault in enumerate(self._ordered):
                if fault.method == method:
                    return self._ordered.pop(index)
        return Fault(method)

    def _place(self, *faults: Fault) -> None:
        with self._lock:
            self._ordered.extend(faults)
