"""What an instance carries when the limit is the requests that may be in it at once: Cloud Run's concurrency, the server's threads.

Assumptions: saturation, so the C_eff requests are all in the instance and each that is answered is replaced at once; CPU that is not the
bottleneck. In simulations the batch is exact in 15 of 15 settings and the rate in 13; in two with one batch thread it is 14 % too high.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from shared.tfserving.capacity.instance import MS_PER_SECOND, Instance

SLO_SHARE = 0.95
"""The part of an objective that a saturated instance may use up: `slo_concurrency`."""

GOOD_TIMEOUT_MS = 5.0
GOOD_TIMEOUT_SHARE = 0.1


class Beyond(StrEnum):
    """What becomes of a request that Cloud Run lets in and no server thread is free for."""

    REFUSED = "refused"
    """gRPC: RESOURCE_EXHAUSTED at once, before any handler; TF Serving's own counts do not show it, and 200 is what HTTP sees."""
    WAITS = "waits"
    """REST: it waits unseen, without a limit."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may be in an instance at once.

    Raises:
        ValueError: a count below 1.
    """

    concurrency: int
    """C: Cloud Run's maximum of concurrent requests for an instance."""
    server_threads: int
    """G (--grpc_max_threads) or H (--rest_api_num_threads)."""
    protocol: Literal["grpc", "rest"] = "grpc"

    def __post_init__(self) -> None:
        for name, count in (("concurrency", self.concurrency), ("server_threads", self.server_threads)):
            if count < 1:
                raise ValueError(f"{name} is {count}: it is 1 or more")

    @property
    def usable_threads(self) -> int:
        """Threads that can hold a request. Of REST's, one runs the event loop. gRPC's limit counts its pollers too: at most G, thus."""
        return self.server_threads if self.protocol == "grpc" else max(0, self.server_threads - 1)

    @property
    def requests(self) -> int:
        """C_eff = min(C, usable threads): what can wait for batches or be in them."""
        return min(self.concurrency, self.usable_threads)

    @property
    def beyond(self) -> Beyond | None:
        """What becomes of those above it; None where Cloud Run never lets more in than there are threads for."""
        if self.concurrency <= self.usable_threads:
            return None
        return Beyond.REFUSED if self.protocol == "grpc" else Beyond.WAITS

    def hides_load(self, concurrency_target: float) -> bool:
        """Whether u_c * C > threads: then Cloud Run adds no instance for concurrency, since the server never holds that many requests.

        Over gRPC only, where those above it are gone at once.
        """
        return self.beyond is Beyond.REFUSED and concurrency_target * self.concurrency > self.usable_threads


def saturated_batch_rows(instance: Instance, requests: int) -> float:
    """The batch b_sat = min(B, C_eff*s/(N+1)), not below a request's rows: N run and one fills, from the C_eff requests that there are."""
    return min(float(instance.max_batch_rows), max(instance.rows_per_request, _rows(instance, requests) / (instance.batch_threads + 1)))


def saturated_rows_per_second(instance: Instance, requests: int, *, batch_timeout_ms: float = 0.0) -> float:
    """The rate X_sat = b_sat / Delta(b_sat), at most C_eff*s / (d + t(b_sat)), and where the timeout limits at most its own rate.

    The second bound is Little's law, for fewer requests than N + 1 batches: none is answered in less than d + t(b). Of a timeout shorter
    than a batch the third is only a bound too: whether the requests gather in one batch or in several depends on how they began.
    """
    batch = saturated_batch_rows(instance, requests)
    shortest = instance.cpu_ms_per_request + instance.batch_time.total_ms(batch)
    found = min(instance.rows_per_second_at(batch), MS_PER_SECOND * _rows(instance, requests) / shortest)
    if timeout_limits(instance, requests, batch_timeout_ms=batch_timeout_ms):
        return min(found, timeout_limited_rows_per_second(instance, requests, batch_timeout_ms=batch_timeout_ms))
    return found


def timeout_limits(instance: Instance, requests: int, *, batch_timeout_ms: float) -> bool:
    """Whether T > 0 and C_eff*s < B: a batch never fills, so each one waits T though the device is idle (IsOpenBatchSchedulable)."""
    return batch_timeout_ms > 0.0 and _rows(instance, requests) < instance.max_batch_rows


def timeout_limited_rows_per_second(instance: Instance, requests: int, *, batch_timeout_ms: float) -> float:
    """The rate C_eff*s / (T + t(C_eff*s)): all requests in one batch, T after its first, whatever N is; T no shorter than a batch.

    Simulated 1.00, 9.88 and 268.8 per second where this rule says 1.00, 9.87 and 268.9. T is the larger part where this matters; d, and
    the half millisecond until an idle thread looks again, are left out.

    Raises:
        ValueError: the timeout does not limit: it is zero, or the requests fill a batch.
    """
    if not timeout_limits(instance, requests, batch_timeout_ms=batch_timeout_ms):
        raise ValueError(
            f"{requests} requests fill a batch of {instance.max_batch_rows} rows, or the timeout ({batch_timeout_ms} ms) is zero"
        )
    rows = _rows(instance, requests)
    return MS_PER_SECOND * rows / (batch_timeout_ms + instance.batch_time.total_ms(rows))


def lone_request_ms(instance: Instance, *, batch_timeout_ms: float) -> float:
    """What a request takes that meets no other: T + d + t(s). T is not waited where a request fills a batch alone."""
    rows = instance.rows_per_request
    waited = batch_timeout_ms if rows < instance.max_batch_rows else 0.0
    return waited + instance.cpu_ms_per_request + instance.batch_time.total_ms(rows)


def max_batch_timeout_ms(instance: Instance, slo_ms: float) -> float:
    """The largest T that costs an online service little: min(5 ms, SLO/10, SLO - d - t(s)), at least 0."""
    left = slo_ms - lone_request_ms(instance, batch_timeout_ms=0.0)
    return max(0.0, min(GOOD_TIMEOUT_MS, slo_ms * GOOD_TIMEOUT_SHARE, left))


def refused_share(offered_per_second: float, carried_per_second: float) -> float:
    """The share max(0, 1 - carried/offered) of a steady overload that is turned away at once. Bursts lose some below capacity as well."""
    return max(0.0, 1.0 - carried_per_second / offered_per_second) if offered_per_second > 0.0 else 0.0


def concurrency_for_batch(instance: Instance, rows: float) -> int:
    """The least C >= (N+1)*b/s + X(b)*d: with it batches of `rows` form under load. The second part are requests in parse and encode."""
    batches = (instance.batch_threads + 1) * rows / instance.rows_per_request
    per_ms = instance.rows_per_second_at(rows) / instance.rows_per_request / MS_PER_SECOND
    return _at_least(batches + per_ms * instance.cpu_ms_per_request)


def concurrency_to_fill(instance: Instance) -> int:
    """The least C with which batches of B rows form: `concurrency_for_batch` of B."""
    return concurrency_for_batch(instance, instance.max_batch_rows)


def concurrency_for_rate(instance: Instance, rows_per_second: float) -> int | None:
    """The least C that carries the rate at saturation: that of the smallest batch whose rate it is; None above capacity."""
    if rows_per_second > instance.capacity_rows_per_second:
        return None
    return concurrency_for_batch(instance, max(instance.rows_per_request, instance.mean_batch_rows(rows_per_second)))


def slo_concurrency(instance: Instance, slo_ms: float) -> int:
    """C_slo = X_max(B)*(0.95*SLO - d)/s: more requests at once than this, and a saturated instance answers them too late.

    Little's law; 0 where d alone takes the objective. The wait moves to Cloud Run's queue, which adds instances.
    """
    per_ms = instance.capacity_rows_per_second / instance.rows_per_request / MS_PER_SECOND
    return max(0, math.floor(per_ms * (SLO_SHARE * slo_ms - instance.cpu_ms_per_request) + _ROUNDING))


_ROUNDING = 1e-9


def _rows(instance: Instance, requests: int) -> float:
    return requests * instance.rows_per_request


def _at_least(requests: float) -> int:
    return max(1, math.ceil(requests - _ROUNDING))
