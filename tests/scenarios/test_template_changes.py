"""A change of the spec becomes a served revision, or leaves the traffic where it was with a clear reason: the whole of reconcile."""

from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any, get_args

import pytest

from shared.records.allow_lists import AllowLists
from shared.records.fleet import Fleet
from shared.records.plan import DenialCode
from shared.records.rollout import RolloutPhase
from shared.records.service import Autonomy, Hold, HoldKind, OwnedField, Pin, PinnedValues, ScaleBounds, ServiceDocument, ServiceSpec
from shared.records.serving import ServingSpec
from shared.records.subject import Wake
from shared.records.windows import Weekday, Window
from shared.rendering.names import read_revision_name
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from tests.support.builders import NOW, RANKER
from tests.support.rig import Rig
from tests.support.tracing import Fault, Trace

NAME = RANKER.resource_name
GOLDEN = {"instances": [[1.0, 2.0]]}


def serving(**changes: Any) -> ServingSpec:
    values: dict[str, Any] = {
        "image": "tensorflow/serving:2.20.0-gpu",
        "model": {"name": "ranker", "uri": "gs://acme-models/ranker", "version": 7},
        "protocol": "rest",
        "accelerator": "nvidia-l4",
        "gpu_zonal_redundancy": False,
        "cpu": "4",
        "memory": "16Gi",
        "start_up_seconds": 300,
        **changes,
    }
    return ServingSpec.model_validate(values)


def document(generation: int = 1, *, holds: tuple[Hold, ...] = (), windows: tuple[Window, ...] = (), **changes: Any) -> ServiceDocument:
    spec = ServiceSpec(
        scale=ScaleBounds(max_instance_count=4),
        autonomy=changes.pop("autonomy", Autonomy.ACT),
        serving=serving(**changes),
        windows=windows,
    )
    return ServiceDocument(id=RANKER, generation=generation, spec=spec, holds=holds)


class Town(Rig):
    """The rig with specs that say what an instance is to be, and what Cloud Run shows of it."""

    def __init__(self, spec: ServiceDocument | None = None, **options: Any) -> None:
        super().__init__(spec=spec or document(), demand=1, **options)

    def apply(self, spec: ServiceDocument) -> None:
        """What a command does: the spec, and a wake."""
        self.store.put_service(spec, if_generation=spec.generation - 1)
        self.bus.publish_wakes([Wake.of(RANKER, "apply")])
        self.run()

    def settled(self, minutes: int = 12) -> "Town":
        self.minutes(minutes)
        return self

    def traffic(self) -> dict[str, int]:
        return {each.revision: each.percent for each in self.cloud_run.get_service(NAME).traffic_statuses if each.percent}

    def revisions(self) -> list[str]:
        return [each.name.rsplit("/", 1)[-1] for each in reversed(self.cloud_run.list_revisions(NAME))]

    def condition(self) -> tuple[str, str, str]:
        found = next(each for each in self.state().conditions if each.type == "Current")
        return found.status, found.reason, found.message

    def versions(self, version: int, outcome: Outcome) -> None:
        """How the simulated model behaves when a template pins that version."""

        def behaviour(template: Any) -> Behaviour:
            config = next((each.value for each in template.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG"), "")
            return Behaviour(outcome=outcome if f"versions: {version}\n" in config else Outcome.OK)

        self.cloud_run.set_behaviour(behaviour)


def test_a_spec_becomes_a_revision_that_gets_the_traffic_when_it_is_ready() -> None:
    town = Town()
    (first,) = town.revisions()
    town.settled()
    assert len(town.revisions()) == 2
    assert town.traffic() == {town.revisions()[1]: 100}
    assert town.condition()[:2] == ("True", "Served")
    assert town.writes() == [("client", "client_version", "template", "traffic"), ("client", "client_version", "traffic")]
    assert first not in town.traffic()


def test_a_spec_that_is_served_writes_nothing() -> None:
    town = Town().settled()
    before = len(town.writes())
    town.minutes(30)
    assert len(town.writes()) == before


def test_a_new_version_is_served_after_the_golden_request_was_answered() -> None:
    town = Town(document(golden_request=GOLDEN)).settled()
    town.apply(document(2, golden_request=GOLDEN, model={"name": "ranker", "uri": "gs://acme-models/ranker", "version": 8}))
    town.settled()
    assert len(town.revisions()) == 3
    assert town.traffic() == {town.revisions()[2]: 100}


@pytest.mark.parametrize("outcome", [Outcome.DOES_NOT_LOAD, Outcome.CRASHES, Outcome.FAILS_TO_PREDICT, Outcome.IMAGE_MISSING])
def test_a_bad_version_leaves_the_traffic_where_it_was_and_is_not_tried_again(outcome: Outcome) -> None:
    town = Town(document(golden_request=GOLDEN)).settled()
    good = town.traffic()
    town.versions(8, outcome)
    town.apply(document(2, golden_request=GOLDEN, model={"name": "ranker", "uri": "gs://acme-models/ranker", "version": 8}))
    town.settled(40)
    assert town.traffic() == good
    assert len(town.revisions()) == 3
    status, reason, message = town.condition()
    assert (status, reason) == ("False", "RolloutFailed")
    assert town.revisions()[2] in message
    assert [each.revision for each in town.state().quarantined] == [town.revisions()[2]]
    template = town.cloud_run.get_service(NAME).template
    assert template.revision == next(iter(good))


def test_the_next_good_version_is_served_after_a_bad_one() -> None:
    town = Town(document(golden_request=GOLDEN)).settled()
    town.versions(8, Outcome.FAILS_TO_PREDICT)
    model = {"name": "ranker", "uri": "gs://acme-models/ranker"}
    town.apply(document(2, golden_request=GOLDEN, model={**model, "version": 8}))
    town.settled(30)
    town.apply(document(3, golden_request=GOLDEN, model={**model, "version": 9}))
    town.settled(30)
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.condition()[0] == "True"


def test_no_gpu_at_provisioning_is_tried_again_under_a_new_number() -> None:
    town = Town().settled()
    town.cloud_run.set_gpu_quota(RANKER.project, RANKER.region, 4)
    town.cloud_run.set_running_instances(NAME, 4)
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.settled(12)
    assert town.state().rollout is not None
    assert town.state().rollout.phase is RolloutPhase.WAITING  # type: ignore[union-attr]
    town.cloud_run.set_running_instances(NAME, 2)
    town.settled(30)
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert int(town.revisions()[-1].rsplit("-", 1)[-1]) >= 2


def test_recommend_shows_the_rollout_and_writes_nothing() -> None:
    town = Town(document(autonomy=Autonomy.RECOMMEND)).settled()
    assert town.writes() == []
    (decision,) = [each for each in town.store.decisions(RANKER, limit=20) if each.rollout is not None]
    assert decision.rollout is not None
    assert decision.rollout.kind == "deploy"
    assert "with none of the traffic" in decision.explanation
    assert town.state().rollout is None


def test_a_hold_on_the_template_stops_it_and_says_who() -> None:
    hold = Hold(
        hold_id="h", fields=(OwnedField.TEMPLATE,), reason="freeze", author="kim", created_at=NOW, expires_at=NOW + timedelta(hours=1)
    )
    town = Town(document(holds=(hold,))).settled()
    assert town.writes() == []
    (decision,) = town.store.decisions(RANKER, limit=20)
    assert "the template is held by kim" in decision.explanation
    town.minutes(60)
    assert town.condition()[0] == "True"


def test_a_fleet_hold_stops_it() -> None:
    town = Town()
    town.store.put_fleet(Fleet(hold=Hold(hold_id="h", reason="freeze", author="kim", created_at=NOW)))
    assert town.settled().writes() == []


def test_a_template_change_waits_for_its_window() -> None:
    day = list(Weekday)[NOW.weekday()]
    window = Window(days=(day,), start=f"{NOW.hour + 2:02d}:00", end=f"{NOW.hour + 4:02d}:00")
    town = Town(document(windows=(window,))).settled(60)
    assert town.writes() == []
    assert any("template changes may start from" in each.explanation for each in town.store.decisions(RANKER, limit=5))
    town.minutes(90)
    assert town.condition()[0] == "True"


def test_traffic_that_somebody_moves_meanwhile_ends_the_rollout() -> None:
    town = Town().settled()
    stable = next(iter(town.traffic()))
    first = town.revisions()[0]
    town.cloud_run.set_start_up(NAME, seconds=250)
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(2)
    town.cloud_run.change_by(NAME, "kim@example.com", edit=lambda service: _split(service, {stable: 50, first: 50}))
    town.minutes(3)
    assert town.state().last_rollout is not None
    assert town.state().last_rollout.outcome == "overtaken"  # type: ignore[union-attr]


def _split(service: Any, shares: dict[str, int]) -> None:
    service.traffic = [{"type_": 2, "revision": revision, "percent": percent} for revision, percent in shares.items()]


def edit(service: Any) -> None:
    """What somebody does in the console: fewer requests at once, and the new revision gets all traffic."""
    service.template.revision = ""
    service.template.max_instance_request_concurrency = 5
    service.traffic = []


def concurrency(town: Town) -> int:
    return int(town.cloud_run.get_service(NAME).template.max_instance_request_concurrency)


def test_a_persons_change_of_the_template_stands_for_an_hour_and_is_then_put_back() -> None:
    town = Town().settled()
    wanted = concurrency(town)
    town.cloud_run.change_by(NAME, "kim@example.com", edit=edit)
    town.minutes(50)
    assert concurrency(town) == 5
    said = [each.explanation for each in town.store.decisions(RANKER, limit=5)]
    assert any("kim@example.com changed the template" in each and "left alone until" in each for each in said)
    town.minutes(40)
    assert concurrency(town) == wanted
    assert town.condition()[0] == "True"


def test_a_change_made_again_after_it_was_put_back_is_contended_and_stands() -> None:
    town = Town().settled()
    town.cloud_run.change_by(NAME, "kim@example.com", edit=edit)
    town.minutes(90)
    town.cloud_run.change_by(NAME, "kim@example.com", edit=edit)
    town.minutes(200)
    assert concurrency(town) == 5
    assert any(denial.code is DenialCode.CONTENDED for each in town.store.decisions(RANKER, limit=5) for denial in each.denials)


def test_a_released_change_is_put_back_at_once() -> None:
    town = Town().settled()
    wanted = concurrency(town)
    town.cloud_run.change_by(NAME, "kim@example.com", edit=edit)
    town.minutes(12)
    town.apply(document(2).model_copy(update={"released_at": town.clock.now()}))
    town.minutes(12)
    assert concurrency(town) == wanted


def test_a_change_of_the_spec_takes_a_contended_service_up_again() -> None:
    town = Town().settled()
    for _ in range(2):
        town.cloud_run.change_by(NAME, "kim@example.com", edit=edit)
        town.minutes(90)
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(12)
    assert (concurrency(town) != 5, town.condition()[0]) == (True, "True")


def test_a_rollback_moves_the_traffic_in_one_write_and_puts_the_template_back() -> None:
    town = Town().settled()
    good = town.revisions()[1]
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(12)
    assert town.traffic() == {town.revisions()[2]: 100}
    before = len(town.writes())
    pin = Pin(revision=good, reason="p99 doubled", author="kim", created_at=town.clock.now())
    town.apply(document(3, cpu="8", memory="32Gi").model_copy(update={"pin": pin}))
    town.minutes(6)
    assert town.traffic() == {good: 100}
    assert town.writes()[before:] == [("client", "client_version", "traffic"), ("client", "client_version", "template")]
    assert town.cloud_run.get_service(NAME).template.revision == good
    town.minutes(30)
    assert (len(town.revisions()), town.traffic()) == (3, {good: 100})
    town.apply(document(4, cpu="8", memory="32Gi"))
    town.minutes(12)
    assert town.traffic() == {town.revisions()[2]: 100}


def test_a_rollback_to_a_revision_from_before_trimtab_puts_its_template_back_as_well() -> None:
    town = Town().settled()
    first = town.revisions()[0]
    pin = Pin(revision=first, reason="as it was", author="kim", created_at=town.clock.now())
    town.apply(document(2).model_copy(update={"pin": pin}))
    town.minutes(6)
    assert (town.traffic(), town.state().rollout) == ({first: 100}, None)
    assert town.cloud_run.get_service(NAME).template.revision == first
    assert len(town.revisions()) == 2


def pinned_to(town: Town, *, minutes: float | None = None) -> Hold:
    """The hold that the command `hold` with kind pin stores of the service as it is."""
    (revision,) = town.traffic()
    now = town.clock.now()
    ends = None if minutes is None else now + timedelta(minutes=minutes)
    pinned = PinnedValues(revision=revision)
    return Hold(hold_id="p", kind=HoldKind.PIN, pinned=pinned, reason="launch day", author="kim", created_at=now, expires_at=ends)


def test_what_a_pin_keeps_is_put_back_at_once_and_then_at_most_every_ten_minutes() -> None:
    town = Town().settled()
    (good,), wanted = town.traffic(), concurrency(town)
    town.apply(document(2, holds=(pinned_to(town),)))
    town.minutes(12)
    before = len(town.writes())

    def changed() -> int:
        """What lee's change comes to, three minutes after the audit entry of it."""
        town.cloud_run.change_by(NAME, "lee@example.com", edit=edit)
        town.bus.publish_wakes([Wake.of(RANKER, "changed by lee")])
        town.run()
        town.minutes(3)
        return concurrency(town)

    assert changed() == wanted
    assert changed() == 5
    town.minutes(12)
    assert (town.traffic(), concurrency(town)) == ({good: 100}, wanted)
    assert town.writes()[before:] == [("client", "client_version", "traffic"), ("client", "client_version", "template")] * 2
    assert town.condition()[1] == "Served"


def test_a_pin_keeps_a_changed_spec_waiting_and_ends_a_rollout_under_way() -> None:
    town = Town().settled()
    (good,) = town.traffic()
    town.cloud_run.set_start_up(NAME, seconds=250)
    town.apply(document(2, cpu="8", memory="32Gi"))
    town.minutes(1)
    assert town.state().rollout is not None
    town.apply(document(3, cpu="8", memory="32Gi", holds=(pinned_to(town, minutes=60),)))
    town.minutes(50)
    assert (town.traffic(), town.state().rollout) == ({good: 100}, None)
    assert town.cloud_run.get_service(NAME).template.revision == good
    town.minutes(40)
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.condition()[0] == "True"


def tell(trace: Trace) -> dict[str, Any]:
    """A first spec, a version that loads and fails to predict, the next one; what is left in the end."""
    model = {"name": "ranker", "uri": "gs://acme-models/ranker"}
    town = Town(document(golden_request=GOLDEN), trace=trace)
    town.versions(8, Outcome.FAILS_TO_PREDICT)
    town.minutes(24)
    town.apply(document(2, golden_request=GOLDEN, model={**model, "version": 8}))
    town.minutes(16)
    town.apply(document(3, golden_request=GOLDEN, model={**model, "version": 9}))
    town.minutes(16)
    state = town.state()
    return {
        "traffic": {read_revision_name(revision): percent for revision, percent in town.traffic().items()},
        "revisions": [read_revision_name(revision) for revision in town.revisions()[1:]],
        "quarantined": [each.revision for each in state.quarantined],
        "rollout": (state.rollout, state.last_rollout and state.last_rollout.outcome),
        "writes": town.writes(),
        "template": town.cloud_run.get_service(NAME).template.revision,
        "current": town.condition()[:2],
        "bugs": [status for status in town.statuses if status[1] == 500],
    }


@cache
def undisturbed() -> tuple[dict[str, Any], tuple[str, ...]]:
    trace = Trace()
    return tell(trace), tuple(trace.effects)


def test_the_undisturbed_story_ends_with_the_good_version_served() -> None:
    end, effects = undisturbed()
    assert (end["current"], end["rollout"], len(end["quarantined"])) == (("True", "Served"), (None, "promoted"), 1)
    assert {"platform.update_service", "platform.restore_template"} <= set(effects)
    assert len(end["writes"]) == 6


@pytest.mark.parametrize("fault", get_args(Fault))
def test_whatever_breaks_wherever_the_same_version_is_served_in_the_end(fault: Fault) -> None:
    end, effects = undisturbed()
    different = {}
    for number, effect in enumerate(effects, start=1):
        trace = Trace(fault=fault, at=number)
        if (other := tell(trace)) != end:
            different[f"{fault} at {number}: {effect}"] = {key: (end[key], other[key]) for key in end if end[key] != other[key]}
        assert trace.struck
    assert different == {}


@pytest.mark.parametrize(
    ("lists", "named"),
    [
        ({"images": ("europe-docker.pkg.dev/acme-ml/*",)}, "tensorflow/serving"),
        ({"buckets": ("acme-other",)}, "acme-models"),
        ({"projects": ("acme-web",)}, "acme-ml"),
    ],
)
def test_what_the_allow_lists_forbid_is_not_deployed_whoever_stored_the_spec(lists: dict[str, tuple[str, ...]], named: str) -> None:
    town = Town()
    town.reconcile_ports = replace(town.reconcile_ports, allowed=AllowLists.model_validate(lists))
    before = town.revisions()
    town.minutes(12)
    assert (town.revisions(), town.writes()) == (before, [])
    said = [denial.message for decision in town.store.decisions(RANKER, limit=9) for denial in decision.denials]
    assert any(named in each and "allow-list" in each for each in said)
