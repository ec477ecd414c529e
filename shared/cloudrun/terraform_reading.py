"""The plan of Terraform as JSON (`terraform show -json PLAN`): its Cloud Run services. Pure.

Terraform writes the fields of the Admin API in snake case and every block as a list. What is known only after apply is not in the plan's
values and counts as not said. Sources: Terraform's JSON output format; the schemas of google_cloud_run_v2_service and
google_cloud_run_service in provider google 6.50 to 8.7.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from shared.cloudrun.described import Described, Form, Problem, ReadingProblem
from shared.cloudrun.fields import Json, ServiceDocumentError, pointer
from shared.cloudrun.knative import API_VERSION, KIND, to_v2
from shared.cloudrun.knative_annotations import CPU_THROTTLING
from shared.cloudrun.limits import MadeWith

V2_SERVICE = "google_cloud_run_v2_service"
V1_SERVICE = "google_cloud_run_service"
ALERT_POLICY = "google_monitoring_alert_policy"

_LISTS = frozenset(
    {
        "args",
        "command",
        "containers",
        "custom_audiences",
        "depends_on",
        "env",
        "http_headers",
        "instances",
        "items",
        "mount_options",
        "network_interfaces",
        "ports",
        "tags",
        "traffic",
        "volume_mounts",
        "volumes",
    }
)
"""What is a list in the API too; every other list of the plan is a block that may stand once."""
_MAPS = frozenset({"annotations", "labels", "limits", "requests", "node_selector"})
"""Objects whose names are values, not fields: they stay as they are."""
_SERVICE_FIELDS = frozenset(
    {
        "annotations",
        "binary_authorization",
        "client",
        "client_version",
        "custom_audiences",
        "default_uri_disabled",
        "description",
        "iap_enabled",
        "ingress",
        "invoker_iam_disabled",
        "labels",
        "launch_stage",
        "scaling",
        "template",
        "traffic",
    }
)
"""Attributes of the v2 resource that are fields of the service and not Terraform's own, such as deletion_protection."""
_MAX_DEPTH = 30
"""Deeper than any service."""


def read_plan(document: Mapping[str, Any]) -> tuple[tuple[str, Described], ...]:
    """Address and service of every google_cloud_run_v2_service and google_cloud_run_service that the plan makes or keeps."""
    found: list[tuple[str, Described]] = []
    for address, kind, values in resources(document):
        if kind == V2_SERVICE:
            found.append((address, _v2(address, values)))
        elif kind == V1_SERVICE:
            found.append((address, _v1(address, values)))
    return tuple(found)


def alert_policies(document: Mapping[str, Any]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Address and values of every google_monitoring_alert_policy of the plan."""
    return tuple((address, values) for address, kind, values in resources(document) if kind == ALERT_POLICY)


def resources(document: Mapping[str, Any], *, mode: Literal["managed", "data"] = "managed") -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Address, type and values of every managed resource, or of what is only read: of a plan as it will be, of a state as it is."""
    holder = document.get("planned_values") or document.get("values")
    modules = [holder.get("root_module")] if isinstance(holder, Mapping) else []
    while modules:
        module = modules.pop(0)
        if not isinstance(module, Mapping):
            continue
        for resource in _list(module.get("resources")):
            values = resource.get("values") if isinstance(resource, Mapping) else None
            if isinstance(values, Mapping) and resource.get("mode", "managed") == mode:
                yield str(resource.get("address", "")), str(resource.get("type", "")), values
        modules.extend(_list(module.get("child_modules")))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class _Reader:
    """A resource's values on their way to the API's names; `names` is what Terraform calls each field."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.names: dict[str, str] = {"": address}

    def object(self, values: Mapping[str, Any], at: str, way: str, depth: int = 0) -> Json:
        """The fields that are said, with the names of the API."""
        target: Json = {}
        for name, value in values.items():
            if value is None or value in ("", []) or depth > _MAX_DEPTH:
                continue
            field = pointer(at, _camel(name))
            here = f"{way}.{name}" if way else name
            found = self._value(name, value, field, here, depth + 1)
            if found is not None:
                target[_camel(name)] = found
                self.names[field] = f"{self.address}: {here}"
        return target

    def _value(self, name: str, value: Any, field: str, way: str, depth: int) -> Any:
        if name in _MAPS and name != "node_selector":
            return self._map(value, field, way)
        if isinstance(value, list):
            if name in _LISTS:
                return [self._item(each, f"{field}/{at}", f"{way}[{at}]", depth) for at, each in enumerate(value)]
            if len(value) == 1:
                # A block without attributes, such as `tcp_socket {}`, is a list of one null.
                return self.object(value[0] if isinstance(value[0], Mapping) else {}, field, way, depth)
            return None
        if isinstance(value, Mapping):
            return self.object(value, field, way, depth) if name != "node_selector" else self._map(value, field, way)
        return value

    def _item(self, value: Any, field: str, way: str, depth: int) -> Any:
        self.names[field] = f"{self.address}: {way}"
        return self.object(value, field, way, depth) if isinstance(value, Mapping) else value

    def _map(self, value: Any, field: str, way: str) -> Json | None:
        if not isinstance(value, Mapping):
            return None
        found = {str(name): each for name, each in value.items() if each is not None}
        for name in found:
            self.names[pointer(field, name)] = f'{self.address}: {way}["{name}"]'
        return found or None


def _v2(address: str, values: Mapping[str, Any]) -> Described:
    reader = _Reader(address)
    service = reader.object({name: each for name, each in values.items() if name in _SERVICE_FIELDS}, "", "")
    region, project, name = (_text(values.get(each)) for each in ("location", "project", "name"))
    if name is not None:
        service["name"] = f"projects/{project}/locations/{region}/services/{name}" if project and region else name
        reader.names["/name"] = f"{address}: name"
    problems = list(_wrong(service, reader))
    return Described(
        form=Form.TERRAFORM,
        service=service,
        complete=bool(_list(service.get("template", {}).get("containers"))),
        region=region,
        project=project,
        made_with=MadeWith.TERRAFORM,
        names=reader.names,
        problems=tuple(problems),
    )


def _wrong(service: Json, reader: _Reader) -> Iterator[Problem]:
    """Fields that are objects in the API and something else here are taken out of the service and reported."""
    for name in ("template", "scaling", "binaryAuthorization"):
        if name in service and not isinstance(service[name], dict):
            del service[name]
            field = reader.names.get(f"/{name}", name)
            yield Problem(ReadingProblem.DOCUMENT_INVALID, f"{field} is no block in this plan", f"one block {name}", None, field)


def _v1(address: str, values: Mapping[str, Any]) -> Described:
    reader = _Reader(address)
    read = reader.object(values, "", "")
    region, project, name = (_text(values.get(each)) for each in ("location", "project", "name"))
    metadata = read.get("metadata") if isinstance(read.get("metadata"), dict) else {}
    document: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {**{key: each for key, each in (metadata or {}).items() if key in {"annotations", "labels"}}, "name": name or ""},
        "spec": {key: each for key, each in read.items() if key in {"template", "traffic"}},
    }
    problems: list[Problem] = []
    service: Json = {}
    try:
        service = to_v2(_without_own(document)).document
    except ServiceDocumentError as error:
        problems.append(Problem(ReadingProblem.DOCUMENT_INVALID, error.message, "", None, f"{address}: {error.field}"))
    if name is not None:
        service["name"] = f"projects/{project}/locations/{region}/services/{name}" if project and region else name
    containers = _list(service.get("template", {}).get("containers"))
    if not _says_throttling(document):
        for container in containers:
            container.get("resources", {}).pop("cpuIdle", None)
    return Described(
        form=Form.TERRAFORM,
        service=service,
        complete=bool(containers),
        region=region,
        project=project,
        made_with=MadeWith.TERRAFORM,
        names={"": address, "/name": f"{address}: name"},
        problems=tuple(problems),
    )


def _says_throttling(document: Json) -> bool:
    template = document["spec"].get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return isinstance(annotations, dict) and CPU_THROTTLING in annotations


def _without_own(document: Json) -> Json:
    """Terraform's own attributes of a template, such as the serving state, are no part of the API's document."""
    template = document["spec"].get("template")
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        spec = {key: each for key, each in template["spec"].items() if key != "servingState"}
        template = {**template, "spec": spec}
        document = {**document, "spec": {**document["spec"], "template": template}}
    return document
