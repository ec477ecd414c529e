"""Ports that count every operation and can die, or lose a reply, at any chosen side effect.

A `Trace` is shared by the ports of one process. Each call that changes the outside is one side effect; the n-th may be followed by
the death of the process (`Died`, which no handler can catch), by a lost reply (the effect happened, the caller gets `Retry`), or be
replaced by a failure (`Retry`, nothing happened).
"""

from collections import Counter
from typing import Any, Literal

from shared.errors import Retry

Fault = Literal["die", "lose-reply", "fail"]

EFFECTS = {
    "create_fact": "store",
    "create_upload": "store",
    "create_command": "store",
    "commit_spec": "store",
    "commit_fleet": "store",
    "commit_model": "store",
    "commit": "store",
    "park": "store",
    "discard_parked": "store",
    "put_service": "store",
    "put_fleet": "store",
    "begin_tick": "store",
    "publish_wakes": "bus",
    "publish_events": "events",
    "republish": "redriver",
    "update_scaling": "platform",
    "update_service": "platform",
    "restore_template": "platform",
    "delete_service": "deleter",
}
"""Every method of a port that changes the outside, and the port it belongs to."""

READS = {
    "store": (
        *("due_services", "unfolded_services", "commanded_services", "read_spec", "has_command", "read_fleet", "read_parked", "parked"),
        *("read_model", "followers", "due_models", "unlisted_models", "read", "facts_after", "facts_by_key", "state_token"),
        *("acts_in_minute", "usd_per_hour_at_max", "decisions"),
    ),
    "platform": ("get_service", "get_operation", "read_service", "get_revision"),
    "bucket": ("list_objects", "list_folders", "read_object"),
    "prober": ("predict",),
    "metrics": ("instance_count", "readings"),
    "logs": ("recent",),
    "quota": ("instances",),
    "clock": ("now",),
    "ids": ("new_id",),
}
"""Every method of a port that leaves the outside as it is, by port."""


class Died(BaseException):
    """The process is gone in the middle of a handler."""


class Trace:
    """What the ports of one process did, and what goes wrong at which side effect."""

    def __init__(self, *, fault: Fault | None = None, at: int = 0) -> None:
        self.operations: Counter[str] = Counter()
        self.effects: list[str] = []
        self._fault = fault
        self._at = at
        self.struck = False

    def call(self, port: str, name: str, method: Any, args: Any, kwargs: Any) -> Any:
        self.operations[f"{port}.{name}"] += 1
        if EFFECTS.get(name) != port:
            return method(*args, **kwargs)
        self.effects.append(f"{port}.{name}")
        strikes = len(self.effects) == self._at
        self.struck = self.struck or strikes
        if strikes and self._fault == "fail":
            raise Retry(f"{name} failed before it did anything")
        result = method(*args, **kwargs)
        if strikes and self._fault == "die":
            raise Died(f"after {name}")
        if strikes and self._fault == "lose-reply":
            raise Retry(f"the reply of {name} was lost")
        return result


class Traced:
    """A port whose calls go through a trace."""

    def __init__(self, port: str, inner: Any, trace: Trace) -> None:
        self._port, self._inner, self._trace = port, inner, trace

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._trace.call(self._port, name, method, args, kwargs)

        return call
