"""What holds of every batch time, instance and load."""

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shared.tfserving.capacity.batch_time import AffineBatchTime, BatchTime, TableBatchTime
from shared.tfserving.capacity.carried import carried
from shared.tfserving.capacity.chain import one_thread
from shared.tfserving.capacity.concurrency import (
    Admission,
    concurrency_for_batch,
    concurrency_for_rate,
    saturated_batch_rows,
    saturated_rows_per_second,
    timeout_limits,
)
from shared.tfserving.capacity.cpu import cpu_busy, cpu_limited_batch_rows, cpu_rows_per_second
from shared.tfserving.capacity.fleet import concurrency_target, instances_needed, planned_rows_per_second
from shared.tfserving.capacity.instance import Instance
from shared.tfserving.capacity.inverses import max_batch_rows_within, rate_within_p50, rate_within_p99
from shared.tfserving.capacity.latency import mean_ms, p50_ms, p99_ms
from shared.tfserving.capacity.queueing import enqueued_batches_for_share, enqueued_batches_never_full, full_share_bound, never_full

JUST_ABOVE = 1 + 1e-9

times = st.floats(0.01, 100.0)
shares = st.floats(0.0, 0.95)


@st.composite
def lines(draw: st.DrawFn) -> AffineBatchTime:
    fixed = draw(times)
    return AffineBatchTime(fixed, draw(st.floats(0.0, 20.0)), fixed * draw(shares))


@st.composite
def tables(draw: st.DrawFn) -> TableBatchTime:
    measured = draw(st.dictionaries(st.integers(1, 128), times, min_size=1, max_size=6))
    return TableBatchTime(measured, measured[min(measured)] * draw(shares))


@st.composite
def instances(draw: st.DrawFn, of: st.SearchStrategy[BatchTime] | None = None) -> Instance:
    return Instance(
        draw(of if of is not None else st.one_of(lines(), tables())),
        draw(st.integers(1, 128)),
        draw(st.integers(1, 8)),
        cpu_ms_per_request=draw(st.floats(0.0, 20.0)),
        vcpus=draw(st.sampled_from([1.0, 4.0, 8.0])),
    )


loads = st.floats(0.001, 0.999)


@given(time=st.one_of(lines(), tables()), rows=st.lists(st.floats(1.0, 300.0), min_size=2, max_size=2))
def test_more_rows_never_take_less_and_the_pieces_meet(time: BatchTime, rows: list[float]) -> None:
    fewer, more = sorted(rows)
    assert time.total_ms(fewer) <= time.total_ms(more) * JUST_ABOVE
    assert time.device_ms(fewer) >= -1e-9
    for left, right in itertools.pairwise(time.pieces):
        assert left.last_rows == right.first_rows
        ends = [piece.fixed_ms + piece.per_row_ms * left.last_rows for piece in (left, right)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-6, abs=1e-6)


@given(instance=instances(), load=loads)
def test_the_mean_batch_is_between_one_and_the_largest_and_just_carries_the_load(instance: Instance, load: float) -> None:
    rate = load * instance.capacity_rows_per_second
    rows = instance.mean_batch_rows(rate)
    assert 1.0 <= rows <= instance.max_batch_rows
    assert instance.rows_per_second_at(rows) * JUST_ABOVE >= rate
    if rows > 1.0:
        assert instance.rows_per_second_at(1.0 + (rows - 1.0) * (1 - 1e-6)) <= rate * JUST_ABOVE


@given(instance=instances(), first=st.floats(0.0, 3.0), second=st.floats(0.0, 3.0))
def test_more_load_never_makes_smaller_batches_nor_shorter_waits(instance: Instance, first: float, second: float) -> None:
    low, high = (load * instance.capacity_rows_per_second for load in sorted((first, second)))
    assert instance.mean_batch_rows(low) <= instance.mean_batch_rows(high) * JUST_ABOVE
    for figure in (p50_ms, p99_ms):
        assert figure(instance, low) <= figure(instance, high) * JUST_ABOVE
    assert 0.0 <= instance.device_busy(low) <= 1.0


@given(instance=instances(lines()), load=loads)
def test_the_slowest_hundredth_waits_longer_than_the_middle(instance: Instance, load: float) -> None:
    rate = load * instance.capacity_rows_per_second
    assert instance.cpu_ms_per_request < p50_ms(instance, rate) < p99_ms(instance, rate) < math.inf
    assert mean_ms(instance, rate) >= instance.cpu_ms_per_request


@given(instance=instances(), cycle=st.floats(0.01, 500.0))
def test_the_rows_within_a_cycle_take_that_cycle_and_more_rows_do_not(instance: Instance, cycle: float) -> None:
    rows = instance.rows_within_cycle(cycle)
    if 1.0 <= rows < math.inf:
        assert instance.cycle_ms(rows) <= cycle * (1 + 1e-6) + 1e-6
    if rows < math.inf:
        assert instance.cycle_ms(max(1.0, rows + 0.01)) > cycle * (1 - 1e-6) - 1e-6


@settings(max_examples=300)
@given(instance=instances(), budget=st.floats(0.1, 2_000.0))
def test_the_rate_within_a_budget_is_the_largest(instance: Instance, budget: float) -> None:
    rate = rate_within_p99(instance, budget)
    assert 0.0 <= rate < instance.capacity_rows_per_second * JUST_ABOVE
    if rate > 0.0:
        assert p99_ms(instance, rate) <= budget * JUST_ABOVE
    more = rate + 1e-5 * instance.capacity_rows_per_second
    assert p99_ms(instance, more) >= budget * (1 - 1e-5)
    middle = rate_within_p50(instance, budget)
    if 0.0 < middle < instance.capacity_rows_per_second:
        assert p50_ms(instance, middle * (1 - 1e-9)) <= budget * (1 + 1e-6)


@given(instance=instances(), first=st.floats(0.1, 2_000.0), second=st.floats(0.1, 2_000.0))
def test_a_longer_budget_never_allows_less(instance: Instance, first: float, second: float) -> None:
    short, long = sorted((first, second))
    assert rate_within_p99(instance, short) <= rate_within_p99(instance, long) * (1 + 1e-5)
    rows = [math.inf if found is None else found for found in (max_batch_rows_within(instance, budget) for budget in (short, long))]
    assert rows[0] <= rows[1]


@given(instance=instances(lines()), budget=st.floats(0.1, 2_000.0))
def test_full_batches_of_the_largest_size_end_within_the_budget(instance: Instance, budget: float) -> None:
    rows = max_batch_rows_within(instance, budget)
    assume(rows is not None)
    assert rows is not None
    cycles = instance.batch_threads + 1
    if rows:
        assert instance.cpu_ms_per_request + cycles * instance.cycle_ms(rows) <= budget * (1 + 1e-6)
    assert instance.cpu_ms_per_request + cycles * instance.cycle_ms(rows + 1) > budget * (1 - 1e-6)


@given(instance=instances(lines()), requests=st.integers(1, 1000), more=st.integers(0, 200))
def test_more_requests_at_once_never_carry_less_and_never_more_than_capacity(instance: Instance, requests: int, more: int) -> None:
    rate = saturated_rows_per_second(instance, requests)
    assert 0.0 < rate <= saturated_rows_per_second(instance, requests + more) * JUST_ABOVE
    assert rate <= instance.capacity_rows_per_second * JUST_ABOVE
    assert 1.0 <= saturated_batch_rows(instance, requests) <= instance.max_batch_rows


@given(instance=instances(lines()), requests=st.integers(1, 300), first=st.floats(0.0, 5_000.0), second=st.floats(0.0, 5_000.0))
def test_a_longer_timeout_never_carries_more(instance: Instance, requests: int, first: float, second: float) -> None:
    short, long = sorted((first, second))
    rates = [saturated_rows_per_second(instance, requests, batch_timeout_ms=timeout) for timeout in (short, long)]
    assert rates[1] <= rates[0] * JUST_ABOVE
    if timeout_limits(instance, requests, batch_timeout_ms=long):
        assert rates[1] <= 1000.0 * requests / long


@given(instance=instances(lines()), load=loads)
def test_the_concurrency_for_a_rate_carries_it(instance: Instance, load: float) -> None:
    rate = load * instance.capacity_rows_per_second
    needed = concurrency_for_rate(instance, rate)
    assert needed is not None
    assert needed == concurrency_for_batch(instance, instance.mean_batch_rows(rate))
    assert instance.rows_per_second_at(saturated_batch_rows(instance, needed)) >= rate / JUST_ABOVE


@given(
    instance=instances(),
    concurrency=st.integers(1, 1000),
    threads=st.integers(2, 1000),
    grpc=st.booleans(),
    timeout=st.sampled_from([0.0, 5.0, 5_000.0]),
)
def test_an_instance_carries_no_more_than_any_of_its_limits(
    instance: Instance, concurrency: int, threads: int, timeout: float, *, grpc: bool
) -> None:
    admission = Admission(concurrency=concurrency, server_threads=threads, protocol="grpc" if grpc else "rest")
    found = carried(instance, admission, batch_timeout_ms=timeout)
    assert 0.0 < found.rows_per_second <= saturated_rows_per_second(instance, admission.requests, batch_timeout_ms=timeout)
    assert found.rows_per_second <= cpu_rows_per_second(instance, batch_rows=found.batch_rows)
    assert 0.0 <= found.device_busy <= 1.0
    assert 0.0 <= found.cpu_busy <= JUST_ABOVE


@given(instance=instances(), rate=st.floats(0.1, 10_000.0))
def test_the_batch_that_the_cpu_leaves_is_one_that_it_carries(instance: Instance, rate: float) -> None:
    rows = cpu_limited_batch_rows(instance, rate)
    if rows is None:
        assert cpu_rows_per_second(instance) <= rate * JUST_ABOVE
    else:
        assert cpu_rows_per_second(instance, batch_rows=rows) >= rate / JUST_ABOVE
        assert rows >= instance.mean_batch_rows(rate)
    assert cpu_busy(instance, rate) >= 0.0


@given(rows=st.integers(1, 256), requests=st.integers(1, 1000), largest=st.integers(1, 64), splitting=st.booleans())
def test_the_queue_that_is_never_full_is_the_shortest(rows: int, requests: int, largest: int, *, splitting: bool) -> None:
    found = enqueued_batches_never_full(max_batch_rows=rows, requests=requests, max_request_rows=largest, splitting=splitting)
    if found is None:
        assert largest > rows
        return
    fits = [
        never_full(max_batch_rows=rows, max_enqueued_batches=batches, requests=requests, max_request_rows=largest, splitting=splitting)
        for batches in (found, found - 1)
    ]
    assert fits == [True, False]


@given(instance=instances(lines()), load=loads, share=st.floats(1e-9, 0.5))
def test_the_queue_for_a_share_keeps_it_and_a_shorter_one_does_not(instance: Instance, load: float, share: float) -> None:
    rate = load * instance.capacity_rows_per_second
    found = enqueued_batches_for_share(instance, rate, share=share)
    assert found is not None
    assert full_share_bound(instance, rate, max_enqueued_batches=found) <= share * (1 + 1e-6)
    if found > 1:
        assert full_share_bound(instance, rate, max_enqueued_batches=found - 1) > share * (1 - 1e-6)


@given(instance=instances(), slo=st.floats(1.0, 1_000.0), rate=st.floats(0.0, 1e5), concurrency=st.integers(1, 1000))
def test_a_plan_keeps_the_objective_on_each_of_its_instances(instance: Instance, slo: float, rate: float, concurrency: int) -> None:
    planned = planned_rows_per_second(instance, slo_ms=slo, cpu_target=0.9)
    count = instances_needed(rate, planned_rows_per_second=planned)
    if count is None:
        assert planned == 0.0
        return
    assert rate / count <= planned * (1 + 1e-6)
    assert p99_ms(instance, rate / count) <= 0.9 * slo * (1 + 1e-3)
    assert 0.10 <= concurrency_target(instance, concurrency=concurrency, rows_per_second=rate / count) <= 0.95


@settings(max_examples=40, deadline=None)
@given(
    time=st.one_of(lines(), tables()).filter(lambda time: time.total_ms(1) > 0.1),
    rows=st.integers(1, 24),
    load=st.floats(0.05, 0.85),
)
def test_the_chain_keeps_the_laws_of_every_queue(time: BatchTime, rows: int, load: float) -> None:
    rate = load * 1000.0 * rows / time.total_ms(rows)
    found = one_thread(time, max_batch_rows=rows, rows_per_second=rate)
    assert 1.0 - 1e-9 <= found.mean_batch_rows <= rows + 1e-9
    assert 0.0 < found.busy <= 1.0 + 1e-9
    assert found.mean_ms >= time.total_ms(1) * (1 - 1e-9)
    assert found.reached[-1] == pytest.approx(1.0)
    assert found.quantile_ms(0.5) <= found.quantile_ms(0.99)
    # What comes in goes out: a batch is so many rows, and there are so many batches.
    spans = found.mean_batch_rows / rate * 1000.0
    assert spans * found.busy <= time.total_ms(rows) * (1 + 1e-6)
    # The mean of the distribution is the mean that Little's law gives.
    steps = [after - before for before, after in zip((0.0, *found.reached), found.reached, strict=False)]
    assert sum(at * found.step_ms * share for at, share in enumerate(steps)) == pytest.approx(found.mean_ms, rel=0.01)
