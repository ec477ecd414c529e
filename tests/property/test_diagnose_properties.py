"""Whatever is asked, the answer is one: it never raises, never contradicts itself, and never takes the unknown for health."""

import random
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.cloud_logging import read_cloud_logging
from shared.diagnose.diagnosis import diagnose
from shared.diagnose.evidence_text import EvidenceTextError
from shared.diagnose.notification import read_notification
from shared.diagnose.picture import SIGNATURES
from shared.diagnose.prometheus_text import read_page
from shared.diagnose.remedy_catalog import REMEDIES
from tests.unit.diagnose.questions import batching, cpu_service, gpu_service, question

WORDS = st.sampled_from(
    [
        'client: StatusCode.RESOURCE_EXHAUSTED details = ""',
        "OOM when allocating tensor with shape[1] by allocator GPU_0_bfc",
        "Loading servable: {name: m version: 3}",
        "Retrying of Loading servable: {name: m version: 3} exhausted max_num_retries: 5",
        "The batch scheduling queue to which this task was submitted is full",
        'severity=WARNING httpRequest.status=429 "no available instance"',
        "Default STARTUP TCP probe failed 1 time consecutively for container x on port 8500",
        "Running gRPC ModelServer at 0.0.0.0:8500 ...",
        "Max instances must be set to 3 or fewer in order to set GPU requirements.",
        "reconciling: true",
        "HandleReloadConfigRequest -> DEADLINE_EXCEEDED",
        "Could not find variable w",
    ]
)
LINES = st.lists(WORDS | st.text(max_size=200), max_size=8)
NAMES = (
    "run.googleapis.com/request_count",
    "run.googleapis.com/request_latencies",
    "run.googleapis.com/container/instance_count",
    "run.googleapis.com/container/gpu/utilizations",
    "run.googleapis.com/container/cpu/utilizations",
    "run.googleapis.com/container/gpu/utilization",
    "run.googleapis.com/container/max_request_concurrencies",
    ":tensorflow:serving:request_count{status=UNAVAILABLE}",
    ":tensorflow:serving:batching_session:queuing_latency",
    ":tensorflow:serving:batching_session:processed_batch_size",
    "client/attempts_per_call",
    "window_end_age",
)
KEYS = st.builds(
    lambda name, statistic, unit: f"{name} {statistic} [{unit}]",
    st.sampled_from(NAMES),
    st.sampled_from(["rate", "mean", "p50", "p99", "max", "value", "count"]),
    st.sampled_from(["ms", "us", "s", "ratio", "%", "1/s", "rows", "instances"]),
)
VALUES = st.none() | st.floats(min_value=0, max_value=1e7) | st.floats(allow_nan=True, allow_infinity=True)
DEPLOYS = st.sampled_from([None, gpu_service("--concurrency=16", "--min=1", "--max=3"), gpu_service(), cpu_service("--max-instances=2")])
BATCHES = st.sampled_from([None, batching(8), batching(64, timeout=5000, queue=1_000_000, threads=16, allowed=(2, 64)), "nonsense {"])


@settings(max_examples=150, deadline=None)
@given(lines=LINES, metrics=st.dictionaries(KEYS, VALUES, max_size=8), deploy=DEPLOYS, file=BATCHES, p99=st.none() | st.floats(1, 1e5))
def test_an_answer_is_whole_and_does_not_contradict_itself(
    lines: list[str], metrics: dict[str, float | None], deploy: str | None, file: str | None, p99: float | None
) -> None:
    answer = diagnose(question(*lines, metrics=metrics, deploy=deploy, batching=file, p99_ms=p99))
    assert answer.causes
    assert [each.confidence for each in answer.causes] == sorted((each.confidence for each in answer.causes), reverse=True)
    assert all(0 < each.confidence <= 1 and each.evidence and each.cause in CAUSES for each in answer.causes)
    proposed = [each.remedy for each in answer.remedies]
    assert proposed
    assert len(set(proposed)) == len(proposed)
    assert set(proposed) <= REMEDIES.keys()
    assert not set(proposed) & {each.remedy for each in answer.avoid}


@settings(max_examples=60, deadline=None)
@given(keys=st.lists(KEYS, max_size=8), deploy=DEPLOYS)
def test_the_unknown_is_never_healthy_and_never_idle(keys: list[str], deploy: str | None) -> None:
    answer = diagnose(question(metrics=dict.fromkeys(keys), deploy=deploy, p99_ms=200))
    assert answer.causes[0].cause in {"insufficient-data", "metric-name-wrong"}
    assert not {each.remedy for each in answer.remedies} & {"lower-min-instances", "clamp-max-instances"}


@settings(max_examples=60, deadline=None)
@given(lines=LINES, metrics=st.dictionaries(KEYS, VALUES, max_size=6))
def test_the_same_question_has_the_same_answer(lines: list[str], metrics: dict[str, float | None]) -> None:
    asked = question(*lines, metrics=metrics)
    assert diagnose(asked) == diagnose(asked)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet=string.printable + '{}[]":', max_size=300))
def test_readers_of_raw_evidence_refuse_in_one_way(text: str) -> None:
    for read in (read_cloud_logging, read_notification, read_page):
        try:
            read(text)
        except EvidenceTextError:
            continue


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='aA1 .:{}"|()=\\', max_size=2000))
def test_no_text_is_too_odd_for_a_signature(text: str) -> None:
    for signature in SIGNATURES:
        signature.pattern.search(text.lower())


POINTS = st.builds(
    lambda name, statistic, minute, unit: f"{name} {statistic}{{minute=10:{minute:02d}}} [{unit}]",
    st.sampled_from(NAMES),
    st.sampled_from(["rate", "mean", "p99", "max"]),
    st.integers(0, 59),
    st.sampled_from(["ms", "ratio", "1/s", "instances"]),
)


@settings(max_examples=100, deadline=None)
@given(
    metrics=st.dictionaries(KEYS | POINTS, st.none() | st.floats(min_value=0, max_value=1e6), max_size=10),
    deploy=DEPLOYS,
    draw=st.randoms(use_true_random=False),
)
def test_the_order_of_metrics_changes_nothing(metrics: dict[str, float | None], deploy: str | None, draw: random.Random) -> None:
    pairs = list(metrics.items())
    draw.shuffle(pairs)
    straight, turned = (diagnose(question(metrics=each, deploy=deploy, p99_ms=200)) for each in (metrics, dict(pairs)))
    assert [(each.cause, each.confidence) for each in straight.causes] == [(each.cause, each.confidence) for each in turned.causes]
    assert [(each.remedy, each.after) for each in straight.remedies] == [(each.remedy, each.after) for each in turned.remedies]
