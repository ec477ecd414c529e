"""The fields of a service in v1 (Knative), as gcloud's own messages of that API have them. Pure.

Some of them mean nothing to Cloud Run (`imagePullPolicy`, `successThreshold`): they are taken and not looked into.
"""

from shared.cloudrun.document_shapes import TEXT_MAP, TEXTS, ListOf, Scalar, Shape, flags, ignored, texts, wholes

_V2_SERVICE = {
    "scaling": "annotations run.googleapis.com/minScale and run.googleapis.com/maxScale",
    "template": "spec.template",
    "traffic": "spec.traffic",
}
_METADATA = Shape(
    "metadata",
    {
        **texts("name", "namespace"),
        "labels": TEXT_MAP,
        "annotations": TEXT_MAP,
        **ignored(
            "clusterName",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "finalizers",
            "generateName",
            "generation",
            "managedFields",
            "ownerReferences",
            "resourceVersion",
            "selfLink",
            "uid",
        ),
    },
)
_HTTP_GET = Shape(
    "httpGet",
    {
        **texts("path"),
        **wholes("port"),
        "httpHeaders": ListOf(Shape("httpHeaders", texts("name", "value"))),
        **ignored("host", "scheme"),
    },
)
_PROBE = Shape(
    "probe",
    {
        **wholes("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "failureThreshold"),
        "httpGet": _HTTP_GET,
        "tcpSocket": Shape("tcpSocket", {**wholes("port"), **ignored("host")}),
        "grpc": Shape("grpc", {**wholes("port"), **texts("service")}),
        **ignored("successThreshold", "exec"),
    },
)
_SECRET_KEY = Shape("secretKeyRef", {**texts("name", "key"), **ignored("optional", "localObjectReference")}, {"secret": "name"})
_ENV = Shape(
    "env",
    {
        **texts("name", "value"),
        "valueFrom": Shape("valueFrom", {"secretKeyRef": _SECRET_KEY, **ignored("configMapKeyRef")}),
    },
    {"valueSource": "valueFrom"},
)
_CONTAINER = Shape(
    "container",
    {
        **texts("name", "image", "workingDir"),
        "command": TEXTS,
        "args": TEXTS,
        "env": ListOf(_ENV),
        "resources": Shape(
            "resources",
            {"limits": TEXT_MAP, **ignored("requests")},
            {
                "cpuIdle": "the annotation run.googleapis.com/cpu-throttling of the template",
                "startupCpuBoost": "the annotation run.googleapis.com/startup-cpu-boost of the template",
            },
        ),
        "ports": ListOf(Shape("ports", {**texts("name"), **wholes("containerPort"), **ignored("protocol")})),
        "volumeMounts": ListOf(Shape("volumeMounts", {**texts("name", "mountPath", "subPath"), **ignored("readOnly")})),
        "livenessProbe": _PROBE,
        "startupProbe": _PROBE,
        "readinessProbe": _PROBE,
        **ignored("envFrom", "imagePullPolicy", "securityContext", "terminationMessagePath", "terminationMessagePolicy"),
    },
    {"dependsOn": "the annotation run.googleapis.com/container-dependencies of the template"},
)
_SECRET_VOLUME = Shape(
    "secret",
    {
        **texts("secretName"),
        **wholes("defaultMode"),
        "items": ListOf(Shape("items", {**texts("key", "path"), **wholes("mode")}, {"version": "key"})),
        **ignored("optional"),
    },
    {"secret": "secretName"},
)
_VOLUME = Shape(
    "volume",
    {
        **texts("name"),
        "secret": _SECRET_VOLUME,
        "emptyDir": Shape("emptyDir", texts("medium", "sizeLimit")),
        "nfs": Shape("nfs", {**texts("server", "path"), **flags("readOnly")}),
        "csi": Shape("csi", {**texts("driver"), **flags("readOnly"), "volumeAttributes": TEXT_MAP}),
        **ignored("configMap"),
    },
    {"gcs": "csi, with the driver gcsfuse.run.googleapis.com"},
)
_SPEC = Shape(
    "spec",
    {
        **wholes("containerConcurrency", "timeoutSeconds"),
        **texts("serviceAccountName", "runtimeClassName"),
        "nodeSelector": TEXT_MAP,
        "containers": ListOf(_CONTAINER),
        "volumes": ListOf(_VOLUME),
        **ignored("enableServiceLinks", "imagePullSecrets"),
    },
    {
        "maxInstanceRequestConcurrency": "containerConcurrency",
        "concurrency": "containerConcurrency",
        "timeout": "timeoutSeconds",
        "serviceAccount": "serviceAccountName",
        "executionEnvironment": "the annotation run.googleapis.com/execution-environment of the template",
        "gpuZonalRedundancyDisabled": "the annotation run.googleapis.com/gpu-zonal-redundancy-disabled of the template",
        "scaling": "the annotations autoscaling.knative.dev/minScale and autoscaling.knative.dev/maxScale of the template",
    },
)
TEMPLATE = Shape("template", {"metadata": _METADATA, "spec": _SPEC})
_TRAFFIC = Shape(
    "traffic",
    {**texts("revisionName", "tag"), **flags("latestRevision"), **wholes("percent"), **ignored("url", "configurationName")},
    {"revision": "revisionName", "type": "latestRevision: true"},
)
SERVICE = Shape(
    "service",
    {
        **texts("apiVersion", "kind"),
        "metadata": _METADATA,
        "spec": Shape("spec", {"template": TEMPLATE, "traffic": ListOf(_TRAFFIC)}, _V2_SERVICE),
        "status": Scalar.ANY,
    },
    _V2_SERVICE,
)
