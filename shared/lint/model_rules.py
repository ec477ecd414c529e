"""The file of --model_config_file: whether TF Serving reads it and takes its entries. Pure.

What the server checks, and its words, are those of `shared.tfserving.model_config.faults`.
"""

import re
from collections.abc import Callable, Iterator

from shared.lint.deployment import ConfigFile, Deployment
from shared.lint.finding import Finding
from shared.lint.form_findings import form_findings, not_read
from shared.lint.server_flags import attempted, server_flags
from shared.tfserving.faults import Fault, shown
from shared.tfserving.model_config import All, ModelConfig, ModelServerConfig, faults
from shared.tfserving.reading import FormFault

ALLOW_LABELS = "allow_version_labels_for_unavailable_models"
_CODES = {
    FormFault.SYNTAX: "models-file-syntax",
    FormFault.WRAPPER: "models-file-syntax",
    FormFault.UNKNOWN_FIELD: "models-unknown-field",
}
_SHOWN = 100
_OF_A_SHELL = re.compile(r"~|\$|%|[A-Za-z]:$")


def form_rules(deployment: Deployment) -> Iterator[Finding]:
    """models-file-syntax, models-unknown-field."""
    if deployment.models is not None:
        yield from form_findings(deployment.models, _CODES)


def platform_rules(deployment: Deployment) -> Iterator[Finding]:
    """models-platform-invalid: unless a platform file defines others."""
    if deployment.flag("platform_config_file"):
        return
    for file, at, model in _models(deployment):
        fault = _fault(model, "model_platform", "model_type")
        if fault is None or not_read(file, f"config[{at}].model_platform"):
            continue
        given = f"model_platform is {_quoted(model.model_platform)}" if model.model_platform else "model_platform is missing"
        yield Finding(
            "models-platform-invalid",
            f"{_named(model, at)}: {given}. {fault.rule} The server does not start: `{fault.text}`",
            file.where(_field(file, f"config[{at}]", fault.field)),
            'model_platform: "tensorflow"',
        )


def entry_rules(deployment: Deployment) -> Iterator[Finding]:
    """models-entry-invalid: a name that stands twice or not at all, a path that is none; a custom config, which has no loader."""
    file = deployment.models
    if file is None or file.meant is None:
        return
    if file.meant.custom_model_config is not None:
        (fault,) = faults(file.meant)
        yield Finding(
            "models-entry-invalid", f"{fault.rule} `{fault.text}`", file.where(fault.field), "model_config_list { config { ... } }"
        )
    seen: dict[str, int] = {}
    for _, at, model in _models(deployment):
        yield from _name(file, at, model, seen)
        yield from _base_path(file, at, model)


def _name(file: ConfigFile[ModelServerConfig], at: int, model: ModelConfig, seen: dict[str, int]) -> Iterator[Finding]:
    if not model.name:
        if not not_read(file, f"config[{at}].name"):
            yield Finding(
                "models-entry-invalid",
                f"Model {at + 1} of the list has no name: clients ask for a model by its name, and cannot reach this one",
                file.where(_field(file, f"config[{at}]", "name")),
                'name: "my_model"',
            )
        return
    earlier = seen.setdefault(model.name, at)
    if earlier != at:
        first = file.reading.lines.get(f"config[{earlier}].name")
        where = f" on line {first}" if first is not None and file.text.exact else ""
        yield Finding(
            "models-entry-invalid",
            f"The name {_quoted(model.name)} stands in the list already{where}: each model stands there once. The server does not start: "
            f"`Illegal to list model {shown(model.name, limit=_SHOWN)} multiple times in config list`",
            file.where(_field(file, f"config[{at}]", "name")),
            f"name: {_quoted(f'{model.name}_{at + 1}')}",
        )


def _base_path(file: ConfigFile[ModelServerConfig], at: int, model: ModelConfig) -> Iterator[Finding]:
    fault = _fault(model, "base_path")
    if fault is None or not_read(file, f"config[{at}].base_path"):
        return
    given = f"base_path is {_quoted(model.base_path)}" if model.base_path else "base_path is missing"
    right = _scheme(file) + _absolute(model)
    yield Finding(
        "models-entry-invalid",
        f"{_named(model, at)}: {given}. {fault.rule} The server does not start: `{shown(fault.text or '', limit=2 * _SHOWN)}`",
        file.where(_field(file, f"config[{at}]", "base_path")),
        f"base_path: {_quoted(right)}",
    )


def _absolute(model: ModelConfig) -> str:
    """The path without its first slash. The server knows no home folder, no variables, no drives and no way up."""
    parts = model.base_path.replace("\\", "/").split("/")
    named = [part for part in parts if part not in {"", ".", ".."} and not _OF_A_SHELL.match(part)]
    if model.base_path and len(named) == sum(part not in {"", "."} for part in parts):
        return "/".join(named)
    return f"models/{named[-1] if named else model.name or 'my_model'}"


def _scheme(file: ConfigFile[ModelServerConfig]) -> str:
    """How the paths of the other models begin: `gs://`, or a slash."""
    paths = [model.base_path for model in file.meant.models] if file.meant is not None else []
    return next((f"{path.partition('://')[0]}://" for path in paths if "://" in path), "/")


def all_versions_rules(deployment: Deployment) -> Iterator[Finding]:
    """models-all-versions."""
    for file, at, model in _models(deployment):
        if isinstance(model.model_version_policy, All):
            yield Finding(
                "models-all-versions",
                f"{_named(model, at)}: policy all keeps every version below the path in memory and on the GPU, and each upload adds one",
                file.where(_field(file, f"config[{at}]", "model_version_policy")),
                "model_version_policy { latest { num_versions: 1 } }",
            )


def label_rules(deployment: Deployment) -> Iterator[Finding]:
    """version-labels-need-allow-flag."""
    flags = server_flags(deployment)
    if flags is None or flags.given.get(ALLOW_LABELS) or attempted(deployment, ALLOW_LABELS):
        return
    for file, at, model in _models(deployment):
        fault = _fault(model, "version_labels", labels=True)
        if fault is None:
            continue
        names = ", ".join(label.label for label in model.version_labels)
        yield Finding(
            "version-labels-need-allow-flag",
            f"{_named(model, at)} has version_labels ({shown(names, limit=_SHOWN)}), and --{ALLOW_LABELS} is not set. {fault.rule} "
            f"The server does not start: `{shown(fault.text or '', limit=2 * _SHOWN)}`",
            file.where(_field(file, f"config[{at}]", "version_labels")),
            f"--{ALLOW_LABELS}=true",
        )


def _models(deployment: Deployment) -> Iterator[tuple[ConfigFile[ModelServerConfig], int, ModelConfig]]:
    """The file and each of its models, from 0."""
    file = deployment.models
    if file is not None and file.meant is not None:
        for at, model in enumerate(file.meant.models):
            yield file, at, model


def _fault(model: ModelConfig, *fields: str, labels: bool = False) -> Fault | None:
    """The first that the server finds in one of the fields."""
    found = faults(ModelServerConfig(models=(model,)), allow_version_labels_for_unavailable_models=not labels)
    return next((fault for fault in found if fault.field in fields), None)


def _field(file: ConfigFile[ModelServerConfig], entry: str, name: str) -> str:
    """The field's path, or its entry's where the field is not in the file."""
    path = f"{entry}.{name}"
    return path if path in file.reading.lines else entry


def _named(model: ModelConfig, at: int) -> str:
    return f"Model {_quoted(model.name)}" if model.name else f"Model {at + 1} of the list"


def _quoted(text: str) -> str:
    return f'"{shown(text, limit=_SHOWN)}"'


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    form_rules,
    platform_rules,
    entry_rules,
    all_versions_rules,
    label_rules,
)
