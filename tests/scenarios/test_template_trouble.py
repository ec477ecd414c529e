"""What goes wrong with template changes: refused writes, revisions that are not there, holds that come in between, no room for long."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import tests.support.rig
from shared.errors import Retry
from shared.records.fleet import Fleet
from shared.records.rollout import RolloutPhase
from shared.records.service import Hold, HoldKind, Pin
from shared.records.subject import Wake
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from shared.simulation.gpu_service import gpu_service
from tests.scenarios.test_template_changes import NAME, Town, _split, concurrency, document
from tests.scenarios.test_uploads import BUCKET, FOLDER, Harbour
from tests.support.builders import RANKER
from tests.support.saved_models import SHARD


class Watched:
    """The platform of templates, with its updates counted; the next `lost` of them are lost on their way."""

    def __init__(self, town: Town) -> None:
        self._real: Any = town.reconcile_ports.templates
        self.updates: Counter[str] = Counter()
        self.lost = 0
        self._now = town.clock.now
        town.reconcile_ports = replace(town.reconcile_ports, templates=self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def update_service(self, *args: Any, **options: Any) -> Any:
        self.updates[f"{self._now():%H:%M}"] += 1
        if self.lost:
            self.lost -= 1
            raise Retry("the answer is lost")
        return self._real.update_service(*args, **options)


def on_its_way() -> Town:
    """A second template is deployed and starts."""
    town = Town().settled()
    town.cloud_run.set_start_up(NAME, seconds=120)
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(1)
    return town


def test_a_refused_move_of_the_traffic_is_tried_again_at_growing_distances() -> None:
    town = on_its_way()
    before = town.traffic()
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 2)
    watched = Watched(town)
    town.minutes(40)
    assert (max(watched.updates.values()), len(watched.updates)) == (1, 4)
    assert town.traffic() == before
    assert town.condition()[1] == "RolloutPromoting"
    assert "uota" in town.condition()[2]
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 16)
    town.minutes(61)
    assert town.traffic() == {town.revisions()[-1]: 100}


@pytest.mark.parametrize("revision", ["ranker-nope-1", None])
def test_a_rollback_to_what_cannot_serve_writes_nothing_and_says_so(revision: str | None) -> None:
    town = Town().settled()
    good = town.traffic()
    town.cloud_run.set_behaviour(lambda template: Behaviour(Outcome.DOES_NOT_LOAD))
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(20)
    before = len(town.writes())
    pin = Pin(revision=revision or town.revisions()[-1], reason="rolled back by command", author="kim", created_at=town.clock.now())
    town.apply(document(3, cpu="8", memory="32Gi").model_copy(update={"pin": pin}))
    town.minutes(60)
    assert (town.writes()[before:], town.traffic(), town.state().rollout) == ([], good, None)
    said = town.store.decisions(RANKER, limit=1)[0].explanation
    assert "there is no revision ranker-nope-1" in said if revision else "is not ready" in said


@pytest.mark.parametrize("in_the_way", ["quota", "hold"])
def test_a_rollback_that_is_kept_from_happening_for_long_happens_when_it_can(in_the_way: str) -> None:
    town = Town().settled()
    (good,) = town.traffic()
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(12)
    pin = Pin(revision=good, reason="rolled back by command", author="kim", created_at=town.clock.now())
    back = document(3, cpu="8", memory="32Gi").model_copy(update={"pin": pin})
    watched = Watched(town)
    if in_the_way == "quota":
        town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 2)
        town.apply(back)
    else:
        watched.lost = 1
        town.apply(back)
        town.store.put_fleet(Fleet(hold=Hold(hold_id="h", reason="outage", author="lee", created_at=town.clock.now())))
    town.minutes(45)
    assert good not in town.traffic()
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 16)
    town.store.put_fleet(Fleet())
    town.minutes(61)
    assert (town.traffic(), town.state().rollout) == ({good: 100}, None)


@pytest.mark.parametrize("kind", ["freeze", "pause", "fleet"])
def test_a_hold_that_comes_in_between_stops_the_move_of_the_traffic(kind: str) -> None:
    town = on_its_way()
    before = town.traffic()
    watched = Watched(town)
    watched.lost = 1
    for _ in range(10):
        town.minutes(1)
        if not watched.lost:
            break
    hold = Hold(hold_id="h", kind=HoldKind("pause" if kind == "fleet" else kind), reason="r", author="kim", created_at=town.clock.now())
    if kind == "fleet":
        town.store.put_fleet(Fleet(hold=hold))
    else:
        town.apply(document(3, cpu="8", memory="32Gi", holds=(hold,)))
    town.minutes(60)
    assert town.traffic() == before
    if kind == "fleet":
        town.store.put_fleet(Fleet())
    else:
        town.apply(document(4, cpu="8", memory="32Gi"))
    town.minutes(15)
    assert town.traffic() == {town.revisions()[-1]: 100}


def test_a_service_that_never_served_and_whose_spec_fails_as_well_comes_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def place(cloud_run: Any, service: Any, bounds: Any, **_: Any) -> None:
        cloud_run.set_gpu_quota(service.project, service.region, 16)
        cloud_run.set_behaviour(lambda template: Behaviour(Outcome.DOES_NOT_LOAD, 10))
        cloud_run.create_service(f"projects/{service.project}/locations/{service.region}", service.name, gpu_service(bounds), settled=False)

    monkeypatch.setattr(tests.support.rig, "place_service", place)
    town = Town()
    town.clock.advance(600)
    town.minutes(60)
    assert {status for _, status in town.statuses} == {200}
    assert (town.state().rollout, town.condition()[1]) == (None, "RolloutFailed")
    town.cloud_run.set_behaviour(lambda template: Behaviour(Outcome.OK))
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(30)
    assert town.condition()[0] == "True"


def test_a_good_template_waits_for_room_as_long_as_there_is_none() -> None:
    town = Town().settled()
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 4)
    town.cloud_run.set_running_instances(NAME, 4)
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(12 * 60)
    assert town.state().quarantined == ()
    assert town.state().rollout is not None
    assert town.state().rollout.phase is RolloutPhase.WAITING  # type: ignore[union-attr]
    town.cloud_run.set_running_instances(NAME, 1)
    town.minutes(75)
    assert town.traffic() == {town.revisions()[-1]: 100}


def test_a_template_that_failed_is_tried_again_when_all_is_released_and_not_for_being_applied_again() -> None:
    town = Town().settled()
    town.cloud_run.set_behaviour(lambda template: Behaviour(Outcome.DOES_NOT_LOAD))
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(20)
    assert town.condition()[1] == "RolloutFailed"
    town.cloud_run.set_behaviour(lambda template: Behaviour(Outcome.OK))
    town.minutes(60)
    assert town.condition()[1] == "RolloutFailed"
    town.apply(document(3, cpu="8", memory="32Gi").model_copy(update={"spec_changed_at": town.clock.now()}))
    town.minutes(20)
    assert town.condition()[1] == "RolloutFailed"
    town.apply(document(4, cpu="8", memory="32Gi").model_copy(update={"released_at": town.clock.now()}))
    town.minutes(20)
    assert town.condition()[0] == "True"
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.revisions()[-1].endswith("-2")


def test_a_template_that_somebody_changed_without_traffic_is_noticed_and_put_back_after_an_hour() -> None:
    town = Town().settled()
    wanted, traffic = concurrency(town), town.traffic()

    def without_traffic(service: Any) -> None:
        service.template.revision = ""
        service.template.max_instance_request_concurrency = 5
        _split(service, traffic)

    town.cloud_run.change_by(NAME, "kim@example.com", edit=without_traffic)
    town.bus.publish_wakes([Wake.of(RANKER, "changed by kim")])
    town.run()
    town.minutes(30)
    assert (concurrency(town), town.condition()[:2]) == (5, ("False", "Different"))
    assert any("kim@example.com changed the template" in each.explanation for each in town.store.decisions(RANKER, limit=5))
    town.minutes(60)
    assert (concurrency(town), town.traffic(), town.condition()[0]) == (wanted, traffic, "True")
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.cloud_run.set_start_up(NAME, seconds=120)
    town.minutes(1)
    assert town.traffic() == traffic
    town.minutes(12)
    assert town.traffic() == {town.revisions()[-1]: 100}


def test_a_version_that_turns_out_bad_while_it_starts_gets_no_traffic() -> None:
    harbour = Harbour().upload(7).settled(20)
    harbour.cloud_run.set_start_up(NAME, seconds=280)
    harbour.upload(8)
    for _ in range(12):
        harbour.minutes(1)
        if harbour.state().rollout is not None:
            break
    harbour.tell(harbour.bucket.put_all(BUCKET, f"{FOLDER}/8", {SHARD: b"x" * 3}))
    harbour.run()
    harbour.minutes(30)
    assert (harbour.version(8).outcome, harbour.served()) == ("refused", 7)
    harbour.minutes(90)
    assert (harbour.served(), harbour.state().rollout) == (7, None)
    template = harbour.cloud_run.get_service(NAME).template
    config = next(each.value for each in template.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG")
    assert "versions: 7\n" in config


def test_a_version_that_serves_and_is_gone_from_the_bucket_is_not_followed_by_an_older_one() -> None:
    harbour = Harbour().upload(6).settled(20).upload(7).settled(20)
    harbour.tell(harbour.bucket.put_all(BUCKET, f"{FOLDER}/7", {SHARD: b"x" * 3}))
    harbour.run()
    harbour.settled(5)
    assert harbour.version(7).outcome == "refused"
    stored = harbour.store.read(RANKER).document
    assert stored is not None
    assert stored.spec.serving is not None
    serving = stored.spec.serving.model_copy(update={"cpu": "8", "memory": "32Gi"})
    changed = stored.model_copy(update={"generation": 2, "spec": stored.spec.model_copy(update={"serving": serving})})
    harbour.store.put_service(changed, if_generation=1)
    harbour.bus.publish_wakes([Wake.of(RANKER, "apply")])
    harbour.settled(40)
    assert harbour.served() == 7
