"""The process may die after any side effect, any reply may be lost, any call may fail: the end is the same.

The side effects are not sampled. A run without faults counts them; then the same story is told once for each of them and each kind
of fault, and must end with the same bounds, the same specs and holds, the same incidents, the same parked entries, the same writes to
Cloud Run, and the same told to others.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, get_args

import pytest

from shared import ports
from shared.cloudrun.refusals import classify
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from tests.support.audits import entry
from tests.support.builders import RANKER, at
from tests.support.rig import Rig
from tests.support.specs import TYPICAL
from tests.support.tracing import EFFECTS, READS, Fault, Trace, Traced

NAME = RANKER.resource_name
OLD = ServiceId(project="acme-ml", region="europe-west1", name="old")
SERVING: dict[str, Any] = {**TYPICAL, "protocol": "rest", "start_up_seconds": 60}


class Teller(Rig):
    """The rig with everything traced that a story can change: what is told to others, the way back of parked events, deletions."""

    told: list[str]

    def start_process(self, trace: Trace) -> None:
        super().start_process(trace)
        if not hasattr(self, "told"):
            self.told = []
            self.bus.subscribe("events", "events")
        events = Traced("events", self.bus, trace)
        redriver = Traced("redriver", self.command_ports.redriver, trace)
        deleter = Traced("deleter", Deleter(self.cloud_run), trace)
        self.command_ports = replace(self.command_ports, events=events, redriver=redriver, deleter=lambda: deleter)
        self.reconcile_ports = replace(self.reconcile_ports, events=events)

    def post(self, function: str, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        if function != "events":
            return super().post(function, body, headers)
        self.told.append(json.loads(body)["message"]["attributes"]["ce-id"])
        return 200

    def give(self, command: str, command_id: str, **fields: Any) -> None:
        """The command over the bus, twice."""
        about = {} if "all" in fields or command in {"redrive", "discard"} else {"service": str(fields.pop("service", RANKER))}
        body = json.dumps({"command": command, "command_id": command_id, **about, **fields}).encode()
        for _ in range(2):
            self.bus.publish("commands", body)
        self.run()

    def revisions(self) -> list[tuple[int, int]]:
        """Of each revision, oldest first: its memory in GiB and its share of the traffic."""
        shares = {each.revision: each.percent for each in self.cloud_run.get_service(NAME).traffic_statuses if each.percent}
        found = reversed(self.cloud_run.list_revisions(NAME))
        return [
            (int(each.containers[0].resources.limits["memory"].removesuffix("Gi")), shares.get(each.name.rsplit("/", 1)[-1], 0))
            for each in found
        ]


class Deleter:
    """Deletes from the simulated Cloud Run."""

    def __init__(self, cloud_run: SimulatedCloudRun) -> None:
        self._cloud_run = cloud_run

    def delete_service(self, service: ServiceId) -> None:
        try:
            self._cloud_run.delete_service(service.resource_name)
        except SimulatedError as error:
            raise classify(error.status, error.text) from error


def alerts(trace: Trace) -> dict[str, Any]:
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
    return common(rig) | {
        "open": state.open_incident_count,
        "tombstones": state.tombstones,
        "resting": (state.resting_max, state.floor, state.act, state.next_look_at),
        "attempts": [len(attempts.at) for attempts in state.attempts],
    }


def commands(trace: Trace) -> dict[str, Any]:
    """An apply, a hold against a patch, the release, a rollback to what was there before; each comes twice. What is left in the end."""
    rig = Teller(trace=trace, demand=1, known_service=False)
    spec = {"scale": {"max_instance_count": 4}, "autonomy": "act", "serving": SERVING}
    rig.give("apply", "k1", spec=spec)
    rig.minutes(5)
    rig.give("hold", "k2", hold_id="launch", kind="pause", reason="launch day")
    rig.give("patch", "k3", patch={"scale": {"min_instance_count": 1}}, if_generation=1)
    rig.minutes(1)
    rig.give("release", "k4", hold_id="launch")
    rig.minutes(2)
    rig.give("reconcile", "k5")
    rig.give("rollback", "k6")
    rig.minutes(17)
    return common(rig) | of_commands(rig)


def tidying(trace: Trace) -> dict[str, Any]:
    """A hold of all services and its release; a command that came too early, given back; the other one dropped; a deletion.

    Each comes twice. What is left in the end.
    """
    rig = Teller(trace=trace, demand=1)
    rig.give("hold", "f1", all=True, hold_id="outage", reason="regional outage")
    rig.give("hold", "o1", service=OLD, hold_id="launch", reason="before there is a spec")
    rig.bus.publish("alerts", b"junk")
    rig.run()
    rig.minutes(1)
    rig.give("release", "f2", all=True)
    rig.give("apply", "o2", service=OLD, spec={"scale": {"max_instance_count": 4}})
    rig.minutes(1)
    early = sorted(each.key for each in rig.store.parked(limit=9) if each.source == "command")
    rig.give("redrive", "f3", key=early[0])
    rig.give("discard", "f4", key=early[1])
    rig.give("delete", "f5", delete_cloud_run_service="yes-delete-the-cloud-run-service")
    rig.minutes(3)
    there = [each.name for each in rig.cloud_run.list_services("projects/acme-ml/locations/europe-west1")]
    held = rig.store.read(OLD)
    assert held.document is not None
    return (
        common(rig, served=False)
        | of_commands(rig, served=False)
        | {"there": there, "early": len(early), "held": [hold.hold_id for hold in held.document.holds], "fleet": held.fleet}
    )


def audits(trace: Trace) -> dict[str, Any]:
    """A person lowers the maximum, the entry of it comes twice; an entry of ours, junk, and one about a service nobody knows."""
    rig = Teller(trace=trace, demand=2)
    rig.minutes(1)
    rig.cloud_run.change_by(NAME, "kim@example.com", max_instance_count=2)
    for _ in range(2):
        rig.bus.publish("changes", entry(RANKER, "a1", principal="kim@example.com", at=rig.clock.now()))
    rig.bus.publish("changes", entry(RANKER, "a2", at=rig.clock.now()))
    rig.bus.publish("changes", b"junk")
    rig.bus.publish("changes", entry(OLD, "a3", principal="kim@example.com", at=rig.clock.now()))
    rig.minutes(3)
    rig.load.set_demand(RANKER, 3)
    rig.notify(started_at=at(250))
    rig.minutes(4)
    rig.clock.advance(3_600)
    rig.minutes(6)
    state = rig.state()
    return common(rig) | {
        "told": told(rig),
        "theirs": [(each.field, each.theirs, each.modifier) for each in state.foreign_changes],
        "open": state.open_incident_count,
    }


def common(rig: Rig, *, served: bool = True) -> dict[str, Any]:
    state = rig.store.read(RANKER).state
    return {
        "bounds": rig.bounds() if served else None,
        "writes": rig.writes(),
        "desired": state and state.desired and state.desired.bounds,
        "parked": sorted((entry.source, entry.code) for entry in rig.store.parked(limit=50)),
        "dead letters": len(rig.bus.dead_letters),
        "bugs": [status for status in rig.statuses if status[1] == 500],
    }


def of_commands(rig: Teller, *, served: bool = True) -> dict[str, Any]:
    document = rig.store.read(RANKER).document
    return {
        "spec": document and (document.generation, document.spec),
        "holds": document and [hold.hold_id for hold in document.holds],
        "pinned": document and document.pin and document.pin.author,
        "revisions": rig.revisions() if served else None,
        "told": told(rig),
    }


def told(rig: Teller) -> dict[str, Any]:
    """The kinds of what was told, a repeat under the same id counted once; and of the recorded decisions those that were not.

    How many decisions there are is not the same whatever breaks: what was not known to be written is a decision of its own.
    """
    recorded = {f"decision:{each.decision_id}" for each in rig.store.decisions(RANKER, limit=500)}
    heard = set(rig.told)
    kinds = sorted(each.partition(":")[0] for each in heard if not each.startswith("decision:"))
    return {"kinds": kinds, "decided": bool(recorded), "untold": sorted(recorded - heard)}


STORIES: Mapping[str, Callable[[Trace], dict[str, Any]]] = {story.__name__: story for story in (alerts, commands, tidying, audits)}


@cache
def undisturbed(story: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    trace = Trace()
    return STORIES[story](trace), tuple(trace.effects)


LOOKS = {"store.begin_tick", "store.commit", "bus.publish_wakes", "platform.update_scaling"}


def test_the_story_of_alerts_is_worth_disturbing() -> None:
    end, effects = undisturbed("alerts")
    assert end["bounds"] == (0, 4)
    assert len(end["writes"]) == 4
    assert set(effects) == {*LOOKS, "store.create_fact", "store.park"}


def test_the_story_of_commands_is_worth_disturbing() -> None:
    end, effects = undisturbed("commands")
    assert (end["bounds"], end["revisions"], end["holds"], end["pinned"]) == ((1, 4), [(16, 100), (16, 0)], [], "command")
    assert (end["spec"][0], end["parked"]) == (2, [])
    assert end["told"] == {"kinds": ["hold", "hold", "rollout", "rollout"], "decided": True, "untold": []}
    templates = {"platform.update_service", "platform.restore_template"}
    assert set(effects) == {*LOOKS, *templates, "store.commit_spec", "store.create_command", "events.publish_events"}


def test_the_story_of_tidying_up_is_worth_disturbing() -> None:
    end, effects = undisturbed("tidying")
    assert (end["spec"], end["there"], end["fleet"].hold, end["parked"]) == (None, [], None, [("alert", "unparsable")])
    assert (end["early"], end["held"]) == (2, ["launch"])
    assert set(effects) >= {"store.commit_fleet", "store.discard_parked", "redriver.republish", "deleter.delete_service"}


def test_the_story_of_audit_entries_is_worth_disturbing() -> None:
    end, effects = undisturbed("audits")
    assert (end["bounds"], end["writes"]) == ((3, 4), [("scaling.max_instance_count",), ("scaling.min_instance_count",)])
    assert end["parked"] == [("audit", "unparsable")]
    assert set(effects) == {*LOOKS, "store.create_fact", "store.park", "events.publish_events"}


@pytest.mark.parametrize("fault", get_args(Fault))
@pytest.mark.parametrize("story", STORIES)
def test_whatever_breaks_wherever_the_end_is_the_same(story: str, fault: Fault) -> None:
    end, effects = undisturbed(story)
    different = {}
    for number, effect in enumerate(effects, start=1):
        trace = Trace(fault=fault, at=number)
        if (other := STORIES[story](trace)) != end:
            different[f"{fault} at {number}: {effect}"] = {key: (end[key], other[key]) for key in end if end[key] != other[key]}
        assert trace.struck
    assert different == {}


def test_every_method_of_every_port_is_known_to_change_the_outside_or_to_leave_it_as_it_is() -> None:
    protocols = [kind for _, kind in inspect.getmembers(ports, inspect.isclass) if kind.__module__ == ports.__name__]
    methods = {name for kind in protocols for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    reads = [name for names in READS.values() for name in names]
    assert not set(EFFECTS) & set(reads)
    assert {*EFFECTS, *reads} == methods
