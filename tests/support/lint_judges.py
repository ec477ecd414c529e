"""Who says whether a configuration is accepted, without a rule of ours: gcloud's own parser, protobuf's text format, protobuf's JSON
format, and the simulated Cloud Run's request validation, which was measured against recorded refusals of the real one.

A judge speaks only on what it knows. Where it has nothing to say the verdict is SILENT, and each judgement names the lint codes that it
could contradict: only these can be false errors.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any

import yaml
from google.cloud import run_v2
from google.protobuf import json_format, text_format

from shared.cloudrun.fields import ServiceDocumentError
from shared.cloudrun.knative import FULL_NAME, to_v2
from shared.cloudrun.knative_annotations import SYSTEM_GROUPS
from shared.simulation.cloud_run import SimulatedCloudRun
from shared.simulation.cloud_run_errors import SimulatedError
from shared.tfserving.descriptors import new_message, pool
from tests.support.gcloud_parser import Reading, parse_all, parse_updates, read_files
from tests.support.lint_healthy import Form
from tests.support.lint_healthy_documents import V1
from tests.support.yaml_versions import TWICE, Yaml11, Yaml12

Json = dict[str, Any]


class Verdict(StrEnum):
    ACCEPTED = "accepted"
    REFUSED = "refused"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Judgement:
    """`meaning` is what the judge read, in a form that can be compared; `speaks_on` are the codes that it could contradict."""

    verdict: Verdict
    reason: str
    meaning: str = ""
    speaks_on: frozenset[str] = frozenset()


_SERVICE_CODES = frozenset({"cpu-memory-shape", "gpu-request-invalid", "gpu-cpu-throttled", "cloud-run-limit", "service-document-invalid"})
"""Not gpu-region-unsupported: neither gcloud nor the simulation knows which regions have which GPU."""
_COMMAND_CODES = _SERVICE_CODES | {"gcloud-unknown-flag", "gcloud-value-invalid", "gcloud-args-needs-equals"}
"""Not gcloud-args-comma-split: gcloud splits `--args` at every comma and is content; what the server then makes of it is no matter of
gcloud's."""
_TEXT_CODES = {
    Form.BATCHING: frozenset({"batching-file-syntax", "batching-wrapper-syntax", "batching-unknown-field"}),
    Form.MODELS: frozenset({"models-file-syntax", "models-unknown-field"}),
    Form.MONITORING: frozenset[str](),
}
"""Not monitoring-not-served: it also says that a path is relative, which is good protobuf."""
_MESSAGES = {Form.BATCHING: "BatchingParameters", Form.MODELS: "ModelServerConfig", Form.MONITORING: "MonitoringConfig"}

Judge = Callable[[Sequence[str]], list[Judgement]]


def judge(form: Form, texts: Sequence[str]) -> list[Judgement]:
    """What the judge of that form says of each text. The test is skipped where it takes gcloud and there is none."""
    return _JUDGES[form](texts)


# --- Text protos -----------------------------------------------------------------------------------------------------------------


def _judge_text(form: Form) -> Judge:
    return lambda texts: [_text(form, text) for text in texts]


def _text(form: Form, text: str) -> Judgement:
    message = new_message(_MESSAGES[form])
    try:
        text_format.Parse(text, message, descriptor_pool=pool())
    except text_format.ParseError as error:
        return Judgement(Verdict.REFUSED, str(error))
    except RecursionError:
        return Judgement(Verdict.SILENT, "nested too deeply for Python's parser")
    stricter = _refused_by_the_server_only(text)
    if stricter:
        return Judgement(Verdict.SILENT, stricter)
    meaning = message.SerializeToString(deterministic=True).hex()
    if not meaning:
        return Judgement(Verdict.SILENT, "an empty message: which file it is, nothing says")
    return Judgement(Verdict.ACCEPTED, "protobuf's text format reads it", meaning, _TEXT_CODES[form])


_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*')
_ESCAPE = re.compile(r"""\\(?:[abfnrtv\\?'"]|[0-7]{1,3}|[xX][0-9a-fA-F]|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5})""")
_PYTHON_ONLY_NUMBER = re.compile(r"(?<![\w.])(?:\+\s*\.?[0-9]|-?0[bBoO][0-9_]+|-?[0-9][0-9a-fA-FxX.]*_[0-9_]*)")


def _refused_by_the_server_only(text: str) -> str:
    """Why the C++ parser in TF Serving refuses what Python's takes; empty where the two agree.

    Python's parser hands numbers to `int()`, which reads `1_000`, `+1`, `0b11`, `0o17` and digits of other scripts; its blanks are
    Unicode's (a no-break space is one), and it lets a null byte stand inside quotes. The C++ tokenizer knows ASCII only, none of these
    numbers ("Need space between number and identifier"), and no null byte ("Invalid control characters encountered in text").
    """
    if "\0" in text:
        return "a null byte: the C++ tokenizer refuses it everywhere"
    quoted = "".join(each for each in _QUOTED_OR_COMMENT.findall(text) if not each.startswith("#"))
    if re.search(r"\\.", _ESCAPE.sub("", quoted)):
        return "a backslash before a character that means nothing behind it: the C++ tokenizer refuses it"
    bare = _QUOTED_OR_COMMENT.sub(" ", text)
    if not bare.isascii():
        return "a character outside ASCII and outside quotes: the C++ tokenizer refuses it"
    if any(not char.isprintable() and char not in "\t\n\r\v\f" for char in bare):
        return "a control character: the C++ tokenizer refuses it"
    if _PYTHON_ONLY_NUMBER.search(bare):
        return "a number as only Python spells it"
    return ""


# --- Services --------------------------------------------------------------------------------------------------------------------

_PARENT = "projects/acme-ml/locations/europe-west1"
_PLENTY = 10**9


@cache
def _cloud_run() -> SimulatedCloudRun:
    """One with every quota there is: quota is a matter of the project, not of the configuration."""
    moment = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)
    cloud_run = SimulatedCloudRun(now=lambda: moment)
    for accelerator in ("nvidia-l4", "nvidia-rtx-pro-6000"):
        for redundant in (False, True):
            cloud_run.set_gpu_quota("acme-ml", "europe-west1", _PLENTY, accelerator=accelerator, zonal_redundancy=redundant)
    cloud_run.set_cpu_quota("acme-ml", "europe-west1", 10**15)
    cloud_run.set_memory_quota("acme-ml", "europe-west1", 10**24)
    return cloud_run


def _service(document: Mapping[str, Any], codes: frozenset[str], *, also: str = "") -> Judgement:
    """v2 JSON of a service through protobuf's JSON parser and the simulated validation."""
    message = run_v2.Service.pb(run_v2.Service())
    try:
        json_format.ParseDict(dict(document), message)
    except (json_format.ParseError, TypeError, ValueError, AttributeError) as error:
        # Python's parser falls over some values of the wrong type instead of naming them.
        return Judgement(Verdict.REFUSED, f"protobuf's JSON format: {error}")
    if _lenient(document, message.DESCRIPTOR):
        return Judgement(Verdict.SILENT, "a truth value or a text for a number, as only Python's parser takes it")
    name = str(document.get("name") or "")
    full = FULL_NAME.fullmatch(name)
    short = full["name"] if full else name
    if not short:
        short = "nameless"
    elif "/" in short:
        return Judgement(Verdict.SILENT, f"the name {name!r} is neither short nor full: how it would be asked for is not known")
    elif _STAND_IN.fullmatch(short):
        return Judgement(Verdict.SILENT, f"the name {name!r} stands for one that is filled in later")
    try:
        _cloud_run().create_service(_PARENT, short, run_v2.Service.wrap(message), validate_only=True)
    except SimulatedError as error:
        unknown = _not_known(message, error)
        return Judgement(Verdict.SILENT, unknown) if unknown else Judgement(Verdict.REFUSED, f"simulated Cloud Run: {error.text}")
    meaning = json.dumps(json_format.MessageToDict(message), sort_keys=True) + also
    return Judgement(Verdict.ACCEPTED, "the simulated Cloud Run takes it", meaning, codes - _let_through(message))


def _not_known(message: Any, error: SimulatedError) -> str:
    """Why the simulation's refusal is no verdict; empty where it is one.

    What a text does not say is not lint's to judge where nobody has recorded Cloud Run's default: a part of a document has no
    containers, and the CPU and memory that Cloud Run gives a GPU service of its own accord are not documented.
    """
    containers = message.template.containers
    if not containers:
        return "a part of a service: nothing is said about what is absent"
    field = error.field or ""
    if not message.template.node_selector.accelerator and field.endswith("accelerator"):
        return "a GPU without a type: what Cloud Run then takes is not recorded"
    numbered = any("nvidia.com/gpu" in each.resources.limits for each in containers)
    if field.endswith("gpu_zonal_redundancy_disabled") and message.template.node_selector.accelerator and not numbered:
        return "a type of GPU without a number: Cloud Run was seen to check the quota of GPUs for it, so it counts as one"
    stated = {
        "accelerator": [message.template.node_selector.accelerator],
        "image": [each.image for each in containers],
        "gpu_zonal_redundancy_disabled": [each.resources.limits.get("nvidia.com/gpu", "") for each in containers],
    }
    if any(_STAND_IN.fullmatch(value) for value in stated.get(field.rpartition(".")[2], [])):
        return "a value such as IMAGE_URL stands for one that is filled in later"
    if any("nvidia.com/gpu" in each.resources.limits and not {"cpu", "memory"} <= set(each.resources.limits) for each in containers):
        return "a GPU without stated CPU or memory" if "resources.limits" in field else ""
    return ""


_STAND_IN = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*|\$\{\w+\}")


def _let_through(message: Any) -> frozenset[str]:
    """Codes about what the simulation lets through, so that it cannot contradict them.

    A probe's timeout above its period, on purpose: a real `validateOnly` was seen to take it, Cloud Run's page on health checks
    forbids it, and lint goes by the page. A number of GPUs that is no number ("GPU can only be set to 1"), a variable without a name,
    an enum's number that no enum has, and the characters of labels: the simulation has no rule of them.
    """
    codes: set[str] = set()
    for container in message.template.containers:
        for kind in ("startup_probe", "liveness_probe", "readiness_probe"):
            probe = getattr(container, kind)
            if container.HasField(kind) and (probe.timeout_seconds or 1) > (probe.period_seconds or 10):
                codes.add("cloud-run-limit")
        if any(not variable.name for variable in container.env):
            codes.add("service-document-invalid")
        if container.resources.limits.get("nvidia.com/gpu", "1") not in {"0", "1"}:
            codes.add("gpu-request-invalid")
    labels = [*message.labels.items(), *message.template.labels.items()]
    if any(not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value) for key, value in labels) or _has_unknown_number(message):
        codes.add("service-document-invalid")
    return frozenset(codes)


_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


_INTEGER = re.compile(r"-?[0-9]+")
_DURATION = re.compile(r"-?[0-9]+(?:\.[0-9]+)?s")


def _lenient(value: Any, descriptor: Any) -> bool:
    """Whether the JSON has what Python's parser takes by chance for a number, an enum or a duration: `true`, `"4.0"`, `"6 s"`."""
    fields = {name: field for field in descriptor.fields for name in (field.name, field.json_name)}
    for name, held in value.items() if isinstance(value, dict) else ():
        field = fields.get(name)
        for each in held if isinstance(held, list) else [held]:
            if field is None:
                continue
            if field.enum_type is not None:
                if isinstance(each, bool | float) or (isinstance(each, str) and each not in field.enum_type.values_by_name):
                    return True
            elif field.message_type is not None:
                if _lenient_message(each, field.message_type):
                    return True
            elif field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_INT64) and (
                isinstance(each, bool) or (isinstance(each, str) and not _INTEGER.fullmatch(each))
            ):
                return True
    return False


def _lenient_message(value: Any, descriptor: Any) -> bool:
    if descriptor.full_name == "google.protobuf.Duration":
        return isinstance(value, str) and not _DURATION.fullmatch(value)
    return not descriptor.GetOptions().map_entry and _lenient(value, descriptor)


def _has_unknown_number(message: Any) -> bool:
    for field, value in message.ListFields():
        values = value if field.is_repeated and not isinstance(value, Mapping) else [value]
        if field.enum_type is not None and any(each not in field.enum_type.values_by_number for each in values):
            return True
        if field.message_type is not None and not field.message_type.GetOptions().map_entry and any(map(_has_unknown_number, values)):
            return True
    return False


def _judge_v2_json(texts: Sequence[str]) -> list[Judgement]:
    return [_v2_json(text) for text in texts]


def _v2_json(text: str) -> Judgement:
    try:
        document = json.loads(text, object_pairs_hook=_no_field_twice)
    except (ValueError, RecursionError) as error:
        # What begins like JSON may still be YAML: a word without its quotes is.
        as_yaml = _v2_yaml(text)
        return Judgement(Verdict.REFUSED, f"not JSON: {error}") if as_yaml.verdict is Verdict.REFUSED else as_yaml
    if not isinstance(document, dict):
        return Judgement(Verdict.REFUSED, "no JSON object")
    return _service(document, _SERVICE_CODES)


def _no_field_twice(pairs: list[tuple[str, Any]]) -> Json:
    """As protobuf's own `json_format.Parse` refuses it."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _judge_v2_yaml(texts: Sequence[str]) -> list[Judgement]:
    return [_v2_yaml(text) for text in texts]


def _v2_yaml(text: str) -> Judgement:
    """As somebody turns YAML into the JSON that the API takes."""
    try:
        old, new = yaml.load(text, Yaml11), yaml.load(text, Yaml12)  # noqa: S506 (both are safe loaders)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        return Judgement(Verdict.REFUSED, f"not YAML: {error}")
    if not isinstance(new, dict):
        return Judgement(Verdict.REFUSED, "no mapping")
    if repr(old) != repr(new):
        return Judgement(
            Verdict.SILENT, "YAML 1.1 and 1.2 read it differently (yes, on, 0444, 1:30), and no tool of Google's reads v2 YAML"
        )
    try:
        json.dumps(new)
    except (TypeError, ValueError) as error:
        return Judgement(Verdict.REFUSED, f"cannot become JSON: {error}")
    return _service({str(key): value for key, value in new.items()}, _SERVICE_CODES)


def _judge_v1(texts: Sequence[str]) -> list[Judgement]:
    """As `gcloud run services replace FILE` reads it, then as Cloud Run takes what gcloud would send."""
    return [_unless_twice(text, _sent(reading, _SERVICE_CODES)) for text, reading in zip(texts, read_files(texts), strict=True)]


def _unless_twice(text: str, judgement: Judgement) -> Judgement:
    """YAML forbids a key twice in one mapping; gcloud's loader is told not to look, and takes one of the two."""
    try:
        yaml.load(text, Yaml11)  # noqa: S506 (a safe loader)
    except yaml.YAMLError as error:
        if judgement.verdict is Verdict.ACCEPTED and TWICE in str(error):
            return Judgement(Verdict.SILENT, "a key twice: gcloud does not look")
    except (ValueError, RecursionError, TypeError):
        return judgement
    return judgement


_SYSTEM = re.compile("|".join(re.escape(group.replace("/", "~1")) for group in SYSTEM_GROUPS))
_STAMPED = re.compile(r"run\.googleapis\.com~1client-(?:name|version)$")
"""What gcloud writes itself."""


def _sent(reading: Reading, codes: frozenset[str]) -> Judgement:
    """The v1 service that gcloud would send."""
    if reading.error is not None:
        if "alternate release tracks" in reading.error:
            return Judgement(Verdict.SILENT, "a flag of another track: a later gcloud may have it here")
        return Judgement(Verdict.REFUSED, f"gcloud: {_last_line(reading.error)}")
    try:
        converted = to_v2(reading.service)
    except ServiceDocumentError as error:
        return Judgement(Verdict.SILENT, f"gcloud sends it; v2 has no word for it, so the simulation is not asked: {error}")
    odd = sorted(pointer for pointer in converted.unmapped if _SYSTEM.search(pointer) and not _STAMPED.search(pointer))
    if odd:
        return Judgement(Verdict.SILENT, f"annotations of Cloud Run's that the simulation does not know: {odd[0]}")
    return _service(converted.document, codes, also=json.dumps(dict(converted.unmapped), sort_keys=True, default=str))


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return next((line.strip() for line in lines if "ERROR:" in line), lines[-1] if lines else "refused without a word")


# --- Commands --------------------------------------------------------------------------------------------------------------------

_BASES: tuple[Json, ...] = (
    yaml.safe_load(V1),
    {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": "plain", "namespace": "403218765432"},
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "image": "us-docker.pkg.dev/acme/s/tfs:2.20.0",
                            "ports": [{"containerPort": 8501}],
                            "resources": {"limits": {"cpu": "2", "memory": "4Gi"}},
                        }
                    ]
                }
            }
        },
    },
)
"""What an update may be applied to: it is refused if it is refused on each, and accepted if one takes it."""
_SHELL_ONLY = re.compile(r"[$`{}~]")


def command_line(text: str) -> list[str] | None:
    """The words of the one gcloud command in the text; None where it takes a shell to say."""
    lines = [line for line in re.sub(r"\\\n", " ", text).split("\n") if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) != 1 or "#" in lines[0] or _SHELL_ONLY.search(lines[0]) or "\\\\\n" in text:
        return None
    lexer = shlex.shlex(lines[0], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None  # a quote without an end: the shell waits for more
    if words[:1] != ["gcloud"] or any(re.fullmatch(r"[();<>|&]+", word) for word in words):
        return None
    return words


def _judge_commands(form: Form) -> Judge:
    def judged(texts: Sequence[str]) -> list[Judgement]:
        lines = [command_line(text) for text in texts]
        known = [line for line in lines if line is not None]
        readings = [parse_all(known)] if form is Form.DEPLOY else [parse_updates(known, base) for base in _BASES]
        verdicts = iter([_any_of([_command(reading) for reading in each]) for each in zip(*readings, strict=True)])
        unreadable = Judgement(Verdict.SILENT, "it takes a shell to say which words gcloud would get")
        return [unreadable if line is None else next(verdicts) for line in lines]

    return judged


def _command(reading: Reading) -> Judgement:
    if reading.error is None and not reading.flags.get("SERVICE"):
        return Judgement(Verdict.SILENT, "no name: gcloud asks for it")
    if reading.error is not None and "not supported when creating a new service" in reading.error:
        return Judgement(Verdict.SILENT, "right for a service that is there already")
    # Where it runs is read when gcloud calls, which it does not here.
    codes = _COMMAND_CODES - {"gcloud-value-invalid"} if {"", None} & {reading.flags.get(name, "x") for name in _WHERE} else _COMMAND_CODES
    judgement = _sent(reading, codes)
    if judgement.verdict is Verdict.REFUSED and "must provide an image name" in judgement.reason and "image" not in reading.flags:
        return Judgement(Verdict.SILENT, "no --image: gcloud builds one from source first")
    return judgement


_WHERE = ("project", "region", "account", "configuration")


def _any_of(judgements: Sequence[Judgement]) -> Judgement:
    for verdict in (Verdict.ACCEPTED, Verdict.SILENT):
        found = next((each for each in judgements if each.verdict is verdict), None)
        if found is not None:
            return found
    return judgements[0]


_JUDGES: dict[Form, Judge] = {
    Form.DEPLOY: _judge_commands(Form.DEPLOY),
    Form.UPDATE: _judge_commands(Form.UPDATE),
    Form.V1: _judge_v1,
    Form.V2_YAML: _judge_v2_yaml,
    Form.V2_JSON: _judge_v2_json,
    Form.BATCHING: _judge_text(Form.BATCHING),
    Form.MODELS: _judge_text(Form.MODELS),
    Form.MONITORING: _judge_text(Form.MONITORING),
}
