"""What Cloud Run, its Admin API and Cloud Monitoring write, beside what `shared.cloudrun.texts` knows already. Pure.

Rows of `KNOWN` there become signatures here by their name; what follows them are forms that only evidence needs: probes with their
kind and outcome, ends of containers, conditions, progress, queries.
"""

from shared.cloudrun.conditions import REASONS, VerdictKind
from shared.cloudrun.texts import KNOWN
from shared.diagnose.signatures import Signature, Speaker, like

_PLATFORM, _API, _MONITORING = Speaker.PLATFORM, Speaker.ADMIN_API, Speaker.MONITORING
_TROUBLESHOOTING = "Cloud Run's troubleshooting page"

_BY_NAME: dict[str, tuple[str, str | None, float, Speaker]] = {
    "no-instance-could-be-started": ("no-instance-500", None, 0.0, _PLATFORM),
    "instance-limit-at-high-concurrency": ("no-instance", None, 0.0, _PLATFORM),
    "malformed-response": ("malformed", None, 0.0, _PLATFORM),
    "request-timeout": ("platform-timeout", "request-timeout", 0.92, _PLATFORM),
    "out-of-memory": ("memory-limit", "host-memory-exceeded", 0.95, _PLATFORM),
    "stale-etag": ("stale-etag", "stale-etag", 0.95, _API),
    "revision-name-taken": ("revision-name-taken", "revision-name-conflict", 0.95, _API),
    "api-rate": ("api-rate", "admin-api-rate-limit", 0.95, _API),
    "no-capacity-at-provisioning": ("no-gpu-left", "gpu-surge-at-rollout", 0.95, _PLATFORM),
    "no-zonal-redundancy-quota": ("no-redundant-quota", "gpu-quota-refused", 0.95, _API),
    "cpu-or-memory-quota": ("cpu-memory-quota", "cpu-memory-quota-refused", 0.95, _API),
    "jobs-without-zonal-redundancy": ("no-redundant-quota", "gpu-quota-refused", 0.8, _API),
    "vpc-permission-not-there-yet": ("vpc-permission", "platform-transient", 0.93, _PLATFORM),
    "readiness-deadline": ("readiness-deadline", "platform-transient", 0.9, _PLATFORM),
    "container-did-not-start": ("not-listening", None, 0.0, _PLATFORM),
    "image-not-found": ("image-missing", "access-denied", 0.7, _PLATFORM),
    "image-permission": ("image-denied", "access-denied", 0.95, _PLATFORM),
    "act-as-denied": ("act-as-denied", "access-denied", 0.93, _API),
    "secret-access": ("secret-denied", "access-denied", 0.95, _PLATFORM),
    "launch-stage": ("launch-stage", "api-request-invalid", 0.95, _API),
    "not-implemented": ("not-implemented", "api-request-invalid", 0.93, _API),
    "instance-starting": ("instance-starting", None, 0.0, _PLATFORM),
}
"""Rows that are read as they stand; `no-available-instance`, the GPU quota's, the probes' and validation's have forms of their own "
"below."""


def _known() -> tuple[Signature, ...]:
    rows = []
    for known in KNOWN:
        if known.name in _BY_NAME:
            sign, cause, weight, speaker = _BY_NAME[known.name]
            rows.append(
                Signature(
                    sign,
                    like(known.pattern.pattern),
                    cause,
                    weight,
                    speaker,
                    _lower(known.meaning),
                    "shared.cloudrun.texts",
                    known.http_statuses,
                )
            )
        elif known.name.startswith("invalid-"):
            rows.append(
                Signature(
                    "field-refused",
                    like(known.pattern.pattern),
                    "api-request-invalid",
                    0.88,
                    _API,
                    _lower(known.meaning),
                    "shared.cloudrun.texts",
                )
            )
    return tuple(rows)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _row(sign: str, pattern: str, cause: str | None, weight: float, *, means: str, source: str = _TROUBLESHOOTING) -> Signature:
    return Signature(sign, like(pattern), cause, weight, _PLATFORM, means, source)


def _api(sign: str, pattern: str, cause: str | None, weight: float, *, means: str, source: str) -> Signature:
    return Signature(sign, like(pattern), cause, weight, _API, means, source)


_REQUESTS: tuple[Signature, ...] = (
    _row(
        "no-instance",
        r"no available instance|\brate exceeded\b(?! for)",
        None,
        0.0,
        means="a request found no instance with room; `Rate exceeded.` is the body of that 429 and no limit of an API",
    ),
    _row(
        "memory-limit",
        r"memory limit of .{1,40}? exceeded|(?:found to be )?using too much memory|container ran out of memory|out-of-memory event",
        "host-memory-exceeded",
        0.95,
        means="an instance used more memory than its limit and was ended",
    ),
    _row(
        "killed",
        r"exit\(137\)|exit(?:ed with)?(?: status| code)? 137\b|uncaught signal: 9|terminated on signal 9|\boomkilled\b|\bsigkill\b",
        "host-memory-exceeded",
        0.5,
        means="the container was killed (137 is signal 9), which is what happens at the memory limit",
    ),
    _row("ended", r"container called exit\((?P<status>\d{1,3})\)", None, 0.0, means="the container ended by itself"),
    _row(
        "upstream-timeout",
        r"upstream request timeout|504 gateway time-?out",
        "request-timeout",
        0.7,
        means="no answer came within the request's timeout",
    ),
)

_STARTS: tuple[Signature, ...] = (
    _row(
        "not-listening",
        r"failed to start and (?:then )?listen on the port .{0,60}?\bport(?:=(?P<port>\d{1,5})\b| environment variable)"
        r"|healthcheckcontainererror|health_check_container_error|container failed the configured startup probe",
        None,
        0.0,
        means="nothing answered on the port in time; the line does not say why",
    ),
    _row(
        "startup-probe",
        r"startup (?P<kind>http|tcp|grpc) probe failed(?: (?P<times>\d{1,4}) times?)?(?:.{0,200}?on port (?P<port>\d{1,5}))?",
        None,
        0.0,
        means="the start-up probe used up its attempts",
    ),
    _row(
        "liveness-probe",
        r"(?:liveness|readiness) (?:(?:http|tcp|grpc) )?probe (?:has )?failed|terminat\w{1,6} .{0,80}liveness",
        "probe-misconfigured",
        0.75,
        means="a probe took a running instance out of service",
    ),
    _row(
        "probe-path",
        r"(?:startup|liveness|readiness).{0,300}?probe.{0,400}?(?:\b404\b|not found|unimplemented|unknown service|status code \d{3})",
        "probe-misconfigured",
        0.9,
        means="the server answers, and says that it does not have what the probe asks for",
        source="Cloud Run's system log; kubeflow 368",
    ),
    _row(
        "architecture",
        r"exec format error|must support amd64/linux|no match(?:ing manifest)? for (?:linux/amd64|platform in manifest)",
        "image-architecture",
        0.95,
        means="the image's programs are built for another processor (Cloud Run needs linux/amd64)",
        source="kernel, container runtime; functions-framework-dart 332",
    ),
)

_PROGRESS = "|".join(
    sorted(name.replace("_", "_?") for name, verdict in REASONS.items() if verdict.kind is VerdictKind.WAIT and "_" in name)
)
"""Reasons of a condition that goes on by itself, in the spelling of v2 and of v1; `PENDING` and `RECREATING` alone are plain words."""

_CONDITIONS: tuple[Signature, ...] = (
    _row(
        "condition-denied",
        r"container_?permission_?denied|secrets_?access_?check_?failed|container_?image_?unauthorized|encryption_?key_?permission_?denied",
        "access-denied",
        0.85,
        means="the condition's reason is a missing permission",
        source="Admin API v2: Condition.CommonReason",
    ),
    _row(
        "permission",
        r"permission '?[a-z]{2,30}(?:\.[a-zA-Z]{2,40}){2}'? denied|does not have (?:storage|artifactregistry|secretmanager"
        r"|run)\.[\w.]{3,60} access"
        r"|caller does not have permission|denied: permission|pull access denied|permission denied on (?:bucket|secret|resource)"
        r"|\b403 forbidden\b.{0,200}(?:storage|artifact|registry)|storage\.googleapis\.com.{0,200}\b403\b"
        r"|\b(?:code|status|response code) ?:?=? ?403\b.{0,200}gs://|gs://\S{1,400}.{0,120}\b403\b",
        "access-denied",
        0.88,
        means="an account lacks a permission",
        source="IAM's refusals",
    ),
    _row(
        "platform-error",
        r"error during container import|an internal error (?:has )?occurred|internal error occurred.{0,80}try again"
        r"|progress_?deadline_?exceeded",
        "platform-transient",
        0.65,
        means="a step of the platform itself failed",
    ),
    _row(
        "in-progress",
        rf"\b(?:{_PROGRESS})\b|\bcondition_(?:pending|reconciling)\b|reason[\"':= ]{{1,4}}(?:pending|recreating)\b"
        rf"|revision_reason: ?pending\b",
        "rollout-in-progress",
        0.85,
        means="the condition says that the change is under way",
        source="Admin API v2: Condition reasons",
    ),
    _row(
        "reconciling",
        r"reconciling[\"']?\s?[:=] ?true",
        "rollout-in-progress",
        0.3,
        means="Cloud Run is still at work on the last change",
        source="Admin API v2",
    ),
    _row(
        "condition-failed",
        r"condition_failed|is not ready and cannot serve traffic|ready[\"': ]{1,4}false"
        r"|type[\"':= ]{1,4}ready[\"',; ]{1,4}status[\"':= ]{1,5}false|status[\"':= ]{1,5}false[\"',; ]{1,4}type[\"':= ]{1,4}ready",
        None,
        0.0,
        means="the revision did not become ready",
        source="Admin API v2",
    ),
    _row(
        "condition-open",
        r"type[\"':= ]{1,4}ready[\"',; ]{1,4}status[\"':= ]{1,5}unknown|status[\"':= ]{1,5}unknown[\"',; ]{1,4}type[\"':= ]{1,4}ready"
        r"|\bready[\"': ]{1,4}unknown\b",
        "rollout-in-progress",
        0.3,
        means="Cloud Run does not know yet whether the revision becomes ready",
        source="Knative's conditions",
    ),
    _row(
        "condition-succeeded",
        r"condition_succeeded|ready[\"': ]{1,4}true|deploying revision succeeded"
        r"|type[\"':= ]{1,4}ready[\"',; ]{1,4}status[\"':= ]{1,5}true|status[\"':= ]{1,5}true[\"',; ]{1,4}type[\"':= ]{1,4}ready",
        None,
        0.0,
        means="the last change is in force",
        source="Admin API v2",
    ),
    _row(
        "latest-ready",
        r"latest_?ready_?revision(?:_?name)?[\"']?\s?[:=] ?[\"']?(?:projects/\S{1,200}/revisions/)?(?P<revision>[a-z][a-z0-9-]{1,62})",
        None,
        0.0,
        means="names the newest revision that is ready",
        source="Admin API v2",
    ),
    _row(
        "latest-created",
        r"latest_?created_?revision(?:_?name)?[\"']?\s?[:=] ?[\"']?(?:projects/\S{1,200}/revisions/)?(?P<revision>[a-z][a-z0-9-]{1,62})",
        None,
        0.0,
        means="names the newest revision",
        source="Admin API v2",
    ),
    _row(
        "serves-nothing",
        r"revision \[?(?P<revision>[a-z][a-z0-9-]{1,62})\]? has been deployed and is serving 0 percent of traffic",
        "traffic-pinned",
        0.7,
        means="the new revision was made and is ready, and gets no traffic",
        source="gcloud run deploy",
    ),
    _row(
        "update-traffic",
        r"update-traffic\b.{0,200}?--to-revisions[= ]|--no-traffic\b",
        "traffic-pinned",
        0.4,
        means="somebody gave the traffic to a named revision; from then on new ones get none",
        source="Cloud Run's page on rollbacks",
    ),
)

_CALLS: tuple[Signature, ...] = (
    _api(
        "no-gpu-quota",
        r"you do not have quota for using gpus(?! with zonal)",
        "gpu-quota-refused",
        0.95,
        means="the project has no GPU quota without zonal redundancy in this region",
        source="gcloud's exceptions.py",
    ),
    _api(
        "gpu-quota",
        r"max instances must be set to \d{1,9} or fewer in order to set gpu|gpualloc\w{0,80}?perprojectregion\s{1,9}requested",
        "gpu-quota-refused",
        0.95,
        means="maximum instances x GPUs is above the project's GPU quota",
        source="pulumi-gcp 3794",
    ),
    _api(
        "cpu-memory-quota",
        r"for the specified value, max_?scale may not exceed (?P<fits>\d{1,9})",
        "cpu-memory-quota-refused",
        0.9,
        means="maximum instances times CPU or memory is above the project's quota in this region (the older words of that refusal)",
        source="googlecodelabs/feedback 1210; datasette 1779",
    ),
    _api(
        "api-rate",
        r"quota exceeded for quota metric|rate_limit_exceeded.{0,200}run\.googleapis\.com|run\.googleapis\.com.{0,200}rate_limit_exceeded"
        r"|(?:read|write) requests per minute per (?:region|project)",
        "admin-api-rate-limit",
        0.95,
        means="too many calls of the Admin API in this minute; requests to the service do not count there",
        source="googleapis/repo-automation-bots 4469",
    ),
    _api(
        "stale-etag",
        r"was specified but current version is|etag (?:mismatch|does not match)|resourceversion.{0,80}(?:conflict|does not match)"
        r"|\b412 precondition failed",
        "stale-etag",
        0.93,
        means="the service's version moved since it was read",
        source="Admin API, AIP-154",
    ),
    _api(
        "revision-name-taken",
        r"revision named .{1,100} already exists|revision '?[a-z0-9-]{3,63}'? with different configuration",
        "revision-name-conflict",
        0.95,
        means="the template still carries the name of an existing revision",
        source="terraform-provider-google 14569",
    ),
    _api(
        "exists",
        r"\b(?:resource|requested entity|service)(?: '[^']{1,300}')? already exists",
        "api-request-invalid",
        0.6,
        means="something of that name is there already",
        source="terraform-provider-google 13921, 16591",
    ),
    _api(
        "field-refused",
        r"\b400\b.{0,200}(?:template|spec|scaling|metadata)\.[\w.\[\]/-]{3,200}:|invalid value at '|invalid_argument.{0,120}\b(?:service"
        r"|template|spec)\.\w"
        r"|unknown name \"|violation in (?:create|update)service",
        "api-request-invalid",
        0.7,
        means="the Admin API refuses a field of the request",
        source="google.rpc.BadRequest",
    ),
)

_QUERIES: tuple[Signature, ...] = (
    Signature(
        "aligner-refused",
        like(
            r"aligner cannot be applied|perseriesaligner had an invalid value|reducer cannot be applied"
            r"|crossseriesreducer had an invalid value"
        ),
        "metric-name-wrong",
        0.93,
        _MONITORING,
        "the query is refused, so its value is not known; it is not zero",
        "exposure-notifications-verification-server 659, grafana 22634",
    ),
    Signature(
        "metric-unknown",
        like(
            r"cannot find metric\(s\) that match|could not find any metric named|metric referenced by the provided filter is unknown"
            r"|unknown metric(?: type)?\b|metric (?:type )?\S{3,200} (?:does not exist|was not found|not found)"
        ),
        "metric-name-wrong",
        0.93,
        _MONITORING,
        "there is no metric of that name",
        "terraform-provider-google 10325, cross-media-measurement 4350",
    ),
    Signature(
        "query-empty",
        like(
            r"(?:\b0|\bno|\bempty|\bzero) (?:time ?)?series\b|returned no (?:data|points|time series)|\bno data (?:points )?(?:found"
            r"|returned)|\"timeseries\": ?\[\]"
        ),
        None,
        0.0,
        _MONITORING,
        "the query found nothing",
        "projects.timeSeries.list",
    ),
)

TABLE: tuple[Signature, ...] = (*_known(), *_REQUESTS, *_STARTS, *_CONDITIONS, *_CALLS, *_QUERIES)
