"""Trimtab in the loop of the simulated world: it hears of trouble from alerts only, and mends it by writing to Cloud Run."""

from typing import Any

import pytest

from cli.steered import Steered, steered
from shared.records.service import Autonomy
from shared.records.signals import Signal
from shared.simulation.world.workload import Steady, Workload
from tests.support.running import SMALL, running, told

MINUTES = 12


def run(*, seed: int = 1, rate: float = 4000, minutes: int = MINUTES, over_grpc: bool = False, **more: Any) -> Steered:
    given = {"running": running(), "document": told(), **more}
    return steered(
        given.pop("running"),
        given.pop("document"),
        SMALL,
        Workload(Steady(rate)),
        good_ms=50.0,
        seed=seed,
        duration_s=60.0 * minutes,
        lag_s=60.0,
        over_grpc=over_grpc,
        **given,
    )


def watching() -> Any:
    """A spec under which Trimtab only watches."""
    document = told()
    return document.model_copy(update={"spec": document.spec.model_copy(update={"autonomy": Autonomy.RECOMMEND})})


@pytest.fixture(scope="module")
def over_grpc() -> Steered:
    return run(over_grpc=True)


def test_the_loop_of_the_defaults_under_load_hears_the_alert_and_deploys(over_grpc: Steered) -> None:
    assert (over_grpc.alerts[0].signal, over_grpc.alerts[0].opened_s) == (Signal.THREAD_GAP, 180.0)
    assert over_grpc.span(0, 180).goodput == pytest.approx(0.111, abs=0.01)
    assert over_grpc.platform_writes == len(over_grpc.writes) >= 2
    assert over_grpc.refused_deliveries == 0
    new = over_grpc.revisions[-1]
    assert new.at_s == over_grpc.writes[0].at_s
    assert new.revision.server.batching is not None


def test_decisions_are_the_stored_ones_in_order(over_grpc: Steered) -> None:
    times = [each.at_s for each in over_grpc.decisions]
    assert times == sorted(times)
    assert times[0] >= 180
    assert Signal.THREAD_GAP in over_grpc.decisions[0].decision.signals


def test_the_new_revision_serves_only_after_it_was_ready(over_grpc: Steered) -> None:
    made = over_grpc.revisions[-1].at_s
    promoted = next(each.at_s for each in over_grpc.writes if "traffic" in each.mask and each.at_s > made)
    assert promoted >= made + 25
    assert over_grpc.span(made, promoted).goodput == pytest.approx(0.111, abs=0.01)
    assert (over_grpc.span(promoted + 120).goodput or 0) > 0.99


def test_the_same_seed_tells_the_same_story_whichever_way_cloud_run_is_reached(over_grpc: Steered) -> None:
    again = run()
    assert again.result == over_grpc.result
    assert again.decisions == over_grpc.decisions
    assert again.alerts == over_grpc.alerts
    assert again.writes == over_grpc.writes


def test_another_seed_tells_another() -> None:
    assert run(seed=2, minutes=5).result != run(seed=1, minutes=5).result


def test_without_the_right_to_act_nothing_is_written_and_nothing_changes() -> None:
    only_watched = run(document=watching())
    assert only_watched.writes == ()
    assert len(only_watched.revisions) == 1
    assert only_watched.decisions
    assert only_watched.result.goodput == pytest.approx(0.111, abs=0.01)


def test_without_tf_servings_own_metrics_nobody_hears_of_the_threads() -> None:
    blind = run(scraped=False, document=watching())
    assert Signal.THREAD_GAP not in {each.signal for each in blind.alerts}


def test_a_run_has_full_minutes() -> None:
    with pytest.raises(ValueError, match="duration_s is 90: a run has full minutes"):
        steered(running(), told(), SMALL, Workload(Steady(10.0)), good_ms=50.0, seed=1, duration_s=90.0)
