"""From a command to what Cloud Run serves: the command function and the whole of reconcile, in virtual time."""

import json
from typing import Any

from shared.handlers.answer import Reply
from shared.handlers.command import receive_command
from shared.records.plan import DenialCode
from shared.records.service import Autonomy, ScaleBounds, ServiceSpec
from shared.records.serving import ServingSpec
from tests.support.builders import RANKER
from tests.support.rig import Rig
from tests.unit.handlers.twins_command import ALICE, Scene, bearer

NAME = RANKER.resource_name
SERVING: dict[str, Any] = {
    "image": "tensorflow/serving:2.20.0-gpu",
    "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 7},
    "protocol": "rest",
    "accelerator": "nvidia-l4",
    "gpu_zonal_redundancy": False,
    "cpu": "4",
    "memory": "16Gi",
    "start_up_seconds": 300,
}
SPEC = ServiceSpec(scale=ScaleBounds(max_instance_count=4), autonomy=Autonomy.ACT, serving=ServingSpec.model_validate(SERVING)).to_stored()


class Town(Rig):
    """The rig, and a person with every right."""

    def __init__(self) -> None:
        super().__init__(demand=1, known_service=False)
        self.scene = Scene(store=self.store, bus=self.bus, clock=self.clock)  # type: ignore[arg-type]  # the rig's own, in place of twins
        self.given = 0

    def give(self, command: str, **fields: Any) -> dict[str, Any]:
        self.given += 1
        about = {} if fields.get("all") and command == "hold" else {"service": str(RANKER)}
        body = json.dumps({"command": command, "command_id": f"k{self.given}", **about, **fields}).encode()
        reply = receive_command(bearer(ALICE), lambda: body, self.scene.ports)
        assert isinstance(reply, Reply)
        self.run()
        return dict(reply.content)

    def traffic(self) -> dict[str, int]:
        return {each.revision: each.percent for each in self.cloud_run.get_service(NAME).traffic_statuses if each.percent}

    def revisions(self) -> list[str]:
        return [each.name.rsplit("/", 1)[-1] for each in reversed(self.cloud_run.list_revisions(NAME))]

    def denials(self) -> set[DenialCode]:
        return {denial.code for decision in self.store.decisions(RANKER, limit=20) for denial in decision.denials}


def bigger() -> dict[str, Any]:
    return {"serving": {"cpu": "8", "memory": "32Gi"}}


def test_an_apply_is_served_and_a_patch_after_it() -> None:
    town = Town()
    assert town.give("apply", spec=SPEC)["outcome"] == "done"
    town.minutes(12)
    assert town.traffic() == {town.revisions()[1]: 100}
    assert town.give("patch", patch=bigger())["generation"] == 2
    town.minutes(12)
    assert town.traffic() == {town.revisions()[2]: 100}


def test_the_same_apply_again_makes_no_revision() -> None:
    town = Town()
    town.give("apply", spec=SPEC)
    town.minutes(12)
    before = len(town.writes())
    assert town.give("apply", spec=SPEC)["generation"] == 1
    town.minutes(12)
    assert len(town.writes()) == before


def test_a_rollback_without_a_revision_goes_back_to_the_one_before_and_stays_until_the_spec_is_applied_again() -> None:
    town = Town()
    town.give("apply", spec=SPEC)
    town.minutes(12)
    (good,) = town.traffic()
    town.give("patch", patch=bigger())
    town.minutes(12)
    (bad,) = town.traffic()
    assert town.give("rollback")["outcome"] == "done"
    town.minutes(30)
    assert town.traffic() == {good: 100}
    town.give("apply", spec={**SPEC, "serving": {**SPEC["serving"], **bigger()["serving"]}})
    town.minutes(12)
    assert town.traffic() == {bad: 100}


def test_a_rollback_of_the_first_revision_goes_back_to_what_was_there_before_trimtab() -> None:
    town = Town()
    (theirs,) = town.revisions()
    town.give("apply", spec=SPEC)
    town.minutes(12)
    assert theirs not in town.traffic()
    town.give("rollback")
    town.minutes(12)
    assert town.traffic() == {theirs: 100}


def test_a_rollback_after_a_version_that_never_came_up_goes_back_to_what_served_before_this_one() -> None:
    town = Town()
    town.give("apply", spec=SPEC)
    town.minutes(12)
    (first,) = town.traffic()
    town.give("patch", patch=bigger())
    town.minutes(12)
    town.give("patch", patch={"serving": {"start_up_seconds": 200}})
    assert town.give("rollback")["detail"].startswith(f"all traffic to {next(iter(town.traffic()))}")
    town.minutes(12)
    assert first not in town.traffic()


def test_a_freeze_keeps_revisions_from_being_made_and_a_release_lets_them() -> None:
    town = Town()
    town.give("apply", spec=SPEC)
    town.minutes(12)
    before = town.revisions()
    town.give("hold", hold_id="launch", kind="freeze", reason="launch day")
    town.give("patch", patch={**bigger(), "scale": {"max_instance_count": 3}})
    town.minutes(12)
    assert town.revisions() == before
    assert town.bounds()[1] == 3
    assert DenialCode.HOLD in town.denials()
    town.give("release", hold_id="launch")
    town.minutes(12)
    assert len(town.revisions()) == len(before) + 1


def test_a_hold_of_all_services_stops_everything() -> None:
    town = Town()
    town.give("hold", all=True, reason="regional outage")
    town.give("apply", spec=SPEC)
    town.minutes(12)
    assert (town.writes(), DenialCode.FLEET_HOLD in town.denials()) == ([], True)


def test_a_deleted_service_is_left_alone() -> None:
    town = Town()
    town.give("apply", spec=SPEC)
    town.minutes(12)
    traffic, writes = town.traffic(), len(town.writes())
    town.give("delete")
    town.cloud_run.change_by(NAME, "kim@example.com", edit=lambda service: setattr(service.scaling, "max_instance_count", 9))
    town.minutes(30)
    assert (town.traffic(), len(town.writes()), town.store.read(RANKER).document) == (traffic, writes, None)
