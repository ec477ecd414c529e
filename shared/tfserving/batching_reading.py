"""A batching parameters file as people have it, read past its mistakes. Pure."""

from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.reading import Reading


def read_batching_file(text: str) -> Reading[BatchingParameters]:
    """The file's values, and what is wrong with its form; never raises for any text."""
    raise NotImplementedError(text)
