"""The models' file: what is read, what is kept, what the server refuses."""

import pytest

from shared.tfserving.faults import Found
from shared.tfserving.model_config import (
    All,
    Latest,
    ModelConfig,
    ModelConfigTextError,
    ModelServerConfig,
    Specific,
    VersionLabel,
    faults,
    format_model_config,
    parse_model_config,
)

PINNED = ModelServerConfig.pinned(name="ranker", base_path="gs://models/ranker", version=42)


def listed(model: str) -> str:
    return f"model_config_list {{ config {{ {model} }} }}"


def test_one_pinned_version() -> None:
    assert format_model_config(PINNED) == (
        "model_config_list {\n"
        "  config {\n"
        '    name: "ranker"\n'
        '    base_path: "gs://models/ranker"\n'
        '    model_platform: "tensorflow"\n'
        "    model_version_policy {\n"
        "      specific {\n"
        "        versions: 42\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
    )
    assert parse_model_config(format_model_config(PINNED)) == PINNED
    assert PINNED.pinned_version() == 42
    assert faults(PINNED) == []


def test_a_file_with_everything() -> None:
    text = """
    # two models
    model_config_list: {
      config: { name: "a", base_path: "/a", model_platform: "tensorflow"; model_version_policy { specific { versions: [2, 1] } }
        version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 } version_labels { key: "none" }
        logging_config { log_collector_config { type: "file" filename_prefix: "/logs/a" } sampling_config { sampling_rate: 0.25 } } }
      config { name: "b" base_path: "s3://b" model_type: TENSORFLOW model_version_policy { latest { num_versions: 2 } } }
      config { name: "c" base_path: "/c" model_version_policy: { all: {} } }
      config { name: "d" base_path: "/d" model_version_policy { latest {} } logging_config {} }
      config { name: "e" base_path: "/e" model_version_policy { } }
    }"""
    read = parse_model_config(text)
    assert read.models == (
        ModelConfig(
            name="a",
            base_path="/a",
            model_platform="tensorflow",
            model_version_policy=Specific(versions=(2, 1)),
            version_labels=(
                VersionLabel(label="canary", version=2),
                VersionLabel(label="none", version=0),
                VersionLabel(label="stable", version=1),
            ),
            logging_config='log_collector_config { type: "file" filename_prefix: "/logs/a" } sampling_config { sampling_rate: 0.25 }',
        ),
        ModelConfig(name="b", base_path="s3://b", model_type=1, model_version_policy=Latest(num_versions=2)),
        ModelConfig(name="c", base_path="/c", model_version_policy=All()),
        ModelConfig(name="d", base_path="/d", model_version_policy=Latest(), logging_config=""),
        ModelConfig(name="e", base_path="/e"),
    )
    assert parse_model_config(format_model_config(read)) == read
    assert read.pinned_version() is None
    assert 'key: "none" value: 0' in format_model_config(read)


@pytest.mark.parametrize(
    ("policy", "version"),
    [
        (None, None),
        (Latest(), None),
        (All(), None),
        (Specific(), None),
        (Specific(versions=(1, 2)), None),
        (Specific(versions=(7, 7)), 7),
        (Specific(versions=(0,)), 0),
    ],
)
def test_pinned_or_not(policy: Latest | All | Specific | None, version: int | None) -> None:
    assert ModelServerConfig(models=(ModelConfig(model_version_policy=policy),)).pinned_version() == version


@pytest.mark.parametrize(
    "text",
    [
        'custom_model_config { type_url: "example.com/x" value: "\\377" }',
        'custom_model_config { type_url: "type.googleapis.com/tensorflow.serving.ModelConfig" value: "\\377" }',
        'custom_model_config { [type.googleapis.com/tensorflow.serving.ModelConfig] { name: "m" } }',
        "custom_model_config { }",
    ],
)
def test_a_custom_config_is_kept_and_is_fatal(text: str) -> None:
    read = parse_model_config(text)
    assert read.custom_model_config is not None
    assert parse_model_config(format_model_config(read)) == read
    (fault,) = faults(read)
    assert fault.found is Found.START


def test_the_widely_copied_advice() -> None:
    with pytest.raises(ModelConfigTextError) as refused:
        parse_model_config("""model_config_list {
  config {
    name: "m"
    base_path: "/models/m"
    model_platform: "tensorflow_serving"
    batching_parameters {
      max_batch_size: 32
      batch_timeout_micros: 5000000 # 5ms
    }
  }
}""")
    assert (refused.value.line, refused.value.column) == (6, 5)
    assert refused.value.parser_message == 'Message type "tensorflow.serving.ModelConfig" has no field named "batching_parameters".'
    for words in ("a file of their own", "{ value: 32 }", "5 ms is 5000", "--batching_parameters_file", "--enable_batching"):
        assert words in refused.value.meaning


@pytest.mark.parametrize(
    ("text", "parser_message", "meaning"),
    [
        (listed("max_batch_size { value: 1 }"), 'no field named "max_batch_size"', "--batching_parameters_file"),
        (listed("version_policy { specific { versions: 1 } }"), 'no field named "version_policy"', "is model_version_policy"),
        (listed("model_versions_policy { }"), "no field named", 'Did you mean "model_version_policy"?'),
        (listed("version: 3"), 'no field named "version"', "model_version_policy { specific { versions: 42 } }"),
        (listed("version_labels { stable: 1 }"), 'VersionLabelsEntry" has no field named "stable"', 'key: "stable" value: 42'),
        (listed('version_labels { "stable": 1 }'), "Expected identifier", "without quotes"),
        (listed("version_labels: 1"), 'Expected "{"', 'key: "stable" value: 42'),
        (listed("model_version_policy { latest { } all { } }"), 'along with field "latest"', "exclude each other"),
        (listed("model_version_policy: latest"), 'Expected "{"', "model_version_policy { ... }"),
        (listed('name: "m" name: "n"'), 'multiple "name"', "once only"),
        (listed("name: m"), "Expected string", "in quotes"),
        (listed("model_type: KERAS"), "no value named KERAS", "not protobuf text"),
        ('config { name: "m" }', 'no field named "config"', "There is no such field in ModelServerConfig"),
        ("model_config_list { } custom_model_config { }", "along with field", "exclude each other"),
        ("custom_model_config { [example.com/nothing.known] { } }", "not found", "none of TF Serving's"),
        ('{"model_config_list": {}}', "Expected identifier", "looks like JSON"),
        ("custom_model_config { [a/tensorflow.serving.ModelServerConfig] { " * 40, "nested deeper", "that deep"),
    ],
)
def test_refused_texts(text: str, parser_message: str, meaning: str) -> None:
    with pytest.raises(ModelConfigTextError) as refused:
        parse_model_config(text)
    assert parser_message in refused.value.parser_message
    assert meaning in refused.value.meaning


def test_kept_texts_must_be_what_was_kept() -> None:
    with pytest.raises(ModelConfigTextError, match="nonsense"):
        format_model_config(ModelServerConfig(models=(ModelConfig(logging_config="nonsense: 1"),)))
    with pytest.raises(ModelConfigTextError, match="nonsense"):
        format_model_config(ModelServerConfig(custom_model_config="nonsense: 1"))


def test_a_label_stands_once() -> None:
    with pytest.raises(ValueError, match="one version only"):
        ModelConfig(version_labels=(VersionLabel(label="a", version=1), VersionLabel(label="a", version=2)))


@pytest.mark.parametrize(
    ("model", "field", "text"),
    [
        (
            ModelConfig(name="m", base_path="models/m", model_platform="tensorflow"),
            "base_path",
            "Expected model m to have an absolute path or URI; got base_path()=models/m",
        ),
        (
            ModelConfig(name="m", base_path="/m"),
            "model_platform",
            "Illegal setting neither ModelServerConfig::model_type (deprecated) nor ModelServerConfig::model_platform",
        ),
        (
            ModelConfig(name="m", base_path="/m", model_platform="tensorflow_serving"),
            "model_platform",
            "Model m requests unsupported platform tensorflow_serving",
        ),
        (
            ModelConfig(name="m", base_path="/m", model_platform="TensorFlow"),
            "model_platform",
            "Model m requests unsupported platform TensorFlow",
        ),
        (
            ModelConfig(name="m", base_path="/m", model_platform="tensorflow", model_type=1),
            "model_type",
            "Illegal setting both ModelServerConfig::model_type (deprecated) and ModelServerConfig::model_platform",
        ),
        (ModelConfig(name="m", base_path="/m", model_type=2), "model_type", "Model m requests unsupported platform"),
        (
            ModelConfig(name="m", base_path="/m", model_platform="tensorflow", version_labels=(VersionLabel(label="canary", version=2),)),
            "version_labels",
            "Request to assign label to version 2 of model m, which is not currently available for inference",
        ),
    ],
)
def test_what_the_server_refuses(model: ModelConfig, field: str, text: str) -> None:
    (fault,) = faults(ModelServerConfig(models=(model,)))
    assert (fault.field, fault.text, fault.found) == (field, text, Found.START)


def test_the_deprecated_type_alone_is_legal() -> None:
    assert faults(ModelServerConfig(models=(ModelConfig(name="m", base_path="/m", model_type=1),))) == []


def test_a_model_listed_twice() -> None:
    (fault,) = faults(ModelServerConfig(models=(*PINNED.models, *PINNED.models)))
    assert fault.text == "Illegal to list model ranker multiple times in config list"


def test_labels_with_the_flag() -> None:
    model = PINNED.models[0].model_copy(update={"version_labels": (VersionLabel(label="stable", version=42),)})
    assert faults(ModelServerConfig(models=(model,)), allow_version_labels_for_unavailable_models=True) == []


@pytest.mark.parametrize("versions", [(), (-1,)])
def test_versions_that_never_come(versions: tuple[int, ...]) -> None:
    model = PINNED.models[0].model_copy(update={"model_version_policy": Specific(versions=versions)})
    (fault,) = faults(ModelServerConfig(models=(model,)))
    assert fault.found is Found.NEVER


def test_no_model_at_all() -> None:
    assert parse_model_config("") == ModelServerConfig() == parse_model_config("model_config_list { }")
    (fault,) = faults(ModelServerConfig())
    assert fault.found is Found.NEVER
    assert format_model_config(ModelServerConfig()) == ""
