"""What both interfaces answer: predictions, the model's status, refusals as code and text."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.tf_server.batches import US, Answer, BatchedModel, refusal
from tests.support.tf_server.counters import Counters

SIGNATURE = "serving_default"
VERSION = 1


@dataclass(frozen=True)
class Failed(Exception):
    """A request that is not answered: the code by its gRPC name, and its text."""

    code: str
    text: str


class Service:
    """One version of one model."""

    def __init__(self, name: str, model: BatchedModel, counters: Counters) -> None:
        self.name = name
        self.model = model
        self.counters = counters

    def check_name(self, name: str) -> None:
        """
        Raises:
            Failed: no such model.
        """
        if name != self.name:
            raise Failed("NOT_FOUND", f"Servable not found for request: Latest({name})")

    def predict(self, rows: Any) -> Answer:
        """The model's answer.

        Raises:
            Failed: the input is none of the model's, or the scheduler refused.
        """
        if rows.ndim != 2 or rows.shape[1] != self.model.features or not len(rows):
            raise Failed(
                "INVALID_ARGUMENT", f"input {self.model.input} must have shape [rows, {self.model.features}], is {list(rows.shape)}"
            )
        try:
            return self.model.predict(np.ascontiguousarray(rows, np.float32))
        except tf.errors.OpError as error:
            raise Failed(*refusal(error)) from None

    def timed(self, api: str, entrypoint: str, work: Any) -> Any:
        """Does the work (whose second result is the Answer), and counts it."""
        began = time.perf_counter()
        try:
            body, answer = work()
        except Failed as failed:
            self.counters.request(failed.code)
            raise
        self.counters.request("OK")
        self.counters.answered(api, entrypoint, request_us=(time.perf_counter() - began) * US, runtime_us=answer.runtime_us)
        return body
