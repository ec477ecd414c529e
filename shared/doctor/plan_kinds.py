"""Kinds of resources that a plan with a control plane has none of, where none of its variables says that this is meant. Pure.

Of what is there, rules miss each part that is not; of a kind that is not there at all it cannot be told from the plan whether another
configuration has it. That is said once a kind, as unknown.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from shared.deployment import FUNCTIONS, service_name, topic_name
from shared.doctor.finding import Finding, Level
from shared.doctor.plan_grants import REPOSITORY, PlannedGrants
from shared.doctor.plan_inputs import UNKNOWN, Inputs, is_no
from shared.doctor.plan_values import Values, mapping, short, text

CONTROL_PLANE: Final = "terraform/modules/control-plane"
SERVED_PROJECT: Final = "terraform/modules/served-project"
ROLE: Final = "google_project_iam_custom_role"
LOG_METRIC: Final = "google_logging_metric"
CHANNEL: Final = "google_monitoring_notification_channel"
POLICY: Final = "google_monitoring_alert_policy"
DASHBOARD: Final = "google_monitoring_dashboard"
_COUNTED: Final = re.compile(r"logging\.googleapis\.com/user/(trimtab/[A-Za-z0-9_.-]+)")
"""A metric that Trimtab's log lines are counted in, where an alert policy or a dashboard names it."""
_OWN_ALERT: Final = re.compile(rf"logging\.googleapis\.com/user/trimtab/|\b{service_name('')}({'|'.join(FUNCTIONS)})\b")
_MEANT: Final = "it is left to another configuration, or forgotten"


@dataclass(frozen=True, slots=True)
class Kind:
    """What the plan should have: what is not known without it, the resource, where it is made."""

    check: str
    what: str
    resource: str
    module: str = CONTROL_PLANE
    input: str | None = None
    """With which input the module makes it, where it may be left out."""

    def missed(self, project: str) -> Finding:
        """That there is none of it."""
        made = f"{self.module} makes it{f' with {self.input}' if self.input is not None else ''}"
        mend = f"{made}: use that; where another configuration has it, look once that is applied: trimtab doctor --project {project}"
        why = f"no {self.resource} is in the plan: {_MEANT}"
        return Finding(self.check, Level.UNKNOWN, f"{self.what}: not known", why, mend)


API: Final = Kind("api", "which APIs are enabled", "google_project_service", input="enable_apis = true")
DATABASE: Final = Kind("database", "the Firestore database", "google_firestore_database", input="firestore = { create = true }")
GRANTS: Final[Mapping[str, Kind]] = {
    "google_project": Kind("grant", "the grants on the project", "google_project_iam_member"),
    "google_pubsub_topic": Kind("grant", "the grants on topics", "google_pubsub_topic_iam_member"),
    "google_pubsub_subscription": Kind("grant", "the grants on subscriptions", "google_pubsub_subscription_iam_member"),
    "google_service_account": Kind("grant", "the grants on service accounts", "google_service_account_iam_member"),
    "google_cloud_run_v2_service": Kind("grant", "who may call the functions", "google_cloud_run_v2_service_iam_member"),
    REPOSITORY: Kind("grant", "who keeps the functions' images", f"{REPOSITORY}_iam_member"),
}
BUCKET_GRANTS: Final = Kind("grant", "the grants on the buckets of models", "google_storage_bucket_iam_member", SERVED_PROJECT)
ROLES: Final = Kind("grant", "whether Trimtab's own roles are there", ROLE)
IMAGES: Final = Kind("function", "where the images of the functions are kept", REPOSITORY)
ARCHIVE: Final = Kind("version", "which archive the functions are built of", "google_storage_bucket_object")
METRICS: Final = Kind("metric", "which lines of Trimtab's log are counted", f"{LOG_METRIC} trimtab/...")
ALERTS: Final = Kind("alert", "whether anybody hears of trouble of Trimtab itself", f"{POLICY} on Trimtab")
CHANNELS: Final = Kind("alert", "whether alerts on what is served reach Trimtab", f"{CHANNEL} to its topic of alerts", SERVED_PROJECT)
SERVED: Final = Kind(
    "sink", "which projects are served, and what they tell Trimtab", "google_logging_project_sink trimtab-changes", SERVED_PROJECT
)
BUCKETS: Final = Kind("bucket", "which buckets have models", "google_storage_notification", SERVED_PROJECT, "model_buckets")


@dataclass(frozen=True, slots=True)
class Planned:
    """What of a plan the questions are about."""

    parts: Mapping[str, list[Values]]
    inputs: Inputs
    address: str
    """Of one of the functions."""
    project: str
    prefix: str
    served: Collection[str]
    buckets: Collection[str]


def makes_none(planned: Planned, name: str, *parts: str) -> bool:
    """Whether an input of the control plane says that this is not made here."""
    found = planned.inputs.around(planned.address, name)
    for part in parts:
        found = mapping(found).get(part, UNKNOWN)
    return is_no(found)


def bucket_names(inputs: Inputs) -> list[str]:
    """The buckets with models that the modules are told of, as far as that is known."""
    return list(dict.fromkeys(str(name) for value in inputs.every("model_buckets") for name in mapping(value)))


def kinds(planned: Planned, grants: PlannedGrants, *, database: bool) -> Iterator[Finding]:
    """Each kind that there is none of."""
    missed: list[Kind] = []
    if not any(_own(each, planned) for each in planned.parts.get(API.resource, ())) and not makes_none(planned, "enable_apis"):
        missed.append(API)
    if not database and not makes_none(planned, "firestore", "create"):
        missed.append(DATABASE)
    missed += [kind for on, kind in GRANTS.items() if grants.none_on(on)]
    missed += [kind for kind in (ROLES, IMAGES, ARCHIVE) if not planned.parts.get(kind.resource)]
    missed += [SERVED] if not planned.served else []
    if planned.buckets and grants.none_on("google_storage_bucket"):
        missed.append(BUCKET_GRANTS)
    told = planned.inputs.every("model_buckets")
    if planned.served and not planned.buckets and (not told or UNKNOWN in told):
        missed.append(BUCKETS)
    missed += [METRICS] if not _counted(planned) else []
    missed += [ALERTS] if not any(_OWN_ALERT.search(_json(each)) for each in planned.parts.get(POLICY, ())) else []
    missed += [CHANNELS] if planned.served and not list(_channels(planned)) else []
    yield from (kind.missed(planned.project) for kind in missed)


def parts(planned: Planned, grants: PlannedGrants) -> Iterator[Finding]:
    """Single parts that others of the plan name, of kinds that there are some of."""
    yield from _roles(planned, grants)
    yield from _metrics(planned)
    heard = set(_channels(planned))
    for project in planned.served if heard else ():
        if project not in heard and None not in heard:
            what = f"no channel of {project} leads to the topic {topic_name('alert', planned.prefix)}"
            mend = f"add the module {SERVED_PROJECT} for {project}, then plan again"
            yield Finding("alert", Level.PROBLEM, what, "alerts on what is served there never reach Trimtab", mend)


def _roles(planned: Planned, grants: PlannedGrants) -> Iterator[Finding]:
    roles = planned.parts.get(ROLE, ())
    made = {f"projects/{each.get('project') or planned.project}/roles/{each.get('role_id')}" for each in roles}
    for role in grants.custom_roles() if made and all(each.get("role_id") for each in roles) else ():
        if role not in made:
            mend = f"{CONTROL_PLANE if 'Store' in role else SERVED_PROJECT} makes it: use that, then plan again"
            why = "a grant of a role that is not there is refused, and the apply ends with it"
            yield Finding("grant", Level.PROBLEM, f"the role {role} is granted, and not in the plan", why, mend)


def _metrics(planned: Planned) -> Iterator[Finding]:
    counted = _counted(planned)
    for kind in (POLICY, DASHBOARD):
        for each in planned.parts.get(kind, ()) if counted else ():
            name = text(each.get("display_name")) or "the dashboard"
            for metric in sorted(set(_COUNTED.findall(_json(each))) - counted):
                what = f"{name} watches {metric}, a metric of Trimtab's log that is not in the plan"
                mend = f"{CONTROL_PLANE} makes it: use that, then plan again"
                yield Finding("metric", Level.PROBLEM, what, "it stays empty, and an alert on it never opens", mend)


def _counted(planned: Planned) -> set[str]:
    return {name for each in planned.parts.get(LOG_METRIC, ()) if (name := text(each.get("name"))) and name.startswith("trimtab/")}


def _channels(planned: Planned) -> Iterator[str | None]:
    """Of each channel that leads to Trimtab its project; None where Terraform does not know it yet."""
    topic = topic_name("alert", planned.prefix)
    for each in planned.parts.get(CHANNEL, ()):
        if each.get("type") == "pubsub" and short(mapping(each.get("labels")).get("topic")) in (None, topic):
            yield text(each.get("project"))


def _own(values: Values, planned: Planned) -> bool:
    return values.get("project") in (None, planned.project)


def _json(values: Values) -> str:
    return json.dumps(values, default=str)
