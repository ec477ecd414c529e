"""Every signature has a line that real systems write, and no line of a healthy service bears one that names a cause."""

import pytest

from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.lines import read_lines
from shared.diagnose.picture import SIGNATURES
from shared.diagnose.signatures import sightings

EXAMPLES: dict[str, tuple[str, ...]] = {
    "batch-queue-full": (
        "The batch scheduling queue to which this task was submitted is full",
        "scheduling capacity is only 0 (num_enqueued",
    ),
    "thread-quota": ("Server Threadpool Exhausted",),
    "wait-timeout": ("Run() timeout exceeded while waiting in batching queue",),
    "rows-over-limit": ("Task size 10 is larger than maximum input batch size 4", "Task size 10 is larger than maximum batch size 4"),
    "not-batchable": ("Batching session Run() input tensors must have at least one dimension",),
    "shapes-differ": ("Tensors with name 'x:0' from different tasks have different shapes and padding is turned off.",),
    "rest-timeout": ("Timed out waiting for notification",),
    "gpu-oom": ("CUDNN_STATUS_ALLOC_FAILED", "OOM when allocating tensor with shape[3] and type float by allocator GPU_1_bfc"),
    "host-oom": ("terminate called after throwing an instance of 'std::bad_alloc'", "OOM when allocating tensor by allocator mklcpu"),
    "loading": ("I basic_manager.cc] Loading servable version {name: m version: 2}", "Restoring SavedModel bundle.", "Copying gs://b/m/1"),
    "loaded": ("Successfully loaded servable version {name: m version: 2}",),
    "listening": ("Running gRPC ModelServer at 0.0.0.0:8500 ...", "Exporting HTTP/REST API at:localhost:8501 ..."),
    "load-failed": (
        "Loading servable: {name: m version: 2} failed: Not found: x",
        "Retrying of Loading servable: {name: m version: 2} retry: 1",
    ),
    "gave-up": ("Retrying of Loading servable: {name: m version: 2} exhausted max_num_retries: 5",),
    "not-available": ("Failed to start server. Error: Unknown: 1 servable(s) did not become available: {{name: m version: 2} x, }",),
    "warm-up-broken": ("Data loss: corrupted record at 0. Please verify your warmup data is in TFRecord format.",),
    "graph-unusable": ("Op type not registered 'X' in binary", "Could not find meta graph def matching supplied tags: { serve }"),
    "no-saved-model": ("Could not find SavedModel .pb or .pbtxt at supplied export directory path: /models/m/1",),
    "files-short": ("Data loss: not an sstable (bad magic number)", "variables/variables.index; No such file or directory"),
    "variables-missing": ("Container localhost does not exist. (Could not find resource: localhost/embedding/embeddings)",),
    "path-empty": ("No versions of servable m found under base path /models/m", "Could not find base path /models/x for servable m"),
    "path-denied": ("FileSystemStoragePathSource encountered a filesystem access error: /models/m; Permission denied",),
    "start-refused": (
        "Failed to start server. Error: Invalid argument: x",
        "Failed to start server. Error: NOT_FOUND: /b.txt; No such file",
    ),
    "config-text": ('Error parsing text-format tensorflow.serving.BatchingParameters: 1:18: Expected "{"',),
    "batching-values": ("num_batch_threads must be positive; was 0",),
    "flags-refused": ("Both server_options.model_base_path and server_options.model_config_file are empty!",),
    "models-refused": ("Model m requests unsupported platform tensorflow_serving", "Illegal to list model m multiple times in config list"),
    "unknown-argument": ("unknown argument: --max_batch_size=32",),
    "servable-not-found": ("Servable not found for request: Specific(m, 3)", "Could not find any versions of model m"),
    "label-unknown": ("Unrecognized servable version label: canary",),
    "unloading": ("Quiescing servable version {name: m version: 2}", "Done unloading servable version {name: m version: 2}"),
    "ended-in-order": ('{"version":"5","state":"END","status":{"error_code":"OK","error_message":""}}',),
    "ended-in-error": ('{"version": "5", "state": "END", "status": {"error_code": "DATA_LOSS", "error_message": "x"}}',),
    "version-available": ('{"version": "5", "state": "AVAILABLE", "status": {"error_code": "OK"}}',),
    "reload-call": ("HandleReloadConfigRequest returned OK",),
    "driver-too-old": (
        "the provided PTX was compiled with an unsupported toolchain",
        "nvidia-container-cli: unsatisfied condition: cuda>=12.5",
    ),
    "jit": ("CUDA kernels will be jit-compiled from PTX, which could take 30 minutes or longer.",),
    "no-gpu-device": (
        "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
        "Skipping registering GPU devices...",
    ),
    "gpu-device": ("Created device /job:localhost/replica:0/task:0/device:GPU:0 with 20744 MB memory",),
    "no-instance-500": ('httpRequest.status=500 "The request was aborted because there was no available instance."',),
    "no-instance": ('client: HTTP 429 "Rate exceeded."', "The request was aborted because there was no available instance."),
    "malformed": ("The request failed because either the HTTP response was malformed or connection to the instance had an error.",),
    "platform-timeout": ("The request has been terminated because it has reached the maximum request timeout.",),
    "memory-limit": ("Memory limit of 512 MiB exceeded with 514 MiB used.", "The user-provided container ran out of memory."),
    "killed": ("Container called exit(137).", "Container terminated on signal 9."),
    "ended": ("Container called exit(255).",),
    "upstream-timeout": ("upstream request timeout",),
    "stale-etag": ("Conflict for resource 'r': version '1' was specified but current version is '2'.",),
    "revision-name-taken": ("Revision named 'r-00001-x' with different configuration already exists.",),
    "api-rate": ("Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute per region'",),
    "no-gpu-left": ("Quota exceeded for total allowable count of GPUs per project per region.",),
    "no-redundant-quota": ("You do not have quota for using GPUs with zonal redundancy.",),
    "no-gpu-quota": ("You do not have quota for using GPUs without zonal redundancy.",),
    "gpu-quota": ("Max instances must be set to 3 or fewer in order to set GPU requirements.",),
    "cpu-memory-quota": (
        "Max instances must be set to 0 or fewer to set the requested total CPU.",
        "Invalid value specified for cpu. For the specified value, maxScale may not exceed 15.",
    ),
    "vpc-permission": ("Health check failed for the deployment with the user-provided VPC network. Got permission denied error.",),
    "readiness-deadline": ("Resource readiness deadline exceeded.",),
    "not-listening": (
        "failed to start and listen on the port defined provided by the PORT=8080 environment variable",
        "HealthCheckContainerError",
    ),
    "image-missing": ("Image 'gcr.io/a/b:1' not found.",),
    "image-denied": ("Cloud Run Service Agent must have permission to read the image, gcr.io/a/b:1.",),
    "act-as-denied": ("Permission 'iam.serviceaccounts.actAs' denied on service account a@b",),
    "secret-denied": ("Permission denied on secret: projects/1/secrets/s/versions/latest",),
    "launch-stage": ("The feature 'x' is not supported in the declared launch stage.",),
    "not-implemented": ("501 Operation is not implemented, or supported, or enabled.",),
    "instance-starting": ("Starting new instance. Reason: AUTOSCALING",),
    "field-refused": ("template.max_instance_request_concurrency: Must be a number between 0 and 1000",),
    "startup-probe": ('STARTUP GRPC probe failed 3 times consecutively for container "m-1" on port 8500',),
    "liveness-probe": ("LIVENESS HTTP probe failed 3 times consecutively",),
    "probe-path": ("STARTUP HTTP probe failed 3 times consecutively on path /: HTTP status code 404",),
    "architecture": ("failed to load /usr/bin/tf_serving_entrypoint.sh: exec format error", "no matching manifest for linux/amd64"),
    "condition-denied": ("reason: ContainerPermissionDenied", "SECRETS_ACCESS_CHECK_FAILED"),
    "permission": ("denied: Permission 'artifactregistry.repositories.downloadArtifacts' denied on resource",),
    "platform-error": ("The service has encountered an error during container import.",),
    "in-progress": ("revision_reason: MIN_INSTANCES_NOT_PROVISIONED", "reason: MinInstancesWarming", "CONDITION_RECONCILING"),
    "reconciling": ('"reconciling": true',),
    "condition-failed": ("Revision 'm-1' is not ready and cannot serve traffic.",),
    "condition-succeeded": ("Deploying revision succeeded in 8.87s.",),
    "latest-ready": (
        "latestReadyRevisionName: seg-00005-bbb",
        "latest_ready_revision: projects/p/locations/l/services/s/revisions/seg-00005-bbb",
    ),
    "update-traffic": ("gcloud run services update-traffic seg --to-revisions=seg-00002-aaa=100",),
    "exists": ("Requested entity already exists",),
    "aligner-refused": ("The aligner cannot be applied to metrics with kind GAUGE and value type INT64.",),
    "metric-unknown": ("The metric referenced by the provided filter is unknown. Check the metric name and labels.",),
    "query-empty": ("-> 0 time series", "the query returned no data"),
    "message-limit": ("Received message larger than max (5000000 vs. 4194304)",),
    "sent-message-limit": ("Sent message larger than max (5000000 vs. 4194304)",),
    "spoke-wrong-protocol": ("Trying to connect an http1.x server", "io.netty: HTTP/2 client preface string missing or corrupt."),
    "not-grpc": (
        "unexpected HTTP status code received from server: 404 (Not Found)",
        "Error: 12 UNIMPLEMENTED: Received HTTP status code 404",
    ),
    "transport-closed": ("Transport closed", "Socket closed"),
    "body-too-large": ("413. That is an error. Your client issued a request that was too large.",),
    "deadline": ("rpc error: code = DeadlineExceeded desc = context deadline exceeded",),
    "retrying": ("same messageId 7 times in 90 s", "retryPolicy: {maxAttempts: 5, initialBackoff: 0.01s}"),
    "no-effect": ("still serving the old version",),
    "overwritten": ("gsutil -m cp -r export/* gs://b/m/3/", "we overwrote version 3 in place"),
    "config-written": ("pushed a new models.config to gs://b/conf",),
    "some-tries": ("404 in 3 of 4 calls", "2/5 instances"),
    "platform-answered": ("Error: 14 UNAVAILABLE: Received HTTP status code 503", "Bad gRPC response. HTTP status code: 502"),
    "device-oom": ("RESOURCE_EXHAUSTED: failed to allocate memory", "Out of memory while trying to allocate 8589934592 bytes."),
    "latest-created": ("latestCreatedRevisionName: seg-00006-ccc",),
    "serves-nothing": ("Service [seg] revision [seg-00006-ccc] has been deployed and is serving 0 percent of traffic.",),
    "condition-open": ("type: Ready status: Unknown", '{"status":"Unknown","type":"Ready"}'),
}

HEALTHY = """\
2026-11-30 10:00:00.1: I tensorflow_serving/model_servers/server.cc:74] Building single TensorFlow model file config
2026-11-30 10:00:00.2: I tensorflow_serving/model_servers/server_core.cc:467] Adding/updating models.
2026-11-30 10:00:01.3: I tensorflow_serving/core/loader_harness.cc:66] Approving load for servable version {name: m version: 3}
2026-11-30 10:00:01.4: I external/org_tensorflow/tensorflow/cc/saved_model/reader.cc:83] Reading SavedModel from: /models/m/3
2026-11-30 10:00:03.5: I gpu_device.cc:2020] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 20744 MB memory
2026-11-30 10:00:04.6: I tensorflow_serving/core/loader_harness.cc:95] Successfully loaded servable version {name: m version: 3}
2026-11-30 10:00:04.7: I tensorflow_serving/model_servers/server.cc:421] Running gRPC ModelServer at 0.0.0.0:8500 ...
2026-11-30 10:00:04.8: I tensorflow_serving/model_servers/server.cc:442] Exporting HTTP/REST API at:localhost:8501 ...
[evhttp_server.cc : 245] NET_LOG: Entering the event loop ...
Default STARTUP TCP probe succeeded after 1 attempt for container "m-1" on port 8500.
Starting new instance. Reason: AUTOSCALING - Instance started due to configured scaling factors.
request log: 10:01:00 httpRequest.status=200 POST https://m.run.app/v1/models/m:predict
"""


@pytest.mark.parametrize(("sign", "line"), [(sign, line) for sign, lines in EXAMPLES.items() for line in lines])
def test_a_signature_is_seen_in_its_line(sign: str, line: str) -> None:
    assert sign in {each.signature.sign for each in sightings(read_lines([line]), SIGNATURES)}


def test_every_signature_has_an_example() -> None:
    assert {each.sign for each in SIGNATURES} == EXAMPLES.keys()


def test_every_cause_of_the_table_is_known() -> None:
    assert {each.cause for each in SIGNATURES if each.cause is not None} <= CAUSES.keys()


def test_the_log_of_a_healthy_start_speaks_for_no_cause() -> None:
    assert [each.signature.sign for each in sightings(read_lines([HEALTHY]), SIGNATURES) if each.signature.cause is not None] == []


def test_a_reason_in_front_of_the_sentence_does_not_hide_what_the_sentence_names() -> None:
    line = "reason: HealthCheckContainerError message: failed to start and listen on the port defined provided by the PORT=9001 environment"
    ports = [each.match["port"] for each in sightings(read_lines([line]), SIGNATURES) if each.signature.sign == "not-listening"]
    assert ports == ["9001"]


def test_a_line_with_several_of_a_kind_shows_each_of_them() -> None:
    line = "Running gRPC ModelServer at 0.0.0.0:8500 ... Exporting HTTP/REST API at:localhost:8501 ..."
    found = [each.match.groupdict() for each in sightings(read_lines([line]), SIGNATURES) if each.signature.sign == "listening"]
    assert [(each["port"], each["rest"]) for each in found] == [("8500", None), (None, "8501")]


def test_a_quiet_line_between_two_alike_counts_once_for_each() -> None:
    found = sightings(read_lines(["Server Threadpool Exhausted", "nothing", "Server Threadpool Exhausted"]), SIGNATURES)
    assert [each.line.number for each in found] == [1, 3]
