"""What commands do to the document of a service, and why they do not. Without a store."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.control.command_verdict import Changed, NotDone
from shared.control.commands import Setting, author_of, effect, last_good
from shared.events.command import fact_of, read_command
from shared.records.allow_lists import AllowLists
from shared.records.commands import CommandFact
from shared.records.parked import ParkCode
from shared.records.rollout import ForeignTemplate, Rollout, RolloutPhase, Served
from shared.records.service import Autonomy, Hold, HoldKind, Pin, PinnedValues, ServiceDocument
from shared.records.serving import TrafficTarget
from shared.records.state import ServiceState
from tests.support.builders import NOW, RANKER, document
from tests.support.commands import RANKER as RANKER_FILE

import json  # isort: skip

SPEC = RANKER_FILE["spec"]
SERVICE = str(RANKER)


def fact(command: dict[str, Any], **about: Any) -> CommandFact:
    return fact_of(read_command(json.dumps({"service": SERVICE, "command_id": "c1", **command}).encode()), **about)


def setting(*, now: Any = NOW, may_apply: bool = True, allowed: AllowLists | None = None) -> Setting:
    return Setting(service=RANKER, allowed=allowed or AllowLists(), now=now, may_apply=may_apply)


def stored(**spec: Any) -> ServiceDocument:
    return done(effect(fact({"command": "apply", "spec": {**SPEC, **spec}}), None, setting()))


def done(verdict: Changed | NotDone) -> ServiceDocument:
    assert isinstance(verdict, Changed), verdict
    assert verdict.document is not None
    return verdict.document


def not_done(verdict: Changed | NotDone) -> NotDone:
    assert isinstance(verdict, NotDone), verdict
    return verdict


def said(verdict: Changed | NotDone) -> str:
    return " | ".join(map(str, not_done(verdict).problems))


# -- apply


def test_the_first_apply_makes_generation_one() -> None:
    made = stored()
    assert (made.generation, made.spec_changed_at) == (1, NOW)
    assert made.spec.serving is not None
    assert made.spec.serving.image == "tensorflow/serving:2.20.0-gpu"


def test_another_spec_is_the_next_generation_and_the_same_spec_is_none() -> None:
    other = {**SPEC, "scale": {"max_instance_count": 9}}
    changed = done(effect(fact({"command": "apply", "spec": other}), stored(), setting()))
    assert (changed.generation, changed.spec.scale.max_instance_count) == (2, 9)
    again = done(effect(fact({"command": "apply", "spec": other}), changed, setting()))
    assert again.generation == 2


def test_holds_stay_when_a_spec_is_applied_and_a_pin_ends() -> None:
    pin = Pin(revision="ranker-a-1", reason="r", author="a", created_at=NOW)
    held = done(effect(fact({"command": "hold", "reason": "launch"}), stored().model_copy(update={"pin": pin}), setting()))
    applied = done(effect(fact({"command": "apply", "spec": SPEC}), held, setting()))
    assert (applied.pin, len(applied.holds), applied.generation) == (None, 1, 1)


def test_a_spec_that_cloud_run_would_refuse_is_refused_with_its_field_and_what_to_do() -> None:
    bad = {**SPEC, "serving": {**SPEC["serving"], "cpu": 1}}
    verdict = not_done(effect(fact({"command": "apply", "spec": bad}), None, setting()))
    assert (verdict.outcome, verdict.code, verdict.problems[0].field) == ("refused", ParkCode.INVALID_COMMAND, "spec.serving.cpu")
    assert verdict.problems[0].fix


def test_an_image_that_is_not_on_the_allow_list_is_refused_also_by_patch() -> None:
    allowed = AllowLists(images=("europe-docker.pkg.dev/acme-ml/*",))
    assert "allow-list" in said(effect(fact({"command": "apply", "spec": SPEC}), None, setting(allowed=allowed)))
    patch = {"serving": {"image": "docker.io/evil/serving:2.20.0-gpu"}}
    assert "allow-list" in said(effect(fact({"command": "patch", "patch": patch}), stored(), setting(allowed=allowed)))


def test_only_if_there_is_none_yet() -> None:
    assert done(effect(fact({"command": "apply", "spec": SPEC, "if_generation": 0}), None, setting())).generation == 1
    verdict = not_done(effect(fact({"command": "apply", "spec": SPEC, "if_generation": 0}), stored(), setting()))
    assert (verdict.outcome, verdict.problems[0].wrong) == ("superseded", "the spec has generation 1 now")


def test_an_apply_that_waited_in_pubsub_while_the_spec_was_changed_is_late() -> None:
    early = fact({"command": "apply", "spec": {**SPEC, "scale": {"max_instance_count": 2}}}, published_at=NOW - timedelta(seconds=1))
    assert not_done(effect(early, stored(), setting())).outcome == "superseded"


# -- patch


def test_a_patch_changes_what_it_names_and_leaves_the_rest() -> None:
    before = stored()
    after = done(effect(fact({"command": "patch", "patch": {"scale": {"max_instance_count": 12}}}), before, setting()))
    assert after.spec == before.spec.model_copy(update={"scale": before.spec.scale.model_copy(update={"max_instance_count": 12})})
    assert after.generation == 2


def test_null_takes_a_field_out() -> None:
    before = stored(objective={"p99_ms": 80})
    after = done(effect(fact({"command": "patch", "patch": {"objective": {"p99_ms": None}}}), before, setting()))
    assert after.spec.objective.p99_ms is None


def test_a_patch_that_changes_nothing_keeps_the_generation_and_the_pin() -> None:
    pin = Pin(revision="ranker-a-1", reason="r", author="a", created_at=NOW)
    before = stored().model_copy(update={"pin": pin})
    after = done(effect(fact({"command": "patch", "patch": {"scale": {"max_instance_count": 6}}}), before, setting()))
    assert (after.generation, after.pin) == (1, pin)


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"scale": {"max_instance_count": "many"}}, "patch.scale.max_instance_count"),
        ({"serving": {"imagge": "x"}}, "patch.serving.imagge"),
        ({"scale": {"max_instance_count": None}}, "spec.scale.max_instance_count"),
        ({"scale": {"min_instance_count": 40}}, "patch.scale"),
    ],
)
def test_a_patch_that_makes_no_spec_names_the_field(patch: dict[str, Any], field: str) -> None:
    verdict = not_done(effect(fact({"command": "patch", "patch": patch}), stored(), setting()))
    assert (verdict.outcome, verdict.problems[0].field) == ("refused", field)


def test_an_older_patch_is_superseded_and_a_younger_one_done_whatever_order_they_come_in() -> None:
    late = fact({"command": "patch", "patch": {"scale": {"max_instance_count": 9}}, "issued_at": "2026-11-30T03:00:02Z"})
    early = fact({"command": "patch", "patch": {"scale": {"max_instance_count": 3}}, "issued_at": "2026-11-30T03:00:01Z"})
    later = setting(now=NOW + timedelta(seconds=10))
    after_late = done(effect(late, stored(), later))
    assert not_done(effect(early, after_late, later)).code == ParkCode.SUPERSEDED
    in_order = done(effect(late, done(effect(early, stored(), later)), later))
    assert in_order.spec == after_late.spec


def test_two_patches_issued_shortly_after_one_another_are_both_done_however_late_they_are() -> None:
    first = fact({"command": "patch", "patch": {"scale": {"max_instance_count": 9}}, "issued_at": "2026-11-30T03:00:01Z"})
    second = fact({"command": "patch", "patch": {"scale": {"min_instance_count": 2}}, "issued_at": "2026-11-30T03:00:02Z"})
    hour_later = setting(now=NOW + timedelta(hours=1))
    after = done(effect(second, done(effect(first, stored(), hour_later)), hour_later))
    assert (after.spec.scale.min_instance_count, after.spec.scale.max_instance_count) == (2, 9)


def test_a_patch_from_the_far_future_is_refused_and_one_of_a_fast_clock_does_not_shut_others_out() -> None:
    future = fact({"command": "patch", "patch": {"scale": {"max_instance_count": 9}}, "issued_at": "2026-11-30T03:05:01Z"})
    verdict = not_done(effect(future, stored(), setting()))
    assert (verdict.outcome, verdict.problems[0].field) == ("refused", "issued_at")
    fast = fact({"command": "patch", "patch": {"scale": {"max_instance_count": 9}}, "issued_at": "2026-11-30T03:04:59Z"})
    assert done(effect(fast, stored(), setting())).spec_changed_at == NOW


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"autonomy": "act"}, "patch.autonomy"),
        ({"serving": {"image": "tensorflow/serving:2.19.0-gpu"}}, "patch.serving.image"),
        ({"serving": {"service_account": "other@acme-ml.iam.gserviceaccount.com"}}, "patch.serving.service_account"),
    ],
)
def test_image_service_account_and_autonomy_take_the_right_to_apply(patch: dict[str, Any], field: str) -> None:
    before = stored()
    verdict = not_done(effect(fact({"command": "patch", "patch": patch}), before, setting(may_apply=False)))
    assert (verdict.outcome, verdict.problems[0].field) == ("forbidden", field)
    assert done(effect(fact({"command": "patch", "patch": patch}), before, setting())).generation == 2


def test_a_patch_may_name_the_autonomy_that_is_there() -> None:
    patch = {"autonomy": Autonomy.OBSERVE, "scale": {"max_instance_count": 9}}
    assert done(effect(fact({"command": "patch", "patch": patch}), stored(), setting(may_apply=False))).generation == 2


@given(low=st.integers(0, 20), high=st.integers(1, 20), times=st.integers(1, 3))
def test_a_patch_twice_is_a_patch_once(low: int, high: int, times: int) -> None:
    before = document(high=20)
    patch = fact({"command": "patch", "patch": {"scale": {"min_instance_count": low, "max_instance_count": high}}})
    verdict = effect(patch, before, setting())
    if isinstance(verdict, NotDone):
        assert low > high
        return
    after = done(verdict)
    for _ in range(times):
        assert done(effect(patch, after, setting())) == after


# -- what is not there


@pytest.mark.parametrize(
    "command",
    [
        {"command": "patch", "patch": {"autonomy": "act"}},
        {"command": "hold", "reason": "x"},
        {"command": "rollback"},
        {"command": "delete"},
    ],
)
def test_without_a_spec_there_is_nothing_to_do(command: dict[str, Any]) -> None:
    verdict = not_done(effect(fact(command), None, setting()))
    assert (verdict.outcome, verdict.code, verdict.problems[0].field) == ("refused", ParkCode.NO_SPEC, "service")


def test_delete_leaves_no_document_and_only_the_generation_it_names() -> None:
    assert effect(fact({"command": "delete", "if_generation": 1}), stored(), setting()) == Changed(None, "Trimtab looks after it no more")
    assert not_done(effect(fact({"command": "delete", "if_generation": 2}), stored(), setting())).outcome == "superseded"


def test_a_delete_that_waited_in_pubsub_while_the_spec_was_changed_is_late_unless_it_names_the_generation() -> None:
    early = NOW - timedelta(seconds=1)
    verdict = not_done(effect(fact({"command": "delete"}, published_at=early), stored(), setting()))
    assert (verdict.outcome, verdict.problems[0].field) == ("superseded", "the message")
    for about in ({"published_at": NOW}, {}):
        assert isinstance(effect(fact({"command": "delete"}, **about), stored(), setting()), Changed)
    assert isinstance(effect(fact({"command": "delete", "if_generation": 1}, published_at=early), stored(), setting()), Changed)


# -- rollback


def serving(revision: str, previous: str | None = None) -> ServiceState:
    return ServiceState(id=RANKER, served=Served(revision=revision, desired_hash="a" * 10, since=NOW, previous=previous))


def on_its_way(stable: str, *, rollback: bool = False) -> Rollout:
    times = {"began_at": NOW, "phase_since": NOW, "deadline_at": NOW}
    return Rollout.model_validate(
        {
            "rollout_id": "r",
            "revision": "ranker-bbbbbbbbbb-1",
            "template_hash": "b" * 10,
            "attempt": 1,
            "phase": RolloutPhase.DEPLOYING,
            "stable": [TrafficTarget(revision=stable, percent=100)],
            "rollback": rollback,
            **times,
        }
    )


def test_a_rollback_pins_the_revision_that_it_names_and_keeps_the_spec() -> None:
    before = stored()
    after = done(effect(fact({"command": "rollback", "to_revision": "ranker-aaaaaaaaaa-1"}, verified_author="alice@x"), before, setting()))
    assert after == before.model_copy(
        update={"pin": Pin(revision="ranker-aaaaaaaaaa-1", reason="rolled back by command", author="alice@x", created_at=NOW)}
    )


def test_a_rollback_that_waited_in_pubsub_while_the_spec_was_changed_is_late() -> None:
    command = {"command": "rollback", "to_revision": "ranker-aaaaaaaaaa-1"}
    verdict = not_done(effect(fact(command, published_at=NOW - timedelta(seconds=1)), stored(), setting()))
    assert (verdict.outcome, verdict.problems[0].field) == ("superseded", "the message")
    assert done(effect(fact(command, published_at=NOW), stored(), setting())).pin is not None


@pytest.mark.parametrize("kind", HoldKind)
def test_a_rollback_says_which_hold_keeps_it_from_being_done_also_of_a_pin(kind: HoldKind) -> None:
    pinned = PinnedValues(revision="ranker-cccccccccc-1") if kind is HoldKind.PIN else None
    hold = Hold(hold_id="night", kind=kind, pinned=pinned, reason="r", author="a", created_at=NOW)
    before = stored().model_copy(update={"holds": (hold,)})
    verdict = effect(fact({"command": "rollback", "to_revision": "ranker-aaaaaaaaaa-1"}), before, setting())
    assert isinstance(verdict, Changed)
    assert verdict.detail.endswith("; hold night keeps it from being done: release it")


def test_a_rollback_to_a_revision_of_another_service_is_refused() -> None:
    verdict = not_done(effect(fact({"command": "rollback", "to_revision": "scorer-aaaaaaaaaa-1"}), stored(), setting()))
    assert verdict.problems[0].field == "to_revision"


def test_without_a_name_it_goes_back_to_what_served_before() -> None:
    after = done(effect(fact({"command": "rollback"}), stored(), setting(), serving("ranker-cccccccccc-1", "ranker-aaaaaaaaaa-1")))
    assert after.pin is not None
    assert after.pin.revision == "ranker-aaaaaaaaaa-1"


def test_where_that_is_not_known_it_is_refused_and_never_guessed() -> None:
    for state in (None, ServiceState(id=RANKER), serving("ranker-cccccccccc-1")):
        verdict = not_done(effect(fact({"command": "rollback"}), stored(), setting(), state))
        assert (verdict.outcome, verdict.problems[0].field) == ("refused", "to_revision")
        assert "gcloud run revisions list --service ranker --region europe-west1" in verdict.problems[0].fix


def test_while_a_change_is_on_its_way_it_goes_back_to_what_serves() -> None:
    state = serving("ranker-aaaaaaaaaa-1").model_copy(update={"rollout": on_its_way("ranker-aaaaaaaaaa-1")})
    assert last_good(state) == "ranker-aaaaaaaaaa-1"


def test_during_a_rollback_it_stays_at_its_revision() -> None:
    state = ServiceState(id=RANKER, rollout=on_its_way("ranker-aaaaaaaaaa-1", rollback=True))
    assert last_good(state) == "ranker-bbbbbbbbbb-1"


def test_after_somebody_else_moved_the_traffic_it_goes_back_to_what_served_before_that() -> None:
    foreign = ForeignTemplate(modifier="eve@x", seen_at=NOW)
    state = serving("ranker-cccccccccc-1", "ranker-aaaaaaaaaa-1").model_copy(update={"foreign_template": foreign})
    assert last_good(state) == "ranker-cccccccccc-1"


# -- who it was


@pytest.mark.parametrize(
    ("about", "author"),
    [
        ({"verified_author": "alice@x"}, "alice@x, says it is root"),
        ({"subscription": "projects/acme-ml/subscriptions/commands"}, "commands, says it is root"),
        ({}, "this machine, says it is root"),
    ],
)
def test_what_a_command_says_of_its_author_is_shown_as_a_claim(about: dict[str, Any], author: str) -> None:
    assert author_of(fact({"command": "rollback", "author": "root"}, **about)) == author
