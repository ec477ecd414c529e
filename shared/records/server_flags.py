"""Which flags of tensorflow_model_server a spec may set, and why not the others. Pure.

Every flag of the server is in exactly one of three lists: free to set, rendered by Trimtab from a field of its own, or of no use on
Cloud Run. An unknown flag does not stop the server (main.cc prints `unknown argument` and goes on), so it would be silently ignored:
it is refused here.
"""

from collections.abc import Iterator, Mapping

from shared.records.images import TfServingImage
from shared.records.refusal import Authority, Refusal, in_the_servers_words, shown
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.flags import BY_NAME, INVENTED, Flags, FlagValue, FlagValueError, faults, format_flags
from shared.tfserving.flags import Kind as FlagKind

FREE: tuple[str, ...] = (
    "rest_api_enable_cors_support",
    "num_load_threads",
    "num_unload_threads",
    "flush_filesystem_caches",
    "tensorflow_session_parallelism",
    "tensorflow_intra_op_parallelism",
    "tensorflow_inter_op_parallelism",
    "per_process_gpu_memory_fraction",
    "saved_model_tags",
    "grpc_channel_arguments",
    "enable_model_warmup",
    "num_request_iterations_for_warmup",
    "remove_unused_fields_from_bundle_metagraph",
    "prefer_tflite_model",
    "num_tflite_pools",
    "num_tflite_interpreters_per_pool",
    "enable_signature_method_name_check",
    "xla_cpu_compilation_enabled",
    "xla_gpu_compilation_enabled",
    "enable_profiler",
    "mixed_precision",
    "enable_grpc_healthcheck_service",
    "enable_serialization_as_tensor_content",
)
"""`extra_flags` takes these."""

RENDERED: Mapping[str, str] = {
    "port": "set serving.protocol; the port follows from it",
    "rest_api_port": "set serving.protocol; the port follows from it",
    "grpc_max_threads": "set serving.max_instance_request_concurrency; the threads follow from it",
    "rest_api_num_threads": "set serving.max_instance_request_concurrency; the threads follow from it",
    "rest_api_timeout_in_ms": "set serving.timeout_seconds; the server's own timeout follows from it",
    "enable_batching": "set serving.batching: auto, off, or the parameters",
    "batching_parameters_file": "set serving.batching: auto, off, or the parameters",
    "enable_per_model_batching_parameters": "set serving.batching; a file inside the model would override it unseen",
    "model_name": "set serving.model.name",
    "model_base_path": "set serving.model.uri",
    "model_config_file": "set serving.model: one model with one version for each revision",
    "model_config_file_poll_wait_seconds": "set serving.model.version; a new version is a new revision, never a reload",
    "file_system_poll_wait_seconds": "set serving.model.version; a new version is a new revision, never a reload",
    "max_num_load_retries": "leave it out; Trimtab keeps the tries to load a model within the start-up window",
    "load_retry_interval_micros": "leave it out; Trimtab keeps the tries to load a model within the start-up window",
    "monitoring_config_file": "set serving.metrics_sidecar",
}
"""What Trimtab writes or decides itself, with the field to use instead."""

OLDEST_RELEASE = "2.5"
"""The first with --grpc_max_threads, which Trimtab writes, and with the metric of request latencies, which it reads."""

UNFIT: Mapping[str, str] = {
    "grpc_socket_path": "Cloud Run talks to a port, no other process could use the socket",
    "allow_version_labels_for_unavailable_models": "Trimtab serves one version in each revision, without labels",
    "tensorflow_session_config_file": "its threads and its GPU fraction are overwritten by the flags, even by their defaults",
    "use_alts_credentials": "Cloud Run ends TLS in front of the container and speaks plain HTTP to it",
    "ssl_config_file": "Cloud Run ends TLS in front of the container and speaks plain HTTP to it",
    "platform_config_file": "beside it --enable_batching and the session's flags are ignored",
    "version": "the server would print its version and end",
    "thread_pool_factory_config_file": "it needs a server that was built with a thread pool factory, and a file beside it",
    "skip_initialize_tpu": "Cloud Run has no TPUs",
}
"""Flags that break a service on Cloud Run or mean nothing there, with the reason."""

_MEANT: Mapping[str, str] = {
    "model_version": "set serving.model.version",
    "model_version_policy": "set serving.model.version",
    "grpc_port": RENDERED["port"],
    "http_port": RENDERED["rest_api_port"],
    "enable_per_model_batching_params": RENDERED["enable_per_model_batching_parameters"],
}
"""Names that guides invented for what has a field here."""
SHARES = frozenset({"per_process_gpu_memory_fraction"})
"""Numbers from 0 to 1. Above 1 TensorFlow takes CUDA's unified memory, which swaps; below 0 it fails when the first model is loaded."""
_INT64 = 2**63


def release_refusals(image: TfServingImage | None) -> Iterator[Refusal]:
    """Whether the release is too old for what Trimtab renders: it would ignore a flag and start all the same."""
    if image is not None and image.is_older_than(OLDEST_RELEASE):
        yield Refusal(
            field="spec.serving.image",
            value=f"tensorflow/serving:{shown(image.tag)}",
            limit=f"TF Serving {OLDEST_RELEASE} or newer",
            why=f"TF Serving {image.tag} does not have all that Trimtab renders and reads; it says "
            '"unknown argument: --grpc_max_threads" and goes on',
            fix=f"use an image of {OLDEST_RELEASE} or newer",
            authority=Authority.TF_SERVING,
        )


def flag_refusals(extra_flags: Mapping[str, FlagValue], image: TfServingImage | None) -> Iterator[Refusal]:
    """What is wrong with `serving.extra_flags`. `image` is TF Serving's published image where the spec uses one, else None."""
    for name, value in extra_flags.items():
        yield from _one_flag(name, value, image)
    free = {name: value for name, value in extra_flags.items() if name in FREE and _fault_of_value(name, value) is None}
    # A model is always named by what Trimtab renders.
    for fault in faults(Flags({**free, "model_base_path": "/models"})):
        if fault.field in free:
            yield Refusal(
                field=f"spec.serving.extra_flags.{fault.field}",
                value=shown(free[fault.field]),
                limit=_what_starts(fault.field, list(free)),
                why=in_the_servers_words(fault.rule.rstrip("."), fault.text),
                fix="leave one of them out, or correct it",
                authority=Authority.TF_SERVING,
            )


def _what_starts(name: str, given: list[str]) -> str:
    others = [other for other in given if other != name]
    return "a value that the server starts with" + (f", beside {', '.join(others)}" if others else "")


def _one_flag(name: str, value: FlagValue, image: TfServingImage | None) -> Iterator[Refusal]:
    field = f"spec.serving.extra_flags.{shown(name)}"
    flag = BY_NAME.get(name)
    if name in RENDERED:
        yield Refusal(
            field=field,
            value=shown(value),
            limit="flags that Trimtab does not write itself",
            why=f"Trimtab writes or decides --{name}",
            fix=RENDERED[name],
            authority=Authority.TRIMTAB,
        )
    elif name in UNFIT:
        yield Refusal(
            field=field,
            value=shown(value),
            limit="the flags that extra_flags takes (docs/reference/spec.md lists them)",
            why=UNFIT[name],
            fix="leave it out",
            authority=Authority.TRIMTAB,
        )
    elif flag is None or (fault := _fault_of_value(name, value)) is not None:
        yield Refusal(
            field=field,
            value=shown(value),
            limit="a flag of tensorflow_model_server" if flag is None else f"a value of kind {flag.kind}",
            why=_no_such_flag(name) if flag is None else str(fault),
            fix=_fix(name, value),
            authority=Authority.TF_SERVING,
        )
    elif image is not None and flag.since is not None and image.is_older_than(flag.since):
        yield Refusal(
            field=field,
            value=shown(value),
            limit=f"TF Serving {flag.since} or newer",
            why=f'TF Serving {image.tag} does not have the flag and would ignore it; it says "unknown argument: --{name}"',
            fix=f"use an image of {flag.since} or newer, or leave the flag out",
            authority=Authority.TF_SERVING,
        )


def _fault_of_value(name: str, value: FlagValue) -> FlagValueError | None:
    """What is wrong with a flag's value or, where the server has no such flag, with its name."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return FlagValueError(f"--{shown(name)}: the number has more than 64 bits")
    if isinstance(value, str) and not value.isprintable():
        return FlagValueError(f"--{shown(name)}: the text has a line break or another character that is not printed")
    try:
        format_flags({name: value})
    except FlagValueError as error:
        return error
    if name in SHARES and isinstance(value, int | float) and not 0 <= value <= 1:
        return FlagValueError(f"--{shown(name)}: a share of the whole is between 0 and 1")
    return None


def _no_such_flag(name: str) -> str:
    if name.startswith("-"):
        return "the name stands without its dashes"
    return 'there is no such flag; the server would ignore it and say "unknown argument"'


def _fix(name: str, value: FlagValue) -> str:
    if name.startswith("-"):
        return f"write {shown(name.lstrip('-'))}"
    if name in BatchingParameters.model_fields:
        return f"set serving.batching.{name}"
    if name in _MEANT:
        return _MEANT[name]
    if name in INVENTED:
        return INVENTED[name]
    flag = BY_NAME.get(name)
    if flag is not None:
        text_of_bool = flag.kind is FlagKind.BOOL and isinstance(value, str)
        if text_of_bool:
            return "write true or false, without quotes"
        if name in SHARES:
            return "write a number from 0 (nearly all of it) to 1"
        return "write it on one line" if flag.kind is FlagKind.STRING and isinstance(value, str) else f"write a value of kind {flag.kind}"
    # The message of the server's own list names a near one.
    return str(_fault_of_value(name, value)).partition(": ")[2]
