"""Specs, holds, rollbacks, others' edits, bad versions and quota cuts in any order: what must hold whatever happens."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from shared.records.subject import Wake
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from shared.simulation.cloud_run_errors import SimulatedError
from tests.scenarios.test_template_changes import GOLDEN, NAME, Town, _split, document, edit
from tests.support.builders import RANKER

LOOKS_OF_ONE_MOMENT = 60
SEEDS = range(20)


class Troubled(Town):
    """The rig with everything that can be wished of it, and what was seen that must not be."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.wrong: list[str] = []
        self.bad: dict[int, Outcome] = {}
        self._given = 0
        self._looks: dict[str, int] = {}
        super().__init__(document(golden_request=GOLDEN))
        self.cloud_run.set_behaviour(self._behaviour)

    def _behaviour(self, template: Any) -> Behaviour:
        config = next((each.value for each in template.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG"), "")
        found = (outcome for version, outcome in self.bad.items() if f"versions: {version}\n" in config)
        return Behaviour(outcome=next(found, Outcome.OK))

    def post(self, function: str, body: bytes, headers: Mapping[str, str] | None = None) -> int:
        before = len(self.writes())
        status = super().post(function, body, headers)
        if function != "reconcile":
            return status
        moment = self.clock.now().isoformat()
        self._looks[moment] = self._looks.get(moment, 0) + 1
        assert self._looks[moment] <= LOOKS_OF_ONE_MOMENT, "looks do not come to an end"
        written = len(self.writes()) - before
        if written > 1 or status == 500:
            self.wrong.append(f"{written} writes in one look, answered {status}")
        if written:
            self._check_traffic()
        return status

    def _check_traffic(self) -> None:
        ready = self.ready()
        asked = {each.revision for each in self.cloud_run.get_service(NAME).traffic if each.percent and each.revision}
        if asked - set(ready):
            self.wrong.append(f"traffic is asked for {asked - set(ready)}, which is not ready")

    def ready(self) -> list[str]:
        found = self.cloud_run.list_revisions(NAME)
        return [each.name.rsplit("/", 1)[-1] for each in found if any(one.type_ == "Ready" and one.state == 4 for one in each.conditions)]

    def give(self, command: str, **fields: Any) -> None:
        self._given += 1
        about: dict[str, Any] = {"all": True} if fields.pop("all_services", False) else {"service": str(RANKER)}
        self.bus.publish("commands", json.dumps({"command": command, "command_id": f"c{self._given}", **about, **fields}).encode())
        self.run()

    def apply_version(self, version: int, cpu: str = "4", high: int = 4) -> None:
        model = {"name": "ranker", "uri": "gs://acme-models/ranker", "version": version}
        memory = "16Gi" if cpu == "4" else "32Gi"
        spec = document(cpu=cpu, memory=memory, model=model, golden_request=GOLDEN).spec.to_stored()
        self.give("apply", spec={**spec, "scale": {"max_instance_count": high}})

    # -- what may happen

    def spec(self) -> None:
        self.apply_version(self.chance.choice([7, 8, 9, 10]), self.chance.choice("48"), self.chance.choice([2, 4, 6]))

    def hold(self) -> None:
        fields: dict[str, Any] = {
            "kind": self.chance.choice(["pause", "freeze", "pin"]),
            "hold_id": self.chance.choice("abc"),
            "reason": "r",
        }
        if self.chance.random() < 0.6:
            fields["minutes"] = self.chance.randint(5, 60)
        if fields["kind"] != "freeze" and self.chance.random() < 0.4:
            fields["fields"] = [self.chance.choice(["template", "scaling.max_instance_count"])]
        self.give("hold", **fields)

    def release(self) -> None:
        which: list[dict[str, Any]] = [{"all": True}, {"hold_id": "a"}, {"hold_id": "b"}]
        self.give("release", **self.chance.choice(which))

    def fleet(self) -> None:
        self.give("hold", all_services=True, reason="outage", minutes=self.chance.randint(3, 30))

    def rollback(self) -> None:
        names = [each.name.rsplit("/", 1)[-1] for each in self.cloud_run.list_revisions(NAME)]
        self.give("rollback", **self.chance.choice([{}, {"to_revision": self.chance.choice(names)}, {"to_revision": "ranker-nope-1"}]))

    def edited(self) -> None:
        self._by_kim(edit)

    def split(self) -> None:
        ready = self.ready()
        if len(ready) > 1:
            one, other = self.chance.sample(ready, 2)
            share = self.chance.choice([0, 30, 50])
            self._by_kim(lambda service: _split(service, {one: 100 - share, **({other: share} if share else {})}))

    def _by_kim(self, change: Callable[[Any], None]) -> None:
        try:
            self.cloud_run.change_by(NAME, "kim@example.com", edit=change)
        except SimulatedError as refusal:
            if "quota" not in refusal.text.lower():
                raise

    def spoilt(self) -> None:
        self.bad[self.chance.choice([8, 9])] = self.chance.choice([Outcome.DOES_NOT_LOAD, Outcome.CRASHES, Outcome.FAILS_TO_PREDICT])

    def quota(self) -> None:
        self.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, self.chance.choice([1, 2, 4, 16]))


HAPPENINGS = (
    Troubled.spec,
    Troubled.spec,
    Troubled.hold,
    Troubled.release,
    Troubled.fleet,
    Troubled.rollback,
    Troubled.edited,
    Troubled.split,
    Troubled.spoilt,
    Troubled.quota,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_is_wished_traffic_stays_on_what_is_ready_and_the_last_wish_is_served(seed: int) -> None:
    town = Troubled(seed)
    town.minutes(3)
    for _ in range(town.chance.randint(6, 14)):
        town.chance.choice(HAPPENINGS)(town)
        if town.chance.random() < 0.5:
            town.bus.publish_wakes([Wake.of(RANKER, "changed")])
            town.run()
        town.minutes(town.chance.choice([0, 1, 1, 2, 3, 5, 12, 30, 70]))
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 16)
    town.bad.clear()
    town.give("release", all_services=True)
    town.give("release", all=True)
    town.apply_version(20 + seed % 5)
    town.minutes(150)
    assert town.wrong == []
    assert (town.condition()[0], town.state().rollout) == ("True", None), town.condition()
    assert town.cloud_run.get_service(NAME).terminal_condition.state == 4
    settled = len(town.writes())
    town.minutes(60)
    assert len(town.writes()) == settled
