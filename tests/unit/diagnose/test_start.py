"""What does not start: the server's own sentence goes before the platform's, which only says that nothing answered."""

import pytest

from tests.unit.diagnose.questions import CLOUD_RUN, CPU_USE, GPU_USE, ask, avoided, confidence, cpu_service, first, gpu_service, remedies

NOT_LISTENING = (
    "Revision 'm-1' is not ready and cannot serve traffic. The user-provided container failed to start and listen on the port defined "
    "provided by the PORT={port} environment variable within the allocated timeout."
)
TCP_PROBE = (
    'Default STARTUP TCP probe failed 1 time consecutively for container "m-1" on port {port}. The instance was not started. Connection '
    "failed with status DEADLINE_EXCEEDED."
)
UP = ("Running gRPC ModelServer at 0.0.0.0:8500 ...", "Exporting HTTP/REST API at:localhost:8501 ...")


def test_a_server_that_is_up_on_other_ports_is_a_wrong_port() -> None:
    answer = ask(*UP, NOT_LISTENING.format(port=8080))
    assert answer.causes[0].cause == "port-mismatch"
    assert remedies(answer) == ["fix-port-or-protocol"]
    assert "fix-probe" in avoided(answer)


def test_flags_tell_the_wrong_port_where_the_server_says_nothing() -> None:
    answer = ask(NOT_LISTENING.format(port=8080), deploy=cpu_service("--concurrency=4", port=""))
    assert answer.causes[0].cause == "port-mismatch"


def test_an_open_port_that_is_the_right_one_is_no_wrong_port() -> None:
    answer = ask(*UP, NOT_LISTENING.format(port=8501), deploy=cpu_service())
    assert confidence(answer, "port-mismatch") < 0.2


def test_a_load_that_was_cut_short_wants_a_longer_window() -> None:
    answer = ask(
        "10:00:00 Reading SavedModel from: gs://acme/m/4",
        "10:04:00 " + TCP_PROBE.format(port=8500),
        deploy=gpu_service("--concurrency=8", "--max-instances=2"),
        start_s=400,
        model_gib=6,
    )
    assert answer.causes[0].cause == "startup-window-too-short"
    assert answer.remedies[0].remedy == "fix-probe"
    assert answer.remedies[0].after == "tcpSocket, periodSeconds: 10, failureThreshold: 60 (600 s)"
    assert remedies(answer)[1] == "move-model-local"
    assert "raise-request-timeout" in avoided(answer)


def test_a_measured_start_inside_the_window_speaks_against_it() -> None:
    slow = ask(TCP_PROBE.format(port=8500), deploy=gpu_service(), start_s=400)
    quick = ask(TCP_PROBE.format(port=8500), deploy=gpu_service(), start_s=20)
    assert confidence(slow, "startup-window-too-short") > 0.8
    assert confidence(quick, "startup-window-too-short") < 0.4


def test_one_attempt_over_http_is_a_wrong_probe() -> None:
    answer = ask(
        'STARTUP HTTP probe failed 1 time consecutively for container "m-1" on port 8501 path "/v1/models/m". '
        "Connection failed with status ERROR_CONNECTION_FAILED."
    )
    assert answer.causes[0].cause == "probe-misconfigured"
    assert remedies(answer) == ["fix-probe"]


@pytest.mark.parametrize(
    "line",
    [
        'STARTUP HTTP probe failed 3 times consecutively for container "m-1" on port 8501 path "/healthz". The instance was not started.',
        'STARTUP GRPC probe failed 3 times consecutively for container "m-1" on port 8500. Connection failed with status UNIMPLEMENTED.',
        "readiness probe failed: HTTP probe failed with statuscode: 404",
    ],
)
def test_a_probe_for_what_the_server_does_not_have(line: str) -> None:
    assert first(*UP, line) == "probe-misconfigured"


def test_a_liveness_probe_kills_a_busy_instance() -> None:
    answer = ask(
        'LIVENESS HTTP probe failed 3 times consecutively for container "m-1" on port 8501 path "/v1/models/m".',
        metrics={GPU_USE: 0.98, f"{CLOUD_RUN}container/memory/utilizations p99 [ratio]": 0.4},
    )
    assert answer.causes[0].cause == "probe-misconfigured"
    assert answer.remedies[0].knob == "livenessProbe"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("exec /usr/bin/tf_serving_entrypoint.sh: exec format error", "image-architecture"),
        ("Container manifest type 'application/vnd.oci.image.index.v1+json' must support amd64/linux.", "image-architecture"),
        ("Failed to start server. Error: Invalid argument: You cannot configure all.", "server-config-invalid"),
        ("Failed to start server. Error: INVALID_ARGUMENT: Invalid protobuf file: '/etc/models.config'", "server-config-invalid"),
        ("No versions of servable m found under base path /models/m", "model-path-empty"),
        (
            "FileSystemStoragePathSource encountered a file-system access error: Could not find base path /models/modle for servable m",
            "model-path-empty",
        ),
        ("FileSystemStoragePathSource encountered a filesystem access error: /models/m; Permission denied", "access-denied"),
        ("CUDA driver version is insufficient for CUDA runtime version", "cuda-driver-mismatch"),
        ("Internal: no kernel image is available for execution on the device", "cuda-driver-mismatch"),
        ("CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.", "gpu-kernels-jit"),
        (
            "Failed to start server. Error: Unknown: 1 servable(s) did not become available: {{name: m version: 2} due to error: x, }",
            "model-load-failed",
        ),
    ],
)
def test_the_servers_own_sentence_goes_before_the_platforms(line: str, cause: str) -> None:
    answer = ask(line, TCP_PROBE.format(port=8501), NOT_LISTENING.format(port=8501), deploy=cpu_service())
    assert answer.causes[0].cause == cause
    assert "fix-probe" not in remedies(answer)


def test_batching_values_that_fail_at_load_are_no_fault_of_the_model() -> None:
    answer = ask(
        "Loading servable: {name: m version: 1} failed: INVALID_ARGUMENT: Last entry in allowed_batch_sizes must match max_batch_size; "
        "last entry was 64; expected 100",
        "Retrying of Loading servable: {name: m version: 1} exhausted max_num_retries: 5",
    )
    assert answer.causes[0].cause == "server-config-invalid"
    assert "republish-version" not in remedies(answer)


def test_a_warm_up_file_that_is_none_breaks_the_load() -> None:
    answer = ask(
        "Loading servable: {name: m version: 7} failed: Data loss: corrupted record at 0. Please verify your warmup data is in TFRecord."
    )
    assert answer.causes[0].cause == "model-load-failed"
    assert (answer.remedies[0].remedy, answer.remedies[0].after) == ("republish-version", "version 8")


def test_an_op_that_the_server_lacks_is_in_no_file_of_the_model() -> None:
    answer = ask("Loading servable: {name: m version: 3} failed: Not found: Op type not registered 'SentencepieceOp' in binary")
    assert remedies(answer)[0] == "replace-image"


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("Google Cloud Run Service Agent must have permission to read the image, eu.gcr.io/x/y:1.", "roles/artifactregistry.reader"),
        ("Permission denied on secret: projects/1/secrets/batching/versions/latest for Revision service account", "secretmanager"),
        ("PERMISSION_DENIED: Permission 'iam.serviceaccounts.actAs' denied on service account a@b", "iam.serviceAccountUser"),
        (
            "a@b.iam.gserviceaccount.com does not have storage.objects.list access to the Google Cloud Storage bucket",
            "storage.objectViewer",
        ),
    ],
)
def test_a_missing_permission_names_the_role(line: str, role: str) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "access-denied"
    assert answer.remedies[0].remedy == "grant-access"
    assert answer.remedies[0].after is not None
    assert role in answer.remedies[0].after


def test_an_image_that_is_not_there_is_corrected_not_granted() -> None:
    assert remedies(ask("Image 'europe-west1-docker.pkg.dev/a/b/c:9' not found."))[0] == "replace-image"


@pytest.mark.parametrize(
    "line",
    [
        "Resource readiness deadline exceeded.",
        "Health check failed for the deployment with the user-provided VPC network. Got permission denied error.",
    ],
)
def test_a_step_of_the_platform_is_tried_once_more(line: str) -> None:
    answer = ask(line)
    assert answer.causes[0].cause == "platform-transient"
    assert remedies(answer) == ["retry-rollout-later"]


def test_the_cpu_build_never_touches_the_gpu() -> None:
    answer = ask(
        deploy=gpu_service("--concurrency=8").replace("-gpu --gpu=1", " --gpu=1"),
        metrics={f"{CLOUD_RUN}container/gpu/utilizations p99 [ratio]": 0.0, CPU_USE: 0.97},
    )
    assert answer.causes[0].cause == "gpu-unused"
    assert (answer.remedies[0].before, answer.remedies[0].after) == ("tensorflow/serving:2.20.0", "tensorflow/serving:2.20.0-gpu")
    assert "raise-cpu" in avoided(answer)


def test_a_gpu_that_is_used_a_little_is_not_unused() -> None:
    answer = ask(deploy=gpu_service(), metrics={f"{CLOUD_RUN}container/gpu/utilizations p99 [ratio]": 0.08, CPU_USE: 0.97})
    assert answer.causes[0].cause == "cpu-bound-host"
    assert confidence(answer, "gpu-unused") == 0


@pytest.mark.parametrize("reason", ["MIN_INSTANCES_WARMING", "MinInstancesNotProvisioned", "WAITING_FOR_OPERATION"])
def test_a_change_under_way_is_waited_for(reason: str) -> None:
    answer = ask(f"Ready: Unknown, reason: {reason}", "reconciling: true")
    assert answer.causes[0].cause == "rollout-in-progress"
    assert remedies(answer) == ["wait"]
    assert "pin-or-roll-back" in avoided(answer)


def test_a_change_that_failed_is_not_under_way() -> None:
    answer = ask(
        "terminal_condition: CONDITION_FAILED MIN_INSTANCES_NOT_PROVISIONED",
        "Quota exceeded for total allowable count of GPUs per project per region.",
    )
    assert answer.causes[0].cause == "gpu-surge-at-rollout"
    assert confidence(answer, "rollout-in-progress") < 0.2


@pytest.mark.parametrize(
    "verdict",
    [
        "status: 'False' reason: HealthCheckContainerError message: failed to start and listen on the port defined by PORT=80",
        "CONDITION_FAILED reason HEALTH_CHECK_CONTAINER_ERROR: failed to start and listen on the port defined by the PORT=8080 environment",
        "Cloud Run error: Container failed to start. Failed to start and then listen on the port defined by the PORT environment variable.",
    ],
)
def test_a_server_that_listens_elsewhere_is_seen_behind_a_reason_too(verdict: str) -> None:
    answer = ask("Running gRPC ModelServer at 0.0.0.0:8500 ...", verdict)
    assert answer.causes[0].cause == "port-mismatch"
    assert remedies(answer) == ["fix-port-or-protocol"]


def test_a_server_that_is_still_loading_is_no_wrong_port() -> None:
    line = "Failed to start and then listen on the port defined by the PORT environment variable."
    assert first("Reading SavedModel from: /models/m/1", line) == "startup-window-too-short"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("revision_reason: MIN_INSTANCES_WARMING; elapsed 90 s", "rollout-in-progress"),
        ("revision_reason: MIN_INSTANCES_WARMING; elapsed 25 min", "startup-window-too-short"),
        ("revision_reason: MIN_INSTANCES_NOT_PROVISIONED for 40 minutes", "gpu-surge-at-rollout"),
        ("revision_reason: MIN_INSTANCES_WARMING; elapsed 700 s, deadline 600 s", "startup-window-too-short"),
        ("revision_reason: MIN_INSTANCES_WARMING; elapsed 500 s, deadline 600 s", "rollout-in-progress"),
    ],
)
def test_a_change_is_under_way_until_its_deadline(line: str, cause: str) -> None:
    answer = ask(line, deploy=gpu_service("--min-instances=1", "--startup-probe=tcpSocket.port=8500,periodSeconds=10,failureThreshold=30"))
    assert answer.causes[0].cause == cause
    assert ("wait" in remedies(answer)) is (cause == "rollout-in-progress")


def test_a_probe_that_gets_an_answer_has_found_the_port() -> None:
    probe = 'STARTUP HTTP probe failed 3 times consecutively for container "m-1" on port 8501 path "/ready". Failed with status code 404'
    answer = ask("Running gRPC ModelServer at 0.0.0.0:8500 ...", probe)
    assert answer.causes[0].cause == "probe-misconfigured"
    assert confidence(answer, "port-mismatch") == 0
