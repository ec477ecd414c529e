"""The numbers of Cloud Run's quota refusals, and what they are in units a person reads. Pure.

A refusal of a write ends with lines such as `CpuAllocPerProjectRegion requested: 60000 allowed: 20000`: vCPU in thousandths, memory
in bytes, GPUs as GPUs. Cloud Quotas counts GPUs of newer cards in thousandths too (1000 is one), while refusals were seen that say
`requested: 3 allowed: 1` for them: both are read.
"""

import re
from dataclasses import dataclass

from shared.cloudrun.shapes import ACCELERATORS

_VIOLATION = re.compile(
    r"\b(?P<metric>[A-Za-z][A-Za-z0-9]{0,99}?Per[A-Za-z0-9]{1,99})\s{1,9}requested:\s{0,9}(?P<requested>\d{1,20})"
    r"\s{1,9}allowed:\s{0,9}(?P<allowed>\d{1,20})"
)
_MAX_INSTANCES = re.compile(r"max instances must be set to (\d{1,9}) or fewer", re.IGNORECASE)
_MILLI = 1_000
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class QuotaViolation:
    """One quota that a write asked too much of; the numbers are as Cloud Run wrote them."""

    metric: str
    requested: int
    allowed: int

    def __str__(self) -> str:
        """What was asked and allowed, in vCPU, GiB or GPUs."""
        if self.metric.startswith("CpuAlloc"):
            return f"{self.requested / _MILLI:g} vCPU asked, {self.allowed / _MILLI:g} allowed ({self.metric})"
        if self.metric.startswith("MemAlloc"):
            return f"{self.requested / _GIB:g} GiB of memory asked, {self.allowed / _GIB:g} allowed ({self.metric})"
        if "GpuAlloc" in self.metric:
            unit = _MILLI if self._in_milligpu else 1
            return f"{self.requested / unit:g} GPUs asked, {self.allowed / unit:g} allowed ({self.metric})"
        return f"{self.requested} asked, {self.allowed} allowed ({self.metric})"

    @property
    def _in_milligpu(self) -> bool:
        """Nobody asks for a thousand GPUs in a whole thousand: such a number of a card that is counted in milliGPU is milliGPU."""
        counted_so = any(card.quota_in_milligpu and self.metric.startswith(card.quota_stem) for card in ACCELERATORS.values())
        return counted_so and self.requested >= _MILLI and self.requested % _MILLI == 0 and self.allowed % _MILLI == 0


def violations_in(text: str) -> tuple[QuotaViolation, ...]:
    """Every violated quota that the text names with its numbers, in its order."""
    return tuple(QuotaViolation(found["metric"], int(found["requested"]), int(found["allowed"])) for found in _VIOLATION.finditer(text))


def tightest(violations: tuple[QuotaViolation, ...]) -> QuotaViolation | None:
    """The violation that leaves the smallest part of what was asked for; None without any."""
    return min(violations, key=lambda each: each.allowed / max(each.requested, 1), default=None)


def allowed_instances_in(text: str) -> int | None:
    """The most instances that Cloud Run says it would accept (`Max instances must be set to 3 or fewer`); None if it does not say."""
    found = _MAX_INSTANCES.search(text)
    return int(found.group(1)) if found else None
