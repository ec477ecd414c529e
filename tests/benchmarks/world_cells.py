"""Cells of settings and load at which the world is compared with the reference: one instance, every rule of the queue at work somewhere."""

from dataclasses import dataclass

from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Sizes, Steady, Workload

MODEL_A = ModelTimes.affine(4.0, 0.25, host_ms=2.0, cpu_ms_per_request=0.5)
MODEL_B = ModelTimes.affine(12.0, 1.5, host_ms=6.0, cpu_ms_per_request=2.0)
HEAVY = Sizes(16, 2.2)


@dataclass(frozen=True)
class Cell:
    name: str
    revision: Revision
    workload: Workload


def _revision(model: ModelTimes, server: ServerSettings, concurrency: int) -> Revision:
    return Revision(model, server, CloudRunSettings(concurrency=concurrency, min_instances=1, max_instances=1, start_s=1.0))


def _batched(
    model: ModelTimes, batching: Batching, rate: float, *, sizes: Sizes | None = None, concurrency: int = 200
) -> tuple[Revision, Workload]:
    server = ServerSettings(batching=batching, server_threads=concurrency + 8)
    return _revision(model, server, concurrency), Workload(Steady(rate), sizes or Sizes())


CELLS = (
    Cell("A, 1 batch thread, load 0.7", *_batched(MODEL_A, Batching(32, threads=1, max_enqueued_batches=1000), 1870)),
    Cell("A, 2 batch threads, load 0.85", *_batched(MODEL_A, Batching(32, threads=2, max_enqueued_batches=1000), 2700)),
    Cell("B, 4 batch threads, load 0.6", *_batched(MODEL_B, Batching(16, threads=4, max_enqueued_batches=1000), 320)),
    Cell("B, waits 8 ms for rows, load 0.3", *_batched(MODEL_B, Batching(16, 8.0, 1000, threads=2), 160)),
    Cell("A, queue of 2 batches, overloaded", *_batched(MODEL_A, Batching(8, threads=2, max_enqueued_batches=2), 2600)),
    Cell(
        "A, requests of 1 to 16 rows, split at 8",
        *_batched(MODEL_A, Batching(16, 0.0, 100, 2, (1, 2, 4, 8, 16), splitting=True, max_execution_batch_size=8), 1500, sizes=HEAVY),
    ),
    Cell(
        "A, over REST, waits for threads and for an instance",
        _revision(MODEL_A, ServerSettings(Batching(16), rest=True), 60),
        Workload(Steady(1200)),
    ),
    Cell("A, defaults over gRPC, overloaded", _revision(MODEL_A, ServerSettings(), 80), Workload(Steady(800))),
    Cell(
        "6 ms of CPU for each request, 4 vCPU, load 0.9",
        *_batched(
            ModelTimes.affine(4.0, 0.25, host_ms=2.0, cpu_ms_per_request=6.0), Batching(32, threads=2, max_enqueued_batches=100), 540
        ),
    ),
)
