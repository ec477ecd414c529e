"""RESOURCE_EXHAUSTED and UNAVAILABLE: the text tells which of their sources it was, then whether the request reached TF Serving."""

import pytest

from tests.unit.diagnose.questions import (
    CLOUD_RUN,
    CPU_USE,
    GPU_USE,
    IN_FLIGHT,
    INSTANCES,
    QUEUE,
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

MALFORMED = "The request failed because either the HTTP response was malformed or connection to the instance had an error."
NO_INSTANCE = "The request was aborted because there was no available instance."
TWO_OF_TWO = {INSTANCES: 2, GPU_USE: 0.92}
BUSY = {"deploy": gpu_service("--concurrency=24", "--max-instances=2"), "metrics": TWO_OF_TWO}


@pytest.mark.parametrize(
    "line",
    [
        'client: <_InactiveRpcError: status = StatusCode.RESOURCE_EXHAUSTED details = "" >',
        "client: rpc error: code = ResourceExhausted desc = ",
        "Error: 8 RESOURCE_EXHAUSTED: ",
        "io.grpc.StatusRuntimeException: RESOURCE_EXHAUSTED",
        'debug_error_string = "{"grpc_message":"","grpc_status":8}"',
        'client: StatusCode.RESOURCE_EXHAUSTED details = "Server Threadpool Exhausted"',
    ],
)
def test_a_refusal_that_says_nothing_is_the_servers_thread_quota(line: str) -> None:
    answer = ask(line, deploy=gpu_service("--concurrency=72", "--max-instances=2"))
    assert answer.causes[0].cause == "server-thread-quota"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("raise-server-threads", "16", "80")
    assert answer.remedies[0].knob == "--grpc_max_threads"
    assert {"lower-max-batch-size", "raise-max-enqueued-batches"} <= avoided(answer)


def test_calls_that_only_cloud_run_counts_were_refused_before_the_server() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=48", "--max-instances=4"),
        metrics={
            "client/errors{code=RESOURCE_EXHAUSTED} rate [1/s]": 9,
            answered("2xx"): 89,
            served("OK"): 80,
            served("RESOURCE_EXHAUSTED"): 0,
            IN_FLIGHT: 18,
        },
    )
    assert answer.causes[0].cause == "server-thread-quota"
    assert any("9 a second end before it" in sentence for sentence in answer.causes[0].evidence)


def test_a_default_concurrency_may_be_lowered_instead_of_adding_threads() -> None:
    answer = ask('client: StatusCode.RESOURCE_EXHAUSTED details = ""', deploy=gpu_service("--max-instances=2"), batching=batching(16))
    assert remedies(answer) == ["raise-server-threads", "lower-concurrency"]
    assert (answer.remedies[1].before, answer.remedies[1].after) == ("320", "32")


def test_a_bare_code_without_a_text_decides_nothing() -> None:
    answer = ask("client: status = StatusCode.RESOURCE_EXHAUSTED")
    assert answer.causes[0].cause == "insufficient-data"
    assert answer.missing


@pytest.mark.parametrize(
    "line",
    [
        "OOM when allocating tensor with shape[128,512,28,28] and type float on /device:GPU:0 by allocator GPU_0_bfc",
        "W bfc_allocator.cc:497] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB (rounded to 2362232064)",
        "failed to allocate 14.1G (15142526976 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        'POST /v1/models/m:predict -> 429 {"error": "OOM when allocating tensor with shape[64,9] by allocator GPU_0_bfc"}',
    ],
)
def test_the_gpus_allocator_names_itself(line: str) -> None:
    answer = ask(line, batching=batching(256, threads=2))
    assert answer.causes[0].cause == "gpu-out-of-memory"
    assert remedies(answer) == ["lower-max-batch-size", "lower-batch-threads"]
    assert (answer.remedies[0].before, answer.remedies[0].after) == ("256", "128")
    assert "raise-memory" in avoided(answer)


def test_the_hosts_allocator_is_host_memory() -> None:
    assert first("OOM when allocating tensor with shape[9000,4096] on /device:CPU:0 by allocator cpu") == "host-memory-exceeded"


def test_full_gpu_memory_alone_is_how_tensorflow_works() -> None:
    metrics = {f"{CLOUD_RUN}container/gpu/memory_utilizations p99 [ratio]": 0.99, served("OK"): 120}
    assert confidence(ask(metrics=metrics), "gpu-out-of-memory") == 0


def test_memory_that_ends_while_a_version_loads_is_two_versions_on_one_card() -> None:
    answer = ask(
        "Loading servable: {name: tag version: 4}",
        "OOM when allocating tensor with shape[8192,8192] and type float by allocator GPU_0_bfc",
        metrics={served("OK"): 40, served("RESOURCE_EXHAUSTED"): 0},
    )
    assert answer.causes[0].cause == "gpu-out-of-memory"
    assert remedies(answer) == ["deploy-new-revision", "pin-or-roll-back"]
    assert {"lower-max-batch-size", "republish-version"} <= avoided(answer)


def test_a_deadline_that_passes_in_the_queue_wants_a_shorter_queue() -> None:
    answer = ask(
        'client: HTTP 429 {"error":"Run() timeout exceeded while waiting in batching queue"}',
        batching=batching(8, queue=90),
        client_deadline_ms=600,
        batch_ms={1: 20, 8: 50},
    )
    assert answer.causes[0].cause == "batch-queue-wait-timeout"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("lower-max-enqueued-batches", "90", "6")
    assert "raise-max-enqueued-batches" in avoided(answer)


def test_a_429_of_tf_serving_is_not_one_of_cloud_run() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=16", "--max-instances=2", port="--port=8501"),
        batching=batching(8, queue=90),
        metrics={INSTANCES: 2, answered("429"): 6, served("RESOURCE_EXHAUSTED"): 6, served("OK"): 70, QUEUE: 700_000},
        client_deadline_ms=600,
    )
    assert answer.causes[0].cause == "batch-queue-wait-timeout"
    assert confidence(answer, "instance-cap-reached") == 0


@pytest.mark.parametrize(
    "line",
    [
        'client: StatusCode.RESOURCE_EXHAUSTED details = "Received message larger than max (9000000 vs. 4194304)"',
        "io.grpc.StatusRuntimeException: RESOURCE_EXHAUSTED: gRPC message exceeds maximum size 4194304: 8388700",
        "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (7750076 vs. 4194304)",
    ],
)
def test_four_mebibytes_are_the_clients_own_limit(line: str) -> None:
    answer = ask(line, metrics={served("OK"): 4, served("RESOURCE_EXHAUSTED"): 0})
    assert answer.causes[0].cause == "client-message-limit"
    assert remedies(answer)[0] == "raise-client-message-limit"
    assert "raise-memory" in avoided(answer)


def test_at_the_maximum_inside_the_quota_the_maximum_goes_up() -> None:
    answer = ask(f'severity=WARNING httpRequest.status=429 "{NO_INSTANCE}"', gpu_quota=3, **BUSY)
    assert answer.causes[0].cause == "instance-cap-reached"
    assert [(each.remedy, each.before, each.after, each.new_revision) for each in answer.remedies] == [
        ("raise-max-instances", "2", "3", False)
    ]
    assert "raise-concurrency" in avoided(answer)


def test_at_the_maximum_that_is_the_quota_a_person_is_asked() -> None:
    answer = ask('client: HTTP 429 "Rate exceeded."', gpu_quota=2, **BUSY)
    assert answer.causes[0].cause == "instance-cap-reached"
    assert remedies(answer) == ["request-quota-increase"]
    assert "raise-max-instances" in avoided(answer)


def test_full_instances_with_an_idle_card_take_more_requests_each() -> None:
    answer = ask(
        f'severity=WARNING httpRequest.status=429 "{NO_INSTANCE}"',
        deploy=gpu_service("--concurrency=6", "--max-instances=3"),
        metrics={INSTANCES: 3, IN_FLIGHT: 6, GPU_USE: 0.2, CPU_USE: 0.3},
        gpu_quota=3,
    )
    assert remedies(answer) == ["raise-concurrency", "enable-batching"]


@pytest.mark.parametrize(
    "line",
    [
        'client: StatusCode.UNAVAILABLE details = "Received http2 header with status: 429"',
        "io.grpc.StatusRuntimeException: UNAVAILABLE: HTTP status code 429",
    ],
)
def test_unavailable_that_is_a_translated_429_is_no_full_queue(line: str) -> None:
    answer = ask(line, deploy=BUSY["deploy"], metrics={**TWO_OF_TWO, served("UNAVAILABLE"): 0})
    assert answer.causes[0].cause == "instance-cap-reached"
    assert confidence(answer, "batch-queue-full") == 0


def test_429_below_the_maximum_means_that_instances_come_too_late() -> None:
    answer = ask(
        f'severity=WARNING httpRequest.status=429 "{NO_INSTANCE}"',
        deploy=gpu_service("--concurrency=8", "--min=1", "--max-instances=9"),
        metrics={INSTANCES: 3, f"{CLOUD_RUN}container/startup_latencies p95 [s]": 52},
    )
    assert answer.causes[0].cause == "scale-out-lag"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("raise-min-instances", "3")
    assert "raise-max-instances" in avoided(answer)


def test_500_without_an_instance_is_not_the_maximum() -> None:
    assert first(f'severity=ERROR httpRequest.status=500 "{NO_INSTANCE}"', deploy=cpu_service("--max-instances=8")) == "scale-out-lag"


def test_waiting_for_instances_shows_before_anything_is_refused() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=8", "--max-instances=5"),
        metrics={
            INSTANCES: 1,
            f"{CLOUD_RUN}request_latency/pending p99 [ms]": 28_000,
            f"{CLOUD_RUN}container/startup_latencies p50 [ms]": 26_000,
        },
        p99_ms=500,
    )
    assert answer.causes[0].cause == "scale-out-lag"


def test_where_maximum_and_instances_are_unknown_the_answer_says_what_would_decide() -> None:
    answer = ask(f'httpRequest.status=429 "{NO_INSTANCE}"')
    assert answer.causes[0].cause == "instance-cap-reached"
    assert answer.causes[0].confidence < 0.7
    assert any("instance_count" in each for each in answer.missing)


def test_a_quota_of_calls_is_no_lack_of_instances() -> None:
    line = (
        "googleapi: Error 429: Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per region' of "
        "service "
        "'run.googleapis.com'"
    )
    answer = ask(line, metrics={INSTANCES: 2, answered("429"): 0}, deploy=BUSY["deploy"])
    assert answer.causes[0].cause == "admin-api-rate-limit"
    assert remedies(answer) == ["back-off-admin-calls"]
    assert "raise-max-instances" in avoided(answer)


@pytest.mark.parametrize(
    "line",
    [
        "The batch scheduling queue to which this task was submitted is full",
        'POST :predict -> 503 { "error": "The batch scheduling queue to which this task was submitted is full; currently 3 batches" }',
        "task size is 1 but scheduling capacity is only 0 (num_enqueued_batches=2, max_enqueued_batches=2)",
    ],
)
def test_a_full_queue_lets_in_what_it_holds(line: str) -> None:
    answer = ask(line, deploy=gpu_service("--concurrency=90", "--max-instances=3"), batching=batching(8, queue=3))
    assert answer.causes[0].cause == "batch-queue-full"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("lower-concurrency", "90", "32")
    assert {"raise-server-threads", "raise-max-enqueued-batches"} <= avoided(answer)


def test_larger_batches_are_proposed_only_where_they_still_save() -> None:
    full = "The batch scheduling queue to which this task was submitted is full"
    falling = ask(full, batching=batching(8), batch_ms={8: 10, 16: 13}, p99_ms=100)
    linear = ask(full, batching=batching(8), batch_ms={8: 10, 16: 20}, p99_ms=100)
    assert "raise-max-batch-size" in remedies(falling)
    assert "raise-max-batch-size" not in remedies(linear)


def test_unavailable_that_tf_serving_counts_is_its_queue() -> None:
    assert first(metrics={served("UNAVAILABLE"): 21, served("OK"): 300}) == "batch-queue-full"


def test_a_refusal_in_a_million_is_noise() -> None:
    assert first(metrics={served("UNAVAILABLE"): 0.001, served("OK"): 900}) == "insufficient-data"


def test_the_platforms_memory_line_explains_the_503s() -> None:
    answer = ask(
        "Memory limit of 8192 MiB exceeded with 8207 MiB used.",
        f'httpRequest.status=503 "{MALFORMED}"',
        deploy=cpu_service("--concurrency=4"),
    )
    assert answer.causes[0].cause == "host-memory-exceeded"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("raise-memory", "8Gi", "16Gi")
    assert "raise-max-instances" in avoided(answer)


def test_broken_connections_at_many_requests_are_sockets() -> None:
    line = f'httpRequest.status=503 "{MALFORMED}"'
    metrics = {f"{CLOUD_RUN}request_count rate [1/s]": 3600, INSTANCES: 4, f"{CLOUD_RUN}container/memory/utilizations p99 [ratio]": 0.3}
    answer = ask(line, deploy=cpu_service("--concurrency=200", "--max-instances=10"), metrics=metrics)
    assert answer.causes[0].cause == "socket-exhaustion"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("raise-min-instances", "6")
    assert "raise-memory" in avoided(answer)


def test_broken_connections_at_few_requests_are_left_open() -> None:
    answer = ask(MALFORMED, metrics={f"{CLOUD_RUN}request_count rate [1/s]": 60, INSTANCES: 4})
    assert answer.causes[0].cause == "insufficient-data"
    assert confidence(answer, "socket-exhaustion") == 0


@pytest.mark.parametrize(
    "line",
    [
        'rpc error: code = Unavailable desc = connection error: desc = "error reading server preface: http2: frame too large"',
        "client: HTTP 502 upstream connect error or disconnect/reset before headers. reset reason: protocol error",
        "client: Trying to connect an http1.x server",
        "curl: (1) Received HTTP/0.9 when not allowed",
    ],
)
def test_http1_and_http2_do_not_understand_each_other(line: str) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "protocol-mismatch"
    assert remedies(answer) == ["fix-port-or-protocol"]


def test_a_closed_connection_alone_is_no_proof_of_a_wrong_protocol() -> None:
    assert first('client: StatusCode.UNAVAILABLE details = "Socket closed"') == "insufficient-data"


def test_the_servers_rest_timeout_ends_before_cloud_runs() -> None:
    answer = ask(
        'POST /v1/models/big:predict -> 504 {"error": "Timed out waiting for notification"}',
        deploy=cpu_service("--concurrency=4", "--timeout=120"),
        rows_per_request=500,
        batch_ms={100: 8000, 500: 40_000},
    )
    assert answer.causes[0].cause == "request-timeout"
    assert remedies(answer) == ["shrink-client-request", "raise-request-timeout"]
    assert (answer.remedies[1].knob, answer.remedies[1].before, answer.remedies[1].after) == ("--rest_api_timeout_in_ms", "30000", "50000")


def test_a_saturated_instance_gets_less_at_once_before_more_time() -> None:
    answer = ask(
        'httpRequest.status=504 "The request has been terminated because it has reached the maximum request timeout."',
        deploy=gpu_service("--concurrency=40", "--max-instances=2"),
        metrics={GPU_USE: 0.99, IN_FLIGHT: 40},
    )
    assert remedies(answer)[0] == "lower-concurrency"


def test_a_body_above_32_mib_never_reaches_the_container() -> None:
    answer = ask("requests.exceptions.HTTPError: 413 Client Error: Request Entity Too Large for url: https://r.run.app", request_mib=51)
    assert answer.causes[0].cause == "request-too-large"
    assert "raise-client-message-limit" in avoided(answer)


def test_repetitions_that_are_the_load_are_answered_by_the_callers() -> None:
    answer = ask(
        deploy=BUSY["deploy"],
        metrics={**TWO_OF_TWO, "client/attempts rate [1/s]": 190, "client/calls rate [1/s]": 40, answered("429"): 80, answered("2xx"): 60},
    )
    assert answer.causes[0].cause == "retry-amplification"
    assert remedies(answer) == ["back-off-retries"]
    assert "raise-concurrency" in avoided(answer)


def test_a_few_repetitions_do_not_explain_a_full_service() -> None:
    metrics = {**TWO_OF_TWO, "client/attempts_per_call mean [attempts]": 1.1, answered("429"): 20, answered("2xx"): 60}
    assert first(deploy=BUSY["deploy"], metrics=metrics) == "instance-cap-reached"


def test_the_answer_names_the_most_instances_that_are_accepted() -> None:
    answer = ask(
        "spec.template.metadata.annotations[autoscaling.knative.dev/maxScale]: Max instances must be set to 2 or fewer in order to set GPU "
        "requirements. Quota violated: NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 7 allowed: 2",
        deploy=gpu_service("--concurrency=8", "--max-instances=7"),
    )
    assert answer.causes[0].cause == "gpu-quota-refused"
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("clamp-max-instances", "7", "2")
    assert "disable-gpu-zonal-redundancy" in avoided(answer)


def test_a_missing_quota_with_redundancy_offers_the_one_without() -> None:
    answer = ask(
        "ERROR: (gcloud.run.deploy) You do not have quota for using GPUs with zonal redundancy. To request quota: g.co/cloudrun/gpu-quota",
        deploy=gpu_service("--concurrency=8", "--max-instances=2").replace(" --no-gpu-zonal-redundancy", ""),
    )
    assert remedies(answer) == ["disable-gpu-zonal-redundancy", "request-quota-increase"]


def test_a_missing_quota_without_redundancy_is_for_a_person() -> None:
    answer = ask(
        "googleapi: Error 400: You do not have quota for using GPUs without zonal redundancy.",
        deploy=gpu_service("--max-instances=2"),
    )
    assert remedies(answer) == ["request-quota-increase"]


def test_cpu_quota_is_kept_where_an_instance_still_fits() -> None:
    answer = ask(
        "Max instances must be set to 5 or fewer to set the requested total CPU. Quota violated: CpuAllocPerProjectRegion requested: 80000 "
        "allowed: 20000",
        deploy=cpu_service("--max-instances=20"),
    )
    assert answer.causes[0].cause == "cpu-memory-quota-refused"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("clamp-max-instances", "5")
    assert confidence(answer, "gpu-quota-refused") == 0


def test_gpus_that_lack_after_an_accepted_call_are_a_rollouts_surge() -> None:
    answer = ask(
        "Revision 'r-9' is not ready and cannot serve traffic. Quota exceeded for total allowable count of GPUs per project per region.",
        metrics={INSTANCES: 3},
        gpu_quota=3,
    )
    assert answer.causes[0].cause == "gpu-surge-at-rollout"
    assert remedies(answer) == ["free-gpu-headroom", "retry-rollout-later", "request-quota-increase"]
    assert "pin-or-roll-back" in avoided(answer)


def test_a_version_that_does_not_fit_the_card_alone_goes_back_to_the_last_that_did() -> None:
    answer = ask(
        "Loading servable: {name: big version: 2}",
        "OOM when allocating tensor with shape[90000,8192] and type float by allocator GPU_0_bfc",
        "Failed to start server. Error: Unknown: 1 servable(s) did not become available",
    )
    assert answer.causes[0].cause == "gpu-out-of-memory"
    assert remedies(answer) == ["pin-or-roll-back"]


def test_a_429_with_tf_servings_text_is_its_own() -> None:
    answer = ask(
        '{ "error": "Run() timeout exceeded while waiting in batching queue" }',
        deploy=gpu_service("--concurrency=100", "--max-instances=2", port="--port=8501"),
        metrics={answered("429"): 30, INSTANCES: 2},
    )
    assert confidence(answer, "instance-cap-reached") == 0


def test_the_older_words_of_a_cpu_or_memory_quota_name_the_maximum_that_fits() -> None:
    line = "template.containers.resources.limits.cpu: Invalid value specified for cpu. For the specified value, maxScale may not exceed 12."
    answer = ask(line, deploy=cpu_service("--max-instances=50"))
    assert [each.cause for each in answer.causes] == ["cpu-memory-quota-refused"]
    assert (answer.remedies[0].remedy, answer.remedies[0].before, answer.remedies[0].after) == ("clamp-max-instances", "50", "12")


def test_a_value_outside_the_shapes_is_no_quota() -> None:
    line = "limits.memory: Invalid value specified for container memory. For 2.0 CPU, memory must be between 128Mi and 8Gi."
    assert first(line) == "api-request-invalid"


def test_gpus_of_old_revisions_are_counted_and_freed_first() -> None:
    line = (
        "googleapi: Error 400: scaling.max_instance_count: Max instances must be set to 2 or fewer in order to set GPU requirements. "
        "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion requested: 6 allowed: 4"
    )
    crowded = ask(line, deploy=gpu_service("--max-instances=2"))
    assert remedies(crowded)[0] == "free-gpu-headroom"
    assert "6 counted, 4 allowed" in str(crowded.remedies[0].before)
    assert [each.cause for each in crowded.causes] == ["gpu-quota-refused"]
    assert remedies(ask(line, deploy=gpu_service("--max-instances=6")))[0] == "clamp-max-instances"


def test_more_quota_is_asked_for_by_number_only_where_one_is_known() -> None:
    line = "Max instances must be set to 0 or fewer to set the requested total memory."
    request = next(each for each in ask(line).remedies if each.remedy == "request-quota-increase")
    assert (request.before, request.after) == (None, None)
