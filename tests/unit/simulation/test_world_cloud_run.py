"""The simulated Cloud Run: who waits for an instance, when instances start and end, revisions, quota, and what is billed."""

import statistics

import pytest

from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.simulation.world.workload import Bursty, Diurnal, Flash, Recorded, Replay, Retries, Sizes, Steady, Workload
from shared.simulation.world.world import AddRevision, SetBounds, SetQuota, SetTraffic, World, simulate

MODEL = ModelTimes.affine(20.0, 0.0)
"""50 requests a second on one instance without batching."""


def revision(model: ModelTimes = MODEL, **cloud_run: float) -> Revision:
    return Revision(model, ServerSettings(server_threads=1000), CloudRunSettings(**cloud_run))  # type: ignore[arg-type]  # some are whole numbers


def world(rate: float, made: Revision, *, warm: int = 1, quota: int | None = None, retries: Retries | None = None) -> World:
    workload = Workload(Steady(rate), retries=retries or Retries())
    return World(workload, made, good_ms=1_000, seed=5, warm_instances=warm, quota=quota)


def test_the_first_request_starts_an_instance_and_waits_for_it() -> None:
    trace = Recorded((2.0,), (1,))
    run = World(trace, revision(start_s=30.0), good_ms=1_000, seed=1, warm_instances=0)
    run.run_until(120)
    assert run.result(0).p50_ms == pytest.approx(30_020, rel=0.01)
    assert run.result(0).goodput == 0.0


def test_who_waits_too_long_for_an_instance_is_refused() -> None:
    trace = Recorded((1.0,) * 30, (1,) * 30)
    slow = ModelTimes.affine(1_000.0, 0.0)
    run = World(trace, revision(slow, concurrency=1, max_instances=1, min_instances=1, start_s=2.0), good_ms=1e6, seed=1, warm_instances=1)
    run.run_until(60)
    # Ten seconds, which is more than three and a half starts: the one at work, nine after it, and the one that comes in at the tenth.
    refused = run.result(0).errors["instance-cap-reached"] * 30
    assert refused in {19, 20}


def test_below_the_maximum_the_refusal_is_for_a_start_that_takes_too_long() -> None:
    run = World(Recorded((1.0,), (1,)), revision(start_s=2.0), good_ms=1_000, seed=1, warm_instances=0, quota=0)
    run.run_until(9)
    run.apply(SetQuota(5))
    run.run_until(60)
    assert run.result(0).errors == {"scale-out-lag": 1.0}


def test_a_wait_longer_than_the_requests_own_time_is_a_timeout() -> None:
    run = World(Recorded((1.0,), (1,)), revision(start_s=100.0, timeout_s=60.0), good_ms=1_000, seed=1, warm_instances=0)
    run.run_until(120)
    assert run.result(0).errors == {"request-timeout": 1.0}


@pytest.mark.parametrize(("concurrency_target", "cpu_target"), [(0.6, None), (None, 0.6)])
def test_instances_follow_requests_at_once_or_cpu(concurrency_target: float | None, cpu_target: float | None) -> None:
    # 500 requests a second of 20 ms are ten at once and ten CPUs; an instance is wanted for each 4.8 of either.
    cloud_run = CloudRunSettings(
        concurrency=8, vcpus=8, concurrency_target=concurrency_target, cpu_target=cpu_target, scale_in_hold_s=10.0, start_s=5.0
    )
    made = Revision(ModelTimes.affine(0.001, 0.0, cpu_ms_per_request=20.0), ServerSettings(), cloud_run)
    result = simulate(Workload(Steady(500)), made, good_ms=1_000, seed=2, duration_s=600, warm_instances=1)
    assert result.goodput == pytest.approx(1.0, abs=0.01)
    assert statistics.median(minute.instances for minute in result.series) == pytest.approx(3.0, abs=0.5)  # those who wait start one more


def test_a_fixed_number_of_instances_is_billed_by_the_second() -> None:
    result = simulate(
        Workload(Steady(10)), revision(min_instances=3, max_instances=3), good_ms=1_000, seed=2, duration_s=600, warm_instances=3
    )
    assert result.mean_instances == pytest.approx(3.0)
    price = CloudRunSettings().usd_per_instance_s
    assert result.goodput == 1.0
    assert result.usd_per_million_good == pytest.approx(3 * 600 * price / result.requests * 1e6)


def test_an_instance_that_is_not_wanted_is_held_and_then_ends() -> None:
    run = World(
        Workload(Replay((0.0, 60.0), (40.0, 0.0))),
        revision(min_instances=0, scale_in_hold_s=120.0),
        good_ms=1_000,
        seed=1,
        warm_instances=1,
    )
    run.run_until(420)
    series = run.result(0).series
    assert series[1].instances == 1.0
    assert series[6].instances == 0.0


def test_as_many_instances_are_held_as_were_wanted_at_any_time_of_the_hold() -> None:
    # Six requests at once for each instance, of 200 ms: three instances for 75 a second, two for 45, one for 15.
    made = Revision(
        ModelTimes.affine(0.001, 0.0, cpu_ms_per_request=200.0),
        ServerSettings(),
        CloudRunSettings(concurrency=20, concurrency_target=0.3, vcpus=8, cpu_target=None, scale_in_hold_s=300.0),
    )
    run = World(Workload(Replay((0.0, 300.0, 480.0), (75.0, 45.0, 15.0))), made, good_ms=1_000, seed=1, warm_instances=3)
    run.run_until(960)
    instances = [minute.instances for minute in run.result(0).series]
    assert (instances[9], instances[12], instances[15]) == pytest.approx((3.0, 2.0, 1.0))
    assert run.wanted == {"00001": 1}


def test_requests_that_wait_for_an_instance_count_as_requests_at_once() -> None:
    # Ten are worked on and thirty wait: three instances have room for those, and for forty at once seven are wanted (six on each).
    times = tuple(0.01 * place for place in range(40))
    made = revision(ModelTimes.affine(100_000.0, 0.0), concurrency=10, start_s=1_000.0)
    run = World(Recorded(times, (1,) * 40), made, good_ms=60_000, seed=1, warm_instances=1)
    run.run_until(60)
    assert run.instances["00001"] == 7


def test_a_lower_maximum_ends_instances_at_once() -> None:
    run = world(10, revision(min_instances=5))
    run.run_until(120)
    run.apply(SetBounds("00001", 0, 2))
    run.run_until(240)
    assert run.result(0).series[1].instances == pytest.approx(5.0, abs=0.1)
    assert run.result(0).series[3].instances == pytest.approx(2.0)


def test_a_higher_minimum_needs_no_revision_but_a_start() -> None:
    run = world(10, revision(start_s=30.0, min_instances=1))
    run.run_until(120)
    run.apply(SetBounds("00001", 3, 10))
    run.run_until(240)
    assert run.result(0).revisions == 1
    assert run.metrics(lag_s=0)["run.googleapis.com/container/startup_latencies count [starts]"] == 3  # with the warm one at the beginning
    assert run.result(0).series[3].instances == pytest.approx(3.0)


def test_the_quota_stops_the_autoscaler() -> None:
    run = world(200, revision(max_instances=20, concurrency=10), quota=2)
    run.run_until(600)
    assert max(minute.instances for minute in run.result(0).series) == pytest.approx(2.0)
    assert "instance-cap-reached" in run.result(0).errors


def test_a_wider_quota_lets_it_go_on() -> None:
    run = world(200, revision(max_instances=20, concurrency=10), quota=2)
    run.run_until(600)
    run.apply(SetQuota(10))
    run.run_until(1_200)
    assert run.result(0).series[-1].goodput == pytest.approx(1.0, abs=0.05)


def test_a_new_revision_gets_its_share_and_the_old_one_ends_without_any() -> None:
    run = world(20, revision(min_instances=1))
    run.run_until(60)
    run.apply(AddRevision("00002", revision(ModelTimes.affine(5.0, 0.0), min_instances=1, start_s=10.0)))
    run.run_until(120)
    run.apply(SetTraffic({"00001": 0.5, "00002": 0.5}))
    run.run_until(300)
    half = run.result(180).series[-1]
    assert half.p50_ms is not None
    assert 5 <= half.p50_ms <= 20
    run.apply(SetTraffic({"00002": 1.0}))
    run.run_until(1_200)
    last = run.result(1_140)
    assert last.p50_ms == pytest.approx(5, rel=0.02)
    assert last.mean_instances == pytest.approx(1.0)
    assert last.revisions == 2


@pytest.mark.parametrize("shares", [{"00001": 0.5}, {"00001": 1.5}, {"00009": 1.0}])
def test_shares_must_be_parts_of_one_of_revisions_that_exist(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"shares|revision"):
        world(1, revision()).apply(SetTraffic(shares))


def test_a_revision_never_changes_under_its_name() -> None:
    with pytest.raises(ValueError, match="exists"):
        world(1, revision()).apply(AddRevision("00001", revision()))


def test_clients_that_retry_get_through_later() -> None:
    threads = Revision(ModelTimes.affine(50.0, 0.0), ServerSettings(), CloudRunSettings(min_instances=1, max_instances=1))
    trace = Recorded((1.0,) * 24, (1,) * 24)
    once = World(trace, threads, good_ms=5_000, seed=1, warm_instances=1)
    often = World(Recorded(trace.times_s, trace.rows, Retries(tries=6, backoff_s=0.5)), threads, good_ms=60_000, seed=1, warm_instances=1)
    for each in (once, often):
        each.run_until(60)
    assert once.result(0).goodput == 16 / 24
    assert often.result(0).goodput == 1.0


def test_a_result_is_of_full_minutes_that_are_over() -> None:
    run = world(1, revision())
    run.run_until(90)
    with pytest.raises(ValueError, match="full minutes"):
        run.result(0)
    assert run.result(0, 60).requests > 0


def test_the_last_twenty_minutes_are_told_apart_in_a_longer_run() -> None:
    result = simulate(Workload(Flash(5, 100, 0, 900)), revision(max_instances=1), good_ms=1_000, seed=3, duration_s=2_400, warm_up_s=0)
    assert result.last_20_min is not None
    assert result.goodput is not None
    assert result.last_20_min.goodput == 1.0
    assert result.goodput < 0.5


@pytest.mark.parametrize(
    ("rate", "mean"),
    [
        (Steady(50), 50),
        (Bursty(25, 125), 45),
        (Diurnal(50, period_s=600), 50),
        (Flash(25, 150, 300, 300), 62.5),
        (Replay((0, 600), (20, 80)), 50),
    ],
)
def test_requests_come_at_the_rate_that_was_asked_for(rate: Steady, mean: float) -> None:
    result = simulate(Workload(rate), revision(max_instances=1), good_ms=1_000, seed=4, duration_s=1_200, warm_up_s=0)
    assert result.requests / 1_200 == pytest.approx(mean, rel=0.15)


def test_rates_are_in_rows_so_that_larger_requests_come_less_often() -> None:
    sizes = Sizes(16, 2.2)
    result = simulate(Workload(Steady(100), sizes), revision(), good_ms=1_000, seed=4, duration_s=1_200, warm_up_s=0)
    assert sizes.mean == pytest.approx(1.85, abs=0.05)
    assert result.requests * sizes.mean / 1_200 == pytest.approx(100, rel=0.03)


def test_advice_of_a_long_timeout_and_few_requests_at_once_gives_nothing_in_time() -> None:
    # 32 rows are never there with five requests at once: each batch waits its five seconds.
    rules = Batching(32, 5_000.0, 1_000)
    made = Revision(
        ModelTimes.affine(4.0, 0.25, host_ms=2.0, cpu_ms_per_request=0.5),
        ServerSettings(rules),
        CloudRunSettings(concurrency=5, max_instances=4),
    )
    result = simulate(Workload(Steady(200)), made, good_ms=50, seed=1, duration_s=300)
    assert result.goodput is not None
    assert result.goodput <= 0.02
