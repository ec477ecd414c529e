"""From notifications of an upload to the traffic on a new version, and from a bad version to traffic untouched, through real processes.

The simulated bucket tells of its files as Cloud Storage does; the settling of an upload and the least time between two listings are the
real ones, and all stories share them: they begin together.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest

from shared.handlers.model import DEBOUNCE_SECONDS
from shared.records.subject import ServiceId
from shared.simulation.cloud_run_behaviour import Behaviour, Outcome
from shared.simulation.platform import TRIMTAB
from tests.support.processes import Deployment, wait_for
from tests.support.saved_models import COMPLETE, INDEX, MANIFEST, SAVED_MODEL, gcs_crc32c, meta_graph, saved_model, variables_index

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(300)]

BUCKET = "acme-models"
GOLDEN = {"instances": [[1.0, 2.0, 5.0]]}
SHARDS = 40
START_UP_SECONDS = 3
BAD = {"unloadable": Outcome.DOES_NOT_LOAD, "unanswering": Outcome.FAILS_TO_PREDICT}
WORDS = {"unloadable": "failed to start and listen", "unanswering": "the golden request failed 3 times in a row"}


def spec(name: str, version: int | str = "latest") -> dict[str, Any]:
    return {
        "scale": {"max_instance_count": 4},
        "autonomy": "act",
        "serving": {
            "image": "tensorflow/serving:2.20.0-gpu",
            "model": {"name": "ranker", "uri": f"gs://{BUCKET}/{name}", "version": version},
            "protocol": "rest",
            "accelerator": "nvidia-l4",
            "gpu_zonal_redundancy": False,
            "cpu": "4",
            "memory": "16Gi",
            "start_up_seconds": START_UP_SECONDS,
            "golden_request": GOLDEN,
        },
    }


def files() -> dict[str, bytes]:
    """A version in many shards."""
    named = {f"variables/variables.data-{number:05d}-of-{SHARDS:05d}": bytes(4) for number in range(SHARDS)}
    named[INDEX] = variables_index([(number, 0, 4) for number in range(SHARDS)], num_shards=SHARDS)
    return named | {SAVED_MODEL: saved_model(meta_graph())}


def with_manifest() -> dict[str, bytes]:
    """A version that says itself what belongs to it: it need not settle."""
    named = {path: {"size": len(data), "crc32c": gcs_crc32c(data)} for path, data in COMPLETE.files.items()}
    return {**COMPLETE.files, MANIFEST: json.dumps({"files": named}).encode()}


def follower(deployment: Deployment, name: str, bad_versions: Mapping[int, Outcome]) -> ServiceId:
    """A service that follows the latest version of the model of its name."""
    service = deployment.place_without_spec(name)

    def behaviour(template: Any) -> Behaviour:
        config = next((each.value for each in template.containers[0].env if each.name == "TRIMTAB_MODEL_CONFIG"), "")
        return Behaviour(next((outcome for version, outcome in bad_versions.items() if f"versions: {version}\n" in config), Outcome.OK))

    deployment.cloud_run.set_behaviour(behaviour, service=service.resource_name)
    status, answer = deployment.command("apply", command_id=f"{name}-1", service=str(service), spec=spec(name))
    assert (status, answer["outcome"]) == (200, "done"), answer
    return service


def put(deployment: Deployment, name: str, version: int, content: Mapping[str, bytes]) -> list[dict[str, Any]]:
    return deployment.bucket.put_all(BUCKET, f"{name}/{version}", content)


@dataclass(frozen=True)
class Stories:
    """What was begun: the services, and what is to be compared with later."""

    shuffled: ServiceId
    began: datetime
    notified: int
    bad: Mapping[str, ServiceId]
    before: Mapping[str, dict[str, int]]


@pytest.fixture(scope="module")
def stories(deployment: Deployment) -> Stories:
    """An upload told out of order, repeated and in part not at all; and two first versions that are bad."""
    began = deployment.clock.now()
    shuffled = follower(deployment, "shuffled", {})
    bad = {name: follower(deployment, name, {7: outcome, 9: outcome}) for name, outcome in BAD.items()}
    before = {name: deployment.traffic(service) for name, service in bad.items()}
    chance = random.Random(7)
    told = 0
    for part in parts(files(), 3):
        resources = put(deployment, "shuffled", 7, part)
        kept = [each for each in resources if chance.random() >= 0.1]
        copies = [*kept, *chance.sample(kept, len(kept) // 5)]
        chance.shuffle(copies)
        deployment.upload(*copies)
        told += len(copies)
    for name in bad:
        deployment.upload(*put(deployment, name, 7, with_manifest()))
    return Stories(shuffled, began, told, bad, before)


def parts(content: Mapping[str, bytes], count: int) -> list[dict[str, bytes]]:
    """The files as a tool writes them that uploads several at once: in any order, some after some others were told of."""
    paths = sorted(content)
    random.Random(3).shuffle(paths)
    return [{path: content[path] for path in paths[start::count]} for start in range(count)]


def until(deployment: Deployment, services: Iterable[ServiceId], what: str, condition: Callable[[], object], *, seconds: float) -> None:
    """Wait; meanwhile these services are looked at, and at every third look the clock ticks, which wakes every service that is due."""
    looks = itertools.count(1)

    def move() -> None:
        deployment.look(*services)
        if next(looks) % 3 == 0:
            deployment.tick()

    wait_for(condition, what, seconds=seconds, meanwhile=move, every_seconds=1.5)


@pytest.mark.parametrize("name", BAD)
def test_a_first_version_that_is_bad_leaves_the_traffic_where_it_was_and_the_condition_says_why(
    deployment: Deployment, stories: Stories, name: str
) -> None:
    service = stories.bad[name]

    def given_up() -> bool:
        state = deployment.state(service)
        return state is not None and state.rollout is None and deployment.condition(service)[1] == "RolloutFailed"

    until(deployment, [service], f"{name}: version 7 to be given up", given_up, seconds=90)
    status, reason, message = deployment.condition(service)
    assert (status, reason) == ("False", "RolloutFailed")
    assert WORDS[name] in message
    assert deployment.traffic(service) == stories.before[name]
    state = deployment.state(service)
    assert state is not None
    assert len(state.quarantined) == 1
    assert deployment.model(f"gs://{BUCKET}/{name}").complete == (7,)


def test_the_next_good_version_is_served_after_a_bad_one(deployment: Deployment, stories: Stories) -> None:
    for name in stories.bad:
        deployment.upload(*put(deployment, name, 8, with_manifest()))

    def served() -> bool:
        return all(deployment.served_version(service) == 8 for service in stories.bad.values())

    until(deployment, stories.bad.values(), "version 8 to be served", served, seconds=90)

    def said() -> bool:
        return all(deployment.condition(service)[:2] == ("True", "Served") for service in stories.bad.values())

    until(deployment, stories.bad.values(), "the condition to say so", said, seconds=30)


def test_notifications_shuffled_repeated_and_lost_end_in_one_new_revision_with_all_the_traffic(
    deployment: Deployment, stories: Stories
) -> None:
    service = stories.shuffled
    until(deployment, [service], "version 7 to be served", lambda: deployment.served_version(service) == 7, seconds=180)
    until(deployment, [service], "the condition to say so", lambda: deployment.condition(service)[0] == "True", seconds=30)
    assert deployment.condition(service) == ("True", "Served", "")
    (revision,) = deployment.traffic(service)
    masks = [write.mask for write in deployment.writes(service)]
    assert [("template" in mask, "traffic" in mask) for mask in masks] == [(True, True), (False, True)]
    assert {write.principal for write in deployment.writes(service)} == {TRIMTAB}
    assert deployment.model(f"gs://{BUCKET}/shuffled").latest == 7
    told = [(each.attributes["ce-type"], json.loads(each.data).get("outcome")) for each in told_of(deployment, service, revision)]
    assert told == [("trimtab.rollout.v1", "promoted")]


def told_of(deployment: Deployment, service: ServiceId, revision: str) -> list[Any]:
    found: dict[str, Any] = {}

    def heard() -> bool:
        for each in deployment.told():
            if each.attributes["ce-subject"] == str(service) and each.attributes["ce-type"] == "trimtab.rollout.v1":
                assert json.loads(each.data)["revision"] == revision
                found[each.attributes["ce-id"]] = each
        return bool(found)

    wait_for(heard, "the end of the rollout to be told", seconds=20)
    return list(found.values())


def answers(deployment: Deployment) -> list[str]:
    return [line["message"] for line in deployment.answered("upload") if "/shuffled/" in line["key"]]


def test_every_notification_is_answered_and_one_debounce_brings_one_listing_at_most(deployment: Deployment, stories: Stories) -> None:
    wait_for(lambda: len(answers(deployment)) >= stories.notified, "an answer to every notification")
    assert set(answers(deployment)) == {"done", "duplicate"}
    elapsed = (deployment.clock.now() - stories.began).total_seconds()
    assert 2 <= deployment.listings("shuffled/") <= 1 + elapsed // DEBOUNCE_SECONDS


@pytest.mark.parametrize("name", BAD)
def test_a_bad_version_that_is_pinned_leaves_the_traffic_on_the_good_one(deployment: Deployment, stories: Stories, name: str) -> None:
    service = stories.bad[name]
    until(deployment, [service], "version 8 to be served", lambda: deployment.condition(service)[0] == "True", seconds=60)
    before = deployment.traffic(service)
    patch = {"serving": {"model": {"version": 9}}}
    status, answer = deployment.command("patch", command_id=f"{name}-9", service=str(service), patch=patch, if_generation=1)
    assert (status, answer["generation"]) == (200, 2)
    until(deployment, [service], "version 9 to be given up", lambda: deployment.condition(service)[1] == "RolloutFailed", seconds=60)
    status_of, _, message = deployment.condition(service)
    assert (status_of, WORDS[name] in message) == ("False", True)
    assert (deployment.traffic(service), deployment.served_version(service)) == (before, 8)
