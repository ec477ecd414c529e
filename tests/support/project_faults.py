"""What can be broken in a deployment, what the doctor must say of it, and what must mend it."""

import copy
from collections.abc import Callable
from typing import Any

from shared.doctor.finding import Level
from tests.support.google_project import AT, BUCKET, COLLECTOR, FOLDER, RECONCILE, SERVING, GoogleProject, notification

Break = Callable[[GoogleProject], object]


def take(grant: str, role: str) -> Break:
    return lambda project: project.policies[grant].pop(role)


def take_from(on: str, role: str, member: str) -> Break:
    return lambda project: project.policies[on][role].remove(f"serviceAccount:{member}")


def told(**values: Any) -> Break:
    return lambda project: project.notifications.update({BUCKET: [notification(**values)]})


def switched(project: GoogleProject, **settings: str) -> None:
    """Every function has these settings, and what they need is there."""
    for name, function in project.functions.items():
        function["serviceConfig"]["environmentVariables"].update({f"TRIMTAB_{key}": value for key, value in settings.items()})
        account = f"serviceAccount:trimtab-{name}@acme-ml.iam.gserviceaccount.com"
        for setting in settings:
            for role in SWITCHED[setting][1]:
                project.policies["project"].setdefault(role, set()).add(account)
    project.apis |= {api for setting in settings for api in SWITCHED[setting][0]}


SWITCHED = {
    "PROFILER": (("cloudprofiler.googleapis.com",), ("roles/cloudprofiler.agent",)),
    "TRACE_RATIO": (
        ("cloudtrace.googleapis.com", "telemetry.googleapis.com"),
        ("roles/telemetry.tracesWriter", "roles/serviceusage.serviceUsageConsumer"),
    ),
}


def switched_without(change: Break, **settings: str) -> Break:
    def both(project: GoogleProject) -> None:
        switched(project, **settings)
        change(project)

    return both


def of_a_collector(project: GoogleProject) -> None:
    project.services["ranker"]["template"]["containers"].append({"image": COLLECTOR})
    project.policies["project"].pop("roles/monitoring.metricWriter")


def editor_of_the_folder(project: GoogleProject) -> None:
    project.policies[FOLDER]["roles/editor"] = {f"serviceAccount:{RECONCILE}"}


def of_another_database(project: GoogleProject) -> None:
    project.conditions["project", "projects/acme-ml/roles/trimtabStoreAlert"] = 'resource.name == "projects/acme-ml/databases/other"'


def until_a_day(project: GoogleProject) -> None:
    project.conditions["project", "roles/logging.viewer"] = 'request.time < timestamp("2026-12-24T00:00:00Z")'


def put(part: str, name: str, key: str, value: Any) -> Break:
    def change(project: GoogleProject) -> None:
        item = getattr(project, part)[name]
        *way, last = key.split(".")
        for step in way:
            item = item[step]
        if value is None:
            del item[last]
        else:
            item[last] = value

    return change


def setting(function: str, name: str, value: str | None) -> Break:
    return put("functions", function, f"serviceConfig.environmentVariables.TRIMTAB_{name}", value)


def called_by(member: str) -> Break:
    return lambda project: project.policies["services/trimtab-command"]["roles/run.invoker"].add(member)


def of_an_administrator(project: GoogleProject) -> None:
    policy = project.policies["serviceAccounts/serving@acme-ml.iam.gserviceaccount.com"]
    policy["roles/iam.serviceAccountAdmin"] = policy.pop("roles/iam.serviceAccountUser")


def of_an_editor(project: GoogleProject) -> None:
    on = "serviceAccounts/trimtab-push@acme-ml.iam.gserviceaccount.com"
    project.policies["project"]["roles/editor"] = project.policies[on].pop("roles/iam.serviceAccountOpenIdTokenCreator")


QUEUE_FULL = {
    "name": f"{AT}/alertPolicies/2",
    "displayName": "ranker: batching queue full",
    "userLabels": {"trimtab_service": "ranker", "trimtab_region": "europe-west1", "trimtab_signal": "queue-full"},
    "conditions": [
        {"conditionPrometheusQueryLanguage": {"query": 'sum(rate(:tensorflow:serving:request_count{namespace="ranker"}[1m])) > 0'}}
    ],
}
UNLABELLED = {key: value for key, value in QUEUE_FULL.items() if key != "userLabels"}


def change(part: str, key: str, value: Any) -> Break:
    return lambda project: getattr(project, part).update({key: value})


def of_two_regions(project: GoogleProject) -> None:
    """What an earlier deployment left behind, and a function that is none of Trimtab's."""
    left = copy.deepcopy(project.functions["alert"])
    project.functions["left"] = {**left, "name": f"{AT}/locations/us-central1/functions/trimtab-alert", "state": "FAILED"}
    project.functions["theirs"] = {**left, "name": f"{AT}/locations/asia-east1/functions/thumbnails"}


def run_as(account: str) -> Break:
    return lambda project: project.services["ranker"]["template"].update(serviceAccount=account)


def published_by(topic: str, member: str) -> Break:
    return lambda project: project.policies[f"topics/trimtab-{topic}"]["roles/pubsub.publisher"].add(member)


def on_the_project(role: str, member: str) -> Break:
    return lambda project: project.policies["project"].update({role: {member}})


def of_index(state: str) -> Break:
    return lambda project: project.indexes[0]["indexConfig"]["indexes"][0].update(state=state)


NOWHERE = {
    "enabled": False,
    "conditions": [{"conditionThreshold": {"filter": 'metric.type="run.googleapis.com/container/cpu/utilization"'}}],
}
FAULTS: dict[str, tuple[Break, str, Level, str, str]] = {
    "an API is off": (
        lambda project: project.apis.remove("cloudscheduler.googleapis.com"),
        "api",
        Level.PROBLEM,
        "cloudscheduler.googleapis.com is not enabled",
        "gcloud services enable cloudscheduler.googleapis.com --project=acme-ml",
    ),
    "an account is gone": (
        lambda project: project.accounts.pop("trimtab-audit@acme-ml.iam.gserviceaccount.com"),
        "account",
        Level.PROBLEM,
        "trimtab-audit@acme-ml.iam.gserviceaccount.com is missing",
        "make deploy PROJECT=acme-ml REGION=europe-west1 VARS=THE_FILE_YOU_DEPLOYED_WITH",
    ),
    "an account is disabled": (
        lambda project: project.accounts["trimtab-audit@acme-ml.iam.gserviceaccount.com"].update(disabled=True),
        "account",
        Level.PROBLEM,
        "is disabled",
        "gcloud iam service-accounts enable trimtab-audit@acme-ml.iam.gserviceaccount.com --project=acme-ml",
    ),
    "a function did not deploy": (
        put("functions", "alert", "state", "FAILED"),
        "function",
        Level.PROBLEM,
        "trimtab-alert is FAILED",
        "gcloud functions describe trimtab-alert --region=europe-west1 --project=acme-ml",
    ),
    "a wrong entry point": (
        put("functions", "alert", "buildConfig.entryPoint", "main"),
        "function",
        Level.PROBLEM,
        "entry point 'main'",
        "make deploy",
    ),
    "a function runs as another account": (
        put("functions", "alert", "serviceConfig.serviceAccountEmail", "123-compute@developer.gserviceaccount.com"),
        "function",
        Level.PROBLEM,
        "trimtab-alert runs as 123-compute@developer.gserviceaccount.com",
        "make deploy",
    ),
    "a function listens elsewhere": (
        put("functions", "alert", "serviceConfig.environmentVariables.TRIMTAB_WAKES_TOPIC", "waves"),
        "function",
        Level.PROBLEM,
        "trimtab-alert: TRIMTAB_WAKES_TOPIC is 'waves'",
        "make deploy",
    ),
    "two archives": (
        put("functions", "alert", "buildConfig.source.storageSource.object", "trimtab-ffffffffffffffff.zip"),
        "version",
        Level.PROBLEM,
        "the functions run 2 archives: trimtab-0123456789abcdef.zip, trimtab-ffffffffffffffff.zip",
        "make deploy",
    ),
    "a runtime that is too old": (
        put("functions", "alert", "buildConfig.runtime", "python310"),
        "version",
        Level.PROBLEM,
        "trimtab-alert runs on python310",
        "runtime",
    ),
    "no topic of events": (
        lambda project: project.topics.remove("trimtab-events"),
        "topic",
        Level.PROBLEM,
        "trimtab-events",
        "make deploy",
    ),
    "no dead-letter topic": (
        lambda project: project.topics.remove("trimtab-alerts-dead-letters"),
        "dead-letter",
        Level.PROBLEM,
        "trimtab-alerts-dead-letters is missing",
        "make deploy",
    ),
    "no subscription": (
        lambda project: project.subscriptions.pop("trimtab-alert"),
        "subscription",
        Level.PROBLEM,
        "trimtab-alert is missing",
        "make deploy",
    ),
    "the topic was made anew": (
        put("subscriptions", "trimtab-alert", "topic", "_deleted-topic_"),
        "subscription",
        Level.PROBLEM,
        "trimtab-alert: its topic was deleted",
        "gcloud pubsub subscriptions delete trimtab-alert --project=acme-ml && make deploy",
    ),
    "no token": (
        put("subscriptions", "trimtab-alert", "pushConfig.oidcToken", None),
        "subscription",
        Level.PROBLEM,
        "pushes without a token",
        "make deploy",
    ),
    "pull instead of push": (
        put("subscriptions", "trimtab-alert", "pushConfig", {}),
        "subscription",
        Level.PROBLEM,
        "has no push endpoint",
        "make deploy",
    ),
    "another identity": (
        put("subscriptions", "trimtab-alert", "pushConfig.oidcToken.serviceAccountEmail", "x@acme-ml.iam.gserviceaccount.com"),
        "subscription",
        Level.PROBLEM,
        "pushes as x@acme-ml",
        "make deploy",
    ),
    "a short ack deadline": (
        put("subscriptions", "trimtab-reconcile", "ackDeadlineSeconds", 10),
        "subscription",
        Level.WARNING,
        "the ack deadline is 10 s",
        "gcloud pubsub subscriptions update trimtab-reconcile --ack-deadline=60 --project=acme-ml",
    ),
    "an endpoint that refuses": (
        put("subscriptions", "trimtab-alert", "state", "RESOURCE_ERROR"),
        "subscription",
        Level.PROBLEM,
        "RESOURCE_ERROR",
        "make deploy",
    ),
    "no retry policy": (
        put("subscriptions", "trimtab-alert", "retryPolicy", None),
        "subscription",
        Level.WARNING,
        "no retry policy",
        "--min-retry-delay=10s",
    ),
    "a subscription that expires": (
        put("subscriptions", "trimtab-alert-dead-letters", "expirationPolicy", {"ttl": "2678400s"}),
        "subscription",
        Level.WARNING,
        "trimtab-alert-dead-letters expires",
        "--expiration-period=never",
    ),
    "Pub/Sub's own expiry": (
        put("subscriptions", "trimtab-alert", "expirationPolicy", None),
        "subscription",
        Level.WARNING,
        "trimtab-alert expires",
        "--expiration-period=never",
    ),
    "no dead letters": (
        put("subscriptions", "trimtab-alert", "deadLetterPolicy", None),
        "dead-letter",
        Level.PROBLEM,
        "trimtab-alert has no dead-letter topic",
        "--dead-letter-topic=trimtab-alerts-dead-letters",
    ),
    "dead letters of another": (
        put("subscriptions", "trimtab-alert", "deadLetterPolicy.deadLetterTopic", f"{AT}/topics/other"),
        "dead-letter",
        Level.PROBLEM,
        "trimtab-alert dead-letters to other",
        "--dead-letter-topic=trimtab-alerts-dead-letters",
    ),
    "dead letters that nobody keeps": (
        lambda project: project.subscriptions.pop("trimtab-alert-dead-letters"),
        "dead-letter",
        Level.PROBLEM,
        "trimtab-alert-dead-letters is missing",
        "make deploy",
    ),
    "a kept subscription of another topic": (
        put("subscriptions", "trimtab-alert-dead-letters", "topic", f"{AT}/topics/other"),
        "dead-letter",
        Level.PROBLEM,
        "listens to other",
        "make deploy",
    ),
    "Monitoring may not publish": (
        take("topics/trimtab-alerts", "roles/pubsub.publisher"),
        "grant",
        Level.PROBLEM,
        "gcp-sa-monitoring-notification.iam.gserviceaccount.com lacks roles/pubsub.publisher on the topic trimtab-alerts",
        "gcloud pubsub topics add-iam-policy-binding trimtab-alerts --member=serviceAccount:service-123456789012@gcp-sa-monitoring",
    ),
    "Pub/Sub may not dead-letter": (
        take("topics/trimtab-alerts-dead-letters", "roles/pubsub.publisher"),
        "grant",
        Level.PROBLEM,
        "gcp-sa-pubsub.iam.gserviceaccount.com lacks roles/pubsub.publisher on the topic trimtab-alerts-dead-letters",
        "gcloud pubsub topics add-iam-policy-binding trimtab-alerts-dead-letters",
    ),
    "Pub/Sub may not take off": (
        take("subscriptions/trimtab-alert", "roles/pubsub.subscriber"),
        "grant",
        Level.PROBLEM,
        "lacks roles/pubsub.subscriber on the subscription trimtab-alert",
        "gcloud pubsub subscriptions add-iam-policy-binding trimtab-alert",
    ),
    "Pub/Sub may not call": (
        take("services/trimtab-alert", "roles/run.invoker"),
        "grant",
        Level.PROBLEM,
        "trimtab-push@acme-ml.iam.gserviceaccount.com lacks roles/run.invoker on the function trimtab-alert",
        "gcloud run services add-iam-policy-binding trimtab-alert --region=europe-west1",
    ),
    "reconcile may not read logs": (
        take("project", "roles/logging.viewer"),
        "grant",
        Level.PROBLEM,
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/logging.viewer on the project acme-ml",
        "gcloud projects add-iam-policy-binding acme-ml",
    ),
    "reconcile may not write the service": (
        take("services/ranker", "projects/acme-ml/roles/trimtabRunUpdater"),
        "grant",
        Level.PROBLEM,
        "lacks projects/acme-ml/roles/trimtabRunUpdater on the service acme-ml:europe-west1:ranker",
        "gcloud run services add-iam-policy-binding ranker --region=europe-west1",
    ),
    "reconcile may not act as the account": (
        take("serviceAccounts/serving@acme-ml.iam.gserviceaccount.com", "roles/iam.serviceAccountUser"),
        "grant",
        Level.PROBLEM,
        "lacks roles/iam.serviceAccountUser on the account serving@acme-ml.iam.gserviceaccount.com",
        "gcloud iam service-accounts add-iam-policy-binding serving@acme-ml.iam.gserviceaccount.com",
    ),
    "an editor": (
        lambda project: project.policies["project"].update(
            {"roles/editor": {"serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com"}}
        ),
        "excess",
        Level.PROBLEM,
        "trimtab-alert@acme-ml.iam.gserviceaccount.com has roles/editor on the project",
        "gcloud projects remove-iam-policy-binding acme-ml",
    ),
    "a public function": (
        lambda project: project.policies["services/trimtab-command"]["roles/run.invoker"].add("allUsers"),
        "excess",
        Level.PROBLEM,
        "allUsers may call trimtab-command",
        "gcloud run services remove-iam-policy-binding trimtab-command --region=europe-west1 --member=allUsers",
    ),
    "an administrator of the account, who may not act as it": (
        of_an_administrator,
        "grant",
        Level.PROBLEM,
        "lacks roles/iam.serviceAccountUser on the account serving@acme-ml.iam.gserviceaccount.com",
        "gcloud iam service-accounts add-iam-policy-binding serving@acme-ml.iam.gserviceaccount.com",
    ),
    "an editor, who may not make tokens": (
        of_an_editor,
        "grant",
        Level.PROBLEM,
        "lacks roles/iam.serviceAccountOpenIdTokenCreator on the account trimtab-push@acme-ml.iam.gserviceaccount.com",
        "gcloud iam service-accounts add-iam-policy-binding trimtab-push@acme-ml.iam.gserviceaccount.com",
    ),
    "a setting that there is none of": (
        setting("alert", "WAKE_TOPIC", "x"),
        "setting",
        Level.PROBLEM,
        "trimtab-alert refuses its environment: TRIMTAB_WAKE_TOPIC='x'",
        "make deploy",
    ),
    "no project": (
        setting("alert", "PROJECT", None),
        "setting",
        Level.PROBLEM,
        "trimtab-alert refuses its environment: TRIMTAB_PROJECT is not set",
        "make deploy",
    ),
    "an allow-list that is none": (
        setting("command", "ALLOWED_IMAGES", "a*b"),
        "setting",
        Level.PROBLEM,
        "trimtab-command refuses its environment: TRIMTAB_ALLOWED_IMAGES",
        "make deploy",
    ),
    "an allow-list of one function only": (
        setting("command", "ALLOWED_BUCKETS", "acme-models"),
        "setting",
        Level.PROBLEM,
        "TRIMTAB_ALLOWED_BUCKETS is acme-models for trimtab-command and unset for trimtab-reconcile",
        "make deploy",
    ),
    "grants that are no JSON": (
        setting("command", "COMMAND_GRANTS", "[{'identity'}]"),
        "setting",
        Level.PROBLEM,
        "trimtab-command refuses its environment: TRIMTAB_COMMAND_GRANTS",
        "mend it in terraform.tfvars",
    ),
    "a grant that is none": (
        setting("command", "COMMAND_GRANTS", '[{"identity": "ada", "commands": ["fly"], "services": ["*"]}]'),
        "setting",
        Level.PROBLEM,
        "TRIMTAB_COMMAND_GRANTS: 0.identity: String should match pattern",
        "mend command_grants in terraform.tfvars",
    ),
    "no grants": (
        setting("command", "COMMAND_GRANTS", "[]"),
        "setting",
        Level.WARNING,
        "TRIMTAB_COMMAND_GRANTS names nobody",
        "# in terraform.tfvars, then make deploy PROJECT=acme-ml REGION=europe-west1 VARS=THE_FILE_YOU_DEPLOYED_WITH\ncommand_callers = [",
    ),
    "a grant of a subscription that is not there": (
        setting(
            "command",
            "COMMAND_GRANTS",
            f'[{{"subscription": "{AT}/subscriptions/commands", "commands": ["patch"], "services": ["*"]}}]',
        ),
        "setting",
        Level.WARNING,
        "a grant names the subscription commands, which is not there",
        "mend command_grants in terraform.tfvars",
    ),
    "no account of pushes": (
        setting("command", "PUSH_SERVICE_ACCOUNT", None),
        "setting",
        Level.PROBLEM,
        "trimtab-command: TRIMTAB_PUSH_SERVICE_ACCOUNT is not set",
        "make deploy",
    ),
    "another account of pushes": (
        setting("command", "PUSH_SERVICE_ACCOUNT", "push@acme-ml.iam.gserviceaccount.com"),
        "setting",
        Level.PROBLEM,
        "TRIMTAB_PUSH_SERVICE_ACCOUNT is 'push@acme-ml.iam.gserviceaccount.com'",
        "make deploy",
    ),
    "own changes that count as others'": (
        setting("audit", "OWN_PRINCIPALS", None),
        "setting",
        Level.PROBLEM,
        "TRIMTAB_OWN_PRINCIPALS does not name trimtab-reconcile@acme-ml.iam.gserviceaccount.com",
        "make deploy",
    ),
    "a function that is open to the network": (
        put("functions", "alert", "serviceConfig.ingressSettings", "ALLOW_ALL"),
        "ingress",
        Level.WARNING,
        "trimtab-alert has ingress ALLOW_ALL",
        "make deploy",
    ),
    "a command function that is open without callers": (
        put("functions", "command", "serviceConfig.ingressSettings", "ALLOW_ALL"),
        "ingress",
        Level.WARNING,
        "trimtab-command has ingress ALLOW_ALL",
        "make deploy",
    ),
    "a command function that its callers cannot reach": (
        called_by("user:ada@example.com"),
        "ingress",
        Level.WARNING,
        "trimtab-command has ingress ALLOW_INTERNAL_ONLY, and user:ada@example.com may call it",
        (
            "# in terraform.tfvars, then make deploy PROJECT=acme-ml REGION=europe-west1 VARS=THE_FILE_YOU_DEPLOYED_WITH\n"
            'command_callers = ["user:ada@example.com"]'
        ),
    ),
    "a token for another address": (
        put("subscriptions", "trimtab-alert", "pushConfig.oidcToken.audience", "https://acme.example.com"),
        "subscription",
        Level.PROBLEM,
        "trimtab-alert pushes with a token for https://acme.example.com, and trimtab-alert is at https://trimtab-alert-abc-ew.a.run.app",
        "make deploy",
    ),
    "a push to another address": (
        put("subscriptions", "trimtab-alert", "pushConfig.pushEndpoint", "https://trimtab-audit-abc-ew.a.run.app"),
        "subscription",
        Level.PROBLEM,
        "trimtab-alert pushes to https://trimtab-audit-abc-ew.a.run.app, and trimtab-alert is at",
        "make deploy",
    ),
    "alerts on TF Serving's metrics without a collector": (
        lambda project: project.alert_policies.append(QUEUE_FULL),
        "sidecar",
        Level.WARNING,
        "acme-ml:europe-west1:ranker has no collector beside TF Serving, and alert policies wait for its metrics: queue-full",
        "set serving.metrics_sidecar: true",
    ),
    "the same, of a policy of one's own": (
        lambda project: project.alert_policies.append(UNLABELLED),
        "sidecar",
        Level.WARNING,
        "wait for its metrics: 'ranker: batching queue full'",
        "set serving.metrics_sidecar: true",
    ),
    "no tick": (lambda project: setattr(project, "job", None), "tick", Level.PROBLEM, "trimtab-tick is missing", "make deploy"),
    "a paused tick": (
        change("job", "state", "PAUSED"),
        "tick",
        Level.PROBLEM,
        "trimtab-tick is PAUSED",
        "gcloud scheduler jobs resume trimtab-tick --location=europe-west1 --project=acme-ml",
    ),
    "a tick that fails": (
        change("job", "status", {"code": 7, "message": "PERMISSION_DENIED"}),
        "tick",
        Level.PROBLEM,
        "the last attempt failed: PERMISSION_DENIED (7)",
        "",
    ),
    "a slow tick": (change("job", "schedule", "*/10 * * * *"), "tick", Level.WARNING, "not every minute", "make deploy"),
    "a tick to nobody": (
        change("job", "pubsubTarget", {"topicName": f"{AT}/topics/tocks"}),
        "tick",
        Level.PROBLEM,
        "publishes to tocks",
        "make deploy",
    ),
    "no sink": (lambda project: setattr(project, "sink", None), "sink", Level.PROBLEM, "trimtab-changes is missing", "make deploy"),
    "a disabled sink": (
        change("sink", "disabled", value=True),
        "sink",
        Level.PROBLEM,
        "is disabled",
        "gcloud logging sinks update trimtab-changes --no-disabled --project=acme-ml",
    ),
    "a sink to elsewhere": (
        change("sink", "destination", "storage.googleapis.com/archive"),
        "sink",
        Level.PROBLEM,
        "writes to storage.googleapis.com/archive",
        "make deploy",
    ),
    "a database in Datastore mode": (
        change("database", "type", "DATASTORE_MODE"),
        "database",
        Level.PROBLEM,
        "is in DATASTORE_MODE",
        "",
    ),
    "a pessimistic database": (change("database", "concurrencyMode", "PESSIMISTIC"), "database", Level.WARNING, "PESSIMISTIC", ""),
    "no database": (lambda project: setattr(project, "database", None), "database", Level.PROBLEM, "database is missing", "make deploy"),
    "no time-to-live": (
        lambda project: project.ttl.pop(0),
        "ttl",
        Level.WARNING,
        "facts.expire_at has no time-to-live",
        "gcloud firestore fields ttls update expire_at --collection-group=facts '--database=(default)' --enable-ttl --project=acme-ml",
    ),
    "a time-to-live that failed": (
        lambda project: project.ttl[0].update(ttlConfig={"state": "NEEDS_REPAIR"}),
        "ttl",
        Level.WARNING,
        "facts.expire_at",
        "gcloud",
    ),
    "no index": (lambda project: project.indexes.pop(0), "index", Level.PROBLEM, "state.next_look_at", "make deploy"),
    "too little quota": (
        lambda project: project.quotas[0]["dimensionsInfos"][1]["details"].update(value="3"),
        "quota",
        Level.WARNING,
        "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion in europe-west1 allows 3 GPUs; ranker (max 4) may need 4 GPUs",
        "g.co/cloudrun/gpu-quota",
    ),
    "no quota at all, which Google leaves out": (
        lambda project: project.quotas[1]["dimensionsInfos"][1].update(details={}),
        "quota",
        Level.WARNING,
        "CpuAllocPerProjectRegion in europe-west1 allows 0 vCPU; ranker (max 4) may need 32 vCPU",
        "g.co/cloudrun/gpu-quota",
    ),
    "a quota that is not listed": (
        lambda project: project.quotas.pop(0),
        "quota",
        Level.UNKNOWN,
        "NvidiaL4GpuAllocNoZonalRedundancyPerProjectRegion in europe-west1: not known",
        "",
    ),
    "a metric that Google dropped": (
        lambda project: project.metrics.remove("run.googleapis.com/request_latency/pending"),
        "metric",
        Level.WARNING,
        "no metric run.googleapis.com/request_latency/pending",
        "",
    ),
    "a policy on a metric that does not exist": (
        lambda project: project.alert_policies[0]["conditions"][0]["conditionThreshold"].update(
            filter='metric.type="run.googleapis.com/container/cpu/utilization"'
        ),
        "metric",
        Level.PROBLEM,
        "'ranker p99' watches run.googleapis.com/container/cpu/utilization, which does not exist",
        "run.googleapis.com/container/cpu/utilizations",
    ),
    "Terraform writes the service": (
        lambda project: project.services["ranker"]["labels"].update({"goog-terraform-provisioned": "true"}),
        "owner",
        Level.NOTE,
        "acme-ml:europe-west1:ranker is also written by Terraform (label goog-terraform-provisioned)",
        "ignore_changes = [",
    ),
    "a bucket that tells nothing": (
        lambda project: project.notifications.clear(),
        "bucket",
        Level.PROBLEM,
        "the bucket acme-models does not tell the topic trimtab-model-uploads of uploads",
        "name acme-models in model_buckets of terraform.tfvars, then:\nmake deploy PROJECT=acme-ml REGION=europe-west1",
    ),
    "a bucket that tells another topic": (
        told(topic=f"//pubsub.googleapis.com/{AT}/topics/uploads"),
        "bucket",
        Level.PROBLEM,
        "does not tell the topic trimtab-model-uploads of uploads, only projects/acme-ml/topics/uploads",
        "name acme-models in model_buckets",
    ),
    "a bucket that tells a topic of that name elsewhere": (
        told(topic="//pubsub.googleapis.com/projects/acme-old/topics/trimtab-model-uploads"),
        "bucket",
        Level.PROBLEM,
        "does not tell the topic trimtab-model-uploads of uploads, only projects/acme-old/topics/trimtab-model-uploads",
        "name acme-models in model_buckets",
    ),
    "a bucket that tells of what goes alone": (
        told(event_types=["OBJECT_ARCHIVE", "OBJECT_DELETE"]),
        "bucket",
        Level.PROBLEM,
        "the bucket acme-models does not tell of OBJECT_FINALIZE",
        "name acme-models in model_buckets",
    ),
    "a bucket that tells of what comes alone": (
        told(event_types=["OBJECT_FINALIZE", "OBJECT_ARCHIVE"]),
        "bucket",
        Level.WARNING,
        "the bucket acme-models does not tell of OBJECT_DELETE",
        "name acme-models in model_buckets",
    ),
    "a bucket that tells of another folder": (
        told(object_name_prefix="models/scorer/"),
        "bucket",
        Level.PROBLEM,
        "tells of models/scorer/... alone, and the model of acme-ml:europe-west1:ranker lies in models/ranker",
        "name acme-models in model_buckets",
    ),
    "a bucket that tells without saying what": (
        told(payload_format="NONE"),
        "bucket",
        Level.WARNING,
        "the bucket acme-models tells of uploads with payload NONE",
        "name acme-models in model_buckets",
    ),
    "no bucket": (
        lambda project: project.buckets.clear(),
        "bucket",
        Level.PROBLEM,
        "the bucket acme-models is not there, and the spec of acme-ml:europe-west1:ranker says a model to be there",
        "serving.model.uri",
    ),
    "reconcile may not read the models": (
        take_from(f"buckets/{BUCKET}", "roles/storage.objectViewer", RECONCILE),
        "grant",
        Level.PROBLEM,
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/storage.objectViewer on the bucket acme-models",
        "gcloud storage buckets add-iam-policy-binding gs://acme-models --member=serviceAccount:trimtab-reconcile@acme-ml",
    ),
    "the served service may not load its model": (
        take_from(f"buckets/{BUCKET}", "roles/storage.objectViewer", SERVING),
        "grant",
        Level.PROBLEM,
        "serving@acme-ml.iam.gserviceaccount.com lacks roles/storage.objectViewer on the bucket acme-models",
        "gcloud storage buckets add-iam-policy-binding gs://acme-models --member=serviceAccount:serving@acme-ml.iam.gserviceaccount.com",
    ),
    "Cloud Storage may not publish": (
        take_from(
            "topics/trimtab-model-uploads", "roles/pubsub.publisher", "service-123456789012@gs-project-accounts.iam.gserviceaccount.com"
        ),
        "grant",
        Level.PROBLEM,
        "service-123456789012@gs-project-accounts.iam.gserviceaccount.com lacks roles/pubsub.publisher on the topic trimtab-model-uploads",
        "gcloud pubsub topics add-iam-policy-binding trimtab-model-uploads",
    ),
    "reconcile may not read the image": (
        take("repositories/serving", "roles/artifactregistry.reader"),
        "grant",
        Level.PROBLEM,
        "lacks roles/artifactregistry.reader on the repository europe-west1-docker.pkg.dev/acme-ml/serving",
        "gcloud artifacts repositories add-iam-policy-binding serving --location=europe-west1",
    ),
    "the build may not keep images": (
        take("repositories/trimtab", "roles/artifactregistry.writer"),
        "grant",
        Level.PROBLEM,
        "trimtab-build@acme-ml.iam.gserviceaccount.com lacks roles/artifactregistry.writer on the repository europe-west1-docker.pkg.dev/",
        "gcloud artifacts repositories add-iam-policy-binding trimtab --location=europe-west1",
    ),
    "a collector that may not write": (
        of_a_collector,
        "grant",
        Level.PROBLEM,
        "serving@acme-ml.iam.gserviceaccount.com lacks roles/monitoring.metricWriter on the project acme-ml",
        "gcloud projects add-iam-policy-binding acme-ml --member=serviceAccount:serving@acme-ml.iam.gserviceaccount.com",
    ),
    "a store's role for another database": (
        of_another_database,
        "grant",
        Level.PROBLEM,
        "trimtab-alert@acme-ml.iam.gserviceaccount.com lacks projects/acme-ml/roles/trimtabStoreAlert on the project acme-ml",
        """'--condition=expression=resource.name == "projects/acme-ml/databases/(default)",title=trimtab-database'""",
    ),
    "a role until a day": (
        until_a_day,
        "grant",
        Level.UNKNOWN,
        "has roles/logging.viewer on the project acme-ml under a condition alone: request.time < timestamp(",
        "--role=roles/logging.viewer --condition=None --project=acme-ml",
    ),
    "an editor by the folder": (
        editor_of_the_folder,
        "excess",
        Level.PROBLEM,
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com has roles/editor on folders/456",
        "gcloud resource-manager folders remove-iam-policy-binding 456",
    ),
    "the profiler on and its API off": (
        switched_without(lambda project: project.apis.remove("cloudprofiler.googleapis.com"), PROFILER="true"),
        "api",
        Level.PROBLEM,
        "cloudprofiler.googleapis.com is not enabled",
        "gcloud services enable cloudprofiler.googleapis.com --project=acme-ml",
    ),
    "traces on and an API off": (
        switched_without(lambda project: project.apis.remove("telemetry.googleapis.com"), TRACE_RATIO="0.05"),
        "api",
        Level.PROBLEM,
        "telemetry.googleapis.com is not enabled",
        "gcloud services enable telemetry.googleapis.com --project=acme-ml",
    ),
    "the profiler on and a function may not upload": (
        switched_without(take_from("project", "roles/cloudprofiler.agent", "trimtab-alert@acme-ml.iam.gserviceaccount.com"), PROFILER="1"),
        "grant",
        Level.PROBLEM,
        "trimtab-alert@acme-ml.iam.gserviceaccount.com lacks roles/cloudprofiler.agent on the project acme-ml",
        "gcloud projects add-iam-policy-binding acme-ml --member=serviceAccount:trimtab-alert@acme-ml.iam.gserviceaccount.com",
    ),
    "traces on and a function may not send them": (
        switched_without(take_from("project", "roles/telemetry.tracesWriter", RECONCILE), TRACE_RATIO="1"),
        "grant",
        Level.PROBLEM,
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/telemetry.tracesWriter on the project acme-ml",
        "--role=roles/telemetry.tracesWriter",
    ),
    "traces on and not paid for": (
        switched_without(take_from("project", "roles/serviceusage.serviceUsageConsumer", RECONCILE), TRACE_RATIO="1"),
        "grant",
        Level.PROBLEM,
        "trimtab-reconcile@acme-ml.iam.gserviceaccount.com lacks roles/serviceusage.serviceUsageConsumer on the project acme-ml",
        "--role=roles/serviceusage.serviceUsageConsumer",
    ),
    "the profiler on for all but one": (
        switched_without(setting("audit", "PROFILER", "false"), PROFILER="true"),
        "setting",
        Level.WARNING,
        "off for trimtab-audit",
        "make deploy",
    ),
    "traces of another share": (
        switched_without(setting("schedule", "TRACE_RATIO", "0.5"), TRACE_RATIO="0.05"),
        "setting",
        Level.WARNING,
        "TRIMTAB_TRACE_RATIO is 0.5 for trimtab-schedule; 0.05 for trimtab-alert,",
        "make deploy",
    ),
    "a sink to a topic of that name elsewhere": (
        change("sink", "destination", "pubsub.googleapis.com/projects/acme-old/topics/trimtab-changes"),
        "sink",
        Level.PROBLEM,
        "writes to pubsub.googleapis.com/projects/acme-old/topics/trimtab-changes, not to the topic trimtab-changes",
        "make deploy",
    ),
    "a spec of nothing": (
        lambda project: project.specs.update({"acme-ml:europe-west1:gone": None}),
        "service",
        Level.PROBLEM,
        "acme-ml:europe-west1:gone is not there",
        "",
    ),
    "a function of Trimtab's in another region": (
        of_two_regions,
        "function",
        Level.WARNING,
        "there is another function trimtab-alert in us-central1, and Trimtab is in europe-west1",
        "where it is not this one: gcloud functions delete trimtab-alert --region=us-central1 --project=acme-ml",
    ),
    "a function that is being deployed": (
        put("functions", "alert", "state", "DEPLOYING"),
        "function",
        Level.UNKNOWN,
        "the function trimtab-alert is DEPLOYING",
        "wait some minutes, and run it again",
    ),
    "no account of builds": (
        lambda project: project.accounts.pop("trimtab-build@acme-ml.iam.gserviceaccount.com"),
        "account",
        Level.WARNING,
        "trimtab-build@acme-ml.iam.gserviceaccount.com is missing",
        "make deploy",
    ),
    "an account of builds that is disabled": (
        lambda project: project.accounts["trimtab-build@acme-ml.iam.gserviceaccount.com"].update(disabled=True),
        "account",
        Level.WARNING,
        "trimtab-build@acme-ml.iam.gserviceaccount.com is disabled",
        "gcloud iam service-accounts enable",
    ),
    "a service that runs as Compute Engine's account": (
        run_as("123456789012-compute@developer.gserviceaccount.com"),
        "service",
        Level.PROBLEM,
        "acme-ml:europe-west1:ranker runs as 123456789012-compute@developer.gserviceaccount.com",
        "give it an account of its own",
    ),
    "a service that runs as App Engine's account": (
        run_as("acme-ml@appspot.gserviceaccount.com"),
        "service",
        Level.PROBLEM,
        "runs as acme-ml@appspot.gserviceaccount.com",
        "gcloud run services update ranker --region=europe-west1 --service-account=ACCOUNT --project=acme-ml",
    ),
    "a service that names no account": (
        run_as(""),
        "service",
        Level.PROBLEM,
        "runs as no account of its own, and so as the default one of Compute Engine",
        "give it an account of its own",
    ),
    "anybody may publish commands": (
        published_by("commands", "allAuthenticatedUsers"),
        "excess",
        Level.PROBLEM,
        "allAuthenticatedUsers may publish to trimtab-commands",
        "gcloud pubsub topics remove-iam-policy-binding trimtab-commands --member=allAuthenticatedUsers --role=roles/pubsub.publisher",
    ),
    "somebody may publish commands": (
        published_by("commands", "serviceAccount:ci@acme-ml.iam.gserviceaccount.com"),
        "excess",
        Level.WARNING,
        "serviceAccount:ci@acme-ml.iam.gserviceaccount.com may publish to trimtab-commands",
        "gcloud pubsub topics remove-iam-policy-binding trimtab-commands",
    ),
    "somebody may publish alerts": (
        published_by("alerts", "user:eve@example.com"),
        "excess",
        Level.WARNING,
        "user:eve@example.com may publish to trimtab-alerts",
        "gcloud pubsub topics remove-iam-policy-binding trimtab-alerts",
    ),
    "anybody may publish dead letters": (
        published_by("alerts-dead-letters", "allUsers"),
        "excess",
        Level.PROBLEM,
        "allUsers may publish to trimtab-alerts-dead-letters",
        "gcloud pubsub topics remove-iam-policy-binding trimtab-alerts-dead-letters",
    ),
    "anybody may call whatever the project has": (
        on_the_project("roles/run.invoker", "allAuthenticatedUsers"),
        "excess",
        Level.PROBLEM,
        "allAuthenticatedUsers may call every function of the project (roles/run.invoker)",
        "gcloud projects remove-iam-policy-binding acme-ml --member=allAuthenticatedUsers --role=roles/run.invoker",
    ),
    "somebody may publish to whatever the project has": (
        on_the_project("roles/pubsub.publisher", "user:eve@example.com"),
        "excess",
        Level.WARNING,
        "user:eve@example.com may publish to every topic of the project",
        "gcloud projects remove-iam-policy-binding acme-ml",
    ),
    "somebody may call a function": (
        lambda project: project.policies["services/trimtab-alert"]["roles/run.invoker"].add("user:eve@example.com"),
        "excess",
        Level.PROBLEM,
        "user:eve@example.com may call trimtab-alert",
        "gcloud run services remove-iam-policy-binding trimtab-alert --region=europe-west1 --member=user:eve@example.com",
    ),
    "a function of another database": (
        setting("alert", "FIRESTORE_DATABASE", "other"),
        "setting",
        Level.PROBLEM,
        "trimtab-alert: TRIMTAB_FIRESTORE_DATABASE is 'other', and the database looked at is '(default)'",
        "make deploy",
    ),
    "a topic of that name elsewhere": (
        put("subscriptions", "trimtab-alert", "topic", "projects/acme-old/topics/trimtab-alerts"),
        "subscription",
        Level.PROBLEM,
        "it listens to projects/acme-old/topics/trimtab-alerts, not to trimtab-alerts",
        "make deploy",
    ),
    "dead letters to a topic of that name elsewhere": (
        put("subscriptions", "trimtab-alert", "deadLetterPolicy.deadLetterTopic", "projects/acme-old/topics/trimtab-alerts-dead-letters"),
        "dead-letter",
        Level.PROBLEM,
        "dead-letters to projects/acme-old/topics/trimtab-alerts-dead-letters, not to trimtab-alerts-dead-letters",
        "--dead-letter-topic=trimtab-alerts-dead-letters",
    ),
    "a tick to a topic of that name elsewhere": (
        change("job", "pubsubTarget", {"topicName": "projects/acme-old/topics/trimtab-ticks"}),
        "tick",
        Level.PROBLEM,
        "publishes to projects/acme-old/topics/trimtab-ticks, not to trimtab-ticks",
        "make deploy",
    ),
    "a subscription with a filter": (
        put("subscriptions", "trimtab-alert", "filter", 'attributes.team="search"'),
        "subscription",
        Level.PROBLEM,
        'trimtab-alert takes only messages with attributes.team="search"',
        "gcloud pubsub subscriptions delete trimtab-alert --project=acme-ml && make deploy",
    ),
    "a detached subscription": (
        put("subscriptions", "trimtab-alert", "detached", value=True),
        "subscription",
        Level.PROBLEM,
        "trimtab-alert is detached from its topic",
        "gcloud pubsub subscriptions delete trimtab-alert",
    ),
    "a retry policy that hurries": (
        put("subscriptions", "trimtab-alert", "retryPolicy", {"minimumBackoff": "0s", "maximumBackoff": "0.100s"}),
        "subscription",
        Level.WARNING,
        "trimtab-alert waits 0.1 s at most",
        "--max-retry-delay=600s",
    ),
    "a push without a wrapper": (
        put("subscriptions", "trimtab-alert", "pushConfig.noWrapper", {}),
        "subscription",
        Level.PROBLEM,
        "trimtab-alert pushes without Pub/Sub's wrapper",
        "make deploy",
    ),
    "a function that may take longer than its subscription waits": (
        put("functions", "alert", "serviceConfig.timeoutSeconds", 540),
        "subscription",
        Level.WARNING,
        "trimtab-alert waits 60 s for an answer, and the function may take 540 s",
        "make deploy",
    ),
    "dead letters that are kept for ten minutes": (
        put("subscriptions", "trimtab-alert-dead-letters", "messageRetentionDuration", "600s"),
        "dead-letter",
        Level.WARNING,
        "trimtab-alert-dead-letters keeps dead letters for 10 minutes",
        "--message-retention-duration=31d",
    ),
    "dead letters that are pushed away": (
        put("subscriptions", "trimtab-alert-dead-letters", "pushConfig", {"pushEndpoint": "https://acme.example.com"}),
        "dead-letter",
        Level.WARNING,
        "trimtab-alert-dead-letters pushes to https://acme.example.com",
        "gcloud pubsub subscriptions update trimtab-alert-dead-letters --push-endpoint=",
    ),
    "dead letters with a filter": (
        put("subscriptions", "trimtab-alert-dead-letters", "filter", "attributes:team"),
        "dead-letter",
        Level.PROBLEM,
        "trimtab-alert-dead-letters takes only messages with attributes:team",
        "gcloud pubsub subscriptions delete trimtab-alert-dead-letters",
    ),
    "a sink of something else": (
        change("sink", "filter", 'resource.type="gce_instance"'),
        "sink",
        Level.WARNING,
        'trimtab-changes has another filter than the module served-project gives it: resource.type="gce_instance"',
        "make deploy",
    ),
    "a sink that leaves something out": (
        change("sink", "exclusions", [{"name": "deletes", "filter": "Delete"}, {"name": "old", "disabled": True}]),
        "sink",
        Level.WARNING,
        "trimtab-changes leaves out deletes",
        "gcloud logging sinks update trimtab-changes --remove-exclusions=deletes --project=acme-ml",
    ),
    "an index that is being built": (
        of_index("CREATING"),
        "index",
        Level.UNKNOWN,
        "state.next_look_at: its index over all collections is CREATING",
        "wait until it is built",
    ),
    "an index that failed": (
        of_index("NEEDS_REPAIR"),
        "index",
        Level.PROBLEM,
        "state.next_look_at: its index over all collections is NEEDS_REPAIR",
        "gcloud firestore indexes fields describe next_look_at --collection-group=state '--database=(default)' --project=acme-ml",
    ),
    "a tick that ended long ago": (
        change("job", "lastAttemptTime", "2026-11-01T03:00:00.123456789Z"),
        "tick",
        Level.PROBLEM,
        "trimtab-tick: the last attempt was ",
        "gcloud scheduler jobs describe trimtab-tick --location=europe-west1 --project=acme-ml",
    ),
    "a disabled policy on a metric that does not exist": (
        lambda project: project.alert_policies[0].update(NOWHERE),
        "metric",
        Level.WARNING,
        "'ranker p99' watches run.googleapis.com/container/cpu/utilization, which does not exist",
        "run.googleapis.com/container/cpu/utilizations",
    ),
}
"""What it is: how it is done, the check that finds it, how bad it is, what is said, what mends it."""
