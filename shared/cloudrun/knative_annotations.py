"""The settings that v1 of Cloud Run's API writes as annotations and v2 as fields: which is which, and in which words.

The keys are those of gcloud's own source and of the v1 API's reference of `ObjectMeta`; v2's fields are those of its `Service`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.cloudrun.fields import Fields, Json, ServiceDocumentError, as_flag, as_ratio, as_text, as_whole

RUN = "run.googleapis.com/"
SERVING = "serving.knative.dev/"
AUTOSCALING = "autoscaling.knative.dev/"
CLOUD = "cloud.googleapis.com/"

SYSTEM_GROUPS = (RUN, SERVING, AUTOSCALING, CLOUD)
"""Annotations and labels that begin so are Cloud Run's: v2 refuses them ("system annotations are not supported")."""

NETWORK_INTERFACES = f"{RUN}network-interfaces"
SECRETS = f"{RUN}secrets"
DEPENDENCIES = f"{RUN}container-dependencies"
BASE_IMAGES = f"{RUN}base-images"
SOURCES = f"{RUN}sources"
CLOUD_SQL = f"{RUN}cloudsql-instances"
CPU_THROTTLING = f"{RUN}cpu-throttling"
STARTUP_CPU_BOOST = f"{RUN}startup-cpu-boost"
BINARY_AUTHORIZATION = f"{RUN}binary-authorization"
KEY_SHUTDOWN_HOURS = f"{RUN}encryption-key-shutdown-hours"
SECONDS_PER_HOUR = 3600

_NOT_UNDERSTOOD = object()


def is_own(key: str) -> bool:
    """Whether a label's or an annotation's key is the user's or a tool's, not Cloud Run's: both forms of the API have such keys."""
    return not key.startswith(SYSTEM_GROUPS)


@dataclass(frozen=True, slots=True)
class Words:
    """How one kind of value is said in both forms.

    `heard` turns an annotation's text into v2's value and `read` what v2's field has; both give `_NOT_UNDERSTOOD` for a word that is
    newer than this code: it is then left over instead of guessed. `said` is the annotation's text. With `zero_counts`, a value of 0
    or false differs from none.
    """

    heard: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]
    said: Callable[[Any], str]
    zero_counts: bool = False


def _one_of(words: Mapping[str, str], unspecified: str) -> Words:
    by_value = {value: word for word, value in reversed(tuple(words.items()))}
    values = {**{value: value for value in by_value}, unspecified: None}
    return Words(
        lambda text, field: words.get(as_text(text, field), _NOT_UNDERSTOOD),
        lambda value, field: values.get(as_text(value, field), _NOT_UNDERSTOOD),
        by_value.__getitem__,
    )


def _flag_word(value: bool) -> str:
    return "true" if value else "false"


def _json_of(text: str, field: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ServiceDocumentError(f"{field} is not JSON: {error}; write it as gcloud does, in single quotes", field=field) from None


def json_list(value: Any, field: str) -> list[Any]:
    """A list, or the list that an annotation holds as JSON text."""
    found = _json_of(value, field) if isinstance(value, str) else value
    if not isinstance(found, list):
        raise ServiceDocumentError(f"{field} holds {type(found).__name__}; a JSON list is needed", field=field)
    return found


def json_object(value: Any, field: str) -> Json:
    """An object, or the object that an annotation holds as JSON text."""
    found = _json_of(value, field) if isinstance(value, str) else value
    if not isinstance(found, dict):
        raise ServiceDocumentError(f"{field} holds {type(found).__name__}; a JSON object is needed", field=field)
    return found


def _json_texts(value: Any, field: str) -> list[str]:
    return [as_text(each, field) for each in json_list(value, field)]


def _json_text_map(value: Any, field: str) -> dict[str, str]:
    return {name: as_text(each, field) for name, each in json_object(value, field).items()}


def _comma_texts(value: Any, field: str) -> list[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return _json_texts(value, field)


def _target(value: Any, field: str) -> float:
    return 0.0 if value == "disabled" else as_ratio(value, field)


def _same(read: Callable[[Any, str], Any], said: Callable[[Any], str], *, zero_counts: bool = False) -> Words:
    return Words(read, read, said, zero_counts)


TEXT = _same(as_text, str)
COUNT = _same(as_whole, str)
COUNT_OR_ZERO = _same(as_whole, str, zero_counts=True)
FLAG = _same(as_flag, _flag_word)
FLAG_OR_FALSE = _same(as_flag, _flag_word, zero_counts=True)
TARGET = Words(_target, as_ratio, lambda value: "disabled" if value == 0 else repr(value), zero_counts=True)
TEXTS_AS_JSON = _same(_json_texts, lambda value: json.dumps(value, ensure_ascii=False))
TEXT_MAP_AS_JSON = _same(_json_text_map, lambda value: json.dumps(value, ensure_ascii=False, sort_keys=True))
TEXTS_WITH_COMMAS = _same(_comma_texts, ",".join)

INGRESS = {
    "all": "INGRESS_TRAFFIC_ALL",
    "internal": "INGRESS_TRAFFIC_INTERNAL_ONLY",
    "internal-and-cloud-load-balancing": "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
    "none": "INGRESS_TRAFFIC_NONE",
}
EGRESS = {"all-traffic": "ALL_TRAFFIC", "all": "ALL_TRAFFIC", "private-ranges-only": "PRIVATE_RANGES_ONLY"}
"""`all` is gcloud's older word for `all-traffic`."""
EXECUTION_ENVIRONMENTS = {"gen1": "EXECUTION_ENVIRONMENT_GEN1", "gen2": "EXECUTION_ENVIRONMENT_GEN2"}
KEY_REVOCATION_ACTIONS = {"prevent-new": "PREVENT_NEW", "shut-down": "SHUTDOWN"}
_LAUNCH_STAGES = ("UNIMPLEMENTED", "PRELAUNCH", "EARLY_ACCESS", "ALPHA", "BETA", "GA", "DEPRECATED")


@dataclass(frozen=True, slots=True)
class Said:
    """One setting: v2's field, by the names that lead to it, and v1's annotation."""

    way: tuple[str, ...]
    key: str
    words: Words = TEXT


def _said(way: str, key: str, words: Words = TEXT) -> Said:
    return Said(tuple(way.split(".")), key, words)


SERVICE = (
    _said("description", f"{RUN}description"),
    _said("client", f"{RUN}client-name"),
    _said("clientVersion", f"{RUN}client-version"),
    _said("creator", f"{SERVING}creator"),
    _said("lastModifier", f"{SERVING}lastModifier"),
    _said("ingress", f"{RUN}ingress", _one_of(INGRESS, "INGRESS_TRAFFIC_UNSPECIFIED")),
    _said("launchStage", f"{RUN}launch-stage", _one_of({stage: stage for stage in _LAUNCH_STAGES}, "LAUNCH_STAGE_UNSPECIFIED")),
    _said("scaling.minInstanceCount", f"{RUN}minScale", COUNT),
    _said("scaling.maxInstanceCount", f"{RUN}maxScale", COUNT),
    _said("scaling.scalingMode", f"{RUN}scalingMode", _one_of({"automatic": "AUTOMATIC", "manual": "MANUAL"}, "SCALING_MODE_UNSPECIFIED")),
    _said("scaling.manualInstanceCount", f"{RUN}manualInstanceCount", COUNT_OR_ZERO),
    _said("invokerIamDisabled", f"{RUN}invoker-iam-disabled", FLAG),
    _said("defaultUriDisabled", f"{RUN}default-url-disabled", FLAG),
    _said("iapEnabled", f"{RUN}iap-enabled", FLAG),
    _said("threatDetectionEnabled", f"{RUN}threat-detection", FLAG),
    _said("customAudiences", f"{RUN}custom-audiences", TEXTS_AS_JSON),
    _said("urls", f"{RUN}urls", TEXTS_AS_JSON),
    _said("multiRegionSettings.regions", f"{RUN}regions", TEXTS_WITH_COMMAS),
    _said("binaryAuthorization.breakglassJustification", f"{BINARY_AUTHORIZATION}-breakglass"),
    _said("buildConfig.name", f"{RUN}build-name"),
    _said("buildConfig.sourceLocation", f"{RUN}build-source-location"),
    _said("buildConfig.functionTarget", f"{RUN}build-function-target"),
    _said("buildConfig.imageUri", f"{RUN}build-image-uri"),
    _said("buildConfig.baseImage", f"{RUN}build-base-image"),
    _said("buildConfig.enableAutomaticUpdates", f"{RUN}build-enable-automatic-updates", FLAG),
    _said("buildConfig.workerPool", f"{RUN}build-worker-pool"),
    _said("buildConfig.environmentVariables", f"{RUN}build-environment-variables", TEXT_MAP_AS_JSON),
    _said("buildConfig.serviceAccount", f"{RUN}build-service-account"),
)
"""Annotations of the service."""

TEMPLATE = (
    _said("scaling.minInstanceCount", f"{AUTOSCALING}minScale", COUNT),
    _said("scaling.maxInstanceCount", f"{AUTOSCALING}maxScale", COUNT),
    _said("scaling.cpuUtilization", f"{RUN}scaling-cpu-target", TARGET),
    _said("scaling.concurrencyUtilization", f"{RUN}scaling-concurrency-target", TARGET),
    _said("executionEnvironment", f"{RUN}execution-environment", _one_of(EXECUTION_ENVIRONMENTS, "EXECUTION_ENVIRONMENT_UNSPECIFIED")),
    _said("gpuZonalRedundancyDisabled", f"{RUN}gpu-zonal-redundancy-disabled", FLAG_OR_FALSE),
    _said("vpcAccess.connector", f"{RUN}vpc-access-connector"),
    _said("vpcAccess.egress", f"{RUN}vpc-access-egress", _one_of(EGRESS, "VPC_EGRESS_UNSPECIFIED")),
    _said("sessionAffinity", f"{RUN}sessionAffinity", FLAG),
    _said("healthCheckDisabled", f"{RUN}health-check-disabled", FLAG),
    _said("serviceMesh.mesh", f"{RUN}mesh"),
    _said("encryptionKey", f"{RUN}encryption-key"),
    _said(
        "encryptionKeyRevocationAction",
        f"{RUN}post-key-revocation-action-type",
        _one_of(KEY_REVOCATION_ACTIONS, "ENCRYPTION_KEY_REVOCATION_ACTION_UNSPECIFIED"),
    ),
)
"""Annotations of the revision template that stand for one field each."""


def fields_from_annotations(table: Iterable[Said], annotations: Fields, target: Json) -> None:
    """Take the table's annotations and write v2's fields; an annotation whose word is not known stays."""
    for said in table:
        value = _value(annotations, said.key, said.words.heard, zero_counts=said.words.zero_counts)
        if value is not None:
            _write(target, said.way, value)


def annotations_from_fields(table: Iterable[Said], source: Fields, nested: Mapping[str, Fields], annotations: Json) -> None:
    """Take the table's fields from v2 and write v1's annotations. `nested` are the objects of `source` that ways lead through."""
    for said in table:
        *through, name = said.way
        holder = nested[through[0]] if through else source
        value = _value(holder, name, said.words.read, zero_counts=said.words.zero_counts)
        if value is not None:
            annotations[said.key] = said.words.said(value)


def _value(holder: Fields, name: str, read: Callable[[Any, str], Any], *, zero_counts: bool) -> Any:
    """The value under `name`, taken if it is understood; None if it is absent, not understood, or says what absence says."""
    if name not in holder:
        return None
    value = read(holder.peek(name), holder.at(name))
    if value is _NOT_UNDERSTOOD:
        return None
    holder.drop(name)
    return value if value or zero_counts else None


def _write(target: Json, way: tuple[str, ...], value: Any) -> None:
    *through, name = way
    for step in through:
        target = target.setdefault(step, {})
    target[name] = value
