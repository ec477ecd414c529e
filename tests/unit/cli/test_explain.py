"""`trimtab explain`: a code, a cause, a remedy, or the list of all."""

import io
import json
import subprocess
import sys

import pytest

from cli import explain as command
from cli.explaining import Page, everything
from shared.diagnose.cause_catalog import CAUSES
from shared.diagnose.remedy_catalog import REMEDIES
from shared.lint.catalog import CODES
from tests.support.commands import trimtab

EVERY_NAME = sorted({*CODES, *CAUSES, *REMEDIES})


def text(name: str, columns: int = 80) -> str:
    done = trimtab("explain", name, environment={"COLUMNS": str(columns)})
    assert (done.exit_code, done.stderr) == (0, "")
    return done.stdout


def test_a_code_says_what_why_and_how() -> None:
    shown = text("allowed-last-not-max")
    lines = shown.splitlines()
    assert lines[:2] == ["allowed-last-not-max", "Lint code, error. The last allowed batch size is not max_batch_size."]
    assert [line for line in lines if line and not line.startswith(" ")][2:] == ["Reported", "Not reported", "Why", "Fix", "Source"]
    assert "    max_batch_size { value: 32 }" in lines
    assert "last entry was 16; expected 32" in " ".join(shown.split())


def test_a_cause_says_what_else_it_could_be_and_which_answers_are_wrong() -> None:
    shown = " ".join(text("server-thread-quota").split())
    assert "gpu-out-of-memory: its text names a tensor and an allocator." in shown
    assert "Remedies, the best first raise-server-threads: give the server more threads." in shown
    assert (
        "Wrong answers lower-max-batch-size, raise-max-batch-size, raise-max-enqueued-batches: the calls never reach the batching." in shown
    )


def test_a_remedy_says_its_knob_whether_it_is_a_new_revision_and_for_what_it_is_right_or_wrong() -> None:
    shown = " ".join(text("lower-max-enqueued-batches").split())
    assert "Knob `max_enqueued_batches`." in shown
    assert "New revision Yes: a GPU cold start beside the old revision." in shown
    assert "Mends batch-queue-wait-timeout, queue-too-deep" in shown
    assert "Wrong answer to batch-timeout-latency" in shown


def test_a_name_that_is_a_code_and_a_cause_shows_both() -> None:
    shown = text("queue-too-deep")
    assert "queue-too-deep\nLint code, warning. " in shown
    assert "queue-too-deep\nCause. " in shown


@pytest.mark.parametrize("spelt", ["Queue-Too-Deep", "queue_too_deep", " queue-too-deep "])
def test_capitals_and_underscores_do_not_matter(spelt: str) -> None:
    assert text(spelt) == text("queue-too-deep")


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", EVERY_NAME)
def test_no_line_is_wider_than_the_terminal_but_what_is_to_be_pasted_and_single_words(name: str, columns: int) -> None:
    wide = [line for line in text(name, columns).splitlines() if len(line) > columns and " " in line.strip()]
    assert [line for line in wide if not line.startswith("    ") or len(line) > 80] == []


def test_on_a_wide_terminal_lines_stay_readable() -> None:
    assert max(len(line) for line in text("cpu-memory-shape", 250).splitlines()) <= 100


def test_an_unknown_name_ends_with_the_nearest_ones() -> None:
    done = trimtab("explain", "batch-unreachble")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("batch-unreachble: no lint code, cause or remedy has this name. Near: batch-unreachable, ")


@pytest.mark.parametrize(
    ("typed", "near"),
    [("quota", "gpu-quota-refused"), ("probe", "fix-probe"), ("thread-quota", "server-thread-quota"), ("etag", "stale-etag")],
)
def test_a_word_of_a_name_leads_to_it(typed: str, near: str) -> None:
    assert near in everything().nearest(typed)


def test_a_name_that_is_near_nothing_is_told_where_the_list_is() -> None:
    done = trimtab("explain", "zzz\x1b[2J")
    assert done.exit_code == 2
    assert done.stderr == "zzz\\x1b[2J: no lint code, cause or remedy has this name. `trimtab explain` lists all.\n"


def test_without_a_name_all_are_listed_in_their_groups() -> None:
    done = trimtab("explain", environment={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert {"LINT CODES (73)", "CAUSES (51)", "REMEDIES (50)", "Probes", "Does not start", "Batching parameters"} <= set(lines)
    listed = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert listed == [*CODES, *CAUSES, *REMEDIES]
    assert max(map(len, lines)) <= 80


def test_on_a_narrow_terminal_titles_stand_below_the_names() -> None:
    lines = trimtab("explain", environment={"COLUMNS": "40"}).stdout.splitlines()
    at = lines.index("  gpu-zonal-redundancy-implicit")
    assert lines[at + 1 : at + 3] == ["    Nothing is said about GPU zonal", "    redundancy, so it is on (warning)"]


def test_json_has_every_field_of_each_kind() -> None:
    both = json.loads(trimtab("explain", "startup-window-too-short", "--format", "json").stdout)
    assert set(both) == {"name", "code", "cause", "remedy"}
    assert (both["name"], both["remedy"]) == ("startup-window-too-short", None)
    assert both["code"]["severity"] == "error"
    assert set(both["code"]) == {"name", "severity", "title", "when", "not_when", "why", "fix", "example", "authority"}
    assert both["cause"]["remedies"] == ["fix-probe", "move-model-local"]
    assert {other["cause"] for other in both["cause"]["not_to_be_confused_with"]} == {
        "model-path-empty",
        "probe-misconfigured",
        "gpu-kernels-jit",
    }
    remedy = json.loads(trimtab("explain", "raise-concurrency", "--format", "json").stdout)["remedy"]
    assert remedy["new_revision"] is True


def test_json_without_a_name_lists_names_with_titles_and_groups() -> None:
    every = json.loads(trimtab("explain", "--format", "json").stdout)
    assert {kind: len(entries) for kind, entries in every.items()} == {"codes": 73, "causes": 51, "remedies": 50}
    assert every["codes"][0] == {
        "name": "gcloud-unknown-flag",
        "severity": "error",
        "title": "gcloud has no such flag",
        "group": "gcloud command",
    }


def test_an_unknown_name_is_no_json() -> None:
    done = trimtab("explain", "nothing-of-the-kind", "--format", "json")
    assert (done.exit_code, done.stdout) == (2, "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    found = everything().find("queue-too-deep")
    assert found is not None
    lines = list(found.lines(command._page()))
    assert lines[0] == "\x1b[33m\x1b[1mqueue-too-deep\x1b[0m"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    assert command._page().coloured is False


def test_elsewhere_there_is_no_colour() -> None:
    assert "\x1b" not in text("queue-too-deep")
    assert Page(80).heading("x", "error") == "x"


def test_the_catalogs_load_nothing_but_themselves() -> None:
    program = "import sys, shared.lint.catalog, shared.diagnose.cause_catalog, shared.diagnose.remedy_catalog; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "google.protobuf", "yaml", "typer", "rich"} & set(loaded)
    ours = {name for name in loaded if name.startswith("shared.")}
    assert {name.rsplit(".", 1)[-1].split("_")[0] for name in ours} <= {
        "lint", "diagnose", "catalog", "code", "codes", "sources", "cause", "causes", "remedy", "remedies", "known",
    }  # fmt: skip
