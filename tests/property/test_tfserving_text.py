"""TF Serving's files: what is written is read back the same, and any text gives a value or the one error."""

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.tfserving import batching, flags, model_config, monitoring
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.text import MAX_MEANING, MAX_PARSER_MESSAGE, ConfigTextError

int64s = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-1, 100))
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)

parameters = st.builds(
    BatchingParameters,
    max_batch_size=st.none() | int64s,
    batch_timeout_micros=st.none() | int64s,
    max_enqueued_batches=st.none() | int64s,
    num_batch_threads=st.none() | int64s,
    thread_pool_name=st.none() | words,
    allowed_batch_sizes=st.lists(int64s, max_size=4).map(tuple),
    pad_variable_length_inputs=st.booleans(),
    enable_large_batch_splitting=st.none() | st.booleans(),
    max_execution_batch_size=st.none() | int64s,
)
policies: st.SearchStrategy[model_config.Latest | model_config.All | model_config.Specific | None] = st.one_of(
    st.none(),
    st.builds(model_config.Latest, num_versions=st.integers(0, 2**32 - 1)),
    st.just(model_config.All()),
    st.builds(model_config.Specific, versions=st.lists(int64s, max_size=3).map(tuple)),
)
models = st.builds(
    model_config.ModelConfig,
    name=words,
    base_path=words,
    model_platform=words,
    model_version_policy=policies,
    version_labels=st.dictionaries(words, int64s, max_size=3).map(
        lambda labels: tuple(model_config.VersionLabel(label=label, version=version) for label, version in labels.items())
    ),
    logging_config=st.sampled_from([None, "", "sampling_config { sampling_rate: 0.5 }"]),
    model_type=st.integers(-(2**31), 2**31 - 1),
)
configs = st.builds(model_config.ModelServerConfig, models=st.lists(models, max_size=3).map(tuple))
monitorings = st.builds(
    monitoring.MonitoringConfig,
    prometheus_config=st.none() | st.builds(monitoring.PrometheusConfig, enable=st.booleans(), path=words),
)

NAMES = [
    "max_batch_size", "batch_timeout_micros", "thread_pool_name", "allowed_batch_sizes", "pad_variable_length_inputs", "value", "key",
    "enable_large_batch_splitting", "model_config_list", "config", "name", "base_path", "model_platform", "model_type",
    "model_version_policy", "latest", "all", "specific", "versions", "version_labels", "logging_config", "sampling_config",
    "sampling_rate", "custom_model_config", "type_url", "prometheus_config", "enable", "path",
    "type.googleapis.com/tensorflow.serving.ModelServerConfig", "a/google.protobuf.Int64Value", "x/y",
]  # fmt: skip
VALUES = [
    "1", "-1", "0x1F", "017", "1e400", "1_0", "+2", "0.5f", "nan", "-inf", '"x"', "'", '"', '"\\377"', '"\\u00e9"', "true", "TENSORFLOW",
]  # fmt: skip
MARKS = [":", "{", "}", "<", ">", "[", "]", ",", ";", "=", "#", "\n", " ", "\t", "\r", "\xa0", "\0", "\ufeff", "\\", "-", "."]
pieces = st.lists(st.sampled_from(NAMES + VALUES + MARKS * 2), max_size=40).map(" ".join)
texts = st.one_of(pieces, st.text(max_size=200), st.lists(st.sampled_from(NAMES + VALUES + MARKS), max_size=20).map("".join))

READERS: list[tuple[Callable[[str], object], Callable[..., str], type[ConfigTextError]]] = [
    (batching.parse_batching, batching.format_batching, batching.BatchingTextError),
    (model_config.parse_model_config, model_config.format_model_config, model_config.ModelConfigTextError),
    (monitoring.parse_monitoring, monitoring.format_monitoring, monitoring.MonitoringTextError),
]


def bounded_and_printable(refused: ConfigTextError) -> None:
    assert len(refused.parser_message) <= MAX_PARSER_MESSAGE
    assert len(refused.meaning) <= MAX_MEANING
    assert str(refused).isprintable()


@given(parameters)
def test_batching_comes_back(value: BatchingParameters) -> None:
    text = batching.format_batching(value)
    assert batching.parse_batching(text) == value
    assert text.isascii()
    assert "{ }" not in text or "{ }" in (value.thread_pool_name or "")
    batching.faults(value)
    batching.effective(value, cpus=4)


@given(configs)
def test_models_come_back(value: model_config.ModelServerConfig) -> None:
    text = model_config.format_model_config(value)
    assert model_config.parse_model_config(text) == value
    assert text.isascii()
    model_config.faults(value)


@given(monitorings)
def test_monitoring_comes_back(value: monitoring.MonitoringConfig) -> None:
    assert monitoring.parse_monitoring(monitoring.format_monitoring(value)) == value
    monitoring.faults(value)


@settings(max_examples=400)
@given(texts)
@example("custom_model_config { [a/tensorflow.serving.ModelServerConfig] { custom_model_config { type_url: 'a/b' value: '\\377' } } }")
@example("model_config_list { config { logging_config { sampling_config { sampling_rate: nan } } } }")
@example("model_config_list { config { version_labels { key: '\\000' value: 1 } } }")
@example("thread_pool_name { value: '\\377' }")
@example("custom_model_config { [a/google.protobuf.Any] { [b/google.protobuf.Any] { } } }")
def test_any_text_gives_a_value_or_the_one_error(text: str) -> None:
    for read, write, error in READERS:
        try:
            value = read(text)
        except error as refused:
            bounded_and_printable(refused)
        else:
            assert read(write(value)) == value


@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(["--", "--help", "true", *(f"--{flag.name}" for flag in flags.FLAGS)]))))
def test_any_command_line_is_read(args: list[str]) -> None:
    read = flags.parse_flags(args)
    flags.faults(read)
    assert len(read.given) + len(read.left_over) + len(read.bad) <= len(args)


def _values(flag: flags.Flag) -> st.SearchStrategy[flags.FlagValue]:
    match flag.kind:
        case flags.Kind.BOOL:
            return st.booleans()
        case flags.Kind.INT32:
            return st.integers(-(2**31), 2**31 - 1)
        case flags.Kind.INT64:
            return int64s
        case flags.Kind.FLOAT:
            return st.floats(width=32, allow_nan=False, allow_infinity=False)
        case flags.Kind.STRING:
            return st.text(max_size=20).map(lambda text: text.replace("\0", ""))


@given(st.fixed_dictionaries({}, optional={flag.name: _values(flag) for flag in flags.FLAGS}))
def test_flags_come_back(given_flags: dict[str, flags.FlagValue]) -> None:
    read = flags.parse_flags(flags.format_flags(given_flags))
    assert read.given == given_flags
    assert not read.left_over
    assert not read.bad
