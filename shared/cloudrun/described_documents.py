"""Cloud Run service documents as people have them, read past what the Admin API would refuse. Pure.

`documents.read_service_document` is for a document that will be acted on: it refuses what is not right, and turns v1 and v2 into the same.
Here the document is somebody's question. Each mistake is a problem with its line and the rest is read; a v2 document keeps what it says to
the letter, so that a v1 annotation in it can be pointed at; what nobody said is not filled in. Parts of a document are read as well: a
template, or a revision's spec, without what belongs around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.cloudrun import document_shape_v1, document_shape_v2
from shared.cloudrun.described import Described, Form, Problem, ReadingProblem
from shared.cloudrun.document_checking import DocumentCheck, dotted, plain_numbers
from shared.cloudrun.document_heredocs import document_in_script
from shared.cloudrun.document_text import LoadedDocument, load_documents
from shared.cloudrun.fields import Json, ServiceDocumentError, shown
from shared.cloudrun.knative import API_VERSION, FULL_NAME, KIND, LOCATION_LABEL, to_v2
from shared.cloudrun.knative_annotations import (
    CPU_THROTTLING,
    EGRESS,
    EXECUTION_ENVIRONMENTS,
    INGRESS,
    KEY_REVOCATION_ACTIONS,
    RUN,
)
from shared.cloudrun.knative_places import places_in_v2

_V2_SERVICE = frozenset({"template", "scaling", "traffic", "ingress"})
_V2_TEMPLATE = frozenset(
    {"containers", "maxInstanceRequestConcurrency", "nodeSelector", "gpuZonalRedundancyDisabled", "executionEnvironment"}
)
_V1_SPEC = frozenset({"containerConcurrency", "timeoutSeconds", "serviceAccountName"})
_SERVING_GROUP = "serving.knative.dev/"
_ANNOTATION_WORDS: Mapping[str, tuple[str, ...]] = {
    f"{RUN}ingress": tuple(INGRESS),
    f"{RUN}launch-stage": ("ALPHA", "BETA", "GA"),
    f"{RUN}scalingMode": ("automatic", "manual"),
    f"{RUN}execution-environment": tuple(EXECUTION_ENVIRONMENTS),
    f"{RUN}vpc-access-egress": tuple(EGRESS),
    f"{RUN}post-key-revocation-action-type": tuple(KEY_REVOCATION_ACTIONS),
}
_THROTTLING = "/spec/template/metadata/annotations/" + CPU_THROTTLING.replace("/", "~1")


@dataclass(frozen=True, slots=True)
class _Found:
    """A document that is a service or a part of one. `around` is the pointer at which the part belongs in the whole."""

    form: Form
    document: LoadedDocument
    around: str = ""


def read_described_document(text: str) -> Described:
    """The service of a v1 (Knative) or v2 document, YAML or JSON, with what the Admin API refuses of it.

    Of several documents or items of a list the first that is a Cloud Run service counts.

    A shell script that writes the document itself is read for it.

    Raises:
        ServiceDocumentError: the text is no YAML or JSON of one service at all.
    """
    script = document_in_script(text) if "<<" in text else None
    if script is None:
        return _read(text)
    read = _read(script.text)
    return replace(read, region=read.region or script.region, project=read.project or script.project)


def _read(text: str) -> Described:
    documents = load_documents(text)
    found = next((each for each in map(_recognised, documents) if each is not None), None)
    if found is None:
        raise _not_a_service(documents[0].value)
    whole = _wrapped(found.document.value, found.around)
    lines = {f"{found.around}{way}": line for way, line in found.document.lines.items()}
    check = DocumentCheck(lines, snake_case=found.form is Form.V2)
    for each in found.document.repeated:
        way = f"{found.around}{each.pointer}"
        check.problems.append(_repeated(check, way, each.line, each.first_line))
    if found.document.tab is not None:
        message = f"line {found.document.tab}: a tab stands where YAML takes blanks only: gcloud refuses the file"
        check.problems.append(Problem(ReadingProblem.DOCUMENT_INVALID, message, "write blanks for it", found.document.tab, ""))
    read = _read_v1(whole, check) if found.form is Form.V1 else _read_v2(whole, check)
    return _without_prefix(read, dotted(found.around)) if found.around else read


def _recognised(document: LoadedDocument) -> _Found | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    keys = frozenset(value)
    if keys & {"apiVersion", "kind"}:
        return _Found(Form.V1, document) if _is_knative(value) else None
    spec = value.get("spec")
    found: _Found | None = None
    if isinstance(spec, dict) and "template" in spec:
        found = _Found(Form.V1, document)
    elif isinstance(spec, dict) and ("containers" in spec or keys & {"metadata"}):
        found = _Found(Form.V1, document, "/spec/template")
    elif keys & _V2_SERVICE or (isinstance(value.get("name"), str) and FULL_NAME.fullmatch(value["name"])):
        template = value.get("template")
        inner = template.get("spec") if isinstance(template, dict) else None
        found = _Found(Form.V1, document, "/spec") if isinstance(inner, dict) else _Found(Form.V2, document)
    elif keys & _V1_SPEC or _selects_by_key(value):
        found = _Found(Form.V1, document, "/spec/template/spec")
    elif keys & (_V2_TEMPLATE | {"max_instance_request_concurrency", "node_selector"}):
        found = _Found(Form.V2, document, "/template")
    return found


def _is_knative(value: Json) -> bool:
    version, kind = value.get("apiVersion"), value.get("kind")
    spec = value.get("spec")
    serving = version is None or (isinstance(version, str) and version.startswith((_SERVING_GROUP, "run.googleapis.com/")))
    return serving and (kind is None or kind == KIND) and (spec is None or isinstance(spec, dict))


def _selects_by_key(value: Json) -> bool:
    selector = value.get("nodeSelector")
    return isinstance(selector, dict) and any("/" in str(name) for name in selector)


def _not_a_service(value: Any) -> ServiceDocumentError:
    if isinstance(value, dict) and ("kind" in value or "apiVersion" in value):
        kind, version = shown(value.get("kind")), shown(value.get("apiVersion"))
        return ServiceDocumentError(
            f"the document is of kind {kind} and apiVersion {version}; a Cloud Run service has {KIND!r} and {API_VERSION!r}", field="/kind"
        )
    if not isinstance(value, dict):
        return ServiceDocumentError(f"the document is {shown(value)}; a Cloud Run service is an object with named fields")
    return ServiceDocumentError(
        f"neither a v1 service (apiVersion: {API_VERSION}, kind: {KIND}) nor a v2 one (an object with a template); "
        "take the output of gcloud run services describe NAME --format export"
    )


def _wrapped(value: Any, around: str) -> Any:
    for name in reversed(around.split("/")[1:]):
        value = {name: value}
    return value


def _repeated(check: DocumentCheck, way: str, line: int, first_line: int) -> Problem:
    check.say(way, f"{dotted(way)} is there twice, in line {first_line} and in line {line}: the first is lost", "keep one of the two")
    return replace(check.problems.pop(), line=line)


def _read_v2(whole: Any, check: DocumentCheck) -> Described:
    service = _object(check.clean(whole, document_shape_v2.SERVICE))
    full = FULL_NAME.fullmatch(str(service.get("name", "")))
    return Described(
        Form.V2,
        service,
        complete=_is_complete(service, whole_said=bool(service.get("name"))),
        region=full["region"] if full else None,
        project=full["project"] if full else None,
        lines={clean: line for clean, way in check.ways.items() if (line := check.line(way)) is not None},
        names={clean: dotted(way) for clean, way in check.ways.items() if clean},
        problems=tuple(check.problems),
    )


def _read_v1(whole: Any, check: DocumentCheck) -> Described:
    said_whole = isinstance(whole, dict) and "apiVersion" in whole and "kind" in whole
    document = _object(check.clean(whole, document_shape_v1.SERVICE))
    _check_head(document, check)
    document = {**document, "apiVersion": API_VERSION, "kind": KIND}
    document.pop("status", None)
    metadata = _object(document.get("metadata"))
    labels = _object(metadata.get("labels"))
    service, left = _converted(document, check)
    _check_annotations(left, check)
    _keep_throttling_as_said(document, service)
    service = _object(plain_numbers(service))
    containers = _object(service.get("template")).get("containers", [])
    lines: dict[str, int] = {}
    names: dict[str, str] = {}
    for way, line in check.lines.items():
        for place in places_in_v2(way, containers=len(containers)):
            lines[place] = line
            names[place] = dotted(way)
    return Described(
        Form.V1,
        service,
        complete=_is_complete(service, whole_said=said_whole),
        region=_text(labels.get(LOCATION_LABEL)),
        project=_text(metadata.get("namespace")),
        lines=lines,
        names=names,
        problems=tuple(check.problems),
    )


def _check_head(document: Json, check: DocumentCheck) -> None:
    version = document.get("apiVersion")
    if version is not None and version != API_VERSION:
        check.say("/apiVersion", f"apiVersion is {shown(version)}; Cloud Run takes {API_VERSION}", f"apiVersion: {API_VERSION}")


def _converted(document: Json, check: DocumentCheck) -> tuple[Json, Mapping[str, Any]]:
    """The document in v2, without the fields that cannot be converted: each of these is a problem."""
    while True:
        try:
            made = to_v2(document)
        except ServiceDocumentError as error:
            name = dotted(error.field)
            message = error.message.replace(error.field, name) if error.field else error.message
            check.say(error.field, message, message.rpartition("; ")[2] if "; " in message else "")
            document = _without(document, error.field.split("/")[1:])
        else:
            return made.document, made.unmapped


def _without(document: Any, way: list[str]) -> Any:
    """A copy without the field, or without the nearest field around it where the way leads through something else."""
    if not way:
        raise ServiceDocumentError("the document cannot be read as a Cloud Run service")
    name = way[0].replace("~1", "/").replace("~0", "~")
    if isinstance(document, list):
        at = int(name)
        return [_without(each, way[1:]) if index == at and len(way) > 1 else each for index, each in enumerate(document)]
    inner = document.get(name)
    if len(way) > 1 and isinstance(inner, dict | list):
        return {**document, name: _without(inner, way[1:])}
    return {key: each for key, each in document.items() if key != name}


def _check_annotations(left: Mapping[str, Any], check: DocumentCheck) -> None:
    """Annotations that v2 has a field for, with a word that is none of theirs."""
    for way, value in left.items():
        parent, _, last = way.rpartition("/")
        words = _ANNOTATION_WORDS.get(last.replace("~1", "/").replace("~0", "~"))
        if words is not None and parent.endswith("/annotations"):
            check.say(way, f"{dotted(way)} is {shown(value)}; the words are {', '.join(words)}", f"write one of {', '.join(words)}")


def _keep_throttling_as_said(document: Json, service: Json) -> None:
    """The conversion fills in what v1 means by silence; here silence stays silence, and a spoken `false` is heard."""
    template = _object(_object(document.get("spec")).get("template"))
    word = _object(_object(template.get("metadata")).get("annotations")).get(CPU_THROTTLING)
    for container in _object(service.get("template")).get("containers", []):
        resources = container.get("resources")
        if resources is None:
            continue
        resources.pop("cpuIdle", None)
        if isinstance(word, str) and word.lower() in {"true", "false"}:
            resources["cpuIdle"] = word.lower() == "true"


def _is_complete(service: Json, *, whole_said: bool) -> bool:
    """Containers, of which one says what it runs: a piece with only a probe or only limits in it is no whole service."""
    containers = _object(service.get("template")).get("containers")
    if not isinstance(containers, list) or not containers:
        return False
    return whole_said or any(isinstance(each, dict) and (each.get("image") or each.get("sourceCode")) for each in containers)


def _without_prefix(read: Described, around: str) -> Described:
    """The same, with fields called as the part of a document calls them."""
    names = {way: _short(name, around) for way, name in read.names.items()}
    problems = tuple(
        replace(each, field=_short(each.field, around), message=each.message.replace(f"{around}.", "")) for each in read.problems
    )
    return replace(read, names=names, problems=problems)


def _short(name: str, around: str) -> str:
    return name.removeprefix(f"{around}.") if name.startswith(f"{around}.") else name


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
