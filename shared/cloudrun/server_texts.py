"""The stable parts of Cloud Run's own refusals of a value: what its validation writes, word for word. Pure.

Each is a substring of a real INVALID_ARGUMENT answer of the Admin API v2, collected by a public project that sends each broken
value to Cloud Run with `validate_only` and compares. Around it Cloud Run writes the field's path and what varies (names, numbers).
"""

from enum import StrEnum


class ServerText(StrEnum):
    """A substring of Cloud Run's refusal."""

    ACCELERATOR = "only 'nvidia-l4'"
    GPU_MINIMUM = "CPU must be at least 4; memory must be at least 16Gi"
    GPU_GEN2 = "Execution environment must be set to gen2 in order to set GPU"
    GPU_THROTTLING = "must be disabled in order to set GPU requirements"
    GPU_COUNT = "GPU can only be set to 1"
    GPU_ONE_CONTAINER = "on one container"
    GPU_REDUNDANCY_WITHOUT_GPU = "must be set when GPU redundancy is set"
    RTX_CPU = "Must be equal to one of 20.0, 22.0"
    RTX_MEMORY = "memory must be between 80Gi"
    CPU = "Must be equal to one of [.08-1]"
    MEMORY = "Invalid value specified for container memory"
    FRACTIONAL_CPU_CONCURRENCY = "not supported with concurrency"
    FRACTIONAL_CPU_ALWAYS_ON = "not supported with cpu always allocated"
    CONCURRENCY = "max_instance_request_concurrency: Must be a number between 0 and 1000"
    TIMEOUT = "maximum allowed time is one hour"
    SCALING_ORDER = "must be greater than or equal to min_instance_count"
    SCALING_NEGATIVE = "must be greater than or equal to zero"
    SCALING_MODE = "scaling mode must be set to MANUAL"
    TRAFFIC_TOTAL = "should be 100"
    TRAFFIC_REVISION = "must be specified if and only if traffic type is"
    TRAFFIC_TAG = "may not contain a duplicate tag"
    TRAFFIC_PERCENT = "percent: must be a number between 0 and 100"
    PORT_NAME = "must be one of empty, 'http1' or 'h2c'"
    PORT_RANGE = "container_port: must be 0"
    INGRESS_CONTAINER = "exactly one container with an exposed port"
    PORT_COUNT = "ports should contain 0 or 1 port"
    CONTAINER_COUNT = "at most 10 containers"
    DEPENDENCY_UNKNOWN = "does not exist"
    DEPENDENCY_CYCLE = "dependency cycle detected"
    ENV_COUNT = "limit on EnvVars across all containers"
    ENV_VALUE = "length cannot exceed 32768"
    ENV_RESERVED = "reserved env names were provided"
    ARGS_COUNT = "limit on args across all containers"
    PROBE_ACTION = "Exactly one probe action must be set"
    PROBE_INITIAL_DELAY = "initial_delay_seconds must be a number between"
    PROBE_RANGE = "_seconds must be a number between 0 and"
    PROBE_THRESHOLD = "Must be a positive number if set"
    PROBE_READINESS_DELAY = "Initial delay is not supported for readiness probe"
    PROBE_TCP = "does not support TCP socket"
    PROBE_PORT = "if specified, must be between 1 and 65535"
    SYSTEM_METADATA = "system annotations are not supported"
    LAUNCH_STAGE = "only ALPHA, BETA, GA, or unspecified are supported"
