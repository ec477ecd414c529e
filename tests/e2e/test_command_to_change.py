"""From a command, over Pub/Sub or HTTPS, to a changed Cloud Run service, and from whom no command is taken, through real processes."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from shared.records.plan import DenialCode
from shared.records.subject import ServiceId
from tests.support.processes import ONCALL, PUSH_ACCOUNT, TEAM_COMMANDS, Deployment, wait_for

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(180)]


def spec(version: int = 7, *, high: int = 4, memory: str = "16Gi") -> dict[str, Any]:
    return {
        "scale": {"max_instance_count": high},
        "autonomy": "act",
        "serving": {
            "image": "tensorflow/serving:2.20.0-gpu",
            "model": {"name": "ranker", "uri": "gs://acme-models/pinned", "version": version},
            "protocol": "rest",
            "accelerator": "nvidia-l4",
            "gpu_zonal_redundancy": False,
            "cpu": "4",
            "memory": memory,
            "start_up_seconds": 30,
        },
    }


def body(command: str, command_id: str, service: ServiceId, **fields: Any) -> bytes:
    return json.dumps({"command": command, "command_id": command_id, "service": str(service), **fields}).encode()


def until(deployment: Deployment, service: ServiceId, what: str, condition: Callable[[], object], *, seconds: float = 40) -> None:
    wait_for(condition, what, seconds=seconds, meanwhile=lambda: deployment.look(service), every_seconds=1)


def serves(deployment: Deployment, service: ServiceId, version: int) -> None:
    """All the traffic comes to be on a revision that pins the version."""
    until(deployment, service, f"version {version} to be served", lambda: deployment.served_version(service) == version)
    until(deployment, service, "the condition to say so", lambda: deployment.condition(service)[:2] == ("True", "Served"))


def deployments(deployment: Deployment, service: ServiceId) -> int:
    return sum("template" in write.mask for write in deployment.writes(service))


def parked(deployment: Deployment, message: str) -> Any:
    wait_for(lambda: deployment.parked(message), f"message {message} to be parked")
    (entry,) = deployment.parked(message)
    return entry


@pytest.fixture(scope="module")
def service(deployment: Deployment) -> ServiceId:
    """One that serves version 7, by an apply over HTTPS."""
    placed = deployment.place_without_spec("commanded")
    status, answer = deployment.command("apply", command_id="commanded-1", service=str(placed), spec=spec())
    assert (status, answer["outcome"], answer["generation"]) == (200, "done", 1)
    serves(deployment, placed, 7)
    return placed


def test_an_apply_over_pub_sub_that_comes_three_times_is_one_change(deployment: Deployment) -> None:
    placed = deployment.place_without_spec("published")
    command = body("apply", "published-1", placed, spec=spec())
    deployment.publish("commands", command, command, command)
    serves(deployment, placed, 7)
    document = deployment.store.read(placed).document
    assert document is not None
    assert (document.generation, deployments(deployment, placed)) == (1, 1)
    wait_for(lambda: len(verdicts(deployment, "published-1")) == 3, "an answer to every message")
    assert sorted(verdicts(deployment, "published-1")) == ["done", "duplicate", "duplicate"]


def verdicts(deployment: Deployment, command_id: str) -> list[str]:
    return [line["message"] for line in deployment.answered("command") if line["key"] == command_id]


def test_an_apply_over_https_is_answered_at_once_and_served(deployment: Deployment, service: ServiceId) -> None:
    status, answer = deployment.command("apply", command_id="commanded-1", service=str(service), spec=spec())
    assert (status, answer["outcome"]) == (200, "duplicate")
    assert deployments(deployment, service) == 1
    wrong = spec() | {"scale": {"max_instance_count": 0}}
    status, answer = deployment.command("apply", command_id="commanded-wrong", service=str(service), spec=wrong)
    assert (status, [problem["field"] for problem in answer["problems"]]) == (400, ["spec.scale.max_instance_count"])


def test_a_hold_stops_the_change_that_comes_after_it_and_a_release_lets_it_go_on(deployment: Deployment, service: ServiceId) -> None:
    (hold,) = deployment.publish("commands", body("hold", "hold-1", service, hold_id="launch", kind="freeze", reason="launch day"))
    wait_for(lambda: verdicts(deployment, "hold-1") == ["done"], "the hold")
    assert not deployment.parked(hold)
    before = deployments(deployment, service)
    patch = {"serving": {"model": {"version": 8}}, "scale": {"max_instance_count": 3}}
    status, answer = deployment.command("patch", command_id="patch-8", service=str(service), patch=patch, if_generation=1)
    assert (status, answer["generation"]) == (200, 2)

    def held() -> bool:
        denials = {denial.code for decision in deployment.store.decisions(service, limit=5) for denial in decision.denials}
        return DenialCode.HOLD in denials and deployment.bounds(service)[1] == 3

    until(deployment, service, "the maximum to be lowered, and the hold to be named", held)
    assert (deployment.served_version(service), deployments(deployment, service)) == (7, before)
    assert deployment.command("release", command_id="release-1", service=str(service), hold_id="launch")[0] == 200
    serves(deployment, service, 8)


def test_a_subscription_without_the_right_cannot_apply_whatever_its_messages_say_of_themselves(
    deployment: Deployment, service: ServiceId
) -> None:
    before = deployment.store.read(service).document
    forged = {"author": ONCALL, "subscription": "projects/acme-ml/subscriptions/commands", "googclient_author": ONCALL}
    command = body("apply", "forged-1", service, spec=spec(version=6), author=ONCALL)
    (message,) = deployment.publish(TEAM_COMMANDS, command, attributes=forged)
    entry = parked(deployment, message)
    assert (entry.code, entry.source) == ("forbidden", "command")
    assert f"{TEAM_COMMANDS}-sub has no right to apply on {service}" in entry.reason
    assert deployment.store.read(service).document == before


def test_a_subscription_does_what_it_has_the_right_to(deployment: Deployment, service: ServiceId) -> None:
    deployment.publish(TEAM_COMMANDS, body("hold", "team-1", service, hold_id="team", reason="ours", author=ONCALL))
    wait_for(lambda: verdicts(deployment, "team-1") == ["done"], "the hold")
    document = deployment.store.read(service).document
    assert document is not None
    assert [(hold.hold_id, hold.author) for hold in document.holds] == [("team", f"{TEAM_COMMANDS}-sub, says it is {ONCALL}")]
    deployment.publish(TEAM_COMMANDS, body("release", "team-2", service, hold_id="team"))
    wait_for(lambda: verdicts(deployment, "team-2") == ["done"], "the release")


def push(command: bytes, subscription: str) -> bytes:
    message = {"data": base64.b64encode(command).decode(), "messageId": "1", "attributes": {}}
    return json.dumps({"message": message, "subscription": subscription}).encode()


@pytest.mark.parametrize("identity", [None, "mallory@example.com", f"{PUSH_ACCOUNT}.example.com"])
def test_a_caller_who_looks_like_a_push_of_the_right_subscription_is_not_believed(
    deployment: Deployment, service: ServiceId, identity: str | None
) -> None:
    before = deployment.store.read(service).document
    command = body("apply", f"forged-{identity}", service, spec=spec(version=6), author=ONCALL)
    granted = f"projects/{deployment.project}/subscriptions/commands-sub"
    for sent in (command, push(command, granted)):
        status, answer = deployment.post_command(sent, identity=identity)
        assert (status, answer["outcome"]) == (403, "forbidden")
    assert deployment.store.read(service).document == before
