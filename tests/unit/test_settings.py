"""Settings come from the environment alone, and a wrong one is named with what it may be."""

import pytest

from shared.settings import Settings

PROJECT = {"TRIMTAB_PROJECT": "acme-ml"}


def refused(variables: dict[str, str]) -> str:
    with pytest.raises(ValueError, match="settings: ") as refusal:
        Settings.from_environment(variables)
    return str(refusal.value)


def test_the_project_is_all_that_must_be_set() -> None:
    settings = Settings.from_environment(PROJECT)
    assert settings.model_dump() == {
        "edition": "gcp",
        "project": "acme-ml",
        "firestore_database": "(default)",
        "wakes_topic": "wakes",
        "cloud_run_endpoint": None,
        "cloud_run_rest_endpoint": None,
        "storage_endpoint": None,
        "logging_endpoint": None,
        "monitoring_endpoint": None,
        "profiler": False,
        "trace_ratio": 0.0,
        "telemetry_endpoint": None,
        "allowed_images": None,
        "allowed_service_accounts": None,
        "allowed_buckets": None,
        "allowed_projects": None,
        "own_principals": None,
        "events_topic": None,
        "command_grants": (),
        "push_service_account": None,
        "alerts_topic": "alerts",
        "uploads_topic": "model-uploads",
        "commands_topic": "commands",
        "changes_topic": "changes",
        "ticks_topic": "ticks",
    }


def test_an_empty_environment_is_told_what_is_missing() -> None:
    assert refused({}) == "settings: TRIMTAB_PROJECT is not set: Field required"


def test_the_platforms_own_variable_names_the_project_where_ours_does_not() -> None:
    assert Settings.from_environment({"GOOGLE_CLOUD_PROJECT": "theirs-ml"}).project == "theirs-ml"
    assert Settings.from_environment({"GOOGLE_CLOUD_PROJECT": "theirs-ml", **PROJECT}).project == "acme-ml"


def test_an_empty_variable_counts_as_unset() -> None:
    settings = Settings.from_environment({**PROJECT, "TRIMTAB_WAKES_TOPIC": "", "TRIMTAB_CLOUD_RUN_ENDPOINT": ""})
    assert (settings.wakes_topic, settings.cloud_run_endpoint) == ("wakes", None)


def test_a_misspelt_variable_is_refused_by_its_name() -> None:
    assert "TRIMTAB_WAKE_TOPIC='w'" in refused({**PROJECT, "TRIMTAB_WAKE_TOPIC": "w"})


def test_other_peoples_variables_are_none_of_our_business() -> None:
    assert Settings.from_environment({**PROJECT, "PATH": "/bin", "XTRIMTAB_PROJECT": "x", "trimtab_project": "x"}).project == "acme-ml"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRIMTAB_EDITION", "aws"),
        ("TRIMTAB_PROJECT", "A B"),
        ("TRIMTAB_PROJECT", "acme"),
        ("TRIMTAB_FIRESTORE_DATABASE", "Default"),
        ("TRIMTAB_WAKES_TOPIC", "projects/p/topics/t"),
        ("TRIMTAB_WAKES_TOPIC", "1x"),
    ],
)
def test_a_malformed_value_is_named_and_shown(name: str, value: str) -> None:
    assert f"{name}={value!r}: " in refused({**PROJECT, name: value})


def test_a_long_value_is_cut_in_the_message() -> None:
    assert len(refused({**PROJECT, "TRIMTAB_WAKES_TOPIC": "x" * 100_000})) < 300


def test_all_that_is_wrong_is_named_at_once() -> None:
    message = refused({"TRIMTAB_EDITION": "aws", "TRIMTAB_FROBNICATE": "1"})
    assert all(name in message for name in ("TRIMTAB_EDITION", "TRIMTAB_FROBNICATE", "TRIMTAB_PROJECT"))


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8443", "localhost:1", "[::1]:50051"])
def test_a_simulated_cloud_run_or_cloud_storage_may_stand_on_this_machine(endpoint: str) -> None:
    settings = Settings.from_environment({**PROJECT, "TRIMTAB_CLOUD_RUN_ENDPOINT": endpoint, "TRIMTAB_STORAGE_ENDPOINT": endpoint})
    assert (settings.cloud_run_endpoint, settings.storage_endpoint) == (endpoint, endpoint)


@pytest.mark.parametrize(
    "endpoint",
    ["run.googleapis.com:443", "10.0.0.1:80", "127.0.0.1", "127.0.0.1:80@evil.example:1", "localhost.evil.example:1", "http://127.0.0.1:1"],
)
@pytest.mark.parametrize("variable", ["TRIMTAB_CLOUD_RUN_ENDPOINT", "TRIMTAB_CLOUD_RUN_REST_ENDPOINT", "TRIMTAB_STORAGE_ENDPOINT"])
def test_an_unencrypted_endpoint_anywhere_else_is_refused(variable: str, endpoint: str) -> None:
    assert variable in refused({**PROJECT, variable: endpoint})


def test_an_allow_list_is_a_comma_separated_list_of_names_and_prefixes() -> None:
    settings = Settings.from_environment(
        {**PROJECT, "TRIMTAB_ALLOWED_IMAGES": "tensorflow/serving:2.20.0-gpu, europe-docker.pkg.dev/acme-ml/*,"}
    )
    assert settings.allowed_images == ("tensorflow/serving:2.20.0-gpu", "europe-docker.pkg.dev/acme-ml/*")


@pytest.mark.parametrize("pattern", ["*.example.com", "a*b", "a**", "two words"])
def test_a_pattern_that_would_match_something_else_than_it_looks_like_is_refused(pattern: str) -> None:
    assert "TRIMTAB_ALLOWED_BUCKETS" in refused({**PROJECT, "TRIMTAB_ALLOWED_BUCKETS": f"acme-models,{pattern}"})


def test_a_list_of_nothing_but_commas_is_refused() -> None:
    assert "TRIMTAB_ALLOWED_PROJECTS" in refused({**PROJECT, "TRIMTAB_ALLOWED_PROJECTS": " , "})


def test_without_an_argument_the_process_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIMTAB_PROJECT", "acme-ml")
    monkeypatch.setenv("TRIMTAB_WAKES_TOPIC", "trimtab-wakes")
    assert Settings.from_environment().wakes_topic == "trimtab-wakes"


GRANT = '[{"identity": "a@example.com", "commands": ["hold"], "services": ["*"]}]'


def test_grants_are_a_json_list() -> None:
    settings = Settings.from_environment({**PROJECT, "TRIMTAB_COMMAND_GRANTS": GRANT})
    assert settings.command_grants == ({"identity": "a@example.com", "commands": ["hold"], "services": ["*"]},)
    assert Settings.from_environment(PROJECT).command_grants == ()


@pytest.mark.parametrize("grants", ["hold", "{}", '"x"', "[1]", "[" * 9_000, '["' + "x" * 40_000 + '"]'])
def test_grants_that_are_none_are_refused(grants: str) -> None:
    assert "TRIMTAB_COMMAND_GRANTS" in refused({**PROJECT, "TRIMTAB_COMMAND_GRANTS": grants})


def test_the_account_of_the_pushes_is_an_address() -> None:
    assert Settings.from_environment({**PROJECT, "TRIMTAB_PUSH_SERVICE_ACCOUNT": "p@x.iam.gserviceaccount.com"}).push_service_account
    assert "TRIMTAB_PUSH_SERVICE_ACCOUNT" in refused({**PROJECT, "TRIMTAB_PUSH_SERVICE_ACCOUNT": "allUsers"})


def test_each_function_has_a_topic_to_go_back_to() -> None:
    topics = Settings.from_environment({**PROJECT, "TRIMTAB_CHANGES_TOPIC": "their-changes"}).function_topics
    assert topics == {
        "alert": "alerts",
        "upload": "model-uploads",
        "command": "commands",
        "audit": "their-changes",
        "schedule": "ticks",
        "reconcile": "wakes",
    }


@pytest.mark.parametrize("ratio", ["-0.1", "1.1", "nan", "inf", "ten"])
def test_a_ratio_is_from_0_to_1(ratio: str) -> None:
    with pytest.raises(ValueError, match="TRIMTAB_TRACE_RATIO"):
        Settings.from_environment({"TRIMTAB_PROJECT": "acme-ml", "TRIMTAB_TRACE_RATIO": ratio})


def test_the_switches_are_read_as_terraform_writes_them() -> None:
    settings = Settings.from_environment({"TRIMTAB_PROJECT": "acme-ml", "TRIMTAB_PROFILER": "true", "TRIMTAB_TRACE_RATIO": "0.05"})
    assert (settings.profiler, settings.trace_ratio) == (True, 0.05)
