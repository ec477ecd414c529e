"""From a scenario's settings to runs of the simulated world, or to the reason why there is no server to simulate."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cli.shown import one_line, stop
from shared.cloudrun.prices import SECONDS_PER_HOUR
from shared.lint.checking import Checked, check
from shared.lint.deployment import Deployment
from shared.lint.finding import Finding, Severity
from shared.lint.given import Arguments, Given, Text, Workload
from shared.lint.server_flags import strays
from shared.lint.specs import check_spec
from shared.lint.v2_values import texts_of
from shared.local.world.revisions import revision_of
from shared.records.admission import admit
from shared.records.allow_lists import NO_LIMITS
from shared.records.subject import ServiceId
from shared.simulation.figures import figures, figures_without_a_server
from shared.simulation.oracle import TARGET, Task, search
from shared.simulation.scenario import Scenario, ServiceSettings
from shared.simulation.scenario_workload import HeavyTail
from shared.simulation.scenario_world import bounded, model_times, workload_of, world_of
from shared.simulation.world.results import RunResult
from shared.simulation.world.settings import Revision
from shared.tfserving.batching import format_batching
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.flags import parse_flags

ANY_SERVICE = ServiceId(project="simulated", region="europe-west1", name="simulated")
"""Stands for the service of a spec that names none; its region has the list prices of most regions."""
SAID = 320
"""Characters of a finding."""
_NOT_DEPLOYED = frozenset(
    {
        "gcloud-unknown-flag",
        "gcloud-value-invalid",
        "gcloud-args-needs-equals",
        "service-document-invalid",
        "cloud-run-limit",
        "cpu-memory-shape",
        "gpu-request-invalid",
        "gpu-region-unsupported",
        "gpu-cpu-throttled",
        "gen2-required",
        "env-reserved",
        "probe-liveness-tcp",
    }
)
"""gcloud or Cloud Run refuses it."""
_NEVER_READY = frozenset(
    {
        "port-not-listening",
        "h2c-mismatch",
        "startup-window-too-short",
        "startup-probe-single-attempt",
        "probe-path-not-served",
        "probe-grpc-health-disabled",
        "model-source-missing",
        "models-file-syntax",
        "models-unknown-field",
        "models-platform-invalid",
        "models-entry-invalid",
        "version-labels-need-allow-flag",
    }
)
"""The server ends, never gets ready, or understands no request."""
_BATCHING_FILE = frozenset(
    {
        "batching-file-syntax",
        "batching-wrapper-syntax",
        "batching-unknown-field",
        "allowed-last-not-max",
        "batching-value-out-of-range",
        "splitting-sizes-inconsistent",
    }
)
"""The server ends or loads no model, if it reads the file."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Settings that can be simulated, or why there is no server."""

    name: str
    deployment: Deployment
    revision: Revision | None
    stops: tuple[str, ...]
    """Why no server comes up; empty where there is a revision."""
    errors: tuple[str, ...]
    """What else lint calls an error."""

    @property
    def usd_per_instance_s(self) -> float | None:
        """None where no server comes up."""
        return None if self.revision is None else self.revision.cloud_run.usd_per_instance_s


@dataclass(frozen=True, slots=True)
class Ran:
    """A name and what its settings came to; no result where no server comes up."""

    name: str
    result: RunResult | None
    usd_per_instance_s: float | None
    notes: tuple[str, ...] = ()
    """What is to be said of the settings."""
    marks: tuple[tuple[float, str], ...] = ()
    """What was changed in the run, at which second of the world."""

    @property
    def figures(self) -> dict[str, Any]:
        """As in JSON."""
        return figures_without_a_server() if self.result is None else figures(self.result)

    @property
    def usd_per_hour(self) -> float | None:
        """On the average of the run."""
        if self.result is None or self.usd_per_instance_s is None:
            return None
        return self.result.mean_instances * SECONDS_PER_HOUR * self.usd_per_instance_s


def prepared(name: str, scenario: Scenario, settings: ServiceSettings) -> Prepared:
    """The settings as a revision; ends the command where something that the simulation needs is not known."""
    checked = _checked(name, scenario, settings)
    errors = [finding for finding in checked.findings if finding.severity is Severity.ERROR]
    if not any(finding.code in _NOT_DEPLOYED for finding in errors):
        _need_tf_serving(name, settings, checked.deployment)
    stops = tuple(_said(finding) for finding in errors if _stops(finding, checked.deployment))
    others = tuple(_said(finding) for finding in errors if not _stops(finding, checked.deployment))
    if stops:
        return Prepared(name, checked.deployment, None, stops, others)
    try:
        revision = revision_of(
            checked.deployment,
            model_times(scenario.model),
            start_s=scenario.limits.start_s,
            client_timeout_s=scenario.limits.client_timeout_s or float("inf"),
            usd_per_instance_s=scenario.limits.usd_per_instance_s,
        )
        revision = bounded(scenario, revision)
    except ValueError as error:
        stop(f"{name}: {one_line(str(error), 2_000)}")
    return Prepared(name, checked.deployment, revision, (), others)


def run(scenario: Scenario, ready: Prepared) -> Ran:
    """The scenario's workload on those settings."""
    notes = (*(f"no server comes up: {said}" for said in ready.stops), *(f"lint: {said}" for said in ready.errors))
    if ready.revision is None:
        return Ran(ready.name, None, None, notes)
    world = world_of(scenario, ready.revision)
    world.run_until(scenario.warm_up_s + scenario.duration_s)
    return Ran(ready.name, world.result(scenario.warm_up_s), ready.usd_per_instance_s, notes)


def run_oracle(name: str, scenario: Scenario, ready: Prepared, base: Revision, *, progress: Callable[[str], None]) -> Ran:
    """The best settings found for the workload, simulated like the others on the scenario's seed, which the search does not know."""
    task = Task(
        workload_of(scenario),
        base,
        scenario.good_ms,
        warm_up_s=scenario.warm_up_s,
        duration_s=scenario.duration_s,
        warm_instances=scenario.limits.warm_instances,
        quota=scenario.limits.gpu_quota,
    )
    found = search(task, seed=scenario.seed, progress=progress)
    missed = () if found.met else (f"nothing reached {TARGET:.0%} good answers; these settings come closest for what they cost",)
    ran = run(scenario, replace(ready, name=name, revision=found.revision, errors=()))
    return replace(ran, notes=(*missed, *settings_text(found.revision)))


def settings_text(revision: Revision) -> Iterator[str]:
    """The settings as flags of gcloud and of the server, and as a batching file."""
    cloud_run, server = revision.cloud_run, revision.server
    threads = "rest_api_num_threads" if server.rest else "grpc_max_threads"
    yield f"gcloud: --concurrency={cloud_run.concurrency} --min={cloud_run.min_instances} --max={cloud_run.max_instances}"
    yield (
        "annotations of the revision, for which gcloud has no flags: "
        f"run.googleapis.com/scaling-concurrency-target: '{cloud_run.concurrency_target}', "
        f"run.googleapis.com/scaling-cpu-target: '{cloud_run.cpu_target}'"
    )
    yield f"server: --enable_batching=true --batching_parameters_file=FILE --{threads}={server.server_threads}"
    batching = server.batching
    if batching is not None:
        text = format_batching(
            BatchingParameters(
                max_batch_size=batching.max_batch_size,
                batch_timeout_micros=0,
                max_enqueued_batches=batching.max_enqueued_batches,
                num_batch_threads=batching.threads,
            )
        )
        yield from (f"FILE: {line}" for line in text.splitlines())


def _checked(name: str, scenario: Scenario, settings: ServiceSettings) -> Checked:
    if settings.spec is not None:
        service = settings.service or ANY_SERVICE
        refusals = admit(service, settings.spec, NO_LIMITS)
        if refusals:
            stop("\n".join([f"{name}: the spec is refused:", *(f"  {one_line(str(each), 2_000)}" for each in refusals)]))
        if settings.spec.serving is None or settings.spec.serving.own_entry is not None:
            stop(f"{name}: the spec leaves the server's command to its owner (spec.serving): give the gcloud command instead")
        return check_spec(service, settings.spec, file=name)
    checked = check(_given(name, scenario, settings))
    if not checked.deployment.is_service or not checked.deployment.containers:
        stop(f"{name}: gcloud: no command in it deploys a Cloud Run service: write gcloud run deploy NAME --image=... and its flags")
    return checked


def _need_tf_serving(name: str, settings: ServiceSettings, deployment: Deployment) -> None:
    if settings.spec is not None or settings.batching is not None or settings.flags:
        return
    instead = _instead(deployment)
    if instead is not None:
        stop(
            f"{name}: gcloud: nothing in it starts TensorFlow Serving: {one_line(instead)}. Where it does start it, say so with the "
            "server's flags under service, as in flags: [--port=8500, --rest_api_port=8501]"
        )


def _instead(deployment: Deployment) -> str | None:
    """What the container runs, where nothing says that it is TensorFlow Serving; None where something does."""
    image, command = deployment.image, " ".join(texts_of(deployment.container.get("command")))
    if deployment.flags is not None:
        given = [argument.text for argument in deployment.arguments if argument.index is not None]
        if command or (image is not None and image.is_tf_serving) or parse_flags(given).given:
            return None
    if command:
        return f"its command is {command}"
    return (
        "it names no image that is known, and what a build from source makes is not read" if image is None else f"its image is {image.text}"
    )


def _given(name: str, scenario: Scenario, settings: ServiceSettings) -> Given:
    rows, table, limits = scenario.workload.rows, scenario.model.table, scenario.limits
    deadline_s = limits.client_timeout_s
    return Given(
        name,
        deploy=Text(settings.gcloud or "", f"{name} (gcloud)"),
        batching=None if settings.batching is None else Text(settings.batching, f"{name} (batching)"),
        flags=Arguments(settings.flags, f"{name} (flags)", (None,) * len(settings.flags)) if settings.flags else None,
        p99_ms=scenario.good_ms,
        workload=Workload(
            rows_per_request=None if isinstance(rows, HeavyTail) else rows,
            client_deadline_ms=None if deadline_s is None else deadline_s * 1000,
            start_s=limits.start_s if "start_s" in limits.model_fields_set else None,
            batch_ms=_numbers(table),
            gpu_quota=limits.gpu_quota,
        ),
    )


def _numbers(table: Mapping[int, float] | None) -> Mapping[int, float]:
    return {} if table is None else dict(table)


def _stops(finding: Finding, deployment: Deployment) -> bool:
    """Whether no server comes up with what the finding says."""
    if finding.code in _BATCHING_FILE:
        return bool(deployment.flag("batching_parameters_file")) or deployment.flags is None
    if finding.code == "batching-not-enabled":
        return bool(deployment.flag("batching_parameters_file"))
    if finding.code == "server-flag-invalid":
        return any(stray.bad_value for stray in strays(deployment))
    if finding.code == "server-flag-conflict":
        return "parallelism" in finding.message
    return finding.code in _NOT_DEPLOYED or finding.code in _NEVER_READY


def _said(finding: Finding) -> str:
    return one_line(f"{finding.code}: {finding.message}", SAID)
