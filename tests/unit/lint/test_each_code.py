"""Every code once as a file that earns it, and once as its nearest healthy neighbour that does not."""

import pytest

from shared.lint.asking import ask
from shared.lint.catalog import CODES

L4 = (
    "gcloud run deploy rank --region=us-east4 --image=tensorflow/serving:2.20.0-gpu --gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy "
    "--cpu=8 --memory=32Gi --concurrency=24 --max-instances=3 --port=8500 --use-http2 --set-env-vars=MODEL_NAME=rank "
    "--args=--enable_batching=true,--batching_parameters_file=/b.txt,--file_system_poll_wait_seconds=0"
)
CPU = "gcloud run deploy text --region=us-west1 --image=tensorflow/serving:2.20.0 --cpu=4 --memory=8Gi --concurrency=8 --port=8501"
FLAGS = ["--port=8500", "--rest_api_port=8501", "--model_name=m", "--model_base_path=/models/m"]
V2 = (
    "name: projects/acme-ml/locations/us-east4/services/rank\\ntemplate:\\n  maxInstanceRequestConcurrency: 8\\n  containers:\\n"
    "  - image: us-docker.pkg.dev/acme/serving/mask:1\\n    ports: [{containerPort: 8080}]\\n"
).replace("\\n", "\n")
MODEL = 'config { name: "m" base_path: "gs://acme/m" model_platform: "tensorflow" }'
BATCHING = """max_batch_size { value: 16 }
batch_timeout_micros { value: 1000 }
num_batch_threads { value: 2 }
max_enqueued_batches { value: 4 }
"""
POLICY = 'resource.type="cloud_run_revision" AND metric.type="run.googleapis.com/container/gpu/%s"'
SPEC = "service: acme-ml:europe-west1:ranker\nspec:\n  autonomy: %s\n  scale: {max_instance_count: 3}\n"


def bundle(**parts: object) -> str:
    lines: list[str] = []
    for name, value in parts.items():
        if isinstance(value, str) and value.startswith("{"):
            lines.append(f"{name}: {value}")
        elif isinstance(value, str):
            lines += [f"{name}: |", *(f"  {line}" for line in value.splitlines())]
        elif isinstance(value, list):
            lines += [f"{name}:", *(f"- '{each}'" for each in value)]
    return "\n".join(lines) + "\n"


def listed(*objects: str, base: str = "gs://acme/m", models: str = f"model_config_list {{ {MODEL} }}") -> str:
    flags = ["--port=8500", "--rest_api_port=8501", "--model_config_file=/m.config", "--file_system_poll_wait_seconds=0"]
    return bundle(models=models, flags=flags, objects=[f"{base}/{each}" for each in objects])


WHOLE = ("1/saved_model.pb 9", "1/variables/variables.index 9", "1/variables/variables.data-00000-of-00001 9")
PAIRS: dict[str, tuple[str, str]] = {
    "gcloud-unknown-flag": (f"{CPU} --max-concurrency=8", CPU),
    "gcloud-value-invalid": (f"{CPU} --timeout=soon", f"{CPU} --timeout=60"),
    "gcloud-flag-other-track": (f"{CPU} --max=3", f"{CPU} --max=3".replace("gcloud run", "gcloud beta run")),
    "gcloud-args-needs-equals": (f"{CPU} --args --rest_api_num_threads=16", f"{CPU} --args=--rest_api_num_threads=16"),
    "gcloud-args-comma-split": (f"{CPU} --args=--grpc_channel_arguments=a=1,b=2", f"{CPU} '--args=^;^--grpc_channel_arguments=a=1,b=2'"),
    "spec-invalid": (SPEC % "sometimes", SPEC % "observe"),
    "cpu-memory-shape": (CPU.replace("8Gi", "32Gi"), CPU),
    "gpu-request-invalid": (L4.replace("--gpu=1", "--gpu=2"), L4),
    "gpu-region-unsupported": (L4.replace("us-east4", "us-west1"), L4.replace("us-east4", "us-central1")),
    "gpu-cpu-throttled": (f"{L4} --cpu-throttling", f"{CPU} --cpu-throttling"),
    "gen2-required": (f"{L4} --execution-environment=gen1", f"{CPU} --execution-environment=gen1"),
    "gpu-zonal-redundancy-implicit": (L4.replace("--no-gpu-zonal-redundancy ", ""), L4),
    "gpu-quota-default-exceeded": (L4.replace("--max-instances=3", "--max-instances=4"), L4),
    "max-instances-one": (L4.replace("--max-instances=3", "--max-instances=1"), f"{CPU} --max-instances=1"),
    "image-gpu-mismatch": (L4.replace("2.20.0-gpu", "2.20.0"), L4),
    "image-not-pinned": (CPU.replace(":2.20.0", ":latest"), CPU),
    "concurrency-unset": (L4.replace("--concurrency=24 ", ""), CPU.replace("--concurrency=8 ", "")),
    "cloud-run-limit": (f"{CPU} --timeout=3601", f"{CPU} --timeout=3600"),
    "service-document-invalid": (
        V2 + "traffic: [{type: TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST, percent: 90}]\n",
        V2 + "traffic: [{type: TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST, percent: 100}]\n",
    ),
    "revision-level-scaling": (f"{CPU} --min-instances=1", f"{CPU} --min=1"),
    "revision-name-fixed": (V2.replace("template:\n", "template:\n  revision: rank-00001-abc\n"), V2),
    "port-not-listening": (CPU.replace("--port=8501", "--port=8080"), CPU),
    "h2c-mismatch": (CPU.replace("8501", "8500"), f"{CPU.replace('8501', '8500')} --use-http2"),
    "env-reserved": (f"{CPU} --set-env-vars=PORT=8501", f"{CPU} --set-env-vars=MODEL_PORT=8501"),
    "timeout-order": (f"{CPU} --timeout=30", f"{CPU} --timeout=31"),
    "startup-window-too-short": (bundle(deploy=CPU, workload="{start_s: 240}"), bundle(deploy=CPU, workload="{start_s: 239}")),
    "startup-probe-single-attempt": (
        f"{CPU} --startup-probe=httpGet.path=/v1/models/model,httpGet.port=8501,failureThreshold=1",
        f"{CPU} --startup-probe=tcpSocket.port=8501,timeoutSeconds=240,periodSeconds=240,failureThreshold=1",
    ),
    "probe-path-not-served": (
        f"{CPU} --startup-probe=httpGet.path=/healthz,httpGet.port=8501,failureThreshold=30",
        f"{CPU} --startup-probe=httpGet.path=/v1/models/model,httpGet.port=8501,failureThreshold=30",
    ),
    "probe-grpc-health-disabled": (
        f"{L4} --liveness-probe=grpc.port=8500",
        f"{L4},--enable_grpc_healthcheck_service --liveness-probe=grpc.port=8500",
    ),
    "status-probe-blind": (
        f"{CPU} --liveness-probe=httpGet.path=/v1/models/model,httpGet.port=8501",
        f"{CPU} --startup-probe=httpGet.path=/v1/models/model,httpGet.port=8501,failureThreshold=30",
    ),
    "load-retries-outlive-probe": (CPU, f"{CPU} --args=--max_num_load_retries=0"),
    "probe-liveness-tcp": (f"{CPU} --liveness-probe=tcpSocket.port=8501", f"{CPU} --startup-probe=tcpSocket.port=8501"),
    "batching-file-syntax": (BATCHING.replace("{ value: 16 }", "= 16"), BATCHING),
    "batching-wrapper-syntax": (BATCHING.replace("{ value: 16 }", ": 16"), BATCHING.replace("{ value: 16 }", ": { value: 16 }")),
    "batching-unknown-field": (f"{BATCHING}batch_commit_timeout_micros {{ value: 1 }}\n", f"{BATCHING}# batch_commit_timeout_micros\n"),
    "batching-value-out-of-range": (BATCHING.replace("threads { value: 2 }", "threads { value: 0 }"), BATCHING),
    "allowed-last-not-max": (f"{BATCHING}allowed_batch_sizes: [1, 8]\n", f"{BATCHING}allowed_batch_sizes: [1, 16]\n"),
    "allowed-not-increasing": (f"{BATCHING}allowed_batch_sizes: [1, 8, 4, 16]\n", f"{BATCHING}allowed_batch_sizes: [1, 4, 8, 16]\n"),
    "allowed-min-too-large": (f"{BATCHING}allowed_batch_sizes: [2, 16]\n", f"{BATCHING}allowed_batch_sizes: [1, 16]\n"),
    "splitting-sizes-inconsistent": (
        f"{BATCHING}max_execution_batch_size {{ value: 8 }}\n",
        f"{BATCHING}max_execution_batch_size {{ value: 8 }}\nenable_large_batch_splitting {{ value: true }}\n",
    ),
    "pad-first-element": (f"{BATCHING}pad_variable_length_inputs: true\n", f"{BATCHING}pad_variable_length_inputs: false\n"),
    "batch-timeout-seconds": (BATCHING.replace("1000", "1000000"), BATCHING.replace("1000", "999999")),
    "batch-timeout-over-budget": (
        bundle(batching=BATCHING.replace("1000", "26000"), slo="{p99_ms: 100}"),
        bundle(batching=BATCHING.replace("1000", "25000"), slo="{p99_ms: 100}"),
    ),
    "queue-too-deep": (BATCHING.replace("batches { value: 4 }", "batches { value: 101 }"), BATCHING),
    "queue-unbounded": (
        bundle(deploy=L4, batching=BATCHING.replace("batches { value: 4 }", "batches { value: 101 }")),
        bundle(deploy=L4, batching=BATCHING.replace("batches { value: 4 }", "batches { value: 100 }")),
    ),
    "queue-below-concurrency": (
        bundle(deploy=L4.replace("--concurrency=24", "--concurrency=97"), batching=BATCHING),
        bundle(deploy=L4.replace("--concurrency=24", "--concurrency=96"), batching=BATCHING),
    ),
    "batch-threads-too-many": (
        bundle(deploy=L4, batching=BATCHING.replace("threads { value: 2 }", "threads { value: 5 }")),
        bundle(deploy=L4, batching=BATCHING.replace("threads { value: 2 }", "threads { value: 4 }")),
    ),
    "batch-unreachable": (
        bundle(deploy=L4.replace("--concurrency=24", "--concurrency=15"), batching=BATCHING),
        bundle(deploy=L4.replace("--concurrency=24", "--concurrency=16"), batching=BATCHING),
    ),
    "request-rows-exceed-batch": (
        bundle(batching=BATCHING, workload="{rows_per_request: 17}"),
        bundle(batching=BATCHING, workload="{rows_per_request: 16}"),
    ),
    "max-batch-size-unbounded": (
        bundle(deploy=L4, batching=BATCHING.replace("size { value: 16 }", "size { value: 8193 }")),
        bundle(deploy=L4, batching=BATCHING.replace("size { value: 16 }", "size { value: 8192 }")),
    ),
    "batching-not-enabled": (
        bundle(flags=[*FLAGS, "--batching_parameters_file=/b.txt"]),
        bundle(flags=[*FLAGS, "--batching_parameters_file=/b.txt", "--enable_batching"]),
    ),
    "batching-off-on-gpu": (L4.replace("--enable_batching=true,--batching_parameters_file=/b.txt,", ""), L4),
    "per-model-batching-incomplete": (
        bundle(flags=[*FLAGS, "--enable_per_model_batching_parameters"]),
        bundle(flags=[*FLAGS, "--enable_per_model_batching_parameters", "--enable_batching"]),
    ),
    "server-flag-invalid": (bundle(flags=[*FLAGS, "--max_batch_size=8"]), bundle(flags=[*FLAGS, "--enable_batching"])),
    "server-flag-conflict": (bundle(flags=["--port=8501", *FLAGS[1:]]), bundle(flags=FLAGS)),
    "grpc-threads-below-concurrency": (f"{L4},--grpc_max_threads=31", f"{L4},--grpc_max_threads=32"),
    "rest-threads-below-concurrency": (f"{CPU} --args=--rest_api_num_threads=9", f"{CPU} --args=--rest_api_num_threads=10"),
    "poll-wait-invalid": (
        bundle(flags=[*FLAGS, "--file_system_poll_wait_seconds=-1"]),
        bundle(flags=[*FLAGS, "--file_system_poll_wait_seconds=0"]),
    ),
    "poll-costly": (
        bundle(flags=[*FLAGS[:3], "--model_base_path=gs://acme/m", "--file_system_poll_wait_seconds=59"]),
        bundle(flags=[*FLAGS[:3], "--model_base_path=gs://acme/m", "--file_system_poll_wait_seconds=60"]),
    ),
    "gpu-memory-fraction-low": (f"{L4},--per_process_gpu_memory_fraction=0.89", f"{L4},--per_process_gpu_memory_fraction=0.9"),
    "monitoring-not-served": (
        bundle(flags=["--port=8500", *FLAGS[2:], "--monitoring_config_file=/m.config"]),
        bundle(flags=[*FLAGS, "--monitoring_config_file=/m.config"]),
    ),
    "version-labels-need-allow-flag": (
        listed(models=f'model_config_list {{ {MODEL[:-2]} version_labels {{ key: "a" value: 1 }} }} }}'),
        listed(),
    ),
    "model-source-missing": (f"{CPU} --command=tensorflow_model_server --args=--rest_api_port=8501", f"{CPU} --args=--rest_api_port=8501"),
    "models-file-syntax": (f"model_config_list {{ {MODEL[:-2]} version_labels {{ a: 1 }} }} }}\n", f"model_config_list {{ {MODEL} }}\n"),
    "models-unknown-field": (f"model_config_list {{ {MODEL[:-2]} colour: 1 }} }}\n", f"model_config_list {{ {MODEL} }} # colour: 1\n"),
    "models-platform-invalid": (
        f"model_config_list {{ {MODEL.replace('tensorflow', 'tensorflow_serving')} }}\n",
        f"model_config_list {{ {MODEL} }}\n",
    ),
    "models-entry-invalid": (f"model_config_list {{ {MODEL} {MODEL} }}\n", f"model_config_list {{ {MODEL} }}\n"),
    "models-all-versions": (
        f"model_config_list {{ {MODEL[:-2]} model_version_policy {{ all {{ }} }} }} }}\n",
        f"model_config_list {{ {MODEL[:-2]} model_version_policy {{ latest {{ }} }} }} }}\n",
    ),
    "model-no-integer-version": (listed("v1/saved_model.pb 9"), listed(*WHOLE)),
    "model-base-path-is-version": (listed("saved_model.pb 9", "variables/variables.index 9"), listed(*WHOLE)),
    "model-partial-upload": (listed(*WHOLE[:2]), listed(*WHOLE)),
    "model-version-absent": (
        listed(*WHOLE, models=f"model_config_list {{ {MODEL[:-2]} model_version_policy {{ specific {{ versions: 2 }} }} }} }}"),
        listed(*WHOLE, models=f"model_config_list {{ {MODEL[:-2]} model_version_policy {{ specific {{ versions: 1 }} }} }} }}"),
    ),
    "metric-query-invalid": (POLICY % "utilization", POLICY % "utilizations"),
}


def _codes(text: str) -> set[str]:
    return {finding.code for finding in ask("file", text).findings}


@pytest.mark.parametrize("code", PAIRS)
def test_a_file_that_earns_it_gets_it(code: str) -> None:
    assert code in _codes(PAIRS[code][0])


@pytest.mark.parametrize("code", PAIRS)
def test_its_nearest_healthy_neighbour_does_not(code: str) -> None:
    assert code not in _codes(PAIRS[code][1])


def test_every_code_has_its_pair() -> None:
    assert set(PAIRS) == set(CODES)
