"""The process may die after any side effect, any reply may be lost, any call may fail: the end is the same.

The side effects are not sampled. A run without faults counts them; then the same story is told once for each of them and each kind
of fault, and must end with the same bounds, the same incidents, the same parked entries and the same writes to Cloud Run.
"""

from functools import cache
from typing import Any, get_args

import pytest

from tests.support.builders import RANKER, at
from tests.support.rig import Rig
from tests.support.tracing import Fault, Trace


def tell(trace: Trace) -> dict[str, Any]:
    """An open, junk, an unroutable alert, a second incident, the closes, the calm and the way down; what is left in the end."""
    rig = Rig(trace=trace)
    rig.minutes(1)
    rig.notify()
    rig.bus.publish("alerts", b"junk")
    rig.run()
    rig.notify("0.b2", started_at=at(70), resource={"type": "cloud_run_revision", "labels": {}})
    rig.minutes(3)
    rig.notify("0.c3", "closed", started_at=at(30))
    rig.notify("0.c3", started_at=at(30))
    rig.notify(state="closed")
    rig.run()
    rig.load.set_demand(RANKER, 2)
    rig.minutes(60)
    state = rig.state()
    return {
        "bounds": rig.bounds(),
        "writes": rig.writes(),
        "open": state.open_incident_count,
        "tombstones": state.tombstones,
        "desired": state.desired and state.desired.bounds,
        "resting": (state.resting_max, state.floor, state.act, state.next_look_at),
        "attempts": [len(attempts.at) for attempts in state.attempts],
        "parked": sorted(entry.code for entry in rig.store.parked(limit=50)),
        "dead letters": len(rig.bus.dead_letters),
        "bugs": [status for status in rig.statuses if status[1] == 500],
    }


@cache
def undisturbed() -> tuple[dict[str, Any], tuple[str, ...]]:
    trace = Trace()
    return tell(trace), tuple(trace.effects)


def test_the_undisturbed_story_is_worth_disturbing() -> None:
    end, effects = undisturbed()
    assert end["bounds"] == (0, 4)
    assert len(end["writes"]) == 4
    assert set(effects) == {"store.create_fact", "store.commit", "store.park", "bus.publish_wakes", "platform.update_scaling"}


@pytest.mark.parametrize("fault", get_args(Fault))
def test_whatever_breaks_wherever_the_end_is_the_same(fault: Fault) -> None:
    end, effects = undisturbed()
    different = {}
    for number, effect in enumerate(effects, start=1):
        trace = Trace(fault=fault, at=number)
        if tell(trace) != end:
            different[f"{fault} at {number}: {effect}"] = tell(Trace(fault=fault, at=number))
        assert trace.struck
    assert different == {}
