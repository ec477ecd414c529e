"""What the question's configuration says in numbers: the symbols that causes and remedies are computed from. Pure.

C concurrency, V vCPU, G gRPC threads, H REST threads, B max_batch_size, E rows of a batch as it runs, T num_batch_threads, Q
max_enqueued_batches, r rows of a request, s(b) milliseconds of a batch of b rows. None is not known, and never zero.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.cloudrun.limits import default_concurrency
from shared.lint.deployment import Deployment
from shared.tfserving.batching import effective
from shared.tfserving.flags import Protocol

_SAID_CONCURRENCY = re.compile(
    r"(?:maxInstanceRequestConcurrency|containerConcurrency|max_instance_request_concurrency)[\"']?\s?[:=]\s?(\d{1,4})\b"
)
DEFAULT_STARTUP_WINDOW_S = 240.0
"""Of the TCP probe that Cloud Run adds where none is set."""
_QUEUE_HUGE = 1 << 40


@dataclass(frozen=True, slots=True)
class Settings:
    """The numbers. `concurrency_is_default` where nobody chose C."""

    concurrency: int | None
    concurrency_is_default: bool
    vcpu: float | None
    memory_gib: float | None
    gpu: bool
    min_instances: int | None
    max_instances: int | None
    gpu_quota: int | None
    protocol: Protocol | None
    container_port: int | None
    h2c: bool | None
    open_ports: frozenset[int] | None
    """Ports the server opens by its flags; None where the flags are not known."""
    grpc_threads: int | None
    rest_threads: int | None
    batching_on: bool | None
    batch_given: bool
    """Whether a batching file was given and could be read."""
    max_batch: int | None
    execution_batch: int | None
    timeout_ms: float | None
    """batch_timeout_micros."""
    batch_threads: int | None
    queue: int | None
    allowed: tuple[int, ...]
    rows: int
    batch_ms: Mapping[int, float]
    request_timeout_s: float | None
    rest_timeout_ms: float | None
    startup_window_s: float | None
    """None where the description is not complete and has no start-up probe."""
    startup_probe: Mapping[str, object]

    @property
    def threads(self) -> int | None:
        """Of the server on the protocol in use; gRPC's where it is not known which."""
        return self.rest_threads if self.protocol == "rest" else self.grpc_threads

    @property
    def capacity(self) -> int | None:
        """Rows that run or wait at most: E x (T + Q)."""
        if self.execution_batch is None or self.batch_threads is None or self.queue is None or self.queue > _QUEUE_HUGE:
            return None
        return self.execution_batch * (self.batch_threads + self.queue)

    @property
    def lanes(self) -> int:
        """Batches that really run at once: one on a GPU, whose threads share the card."""
        return 1 if self.gpu else max(1, self.batch_threads or 1)

    def batch_time_ms(self, rows: int | None) -> float | None:
        """s(rows): as measured, or between the two nearest sizes that were; the largest measured one's in proportion above it."""
        if rows is None or not self.batch_ms:
            return None
        sizes = sorted(self.batch_ms)
        if rows in self.batch_ms:
            return self.batch_ms[rows]
        above = next((size for size in sizes if size > rows), None)
        below = next((size for size in reversed(sizes) if size < rows), None)
        if below is None:
            return self.batch_ms[sizes[0]]
        if above is None:
            return self.batch_ms[below] * rows / below
        share = (rows - below) / (above - below)
        return self.batch_ms[below] + share * (self.batch_ms[above] - self.batch_ms[below])

    def growth(self, small: int, large: int) -> float | None:
        """s(large)/large over s(small)/small: 1 where a larger batch saves nothing, near small/large where it is almost free."""
        first, second = self.batch_time_ms(small), self.batch_time_ms(large)
        if first is None or second is None or first <= 0 or small <= 0 or large <= small:
            return None
        return (second / large) / (first / small)


def read_settings(deployment: Deployment, log_text: str) -> Settings:
    """Take the numbers from the resolved question; `log_text` is searched for the concurrency that a service says it has."""
    batching = deployment.batching.meant if deployment.batching is not None else None
    known_threads = batching is not None and (batching.num_batch_threads is not None or deployment.vcpu is not None)
    scheduler = effective(batching, cpus=max(1, int(deployment.vcpu or 1))) if batching is not None else None
    concurrency, is_default = _concurrency(deployment, log_text)
    probe = _probe(deployment)
    return Settings(
        concurrency=concurrency,
        concurrency_is_default=is_default,
        vcpu=deployment.vcpu,
        memory_gib=deployment.memory_gib,
        gpu=deployment.gpu,
        min_instances=_least(deployment),
        max_instances=deployment.max_instances,
        gpu_quota=deployment.given.workload.gpu_quota,
        protocol=deployment.protocol,
        container_port=deployment.container_port,
        h2c=deployment.h2c,
        open_ports=_open_ports(deployment),
        grpc_threads=deployment.grpc_threads,
        rest_threads=deployment.rest_threads,
        batching_on=deployment.batching_on,
        batch_given=batching is not None,
        max_batch=scheduler.max_batch_size if scheduler is not None else None,
        execution_batch=scheduler.max_execution_batch_size if scheduler is not None else None,
        timeout_ms=scheduler.batch_timeout_micros / 1000 if scheduler is not None else None,
        batch_threads=scheduler.num_batch_threads if scheduler is not None and known_threads else None,
        queue=scheduler.max_enqueued_batches if scheduler is not None else None,
        allowed=scheduler.allowed_batch_sizes if scheduler is not None else (),
        rows=deployment.rows,
        batch_ms=deployment.given.workload.batch_ms,
        request_timeout_s=_request_timeout(deployment),
        rest_timeout_ms=_rest_timeout(deployment),
        startup_window_s=_window(deployment, probe),
        startup_probe=probe,
    )


def _concurrency(deployment: Deployment, log_text: str) -> tuple[int | None, bool]:
    if deployment.concurrency is not None:
        return deployment.concurrency, False
    said = _SAID_CONCURRENCY.search(log_text)
    if said is not None and int(said[1]) > 0:
        return int(said[1]), True
    if deployment.complete and deployment.vcpu is not None and deployment.described is not None:
        return default_concurrency(deployment.vcpu, made_with=deployment.described.made_with), True
    return None, False


def _least(deployment: Deployment) -> int | None:
    for holder in (deployment.service, deployment.template):
        scaling = holder.get("scaling")
        count = scaling.get("minInstanceCount") if isinstance(scaling, dict) else None
        if isinstance(count, int) and not isinstance(count, bool):
            return count
    return 0 if deployment.complete else None


def _open_ports(deployment: Deployment) -> frozenset[int] | None:
    if deployment.flags is None:
        return None
    return frozenset(port for port in (deployment.grpc_port, deployment.rest_port) if port is not None)


def _request_timeout(deployment: Deployment) -> float | None:
    said = deployment.template.get("timeout")
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,9})?)s?", str(said)) if said is not None else None
    if found is not None:
        return float(found[1])
    return 300.0 if deployment.complete else None


def _rest_timeout(deployment: Deployment) -> float | None:
    said = deployment.flag("rest_api_timeout_in_ms")
    if isinstance(said, int) and not isinstance(said, bool):
        return float(said)
    return 30_000.0 if deployment.flags is not None else None


def _probe(deployment: Deployment) -> Mapping[str, object]:
    probe = deployment.container.get("startupProbe")
    return probe if isinstance(probe, dict) else {}


def _window(deployment: Deployment, probe: Mapping[str, object]) -> float | None:
    if not probe:
        return DEFAULT_STARTUP_WINDOW_S if deployment.complete else None
    return _number(probe.get("initialDelaySeconds"), 0) + _number(probe.get("periodSeconds"), 10) * _number(
        probe.get("failureThreshold"), 3
    )


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value else default
