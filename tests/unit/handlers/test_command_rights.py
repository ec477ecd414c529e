"""Whose word counts: the subscription of a real push, the identity that the platform verified, and nothing that a body or header claims."""

import base64
import json
from typing import Any

import pytest

from shared.handlers.answer import Handled, Reply
from shared.handlers.command import receive_command
from shared.handlers.command_caller import verified_identity
from shared.records.parked import ParkCode
from tests.support.builders import RANKER, document
from tests.support.commands import RANKER as RANKER_FILE
from tests.unit.handlers.twins_command import ALICE, ALL, PUSH_ACCOUNT, Scene, bearer, grant, pushed, token

SERVICE = str(RANKER)
APPLY: dict[str, Any] = {"command": "apply", "command_id": "c1", "service": SERVICE, "spec": RANKER_FILE["spec"]}
TEAM = "projects/acme-ml/subscriptions/commands-team"


def receive(scene: Scene, headers: dict[str, str], body: bytes) -> Handled | Reply:
    return receive_command(headers, lambda: body, scene.ports)


def ask(scene: Scene, headers: dict[str, str], command: object) -> tuple[int, str]:
    reply = receive(scene, headers, json.dumps(command).encode())
    assert isinstance(reply, Reply)
    return reply.status, reply.content["outcome"]


def untouched(scene: Scene) -> bool:
    return not scene.store.commands and not scene.store.documents and not scene.bus.batches


# -- pushes


def test_a_subscription_without_the_right_cannot_apply_and_what_it_sent_is_parked() -> None:
    scene = Scene(grants=[grant("patch hold", subscription=TEAM), grant(ALL)])
    handled = receive(scene, bearer(PUSH_ACCOUNT), pushed(APPLY, subscription=TEAM))
    assert isinstance(handled, Handled)
    assert (handled.verdict, untouched(scene)) == ("parked", True)
    (entry,) = scene.store.entries.values()
    assert entry.code == ParkCode.FORBIDDEN
    assert f"the subscription {TEAM} has no right to apply on {SERVICE}" in entry.reason


def test_a_subscription_has_its_rights_on_its_services_only() -> None:
    scene = Scene(grants=[grant("apply", "acme-ml:europe-west1:scorer", subscription=TEAM)])
    receive(scene, bearer(PUSH_ACCOUNT), pushed(APPLY, subscription=TEAM))
    assert untouched(scene)
    scorer = {**APPLY, "service": "acme-ml:europe-west1:scorer"}
    receive(scene, bearer(PUSH_ACCOUNT), pushed(scorer, "9002", subscription=TEAM))
    assert list(scene.store.documents) == ["acme-ml:europe-west1:scorer"]


def test_a_forged_author_gives_no_right_and_is_shown_as_a_claim() -> None:
    scene = Scene(grants=[grant("hold", subscription=TEAM), grant(ALL, identity=ALICE)])
    receive(scene, bearer(PUSH_ACCOUNT), pushed({**APPLY, "author": ALICE}, subscription=TEAM))
    assert untouched(scene)
    scene.store.put(document())
    hold = {"command": "hold", "service": SERVICE, "reason": "x", "author": ALICE}
    receive(scene, bearer(PUSH_ACCOUNT), pushed(hold, "9002", subscription=TEAM))
    (kept,) = scene.store.documents[SERVICE][0].holds
    assert kept.author == f"commands-team, says it is {ALICE}"


def test_attributes_of_a_message_give_no_right() -> None:
    scene = Scene(grants=[grant(ALL, identity=ALICE)])
    body = pushed(APPLY, subscription=TEAM, author=ALICE, Authorization=f"Bearer {token(ALICE)}", subscription_of="x")
    receive(scene, bearer(PUSH_ACCOUNT), body)
    assert untouched(scene)


def test_a_push_that_names_no_subscription_has_no_rights() -> None:
    scene = Scene()
    body = json.loads(pushed(APPLY))
    del body["subscription"]
    handled = receive(scene, bearer(PUSH_ACCOUNT), json.dumps(body).encode())
    assert (handled[0], untouched(scene)) == ("parked", True)


def test_the_push_account_cannot_command_in_its_own_name() -> None:
    scene = Scene(grants=[grant(ALL, identity=PUSH_ACCOUNT)])
    handled = receive(scene, bearer(PUSH_ACCOUNT), json.dumps(APPLY).encode())
    assert isinstance(handled, Handled)
    assert (handled.verdict, untouched(scene)) == ("parked", True)


# -- callers


def test_a_body_that_looks_like_a_push_has_the_rights_of_who_sent_it() -> None:
    scene = Scene(grants=[grant(ALL)])
    reply = receive(scene, bearer("mallory@example.com"), pushed(APPLY))
    assert isinstance(reply, Reply)
    assert (reply.status, reply.content["outcome"], untouched(scene)) == (403, "forbidden", True)
    assert reply.content["problems"] == [
        {
            "field": "command",
            "value": "apply",
            "problem": f"mallory@example.com has no right to apply on {SERVICE}",
            "fix": "have TRIMTAB_COMMAND_GRANTS name it, or send it from where the right is",
        }
    ]
    assert scene.store.entries == {}


def test_a_caller_with_the_right_may_send_a_push_body_and_is_its_author() -> None:
    scene = Scene(grants=[grant(ALL, identity=ALICE)])
    reply = receive(scene, bearer(ALICE), pushed(APPLY))
    assert isinstance(reply, Reply)
    assert reply.status == 200
    (fact,) = scene.store.commands.values()
    assert (fact.verified_author, fact.subscription) == (ALICE, None)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {token(ALICE)}"},
        {"Authorization": token(ALICE)},
        {"Authorization": "Bearer a.b.c"},
        {"Authorization": "Bearer a.W10.c"},
        {"Authorization": f"Bearer {token(ALICE)}.more"},
        {"Authorization": "Bearer " + "a" * 100_000},
        {"Authorization": f"Bearer {token(ALICE)},Bearer {token(ALICE)}"},
        bearer(ALICE, issuer="https://evil.example.com"),
        bearer(ALICE, verified=False),
        bearer(ALICE, verified=None),
        bearer([ALICE]),
        bearer(f"{ALICE} "),
        bearer(f"{ALICE}\n"),
        bearer("alic\u0435@example.com"),
        bearer(f"mallory@example.com@{ALICE}"),
        {"X-Author": ALICE, "X-Goog-Authenticated-User-Email": f"accounts.google.com:{ALICE}", "From": ALICE},
    ],
)
def test_without_a_verified_identity_there_are_no_rights(headers: dict[str, str]) -> None:
    scene = Scene(grants=[grant(ALL, identity=ALICE)])
    assert ask(scene, headers, APPLY) == (403, "forbidden")
    assert untouched(scene)


def test_two_tokens_in_one_request_are_no_identity_since_the_platform_checks_only_one_of_them() -> None:
    scene = Scene(grants=[grant(ALL, identity=ALICE)])
    headers = {"X-Serverless-Authorization": f"Bearer {token('mallory@example.com')}", "Authorization": f"Bearer {token(ALICE)}"}
    assert ask(scene, headers, APPLY) == (403, "forbidden")
    assert verified_identity(headers) is None


def test_either_header_alone_is_the_token_that_was_checked_whatever_its_case() -> None:
    assert verified_identity({"x-serverless-authorization": f"bearer {token('Alice@Example.com')}"}) == ALICE
    assert verified_identity({"AUTHORIZATION": f"Bearer {token(ALICE)}"}) == ALICE


def test_deep_json_in_a_token_is_no_identity() -> None:
    payload = base64.urlsafe_b64encode(b"[" * 9_000).rstrip(b"=").decode()
    assert verified_identity({"Authorization": f"Bearer a.{payload}.c"}) is None


@pytest.mark.parametrize(
    "command",
    [
        {"command": "hold", "all": True, "reason": "x"},
        {"command": "release", "all": True},
        {"command": "redrive", "key": "k"},
        {"command": "discard", "key": "k"},
    ],
)
def test_what_is_about_all_services_or_about_none_takes_a_grant_of_everything(command: dict[str, Any]) -> None:
    scene = Scene(grants=[grant(ALL, "acme-ml:*", identity=ALICE)])
    assert ask(scene, bearer(ALICE), {"command_id": "c", **command}) == (403, "forbidden")
    assert untouched(scene)


def test_a_patch_of_the_autonomy_takes_the_right_to_apply() -> None:
    scene = Scene(grants=[grant("patch", identity=ALICE)])
    scene.store.put(document(autonomy="observe"))  # type: ignore[arg-type]  # pydantic reads the text
    patch = {"command": "patch", "command_id": "c", "service": SERVICE, "patch": {"autonomy": "act"}}
    assert ask(scene, bearer(ALICE), patch) == (403, "forbidden")
    scene.grants.append(grant("apply", identity=ALICE))
    assert ask(scene, bearer(ALICE), patch) == (200, "done")


# -- the local edition


def test_on_ones_own_machine_no_token_is_asked_for() -> None:
    scene = Scene(grants=[], trusted_local=True)
    assert ask(scene, {}, APPLY) == (200, "done")
    handled = receive(scene, {}, pushed({**APPLY, "command_id": "c2"}))
    assert isinstance(handled, Handled)
    assert handled.verdict == "done"


def test_a_page_in_a_browser_is_not_the_owner_of_the_machine() -> None:
    scene = Scene(grants=[], trusted_local=True)
    assert ask(scene, {"Origin": "https://evil.example.com", "Content-Type": "text/plain"}, APPLY) == (403, "forbidden")
    reply = receive(scene, {"Origin": "null"}, pushed(APPLY))
    assert isinstance(reply, Reply)
    assert (reply.status, untouched(scene)) == (403, True)


def test_on_ones_own_machine_a_token_still_names_its_bearer() -> None:
    scene = Scene(grants=[], trusted_local=True)
    assert ask(scene, bearer("mallory@example.com"), APPLY) == (403, "forbidden")
