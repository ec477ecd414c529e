"""`trimtab diagnose` as a person and a program meet it."""

import json
from pathlib import Path

from typer.testing import CliRunner, Result

from cli.main import app

BUNDLE = """deploy: |
  gcloud run deploy pose --region=us-east4 --image=tensorflow/serving:2.20.0-gpu --gpu=1 --gpu-type=nvidia-l4 \\
    --no-gpu-zonal-redundancy --cpu=8 --memory=32Gi --concurrency=96 --max-instances=3 --port=8500 --use-http2
logs:
- 'client: StatusCode.UNAVAILABLE details = "The batch scheduling queue to which this task was submitted is full"'
metrics:
  :tensorflow:serving:request_count{status=UNAVAILABLE} rate [1/s]: 31
batching: |
  max_batch_size { value: 8 }
  num_batch_threads { value: 1 }
  max_enqueued_batches { value: 2 }
"""
LOG = "2026-11-30T10:00:00Z Memory limit of 2048 MiB exceeded with 2126 MiB used. Consider increasing the memory limit\n"
PAGE = """# TYPE :tensorflow:serving:request_count counter
:tensorflow:serving:request_count{model_name="m",status="OK"} 100
"""


def diagnose(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["diagnose", *arguments], input=stdin)


def written(folder: Path, text: str, name: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_bundle_is_answered_with_causes_remedies_and_what_not_to_do(tmp_path: Path) -> None:
    (line,) = diagnose("--format", "jsonl", written(tmp_path, BUNDLE, "q.yaml")).stdout.splitlines()
    row = json.loads(line)
    assert set(row) == {"file", "causes", "remedies", "avoid", "missing"}
    assert row["causes"][0]["cause"] == "batch-queue-full"
    assert row["causes"][0]["evidence"]
    assert row["remedies"][0]["remedy"] == "lower-concurrency"
    assert (row["remedies"][0]["before"], row["remedies"][0]["after"]) == ("96", "24")
    assert "raise-max-enqueued-batches" in {each["remedy"] for each in row["avoid"]}


def test_the_text_has_the_parts_in_the_order_of_their_use(tmp_path: Path) -> None:
    result = diagnose(written(tmp_path, BUNDLE, "q.yaml"))
    assert result.exit_code == 0
    headings = [line.strip() for line in result.stdout.splitlines() if line.startswith("  ") and not line.startswith("    ")]
    assert headings[0].startswith("1. batch-queue-full (confidence ")
    assert headings[-2:] == ["Do", "Do not"] or headings[-3:] == ["Do", "Do not", "Look at next"]


def test_a_log_alone_is_a_question(tmp_path: Path) -> None:
    row = json.loads(diagnose("--format", "jsonl", written(tmp_path, LOG, "app.log")).stdout)
    assert row["causes"][0]["cause"] == "host-memory-exceeded"


def test_a_configuration_alone_is_no_healthy_service(tmp_path: Path) -> None:
    row = json.loads(diagnose("--format", "jsonl", written(tmp_path, "max_batch_size { value: 32 }\n", "b.txt")).stdout)
    assert row["causes"][0]["cause"] == "insufficient-data"
    assert row["remedies"][0]["remedy"] == "hold"
    assert row["missing"]


def test_a_folder_is_one_question_of_all_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "incident"
    (folder / "logs").mkdir(parents=True)
    written(folder / "logs", LOG, "app.log")
    written(folder, PAGE, "metrics.prom")
    written(folder, "Dear colleague,\nplease look.\n", "mail.txt")
    result = diagnose("--format", "jsonl", str(folder))
    row = json.loads(result.stdout)
    assert row["file"] == str(folder)
    assert row["causes"][0]["cause"] == "host-memory-exceeded"
    assert "mail.txt: left out: it is nothing that is known here" in result.stderr
    assert result.exit_code == 0


def test_an_export_of_cloud_logging_is_read(tmp_path: Path) -> None:
    entry = {"textPayload": LOG.strip(), "timestamp": "2026-11-30T10:00:00Z", "severity": "ERROR", "logName": "projects/p/logs/x"}
    row = json.loads(diagnose("--format", "jsonl", written(tmp_path, json.dumps([entry]), "log.json")).stdout)
    assert row["causes"][0]["cause"] == "host-memory-exceeded"


def test_a_notification_is_read(tmp_path: Path) -> None:
    file = Path(__file__).parents[3] / "docs/examples/alert.json"
    row = json.loads(diagnose("--format", "jsonl", str(file)).stdout)
    assert row["causes"]


def test_an_empty_folder_and_a_folder_without_evidence_end_with_2(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = diagnose(str(tmp_path / "empty"))
    assert result.exit_code == 2
    assert "no file in it is evidence" in result.stderr


def test_what_cannot_be_read_ends_with_2_and_the_others_are_answered(tmp_path: Path) -> None:
    result = diagnose("--format", "jsonl", written(tmp_path, "", "empty"), written(tmp_path, LOG, "app.log"))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert rows[0] == {"file": str(tmp_path / "empty"), "error": "it is empty", "causes": [], "remedies": [], "avoid": [], "missing": []}
    assert rows[1]["causes"][0]["cause"] == "host-memory-exceeded"


def test_standard_input_is_read_for_a_dash() -> None:
    row = json.loads(diagnose("--format", "jsonl", "-", stdin=LOG.encode()).stdout)
    assert row["file"] == "-"
    assert row["causes"][0]["cause"] == "host-memory-exceeded"
