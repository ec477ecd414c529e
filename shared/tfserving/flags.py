"""The flags of tensorflow_model_server, and its own way of reading a command line.

The list and its order are main.cc's; defaults are those of Server::Options in server.h; the syntax is that of TensorFlow's
command_line_flags.cc, as current releases have it (older ones knew only `true` and `false` for booleans, in lower case).
"""

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from shared.errors import TrimtabError
from shared.tfserving.faults import Fault, Found, shown

FlagValue = bool | int | float | str
Protocol = Literal["grpc", "rest"]

THREADS_PER_CPU = 4
"""Default of --grpc_max_threads and of --rest_api_num_threads, for each CPU the process may run on."""
SPARE_GRPC_THREADS = 8
SPARE_REST_THREADS = 2

MAX_SHOWN = 100
"""Characters of a user's argument that a message repeats."""
MAX_COMPARED = 50
"""Unknown names of one command line that are compared with the flags there are; nobody mistypes more."""


class FlagValueError(TrimtabError):
    """A flag that TF Serving does not have, or a value it could not read."""


class Kind(StrEnum):
    """What a flag's value is."""

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT = "float"
    STRING = "string"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `default` is None where it depends on the CPUs; `since` is the first release that has it, where known."""

    name: str
    kind: Kind
    default: FlagValue | None
    note: str = ""
    since: str | None = None


def _switch(name: str, *, on: bool = False, note: str = "", since: str | None = None) -> Flag:
    return Flag(name, Kind.BOOL, on, note, since)


FLAGS: tuple[Flag, ...] = (
    Flag("port", Kind.INT32, 8500, "gRPC; 0 without --grpc_socket_path stops the start"),
    Flag("grpc_socket_path", Kind.STRING, "", "a UNIX socket for gRPC as well"),
    Flag("rest_api_port", Kind.INT32, 0, "0 = no REST and no metrics; equal to --port: silently no REST"),
    Flag("rest_api_num_threads", Kind.INT32, None, "4 x CPUs; one runs the event loop, requests beyond the rest wait without limit"),
    Flag("rest_api_timeout_in_ms", Kind.INT32, 30_000, "how long a REST call may run; over gRPC the caller's deadline counts"),
    _switch("rest_api_enable_cors_support"),
    _switch("enable_batching"),
    _switch(
        "allow_version_labels_for_unavailable_models",
        note="needed when the file of --model_config_file has version_labels at start",
    ),
    Flag("batching_parameters_file", Kind.STRING, "", "a BatchingParameters text, local or gs://; needs --enable_batching"),
    _switch(
        "enable_per_model_batching_parameters",
        note="each version follows the batching_params.pbtxt in its own root, or is not batched; of the common file only threads count",
        since="2.11",
    ),
    Flag("model_config_file", Kind.STRING, "", "a ModelServerConfig text; --model_name and --model_base_path are then ignored"),
    Flag("model_config_file_poll_wait_seconds", Kind.INT32, 0, "above 0 the file is read again; its errors are then only logged"),
    Flag("model_name", Kind.STRING, "default"),
    Flag("model_base_path", Kind.STRING, "", "the folder that holds the version folders"),
    Flag("num_load_threads", Kind.INT32, 0, "0 = loads run in the manager's own thread; at start 4 x CPUs load, whatever this says"),
    Flag("num_unload_threads", Kind.INT32, 0),
    Flag("max_num_load_retries", Kind.INT32, 5, "a broken model keeps the server up without a port for this many retries"),
    Flag("load_retry_interval_micros", Kind.INT64, 60_000_000, "a minute"),
    Flag(
        "file_system_poll_wait_seconds",
        Kind.INT32,
        1,
        "0 = look once (and the reload call then never ends), below 0 = nothing is ever loaded; against gs:// each look costs money",
    ),
    _switch("flush_filesystem_caches", on=True),
    Flag("tensorflow_session_parallelism", Kind.INT64, 0, "sets both pools of the session; 0 = automatic"),
    Flag(
        "tensorflow_session_config_file",
        Kind.STRING,
        "",
        "a ConfigProto text; its thread counts and its GPU fraction are overwritten by the flags, defaults included",
    ),
    Flag("tensorflow_intra_op_parallelism", Kind.INT64, 0),
    Flag("tensorflow_inter_op_parallelism", Kind.INT64, 0),
    _switch("use_alts_credentials"),
    Flag("ssl_config_file", Kind.STRING, ""),
    Flag("platform_config_file", Kind.STRING, "", "--enable_batching and the session's flags are then ignored"),
    Flag("per_process_gpu_memory_fraction", Kind.FLOAT, 0.0, "0 = nearly all of the GPU's memory, at start"),
    Flag("saved_model_tags", Kind.STRING, "serve"),
    Flag("grpc_channel_arguments", Kind.STRING, "", "key=value,key=value; a value cannot hold a comma"),
    Flag("grpc_max_threads", Kind.INT32, None, "4 x CPUs; a call beyond them is answered RESOURCE_EXHAUSTED", since="2.5"),
    _switch("enable_model_warmup", on=True),
    Flag("num_request_iterations_for_warmup", Kind.INT32, 0, "0 = once"),
    _switch("version", note="print the version and end"),
    Flag("monitoring_config_file", Kind.STRING, "", "a MonitoringConfig text; needs --rest_api_port"),
    _switch("remove_unused_fields_from_bundle_metagraph", on=True),
    _switch("prefer_tflite_model"),
    Flag("num_tflite_pools", Kind.INT32, None, "one for each CPU"),
    Flag("num_tflite_interpreters_per_pool", Kind.INT32, 1),
    _switch("enable_signature_method_name_check"),
    _switch("xla_cpu_compilation_enabled"),
    _switch("xla_gpu_compilation_enabled"),
    _switch("enable_profiler", on=True, note="the profiler's service on the gRPC port"),
    Flag("thread_pool_factory_config_file", Kind.STRING, ""),
    Flag("mixed_precision", Kind.STRING, "", "bfloat16, on CPUs"),
    _switch("skip_initialize_tpu"),
    _switch("enable_grpc_healthcheck_service", note="grpc.health.v1, SERVING from the moment the port is open", since="2.15"),
    _switch("enable_serialization_as_tensor_content", note="smaller, faster gRPC answers", since="2.19"),
)

BY_NAME: Mapping[str, Flag] = {flag.name: flag for flag in FLAGS}

_IN_THE_BATCHING_FILE = "there is no such flag: it is a field of the file of --batching_parameters_file, {field} {{ value: N }}"
INVENTED: Mapping[str, str] = {
    **{
        field: _IN_THE_BATCHING_FILE.format(field=field)
        for field in (
            "max_batch_size",
            "batch_timeout_micros",
            "max_enqueued_batches",
            "num_batch_threads",
            "max_execution_batch_size",
            "enable_large_batch_splitting",
        )
    },
    "allowed_batch_sizes": "there is no such flag: it is a field of the file of --batching_parameters_file, one line for each size",
    "pad_variable_length_inputs": "there is no such flag: it is a field of the file of --batching_parameters_file",
    "allow_growth": "there is no such flag: set the environment variable TF_FORCE_GPU_ALLOW_GROWTH=true",
    "gpu_memory_fraction": "the flag is --per_process_gpu_memory_fraction",
    "model_version": "there is no such flag: a version is pinned in the file of --model_config_file",
    "model_version_policy": "there is no such flag: it is a field of the file of --model_config_file",
    "grpc_port": "the flag is --port",
    "http_port": "the flag is --rest_api_port",
    "enable_per_model_batching_params": "the flag is --enable_per_model_batching_parameters",
}
"""Flags that guides and answers name and no release has: where the setting really is."""


@dataclass(frozen=True, slots=True)
class LeftOver:
    """An argument the server takes for none of its flags. It prints the first of them with its usage, and goes on."""

    argument: str
    meaning: str


@dataclass(frozen=True, slots=True)
class BadValue:
    """A flag whose value the server cannot read. It prints its usage and exits with status 255."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Flags:
    """A command line as the server reads it: what is set (the last of several counts), in the order of its own list."""

    given: Mapping[str, FlagValue]
    left_over: tuple[LeftOver, ...] = ()
    bad: tuple[BadValue, ...] = ()

    def value(self, name: str, *, cpus: int) -> FlagValue:
        """What the server uses, its default where the flag is not given."""
        if name in self.given:
            return self.given[name]
        default = BY_NAME[name].default
        if default is not None:
            return default
        return cpus if name == "num_tflite_pools" else default_server_threads(cpus)

    @property
    def starts(self) -> bool:
        """Whether the server goes on after reading this.

        An unknown flag does not stop it; --version does, and --help as the first argument left over.
        """
        helps = bool(self.left_over) and self.left_over[0].argument == "--help"
        return not self.bad and not helps and not self.given.get("version", False)


def default_server_threads(cpus: int) -> int:
    """Threads for gRPC calls, and for REST calls, when no flag says how many."""
    return THREADS_PER_CPU * cpus


def server_threads(concurrency: int, protocol: Protocol) -> int:
    """Threads that let `concurrency` requests be in the server at once: for --grpc_max_threads or --rest_api_num_threads.

    A request holds its thread until it is answered, the wait for a batch included, so fewer threads than requests means that
    batches cannot fill. gRPC's limit counts every thread of the server, its pollers too, and a call beyond the limit is refused
    at once as RESOURCE_EXHAUSTED: 8 to spare. Of the REST threads one runs the event loop, and requests beyond the rest wait unseen: 2
    to spare, the second for a probe or a look at the metrics.
    """
    return concurrency + (SPARE_GRPC_THREADS if protocol == "grpc" else SPARE_REST_THREADS)


def parse_flags(args: Sequence[str]) -> Flags:
    """Read the arguments after the program's name as the server does: `--flag=value`; a boolean also as `--flag`.

    Nothing is refused: the server itself stops only at a value it cannot read. Everything after `--` is left over.
    """
    given: dict[str, FlagValue] = {}
    left_over: list[LeftOver] = []
    bad: list[BadValue] = []
    previous = ""
    for position, argument in enumerate(args):
        if argument == "--":
            left_over.extend(LeftOver(rest, "stands after --, where nothing is read") for rest in args[position:])
            break
        read = read_argument(argument, previous, compare=len(left_over) < MAX_COMPARED)
        if isinstance(read, LeftOver):
            left_over.append(read)
        elif isinstance(read, BadValue):
            bad.append(read)
        else:
            given[read[0]] = read[1]
        previous = argument
    return Flags({flag.name: given[flag.name] for flag in FLAGS if flag.name in given}, tuple(left_over), tuple(bad))


def read_argument(argument: str, previous: str = "", *, compare: bool = True) -> tuple[str, FlagValue] | LeftOver | BadValue:
    """One argument as the server reads it: the flag that it sets and its value, or what is wrong with it.

    `previous` stands before it; with `compare`, an unknown name is compared with those of the flags.
    """
    if argument.startswith("--"):
        name, equals, value = argument[2:].partition("=")
        flag = BY_NAME.get(name)
        if flag is not None and (equals or flag.kind is Kind.BOOL):
            read = _read(flag.kind, value if equals else "true")
            return (name, read) if read is not None else BadValue(name, value, f"--{name} takes {_WANTED[flag.kind]}")
    return LeftOver(argument, _why_left_over(argument, previous, compare=compare))


def format_flags(given: Mapping[str, FlagValue]) -> tuple[str, ...]:
    """The arguments that set these flags, in the order of the server's own list.

    Raises:
        FlagValueError: no such flag, or a value of the wrong kind.
    """
    for name, value in given.items():
        flag = BY_NAME.get(name)
        if flag is None:
            raise FlagValueError(f"--{_cut(name)}: {INVENTED.get(name) or _no_such_flag(name)}")
        if not _fits(flag.kind, value):
            raise FlagValueError(f"--{name}={_cut(str(value))}: the flag takes {_WANTED[flag.kind]}")
    return tuple(f"--{flag.name}={_written(given[flag.name])}" for flag in FLAGS if flag.name in given)


def faults(flags: Flags) -> list[Fault]:
    """What the server refuses, or silently does not do, with flags that it can read."""
    return [*_reading_faults(flags), *_start_faults(flags), *_silent_faults(flags)]


def _reading_faults(flags: Flags) -> Iterator[Fault]:
    for bad in flags.bad:
        yield Fault(bad.name, _cut(bad.value), bad.meaning, f"Couldn't interpret value {_cut(bad.value)} for flag {bad.name}.", Found.START)
    for position, left in enumerate(flags.left_over):
        text = f"unknown argument: {_cut(left.argument)}" if position == 0 else None
        yield Fault(_cut(left.argument), None, left.meaning, text, Found.NEVER)


def _start_faults(flags: Flags) -> Iterator[Fault]:
    given = flags.given
    if given.get("port") == 0 and not given.get("grpc_socket_path"):
        yield Fault("port", 0, "Without a port, gRPC needs --grpc_socket_path.", None, Found.START)
    if not given.get("model_base_path") and not given.get("model_config_file"):
        yield Fault(
            "model_base_path",
            "",
            "A model must be named: --model_base_path, or --model_config_file.",
            "Both server_options.model_base_path and server_options.model_config_file are empty!",
            Found.START,
        )
    channel = str(given.get("grpc_channel_arguments", ""))
    if channel and any("=" not in pair for pair in channel.split(",")):
        yield Fault(
            "grpc_channel_arguments",
            _cut(channel),
            "Each part between commas is key=value; the server reads beyond the end of one without an equals sign.",
            None,
            Found.START,
        )
    if given.get("platform_config_file"):
        return  # nothing below is then read
    if given.get("batching_parameters_file") and not given.get("enable_batching"):
        yield Fault(
            "batching_parameters_file",
            given["batching_parameters_file"],
            "The file needs --enable_batching beside it.",
            "server_options.batching_parameters_file is set without setting server_options.enable_batching to true.",
            Found.START,
        )
    pools = ("tensorflow_session_parallelism", "tensorflow_intra_op_parallelism", "tensorflow_inter_op_parallelism")
    if all(_positive(given.get(name)) for name in pools):
        yield Fault(
            pools[0],
            given[pools[0]],
            "It sets both pools: leave it or the other two out.",
            "You cannot configure all.",
            Found.START,
        )


def _silent_faults(flags: Flags) -> Iterator[Fault]:
    given = flags.given
    rest = given.get("rest_api_port", 0)
    if rest and rest == given.get("port", BY_NAME["port"].default):
        yield Fault(
            "rest_api_port",
            rest,
            "REST cannot share the port of gRPC: it is left out, with a line in the log only.",
            "Please use a different port for HTTP/REST API. Skipped exporting HTTP/REST API.",
            Found.NEVER,
        )
    if given.get("monitoring_config_file") and not rest:
        yield Fault(
            "monitoring_config_file",
            given["monitoring_config_file"],
            "Metrics are served on the REST port: without --rest_api_port the file is not even read.",
            None,
            Found.NEVER,
        )
    if given.get("enable_per_model_batching_parameters") and not given.get("enable_batching"):
        yield Fault("enable_per_model_batching_parameters", None, "It means nothing without --enable_batching.", None, Found.NEVER)
    if given.get("platform_config_file") and given.get("enable_batching"):
        yield Fault("enable_batching", None, "It is ignored beside --platform_config_file.", None, Found.NEVER)
    poll = given.get("file_system_poll_wait_seconds", 1)
    if isinstance(poll, int) and poll < 0:
        yield Fault("file_system_poll_wait_seconds", poll, "Below zero nothing is ever loaded.", None, Found.NEVER)


_WANTED = {
    Kind.BOOL: "true or false",
    Kind.INT32: "a whole number of 32 bits",
    Kind.INT64: "a whole number of 64 bits",
    Kind.FLOAT: "a number",
    Kind.STRING: "a text without null bytes",
}
_NO_SUCH_FLAG = "there is no such flag"
_INTEGER = re.compile(r"[ \t\n\v\f\r]*(?P<number>[+-]?[0-9]{1,30})")
_FLOAT = re.compile(r"[ \t\n\v\f\r]*(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_BITS = {Kind.INT32: 31, Kind.INT64: 63}
_MAX_FLOAT = 3.4028234663852886e38


def _read(kind: Kind, value: str) -> FlagValue | None:
    """The value, None where the server cannot read it. A number too large for its type is undefined there, and refused here."""
    if kind is Kind.STRING:
        return value
    if kind is Kind.BOOL:
        return {"true": True, "1": True, "false": False, "0": False}.get(value.lower())
    if kind is Kind.FLOAT:
        found = _FLOAT.fullmatch(value)
        number = float(found["number"]) if found else math.inf
        return number if abs(number) <= _MAX_FLOAT else None
    found = _INTEGER.fullmatch(value)
    whole = int(found["number"]) if found else None
    return whole if whole is not None and _fits(kind, whole) else None


def _fits(kind: Kind, value: FlagValue) -> bool:
    if kind is Kind.BOOL:
        return isinstance(value, bool)
    if kind is Kind.STRING:
        return isinstance(value, str) and "\0" not in value
    if isinstance(value, bool | str):
        return False
    if kind is Kind.FLOAT:
        return math.isfinite(value) and abs(value) <= _MAX_FLOAT
    limit = 2 ** _BITS[kind]
    return isinstance(value, int) and -limit <= value < limit


def _written(value: FlagValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _positive(value: FlagValue | None) -> bool:
    return isinstance(value, int) and value > 0


def _why_left_over(argument: str, previous: str, *, compare: bool) -> str:
    if not argument.startswith("-"):
        before = previous.removeprefix("--")
        if previous.startswith("--") and before in BY_NAME:
            return f"a value stands alone: write --{before}={_cut(argument)}"
        return "no flag at all"
    if not argument.startswith("--"):
        return "a flag starts with two dashes"
    name = argument[2:].partition("=")[0]
    if name in BY_NAME:
        return f"the value stands apart or is missing: write --{name}=value"
    return INVENTED.get(name) or (_no_such_flag(name) if compare else _NO_SUCH_FLAG)


def _no_such_flag(name: str) -> str:
    near = difflib.get_close_matches(name[:MAX_SHOWN].replace("-", "_"), BY_NAME, n=1, cutoff=0.75)
    return f"{_NO_SUCH_FLAG}; --{near[0]} is near" if near else _NO_SUCH_FLAG


def _cut(text: str) -> str:
    return shown(text, limit=MAX_SHOWN)
