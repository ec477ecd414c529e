"""How often the server looks for versions: poll-wait-invalid, poll-costly. Pure."""

from collections.abc import Iterator

from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Where
from shared.lint.server_flags import attempted, server_flags, where_flag, whole_line_known

POLL = "file_system_poll_wait_seconds"
CONFIG_POLL = "model_config_file_poll_wait_seconds"
RARE_SECONDS = 60
"""A look at a bucket each minute is cheap; each second it is not (tensorflow/serving issues 1916, 1291)."""
_BUCKETS = ("gs://", "s3://")


def poll_wait_rules(deployment: Deployment) -> Iterator[Finding]:
    """poll-wait-invalid."""
    flags = server_flags(deployment)
    wait = _seconds(deployment, POLL)
    if flags is None or wait is None:
        return
    config_wait = _seconds(deployment, CONFIG_POLL) or 0
    if wait < 0:
        yield Finding(
            "poll-wait-invalid",
            f"--{POLL}={wait}: below zero the server never looks for versions, loads none and opens no port",
            where_flag(deployment, POLL),
            f"--{POLL}=0 to look once at the start, or --{POLL}={RARE_SECONDS}",
        )
    elif wait == 0 and config_wait > 0:
        yield Finding(
            "poll-wait-invalid",
            f"--{CONFIG_POLL}={config_wait} reads the models' file again, but a reload waits for the look at the model's folder, which "
            f"--{POLL}=0 switches off: it hangs",
            where_flag(deployment, POLL),
            f"--{POLL}={RARE_SECONDS}, or leave --{CONFIG_POLL} out and deploy a new revision for each change",
        )


def poll_costly_rules(deployment: Deployment) -> Iterator[Finding]:
    """poll-costly. What an update leaves unsaid may be set in the service, so there only a stated number is judged."""
    flags = server_flags(deployment)
    if flags is None or attempted(deployment, POLL):
        return
    stated = _seconds(deployment, POLL)
    if stated is None and not whole_line_known(deployment):
        return
    wait = 1 if stated is None else stated
    if not 0 < wait < RARE_SECONDS:
        return
    found = next(((path, where) for path, where in _base_paths(deployment) if path.startswith(_BUCKETS)), None)
    if found is None:
        return
    path, where = found
    every = "each second" if wait == 1 else f"every {wait} s"
    unsaid = f"--{POLL} is left out, so " if stated is None else ""
    yield Finding(
        "poll-costly",
        f"{unsaid}every instance lists {path} {every}: that is slow and billed, for each model and instance, day and night",
        where_flag(deployment, POLL) if stated is not None else where,
        f"--{POLL}=0 with a new revision for each version, or --{POLL}={RARE_SECONDS} or more",
    )


def _base_paths(deployment: Deployment) -> Iterator[tuple[str, Where]]:
    """Where the server looks for versions: as the models' file says, else the flag, which the entry point makes from the environment."""
    if deployment.models is not None or deployment.flag("model_config_file"):
        models = deployment.models.meant.models if deployment.models is not None and deployment.models.meant is not None else ()
        for at, model in enumerate(models):
            assert deployment.models is not None  # noqa: S101 (it has models; for the type checker)
            yield model.base_path, deployment.models.where(f"config[{at}].base_path")
        return
    path = deployment.flag("model_base_path")
    if isinstance(path, str) and path:
        yield path, _where_base_path(deployment)


def _where_base_path(deployment: Deployment) -> Where:
    """The flag, or the variable from which the entry point makes it."""
    last = next((each for each in reversed(deployment.arguments) if each.text.startswith("--model_base_path=")), None)
    variables = deployment.container.get("env")
    if last is not None and last.index is None and deployment.entrypoint and isinstance(variables, list):
        for at, each in enumerate(variables):
            if isinstance(each, dict) and each.get("name") == "MODEL_BASE_PATH":
                return deployment.where_container(f"/env/{at}")
    return where_flag(deployment, "model_base_path")


def _seconds(deployment: Deployment, name: str) -> int | None:
    value = deployment.flag(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
