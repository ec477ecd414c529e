"""A scene for tests: a clock that stands until it is moved, and one GPU service on a simulated Cloud Run."""

from datetime import UTC, datetime, timedelta

from google.cloud import run_v2

from shared.records.subject import ServiceId
from shared.simulation.cloud_run import SimulatedCloudRun

START = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)
RANKER = ServiceId(project="acme-ml", region="europe-west1", name="ranker")
PARENT = "projects/acme-ml/locations/europe-west1"
UNKNOWN_FIELD = b"\xc2\x3e\x05later"
"""Field 1000 of a message, a text: a field that this client does not know."""


class StandingClock:
    """Time that passes when told."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def pass_seconds(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def gpu_service(*, low: int = 0, high: int = 3, revision_max: int = 0, zonal_redundancy: bool = False) -> run_v2.Service:
    """A TF Serving service with one L4 per instance, 4 vCPU and 16 GiB; its messages carry an unknown field each."""
    service = run_v2.Service(
        description="ranks things",
        labels={"team": "search"},
        ingress=run_v2.IngressTraffic.INGRESS_TRAFFIC_INTERNAL_ONLY,
        scaling=run_v2.ServiceScaling(min_instance_count=low, max_instance_count=high),
        traffic=[run_v2.TrafficTarget(type_=run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST, percent=100)],
        template=run_v2.RevisionTemplate(
            max_instance_request_concurrency=16,
            node_selector=run_v2.NodeSelector(accelerator="nvidia-l4"),
            gpu_zonal_redundancy_disabled=not zonal_redundancy,
            scaling=run_v2.RevisionScaling(max_instance_count=revision_max),
            containers=[
                run_v2.Container(
                    name="tfs",
                    image="europe-docker.pkg.dev/acme-ml/serving/tfs@sha256:" + "0" * 64,
                    args=["--port=8500", "--rest_api_port=8501"],
                    ports=[run_v2.ContainerPort(name="h2c", container_port=8500)],
                    resources=run_v2.ResourceRequirements(limits={"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}),
                )
            ],
        ),
    )
    raw = run_v2.Service.pb(service)
    raw.MergeFromString(UNKNOWN_FIELD)
    raw.template.MergeFromString(UNKNOWN_FIELD)
    raw.scaling.MergeFromString(UNKNOWN_FIELD)
    return service


def with_ranker(clock: StandingClock, *, quota: int = 8, low: int = 0, high: int = 3, revision_max: int = 0) -> SimulatedCloudRun:
    """A simulated Cloud Run with the service `ranker` in force and a GPU quota."""
    cloud_run = SimulatedCloudRun(now=clock.now)
    cloud_run.set_gpu_quota("acme-ml", "europe-west1", quota)
    cloud_run.create_service(PARENT, "ranker", gpu_service(low=low, high=high, revision_max=revision_max), settled=True)
    return cloud_run
