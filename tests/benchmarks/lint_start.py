"""`trimtab lint FILE` from the start of the process to its end, against a typer program that does nothing."""

import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from tests.benchmarks.table import Area, Row, at_most, spread
from tests.support.lint_healthy import HEALTHY

LARGEST_RATIO = 3.0
EMPTY_PROGRAM = """\
import typer

app = typer.Typer()


@app.command()
def main() -> None:
    pass


app()
"""
FILES = ("l4-grpc.sh", "service-v1.yaml", "batching-full.txt", "two-models-bundle.yaml", "plan.json", "parcel-eta.yaml")

HOW = (
    "The installed `trimtab lint FILE`, from the start of the process to its end, in turns with a typer program of one empty command, "
    "{rounds} times each, byte-code and page cache warm. Compared are the medians; the bound holds for the slowest of the files."
)


def measure(*, rounds: int = 15) -> Area:
    texts = {healthy.name: healthy.text for healthy in HEALTHY}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        empty = folder / "empty.py"
        empty.write_text(EMPTY_PROGRAM)
        programs = {"empty": [sys.executable, str(empty)]}
        for file in FILES:
            (folder / file).write_text(texts[file])
            programs[file] = [str(Path(sysconfig.get_path("scripts")) / "trimtab"), "lint", str(folder / file)]
        walls: dict[str, list[float]] = {program: [] for program in programs}
        for number in range(rounds + 1):
            for program, command in programs.items():
                seconds = _seconds(command)
                if number:
                    walls[program].append(seconds)
    yardstick = statistics.median(walls["empty"])
    ratios = {file: statistics.median(walls[file]) / yardstick for file in FILES}
    slowest = max(ratios, key=lambda file: ratios[file])
    rows = (
        Row("empty typer program", spread([1e3 * each for each in walls["empty"]], " ms", digits=0)),
        *(
            Row(f"trimtab lint {file}", f"{spread([1e3 * each for each in walls[file]], ' ms', digits=0)}; {ratios[file]:.2f} x")
            for file in FILES
        ),
        at_most(f"slowest / empty ({slowest})", ratios[slowest], LARGEST_RATIO),
    )
    return Area("Lint: start to end", HOW.format(rounds=rounds), rows)


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began
