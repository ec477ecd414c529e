"""TensorFlow's batch scheduler around a function: BatchFunction, the refusals' own texts, and what each batch took."""

import itertools
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.tf_server.counters import Counters
from tests.support.tf_server.rules import Rules

US = 1_000_000


def batch_function(body: Any, rules: Rules, name: str) -> Callable[..., Any]:
    """A function whose calls run in batches of `body`, a concrete function. `name` is unique: a scheduler lives as long as the process."""

    @tf.function(input_signature=list(body.structured_input_signature[0]))  # type: ignore[untyped-decorator]
    def ask(*tensors: Any) -> Any:
        return tf.raw_ops.BatchFunction(
            in_tensors=list(tensors),
            captured_tensors=body.captured_inputs,
            f=body,
            Tout=[each.dtype for each in body.outputs],
            num_batch_threads=rules.num_batch_threads,
            max_batch_size=rules.max_batch_size,
            batch_timeout_micros=rules.batch_timeout_ms * 1000,
            max_enqueued_batches=rules.max_enqueued_batches,
            allowed_batch_sizes=list(rules.allowed_batch_sizes),
            enable_large_batch_splitting=rules.enable_large_batch_splitting,
            shared_name=name,
            batching_queue=name,
        )

    ask.get_concrete_function()
    return ask  # type: ignore[no-any-return]


def refusal(error: Any) -> tuple[str, str]:
    """The code by its gRPC name, and the scheduler's own words: the line of the message before the one that names the operation."""
    code = re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__.removesuffix("Error")).upper()
    return code, str(error.message).split("\n\t [[{{node")[0].splitlines()[-1]


@dataclass(frozen=True)
class Answer:
    """The output by row, and the time of the run with its wait in the queue."""

    y: Any
    runtime_us: float


class BatchedModel:
    """A SavedModel with one input of floats and one output, asked in batches and counted as TF Serving does.

    Inside each batch the graph notes when it began and ended; each row carries a number of its own, which padding repeats.
    """

    def __init__(self, folder: str, rules: Rules | None, counters: Counters) -> None:
        self._rules = rules
        self._counters = counters
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._counted: set[int] = set()
        # The loaded object owns the variables that its signature uses.
        self._loaded = tf.saved_model.load(folder)
        signature = self._loaded.signatures["serving_default"]
        ((self.input, spec),) = signature.structured_input_signature[1].items()
        (self.output,) = signature.structured_outputs
        self.features = int(spec.shape[1])
        self._batches = batch_number = tf.Variable(0, dtype=tf.int64)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec(spec.shape, spec.dtype)])  # type: ignore[untyped-decorator]
        def body(numbers: Any, rows: Any) -> Any:
            began = tf.timestamp()
            with tf.control_dependencies([began]):
                y = signature(**{self.input: rows})[self.output]
            with tf.control_dependencies([y]):
                ended = tf.timestamp()
            size = tf.shape(numbers)
            number = batch_number.assign_add(1)
            real = tf.size(tf.unique(numbers)[0])
            return y, tf.fill(size, began), tf.fill(size, ended), tf.fill(size, number), tf.fill(size, real), tf.fill(size, size[0])

        self._ask = batch_function(body.get_concrete_function(), rules, "model") if rules is not None else body

    def predict(self, rows: Any) -> Answer:
        """The output for these rows.

        Raises:
            tf.errors.OpError: the scheduler refused, or the model failed.
        """
        count = len(rows)
        numbers = np.fromiter(itertools.islice(self._numbers, count), np.int64, count)
        if self._rules:
            self._counters.entered(count)
        asked, clock = time.time(), time.perf_counter()
        y, began, _, batch, real, ran = (tensor.numpy() for tensor in self._ask(tf.constant(numbers), tf.constant(rows)))
        runtime_us = (time.perf_counter() - clock) * US
        if self._rules:
            self._counters.queued(max(0.0, float(began[0]) - asked) * US)
            for first in np.unique(batch, return_index=True)[1]:
                self._count(int(batch[first]), int(real[first]), int(ran[first]))
        return Answer(y, runtime_us)

    def warm_up(self) -> None:
        """Builds the graph, so that the first request does not; not counted."""
        size = self._rules.execution_rows if self._rules else 1
        self._ask(tf.fill([size], tf.constant(-1, tf.int64)), tf.zeros([size, self.features]))

    def _count(self, number: int, real: int, ran: int) -> None:
        """Once for each batch, by whoever of it is answered first."""
        with self._lock:
            if number in self._counted:
                return
            self._counted.add(number)
        self._counters.batch(rows=real, ran=ran)
