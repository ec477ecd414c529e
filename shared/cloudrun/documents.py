"""The text of a Cloud Run service, as people keep it: YAML or JSON, v1 (Knative) or v2 (REST). Pure.

Read leniently in form, strictly in structure: a scalar is what its field needs (`cpu: 4` is the text "4"), but a field that is twice
in one object, a second document, an alias that explodes, or a value of the wrong shape is refused with its line.

Plain YAML scalars are typed as in YAML 1.2: only true and false are truth values, so `yes` and `on` stay texts, and `0444`, `1.10` and
dates keep their spelling where a text is needed. A fraction in a field that nobody here knows stays the number it was.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import yaml

from shared.cloudrun.fields import Json, ServiceDocumentError, Spelled, shown
from shared.cloudrun.knative import API_VERSION, FULL_NAME, KIND, LOCATION_LABEL, to_v1, to_v2
from shared.cloudrun.knative_annotations import RUN, SERVING
from shared.cloudrun.yaml_values import MAX_DEPTH, YamlTextError, escaped, fraction, is_printable, load_yaml, truth_or_nothing

MAX_CHARACTERS = 262_144
"""Of one document; a service with its models and batching files in environment variables needs a tenth."""

_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_YAML_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class ServiceDocument:
    """A service as its document says it.

    `form` is the API it was written for; `service` is v2 REST JSON either way. `unmapped` is what a v1 document says and v2 has no
    place for, under its JSON pointer. `name` is the short name; project (an id or a number) and region are None if it does not say.
    """

    form: Literal["v1", "v2"]
    service: Json
    unmapped: Mapping[str, Any]
    name: str
    project: str | None
    region: str | None


def read_service_document(text: str) -> ServiceDocument:
    """The Cloud Run service in the text: what `gcloud run services describe` prints or exports, or what the REST API gives.

    Raises:
        ServiceDocumentError: too long, not YAML or JSON, more than one document, not a service, or a field that cannot be read.
    """
    if len(text) > MAX_CHARACTERS:
        raise ServiceDocumentError(f"the document has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read: is it one service?")
    document, lines = _load(text.removeprefix("\ufeff"))
    try:
        found = _service_of(document)
    except ServiceDocumentError as error:
        line = _line_of(error.field, lines)
        if line is None:
            raise
        raise ServiceDocumentError(f"line {line}: {error.message}", field=error.field, line=line) from None
    return replace(found, service=_numbers(found.service), unmapped=_numbers(dict(found.unmapped)))


def to_v1_yaml(v2: Mapping[str, Any]) -> str:
    """The file that `gcloud run services replace FILE` takes: the service's settings, without what only Cloud Run writes.

    Keys are in a fixed order and texts of several lines are block scalars. `knative.to_v1` says what v1 has no place for.
    """
    document = to_v1(v2).document
    document.pop("status", None)
    for name in _WRITTEN_BY_CLOUD_RUN:
        document["metadata"].pop(name, None)
    annotations = document["metadata"].get("annotations", {})
    for key in _ANNOTATIONS_OF_CLOUD_RUN:
        annotations.pop(key, None)
    if not annotations:
        document["metadata"].pop("annotations", None)
    spec = document["spec"].get("template", {}).get("spec", {})
    if "containers" in spec:
        spec["containers"] = [dict(sorted(each.items(), key=_container_order)) for each in spec["containers"]]
    return escaped(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000))


_WRITTEN_BY_CLOUD_RUN = ("uid", "generation", "creationTimestamp", "deletionTimestamp")
_ANNOTATIONS_OF_CLOUD_RUN = (f"{SERVING}creator", f"{SERVING}lastModifier", f"{RUN}urls")
_CONTAINER_ORDER = (
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "ports",
    "resources",
    "startupProbe",
    "livenessProbe",
    "readinessProbe",
    "volumeMounts",
    "env",
)


def _container_order(item: tuple[str, Any]) -> int:
    return _CONTAINER_ORDER.index(item[0])


def _service_of(document: Any) -> ServiceDocument:
    if isinstance(document, list):
        raise ServiceDocumentError(f"the document is a list of {len(document)}; write one service")
    if not isinstance(document, dict):
        raise ServiceDocumentError(f"the document is {shown(document)}; a Cloud Run service is an object with named fields")
    if "apiVersion" in document or "kind" in document:
        converted = to_v2(document)
        metadata = document["metadata"] if isinstance(document.get("metadata"), dict) else {}
        return _described("v1", converted.document, converted.unmapped, metadata)
    if not isinstance(document.get("template"), dict):
        raise ServiceDocumentError(
            f"neither a v1 service (apiVersion: {API_VERSION}, kind: {KIND}) nor a v2 one (an object with a template); "
            "take the output of gcloud run services describe NAME --format export"
        )
    there = to_v1(document)
    return _described("v2", to_v2(there.document, there.unmapped).document, {}, {})


def _described(form: Literal["v1", "v2"], service: Json, unmapped: Mapping[str, Any], metadata: Json) -> ServiceDocument:
    name = service.get("name", "")
    full = FULL_NAME.fullmatch(name)
    if full:
        return ServiceDocument(form, service, unmapped, full["name"], full["project"], full["region"])
    namespace, region = metadata.get("namespace"), (metadata.get("labels") or {}).get(LOCATION_LABEL)
    return ServiceDocument(form, service, unmapped, name, str(namespace) if namespace else None, str(region) if region else None)


def _load(text: str) -> tuple[Any, dict[str, int]]:
    """The document and the line of each of its fields; lines are not known of JSON."""
    if not text.lstrip().startswith("{"):
        return _load_yaml(text)
    try:
        document = json.loads(text, object_pairs_hook=_object_of, parse_int=_plain, parse_float=_fraction, parse_constant=str)
        _check_depth(document, 0)
    except RecursionError:
        raise ServiceDocumentError(f"the document is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        problem = ServiceDocumentError(f"line {error.lineno}: not JSON: {error.msg} (column {error.colno})", line=error.lineno)
    else:
        return document, {}
    try:
        return _load_yaml(text)
    except ServiceDocumentError:
        raise problem from None


def _numbers(value: Any) -> Any:
    """The same with plain numbers: their spelling matters no more."""
    if isinstance(value, dict):
        return {name: _numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_numbers(each) for each in value]
    return float(value) if isinstance(value, Spelled) else value


def _check_depth(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise RecursionError
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_depth(each, depth + 1)


def _object_of(pairs: list[tuple[str, Any]]) -> Json:
    found: Json = {}
    for name, value in pairs:
        if name in found:
            raise ServiceDocumentError(f"the field {shown(name)} is twice in one object; keep one")
        found[name] = value
    return found


def _load_yaml(text: str) -> tuple[Any, dict[str, int]]:
    try:
        return load_yaml(text, _plain)
    except YamlTextError as error:
        raise ServiceDocumentError(str(error), field=error.field, line=error.line) from None


def _plain(text: str) -> Any:
    value, found = truth_or_nothing(text)
    if found:
        return value
    return int(text) if _WHOLE.fullmatch(text) else _fraction(text)


def _fraction(text: str) -> Any:
    number = fraction(text, None)
    return text if number is None else Spelled(number, text)


def _line_of(field: str, lines: Mapping[str, int]) -> int | None:
    """The line of the field, or of the nearest object around it that the document has."""
    while field and field not in lines:
        field = field.rpartition("/")[0]
    return lines.get(field) if field else None


class _Dumper(yaml.SafeDumper):
    """Writes texts so that YAML 1.1 and 1.2 read the same: block scalars for several lines, quotes for what might not be a text."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


_CLEARLY_TEXT = re.compile(r"[A-Za-z/][A-Za-z0-9 ./_@=+-]*[A-Za-z0-9/_]")
_NOT_TEXT = frozenset({"yes", "no", "on", "off", "true", "false", "null", "y", "n"})


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    if not is_printable(text):
        style: str | None = '"'
    else:
        style = "|" if "\n" in text else None if _CLEARLY_TEXT.fullmatch(text) and text.lower() not in _NOT_TEXT else "'"
    return dumper.represent_scalar(f"{_YAML_TAG}str", text, style=style)


_Dumper.add_representer(str, _represent_text)
