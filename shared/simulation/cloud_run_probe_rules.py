"""What the simulated Cloud Run refuses in a container's probes, by its page on health checks. Pure."""

from dataclasses import dataclass

from google.cloud import run_v2

from shared.simulation.cloud_run_errors import violation

_ACTIONS = ("http_get", "tcp_socket", "grpc")
_HIGHEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class _Limits:
    """The highest values of a kind of probe, in seconds; no initial delay: the kind has none."""

    timeout_seconds: int
    period_seconds: int
    initial_delay_seconds: int | None


_STARTUP = _Limits(timeout_seconds=240, period_seconds=240, initial_delay_seconds=240)
_LIVENESS = _Limits(timeout_seconds=3_600, period_seconds=3_600, initial_delay_seconds=3_600)
_READINESS = _Limits(timeout_seconds=300, period_seconds=300, initial_delay_seconds=None)


def check_probes(container: run_v2.Container, *, root: str, at: str) -> None:
    """The probes that are set. The product of a start-up probe's fields and a timeout above the period are not looked at.

    Raises:
        SimulatedError: INVALID_ARGUMENT, with Google's text.
    """
    for kind, limits in (("startup", _STARTUP), ("liveness", _LIVENESS), ("readiness", _READINESS)):
        if f"{kind}_probe" in container:
            _check_probe(getattr(container, f"{kind}_probe"), kind, limits, root=root, at=f"{at}.{kind}_probe")


def _check_probe(probe: run_v2.Probe, kind: str, limits: _Limits, *, root: str, at: str) -> None:
    action = next((name for name in _ACTIONS if name in probe), None)
    if action is None:
        raise violation(root, at, "Exactly one probe action must be set.")
    if action == "tcp_socket" and kind != "startup":
        raise violation(root, at, f"Cloud Run does not support TCP socket in {kind} probe.")
    if limits.initial_delay_seconds is None:
        if probe.initial_delay_seconds:
            raise violation(root, at, f"Initial delay is not supported for {kind} probe.")
    elif not 0 <= probe.initial_delay_seconds <= limits.initial_delay_seconds:
        raise violation(root, at, f"initial_delay_seconds must be a number between 0 and {limits.initial_delay_seconds}.")
    if not 0 <= probe.timeout_seconds <= limits.timeout_seconds:
        raise violation(root, at, f"timeout_seconds must be a number between 0 and {limits.timeout_seconds}.")
    if not 0 <= probe.period_seconds <= limits.period_seconds:
        raise violation(root, at, f"period_seconds must be a number between 0 and {limits.period_seconds}.")
    if probe.failure_threshold < 0:
        raise violation(root, f"{at}.failure_threshold", "Must be a positive number if set.")
    port = getattr(probe, action).port
    if not 0 <= port <= _HIGHEST_PORT:
        raise violation(root, f"{at}.{action}.port", f"if specified, must be between 1 and {_HIGHEST_PORT}.")
