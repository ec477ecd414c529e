"""A bundle of evidence, part by part."""

import pytest

from shared.lint.bundle import BundleError, read_bundle
from shared.lint.given import StoredObject

BUNDLE = """\
deploy: |
  gcloud run deploy rank \\
    --cpu=4
batching: "max_batch_size { value: 32 }\\n"
flags:
- --port=8500
- --rest_api_port=8501
env: {MODEL_NAME: rank, RETRIES: 3, DEBUG: true}
objects:
- gs://acme/rank/1/saved_model.pb 400
- /models/rank/1/saved_model.pb
logs:
- 'client: RESOURCE_EXHAUSTED'
- ERROR: failed
metrics:
  run.googleapis.com/request_count{response_code=429} rate [1/s]: 7
  run.googleapis.com/container/gpu/utilizations p50 [ratio]: null
slo: {p99_ms: 100}
workload: {rows_per_request: 4, start_s: 30.5, batch_ms: {1: 6, 16: 12}, bulk: true, gpu_quota: 3}
alert: {state: open}
"""


def test_every_part_is_read() -> None:
    given = read_bundle("q.yaml", BUNDLE)
    assert given.flags is not None
    assert given.flags.values == ("--port=8500", "--rest_api_port=8501")
    assert given.flags.lines == (6, 7)
    assert given.env == {"MODEL_NAME": "rank", "RETRIES": "3", "DEBUG": "true"}
    assert given.objects is not None
    assert given.objects.objects == (
        StoredObject("gs://acme/rank/1/saved_model.pb", 400),
        StoredObject("/models/rank/1/saved_model.pb", None),
    )
    assert given.logs == ("client: RESOURCE_EXHAUSTED", "ERROR: failed")
    assert given.metrics == {
        "run.googleapis.com/request_count{response_code=429} rate [1/s]": 7.0,
        "run.googleapis.com/container/gpu/utilizations p50 [ratio]": None,
    }
    assert given.p99_ms == 100
    assert given.workload.rows_per_request == 4
    assert given.workload.batch_ms == {1: 6.0, 16: 12.0}
    assert given.workload.bulk
    assert given.alert == {"state": "open"}


def test_a_line_of_a_block_is_a_line_of_the_file() -> None:
    given = read_bundle("q.yaml", BUNDLE)
    assert given.deploy is not None
    assert given.deploy.where("deploy", 2, "--cpu").line == 3


def test_a_line_of_a_quoted_text_is_that_of_its_part() -> None:
    given = read_bundle("q.yaml", BUNDLE)
    assert given.batching is not None
    assert given.batching.where("batching", 1).line == 4


def test_the_parts_may_stand_under_given() -> None:
    assert read_bundle("q.yaml", "id: 1\ngiven:\n  logs: [a]\n").logs == ("a",)


def test_no_data_is_not_zero() -> None:
    metrics = read_bundle("q.yaml", "metrics: {a: null, b: 'no data', c: 0}\n").metrics
    assert metrics == {"a": None, "b": None, "c": 0.0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("deploy: {a: 1}\n", "deploy is"),
        ("logs: 3\n", "logs is 3"),
        ("metrics: [1]\n", "metrics is"),
        ("metrics: {a: -1}\n", "metrics.a is -1; write a number that is zero or more"),
        ("metrics: {a: fast}\n", "metrics.a is 'fast'"),
        ("metrics: {a: .inf}\n", "metrics.a is"),
        ("slo: {p99_ms: true}\n", "slo.p99_ms is True"),
        ("workload: {batch_ms: {many: 3}}\n", "'many' is no number of rows"),
        ("workload: {bulk: 1}\n", "workload.bulk is 1"),
        ("flags: [[a]]\n", "flags has"),
        ("deploy: a\nnonsense: 1\n", "has no part 'nonsense'"),
        ("- a\n", "write its parts as names"),
        ("logs: [a\n", "not YAML"),
        ("logs: a\nlogs: b\n", "line 2"),
    ],
)
def test_a_part_of_the_wrong_shape_is_named(text: str, why: str) -> None:
    with pytest.raises(BundleError) as refused:
        read_bundle("q.yaml", text)
    assert why in str(refused.value)
