"""What a deployment of Trimtab in a project consists of: the one list that the archive, Terraform's tests and `trimtab doctor` read. Pure.

Names: each function is a Cloud Function (and Cloud Run service), a push subscription and a service account of the name
`trimtab-<function>`; the scheduler's job is `trimtab-tick`. A topic's name is a prefix and the name of `TOPICS`; its dead-letter topic ends
in `-dead-letters` and has the kept subscription `trimtab-<function>-dead-letters`. A deployment may choose another prefix of topics and
another database; nothing else of these names varies.

Sources of the agents' grants: Pub/Sub's documentation of dead-letter topics (publisher on the dead-letter topic, subscriber on the
subscription) and of push authentication; Cloud Storage's of Pub/Sub notifications; Cloud Monitoring's of Pub/Sub notification channels;
Cloud Logging's of sinks (the sink's writer identity).
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FUNCTIONS: Final = ("alert", "upload", "command", "audit", "schedule", "reconcile")
"""The functions; each is also the name of its entry point."""
TOPICS: Final[Mapping[str, str]] = {
    "alert": "alerts",
    "upload": "model-uploads",
    "command": "commands",
    "audit": "changes",
    "schedule": "ticks",
    "reconcile": "wakes",
}
"""Function to its own topic, without the prefix: the defaults of the settings."""
TOPIC_SETTINGS: Final[Mapping[str, str]] = {
    "alert": "TRIMTAB_ALERTS_TOPIC",
    "upload": "TRIMTAB_UPLOADS_TOPIC",
    "command": "TRIMTAB_COMMANDS_TOPIC",
    "audit": "TRIMTAB_CHANGES_TOPIC",
    "schedule": "TRIMTAB_TICKS_TOPIC",
    "reconcile": "TRIMTAB_WAKES_TOPIC",
}
"""Function to the variable of the functions' environment that names its topic."""
EVENTS_TOPIC: Final = "events"
"""What Trimtab tells others, without the prefix; `TRIMTAB_EVENTS_TOPIC`."""
TOPIC_PREFIX: Final = "trimtab-"
"""Of topics, where the deployment chooses no other."""
DEAD_LETTERS: Final = "-dead-letters"
TICK_JOB: Final = "trimtab-tick"
"""The Cloud Scheduler job that publishes a tick every minute."""
TICK_SCHEDULE: Final = "* * * * *"
CHANGES_SINK: Final = "trimtab-changes"
"""The log sink that sends Cloud Run's audit log to the topic of changes."""
LEAST_PYTHON: Final = (3, 11)
"""`requires-python` of the project: the runtime of a function is `python` and these two, or later."""
LEAST_ACK_DEADLINE_SECONDS: Final = 60
"""A function ends within 50 s; a subscription with less delivers a message again while it is still handled."""

APIS: Final[Mapping[str, str]] = {
    "artifactregistry.googleapis.com": "the images that are built of the functions",
    "cloudbuild.googleapis.com": "builds the functions",
    "cloudfunctions.googleapis.com": "the functions",
    "cloudresourcemanager.googleapis.com": "the project's number, and roles on the project",
    "cloudscheduler.googleapis.com": "the tick",
    "firestore.googleapis.com": "Trimtab's documents",
    "iam.googleapis.com": "the service accounts",
    "logging.googleapis.com": "evidence of a repair, and the sink of changes by others",
    "monitoring.googleapis.com": "alerts, and evidence of a repair",
    "pubsub.googleapis.com": "topics and subscriptions",
    "run.googleapis.com": "what Trimtab steers, and the functions themselves",
    "serviceusage.googleapis.com": "switches the other APIs on, and says which are on",
    "storage.googleapis.com": "the functions' source, and models",
}
"""APIs that must be enabled in the project, and what each is for."""


class Switch(StrEnum):
    """What a deployment may switch on; the value is the variable of the functions' environment that does it."""

    PROFILER = "TRIMTAB_PROFILER"
    """Cloud Profiler: where processor time goes."""
    TRACES = "TRIMTAB_TRACE_RATIO"
    """Spans over OpenTelemetry to Cloud Trace: where the time of one event goes."""


SWITCHED_APIS: Final[Mapping[Switch, Mapping[str, str]]] = {
    Switch.PROFILER: {"cloudprofiler.googleapis.com": "takes the profiles"},
    Switch.TRACES: {
        "cloudtrace.googleapis.com": "keeps the spans; without it they are dropped",
        "telemetry.googleapis.com": "takes the spans (OTLP)",
    },
}
"""APIs that a switch needs besides."""


CUSTOM: Final = "projects/{project}/roles/"


class On(StrEnum):
    """What kind of resource a role is granted on."""

    PROJECT = "project"
    """The project of the control plane."""
    SERVED_PROJECT = "served project"
    """Each project whose services Trimtab steers."""
    TOPIC = "topic"
    """The topic of `Grant.name`: a function's, or `events`."""
    DEAD_LETTER_TOPIC = "dead-letter topic"
    SUBSCRIPTION = "subscription"
    """The push subscription of the function `Grant.name`."""
    FUNCTION = "function"
    """The Cloud Run service of the function `Grant.name`."""
    ACCOUNT = "account"
    """The account of the control plane `Grant.name`."""
    REPOSITORY = "repository"
    """The Artifact Registry repository of the functions' images."""
    SERVED_SERVICE = "served service"
    """Each Cloud Run service that Trimtab steers."""
    SERVING_ACCOUNT = "serving account"
    """Each service account that a served service runs as, and no other."""
    MODEL_BUCKET = "model bucket"
    """Each bucket that models come from."""
    IMAGE_REPOSITORY = "image repository"
    """Each Artifact Registry repository that served images come from."""


class Agent(StrEnum):
    """Google's own accounts of a project that need a grant; the value is the account's address, `{number}` the project's number."""

    PUBSUB = "service-{number}@gcp-sa-pubsub.iam.gserviceaccount.com"
    MONITORING = "service-{number}@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
    STORAGE = "service-{number}@gs-project-accounts.iam.gserviceaccount.com"
    LOGGING = "service-{number}@gcp-sa-logging.iam.gserviceaccount.com"
    """The sink's writer identity; read it from the sink where it is another."""

    def address(self, project_number: int) -> str:
        """The account's address in the project of that number."""
        return self.value.format(number=project_number)


@dataclass(frozen=True, slots=True)
class Grant:
    """A role that somebody needs: `account` is one of `ACCOUNTS`, `SERVING_ACCOUNT` or an agent; `name` says which topic, function, ..."""

    account: "str | Agent"
    role: str
    """`{project}` in it is the project of the resource: a role that is defined there, with nothing but the permissions needed."""
    on: On
    name: str
    why: str

    def role_in(self, project: str) -> str:
        """The role's full name in a project."""
        return self.role.format(project=project)


PUSH_ACCOUNT: Final = "push"
"""The identity of Pub/Sub's push requests: may call the functions and nothing else."""
BUILD_ACCOUNT: Final = "build"
"""Builds the functions."""
SERVING_ACCOUNT: Final = "serving"
"""Stands for whatever account a served service runs as."""
ACCOUNTS: Final = (*FUNCTIONS, PUSH_ACCOUNT, BUILD_ACCOUNT)
"""The service accounts of the control plane, without `trimtab-`."""


def service_name(function: str) -> str:
    """The name of the function's Cloud Function, Cloud Run service and push subscription."""
    return f"trimtab-{function}"


def account_address(account: str, project: str) -> str:
    """The address of one of `ACCOUNTS`."""
    return f"trimtab-{account}@{project}.iam.gserviceaccount.com"


def source_file(function: str) -> str:
    """The file in the archive's root that serves the function: `GOOGLE_FUNCTION_SOURCE` of its build, `FUNCTION_SOURCE` when it runs."""
    return f"fn_{function}.py"


def topic_name(name: str, prefix: str = TOPIC_PREFIX) -> str:
    """The topic of a function, or of `events`."""
    return f"{prefix}{TOPICS.get(name, name)}"


def dead_letter_topic(function: str, prefix: str = TOPIC_PREFIX) -> str:
    """Where what could not be delivered to the function goes."""
    return f"{topic_name(function, prefix)}{DEAD_LETTERS}"


def dead_letter_subscription(function: str) -> str:
    """What keeps the dead letters: a topic without a subscription forgets at once."""
    return f"{service_name(function)}{DEAD_LETTERS}"


def apis(switches: Collection[Switch] = ()) -> Mapping[str, str]:
    """The APIs that a deployment with these switches needs, and what each is for."""
    return {**APIS, **{api: why for switch in switches for api, why in SWITCHED_APIS[switch].items()}}


def grants(switches: Collection[Switch] = ()) -> Iterator[Grant]:
    """Every role that a deployment with these switches needs, and none besides.

    Not here: `trimtabRunDeleter` of the command function on services that a command may delete, which is off unless asked for.
    """
    for function in FUNCTIONS:
        yield Grant(function, f"{CUSTOM}trimtabStore{function.title()}", On.PROJECT, "", "reads and writes Trimtab's documents")
        yield Grant(function, "roles/pubsub.publisher", On.TOPIC, "reconcile", "wakes what an event is about")
    for function in ("alert", "audit", "upload", "command", "reconcile"):
        yield Grant(function, "roles/pubsub.publisher", On.TOPIC, EVENTS_TOPIC, "tells others what happened")
    for function in FUNCTIONS:
        if function != "reconcile":
            yield Grant("command", "roles/pubsub.publisher", On.TOPIC, function, "redrive publishes a parked event again")
    yield from _RECONCILE
    for function in FUNCTIONS:
        yield Grant(PUSH_ACCOUNT, "roles/run.invoker", On.FUNCTION, function, "Pub/Sub delivers to the function as this account")
        yield Grant(Agent.PUBSUB, "roles/pubsub.publisher", On.DEAD_LETTER_TOPIC, function, "puts undeliverable messages there")
        yield Grant(Agent.PUBSUB, "roles/pubsub.subscriber", On.SUBSCRIPTION, function, "takes undeliverable messages off")
    yield Grant(Agent.PUBSUB, "roles/iam.serviceAccountOpenIdTokenCreator", On.ACCOUNT, PUSH_ACCOUNT, "signs its pushes as this account")
    yield Grant(
        Agent.MONITORING, "roles/pubsub.publisher", On.TOPIC, "alert", "publishes alerts; without it they are dropped without a word"
    )
    yield Grant(Agent.STORAGE, "roles/pubsub.publisher", On.TOPIC, "upload", "publishes what is uploaded to the model buckets")
    yield Grant(Agent.LOGGING, "roles/pubsub.publisher", On.TOPIC, "audit", "publishes Cloud Run's audit log")
    yield Grant(BUILD_ACCOUNT, "roles/logging.logWriter", On.PROJECT, "", "writes the log of a build")
    yield Grant(BUILD_ACCOUNT, "roles/storage.objectViewer", On.PROJECT, "", "reads the archive")
    yield Grant(BUILD_ACCOUNT, "roles/artifactregistry.writer", On.REPOSITORY, "", "keeps the functions' images")
    for function in FUNCTIONS:
        if Switch.PROFILER in switches:
            yield Grant(function, "roles/cloudprofiler.agent", On.PROJECT, "", "uploads its profiles")
        if Switch.TRACES in switches:
            yield Grant(function, "roles/telemetry.tracesWriter", On.PROJECT, "", "sends its spans")
            yield Grant(function, "roles/serviceusage.serviceUsageConsumer", On.PROJECT, "", "the Telemetry API asks it of senders")


_RECONCILE: Final = (
    Grant("reconcile", f"{CUSTOM}trimtabRunReader", On.SERVED_PROJECT, "", "reads services, revisions, and how a change ended"),
    Grant("reconcile", "roles/logging.viewer", On.SERVED_PROJECT, "", "reads the log lines that explain an incident"),
    Grant("reconcile", "roles/monitoring.viewer", On.SERVED_PROJECT, "", "reads the metrics that explain an incident"),
    Grant("reconcile", f"{CUSTOM}trimtabRunUpdater", On.SERVED_SERVICE, "", "changes the service"),
    Grant("reconcile", "roles/run.invoker", On.SERVED_SERVICE, "", "sends a candidate its golden request"),
    Grant("reconcile", "roles/iam.serviceAccountUser", On.SERVING_ACCOUNT, "", "deploys a revision that runs as the account"),
    Grant("reconcile", "roles/artifactregistry.reader", On.IMAGE_REPOSITORY, "", "Cloud Run asks it of whoever deploys an image"),
    Grant("reconcile", "roles/storage.objectViewer", On.MODEL_BUCKET, "", "lists and reads the files of models"),
    Grant(SERVING_ACCOUNT, "roles/storage.objectViewer", On.MODEL_BUCKET, "", "the served service loads its model"),
    Grant(SERVING_ACCOUNT, "roles/monitoring.metricWriter", On.SERVED_PROJECT, "", "the collector beside TF Serving writes its metrics"),
)

REQUIRED_INDEXES: Final = (
    ("state", ("next_look_at ASCENDING",), "COLLECTION_GROUP"),
    ("state", ("usd_per_hour_at_max ASCENDING",), "COLLECTION_GROUP"),
    ("facts", ("created_at ASCENDING",), "COLLECTION_GROUP"),
    ("model_state", ("next_look_at ASCENDING",), "COLLECTION_GROUP"),
    ("uploads", ("created_at ASCENDING",), "COLLECTION_GROUP"),
)
"""Indexes that production must create (collection group, fields, query scope); the emulator needs none.

All are single-field indexes with collection-group scope, which Firestore does not build by itself. The other queries live on the
single-field indexes it does build: `facts.created_at`, `services.sweep_slot`, `services.committed_at`, `services.model_uri`, `acts.minute`,
`decisions.decided_at`, `parked.parked_at` (collection scope).
"""

UNINDEXED_FIELDS: Final = (
    ("services", "record"),
    ("commands", "record"),
    ("facts", "record"),
    ("state", "record"),
    ("state", "committed_at"),
    ("decisions", "record"),
    ("uploads", "record"),
    ("uploads", "uri"),
    ("model_state", "record"),
    ("model_state", "uri"),
    ("model_state", "listed_at"),
    ("model_state", "committed_at"),
    ("fleet", "record"),
    ("fleet", "committed_at"),
    ("fleet", "at"),
    ("parked", "body"),
    ("parked", "attributes"),
)
"""Fields (collection group, field) that no query needs: exempt them, or every commit pays for hundreds of index entries."""

TTL_FIELDS: Final = (
    ("facts", "expire_at"),
    ("commands", "expire_at"),
    ("uploads", "expire_at"),
    ("decisions", "expire_at"),
    ("acts", "expire_at"),
)
"""Fields (collection group, field) on which production must switch time-to-live on."""
