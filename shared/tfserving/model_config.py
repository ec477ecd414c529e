"""The file of --model_config_file: which models a server loads, from where, in which versions.

Messages as in TF Serving's model_server_config.proto and file_system_storage_path_source.proto; checks as in its server_core.cc and
model_platform_types.h. Trimtab writes one model with one pinned version: with the policy `latest` a broken new version keeps every
new instance from starting, because each of them finds it first.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from shared.tfserving.descriptors import new_message
from shared.tfserving.faults import Fault, Found
from shared.tfserving.fields import Int32, Int64, Uint32, Utf8
from shared.tfserving.text import ConfigTextError, read_text, write_line, write_text

TENSORFLOW_PLATFORM = "tensorflow"
"""The only platform of the published server; others exist only where --platform_config_file defines them."""

MODEL_TYPE_UNSPECIFIED = 0
MODEL_TYPE_TENSORFLOW = 1

_SCHEME = re.compile(r"[A-Za-z][0-9A-Za-z.]*://")

_NO_BATCHING_HERE = (
    "No release reads batching parameters from the models' file. They go into a file of their own, as "
    "max_batch_size { value: 32 } (the timeout in microseconds: 5 ms is 5000), named by --batching_parameters_file with --enable_batching."
)
_MISREAD_FIELDS = {
    "batching_parameters": _NO_BATCHING_HERE,
    "batching_config": _NO_BATCHING_HERE,
    "max_batch_size": _NO_BATCHING_HERE,
    "batch_timeout_micros": _NO_BATCHING_HERE,
    "max_enqueued_batches": _NO_BATCHING_HERE,
    "num_batch_threads": _NO_BATCHING_HERE,
    "allowed_batch_sizes": _NO_BATCHING_HERE,
    "version_policy": "The field is model_version_policy, like model_version_policy { specific { versions: 42 } }.",
    "platform": 'The field is model_platform, and its value is "tensorflow".',
    "path": "The field is base_path: the folder that holds the version folders.",
    "model_path": "The field is base_path: the folder that holds the version folders.",
    "version": "A version is named by model_version_policy { specific { versions: 42 } }.",
    "versions": "Versions are named by model_version_policy { specific { versions: 42 } }.",
}


class ModelConfigTextError(ConfigTextError):
    """The text is no ModelServerConfig file."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Latest(_Value):
    """The versions with the highest numbers; zero, which is also what an empty message says, means one."""

    choice: Literal["latest"] = "latest"
    num_versions: Uint32 = 0


class All(_Value):
    """Every version in the folder."""

    choice: Literal["all"] = "all"


class Specific(_Value):
    """These versions and no others."""

    choice: Literal["specific"] = "specific"
    versions: tuple[Int64, ...] = ()


VersionPolicy = Annotated[Latest | All | Specific, Field(discriminator="choice")]


class VersionLabel(_Value):
    """A name under which clients ask for a version."""

    label: Utf8
    version: Int64


class ModelConfig(_Value):
    """One model. An empty text is a field left out; so is a `model_type` of 0.

    `logging_config` is kept as the text of its message, as the file has it: Trimtab does not write request logs.
    """

    name: Utf8 = ""
    base_path: Utf8 = ""
    model_platform: Utf8 = ""
    model_version_policy: VersionPolicy | None = None
    version_labels: tuple[VersionLabel, ...] = ()
    logging_config: str | None = None
    model_type: Int32 = MODEL_TYPE_UNSPECIFIED

    @field_validator("version_labels")
    @classmethod
    def _one_version_a_label(cls, labels: tuple[VersionLabel, ...]) -> tuple[VersionLabel, ...]:
        """The field is a map: no order, one version for each label."""
        by_label = {label.label: label for label in labels}
        if len(by_label) < len(labels):
            raise ValueError("a label stands for one version only")
        return tuple(by_label[label] for label in sorted(by_label))


class ModelServerConfig(_Value):
    """The whole file: a list of models, or a custom config (kept as the text of its Any), which the published server dies of.

    Neither is the empty file: the server starts, and serves nothing.
    """

    models: tuple[ModelConfig, ...] = ()
    custom_model_config: str | None = None

    @classmethod
    def pinned(cls, *, name: str, base_path: str, version: int) -> Self:
        """One model that serves one version and no other, whatever else appears in its folder."""
        policy = Specific(versions=(version,))
        model = ModelConfig(name=name, base_path=base_path, model_platform=TENSORFLOW_PLATFORM, model_version_policy=policy)
        return cls(models=(model,))

    def pinned_version(self) -> int | None:
        """The version, where the file is one model with one pinned version; else None."""
        if len(self.models) != 1:
            return None
        policy = self.models[0].model_version_policy
        if not isinstance(policy, Specific) or len(set(policy.versions)) != 1:
            return None
        return policy.versions[0]


def parse_model_config(text: str) -> ModelServerConfig:
    """Read the file's text.

    Raises:
        ModelConfigTextError: TF Serving would refuse the file.
    """
    message = new_message("ModelServerConfig")
    read_text(text, message, ModelConfigTextError, _MISREAD_FIELDS)
    if message.WhichOneof("config") == "custom_model_config":
        return ModelServerConfig(custom_model_config=write_line(message.custom_model_config))
    return ModelServerConfig(models=tuple(_model(config) for config in message.model_config_list.config))


def format_model_config(config: ModelServerConfig) -> str:
    """The file's text.

    Raises:
        ModelConfigTextError: the text kept in `logging_config` or `custom_model_config` is none.
    """
    message = new_message("ModelServerConfig")
    if config.custom_model_config is not None:
        read_text(config.custom_model_config, message.custom_model_config, ModelConfigTextError)
        message.custom_model_config.SetInParent()
        return write_text(message)
    for model in config.models:
        _fill(message.model_config_list.config.add(), model)
    return write_text(message)


def faults(config: ModelServerConfig, *, allow_version_labels_for_unavailable_models: bool = False) -> list[Fault]:
    """What the server refuses in a file that it can read; the flag decides whether labels may stand in a file read at start."""
    if config.custom_model_config is not None:
        return [
            Fault(
                "custom_model_config",
                config.custom_model_config,
                "The published server has no loader for custom configs: it aborts. List models in model_config_list.",
                "ModelServer does not yet support custom model config.",
                Found.START,
            )
        ]
    if not config.models:
        return [Fault("model_config_list", None, "The file names no model: nothing is served.", None, Found.NEVER)]
    found = [*_repeated_names(config)]
    for model in config.models:
        found.extend(_place_faults(model))
    for model in config.models:
        found.extend(_platform_faults(model))
    if not allow_version_labels_for_unavailable_models:
        for model in config.models:
            found.extend(_label_faults(model))
    for model in config.models:
        found.extend(_policy_faults(model))
    return found


def _repeated_names(config: ModelServerConfig) -> Iterator[Fault]:
    seen: set[str] = set()
    for model in config.models:
        if model.name in seen:
            yield Fault(
                "name",
                model.name,
                "Each model stands in the list once.",
                f"Illegal to list model {model.name} multiple times in config list",
                Found.START,
            )
        seen.add(model.name)


def _place_faults(model: ModelConfig) -> Iterator[Fault]:
    if not model.base_path.startswith("/") and not _SCHEME.match(model.base_path):
        yield Fault(
            "base_path",
            model.base_path,
            "The path is absolute, or a URI like gs://bucket/model; it names the folder above the version folders.",
            f"Expected model {model.name} to have an absolute path or URI; got base_path()={model.base_path}",
            Found.START,
        )


def _platform_faults(model: ModelConfig) -> Iterator[Fault]:
    if model.model_type != MODEL_TYPE_UNSPECIFIED and model.model_platform:
        yield Fault(
            "model_type",
            model.model_type,
            "model_type is deprecated and excludes model_platform: keep model_platform.",
            "Illegal setting both ModelServerConfig::model_type (deprecated) and ModelServerConfig::model_platform",
            Found.START,
        )
        return
    if model.model_type != MODEL_TYPE_UNSPECIFIED:
        if model.model_type != MODEL_TYPE_TENSORFLOW:
            yield Fault(
                "model_type",
                model.model_type,
                'Only TensorFlow is served: write model_platform: "tensorflow".',
                f"Model {model.name} requests unsupported platform",
                Found.START,
            )
        return
    if not model.model_platform:
        yield Fault(
            "model_platform",
            "",
            'The platform is not guessed: write model_platform: "tensorflow".',
            "Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform",
            Found.START,
        )
    elif model.model_platform != TENSORFLOW_PLATFORM:
        yield Fault(
            "model_platform",
            model.model_platform,
            'The published server knows one platform: write model_platform: "tensorflow" (not tensorflow_serving, not TensorFlow).',
            f"Model {model.name} requests unsupported platform {model.model_platform}",
            Found.START,
        )


def _label_faults(model: ModelConfig) -> Iterator[Fault]:
    for label in model.version_labels:
        yield Fault(
            "version_labels",
            label.label,
            "No version is available yet when the file is read at start: labels need --allow_version_labels_for_unavailable_models=true.",
            f"Request to assign label to version {label.version} of model {model.name}, which is not currently available for inference",
            Found.START,
        )


def _policy_faults(model: ModelConfig) -> Iterator[Fault]:
    policy = model.model_version_policy
    if not isinstance(policy, Specific):
        return
    if not policy.versions:
        yield Fault(
            "model_version_policy",
            (),
            "`specific` without versions wants none: nothing is served, and no port opens.",
            None,
            Found.NEVER,
        )
    if any(version < 0 for version in policy.versions):
        yield Fault("model_version_policy", policy.versions, "Version folders have no negative numbers.", None, Found.NEVER)


def _model(config: Any) -> ModelConfig:
    labels = tuple(VersionLabel(label=label, version=version) for label, version in config.version_labels.items())
    return ModelConfig(
        name=config.name,
        base_path=config.base_path,
        model_platform=config.model_platform,
        model_version_policy=_policy(config.model_version_policy),
        version_labels=labels,
        logging_config=write_line(config.logging_config) if config.HasField("logging_config") else None,
        model_type=config.model_type,
    )


def _policy(policy: Any) -> Latest | All | Specific | None:
    match policy.WhichOneof("policy_choice"):
        case "latest":
            return Latest(num_versions=policy.latest.num_versions)
        case "all":
            return All()
        case "specific":
            return Specific(versions=tuple(policy.specific.versions))
    return None


def _fill(config: Any, model: ModelConfig) -> None:
    config.name = model.name
    config.base_path = model.base_path
    config.model_platform = model.model_platform
    config.model_type = model.model_type
    for label in model.version_labels:
        config.version_labels[label.label] = label.version
    if model.logging_config is not None:
        read_text(model.logging_config, config.logging_config, ModelConfigTextError)
        config.logging_config.SetInParent()
    match model.model_version_policy:
        case Latest(num_versions=count):
            config.model_version_policy.latest.num_versions = count
            config.model_version_policy.latest.SetInParent()
        case All():
            config.model_version_policy.all.SetInParent()
        case Specific(versions=versions):
            config.model_version_policy.specific.versions.extend(versions)
            config.model_version_policy.specific.SetInParent()
