"""The simulated batch scheduler and the known texts against what TensorFlow's own scheduler did, case by case."""

import re
from collections import Counter
from collections.abc import Iterator

from shared.diagnose.signatures_server import REFUSALS
from tests.benchmarks.table import Area, Row
from tests.benchmarks.tf import simulated
from tests.benchmarks.tf.cases import NAMED, Case, Outcome
from tests.benchmarks.tf.recorded import Record

HOW = (
    "{count} cases, {drawn} of them drawn by chance: settings of the queue, and requests that come one after the other while no batch "
    "ends. TensorFlow {version}'s BatchFunction on the CPU against the simulated scheduler: the batches (rows, and rows with padding, in "
    "order), which requests are refused, and why. TensorFlow's answer is what two runs one after the other both gave. Then its texts "
    "against those that the diagnosis knows."
)


def cause_of(text: str) -> str | None:
    """What the diagnosis makes of a server's text."""
    line = text.lower()
    return next((each.cause for each in REFUSALS if each.pattern.search(line)), None)


def differences(case: Case, real: Outcome) -> tuple[str, ...]:
    """In what the simulated scheduler differs: `batches`, `refused`, `causes`."""
    made = simulated.run(case)
    return tuple(
        what
        for what, same in (
            ("batches", made.batches == real.batches),
            ("refused", [number for number, _ in made.refused] == [number for number, _ in real.refused]),
            ("causes", [cause for _, cause in made.refused] == [cause_of(text) for _, text in real.refused]),
        )
        if not same
    )


def measure(record: Record) -> Area:
    cases = record.cases
    how = HOW.format(count=len(cases), drawn=len(cases) - len(NAMED), version=record.tensorflow)
    return Area("The batch queue", how, tuple(_rows(record)))


def _rows(record: Record) -> Iterator[Row]:
    found = {case.name: differences(case, real) for case, real in record.cases}
    batches = sum(len(real.batches) for _, real in record.cases)
    requests = sum(len(phase) for case, _ in record.cases for phase in case.phases)
    refused = sum(len(real.refused) for _, real in record.cases)
    for kind, of in (
        ("batches", f"{batches} batches formed"),
        ("refused", f"{requests} requests, {refused} refused"),
        ("causes", "causes of refusals"),
    ):
        off = [name for name, what in found.items() if kind in what]
        yield Row(f"cases that differ: {of}", "0" if not off else f"{len(off)}: {', '.join(off[:5])}", "0", not off)
    for name, chosen in (
        ("splitting", lambda case: case.rules.enable_large_batch_splitting),
        ("a timeout", lambda case: case.rules.batch_timeout_ms > 0),
        ("padding", lambda case: len(case.rules.allowed_batch_sizes) > 1),
        ("several threads", lambda case: case.rules.num_batch_threads > 1),
    ):
        yield Row(f"cases with {name}", str(sum(map(chosen, (case for case, _ in record.cases)))))
    texts = Counter(text for _, real in record.cases for _, text in real.refused)
    unknown = [text for text in texts if cause_of(text) is None]
    yield Row("texts of refusals that the diagnosis does not know", "0" if not unknown else unknown[0], "0", not unknown)
    for form in FORMS:
        matching = [text for text in texts if form.fullmatch(text)]
        yield Row(
            f"`{matching[0] if matching else form.pattern}`", f"{sum(texts[text] for text in matching)} times", ">= 1", bool(matching)
        )
    others = [text for text in texts if not any(form.fullmatch(text) for form in FORMS)]
    yield Row("texts of refusals in any other form", "0" if not others else others[0], "0", not others)


FORMS = (
    re.compile(r"INVALID_ARGUMENT: Task size \d+ is larger than maximum input batch size \d+"),
    re.compile(
        r"UNAVAILABLE: The batch scheduling queue to which this task was submitted is full; "
        r"currently \d+ batches enqueued and max_enqueued_batches is \d+"
    ),
    re.compile(
        r"UNAVAILABLE: The batch scheduling queue to which this task was submitted is full; "
        r"task size is \d+ but scheduling capacity is only \d+ "
        r"\(num_enqueued_batches=\d+, max_enqueued_batches=\d+, open_batch_size=\d+, max_execution_batch_size=\d+\)"
    ),
)
"""Codes and texts as the diagnosis, lint and the records have them."""
