"""What holds of every batching that a service starts with, and of every text and number that lint is given."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.lint import batching_meaning, flag_rules, query_rules
from shared.lint.given import Text
from shared.lint.queries import read_queries
from shared.lint.scheduling import batch_time_ms
from shared.records.batching_start import starting_batching
from shared.records.serving import AUTO, ServingSpec
from shared.tfserving.batching import format_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.flags import server_threads
from tests.support.lint_deployments import codes, deployed, service

GCS = "gs://acme-models/ranker"
counts = st.integers(-3, 3000)
gpu_shapes = st.tuples(st.just(True), st.sampled_from([4, 6, 8, 20, 30]))  # noqa: FBT003 (a GPU or none)
cpu_shapes = st.tuples(st.just(False), st.sampled_from([1, 2, 4, 6, 8]))  # noqa: FBT003 (the same)
maybe_counts = st.one_of(st.none(), counts)


def serving(*, gpu: bool, cpu: int, rows: int) -> ServingSpec:
    return ServingSpec.model_validate(
        {
            "image": "docker.io/tensorflow/serving:2.20.0-gpu",
            "model": {"name": "ranker", "uri": GCS},
            "accelerator": "nvidia-l4" if gpu else None,
            "cpu": str(cpu),
            "memory": "16Gi",
            "batching": AUTO,
            "max_instance_request_concurrency": AUTO,
            "rows_per_request": rows,
        }
    )


@settings(max_examples=300, deadline=None)
@given(shape=st.one_of(gpu_shapes, cpu_shapes), rows=st.integers(1, 4096), grpc=st.booleans())
def test_a_service_as_it_starts_has_no_finding_about_batching_threads_or_flags(shape: tuple[bool, int], rows: int, *, grpc: bool) -> None:
    gpu, cpu = shape
    parameters, concurrency = starting_batching(serving(gpu=gpu, cpu=cpu, rows=rows))
    assert parameters is not None
    protocol, flag = ("grpc", "grpc_max_threads") if grpc else ("rest", "rest_api_num_threads")
    threads = server_threads(concurrency, "grpc" if protocol == "grpc" else "rest")
    args = ["--enable_batching=true", "--batching_parameters_file=/b.txt", f"--{flag}={threads}", "--file_system_poll_wait_seconds=0"]
    container = service(gpu=gpu, cpu=str(cpu), concurrency=concurrency, args=args, port=8500 if grpc else 8501)
    deployment = deployed(container, batching=format_batching(parameters), rows_per_request=rows)
    assert codes([*batching_meaning.RULES, *flag_rules.RULES], deployment) == []


@settings(max_examples=300, deadline=None)
@given(
    numbers=st.builds(
        BatchingParameters,
        max_batch_size=maybe_counts,
        batch_timeout_micros=st.one_of(maybe_counts, st.integers(0, 10_000_000)),
        max_enqueued_batches=maybe_counts,
        num_batch_threads=maybe_counts,
        enable_large_batch_splitting=st.one_of(st.none(), st.booleans()),
        max_execution_batch_size=maybe_counts,
    ),
    gpu=st.booleans(),
    concurrency=st.one_of(st.none(), st.integers(1, 1200)),
    rows=st.one_of(st.none(), st.integers(1, 3000)),
    p99_ms=st.one_of(st.none(), st.floats(1, 1000)),
    measured=st.dictionaries(st.integers(1, 2000), st.floats(0.5, 500), max_size=4),
)
def test_whatever_the_numbers_are_each_finding_has_a_fix_and_each_code_comes_once(
    numbers: BatchingParameters, *, gpu: bool, concurrency: int | None, rows: int | None, p99_ms: float | None, measured: dict[int, float]
) -> None:
    container = service(gpu=gpu, concurrency=concurrency)
    deployment = deployed(container, batching=format_batching(numbers), p99_ms=p99_ms, rows_per_request=rows, batch_ms=measured)
    findings = [finding for rule in batching_meaning.RULES for finding in rule(deployment)]
    assert len({finding.code for finding in findings}) == len(findings)
    for finding in findings:
        assert finding.fix
        assert "value: -" not in finding.fix
        assert "value: 0 }" not in finding.fix.replace("batch_timeout_micros { value: 0 }", "")
        assert "=0`" not in finding.fix


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.integers(1, 500), st.floats(0.1, 1000), min_size=1, max_size=6), st.integers(1, 600))
def test_the_time_of_a_batch_lies_between_those_of_its_neighbours(measured: dict[int, float], rows: int) -> None:
    time = batch_time_ms(measured, rows)
    if rows < min(measured):
        assert time is None
    else:
        assert time is not None
        assert min(measured.values()) - 1e-9 <= time <= max(measured.values()) + 1e-9


words = st.sampled_from(
    [
        "--enable_batching",
        "true",
        "--port=",
        "--port=8501",
        "--",
        "-x",
        "--max_batch_size",
        "10",
        "--batching_parameters_file=/b",
        "",
        "--=",
        "$A",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(words, st.text(max_size=12)), max_size=8), st.booleans())
def test_no_command_line_breaks_the_rules(arguments: list[str], listed: bool) -> None:
    deployment = deployed(flags=arguments) if listed else deployed(service(args=arguments, concurrency=80))
    for rule in flag_rules.RULES:
        assert all(finding.message and finding.fix for finding in rule(deployment))


pieces = st.sampled_from(
    [
        'metric.type="',
        "run.googleapis.com/",
        "container/cpu/utilization",
        '"',
        " AND ",
        "filter: ",
        "\n",
        "{",
        "}",
        "perSeriesAligner: ALIGN_MAX",
        "'",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(pieces, st.text(max_size=6)), max_size=12))
def test_no_text_breaks_the_reading_of_queries(parts: list[str]) -> None:
    text = "".join(parts)
    read_queries(text)
    findings: list[Any] = list(query_rules.query_rules(deployed(alert_policy=text)))
    assert all(Text(text, "policy.yaml").where("alert_policy").file == finding.where.file for finding in findings)
