"""A repair while processes die, replies are lost and calls fail, from the alert on: the end is the same.

Each write to Cloud Run meets all three, each commit one of them in turn. On the way there: one candidate template, and traffic only on
revisions that are ready.
"""

from functools import cache
from typing import Any, get_args

import pytest

from shared.rendering.names import read_revision_name
from tests.scenarios.test_template_changes import NAME
from tests.support.repairs import Clinic, exhausted, readings, sound
from tests.support.tracing import Fault, Trace

SECONDS_TO_A_VERDICT = 480
"""Of a trial, nothing can be judged so long; no tick is needed."""

ELSEWHERE = {"store.begin_tick", "store.create_fact", "bus.publish_wakes"}
"""The effects of alerts and of the schedule have stories of their own; a wake that is lost costs a tick."""


class Watched(Clinic):
    """The service with somebody who looks every minute where the traffic is."""

    def minutes(self, count: int) -> None:
        for _ in range(count):
            super().minutes(1)
            for revision in self.traffic():
                conditions = self.cloud_run.get_revision(f"{NAME}/revisions/{revision}").conditions
                assert any(each.type_ == "Ready" and each.state.name == "CONDITION_SUCCEEDED" for each in conditions), revision


def tell(trace: Trace, *, helps: bool, from_trial: bool = False) -> dict[str, Any]:
    """An alert, its repair, the verdict on it; what is left in the end."""
    town = Watched()
    town.metrics.set(exhausted())
    town.clock.advance(600)
    if not from_trial:
        town.start_process(trace)
    town.alarm()
    town.until("on-trial", minutes=15)
    town.metrics.set(sound() if helps else readings(served={"OK": 10}))
    town.alarm(state="closed")
    town.clock.advance(SECONDS_TO_A_VERDICT)
    if from_trial:
        town.start_process(trace)
    town.until("kept" if helps else "reverted", minutes=20)
    town.minutes(3)
    state = town.state()
    return {
        "traffic": {read_revision_name(revision) or revision: percent for revision, percent in town.traffic().items()},
        "revisions": town.revisions(),
        "quarantined": [each.revision for each in state.quarantined],
        "repair": (town.phase(), len(state.repairs_asked_at), state.rollout),
        "writes": town.writes(),
        "template": town.cloud_run.get_service(NAME).template.revision,
        "condition": town.condition()[:2],
        "recorded": sorted(set(town.repairs())),
        "open": state.open_incident_count,
        "bugs": [status for status in town.statuses if status[1] == 500],
    }


@cache
def undisturbed(*, helps: bool, from_trial: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    trace = Trace()
    return tell(trace, helps=helps, from_trial=from_trial), tuple(trace.effects)


def test_the_story_is_worth_disturbing() -> None:
    end, effects = undisturbed(helps=False, from_trial=False)
    assert end["recorded"] == [("ask", "asked"), ("judge", "reverted"), ("judge", "reverting")]
    assert (end["condition"], len(end["revisions"]), len(end["writes"])) == (("False", "NotTakenOver"), 3, 4)
    assert {"platform.update_service", "platform.restore_template", "store.commit", "bus.publish_wakes"} <= set(effects)


def test_the_story_with_a_good_end_is_worth_disturbing() -> None:
    end, _ = undisturbed(helps=True, from_trial=True)
    assert end["recorded"] == [("ask", "asked"), ("judge", "kept")]
    assert (end["condition"], len(end["revisions"]), len(end["writes"])) == (("True", "Served"), 3, 2)


@pytest.mark.parametrize(("helps", "from_trial"), [(False, False), (True, True)])
def test_whatever_breaks_wherever_the_repair_ends_the_same(*, helps: bool, from_trial: bool) -> None:
    end, effects = undisturbed(helps=helps, from_trial=from_trial)
    different = {}
    faults = get_args(Fault)
    for number, effect in enumerate(effects, start=1):
        if effect in ELSEWHERE:
            continue
        for fault in faults if effect.startswith("platform.") else faults[number % 3 :][:1]:
            trace = Trace(fault=fault, at=number)
            if (other := tell(trace, helps=helps, from_trial=from_trial)) != end:
                different[f"{fault} at {number}: {effect}"] = {key: (end[key], other[key]) for key in end if end[key] != other[key]}
            assert trace.struck
    assert different == {}
