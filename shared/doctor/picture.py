"""What a project has, as far as it could be seen. Nothing here is taken for absent because it was not seen. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from shared.doctor.finding import Finding
from shared.records.subject import ServiceId


@dataclass(frozen=True, slots=True)
class NotSeen:
    """It could not be looked at, and why; `permission` is the one that is missing, where that is the reason."""

    why: str
    permission: str | None = None


@dataclass(frozen=True, slots=True)
class NotAsked:
    """It was not looked at, because this kind of picture does not hold it: nothing is said about it."""


NOT_ASKED = NotAsked()
Unseen: TypeAlias = NotSeen | NotAsked

LATER: Final = "known after apply"
"""In a plan: the role, the member or the condition that Terraform does not know yet."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Who has a role: `serviceAccount:...`, `group:...`, `allUsers`."""

    role: str
    members: frozenset[str]
    condition: str | None = None
    """Under which condition alone, in Common Expression Language; None: always."""


Policy: TypeAlias = tuple[Binding, ...]
"""An IAM policy."""


class Source(StrEnum):
    """Where a picture comes from."""

    PROJECT = "project"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class Function:
    """A Cloud Function. What the picture does not hold is None."""

    name: str
    region: str | None
    state: str | None
    entry_point: str | None
    runtime: str | None
    source_object: str | None
    account: str | None
    environment: Mapping[str, str] | None
    uri: str | None = None
    ingress: str | None = None
    timeout_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Subscription:
    """A Pub/Sub subscription; names without `projects/P/...` where that is the control plane's. What the picture does not hold is None."""

    name: str
    topic: str | None
    push_endpoint: str | None = None
    push_audience: str | None = None
    """For whom the token is; None: for the endpoint."""
    push_account: str | None = None
    has_push: bool = False
    has_token: bool = False
    unwrapped: bool = False
    """Whether it pushes the message's own content, without what Pub/Sub says of it."""
    ack_deadline_seconds: int | None = None
    expires: bool | None = None
    has_dead_letters: bool = False
    dead_letter_topic: str | None = None
    has_retry_policy: bool = False
    longest_wait_seconds: float | None = None
    """Between two deliveries of what fails."""
    state: str | None = None
    filter: str | None = None
    """Which messages alone arrive."""
    detached: bool = False
    retention_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A Cloud Scheduler job. `failed` is what the last attempt said, empty where it went well."""

    name: str
    topic: str | None
    schedule: str | None
    state: str | None = None
    failed: str = ""
    idle_seconds: float | None = None
    """Since the last attempt."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A log sink."""

    destination: str | None
    writer: str | None
    disabled: bool = False
    filter: str | None = None
    excluded: tuple[str, ...] = ()
    """Names of what it leaves out."""


@dataclass(frozen=True, slots=True)
class Database:
    """A Firestore database."""

    kind: str | None
    concurrency: str | None


@dataclass(frozen=True, slots=True)
class Served:
    """A Cloud Run service, as far as the doctor cares. What the picture does not hold is None.

    `terraform` is the address in a plan, or that it carries the label Google's provider puts on what it makes.
    """

    service: ServiceId
    terraform: str | None = None
    v1: bool = False
    changed: tuple[str, ...] = ()
    """Attributes that the plan changes: so Terraform does not ignore them."""
    account: str | None = None
    accelerator: str | None = None
    zonal_redundancy: bool = False
    gpus: int = 0
    cpu: float | None = None
    memory_gib: float | None = None
    max_instances: int | None = None
    collector: bool | None = None
    """Whether a container beside TF Serving sends its metrics to Cloud Monitoring."""
    images: tuple[str, ...] = ()
    """Of all its containers."""


@dataclass(frozen=True, slots=True)
class AlertPolicy:
    """An alert policy's name and the metrics that its conditions name."""

    name: str
    metrics: tuple[str, ...]
    signal: str | None = None
    """What it means to Trimtab, by its label."""
    enabled: bool = True
    watches: tuple[tuple[str, str | None], ...] = ()
    """The services that it is about, with their region where it says it."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project, as far as its grants reach."""

    number: int | Unseen = NOT_ASKED
    policy: Policy | Unseen = NOT_ASKED
    above: tuple[str, ...] | NotSeen = ()
    """What stands above it, nearest first: `folders/1`, `organizations/2`. Their grants hold in it as well."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What a bucket tells to a topic."""

    topic: str | None
    """`projects/P/topics/T`."""
    events: frozenset[str] = frozenset()
    """None is named: all."""
    payload: str | None = None
    prefix: str = ""
    """Of the objects that it tells of."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket with models in it."""

    project: str | Unseen = NOT_ASKED
    """By its id, or by its number where it is none of those that are known."""
    policy: Policy | Unseen = NOT_ASKED
    notifications: tuple[Notification, ...] | Unseen = NOT_ASKED


class Repository(NamedTuple):
    """A repository of Artifact Registry."""

    project: str
    location: str
    name: str

    def __str__(self) -> str:
        return f"{self.location}-docker.pkg.dev/{self.project.replace(':', '/')}/{self.name}"


@dataclass(frozen=True, slots=True)
class Policies:
    """The IAM policies of resources, by their short names."""

    topics: Mapping[str, "Policy | Unseen"] = field(default_factory=dict)
    subscriptions: Mapping[str, "Policy | Unseen"] = field(default_factory=dict)
    functions: Mapping[str, "Policy | Unseen"] = field(default_factory=dict)
    accounts: Mapping[str, "Policy | Unseen"] = field(default_factory=dict)
    services: Mapping[ServiceId, "Policy | Unseen"] = field(default_factory=dict)
    repositories: Mapping[Repository, "Policy | Unseen"] = field(default_factory=dict)
    above: Mapping[str, "Policy | Unseen"] | NotAsked = field(default_factory=dict)
    """Of what stands above the projects, by the names of `Project.above`."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that was looked at."""

    project: str
    """The control plane's; empty where a plan has none and names none."""
    source: Source
    topic_prefix: str
    projects: Mapping[str, Project] = field(default_factory=dict)
    """The control plane's, those that are served, and those that buckets and repositories lie in."""
    served: tuple[str, ...] = ()
    """The projects whose services Trimtab steers."""
    apis: frozenset[str] | Unseen = NOT_ASKED
    accounts: Mapping[str, bool] | Unseen = NOT_ASKED
    """Address to whether it is enabled."""
    functions: Mapping[str, Function] | Unseen = NOT_ASKED
    """Trimtab's alone, and of one region."""
    strays: tuple[Function, ...] = ()
    """Functions with a name of Trimtab's in another region."""
    topics: frozenset[str] | Unseen = NOT_ASKED
    subscriptions: Mapping[str, Subscription] | Unseen = NOT_ASKED
    jobs: Mapping[str, Job] | Unseen = NOT_ASKED
    sinks: Mapping[str, Sink | Unseen | None] = field(default_factory=dict)
    """Of each served project, the one of changes by others; None: there is none of that name."""
    database: Database | Unseen | None = NOT_ASKED
    database_name: str | None = None
    """Of the database that was looked at; None: each function's own."""
    ttl: frozenset[tuple[str, str]] | Unseen = NOT_ASKED
    """Collection group and field with time-to-live."""
    indexes: frozenset[tuple[str, str]] | Unseen = NOT_ASKED
    """Collection group and field with an ascending index over all collections of the name, whatever its state."""
    unready: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Of those, the state of each that no query can use."""
    policies: Policies = field(default_factory=Policies)
    owned: tuple[ServiceId, ...] | Unseen = NOT_ASKED
    """The services that have a spec."""
    models: Mapping[ServiceId, str] = field(default_factory=dict)
    """Of those, the folder that the spec names where it lies in a bucket: `gs://bucket/prefix`."""
    buckets: Mapping[str, Bucket | None] = field(default_factory=dict)
    """With models in them; None: there is none of that name."""
    services: Mapping[ServiceId, Served | Unseen | None] = field(default_factory=dict)
    """Of those with a spec, of those that alert policies watch, and of a plan's; None: there is none of that name."""
    quotas: Mapping[tuple[str, str], int] | Unseen = NOT_ASKED
    """Quota id and region to its value, in the quota's own unit; -1 is no limit."""
    metrics: frozenset[str] | Unseen = NOT_ASKED
    """Types of Cloud Run's metric descriptors that the project has."""
    alert_policies: tuple[AlertPolicy, ...] | Unseen = NOT_ASKED
    clock_ahead_seconds: float | Unseen = NOT_ASKED
    """How far this machine's clock is ahead of Google's."""
    given_archive: str | None = None
    """The file name of the archive that should run; None: not given."""
    said: tuple[Finding, ...] = ()
    """Found while it was read: of a plan as a whole, and the kinds of resources that it has none of."""
    root: str | None = None
    """In a plan: what of the root configuration the functions are in, `module.control_plane`."""

    @property
    def number(self) -> int | Unseen:
        """That of the control plane's project."""
        return self.in_project(self.project).number

    def in_project(self, project: str) -> Project:
        """What is known of a project."""
        return self.projects.get(project, UNKNOWN_PROJECT)


UNKNOWN_PROJECT: Final = Project()
