"""From what a user has, or Cloud Run runs, to the revision that the world simulates."""

from typing import Any

import pytest

from shared.cloudrun.prices import usd_per_instance_hour
from shared.lint.bundle import read_bundle
from shared.lint.checking import resolved
from shared.local.world.revisions import deployment_of, revision_of
from shared.records.desired import desired_serving
from shared.rendering.plain import plain_service
from shared.simulation.world.settings import L4_USD_PER_S, Batching, ModelTimes, Revision
from tests.support.running import running
from tests.support.specs import SERVICE, a_spec

MODEL = ModelTimes.affine(4.0, 0.25, cpu_ms_per_request=0.5)
DEPLOY = "deploy: gcloud run deploy r --image tensorflow/serving --port 8501 --cpu 4 --memory 16Gi"


def of_document(*args: str, port: int = 8500, **template: Any) -> Revision:
    return revision_of(deployment_of(running(*args, port=port, max_instances=0, **template)), MODEL)


def of_bundle(text: str) -> Revision:
    return revision_of(resolved(read_bundle("question", text)), MODEL)


def test_a_service_that_says_nothing_has_the_defaults_of_both() -> None:
    revision = of_document()
    assert revision.server.batching is None
    assert (revision.server.rest, revision.usable_threads) == (False, 16)
    settings = revision.cloud_run
    assert (settings.concurrency, settings.concurrency_target, settings.cpu_target) == (80, 0.6, 0.6)
    assert (settings.min_instances, settings.max_instances, settings.vcpus, settings.timeout_s) == (0, 100, 4, 300.0)
    assert settings.usd_per_instance_s == pytest.approx(L4_USD_PER_S)


def test_the_exposed_port_decides_between_grpc_and_rest() -> None:
    rest = of_document("--rest_api_num_threads=70", "--rest_api_timeout_in_ms=5000", port=8501).server
    assert (rest.rest, rest.server_threads, rest.rest_timeout_s) == (True, 70, 5.0)
    assert of_document("--grpc_max_threads=70", "--rest_api_num_threads=9").server.server_threads == 70


def test_batching_alone_means_its_defaults_and_a_thread_for_each_vcpu() -> None:
    batching = of_document("--enable_batching").server.batching
    assert batching == Batching(max_batch_size=1000, timeout_ms=0.0, max_enqueued_batches=10, threads=4)


def test_a_file_without_the_flag_that_reads_it_is_no_batching() -> None:
    revision = of_bundle("""
deploy: gcloud run deploy r --image tensorflow/serving:2.19.0-gpu --port 8500 --use-http2 --gpu 1 --gpu-type nvidia-l4 --cpu 4 --memory 16Gi
batching: "max_batch_size { value: 16 }"
""")
    assert revision.server.batching is None


def test_a_gcloud_command_with_its_batching_file() -> None:
    revision = of_bundle("""
deploy: |
  gcloud run deploy ranker --image=tensorflow/serving:2.19.0-gpu --region=europe-west1 --gpu=1 --gpu-type=nvidia-l4 \\
    --no-gpu-zonal-redundancy --cpu=4 --memory=16Gi --concurrency=60 --min-instances=1 --max-instances=20 --port=8500 --use-http2 \\
    --timeout=5s --args=--enable_batching,--batching_parameters_file=/models/batching.config,--grpc_max_threads=68
batching: |
  max_batch_size { value: 16 }
  batch_timeout_micros { value: 5000 }
  num_batch_threads { value: 2 }
  max_enqueued_batches { value: 100 }
  allowed_batch_sizes: 8
  allowed_batch_sizes: 16
""")
    assert revision.server.batching == Batching(16, 5.0, 100, 2, (8, 16))
    assert (revision.cloud_run.concurrency, revision.usable_threads, revision.cloud_run.timeout_s) == (60, 68, 5.0)
    assert (revision.cloud_run.min_instances, revision.cloud_run.max_instances) == (1, 20)


def test_gcloud_gives_a_new_service_80_requests_for_each_vcpu() -> None:
    revision = of_bundle(
        "deploy: gcloud run deploy r --image tensorflow/serving --port 8501 --cpu 4 --memory 16Gi --gpu 1 --gpu-type nvidia-l4"
    )
    assert (revision.cloud_run.concurrency, revision.server.rest) == (320, True)


def test_a_revision_that_trimtab_rendered_carries_its_files_with_it() -> None:
    spec = a_spec(
        max_instance_request_concurrency=96,
        batching={"max_batch_size": 32, "num_batch_threads": 2, "max_enqueued_batches": 4, "allowed_batch_sizes": [8, 16, 32]},
        metrics_sidecar=False,
    )
    rendered = plain_service(SERVICE.resource_name, desired_serving(spec), min_instance_count=2, max_instance_count=4)
    revision = revision_of(deployment_of(rendered), MODEL, start_s=40.0, client_timeout_s=1.5)
    assert revision.server.batching == Batching(32, 0.0, 4, 2, (8, 16, 32))
    assert (revision.usable_threads, revision.cloud_run.concurrency) == (104, 96)
    assert (revision.cloud_run.min_instances, revision.cloud_run.max_instances) == (2, 4)
    assert (revision.cloud_run.start_s, revision.client_timeout_s) == (40.0, 1.5)


def test_the_metrics_sidecar_is_paid_for_too() -> None:
    def price(*, metrics_sidecar: bool) -> float:
        spec = a_spec(metrics_sidecar=metrics_sidecar)
        rendered = plain_service(SERVICE.resource_name, desired_serving(spec), min_instance_count=0, max_instance_count=4)
        return revision_of(deployment_of(rendered), MODEL).cloud_run.usd_per_instance_s

    assert price(metrics_sidecar=False) < price(metrics_sidecar=True) < 1.15 * price(metrics_sidecar=False)


def test_set_points_are_targets_and_zero_is_no_driver() -> None:
    settings = of_document(scaling={"concurrencyUtilization": 0.3, "cpuUtilization": 0}).cloud_run
    assert (settings.concurrency_target, settings.cpu_target) == (0.3, None)


def test_the_narrower_of_the_bounds_of_service_and_revision_holds() -> None:
    given = running(scaling={"minInstanceCount": 1, "maxInstanceCount": 10})
    given["scaling"] = {"maxInstanceCount": 6, "minInstanceCount": 2}
    settings = revision_of(deployment_of(given), MODEL).cloud_run
    assert (settings.min_instances, settings.max_instances) == (2, 6)


def test_a_service_scaled_by_hand_has_one_number_of_instances() -> None:
    given = running()
    given["scaling"] = {"scalingMode": "MANUAL", "manualInstanceCount": 3}
    settings = revision_of(deployment_of(given), MODEL).cloud_run
    assert (settings.min_instances, settings.max_instances) == (3, 3)


def test_zonal_redundancy_of_the_gpu_is_on_where_nothing_is_said_and_costs_more() -> None:
    given = running()
    del given["template"]["gpuZonalRedundancyDisabled"]
    hour = usd_per_instance_hour(
        accelerator="nvidia-l4", gpu_count=1, cpu=4, memory_gib=16, gpu_zonal_redundancy=True, region=SERVICE.region
    )
    assert hour is not None
    assert revision_of(deployment_of(given), MODEL).cloud_run.usd_per_instance_s * 3600 == pytest.approx(hour)


def test_a_price_can_be_given_where_none_is_published() -> None:
    far = deployment_of({**running(), "name": "projects/p/locations/asia-southeast1/services/s"})
    with pytest.raises(ValueError, match="price of an instance with nvidia-l4 in asia-southeast1 is not known"):
        revision_of(far, MODEL)
    assert revision_of(far, MODEL, usd_per_instance_s=0.0005).cloud_run.usd_per_instance_s == 0.0005


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("deploy: gcloud run services update r --port 8501", "vCPUs are not known"),
        ("deploy: gcloud run deploy r --image tensorflow/serving --cpu 4 --memory 16Gi", "sends requests to port 8080"),
        ("deploy: gcloud run deploy r --image tensorflow/serving --port 8501 --cpu 0.5", "cpu is 0.5"),
        ("deploy: gcloud run services update r --cpu 4 --memory 16Gi", "gRPC or REST"),
        (f"{DEPLOY} --args=--batching_parameters_file=/b.txt", "needs --enable_batching"),
        (f"{DEPLOY} --args=--enable_batching,--batching_parameters_file=/b.txt", "the text of the file"),
        (
            f"{DEPLOY} --args=--enable_batching,--batching_parameters_file=/b.txt\nbatching: 'num_batch_threads {{ value: 0 }}'",
            "num_batch_threads 0",
        ),
    ],
)
def test_what_is_not_known_or_would_not_serve_is_said_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        of_bundle(text)
    assert "\n" not in str(refused.value)


def test_without_anything_said_about_the_start_a_given_batching_file_is_meant() -> None:
    revision = of_bundle("""
deploy: gcloud run deploy r --image europe-docker.pkg.dev/p/r/mine --port 8500 --use-http2 --cpu 4 --memory 16Gi
batching: "max_batch_size { value: 16 }"
""")
    assert revision.server.batching is not None
    assert revision.server.batching.max_batch_size == 16
