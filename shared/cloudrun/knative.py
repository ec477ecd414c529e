"""A Cloud Run service between the two forms of its API: v1 (Knative, what gcloud reads and prints) and v2 (REST JSON). Pure.

v2 here is what the Admin API's REST gives and what protobuf's JSON of `run_v2.Service` gives: camelCase names, 64-bit integers as
texts, durations as "300s", and fields left out where they have their default. Nothing is lost: what the other form has no place for is
returned beside the document, under its JSON pointer, and given back it is put in its place again. Names of mappings are sorted in v1:
protobuf's order of a map is another one in each process.

Sources: gcloud's own source (annotations and their words), the v1 API's reference, the messages of v2 of the Admin API. How CPU
billing is read is described in `knative_template`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.cloudrun.fields import Fields, Json, ServiceDocumentError, place, put, shown
from shared.cloudrun.knative_annotations import (
    BINARY_AUTHORIZATION,
    CLOUD,
    RUN,
    SERVICE,
    annotations_from_fields,
    fields_from_annotations,
    is_own,
)
from shared.cloudrun.knative_status import status_to_v1, status_to_v2, traffic_to_v1, traffic_to_v2
from shared.cloudrun.knative_template import template_to_v1, template_to_v2

API_VERSION = "serving.knative.dev/v1"
KIND = "Service"
LOCATION_LABEL = f"{CLOUD}location"
MULTI_REGION_LABEL = f"{RUN}multi-region-id"

FULL_NAME = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)/services/(?P<name>[^/]+)")
"""v2's name of a service."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A service in its other form, and what that form has no place for.

    `unmapped` is a JSON pointer into the form that was read, to the value found there; None says that the form that was read has no
    such field although the converted document says it does. Give it to the conversion back to restore it.
    """

    document: Json
    unmapped: Mapping[str, Any]


def to_v2(v1: Mapping[str, Any], unmapped: Mapping[str, Any] | None = None) -> Conversion:
    """A v1 service as v2 REST JSON; `unmapped` is what an earlier `to_v1` of the same service had left over.

    Annotations and labels of other tools stay what they are; those of Cloud Run that v2 has no field for are in `unmapped`.

    Raises:
        ServiceDocumentError: not a Knative service, a field of the wrong type, or an annotation that cannot be read.
    """
    source = Fields(dict(v1))
    _expect(source, "apiVersion", API_VERSION)
    _expect(source, "kind", KIND)
    target: Json = {}
    metadata, spec = source.object("metadata"), source.object("spec")
    labels, annotations = metadata.object("labels"), metadata.object("annotations")

    name = _name_to_v2(metadata, labels)
    put(target, "name", name)
    put(target, "uid", metadata.text("uid"))
    generation = metadata.whole("generation")
    put(target, "generation", str(generation) if generation else "")
    put(target, "createTime", metadata.text("creationTimestamp"))
    put(target, "deleteTime", metadata.text("deletionTimestamp"))
    fields_from_annotations(SERVICE, annotations, target)
    policy = annotations.text(BINARY_AUTHORIZATION)
    if policy:
        target.setdefault("binaryAuthorization", {}).update({"useDefault": True} if policy == "default" else {"policy": policy})
    multi_region_id = labels.text(MULTI_REGION_LABEL)
    if multi_region_id:
        target.setdefault("multiRegionSettings", {})["multiRegionId"] = multi_region_id
    put(target, "labels", labels.remaining_texts(keep=is_own))
    put(target, "annotations", annotations.remaining_texts(keep=is_own))
    if "template" in spec:
        target["template"] = template_to_v2(spec.object("template"))
    put(target, "traffic", [traffic_to_v2(each) for each in spec.objects("traffic")])
    status_to_v2(source.object("status"), target, service_name=name)
    left = source.left()
    place(target, unmapped or {})
    return Conversion(target, left)


def to_v1(v2: Mapping[str, Any], unmapped: Mapping[str, Any] | None = None) -> Conversion:
    """v2 REST JSON of a service as v1; `unmapped` is what an earlier `to_v2` of the same service had left over.

    Raises:
        ServiceDocumentError: a field of the wrong type.
    """
    source = Fields(dict(v2))
    metadata: Json = {}
    labels: Json = source.text_map("labels", keep=is_own)
    annotations: Json = source.text_map("annotations", keep=is_own)
    name = source.text("name") or ""
    full = FULL_NAME.fullmatch(name)
    put(metadata, "name", full["name"] if full else name)
    if full:
        metadata["namespace"] = full["project"]
        labels[LOCATION_LABEL] = full["region"]
    nested = {each: source.object(each) for each in ("scaling", "multiRegionSettings", "binaryAuthorization", "buildConfig")}
    annotations_from_fields(SERVICE, source, nested, annotations)
    put(labels, MULTI_REGION_LABEL, nested["multiRegionSettings"].text("multiRegionId"))
    put(annotations, BINARY_AUTHORIZATION, _policy(nested["binaryAuthorization"]))
    put(metadata, "uid", source.text("uid"))
    put(metadata, "generation", source.whole("generation"))
    put(metadata, "creationTimestamp", source.text("createTime"))
    put(metadata, "deletionTimestamp", source.text("deleteTime"))
    put(metadata, "labels", dict(sorted(labels.items())))
    put(metadata, "annotations", dict(sorted(annotations.items())))

    document: Json = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {}}
    if "template" in source:
        document["spec"]["template"] = template_to_v1(source.object("template"))
    put(document["spec"], "traffic", [traffic_to_v1(each) for each in source.objects("traffic")])
    put(document, "status", status_to_v1(source, service_name=name))
    left = source.left()
    place(document, unmapped or {})
    return Conversion(document, left)


def _expect(source: Fields, name: str, wanted: str) -> None:
    value = source.text(name)
    if value != wanted:
        raise ServiceDocumentError(f"/{name} is {shown(value)}; a Cloud Run service of the v1 API has {wanted!r}", field=f"/{name}")


def _name_to_v2(metadata: Fields, labels: Fields) -> str:
    """The full name if the document says project and region; else the short one, and the half that is said stays."""
    name = metadata.text("name") or ""
    if not name or not metadata.peek("namespace") or not labels.peek(LOCATION_LABEL):
        return name
    return f"projects/{metadata.text('namespace')}/locations/{labels.text(LOCATION_LABEL)}/services/{name}"


def _policy(source: Fields) -> str | None:
    """v1's one word for both of v2's methods; a policy by the name of `default` cannot be told from the default one and stays."""
    if source.peek("useDefault") is True:
        source.drop("useDefault")
        return "default"
    return source.text("policy") if source.peek("policy") != "default" else None
