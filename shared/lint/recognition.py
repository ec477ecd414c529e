"""What a text is, told by its content: the file's name says nothing. Pure.

Commands, a service document, TF Serving's three files, a Terraform plan, a spec, an alert policy, a notification, a list of flags, a
listing, logs, a page of metrics, or a bundle of evidence with these as its parts.
"""

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from shared.errors import TrimtabError
from shared.lint.bundle import PARTS, BundleError, read_bundle
from shared.lint.given import Arguments, Given, Listing, StoredObject, Text

MAX_BYTES = 1_000_000
"""Of one file; a configuration is a thousandth of it."""


class Kind(StrEnum):
    """What a file is."""

    BUNDLE = "evidence bundle"
    COMMANDS = "gcloud or docker commands"
    SERVICE = "Cloud Run service document"
    BATCHING = "batching parameters file"
    MODELS = "models.config"
    MONITORING = "monitoring config"
    PLAN = "Terraform plan"
    SPEC = "Trimtab spec"
    ALERT_POLICY = "alert policy or metric query"
    NOTIFICATION = "alert notification"
    FLAGS = "flags of tensorflow_model_server"
    LISTING = "listing of objects"
    LOGS = "log lines"
    METRICS = "page of metrics"


class UnreadableError(TrimtabError):
    """A file that is none of what is read here; the message says why."""


HEAD = 65_536
"""Characters in which nearly every text says what it is; the rest is looked at only where these do not tell."""

_FIELD_LINE = re.compile(r"""[\w."'-]+\s*[:={<\[]|[]{}<>\[();,]|//|["']?-?\d[\w.]*["']?[,;]?$""")
_JSON_NAME = re.compile(r"[\"'](\w+)[\"']\s*:")
_BLANKS = re.compile(r"[ \t]{2,}")
_BLANK_LINES = re.compile(r"\n(?:[ \t\r]*\n)+")
_COMMENT = re.compile(r"^[ \t]*#[^\n]*\n?", re.MULTILINE)
_COMMAND = re.compile(
    r"""^[ \t>$#%]*(?:[\w.-]+@[\w.-]+:[^\n$]*\$[ ])?      # a prompt
        (?:\w+=\S*[ \t]+)*(?:sudo[ \t]+|exec[ \t]+|time[ \t]+)*
        (?:gcloud[ \t]+(?:(?:alpha|beta)[ \t]+)?run\b|(?:(?:nvidia-)?docker|podman)[ \t]+(?:container[ \t]+)?run\b)""",
    re.MULTILINE | re.VERBOSE,
)
_COMMAND_INSIDE = re.compile(r"(?:^|[;&|(`\s])(?:gcloud\s+(?:(?:alpha|beta)\s+)?run\s|(?:(?:nvidia-)?docker|podman)\s+run\s)")
_BATCHING_NAMES = (
    "max_batch_size|batch_timeout_micros|max_enqueued_batches|num_batch_threads|thread_pool_name|allowed_batch_sizes|"
    "pad_variable_length_inputs|enable_large_batch_splitting|max_execution_batch_size|batching_parameters"
)
_BATCHING = re.compile(rf"""(?:^|[\s{{,"'])(?:{_BATCHING_NAMES})["']?\s*[{{:=]""")
_MODELS = re.compile(
    r"""(?:^|[\s{,"'])(?:model_config_list|custom_model_config|base_path|model_platform|model_version_policy)["']?\s*[{:=]"""
)
_MONITORING = re.compile(r"""(?:^|[\s{,"'])prometheus_config["']?\s*[{:=]""")
_V1 = re.compile(r"^[ \t]*[\"']?apiVersion[\"']?\s*:\s*[\"']?serving\.knative\.dev", re.MULTILINE)
_KIND_SERVICE = re.compile(r"^[\"']?kind[\"']?\s*:\s*[\"']?Service\b", re.MULTILINE)
_V2 = re.compile(r"^[\"']?template[\"']?\s*:", re.MULTILINE)
_CONTAINERS = re.compile(r"^[ \t]*(?:- )?[\"']?containers[\"']?\s*:", re.MULTILINE)
_SPEC = re.compile(r"^service\s*:\s*\S+", re.MULTILINE)
_SPEC_BODY = re.compile(r"^spec\s*:", re.MULTILINE)
_POLICY = re.compile(
    r"metric\.type\s*=|conditionThreshold|conditionPrometheusQueryLanguage|conditionMonitoringQueryLanguage|condition_threshold"
)
_QUERY = re.compile(
    r"run\.googleapis\.com/|prometheus\.googleapis\.com/|fetch\s+cloud_run_revision|\bPROMQL\b|:tensorflow:|run_googleapis_com:"
)
_TOP_KEY = re.compile(r"^([A-Za-z_]\w*)[ \t]*:(?=\s|$)", re.MULTILINE)
_FLAG_LINE = re.compile(r"--?[A-Za-z_][\w.]*(?:[= ].*)?|tensorflow_model_server(?:\s+--.*)?")
_OBJECT_LINE = re.compile(r"(?:\s*(?P<before>\d+)\s+\S+\s+)?(?P<path>(?:gs|s3)://\S+|/\S+/\S+)(?:\s+(?P<after>\d+))?\s*")
_LISTING_LINE = re.compile(rf"{_OBJECT_LINE.pattern}|\s*TOTAL: \d+ objects.*")
_METRIC_LINE = re.compile(r"^# TYPE [:\w]+ (?:counter|gauge|histogram|summary|untyped)\s*$", re.MULTILINE)
_LOG_WORD = re.compile(
    r"\b(?:ERROR|WARNING|INFO|severity|status|Exception|Error|error|failed|Failed|exceeded|RESOURCE_EXHAUSTED|UNAVAILABLE|"
    r"INVALID_ARGUMENT|DEADLINE_EXCEEDED|probe|servable|Revision|instance|Container|OOM)\b"
)


def decoded(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 with its mark.

    Raises:
        UnreadableError: too large, empty, or no text.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"it has {len(data):,} bytes; at most {MAX_BYTES:,} are read. Cut it to the part that matters")
    if data[:2] == b"\x1f\x8b":
        raise UnreadableError("it is compressed (gzip): unpack it first")
    try:
        text = data.decode("utf-16") if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"it is no text: byte {error.start} is not UTF-8. Save it as UTF-8") from None
    if not text.strip("\ufeff \t\r\n"):
        raise UnreadableError("it is empty")
    if "\0" in text:
        raise UnreadableError("it is no text: it holds null bytes")
    return text


def kind_of(text: str) -> Kind | None:
    """What the text is; None: nothing that is read here."""
    body = text.removeprefix("\ufeff")
    if body.lstrip()[:1] in {"{", "["}:
        found = _kind_of_json(body)
        if found is not None:
            return found
    if _METRIC_LINE.search(body[:HEAD]):
        return Kind.METRICS
    said = _BLANKS.sub(" ", _BLANK_LINES.sub("\n", _COMMENT.sub("", body)))
    for part in (said[:HEAD], said[HEAD:] and said):
        found = _kind_of_text(part)
        if found is not None:
            return found
    return Kind.COMMANDS if _COMMAND.search(body) else None  # behind the prompt of root


def _kind_of_text(body: str) -> Kind | None:
    keys = set(_TOP_KEY.findall(body))
    if keys and keys <= {*PARTS, "given", "id", "title", "source", "asks", "expect", "why", "confidence"}:
        return Kind.BUNDLE
    if _V1.search(body) or (_KIND_SERVICE.search(body) and _SPEC_BODY.search(body)):
        return Kind.SERVICE
    if _COMMAND.search(body):
        return Kind.COMMANDS
    return _kind_of_lines(body)


def _kind_of_lines(body: str) -> Kind | None:
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    signs: tuple[tuple[Kind, bool], ...] = (
        (Kind.MODELS, _has(_MODELS, body) and not _has(_V2, body) and _mostly_fields(lines)),
        (Kind.MONITORING, _has(_MONITORING, body) and _mostly_fields(lines)),
        (Kind.BATCHING, _has(_BATCHING, body) and not _has(_SPEC, body) and _mostly_fields(lines)),
        (Kind.SPEC, _has(_SPEC, body) and _has(_SPEC_BODY, body)),
        (Kind.ALERT_POLICY, _has(_POLICY, body)),
        (Kind.SERVICE, _has(_V2, body) or _has(_CONTAINERS, body)),
        (Kind.FLAGS, _all(_FLAG_LINE, lines)),
        (Kind.LISTING, _all(_LISTING_LINE, lines)),
        (Kind.COMMANDS, _has(_COMMAND_INSIDE, body)),
        # A query is a line or two; a log that names a metric has more.
        (Kind.ALERT_POLICY, len(lines) <= 2 and _has(_QUERY, body)),  # noqa: PLR2004
        (Kind.LOGS, _has(_LOG_WORD, body)),
    )
    return next((kind for kind, there in signs if there), None)


def _mostly_fields(lines: list[str]) -> bool:
    """Whether half of the lines are fields, braces or values: a page that only quotes a file is prose."""
    return 2 * sum(1 for line in lines if _FIELD_LINE.match(line)) >= len(lines)


def _has(pattern: re.Pattern[str], body: str) -> bool:
    return pattern.search(body) is not None


def _all(pattern: re.Pattern[str], lines: list[str]) -> bool:
    return bool(lines) and all(pattern.fullmatch(line.rstrip("\\").strip()) for line in lines)


def _kind_of_json(body: str) -> Kind | None:
    try:
        value: Any = json.loads(body)
    except RecursionError:
        return None
    except ValueError:
        return _kind_of_json_lines(body)
    if isinstance(value, list):
        return Kind.LOGS if value and all(isinstance(each, dict) and _is_entry(each) for each in value) else _kind_of_list(value)
    if not isinstance(value, dict):
        return None
    return _kind_of_object(value)


def _kind_of_object(value: dict[str, Any]) -> Kind | None:
    keys = set(value)
    signs: tuple[tuple[Kind, bool], ...] = (
        (Kind.PLAN, bool({"planned_values", "resource_changes"} & keys)),
        (Kind.NOTIFICATION, isinstance(value.get("incident"), dict)),
        (Kind.SERVICE, bool({"apiVersion", "template"} & keys)),
        (Kind.SPEC, {"spec", "service"} <= keys),
        (Kind.ALERT_POLICY, "conditions" in keys and bool({"displayName", "display_name", "combiner"} & keys)),
        (Kind.BUNDLE, bool(keys) and keys <= {*PARTS, "given"}),
        (Kind.MODELS, "model_config_list" in keys),
        (Kind.MONITORING, "prometheus_config" in keys),
        (Kind.BATCHING, bool(keys & set(_BATCHING_NAMES.split("|")))),
        (Kind.LOGS, _is_entry(value)),
        (Kind.SERVICE, bool({"spec", "containers"} & keys)),
    )
    return next((kind for kind, there in signs if there), None)


def _kind_of_list(value: list[Any]) -> Kind | None:
    if value and all(isinstance(each, str) and each.startswith("-") for each in value):
        return Kind.FLAGS
    return Kind.SERVICE if any(isinstance(each, dict) and ("apiVersion" in each or "template" in each) for each in value) else None


def _kind_of_json_lines(body: str) -> Kind | None:
    """An entry of a log a line; else JSON that does not parse, told by the names in it."""
    first = body.lstrip().partition("\n")[0]
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return _kind_of_broken_json(body[:HEAD])
    return Kind.LOGS if isinstance(value, dict) and _is_entry(value) else _kind_of_broken_json(body[:HEAD])


def _kind_of_broken_json(body: str) -> Kind | None:
    names = set(_JSON_NAME.findall(body))
    signs: tuple[tuple[Kind, bool], ...] = (
        (Kind.PLAN, "planned_values" in names),
        (Kind.SERVICE, bool({"apiVersion", "containers", "template"} & names)),
        (Kind.MODELS, "model_config_list" in names),
        (Kind.BATCHING, bool(names & set(_BATCHING_NAMES.split("|")))),
    )
    return next((kind for kind, there in signs if there), None)


def _is_entry(value: dict[str, Any]) -> bool:
    """An entry of Cloud Logging."""
    return bool({"textPayload", "jsonPayload", "protoPayload", "httpRequest"} & set(value)) or {"logName", "timestamp"} <= set(value)


def recognised(name: str, text: str) -> tuple[Kind, Given]:
    """The question that a text is: its kind, and its parts. Logs, metrics and notifications have none: only diagnose reads them.

    Raises:
        UnreadableError: it is nothing that is read here, or a bundle with something wrong in it.
    """
    kind = kind_of(text)
    if kind is None:
        raise UnreadableError(
            "it is nothing that is known here: a gcloud or docker command, a Cloud Run service, a batching, models or monitoring file, "
            "a Terraform plan as JSON, a spec, or a bundle of evidence (deploy, batching, flags, logs, metrics ...)"
        )
    whole = Text(text if kind in _READ_EXACTLY else text.removeprefix("\ufeff"), name)
    if kind in _PART_OF:
        return kind, _PART_OF[kind](name, whole)
    if kind is Kind.BUNDLE:
        try:
            return kind, read_bundle(name, whole.text)
        except BundleError as error:
            raise UnreadableError(str(error)) from None
    if kind is Kind.FLAGS:
        return kind, Given(name, flags=_arguments(name, whole.text))
    if kind is Kind.LISTING:
        return kind, Given(name, objects=read_listing(name, whole.text.splitlines(), 1))
    return kind, Given(name)


_READ_EXACTLY = frozenset({Kind.BATCHING, Kind.MODELS, Kind.MONITORING})
"""TF Serving stumbles over a byte order mark."""
_PART_OF: Mapping[Kind, Callable[[str, Text], Given]] = {
    Kind.COMMANDS: lambda name, text: Given(name, deploy=text),
    Kind.SERVICE: lambda name, text: Given(name, deploy=text),
    Kind.BATCHING: lambda name, text: Given(name, batching=text),
    Kind.MODELS: lambda name, text: Given(name, models=text),
    Kind.MONITORING: lambda name, text: Given(name, monitoring=text),
    Kind.PLAN: lambda name, text: Given(name, plan=text),
    Kind.SPEC: lambda name, text: Given(name, spec=text),
    Kind.ALERT_POLICY: lambda name, text: Given(name, alert_policy=text),
}


def _arguments(name: str, body: str) -> Arguments:
    if body.lstrip().startswith("["):
        values = [each for each in json.loads(body) if isinstance(each, str)]
        return Arguments(tuple(values), name, (None,) * len(values))
    found: list[tuple[str, int]] = []
    for number, line in enumerate(body.splitlines(), start=1):
        words = line.strip().rstrip("\\").split()
        found += [(word, number) for word in words if not line.lstrip().startswith("#") and word != "tensorflow_model_server"]
    return Arguments(tuple(word for word, _ in found), name, tuple(number for _, number in found))


def read_listing(name: str, lines: list[str], first_line: int) -> Listing:
    """A listing as `gcloud storage ls -l`, `gsutil ls -l` or a person writes it: a path a line, its bytes before or behind."""
    found: list[StoredObject] = []
    for line in lines:
        match = _OBJECT_LINE.fullmatch(line)
        if match:
            size = match["after"] or match["before"]
            found.append(StoredObject(match["path"], int(size) if size and len(size) < 19 else None))  # noqa: PLR2004 (an int64)
    return Listing(tuple(found), name, first_line)
