"""How the serving container starts: its flags, and the fixed script, run for real with a server that only tells what it was given."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from shared.rendering.entry import rendered_entry
from shared.tfserving.batching import parse_batching
from shared.tfserving.command import COLLECTOR_FOLDER, COMMAND, FOLDER, SCRIPT, SERVER
from shared.tfserving.flags import faults, parse_flags
from shared.tfserving.model_config import parse_model_config
from tests.support.desired import desired, own_entry


def test_the_flags_are_what_the_server_reads_and_nothing_is_wrong_with_them() -> None:
    flags = parse_flags(rendered_entry(desired()).args)
    assert faults(flags) == []
    assert flags.given == {
        "port": 8500,
        "rest_api_port": 8501,
        "rest_api_timeout_in_ms": 60_000,
        "enable_batching": True,
        "batching_parameters_file": "/tmp/trimtab/batching.config",
        "model_config_file": "/tmp/trimtab/models.config",
        "monitoring_config_file": "/tmp/trimtab/monitoring.config",
        "max_num_load_retries": 1,
        "load_retry_interval_micros": 2_000_000,
        "file_system_poll_wait_seconds": 0,
        "grpc_max_threads": 104,
    }


def test_over_rest_the_threads_of_rest_follow_the_concurrency() -> None:
    flags = parse_flags(rendered_entry(desired(protocol="rest")).args)
    assert (flags.given["rest_api_num_threads"], "grpc_max_threads" in flags.given) == (104, False)


def test_without_batching_there_is_neither_flag_nor_file() -> None:
    entry = rendered_entry(desired(batching=None))
    assert "TRIMTAB_BATCHING_PARAMETERS" not in entry.environment
    assert not [argument for argument in entry.args if "batching" in argument]


def test_a_model_in_the_image_or_copied_is_not_tried_twice() -> None:
    for source, uri in (("image", "/models/ranker"), ("copied", "gs://acme-models/ranker")):
        model = {"name": "ranker", "uri": uri, "version": 42, "source": source}
        assert "--max_num_load_retries=0" in rendered_entry(desired(model=model)).args


def test_the_one_version_is_pinned() -> None:
    config = parse_model_config(rendered_entry(desired()).environment["TRIMTAB_MODEL_CONFIG"])
    assert (config.pinned_version(), config.models[0].base_path) == (42, "gs://acme-models/ranker")


def test_extra_flags_follow_those_trimtab_writes() -> None:
    entry = rendered_entry(desired(extra_flags={"enable_profiler": False, "grpc_channel_arguments": "grpc.max_concurrent_streams=200"}))
    assert {"--enable_profiler=false", "--grpc_channel_arguments=grpc.max_concurrent_streams=200"} <= set(entry.args)


def test_an_entry_of_the_owners_is_not_rendered() -> None:
    with pytest.raises(ValueError, match="own_entry is set"):
        rendered_entry(own_entry())


def test_nothing_in_the_command_is_expanded_by_cloud_run() -> None:
    assert not [part for part in COMMAND if "$(" in part]


@pytest.fixture
def script(tmp_path: Path) -> str:
    """The script with its folders below `tmp_path`, and a server that writes down its arguments and waits to be ended."""
    server = tmp_path / "server"
    server.write_text('#!/bin/sh\nprintf \'%s\\n\' "$@" > "$0.args"\nexec sleep 30\n')
    server.chmod(0o755)
    (tmp_path / "collector").mkdir()
    moved = (
        SCRIPT.replace(SERVER, str(server)).replace(FOLDER, str(tmp_path / "files")).replace(COLLECTOR_FOLDER, str(tmp_path / "collector"))
    )
    assert moved.count(str(tmp_path)) >= 6
    return moved


def started(script: str, environment: dict[str, str], *args: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sh", "-c", script, "trimtab", *args], env={"PATH": os.environ["PATH"], **environment})


def written_arguments(folder: Path) -> list[str]:
    deadline = time.monotonic() + 10
    while not (folder / "server.args").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return (folder / "server.args").read_text().splitlines()


def test_the_script_writes_the_files_and_becomes_the_server(script: str, tmp_path: Path) -> None:
    entry = rendered_entry(desired(environment={"GREETING": 'it\'s $HOME; `date` "quoted"\n'}))
    server = started(script, dict(entry.environment), *entry.args)
    try:
        assert written_arguments(tmp_path) == list(entry.args)
        files = tmp_path / "files"
        for variable, name in (("MODEL_CONFIG", "models.config"), ("MONITORING_CONFIG", "monitoring.config")):
            assert (files / name).read_text() == entry.environment[f"TRIMTAB_{variable}"]
        assert parse_batching((files / "batching.config").read_text()) == desired().batching
        assert (tmp_path / "collector" / "config.yaml").read_text() == entry.environment["TRIMTAB_COLLECTOR_CONFIG"]
    finally:
        server.send_signal(signal.SIGTERM)
    # `exec`: the signal reached the server itself, no shell is in front of it.
    assert server.wait(timeout=10) == -signal.SIGTERM


def test_text_in_a_variable_is_never_run(script: str, tmp_path: Path) -> None:
    evil = f"'; touch {tmp_path}/pwned; echo '`touch {tmp_path}/pwned`${{IFS}}"
    server = started(script, {"TRIMTAB_MODEL_CONFIG": evil, "TRIMTAB_MONITORING_CONFIG": "x", "TRIMTAB_BATCHING_PARAMETERS": evil}, evil)
    try:
        assert written_arguments(tmp_path) == [evil]
        assert (tmp_path / "files" / "models.config").read_text() == evil
        assert not (tmp_path / "pwned").exists()
    finally:
        server.kill()
        server.wait(timeout=10)


def test_a_copied_model_stands_where_the_configuration_says(script: str, tmp_path: Path) -> None:
    source = tmp_path / "bucket" / "ranker" / "42"
    (source / "variables").mkdir(parents=True)
    (source / "variables" / "variables.index").write_text("index")
    target = tmp_path / "files" / "models" / "ranker" / "42"
    environment = {
        "TRIMTAB_MODEL_CONFIG": "x",
        "TRIMTAB_MONITORING_CONFIG": "x",
        "TRIMTAB_COPY_FROM": str(source),
        "TRIMTAB_COPY_TO": str(target),
    }
    server = started(script, environment)
    try:
        written_arguments(tmp_path)
        assert (target / "variables" / "variables.index").read_text() == "index"
    finally:
        server.kill()
        server.wait(timeout=10)


@pytest.mark.parametrize(
    ("source", "uri", "folder"),
    [
        ("image", "/models/ranker", "/models/ranker/42"),
        ("copied", "gs://acme-models/teams/ranker", "/mnt/trimtab-model/teams/ranker/42"),
        ("gcs", "gs://acme-models/ranker", None),
    ],
)
def test_the_versions_folder_is_named_where_the_script_can_look(source: str, uri: str, folder: str | None) -> None:
    model = {"name": "ranker", "uri": uri, "version": 42, "source": source}
    assert rendered_entry(desired(model=model)).environment.get("TRIMTAB_MODEL_FOLDER") == folder


def test_a_version_that_is_not_there_ends_the_start_at_once_and_says_which(script: str, tmp_path: Path) -> None:
    folder = tmp_path / "models; touch pwned" / "42"
    environment = {"TRIMTAB_MODEL_CONFIG": "x", "TRIMTAB_MONITORING_CONFIG": "x", "TRIMTAB_MODEL_FOLDER": str(folder)}
    done = subprocess.run(
        ["/bin/sh", "-c", script, "trimtab"],
        env={"PATH": os.environ["PATH"], **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"trimtab: there is no folder {folder}: is the version there, and is model.uri the folder above it?\n"
    assert not (tmp_path / "server.args").exists()
    assert not (tmp_path / "pwned").exists()


def test_a_version_that_is_there_is_served(script: str, tmp_path: Path) -> None:
    folder = tmp_path / "models" / "42"
    folder.mkdir(parents=True)
    server = started(script, {"TRIMTAB_MODEL_CONFIG": "x", "TRIMTAB_MONITORING_CONFIG": "x", "TRIMTAB_MODEL_FOLDER": str(folder)}, "--a")
    try:
        assert written_arguments(tmp_path) == ["--a"]
    finally:
        server.kill()
        server.wait(timeout=10)


def test_a_copy_that_fails_ends_the_start_at_once(script: str, tmp_path: Path) -> None:
    environment = {
        "TRIMTAB_MODEL_CONFIG": "x",
        "TRIMTAB_MONITORING_CONFIG": "x",
        "TRIMTAB_COPY_FROM": str(tmp_path / "nowhere"),
        "TRIMTAB_COPY_TO": str(tmp_path / "files" / "models"),
    }
    assert started(script, environment).wait(timeout=10) != 0
    assert not (tmp_path / "server.args").exists()
