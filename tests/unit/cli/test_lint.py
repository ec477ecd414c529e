"""`trimtab lint` as a person and a program meet it."""

import json
import os
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cli.main import app

HEALTHY = """max_batch_size { value: 32 }
batch_timeout_micros { value: 1000 }
max_enqueued_batches { value: 4 }
num_batch_threads { value: 2 }
"""
SCALARS = "# tuned in May\nmax_batch_size: 32\nbatch_timeout_micros: 1000\nmax_enqueued_batches: 4\nnum_batch_threads: 2\n"
PADDED = "max_batch_size { value: 32 }\npad_variable_length_inputs: true\nmax_enqueued_batches { value: 4 }\n"
COMMAND = """gcloud run deploy digits --region=us-west1 --image=tensorflow/serving:2.20.0 --cpu=2 --memory=4Gi \\
  --max-concurrency 6 --port=8501 --set-env-vars=MODEL_NAME=digits
"""


def lint(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments], input=stdin)


def written(folder: Path, text: str, name: str = "file.txt") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_clean_file_ends_with_0_and_says_what_it_was_read_as(tmp_path: Path) -> None:
    file = written(tmp_path, HEALTHY)
    result = lint(file)
    assert result.exit_code == 0
    assert result.stdout == f"{file}: nothing found (read as batching parameters file)\n"


def test_errors_end_with_1(tmp_path: Path) -> None:
    result = lint(written(tmp_path, SCALARS))
    assert result.exit_code == 1
    assert "batching-wrapper-syntax" in result.stdout


def test_warnings_alone_end_with_0(tmp_path: Path) -> None:
    result = lint(written(tmp_path, PADDED))
    assert result.exit_code == 0
    assert "warning pad-first-element" in result.stdout


def test_a_finding_names_file_line_field_what_why_fix_and_source(tmp_path: Path) -> None:
    file = written(tmp_path, SCALARS)
    lines = lint(file).stdout.splitlines()
    assert lines[0] == f"{file}:2: error batching-wrapper-syntax max_batch_size"
    assert lines[1].startswith('    "max_batch_size" is a wrapper')
    assert lines[2] == "    fix: max_batch_size { value: 32 }"
    assert lines[3].startswith("    source: TensorFlow Serving source (session_bundle_config.proto)")
    assert lines[-2] == f"{file}: 4 errors (read as batching parameters file); trimtab explain CODE says more"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"\xff\xfe\xfd", "it is no text"),
        (b"Dear colleague,\n", "nothing that is known here"),
        (b"a" * 1_000_001, "at most 1,000,000 are read"),
        (b"2026-11-30 ERROR: container exited\n", "Ask trimtab diagnose"),
    ],
)
def test_what_cannot_be_read_ends_with_2_and_says_why(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    result = lint(str(path))
    assert result.exit_code == 2
    assert why in result.stderr


def test_a_file_that_is_not_there_and_a_folder_are_said(tmp_path: Path) -> None:
    assert "there is no such file" in lint(str(tmp_path / "none")).stderr
    assert "it is a folder" in lint(str(tmp_path)).stderr


def test_one_unreadable_file_does_not_keep_the_others_from_their_answer(tmp_path: Path) -> None:
    result = lint("--format", "jsonl", written(tmp_path, "", "empty"), written(tmp_path, SCALARS, "b.txt"))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert [Path(row["file"]).name for row in rows] == ["empty", "b.txt"]
    assert rows[0]["findings"] == []
    assert rows[0]["error"] == "it is empty"
    assert len(rows[1]["findings"]) == 4


def test_jsonl_has_an_object_a_file_with_exactly_these_names(tmp_path: Path) -> None:
    file = written(tmp_path, PADDED)
    (line,) = lint("--format", "jsonl", file).stdout.splitlines()
    (finding,) = json.loads(line)["findings"]
    assert set(finding) == {"code", "severity", "message", "where", "fix", "authority"}
    assert finding["code"] == "pad-first-element"
    assert finding["severity"] == "warning"
    assert finding["where"] == f"{file}:2: pad_variable_length_inputs"


def test_json_is_one_document(tmp_path: Path) -> None:
    found = json.loads(lint("--format", "json", written(tmp_path, HEALTHY), written(tmp_path, PADDED, "p")).stdout)
    assert [len(file["findings"]) for file in found["files"]] == [0, 1]


def test_sarif_names_rule_level_file_and_line(tmp_path: Path) -> None:
    file = written(tmp_path, SCALARS, "batch ing.txt")
    run = json.loads(lint("--format", "sarif", file).stdout)["runs"][0]
    result = run["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "batching-wrapper-syntax"
    assert result["level"] == "error"
    assert place["artifactLocation"]["uri"].endswith("/batch%20ing.txt")
    assert place["region"] == {"startLine": 2}


def test_annotations_of_github_are_escaped(tmp_path: Path) -> None:
    file = written(tmp_path, COMMAND, "a,b:c%.sh")
    (line, *_) = [each for each in lint("--format", "github", file).stdout.splitlines() if "gcloud-unknown-flag" in each]
    assert line.startswith(f"::error file={tmp_path}/a%2Cb%3Ac%25.sh,line=2,title=gcloud-unknown-flag::")
    assert "%0AFix: --concurrency=6" in line


def test_standard_input_is_read_for_a_dash() -> None:
    result = lint("-", stdin=SCALARS.encode())
    assert result.exit_code == 1
    assert result.stdout.startswith("-:2: error batching-wrapper-syntax")


def test_files_together_are_one_deployment(tmp_path: Path) -> None:
    flags = written(tmp_path, "--port=8500\n--model_name=m\n--model_base_path=/models/m\n--batching_parameters_file=/b.txt\n", "flags")
    batching = written(tmp_path, HEALTHY, "b.txt")
    assert "batching-not-enabled" in lint("--together", flags, batching).stdout
    assert lint(batching).exit_code == 0


def test_two_files_of_the_same_part_are_no_deployment(tmp_path: Path) -> None:
    result = lint("--together", written(tmp_path, HEALTHY, "a"), written(tmp_path, HEALTHY, "b"))
    assert result.exit_code == 2
    assert "both have batching" in result.stderr


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    result = lint(written(tmp_path, 'max_batch_size: "\x1b[2J"\n'))
    assert "\x1b" not in result.stdout + result.stderr


def test_fix_writes_what_is_certain_shows_it_and_keeps_the_permissions(tmp_path: Path) -> None:
    file = written(tmp_path, SCALARS)
    Path(file).chmod(0o640)
    result = lint("--fix", file)
    assert Path(file).read_text() == "# tuned in May\n" + HEALTHY
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o640  # noqa: PTH116 (the mode as the system has it)
    assert "-max_batch_size: 32" in result.stdout
    assert "+max_batch_size { value: 32 }" in result.stdout
    assert result.stdout.splitlines()[-1] == f"{file}: nothing found (read as batching parameters file)"
    assert result.exit_code == 0


def test_fix_of_a_command_changes_the_flag_and_nothing_else(tmp_path: Path) -> None:
    file = written(tmp_path, COMMAND, "deploy.sh")
    lint("--fix", file)
    assert Path(file).read_text() == COMMAND.replace("--max-concurrency 6", "--concurrency 6")


def test_fix_leaves_a_file_alone_where_nothing_is_certain(tmp_path: Path) -> None:
    text = "max_batch_size { value: 64 }\nallowed_batch_sizes: 32\n"
    file = written(tmp_path, text)
    assert lint("--fix", file).exit_code == 1
    assert Path(file).read_text() == text


def test_fix_keeps_standard_output_for_the_program_that_reads_it(tmp_path: Path) -> None:
    result = lint("--fix", "--format", "jsonl", written(tmp_path, SCALARS))
    (row,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert row["findings"] == []
    assert "+max_batch_size { value: 32 }" in result.stderr


def test_fix_of_standard_input_writes_nothing() -> None:
    result = lint("--fix", "-", stdin=SCALARS.encode())
    assert "nothing is written" in result.stderr


def test_fix_and_together_exclude_each_other(tmp_path: Path) -> None:
    assert lint("--fix", "--together", written(tmp_path, HEALTHY)).exit_code == 2
