"""The demo is one incident in the simulated world, from the rise of the load to the measured effect; nothing of its end is scripted."""

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.story import MOST, tell

run = CliRunner()


@cache
def as_json(*options: str) -> dict[str, Any]:
    result = run.invoke(app, ["demo", "--json", *options])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.output)
    return found


@pytest.mark.parametrize(("load", "seed"), [("1.0", "2"), ("0.7", "3"), ("1.5", "4")])
def test_most_is_lost_before_the_first_write_and_next_to_nothing_at_the_end(load: str, seed: str) -> None:
    told = as_json("--load", load, "--seed", seed)
    assert told["before"]["goodput"] < 0.95
    assert told["after"]["goodput"] >= 0.95
    figures = [*told["before"].values(), *told["after"].values()]
    assert all(isinstance(each, float) and math.isfinite(each) for each in figures)


def test_it_is_the_incident_of_a_busy_cpu_an_idle_gpu_and_refused_requests() -> None:
    story = tell(seed=1, load=1.0)
    assert story.before.cpu_busy is not None
    assert story.before.gpu_busy is not None
    assert story.before.cpu_busy > 0.9
    assert story.before.gpu_busy < 0.5
    assert set(story.before.errors) == {"server-thread-quota"}


def test_the_cause_is_named_from_the_evidence_before_anything_is_written() -> None:
    first = as_json()["decisions"][0]
    assert (first["trigger"], first["cause"]) == ("thread-gap", "server-thread-quota")
    assert {"grpc_max_threads from 16 to 104", "enable_batching from off to on"} <= set(first["changes"])
    assert "TF Serving counts" in first["why"]
    assert first["outcome"].startswith("kept: ")


def test_what_ends_it_is_the_repair_and_no_instance_more() -> None:
    changes = [change for each in as_json()["decisions"] for change in each["changes"]]
    assert not [change for change in changes if change.startswith("scaling.")]
    assert {change for change in changes if change.startswith(("deploy ", "promote "))}
    assert tell(seed=1, load=1.0).after.mean_instances == MOST


def test_every_write_is_a_decision_that_says_so() -> None:
    told = as_json()
    assert told["platform_writes"] == sum(each["outcome"] == "written" for each in told["decisions"])


def test_the_same_seed_tells_the_same_and_another_one_another() -> None:
    first = as_json()
    assert first == as_json("--load", "1.0", "--seed", "1")
    assert first != as_json("--load", "1.0", "--seed", "2")


def test_the_text_says_what_is_simulated_and_the_picture_is_written(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    result = run.invoke(app, ["demo", "--plot", str(picture)])
    assert result.exit_code == 0, result.output
    assert "Simulated: Cloud Run, TF Serving, the traffic, the time, and so every figure." in result.output
    assert '"severity"' not in result.output
    assert picture.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize("name", ["demo.txt", "no/such/folder/demo.svg"])
def test_a_picture_that_cannot_be_written_is_said_before_anything_is_run(name: str) -> None:
    result = run.invoke(app, ["demo", "--plot", name])
    assert result.exit_code == 2
    assert "--plot" in result.output
