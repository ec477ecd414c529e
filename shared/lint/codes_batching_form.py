"""Codes about the form of the batching parameters file: syntax, fields, and what the server refuses of the values. Pure."""

from shared.lint.code import Code
from shared.lint.sources import TEXT_FORMAT, serving_issue, serving_source, sources

_WHOLE_FILE = (
    "max_batch_size { value: 32 }\n"
    "batch_timeout_micros { value: 1000 }\n"
    "max_enqueued_batches { value: 4 }\n"
    "num_batch_threads { value: 2 }\n"
    "allowed_batch_sizes: 1\n"
    "allowed_batch_sizes: 8\n"
    "allowed_batch_sizes: 32"
)
_PARAMETERS = serving_source("session_bundle_config.proto")
_CHECKS = serving_source("batching_session.cc", "bundle_factory_util.cc", "shared_batch_scheduler.h")
_LATE = (
    "The server finds it out when it loads the model, and tries six times in five minutes without opening a port; Cloud Run has given up "
    "by then."
)

FORM_CODES: tuple[Code, ...] = (
    Code(
        name="batching-file-syntax",
        severity="error",
        title="The batching file is not in protobuf's text format",
        when="The file does not parse: `=` instead of a colon, JSON or YAML, `1e3`, `128.0`, quoted numbers, thousands separators, `//` "
        "comments, a field twice that may stand once. Scalars where a message is due and unknown fields have codes of their own.",
        not_when="`#` comments, commas or semicolons between fields, `allowed_batch_sizes: [1, 8, 32]`, an empty file: all are legal.",
        why="The server does not start: `Invalid protobuf file`, exit status 255; Cloud Run then says only that the container failed to "
        "start and listen.",
        fix="Write protobuf's text format: one message, no braces around it.",
        example=_WHOLE_FILE,
        authority=sources(TEXT_FORMAT, _PARAMETERS),
    ),
    Code(
        name="batching-wrapper-syntax",
        severity="error",
        title="A number is given where the field holds a message, or the other way round",
        when="`max_batch_size`, `batch_timeout_micros`, `max_enqueued_batches`, `num_batch_threads`, `thread_pool_name`, "
        "`enable_large_batch_splitting` or `max_execution_batch_size` has a plain value; or `allowed_batch_sizes` or "
        "`pad_variable_length_inputs` has `{ value: }`.",
        not_when="`max_batch_size: { value: 32 }`: the colon before the brace is optional.",
        why='The file does not parse (`Expected "{"`), and the server does not start.',
        fix="Seven fields take `{ value: 32 }`, the other two a plain value.",
        example=_WHOLE_FILE,
        authority=sources(_PARAMETERS, TEXT_FORMAT),
    ),
    Code(
        name="batching-unknown-field",
        severity="error",
        title="The batching file has a field that does not exist",
        when="A field that is not one of the nine of BatchingParameters, such as `batch_commit_timeout_micros`, or a "
        "`batching_parameters { }` around the fields.",
        not_when="Any of the nine fields, whatever its value.",
        why='The file does not parse (`has no field named "max_batch_sizes"`), and the server does not start. There is no setting per '
        "model or per signature in this file.",
        fix="Use the real name, and leave out the braces around the whole.",
        example=_WHOLE_FILE,
        authority=_PARAMETERS,
    ),
    Code(
        name="batching-value-out-of-range",
        severity="error",
        title="A batching parameter is zero or negative",
        when="`max_batch_size` is 0 or less (`{ }` means 0), `batch_timeout_micros` is negative, `num_batch_threads` is below 1, "
        "`max_enqueued_batches` is negative, or it is 0 with splitting on.",
        not_when="`batch_timeout_micros { value: 0 }`, and `max_enqueued_batches { value: 0 }` without splitting, which counts as 1.",
        why="`num_batch_threads must be positive; was 0` ends the start at once. `input_batch_size_limit must be positive; was 0` and "
        "`batch_timeout_micros must be non-negative; was -5` fail each load of the model. A negative size or queue is read as a huge "
        "one, without a word.",
        fix="Use positive numbers; leave a field out to have its default (1000 rows, 0 us, 10 batches, one thread per vCPU).",
        example=_WHOLE_FILE,
        authority=_CHECKS,
    ),
    Code(
        name="allowed-last-not-max",
        severity="error",
        title="The last allowed batch size is not max_batch_size",
        when="`allowed_batch_sizes` is given, and its last entry is not `max_batch_size` (1000 if left out), also with splitting on.",
        not_when="No `allowed_batch_sizes` at all; with splitting on, a list that ends with `max_batch_size` and contains "
        "`max_execution_batch_size`.",
        why=f"`Last entry in allowed_batch_sizes must match max_batch_size; last entry was 16; expected 32`. {_LATE}",
        fix="Make the last entry and `max_batch_size` equal.",
        example=_WHOLE_FILE,
        authority=_CHECKS,
    ),
    Code(
        name="allowed-not-increasing",
        severity="warning",
        title="Allowed batch sizes are not in increasing order",
        when="An entry of `allowed_batch_sizes` is not larger than the one before it.",
        not_when="A list in increasing order, of any length.",
        why="The server does not check it and takes the first entry that is large enough: with 4, 2, 8 a single row is computed as 4.",
        fix="Sort the entries, each once.",
        example=_WHOLE_FILE,
        authority=_CHECKS,
    ),
    Code(
        name="allowed-min-too-large",
        severity="warning",
        title="Every single request is padded",
        when="`allowed_batch_sizes` is given, and its smallest entry is above the rows of one request (1 if not stated).",
        not_when="A list that begins with the size of a usual request.",
        why="A request that is alone in its batch is filled up with copies of its rows to the smallest size, and costs as much as that "
        "batch.",
        fix="Add the size of one request, usually 1.",
        example=_WHOLE_FILE,
        authority=sources(serving_issue(1529), _CHECKS),
    ),
    Code(
        name="splitting-sizes-inconsistent",
        severity="error",
        title="The sizes of batch splitting do not fit together",
        when="With `enable_large_batch_splitting`: `max_execution_batch_size` above `max_batch_size`, or neither of the two given. "
        "Without it: `max_execution_batch_size` given.",
        not_when="Splitting with `max_execution_batch_size` left out: it is then `max_batch_size`.",
        why="`When enable_large_batch_splitting is true, input_batch_size_limit must be greater than or equal to "
        "max_execution_batch_size` fails each load of the model. With neither size every request is refused: `scheduling capacity is "
        "only 0`. Without splitting the execution size is ignored.",
        fix="Give both sizes, the execution size not above the other, and switch splitting on.",
        example="max_batch_size { value: 128 }\nenable_large_batch_splitting { value: true }\nmax_execution_batch_size { value: 32 }",
        authority=_CHECKS,
    ),
    Code(
        name="pad-first-element",
        severity="warning",
        title="Padding repeats an input's own first element, not zero",
        when="`pad_variable_length_inputs: true`.",
        not_when="The field left out or false.",
        why="Shorter inputs of a batch are filled up with their own first element. A model that takes padding for zeros answers "
        "differently depending on what it was batched with.",
        fix="Pad on the client to fixed lengths, or give the model a mask as an input.",
        example="pad_variable_length_inputs: false",
        authority=sources(serving_source("batching_util.cc"), serving_issue(1279)),
    ),
)
