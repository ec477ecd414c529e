"""A models.config as people have it, read past its mistakes. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from shared.tfserving.batching import parse_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.descriptors import new_message
from shared.tfserving.form_fitting import Fitting
from shared.tfserving.form_kinds import Words
from shared.tfserving.form_names import Vocabulary, snake
from shared.tfserving.form_nodes import Field, Message, Problems
from shared.tfserving.form_reading import Form, read_form
from shared.tfserving.form_writing import write
from shared.tfserving.model_config import ModelServerConfig, parse_model_config
from shared.tfserving.reading import Block, Reading

_OF_A_MODEL = ("name", "base_path", "model_platform", "model_version_policy", "version_labels", "model_type", "logging_config")
_BASE_PATHS = (
    "path",
    "model_path",
    "model_base_path",
    "base_dir",
    "base_directory",
    "model_dir",
    "model_uri",
    "uri",
    "base_uri",
    "storage_uri",
    "location",
)
_SPECIFIC = ("model_version_policy", "specific", "versions")
_VOCABULARY = Vocabulary(
    {
        "ModelServerConfig": {
            "config": ("model_config_list", "config"),
            "model_config": ("model_config_list", "config"),
            "configs": ("model_config_list", "config"),
            **dict.fromkeys(("models", "model_list", "model_configs", "models_config"), ("model_config_list",)),
            **{name: ("model_config_list", "config", name) for name in _OF_A_MODEL},
        },
        "ModelConfigList": {
            "model_config": ("config",),
            "model": ("config",),
            "models": ("config",),
            **{name: ("config", name) for name in _OF_A_MODEL},
        },
        "ModelConfig": {
            **dict.fromkeys(_BASE_PATHS, ("base_path",)),
            "model_name": ("name",),
            "platform": ("model_platform",),
            "version_policy": ("model_version_policy",),
            "version": _SPECIFIC,
            "versions": _SPECIFIC,
            "specific": ("model_version_policy", "specific"),
            "latest": ("model_version_policy", "latest"),
            "all": ("model_version_policy", "all"),
            "labels": ("version_labels",),
            "version_label": ("version_labels",),
        },
        "ServableVersionPolicy": {"versions": ("specific", "versions"), "num_versions": ("latest", "num_versions")},
        "Latest": dict.fromkeys(("versions", "version", "number", "count", "num", "n"), ("num_versions",)),
        "Specific": {"version": ("versions",)},
    },
    elsewhere=frozenset({"batching_parameters", "batching_params", "batching_config", "batching", "batch_config", "batch_parameters"}),
    loose=frozenset(BatchingParameters.model_fields),
)


def read_models_file(text: str) -> Reading[ModelServerConfig]:
    """The file's models, and what is wrong with its form; never raises for any text.

    `lines` and the problems name fields from the list of models on: `config[0].base_path`.
    """
    form = read_form(text, root="ModelServerConfig", parse=parse_model_config, vocabulary=_VOCABULARY)
    return replace(form.reading, misplaced=_blocks(form))


def _blocks(form: Form[ModelServerConfig]) -> tuple[Block, ...]:
    """The batching parameters: each block's inside, and the fields that stand loose in one message as one block."""
    blocks: list[Block] = []
    loose: dict[str, list[Field]] = {}
    for each in form.elsewhere:
        value = each.field.value
        if snake(each.field.name) in BatchingParameters.model_fields:
            loose.setdefault(each.path, []).append(each.field)
        elif isinstance(value, Message):
            inside = _translated(value.fields) if form.is_foreign else form.text[value.start : value.end]
            blocks.append(Block(inside, value.line))
    for fields in loose.values():
        inside = _translated(fields) if form.is_foreign else _on_their_lines(form.text, fields)
        blocks.append(Block(inside, fields[0].line))
    return tuple(sorted(blocks, key=lambda block: block.line))


def _on_their_lines(text: str, fields: Sequence[Field]) -> str:
    """The fields as they stand, each as many lines behind the first as in the file."""
    said, line = "", fields[0].line
    for field in fields:
        piece = text[field.start : field.end].strip()
        said += "\n" * max(field.line - line, 0) + (" " if field.line <= line and said else "") + piece
        line = max(field.line, line) + piece.count("\n")
    return said


def _translated(fields: Sequence[Field]) -> str:
    """Fields of another language as protobuf text, so that only their values are judged."""
    problems = Problems()
    problems.foreign = True
    fitting = Fitting(
        new_message("BatchingParameters").DESCRIPTOR, "", vocabulary=Vocabulary(), words=Words(parse_batching, problems), is_unclosed=False
    )
    return write(fitting.fit(fields), ())
