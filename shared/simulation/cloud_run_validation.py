"""What the simulated Cloud Run refuses at request time, apart from quota: the rules of a service, its scaling, traffic and template. Pure.

The texts are those that users of the real `validateOnly` have recorded, as far as they are known; what Cloud Run's validation was
seen to let through (a probe's timeout above its period, the product of a start-up budget, a variable named twice, a mount path
used twice, fields that only Cloud Run writes) passes here too.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from google.cloud import run_v2

from shared.simulation.cloud_run_container_rules import check_containers
from shared.simulation.cloud_run_errors import ServiceName, SimulatedError, violation
from shared.simulation.cloud_run_extras import extras_of
from shared.simulation.cloud_run_messages import is_manual
from shared.simulation.cloud_run_traffic import REVISION, WHOLE

MAX_CONCURRENCY = 1_000
MAX_TIMEOUT_SECONDS = 3_600
MAX_DESCRIPTION = 512
MAX_SERVICE_NAME = 49
MAX_REVISION_NAME = 63
MAX_TAG_AND_SERVICE_NAME = 46
"""Characters of both together."""
SET_POINTS: Mapping[str, float] = {"cpuUtilization": 0.90, "concurrencyUtilization": 0.95}
"""The highest set-point of each scaling driver; the lowest is 0.10, and 0 switches the driver off (REST reference, RevisionScaling)."""
MIN_SET_POINT = 0.10

_SYSTEM_PREFIXES = ("run.googleapis.com/", "cloud.googleapis.com/", "serving.knative.dev/", "autoscaling.knative.dev/")
_LAUNCH_STAGES = frozenset({0, 2, 3, 4})
"""`google.api.LaunchStage`: unspecified, ALPHA, BETA, GA."""
_NEGATIVE = "must be greater than or equal to zero."
_SERVICE_NAME = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_REVISION_NAME = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_TAG = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_CONNECTOR = re.compile(r"projects/[^/]+/locations/[^/]+/connectors/[^/]+")


def check_service_id(name: ServiceName) -> None:
    """Refuse a service's name that Cloud Run refuses at creation (the client's docstring of `service_id`).

    Raises:
        SimulatedError: INVALID_ARGUMENT.
    """
    if not _SERVICE_NAME.fullmatch(name.service) or len(name.service) > MAX_SERVICE_NAME:
        raise violation(
            "CreateServiceRequest",
            "service_id",
            "must begin with a letter, contain only lower case letters, digits and hyphens, not end with a hyphen, and be less "
            f"than {MAX_SERVICE_NAME + 1} characters.",
        )


def check_bounds(service: run_v2.Service, *, root: str) -> None:
    """Scaling, of the service and of the revision, and traffic. `root` is how refusals name the service.

    Raises:
        SimulatedError: INVALID_ARGUMENT, with Google's text.
    """
    for path, bounds in (("scaling", service.scaling), ("template.scaling", service.template.scaling)):
        _check_range(root, path, bounds.min_instance_count, bounds.max_instance_count)
    if "manual_instance_count" in service.scaling:
        if service.scaling.manual_instance_count < 0:
            raise violation(root, "scaling.manual_instance_count", _NEGATIVE)
        if not is_manual(service):
            raise violation(root, "scaling.manual_instance_count", "scaling mode must be set to MANUAL.")
    _check_set_points(service.template.scaling, root=root)
    _check_traffic(service.traffic, root=root)


def check_rest(service: run_v2.Service, name: ServiceName, *, root: str) -> None:
    """Everything else: what is written about the service, and its template with its containers.

    Raises:
        SimulatedError: INVALID_ARGUMENT, with Google's text.
    """
    template = service.template
    if len(service.description) > MAX_DESCRIPTION:
        raise violation(root, "description", f"length cannot exceed {MAX_DESCRIPTION}.")
    if run_v2.Service.pb(service).launch_stage not in _LAUNCH_STAGES or "launchStage" in extras_of(run_v2.Service.pb(service)):
        raise violation(root, "launch_stage", "only ALPHA, BETA, GA, or unspecified are supported.")
    for path, keys in (
        ("labels", service.labels),
        ("annotations", service.annotations),
        ("template.labels", template.labels),
        ("template.annotations", template.annotations),
    ):
        _check_keys(root, path, keys)
    _check_revision_name(template.revision, name, root=root)
    timeout = run_v2.RevisionTemplate.pb(template).timeout
    if timeout.seconds > MAX_TIMEOUT_SECONDS or (timeout.seconds == MAX_TIMEOUT_SECONDS and timeout.nanos):
        raise violation(root, "template.timeout", "maximum allowed time is one hour.")
    if timeout.seconds < 0 or timeout.nanos < 0:
        raise violation(root, "template.timeout", "must not be negative.")
    if not 0 <= template.max_instance_request_concurrency <= MAX_CONCURRENCY:
        raise violation(root, "template.max_instance_request_concurrency", f"Must be a number between 0 and {MAX_CONCURRENCY}.")
    _check_tags(service.traffic, name, root=root)
    _check_vpc_access(template.vpc_access, root=root)
    check_containers(template, root=root)


def _check_range(root: str, path: str, low: int, high: int) -> None:
    if low < 0:
        raise violation(root, f"{path}.min_instance_count", _NEGATIVE)
    if high < 0:
        raise violation(root, f"{path}.max_instance_count", _NEGATIVE)
    if 0 < high < low:
        raise violation(root, f"{path}.max_instance_count", "must be greater than or equal to min_instance_count.")


def _check_set_points(scaling: run_v2.RevisionScaling, *, root: str) -> None:
    """The targets of Cloud Run's autoscaler, which this client has no fields for. The limits are documented, the texts are not."""
    extras = extras_of(run_v2.RevisionScaling.pb(scaling))
    stated = {name: extras[name] for name in SET_POINTS if extras.get(name) is not None}
    for name, value in stated.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            text = f"Invalid value at 'service.template.scaling.{name}': {value!r} is not a number."
            raise SimulatedError("INVALID_ARGUMENT", text, field=f"template.scaling.{name}")
        if value != 0 and not MIN_SET_POINT <= value <= SET_POINTS[name]:
            text = f"must be 0 to disable it, or a number between {MIN_SET_POINT} and {SET_POINTS[name]}, inclusive."
            raise violation(root, f"template.scaling.{name}", text)
    if len(stated) == len(SET_POINTS) and not any(stated.values()):
        raise violation(root, "template.scaling", "CPU and concurrency scaling cannot both be disabled.")


def _check_traffic(traffic: Iterable[run_v2.TrafficTarget], *, root: str) -> None:
    targets = list(traffic)
    tags: set[str] = set()
    for index, target in enumerate(targets):
        at = f"traffic[{index}]"
        if not 0 <= target.percent <= WHOLE:
            raise violation(root, f"{at}.percent", f"must be a number between 0 and {WHOLE}.")
        if bool(target.revision) != (run_v2.TrafficTarget.pb(target).type_ == REVISION):
            raise violation(
                root, f"{at}.revision", "must be specified if and only if traffic type is TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION."
            )
        if target.tag and target.tag in tags:
            raise violation(root, f"{at}.tag", f"may not contain a duplicate tag: {target.tag}.")
        tags.add(target.tag)
    if targets and sum(target.percent for target in targets) != WHOLE:
        raise violation(root, "traffic", f"the sum of percentages should be {WHOLE}.")


def _check_tags(traffic: Iterable[run_v2.TrafficTarget], name: ServiceName, *, root: str) -> None:
    """The tags make host names: `TAG---SERVICE-...`."""
    for index, target in enumerate(traffic):
        tag = target.tag
        if not tag:
            continue
        if not _TAG.fullmatch(tag):
            # Made up: Knative's rule of tags (RFC 1035); Cloud Run's page on rollbacks asks for lower case.
            text = f"must contain only lower case letters, digits and hyphens, begin with a letter and not end with a hyphen: {tag!r}."
            raise violation(root, f"traffic[{index}].tag", text)
        if len(tag) + len(name.service) > MAX_TAG_AND_SERVICE_NAME:
            # Recorded from gcloud, whose field is `spec.traffic.tag`.
            text = (
                f"traffic tag '{tag}' and service name '{name.service}' together are too long. Combined traffic tag and service name "
                f"cannot exceed {MAX_TAG_AND_SERVICE_NAME} characters."
            )
            raise SimulatedError("INVALID_ARGUMENT", f"traffic.tag: {text}", field="traffic.tag")


def _check_vpc_access(access: run_v2.VpcAccess, *, root: str) -> None:
    """The texts are recorded."""
    at = "template.vpc_access"
    if access.connector and access.network_interfaces:
        raise violation(root, at, "one and only one of connector and network_interfaces must be set.")
    if len(access.network_interfaces) > 1:
        raise violation(root, f"{at}.network_interfaces", "only 1 network interface is allowed.")
    for interface in access.network_interfaces:
        if not interface.network and not interface.subnetwork:
            raise violation(root, f"{at}.network_interfaces[0]", "at least one of network or subnetwork should not be empty.")
    if access.connector and not _CONNECTOR.fullmatch(access.connector):
        raise violation(root, f"{at}.connector", "must be in form projects/{project}/locations/{location}/connectors/{connector}.")


def _check_keys(root: str, path: str, keys: Mapping[str, Any]) -> None:
    reserved = sorted(key for key in keys if key.startswith(_SYSTEM_PREFIXES))
    if reserved:
        kind = "labels" if path.endswith("labels") else "annotations"
        text = f"system annotations are not supported. Use the fields of the API instead of these {kind}: {', '.join(reserved)}."
        raise violation(root, path, text)


def _check_revision_name(revision: str, name: ServiceName, *, root: str) -> None:
    if not revision:
        return
    if not revision.startswith(f"{name.service}-"):
        raise violation(
            root,
            "template.revision",
            "Revision name must be prefixed by the name of the enclosing Configuration or Service with a trailing -.",
        )
    if not _REVISION_NAME.fullmatch(revision) or len(revision) > MAX_REVISION_NAME:
        text = f"must conform to RFC 1123: lower case letters, digits and hyphens, at most {MAX_REVISION_NAME} characters."
        raise violation(root, "template.revision", text)
