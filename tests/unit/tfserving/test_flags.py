"""A command line of tensorflow_model_server, as the server reads it."""

import pytest

from shared.tfserving.faults import Found
from shared.tfserving.flags import (
    BY_NAME,
    FLAGS,
    INVENTED,
    BadValue,
    FlagValue,
    FlagValueError,
    Kind,
    LeftOver,
    default_server_threads,
    faults,
    format_flags,
    parse_flags,
    read_argument,
    server_threads,
)

BASE = "--model_base_path=/m"


def test_the_list() -> None:
    assert len(BY_NAME) == len(FLAGS) == 48
    assert not set(INVENTED) & set(BY_NAME)
    defaults = {flag.name: flag.default for flag in FLAGS}
    assert defaults["port"] == 8500
    assert defaults["rest_api_port"] == 0
    assert defaults["max_num_load_retries"] == 5
    assert defaults["load_retry_interval_micros"] == 60_000_000
    assert defaults["file_system_poll_wait_seconds"] == 1
    assert {flag.name for flag in FLAGS if flag.default is None} == {"grpc_max_threads", "rest_api_num_threads", "num_tflite_pools"}
    assert {flag.name for flag in FLAGS if flag.default is True} == {
        "flush_filesystem_caches",
        "enable_model_warmup",
        "remove_unused_fields_from_bundle_metagraph",
        "enable_profiler",
    }
    for flag in FLAGS:
        assert (flag.kind is Kind.BOOL) == isinstance(flag.default, bool)


@pytest.mark.parametrize(
    ("argument", "name", "value"),
    [
        ("--enable_batching", "enable_batching", True),
        ("--enable_batching=true", "enable_batching", True),
        ("--enable_batching=TRUE", "enable_batching", True),
        ("--enable_batching=1", "enable_batching", True),
        ("--enable_profiler=false", "enable_profiler", False),
        ("--enable_profiler=0", "enable_profiler", False),
        ("--port=8500", "port", 8500),
        ("--port= +8500", "port", 8500),
        ("--file_system_poll_wait_seconds=-1", "file_system_poll_wait_seconds", -1),
        ("--load_retry_interval_micros=9223372036854775807", "load_retry_interval_micros", 2**63 - 1),
        ("--per_process_gpu_memory_fraction=.5", "per_process_gpu_memory_fraction", 0.5),
        ("--model_name=a=b c", "model_name", "a=b c"),
        ("--model_name=", "model_name", ""),
    ],
)
def test_one_flag(argument: str, name: str, value: FlagValue) -> None:
    flags = parse_flags([argument])
    assert flags.given == {name: value}
    assert type(flags.given[name]) is type(value)
    assert not flags.left_over
    assert flags.starts


@pytest.mark.parametrize(
    ("argument", "name", "value"),
    [
        ("--enable_batching=yes", "enable_batching", "yes"),
        ("--enable_batching=", "enable_batching", ""),
        ("--port=", "port", ""),
        ("--port=8500 ", "port", "8500 "),
        ("--port=0x10", "port", "0x10"),
        ("--port=1_000", "port", "1_000"),
        ("--port=1.5", "port", "1.5"),
        ("--port=2147483648", "port", "2147483648"),
        ("--port=" + "9" * 5_000, "port", "9" * 5_000),
        ("--per_process_gpu_memory_fraction=1e99", "per_process_gpu_memory_fraction", "1e99"),
        ("--per_process_gpu_memory_fraction=half", "per_process_gpu_memory_fraction", "half"),
    ],
)
def test_values_that_stop_the_server(argument: str, name: str, value: str) -> None:
    flags = parse_flags([argument, BASE])
    assert flags.given == {"model_base_path": "/m"}
    (bad,) = flags.bad
    assert (bad.name, bad.value) == (name, value)
    assert not flags.starts
    (fault,) = faults(flags)
    assert fault.found is Found.START
    assert fault.text is not None
    assert len(fault.text) < 300


def test_a_value_apart_is_left_over_and_the_boolean_is_set() -> None:
    flags = parse_flags(["--enable_batching", "false", BASE])
    assert flags.given == {"enable_batching": True, "model_base_path": "/m"}
    (left,) = flags.left_over
    assert left.argument == "false"
    assert "--enable_batching=false" in left.meaning
    assert flags.starts
    (fault,) = faults(flags)
    assert (fault.text, fault.found) == ("unknown argument: false", Found.NEVER)


def test_a_value_apart_leaves_both_over_where_the_flag_is_no_boolean() -> None:
    flags = parse_flags(["--port", "9000"])
    assert flags.given == {}
    assert [left.argument for left in flags.left_over] == ["--port", "9000"]
    assert "--port=value" in flags.left_over[0].meaning
    assert "--port=9000" in flags.left_over[1].meaning


@pytest.mark.parametrize(
    "name", ["max_batch_size", "batch_timeout_micros", "num_batch_threads", "max_enqueued_batches", "allowed_batch_sizes"]
)
def test_batching_has_no_flags(name: str) -> None:
    flags = parse_flags([f"--{name}=32", BASE])
    assert flags.starts
    (left,) = flags.left_over
    assert "--batching_parameters_file" in left.meaning
    with pytest.raises(FlagValueError, match="--batching_parameters_file"):
        format_flags({name: 32})


@pytest.mark.parametrize(
    ("argument", "meaning"),
    [
        ("--rest-api-port=1", "--rest_api_port is near"),
        ("--enable_batching_v2", "--enable_batching is near"),
        ("--zzz=1", "there is no such flag"),
        ("-port=1", "two dashes"),
        ("serve", "no flag at all"),
        ("", "no flag at all"),
        ("--allow_growth=true", "TF_FORCE_GPU_ALLOW_GROWTH"),
    ],
)
def test_unknown_arguments_do_not_stop_the_server(argument: str, meaning: str) -> None:
    flags = parse_flags([argument])
    assert meaning in flags.left_over[0].meaning
    assert flags.starts


def test_only_the_first_fifty_unknown_names_are_compared_with_the_flags_there_are() -> None:
    left = parse_flags([f"--rest-api-port={number}" for number in range(60)]).left_over
    assert [each.meaning for each in left[:50]] == ["there is no such flag; --rest_api_port is near"] * 50
    assert [each.meaning for each in left[50:]] == ["there is no such flag"] * 10


@pytest.mark.parametrize(
    ("argument", "read"),
    [
        ("--port=8500", ("port", 8500)),
        ("--enable_batching", ("enable_batching", True)),
        ("--port=x", BadValue("port", "x", "--port takes a whole number of 32 bits")),
        ("--port", LeftOver("--port", "the value stands apart or is missing: write --port=value")),
        ("8500", LeftOver("8500", "a value stands alone: write --port=8500")),
    ],
)
def test_one_argument_is_read_with_the_one_before_it(argument: str, read: object) -> None:
    assert read_argument(argument, "--port") == read


def test_nothing_is_read_after_two_dashes() -> None:
    flags = parse_flags(["--port=1", "--", "--port=2"])
    assert flags.given == {"port": 1}
    assert [left.argument for left in flags.left_over] == ["--", "--port=2"]


@pytest.mark.parametrize(
    ("args", "starts"),
    [(["--help"], False), (["x", "--help"], True), (["--version"], False), (["--version=false"], True), ([], True)],
)
def test_help_and_version_end_it(args: list[str], starts: bool) -> None:
    assert parse_flags(args).starts is starts


def test_the_last_one_counts_and_the_order_is_the_servers() -> None:
    flags = parse_flags(["--model_name=a", "--port=1", "--model_name=b"])
    assert list(flags.given.items()) == [("port", 1), ("model_name", "b")]
    assert format_flags(flags.given) == ("--port=1", "--model_name=b")


def test_values_in_use() -> None:
    flags = parse_flags(["--grpc_max_threads=72"])
    assert flags.value("grpc_max_threads", cpus=4) == 72
    assert flags.value("rest_api_num_threads", cpus=4) == 16
    assert flags.value("num_tflite_pools", cpus=4) == 4
    assert flags.value("port", cpus=4) == 8500
    assert flags.value("enable_batching", cpus=4) is False


@pytest.mark.parametrize(
    ("name", "value", "argument"),
    [
        ("enable_batching", True, "--enable_batching=true"),
        ("enable_profiler", False, "--enable_profiler=false"),
        ("port", 8500, "--port=8500"),
        ("per_process_gpu_memory_fraction", 0.5, "--per_process_gpu_memory_fraction=0.5"),
        ("per_process_gpu_memory_fraction", 1, "--per_process_gpu_memory_fraction=1"),
        ("model_name", "a b", "--model_name=a b"),
    ],
)
def test_written(name: str, value: FlagValue, argument: str) -> None:
    assert format_flags({name: value}) == (argument,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable_batching", "true"),
        ("enable_batching", 1),
        ("port", "1"),
        ("port", True),
        ("port", 1.0),
        ("port", 2**31),
        ("per_process_gpu_memory_fraction", float("nan")),
        ("per_process_gpu_memory_fraction", True),
        ("model_name", 1),
        ("model_name", "a\0"),
        ("prot", 1),
    ],
)
def test_not_written(name: str, value: FlagValue) -> None:
    with pytest.raises(FlagValueError, match=f"--{name}"):
        format_flags({name: value})


@pytest.mark.parametrize(
    ("args", "field", "text", "found"),
    [
        (
            [BASE, "--batching_parameters_file=/b"],
            "batching_parameters_file",
            "server_options.batching_parameters_file is set without setting server_options.enable_batching to true.",
            Found.START,
        ),
        (
            [],
            "model_base_path",
            "Both server_options.model_base_path and server_options.model_config_file are empty!",
            Found.START,
        ),
        (
            [
                BASE,
                "--tensorflow_session_parallelism=1",
                "--tensorflow_intra_op_parallelism=1",
                "--tensorflow_inter_op_parallelism=1",
            ],
            "tensorflow_session_parallelism",
            "You cannot configure all.",
            Found.START,
        ),
        ([BASE, "--port=0"], "port", None, Found.START),
        ([BASE, "--grpc_channel_arguments=a=1,b"], "grpc_channel_arguments", None, Found.START),
        (
            [BASE, "--rest_api_port=8500"],
            "rest_api_port",
            "Please use a different port for HTTP/REST API. Skipped exporting HTTP/REST API.",
            Found.NEVER,
        ),
        ([BASE, "--monitoring_config_file=/m"], "monitoring_config_file", None, Found.NEVER),
        ([BASE, "--enable_per_model_batching_parameters"], "enable_per_model_batching_parameters", None, Found.NEVER),
        ([BASE, "--enable_batching", "--platform_config_file=/p"], "enable_batching", None, Found.NEVER),
        ([BASE, "--file_system_poll_wait_seconds=-1"], "file_system_poll_wait_seconds", None, Found.NEVER),
    ],
)
def test_each_rule(args: list[str], field: str, text: str | None, found: Found) -> None:
    (fault,) = faults(parse_flags(args))
    assert (fault.field, fault.text, fault.found) == (field, text, found)


@pytest.mark.parametrize(
    "args",
    [
        [BASE],
        ["--model_config_file=/c", "--enable_batching", "--batching_parameters_file=/b", "--rest_api_port=8501"],
        [BASE, "--port=0", "--grpc_socket_path=/s"],
        [BASE, "--platform_config_file=/p", "--batching_parameters_file=/b"],
        [BASE, "--rest_api_port=8501", "--monitoring_config_file=/m", "--grpc_channel_arguments=a=1,b=x"],
        [BASE, "--tensorflow_intra_op_parallelism=1", "--tensorflow_inter_op_parallelism=1"],
    ],
)
def test_nothing_to_say(args: list[str]) -> None:
    assert faults(parse_flags(args)) == []


def test_threads() -> None:
    assert server_threads(64, "grpc") == 72
    assert server_threads(64, "rest") == 66
    assert default_server_threads(4) == 16
