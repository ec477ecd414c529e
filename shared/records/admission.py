"""Admission: whether Cloud Run and TF Serving would take what Trimtab would render of a spec, and whether Trimtab may write it. Pure.

A spec whose values are right one by one can still be refused by Cloud Run after a minute, or by TF Serving after five, or be taken
and do something else than was meant. All of that is said here, before anything is written, with what to do. What nobody can know
beforehand (quota, capacity, permissions, what an image holds, how large a model is) is left to Cloud Run's own answer.

Where `own_entry` keeps the owner's command, only what Trimtab writes is judged. With `autonomy: observe` nothing is written at all: an
adopted service may then break the rules that Cloud Run has not got, and is told so, until more is asked for.

This module reads protobuf's rules of batching and so loads protobuf; the records themselves do not.
"""

from collections.abc import Iterator

from shared.cloudrun.containers import RESERVED_ENV, env_faults
from shared.cloudrun.limits import LimitFault, concurrency_faults
from shared.cloudrun.probes import GPU_STARTUP_WINDOW_SECONDS, STARTUP_WINDOW_SECONDS
from shared.cloudrun.quantities import GIB, quantity
from shared.cloudrun.server_texts import ServerText
from shared.cloudrun.shapes import ACCELERATOR_FIELD, ACCELERATORS, CPU_FIELD, MEMORY_FIELD, shape_faults
from shared.records.allow_lists import AllowLists
from shared.records.batching_rules import batching_refusals
from shared.records.batching_start import starting_batching
from shared.records.golden_request import golden_refusals
from shared.records.images import Image, TfServingImage, image_refusals, is_within
from shared.records.refusal import Authority, Refusal, in_the_servers_words, shown
from shared.records.server_flags import flag_refusals, release_refusals
from shared.records.service import Autonomy, ServiceSpec
from shared.records.service_accounts import account_refusals
from shared.records.serving import EXPANSION, ModelSource, ServingSpec
from shared.records.subject import ServiceId
from shared.tfserving.batching import effective
from shared.tfserving.batching_parameters import BatchingParameters

SPEC_LIMIT_BYTES = 256 * 1_024
"""Of a spec as JSON: it is part of one stored document, which may have 1 MiB, and it travels in one message."""
MAX_NETWORK_INTERFACES = 1
"""Docstring of run_v2.VpcAccess: currently only a single network interface is supported."""
OUR_PREFIX = "TRIMTAB_"
PLATFORM_PREFIX = "K_"
"""Knative's names; Cloud Run sets K_SERVICE, K_REVISION and K_CONFIGURATION today."""
_AS_IT_RUNS = frozenset(
    {"spec.serving.image", "spec.serving.service_account", "spec.serving.gpu_zonal_redundancy", "spec.serving.own_entry"}
)
"""What a spec with own_entry repeats of a service that Cloud Run took before Trimtab was asked."""


def admit(service: ServiceId, spec: ServiceSpec, allowed: AllowLists) -> tuple[Refusal, ...]:
    """Everything that keeps a spec from being taken, in the order of its fields; empty: it is admitted.

    A pure function of its arguments: the same spec is admitted again unless the allow-lists change. `only_noted` has the rest of what is
    wrong with a service that is merely watched.
    """
    return tuple(each for each in _refusals(service, spec, allowed) if not _is_only_noted(each, spec))


def only_noted(service: ServiceId, spec: ServiceSpec, allowed: AllowLists) -> tuple[Refusal, ...]:
    """What is wrong with a service that keeps its owner's command and is only observed; refused as soon as autonomy is more than that."""
    return tuple(each for each in _refusals(service, spec, allowed) if _is_only_noted(each, spec))


def not_allowed(service: ServiceId, spec: ServiceSpec, allowed: AllowLists) -> tuple[Refusal, ...]:
    """What the allow-lists refuse of a spec that is stored already.

    Whoever writes to the store past the commands, or wrote before a list was made shorter, has not passed the door that they stand at.
    """
    serving = spec.serving
    found = [*_listed("service", "project", service.project, allowed.projects)]
    if serving is None:
        return tuple(found)
    found += _listed("spec.serving.image", "image", serving.image, allowed.images)
    found += _bucket_refusals(serving, allowed)
    found += _account_refusals(service, serving, allowed)
    return tuple(found)


def _is_only_noted(refusal: Refusal, spec: ServiceSpec) -> bool:
    """Cloud Run's own rules hold in any case: a service that breaks one cannot be there."""
    kept = spec.serving is not None and spec.serving.own_entry is not None and spec.autonomy is Autonomy.OBSERVE
    return kept and refusal.authority is not Authority.CLOUD_RUN and refusal.field in _AS_IT_RUNS


def _refusals(service: ServiceId, spec: ServiceSpec, allowed: AllowLists) -> Iterator[Refusal]:
    yield from _listed("service", "project", service.project, allowed.projects)
    # The golden request has a limit of its own, and may hold what JSON does not have.
    size = len(spec.model_dump_json(exclude={"serving": {"golden_request"}}).encode())
    if size > SPEC_LIMIT_BYTES:
        yield _trimtab("spec", f"{size} bytes", f"{SPEC_LIMIT_BYTES} bytes as JSON", "it is kept as one document", "shorten its long texts")
    serving = spec.serving
    if serving is None:
        return
    yield from _listed("spec.serving.image", "image", serving.image, allowed.images)
    yield from image_refusals(serving.image, has_accelerator=serving.accelerator is not None)
    official = TfServingImage.of(Image.parse(serving.image))
    if serving.own_entry is None:
        yield from release_refusals(official)
    yield from _model_refusals(serving, allowed)
    yield from _shape_refusals(service, serving)
    yield from _account_refusals(service, serving, allowed)
    yield from _own_entry_refusals(serving)
    yield from _network_refusals(serving)
    if isinstance(serving.max_instance_request_concurrency, int):
        for fault in concurrency_faults(serving.max_instance_request_concurrency, cpu=_number(serving.cpu)):
            yield _of_fault(fault, "spec.serving.max_instance_request_concurrency", fault.value)
    yield from _start_up_refusals(serving)
    yield from _time_refusals(spec, serving)
    if serving.own_entry is None:
        yield from batching_refusals(serving)
        yield from flag_refusals(serving.extra_flags, official)
        yield from _precision_refusals(serving)
        yield from _environment_refusals(serving)
    if serving.golden_request is not None:
        yield from golden_refusals(serving.golden_request, protocol=serving.protocol, max_batch_size=_rows_of_a_request(serving))


def _listed(field: str, kind: str, value: str, patterns: tuple[str, ...] | None) -> Iterator[Refusal]:
    if patterns is None or any(_matches(kind, value, pattern) for pattern in patterns):
        return
    yield _trimtab(
        field,
        value,
        shown(", ".join(patterns)) if patterns else f"no {kind} at all, by this deployment's settings",
        f"the {kind} is not on this deployment's allow-list",
        f"use an allowed {kind}, or have TRIMTAB_ALLOWED_{_SETTING[kind]} extended",
    )


_SETTING = {"project": "PROJECTS", "image": "IMAGES", "bucket": "BUCKETS", "service account": "SERVICE_ACCOUNTS"}


def _matches(kind: str, value: str, pattern: str) -> bool:
    if not pattern.endswith("*"):
        return value == pattern
    return is_within(value, pattern[:-1]) if kind == "image" else value.startswith(pattern[:-1])


def _model_refusals(serving: ServingSpec, allowed: AllowLists) -> Iterator[Refusal]:
    if serving.model is None:
        return
    parent, _, last = serving.model.uri.rpartition("/")
    if last.isdecimal() and serving.own_entry is None:
        yield Refusal(
            field="spec.serving.model.uri",
            value=shown(serving.model.uri),
            limit="a folder that holds version folders, whose own name is no number",
            why="TF Serving takes a folder with a number for a name for one version of a model, and looks for versions inside the uri",
            fix=f"give its parent, {shown(parent)}, and the number as model.version"
            if "/" in parent.removeprefix("gs://")
            else "put the version folders into a folder with a name, and give that",
            authority=Authority.TF_SERVING,
        )
    yield from _bucket_refusals(serving, allowed)


def _bucket_refusals(serving: ServingSpec, allowed: AllowLists) -> Iterator[Refusal]:
    if serving.model is None or serving.model.source is ModelSource.IMAGE:
        return
    bucket = serving.model.uri.removeprefix("gs://").split("/", 1)[0]
    yield from _listed("spec.serving.model.uri", "bucket", bucket, allowed.buckets)


def _shape_refusals(service: ServiceId, serving: ServingSpec) -> Iterator[Refusal]:
    redundancy = "spec.serving.gpu_zonal_redundancy"
    if serving.accelerator is None and serving.gpu_zonal_redundancy is not None:
        yield Refusal(
            field=redundancy,
            value=shown(serving.gpu_zonal_redundancy),
            limit="left out without an accelerator",
            why='zonal redundancy is a property of GPUs; Cloud Run says "must be set when GPU redundancy is set"',
            fix="leave it out, or set serving.accelerator",
            authority=Authority.CLOUD_RUN,
        )
    if serving.accelerator is not None and serving.gpu_zonal_redundancy is None:
        yield _trimtab(
            redundancy,
            "not set",
            "true or false with an accelerator",
            "Cloud Run's default is true, which costs half as much again and takes a GPU quota that projects do not have unasked",
            "say false, or true where a second zone is worth it",
        )
    cpu, memory = _number(serving.cpu), _number(serving.memory)
    own = serving.own_entry is not None
    if cpu is not None and cpu < 1 and serving.accelerator is None and not own:
        yield Refusal(
            field="spec.serving.cpu",
            value=shown(serving.cpu),
            limit="1, 2, 4, 6 or 8",
            why="less than 1 CPU serves one request at a time, in the first generation only: nothing could be batched",
            fix="use 1 or more",
            authority=Authority.CLOUD_RUN,
        )
        return
    known = serving.accelerator is None or serving.accelerator in ACCELERATORS
    # Without CPU and memory Cloud Run's values stay, and of an unknown card's shape nothing is known: then only the card is judged.
    whole = cpu is not None and memory is not None and known
    faults = shape_faults(
        accelerator=serving.accelerator,
        cpu=1 if cpu is None else cpu,
        memory_gib=1 if memory is None else memory / GIB,
        region=service.region,
        gen1=own and serving.accelerator is None,  # the owner's own container may run in either generation
        invited=True,  # whether Google let the project in is not known here
    )
    for fault in faults:
        if whole or fault.field in {ACCELERATOR_FIELD, "region"}:
            field, value = _SHAPE_FIELDS[fault.field]
            yield _of_fault(fault, field, service.region if value == "region" else getattr(serving, value))


_SHAPE_FIELDS = {
    ACCELERATOR_FIELD: ("spec.serving.accelerator", "accelerator"),
    CPU_FIELD: ("spec.serving.cpu", "cpu"),
    MEMORY_FIELD: ("spec.serving.memory", "memory"),
    "region": ("service", "region"),
}


def _account_refusals(service: ServiceId, serving: ServingSpec, allowed: AllowLists) -> Iterator[Refusal]:
    if serving.service_account is not None:
        yield from _listed("spec.serving.service_account", "service account", serving.service_account, allowed.service_accounts)
        yield from account_refusals(serving.service_account, project=service.project, others_allowed=allowed.service_accounts is not None)


def _own_entry_refusals(serving: ServingSpec) -> Iterator[Refusal]:
    if serving.own_entry is None:
        return
    expanded = next((word for word in (*serving.own_entry.command, *serving.own_entry.args) if EXPANSION in word), None)
    if expanded is not None:
        yield _trimtab(
            "spec.serving.own_entry",
            expanded,
            f"words without {EXPANSION}, unless autonomy is observe",
            "Cloud Run puts a variable's value there when an instance starts, so that what the server gets is not what the spec says",
            "write the value itself",
        )


def _network_refusals(serving: ServingSpec) -> Iterator[Refusal]:
    vpc = serving.vpc_access
    if vpc is None:
        return
    field = "spec.serving.vpc_access.network_interfaces"
    if len(vpc.network_interfaces) > MAX_NETWORK_INTERFACES:
        yield Refusal(
            field=field,
            value=f"{len(vpc.network_interfaces)} interfaces",
            limit=f"{MAX_NETWORK_INTERFACES} interface",
            why="Cloud Run supports a single network interface",
            fix="keep one",
            authority=Authority.CLOUD_RUN,
        )
    for at, interface in enumerate(vpc.network_interfaces):
        if not interface.network and not interface.subnetwork:
            yield Refusal(
                field=f"{field}.{at}",
                value="neither network nor subnetwork",
                limit="a network, a subnetwork, or both",
                why="Cloud Run wants at least one of them",
                fix="name the network or the subnetwork",
                authority=Authority.CLOUD_RUN,
            )


def start_up_limit_seconds(serving: ServingSpec) -> int:
    """Cloud Run's longest start-up window of such an instance."""
    return STARTUP_WINDOW_SECONDS if serving.accelerator is None else GPU_STARTUP_WINDOW_SECONDS


def _start_up_refusals(serving: ServingSpec) -> Iterator[Refusal]:
    asked, limit = serving.start_up_seconds, start_up_limit_seconds(serving)
    if isinstance(asked, int) and asked > limit:
        yield Refusal(
            field="spec.serving.start_up_seconds",
            value=f"{asked} s",
            limit=f"{limit} s without a GPU" if serving.accelerator is None else f"{limit} s",
            why="Cloud Run waits no longer for an instance's port",
            fix=f"use up to {limit}, or auto, and make the model load faster: copied, or part of the image",
            authority=Authority.CLOUD_RUN,
        )


def _time_refusals(spec: ServiceSpec, serving: ServingSpec) -> Iterator[Refusal]:
    """Times that contradict one another: request timeout, the clients' deadline, the objective, the wait for a batch."""
    deadline_field, objective_field = "spec.serving.client_deadline_ms", "spec.objective.p99_ms"
    deadline, p99 = serving.client_deadline_ms, spec.objective.p99_ms
    timeout = None if serving.timeout_seconds is None else serving.timeout_seconds * 1_000
    if deadline is not None and timeout is not None and deadline > timeout:
        yield _trimtab(
            deadline_field,
            f"{deadline} ms",
            f"{timeout} ms, as spec.serving.timeout_seconds is {serving.timeout_seconds}",
            "Cloud Run ends a request at its timeout with 504, however long the client would wait",
            "raise timeout_seconds or lower client_deadline_ms",
        )
    limits = [(deadline_field, deadline), ("spec.serving.timeout_seconds", timeout)]
    for name, limit in limits:
        if p99 is not None and limit is not None and p99 > limit:
            yield _trimtab(
                objective_field,
                f"{p99:g} ms",
                f"{limit} ms, as {name} says",
                "a request that slow was given up before it was answered, so the objective says nothing",
                f"lower p99_ms, or raise {name}",
            )
            break
    if serving.own_entry is not None or not isinstance(serving.batching, BatchingParameters):
        return
    wait_ms = (serving.batching.batch_timeout_micros or 0) / 1_000
    longest: list[tuple[str, float | None]] = [
        (deadline_field, deadline),
        (objective_field, p99),
        ("spec.serving.timeout_seconds", timeout),
    ]
    for name, most in longest:
        if most is not None and wait_ms >= most:
            yield _trimtab(
                "spec.serving.batching.batch_timeout_micros",
                f"{serving.batching.batch_timeout_micros} microseconds ({wait_ms:g} ms)",
                f"less than {most:g} ms, as {name} says",
                "a request alone in its batch waits that long before it even runs",
                "use 0, or a few thousand microseconds: 5 ms is 5000",
            )
            break


def _precision_refusals(serving: ServingSpec) -> Iterator[Refusal]:
    """bfloat16 by flag is TensorFlow's rewriting of the graph for CPUs."""
    precision = serving.extra_flags.get("mixed_precision")
    if serving.accelerator is None or not precision:
        return
    yield Refusal(
        field="spec.serving.extra_flags.mixed_precision",
        value=shown(precision),
        limit="left out with an accelerator",
        why="the flag rewrites the graph for CPUs (oneDNN), it does nothing for what runs on the GPU",
        fix="leave it out, and export the model in the precision that it is to have",
        authority=Authority.TF_SERVING,
    )


def _environment_refusals(serving: ServingSpec) -> Iterator[Refusal]:
    free: list[tuple[str, str]] = []
    for name, value in serving.environment.items():
        field = f"spec.serving.environment.{name}"
        if name.startswith(OUR_PREFIX):
            yield _trimtab(field, name, f"no name that starts with {OUR_PREFIX}", "these names are Trimtab's own", "rename it")
        elif name in RESERVED_ENV or name.startswith(PLATFORM_PREFIX):
            said = ServerText.ENV_RESERVED.value if name in RESERVED_ENV else None
            yield Refusal(
                field=field,
                value=name,
                limit=f"no PORT, and no name that starts with {PLATFORM_PREFIX}",
                why=in_the_servers_words("Cloud Run keeps these names to itself", said),
                fix="leave it out; the port follows from serving.protocol" if name == "PORT" else "leave it out, or rename it",
                authority=Authority.CLOUD_RUN,
            )
        else:
            free.append((name, value))
    for name, value in free:
        for fault in env_faults([[(name, value)]]):
            yield _of_fault(fault, f"spec.serving.environment.{name}", fault.value)


def _rows_of_a_request(serving: ServingSpec) -> int | None:
    """The most rows of one request that the batching takes; None where there is none, or it is the owner's command's."""
    batching = None if serving.own_entry is not None else starting_batching(serving)[0]
    return None if batching is None else effective(batching, cpus=1).max_batch_size


def _number(text: str | None) -> float | None:
    amount = None if text is None else quantity(text)
    return None if amount is None else float(amount)


def _of_fault(fault: LimitFault, field: str, value: object) -> Refusal:
    return Refusal(
        field=field,
        value=shown(value),
        limit=fault.limit,
        why=in_the_servers_words(fault.why, None if fault.text is None else fault.text.value),
        fix=fault.fix,
        authority=Authority.CLOUD_RUN,
    )


def _trimtab(field: str, value: object, limit: str, why: str, fix: str) -> Refusal:
    return Refusal(field=field, value=shown(value), limit=limit, why=why, fix=fix, authority=Authority.TRIMTAB)
