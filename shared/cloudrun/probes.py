"""Cloud Run's limits and defaults of start-up, liveness and readiness probes. Pure.

Sources: the docstring of `run_v2.Probe`, Cloud Run's documentation on health checks, and the API's own refusals. What the API
accepts and the documentation forbids (the whole start-up window, a timeout longer than the period) is marked as found later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from shared.cloudrun.limits import Found, LimitFault
from shared.cloudrun.server_texts import ServerText

DEFAULT_PERIOD_SECONDS = 10
DEFAULT_TIMEOUT_SECONDS = 1
DEFAULT_FAILURE_THRESHOLD = 3
STARTUP_WINDOW_SECONDS = 600
"""The most that `failure_threshold` x `period_seconds` of a start-up probe may be. Older documentation says 240."""
GPU_STARTUP_WINDOW_SECONDS = 1_800
MAX_STARTUP_FIELD_SECONDS = 240
"""Of each of a start-up probe's three times, with a GPU too: a long window is a high `failure_threshold`."""
MAX_LIVENESS_FIELD_SECONDS = 3_600
MAX_READINESS_FIELD_SECONDS = 300
MAX_PORT = 65_535


class ProbeKind(StrEnum):
    """Which probe of a container."""

    STARTUP = "startup_probe"
    LIVENESS = "liveness_probe"
    READINESS = "readiness_probe"


class ProbeAction(StrEnum):
    """What a probe does. `tcp_socket` only tells that the port is open, `http_get` is HTTP/1."""

    HTTP_GET = "http_get"
    TCP_SOCKET = "tcp_socket"
    GRPC = "grpc"


@dataclass(frozen=True, slots=True)
class Timing:
    """The numbers of a probe as written: 0 is Cloud Run's default of that field."""

    initial_delay_seconds: int = 0
    timeout_seconds: int = 0
    period_seconds: int = 0
    failure_threshold: int = 0

    @property
    def timeout_in_force_seconds(self) -> int:
        """The timeout with its default."""
        return self.timeout_seconds or DEFAULT_TIMEOUT_SECONDS

    @property
    def period_in_force_seconds(self) -> int:
        """The period with its default."""
        return self.period_seconds or DEFAULT_PERIOD_SECONDS

    @property
    def window_seconds(self) -> int:
        """How long the probe may go on failing before the instance is given up: 30 s by default."""
        return self.period_in_force_seconds * (self.failure_threshold or DEFAULT_FAILURE_THRESHOLD)


DEFAULT_STARTUP_TIMING = Timing(timeout_seconds=240, period_seconds=240, failure_threshold=1)
"""Of the TCP start-up probe that Cloud Run adds where a service has none: one try that waits up to 240 s for the port to open.

The same numbers on an HTTP probe fail within a second of the start: a refused connection is a failure at once.
"""

_FIELD_LIMITS: dict[ProbeKind, tuple[int, int, int]] = {
    ProbeKind.STARTUP: (MAX_STARTUP_FIELD_SECONDS,) * 3,
    ProbeKind.LIVENESS: (MAX_LIVENESS_FIELD_SECONDS,) * 3,
    ProbeKind.READINESS: (0, MAX_READINESS_FIELD_SECONDS, MAX_READINESS_FIELD_SECONDS),
}
"""The most of initial delay, timeout and period."""


def probe_faults(
    kind: ProbeKind, timing: Timing, *, actions: frozenset[ProbeAction], port: int = 0, gpu: bool = False, container: int = 0
) -> Iterator[LimitFault]:
    """Everything that is wrong with one probe. `port` 0 is the container's own; `gpu`: the instance has one."""
    field = f"template.containers[{container}].{kind}"
    yield from _action_faults(kind, field, actions, port)
    yield from _field_faults(kind, field, timing)
    if timing.failure_threshold < 0:
        yield LimitFault(
            field=f"{field}.failure_threshold",
            value=timing.failure_threshold,
            limit="1 or more, or 0 for 3",
            why="a count is not negative",
            fix="use 1 or more",
            text=ServerText.PROBE_THRESHOLD,
        )
        return
    if timing.timeout_in_force_seconds > timing.period_in_force_seconds:
        yield LimitFault(
            field=f"{field}.timeout_seconds",
            value=timing.timeout_in_force_seconds,
            limit=f"up to period_seconds, {timing.period_in_force_seconds} s",
            why="a probe would begin before the one before it ended; Cloud Run's validation does not say so",
            fix="lower the timeout or raise the period",
            found=Found.START,
        )
    window = GPU_STARTUP_WINDOW_SECONDS if gpu else STARTUP_WINDOW_SECONDS
    if kind == ProbeKind.STARTUP and timing.window_seconds > window:
        yield LimitFault(
            field=f"{field}.failure_threshold",
            value=timing.window_seconds,
            limit=f"failure_threshold x period_seconds up to {window} s{' with a GPU' if gpu else ', 1800 s with a GPU'}",
            why="Cloud Run waits no longer for an instance to start; its validation does not say so",
            fix="make the model load faster, or lower failure_threshold to what the window allows",
            found=Found.START,
        )


def _action_faults(kind: ProbeKind, field: str, actions: frozenset[ProbeAction], port: int) -> Iterator[LimitFault]:
    if len(actions) != 1:
        yield LimitFault(
            field=field,
            value=", ".join(sorted(actions)) or "no action",
            limit="exactly one of http_get, tcp_socket, grpc",
            why="a probe does one thing",
            fix="keep one",
            text=ServerText.PROBE_ACTION,
        )
    if kind != ProbeKind.STARTUP and ProbeAction.TCP_SOCKET in actions:
        yield LimitFault(
            field=field,
            value="tcp_socket",
            limit="http_get or grpc",
            why="only a start-up probe can be a TCP probe",
            fix="ask the model's status over http_get, or the gRPC health service",
            text=ServerText.PROBE_TCP,
        )
    if not 0 <= port <= MAX_PORT:
        yield LimitFault(
            field=f"{field}.port",
            value=port,
            limit=f"1 to {MAX_PORT}, or 0 for the container's port",
            why="no such port",
            fix="use a port the container listens on",
            text=ServerText.PROBE_PORT,
        )


def _field_faults(kind: ProbeKind, field: str, timing: Timing) -> Iterator[LimitFault]:
    delay, timeout, period = _FIELD_LIMITS[kind]
    if kind == ProbeKind.READINESS and timing.initial_delay_seconds:
        yield LimitFault(
            field=f"{field}.initial_delay_seconds",
            value=timing.initial_delay_seconds,
            limit="not set",
            why="a readiness probe begins when the start-up probe has ended",
            fix="leave it out, and give the start-up probe the time",
            text=ServerText.PROBE_READINESS_DELAY,
        )
    elif not 0 <= timing.initial_delay_seconds <= delay:
        yield _range_fault(f"{field}.initial_delay_seconds", timing.initial_delay_seconds, delay, ServerText.PROBE_INITIAL_DELAY)
    for name, value, most in (("timeout_seconds", timing.timeout_seconds, timeout), ("period_seconds", timing.period_seconds, period)):
        if not 0 <= value <= most:
            yield _range_fault(f"{field}.{name}", value, most, ServerText.PROBE_RANGE)


def _range_fault(field: str, value: int, most: int, text: ServerText) -> LimitFault:
    return LimitFault(
        field=field,
        value=value,
        limit=f"0 to {most} s",
        why="Cloud Run takes no other value; a longer wait is a higher failure_threshold",
        fix=f"use up to {most} s",
        text=text,
    )
