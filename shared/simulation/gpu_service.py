"""A simulated TF Serving service on one L4 per instance, 4 vCPU and 16 GiB, as the demo, the local edition and tests use it."""

from google.cloud import run_v2

from shared.records.observed import Bounds
from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun

GPU_QUOTA = 16
"""The simulated project's L4 quota in the region, in instances."""


def place_service(
    cloud_run: SimulatedCloudRun, service: ServiceId, bounds: Bounds, *, revision_max: int = 0, gpu_quota: int = GPU_QUOTA
) -> None:
    """Put the service into the simulated Cloud Run, settled, with a quota to grow into."""
    cloud_run.set_gpu_quota(service.project, service.region, gpu_quota)
    parent = f"projects/{service.project}/locations/{service.region}"
    cloud_run.create_service(parent, service.name, gpu_service(bounds, revision_max=revision_max), settled=True)


def gpu_service(bounds: Bounds, *, revision_max: int = 0) -> run_v2.Service:
    """A TF Serving service with one L4 per instance, 4 vCPU and 16 GiB."""
    limits = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    container = run_v2.Container(
        name="tfs",
        image="tensorflow/serving:2.19.0-gpu",
        args=["--port=8500", "--rest_api_port=8501"],
        ports=[run_v2.ContainerPort(name="h2c", container_port=8500)],
        resources=run_v2.ResourceRequirements(limits=limits, cpu_idle=False, startup_cpu_boost=True),
    )
    return run_v2.Service(
        scaling=run_v2.ServiceScaling(min_instance_count=bounds.min_instance_count, max_instance_count=bounds.max_instance_count),
        template=run_v2.RevisionTemplate(
            max_instance_request_concurrency=16,
            node_selector=run_v2.NodeSelector(accelerator="nvidia-l4"),
            gpu_zonal_redundancy_disabled=True,
            scaling=run_v2.RevisionScaling(max_instance_count=revision_max),
            containers=[container],
        ),
    )
