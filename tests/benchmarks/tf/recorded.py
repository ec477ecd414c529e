"""What TensorFlow did with the cases, kept as a file for the tests that run without it."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.sources import ROOT
from tests.benchmarks.tf.cases import CASES, Case, Outcome

RECORD = ROOT / "tests" / "fixtures" / "tensorflow" / "batch_scheduler.json"
CASES_PER_PROCESS = 36
"""A scheduler's threads live as long as its process."""


@dataclass(frozen=True)
class Record:
    tensorflow: str
    cases: tuple[tuple[Case, Outcome], ...]


def ask(tensorflow: Path) -> Record:
    """What the TensorFlow of this Python does with them: some three minutes.

    Raises:
        RuntimeError: it failed; the message holds the end of what it printed.
    """
    version, outcomes = "", []
    for first in range(0, len(CASES), CASES_PER_PROCESS):
        cases = json.dumps([case.as_json() for case in CASES[first : first + CASES_PER_PROCESS]])
        command = [str(tensorflow), "-m", "tests.benchmarks.tf.oracle"]
        done = subprocess.run(command, cwd=ROOT, input=cases, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2_000:]}")
        answer = json.loads(done.stdout)
        version = answer["tensorflow"]
        outcomes += [Outcome.from_json(each) for each in answer["outcomes"]]
    return Record(version, tuple(zip(CASES, outcomes, strict=True)))


def write(record: Record, path: Path = RECORD) -> None:
    """One line for each case; a text stands once, and the cases have its number."""
    texts = sorted({text for _, outcome in record.cases for _, text in outcome.refused})
    lines = []
    for case, outcome in record.cases:
        refused = [[number, texts.index(text)] for number, text in outcome.refused]
        lines.append(json.dumps({**case.as_json(), "batches": outcome.batches, "refused": refused}))
    head = {
        "tensorflow": record.tensorflow,
        "how": "BatchFunction of tensorflow-cpu on a CPU, no GPU; made by `python -m tests.benchmarks.tf --record`, never by hand",
        "texts": texts,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(head, indent=1)[:-2] + ',\n "cases": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")


def read(path: Path = RECORD) -> Record:
    """The kept one."""
    document = json.loads(path.read_text())
    texts = document["texts"]
    cases = tuple(
        (Case.from_json(each), Outcome.from_json({**each, "refused": [(number, texts[text]) for number, text in each["refused"]]}))
        for each in document["cases"]
    )
    return Record(document["tensorflow"], cases)
