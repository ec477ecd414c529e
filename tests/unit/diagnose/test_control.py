"""The control plane, and data that cannot carry a decision."""

import pytest

from tests.unit.diagnose.questions import (
    CLOUD_RUN,
    GPU_USE,
    INSTANCES,
    REQUESTS,
    SLOW,
    ask,
    avoided,
    confidence,
    first,
    gpu_service,
    remedies,
)

PINNED = """\
name: projects/acme/locations/us-east4/services/seg
template:
  containers: [{image: tensorflow/serving:2.20.0, ports: [{containerPort: 8501}]}]
traffic:
- {type: TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION, revision: seg-00002-aaa, percent: 100}
"""


@pytest.mark.parametrize(
    "line",
    [
        "google.api_core.exceptions.Aborted: 409 Conflict for resource 'svc': version '17' was specified but current version is '18'.",
        "rpc error: code = Aborted desc = Conflict for resource 'svc': version '17' was specified but current version is '18'.",
        "Error: googleapi: Error 409: Conflict for resource 'svc': version '17' was specified but current version is '18'., aborted",
    ],
)
def test_a_version_that_moved_is_read_again(line: str) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "stale-etag"
    assert remedies(answer) == ["reread-and-retry"]
    assert "clear-revision-name" in avoided(answer)


def test_a_name_that_is_taken_is_cleared_and_not_retried() -> None:
    answer = ask("googleapi: Error 409: Revision named 'app-00009-x' with different configuration already exists.")
    assert answer.causes[0].cause == "revision-name-conflict"
    assert remedies(answer) == ["clear-revision-name"]
    assert "reread-and-retry" in avoided(answer)


def test_an_entity_that_exists_is_the_revision_where_the_template_names_one() -> None:
    named = PINNED.replace("template:\n", "template:\n  revision: seg-00003-bbb\n")
    assert first("googleapi: Error 409: Requested entity already exists", deploy=named) == "revision-name-conflict"
    assert first("googleapi: Error 409: Resource 'svc' already exists.") == "api-request-invalid"


@pytest.mark.parametrize(
    "line",
    [
        "The feature 'x' is not supported in the declared launch stage on resource svc.",
        "google.api_core.exceptions.MethodNotImplemented: 501 Operation is not implemented, or supported, or enabled.",
        "google.api_core.exceptions.InvalidArgument: 400 template.max_instance_request_concurrency: Must be a number between 0 and 1000",
    ],
)
def test_a_call_that_is_wrong_by_itself(line: str) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "api-request-invalid"
    assert remedies(answer) == ["fix-api-request"]


def test_a_ready_revision_without_traffic_is_pinned_out() -> None:
    answer = ask("latest_ready_revision: seg-00005-bbb", "terminal_condition: CONDITION_SUCCEEDED", deploy=PINNED)
    assert answer.causes[0].cause == "traffic-pinned"
    assert remedies(answer) == ["move-traffic"]
    assert answer.remedies[0].before == "seg-00002-aaa 100 %"


def test_a_revision_that_is_not_ready_yet_is_not_pinned_out() -> None:
    answer = ask("reconciling: true, reason: MIN_INSTANCES_WARMING", "latest_created_revision: seg-00005-bbb", deploy=PINNED)
    assert answer.causes[0].cause == "rollout-in-progress"
    assert confidence(answer, "traffic-pinned") == 0


def test_no_evidence_at_all_is_no_healthy_service() -> None:
    answer = ask()
    assert [each.cause for each in answer.causes] == ["insufficient-data"]
    assert remedies(answer) == ["hold"]
    assert answer.missing


def test_queries_without_points_are_unknown_and_not_zero() -> None:
    answer = ask(deploy=gpu_service("--min=3", "--max=6"), metrics={REQUESTS: None, GPU_USE: None, INSTANCES: None}, p99_ms=200)
    assert answer.causes[0].cause == "insufficient-data"
    assert remedies(answer) == ["hold"]
    assert "lower-min-instances" in avoided(answer)
    assert any("container/gpu/utilizations" in each for each in answer.missing)


def test_a_window_newer_than_the_points_decides_nothing() -> None:
    metrics = {SLOW: 80, REQUESTS: 0.0, f"{CLOUD_RUN}container/gpu/utilizations p99 [ratio]": 0.0, "window_end_age [s]": 50}
    answer = ask(deploy=gpu_service("--min=3", "--max=6"), metrics=metrics, p99_ms=200)
    assert answer.causes[0].cause == "insufficient-data"
    assert any("180 s" in each for each in answer.missing)


def test_a_text_decides_whatever_the_window() -> None:
    line = "The batch scheduling queue to which this task was submitted is full"
    assert first(line, metrics={"window_end_age [s]": 30, REQUESTS: None}) == "batch-queue-full"


def test_a_window_with_few_points_decides_nothing() -> None:
    assert (
        first(metrics={SLOW: 80, REQUESTS: 0.1, "points present [ratio]": 0.3, "window_end_age [s]": 400}, p99_ms=200)
        == "insufficient-data"
    )


def test_a_handful_of_requests_tells_no_tail() -> None:
    metrics = {f"{CLOUD_RUN}request_count count [requests]": 4, SLOW: 900, "window_end_age [s]": 400}
    assert first(metrics=metrics, p99_ms=200) == "insufficient-data"


def test_an_incident_that_closed_without_a_value_is_no_recovery() -> None:
    answer = ask(
        metrics={SLOW: None, REQUESTS: None},
        alert={"state": "closed", "observed_value": "", "policy_name": "p95", "metric": {"type": "run.googleapis.com/request_latencies"}},
    )
    assert answer.causes[0].cause == "insufficient-data"
    assert any("no recovery" in sentence for sentence in answer.causes[0].evidence)


def test_an_alert_alone_says_that_and_not_why() -> None:
    answer = ask(alert={"state": "open", "condition_name": "p99 > 400 ms"})
    assert answer.causes[0].cause == "insufficient-data"
    assert "p99 > 400 ms" in answer.causes[0].evidence[0]


def test_a_singular_name_is_no_metric() -> None:
    answer = ask(metrics={f"{CLOUD_RUN}container/gpu/utilization p50 [ratio]": None, REQUESTS: 90, INSTANCES: 2})
    assert answer.causes[0].cause == "metric-name-wrong"
    assert remedies(answer) == ["fix-metric-query"]
    assert answer.remedies[0].after == "run.googleapis.com/container/gpu/utilizations"


def test_a_real_name_without_points_is_not_wrong() -> None:
    assert confidence(ask(metrics={GPU_USE: None, REQUESTS: 90, INSTANCES: 2}), "metric-name-wrong") == 0


@pytest.mark.parametrize(
    "line",
    [
        "The aligner cannot be applied to metrics with kind DELTA and value type DISTRIBUTION.",
        'googleapi: Error 404: Cannot find metric(s) that match type = "run.googleapis.com/container/cpu/utilization".',
        "Could not find any metric named 'run.googleapis.com/container/cpu/utilization'.",
    ],
)
def test_a_refused_query_is_mended_and_nothing_else(line: str) -> None:
    answer = ask(line, metrics={REQUESTS: 90})
    assert answer.causes[0].cause == "metric-name-wrong"
    assert "lower-min-instances" in avoided(answer)


def test_an_alert_policy_that_asks_for_no_metric() -> None:
    policy = 'filter: metric.type="run.googleapis.com/container/memory/utilization" AND resource.type="cloud_run_revision"'
    assert first(alert_policy=policy) == "metric-name-wrong"


POLICY = (
    '{"conditions": [{"conditionThreshold": {"filter": "metric.type=\\"run.googleapis.com/request_latencies\\"", '
    '"aggregations": [{"alignmentPeriod": "60s", "perSeriesAligner": "ALIGN_MEAN"}]}}]}'
)


def test_an_aligner_that_the_metric_does_not_take_leaves_the_query_empty() -> None:
    answer = ask(alert_policy=POLICY, metrics={SLOW: None, REQUESTS: 40, INSTANCES: 2})
    assert answer.causes[0].cause == "metric-name-wrong"
    assert "ALIGN_PERCENTILE" in str(answer.remedies[0].after)


def test_an_aligner_that_fits_is_not_blamed_for_missing_points() -> None:
    policy = POLICY.replace("ALIGN_MEAN", "ALIGN_PERCENTILE_99")
    assert confidence(ask(alert_policy=policy, metrics={SLOW: None, REQUESTS: None}), "metric-name-wrong") == 0
