"""Traffic by whatever shows it: a status as YAML or JSON in one line or many, gcloud's table, Terraform's block."""

import pytest

from tests.unit.diagnose.questions import ask, confidence, remedies

PINNED = {
    "v1 in one line": "status: {latestReadyRevisionName: tts-00012-abc, traffic: [{revisionName: tts-00009-xyz, percent: 100}]}",
    "v1 in two": "latestReadyRevisionName: tts-00012-abc\ntraffic: [{revisionName: tts-00009-xyz, percent: 100}]",
    "v1 as a block": "latestReadyRevisionName: tts-00012-abc\ntraffic:\n- percent: 100\n  revisionName: tts-00009-xyz",
    "v2 JSON": '{"latestReadyRevision":"projects/p/locations/l/services/tts/revisions/tts-00012-abc","trafficStatuses":[{"type":'
    '"TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION","revision":"tts-00009-xyz","percent":100}]}',
    "gcloud's table": "Traffic:\n  100% tts-00009-xyz\nLast updated on 2026-11-02 by a@example.com:\n  Revision tts-00012-abc",
    "gcloud's deploy": "Service [tts] revision [tts-00012-abc] has been deployed and is serving 0 percent of traffic.",
    "Terraform": 'latest_ready_revision = "tts-00012-abc"\ntraffic { percent = 100 revision = "tts-00009-xyz" }',
    "a split": "latestReadyRevisionName: tts-00012-abc\ntraffic: [{revisionName: tts-00009-xyz, percent: 70}, {revisionName: "
    "tts-00010-ghi, percent: 30}, {revisionName: tts-00012-abc, tag: next}]",
}
FREE = {
    "it follows the newest": "latestReadyRevisionName: tts-00012-abc\ntraffic: [{latestRevision: true, revisionName: tts-00012-abc, "
    "percent: 100}]",
    "the newest has it": "latestReadyRevisionName: tts-00012-abc\ntraffic: [{revisionName: tts-00012-abc, percent: 100}]",
    "part of it": "latestReadyRevisionName: tts-00012-abc\ntraffic:\n- percent: 90\n  revisionName: tts-00009-xyz\n- percent: 10\n  "
    "revisionName: tts-00012-abc",
    "the table says LATEST": "Traffic:\n  100% LATEST (currently tts-00012-abc)\nlatestReadyRevisionName: tts-00012-abc",
    "the newest is not ready": "status: {latestCreatedRevisionName: tts-00012-abc, latestReadyRevisionName: tts-00009-xyz, traffic: "
    "[{revisionName: tts-00009-xyz, percent: 100}]}",
}


@pytest.mark.parametrize("text", PINNED.values(), ids=PINNED)
def test_a_newer_revision_that_is_ready_and_gets_nothing(text: str) -> None:
    answer = ask(text)
    assert answer.causes[0].cause == "traffic-pinned"
    assert remedies(answer) == ["move-traffic"]


@pytest.mark.parametrize("text", FREE.values(), ids=FREE)
def test_traffic_that_reaches_the_newest_is_not_pinned(text: str) -> None:
    answer = ask(text)
    assert confidence(answer, "traffic-pinned") == 0
    assert "move-traffic" not in remedies(answer)


def test_what_traffic_is_moved_from_is_named() -> None:
    assert ask(PINNED["a split"]).remedies[0].before == "tts-00009-xyz 70 %, tts-00010-ghi 30 %"


@pytest.mark.parametrize(
    "condition",
    [
        "conditions: [{type: Ready, status: 'False', reason: RevisionFailed}]",
        '{"lastTransitionTime":"2026-11-02T10:00:00Z","status":"Unknown","type":"Ready"}',
    ],
)
def test_a_revision_that_is_not_ready_is_no_matter_of_traffic(condition: str) -> None:
    assert confidence(ask(PINNED["v1 in two"], condition), "traffic-pinned") == 0
