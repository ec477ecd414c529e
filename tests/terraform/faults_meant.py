"""Faults to plant in copies of the modules that leave every name as it is: references, order, limits, whom something tells."""

from tests.terraform.faults import Seen
from tests.terraform.plans import Edit

FUNCTION = "modules/function/main.tf"
ACCESS = "modules/control-plane/access.tf"
FUNCTIONS = "modules/control-plane/functions.tf"
FIRESTORE = "modules/control-plane/firestore.tf"
TRIGGER = "modules/function/trigger.tf"
CONTROL = "modules/control-plane/main.tf"
PROJECT = "modules/served-project/main.tf"
MODEL = "modules/served-model/main.tf"
BUCKETS = "modules/served-project/buckets.tf"
SERVED = "modules/alerts/main.tf"
OWN = "modules/control-plane/alerts.tf"
LINES = "modules/control-plane/log_metrics.tf"
ROOT_MODULE = "main.tf"
ARCHIVE = "modules/control-plane/archive.tf"

MEANT = {
    "an audience that is another's": Seen(
        Edit(
            TRIGGER,
            "audience              = google_cloudfunctions2_function.main.service_config[0].uri",
            'audience = "https://example.com"',
        ),
        "push: its audience is not",
    ),
    "an endpoint that is another's": Seen(
        Edit(
            TRIGGER, "push_endpoint = google_cloudfunctions2_function.main.service_config[0].uri", 'push_endpoint = "https://example.com"'
        ),
        "push: its endpoint is not",
    ),
    "a sink without what Trimtab does left out": Seen(
        Edit(PROJECT, '    "NOT protoPayload.authenticationInfo.principalEmail=\\"${var.control_plane.reconcile_account}\\"",\n', ""),
        "sink: does not ask for NOT protoPayload.authenticationInfo",
    ),
    "a sink that hears Trimtab itself": Seen(
        Edit(PROJECT, '"NOT protoPayload.authenticationInfo.principalEmail', '"protoPayload.authenticationInfo.principalEmail'),
        "sink: asks for protoPayload.authenticationInfo.principalEmail=",
    ),
    "a sink of another kind of resource": Seen(
        Edit(PROJECT, '(\\"cloud_run_service\\" OR \\"cloud_run_revision\\")', '\\"cloud_run_job\\"'),
        'sink: asks for resource.type="cloud_run_job"',
    ),
    "alerts of models to another channel": Seen(
        Edit(SERVED, "= var.notification_channels", '= ["projects/acme-ml/notificationChannels/9"]'),
        "alerts: another channel than they are given",
    ),
    "alerts of models past Trimtab": Seen(
        Edit(
            ROOT_MODULE,
            "concat([module.served_project.notification_channel], each.value.notification_channels)",
            'concat(["projects/acme-ml/notificationChannels/9"], each.value.notification_channels)',
        ),
        "alerts: Trimtab's channel is not among those",
    ),
    "an end of an alert that nobody hears": Seen(
        Edit(SERVED, 'notification_prompts = ["OPENED", "CLOSED"]', 'notification_prompts = ["OPENED"]'),
        "alerts of ranker: no-instance tells of ['OPENED'], want",
    ),
    "a metric that must be there before anybody wrote it": Seen(
        Edit(SERVED, "disable_metric_validation = true", "disable_metric_validation = false"),
        "alerts of scorer: queue-full is refused before its metric was first written",
    ),
    "an updater in another region": Seen(
        Edit(
            MODEL,
            "  location = var.region\n  name     = var.service\n  role     = var.project.updater_role",
            '  location = "asia-east1"\n  name     = var.service\n  role     = var.project.updater_role',
        ),
        "role='projects/acme-ml/roles/trimtabRunUpdater', on='service asia-east1/ranker'",
    ),
    "an invoker in another region": Seen(
        Edit(
            MODEL,
            '  location = var.region\n  name     = var.service\n  role     = "roles/run.invoker"',
            '  location = "asia-east1"\n  name     = var.service\n  role     = "roles/run.invoker"',
        ),
        "role='roles/run.invoker', on='service asia-east1/ranker'",
    ),
    "pushes in another region": Seen(
        Edit(
            FUNCTION,
            "  location = var.region\n  name     = google_cloudfunctions2",
            '  location = "asia-east1"\n  name     = google_cloudfunctions2',
        ),
        "roles: missing: Granted(member='serviceAccount:trimtab-push@acme-ml.iam.gserviceaccount.com', role='roles/run.invoker', "
        "on='service europe-west1/trimtab-upload'",
    ),
    "alerts of models in another region": Seen(
        Edit(ROOT_MODULE, "  region                = each.value.region\n", "  region                = var.region\n"),
        "alerts of scorer: no-data asks for resource.type",
    ),
    "log lines of services that are none": Seen(
        Edit(LINES, '"\\"trimtab-${name}\\""', '"\\"trimtab_${name}\\""'), 'service_name=("trimtab_alert" OR'
    ),
    "log lines of another resource": Seen(
        Edit(LINES, 'resource.type=\\"cloud_run_revision\\"', 'resource.type=\\"cloud_function\\"'),
        'counts lines of resource.type="cloud_function"',
    ),
    "alerts when all is well": Seen(
        Edit(OWN, 'comparison      = "COMPARISON_GT"', 'comparison      = "COMPARISON_LT"'),
        "alerts: bugs: has COMPARISON_LT, want COMPARISON_GT",
    ),
    "a hundred dead letters before anybody hears": Seen(
        Edit(OWN, "      threshold  = 0\n      duration_s = 300", "      threshold  = 100\n      duration_s = 300"),
        "alerts: dead letters: has 100, want 0",
    ),
    "waiting messages that are the dead ones": Seen(
        Edit(OWN, "for name in local.subscriptions : ", "for name in local.dead_letter_subscriptions : "),
        'alerts: messages wait: has resource.type="pubsub_subscription" AND resource.labels.subscription_id=one_of("trimtab-alert-dead',
    ),
    "own alerts to somebody else": Seen(
        Edit(
            OWN,
            '  severity              = "ERROR"\n  notification_channels = var.notification_channels',
            '  severity              = "ERROR"\n  notification_channels = ["projects/x/notificationChannels/9"]',
        ),
        "alerts: Trimtab: no tick: tells ['projects/x/notificationChannels/9']",
    ),
    "live models deleted after a month": Seen(
        Edit(BUCKETS, "days_since_noncurrent_time = 30", "age = 30"), "live models are deleted: {'age': 30}"
    ),
    "deleted models that are gone": Seen(
        Edit(BUCKETS, "retention_duration_seconds = 604800", "retention_duration_seconds = 0"), "what is deleted is gone"
    ),
    "a database that goes with Trimtab": Seen(
        Edit(FIRESTORE, '? "ABANDON" : "DELETE"', '? "DELETE" : "DELETE"'), "database: may be lost: ('DELETE'"
    ),
    "APIs that go with Trimtab": Seen(
        Edit(CONTROL, "disable_on_destroy = false", "disable_on_destroy = true"), "is switched off when Trimtab goes"
    ),
    "an API that is not switched on": Seen(
        Edit(CONTROL, '    "serviceusage.googleapis.com",\n', ""), "APIs: serviceusage.googleapis.com is needed and stays off"
    ),
    "a clock that stands": Seen(Edit(CONTROL, "paused      = false", "paused      = true"), "tick: its job is paused"),
    "limits that the command function does not know": Seen(
        Edit(FUNCTIONS, "command = merge(local.allowed, {", "command = merge({}, {"), "command: lets specs name {}, want"
    ),
    "limits that reconcile does not know": Seen(
        Edit(FUNCTIONS, "reconcile = local.allowed", "reconcile = {}"), "reconcile: lets specs name {}, want"
    ),
    "a builder that reads every bucket": Seen(
        Edit(ACCESS, "gcf-v2-sources-${local.project_number}-", ""), "condition='resource.name.startsWith(\"projects/_/buckets/\")'"
    ),
    "a command function that its callers do not reach": Seen(
        Edit(FUNCTIONS, '? "ALLOW_ALL" : "ALLOW_INTERNAL_ONLY"', '? "ALLOW_INTERNAL_ONLY" : "ALLOW_INTERNAL_ONLY"'),
        "trimtab-command: lets in ALLOW_INTERNAL_ONLY, want ALLOW_ALL",
    ),
    "dead letters for ten minutes": Seen(
        Edit(TRIGGER, '"${each.value.dead_letter_retention_seconds}s"', '"600s"'), "trimtab-audit: its dead letters are kept for 600s"
    ),
    "an alert that is given up at once": Seen(
        Edit(
            FUNCTIONS,
            'of Cloud Monitoring become facts."\n      message_retention_seconds = 604800\n      max_delivery_attempts     = 30',
            'of Cloud Monitoring become facts."\n      message_retention_seconds = 604800\n      max_delivery_attempts     = 5',
        ),
        "trimtab-alert: is given up after 5 deliveries, want 20 to 100",
    ),
    "ten seconds for a look": Seen(
        Edit(FUNCTION, "timeout_seconds                  = var.timeout_seconds", "timeout_seconds                  = 10"),
        "trimtab-reconcile: is stopped after 10 s, want 60",
    ),
    "memory that Python does not fit in": Seen(
        Edit(FUNCTION, "available_memory                 = var.memory", 'available_memory                 = "128Mi"'),
        "trimtab-reconcile: has 128Mi of memory, want 512 MiB",
    ),
    "a sixth of a processor": Seen(
        Edit(FUNCTION, "available_cpu                    = var.cpu", 'available_cpu                    = "0.17"'),
        "trimtab-alert: Cloud Run takes several requests at a time with one CPU or more, not 0.17",
    ),
    "a new revision without traffic": Seen(
        Edit(FUNCTION, "all_traffic_on_latest_revision   = true", "all_traffic_on_latest_revision   = false"),
        "trimtab-upload: what is deployed gets no traffic",
    ),
    "a bucket that could be opened": Seen(
        Edit(ARCHIVE, 'public_access_prevention    = "enforced"', 'public_access_prevention    = "inherited"'),
        "google_storage_bucket.archive: could be opened to everybody",
    ),
    "a bucket of models that could be opened": Seen(
        Edit(BUCKETS, 'public_access_prevention    = "enforced"', 'public_access_prevention    = "inherited"'),
        'google_storage_bucket.models["acme-new-models"]: could be opened to everybody',
    ),
    "notifications before their right": Seen(
        Edit(BUCKETS, "  depends_on = [google_pubsub_topic_iam_member.storage_publisher]\n", ""),
        "uploads: may be made before google_pubsub_topic_iam_member.storage_publisher",
    ),
    "a build before its rights": Seen(
        Edit(FUNCTIONS, "    google_project_iam_member.build_source_reader,\n", ""),
        "functions: may be built before google_project_iam_member.build_source_reader",
    ),
    "a grant to an agent before its topic": Seen(
        Edit(ACCESS, "  depends_on = [google_pubsub_topic.events]\n", ""), "push_token: may be made before google_pubsub_topic.events"
    ),
    "an agent that is nobody's": Seen(
        Edit(BUCKETS, "= data.google_storage_project_service_account.main[each.key].member", '= "serviceAccount:x@example.com"'),
        "roles: not in the list: Granted(member='serviceAccount:x@example.com'",
    ),
    "a chart at zero": Seen(
        Edit("modules/dashboard/main.tf", ": side => place if place > 0", ": side => place"), "dashboard: holds a zero or an empty list"
    ),
    "a right that each model takes along": Seen(
        Edit(
            MODEL,
            'resource "google_cloud_run_v2_service_iam_member" "updater" {',
            'resource "google_project_iam_member" "logs" {\n  project = var.project.project_id\n  role    = "roles/logging.viewer"\n'
            '  member  = local.reconcile\n}\n\nresource "google_cloud_run_v2_service_iam_member" "updater" {',
        ),
        "roles: granted twice: google_project_iam_member",
    ),
}
"""What refers to something else, what comes first, who is told, what is kept."""
