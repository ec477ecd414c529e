"""Healthy Cloud Run services as v2 REST JSON, and reproducible changes of them: some are taken, some refused."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

Json = dict[str, Any]
Change = Callable[[Json, Random], str]
"""Changes the service in place and says what it did."""

PARENT = "projects/acme-ml/locations/europe-west4"
LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
REMOVE = object()
FLAGS = (True, False)


def _service(template: Json, **more: Any) -> Json:
    return {"name": f"{PARENT}/services/ranker", "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3}, "template": template, **more}


def _container(cpu: str, memory: str, *, gpu: bool, **more: Any) -> Json:
    limits = {"cpu": cpu, "memory": memory, **({"nvidia.com/gpu": "1"} if gpu else {})}
    return {
        "name": "tfs",
        "image": "europe-west4-docker.pkg.dev/acme-ml/serving/tfs:2.20.0-gpu",
        "args": ["--port=8500", "--rest_api_port=8501", "--enable_grpc_healthcheck_service=true"],
        "env": [{"name": "MODEL_NAME", "value": "ranker"}],
        "ports": [{"name": "h2c", "containerPort": 8500}],
        "resources": {"limits": limits, "cpuIdle": False},
        "startupProbe": {"tcpSocket": {"port": 8500}, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 60},
        **more,
    }


def healthy() -> dict[str, Json]:
    """Services that Cloud Run takes as they are."""
    l4 = {
        "maxInstanceRequestConcurrency": 40,
        "timeout": "120s",
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "gpuZonalRedundancyDisabled": True,
        "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
        "containers": [_container("8", "32Gi", gpu=True)],
    }
    rtx = {
        "maxInstanceRequestConcurrency": 64,
        "nodeSelector": {"accelerator": "nvidia-rtx-pro-6000"},
        "gpuZonalRedundancyDisabled": True,
        "containers": [_container("22", "88Gi", gpu=True)],
    }
    cpu = {"maxInstanceRequestConcurrency": 8, "containers": [_container("4", "8Gi", gpu=False)]}
    tiny = {"maxInstanceRequestConcurrency": 1, "containers": [_container("0.5", "512Mi", gpu=False)]}
    tiny["containers"][0]["resources"]["cpuIdle"] = True  # type: ignore[index]
    liveness = {"grpc": {"port": 8500}, "periodSeconds": 30, "timeoutSeconds": 5, "failureThreshold": 4}
    mount = {"name": "models", "mountPath": "/models"}
    volumes = [
        {"name": "models", "gcs": {"bucket": "acme-models", "readOnly": True, "mountOptions": ["implicit-dirs"]}},
        {"name": "key", "secret": {"secret": "api-key", "items": [{"path": "k", "version": "1"}]}},
        {"name": "scratch", "emptyDir": {"medium": "MEMORY", "sizeLimit": "1Gi"}},
        {"name": "share", "nfs": {"server": "10.0.0.2", "path": "/models"}},
        {"name": "cloudsql", "cloudSqlInstance": {"instances": ["acme-ml:europe-west4:db"]}},
    ]
    sidecar = {
        "name": "collector",
        "image": "us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/cloud-run-gmp-sidecar:1.2.0",
        "resources": {"limits": {"cpu": "1", "memory": "512Mi"}},
        "dependsOn": ["tfs"],
        "livenessProbe": {"httpGet": {"path": "/liveness", "port": 13133}, "periodSeconds": 30},
    }
    full = {
        **copy.deepcopy(l4),
        "containers": [_container("6", "24Gi", gpu=True, livenessProbe=liveness, volumeMounts=[mount]), sidecar],
        "volumes": volumes,
        "vpcAccess": {"networkInterfaces": [{"network": "default", "subnetwork": "gpu"}], "egress": "PRIVATE_RANGES_ONLY"},
        "labels": {"team": "search"},
        "annotations": {"acme.example/owner": "on-call"},
    }
    split = [
        {"type": LATEST, "percent": 90},
        {"type": REVISION, "revision": "ranker-00007-abc", "percent": 10, "tag": "old"},
        {"type": REVISION, "revision": "ranker-00006-abc", "percent": 0, "tag": "older"},
    ]
    return {
        "l4": _service(l4),
        "rtx": _service(rtx),
        "cpu": _service(cpu),
        "tiny": _service(tiny),
        "full": _service(full, traffic=split, description="ranks offers", launchStage="BETA", labels={"team": "search"}),
    }


def mutant(number: int) -> tuple[str, Json]:
    """The service of that number, with one to three changes, and what they are."""
    random = Random(number)
    services = healthy()
    base = random.choice(sorted(services))
    service = services[base]
    said = [random.choice(CHANGES)(service, random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
    return f"{base}: {'; '.join(said)}", service


def put(service: Json, way: str, value: Any) -> str:
    """Set or remove the field at a way such as `template.containers.0.image`; nothing where the way is not there."""
    *through, last = way.split(".")
    holder: Any = service
    for name in through:
        if isinstance(holder, list):
            if int(name) >= len(holder):
                return f"no {way}"
            holder = holder[int(name)]
        else:
            holder = holder.setdefault(name, {})
    last = last.replace("~", ".")
    if value is REMOVE:
        holder.pop(last, None)
    else:
        holder[last] = copy.deepcopy(value)
    shown = "removed" if value is REMOVE else repr(value)[:80]
    return f"{way} = {shown}"


def _front(service: Json) -> Json:
    """The first container; a stray object where there is none."""
    return next(iter(service["template"]["containers"]), {})


def _field(way: str, *values: Any) -> Change:
    return lambda service, random: put(service, way, random.choice(values))


def _of_container(way: str, *values: Any) -> Change:
    def change(service: Json, random: Random) -> str:
        at = random.randrange(max(1, len(service["template"]["containers"])))
        return put(service, f"template.containers.{at}.{way}", random.choice(values))

    return change


_PROBE_ACTIONS: tuple[Json, ...] = (
    {"tcpSocket": {"port": 8500}},
    {"tcpSocket": {}},
    {"httpGet": {"path": "/v1/models/ranker", "port": 8501}},
    {"grpc": {"port": 8500}},
    {"grpc": {"port": 65_536}},
    {"httpGet": {"port": -1}},
    {},
    {"tcpSocket": {"port": 8500}, "grpc": {"port": 8500}},
)


def _probe(service: Json, random: Random) -> str:
    kind = random.choice(("startupProbe", "livenessProbe", "readinessProbe"))
    period = random.choice((0, 1, 10, 240, 241, 300, 301, 3_600, 3_601, -1))
    probe = {
        **random.choice(_PROBE_ACTIONS),
        "periodSeconds": period,
        "timeoutSeconds": random.choice((0, 1, min(max(period, 0), 240), period)),
        "failureThreshold": random.choice((0, 1, 3, 60, 1_800, -1)),
        "initialDelaySeconds": random.choice((0, 0, 5, 240, 241, 3_600, 3_601, -5)),
    }
    at = random.randrange(max(1, len(service["template"]["containers"])))
    return put(service, f"template.containers.{at}.{kind}", probe)


def _sidecar(service: Json, random: Random) -> str:
    containers = service["template"]["containers"]
    added = {
        "name": random.choice(("proxy", "tfs", "collector", "")),
        "image": "gcr.io/acme/proxy:1",
        "resources": {"limits": {"cpu": "1", "memory": "512Mi", **random.choice(({}, {}, {"nvidia.com/gpu": "1"}))}},
        "dependsOn": random.choice(([], ["tfs"], ["nobody"], ["proxy"])),
        **random.choice(({}, {}, {"ports": [{"containerPort": 9000}]})),
    }
    for number in range(random.choice((1, 1, 1, 9, 10))):
        containers.append({**copy.deepcopy(added), "name": f"{added['name']}-{number}" if number else added["name"]})
    return f"{len(containers)} containers, the last ones {added}"


_VOLUMES: tuple[Json, ...] = (
    {"name": "models", "gcs": {"bucket": "acme-models"}},
    {"name": "models", "gcs": {}},
    {"name": "models", "gcs": {"bucket": "b", "mountOptions": ["--implicit-dirs"]}},
    {"name": "share", "nfs": {"server": "10.0.0.2", "path": "models"}},
    {"name": "db", "cloudSqlInstance": {"instances": ["acme-ml:europe-west4:db"]}},
    {"name": "cloudsql", "cloudSqlInstance": {"instances": ["db"]}},
    {"name": "cloudsql", "emptyDir": {}},
    {"name": "scratch", "emptyDir": {"sizeLimit": "much"}},
    {"name": "scratch", "emptyDir": {"medium": "MEMORY", "sizeLimit": "2Gi"}},
    {"name": "key", "secret": {"secret": "api-key"}},
    {"name": "nothing"},
)
_MOUNTS: tuple[Json, ...] = (
    {"name": "models", "mountPath": "/models"},
    {"name": "models", "mountPath": "models"},
    {"name": "models", "mountPath": "/a:b"},
    {"name": "nobody", "mountPath": "/x"},
    {"name": "key", "mountPath": "/key", "subPath": "a"},
    {"name": "scratch", "mountPath": "/dev/shm/../x"},
    {"name": "scratch", "mountPath": "/devices"},
    {"name": "scratch", "mountPath": "/proc"},
)


def _volume(service: Json, random: Random) -> str:
    volumes = service["template"].setdefault("volumes", [])
    volume = random.choice(_VOLUMES)
    volumes.append(copy.deepcopy(volume))
    return f"volume {volume}"


def _mount(service: Json, random: Random) -> str:
    mount = random.choice(_MOUNTS)
    _front(service).setdefault("volumeMounts", []).append(copy.deepcopy(mount))
    return f"mount {mount}"


def _traffic(service: Json, random: Random) -> str:
    targets: list[Json] = []
    for number in range(random.choice((1, 2, 3))):
        target: Json = random.choice(({"type": LATEST}, {"type": REVISION, "revision": f"ranker-0000{number}-abc"}, {}))
        target = {**target, "percent": random.choice((0, 50, 100, 100, 10, -10, 101))}
        if random.random() < 0.3:
            target["tag"] = random.choice(("canary", "old", "Old", "-x", "t" * 40, "t" * 41))
        if random.random() < 0.1:
            target["revision"] = random.choice(("ranker-00009-abc", ""))
        targets.append(target)
    if random.random() < 0.4:
        targets[-1]["percent"] = 100 - sum(each["percent"] for each in targets[:-1])
    return put(service, "traffic", targets)


def _environment(service: Json, random: Random) -> str:
    env = _front(service).setdefault("env", [])
    name, value, times = random.choice(
        (
            ("A", "1", 1),
            ("PORT", "8501", 1),
            ("K_SERVICE", "x", 1),
            ("BIG", "x" * 32_768, 1),
            ("BIG", "é" * 16_385, 1),
            ("N", "1", 999),
            ("N", "1", 1_000),
        )
    )
    env.extend({"name": name if times == 1 else f"{name}{number}", "value": value} for number in range(times))
    return f"{times} variables {name} of {len(value)} characters"


def _arguments(service: Json, random: Random) -> str:
    count = random.choice((997, 998, 1_200))
    _front(service).setdefault("args", []).extend(["--port=8500"] * count)
    return f"{count} more arguments"


_CPUS = (
    "0.05",
    "0.08",
    "0.5",
    "0.9",
    "1",
    "1.5",
    "2",
    "3",
    "4",
    "5",
    "6",
    "8",
    "10",
    "16",
    "20",
    "21",
    "22",
    "24",
    "30",
    "32",
    "4000m",
    "500m",
    "four",
)
_MEMORIES = (
    *("64Mi", "128Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi", "8Gi", "15Gi", "16Gi", "16G", "24Gi", "32Gi", "33Gi", "64Gi", "80Gi", "88Gi"),
    *("89Gi", "120Gi", "121Gi", "lots"),
)
_LIMIT = "resources.limits"
_GPU = "nvidia~com/gpu"

CHANGES: tuple[Change, ...] = (
    *(_of_container(f"{_LIMIT}.cpu", *_CPUS, REMOVE),) * 4,
    *(_of_container(f"{_LIMIT}.memory", *_MEMORIES, REMOVE),) * 4,
    _of_container(f"{_LIMIT}.{_GPU}", "0", "1", "2", "0.5", REMOVE),
    _of_container(f"{_LIMIT}.disk", "1Gi"),
    _of_container("resources", REMOVE),
    *(_of_container("resources.cpuIdle", *FLAGS, REMOVE),) * 2,
    _field("template.nodeSelector.accelerator", "nvidia-l4", "nvidia-rtx-pro-6000", "nvidia-tesla-t4", REMOVE),
    _field("template.gpuZonalRedundancyDisabled", *FLAGS, REMOVE),
    *(_field("template.executionEnvironment", "EXECUTION_ENVIRONMENT_GEN1", "EXECUTION_ENVIRONMENT_GEN2", REMOVE),) * 2,
    _field("template.maxInstanceRequestConcurrency", -1, 0, 1, 80, 1_000, 1_001, 5_000, REMOVE),
    _field("template.timeout", "0s", "1s", "300.5s", "3600s", "3600.5s", "3601s", "-1s", REMOVE),
    _field("scaling.minInstanceCount", -1, 0, 1, 3, 4, 9, REMOVE),
    _field("scaling.maxInstanceCount", -1, 0, 1, 2, 8, REMOVE),
    _field("scaling.manualInstanceCount", -1, 0, 2),
    _field("scaling.scalingMode", "MANUAL", "AUTOMATIC"),
    _field("template.scaling.minInstanceCount", -1, 0, 1, 3),
    _field("template.scaling.maxInstanceCount", -1, 0, 1, 2),
    _field("template.scaling.cpuUtilization", 0, 0.05, 0.1, 0.6, 0.9, 0.95),
    _field("template.scaling.concurrencyUtilization", 0, 0.05, 0.6, 0.95, 1.0),
    *(_probe,) * 5,
    *(_sidecar,) * 3,
    *(_volume,) * 3,
    *(_mount,) * 2,
    *(_traffic,) * 3,
    *(_environment,) * 2,
    _arguments,
    _of_container(
        "image", REMOVE, "", "Tensorflow/serving:2.20.0", "https://gcr.io/x", "gcr.io/acme/tfs", "gcr.io/acme/tfs@sha256:abc", "tfs:V1_rc.1"
    ),
    _of_container("name", "", "TFS", "a_b", "a.b", "x" * 63, "x" * 64, REMOVE),
    _of_container("dependsOn", [], ["tfs"], ["collector"], ["nobody"]),
    _field("template.containers.0.ports", [], [{"containerPort": 8501}], [{"containerPort": 8500}, {"containerPort": 8501}], [{}]),
    _field("template.containers.0.ports", *([{"name": name, "containerPort": 8500}] for name in ("h2c", "http1", "grpc", "")), REMOVE),
    _field("template.containers.0.ports", *([{"containerPort": port}] for port in (-1, 0, 1, 65_535, 65_536))),
    _field("template.containers", []),
    _field("name", *(f"{PARENT}/services/{name}" for name in ("ranker", "Ranker", "r" * 49, "r" * 50, "9ranker", "ranker-", "r-9"))),
    _field("description", "", "x" * 512, "x" * 513),
    _field("launchStage", "ALPHA", "BETA", "GA", "EARLY_ACCESS", "DEPRECATED", "LAUNCH_STAGE_UNSPECIFIED"),
    _field("template.revision", "ranker-1", "other-1", "ranker-A", f"ranker-{'x' * 56}", f"ranker-{'x' * 57}", ""),
    _field("labels", {"team": "search"}, {"run.googleapis.com/x": "1"}, {"serving.knative.dev/x": "1"}, {}),
    _field("annotations", {"acme.example/owner": "a"}, {"autoscaling.knative.dev/maxScale": "3"}, {"client.knative.dev/x": "1"}),
    _field("template.annotations", {"run.googleapis.com/cpu-throttling": "false"}, {"cloud.googleapis.com/x": "1"}, {"a": "b"}),
    _field("template.labels", {"team": "x"}, {"cloud.googleapis.com/location": "x"}),
    _field(
        "template.vpcAccess",
        {"connector": "projects/acme-ml/locations/europe-west4/connectors/c"},
        {"connector": "c"},
        {"networkInterfaces": [{}]},
        {"networkInterfaces": [{"network": "a"}, {"network": "b"}]},
        {"connector": "projects/p/locations/l/connectors/c", "networkInterfaces": [{"network": "a"}]},
    ),
)
