"""What the simulated Cloud Run refuses at request time, text by text, and what it lets through as the real one does."""

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import run_v2

from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.simulation.cloud_run_extras import set_extras
from tests.support.simulated_service import PARENT, StandingClock, gpu_service

Edit = Callable[[run_v2.Service], object]
REVISION = run_v2.TrafficTargetAllocationType.TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION
RTX = "nvidia-rtx-pro-6000"
GEN1, GEN2 = run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN1, run_v2.ExecutionEnvironment.EXECUTION_ENVIRONMENT_GEN2
CONNECTOR = "projects/acme-ml/locations/europe-west1/connectors/private"
IMAGES = (
    "tfs",
    "tensorflow/serving:2.19.0-gpu",
    "europe-docker.pkg.dev/acme-ml/serving/tfs@sha256:" + "0a" * 32,
    "europe-docker.pkg.dev/acme-ml/serving/tfs:V1_rc.1@sha256:" + "0a" * 32,
    "localhost:5000/tfs__x/a--b.c",
)


@pytest.fixture
def cloud_run() -> SimulatedCloudRun:
    made = SimulatedCloudRun(now=StandingClock().now)
    made.set_gpu_quota("acme-ml", "europe-west1", 8)
    made.set_gpu_quota("acme-ml", "europe-west1", 8, accelerator=RTX)
    return made


def cpu_service() -> run_v2.Service:
    return run_v2.Service(
        template={
            "containers": [{"name": "tfs", "image": "tensorflow/serving:2.19.0", "ports": [{"container_port": 8501}]}],
            "volumes": [{"name": "models", "gcs": {"bucket": "acme-models"}}],
        }
    )


def validated(cloud_run: SimulatedCloudRun, service: run_v2.Service) -> None:
    cloud_run.create_service(PARENT, "ranker", service, validate_only=True)


def refusal(cloud_run: SimulatedCloudRun, service: run_v2.Service, edit: Edit) -> str:
    edit(service)
    with pytest.raises(SimulatedError) as caught:
        validated(cloud_run, service)
    assert caught.value.status == "INVALID_ARGUMENT"
    assert caught.value.field is not None
    return caught.value.text


def container(**fields: Any) -> Edit:
    """Set these fields of the first container."""

    def edit(service: run_v2.Service) -> None:
        for name, value in fields.items():
            setattr(service.template.containers[0], name, value)

    return edit


def template(**fields: Any) -> Edit:
    def edit(service: run_v2.Service) -> None:
        for name, value in fields.items():
            setattr(service.template, name, value)

    return edit


def limits(**given: str) -> Edit:
    return container(resources=run_v2.ResourceRequirements(limits=given, cpu_idle=True))


def gpu_limits(cpu: str, memory: str, *, accelerator: str = "nvidia-l4", cpu_idle: bool = False) -> Edit:
    def edit(service: run_v2.Service) -> None:
        service.template.node_selector.accelerator = accelerator
        service.template.containers[0].resources = run_v2.ResourceRequirements(
            limits={"cpu": cpu, "memory": memory, "nvidia.com/gpu": "1"}, cpu_idle=cpu_idle
        )

    return edit


def more(*containers: dict[str, Any]) -> Edit:
    """Further containers beside the first."""

    def edit(service: run_v2.Service) -> None:
        service.template.containers = [*service.template.containers, *(run_v2.Container(each) for each in containers)]

    return edit


def sidecar(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "otel/collector", **fields}


def traffic(*targets: dict[str, Any]) -> Edit:
    def edit(service: run_v2.Service) -> None:
        service.traffic = [run_v2.TrafficTarget(each) for each in targets]

    return edit


def service_fields(**fields: Any) -> Edit:
    def edit(service: run_v2.Service) -> None:
        for name, value in fields.items():
            setattr(service, name, value)

    return edit


def volumes(*, name: str = "v", generation: int = 0, **source: Any) -> Edit:
    """One volume of that source; 0 leaves the execution environment to Cloud Run."""
    return template(volumes=[run_v2.Volume({"name": name, **source})], execution_environment=run_v2.ExecutionEnvironment(generation))


def mounted(path: str, *, sub_path: str = "", **source: Any) -> Edit:
    """One volume, mounted there by the first container."""

    def edit(service: run_v2.Service) -> None:
        service.template.volumes = [run_v2.Volume({"name": "v", **(source or {"empty_dir": {}})})]
        service.template.containers[0].volume_mounts = [run_v2.VolumeMount(name="v", mount_path=path, sub_path=sub_path)]

    return edit


def vpc(**fields: Any) -> Edit:
    return template(vpc_access=run_v2.VpcAccess(fields))


def fractions(*, concurrency: int) -> Edit:
    """Half a CPU that serves and one beside it."""

    def edit(service: run_v2.Service) -> None:
        limits(cpu="500m", memory="512Mi")(service)
        more(sidecar("collector", resources={"limits": {"cpu": "1"}, "cpu_idle": True}))(service)
        service.template.max_instance_request_concurrency = concurrency

    return edit


GPU_CASES: list[tuple[Edit, str]] = [
    (gpu_limits("2", "8Gi"), "CPU must be at least 4; memory must be at least 16Gi"),
    (gpu_limits("4", "32Gi"), "Invalid value specified for container memory"),
    (gpu_limits("4", "16Gi", cpu_idle=True), "must be disabled in order to set GPU requirements"),
    (template(execution_environment=run_v2.ExecutionEnvironment(1)), "Execution environment must be set to gen2 in order to set GPU"),
    (container(resources=run_v2.ResourceRequirements(limits={"nvidia.com/gpu": "2"})), "GPU can only be set to 1"),
    (more(sidecar("second", resources={"limits": {"nvidia.com/gpu": "1"}})), "on one container"),
    (gpu_limits("8", "80Gi", accelerator=RTX), "Must be equal to one of 20.0, 22.0"),
    (gpu_limits("20", "64Gi", accelerator=RTX), "memory must be between 80Gi"),
    (gpu_limits("20", "96Gi", accelerator=RTX), "memory must be between 80Gi and 80Gi"),
]

CPU_CASES: list[tuple[Edit, str]] = [
    (template(gpu_zonal_redundancy_disabled=True), "must be set when GPU redundancy is set"),
    (limits(cpu="3", memory="4Gi"), "Must be equal to one of [.08-1]"),
    (limits(cpu="0.05", memory="512Mi"), "Must be equal to one of [.08-1]"),
    (limits(cpu="two"), "limits.cpu: Could not parse Quantity"),
    (limits(memory="lots"), "limits.memory: Could not parse Quantity"),
    (limits(cpu="1", memory="8Gi"), "Invalid value specified for container memory"),
    (limits(cpu="4", memory="1Gi"), "Invalid value specified for container memory"),
    (container(resources=run_v2.ResourceRequirements(limits={"disk": "1Gi"})), "limits are supported"),
    (template(max_instance_request_concurrency=1001), "max_instance_request_concurrency: Must be a number between 0 and 1000"),
    (template(max_instance_request_concurrency=-1), "max_instance_request_concurrency: Must be a number between 0 and 1000"),
    (template(timeout={"seconds": 3601}), "maximum allowed time is one hour"),
    (template(containers=[]), "must contain at least one container"),
    (template(annotations={"autoscaling.knative.dev/maxScale": "3"}), "system annotations are not supported"),
    (template(labels={"run.googleapis.com/x": "3"}), "system annotations are not supported"),
    (container(image=""), "must provide an image name to deploy"),
    *(
        (
            container(image=image),
            "containers[0].image: must be a container image path in the form [hostname/]repo-path[:tag and/or @digest]",
        )
        for image in (
            "a:b:c",
            "a//b",
            "example.com/Acme/tfs",
            "Acme/tfs",
            "tfs:",
            "tfs/",
            "tfs@sha256:bad",
            "https://example.com/tfs",
            "tfs serving",
        )
    ),
    *((container(name=name), "containers[0].name: must conform to RFC 1123") for name in ("Tfs", "tf_s", "tfs.", "-tfs", "t" * 64)),
    (container(ports=[run_v2.ContainerPort(name="grpc")]), "must be one of empty, 'http1' or 'h2c'"),
    (container(ports=[run_v2.ContainerPort(container_port=70_000)]), "container_port: must be 0"),
    (container(ports=[run_v2.ContainerPort(name="h2c")]), "container_port: must be 0 < container_port"),
    (container(ports=[run_v2.ContainerPort(), run_v2.ContainerPort()]), "ports should contain 0 or 1 port"),
    (container(env=[run_v2.EnvVar(name="PORT", value="1")]), "reserved env names were provided: PORT"),
    (container(env=[run_v2.EnvVar(name="K_SERVICE", value="1")]), "reserved env names were provided: K_SERVICE"),
    (container(env=[run_v2.EnvVar(name="A", value="ü" * 16_385)]), "env[0].value: length cannot exceed 32768"),
    (container(env=[run_v2.EnvVar(name=f"A{number}") for number in range(1_001)]), "limit on EnvVars across all containers"),
    (
        more(
            sidecar("b", env=[{"name": f"A{number}"} for number in range(600)]), sidecar("c", env=[{"name": f"A{n}"} for n in range(600)])
        ),
        "limit on EnvVars across all containers",
    ),
    (container(args=["a"] * 1_001), "limit on args across all containers"),
    (container(volume_mounts=[run_v2.VolumeMount(name="other", mount_path="/m")]), "which were not found in volumes list"),
    (container(volume_mounts=[run_v2.VolumeMount(name="models", mount_path="m")]), "must be a valid unix absolute path"),
    (template(volumes=[run_v2.Volume(name="a"), run_v2.Volume(name="a")]), "Duplicate volume name"),
    (mounted("/proc/self"), "are in one of disallowed mount points"),
    (mounted("/data/../dev"), "are in one of disallowed mount points"),
    (mounted("/s", sub_path="x", secret={"secret": "s"}), "cannot have sub_path set"),
    (volumes(gcs={}), "Bucket name must be specified"),
    (volumes(gcs={"bucket": "b", "mount_options": ["implicit-dirs", "--uid=1"]}), "without the leading '--': '--uid=1'"),
    (volumes(empty_dir={"size_limit": "much"}), "size_limit: Could not parse Quantity"),
    (volumes(cloud_sql_instance={"instances": ["p:r:i"]}), "Cloud SQL volume must be named 'cloudsql'"),
    (volumes(name="cloudsql", gcs={"bucket": "b"}), "Cloud SQL volume must be named 'cloudsql'"),
    (volumes(name="cloudsql", cloud_sql_instance={"instances": ["bad"]}), "must be in the format project:location:instance"),
    (volumes(generation=1, gcs={"bucket": "b"}), "must be set to gen2 in order to mount"),
    (volumes(generation=1, nfs={"server": "10.0.0.2", "path": "/models"}), "must be set to gen2 in order to mount"),
    (vpc(connector=CONNECTOR, network_interfaces=[{"network": "n"}]), "one and only one of connector and network_interfaces must be set"),
    (vpc(network_interfaces=[{"network": "n"}, {"network": "m"}]), "only 1 network interface is allowed"),
    (vpc(network_interfaces=[{}]), "at least one of network or subnetwork should not be empty"),
    (vpc(connector="mine"), "connector: must be in form projects/"),
    (container(startup_probe=run_v2.Probe(period_seconds=5)), "Exactly one probe action must be set"),
    (container(startup_probe=run_v2.Probe(tcp_socket={}, initial_delay_seconds=241)), "initial_delay_seconds must be a number between"),
    (container(startup_probe=run_v2.Probe(tcp_socket={}, period_seconds=241)), "_seconds must be a number between 0 and"),
    (container(startup_probe=run_v2.Probe(tcp_socket={}, failure_threshold=-1)), "Must be a positive number if set"),
    (container(startup_probe=run_v2.Probe(http_get={"port": 70_000})), "if specified, must be between 1 and 65535"),
    (container(liveness_probe=run_v2.Probe(tcp_socket={})), "does not support TCP socket in liveness probe"),
    (container(readiness_probe=run_v2.Probe(tcp_socket={})), "does not support TCP socket in readiness probe"),
    (
        container(readiness_probe=run_v2.Probe(http_get={}, initial_delay_seconds=1)),
        "Initial delay is not supported for readiness probe",
    ),
    (more(sidecar("tfs")), "duplicate container names"),
    (more(sidecar("b", ports=[{"container_port": 9000}])), "exactly one container with an exposed port"),
    (more(*(sidecar(f"c{number}") for number in range(10))), "at most 10 containers"),
    (more(sidecar("b", depends_on=["nobody"])), "does not exist"),
    (more(sidecar("b", depends_on=["c"]), sidecar("c", depends_on=["b"])), "dependency cycle detected"),
    (service_fields(launch_stage=5), "only ALPHA, BETA, GA, or unspecified are supported"),
    (service_fields(labels={"cloud.googleapis.com/location": "x"}), "system annotations are not supported"),
    (service_fields(annotations={"serving.knative.dev/creator": "x"}), "system annotations are not supported"),
    (
        service_fields(scaling=run_v2.ServiceScaling(min_instance_count=2, max_instance_count=1)),
        "must be greater than or equal to min_instance_count",
    ),
    (service_fields(description="d" * 513), "length cannot exceed 512"),
    (traffic({"percent": 101}), "percent: must be a number between 0 and 100"),
    (traffic({"percent": 60}, {"percent": 30}), "should be 100"),
    (traffic({"percent": 100, "revision": "ranker-a"}), "must be specified if and only if traffic type is"),
    (traffic({"percent": 100, "type_": REVISION}), "must be specified if and only if traffic type is"),
    (
        traffic({"percent": 100, "tag": "t"}, {"percent": 0, "tag": "t", "type_": REVISION, "revision": "ranker-a"}),
        "may not contain a duplicate tag",
    ),
    *(
        (traffic({"percent": 100, "tag": tag}), "traffic[0].tag: must contain only lower case")
        for tag in ("V2", "v_2", "v2-", "2nd", "v.2")
    ),
    (
        traffic({"percent": 100, "tag": "t" * 41}),
        "and service name 'ranker' together are too long. Combined traffic tag and service name cannot exceed 46 characters",
    ),
]


@pytest.mark.parametrize(("edit", "text"), GPU_CASES, ids=[text for _, text in GPU_CASES])
def test_a_gpu_service_that_is_refused(cloud_run: SimulatedCloudRun, edit: Edit, text: str) -> None:
    assert text in refusal(cloud_run, gpu_service(), edit)


@pytest.mark.parametrize(("edit", "text"), CPU_CASES, ids=[text for _, text in CPU_CASES])
def test_a_service_that_is_refused(cloud_run: SimulatedCloudRun, edit: Edit, text: str) -> None:
    assert text in refusal(cloud_run, cpu_service(), edit)


ACCEPTED: list[tuple[str, Edit]] = [
    ("a probe's timeout above its period", container(startup_probe=run_v2.Probe(tcp_socket={}, timeout_seconds=30, period_seconds=5))),
    (
        "a start-up budget of hours",
        container(startup_probe=run_v2.Probe(tcp_socket={}, period_seconds=240, failure_threshold=100)),
    ),
    ("a variable named twice", container(env=[run_v2.EnvVar(name="A", value="1"), run_v2.EnvVar(name="A", value="2")])),
    (
        "a mount path used twice",
        container(volume_mounts=[run_v2.VolumeMount(name="models", mount_path="/m"), run_v2.VolumeMount(name="models", mount_path="/m")]),
    ),
    ("output-only fields", service_fields(uid="mine", creator="me")),
    ("concurrency left to the default", template(max_instance_request_concurrency=0)),
    ("an hour", template(timeout={"seconds": 3600})),
    ("the smallest CPU", limits(cpu="80m", memory="512Mi")),
    ("half a CPU and a GiB", limits(cpu="500m", memory="1Gi")),
    ("128 MiB in whichever generation", limits(cpu="1", memory="128Mi")),
    ("less than one CPU beside a sidecar that makes it more", fractions(concurrency=80)),
    ("a volume without a source", template(volumes=[run_v2.Volume(name="v")])),
    ("a volume in memory in the first generation", volumes(generation=1, empty_dir={})),
    ("an NFS path that is not absolute", volumes(nfs={"server": "s", "path": "relative"})),
    ("volumes of the second generation", volumes(generation=2, nfs={"server": "s", "path": "/m"})),
    ("mount options", volumes(gcs={"bucket": "b", "mount_options": ["implicit-dirs"]})),
    ("a network interface", vpc(network_interfaces=[{"subnetwork": "s"}])),
    ("a connector", vpc(connector=CONNECTOR)),
    ("the longest tag", traffic({"percent": 100, "tag": "t" * 40})),
    ("a container's name with a period", container(name="tfs.1")),
    *((f"the image {image}", container(image=image)) for image in IMAGES),
    ("a sidecar", more(sidecar("collector", depends_on=["tfs"]))),
    ("BETA", service_fields(launch_stage=3)),
    ("no traffic", traffic()),
]


@pytest.mark.parametrize("edit", [edit for _, edit in ACCEPTED], ids=[what for what, _ in ACCEPTED])
def test_what_passes_the_real_validation_passes_here(cloud_run: SimulatedCloudRun, edit: Edit) -> None:
    service = cpu_service()
    edit(service)
    validated(cloud_run, service)


@pytest.mark.parametrize(("cpu", "memory"), [("4", "16Gi"), ("6", "24Gi"), ("8", "32Gi"), ("4000m", "16384Mi")])
def test_shapes_of_an_l4(cloud_run: SimulatedCloudRun, cpu: str, memory: str) -> None:
    service = gpu_service()
    gpu_limits(cpu, memory)(service)
    validated(cloud_run, service)


def test_a_gpu_service_need_not_say_that_cpu_is_always_on(cloud_run: SimulatedCloudRun) -> None:
    service = gpu_service()
    assert not service.template.containers[0].resources.cpu_idle
    validated(cloud_run, service)


def sized(cpu: str, memory: str, *, idle: bool = True, generation: int = 0, concurrency: int = 0) -> Edit:
    def edit(service: run_v2.Service) -> None:
        service.template.containers[0].resources = run_v2.ResourceRequirements(limits={"cpu": cpu, "memory": memory}, cpu_idle=idle)
        service.template.execution_environment = run_v2.ExecutionEnvironment(generation)
        service.template.max_instance_request_concurrency = concurrency
        service.template.volumes = []

    return edit


TOTALS: list[tuple[Edit, str, str]] = [
    (sized("500m", "512Mi", concurrency=2), "cpu", "Total cpu < 1 is not supported with concurrency > 1."),
    (sized("500m", "512Mi", idle=False), "cpu", "Total cpu < 1 is not supported with cpu always allocated (unthrottled)."),
    (sized("500m", "512Mi", generation=GEN2), "cpu", "Total cpu < 1 is not supported with gen2 execution environment."),
    (sized("1", "256Mi", generation=GEN2), "memory", "Total memory < 512 Mi is not supported with gen2 execution environment."),
    (sized("1", "256Mi", idle=False), "memory", "Total memory < 512 Mi is not supported with cpu always allocated (unthrottled)."),
]


@pytest.mark.parametrize(("edit", "limit", "text"), TOTALS, ids=[text for _, _, text in TOTALS])
def test_totals_of_an_instance_that_are_refused(cloud_run: SimulatedCloudRun, edit: Edit, limit: str, text: str) -> None:
    assert refusal(cloud_run, cpu_service(), edit) == (
        f"template.containers.resources.limits.{limit}: Invalid value specified for {limit}. {text}"
    )


@pytest.mark.parametrize("generation", [0, GEN1])
def test_less_than_one_cpu_serves_one_request_at_a_time_in_the_first_generation(cloud_run: SimulatedCloudRun, generation: int) -> None:
    service = cpu_service()
    sized("500m", "256Mi", generation=generation, concurrency=1)(service)
    validated(cloud_run, service)


@pytest.mark.parametrize(("cpu", "memory", "most"), [("400m", "1Gi", "512Mi"), ("500m", "2Gi", "1Gi")])
def test_less_than_one_cpu_takes_less_memory(cloud_run: SimulatedCloudRun, cpu: str, memory: str, most: str) -> None:
    assert f"memory must be between 128Mi and {most} inclusive" in refusal(cloud_run, cpu_service(), sized(cpu, memory))


@pytest.mark.parametrize("name", ["Ranker", "1ranker", "ranker-", "r" * 50, "ran_ker"])
def test_names_a_service_may_not_have(cloud_run: SimulatedCloudRun, name: str) -> None:
    with pytest.raises(SimulatedError, match="less than 50 characters"):
        cloud_run.create_service(PARENT, name, cpu_service())


def set_points(**given: Any) -> Edit:
    def edit(service: run_v2.Service) -> None:
        set_extras(run_v2.Service.pb(service).template.scaling, given)

    return edit


@pytest.mark.parametrize(
    "given",
    [
        {"cpuUtilization": 0.1, "concurrencyUtilization": 0.95},
        {"cpuUtilization": 0.9},
        {"cpuUtilization": 0, "concurrencyUtilization": 0.5},
        {"concurrencyUtilization": 0.0},
    ],
)
def test_set_points_of_the_autoscaler(cloud_run: SimulatedCloudRun, given: dict[str, float]) -> None:
    service = cpu_service()
    set_points(**given)(service)
    validated(cloud_run, service)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"cpuUtilization": 0.91}, "cpuUtilization: must be 0 to disable it, or a number between 0.1 and 0.9"),
        ({"concurrencyUtilization": 0.96}, "a number between 0.1 and 0.95"),
        ({"concurrencyUtilization": 0.05}, "a number between 0.1 and 0.95"),
        ({"cpuUtilization": 0, "concurrencyUtilization": 0}, "CPU and concurrency scaling cannot both be disabled"),
        ({"cpuUtilization": "high"}, "is not a number"),
        ({"cpuUtilization": True}, "is not a number"),
    ],
)
def test_set_points_that_are_refused(cloud_run: SimulatedCloudRun, given: dict[str, Any], text: str) -> None:
    assert text in refusal(cloud_run, cpu_service(), set_points(**given))
