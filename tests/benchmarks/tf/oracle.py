"""Runs in the environment with TensorFlow: cases on standard input, what its batch scheduler did with them on standard output, as JSON."""

import json
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from tests.benchmarks.tf.cases import Case, Outcome
from tests.support.tf_server.batches import batch_function, refusal

ROWS_APART = 1_000
"""Each row has a number of its own: that of its request times this, and its place in it. Padding repeats numbers."""
WAIT_S = 60.0
TRIES = 6
AT_ONCE = 3
"""Cases that run side by side: they mostly wait."""


class Gate:
    """The batches of one case: each is noted when it begins, and ends when the gate is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.batches: list[tuple[int, int, int]] = []

    def pass_through(self, numbers: Any) -> Any:
        rows = np.unique(numbers)
        self.batches.append((int(rows.min()), len(rows), len(numbers)))
        if not self.opened.wait(WAIT_S):
            raise TimeoutError("the gate stayed closed")
        return numbers


def run(case: Case, name: str) -> Outcome:
    """What TensorFlow does with it."""
    gate = Gate()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])  # type: ignore[untyped-decorator]
    def body(numbers: Any) -> Any:
        passed = tf.numpy_function(gate.pass_through, [numbers], tf.int64)
        return tf.reshape(passed, tf.shape(numbers))

    ask = batch_function(body.get_concrete_function(), case.rules, name)
    # The first call of a function builds it, for longer than the time between two requests.
    gate.opened.set()
    ask(tf.range(case.rules.execution_rows, dtype=tf.int64))
    gate.batches.clear()
    refused: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()

    def call(number: int, rows: int, begun: threading.Event) -> None:
        numbers = tf.constant(np.arange(rows) + number * ROWS_APART, tf.int64)
        begun.set()
        try:
            ask(numbers)
        except tf.errors.OpError as error:
            refused.put((number, ": ".join(refusal(error))))

    number = 0
    for phase in case.phases:
        gate.opened = threading.Event()
        callers = []
        for offer in phase:
            time.sleep(offer.after_ms / 1000)
            begun = threading.Event()
            callers.append(threading.Thread(target=call, args=(number, offer.rows, begun)))
            callers[-1].start()
            begun.wait(WAIT_S)
            number += 1
        time.sleep(0.05)
        gate.opened.set()
        for caller in callers:
            caller.join(WAIT_S)
    batches = tuple((rows, ran) for _, rows, ran in sorted(gate.batches))
    return Outcome(batches, tuple(sorted(refused.get() for _ in range(refused.qsize()))))


def settled(case: Case) -> Outcome:
    """What two runs one after the other both gave: on a busy machine a thread may sleep through the time between two requests.

    Raises:
        RuntimeError: no two of them agree.
    """
    last = None
    for attempt in range(TRIES):
        found = run(case, f"{case.name} {attempt}")
        if found == last:
            return found
        last = found
    raise RuntimeError(f"{case.name}: no two of {TRIES} runs agree: the machine is too busy")


def main() -> None:
    tf.config.threading.set_inter_op_parallelism_threads(64)
    cases = [Case.from_json(each) for each in json.load(sys.stdin)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [outcome.as_json() for outcome in pool.map(settled, cases)]
    json.dump({"tensorflow": tf.__version__, "outcomes": found}, sys.stdout)


if __name__ == "__main__":
    main()
