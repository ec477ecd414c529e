"""What an instance carries as configured, and which limit that is."""

import pytest

from shared.tfserving.capacity.batch_time import AffineBatchTime
from shared.tfserving.capacity.carried import Limit, carried
from shared.tfserving.capacity.concurrency import Admission
from shared.tfserving.capacity.instance import Instance
from tests.benchmarks.capacity_reference import large_model, small_model


def test_the_common_advice_is_limited_by_the_threads_of_the_server() -> None:
    found = carried(large_model(batch_rows=16, threads=4), Admission(concurrency=60, server_threads=16))
    assert found.limit is Limit.SERVER_THREADS
    assert found.batch_rows == pytest.approx(3.2)
    assert found.rows_per_second / 1000.0 == pytest.approx(0.296, abs=5e-4)


def test_with_enough_threads_a_small_concurrency_is_the_limit() -> None:
    found = carried(small_model(batch_rows=32, threads=2), Admission(concurrency=60, server_threads=68))
    assert (found.limit, found.batch_rows) == (Limit.CONCURRENCY, 20.0)


def test_a_long_timeout_and_few_requests_leave_the_card_idle() -> None:
    found = carried(small_model(batch_rows=32, threads=4), Admission(concurrency=5, server_threads=16), batch_timeout_ms=5_000.0)
    assert found.limit is Limit.BATCH_TIMEOUT
    assert found.rows_per_second == pytest.approx(1.0, abs=0.005)
    assert found.device_busy < 0.001


def test_full_batches_are_limited_by_the_device() -> None:
    found = carried(small_model(batch_rows=32, threads=2), Admission(concurrency=98, server_threads=106))
    assert found.limit is Limit.DEVICE
    assert found.rows_per_second == pytest.approx(3200.0)
    assert found.device_busy == pytest.approx(1.0)


def test_one_thread_is_busy_before_the_device_is() -> None:
    found = carried(small_model(batch_rows=32, threads=1), Admission(concurrency=98, server_threads=106))
    assert found.limit is Limit.BATCH_THREADS
    assert found.device_busy == pytest.approx(10 / 12)


def test_heavy_requests_fill_the_cpu_first() -> None:
    decoding = Instance(AffineBatchTime(4.0, 0.25, 3.2), 1, 4, cpu_ms_per_request=6.0, vcpus=4.0)
    found = carried(decoding, Admission(concurrency=80, server_threads=16))
    assert found.limit is Limit.CPU
    assert found.cpu_busy == pytest.approx(1.0)
    assert found.device_busy == pytest.approx(0.46, abs=0.005)
