"""Whether a repair did worse than what it replaced, by one window of metrics before it and one after. Pure.

What counts is a good answer in time. What fails is counted; how much is late is known within bounds, from three percentiles of the latency:
with the median above the objective half of all answers and more are late, with only the 95th percentile above it a twentieth and more.
"""

from dataclasses import dataclass

from shared.records.metric import Unknown
from shared.records.repair import Effect, known_value

CLEARLY_RATIO = 0.01
"""Ratios of requests that differ by less are alike: windows of the two counts do not end at the same moment."""
CLEARLY_SLOWER = 1.25
"""A 99th percentile below this multiple of another is not slower: Cloud Run's buckets grow by some 20 %."""
MUCH_MORE_LOAD = 1.5
"""Under this much more load than before, a service that does worse is not shown to be the worse service; nor, under this much less, one
that does better the better one."""
HARMFUL = 4.0
"""A median of so many times the objective is harm that is not waited out."""


@dataclass(frozen=True)
class Verdict:
    """Whether a repair did worse than what it replaced. `worse` None: it cannot be said, for the reason given."""

    worse: bool | None
    text: str


@dataclass(frozen=True)
class Lost:
    """The share of requests that got no good answer in time lies between these."""

    least: float
    most: float


def lost(measured: Effect, objective_p99_ms: float | None) -> Lost | None:
    """What failed or came too late; None where what failed is not known. Without an objective nothing is late."""
    failed = known_value(measured.failed_ratio)
    if failed is None:
        return None
    late = _late(measured, objective_p99_ms)
    return Lost(max(failed, late.least), min(1.0, failed + late.most))


def _late(measured: Effect, objective_ms: float | None) -> Lost:
    if objective_ms is None:
        return Lost(0.0, 0.0)
    for metric, beyond, most in ((measured.p50_ms, 0.5, 1.0), (measured.p95_ms, 0.05, 0.5), (measured.p99_ms, 0.01, 0.05)):
        value = known_value(metric)
        if value is not None and value > objective_ms:
            return Lost(beyond, most)
    return Lost(0.0, 0.0 if known_value(measured.p99_ms) is None else 0.01)


def harmful(before: Effect, after: Effect, *, objective_p99_ms: float | None) -> Verdict | None:
    """That most answers come far too late which came in time before: seen in a window that is not all of the time after, too."""
    was, now = known_value(before.p50_ms), known_value(after.p50_ms)
    if objective_p99_ms is None or was is None or now is None or was > objective_p99_ms or now <= HARMFUL * objective_p99_ms:
        return None
    text = f"half of all answers take {now:,.0f} ms and more ({was:,.0f} ms before), and {objective_p99_ms:g} ms is the objective"
    return Verdict(worse=True, text=text)


def verdict(before: Effect, after: Effect, *, objective_p99_ms: float | None) -> Verdict:
    """Compare two windows of metrics: what was lost decides; where that is alike, the latency."""
    failed_before, failed = known_value(before.failed_ratio), known_value(after.failed_ratio)
    was, now = lost(before, objective_p99_ms), lost(after, objective_p99_ms)
    if failed is None or now is None:
        reason = after.failed_ratio.reason if isinstance(after.failed_ratio, Unknown) else ""
        return Verdict(None, f"what fails now is not known: {reason}")
    said = f"{failed:.1%} of requests fail ({'not known' if failed_before is None else f'{failed_before:.1%}'} before)"
    latency = _latency(before, after)
    said = f"{said}, {latency}" if latency else said
    if was is None or failed_before is None:
        return Verdict(None, f"{said}: there is nothing to compare with")
    load, load_before = known_value(after.requests_per_second), known_value(before.requests_per_second)
    worse = now.least > was.most + CLEARLY_RATIO
    if not worse and failed < failed_before - CLEARLY_RATIO:
        if load is not None and load_before is not None and MUCH_MORE_LOAD * load < load_before:
            return Verdict(None, f"{said}, but {load:,.0f} requests/s come, {load_before:,.0f} before: that is no comparison")
        return Verdict(worse=False, text=said)
    if not worse and failed <= failed_before + CLEARLY_RATIO and not _slower(before, after, objective_p99_ms):
        return Verdict(worse=False, text=said)
    if load is None or load_before is None or load > MUCH_MORE_LOAD * load_before:
        known = load is not None and load_before is not None
        more = f"{load:,.0f} requests/s come, {load_before:,.0f} before" if known else "the load is not known"
        return Verdict(None, f"{said}, but {more}: that is no comparison")
    return Verdict(worse=True, text=said)


def _latency(before: Effect, after: Effect) -> str:
    now, was = known_value(after.p99_ms), known_value(before.p99_ms)
    if now is None:
        return ""
    return f"p99 {now:,.0f} ms" + ("" if was is None else f" ({was:,.0f} ms before)")


def _slower(before: Effect, after: Effect, objective_ms: float | None) -> bool:
    """Clearly slower, and slower than it may be."""
    was, now = known_value(before.p99_ms), known_value(after.p99_ms)
    return was is not None and now is not None and now > CLEARLY_SLOWER * was and (objective_ms is None or now > objective_ms)
