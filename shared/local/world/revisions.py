"""From a resolved deployment to a revision of the simulated world: what is written, and what holds where nothing is. Pure.

Of gRPC's server threads some serve no request (`server_threads` of `tfserving.flags` leaves room for 8). How many is not known, and the
study that the benchmarks compare with lets all of them serve; so does this (`kept_threads` stays 0).
"""

import math
from collections.abc import Mapping
from typing import Any

from shared.cloudrun.described import Described, Form
from shared.cloudrun.limits import DEFAULT_TIMEOUT_SECONDS, default_concurrency
from shared.cloudrun.prices import SECONDS_PER_HOUR, TIER_1_REGIONS, usd_per_instance_hour
from shared.cloudrun.quantities import GIB
from shared.cloudrun.shapes import L4
from shared.lint.checking import resolved
from shared.lint.deployment import Deployment
from shared.lint.given import Given, Text
from shared.lint.service_parts import seconds
from shared.lint.v2_values import amount_of, limits_of, part, whole_of
from shared.records.observed import PLATFORM_DEFAULT_MAX_INSTANCES
from shared.records.subject import ServiceId
from shared.simulation.world.settings import Batching, CloudRunSettings, ModelTimes, Revision, ServerSettings
from shared.tfserving.batching import WITHOUT_A_FILE, effective, faults
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.faults import Found
from shared.tfserving.flags import BY_NAME, Protocol

START_S = 25.0
"""From the decision to start an instance to its first request, where nothing was measured: image, GPU, model load."""
DEFAULT_TARGET = 0.6
"""Of both drivers of Cloud Run's autoscaler."""
DEFAULT_VCPU = 1.0
DEFAULT_MEMORY_GIB = 0.5
"""Of a container that names none, without a GPU."""
LARGEST_BATCH_ROWS = 1_000_000
"""The world keeps a time for each size of a batch."""
_STOPS = frozenset({Found.START, Found.MODEL_LOAD})


def revision_of(
    deployment: Deployment,
    model: ModelTimes,
    *,
    start_s: float = START_S,
    client_timeout_s: float = math.inf,
    usd_per_instance_s: float | None = None,
) -> Revision:
    """The deployment as the world simulates it, with Cloud Run's and TF Serving's defaults where it says nothing.

    `start_s`: from the decision to start an instance to its first request; `client_timeout_s`: the deadline of the clients' calls.
    `usd_per_instance_s` takes the place of the list price; without it a service whose region is not known is priced as in most regions,
    and one without a GPU as billed by the instance. Bounds are the service's and the revision's together.

    Raises:
        ValueError: something that the simulation needs is not known or not in order; one sentence says what, and what to write.
    """
    vcpu = _vcpu(deployment)
    if vcpu != int(vcpu) or vcpu < 1:
        raise ValueError(f"cpu is {vcpu:g}: the simulation counts whole vCPUs, write 1 or more")
    protocol = _protocol(deployment)
    price = _usd_per_instance_s(deployment, vcpu) if usd_per_instance_s is None else usd_per_instance_s
    return Revision(
        model=model,
        server=_server(deployment, protocol, int(vcpu)),
        cloud_run=_cloud_run(deployment, vcpu, start_s=start_s, usd_per_instance_s=price),
        client_timeout_s=client_timeout_s,
    )


def deployment_of(document: Mapping[str, Any], service: ServiceId | None = None) -> Deployment:
    """A whole service (REST JSON of the Admin API v2) as a deployment: whoever wrote it, gcloud or Trimtab.

    `service` says project and region; without it they are those of the document's full name, if it has one.
    """
    name = str(document.get("name", ""))
    parts = name.split("/")
    project, region = (parts[1], parts[3]) if len(parts) == 6 else (None, None)  # noqa: PLR2004 (projects/P/locations/R/services/S)
    if service is not None:
        name, project, region = str(service), service.project, service.region
    given = Given(name=name, deploy=Text("", "the template"))
    return resolved(given, Described(form=Form.V2, service=dict(document), complete=True, region=region, project=project))


def _vcpu(deployment: Deployment) -> float:
    stated = deployment.vcpu
    if stated is not None:
        return stated
    if deployment.complete and not deployment.gpu:
        return DEFAULT_VCPU
    raise ValueError("the vCPUs are not known: write --cpu, or resources.limits.cpu of the container that serves")


def _protocol(deployment: Deployment) -> Protocol:
    if deployment.protocol is not None:
        return deployment.protocol
    port, grpc, rest = deployment.container_port, deployment.grpc_port, deployment.rest_port
    if port is not None and grpc is not None and deployment.arguments:
        listens = f"{grpc}" if rest is None else f"{grpc} and {rest}"
        raise ValueError(
            f"Cloud Run sends requests to port {port} and TF Serving listens at {listens}: write --port={grpc} with --use-http2"
        )
    if deployment.h2c is None:
        raise ValueError("it is not known whether clients speak gRPC or REST: write the port that Cloud Run sends to")
    return "grpc" if deployment.h2c else "rest"


def _server(deployment: Deployment, protocol: Protocol, vcpus: int) -> ServerSettings:
    threads = deployment.grpc_threads if protocol == "grpc" else deployment.rest_threads
    timeout = deployment.flag("rest_api_timeout_in_ms")
    timeout_ms = timeout if isinstance(timeout, int) else BY_NAME["rest_api_timeout_in_ms"].default
    return ServerSettings(
        batching=_batching(deployment, vcpus),
        rest=protocol == "rest",
        server_threads=threads,
        rest_timeout_s=float(timeout_ms or 0) / 1000,
    )


def _batching(deployment: Deployment, vcpus: int) -> Batching | None:
    parameters = _parameters(deployment)
    if parameters is None:
        return None
    broken = next((fault for fault in faults(parameters) if fault.found in _STOPS), None)
    if broken is not None:
        raise ValueError(f"TF Serving does not serve with {broken.field} {broken.value}: {broken.rule}")
    numbers = effective(parameters, vcpus)
    if not 0 < numbers.max_execution_batch_size <= numbers.max_batch_size <= LARGEST_BATCH_ROWS:
        raise ValueError(
            f"max_batch_size is {numbers.max_batch_size} and max_execution_batch_size {numbers.max_execution_batch_size}: "
            f"the simulation takes 1 to {LARGEST_BATCH_ROWS:,} rows"
        )
    return Batching(
        max_batch_size=numbers.max_batch_size,
        timeout_ms=numbers.batch_timeout_micros / 1000,
        max_enqueued_batches=numbers.max_enqueued_batches,
        threads=numbers.num_batch_threads,
        allowed_batch_sizes=numbers.allowed_batch_sizes,
        splitting=numbers.enable_large_batch_splitting,
        max_execution_batch_size=numbers.max_execution_batch_size if numbers.enable_large_batch_splitting else None,
    )


def _parameters(deployment: Deployment) -> BatchingParameters | None:
    """The batching file's values; None: no batching."""
    meant = None if deployment.batching is None else deployment.batching.meant
    if deployment.batching is not None and meant is None:
        raise ValueError("the batching file cannot be read: `trimtab lint` says where")
    named = bool(deployment.flag("batching_parameters_file"))
    if not deployment.batching_on:
        if deployment.flags is None:
            return meant  # nothing says how the server starts: a file that is given is meant
        if named:
            raise ValueError("TF Serving does not start: --batching_parameters_file needs --enable_batching beside it")
        return None
    if deployment.flag("enable_per_model_batching_parameters"):
        raise ValueError("--enable_per_model_batching_parameters: the numbers are in the model's own folder and not known here")
    if named and meant is None:
        raise ValueError("the text of the file that --batching_parameters_file names is not known: give it as the batching part")
    return meant if named and meant is not None else WITHOUT_A_FILE


def _cloud_run(deployment: Deployment, vcpu: float, *, start_s: float, usd_per_instance_s: float) -> CloudRunSettings:
    template = deployment.template
    scaling, service = part(template, "scaling"), part(deployment.service, "scaling")
    least = max(whole_of(each.get("minInstanceCount")) or 0 for each in (scaling, service))
    most = deployment.max_instances or PLATFORM_DEFAULT_MAX_INSTANCES
    manual = whole_of(service.get("manualInstanceCount")) if service.get("scalingMode") == "MANUAL" else None
    if manual is not None:
        least = most = manual
    made_with = deployment.described.made_with if deployment.described is not None else None
    concurrency = deployment.concurrency
    if concurrency is None:
        concurrency = default_concurrency(vcpu) if made_with is None else default_concurrency(vcpu, made_with=made_with)
    return CloudRunSettings(
        concurrency=concurrency,
        min_instances=min(least, most),
        max_instances=most,
        vcpus=int(vcpu),
        concurrency_target=_target(scaling, "concurrencyUtilization"),
        cpu_target=_target(scaling, "cpuUtilization"),
        start_s=start_s,
        timeout_s=seconds(template.get("timeout")) or DEFAULT_TIMEOUT_SECONDS,
        usd_per_instance_s=usd_per_instance_s,
    )


def _target(scaling: Mapping[str, Any], name: str) -> float | None:
    """0 switches the driver off."""
    stated = scaling.get(name)
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return DEFAULT_TARGET
    return float(stated) or None


def _usd_per_instance_s(deployment: Deployment, vcpu: float) -> float:
    others = [each for each in deployment.containers if each is not deployment.container]
    memory = deployment.memory_gib
    if memory is None and deployment.complete and not deployment.gpu:
        memory = DEFAULT_MEMORY_GIB
    if memory is None:
        raise ValueError("the memory is not known, and the price hangs on it: write --memory, or resources.limits.memory of the container")
    accelerator = (deployment.accelerator or L4.name) if deployment.gpu else None
    price = usd_per_instance_hour(
        accelerator=accelerator,
        gpu_count=1 if deployment.gpu else 0,
        cpu=vcpu + sum(amount_of(limits_of(each).get("cpu")) or DEFAULT_VCPU for each in others),
        memory_gib=memory + sum((amount_of(limits_of(each).get("memory")) or DEFAULT_MEMORY_GIB * GIB) / GIB for each in others),
        gpu_zonal_redundancy=not deployment.template.get("gpuZonalRedundancyDisabled", False),
        region=deployment.region or min(TIER_1_REGIONS),
        billed_by_instance=True,
    )
    if price is None:
        raise ValueError(
            f"the price of an instance with {accelerator or 'no GPU'} in {deployment.region} is not known: give it in USD a second"
        )
    return price / SECONDS_PER_HOUR
