"""What all parts of a question say together: the symbols that the rules are written in. Pure.

Symbols: C concurrency, V vCPU, r rows of a request, B max_batch_size, tau batch_timeout_micros, Q max_enqueued_batches,
T num_batch_threads, A allowed_batch_sizes, E rows of a batch as it runs, G and H the server's gRPC and REST threads. A value that
nobody gave is None: rules that need it are skipped, it is never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shared.cloudrun.described import Described
from shared.cloudrun.fields import Json
from shared.cloudrun.gcloud_containers import DEFAULT_PORT
from shared.cloudrun.quantities import GIB, quantity
from shared.lint.finding import Finding, Where
from shared.lint.given import Given, Text
from shared.lint.images import Image, read_image
from shared.lint.server_command import Argument
from shared.lint.v2_values import amount_of, limits_of, part, whole_of
from shared.tfserving.batching_parameters import BatchingParameters
from shared.tfserving.flags import Flags, FlagValue, Protocol, default_server_threads
from shared.tfserving.model_config import ModelServerConfig
from shared.tfserving.monitoring import MonitoringConfig
from shared.tfserving.reading import Reading

GPU_LIMIT = "nvidia.com/gpu"
Meant = TypeVar("Meant")


@dataclass(frozen=True, slots=True)
class ConfigFile(Generic[Meant]):
    """A file of TF Serving: its text and where it stands, and what was read of it."""

    part: str
    text: Text
    reading: Reading[Meant]

    @property
    def meant(self) -> Meant | None:
        """Its values, mistakes of form put right; None where it cannot be read."""
        return self.reading.meant

    def where(self, field: str = "", line: int | None = None) -> Where:
        """The place of a field, or of a line of the file."""
        return self.text.where(self.part, line if line is not None else self.reading.lines.get(field), field)


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment, resolved. See the module for what the symbols mean."""

    given: Given
    described: Described | None
    container: Json
    """The container that serves, as v2 JSON; empty where nothing was said."""
    container_pointer: str
    flags: Flags | None
    """The server's command line, the entry point's flags included; None: not known, and rules about flags are skipped."""
    arguments: tuple[Argument, ...]
    entrypoint: bool
    """Whether the image's own script starts the server; False too where nothing says how it is started."""
    command_overridden: bool
    env: Mapping[str, str]
    """Of the container; a value from a secret is the empty text."""
    batching: ConfigFile[BatchingParameters] | None
    misplaced_batching: bool
    """Whether `batching` is a block that stands inside the models' file."""
    models: ConfigFile[ModelServerConfig] | None
    monitoring: ConfigFile[MonitoringConfig] | None
    own_arguments: int
    """How many arguments the container itself has; those that the user lists have the places behind them."""
    found: tuple[Finding, ...] = field(default=())
    """What was found wrong while resolving."""

    # --- Cloud Run -----------------------------------------------------------------------------------------------------------------

    @property
    def service(self) -> Json:
        """v2 JSON of the service; empty where no service was given."""
        return self.described.service if self.described is not None and self.described.is_service else {}

    @property
    def template(self) -> Json:
        """Of the service, or of the container that a docker command describes."""
        return part(self.described.service if self.described is not None else {}, "template")

    @property
    def is_service(self) -> bool:
        """Whether a Cloud Run service was given."""
        return self.described is not None and self.described.is_service

    @property
    def complete(self) -> bool:
        """Whether what the service's description does not say is Cloud Run's default."""
        return self.described is not None and self.described.is_service and self.described.complete

    @property
    def accelerator(self) -> str | None:
        """The GPU's type, if named."""
        name = part(self.template, "nodeSelector").get("accelerator")
        return name if isinstance(name, str) and name else None

    @property
    def gpus(self) -> float | None:
        """How many GPUs all containers ask for together; None: no container names a number."""
        counts = [quantity(str(limits[GPU_LIMIT])) for limits in map(limits_of, self.containers) if GPU_LIMIT in limits]
        known = [float(count) for count in counts if count is not None]
        return sum(known) if known else None

    @property
    def gpu(self) -> bool:
        """Whether the service asks for a GPU."""
        if not self.is_service:
            return False
        return self.gpus != 0 and (self.gpus is not None or self.accelerator is not None)

    @property
    def containers(self) -> list[Json]:
        """All of them, as v2 JSON."""
        return [each for each in self.template.get("containers", []) if isinstance(each, dict)]

    @property
    def vcpu(self) -> float | None:
        """V, of the container that serves."""
        return amount_of(limits_of(self.container).get("cpu"))

    @property
    def memory_gib(self) -> float | None:
        """Of the container that serves."""
        amount = amount_of(limits_of(self.container).get("memory"))
        return None if amount is None else amount / GIB

    @property
    def concurrency(self) -> int | None:
        """C; zero counts as unset."""
        return whole_of(self.template.get("maxInstanceRequestConcurrency")) or None

    @property
    def max_instances(self) -> int | None:
        """The smaller of the service's and the revision's maximum; zero counts as unset."""
        stated = [whole_of(part(holder, "scaling").get("maxInstanceCount")) for holder in (self.service, self.template)]
        return min((count for count in stated if count), default=None)

    @property
    def region(self) -> str | None:
        """Where it runs, if the description says."""
        return self.described.region if self.described is not None else None

    @property
    def image(self) -> Image | None:
        """Of the container that serves."""
        text = self.container.get("image")
        return read_image(text) if isinstance(text, str) and text else None

    @property
    def container_port(self) -> int | None:
        """The port that Cloud Run sends to: as stated, or its default where the description is complete."""
        if not self.is_service:
            return None
        ports = self.container.get("ports")
        stated = whole_of(ports[0].get("containerPort")) if isinstance(ports, list) and ports and isinstance(ports[0], dict) else None
        return stated or (DEFAULT_PORT if self.complete else None)

    @property
    def h2c(self) -> bool | None:
        """Whether Cloud Run speaks HTTP/2 to the container; None where the description does not say and is not complete."""
        ports = self.container.get("ports")
        if isinstance(ports, list) and ports and isinstance(ports[0], dict):
            return ports[0].get("name") == "h2c"
        return False if self.complete else None

    # --- TF Serving ----------------------------------------------------------------------------------------------------------------

    @property
    def grpc_port(self) -> int | None:
        """--port in force; None where the flags are not known or gRPC is off."""
        return _port(self.flags, "port")

    @property
    def rest_port(self) -> int | None:
        """--rest_api_port in force; None where the flags are not known or REST is off (equal ports switch it off)."""
        port = _port(self.flags, "rest_api_port")
        return None if port == self.grpc_port else port

    @property
    def protocol(self) -> Protocol | None:
        """Which of the two Cloud Run's port is; None: neither, or not known."""
        port = self.container_port
        if port is None or self.flags is None:
            return None
        return "grpc" if port == self.grpc_port else "rest" if port == self.rest_port else None

    @property
    def batching_on(self) -> bool | None:
        """Whether --enable_batching is in force; None where the flags are not known."""
        return None if self.flags is None else bool(self.flags.given.get("enable_batching"))

    def flag(self, name: str) -> FlagValue | None:
        """The flag's value as given; None where it is not given, or the flags are not known."""
        return None if self.flags is None else self.flags.given.get(name)

    @property
    def grpc_threads(self) -> int | None:
        """G: as given, or 4 x V."""
        return self._threads("grpc_max_threads")

    @property
    def rest_threads(self) -> int | None:
        """H: as given, or 4 x V."""
        return self._threads("rest_api_num_threads")

    def _threads(self, name: str) -> int | None:
        stated = self.flag(name)
        if isinstance(stated, int) and not isinstance(stated, bool):
            return stated
        if self.flags is None or self.vcpu is None:
            return None
        return default_server_threads(max(1, int(self.vcpu)))

    @property
    def rows(self) -> int:
        """r: as stated, else 1."""
        return self.given.workload.rows_per_request or 1

    @property
    def bulk(self) -> bool:
        """Whether latency does not matter."""
        return self.given.workload.bulk

    # --- Places --------------------------------------------------------------------------------------------------------------------

    def where(self, pointer: str) -> Where:
        """The place of a field of the service, given as a JSON pointer of v2 (`/template/maxInstanceRequestConcurrency`)."""
        source = self.given.deploy or self.given.spec or self.given.plan
        if self.described is None or source is None:
            return Where("deploy", self.given.name)
        name, line = self.described.place(pointer)
        return source.where("deploy", line, name)

    def where_container(self, way: str = "") -> Where:
        """The place of a field of the container that serves: `/resources/limits/cpu`."""
        return self.where(f"{self.container_pointer}{way}")

    def where_flag(self, name: str) -> Where:
        """The place of the last argument that sets the flag or names it; of the arguments as a whole where none does."""
        for argument in reversed(self.arguments):
            if argument.text.lstrip("-").partition("=")[0] == name.lstrip("-"):
                return self.where_argument(argument)
        listed = self.given.flags
        if listed is not None and listed.values:
            return Where("flags", listed.file, listed.lines[0], f"--{name}")
        return self.where_container("/args")

    def where_argument(self, argument: Argument) -> Where:
        """The place of an argument of the server."""
        listed = self.given.flags
        if argument.index is None:
            return self.where_container("/command" if self.command_overridden else "/args")
        if argument.index < self.own_arguments or listed is None:
            where = self.where_container(f"/args/{argument.index}")
            return Where(where.part, where.file, where.line, argument.text)
        at = argument.index - self.own_arguments
        return Where("flags", listed.file, listed.lines[at], argument.text)


def _port(flags: Flags | None, name: str) -> int | None:
    port = None if flags is None else flags.value(name, cpus=1)
    return port if isinstance(port, int) and port > 0 else None
