"""What Cloud Run's texts mean: of requests, of the Admin API, of operations and conditions, of log lines. Pure.

The same gRPC code stands for a typing mistake and a missing quota, and the same failure has had different codes in different APIs
(3, 9 and 13): what tells is the text. `KNOWN` is the table, most specific first.

Sources: Cloud Run's troubleshooting page, the refusals of the Admin API v2 as public projects recorded them, gcloud's own source.
Patterns hold the stable part of a text; names and numbers around it vary.
"""

import re
from collections.abc import Iterable

from shared.cloudrun.quotas import allowed_instances_in, violations_in
from shared.cloudrun.server_texts import ServerText
from shared.cloudrun.text_meanings import KnownText, TextAnswer, TextMeaning, Where

RATE_RETRY_SECONDS = 60.0
"""The Admin API's rate limits are per minute."""
PROVISIONING_RETRY_SECONDS = 300.0
"""No GPU to be had now: it frees up when other instances end, which takes minutes."""
SETTLING_RETRY_SECONDS = 120.0
"""A permission that has not spread yet, or a platform that was late."""
SCANNED_CHARACTERS = 10_000
"""A text is read up to here; Cloud Run's own are far shorter."""

_DATA = frozenset({Where.DATA_PATH, Where.LOG})
_API = frozenset({Where.ADMIN_API})
_ROLLOUT = frozenset({Where.OPERATION, Where.CONDITION, Where.LOG, Where.ADMIN_API})
"""A failed rollout is told by its operation, its condition, the system's log line, and at times by the next call."""
_LOG = frozenset({Where.LOG})


def _like(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_REQUESTS: tuple[KnownText, ...] = (
    KnownText(
        name="no-instance-could-be-started",
        pattern=_like(r"no available instance"),
        where=_DATA,
        meaning="A request got no instance, and 500 says that the maximum was not the reason: a burst, or starts that fail",
        answer=TextAnswer.IGNORE_FOR_SCALING,
        advice="Look for failed starts and for instances that ran out of memory before raising anything",
        http_statuses=frozenset({500}),
    ),
    KnownText(
        name="no-available-instance",
        pattern=_like(r"no available instance|^\W*rate exceeded\W*$"),
        where=_DATA,
        meaning="A request found no instance with room: the maximum is reached, or instances start too slowly",
        answer=TextAnswer.SCALE_SIGNAL,
        advice="At the maximum: raise it if the quota allows, or the concurrency if the GPU has headroom. Below it: raise the minimum and "
        "look at how long a start takes. Instances that run out of memory give the same text",
    ),
    KnownText(
        name="instance-limit-at-high-concurrency",
        pattern=_like(r"probably has reached its maximum container instance limit"),
        where=_DATA,
        meaning="Instances were too busy to take all the requests they had accepted",
        answer=TextAnswer.SATURATED,
        advice="Lower the concurrency, or raise the maximum",
    ),
    KnownText(
        name="malformed-response",
        pattern=_like(r"HTTP response was malformed or connection to the instance had an error"),
        where=_DATA,
        meaning="The instance ended or closed the connection in the middle of a request: a crash, no memory, or no sockets left",
        answer=TextAnswer.IGNORE_FOR_SCALING,
        advice="Look at restarts and memory; more instances do not help",
    ),
    KnownText(
        name="request-timeout",
        pattern=_like(r"reached the maximum request timeout"),
        where=_DATA,
        meaning="A request took longer than the service's timeout: the instance is saturated, or the timeout too short for the model",
        answer=TextAnswer.SATURATED,
        advice="Lower the concurrency before raising the timeout",
    ),
    KnownText(
        name="out-of-memory",
        pattern=_like(r"memory limit of .{1,40}? exceeded with|using too much memory and was terminated"),
        where=_DATA,
        meaning="An instance used more memory than it has and was ended",
        answer=TextAnswer.IGNORE_FOR_SCALING,
        advice="Give it more memory or a smaller model; 429 and 503 that come with it are not a lack of instances",
    ),
    KnownText(
        name="instance-did-not-start",
        pattern=_like(r"failed because the instance could not start successfully"),
        where=_DATA,
        meaning="An instance did not become healthy in time",
        answer=TextAnswer.IGNORE_FOR_SCALING,
        advice="Look at its log and at the secrets and files it needs; more instances do not help",
    ),
)

_CONFLICTS: tuple[KnownText, ...] = (
    KnownText(
        name="stale-etag",
        pattern=_like(r"conflict for resource .{1,200}?was specified but current version is"),
        where=_API,
        meaning="The service's version moved since it was read; Cloud Run's own reconciliation moves it too",
        answer=TextAnswer.REREAD,
        advice="Read the service again, compare generations, plan and write anew",
    ),
    KnownText(
        name="revision-name-taken",
        pattern=_like(r"revision named '(?P<captured>[^']{1,100})' with different configuration already exists"),
        where=_API,
        meaning="The template changed while it still carries the name of an existing revision",
        answer=TextAnswer.RENAME_REVISION,
        advice="Take the next revision number, or leave the name empty; the same name never works again",
    ),
    KnownText(
        name="resource-exists",
        pattern=_like(r"resource '(?P<captured>[^']{1,300})' already exists"),
        where=_API,
        meaning="There is a service of that name already",
        answer=TextAnswer.PARK,
        advice="Read it and update it instead of creating it, or choose another name",
    ),
    KnownText(
        name="api-rate",
        pattern=_like(r"quota exceeded for quota metric '[^']{0,100}requests'"),
        where=_API,
        meaning="Too many calls of the Admin API in this minute",
        answer=TextAnswer.RETRY,
        advice="Wait a minute; it says nothing about the service's capacity",
        after_seconds=RATE_RETRY_SECONDS,
    ),
)

_QUOTAS: tuple[KnownText, ...] = (
    KnownText(
        name="no-capacity-at-provisioning",
        pattern=_like(r"quota exceeded for total allowable"),
        where=_ROLLOUT,
        meaning="The write was accepted, and there were no GPUs for its instances: a new revision starts beside the old one and needs "
        "GPUs of its own",
        answer=TextAnswer.NO_CAPACITY,
        advice="The old revision keeps its traffic. Try again later under a new revision number; keep one GPU free for rollouts, or scale "
        "the old revision down first",
        after_seconds=PROVISIONING_RETRY_SECONDS,
    ),
    KnownText(
        name="no-zonal-redundancy-quota",
        pattern=_like(r"you do not have quota for using gpus with zonal redundancy"),
        where=_API,
        meaning="The project has no GPU quota with zonal redundancy in this region",
        answer=TextAnswer.QUOTA,
        advice="Ask for it at g.co/cloudrun/gpu-quota, or set gpu_zonal_redundancy_disabled where a zone's outage may be risked",
    ),
    KnownText(
        name="no-gpu-quota",
        pattern=_like(r"you do not have quota for using gpus"),
        where=_API,
        meaning="The project has no GPU quota without zonal redundancy in this region",
        answer=TextAnswer.QUOTA,
        advice="Ask for it at g.co/cloudrun/gpu-quota; a project's first GPU deployment in a region is usually granted three",
    ),
    KnownText(
        name="cpu-or-memory-quota",
        pattern=_like(r"max instances must be set to \d{1,9} or fewer (?:in order )?to set the requested total|\b(?:Cpu|Mem)AllocPer\w"),
        where=_API,
        meaning="Max instances times CPU or memory is above the project's quota in this region; with large GPUs this is often the limit",
        answer=TextAnswer.QUOTA,
        advice="Ask for more CPU and memory quota, or use fewer instances; old revisions may count",
    ),
    KnownText(
        name="gpu-quota",
        pattern=_like(r"max instances must be set to \d{1,9} or fewer|GpuAlloc\w*?PerProjectRegion\s{1,9}requested"),
        where=_API,
        meaning="Max instances times GPUs is above the project's GPU quota in this region",
        answer=TextAnswer.QUOTA,
        advice="Stay at what is allowed, ask for more at g.co/cloudrun/gpu-quota, and delete old revisions: they may count",
    ),
    KnownText(
        name="jobs-without-zonal-redundancy",
        pattern=_like(r"unable to offer gpu enabled instances with zonal redundancy"),
        where=_API,
        meaning="Cloud Run has no GPUs with zonal redundancy to give (jobs never have them)",
        answer=TextAnswer.PARK,
        advice="Turn zonal redundancy off (gpu_zonal_redundancy_disabled)",
    ),
)

_ROLLOUTS: tuple[KnownText, ...] = (
    KnownText(
        name="vpc-permission-not-there-yet",
        pattern=_like(r"health check failed for the deployment with the user-provided vpc network.{0,40}permission denied"),
        where=_ROLLOUT,
        meaning="The permission on the VPC network has not reached Cloud Run yet",
        answer=TextAnswer.RETRY,
        advice="The same again in some minutes; if it stays, grant the Cloud Run service agent the network's use",
        after_seconds=SETTLING_RETRY_SECONDS,
        retries=3,
    ),
    KnownText(
        name="readiness-deadline",
        pattern=_like(r"resource readiness deadline exceeded"),
        where=_ROLLOUT,
        meaning="Cloud Run did not get the revision ready in its own time: the platform, or an image it cannot import",
        answer=TextAnswer.RETRY,
        advice="Once more; if it stays, look at the image's layers and file names, and at Google's status page",
        after_seconds=SETTLING_RETRY_SECONDS,
        retries=1,
    ),
    KnownText(
        name="startup-probe-deadline",
        pattern=_like(r"default startup tcp probe failed \d{1,4} times?\b.{0,200}?deadline_exceeded"),
        where=_LOG,
        meaning="The port did not open within the 240 s of the start-up probe that Cloud Run adds by itself",
        answer=TextAnswer.FAILED_REVISION,
        advice="Set a start-up probe of your own: with a GPU its window may be 1800 s",
    ),
    KnownText(
        name="startup-probe-failed",
        pattern=_like(r"startup (?:http|tcp|grpc) probe failed \d{1,4} times? consecutively"),
        where=_LOG,
        meaning="The start-up probe used up its failure_threshold",
        answer=TextAnswer.FAILED_REVISION,
        advice="Look at the container's log before it; if the model only loads slowly, raise failure_threshold",
    ),
    KnownText(
        name="container-did-not-start",
        pattern=_like(r"container failed to start"),
        where=_ROLLOUT,
        meaning="The container did not open its port in time: it crashed, listens on another port, or its probe gives up too early",
        answer=TextAnswer.FAILED_REVISION,
        advice="Traffic stayed on the old revision. Read the container's log; change the template, the same one fails again",
    ),
    KnownText(
        name="image-not-found",
        pattern=_like(r"\bimage '(?P<captured>[^']{1,500})' not found"),
        where=_ROLLOUT,
        meaning="There is no image of that name",
        answer=TextAnswer.PARK,
        advice="Correct the image, or push it; name it by digest",
    ),
    KnownText(
        name="image-permission",
        pattern=_like(r"must have permission to read the image,? ?(?P<captured>\S{1,500}?)[.,]?(?:\s|$)"),
        where=_ROLLOUT,
        meaning="Cloud Run may not read the image (or there is none of that name)",
        answer=TextAnswer.PARK,
        advice="Correct the image's name, or give the Cloud Run service agent roles/artifactregistry.reader on its repository",
    ),
    KnownText(
        name="act-as-denied",
        pattern=_like(r"iam\.serviceaccounts\.actas"),
        where=_ROLLOUT,
        meaning="The caller may not deploy as the service's own service account, or there is no such account",
        answer=TextAnswer.PARK,
        advice="Grant roles/iam.serviceAccountUser on that service account to whoever writes the service",
    ),
    KnownText(
        name="secret-access",
        pattern=_like(r"permission denied on secret|secretmanager\.versions\.access|secret .{1,300}? was not found"),
        where=_ROLLOUT,
        meaning="The revision's service account may not read a secret, or there is no such secret or version",
        answer=TextAnswer.PARK,
        advice="Correct the secret's name and version, or grant roles/secretmanager.secretAccessor on it",
    ),
    KnownText(
        name="revision-gone",
        pattern=_like(r"revision '?(?P<captured>[a-z0-9-]{1,63})'? does not exist or is deleted"),
        where=_ROLLOUT,
        meaning="Traffic or a tag names a revision that is not there any more",
        answer=TextAnswer.PARK,
        advice="Take that target or tag out of traffic",
    ),
)

_CALLS: tuple[KnownText, ...] = (
    KnownText(
        name="launch-stage",
        pattern=_like(r"not supported in the declared launch stage"),
        where=_API,
        meaning="A preview feature is used and the service declares no preview stage",
        answer=TextAnswer.PARK,
        advice="Set launch_stage to BETA (or ALPHA, as the text says), or take the feature away",
    ),
    KnownText(
        name="not-implemented",
        pattern=_like(r"operation is not implemented, or supported, or enabled|methodnotimplemented"),
        where=_API,
        meaning="The call named no region that Cloud Run knows: a wrong parent, a wrong region, or no routing header",
        answer=TextAnswer.BUG,
        advice="Ask with projects/P/locations/REGION; '-' is no region there",
    ),
)

_LINES: tuple[KnownText, ...] = (
    KnownText(
        name="instance-starting",
        pattern=_like(r"starting new instance\. reason: (?P<captured>[A-Z_]{1,60})"),
        where=_LOG,
        meaning="An instance is being started",
        answer=TextAnswer.NOTE,
        advice="Nothing to do",
    ),
    KnownText(
        name="ready-true",
        pattern=_like(r"ready condition status changed to true for (?P<captured>(?:revision|service) \S{1,100})"),
        where=_LOG,
        meaning="The revision or service has become ready",
        answer=TextAnswer.NOTE,
        advice="Read the service: its generations say whether this is the newest change",
    ),
    KnownText(
        name="ready-false",
        pattern=_like(r"ready condition status changed to false for (?P<captured>(?:revision|service) \S{1,100})"),
        where=_LOG,
        meaning="The revision or service is not ready; the message in the line says why",
        answer=TextAnswer.WAIT,
        advice="Read the service: its condition has the reason",
    ),
)

_VAGUE: dict[ServerText, str] = {
    ServerText.DEPENDENCY_UNKNOWN: r"depend.{0,200}?does not exist",
    ServerText.TRAFFIC_TOTAL: r"traffic.{0,200}?should be 100",
    ServerText.GPU_ONE_CONTAINER: r"gpu.{0,200}?on one container",
}
"""Texts too short to tell anything alone, with the word that makes them tell."""


def _validation() -> Iterable[KnownText]:
    for text in ServerText:
        yield KnownText(
            name=f"invalid-{text.name.lower().replace('_', '-')}",
            pattern=_like(_VAGUE.get(text, re.escape(text))),
            where=_API,
            meaning=f"Cloud Run's validation refuses a value: {text}",
            answer=TextAnswer.PARK,
            advice="Correct the field that the text names",
        )


KNOWN: tuple[KnownText, ...] = (*_REQUESTS, *_CONFLICTS, *_QUOTAS, *_ROLLOUTS, *_CALLS, *_LINES, *_validation())
"""Every text; of several that match the first counts."""


def meaning_of_text(text: str, *, where: Where | None = None, http_status: int | None = None) -> TextMeaning | None:
    """What a text of Cloud Run means; None if this code does not know it.

    `where` it was seen narrows the search (None: anywhere); `http_status` tells apart what only the status does.
    """
    scanned = " ".join(text[:SCANNED_CHARACTERS].split())
    for known in KNOWN:
        if where is not None and where not in known.where:
            continue
        if known.http_statuses and http_status not in known.http_statuses:
            continue
        found = known.pattern.search(scanned)
        if found is not None:
            return TextMeaning(
                known=known,
                violations=violations_in(scanned),
                allowed_instances=_allowed_instances(known, scanned),
                captured=found.groupdict().get("captured"),
            )
    return None


def _allowed_instances(known: KnownText, text: str) -> int | None:
    stated = allowed_instances_in(text)
    if stated is None and known.name in {"no-zonal-redundancy-quota", "no-gpu-quota"}:
        return 0
    return stated
