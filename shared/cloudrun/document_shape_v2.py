"""The fields of a service in REST JSON of the Admin API v2. Pure.

Names and kinds are those of `run_v2.Service`, with what the REST reference has beyond the client: the targets of scaling, volumes on
disk, and `sshEnabled`.
"""

from shared.cloudrun.document_shapes import TEXT_MAP, TEXTS, ListOf, Scalar, Shape, Words, flags, ignored, texts, wholes
from shared.cloudrun.output_fields import OUTPUT_FIELDS


def _enum(prefix: str, *names: str, short: dict[str, str] | None = None) -> Words:
    allowed = (f"{prefix}UNSPECIFIED", *(f"{prefix}{name}" for name in names))
    return Words(allowed, {**{name.lower(): f"{prefix}{name}" for name in names}, **(short or {})})


_EGRESS = Words(
    ("VPC_EGRESS_UNSPECIFIED", "ALL_TRAFFIC", "PRIVATE_RANGES_ONLY"),
    {"all-traffic": "ALL_TRAFFIC", "all": "ALL_TRAFFIC", "private-ranges-only": "PRIVATE_RANGES_ONLY"},
)
_INGRESS = _enum(
    "INGRESS_TRAFFIC_",
    "ALL",
    "INTERNAL_ONLY",
    "INTERNAL_LOAD_BALANCER",
    "NONE",
    short={"internal": "INGRESS_TRAFFIC_INTERNAL_ONLY", "internal-and-cloud-load-balancing": "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"},
)
_LAUNCH_STAGE = Words(
    ("LAUNCH_STAGE_UNSPECIFIED", "UNIMPLEMENTED", "PRELAUNCH", "EARLY_ACCESS", "ALPHA", "BETA", "GA", "DEPRECATED"),
    {"alpha": "ALPHA", "beta": "BETA", "ga": "GA", "preview": "BETA"},
)
_SCALING_MODE = Words(("SCALING_MODE_UNSPECIFIED", "AUTOMATIC", "MANUAL"), {"automatic": "AUTOMATIC", "manual": "MANUAL"})
_KEY_REVOCATION = Words(
    ("ENCRYPTION_KEY_REVOCATION_ACTION_UNSPECIFIED", "PREVENT_NEW", "SHUTDOWN"), {"prevent-new": "PREVENT_NEW", "shut-down": "SHUTDOWN"}
)
_TRAFFIC_TYPE = _enum("TRAFFIC_TARGET_ALLOCATION_TYPE_", "LATEST", "REVISION")
_MEDIUM = Words(("MEDIUM_UNSPECIFIED", "MEMORY", "DISK"), {"memory": "MEMORY", "disk": "DISK"})

_HTTP_GET = Shape("httpGet", {**texts("path"), **wholes("port"), "httpHeaders": ListOf(Shape("httpHeaders", texts("name", "value")))})
PROBE = Shape(
    "probe",
    {
        **wholes("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"),
        "httpGet": _HTTP_GET,
        "tcpSocket": Shape("tcpSocket", wholes("port")),
        "grpc": Shape("grpc", {**wholes("port"), **texts("service")}),
    },
)
_SECRET_KEY = Shape("secretKeyRef", texts("secret", "version"), {"name": "secret", "key": "version"})
_ENV = Shape(
    "env",
    {**texts("name", "value"), "valueSource": Shape("valueSource", {"secretKeyRef": _SECRET_KEY})},
    {"valueFrom": "valueSource"},
)
_RESOURCES = Shape("resources", {"limits": TEXT_MAP, **flags("cpuIdle", "startupCpuBoost")}, {"requests": "limits"})
_SOURCE = Shape("cloudStorageSource", {**texts("bucket", "object"), "generation": Scalar.LONG})
CONTAINER = Shape(
    "container",
    {
        **texts("name", "image", "workingDir", "baseImageUri"),
        "sourceCode": Shape("sourceCode", {"cloudStorageSource": _SOURCE, **ignored("inlinedSource")}),
        "command": TEXTS,
        "args": TEXTS,
        "env": ListOf(_ENV),
        "resources": _RESOURCES,
        "ports": ListOf(Shape("ports", {**texts("name"), **wholes("containerPort")})),
        "volumeMounts": ListOf(Shape("volumeMounts", texts("name", "mountPath", "subPath"))),
        "livenessProbe": PROBE,
        "startupProbe": PROBE,
        "readinessProbe": PROBE,
        "dependsOn": TEXTS,
        **ignored("buildInfo"),
    },
)
_SECRET_VOLUME = Shape(
    "secret",
    {
        **texts("secret"),
        "items": ListOf(Shape("items", {**texts("path", "version"), **wholes("mode")}, {"key": "version"})),
        **wholes("defaultMode"),
    },
    {"secretName": "secret"},
)
VOLUME = Shape(
    "volume",
    {
        **texts("name"),
        "secret": _SECRET_VOLUME,
        "cloudSqlInstance": Shape("cloudSqlInstance", {"instances": TEXTS}),
        "emptyDir": Shape("emptyDir", {"medium": _MEDIUM, **texts("sizeLimit")}),
        "nfs": Shape("nfs", {**texts("server", "path"), **flags("readOnly")}),
        "gcs": Shape("gcs", {**texts("bucket"), **flags("readOnly"), "mountOptions": TEXTS}, {"bucketName": "bucket"}),
    },
    {"csi": "gcs { bucket }"},
)
_VPC_ACCESS = Shape(
    "vpcAccess",
    {
        **texts("connector"),
        "egress": _EGRESS,
        "networkInterfaces": ListOf(Shape("networkInterfaces", {**texts("network", "subnetwork"), "tags": TEXTS})),
    },
)
TEMPLATE = Shape(
    "template",
    {
        **texts("revision", "serviceAccount", "encryptionKey"),
        "labels": TEXT_MAP,
        "annotations": TEXT_MAP,
        "scaling": Shape(
            "scaling",
            {
                **wholes("minInstanceCount", "maxInstanceCount"),
                "cpuUtilization": Scalar.RATIO,
                "concurrencyUtilization": Scalar.RATIO,
            },
        ),
        "vpcAccess": _VPC_ACCESS,
        "timeout": Scalar.DURATION,
        "containers": ListOf(CONTAINER),
        "volumes": ListOf(VOLUME),
        "executionEnvironment": _enum("EXECUTION_ENVIRONMENT_", "GEN1", "GEN2"),
        **wholes("maxInstanceRequestConcurrency"),
        "serviceMesh": Shape("serviceMesh", texts("mesh")),
        "encryptionKeyRevocationAction": _KEY_REVOCATION,
        "encryptionKeyShutdownDuration": Scalar.DURATION,
        **flags("sessionAffinity", "healthCheckDisabled", "gpuZonalRedundancyDisabled", "sshEnabled"),
        "nodeSelector": Shape("nodeSelector", texts("accelerator"), {"run.googleapis.com/accelerator": "accelerator"}),
        **ignored("client", "clientVersion"),
    },
    {
        "containerConcurrency": "maxInstanceRequestConcurrency",
        "concurrency": "maxInstanceRequestConcurrency",
        "timeoutSeconds": "timeout",
        "serviceAccountName": "serviceAccount",
        "spec": "the fields of spec, directly in template",
        "metadata": "labels and annotations, directly in template",
    },
)
SERVICE = Shape(
    "service",
    {
        **texts("name", "description", "client", "clientVersion"),
        "labels": TEXT_MAP,
        "annotations": TEXT_MAP,
        "ingress": _INGRESS,
        "launchStage": _LAUNCH_STAGE,
        "binaryAuthorization": Shape("binaryAuthorization", {**flags("useDefault"), **texts("policy", "breakglassJustification")}),
        "template": TEMPLATE,
        "traffic": ListOf(
            Shape(
                "traffic",
                {"type": _TRAFFIC_TYPE, **texts("revision", "tag"), **wholes("percent")},
                {"revisionName": "revision", "latestRevision": "type: TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"},
            )
        ),
        "scaling": Shape(
            "scaling",
            {**wholes("minInstanceCount", "maxInstanceCount", "manualInstanceCount"), "scalingMode": _SCALING_MODE},
        ),
        **flags("invokerIamDisabled", "defaultUriDisabled", "iapEnabled"),
        "multiRegionSettings": Shape("multiRegionSettings", {"regions": TEXTS, **texts("multiRegionId")}),
        "customAudiences": TEXTS,
        "buildConfig": Shape(
            "buildConfig",
            {
                **texts("name", "sourceLocation", "functionTarget", "imageUri", "baseImage", "workerPool", "serviceAccount"),
                **flags("enableAutomaticUpdates"),
                "environmentVariables": TEXT_MAP,
            },
        ),
        **ignored(*OUTPUT_FIELDS),
    },
    {"metadata": "name, labels and annotations, directly in the service", "spec": "template"},
)
