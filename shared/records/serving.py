"""What one instance of a service is to be: the part of the owner's spec that lives in Cloud Run's revision template.

Field names are Cloud Run's (Admin API v2) or TF Serving's own where they have the field. Whether Cloud Run and TF Serving take the
values together is admission's business (`records/admission.py`); a value that is wrong by itself is refused here.
"""

import re
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from shared.cloudrun.quantities import canonical_cpu, canonical_memory
from shared.records.base import Record
from shared.tfserving.batching_parameters import BatchingParameters

EXPANSION = "$("
"""Kubernetes expands `$(NAME)` in arguments and environment values; nothing Trimtab renders may hold one."""


def _as_text(value: object) -> object:
    """YAML reads `cpu: 4` as a number."""
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else value


def _without_null(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a null character, which no process can be given: leave it out")
    return value


def _without_expansion(value: str) -> str:
    if EXPANSION in value:
        raise ValueError(f"holds {EXPANSION!r}, which Cloud Run would expand from the environment: write the value itself")
    return _without_null(value)


def _named_plainly(value: BatchingParameters) -> BatchingParameters:
    if value.thread_pool_name is not None:
        try:
            _without_expansion(value.thread_pool_name)
        except ValueError as error:
            raise ValueError(f"thread_pool_name {error}") from None
    return value


def _unless_silent(value: "SetPoints | None") -> "SetPoints | None":
    """`set_points: {}` says nothing, and nothing of it could be read back from a service."""
    return None if value is not None and value.cpu_utilization is None and value.concurrency_utilization is None else value


Batching = Annotated[BatchingParameters, AfterValidator(_named_plainly)]
"""Parameters whose file can stand in an environment variable as it is."""
Cpu = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float), AfterValidator(canonical_cpu)]
"""CPUs of the serving container, as Cloud Run writes them: `4`, `500m`."""
Memory = Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | int | float), AfterValidator(canonical_memory)]
"""Memory of the serving container, as Cloud Run writes it: `16Gi`."""
ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=63)]
"""What clients call the model. TF Serving takes more; these characters need no escape in a URL."""
GcsUri = Annotated[str, StringConstraints(pattern=r"^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:/[A-Za-z0-9_.=+@-]+)+$", max_length=1_024)]
ImagePath = Annotated[str, StringConstraints(pattern=r"^(?:/[A-Za-z0-9_.=+@-]+)+$", max_length=512)]
_HOST_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
IMAGE_PATTERN = rf"^(?:{_HOST}/)?{_PATH_PART}(?:/{_PATH_PART})*(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?$"
"""Docker's grammar of references (distribution/reference, regexp.go): `[host[:port]/]path[:tag][@digest]`. Of digests SHA-256 only."""
ImageReference = Annotated[str, StringConstraints(pattern=IMAGE_PATTERN, max_length=512)]
ServiceAccount = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*@[a-z0-9.:-]+$", max_length=254)]
EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=128)]
_RESOURCE = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PROJECT = r"projects/[a-z0-9.:-]+"
_COMPUTE = rf"^(?:(?:https://(?:www|compute)\.googleapis\.com/compute/v1/)?{_PROJECT}/"
ConnectorName = Annotated[
    str, StringConstraints(pattern=rf"^(?:(?:{_PROJECT}/locations/[a-z0-9-]+/connectors/)?[a-z](?:[a-z0-9-]{{0,23}}[a-z0-9])?)?$")
]
"""A connector's name (25 characters at most), or its full one; empty: none."""
NetworkName = Annotated[str, StringConstraints(pattern=rf"{_COMPUTE}global/networks/)?{_RESOURCE}$|^$", max_length=512)]
"""A VPC network's name (RFC 1035), or its full one; empty: none."""
SubnetworkName = Annotated[str, StringConstraints(pattern=rf"{_COMPUTE}regions/[a-z0-9-]+/subnetworks/)?{_RESOURCE}$|^$", max_length=512)]
"""A subnetwork's name (RFC 1035), or its full one; empty: none."""
RevisionName = Annotated[str, StringConstraints(pattern=r"^[a-z](?:[a-z0-9-]*[a-z0-9])?$", max_length=63)]
Argument = Annotated[str, StringConstraints(max_length=32_768), AfterValidator(_without_null)]
"""A word of an owner's command. `$(NAME)` in it is the owner's: Cloud Run expands it as it did before."""

LATEST = "latest"
AUTO = "auto"
OFF = "off"
DISABLED = "disabled"


MAX_VERSION = 2**63 - 1
"""TF Serving's versions are 64-bit integers with a sign, and below zero there is none."""
VersionNumber = Annotated[int, Field(strict=True, ge=0, le=MAX_VERSION)]


class Protocol(StrEnum):
    """What clients speak. Cloud Run exposes one port of a service: it decides port, HTTP/2 and which threads serve."""

    GRPC = "grpc"
    REST = "rest"


class ModelSource(StrEnum):
    """How the model's files reach the server."""

    GCS = "gcs"
    """The server reads the bucket itself: nothing to prepare, slow for large models."""
    COPIED = "copied"
    """Copied from the bucket into the instance's memory before the server starts: counts against memory."""
    IMAGE = "image"
    """Part of the container image: the quickest start for models up to some 10 GB."""


class Ingress(StrEnum):
    """From where the service can be reached; `service.ingress`."""

    ALL = "all"
    INTERNAL = "internal"
    INTERNAL_AND_LOAD_BALANCER = "internal-and-cloud-load-balancing"
    NONE = "none"


class VpcEgress(StrEnum):
    """Which traffic leaves through the VPC."""

    PRIVATE_RANGES_ONLY = "private-ranges-only"
    ALL_TRAFFIC = "all-traffic"


class NetworkInterface(Record):
    """Direct VPC egress: a network, a subnetwork, or both."""

    network: NetworkName = ""
    """The VPC network, by its name or as `projects/P/global/networks/N`."""
    subnetwork: SubnetworkName = ""
    """Its subnetwork in the service's region, by its name or as `projects/P/regions/R/subnetworks/S`."""
    tags: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$")], ...] = ()
    """Network tags, for firewall rules."""


class VpcAccess(Record):
    """How the service reaches a VPC: a connector, or network interfaces of its own."""

    connector: ConnectorName = ""
    """A Serverless VPC Access connector: its name, or `projects/P/locations/R/connectors/C`."""
    egress: VpcEgress | None = None
    """Which traffic goes that way; unset: Cloud Run's `private-ranges-only`."""
    network_interfaces: Annotated[tuple[NetworkInterface, ...], Field(max_length=8)] = ()
    """Direct VPC egress. Cloud Run supports one."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.connector) == bool(self.network_interfaces):
            raise ValueError("vpc_access wants either a connector or network_interfaces")
        return self


class ModelSpec(Record):
    """The one model of the service."""

    name: ModelName
    """What clients call the model."""
    uri: str
    """The folder that holds the version folders: `gs://bucket/path`, or with source `image` an absolute path in the image. Not a version's
    own folder: a last part that is a number is refused."""
    version: Literal["latest"] | VersionNumber = "latest"
    """A version's number, or `latest`: the newest complete one. A number is decimal whatever stands before it: `00000123` is 123, as TF
    Serving reads the name of a folder."""
    source: ModelSource = ModelSource.GCS
    """How the model's files reach the server."""

    @model_validator(mode="after")
    def _uri_fits_source(self) -> Self:
        check_uri(self.uri, self.source)
        return self


class DesiredModel(Record):
    """The model with its version decided."""

    name: ModelName
    uri: str
    version: VersionNumber
    source: ModelSource

    @model_validator(mode="after")
    def _uri_fits_source(self) -> Self:
        check_uri(self.uri, self.source)
        return self


_GCS_URI = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:/[A-Za-z0-9_.=+@-]+)+")
_IMAGE_PATH = re.compile(r"(?:/[A-Za-z0-9_.=+@-]+)+")
_URI_LIMIT = 1_024


def check_uri(uri: str, source: ModelSource) -> None:
    """Whether the place of the model's versions can be of that source.

    Raises:
        ValueError: it cannot; the message says what it should look like.
    """
    wanted, example = (
        (_IMAGE_PATH, "/models/ranker") if source is ModelSource.IMAGE else (_GCS_URI, "gs://acme-models/ranker, a folder inside a bucket")
    )
    parts = uri.removeprefix("gs://").split("/")
    if len(uri) > _URI_LIMIT or wanted.fullmatch(uri) is None or {".", ".."} & set(parts):
        raise ValueError(f"model.uri {uri[:120]!r} with source {source.value}: want {example}, without a slash at the end")


class OwnEntry(Record):
    """A container whose command, arguments and environment are the owner's: Trimtab keeps them as they are.

    What an adopted service starts with. Trimtab then steers Cloud Run's own settings and leaves the server's alone.
    """

    command: tuple[Argument, ...] = ()
    """The container's entry point; empty: the image's own."""
    args: tuple[Argument, ...] = ()
    """Its arguments."""
    port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    """The container's port; None: not stated, Cloud Run takes 8080."""


class TakeOver(StrEnum):
    """When Trimtab's template takes the place of one that somebody else made."""

    AT_ONCE = "at-once"
    """At the first look."""
    TO_REPAIR = "to-repair"
    """While logs and metrics explain an open incident by the template that runs; until then that one stays as it is."""


class SetPoints(Record):
    """At which share Cloud Run's autoscaler starts another instance (`template.scaling`).

    None leaves what the service has; where it has none, that is Cloud Run's 60 %. `disabled` takes one of the two drivers out; not both.
    """

    cpu_utilization: Literal["disabled"] | Annotated[float, Field(ge=0.1, le=0.9)] | None = None
    """The share of the CPUs that are busy."""
    concurrency_utilization: Literal["disabled"] | Annotated[float, Field(ge=0.1, le=0.95)] | None = None
    """The share of `max_instance_request_concurrency` that is taken."""

    @model_validator(mode="after")
    def _one_driver_left(self) -> Self:
        if self.cpu_utilization == DISABLED and self.concurrency_utilization == DISABLED:
            raise ValueError("set_points: cpu_utilization and concurrency_utilization are both disabled: leave one of them in")
        return self


Plain = AfterValidator(_without_expansion)
FlagValue = bool | int | float | Annotated[str, StringConstraints(max_length=1_024), Plain]
Concurrency = Annotated[int, Field(strict=True, ge=1, le=1_000)]
TimeoutSeconds = Annotated[int, Field(strict=True, ge=1, le=3_600)]
StartUpSeconds = Annotated[int, Field(strict=True, ge=1, le=1_800)]
"""Cloud Run's longest start-up window: 600 seconds, 1,800 with a GPU."""
Environment = Annotated[dict[EnvironmentName, Annotated[str, StringConstraints(max_length=32_768), Plain]], Field(max_length=100)]
ExtraFlags = Annotated[dict[Annotated[str, StringConstraints(max_length=64)], FlagValue], Field(max_length=32)]


class ServingSpec(Record):
    """What the owner wants an instance to be.

    None leaves Cloud Run's value as it is, where a field allows it; `batching`, of TF Serving, is whole in any case. Without `own_entry`
    model, cpu and memory are needed.
    """

    image: ImageReference
    """The container's image: `tensorflow/serving:X.Y.Z-gpu`, or one of your own, best by its digest."""
    model: ModelSpec | None = None
    """The model that is served. Needed unless `own_entry` is given, which then decides what is loaded."""
    protocol: Protocol = Protocol.GRPC
    """What clients speak; Cloud Run exposes one of the two ports."""
    accelerator: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,63}$")] | None = None
    """`nvidia-l4` or `nvidia-rtx-pro-6000`, one for each instance; None: no GPU."""
    gpu_zonal_redundancy: bool | None = None
    """With a GPU: whether capacity is kept in a second zone. It costs half as much again and is a quota of its own; say it either way."""
    cpu: Cpu | None = None
    """CPUs of the serving container. Needed unless `own_entry` is given. Cloud Run takes 4, 6 or 8 with an L4, 20, 22, ... 30 with an
    RTX PRO 6000, and 1, 2, 4, 6 or 8 without a GPU."""
    memory: Memory | None = None
    """Memory of the serving container. Needed unless `own_entry` is given. With an L4 16Gi for 4 CPUs, 16Gi to 24Gi for 6, 16Gi to 32Gi for
    8; with an RTX PRO 6000 80Gi to 4Gi for each CPU; without a GPU 512Mi to 4Gi for 1, to 8Gi for 2, 2Gi to 16Gi for 4, 4Gi to 24Gi for
    6, 4Gi to 32Gi for 8."""
    service_account: ServiceAccount | None = None
    """Whose rights the instances have; None in a new service: the project's default account, whose rights are often wide."""
    ingress: Ingress | None = None
    """From where the service can be reached."""
    vpc_access: VpcAccess | None = None
    """How the service reaches a VPC."""
    max_instance_request_concurrency: Literal["auto"] | Concurrency | None = "auto"
    """Requests in one instance at once; `auto`: what fills the batches, and one batch more."""
    batching: Literal["auto", "off"] | Batching | None = "auto"
    """TF Serving's batching parameters; `off` serves each request by itself; None only with `own_entry`. Fields of it that are left out are
    not TF Serving's defaults but what `auto` takes, so that they fit those that are written: num_batch_threads 2 on a GPU, else one for
    each CPU; max_batch_size the last of allowed_batch_sizes, else 32 or what rows_per_request needs; batch_timeout_micros 0;
    max_enqueued_batches so that no request of a full instance finds the queue full; allowed_batch_sizes powers of two where
    max_batch_size is left out, too, and splitting is off."""
    timeout_seconds: TimeoutSeconds | None = 300
    """How long a request may take; Cloud Run's `timeout`."""
    start_up_seconds: Literal["auto"] | StartUpSeconds | None = "auto"
    """How long an instance may take until its port is open; `auto`: three times the longest start measured, else the most there is."""
    set_points: Annotated[SetPoints | None, AfterValidator(_unless_silent)] = None
    """At which load Cloud Run starts another instance."""
    rows_per_request: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None
    """The rows (examples) of a typical request, where known."""
    client_deadline_ms: Annotated[int, Field(strict=True, ge=1, le=3_600_000)] | None = None
    """How long clients wait for an answer, where known."""
    extra_flags: ExtraFlags = Field(default_factory=dict)
    """Flags of tensorflow_model_server beside those Trimtab writes, by name without dashes; only those of the allow-list."""
    environment: Environment = Field(default_factory=dict)
    """Environment variables of the serving container; others that it has are left alone."""
    metrics_sidecar: bool = True
    """Google's Prometheus sidecar, which brings TF Serving's own metrics to Cloud Monitoring."""
    golden_request: Annotated[dict[str, Any], Field(max_length=16)] | None = None
    """The body of a predict call of TF Serving's REST API that must be answered before a new revision gets traffic; None: that it is ready
    decides. Only with `protocol: rest`: over gRPC's port nobody answers it."""
    own_entry: OwnEntry | None = None
    """Keeps the command of a service that was there before, as it is."""
    take_over: TakeOver = TakeOver.AT_ONCE
    """When Trimtab's template takes the place of one that somebody else made: `at-once`, or `to-repair`, when logs and metrics explain an
    open incident by that one. Before that the service is left as it is but for its bounds."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.own_entry is not None:
            said = [f"write {name} as null" for name in ("batching", "start_up_seconds") if getattr(self, name) is not None]
            if self.max_instance_request_concurrency == AUTO:
                said.append("write max_instance_request_concurrency as a number or null")
            said += [f"leave {name} out" for name in ("extra_flags", "environment") if getattr(self, name)]
            if self.take_over is TakeOver.TO_REPAIR:
                said.append("leave take_over out")
            if said:
                # These have defaults that are no null, so that leaving them out is not enough.
                raise ValueError(
                    f"own_entry keeps the owner's command: {', '.join(said)}; or leave own_entry out to let Trimtab render the command"
                )
            return self
        missing = [name for name in ("model", "cpu", "memory") if getattr(self, name) is None]
        missing += [
            name
            for name in ("batching", "max_instance_request_concurrency", "timeout_seconds", "start_up_seconds")
            if getattr(self, name) is None
        ]
        if missing:
            raise ValueError(f"{', '.join(missing)}: needed, unless own_entry keeps a command of the owner's")
        return self


class DesiredServing(Record):
    """What Trimtab wants an instance to be now: the spec with every `auto` and `latest` decided.

    None leaves Cloud Run's value as it is. What stands in a revision is rendered from here and read back to here.
    """

    image: ImageReference
    model: DesiredModel | None = None
    protocol: Protocol
    accelerator: Annotated[str, StringConstraints(max_length=63)] | None = None
    gpu_zonal_redundancy: bool | None = None
    """None without a GPU."""
    cpu: Cpu | None = None
    memory: Memory | None = None
    service_account: ServiceAccount | None = None
    ingress: Ingress | None = None
    vpc_access: VpcAccess | None = None
    max_instance_request_concurrency: Concurrency | None = None
    batching: Batching | None = None
    """None: no batching, or with `own_entry` not ours to say."""
    timeout_seconds: TimeoutSeconds | None = None
    start_up_seconds: StartUpSeconds | None = None
    set_points: Annotated[SetPoints | None, AfterValidator(_unless_silent)] = None
    max_instance_count: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """The revision's own maximum: the spec's hard ceiling, above which no bound of the service can lift it."""
    extra_flags: ExtraFlags = Field(default_factory=dict)
    environment: Environment = Field(default_factory=dict)
    metrics_sidecar: bool = False
    own_entry: OwnEntry | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        needed = ("model", "cpu", "memory", "max_instance_request_concurrency", "timeout_seconds", "start_up_seconds")
        missing = [name for name in needed if getattr(self, name) is None]
        if self.own_entry is None and missing:
            raise ValueError(f"{', '.join(missing)}: needed, unless own_entry keeps a command of the owner's")
        if (self.accelerator is None) != (self.gpu_zonal_redundancy is None):
            raise ValueError("gpu_zonal_redundancy is said with an accelerator, and only then")
        return self


class TrafficTarget(Record):
    """A share of the traffic, always by the revision's name."""

    revision: RevisionName
    percent: Annotated[int, Field(strict=True, ge=0, le=100)]
    tag: Annotated[str, StringConstraints(pattern=r"^[a-z](?:[a-z0-9-]{0,44}[a-z0-9])?$")] | None = None
    """Gives the revision an address of its own."""
