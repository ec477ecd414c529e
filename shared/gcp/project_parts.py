"""What Google's APIs answer about a deployment, as the doctor's records.

Field names as in the discovery documents of pubsub v1, cloudfunctions v2, cloudscheduler v1, firestore v1, logging v2, cloudquotas v1,
storage v1 and of IAM policies. A field with its type's zero is left out of an answer.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from shared.doctor.picture import Binding, Database, Function, Job, Notification, NotSeen, Policy, Repository, Sink, Subscription
from shared.doctor.plan_values import seconds
from shared.records.subject import ServiceId

TTL_STATES = frozenset({"ACTIVE", "CREATING"})
"""While it is created, new documents have it already."""


HIDDEN_CONDITION = "_withcond_"
"""What follows a role's name where an API shows a policy in the first version: with a condition, and without its words."""
DELETED = "deleted:"
"""Before a member that is no more."""
READY = "READY"
_NANOS = re.compile(r"(\.\d{6})\d+")
ABOVE = frozenset({"folder", "organization"})
_IMAGE = re.compile(
    r"(?P<location>[a-z0-9-]+)-docker\.pkg\.dev/(?:(?P<domain>[a-z0-9-]+(?:\.[a-z0-9-]+)+)/)?(?P<project>[a-z0-9-]+)/(?P<name>[a-z0-9-]+)/"
)


def short(value: object) -> str:
    """The last part of a resource's name."""
    return str(value).rpartition("/")[2]


def function_of(item: Mapping[str, Any]) -> Function:
    """A Function of cloudfunctions v2."""
    build, service = mapping(item, "buildConfig"), mapping(item, "serviceConfig")
    parts = str(item.get("name", "")).split("/")
    environment = mapping(service, "environmentVariables")
    return Function(
        name=parts[-1],
        region=parts[3] if len(parts) > 5 else None,  # noqa: PLR2004 (projects/P/locations/R/functions/F)
        state=text(item, "state"),
        entry_point=text(build, "entryPoint"),
        runtime=text(build, "runtime"),
        source_object=text(mapping(mapping(build, "source"), "storageSource"), "object"),
        account=text(service, "serviceAccountEmail"),
        environment={str(key): str(value) for key, value in environment.items()},
        uri=text(service, "uri"),
        ingress=text(service, "ingressSettings"),
        timeout_seconds=timeout if isinstance(timeout := service.get("timeoutSeconds"), int) else None,
    )


def named_in(value: str | None, homes: Collection[str]) -> str | None:
    """A resource's name without its project, where that is one of these; else in full, for it is another one of that name."""
    parts = (value or "").split("/")
    return short(value) if value and (len(parts) < 2 or parts[0] != "projects" or parts[1] in homes) else value  # noqa: PLR2004


def subscription_of(item: Mapping[str, Any], homes: Collection[str]) -> Subscription:
    """A Subscription of pubsub v1. `homes` are the project's id and number."""
    push, dead = mapping(item, "pushConfig"), mapping(item, "deadLetterPolicy")
    deadline = item.get("ackDeadlineSeconds")
    return Subscription(
        name=short(item.get("name", "")),
        topic=named_in(text(item, "topic"), homes),
        push_endpoint=text(push, "pushEndpoint"),
        push_audience=text(mapping(push, "oidcToken"), "audience"),
        push_account=text(mapping(push, "oidcToken"), "serviceAccountEmail"),
        has_push="pushEndpoint" in push,
        has_token="oidcToken" in push,
        unwrapped="noWrapper" in push,
        ack_deadline_seconds=deadline if isinstance(deadline, int) else None,
        # An empty policy is "never"; without any, Pub/Sub's 31 days hold.
        expires="expirationPolicy" not in item or "ttl" in mapping(item, "expirationPolicy"),
        has_dead_letters="deadLetterTopic" in dead,
        dead_letter_topic=named_in(text(dead, "deadLetterTopic"), homes),
        has_retry_policy="retryPolicy" in item,
        longest_wait_seconds=seconds(text(mapping(item, "retryPolicy"), "maximumBackoff")),
        state=text(item, "state"),
        filter=text(item, "filter"),
        detached=item.get("detached") is True,
        retention_seconds=seconds(text(item, "messageRetentionDuration")),
    )


def job_of(item: Mapping[str, Any], homes: Collection[str], now: datetime) -> Job:
    """A Job of cloudscheduler v1; its status is that of the last attempt."""
    status = mapping(item, "status")
    topic = named_in(text(mapping(item, "pubsubTarget"), "topicName"), homes)
    failed = f"{status.get('message') or 'code'} ({status['code']})" if status.get("code") else ""
    idle = _since(text(item, "lastAttemptTime"), now)
    return Job(short(item.get("name", "")), topic, text(item, "schedule"), text(item, "state"), failed, idle)


def _since(time: str | None, now: datetime) -> float | None:
    try:
        at = datetime.fromisoformat(_NANOS.sub(r"\1", time or ""))
    except ValueError:
        return None
    return (now - at).total_seconds() if at.tzinfo is not None else None


def sink_of(item: Mapping[str, Any]) -> Sink:
    """A LogSink of logging v2."""
    left_out = tuple(str(each.get("name")) for each in mappings(item, "exclusions") if not each.get("disabled"))
    return Sink(text(item, "destination"), text(item, "writerIdentity"), bool(item.get("disabled")), text(item, "filter"), left_out)


def database_of(item: Mapping[str, Any]) -> Database:
    """A Database of firestore v1."""
    return Database(text(item, "type"), text(item, "concurrencyMode"))


def ttl_of(items: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """Collection group and field of Fields of firestore v1 whose time-to-live holds."""
    return frozenset(_field(item) for item in items if text(mapping(item, "ttlConfig"), "state") in TTL_STATES)


def indexes_of(items: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Those with an ascending index over all collections of the name, and its state."""

    def states(item: Mapping[str, Any]) -> list[str]:
        return [
            text(index, "state") or READY
            for index in mappings(mapping(item, "indexConfig"), "indexes")
            if index.get("queryScope") == "COLLECTION_GROUP" and any(each.get("order") == "ASCENDING" for each in mappings(index, "fields"))
        ]

    found = {_field(item): states(item) for item in items}
    return {name: READY if READY in said else said[0] for name, said in found.items() if said}


def _field(item: Mapping[str, Any]) -> tuple[str, str]:
    parts = str(item.get("name", "")).split("/")
    return (parts[-3], parts[-1]) if len(parts) > 3 else ("", "")  # noqa: PLR2004 (collectionGroups/G/fields/F)


def policy_of(item: Mapping[str, Any], what: str = "getIamPolicy") -> Policy | NotSeen:
    """An IAM policy, of whatever version; one of another form was not seen. Without any binding the answer has no list of them."""
    bindings = item.get("bindings", [])
    found = list(map(_binding, bindings)) if isinstance(bindings, list) else [None]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else NotSeen(f"{what}: the answer is not as documented: its bindings are none")


def _binding(item: object) -> Binding | None:
    """What was deleted since, and stands in the policy still, is nobody."""
    if not isinstance(item, Mapping):
        return None
    members, named = item.get("members", []), text(item, "role")
    if named is None or not isinstance(members, list) or not all(isinstance(each, str) for each in members):
        return None
    role, hidden, _ = named.partition(HIDDEN_CONDITION)
    condition = str(mapping(item, "condition").get("expression", "")) if hidden or item.get("condition") else None
    return Binding(role, frozenset(each for each in members if not each.startswith(DELETED)), condition)


def ancestors_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    """Of a GetAncestryResponse of cloudresourcemanager v1 what stands above the project, nearest first."""
    ids = [mapping(each, "resourceId") for each in mappings(item, "ancestor")]
    return tuple(f"{kind}s/{name}" for kind, name in ((text(each, "type"), text(each, "id")) for each in ids) if kind in ABOVE and name)


def notification_of(item: Mapping[str, Any]) -> Notification:
    """A Notification of storage v1."""
    topic, events = text(item, "topic"), item.get("event_types")
    return Notification(
        topic=None if topic is None else topic.removeprefix("//pubsub.googleapis.com/"),
        events=frozenset(str(each) for each in (events if isinstance(events, list) else [])),
        payload=text(item, "payload_format"),
        prefix=text(item, "object_name_prefix") or "",
    )


def repository_of(image: str) -> Repository | None:
    """The repository of Artifact Registry that an image lies in; None where it lies elsewhere."""
    found = _IMAGE.match(image)
    if found is None:
        return None
    domain = f"{found['domain']}:" if found["domain"] else ""
    return Repository(domain + found["project"], found["location"], found["name"])


def quotas_of(items: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Quota id and region to value, of QuotaInfos of cloudquotas v1; what holds for a region by name wins over what holds for many."""
    found: dict[tuple[str, str], int] = {}
    named: dict[tuple[str, str], int] = {}
    for item in items:
        quota = str(item.get("quotaId"))
        for info in mappings(item, "dimensionsInfos"):
            value = _value(info)
            if value is None:
                continue
            region = text(mapping(info, "dimensions"), "region")
            if region is not None:
                named[quota, region] = value
            else:
                locations = info.get("applicableLocations")
                found |= {(quota, str(each)): value for each in (locations if isinstance(locations, list) else [])}
    return found | named


def _value(info: Mapping[str, Any]) -> int | None:
    """A quota of nothing is left out of the answer, its details are not."""
    if not isinstance(info.get("details"), Mapping):
        return None
    said = str(info["details"].get("value", "0"))
    return int(said) if said.removeprefix("-").isdigit() else None


def models_of(items: Iterable[Mapping[str, Any]]) -> Iterator[tuple[ServiceId, str | None]]:
    """The services whose documents are listed, and the folder of a bucket that each names; an id that is none is passed over."""
    for item in items:
        try:
            service = ServiceId.parse(short(item.get("name", "")))
        except ValueError:
            continue
        yield service, text(mapping(mapping(item, "fields"), "model_uri"), "stringValue")


def mapping(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object of that name; empty where there is none."""
    value = item.get(key)
    return value if isinstance(value, Mapping) else {}


def mappings(item: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The objects of the list of that name."""
    value = item.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def text(item: Mapping[str, Any], key: str) -> str | None:
    """The text of that name; None where there is none."""
    value = item.get(key)
    return value if isinstance(value, str) and value else None
