"""What the owner's spec asks an instance to be now: every `auto` and `latest` decided. Pure.

The numbers of batching and concurrency, and why they are these, are in `records/batching_start.py`.
"""

import math

from shared.errors import TrimtabError
from shared.records.admission import start_up_limit_seconds
from shared.records.batching_start import starting_batching
from shared.records.repair import RepairSettings
from shared.records.repaired import repaired
from shared.records.service import ServiceSpec
from shared.records.serving import DesiredModel, DesiredServing, ModelSpec, ServingSpec
from shared.tfserving.flags import BY_NAME, FlagValue, Kind

START_UP_FACTOR = 3
"""The window is this many times the longest start measured: images and models are sometimes pulled from a cold cache."""
MIN_START_UP_SECONDS = 60


class VersionUnknown(TrimtabError):
    """The spec asks for the latest version and none is known: nothing can be rendered yet."""


def desired_serving(
    spec: ServiceSpec,
    *,
    version: int | None = None,
    measured_start_seconds: float | None = None,
    settings: RepairSettings | None = None,
) -> DesiredServing:
    """Decide every `auto` and `latest` of an admitted spec.

    `version` is the newest complete version of the model, where the spec says `latest`. `measured_start_seconds` is the longest start
    of an instance seen so far, None where none was. `settings` are those that a repair found for what the spec leaves to Trimtab. With
    `own_entry` the owner's command decides which model is loaded and how it batches, so model and batching stay out, and so does the
    revision's maximum.

    Raises:
        VersionUnknown: the spec says `latest` and `version` is None.
        ValueError: the spec has no `serving`: there is nothing to decide.
    """
    serving = spec.serving
    if serving is None:
        raise ValueError("spec.serving is not set: Trimtab leaves the template to its owner, there is nothing to desire of it")
    if settings is not None:
        serving = repaired(serving, settings)
    own = serving.own_entry is not None
    batching, concurrency = (None, _explicit_concurrency(serving)) if own else starting_batching(serving)
    return DesiredServing(
        image=serving.image,
        model=None if own or serving.model is None else _model(serving.model, version),
        protocol=serving.protocol,
        accelerator=serving.accelerator,
        gpu_zonal_redundancy=None if serving.accelerator is None else serving.gpu_zonal_redundancy,
        cpu=serving.cpu,
        memory=serving.memory,
        service_account=serving.service_account,
        ingress=serving.ingress,
        vpc_access=serving.vpc_access,
        max_instance_request_concurrency=concurrency,
        batching=batching,
        timeout_seconds=serving.timeout_seconds,
        start_up_seconds=_start_up_seconds(serving, measured_start_seconds),
        set_points=serving.set_points,
        # The revision's own maximum is part of what is rendered; a template that is kept keeps its own.
        max_instance_count=None if own else spec.scale.max_instance_count,
        extra_flags={name: _as_read_back(name, value) for name, value in serving.extra_flags.items()},
        environment=serving.environment,
        metrics_sidecar=serving.metrics_sidecar and not own,
        own_entry=serving.own_entry,
    )


def _model(model: ModelSpec, version: int | None) -> DesiredModel:
    decided = model.version if isinstance(model.version, int) else version
    if decided is None:
        raise VersionUnknown(
            f"model.version is latest and no complete version of {model.name} is known under {model.uri}: upload one, or name a version"
        )
    return DesiredModel(name=model.name, uri=model.uri, version=decided, source=model.source)


def _as_read_back(flag: str, value: FlagValue) -> FlagValue:
    """The value as it is read from a revision's arguments: a whole number for a flag of fractions comes back as a fraction."""
    known = BY_NAME.get(flag)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if whole and known is not None and known.kind is Kind.FLOAT else value


def _start_up_seconds(serving: ServingSpec, measured: float | None) -> int | None:
    asked = serving.start_up_seconds
    if asked is None or isinstance(asked, int):
        return asked
    limit = start_up_limit_seconds(serving)
    if measured is None:
        return limit
    return min(max(math.ceil(START_UP_FACTOR * measured), MIN_START_UP_SECONDS), limit)


def _explicit_concurrency(serving: ServingSpec) -> int | None:
    given = serving.max_instance_request_concurrency
    return given if isinstance(given, int) else None
