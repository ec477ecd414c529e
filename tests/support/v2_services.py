"""Cloud Run services as v2 REST JSON: one that has every field, and a hypothesis strategy of any service."""

from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

PROJECT = "acme-ml"
REGION = "europe-west1"
NAME = f"projects/{PROJECT}/locations/{REGION}/services/ranker"
IMAGE = "europe-west1-docker.pkg.dev/acme-ml/serving/tfs@sha256:7d0b6d2f1c9be3c0a6d5a3f5a6ad2f0b4b0b0f1a9c55e7d1f0f3a2b1c0d9e8f7"
LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
MODELS_TEXT = 'model_config_list {\n  config {\n    name: "ranker, v2"\n    base_path: "gs://acme/ranker"\n  }\n}\n'


def _probe(**action: Any) -> Json:
    return {"initialDelaySeconds": 5, "timeoutSeconds": 2, "periodSeconds": 10, "failureThreshold": 90, **action}


EVERYTHING: Json = {
    "name": NAME,
    "description": "ranks: offers",
    "uid": "0b6a9b4e-7c1f-4d6e-9a44-5f1e0f0e7a11",
    "generation": "7",
    "labels": {"team": "search"},
    "annotations": {"acme.example/owner": "on-call"},
    "createTime": "2026-11-01T08:00:00.123456Z",
    "updateTime": "2026-11-30T03:00:00Z",
    "deleteTime": "2026-12-01T08:00:00Z",
    "expireTime": "2026-12-31T08:00:00Z",
    "creator": "anna@acme.example",
    "lastModifier": "trimtab@acme-ml.iam.gserviceaccount.com",
    "client": "trimtab",
    "clientVersion": "0.1.0",
    "ingress": "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
    "launchStage": "BETA",
    "binaryAuthorization": {"useDefault": True, "breakglassJustification": "incident 4711"},
    "template": {
        "revision": "ranker-00007-abc",
        "labels": {"team": "search"},
        "annotations": {"client.knative.dev/user-image": "tfs:2.20"},
        "scaling": {"minInstanceCount": 1, "maxInstanceCount": 3},
        "vpcAccess": {
            "connector": "projects/acme-ml/locations/europe-west1/connectors/c1",
            "egress": "PRIVATE_RANGES_ONLY",
            "networkInterfaces": [{"network": "default", "subnetwork": "gpu", "tags": ["serving"]}],
        },
        "timeout": "300s",
        "serviceAccount": "tfs@acme-ml.iam.gserviceaccount.com",
        "containers": [
            {
                "name": "tfs",
                "image": IMAGE,
                "command": ["/usr/bin/tensorflow_model_server"],
                "args": ["--port=8500", "--grpc_channel_arguments=a=1,b=2"],
                "env": [
                    {"name": "MODELS", "value": MODELS_TEXT},
                    {"name": "EMPTY", "value": ""},
                    {"name": "KEY", "valueSource": {"secretKeyRef": {"secret": "api-key", "version": "latest"}}},
                    {"name": "FAR", "valueSource": {"secretKeyRef": {"secret": "projects/42/secrets/api-key", "version": "3"}}},
                ],
                "resources": {
                    "limits": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
                    "startupCpuBoost": True,
                },
                "ports": [{"name": "h2c", "containerPort": 8500}],
                "volumeMounts": [{"name": "models", "mountPath": "/models", "subPath": "ranker"}],
                "workingDir": "/srv",
                "livenessProbe": _probe(grpc={"port": 8500, "service": "tfs"}),
                "startupProbe": _probe(tcpSocket={"port": 8500}),
                "readinessProbe": _probe(httpGet={"path": "/v1", "port": 8501, "httpHeaders": [{"name": "Host", "value": "x"}]}),
            },
            {
                "name": "collector",
                "image": "gcr.io/acme/collector:1",
                "sourceCode": {"cloudStorageSource": {"bucket": "src", "object": "a/b.tgz", "generation": "12"}},
                "resources": {"limits": {"cpu": "1", "memory": "512Mi"}, "cpuIdle": True},
                "dependsOn": ["tfs"],
                "baseImageUri": "google-22-full/python312",
                "buildInfo": {"functionTarget": "main", "sourceLocation": "gs://src/a.zip"},
            },
        ],
        "volumes": [
            {"name": "key", "secret": {"secret": "api-key", "items": [{"path": "k", "version": "1", "mode": 292}], "defaultMode": 256}},
            {"name": "sql", "cloudSqlInstance": {"instances": ["acme-ml:europe-west1:db"]}},
            {"name": "scratch", "emptyDir": {"medium": "MEMORY", "sizeLimit": "1Gi"}},
            {"name": "share", "nfs": {"server": "10.0.0.2", "path": "/models", "readOnly": True}},
            {"name": "models", "gcs": {"bucket": "acme-models", "readOnly": True, "mountOptions": ["implicit-dirs", "uid=1"]}},
        ],
        "executionEnvironment": "EXECUTION_ENVIRONMENT_GEN2",
        "encryptionKey": "projects/acme-ml/locations/europe-west1/keyRings/r/cryptoKeys/k",
        "maxInstanceRequestConcurrency": 16,
        "serviceMesh": {"mesh": "projects/acme-ml/locations/global/meshes/m"},
        "encryptionKeyRevocationAction": "SHUTDOWN",
        "encryptionKeyShutdownDuration": "7200s",
        "sessionAffinity": True,
        "healthCheckDisabled": True,
        "nodeSelector": {"accelerator": "nvidia-l4"},
        "gpuZonalRedundancyDisabled": True,
    },
    "traffic": [{"type": LATEST, "percent": 90}, {"type": REVISION, "revision": "ranker-00006-xyz", "percent": 10, "tag": "old"}],
    "scaling": {"minInstanceCount": 1, "scalingMode": "MANUAL", "maxInstanceCount": 3, "manualInstanceCount": 0},
    "invokerIamDisabled": True,
    "defaultUriDisabled": True,
    "urls": ["https://ranker-abc.a.run.app"],
    "iapEnabled": True,
    "multiRegionSettings": {"regions": ["europe-west1", "us-east4"], "multiRegionId": "m-1"},
    "customAudiences": ["https://rank.acme.example"],
    "observedGeneration": "7",
    "terminalCondition": {
        "type": "Ready",
        "state": "CONDITION_FAILED",
        "message": "the container failed to start",
        "lastTransitionTime": "2026-11-30T02:59:00Z",
        "severity": "ERROR",
        "revisionReason": "HEALTH_CHECK_CONTAINER_ERROR",
    },
    "conditions": [
        {"type": "RoutesReady", "state": "CONDITION_SUCCEEDED", "severity": "INFO", "reason": "PROGRESS_DEADLINE_EXCEEDED"},
        {
            "type": "ConfigurationsReady",
            "state": "CONDITION_RECONCILING",
            "message": "waiting",
            "lastTransitionTime": "2026-11-30T02:58:00Z",
            "executionReason": "CANCELLED",
        },
    ],
    "latestReadyRevision": f"{NAME}/revisions/ranker-00006-xyz",
    "latestCreatedRevision": f"{NAME}/revisions/ranker-00007-abc",
    "trafficStatuses": [
        {"type": REVISION, "revision": "ranker-00006-xyz", "percent": 100, "tag": "old", "uri": "https://old---ranker-abc.a.run.app"}
    ],
    "uri": "https://ranker-abc.a.run.app",
    "satisfiesPzs": True,
    "threatDetectionEnabled": True,
    "buildConfig": {
        "name": "projects/acme-ml/locations/europe-west1/builds/1",
        "sourceLocation": "gs://src/a.zip",
        "functionTarget": "main",
        "imageUri": "europe-west1-docker.pkg.dev/acme-ml/f/main",
        "baseImage": "google-22/python312",
        "enableAutomaticUpdates": True,
        "workerPool": "projects/acme-ml/locations/europe-west1/workerPools/w",
        "environmentVariables": {"A": "1"},
        "serviceAccount": "projects/acme-ml/serviceAccounts/build@acme-ml.iam.gserviceaccount.com",
    },
    "reconciling": True,
    "etag": '"CJ3KgL8G"',
}
"""A service with a value in every field that v2 has: the fields of a oneof are spread over its parts."""

names = st.sampled_from(["a", "b-1", "tfs", "cloudsql", "models", "ranker-00001-abc"])
counts = st.integers(1, 1000)
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), min_size=1, max_size=20)
any_texts = st.one_of(st.just(""), texts)
paths = st.sampled_from(["/models", "/v1/models/default", "/etc/a b", "/x,y"])
true = st.just(True)  # noqa: FBT003
times = st.sampled_from(["2026-11-30T03:00:00Z", "2026-11-30T03:00:00.123456Z"])
own_maps = st.dictionaries(st.sampled_from(["team", "acme.example/owner", "client.knative.dev/nonce", "a~b/c"]), any_texts, min_size=1)


def _some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=optional)


def _one_or_more(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    certain = st.one_of([st.fixed_dictionaries({name: value}) for name, value in optional.items()])
    return st.builds(lambda one, others: {**others, **one}, certain, _some(**optional))


def _list(items: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, min_size=1, max_size=most)


def _words(*words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words)


_http = _some(path=paths, port=counts, httpHeaders=_list(_some(name=texts, value=texts)))
_actions = st.one_of(
    st.just({}),
    st.builds(lambda each: {"httpGet": each}, _http),
    st.builds(lambda each: {"tcpSocket": each}, _some(port=counts)),
    st.builds(lambda each: {"grpc": each}, _some(port=counts, service=texts)),
)
probes = st.builds(
    lambda numbers, action: {**numbers, **action},
    _some(initialDelaySeconds=counts, timeoutSeconds=counts, periodSeconds=counts, failureThreshold=counts),
    _actions,
)
secrets = _words("api-key", "db", "projects/42/secrets/api-key", "projects/43/secrets/api-key", "projects/42/secrets/db-2")
_secret_env = st.builds(lambda each: {"valueSource": {"secretKeyRef": each}}, _some(secret=secrets, version=_words("latest", "3")))
variables = st.builds(
    lambda name, value: {"name": name, **value},
    _words("MODELS", "A", "B"),
    st.one_of(st.just({}), st.builds(lambda text: {"value": text}, any_texts), _secret_env),
)
resources = _some(
    limits=st.dictionaries(_words("cpu", "memory", "nvidia.com/gpu"), _words("1", "4", "16Gi", "500m"), min_size=1),
    cpuIdle=true,
    startupCpuBoost=true,
)
mounts = st.one_of(_some(name=names, mountPath=paths, subPath=texts), st.just({"name": "cloudsql", "mountPath": "/cloudsql"}))
_code = st.fixed_dictionaries({"bucket": _words("src"), "object": _words("a/b.tgz")}, optional={"generation": _words("12")})
containers = _some(
    image=_words("tensorflow/serving:2.20.0-gpu", "gcr.io/acme/collector:1"),
    command=_list(any_texts),
    args=_list(any_texts),
    env=_list(variables),
    resources=resources,
    ports=_list(_one_or_more(name=_words("h2c", "http1"), containerPort=counts), most=1),
    volumeMounts=_list(mounts),
    workingDir=paths,
    livenessProbe=probes,
    startupProbe=probes,
    readinessProbe=probes,
    dependsOn=_list(names),
    baseImageUri=texts,
    sourceCode=st.builds(lambda place: {"cloudStorageSource": place}, _code),
)


def _with_names(parts: list[Json]) -> list[Json]:
    return [{**part, "name": f"c{number}"} for number, part in enumerate(parts)]


_secret_volume = _some(
    secret=secrets,
    defaultMode=st.integers(1, 0o777),
    items=_list(_some(path=texts, version=_words("latest", "1"), mode=st.integers(1, 0o777))),
)
_volume_kinds = st.one_of(
    st.builds(lambda each: {"secret": each}, _secret_volume),
    st.builds(lambda each: {"cloudSqlInstance": {"instances": each}}, _list(_words("p:r:a", "p:r:b"))),
    st.builds(lambda each: {"emptyDir": each}, _some(medium=_words("MEMORY"), sizeLimit=_words("1Gi", "512Mi"))),
    st.builds(lambda each: {"nfs": each}, _some(server=texts, path=paths, readOnly=true)),
    st.builds(lambda each: {"gcs": each}, _some(bucket=_words("b1"), readOnly=true, mountOptions=_list(_words("implicit-dirs", "uid=1")))),
)
volumes = st.builds(lambda name, kind: {"name": name, **kind}, names, _volume_kinds)

templates = _some(
    revision=names,
    labels=own_maps,
    annotations=own_maps,
    scaling=_one_or_more(minInstanceCount=counts, maxInstanceCount=counts),
    vpcAccess=_one_or_more(
        connector=texts,
        egress=_words("ALL_TRAFFIC", "PRIVATE_RANGES_ONLY"),
        networkInterfaces=_list(_some(network=texts, subnetwork=texts, tags=_list(texts))),
    ),
    timeout=st.integers(0, 3600).map(lambda seconds: f"{seconds}s"),
    serviceAccount=texts,
    containers=_list(containers).map(_with_names),
    volumes=_list(volumes),
    executionEnvironment=_words("EXECUTION_ENVIRONMENT_GEN1", "EXECUTION_ENVIRONMENT_GEN2"),
    encryptionKey=texts,
    maxInstanceRequestConcurrency=counts,
    serviceMesh=_one_or_more(mesh=texts),
    encryptionKeyRevocationAction=_words("PREVENT_NEW", "SHUTDOWN"),
    encryptionKeyShutdownDuration=st.integers(0, 48).map(lambda hours: f"{hours * 3600}s"),
    sessionAffinity=true,
    healthCheckDisabled=true,
    nodeSelector=_one_or_more(accelerator=_words("nvidia-l4", "nvidia-rtx-pro-6000")),
    gpuZonalRedundancyDisabled=st.booleans(),
)

_targets = st.one_of(
    st.builds(lambda rest: {"type": LATEST, **rest}, _some(percent=counts, tag=names)),
    st.builds(lambda revision, rest: {"type": REVISION, "revision": revision, **rest}, names, _some(percent=counts, tag=names)),
)
_target_statuses = st.builds(lambda target, rest: {**target, **rest}, _targets, _some(uri=texts))
_reasons = st.one_of(
    st.just({}),
    st.builds(lambda each: {"reason": each}, _words("UNKNOWN", "CONTAINER_MISSING", "VPC_NETWORK_NOT_FOUND")),
    st.builds(lambda each: {"revisionReason": each}, _words("HEALTH_CHECK_CONTAINER_ERROR", "RETIRED", "MIN_INSTANCES_WARMING")),
    st.builds(lambda each: {"executionReason": each}, _words("NON_ZERO_EXIT_CODE", "CANCELLED")),
)


def _conditions(*types: str) -> st.SearchStrategy[Json]:
    rest = _some(
        state=_words("CONDITION_PENDING", "CONDITION_RECONCILING", "CONDITION_FAILED", "CONDITION_SUCCEEDED"),
        message=texts,
        lastTransitionTime=times,
        severity=_words("ERROR", "WARNING", "INFO"),
    )
    return st.builds(lambda kind, condition, reason: {"type": kind, **condition, **reason}, _words(*types), rest, _reasons)


_revisions = _words(f"{NAME}/revisions/ranker-00001-abc", f"{NAME}/revisions/ranker-00002-abc")
services = _some(
    name=_words(NAME, "ranker"),
    description=texts,
    uid=texts,
    generation=counts.map(str),
    labels=own_maps,
    annotations=own_maps,
    createTime=times,
    updateTime=times,
    deleteTime=times,
    expireTime=times,
    creator=texts,
    lastModifier=texts,
    client=texts,
    clientVersion=texts,
    ingress=_words(
        "INGRESS_TRAFFIC_ALL", "INGRESS_TRAFFIC_INTERNAL_ONLY", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER", "INGRESS_TRAFFIC_NONE"
    ),
    launchStage=_words("ALPHA", "BETA", "GA"),
    binaryAuthorization=st.one_of(
        st.just({"useDefault": True}),
        _one_or_more(policy=_words("projects/p/platforms/cloudRun/policies/q"), breakglassJustification=texts),
    ),
    template=templates,
    traffic=_list(_targets),
    scaling=_one_or_more(
        minInstanceCount=counts,
        maxInstanceCount=counts,
        scalingMode=_words("AUTOMATIC", "MANUAL"),
        manualInstanceCount=st.integers(0, 9),
    ),
    invokerIamDisabled=true,
    defaultUriDisabled=true,
    urls=_list(texts),
    iapEnabled=true,
    multiRegionSettings=_one_or_more(regions=_list(_words("europe-west1", "us-east4")), multiRegionId=texts),
    customAudiences=_list(texts),
    observedGeneration=counts.map(str),
    terminalCondition=_conditions("Ready"),
    conditions=_list(_conditions("RoutesReady", "ConfigurationsReady")),
    latestReadyRevision=_revisions,
    latestCreatedRevision=_revisions,
    trafficStatuses=_list(_target_statuses),
    uri=texts,
    satisfiesPzs=true,
    threatDetectionEnabled=true,
    buildConfig=_one_or_more(
        name=texts,
        sourceLocation=texts,
        functionTarget=texts,
        imageUri=texts,
        baseImage=texts,
        enableAutomaticUpdates=true,
        workerPool=texts,
        environmentVariables=st.dictionaries(texts, any_texts, min_size=1),
        serviceAccount=texts,
    ),
    reconciling=true,
    etag=texts,
)
"""Any service, as protobuf's JSON has it: fields with their default are left out. Names repeat and meet on purpose."""
