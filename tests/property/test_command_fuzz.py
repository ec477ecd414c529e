"""Thousands of spoilt commands, pushed and asked for: every one is answered, none with a 5xx, and none changes what it may not."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shared import log
from shared.handlers.answer import serve_callers
from shared.handlers.command import receive_command
from shared.records.fleet import Fleet
from shared.records.parked import BODY_LIMIT_BYTES
from shared.records.service import ServiceDocument
from tests.support.builders import document
from tests.support.mutate import Mutator
from tests.support.rig import PostedRequest
from tests.unit.handlers.twins_command import ALICE, PUSH_ACCOUNT, Scene, bearer, pushed

EXAMPLES = [json.loads(path.read_text()) for path in sorted((Path(__file__).parents[2] / "docs" / "examples").glob("command-*.json"))]
CASES = 1_500
ANSWERS = {200, 400, 403, 409}


def served(scene: Scene, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
    with log.silenced():
        text, status, _ = serve_callers(
            "command", PostedRequest(body, headers), lambda found, read: receive_command(found, read, scene.ports)
        )
    return status, text


@pytest.mark.parametrize("way", ["pushed", "asked", "on this machine"])
def test_a_spoilt_command_is_answered_and_leaves_readable_documents(way: str) -> None:
    scene = Scene(trusted_local=way == "on this machine", grants=[] if way == "on this machine" else Scene().grants)
    mutator, statuses = Mutator(7), Counter[int]()
    for case in range(CASES):
        command: dict[str, Any] = {**EXAMPLES[case % len(EXAMPLES)], "command_id": f"c{case}"}
        if not scene.store.documents:
            scene.store.put(document())
        body = json.dumps(command).encode() if way == "asked" else pushed(command, f"m{case}")
        spoilt_headers, spoilt = mutator.request({"content-type": "application/json"}, body)
        identity = {"pushed": bearer(PUSH_ACCOUNT), "asked": bearer(ALICE), "on this machine": {}}[way]
        kept = {name: value for name, value in spoilt_headers.items() if "authorization" not in name.lower()}
        status, text = served(scene, {**kept, **{name: value for name, value in identity.items() if name == "Authorization"}}, spoilt)
        statuses[status] += 1
        assert status in ANSWERS, (status, text, spoilt[:500])
        assert len(text) < 100_000
    assert len(statuses) > 1 or way != "asked"
    for stored, _ in scene.store.documents.values():
        assert ServiceDocument.from_stored(stored.to_stored()) == stored
    if scene.store.fleet is not None:
        assert Fleet.from_stored(scene.store.fleet[0].to_stored()) == scene.store.fleet[0]
    for entry in scene.store.entries.values():
        assert len(entry.body) <= BODY_LIMIT_BYTES * 4 // 3 + 4
        assert entry.reason.isprintable()


def test_without_rights_a_spoilt_command_changes_nothing_at_all() -> None:
    scene = Scene(grants=[])
    mutator = Mutator(11)
    for case in range(CASES):
        command = {**EXAMPLES[case % len(EXAMPLES)], "command_id": f"c{case}"}
        body = json.dumps(command).encode() if case % 2 else pushed(command, f"m{case}")
        headers, spoilt = mutator.request(bearer([ALICE, PUSH_ACCOUNT][case % 3 == 0]), body)
        served(scene, headers, spoilt)
    assert (scene.store.commands, scene.store.documents, scene.store.fleet, scene.bus.batches) == ({}, {}, None, [])
