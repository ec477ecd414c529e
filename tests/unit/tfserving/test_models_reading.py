"""Models' files as people have them: every mistake once, the models that were meant, and batching that belongs elsewhere."""

import pytest

from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.batching_reading import read_batching_file
from shared.tfserving.model_config import All, Latest, ModelConfig, ModelConfigTextError, Specific, VersionLabel, parse_model_config
from shared.tfserving.models_reading import read_models_file
from shared.tfserving.reading import FormFault

SYNTAX, UNKNOWN = FormFault.SYNTAX, FormFault.UNKNOWN_FIELD
ONE = 'name: "m" base_path: "/models/m" model_platform: "tensorflow"'
RANKER = ModelConfig(name="m", base_path="/models/m", model_platform="tensorflow")


def file(inside: str) -> str:
    return f"model_config_list {{\n  config {{\n    {inside}\n  }}\n}}\n"


def faults(text: str) -> list[tuple[FormFault, str]]:
    return [(problem.fault, problem.field) for problem in read_models_file(text).problems]


def models(text: str) -> tuple[ModelConfig, ...]:
    reading = read_models_file(text)
    assert reading.meant is not None
    return reading.meant.models


def test_a_file_that_the_server_reads_has_no_problem() -> None:
    text = file(f'{ONE} version_labels {{ key: "stable" value: 41 }} version_labels: [{{ key: "next" value: 42 }}]')
    reading = read_models_file(text)
    assert (reading.problems, reading.repaired, reading.misplaced) == ((), None, ())
    assert reading.meant == parse_model_config(text)


def test_fields_are_named_from_the_list_of_models_on() -> None:
    lines = read_models_file(file(f"{ONE}\n    model_version_policy {{\n      specific {{ versions: 42 }}\n    }}")).lines
    assert lines["config[0]"] == 2
    assert lines["config[0].base_path"] == 3
    assert lines["config[0].model_version_policy"] == 4
    assert lines["config[0].model_version_policy.specific.versions"] == 5


@pytest.mark.parametrize(
    ("inside", "field", "model"),
    [
        ("version_policy { all { } }", "version_policy", RANKER.model_copy(update={"model_version_policy": All()})),
        ("version: 42", "version", RANKER.model_copy(update={"model_version_policy": Specific(versions=(42,))})),
        ("specific { versions: [1, 2] }", "specific", RANKER.model_copy(update={"model_version_policy": Specific(versions=(1, 2))})),
        ("signature_name: 'x'", "signature_name", RANKER),
        ("logging_configs { }", "logging_configs", RANKER.model_copy(update={"logging_config": ""})),
    ],
)
def test_an_unknown_field_is_one_mistake(inside: str, field: str, model: ModelConfig) -> None:
    text = file(f"{ONE} {inside}")
    assert faults(text) == [(UNKNOWN, f"config[0].{field}")]
    assert models(text) == (model,)


@pytest.mark.parametrize("name", ["path", "model_base_path", "basePath", "storage_uri"])
def test_a_path_under_another_name_is_the_base_path(name: str) -> None:
    text = file(f'name: "m" {name}: "/models/m" platform: "tensorflow"')
    assert [problem.fault for problem in read_models_file(text).problems] == [UNKNOWN, UNKNOWN]
    assert models(text) == (RANKER,)


@pytest.mark.parametrize("text", [f"config {{ {ONE} }}", ONE, f"model_config_list {{ {ONE} }}"])
def test_braces_that_were_left_out_are_put_around(text: str) -> None:
    assert {problem.fault for problem in read_models_file(text).problems} == {UNKNOWN}
    assert models(text) == (RANKER,)


def test_two_lists_of_models_are_one() -> None:
    text = file(ONE) + file('name: "n"')
    assert [problem.fault for problem in read_models_file(text).problems] == [SYNTAX]
    assert [model.name for model in models(text)] == ["m", "n"]


def test_labels_as_a_map_are_syntax_and_not_an_unknown_field() -> None:
    text = file(f"{ONE} version_labels: {{ stable: 41, 'canary': 42 }}")
    (problem,) = read_models_file(text).problems
    assert (problem.fault, problem.field) == (SYNTAX, "config[0].version_labels")
    assert problem.fix == 'version_labels { key: "stable" value: 41 }\nversion_labels { key: "canary" value: 42 }'
    assert models(text)[0].version_labels == (VersionLabel(label="canary", version=42), VersionLabel(label="stable", version=41))


def test_two_policies_at_once_are_syntax_and_none_of_them_is_taken() -> None:
    text = file(f"{ONE} model_version_policy {{ latest {{ }} all {{ }} }}")
    assert faults(text) == [(SYNTAX, "config[0].model_version_policy")]
    assert models(text)[0].model_version_policy is None
    assert read_models_file(text).repaired is None


@pytest.mark.parametrize(
    ("policy", "meant"),
    [
        ("{ specific: 5 }", Specific(versions=(5,))),
        ("{ specific: [5, 6] }", Specific(versions=(5, 6))),
        ("{ specific { versions { value: 5 } } }", Specific(versions=(5,))),
        ("{ latest: 2 }", Latest(num_versions=2)),
        ("{ all: true }", All()),
        (": all", All()),
        (': "LATEST"', Latest()),
    ],
)
def test_a_policy_without_its_braces_is_syntax_and_certain(policy: str, meant: object) -> None:
    text = file(f"{ONE} model_version_policy {policy}")
    assert [problem.fault for problem in read_models_file(text).problems] == [SYNTAX]
    assert models(text)[0].model_version_policy == meant


def test_texts_without_quotes_are_syntax_and_certain() -> None:
    text = file("name: m base_path: gs://acme/m model_platform: tensorflow")
    assert [problem.fix for problem in read_models_file(text).problems] == [
        'name: "m"',
        'base_path: "gs://acme/m"',
        'model_platform: "tensorflow"',
    ]


def test_a_quote_that_was_forgotten_does_not_swallow_the_next_field() -> None:
    reading = read_models_file(file('name: "m base_path: "/models/m" model_platform: "tensorflow"'))
    assert [problem.fault for problem in reading.problems] == [SYNTAX]
    assert reading.meant is not None
    assert reading.meant.models == (RANKER,)
    assert reading.repaired is None


def test_a_missing_brace_between_two_models_is_one_mistake() -> None:
    text = f'model_config_list {{\n  config {{ {ONE}\n  config {{ name: "n" }}\n}}\n'
    assert [problem.fault for problem in read_models_file(text).problems] == [SYNTAX]
    assert [model.name for model in models(text)] == ["m", "n"]


@pytest.mark.parametrize(
    "text",
    [
        '{"model_config_list": {"config": [{"name": "m", "base_path": "/models/m", "model_platform": "tensorflow"}]}}',
        '{"modelConfigList": {"config": {"name": "m", "basePath": "/models/m", "modelPlatform": "tensorflow"}}}',
        '{"model_config_list": [{"name": "m", "base_path": "/models/m", "model_platform": "tensorflow"}]}',
        "model_config_list:\n  config:\n    - name: m\n      base_path: /models/m\n      model_platform: tensorflow\n",
        "model_config_list:\n  config:\n    name: m\n    base_path: '/models/m'\n    model_platform: \"tensorflow\"\n",
    ],
)
def test_another_language_is_one_mistake_and_its_models_are_read(text: str) -> None:
    assert [problem.fault for problem in read_models_file(text).problems] == [SYNTAX]
    assert models(text) == (RANKER,)


def test_a_batching_block_is_unknown_here_and_handed_on_with_its_line() -> None:
    text = file(f"{ONE}\n    batching_parameters {{\n      max_batch_size: 32  # rows\n      num_batch_threads: 2\n    }}")
    reading = read_models_file(text)
    assert faults(text) == [(UNKNOWN, "config[0].batching_parameters")]
    (block,) = reading.misplaced
    inside = read_batching_file(block.text)
    assert [(problem.fault, block.line - 1 + (problem.line or 0)) for problem in inside.problems] == [
        (FormFault.WRAPPER, 5),
        (FormFault.WRAPPER, 6),
    ]
    assert inside.meant == BatchingParameters(max_batch_size=32, num_batch_threads=2)
    assert reading.repaired is not None
    assert "rows" not in reading.repaired


def test_batching_fields_that_stand_loose_in_a_model_are_one_mistake_and_one_block() -> None:
    text = file(f"{ONE}\n    max_batch_size: 32\n\n    num_batch_threads {{ value: 2 }}")
    assert faults(text) == [(UNKNOWN, "config[0].max_batch_size")]
    (block,) = read_models_file(text).misplaced
    assert (block.line, block.text) == (4, "max_batch_size: 32\n\nnum_batch_threads { value: 2 }")


def test_a_batching_block_in_json_is_handed_on_as_text() -> None:
    text = '{"model_config_list": {"config": [{"name": "m", "batching_parameters": {"max_batch_size": 32}}]}}'
    reading = read_models_file(text)
    assert [problem.fault for problem in reading.problems] == [SYNTAX, UNKNOWN]
    assert [block.text for block in reading.misplaced] == ["max_batch_size { value: 32 }\n"]


def test_a_custom_config_is_taken_over_as_it_stands() -> None:
    text = 'custom_model_config { type_url: "x" # why\n}\nfoo: 1\n'
    assert read_models_file(text).repaired == 'custom_model_config { type_url: "x" # why\n}\n'


def test_an_enum_is_a_name_without_quotes() -> None:
    (problem,) = read_models_file(file(f'{ONE} model_type: "TENSORFLOW"')).problems
    assert (problem.fault, problem.fix) == (SYNTAX, "model_type: TENSORFLOW")


def test_a_backslash_that_begins_no_escape_is_refused_as_the_server_refuses_it_and_doubled() -> None:
    text = file(r'name: "m" base_path: "C:\models\m" model_platform: "tensorflow"')
    (problem,) = read_models_file(text).problems
    assert (problem.fault, problem.fix) == (SYNTAX, r'base_path: "C:\\models\\m"')
    assert models(text)[0].base_path == r"C:\models\m"
    with pytest.raises(ModelConfigTextError, match="Invalid escape sequence in string literal"):
        parse_model_config(text)


@pytest.mark.parametrize("written", [r"\\a", r"\x41", r"\101", r"\n", r"\"", r"\u00e9", r"\U0001F600"])
def test_escapes_that_the_server_knows_are_no_problem(written: str) -> None:
    assert faults(file(f'name: "{written}" base_path: "/m" model_platform: "tensorflow"')) == []
