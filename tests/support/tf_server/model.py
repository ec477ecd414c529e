"""A model for a CPU whose batches take a fixed time and a time for each row, both of plain arithmetic that fits into the caches."""

from pathlib import Path
from typing import Any

import tensorflow as tf

FEATURES = 16
WIDTH = 1024


class Layers(tf.Module):  # type: ignore[misc]
    """A perceptron over the tokens of each row: 16 features to one score.

    Its matrices are kept as two thin factors each, which are multiplied out once for each batch: `rank` sets the fixed time, `tokens` that
    of a row.
    """

    def __init__(self, *, layers: int, rank: int, tokens: int) -> None:
        super().__init__()
        generator = tf.random.Generator.from_seed(7)
        self.tokens = tokens
        self.first = tf.Variable(generator.normal((FEATURES, tokens * WIDTH)) / FEATURES**0.5)
        scale = (rank * WIDTH) ** 0.25
        self.factors = [
            (tf.Variable(generator.normal((WIDTH, rank)) / scale), tf.Variable(generator.normal((rank, WIDTH)) / scale))
            for _ in range(layers)
        ]
        self.last = tf.Variable(generator.normal((WIDTH, 1)) / WIDTH**0.5)

    @tf.function(input_signature=[tf.TensorSpec([None, FEATURES], tf.float32, name="x")])  # type: ignore[untyped-decorator]
    def serve(self, x: Any) -> dict[str, Any]:
        """The scores."""
        tokens = tf.reshape(tf.nn.relu(x @ self.first), [-1, WIDTH])
        for left, right in self.factors:
            tokens = tf.nn.relu(tokens @ (left @ right))
        return {"y": tf.reduce_mean(tf.reshape(tokens @ self.last, [-1, self.tokens]), 1)}


def save(folder: Path, *, layers: int, rank: int, tokens: int) -> Path:
    """The model as a SavedModel with `serving_default`."""
    made = Layers(layers=layers, rank=rank, tokens=tokens)
    tf.saved_model.save(made, str(folder), signatures={"serving_default": made.serve})
    return folder
