"""The demo tells one incident from the alert to rest, the same way every time."""

import json
from itertools import pairwise

from typer.testing import CliRunner

from cli.main import app

run = CliRunner()


def steps() -> list[dict[str, object]]:
    result = run.invoke(app, ["demo", "--json"])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_the_maximum_goes_up_once_and_comes_down_slowly() -> None:
    written = [step["data"]["max_instance_count"] for step in steps() if step["who"] == "cloud-run"]  # type: ignore[index]
    assert written == [8, 6, 5, 4]


def test_the_alert_is_delivered_twice_and_answered_once() -> None:
    told = steps()
    alerts = [step["what"] for step in told if step["who"] == "monitoring"]
    assert len(alerts) == 3
    acted = [step for step in told if step["who"] == "decision" and step["data"]["act_id"]]  # type: ignore[index]
    assert acted[0]["at_seconds"] == 60
    assert "4 of 4 instances run" in str(acted[0]["what"])


def test_each_step_down_waits_ten_minutes() -> None:
    at = [int(str(step["at_seconds"])) for step in steps() if step["who"] == "cloud-run"]
    assert all(later - earlier >= 600 for earlier, later in pairwise(at[1:]))


def test_two_runs_tell_the_same_story() -> None:
    assert steps() == steps()


def test_the_table_says_what_is_simulated() -> None:
    result = run.invoke(app, ["demo"])
    assert result.exit_code == 0
    assert "Simulated: Cloud Run, the traffic, the time." in result.output
    assert "raise scaling.max_instance_count from 4 to 8" in " ".join(result.output.split())
    assert '"severity"' not in result.output
