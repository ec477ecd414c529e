"""What a repair changes of Trimtab's own template: one bounded step for a certain cause, never against the owner, and not for ever."""

import re
from typing import Any

import pytest

from shared.records.fleet import Brakes, Fleet
from shared.records.plan import DenialCode
from shared.records.service import Autonomy
from shared.rendering.names import read_revision_name
from tests.scenarios.test_template_changes import NAME, concurrency
from tests.support.repairs import MEMORY_LIMIT, OOM, QUEUE_FULL, TOO_MANY_ROWS, WAITED, Clinic, ours, readings, sound, to_repair


def own(**changes: Any) -> Clinic:
    """A service with Trimtab's own template, served."""
    town = Clinic(ours(**changes)).settles()
    assert town.condition()[:2] == ("True", "Served")
    return town


def ails(town: Clinic, text: str, *, incident: str = "0.a1") -> Clinic:
    """The server's log says it, and the alert on failed requests opens."""
    town.metrics.set(readings(served={"OK": 180, "RESOURCE_EXHAUSTED": 0}))
    town.clock.advance(600)
    town.says(text)
    town.alarm(incident, signal="error-ratio")
    return town


def size(town: Clinic) -> int:
    return int(re.findall(r"max_batch_size \{ value: (\d+) \}", town.batching())[0])


def queue(town: Clinic) -> int:
    return int(re.findall(r"max_enqueued_batches \{ value: (\d+) \}", town.batching())[0])


def allowed(town: Clinic) -> list[int]:
    return [int(each) for each in re.findall(r"allowed_batch_sizes: (\d+)", town.batching())]


def mended(town: Clinic, text: str, *, incident: str = "0.a1") -> Clinic:
    """It ails, is repaired, the incident ends, and the repair is kept."""
    ails(town, text, incident=incident)
    town.until("on-trial")
    town.alarm(incident, "closed", signal="error-ratio")
    town.metrics.set(sound())
    town.until("kept")
    return town


def test_batches_that_do_not_fit_into_the_gpu_are_halved_and_all_follows() -> None:
    town = own()
    assert (size(town), concurrency(town)) == (32, 96)
    ails(town, OOM)
    town.until("on-trial")
    assert (size(town), allowed(town)[-1], concurrency(town)) == (16, 16, 48)
    assert queue(town) >= 4
    assert town.traffic() == {town.revisions()[-1]: 100}


def test_batches_that_still_do_not_fit_are_halved_again_and_never_grow_back() -> None:
    town = mended(own(), OOM)
    town.clock.advance(900)
    mended(town, OOM, incident="0.b2")
    assert (size(town), town.repair().settings.batch_size_ceiling) == (8, 12)
    town.clock.advance(900)
    ails(town, TOO_MANY_ROWS, incident="0.c3")
    town.minutes(3)
    assert size(town) == 8
    assert any("no step of the settings is left" in message for message in town.denied(DenialCode.NOT_REPAIRED))


def test_between_two_repairs_a_cooldown_passes() -> None:
    town = own()
    ails(town, OOM)
    town.until("on-trial")
    town.metrics.set(sound())
    for _ in range(11):
        town.says(OOM, times=1)
        town.minutes(1)
    assert (size(town), town.phase()) == (16, "kept")
    assert any("a repair was asked for at" in message for message in town.denied(DenialCode.COOLDOWN))
    for _ in range(5):
        town.says(OOM, times=1)
        town.minutes(1)
    assert size(town) == 8


def test_three_repairs_within_six_hours_are_enough() -> None:
    town = own()
    for number in range(3):
        mended(town, OOM, incident=f"0.a{number}")
        town.clock.advance(900)
    assert size(town) == 4
    ails(town, OOM, incident="0.z9")
    town.minutes(5)
    assert (size(town), len(town.repairs())) == (4, 6)
    assert any("a person must look" in message for message in town.denied(DenialCode.ATTEMPTS_EXHAUSTED))


def test_a_budget_that_is_used_up_is_there_again_after_six_hours() -> None:
    town = own()
    for number in range(3):
        mended(town, OOM, incident=f"0.a{number}")
        town.clock.advance(900)
    town.clock.advance(6 * 3600)
    town.minutes(2)
    mended(town, OOM, incident="0.z9")
    assert size(town) == 2


def test_requests_with_more_rows_than_a_batch_get_batches_of_twice_the_rows() -> None:
    town = ails(own(), TOO_MANY_ROWS)
    town.until("on-trial")
    assert (size(town), allowed(town)[-1], concurrency(town)) == (64, 64, 192)


def test_a_full_queue_gets_room_for_every_request_of_an_instance() -> None:
    town = ails(own(), QUEUE_FULL)
    town.until("on-trial")
    assert (queue(town), concurrency(town), size(town)) == (96, 96, 32)


@pytest.mark.parametrize("text", [WAITED, MEMORY_LIMIT])
def test_requests_that_wait_too_long_or_need_too_much_memory_become_fewer(text: str) -> None:
    town = ails(own(), text)
    town.until("on-trial")
    assert concurrency(town) == 48


@pytest.mark.parametrize(
    ("changes", "text", "said"),
    [
        ({"batching": {"max_batch_size": 32}}, OOM, "the spec says max_batch_size itself"),
        ({"max_instance_request_concurrency": 96}, WAITED, "the spec says max_instance_request_concurrency itself"),
        ({"batching": "off"}, OOM, "no step of the settings is left that mends it"),
    ],
)
def test_what_the_owner_says_stays_and_the_denial_says_what_to_do(changes: Any, text: str, said: str) -> None:
    town = ails(own(**changes), text)
    before = len(town.writes())
    town.minutes(5)
    assert (len(town.writes()), town.phase()) == (before, None)
    assert any(said in message for message in town.denied(DenialCode.NOT_REPAIRED))


def test_a_command_that_the_owner_keeps_is_not_repaired() -> None:
    town = own(
        own_entry={"command": ["/usr/bin/serve"], "args": ["--port=8500"], "port": 8500},
        batching=None,
        start_up_seconds=None,
        metrics_sidecar=False,
        max_instance_request_concurrency=16,
    )
    ails(town, OOM)
    town.minutes(5)
    assert town.phase() is None
    assert any("own_entry" in message for message in town.denied(DenialCode.NOT_REPAIRED))


def test_recommend_shows_a_step_once_and_writes_nothing() -> None:
    town = own()
    town.apply(ours(2, autonomy=Autonomy.RECOMMEND))
    before = len(town.writes())
    ails(town, OOM)
    town.minutes(20)
    assert (len(town.writes()), town.repairs(), size(town)) == (before, [("ask", "asked")], 32)


def test_a_step_that_does_worse_is_taken_back_and_not_tried_again() -> None:
    town = own()
    good = town.traffic()
    ails(town, WAITED)
    town.until("on-trial")
    town.alarm(state="closed", signal="error-ratio")
    town.metrics.set(readings(served={"OK": 20}))
    town.until("reverted")
    assert (town.traffic(), concurrency(town)) == (good, 96)
    assert town.condition()[:2] == ("True", "Served")
    ails(town, WAITED, incident="0.b2")
    town.minutes(5)
    assert (town.repairs().count(("ask", "asked")), concurrency(town)) == (1, 96)
    assert any("the same repair" in message for message in town.denied(DenialCode.QUARANTINED))


def test_a_version_that_comes_while_a_repair_is_on_trial_keeps_its_settings() -> None:
    town = own()
    ails(town, OOM)
    town.until("on-trial")
    town.alarm(state="closed", signal="error-ratio")
    town.apply(ours(2, model={"name": "ranker", "uri": "gs://acme-models/ranker", "version": 8}))
    town.minutes(10)
    assert (size(town), town.phase()) == (16, "unproven")
    assert town.traffic() == {town.revisions()[-1]: 100}
    assert town.cloud_run.get_service(NAME).template.revision == town.revisions()[-1]
    assert len(town.revisions()) == 5


def test_a_version_that_comes_while_a_repair_is_deployed_is_deployed_with_its_settings() -> None:
    town = own()
    town.cloud_run.set_start_up(NAME, seconds=250)
    ails(town, OOM)
    town.minutes(1)
    assert town.phase() == "asked"
    town.apply(ours(2, model={"name": "ranker", "uri": "gs://acme-models/ranker", "version": 8}))
    town.until("on-trial")
    assert size(town) == 16
    assert "versions: 8" in next(
        each.value for each in town.cloud_run.get_service(NAME).template.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG"
    )


def test_a_template_that_somebody_changed_is_not_stepped_by_what_its_log_says() -> None:
    town = own()

    def edit(service: Any) -> None:
        service.template.revision = ""
        service.template.max_instance_request_concurrency = 5
        service.traffic = []

    town.cloud_run.change_by(NAME, "kim@example.com", edit=edit)
    ails(town, OOM)
    town.minutes(10)
    assert (town.phase(), concurrency(town)) == (None, 5)


def test_gpu_memory_that_small_batches_of_another_exhaust_is_taken_over_with_smaller_ones() -> None:
    """The usual 32 rows would be more than the 16 that did not fit."""
    town = Clinic(ours(batching={"max_batch_size": 16})).settles()
    town.theirs = town.cloud_run.get_service(NAME).template
    town.apply(to_repair(2))
    town.redeploy()
    town.clock.advance(120)
    assert read_revision_name(next(iter(town.traffic()))) is None
    ails(town, OOM)
    town.until("on-trial")
    assert (town.repair().takes_over, size(town), town.repair().settings.batch_size_ceiling) == (True, 8, 12)
    assert "max_batch_size from 16 to 8" in town.repair().changes


def test_what_was_before_is_measured_in_the_trouble_and_not_in_the_calm_before_it() -> None:
    """When the log named the cause, the metrics still showed the time before; while the candidate waited they caught up."""
    town = own()
    town.metrics.set(sound())
    town.clock.advance(600)
    town.metrics.set(readings(served={"OK": 60}))
    town.says(OOM)
    town.store.put_fleet(Fleet(brakes=Brakes(acts_per_minute=0)))
    town.alarm(signal="error-ratio")
    town.minutes(10)
    assert town.repair().before.failed_ratio.value == 0.0  # type: ignore[union-attr]
    town.store.put_fleet(Fleet())
    town.until("on-trial")
    assert town.repair().before.failed_ratio.value == 0.7  # type: ignore[union-attr]
    town.metrics.set(readings(served={"OK": 180}))
    town.until("kept")
