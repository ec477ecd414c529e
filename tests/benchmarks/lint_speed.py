"""How long lint takes over a file, against what the file's own library takes only to parse it; and how much memory."""

import json
import shlex
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from google.cloud import run_v2
from google.protobuf import json_format, text_format

from shared.lint.asking import ask
from shared.lint.recognition import UnreadableError, decoded
from shared.tfserving.descriptors import new_message, pool
from tests.benchmarks.table import Area, Row, at_most
from tests.support.lint_healthy import HEALTHY
from tests.support.lint_large import LARGE, sized

LARGEST_RATIO = 5.0
LEAST_NANOSECONDS = 200
"""For each byte. Blanks, comments and long texts pass the C libraries at memory speed, which no second look in Python can follow."""
LARGEST_BYTES_PER_BYTE = 60
SIZE = 200_000
"""Bytes; documents above 262,144 characters are refused after a look, which would flatter lint."""

HOW = (
    "Files of some {size:,} bytes of every kind, and every healthy file of the tests as it is (a few hundred bytes to two kilobytes): the "
    "time from bytes to findings (`decoded`, then `ask`) against the parse alone of the same text by the library that reads it in earnest: "
    "PyYAML's C loader, `json.loads` (of a service: protobuf's `json_format.Parse`), protobuf's `text_format.Parse`, `shlex.split`; of a "
    "bundle, that of its parts too. In turns within one run, the quickest of {rounds} rounds on each side. Memory is the peak that "
    "`tracemalloc` sees while lint answers, for files of 900,000 bytes, as bytes for each byte of the file."
)


@dataclass(frozen=True)
class Timed:
    """One text: its seconds in lint, and those of the library's parse alone."""

    name: str
    size: int
    lint_seconds: float
    library_seconds: float

    @property
    def ratio(self) -> float:
        return self.lint_seconds / self.library_seconds

    @property
    def nanoseconds(self) -> float:
        return 1e9 * self.lint_seconds / self.size

    def row(self) -> Row:
        holds = self.ratio <= LARGEST_RATIO or self.nanoseconds <= LEAST_NANOSECONDS
        bound = f"<= {LARGEST_RATIO:.2f}, or <= {LEAST_NANOSECONDS} ns"
        judged = self.name not in _MANY_QUESTIONS
        shown = f"{self.ratio:.2f}; {self.nanoseconds:,.0f} ns for each byte"
        return Row(f"lint / parse, {self.name}", shown, bound if judged else "", holds if judged else None)


def _text(message: str) -> Callable[[str], Any]:
    return lambda text: text_format.Parse(text, new_message(message), descriptor_pool=pool())


def _yaml(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def _service(text: str) -> Any:
    return json_format.Parse(text, run_v2.Service.pb(run_v2.Service()), ignore_unknown_fields=True)


def _bundle(text: str) -> Any:
    """The bundle, then each of its parts that is a text."""
    parts = yaml.load(text, yaml.CSafeLoader)
    readers = {"batching": _text("BatchingParameters"), "models": _text("ModelServerConfig"), "monitoring": _text("MonitoringConfig")}
    for name, part in parts.items():
        if name == "deploy":
            (_yaml if part.startswith("apiVersion") else _shell)(part)
        elif name in readers:
            readers[name](part)
    return parts


def _shell(text: str) -> Any:
    return shlex.split(text, comments=True)


_LIBRARIES: tuple[tuple[str, Callable[[str], Any]], ...] = (
    ("commands", _shell),
    ("flags", _shell),
    ("batching", _text("BatchingParameters")),
    ("models", _text("ModelServerConfig")),
    ("v1 document", _yaml),
    ("v2 document, YAML", _yaml),
    ("v2 document, JSON", _service),
    ("Terraform plan", json.loads),
    ("alert policy", json.loads),
    ("spec", _yaml),
    ("bundle", _bundle),
)
"""Which library reads the files whose name begins so. Those that no library reads to the end are not compared."""
_NOT_READ = frozenset({"batching, broken lines"})
_MANY_QUESTIONS = frozenset({"Terraform plan, services"})
"""A plan of a hundred services is a hundred questions; parsing it says nothing about what they take."""
_OF_HEALTHY: dict[str, Callable[[str], Any]] = {
    ".sh": _shell,
    "v1.yaml": _yaml,
    "v2.yaml": _yaml,
    "eta.yaml": _yaml,
    "bundle.yaml": _bundle,
    "service-v2.json": _service,
    "policy.json": json.loads,
    "plan.json": json.loads,
    "models.config": _text("ModelServerConfig"),
    "models-logged.config": _text("ModelServerConfig"),
    "monitoring.config": _text("MonitoringConfig"),
    "batching-full.txt": _text("BatchingParameters"),
    "batching-short.txt": _text("BatchingParameters"),
    "batching-split.txt": _text("BatchingParameters"),
    "flags.txt": _shell,
}


def measure(*, rounds: int = 5) -> Area:
    large = [
        timed(name, sized(name, SIZE), library, rounds)
        for name in LARGE
        for prefix, library in _LIBRARIES
        if name.startswith(prefix) and name not in _NOT_READ
    ]
    small = [
        timed(healthy.name, healthy.text, library, 20 * rounds)
        for healthy in HEALTHY
        for suffix, library in _OF_HEALTHY.items()
        if healthy.name.endswith(suffix)
    ]
    rows = [each.row() for each in large]
    slowest = max(small, key=lambda each: each.ratio)
    middle = statistics.median(each.ratio for each in small)
    longest = max(small, key=lambda each: each.lint_seconds)
    rows += [
        Row("healthy files as they are, lint / parse", f"median {middle:.1f}, most {slowest.ratio:.1f} ({slowest.name})"),
        Row("healthy files as they are, longest", f"{1e3 * longest.lint_seconds:.1f} ms ({longest.name})"),
    ]
    peaks = {name: peak_bytes(sized(name, 900_000)) / 900_000 for name in LARGE}
    most = max(peaks, key=lambda name: peaks[name])
    rows.append(at_most(f"peak of memory for each byte of 900,000, most ({most})", peaks[most], LARGEST_BYTES_PER_BYTE, digits=0))
    return Area("Lint: speed and memory", HOW.format(size=SIZE, rounds=rounds), tuple(rows))


def timed(name: str, text: str, library: Callable[[str], Any], rounds: int) -> Timed:
    data = text.encode()
    lint_seconds, library_seconds = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        library(text)
        between = time.perf_counter()
        _answer(name, data)
        lint_seconds.append(time.perf_counter() - between)
        library_seconds.append(between - began)
    return Timed(name, len(data), min(lint_seconds), min(library_seconds))


def peak_bytes(text: str) -> int:
    data = text.encode()
    tracemalloc.start()
    try:
        _answer("it", data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _answer(name: str, data: bytes) -> None:
    try:
        ask(name, decoded(data))
    except UnreadableError:
        return
