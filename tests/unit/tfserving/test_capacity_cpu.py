"""The CPU as the limit: the service whose CPU is full while its card idles."""

import math

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.concurrency import refused_share
from shared.tfserving.capacity.cpu import cpu_busy, cpu_busy_at, cpu_limited_batch_rows, cpu_rows_per_second
from shared.tfserving.capacity.instance import Instance

DECODING = AffineBatchTime(4.0, 0.25, 3.2)
"""Four fifths of the fixed part are host work; a request takes 6 ms of parse and decode besides."""
OFFERED = 1_600.0
INSTANCES = 3


def decoding(*, batch_rows: int, threads: int, vcpus: float = 4.0) -> Instance:
    return Instance(DECODING, batch_rows, threads, cpu_ms_per_request=6.0, vcpus=vcpus)


def test_without_batching_the_cpu_is_full_the_card_half_idle_and_a_fifth_is_refused() -> None:
    alone = decoding(batch_rows=1, threads=4)
    carried = cpu_rows_per_second(alone)
    assert cpu_busy(alone, carried) == pytest.approx(1.0)
    assert alone.device_busy(carried) == pytest.approx(0.46, abs=0.005)
    assert refused_share(OFFERED, INSTANCES * carried) == pytest.approx(0.186, abs=0.002)


def test_batches_take_host_work_off_the_cpu_until_the_load_fits() -> None:
    batched = decoding(batch_rows=32, threads=2)
    rows = cpu_limited_batch_rows(batched, OFFERED / INSTANCES)
    assert rows is not None
    assert cpu_busy_at(batched, OFFERED / INSTANCES, batch_rows=rows) == pytest.approx(1.0)
    assert cpu_busy_at(batched, OFFERED / INSTANCES, batch_rows=32) == pytest.approx(0.81, abs=0.01)


def test_where_the_cpu_has_room_the_device_makes_the_batch() -> None:
    roomy = decoding(batch_rows=32, threads=2, vcpus=16.0)
    assert cpu_limited_batch_rows(roomy, 1000.0) == roomy.mean_batch_rows(1000.0)


def test_no_batch_helps_a_cpu_that_parse_alone_fills() -> None:
    assert cpu_limited_batch_rows(decoding(batch_rows=32, threads=2), 667.0) is None
    assert cpu_limited_batch_rows(decoding(batch_rows=2, threads=2), 600.0) is None


def test_the_target_of_the_cpu_bounds_the_plan() -> None:
    assert cpu_rows_per_second(decoding(batch_rows=32, threads=2), busy=0.9) == pytest.approx(0.9 * 4000 / 6.1)


def test_a_model_without_cpu_work_has_no_such_limit() -> None:
    free = Instance(AffineBatchTime(4.0, 0.25), 32, 2)
    assert cpu_rows_per_second(free) == math.inf
    assert cpu_busy(free, 1000.0) == 0.0
    assert cpu_limited_batch_rows(free, 1000.0) == free.mean_batch_rows(1000.0)


def test_the_parse_of_a_request_is_shared_by_its_rows() -> None:
    instance = Instance(AffineBatchTime(4.0, 0.25), 32, 2, cpu_ms_per_request=6.0, vcpus=4.0, rows_per_request=8.0)
    assert cpu_rows_per_second(instance) == pytest.approx(8 * 4000 / 6)
