"""The figures of a run as `trimtab simulate --json` gives them, whose keys stay. Pure."""

import math
from typing import Any

from shared.simulation.world.results import RunResult

DOES_NOT_START = "does-not-start"
"""The cause of every failure of settings with which no server comes up: they have no world to be simulated in."""
KEYS = (
    "goodput",
    "p50_ms",
    "p95_ms",
    "p99_ms",
    "errors",
    "mean_batch",
    "gpu_busy",
    "cpu_busy",
    "mean_instances",
    "usd_per_million_good",
    "revisions",
)
"""Of a run, and of its last 20 minutes: `goodput`, `gpu_busy`, `cpu_busy` and each cause of `errors` are shares from 0 to 1. What cannot be
said, as the latency of answers where there was none, is null."""


def figures(result: RunResult) -> dict[str, Any]:
    """All figures; those of a run of up to 20 minutes once more as its `last_20_min`."""
    return {**_of_span(result), "last_20_min": _of_span(result.last_20_min or result)}


def figures_without_a_server() -> dict[str, Any]:
    """Of settings with which no server comes up: nothing is answered. What it costs to try is not known."""
    span = dict.fromkeys(KEYS) | {"goodput": 0.0, "errors": {DOES_NOT_START: 1.0}, "revisions": 1}
    return {**span, "last_20_min": span}


def _of_span(result: RunResult) -> dict[str, Any]:
    return {key: _value(key, result) for key in KEYS}


def _value(key: str, result: RunResult) -> Any:
    value = getattr(result, key)
    if key == "errors":
        return dict(value)
    if value is None or not math.isfinite(value):
        return None
    # Work is counted when it is given to the GPU or the CPU, the end of a backlog thus before it is done.
    return min(value, 1.0) if key.endswith("_busy") else value
