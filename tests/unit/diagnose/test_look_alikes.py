"""Evidence that looks like a fault and is none, or like another one: what has to stand beside it."""

import pytest

from tests.unit.diagnose.questions import (
    CLOUD_RUN,
    CPU_USE,
    GPU_USE,
    IN_FLIGHT,
    INSTANCES,
    QUEUE,
    REQUESTS,
    ROWS,
    SLOW,
    answered,
    ask,
    avoided,
    batching,
    confidence,
    cpu_service,
    first,
    gpu_service,
    remedies,
    served,
)

BUSY = {GPU_USE: 0.96, IN_FLIGHT: 12, INSTANCES: 1, REQUESTS: 350, "window_end_age [s]": 400}
SERVICE = {"deploy": gpu_service("--concurrency=40", "--max-instances=5"), "batching": batching(32)}
MEMORY = f"{CLOUD_RUN}container/memory/utilizations p99 [ratio]"
STARTS = f"{CLOUD_RUN}container/startup_latencies count [starts]"
LISTED = [(f"gs://m/a/{n}/{f}", 900_000) for n in (4, 5) for f in ("saved_model.pb", "variables/variables.index")]
LISTED += [(f"gs://m/a/{n}/variables/variables.data-00000-of-00001", 9_000_000) for n in (4, 5)]
OLD_ONE = '{"model_version_status":[{"version":"4","state":"AVAILABLE","status":{"error_code":"OK","error_message":""}}]}'


def test_a_busy_card_with_quick_answers_is_no_fault() -> None:
    answer = ask(metrics=BUSY | {SLOW: 45}, p99_ms=250, **SERVICE)
    assert answer.causes[0].cause == "no-fault"
    assert remedies(answer) == ["hold"]


@pytest.mark.parametrize(
    "slowness",
    [{SLOW: 900}, {SLOW: 240, served("UNAVAILABLE"): 9.0, served("OK"): 300}],
    ids=["above what is promised", "refusals"],
)
def test_a_busy_card_that_is_too_slow_or_refuses_is_one(slowness: dict[str, float]) -> None:
    assert confidence(ask(metrics=BUSY | slowness, p99_ms=250, **SERVICE), "concurrency-too-high") > 0.4


def test_a_busy_card_of_which_no_latency_is_known_says_nothing_yet() -> None:
    assert confidence(ask(metrics=BUSY, **SERVICE), "concurrency-too-high") == 0
    assert confidence(ask(metrics=BUSY | {QUEUE: 2_500_000}, **SERVICE), "concurrency-too-high") > 0.6


def test_full_batches_inside_what_is_promised_are_a_good_use_of_the_card() -> None:
    metrics = BUSY | {IN_FLIGHT: 30, ROWS: 31, SLOW: 120}
    assert first(metrics=metrics, p99_ms=250, batch_ms={1: 5, 32: 60}, **SERVICE) == "no-fault"
    assert first(metrics=metrics | {SLOW: 700}, p99_ms=250, batch_ms={1: 5, 32: 150}, **SERVICE) != "no-fault"


def test_memory_at_its_limit_with_broken_answers_and_many_starts() -> None:
    metrics = {MEMORY: 0.99, answered("503"): 3, REQUESTS: 70, STARTS: 14, INSTANCES: 2}
    answer = ask(deploy=cpu_service("--max-instances=4"), metrics=metrics)
    assert answer.causes[0].cause == "host-memory-exceeded"
    assert 0.4 <= answer.causes[0].confidence < 0.9
    assert remedies(answer)[0] == "raise-memory"


@pytest.mark.parametrize("calm", [{answered("503"): 0.0}, {MEMORY: 0.6}])
def test_full_memory_alone_and_broken_answers_alone_are_not_it(calm: dict[str, float]) -> None:
    metrics = {MEMORY: 0.99, answered("503"): 3, REQUESTS: 70, STARTS: 14, INSTANCES: 2} | calm
    assert confidence(ask(deploy=cpu_service(), metrics=metrics), "host-memory-exceeded") == 0


def test_a_gpu_that_holds_memory_is_not_unused() -> None:
    idle = {f"{CLOUD_RUN}container/gpu/utilizations max [ratio]": 0, REQUESTS: 12, CPU_USE: 0.4}
    held = f"{CLOUD_RUN}container/gpu/memory_usages max [GiB]"
    assert first(deploy=gpu_service(), metrics=idle | {held: 0}) == "gpu-unused"
    assert "replace-image" not in remedies(ask(deploy=gpu_service(), metrics=idle | {held: 21}))


@pytest.mark.parametrize("turned", [False, True])
def test_points_of_a_series_tell_the_same_in_any_order(*, turned: bool) -> None:
    points = [
        ("client/attempts_per_call mean{minute=09:20} [attempts]", 1.0),
        ("client/attempts_per_call mean{minute=09:30} [attempts]", 3.8),
        (f"{CLOUD_RUN}request_count rate{{minute=09:20}} [1/s]", 60.0),
        (f"{CLOUD_RUN}request_count rate{{minute=09:30}} [1/s]", 230.0),
    ]
    answer = ask(metrics=dict(reversed(points) if turned else points))
    assert answer.causes[0].cause == "retry-amplification"
    assert remedies(answer) == ["back-off-retries"]


def test_a_newer_version_that_nobody_looks_for() -> None:
    flags = ["--model_base_path=gs://m/a", "--file_system_poll_wait_seconds=0"]
    answer = ask(f"GET /v1/models/a -> {OLD_ONE}", flags=flags, objects=LISTED)
    assert answer.causes[0].cause == "reload-not-effective"
    assert remedies(answer) == ["deploy-new-revision", "fix-server-config"]


def test_with_the_poll_on_a_newer_version_is_another_matter() -> None:
    answer = ask(f"GET /v1/models/a -> {OLD_ONE}", flags=["--model_base_path=gs://m/a"], objects=LISTED)
    assert confidence(answer, "reload-not-effective") == 0


def test_a_number_that_was_written_again_is_not_read_again() -> None:
    answer = ask(
        "ops: we overwrote gs://m/a/5 with the new export", "client: the scores are still those of the old weights", objects=LISTED
    )
    assert answer.causes[0].cause == "reload-not-effective"
    assert remedies(answer)[0] == "republish-version"


def test_a_written_again_number_that_does_not_load_is_a_half_upload() -> None:
    line = "Loading servable: {name: a version: 5} failed: Data loss: not an sstable (bad magic number)"
    assert first("ops: we overwrote gs://m/a/5 with the new export", line) == "partial-upload"


def test_a_reload_that_reached_one_instance_of_several() -> None:
    logs = ("admin: ReloadConfigResponse OK", "client: Servable not found for request: Latest(extra) in 2 of 3 calls")
    answer = ask(*logs, metrics={INSTANCES: 3})
    assert answer.causes[0].cause == "reload-not-effective"
    assert "republish-version" not in remedies(answer)
    assert first(logs[1].replace(" in 2 of 3 calls", "")) == "version-unloaded"


def test_a_label_that_nobody_assigned_is_a_matter_of_the_configuration() -> None:
    answer = ask("client: NOT_FOUND: Unrecognized servable version label: shadow")
    assert remedies(answer) == ["fix-server-config"]
    assert 'key: "shadow"' in str(answer.remedies[0].after)
    assert "republish-version" in avoided(answer)


def test_an_old_version_that_leaves_after_a_newer_one_came_is_routine() -> None:
    logs = ("Successfully loaded servable version {name: a version: 9}", "Quiescing servable version {name: a version: 8}")
    assert confidence(ask(*logs), "version-unloaded") == 0
    gone = ask(logs[1], "POST /v1/models/a:predict -> 404 Servable not found for request: Latest(a)")
    assert gone.causes[0].cause == "version-unloaded"


def test_a_status_that_lists_the_old_version_as_ended_is_routine() -> None:
    routine = '{"version":"9","state":"AVAILABLE","status":{"error_code":"OK"}},{"version":"8","state":"END","status":{"error_code":"OK"}}'
    assert confidence(ask(routine), "version-unloaded") == 0


def test_a_second_version_that_does_not_fit_the_card_gets_a_revision_of_its_own() -> None:
    logs = (
        "Successfully loaded servable version {name: m version: 7}",
        "Loading servable: {name: m version: 8} failed: RESOURCE_EXHAUSTED: OOM when allocating tensor by allocator GPU_0_bfc",
    )
    answer = ask(*logs, deploy=gpu_service(), batching=batching(64))
    assert answer.causes[0].cause == "gpu-out-of-memory"
    assert remedies(answer) == ["deploy-new-revision", "pin-or-roll-back"]
    assert "lower-max-batch-size" in avoided(answer)


def test_a_second_model_is_named() -> None:
    logs = (
        "Successfully loaded servable version {name: small version: 7}",
        "Loading servable: {name: large version: 1} failed: RESOURCE_EXHAUSTED: OOM when allocating tensor by allocator GPU_0_bfc",
    )
    assert "small version 7" in ask(*logs, deploy=gpu_service()).remedies[0].why


def test_a_full_card_while_requests_run_is_a_matter_of_batches() -> None:
    logs = (
        "Successfully loaded servable version {name: m version: 7}",
        "OOM when allocating tensor with shape[64,9] by allocator GPU_0_bfc",
    )
    deploy = gpu_service(args="--enable_batching=true,--batching_parameters_file=/b.txt")
    assert remedies(ask(*logs, deploy=deploy, batching=batching(64)))[0] == "lower-max-batch-size"


def test_tags_that_the_export_lacks_are_exported_or_asked_for() -> None:
    answer = ask(
        "Loading servable: {name: m version: 2} failed: NOT_FOUND: Could not find meta graph def matching supplied tags: { serve }"
    )
    assert answer.causes[0].cause == "model-load-failed"
    assert "exported with the tag `serve`" in str(answer.remedies[0].after)
    assert (answer.remedies[1].remedy, answer.remedies[1].knob) == ("fix-server-config", "--saved_model_tags")


def test_a_liveness_probe_that_the_server_does_not_know_is_no_busy_instance() -> None:
    unknown = ask("LIVENESS GRPC probe failed 5 times consecutively. Probe failed with status UNIMPLEMENTED.")
    assert remedies(unknown) == ["fix-probe", "fix-server-config"]
    assert "health service" in unknown.remedies[0].why
    busy = ask("LIVENESS HTTP probe failed 5 times consecutively. Connection failed with status DEADLINE_EXCEEDED.")
    assert "busy instance" in busy.remedies[0].why


def test_a_line_is_quoted_once_with_all_that_it_tells() -> None:
    cause = ask("LIVENESS GRPC probe failed 5 times consecutively. Probe failed with status UNIMPLEMENTED.").causes[0]
    assert [each.count("log line 1") for each in cause.evidence] == [1]
    assert "does not have what the probe asks for" in cause.evidence[0]


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        (
            "The user-provided container failed to start and listen on the port defined provided by the PORT=8080 environment variable.",
            ["port-mismatch", "startup-window-too-short"],
        ),
        ("The HTTP response was malformed or connection to the instance had an error.", ["host-memory-exceeded", "socket-exhaustion"]),
        ("Container called exit(1).", ["server-config-invalid", "model-load-failed"]),
    ],
)
def test_a_known_sentence_that_leaves_it_open_names_its_candidates(line: str, candidates: list[str]) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "insufficient-data"
    assert "fits no cause" not in answer.causes[0].evidence[0]
    assert [each.cause for each in answer.causes[1:3]] == candidates
    assert all(each.confidence < 0.4 for each in answer.causes[1:])
    assert remedies(answer) == ["hold"]
