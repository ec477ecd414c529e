"""How the container of a simulated revision behaves: how long it takes to start, and whether it starts and predicts. Pure.

The choice is a plain function of the revision's template, so that a model version in an environment variable or an image decides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from google.cloud import run_v2

from shared.simulation.cloud_run_quota import NO_GPUS_LEFT

CRASH_SECONDS = 2.0
"""After which a container that ends by itself has ended, if its behaviour does not say."""
REFUSED_SECONDS = 1.0
"""A connection that is refused is refused at once: an HTTP probe's last attempt is over within this time (a user's log: 0.2 s)."""
DEFAULT_PORT = 8080


class Outcome(StrEnum):
    """What becomes of a revision's container."""

    OK = "ok"
    DOES_NOT_LOAD = "does-not-load"
    """The server never opens its port: TF Serving without a loadable version. The start-up probe runs out."""
    FAILS_TO_PREDICT = "fails-to-predict"
    """It starts and becomes ready, and every prediction fails: a model whose variables were not uploaded."""
    CRASHES = "crashes"
    """The container ends while it starts."""
    IMAGE_MISSING = "image-missing"
    NO_GPU = "no-gpu"
    """Accepted, and no GPU is there when the instance should start."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`start_up_seconds` from the write until the container listens (or crashes); None: the simulation's usual rollout time."""

    outcome: Outcome = Outcome.OK
    start_up_seconds: float | None = None


Behaves = Callable[[run_v2.RevisionTemplate], Behaviour]
"""How a revision made from the template behaves."""


@dataclass(frozen=True, slots=True)
class StartFailure:
    """Why a revision never becomes ready: the condition that fails, its reason (of one of the two kinds) and Google's text."""

    condition: str
    message: str
    revision_reason: int | None = None
    reason: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """How a revision's start ends, and how long it takes until then."""

    seconds: float
    failure: StartFailure | None = None


def behaves_well(_template: run_v2.RevisionTemplate) -> Behaviour:
    """Every revision starts in the usual time and serves."""
    return Behaviour()


def environment_of(template: run_v2.RevisionTemplate) -> dict[str, str]:
    """The plain environment variables of all containers; of one name the last container's counts."""
    return {env.name: env.value for container in template.containers for env in container.env}


def serving_container(template: run_v2.RevisionTemplate) -> run_v2.Container:
    """The container that takes the requests: the one with a port, else the first; an empty one if there is none."""
    with_port = [container for container in template.containers if container.ports]
    return next(iter([*with_port, *template.containers]), run_v2.Container())


def port_of(template: run_v2.RevisionTemplate) -> run_v2.ContainerPort:
    """The port the requests go to: 8080 over HTTP/1 where none is stated, by the container runtime contract."""
    port = next(iter(serving_container(template).ports), run_v2.ContainerPort())
    return run_v2.ContainerPort(name=port.name, container_port=port.container_port or DEFAULT_PORT)


def probe_window_seconds(template: run_v2.RevisionTemplate) -> float:
    """How long the start-up probe waits for the container; infinite where health checks are off.

    Without a probe Cloud Run asks over TCP once, with 240 s of patience. A TCP or gRPC probe waits failure_threshold times
    period_seconds (Cloud Run's page on health checks). An HTTP probe makes one attempt per period, and a refused connection fails
    it at once: with a threshold of 1 the first second decides, as a user's post-mortem shows.
    """
    if template.health_check_disabled:
        return float("inf")
    container = serving_container(template)
    if "startup_probe" not in container:
        return 240.0
    probe = container.startup_probe
    threshold, period = probe.failure_threshold or 3, probe.period_seconds or 10
    if "http_get" in probe:
        return probe.initial_delay_seconds + (threshold - 1) * period + REFUSED_SECONDS
    return float(probe.initial_delay_seconds + threshold * period)


def start_of(template: run_v2.RevisionTemplate, behaviour: Behaviour, *, usual_seconds: float, provisioning_seconds: float) -> Start:
    """How the start of a revision with that behaviour ends.

    `provisioning_seconds` is how long Cloud Run takes to find out that an image or a GPU is not there.
    """
    if behaviour.outcome is Outcome.IMAGE_MISSING:
        return Start(provisioning_seconds, image_missing(template))
    if behaviour.outcome is Outcome.NO_GPU:
        return Start(provisioning_seconds, no_gpu())
    window = probe_window_seconds(template)
    if behaviour.outcome is Outcome.CRASHES:
        seconds = CRASH_SECONDS if behaviour.start_up_seconds is None else behaviour.start_up_seconds
        return Start(min(seconds, window), container_failed(template))
    seconds = usual_seconds if behaviour.start_up_seconds is None else behaviour.start_up_seconds
    if behaviour.outcome is Outcome.DOES_NOT_LOAD:
        # Without a probe nothing ends the wait but Cloud Run's own patience.
        return Start(min(window, 240.0) if template.health_check_disabled else window, container_failed(template))
    return Start(window, container_failed(template)) if seconds > window else Start(seconds)


def container_failed(template: run_v2.RevisionTemplate) -> StartFailure:
    """The start-up probe ran out or the container ended: Cloud Run has one text for both."""
    return StartFailure(
        "ContainerHealthy",
        "The user-provided container failed to start and listen on the port defined provided by the "
        f"PORT={port_of(template).container_port} environment variable within the allocated timeout. This can happen when the "
        "container port is misconfigured or if the timeout is too short. The health check timeout can be extended. Logs for this "
        "revision might contain more information.",
        revision_reason=run_v2.Condition.RevisionReason.HEALTH_CHECK_CONTAINER_ERROR,
    )


def image_missing(template: run_v2.RevisionTemplate) -> StartFailure:
    """The image is not in its registry, in the words users report."""
    return StartFailure(
        "ContainerReady",
        f"Image '{serving_container(template).image}' not found.",
        reason=run_v2.Condition.CommonReason.CONTAINER_MISSING,
    )


def no_gpu() -> StartFailure:
    """Validation passed, and the GPUs are not there when the instances should start (user reports)."""
    return StartFailure("ResourcesAvailable", NO_GPUS_LEFT, revision_reason=run_v2.Condition.RevisionReason.MIN_INSTANCES_NOT_PROVISIONED)
