"""A project as Google's APIs answer about it, over HTTP on loopback: a whole deployment of Trimtab, of which tests break parts.

Shapes as in the discovery documents of serviceusage v1, cloudresourcemanager v3, cloudfunctions v2, pubsub v1, cloudscheduler v1,
logging v2, firestore v1, run v2, iam v1, cloudquotas v1, monitoring v3, storage v1 and artifactregistry v1; int64 as text, fields with
their zero left out. The first part of a path is the API's host.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.deployment import (
    ACCOUNTS,
    APIS,
    FUNCTIONS,
    REQUIRED_INDEXES,
    TOPIC_SETTINGS,
    TTL_FIELDS,
    Agent,
    On,
    account_address,
    dead_letter_subscription,
    dead_letter_topic,
    grants,
    service_name,
    source_file,
    topic_name,
)
from shared.doctor.rules_parts import changes_filter
from shared.doctor.rules_services import CPU_QUOTA, MEMORY_QUOTA, OWN_METRICS
from tests.support.json_door import Asked, refusal

PROJECT, NUMBER, REGION = "acme-ml", 123456789012, "europe-west1"
SERVING = "serving@acme-ml.iam.gserviceaccount.com"
RECONCILE = account_address("reconcile", PROJECT)
WRITER = f"serviceAccount:{Agent.LOGGING.address(NUMBER)}"
ARCHIVE = "trimtab-0123456789abcdef.zip"
AT = f"projects/{PROJECT}"
FOLDER, ORGANIZATION = "folders/456", "organizations/789"
BUCKET, MODEL = "acme-models", "gs://acme-models/models/ranker"
REPOSITORY = "serving"
IMAGE = f"{REGION}-docker.pkg.dev/{PROJECT}/{REPOSITORY}/tf-serving:2.19.1-gpu"
COLLECTOR = "us-docker.pkg.dev/cloud-ops-agents-artifacts/cloud-run-gmp-sidecar/cloud-run-gmp-sidecar:1.2.0"
Json = dict[str, Any]


def _function(name: str) -> Json:
    topics = {setting: topic_name(each) for each, setting in TOPIC_SETTINGS.items()}
    grants_given = [{"subscription": f"{AT}/subscriptions/trimtab-command", "commands": ["patch"], "services": ["*"]}]
    own = {
        "command": {"TRIMTAB_PUSH_SERVICE_ACCOUNT": account_address("push", PROJECT), "TRIMTAB_COMMAND_GRANTS": json.dumps(grants_given)},
        "audit": {"TRIMTAB_OWN_PRINCIPALS": account_address("reconcile", PROJECT)},
    }
    return {
        "name": f"{AT}/locations/{REGION}/functions/{service_name(name)}",
        "buildConfig": {
            "runtime": "python311",
            "entryPoint": name,
            "source": {"storageSource": {"bucket": f"{PROJECT}-trimtab-source", "object": ARCHIVE, "generation": "1764471600000000"}},
            "environmentVariables": {"GOOGLE_FUNCTION_SOURCE": source_file(name)},
        },
        "serviceConfig": {
            "service": f"{AT}/locations/{REGION}/services/{service_name(name)}",
            "timeoutSeconds": 60,
            "environmentVariables": {"TRIMTAB_PROJECT": PROJECT, "FUNCTION_SOURCE": source_file(name), **topics, **own.get(name, {})},
            "uri": f"https://{service_name(name)}-abc-ew.a.run.app",
            "serviceAccountEmail": account_address(name, PROJECT),
            "ingressSettings": "ALLOW_INTERNAL_ONLY",
        },
        "state": "ACTIVE",
        "environment": "GEN_2",
        "updateTime": "2026-11-30T03:00:00.000000000Z",
    }


def _subscription(name: str) -> Json:
    uri = f"https://{service_name(name)}-abc-ew.a.run.app"
    return {
        "name": f"{AT}/subscriptions/{service_name(name)}",
        "topic": f"{AT}/topics/{topic_name(name)}",
        "pushConfig": {
            "pushEndpoint": uri,
            "oidcToken": {"serviceAccountEmail": account_address("push", PROJECT), "audience": uri},
        },
        "ackDeadlineSeconds": 60,
        "messageRetentionDuration": "604800s",
        "expirationPolicy": {},
        "deadLetterPolicy": {"deadLetterTopic": f"{AT}/topics/{dead_letter_topic(name)}", "maxDeliveryAttempts": 30},
        "retryPolicy": {"minimumBackoff": "10s", "maximumBackoff": "600s"},
        "state": "ACTIVE",
    }


def _kept(name: str) -> Json:
    return {
        "name": f"{AT}/subscriptions/{dead_letter_subscription(name)}",
        "topic": f"{AT}/topics/{dead_letter_topic(name)}",
        "pushConfig": {},
        "ackDeadlineSeconds": 60,
        "messageRetentionDuration": "2678400s",
        "expirationPolicy": {},
        "state": "ACTIVE",
    }


def _ranker() -> Json:
    return {
        "name": f"{AT}/locations/{REGION}/services/ranker",
        "generation": "7",
        "labels": {"team": "search"},
        "client": "trimtab",
        "lastModifier": account_address("reconcile", PROJECT),
        "template": {
            "scaling": {"maxInstanceCount": 4},
            "serviceAccount": SERVING,
            "containers": [{"image": IMAGE, "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}}}],
            "nodeSelector": {"accelerator": "nvidia-l4"},
            "gpuZonalRedundancyDisabled": True,
        },
        "etag": '"CJ"',
    }


def _quota(name: str, value: str) -> Json:
    return {
        "name": f"projects/{NUMBER}/locations/global/services/run.googleapis.com/quotaInfos/{name}",
        "quotaId": name,
        "metric": "run.googleapis.com/x",
        "service": "run.googleapis.com",
        "containerType": "PROJECT",
        "dimensions": ["region"],
        "dimensionsInfos": [
            {"dimensions": {"region": "us-central1"}, "details": {"value": "1"}, "applicableLocations": ["us-central1"]},
            {"details": {"value": value}, "applicableLocations": [REGION, "europe-west4"]},
        ],
    }


def _field(group: str, name: str, **config: Any) -> Json:
    return {"name": f"{AT}/databases/(default)/collectionGroups/{group}/fields/{name}", **config}


def notification(**values: Any) -> Json:
    """What the bucket tells to the topic of uploads."""
    return {
        "kind": "storage#notification",
        "id": "3",
        "topic": f"//pubsub.googleapis.com/{AT}/topics/{topic_name('upload')}",
        "payload_format": "JSON_API_V1",
        "event_types": ["OBJECT_FINALIZE", "OBJECT_ARCHIVE", "OBJECT_DELETE"],
        **values,
    }


def _policies() -> dict[str, dict[str, set[str]]]:
    """Resource (`topics/T`, `subscriptions/S`, ...) to role to members: exactly the grants of a deployment."""
    found: dict[str, dict[str, set[str]]] = {}
    for grant in grants():
        if isinstance(grant.account, Agent):
            member = WRITER if grant.account is Agent.LOGGING else f"serviceAccount:{grant.account.address(NUMBER)}"
        elif grant.account in ACCOUNTS:
            member = f"serviceAccount:{account_address(grant.account, PROJECT)}"
        else:
            member = f"serviceAccount:{SERVING}"
        on = {
            On.PROJECT: "project",
            On.SERVED_PROJECT: "project",
            On.TOPIC: f"topics/{topic_name(grant.name)}",
            On.DEAD_LETTER_TOPIC: f"topics/{dead_letter_topic(grant.name)}",
            On.SUBSCRIPTION: f"subscriptions/{service_name(grant.name)}",
            On.FUNCTION: f"services/{service_name(grant.name)}",
            On.ACCOUNT: f"serviceAccounts/{account_address(grant.name, PROJECT)}",
            On.REPOSITORY: "repositories/trimtab",
            On.SERVED_SERVICE: "services/ranker",
            On.SERVING_ACCOUNT: f"serviceAccounts/{SERVING}",
            On.MODEL_BUCKET: f"buckets/{BUCKET}",
            On.IMAGE_REPOSITORY: f"repositories/{REPOSITORY}",
        }[grant.on]
        found.setdefault(on, {}).setdefault(grant.role_in(PROJECT), set()).add(member)
    found[FOLDER] = {"roles/viewer": {"group:ml@example.com"}}
    found[ORGANIZATION] = {"roles/resourcemanager.organizationAdmin": {"user:ada@example.com"}}
    return found


def _conditions() -> dict[tuple[str, str], str]:
    """Resource and role to the condition that Terraform grants it under."""
    stores = {
        ("project", grant.role_in(PROJECT)): f'resource.name == "{AT}/databases/(default)"' for grant in grants() if "Store" in grant.role
    }
    sources = f'resource.name.startsWith("projects/_/buckets/gcf-v2-sources-{NUMBER}-")'
    return {**stores, ("project", "roles/storage.objectViewer"): sources}


@dataclass
class GoogleProject:
    """The whole deployment, healthy until something is taken away or changed. `refused` are permissions that the caller lacks."""

    apis: set[str] = field(default_factory=lambda: set(APIS))
    functions: dict[str, Json] = field(default_factory=lambda: {name: _function(name) for name in FUNCTIONS})
    topics: set[str] = field(
        default_factory=lambda: {topic_name(each) for each in (*FUNCTIONS, "events")} | {dead_letter_topic(each) for each in FUNCTIONS}
    )
    subscriptions: dict[str, Json] = field(
        default_factory=lambda: (
            {service_name(each): _subscription(each) for each in FUNCTIONS}
            | {dead_letter_subscription(each): _kept(each) for each in FUNCTIONS}
        )
    )
    job: Json | None = field(
        default_factory=lambda: {
            "name": f"{AT}/locations/{REGION}/jobs/trimtab-tick",
            "pubsubTarget": {"topicName": f"{AT}/topics/{topic_name('schedule')}", "data": "eyJ0aWNrIjoibWludXRlIn0="},
            "schedule": "* * * * *",
            "timeZone": "Etc/UTC",
            "state": "ENABLED",
            "lastAttemptTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "status": {},
        }
    )
    sink: Json | None = field(
        default_factory=lambda: {
            "name": "trimtab-changes",
            "destination": f"pubsub.googleapis.com/{AT}/topics/{topic_name('audit')}",
            "filter": changes_filter(PROJECT),
            "writerIdentity": WRITER,
        }
    )
    database_id: str = "(default)"
    database: Json | None = field(
        default_factory=lambda: {
            "name": f"{AT}/databases/(default)",
            "locationId": REGION,
            "type": "FIRESTORE_NATIVE",
            "concurrencyMode": "OPTIMISTIC",
            "pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_ENABLED",
        }
    )
    ttl: list[Json] = field(default_factory=lambda: [_field(group, name, ttlConfig={"state": "ACTIVE"}) for group, name in TTL_FIELDS])
    indexes: list[Json] = field(
        default_factory=lambda: [
            _field(
                group,
                ordered.split(" ")[0],
                indexConfig={
                    "indexes": [
                        {
                            "queryScope": "COLLECTION_GROUP",
                            "fields": [{"fieldPath": ordered.split(" ")[0], "order": "ASCENDING"}],
                            "state": "READY",
                        }
                    ]
                },
            )
            for group, (ordered,), _ in REQUIRED_INDEXES
        ]
    )
    accounts: dict[str, Json] = field(
        default_factory=lambda: {
            address: {"name": f"{AT}/serviceAccounts/{address}", "email": address, "projectId": PROJECT}
            for address in (account_address(each, PROJECT) for each in ACCOUNTS)
        }
    )
    policies: dict[str, dict[str, set[str]]] = field(default_factory=_policies)
    conditions: dict[tuple[str, str], str] = field(default_factory=_conditions)
    above: list[str] = field(default_factory=lambda: [FOLDER, ORGANIZATION])
    numbers: dict[str, int] = field(default_factory=lambda: {PROJECT: NUMBER})
    """Of all projects; the other ones' policies are those of `projects/P`, their sinks in `sinks`."""
    sinks: dict[str, Json] = field(default_factory=dict)
    specs: dict[str, str | None] = field(default_factory=lambda: {f"{PROJECT}:{REGION}:ranker": MODEL})
    """Services to the folder that each spec names."""
    buckets: dict[str, Json] = field(default_factory=lambda: {BUCKET: {"projectNumber": str(NUMBER)}})
    notifications: dict[str, list[Json]] = field(default_factory=lambda: {BUCKET: [notification()]})
    services: dict[str, Json] = field(default_factory=lambda: {"ranker": _ranker()})
    quotas: list[Json] = field(
        default_factory=lambda: [
            _quota("NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion", "5"),
            _quota(CPU_QUOTA, "200000"),
            _quota(MEMORY_QUOTA, str(400 * 2**30)),
        ]
    )
    metrics: list[str] = field(default_factory=lambda: list(OWN_METRICS))
    alert_policies: list[Json] = field(
        default_factory=lambda: [
            {
                "name": f"{AT}/alertPolicies/1",
                "displayName": "ranker p99",
                "conditions": [
                    {
                        "conditionThreshold": {
                            "filter": 'resource.type = "cloud_run_revision" AND metric.type = "run.googleapis.com/request_latencies"',
                            "aggregations": [{"alignmentPeriod": "60s", "perSeriesAligner": "ALIGN_PERCENTILE_99"}],
                        }
                    }
                ],
            }
        ]
    )
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Beginning of a path behind the host to what is answered instead."""

    def answer(self, asked: Asked) -> tuple[int, Any]:
        """What Google answers."""
        host, _, path = asked.path.lstrip("/").partition("/")
        for words, (status, message) in self.refused.items():
            if re.search(words, f"{host}/{path}"):
                return refusal(status, message)
        if path == "":
            return 404, {}
        version, _, rest = path.partition("/")
        return self._answer(host, f"{version}/{rest}", asked)

    def _answer(self, host: str, path: str, asked: Asked) -> tuple[int, Any]:
        filtered = asked.parameters.get("filter", [""])[0]
        listings: Mapping[tuple[str, str], tuple[str, list[Any]]] = {
            ("serviceusage.googleapis.com", f"v1/{AT}/services"): (
                "services",
                [
                    {
                        "name": f"projects/{NUMBER}/services/{each}",
                        "config": {"name": each},
                        "state": "ENABLED",
                        "parent": f"projects/{NUMBER}",
                    }
                    for each in sorted(self.apis)
                ],
            ),
            ("cloudfunctions.googleapis.com", f"v2/{AT}/locations/-/functions"): ("functions", list(self.functions.values())),
            ("pubsub.googleapis.com", f"v1/{AT}/topics"): ("topics", [{"name": f"{AT}/topics/{each}"} for each in sorted(self.topics)]),
            ("pubsub.googleapis.com", f"v1/{AT}/subscriptions"): ("subscriptions", list(self.subscriptions.values())),
            ("firestore.googleapis.com", f"v1/{AT}/databases/{self.database_id}/collectionGroups/-/fields"): (
                "fields",
                self.ttl if filtered == "ttlConfig:*" else self.indexes,
            ),
            ("firestore.googleapis.com", f"v1/{AT}/databases/{self.database_id}/documents/services"): (
                "documents",
                [
                    {
                        "name": f"{AT}/databases/(default)/documents/services/{each}",
                        **({"fields": {"model_uri": {"stringValue": uri}}} if uri is not None else {}),
                    }
                    for each, uri in self.specs.items()
                ],
            ),
            ("iam.googleapis.com", f"v1/{AT}/serviceAccounts"): ("accounts", list(self.accounts.values())),
            ("cloudquotas.googleapis.com", f"v1/{AT}/locations/global/services/run.googleapis.com/quotaInfos"): ("quotaInfos", self.quotas),
            ("monitoring.googleapis.com", f"v3/{AT}/metricDescriptors"): (
                "metricDescriptors",
                [{"name": f"{AT}/metricDescriptors/{each}", "type": each, "metricKind": "DELTA"} for each in self.metrics],
            ),
            ("monitoring.googleapis.com", f"v3/{AT}/alertPolicies"): ("alertPolicies", self.alert_policies),
            **{
                ("storage.googleapis.com", f"storage/v1/b/{name}/notificationConfigs"): ("items", self.notifications.get(name, []))
                for name in self.buckets
            },
        }
        if (host, path) in listings:
            return self._page(*listings[host, path], asked)
        singles = {
            **{
                ("cloudresourcemanager.googleapis.com", f"v3/projects/{each}"): {
                    "name": f"projects/{number}",
                    "projectId": each,
                    "state": "ACTIVE",
                }
                for each, number in self.numbers.items()
            },
            ("cloudscheduler.googleapis.com", f"v1/{AT}/locations/{REGION}/jobs/trimtab-tick"): self.job,
            ("logging.googleapis.com", f"v2/{AT}/sinks/trimtab-changes"): self.sink,
            **{("logging.googleapis.com", f"v2/projects/{each}/sinks/trimtab-changes"): sink for each, sink in self.sinks.items()},
            **{("storage.googleapis.com", f"storage/v1/b/{name}"): each for name, each in self.buckets.items()},
            ("firestore.googleapis.com", f"v1/{AT}/databases/{self.database_id}"): self.database,
            **{("run.googleapis.com", f"v2/{each['name']}"): each for each in self.services.values()},
        }
        if path.endswith(":getIamPolicy"):
            return self._policy(path.removesuffix(":getIamPolicy"), _version(asked))
        if host == "storage.googleapis.com" and path.endswith("/iam"):
            name = path.split("/")[3]
            return self._bucket_policy(name, _version(asked))
        if path.endswith(":getAncestry"):
            chain = [path.removeprefix("v1/").removesuffix(":getAncestry").replace("projects/", "project/"), *self.above]
            ids = [each.replace("folders/", "folder/").replace("organizations/", "organization/").split("/") for each in chain]
            return 200, {"ancestor": [{"resourceId": {"type": kind, "id": name}} for kind, name in ids]}
        found = singles.get((host, path))
        return (200, found) if found is not None else refusal(404, f"Requested entity was not found: {path}")

    def _page(self, key: str, items: list[Any], asked: Asked) -> tuple[int, Any]:
        """Listings come in pages of at most ten, so that no look takes the first page for everything."""
        start = int(asked.parameters.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(start + 10)} if len(items) > start + 10 else {}
        page = items[start : start + 10]
        return 200, {**({key: page} if page else {}), **more}

    def _policy(self, path: str, version: int) -> tuple[int, Any]:
        """Of a resource that is there; a policy without bindings has none."""
        parts = path.split("/")[1:]
        on = "/".join(parts[-2:])
        if on in (AT, f"projects/{NUMBER}"):
            on = "project"
        kind, _, name = on.partition("/")
        there = {
            "topics": name in self.topics,
            "subscriptions": name in self.subscriptions,
            "services": name in self.services or name.removeprefix("trimtab-") in self.functions,
            "repositories": on in self.policies,
            "projects": name in self.numbers or name in map(str, self.numbers.values()),
        }.get(kind, True)
        if not there:
            return refusal(404, f"Resource not found (resource={name}).")
        return 200, self._bindings(on, version)

    def _bucket_policy(self, name: str, version: int) -> tuple[int, Any]:
        if name not in self.buckets:
            return refusal(404, "The specified bucket does not exist.")
        if version < CONDITIONAL and any(on == f"buckets/{name}" for on, _ in self.conditions):
            return refusal(412, f"Requested policy version ({version}) cannot be less than the existing policy version (3).")
        return 200, self._bindings(f"buckets/{name}", version)

    def _bindings(self, on: str, version: int) -> Json:
        """Asked for a version without conditions, a role with one has another name, and no condition is shown."""
        bindings: list[Json] = []
        for role, members in self.policies.get(on, {}).items():
            condition = self.conditions.get((on, role))
            shown = role if condition is None or version >= CONDITIONAL else f"{role}_withcond_0f1e2d3c4b5a69788796"
            words = {"condition": {"title": "x", "expression": condition}} if condition is not None and version >= CONDITIONAL else {}
            bindings += [{"role": shown, "members": sorted(members), **words}] if members else []
        conditional = any("condition" in each for each in bindings)
        return {"version": CONDITIONAL if conditional else 1, "etag": "BwX=", **({"bindings": bindings} if bindings else {})}


def with_a_collector() -> GoogleProject:
    """The served service sends TF Serving's own metrics."""
    project = GoogleProject()
    project.services["ranker"]["template"]["containers"].append({"image": COLLECTOR})
    return project


OTHER, OTHER_NUMBER = "acme-ads", 987654321098


def of_several_projects() -> GoogleProject:
    """The control plane in a project that serves nothing; a model, its bucket and its image in another."""
    project = GoogleProject(sink=None)
    project.numbers[OTHER] = OTHER_NUMBER
    account = f"serving@{OTHER}.iam.gserviceaccount.com"
    service = json.loads(json.dumps(project.services["ranker"]).replace(AT, f"projects/{OTHER}").replace(SERVING, account))
    service["template"]["containers"][0]["image"] = IMAGE.replace(PROJECT, OTHER)
    project.services = {"ranker": service}
    project.specs = {f"{OTHER}:{REGION}:ranker": MODEL}
    project.buckets[BUCKET] = {"projectNumber": str(OTHER_NUMBER)}
    writer = f"serviceAccount:{Agent.LOGGING.address(OTHER_NUMBER)}"
    topic = f"pubsub.googleapis.com/{AT}/topics/{topic_name('audit')}"
    project.sinks[OTHER] = {"name": "trimtab-changes", "destination": topic, "writerIdentity": writer}
    moved: dict[str, dict[str, set[str]]] = {}
    for on, roles in project.policies.items():
        for role, members in roles.items():
            served = role in SERVED_ROLES
            place = f"projects/{OTHER}" if on == "project" and served else on.replace(SERVING, account)
            named = role.replace(AT, f"projects/{OTHER}") if served or on == "services/ranker" else role
            agents = {each.replace(str(NUMBER), str(OTHER_NUMBER)) for each in members if "gcp-sa-pubsub" not in each}
            kept = {each for each in members if "gcp-sa-pubsub" in each}
            moved.setdefault(place, {})[named] = {each.replace(SERVING, account) for each in agents | kept}
    project.policies = moved
    return project


SERVED_ROLES = frozenset(
    {f"{AT}/roles/trimtabRunReader", "roles/logging.viewer", "roles/monitoring.viewer", "roles/monitoring.metricWriter"}
)
"""What is granted on each served project, and on no other."""
CONDITIONAL = 3
"""The version of a policy that has conditions."""


def _version(asked: Asked) -> int:
    """Which version of a policy the caller can read; where nothing is said, the first."""
    said = asked.body.get("options", {}).get("requestedPolicyVersion")
    for name in ("options.requestedPolicyVersion", "optionsRequestedPolicyVersion"):
        said = asked.parameters.get(name, [said])[0]
    return int(said or 1)
