"""The grants that a Terraform plan makes, and the buckets that it wires, for the doctor's picture. Pure.

`google_..._iam_member`, `google_..._iam_binding` and `google_..._iam_policy` are read. Whom Terraform does not know yet stands as `LATER`
in the policy: who is not found there may be that one. Attributes as in google provider 6.50 to 8.7.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from shared.deployment import account_address, topic_name
from shared.doctor.access import READS_OBJECTS
from shared.doctor.picture import LATER, NOT_ASKED, Binding, Bucket, NotAsked, Notification, Picture, Policies, Policy, Repository
from shared.doctor.plan_values import Values, block, mappings, short, text, texts

_ON: Final[Mapping[str, str]] = {
    "google_project": "project",
    "google_pubsub_topic": "topic",
    "google_pubsub_subscription": "subscription",
    "google_service_account": "service_account_id",
    "google_cloud_run_v2_service": "name",
    "google_cloud_run_service": "service",
    "google_storage_bucket": "bucket",
}
"""What a role is granted on, and the attribute that names it."""
_SAME: Final[Mapping[str, str]] = {"google_cloud_run_service": "google_cloud_run_v2_service"}
"""Two kinds of resource that grant on the same thing."""
_FORMS: Final = ("_iam_member", "_iam_binding", "_iam_policy")
NOTIFICATION: Final = "google_storage_notification"
BUCKET: Final = "google_storage_bucket"
REPOSITORY: Final = "google_artifact_registry_repository"


class PlannedGrants:
    """The policies of a plan's resources. A plan that grants nothing on any topic leaves topics to somebody else, and so with the rest."""

    def __init__(self, parts: Mapping[str, list[Values]]) -> None:
        self._parts = parts
        self._bindings: dict[tuple[str, str], list[Binding]] = defaultdict(list)
        for kind, attribute in _ON.items():
            for values in self._granting(kind):
                self._bindings[_SAME.get(kind, kind), short(values.get(attribute)) or LATER] += _bindings(values)

    def none_on(self, kind: str) -> bool:
        """Whether nothing is granted on any resource of that kind."""
        return not any(self._granting(kind)) if kind == REPOSITORY else not any(each == kind for each, _ in self._bindings)

    def custom_roles(self) -> Iterator[str]:
        """The full names of Trimtab's own roles that are granted on something, each once."""
        granted = dict.fromkeys(binding.role for bindings in self._bindings.values() for binding in bindings)
        yield from (role for role in granted if role.startswith("projects/") and "/roles/trimtab" in role)

    def served(self, role: str) -> Iterator[str]:
        """The projects on which the custom role of that name is granted."""
        ending = f"/roles/{role}"
        for (kind, name), bindings in self._bindings.items():
            if kind == "google_project" and name != LATER and any(binding.role.endswith(ending) for binding in bindings):
                yield name

    def _granting(self, kind: str) -> Iterator[Values]:
        for form in _FORMS:
            yield from self._parts.get(f"{kind}{form}", ())

    def of_project(self, project: str) -> Policy | NotAsked:
        """What is granted on a project."""
        return self._of("google_project", project)

    def policies(
        self,
        *,
        topics: Collection[str],
        subscriptions: Collection[str],
        functions: Collection[str],
        accounts: Collection[str],
        project: str,
    ) -> Policies:
        """What is granted on the rest; `project` is that of resources which name none."""
        named = [name for kind, name in self._bindings if kind == "google_service_account" and name != LATER]
        return Policies(
            topics={name: self._of("google_pubsub_topic", name) for name in topics},
            subscriptions={name: self._of("google_pubsub_subscription", name) for name in subscriptions},
            functions={name: self._of("google_cloud_run_v2_service", name) for name in functions},
            accounts={name: self._of("google_service_account", name) for name in dict.fromkeys((*accounts, *named))},
            repositories=self._repositories(project),
        )

    def buckets(self, uris: Iterable[str], picture: Picture) -> dict[str, Bucket]:
        """The buckets of models: those of specs, those that tell the topic of uploads, and those that reconcile may read."""
        topic = topic_name("upload", picture.topic_prefix)
        notifications: dict[str, list[Notification]] = defaultdict(list)
        for values in self._parts.get(NOTIFICATION, ()):
            notifications[text(values.get("bucket")) or LATER].append(notification_of(values))
        reader = f"serviceAccount:{account_address('reconcile', picture.project)}"
        names = [uri.removeprefix("gs://").partition("/")[0] for uri in uris]
        names += [name for name, said in notifications.items() if any(short(each.topic) == topic for each in said)]
        names += [name for kind, name in self._bindings if kind == BUCKET and any(_is(each, reader) for each in self._bindings[kind, name])]
        homes = {text(each.get("name")): text(each.get("project")) for each in self._parts.get(BUCKET, ())}
        return {
            name: Bucket(
                project=homes.get(name) or NOT_ASKED,
                policy=self._of(BUCKET, name),
                notifications=(*notifications.get(name, ()), *notifications.get(LATER, ())),
            )
            for name in dict.fromkeys(names)
            if name != LATER
        }

    def _repositories(self, own: str) -> dict[Repository, Policy | NotAsked]:
        """Those that the plan makes, and those that it grants something on."""
        granting = [each for each in self._granting(REPOSITORY) if each.get("location")]
        found: dict[Repository, list[Binding]] = {
            Repository(text(each.get("project")) or own, str(each.get("location")), str(each.get("repository_id"))): []
            for each in self._parts.get(REPOSITORY, ())
        }
        for values in granting:
            name = Repository(text(values.get("project")) or own, str(values["location"]), short(values.get("repository")) or LATER)
            found.setdefault(name, []).extend(_bindings(values))
        of_any = [binding for name, bindings in found.items() if name.name == LATER for binding in bindings]
        return {name: (*bindings, *of_any) if granting else NOT_ASKED for name, bindings in found.items() if name.name != LATER}

    def _of(self, kind: str, name: str) -> Policy | NotAsked:
        """What is granted on it, and on what Terraform does not name yet."""
        if self.none_on(kind):
            return NOT_ASKED
        return (*self._bindings.get((kind, name), ()), *self._bindings.get((kind, LATER), ()))


def notification_of(values: Values) -> Notification:
    """A google_storage_notification."""
    topic = text(values.get("topic"))
    return Notification(
        topic=None if topic is None else topic.removeprefix("//pubsub.googleapis.com/"),
        events=texts(values.get("event_types")),
        payload=text(values.get("payload_format")),
        prefix=text(values.get("object_name_prefix")) or "",
    )


def _bindings(values: Values) -> list[Binding]:
    """Of a member or a binding one, of a policy all that stand in it."""
    data = text(values.get("policy_data"))
    if data is None:
        return [_binding(values)]
    return [_binding({**each, "condition": [each["condition"]] if each.get("condition") else []}) for each in _in_policy(data)]


def _in_policy(data: str) -> list[Values]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return mappings(found.get("bindings")) if isinstance(found, dict) else []


def _binding(values: Values) -> Binding:
    members = texts(values.get("members")) or frozenset({text(values.get("member")) or LATER})
    condition = text(block(values, "condition").get("expression")) or LATER if values.get("condition") else None
    return Binding(text(values.get("role")) or LATER, members, condition)


def _is(binding: Binding, reader: str) -> bool:
    return binding.role == READS_OBJECTS and reader in binding.members
