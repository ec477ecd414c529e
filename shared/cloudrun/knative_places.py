"""Where each field of a v1 (Knative) document stands in v2: what lets a rule about v2 name the user's own line. Pure."""

from collections.abc import Iterator

from shared.cloudrun.fields import pointer
from shared.cloudrun.knative_annotations import CPU_THROTTLING, SERVICE, STARTUP_CPU_BOOST, TEMPLATE
from shared.cloudrun.knative_template import ACCELERATOR

_SERVICE_ANNOTATIONS = {said.key: "".join(pointer("", step) for step in said.way) for said in SERVICE}
_TEMPLATE_ANNOTATIONS = {said.key: "".join(pointer("", step) for step in said.way) for said in TEMPLATE}
_OF_RESOURCES = {CPU_THROTTLING: "/cpuIdle", STARTUP_CPU_BOOST: "/startupCpuBoost"}

_PLACES = {
    "/metadata/name": "/name",
    "/metadata/labels": "/labels",
    "/metadata/annotations": "/annotations",
    "/spec/template": "/template",
    "/spec/template/metadata/name": "/template/revision",
    "/spec/template/metadata/labels": "/template/labels",
    "/spec/template/metadata/annotations": "/template/annotations",
    "/spec/template/spec/containerConcurrency": "/template/maxInstanceRequestConcurrency",
    "/spec/template/spec/timeoutSeconds": "/template/timeout",
    "/spec/template/spec/serviceAccountName": "/template/serviceAccount",
    "/spec/template/spec/nodeSelector": "/template/nodeSelector",
    pointer("/spec/template/spec/nodeSelector", ACCELERATOR): "/template/nodeSelector/accelerator",
}
_PREFIXES = (
    ("/metadata/labels", "/labels"),
    ("/metadata/annotations", "/annotations"),
    ("/spec/template/metadata/labels", "/template/labels"),
    ("/spec/template/metadata/annotations", "/template/annotations"),
    ("/spec/template/spec/containers", "/template/containers"),
    ("/spec/template/spec/volumes", "/template/volumes"),
    ("/spec/traffic", "/traffic"),
)
_RENAMED = (
    ("/valueFrom/secretKeyRef/name", "/valueSource/secretKeyRef/secret"),
    ("/valueFrom/secretKeyRef/key", "/valueSource/secretKeyRef/version"),
    ("/valueFrom", "/valueSource"),
    ("/csi/volumeAttributes/bucketName", "/gcs/bucket"),
    ("/csi/volumeAttributes/mountOptions", "/gcs/mountOptions"),
    ("/csi/volumeAttributes/instances", "/cloudSqlInstance/instances"),
    ("/csi", "/gcs"),
    ("/secret/secretName", "/secret/secret"),
    ("/revisionName", "/revision"),
    ("/latestRevision", "/type"),
)


def places_in_v2(way: str, *, containers: int) -> Iterator[str]:
    """The pointers into v2 that a field of v1 sets: none, one, or one in each of the template's `containers`."""
    parent, _, last = way.rpartition("/")
    key = last.replace("~1", "/").replace("~0", "~")
    if parent == "/metadata/annotations" and key in _SERVICE_ANNOTATIONS:
        yield _SERVICE_ANNOTATIONS[key]
    elif parent == "/spec/template/metadata/annotations" and key in _TEMPLATE_ANNOTATIONS:
        yield f"/template{_TEMPLATE_ANNOTATIONS[key]}"
    elif parent == "/spec/template/metadata/annotations" and key in _OF_RESOURCES:
        for at in range(containers):
            yield f"/template/containers/{at}/resources{_OF_RESOURCES[key]}"
    elif way in _PLACES:
        yield _PLACES[way]
    else:
        yield from _by_prefix(way)


def _by_prefix(way: str) -> Iterator[str]:
    for old, new in _PREFIXES:
        if way == old or way.startswith(f"{old}/"):
            rest = way.removeprefix(old)
            if not old.endswith(("labels", "annotations")):
                rest = next((rest.replace(name, other, 1) for name, other in _RENAMED if rest.endswith(name)), rest)
            yield f"{new}{rest}"
            return
