"""Every flag of `gcloud run deploy` and `gcloud run services update`, in every release track: a table taken from gcloud 528's parser.

gcloud accepts no abbreviated flags. A test compares the table with the parser of an installed gcloud.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

Command = Literal["deploy", "update"]

COMMANDS: Mapping[Command, str] = {"deploy": "run deploy", "update": "run services update"}
TRACKS: Mapping[str, str] = {"": "g", "beta": "b", "alpha": "a"}
"""The word behind `gcloud` to the track's letter in the table."""
GCLOUD_VERSION = 528


class Kind(Enum):
    """What gcloud's parser makes of the flag's value."""

    SWITCH = auto()
    """`--name` and `--no-name`, no value."""
    ONE_WAY = auto()
    """`--name` alone, no value."""
    TEXT = auto()
    CHOICE = auto()
    LIST = auto()
    DICT = auto()
    ENV = auto()
    """A dictionary whose keys are names of environment variables."""
    ENV_NAMES = auto()
    CONTAINER_NAMES = auto()
    FILE = auto()
    INSTANCES = auto()
    """A count, or the word default."""
    SCALING = auto()
    """A count, or the word auto."""
    PERCENT = auto()
    CONCURRENCY = auto()
    PORT = auto()
    DURATION = auto()
    BUILD_ACCOUNT = auto()
    PROJECT = auto()
    VOLUME = auto()
    MOUNT = auto()
    STARTUP_PROBE = auto()
    LIVENESS_PROBE = auto()
    READINESS_PROBE = auto()


class Place(Enum):
    """Where the flag may stand."""

    SERVICE = auto()
    """In front of the first --container."""
    CONTAINER = auto()
    """Behind a --container; without any, it is about the container that gets the requests."""
    EVERYWHERE = auto()
    """gcloud's own: also between the words of the command, but not behind a --container."""


class Repeat(Enum):
    """What a flag that is given twice does."""

    LAST = auto()
    """The last one counts."""
    MERGE = auto()
    """Their items are put together; an item or key that is twice is refused."""
    EACH = auto()
    ONCE = auto()
    """It is refused."""


@dataclass(frozen=True, slots=True)
class GcloudFlag:
    """One flag. `deploy` and `update` hold the letters of the tracks that have it for that command: g, b, a."""

    name: str
    kind: Kind
    place: Place
    deploy: str
    update: str
    choices: tuple[str, ...] = ()
    repeat: Repeat = Repeat.LAST

    def tracks(self, command: Command) -> str:
        """The letters of the tracks in which the command has the flag."""
        return self.deploy if command == "deploy" else self.update

    @property
    def has_value(self) -> bool:
        """Whether the flag takes a value."""
        return self.kind not in {Kind.SWITCH, Kind.ONE_WAY}


_Row = tuple[Kind, Place, str, str, str]

_ROWS: tuple[_Row, ...] = (
    (Kind.CHOICE, Place.SERVICE, "a", "a", "mesh-dataplane"),
    (
        Kind.CHOICE,
        Place.SERVICE,
        "gba",
        "gba",
        "connectivity execution-environment ingress platform post-key-revocation-action-type vpc-egress",
    ),
    (Kind.CONCURRENCY, Place.SERVICE, "gba", "gba", "concurrency"),
    (Kind.CONTAINER_NAMES, Place.SERVICE, "gba", "gba", "remove-containers"),
    (Kind.DICT, Place.SERVICE, "gba", "gba", "labels set-config-maps update-annotations update-config-maps update-labels"),
    (Kind.DURATION, Place.SERVICE, "gba", "gba", "timeout"),
    (Kind.INSTANCES, Place.SERVICE, "ba", "ba", "max service-max-instances"),
    (Kind.INSTANCES, Place.SERVICE, "gba", "gba", "max-instances min min-instances service-min-instances"),
    (
        Kind.LIST,
        Place.SERVICE,
        "gba",
        "gba",
        (
            "add-cloudsql-instances add-custom-audiences network-tags remove-cloudsql-instances remove-config-maps remove-custom-audiences "
            "remove-labels remove-volume set-cloudsql-instances set-custom-audiences"
        ),
    ),
    (Kind.ONE_WAY, Place.SERVICE, "gba", "gba", "no-traffic"),
    (Kind.PERCENT, Place.SERVICE, "a", "a", "max-surge max-unavailable"),
    (Kind.SCALING, Place.SERVICE, "ba", "ba", "scaling"),
    (Kind.SWITCH, Place.SERVICE, "a", "", "delegate-builds"),
    (Kind.SWITCH, Place.SERVICE, "a", "a", "enable-workload-certificate overflow-scaling"),
    (Kind.SWITCH, Place.SERVICE, "ba", "ba", "default-url deploy-health-check iap"),
    (Kind.SWITCH, Place.SERVICE, "gba", "", "allow-unauthenticated allow-unencrypted-build"),
    (
        Kind.SWITCH,
        Place.SERVICE,
        "gba",
        "gba",
        (
            "async clear-binary-authorization clear-cloudsql-instances clear-config-maps clear-custom-audiences "
            "clear-encryption-key-shutdown-hours clear-key "
            "clear-labels clear-network clear-network-tags clear-post-key-revocation-action-type clear-volumes "
            "clear-vpc-connector cpu-boost cpu-throttling gpu-zonal-redundancy invoker-iam-check session-affinity"
        ),
    ),
    (Kind.TEXT, Place.SERVICE, "a", "a", "identity runtime"),
    (Kind.TEXT, Place.SERVICE, "ba", "", "regions"),
    (Kind.TEXT, Place.SERVICE, "ba", "ba", "mesh"),
    (Kind.TEXT, Place.SERVICE, "gba", "a", "description"),
    (
        Kind.TEXT,
        Place.SERVICE,
        "gba",
        "gba",
        (
            "binary-authorization breakglass client-name client-version cluster cluster-location container context "
            "encryption-key-shutdown-hours gpu-type key "
            "kubeconfig namespace network region revision-suffix service-account subnet tag vpc-connector"
        ),
    ),
    (Kind.VOLUME, Place.SERVICE, "gba", "gba", "add-volume"),
    (Kind.BUILD_ACCOUNT, Place.CONTAINER, "gba", "", "build-service-account"),
    (Kind.CONTAINER_NAMES, Place.CONTAINER, "gba", "gba", "depends-on"),
    (Kind.DICT, Place.CONTAINER, "gba", "gba", "set-secrets update-secrets"),
    (Kind.ENV, Place.CONTAINER, "gba", "", "set-build-env-vars update-build-env-vars"),
    (Kind.ENV, Place.CONTAINER, "gba", "gba", "set-env-vars update-env-vars"),
    (Kind.ENV_NAMES, Place.CONTAINER, "gba", "", "remove-build-env-vars"),
    (Kind.ENV_NAMES, Place.CONTAINER, "gba", "gba", "remove-env-vars"),
    (Kind.FILE, Place.CONTAINER, "gba", "", "build-env-vars-file"),
    (Kind.FILE, Place.CONTAINER, "gba", "gba", "env-vars-file"),
    (Kind.LIST, Place.CONTAINER, "gba", "gba", "args command remove-secrets remove-volume-mount"),
    (Kind.LIVENESS_PROBE, Place.CONTAINER, "gba", "gba", "liveness-probe"),
    (Kind.MOUNT, Place.CONTAINER, "gba", "gba", "add-volume-mount"),
    (Kind.ONE_WAY, Place.CONTAINER, "a", "", "no-build"),
    (Kind.PORT, Place.CONTAINER, "gba", "gba", "port"),
    (Kind.READINESS_PROBE, Place.CONTAINER, "a", "a", "readiness-probe"),
    (Kind.STARTUP_PROBE, Place.CONTAINER, "gba", "gba", "startup-probe"),
    (
        Kind.SWITCH,
        Place.CONTAINER,
        "gba",
        "",
        "automatic-updates clear-base-image clear-build-env-vars clear-build-service-account clear-build-worker-pool",
    ),
    (Kind.SWITCH, Place.CONTAINER, "gba", "gba", "clear-env-vars clear-secrets clear-volume-mounts use-http2"),
    (Kind.TEXT, Place.CONTAINER, "gba", "", "base-image build-worker-pool function source"),
    (Kind.TEXT, Place.CONTAINER, "gba", "gba", "cpu gpu image memory"),
    (Kind.CHOICE, Place.EVERYWHERE, "gba", "gba", "verbosity"),
    (Kind.PROJECT, Place.EVERYWHERE, "gba", "gba", "project"),
    (Kind.DICT, Place.EVERYWHERE, "gba", "gba", "document"),
    (Kind.LIST, Place.EVERYWHERE, "gba", "gba", "flatten"),
    (Kind.ONE_WAY, Place.EVERYWHERE, "gba", "gba", "help quiet"),
    (Kind.SWITCH, Place.EVERYWHERE, "gba", "gba", "log-http user-output-enabled"),
    (
        Kind.TEXT,
        Place.EVERYWHERE,
        "gba",
        "gba",
        (
            "access-token-file account authority-selector authorization-token-file billing-project configuration credential-file-override "
            "flags-file format http-timeout impersonate-service-account trace-token universe-domain"
        ),
    ),
)

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "connectivity": ("external", "internal"),
    "execution-environment": ("gen1", "gen2"),
    "ingress": ("all", "internal", "internal-and-cloud-load-balancing"),
    "mesh-dataplane": ("sidecar", "proxyless-grpc"),
    "platform": ("gke", "kubernetes", "managed"),
    "post-key-revocation-action-type": ("prevent-new", "shut-down"),
    "verbosity": ("debug", "info", "warning", "error", "critical", "none"),
    "vpc-egress": ("all", "all-traffic", "private-ranges-only"),
}

_MERGED = frozenset({Kind.LIST, Kind.DICT, Kind.ENV, Kind.ENV_NAMES, Kind.CONTAINER_NAMES})
_LAST_OF_LISTS = frozenset({"document", "flatten"})

EXCLUSIVE: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("add-custom-audiences",), ("remove-custom-audiences",), ("clear-custom-audiences",), ("set-custom-audiences",)),
    (("add-cloudsql-instances",), ("remove-cloudsql-instances",), ("clear-cloudsql-instances",), ("set-cloudsql-instances",)),
    (("update-env-vars", "remove-env-vars"), ("clear-env-vars",), ("set-env-vars",), ("env-vars-file",)),
    (("update-build-env-vars", "remove-build-env-vars"), ("clear-build-env-vars",), ("set-build-env-vars",), ("build-env-vars-file",)),
    (("update-secrets", "remove-secrets"), ("clear-secrets",), ("set-secrets",)),
    (("update-config-maps", "remove-config-maps"), ("clear-config-maps",), ("set-config-maps",)),
    (("network", "subnet", "network-tags", "clear-network-tags"), ("clear-network",)),
    (("network-tags",), ("clear-network-tags",)),
    (("labels",), ("update-labels",)),
    (("clear-labels",), ("remove-labels",)),
    (("function",), ("command",)),
    (("base-image",), ("clear-base-image",)),
    (("build-service-account",), ("clear-build-service-account",)),
    (("build-worker-pool",), ("clear-build-worker-pool",)),
    (("binary-authorization",), ("clear-binary-authorization",)),
    (("key",), ("clear-key",)),
    (("encryption-key-shutdown-hours",), ("clear-encryption-key-shutdown-hours",)),
    (("post-key-revocation-action-type",), ("clear-post-key-revocation-action-type",)),
)
"""Alternatives: gcloud refuses a command that has flags of more than one part of a group."""


def _flags() -> Iterator[GcloudFlag]:
    for kind, place, deploy, update, names in _ROWS:
        for name in names.split():
            repeat = Repeat.LAST
            if kind in {Kind.VOLUME, Kind.MOUNT}:
                repeat = Repeat.EACH
            elif name == "mesh-dataplane":
                repeat = Repeat.ONCE
            elif kind in _MERGED and name not in _LAST_OF_LISTS and not name.endswith(("-cloudsql-instances", "-custom-audiences")):
                repeat = Repeat.MERGE
            yield GcloudFlag(name, kind, place, deploy, update, _CHOICES.get(name, ()), repeat)


FLAGS: Mapping[str, GcloudFlag] = {flag.name: flag for flag in _flags()}
"""By name, without the dashes."""


def find_flag(written: str) -> tuple[GcloudFlag, bool] | None:
    """The flag of `--name` or `--no-name`, and whether it is turned on; None where no command and track has it."""
    if written == "-q":
        return FLAGS["quiet"], True
    if written == "-h":
        return FLAGS["help"], True
    name = written.removeprefix("--")
    if name == written:
        return None
    flag = FLAGS.get(name)
    if flag is not None:
        return flag, True
    flag = FLAGS.get(name.removeprefix("no-"))
    if flag is not None and flag.kind is Kind.SWITCH and name.startswith("no-"):
        return flag, False
    return None
