"""What can be read of the world from outside: Cloud Monitoring's points and TF Serving's page, by the minute, late, some of them lost.

A refusal of the gRPC server travels as an answer with HTTP status 200; over REST each of TF Serving's codes has its own. Memory is not
simulated and has no points.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from shared.records.evidence import Statistic
from shared.records.evidence_keys import (
    DISTRIBUTIONS,
    INSTANCE_COUNT,
    INSTANCE_KEYS,
    REQUEST_COUNT,
    REQUEST_KEYS,
    SERVED,
    SERVED_KEYS,
    SERVER_MEANS,
)
from shared.simulation.world.layout import (
    ANSWERED,
    AT_CAP,
    FAILED,
    MINUTE_S,
    PENDED,
    QUEUE_FULL,
    QUEUE_WAIT,
    ROWS_OVER_LIMIT,
    SCALE_OUT_LAG,
    SERVER_THREADS,
    TOO_LATE,
    State,
)
from shared.simulation.world.results import Counts, percentile_s
from shared.simulation.world.settings import Revision
from shared.simulation.world.streams import stream

_REST_CODES = {QUEUE_FULL: 503, ROWS_OVER_LIMIT: 400, QUEUE_WAIT: 429, TOO_LATE: 504, AT_CAP: 429, SCALE_OUT_LAG: 429}
_GRPC_CODES = {SERVER_THREADS: 200, QUEUE_FULL: 200, ROWS_OVER_LIMIT: 200, QUEUE_WAIT: 200, TOO_LATE: 504, AT_CAP: 429, SCALE_OUT_LAG: 429}
_STATUSES = {
    "UNAVAILABLE": QUEUE_FULL,
    "RESOURCE_EXHAUSTED": QUEUE_WAIT,
    "INVALID_ARGUMENT": ROWS_OVER_LIMIT,
    "DEADLINE_EXCEEDED": TOO_LATE,
}
_SHARES = {Statistic.P50: 0.50, Statistic.P95: 0.95, Statistic.P99: 0.99}
_PER_HUNDRED = 100

Minutes = NDArray[np.int64]


class Sampled:
    """The points of some minutes."""

    def __init__(self, s: State, settings: tuple[Revision, ...], minutes: range, *, loss: float, seed: int) -> None:
        self._s = s
        self._settings = settings
        self._all = minutes
        self._loss = loss
        self._seed = seed

    def readings(self) -> dict[str, float]:
        """All that has points."""
        return {**self._requests(), **self._instances(), **self._distributions(), **self._served(), **self._means()}

    def _minutes(self, metric: str) -> Minutes:
        """Those of which the metric's point was not lost."""
        kept = [each for each in self._all if not self._loss or stream(self._seed, f"{metric} {each}").random() >= self._loss]
        return np.array(kept, np.int64)

    def _total(self, name: str, minutes: Minutes) -> float:
        return float(self._s.minutes[name][:, minutes].sum())

    def _failed(self, cause: int, minutes: Minutes) -> int:
        return int(self._s.failures[:, minutes, cause].sum())

    def _codes(self, minutes: Minutes) -> dict[int, int]:
        """Answers by HTTP status."""
        counts = {200: int(self._total("answered", minutes))}
        for place, revision in enumerate(self._settings):
            codes: Mapping[int, int] = _REST_CODES if revision.server.rest else _GRPC_CODES
            for cause, code in codes.items():
                counts[code] = counts.get(code, 0) + int(self._s.failures[place, minutes, cause].sum())
        return counts

    def _requests(self) -> dict[str, float]:
        minutes = self._minutes(REQUEST_COUNT)
        if not len(minutes):
            return {}
        counts, seconds = self._codes(minutes), len(minutes) * MINUTE_S
        readings = {}
        for key, (label, value) in REQUEST_KEYS.items():
            of = [count for code, count in counts.items() if _has(code, label, value)]
            if sum(of) or not label:
                readings[key] = sum(of) / seconds
        return readings

    def _instances(self) -> dict[str, float]:
        minutes = self._minutes(INSTANCE_COUNT)
        if not len(minutes):
            return {}
        samples = self._s.samples[: self._s.clock[0].samples]
        readings = {}
        for key, (state, statistic) in INSTANCE_KEYS.items():
            of = samples[(samples["peak"] > 0) == (state == "active")]
            counts = [int((of["minute"] == minute).sum()) for minute in minutes]
            readings[key] = float(max(counts) if statistic is Statistic.MAX else counts[-1])
        return readings

    def _distributions(self) -> dict[str, float]:
        readings: dict[str, float] = {}
        for each in DISTRIBUTIONS:
            minutes = self._minutes(each.name)
            for key, statistic in each.keys.items():
                value = self._statistic(each.name.rpartition("run.googleapis.com/")[2], statistic, minutes)
                if value is not None:
                    readings[key] = value
        return readings

    def _statistic(self, name: str, statistic: Statistic, minutes: Minutes) -> float | None:
        match name:
            case "container/cpu/utilizations":
                return self._of_instances("cpu", _SHARES[statistic], minutes)
            case "container/gpu/utilizations":
                return self._of_instances("gpu", _SHARES[statistic], minutes)
            case "container/max_request_concurrencies":
                return self._of_instances("peak", _SHARES[statistic], minutes)
            case "container/startup_latencies":
                return self._starts(statistic, minutes)
            case "request_latency/pending":
                at_once = int(self._total("tried", minutes) - self._total("pended", minutes))
                return self._milliseconds((PENDED,), _SHARES[statistic], minutes, at_once=max(at_once, 0))
            case "request_latencies":
                return self._milliseconds((ANSWERED, FAILED), _SHARES[statistic], minutes)
            case _:
                return None

    def _of_instances(self, name: str, share: float, minutes: Minutes) -> float | None:
        samples = self._s.samples[: self._s.clock[0].samples]
        values = samples[name][np.isin(samples["minute"], minutes)]
        return float(np.percentile(values, share * _PER_HUNDRED, method="inverted_cdf")) if len(values) else None

    def _starts(self, statistic: Statistic, minutes: Minutes) -> float | None:
        by_revision = self._s.minutes["starts"][:, minutes].sum(axis=1)
        if not by_revision.sum():
            return None
        if statistic is Statistic.COUNT:
            return float(by_revision.sum())
        slowest = [each.cloud_run.start_s * 1000 for each, starts in zip(self._settings, by_revision, strict=True) if starts]
        return max(slowest)

    def _milliseconds(self, kinds: Iterable[int], share: float, minutes: Minutes, *, at_once: int = 0) -> float | None:
        counts: Counts = sum((self._s.times[:, minutes, kind].sum(axis=(0, 1), dtype=np.int64) for kind in kinds), np.zeros(1, np.int64))
        counts[0] += at_once
        found = percentile_s(counts, share)
        return None if found is None else found * 1000

    def _served(self) -> dict[str, float]:
        minutes = self._minutes(SERVED)
        if not len(minutes):
            return {}
        counts = {status: self._failed(cause, minutes) for status, cause in _STATUSES.items()}
        counts["OK"] = int(self._total("answered", minutes))
        seconds = len(minutes) * MINUTE_S
        return {key: counts[status] / seconds for key, status in SERVED_KEYS.items() if counts.get(status)}

    def _means(self) -> dict[str, float]:
        readings = {}
        for each in SERVER_MEANS:
            minutes = self._minutes(each.name)
            batches = self._total("batches", minutes)
            back = self._total("answered", minutes) + self._failed(TOO_LATE, minutes)
            batched = any(revision.server.batching is not None for revision in self._settings)
            match each.name.rpartition(":")[2]:
                case "queuing_latency":
                    total, count = self._total("queue_s", minutes) * 1e6, back if batched else 0.0
                case "runtime_latency":
                    total, count = self._total("run_s", minutes) * 1e6, back
                case "padding_size":
                    total, count = self._total("padding", minutes), batches if batched else 0.0
                case _:
                    total, count = self._total("rows", minutes) + self._total("padding", minutes), batches if batched else 0.0
            if count:
                readings[each.key] = total / count
        return readings


def _has(code: int, label: str, value: str) -> bool:
    if not label:
        return True
    return str(code) == value if label == "response_code" else str(code)[0] == value[0]
