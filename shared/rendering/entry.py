"""The serving container's command, flags and environment from what is desired, and back."""

from collections.abc import Mapping, Sequence

from shared.records.serving import DesiredModel, DesiredServing, ModelSource, Protocol
from shared.rendering.collector_file import collector_config
from shared.tfserving.batching import format_batching, parse_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.command import (
    BATCHING,
    BATCHING_FILE,
    COLLECTOR_CONFIG,
    COMMAND,
    COPY_FROM,
    COPY_TO,
    ENVIRONMENT_NAMES,
    GRPC_PORT,
    MODEL_CONFIG,
    MODEL_CONFIG_FILE,
    MODEL_FOLDER,
    MODELS_FOLDER,
    MONITORING_CONFIG,
    MONITORING_FILE,
    REST_PORT,
    Entry,
)
from shared.tfserving.flags import SPARE_GRPC_THREADS, FlagValue, format_flags, parse_flags
from shared.tfserving.model_config import ModelServerConfig, format_model_config, parse_model_config
from shared.tfserving.monitoring import PROMETHEUS_PATH, MonitoringConfig, PrometheusConfig, format_monitoring

SERVING_NAME = "serving"
"""Of the serving container, where it has no name yet and this one is free."""
MODEL_VOLUME = "trimtab-model"
PROBE_PERIOD_SECONDS = 1
"""A port is found open within a second: a cold start is not made longer by waiting for the next probe."""
MOUNT = "/mnt/trimtab-model"
"""Where the model's bucket is mounted when its files are copied at the start."""

GCS_LOAD_RETRIES = 1
"""A read from the bucket may fail once for no reason; a model that is broken stays broken."""
LOAD_RETRY_MICROS = 2_000_000

MANAGED_FLAGS = frozenset(
    {
        "port",
        "rest_api_port",
        "rest_api_num_threads",
        "rest_api_timeout_in_ms",
        "grpc_max_threads",
        "enable_batching",
        "batching_parameters_file",
        "model_config_file",
        "monitoring_config_file",
        "max_num_load_retries",
        "load_retry_interval_micros",
        "file_system_poll_wait_seconds",
    }
)
"""The flags Trimtab writes itself."""

_MS = 1_000


def port_of(protocol: Protocol) -> int:
    """The one port that Cloud Run exposes."""
    return GRPC_PORT if protocol is Protocol.GRPC else REST_PORT


def rendered_entry(desired: DesiredServing) -> Entry:
    """How the serving container starts.

    Raises:
        ValueError: `desired` keeps an entry of the owner's, or does not name what is needed for one.
    """
    model, concurrency, timeout = desired.model, desired.max_instance_request_concurrency, desired.timeout_seconds
    if desired.own_entry is not None or model is None or concurrency is None or timeout is None:
        raise ValueError("own_entry is set, or model, max_instance_request_concurrency or timeout_seconds is not: nothing to render")
    flags = _flags(desired.protocol, concurrency=concurrency, timeout_seconds=timeout, source=model.source)
    environment = {
        MODEL_CONFIG: format_model_config(ModelServerConfig.pinned(name=model.name, base_path=_base_path(model), version=model.version)),
        MONITORING_CONFIG: format_monitoring(MonitoringConfig(prometheus_config=PrometheusConfig(enable=True, path=PROMETHEUS_PATH))),
    }
    if desired.batching is not None:
        flags |= {"enable_batching": True, "batching_parameters_file": BATCHING_FILE}
        # An empty file means every default, but an empty variable would write no file: a comment says the same.
        environment[BATCHING] = format_batching(desired.batching) or "# every default\n"
    if desired.metrics_sidecar:
        environment[COLLECTOR_CONFIG] = collector_config()
    if model.source is ModelSource.COPIED:
        _, path = bucket_and_path(model.uri)
        environment[COPY_FROM] = f"{MOUNT}/{path}/{model.version}"
        environment[COPY_TO] = f"{_base_path(model)}/{model.version}"
    if model.source is not ModelSource.GCS:
        environment[MODEL_FOLDER] = environment.get(COPY_FROM) or f"{model.uri}/{model.version}"
    if desired.environment:
        environment[ENVIRONMENT_NAMES] = ",".join(sorted(desired.environment))
    return Entry(COMMAND, format_flags(flags | desired.extra_flags), environment | desired.environment)


def bucket_and_path(uri: str) -> tuple[str, str]:
    """The parts of `gs://bucket/path`."""
    bucket, _, path = uri.removeprefix("gs://").partition("/")
    return bucket, path


def read_model(environment: Mapping[str, str], *, bucket: str | None) -> DesiredModel | None:
    """The pinned model that the environment writes; None if it writes none Trimtab would. `bucket` is the one mounted for copying.

    Raises:
        ConfigTextError, ValueError: there is something else in its place.
    """
    config = parse_model_config(environment.get(MODEL_CONFIG, ""))
    version = config.pinned_version()
    if version is None:
        return None
    name, base_path = config.models[0].name, config.models[0].base_path
    if COPY_FROM in environment:
        path = environment[COPY_FROM].removeprefix(f"{MOUNT}/").rpartition("/")[0]
        return DesiredModel(name=name, uri=f"gs://{bucket}/{path}", version=version, source=ModelSource.COPIED)
    source = ModelSource.GCS if base_path.startswith("gs://") else ModelSource.IMAGE
    return DesiredModel(name=name, uri=base_path, version=version, source=source)


def read_batching(environment: Mapping[str, str]) -> BatchingParameters | None:
    """The batching parameters that the environment writes; None: no batching.

    Raises:
        ConfigTextError: there is something else in their place.
    """
    text = environment.get(BATCHING)
    return None if text is None else parse_batching(text)


def read_extra_flags(args: Sequence[str]) -> dict[str, FlagValue]:
    """The flags beside those Trimtab writes itself.

    Raises:
        ValueError: an argument that the server does not take as a flag.
    """
    flags = parse_flags(args)
    if flags.left_over or flags.bad:
        raise ValueError("arguments that the server does not read")
    return {name: value for name, value in flags.given.items() if name not in MANAGED_FLAGS}


def _base_path(model: DesiredModel) -> str:
    return f"{MODELS_FOLDER}/{model.name}" if model.source is ModelSource.COPIED else model.uri


def _rest_timeout_ms(protocol: Protocol, timeout_seconds: int) -> int:
    """Cloud Run ends a request at its timeout; a run that outlives it would be work for nobody.

    Over REST the server gives up a little earlier, with an answer that says so: at the same moment the caller would get Cloud Run's 504.
    """
    whole = timeout_seconds * _MS
    return whole if protocol is Protocol.GRPC else whole - min(_MS, whole // 10)


def _flags(protocol: Protocol, *, concurrency: int, timeout_seconds: int, source: ModelSource) -> dict[str, FlagValue]:
    # Threads: every request that Cloud Run lets in holds one until its batch is done, and the server keeps some for itself.
    threads = concurrency + SPARE_GRPC_THREADS
    flags: dict[str, FlagValue] = {
        "port": GRPC_PORT,
        "rest_api_port": REST_PORT,
        ("grpc_max_threads" if protocol is Protocol.GRPC else "rest_api_num_threads"): threads,
        "rest_api_timeout_in_ms": _rest_timeout_ms(protocol, timeout_seconds),
        "model_config_file": MODEL_CONFIG_FILE,
        "monitoring_config_file": MONITORING_FILE,
        # A model that cannot be loaded ends the start with its own error instead of hanging for five minutes without a port.
        "max_num_load_retries": GCS_LOAD_RETRIES if source is ModelSource.GCS else 0,
        "load_retry_interval_micros": LOAD_RETRY_MICROS,
        # A revision serves one pinned version: there is nothing to look for again, and each look costs money.
        "file_system_poll_wait_seconds": 0,
    }
    return flags
