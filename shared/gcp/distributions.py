"""Percentiles of a distribution as Cloud Monitoring's REST API gives it out: counts in buckets, interpolated within a bucket."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Buckets:
    """`bounds` are the limits between buckets: the first bucket lies below the first of them, the last above the last."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Self:
        """A `distributionValue`; trailing buckets without a count are left out there.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is none.
        """
        bounds = _bounds(value["bucketOptions"])
        counts = tuple(int(count) for count in value.get("bucketCounts", []))
        if len(counts) > len(bounds) + 1 or min(counts, default=0) < 0:
            raise ValueError("counts that are none of these buckets")
        return cls(bounds, counts)

    @property
    def count(self) -> int:
        """How many samples there are."""
        return sum(self.counts)

    def percentile(self, percent: float) -> float:
        """The value below which that share lies, linear within its bucket; of the last bucket, which has no end, its limit.

        Raises:
            ValueError: there are no samples.
        """
        wanted = self.count * percent / 100
        for at, reached in enumerate(accumulate(self.counts)):
            if self.counts[at] and reached >= wanted:
                low, high = self._limits(at)
                return low + (high - low) * (wanted - (reached - self.counts[at])) / self.counts[at]
        raise ValueError("a distribution without samples has no percentiles")

    def _limits(self, at: int) -> tuple[float, float]:
        if at >= len(self.bounds):
            return self.bounds[-1], self.bounds[-1]
        first = min(0.0, self.bounds[0])
        return (self.bounds[at - 1] if at else first), self.bounds[at]


_MOST_BUCKETS = 10_000


def _bounds(options: Mapping[str, Any]) -> tuple[float, ...]:
    if "explicitBuckets" in options:
        return tuple(float(each) for each in options["explicitBuckets"]["bounds"])
    kind = "exponentialBuckets" if "exponentialBuckets" in options else "linearBuckets"
    said = options[kind]
    finite = int(said["numFiniteBuckets"])
    if not 0 < finite <= _MOST_BUCKETS:
        raise ValueError(f"{finite} buckets")
    if kind == "linearBuckets":
        width, offset = float(said["width"]), float(said.get("offset", 0))
        return tuple(offset + width * step for step in range(finite + 1))
    scale, growth = float(said["scale"]), float(said["growthFactor"])
    return tuple(scale * growth**step for step in range(finite + 1))
