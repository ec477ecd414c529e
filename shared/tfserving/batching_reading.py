"""A batching parameters file as people have it, read past its mistakes. Pure."""

from shared.tfserving.batching import parse_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.form_names import Vocabulary
from shared.tfserving.form_reading import read_form
from shared.tfserving.reading import Reading

_MEANT = {
    "BatchingParameters": {
        "batch_timeout_us": ("batch_timeout_micros",),
        "batch_timeout_microseconds": ("batch_timeout_micros",),
        "allowed_batch_size": ("allowed_batch_sizes",),
        "num_threads": ("num_batch_threads",),
        "max_execution_size": ("max_execution_batch_size",),
        "max_enqueued_batch": ("max_enqueued_batches",),
        "large_batch_splitting": ("enable_large_batch_splitting",),
    }
}
_INVENTED = frozenset({"batch_commit_timeout_micros", "timeout_batch_timeout_micros", "min_batch_size"})
_VOCABULARY = Vocabulary(_MEANT, invented=_INVENTED)


def read_batching_file(text: str) -> Reading[BatchingParameters]:
    """The file's values, and what is wrong with its form; never raises for any text."""
    form = read_form(text, root="BatchingParameters", parse=parse_batching, vocabulary=_VOCABULARY)
    return form.reading
