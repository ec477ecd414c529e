"""Flags of tensorflow_model_server: batching switched on, threads for the concurrency, conflicts, spelling. Pure.

Sources: main.cc, server.cc and server.h of TF Serving, as `shared.tfserving.flags` has them.
"""

from collections.abc import Callable, Iterator

from shared.cloudrun.limits import MAX_CONCURRENCY
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding
from shared.lint.flag_spelling import invalid_flag_rules
from shared.lint.polling_rules import poll_costly_rules, poll_wait_rules
from shared.lint.remedies import THREAD_FLAGS, concurrency_text
from shared.lint.served_batching import per_model_rules
from shared.lint.server_flags import attempted, server_flags, where_flag, whole_line_known
from shared.tfserving.flags import Protocol, faults, server_threads

FILLING_ROWS = 8
"""A request of that many rows keeps a GPU busy by itself."""
WHOLE_CARD = 0.9
_CONFLICTS = {
    "enable_batching": "leave out --platform_config_file, or --enable_batching and put the batching parameters into the platform file",
    "tensorflow_session_parallelism": "leave out --tensorflow_session_parallelism, or both of the other two",
    "rest_api_port": "--port=8500 and --rest_api_port=8501",
}
_BOTH_FLAGS = "--enable_batching=true --batching_parameters_file={}"
_ANY_FILE = "/etc/batching.txt"


def batching_switch_rules(deployment: Deployment) -> Iterator[Finding]:
    """batching-not-enabled: a file that stops the start, or is never read."""
    flags = server_flags(deployment)
    if flags is None or flags.given.get("platform_config_file"):
        return
    path, on = flags.given.get("batching_parameters_file"), deployment.batching_on
    if path and not on and not attempted(deployment, "enable_batching"):
        yield Finding(
            "batching-not-enabled",
            f"--batching_parameters_file={path} without --enable_batching: the server refuses to start, `server_options."
            "batching_parameters_file is set without setting server_options.enable_batching to true.`",
            where_flag(deployment, "batching_parameters_file"),
            _BOTH_FLAGS.format(path),
        )
    supplied = deployment.batching is not None and not deployment.misplaced_batching
    if path or not supplied or not whole_line_known(deployment) or attempted(deployment, "batching_parameters_file"):
        return
    if flags.given.get("enable_per_model_batching_parameters") or (not on and attempted(deployment, "enable_batching")):
        return  # the file may be the version's own, which no flag names
    assert deployment.batching is not None  # noqa: S101 (supplied; for the type checker)
    instead = "batches of up to 1000 rows, timeout 0, a thread for each CPU" if on else "no batching at all"
    yield Finding(
        "batching-not-enabled",
        f"The batching file has no effect: no --batching_parameters_file passes it{'' if on else ', and batching is off'}; "
        f"the server runs with {instead}",
        where_flag(deployment, "enable_batching") if on else deployment.batching.where(),
        _BOTH_FLAGS.format(_ANY_FILE),
    )


def batching_off_rules(deployment: Deployment) -> Iterator[Finding]:
    """batching-off-on-gpu."""
    flags = server_flags(deployment)
    if flags is None or not deployment.gpu or deployment.batching_on or deployment.batching is not None:
        return
    related = ("batching_parameters_file", "platform_config_file", "enable_per_model_batching_parameters")
    if any(flags.given.get(name) for name in related) or attempted(deployment, "enable_batching"):
        return  # a finding of its own, or batching is in the platform's file
    if not whole_line_known(deployment):
        return
    if deployment.concurrency == 1 or deployment.rows >= FILLING_ROWS:
        return
    rows = "1 row" if deployment.rows == 1 else f"{deployment.rows} rows"
    yield Finding(
        "batching-off-on-gpu",
        f"Batching is off on a GPU service: requests of {rows} run one by one, and most of the card's time goes to starting work",
        where_flag(deployment, "enable_batching"),
        _BOTH_FLAGS.format(_ANY_FILE),
    )


def conflict_rules(deployment: Deployment) -> Iterator[Finding]:
    """server-flag-conflict."""
    flags = server_flags(deployment)
    if flags is None:
        return
    unread = {bad.name for bad in flags.bad}
    for fault in faults(flags):
        if (
            fault.field not in _CONFLICTS
            or fault.field in unread
            or (fault.field == "enable_batching" and not flags.given.get("platform_config_file"))
        ):
            continue
        said = f"; the server says `{fault.text}`" if fault.text else ""
        value = "" if fault.value is None else f"={fault.value}"
        yield Finding(
            "server-flag-conflict",
            f"--{fault.field}{value}: {fault.rule.rstrip('.')}{said}",
            where_flag(deployment, fault.field),
            _CONFLICTS[fault.field],
        )


def grpc_thread_rules(deployment: Deployment) -> Iterator[Finding]:
    """grpc-threads-below-concurrency."""
    threads = _known_threads(deployment, "grpc")
    if server_flags(deployment) is None or deployment.protocol != "grpc" or threads is None:
        return
    concurrency = _concurrency(deployment)
    if concurrency is None or threads >= server_threads(concurrency, "grpc") or attempted(deployment, "grpc_max_threads"):
        return
    yield Finding(
        "grpc-threads-below-concurrency",
        f"Cloud Run lets {concurrency} calls into an instance and {_threads(deployment, 'grpc')} serve gRPC; {concurrency} calls and the "
        f"server's own pollers need {server_threads(concurrency, 'grpc')}: the calls beyond are refused as RESOURCE_EXHAUSTED, with empty "
        "details and in none of the server's metrics",
        where_flag(deployment, "grpc_max_threads"),
        _more_threads(deployment, "grpc", concurrency, threads),
    )


def rest_thread_rules(deployment: Deployment) -> Iterator[Finding]:
    """rest-threads-below-concurrency."""
    threads = _known_threads(deployment, "rest")
    if server_flags(deployment) is None or deployment.rest_port is None or threads is None:
        return
    if attempted(deployment, "rest_api_num_threads"):
        return
    concurrency = _concurrency(deployment) if deployment.protocol == "rest" else None
    if threads == 1:
        yield Finding(
            "rest-threads-below-concurrency",
            "--rest_api_num_threads=1 freezes REST: the only thread runs the event loop, and none is left to answer a request",
            where_flag(deployment, "rest_api_num_threads"),
            f"--rest_api_num_threads={server_threads(concurrency or 1, 'rest')}",
        )
    elif concurrency is not None and threads < server_threads(concurrency, "rest"):
        yield Finding(
            "rest-threads-below-concurrency",
            f"Cloud Run lets {concurrency} requests into an instance and {_threads(deployment, 'rest')} serve REST, one of them for the "
            f"event loop; {server_threads(concurrency, 'rest')} are needed: the rest waits unseen in the server, and batches cannot fill",
            where_flag(deployment, "rest_api_num_threads"),
            _more_threads(deployment, "rest", concurrency, threads),
        )


def memory_fraction_rules(deployment: Deployment) -> Iterator[Finding]:
    """gpu-memory-fraction-low."""
    flags = server_flags(deployment)
    fraction = flags.given.get("per_process_gpu_memory_fraction") if flags is not None else None
    if not deployment.gpu or not isinstance(fraction, int | float) or not 0 < fraction < WHOLE_CARD:
        return
    yield Finding(
        "gpu-memory-fraction-low",
        f"--per_process_gpu_memory_fraction={fraction:g} leaves {1 - fraction:.0%} of the card's memory unused: on Cloud Run one instance "
        "has the whole card to itself",
        where_flag(deployment, "per_process_gpu_memory_fraction"),
        "leave --per_process_gpu_memory_fraction out: the server then takes nearly all of the memory",
    )


def model_source_rules(deployment: Deployment) -> Iterator[Finding]:
    """model-source-missing."""
    flags = server_flags(deployment)
    if flags is None or not deployment.command_overridden or deployment.entrypoint:
        return
    sources = ("model_base_path", "model_config_file")
    if any(flags.given.get(name) or attempted(deployment, name) for name in sources):
        return
    if not whole_line_known(deployment) and not _says_args(deployment):
        return
    name = deployment.env.get("MODEL_NAME") or "model"
    base = (deployment.env.get("MODEL_BASE_PATH") or "/models").rstrip("/")
    yield Finding(
        "model-source-missing",
        "The container's own command passes neither --model_base_path nor --model_config_file, and MODEL_NAME and MODEL_BASE_PATH are read "
        "by the image's entry point only: the server ends with `Both server_options.model_base_path and server_options.model_config_file "
        "are empty!`",
        deployment.where_container("/command"),
        f"--model_name={name} --model_base_path={base}/{name}",
    )


RULES: tuple[Callable[[Deployment], Iterator[Finding]], ...] = (
    batching_switch_rules,
    batching_off_rules,
    per_model_rules,
    invalid_flag_rules,
    conflict_rules,
    grpc_thread_rules,
    rest_thread_rules,
    poll_wait_rules,
    poll_costly_rules,
    memory_fraction_rules,
    model_source_rules,
)


def _concurrency(deployment: Deployment) -> int | None:
    """C, unless Cloud Run refuses it: that is a finding of its own."""
    concurrency = deployment.concurrency
    return concurrency if concurrency is not None and concurrency <= MAX_CONCURRENCY else None


def _known_threads(deployment: Deployment, protocol: Protocol) -> int | None:
    """G or H; the default only where the whole command line is known."""
    if deployment.flag(THREAD_FLAGS[protocol]) is None and not whole_line_known(deployment):
        return None
    return deployment.grpc_threads if protocol == "grpc" else deployment.rest_threads


def _says_args(deployment: Deployment) -> bool:
    """Whether the description gives the container's arguments; they replace all that were there before."""
    return bool(deployment.container.get("args"))


def _threads(deployment: Deployment, protocol: Protocol) -> str:
    name = THREAD_FLAGS[protocol]
    stated = deployment.flag(name)
    if stated is not None:
        return f"{stated} threads (--{name})"
    threads = deployment.grpc_threads if protocol == "grpc" else deployment.rest_threads
    return f"{threads} threads (--{name} left out: 4 for each vCPU)"


def _more_threads(deployment: Deployment, protocol: Protocol, concurrency: int, threads: int) -> str:
    fix = f"--{THREAD_FLAGS[protocol]}={server_threads(concurrency, protocol)}"
    fitting = threads - server_threads(0, protocol)
    return f"{fix}, or {concurrency_text(deployment, fitting)}" if fitting >= 1 else fix
