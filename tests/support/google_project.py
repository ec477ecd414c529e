"""A project as Google's APIs answer about it, over HTTP on loopback: a whole deployment of Trimtab, of which tests break parts.

Shapes as in the discovery documents of serviceusage v1, cloudresourcemanager v3, cloudfunctions v2, pubsub v1, cloudscheduler v1,
logging v2, firestore v1, run v2, iam v1, cloudquotas v1 and monitoring v3; int64 as text, fields with their zero left out. The first part
of a path is the API's host.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from shared.doctor.rules_services import CPU_QUOTA, MEMORY_QUOTA, OWN_METRICS
from tests.support.json_door import Asked, refusal

PROJECT, NUMBER, REGION = "acme-ml", 123456789012, "europe-west1"
SERVING = "serving@acme-ml.iam.gserviceaccount.com"
WRITER = f"serviceAccount:{Agent.LOGGING.address(NUMBER)}"
ARCHIVE = "trimtab-0123456789abcdef.zip"
AT = f"projects/{PROJECT}"
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
            "containers": [
                {"image": "tensorflow/serving:2.19.1-gpu", "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}}}
            ],
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
            On.SERVED_SERVICE: "services/ranker",
            On.SERVING_ACCOUNT: f"serviceAccounts/{SERVING}",
        }.get(grant.on)
        if on is not None:
            found.setdefault(on, {}).setdefault(grant.role_in(PROJECT), set()).add(member)
    return found


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
            "lastAttemptTime": "2026-11-30T03:00:00.000000Z",
            "status": {},
        }
    )
    sink: Json | None = field(
        default_factory=lambda: {
            "name": "trimtab-changes",
            "destination": f"pubsub.googleapis.com/{AT}/topics/{topic_name('audit')}",
            "filter": 'protoPayload.serviceName="run.googleapis.com"',
            "writerIdentity": WRITER,
        }
    )
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
    specs: list[str] = field(default_factory=lambda: [f"{PROJECT}:{REGION}:ranker"])
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
            ("firestore.googleapis.com", f"v1/{AT}/databases/(default)/collectionGroups/-/fields"): (
                "fields",
                self.ttl if filtered == "ttlConfig:*" else self.indexes,
            ),
            ("firestore.googleapis.com", f"v1/{AT}/databases/(default)/documents/services"): (
                "documents",
                [
                    {"name": f"{AT}/databases/(default)/documents/services/{each}", "fields": {"sweep_slot": {"integerValue": "3"}}}
                    for each in self.specs
                ],
            ),
            ("iam.googleapis.com", f"v1/{AT}/serviceAccounts"): ("accounts", list(self.accounts.values())),
            ("cloudquotas.googleapis.com", f"v1/{AT}/locations/global/services/run.googleapis.com/quotaInfos"): ("quotaInfos", self.quotas),
            ("monitoring.googleapis.com", f"v3/{AT}/metricDescriptors"): (
                "metricDescriptors",
                [{"name": f"{AT}/metricDescriptors/{each}", "type": each, "metricKind": "DELTA"} for each in self.metrics],
            ),
            ("monitoring.googleapis.com", f"v3/{AT}/alertPolicies"): ("alertPolicies", self.alert_policies),
        }
        if (host, path) in listings:
            return self._page(*listings[host, path], asked)
        singles = {
            ("cloudresourcemanager.googleapis.com", f"v3/{AT}"): {"name": f"projects/{NUMBER}", "projectId": PROJECT, "state": "ACTIVE"},
            ("cloudscheduler.googleapis.com", f"v1/{AT}/locations/{REGION}/jobs/trimtab-tick"): self.job,
            ("logging.googleapis.com", f"v2/{AT}/sinks/trimtab-changes"): self.sink,
            ("firestore.googleapis.com", f"v1/{AT}/databases/(default)"): self.database,
            **{("run.googleapis.com", f"v2/{AT}/locations/{REGION}/services/{name}"): each for name, each in self.services.items()},
        }
        if path.endswith(":getIamPolicy"):
            return self._policy(path.removesuffix(":getIamPolicy"))
        found = singles.get((host, path))
        return (200, found) if found is not None else refusal(404, f"Requested entity was not found: {path}")

    def _page(self, key: str, items: list[Any], asked: Asked) -> tuple[int, Any]:
        """Listings come in pages of at most ten, so that no look takes the first page for everything."""
        start = int(asked.parameters.get("pageToken", ["0"])[0])
        more = {"nextPageToken": str(start + 10)} if len(items) > start + 10 else {}
        page = items[start : start + 10]
        return 200, {**({key: page} if page else {}), **more}

    def _policy(self, path: str) -> tuple[int, Any]:
        """Of a resource that is there; a policy without bindings has none."""
        on = "/".join(path.split("/")[-2:]) if path.count("/") > 2 else "project"
        kind, _, name = on.partition("/")
        there = {
            "topics": name in self.topics,
            "subscriptions": name in self.subscriptions,
            "services": name == "ranker" or name.removeprefix("trimtab-") in self.functions,
        }.get(kind, True)
        if not there:
            return refusal(404, f"Resource not found (resource={name}).")
        bindings = [{"role": role, "members": sorted(members)} for role, members in self.policies.get(on, {}).items() if members]
        return 200, {"version": 1, "etag": "BwX=", **({"bindings": bindings} if bindings else {})}
