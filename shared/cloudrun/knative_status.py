"""What Cloud Run reports of a service, between v1's `status` and v2's output fields."""

import re

from shared.cloudrun.fields import Fields, Json, put

READY = "Ready"
LATEST = "TRAFFIC_TARGET_ALLOCATION_TYPE_LATEST"
REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
_UNSPECIFIED_TYPE = "TRAFFIC_TARGET_ALLOCATION_TYPE_UNSPECIFIED"

_STATES = {"True": "CONDITION_SUCCEEDED", "False": "CONDITION_FAILED", "Unknown": "CONDITION_RECONCILING"}
_STATUSES = {**{state: status for status, state in _STATES.items()}, "CONDITION_PENDING": "Unknown"}
_UNDER_WAY = frozenset({"CONDITION_PENDING", "CONDITION_RECONCILING"})
_SEVERITIES = {"Error": "ERROR", "Warning": "WARNING", "Info": "INFO"}
_SEVERITY_WORDS = {value: word for word, value in _SEVERITIES.items()}

REASONS = {
    "reason": (
        "UNKNOWN",
        "REVISION_FAILED",
        "PROGRESS_DEADLINE_EXCEEDED",
        "CONTAINER_MISSING",
        "CONTAINER_PERMISSION_DENIED",
        "CONTAINER_IMAGE_UNAUTHORIZED",
        "CONTAINER_IMAGE_AUTHORIZATION_CHECK_FAILED",
        "ENCRYPTION_KEY_PERMISSION_DENIED",
        "ENCRYPTION_KEY_CHECK_FAILED",
        "SECRETS_ACCESS_CHECK_FAILED",
        "WAITING_FOR_OPERATION",
        "IMMEDIATE_RETRY",
        "POSTPONED_RETRY",
        "INTERNAL",
        "VPC_NETWORK_NOT_FOUND",
    ),
    "revisionReason": (
        "PENDING",
        "RESERVE",
        "RETIRED",
        "RETIRING",
        "RECREATING",
        "HEALTH_CHECK_CONTAINER_ERROR",
        "CUSTOMIZED_PATH_RESPONSE_PENDING",
        "MIN_INSTANCES_NOT_PROVISIONED",
        "ACTIVE_REVISION_LIMIT_REACHED",
        "NO_DEPLOYMENT",
        "HEALTH_CHECK_SKIPPED",
        "MIN_INSTANCES_WARMING",
    ),
    "executionReason": (
        "JOB_STATUS_SERVICE_POLLING_ERROR",
        "NON_ZERO_EXIT_CODE",
        "CANCELLED",
        "CANCELLING",
        "DELETED",
        "DELAYED_START_PENDING",
    ),
}
"""v2's reasons of a condition, by the field they stand in. v1 has one field, in words such as `HealthCheckContainerError`."""

_REVISION_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/services/[^/]+/revisions/(?P<short>[^/]+)")


def _word(reason: str) -> str:
    return "".join(part.capitalize() for part in reason.split("_"))


_BY_WORD = {_word(reason): (field, reason) for field, reasons in REASONS.items() for reason in reasons}


def traffic_to_v2(source: Fields) -> Json:
    """One v1 traffic target as v2's; the URL of a target's tag is `uri` there."""
    target: Json = {}
    revision = source.text("revisionName")
    if source.flag("latestRevision"):
        target["type"] = LATEST
    elif revision:
        target["type"] = REVISION
    put(target, "revision", revision)
    put(target, "percent", source.whole("percent"))
    put(target, "tag", source.text("tag"))
    put(target, "uri", source.text("url"))
    return target


def traffic_to_v1(source: Fields) -> Json:
    """One v2 traffic target as v1's; a type that v1 would not give back stays."""
    target: Json = {}
    kind = source.word("type")
    revision = source.text("revision")
    if kind == LATEST:
        target["latestRevision"] = True
    if kind == LATEST or (kind == REVISION and revision) or (kind in {None, _UNSPECIFIED_TYPE} and not revision):
        source.drop("type")
    elif kind is None:
        source.keep(source.at("type"), None)
    put(target, "revisionName", revision)
    put(target, "percent", source.whole("percent"))
    put(target, "tag", source.text("tag"))
    put(target, "url", source.text("uri"))
    return target


def status_to_v2(status: Fields, target: Json, *, service_name: str) -> None:
    """Take v1's `status`; `service_name` is v2's name of the service, which revisions' full names begin with."""
    put(target, "uri", status.text("url"))
    if "address" in status:
        address = status.object("address")
        if address.peek("url") == target.get("uri"):
            address.drop("url")
    generation = status.whole("observedGeneration")
    put(target, "observedGeneration", str(generation) if generation else "")
    for name in ("latestReadyRevision", "latestCreatedRevision"):
        revision = status.text(f"{name}Name")
        full = service_name.startswith("projects/")
        put(target, name, f"{service_name}/revisions/{revision}" if revision and full else revision)
    put(target, "trafficStatuses", [traffic_to_v2(each) for each in status.objects("traffic")])
    conditions = [_condition_to_v2(each) for each in status.objects("conditions")]
    ready = next((each for each in conditions if each.get("type") == READY), None)
    if ready is not None:
        target["terminalCondition"] = ready
        conditions.remove(ready)
    put(target, "conditions", conditions)
    put(target, "reconciling", _under_way(target))


def status_to_v1(source: Fields, *, service_name: str) -> Json:
    """Take v2's output fields as v1's `status`; empty if there are none."""
    status: Json = {}
    uri = source.text("uri")
    if uri:
        status["url"] = uri
        status["address"] = {"url": uri}
    put(status, "observedGeneration", source.whole("observedGeneration"))
    for name in ("latestReadyRevision", "latestCreatedRevision"):
        _revision_to_v1(source, name, status, service_name)
    reconciling = bool(source.flag("reconciling"))
    conditions = []
    if _is_ready(source.peek("terminalCondition")):
        terminal = source.object("terminalCondition")
        state = terminal.word("state")
        conditions.append(_condition_to_v1(terminal))
    else:
        state = None
    if reconciling != (state in _UNDER_WAY):
        source.keep(source.at("reconciling"), True if reconciling else None)
    conditions += [_condition_to_v1(each) for each in source.objects("conditions")]
    put(status, "conditions", conditions)
    put(status, "traffic", [traffic_to_v1(each) for each in source.objects("trafficStatuses")])
    return status


def _is_ready(condition: object) -> bool:
    return isinstance(condition, dict) and condition.get("type") == READY


def _under_way(service: Json) -> bool:
    return service.get("terminalCondition", {}).get("state") in _UNDER_WAY


def _revision_to_v1(source: Fields, name: str, status: Json, service_name: str) -> None:
    """v1 has short names; a full name that does not begin as the service's stays as well."""
    revision = source.peek(name)
    if not isinstance(revision, str):
        return
    found = _REVISION_NAME.fullmatch(revision)
    short = found["short"] if found else revision
    status[f"{name}Name"] = short
    full = f"{service_name}/revisions/{short}" if service_name.startswith("projects/") else short
    if full == revision:
        source.drop(name)


def _condition_to_v2(source: Fields) -> Json:
    target: Json = {}
    put(target, "type", source.text("type"))
    _translated(source, "status", _STATES, target, "state")
    put(target, "message", source.text("message"))
    put(target, "lastTransitionTime", source.text("lastTransitionTime"))
    _translated(source, "severity", _SEVERITIES, target, "severity")
    known = _BY_WORD.get(source.word("reason") or "")
    if known:
        field, reason = known
        target[field] = reason
        source.drop("reason")
    return target


def _condition_to_v1(source: Fields) -> Json:
    target: Json = {}
    put(target, "type", source.text("type"))
    state = source.word("state")
    _translated(source, "state", _STATUSES, target, "status")
    if state == "CONDITION_PENDING":
        source.keep(source.at("state"), state)
    put(target, "message", source.text("message"))
    put(target, "lastTransitionTime", source.text("lastTransitionTime"))
    _translated(source, "severity", _SEVERITY_WORDS, target, "severity")
    for field, reasons in REASONS.items():
        reason = source.word(field)
        if reason in reasons:
            target["reason"] = _word(reason)
            source.drop(field)
    return target


def _translated(source: Fields, name: str, words: dict[str, str], target: Json, new: str) -> None:
    value = source.word(name)
    if value in words:
        target[new] = words[value]
        source.drop(name)
