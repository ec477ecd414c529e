"""The models' file: its form, and entries that the server refuses."""

import pytest

from shared.lint.model_rules import RULES, all_versions_rules, entry_rules, form_rules, label_rules, platform_rules
from tests.support.lint_deployments import codes, found
from tests.support.lint_files import asked

ONE = 'name: "m" base_path: "/models/m" model_platform: "tensorflow"'
FLAGS = ("--port=8500", "--model_config_file=/etc/models.config")


def file(*insides: str) -> str:
    configs = "\n".join(f"  config {{ {inside} }}" for inside in insides)
    return f"model_config_list {{\n{configs}\n}}\n"


def test_a_right_file_has_no_finding() -> None:
    assert codes(RULES, asked(models=file(ONE, ONE.replace('"m"', '"n"')), flags=FLAGS)) == []
    assert codes(RULES, asked()) == []


@pytest.mark.parametrize(
    ("inside", "code"),
    [
        ("version_labels: { a: 1 }", "models-file-syntax"),
        ("model_version_policy { latest { } specific { versions: 1 } }", "models-file-syntax"),
        ("name: 'm'", "models-file-syntax"),
        ("batching_parameters { max_batch_size { value: 1 } }", "models-unknown-field"),
        ("max_batch_size { value: 1 }", "models-unknown-field"),
        ("signature: 'x'", "models-unknown-field"),
    ],
)
def test_one_mistake_of_form_is_one_code(inside: str, code: str) -> None:
    assert codes(RULES, asked(models=file(f"{ONE} {inside}"))) == [code]


def test_json_is_one_mistake() -> None:
    text = '{"model_config_list": {"config": [{"name": "m", "base_path": "/models/m", "model_platform": "tensorflow"}]}}'
    assert codes(RULES, asked(models=text)) == ["models-file-syntax"]


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ("", "Illegal setting neither"),
        ('model_platform: "tensorflow_serving"', "requests unsupported platform tensorflow_serving"),
        ('model_platform: "TensorFlow"', "requests unsupported platform TensorFlow"),
        ("model_type: OTHER", "requests unsupported platform"),
        ('model_type: TENSORFLOW model_platform: "tensorflow"', "Illegal setting both"),
    ],
)
def test_a_platform_that_the_server_does_not_have(platform: str, said: str) -> None:
    (finding,) = found(platform_rules, asked(models=file(f'name: "m" base_path: "/models/m" {platform}')))
    assert (finding.code, finding.fix) == ("models-platform-invalid", 'model_platform: "tensorflow"')
    assert said in finding.message


def test_a_platform_may_be_defined_in_a_file_of_its_own() -> None:
    models = file('name: "m" base_path: "/models/m" model_platform: "mine"')
    assert found(platform_rules, asked(models=models, flags=[*FLAGS, "--platform_config_file=/etc/platform.config"])) == []


def test_the_old_model_type_is_a_platform() -> None:
    assert found(platform_rules, asked(models=file('name: "m" base_path: "/models/m" model_type: TENSORFLOW'))) == []


@pytest.mark.parametrize(
    "platform", ["platform: 'tensorflow'", "model_platform: tensorflow", "model_platform = 'tensorflow'", "model_platform:"]
)
def test_a_platform_in_the_wrong_form_is_not_missing_too(platform: str) -> None:
    assert found(platform_rules, asked(models=file(f'name: "m" base_path: "/models/m" {platform}'))) == []


@pytest.mark.parametrize(
    ("insides", "said"),
    [
        ((ONE, ONE), "Illegal to list model m multiple times"),
        (('base_path: "/models/m" model_platform: "tensorflow"',), "has no name"),
        (('name: "m" model_platform: "tensorflow"',), "base_path is missing"),
        (('name: "m" base_path: "acme/m" model_platform: "tensorflow"',), "got base_path()=acme/m"),
    ],
)
def test_an_entry_that_the_server_does_not_take(insides: tuple[str, ...], said: str) -> None:
    (finding,) = found(entry_rules, asked(models=file(*insides)))
    assert finding.code == "models-entry-invalid"
    assert said in finding.message


def test_a_relative_path_beside_a_bucket_was_meant_to_be_one() -> None:
    models = file('name: "a" base_path: "gs://acme/a"', 'name: "b" base_path: "acme/b"')
    (finding,) = found(entry_rules, asked(models=models))
    assert (finding.fix, finding.where.line) == ('base_path: "gs://acme/b"', 3)


@pytest.mark.parametrize("path", ["path: '/models/m'", "base_path: /models/m", "base_path: '/models/m"])
def test_a_path_in_the_wrong_form_is_not_missing_too(path: str) -> None:
    assert found(entry_rules, asked(models=file(f'name: "m" {path}'))) == []


@pytest.mark.parametrize("path", ["/models/m", "gs://acme/m", "s3://acme/m"])
def test_an_absolute_path_or_a_uri_is_taken(path: str) -> None:
    assert found(entry_rules, asked(models=file(f'name: "m" base_path: "{path}"'))) == []


def test_a_custom_config_has_no_loader() -> None:
    (finding,) = found(entry_rules, asked(models='custom_model_config { type_url: "x" }'))
    assert "does not yet support custom model config" in finding.message


def test_every_version_resident() -> None:
    assert codes([all_versions_rules], asked(models=file(f"{ONE} model_version_policy {{ all {{ }} }}"))) == ["models-all-versions"]
    assert found(all_versions_rules, asked(models=file(f"{ONE} model_version_policy {{ latest {{ num_versions: 3 }} }}"))) == []


LABELLED = file(f'{ONE} version_labels {{ key: "stable" value: 41 }}')


def test_labels_at_the_start_need_a_flag() -> None:
    (finding,) = found(label_rules, asked(models=LABELLED, flags=FLAGS))
    assert finding.fix == "--allow_version_labels_for_unavailable_models=true"
    assert "assign label to version 41 of model m" in finding.message


@pytest.mark.parametrize("flags", [None, (*FLAGS, "--allow_version_labels_for_unavailable_models")])
def test_labels_with_the_flag_or_with_flags_that_are_not_known(flags: tuple[str, ...] | None) -> None:
    assert found(label_rules, asked(models=LABELLED, flags=flags)) == []


def test_no_labels_need_no_flag() -> None:
    assert found(label_rules, asked(models=file(ONE), flags=FLAGS)) == []


@pytest.mark.parametrize(
    ("path", "right"),
    [("~/m", "/models/m"), ("$HOME/m", "/models/m"), ("../m", "/models/m"), ("C:/tmp/m", "/models/m"), ("./acme/m/", "/acme/m")],
)
def test_a_path_of_a_shell_or_another_system_becomes_one_of_the_container(path: str, right: str) -> None:
    (finding,) = found(entry_rules, asked(models=file(f'name: "m" base_path: "{path}" model_platform: "tensorflow"')))
    assert finding.fix == f'base_path: "{right}"'


@pytest.mark.parametrize("name", ["models", "model_list"])
def test_another_name_of_the_list_is_renamed(name: str) -> None:
    (finding,) = found(form_rules, asked(models=f"{name} {{ config {{ {ONE} }} }}"))
    assert (finding.code, finding.fix) == ("models-unknown-field", f"model_config_list {{ config {{ {ONE} }} }}")


def test_the_number_of_the_latest_versions_has_a_name_of_its_own() -> None:
    (finding,) = found(form_rules, asked(models=file(f"{ONE} model_version_policy {{ latest {{ versions: 1 }} }}")))
    assert finding.fix == "model_version_policy { latest { num_versions: 1 } }"
    assert "The field is num_versions." in finding.message


def test_a_file_in_json_is_shown_a_models_file() -> None:
    (finding,) = found(form_rules, asked(models='{"model_config_list": {"config": [{"name": "m", "base_path": "/m"}]}}'))
    assert "model_config_list { config {" in finding.message
    assert "batch" not in finding.message
