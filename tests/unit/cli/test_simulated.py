"""The table of simulated figures, and the line that says what they say."""

from typing import Any

import pytest

from cli.simulated import CAUSES, percent, table, verdict
from cli.simulating import Ran
from shared.simulation.figures import DOES_NOT_START, figures_without_a_server
from shared.simulation.world.layout import CAUSES as WORLD_CAUSES
from shared.simulation.world.results import RunResult
from shared.tfserving.capacity.batch_time import AffineBatchTime, BatchTime, TableBatchTime


def told(goodput: float | None = 1.0, **changed: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"goodput": goodput, "errors": {}, "mean_batch": 12.0, "gpu_busy": 0.5, "cpu_busy": 0.2}
    return {**usual, **changed}


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (told(), "100.0 % answered within 50 ms"),
        (told(0.998, errors={"request-timeout": 0.001}), "99.8 % answered within 50 ms"),
        (told(None), "nothing was asked"),
        (told(0.0, errors={DOES_NOT_START: 1.0}), "no server comes up with these settings: nothing is answered"),
        (told(0.9, gpu_busy=0.97), "10.0 % answered too late, the GPU is full (97.0 %)"),
        (
            told(0.8, errors={"request-timeout": 0.1}, cpu_busy=0.99, gpu_busy=0.4),
            "10.0 % of tries failed: timed out, 10.0 % answered later than 50 ms, the CPU is full (99.0 %), the GPU 40.0 % busy",
        ),
        (told(0.5, gpu_busy=None), "50.0 % answered too late"),
    ],
)
def test_one_line_says_what_the_numbers_say(figures: dict[str, Any], said: str) -> None:
    assert verdict(figures, 50) == said


ALONE = told(0.27, errors={"server-thread-quota": 0.73}, mean_batch=1.0, gpu_busy=0.99)
REFUSED = "73.0 % of tries refused: server threads exhausted"


@pytest.mark.parametrize(
    ("batch_time", "said"),
    [
        (AffineBatchTime(4, 0.25), "the GPU is 99.0 % busy with batches of 1.0, far below what it can carry"),
        (AffineBatchTime(4, 0.25, host_ms=3.9), "the GPU is full (99.0 %)"),  # of the fixed part hardly anything is the GPU's
        (AffineBatchTime(0.5, 4), "the GPU is full (99.0 %)"),
        (AffineBatchTime(40, 8), "the GPU is full (99.0 %)"),  # a larger batch would be too late
        (TableBatchTime({1: 4, 8: 30}), "the GPU is full (99.0 %)"),
        (TableBatchTime({1: 4, 8: 8}), "the GPU is 99.0 % busy with batches of 1.0, far below what it can carry"),
        (None, "the GPU is full (99.0 %)"),
    ],
)
def test_a_gpu_that_is_full_of_small_batches_could_carry_more_where_the_model_s_times_say_so(
    batch_time: BatchTime | None, said: str
) -> None:
    assert verdict(ALONE, 50, batch_time) == f"{REFUSED}, {said}"


def test_every_cause_has_words() -> None:
    assert set(CAUSES) == {*WORLD_CAUSES, DOES_NOT_START}


@pytest.mark.parametrize(
    ("share", "said"),
    [(None, "-"), (0.0, "0.0 %"), (0.0001, "< 0.1 %"), (0.123, "12.3 %"), (0.99999, "> 99.9 %"), (1.0, "100.0 %")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(share: float | None, said: str) -> None:
    assert percent(share) == said


def ran(name: str, *notes: str, result: RunResult | None = None) -> Ran:
    return Ran(name, result, None, notes)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    runs = [
        ran(f"settings number {number} ", "a note that is longer than a line of the terminal, whatever its width " * 2)
        for number in range(6)
    ]
    lines = list(table(runs, good_ms=50, budget=None))
    assert max(map(len, lines)) <= max(columns, 60)
    assert [line for line in lines if line != line.rstrip()] == []
    assert sum(line.startswith("simulated ") for line in lines) == {40: 6, 80: 3, 120: 2}[columns]
    assert figures_without_a_server() == runs[0].figures
