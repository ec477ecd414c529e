"""Cloud Run's limits of a service and its template: constants, and checks that say what is wrong with a value. Pure.

A check takes plain values and yields a `LimitFault` for each rule that is broken, so that admission of specs, the simulated Cloud
Run and a linter all say the same. Limits of containers are in `containers`, of probes in `probes`, of GPUs, CPU and memory in
`shapes`. Sources: the docstrings of the Admin API v2, Cloud Run's documentation, and the API's own refusals.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.cloudrun.server_texts import ServerText

MAX_CONCURRENCY = 1_000
DEFAULT_CONCURRENCY = 80
"""Of the Admin API, of the console, and per vCPU of gcloud and Terraform. From 1 vCPU on."""
DEFAULT_CONCURRENCY_BELOW_1_CPU = 1
MAX_TIMEOUT_SECONDS = 3_600
DEFAULT_TIMEOUT_SECONDS = 300
"""The time of a cold start counts against it. Afterwards the client gets 504."""
DEFAULT_PORT = 8_080
MAX_SERVICE_NAME = 49
MAX_REVISION_NAME = 63
MAX_DESCRIPTION = 512
MAX_LABELS = 64
MAX_LABEL = 63
"""Characters of a label's key and of its value."""
SYSTEM_PREFIXES = ("run.googleapis.com", "cloud.googleapis.com", "serving.knative.dev", "autoscaling.knative.dev")
"""Namespaces of labels and annotations that the Admin API v2 refuses: it has fields for what they said in v1."""
LAUNCH_STAGES = frozenset({"", "LAUNCH_STAGE_UNSPECIFIED", "ALPHA", "BETA", "GA"})
FULL_PERCENT = 100

_SERVICE_NAME = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_LABEL_KEY = re.compile(r"[^\W\d_A-Z][\w-]*")
_LABEL_VALUE = re.compile(r"[\w-]*")

LimitValue = bool | int | float | str | None


class Found(StrEnum):
    """When Cloud Run notices."""

    REQUEST = "request"
    """At once: the call is refused with INVALID_ARGUMENT, with `validate_only` too."""
    START = "start"
    """The call is accepted, the revision does not become ready, or its instances do not."""
    NEVER = "never"
    """Never: it is accepted and does something else than was meant."""


@dataclass(frozen=True, slots=True)
class LimitFault:
    """One broken rule of Cloud Run."""

    field: str
    """The path in the Admin API v2's `Service`."""
    value: LimitValue
    limit: str
    """What is allowed, with its unit."""
    why: str
    fix: str
    text: ServerText | None = None
    """The stable part of Cloud Run's own refusal, word for word; None where it is accepted or its words are not known."""
    found: Found = Found.REQUEST

    def __str__(self) -> str:
        return f"{self.field} is {self.value!r}, allowed is {self.limit}: {self.why}. Fix: {self.fix}."


class MadeWith(StrEnum):
    """What created a service that names no concurrency: each has a default of its own."""

    API = "api"
    CONSOLE = "console"
    GCLOUD = "gcloud"
    TERRAFORM = "terraform"


def default_concurrency(cpu: float, *, made_with: MadeWith = MadeWith.API) -> int:
    """`max_instance_request_concurrency` in force on a new service that does not name one.

    1 below one vCPU. Otherwise 80; gcloud and Terraform make it 80 for each vCPU (320 on a 4 vCPU GPU instance, far above what a
    model takes), here never above what the API accepts.
    """
    if cpu < 1:
        return DEFAULT_CONCURRENCY_BELOW_1_CPU
    if made_with in {MadeWith.GCLOUD, MadeWith.TERRAFORM}:
        return min(MAX_CONCURRENCY, int(DEFAULT_CONCURRENCY * cpu))
    return DEFAULT_CONCURRENCY


def concurrency_faults(value: int, *, cpu: float | None = None) -> Iterator[LimitFault]:
    """`template.max_instance_request_concurrency`; 0 is the default. `cpu` is the instance's vCPU, None: not known."""
    field = "template.max_instance_request_concurrency"
    if not 0 <= value <= MAX_CONCURRENCY:
        yield LimitFault(
            field=field,
            value=value,
            limit=f"0 to {MAX_CONCURRENCY} requests",
            why="an instance takes no more requests at once",
            fix=f"use 1 to {MAX_CONCURRENCY}; for a GPU model, what its batching was measured to take",
            text=ServerText.CONCURRENCY,
        )
    elif value > 1 and cpu is not None and cpu < 1:
        yield LimitFault(
            field=field,
            value=value,
            limit="1 request below 1 vCPU",
            why=f"the instance has {cpu:g} vCPU",
            fix="use 1, or 1 vCPU and more",
            text=ServerText.FRACTIONAL_CPU_CONCURRENCY,
        )


def timeout_faults(seconds: float) -> Iterator[LimitFault]:
    """`template.timeout`; 0 is the default of 300 s."""
    if not 0 <= seconds <= MAX_TIMEOUT_SECONDS:
        yield LimitFault(
            field="template.timeout",
            value=seconds,
            limit=f"0 to {MAX_TIMEOUT_SECONDS} s",
            why="a request has at most one hour, its cold start included" if seconds > 0 else "a duration is not negative",
            fix=f"use 1 to {MAX_TIMEOUT_SECONDS} s, or 0 for the default of {DEFAULT_TIMEOUT_SECONDS} s",
            text=ServerText.TIMEOUT if seconds > 0 else None,
        )


def service_name_faults(name: str) -> Iterator[LimitFault]:
    """The service's id: 1 to 49 of `a-z`, `0-9` and `-`, a letter first, no `-` last."""
    if len(name) > MAX_SERVICE_NAME or not _SERVICE_NAME.fullmatch(name):
        yield LimitFault(
            field="name",
            value=name,
            limit=f"1 to {MAX_SERVICE_NAME} of a-z, 0-9 and -, a letter first, no - last",
            why="the docstring of CreateServiceRequest says so; revision names need the rest of their 63 characters",
            fix="choose a shorter or plainer name",
        )


def revision_name_faults(revision: str, *, service: str) -> Iterator[LimitFault]:
    """`template.revision`; empty: Cloud Run makes a name. Whether the name is taken only Cloud Run can say."""
    if not revision:
        return
    prefix = f"{service}-"
    if not revision.startswith(prefix) or len(revision) > MAX_REVISION_NAME or not _SERVICE_NAME.fullmatch(revision):
        yield LimitFault(
            field="template.revision",
            value=revision,
            limit=f"{prefix}..., up to {MAX_REVISION_NAME} of a-z, 0-9 and -, no - last",
            why="a revision is named after its service",
            fix=f"use {prefix}<suffix> with a short suffix, or leave it empty",
        )


def description_faults(text: str) -> Iterator[LimitFault]:
    """`description`."""
    if len(text) > MAX_DESCRIPTION:
        yield LimitFault(
            field="description",
            value=f"{len(text)} characters",
            limit=f"{MAX_DESCRIPTION} characters",
            why="the docstring of Service.description says so",
            fix="shorten it",
        )


def label_faults(labels: Mapping[str, str], *, field: str = "labels") -> Iterator[LimitFault]:
    """`labels` or `template.labels`: Google Cloud's rules of labels, and the namespaces that the v2 API refuses."""
    if len(labels) > MAX_LABELS:
        yield LimitFault(
            field=field,
            value=len(labels),
            limit=f"{MAX_LABELS} labels",
            why="a Google Cloud resource has no more",
            fix="keep the ones that billing and searches use",
        )
    for key, value in labels.items():
        if _is_system_key(key):
            yield _system_key_fault(field, key)
            continue
        for what, text, pattern, least in (("key", key, _LABEL_KEY, 1), ("value", value, _LABEL_VALUE, 0)):
            if not least <= len(text) <= MAX_LABEL or not pattern.fullmatch(text) or text != text.lower():
                yield LimitFault(
                    field=f"{field}[{key}]",
                    value=text,
                    limit=f"a {what} of {least} to {MAX_LABEL} lower-case letters, digits, _ and -{', a letter first' if least else ''}",
                    why="Google Cloud's rules of labels",
                    fix=f"choose a plainer {what}",
                )


def annotation_faults(keys: Sequence[str], *, field: str = "annotations") -> Iterator[LimitFault]:
    """`annotations` or `template.annotations`: the namespaces that the v2 API refuses."""
    for key in keys:
        if _is_system_key(key):
            yield _system_key_fault(field, key)


def _is_system_key(key: str) -> bool:
    namespace = key.split("/", 1)[0].lower()
    return any(namespace == prefix or namespace.endswith(f".{prefix}") for prefix in SYSTEM_PREFIXES)


def _system_key_fault(field: str, key: str) -> LimitFault:
    return LimitFault(
        field=field,
        value=key,
        limit=f"no key of {', '.join(SYSTEM_PREFIXES)}",
        why="the Admin API v2 takes no system labels or annotations; gcloud and the v1 API do",
        fix="set the v2 field that means the same",
        text=ServerText.SYSTEM_METADATA,
    )


def scaling_faults(*, min_instance_count: int, max_instance_count: int, field: str = "scaling") -> Iterator[LimitFault]:
    """The bounds of `scaling` (service) or `template.scaling` (revision); a maximum of 0 is not set."""
    for name, value in (("min_instance_count", min_instance_count), ("max_instance_count", max_instance_count)):
        if value < 0:
            yield LimitFault(
                field=f"{field}.{name}",
                value=value,
                limit="0 or more instances",
                why="a count is not negative",
                fix="use 0 or more",
                text=ServerText.SCALING_NEGATIVE,
            )
    if 0 < max_instance_count < min_instance_count:
        yield LimitFault(
            field=f"{field}.max_instance_count",
            value=max_instance_count,
            limit=f"{min_instance_count} instances or more, as min_instance_count is {min_instance_count}",
            why="the minimum is above the maximum",
            fix="raise the maximum or lower the minimum",
            text=ServerText.SCALING_ORDER,
        )


def manual_scaling_faults(*, manual_instance_count: int | None, manual_mode: bool) -> Iterator[LimitFault]:
    """`scaling.manual_instance_count` (None: not set; 0 can be set) and whether `scaling.scaling_mode` is MANUAL."""
    if manual_instance_count is None:
        return
    field = "scaling.manual_instance_count"
    if manual_instance_count < 0:
        yield LimitFault(
            field=field,
            value=manual_instance_count,
            limit="0 or more instances",
            why="a count is not negative",
            fix="use 0 or more",
            text=ServerText.SCALING_NEGATIVE,
        )
    if not manual_mode:
        yield LimitFault(
            field=field,
            value=manual_instance_count,
            limit="not set with automatic scaling",
            why="scaling.scaling_mode is not MANUAL",
            fix="set scaling.scaling_mode to MANUAL in the same write, or leave the count out",
            text=ServerText.SCALING_MODE,
        )


@dataclass(frozen=True, slots=True)
class TrafficShare:
    """One target of `traffic`: the latest ready revision (`latest`: the target is of type LATEST) or the one that is named."""

    percent: int
    revision: str = ""
    """The short name."""
    latest: bool = False
    tag: str = ""


def traffic_faults(shares: Sequence[TrafficShare]) -> Iterator[LimitFault]:
    """`traffic`; an empty one sends everything to the latest ready revision."""
    for at, share in enumerate(shares):
        if not 0 <= share.percent <= FULL_PERCENT:
            yield LimitFault(
                field=f"traffic[{at}].percent",
                value=share.percent,
                limit="0 to 100 percent",
                why="it is a part of the traffic",
                fix="use 0 to 100",
                text=ServerText.TRAFFIC_PERCENT,
            )
        if share.latest == bool(share.revision):
            yield LimitFault(
                field=f"traffic[{at}].revision",
                value=share.revision,
                limit="empty with type LATEST" if share.latest else "a revision's short name with type REVISION",
                why="the target's type says whether it names a revision",
                fix="name the revision with type REVISION, none with type LATEST",
                text=ServerText.TRAFFIC_REVISION,
            )
    total = sum(share.percent for share in shares)
    if shares and total != FULL_PERCENT:
        yield LimitFault(
            field="traffic",
            value=total,
            limit="100 percent in all",
            why="every request goes somewhere",
            fix="make the percentages add up to 100",
            text=ServerText.TRAFFIC_TOTAL,
        )
    tags = [share.tag for share in shares if share.tag]
    for tag in dict.fromkeys(tag for tag in tags if tags.count(tag) > 1):
        yield LimitFault(
            field="traffic.tag",
            value=tag,
            limit="each tag once",
            why="a tag is a name of its own in the URL",
            fix="rename one of them",
            text=ServerText.TRAFFIC_TAG,
        )


def launch_stage_faults(stage: str) -> Iterator[LimitFault]:
    """`launch_stage` by its enum name; empty and GA take no preview feature."""
    if stage not in LAUNCH_STAGES:
        yield LimitFault(
            field="launch_stage",
            value=stage,
            limit="ALPHA, BETA, GA or empty",
            why="Cloud Run knows no other stage",
            fix="leave it empty, or BETA where a preview feature is used",
            text=ServerText.LAUNCH_STAGE,
        )
