"""Faults to plant in copies of the modules: what Terraform itself refuses, and names, places and amounts that only the contract sees."""

from typing import NamedTuple

from tests.terraform.plans import Edit

FUNCTION = "modules/function/main.tf"
ACCESS = "modules/control-plane/access.tf"
FUNCTIONS = "modules/control-plane/functions.tf"
FIRESTORE = "modules/control-plane/firestore.tf"
TRIGGER = "modules/function/trigger.tf"
CONTROL = "modules/control-plane/main.tf"
PROJECT = "modules/served-project/main.tf"
MODEL = "modules/served-model/main.tf"
SERVING = "modules/served-project/serving.tf"
LINES = "modules/control-plane/log_metrics.tf"


class Refused(NamedTuple):
    """A fault that Terraform refuses, and a word of its refusal."""

    folder: str
    edit: Edit
    word: str


class Seen(NamedTuple):
    """A fault that only the contract sees, and the problem that names it."""

    edit: Edit
    problem: str


REFUSED = {
    "an attribute that the provider does not have": Refused(
        "modules/function", Edit(FUNCTION, "timeout_seconds  ", "timeout_in_seconds  "), "timeout_in_seconds"
    ),
    "a block that the provider does not have": Refused(
        "modules/function", Edit(TRIGGER, "  dead_letter_policy {", "  dead_letters {"), "dead_letters"
    ),
    "a required attribute left out": Refused(
        "modules/served-project", Edit("modules/served-project/buckets.tf", '  payload_format     = "JSON_API_V1"\n', ""), "payload_format"
    ),
    "a computed attribute that is set": Refused(
        "modules/served-project",
        Edit(PROJECT, "  unique_writer_identity = true", '  unique_writer_identity = true\n  writer_identity = "x"'),
        "writer_identity",
    ),
    "a value outside an enumeration": Refused("modules/control-plane", Edit(FIRESTORE, '"OPTIMISTIC"', '"HOPEFUL"'), "concurrency_mode"),
    "an ack deadline that Pub/Sub refuses": Refused(
        "modules/function", Edit(TRIGGER, "  ack_deadline_seconds       = 60", "  ack_deadline_seconds       = 5"), "ack_deadline_seconds"
    ),
    "a schedule that is none": Refused("modules/control-plane", Edit(CONTROL, '"* * * * *"', '"minutely"'), "schedule"),
    "a reference to nothing": Refused(
        "modules/served-project",
        Edit(SERVING, "google_service_account.serving[name].email", "google_service_account.server[name].email"),
        "server",
    ),
    "an output that another module lacks": Refused(
        ".", Edit("modules/control-plane/outputs.tf", 'output "events_topic"', 'output "event_topic"'), "events_topic"
    ),
    "a version of the provider that there is not": Refused(
        "modules/alerts", Edit("modules/alerts/versions.tf", ">= 6.50, < 9.0", ">= 99.0"), "99.0"
    ),
}


NAMED = {
    "a wrong entry point": Seen(
        Edit(FUNCTIONS, "entry_point = each.key", 'entry_point = each.key == "audit" ? "audits" : each.key'),
        "audit: functions/audit/main.py defines no function audits",
    ),
    "a wrong source file": Seen(
        Edit(FUNCTIONS, 'source_file = "fn_${each.key}.py"', 'source_file = each.key == "audit" ? "main.py" : "fn_${each.key}.py"'),
        "audit: GOOGLE_FUNCTION_SOURCE is main.py",
    ),
    "a wrong environment name": Seen(
        Edit(FUNCTIONS, "TRIMTAB_OWN_PRINCIPALS = ", "TRIMTAB_OWN_PRINCIPLES = "),
        "audit: settings: TRIMTAB_OWN_PRINCIPLES",
    ),
    "a topic that is another in the environment": Seen(
        Edit(FUNCTIONS, "TRIMTAB_UPLOADS_TOPIC      = local.topics.upload", "TRIMTAB_UPLOADS_TOPIC      = local.topics.command"),
        "publishes to trimtab-commands for upload, which listens to trimtab-model-uploads",
    ),
    "a variable that nobody reads": Seen(
        Edit(
            FUNCTIONS,
            "    TRIMTAB_PROJECT            = var.project_id",
            "    PROJECT = var.project_id\n    TRIMTAB_PROJECT = var.project_id",
        ),
        "nobody reads ['PROJECT']",
    ),
    "threads that are fewer than requests": Seen(
        Edit(FUNCTION, "THREADS         = tostring(var.concurrency)", 'THREADS = "1"'), "THREADS is not"
    ),
    "dead letters that nobody keeps": Seen(
        Edit(
            TRIGGER,
            '  topic                      = "projects/${var.project_id}/topics/${google_pubsub_topic.dead_letters[each.key].name}"',
            '  topic                      = "projects/${var.project_id}/topics/${google_pubsub_topic.main[each.key].name}"',
        ),
        "trimtab-upload: nobody keeps its dead letters",
    ),
    "dead letters of another function": Seen(
        Edit(
            TRIGGER,
            'dead_letter_topic     = "projects/${var.project_id}/topics/${google_pubsub_topic.dead_letters[each.key].name}"',
            'dead_letter_topic     = "projects/${var.project_id}/topics/${google_pubsub_topic.main[each.key].name}"',
        ),
        "its dead letters go to trimtab-alerts, want trimtab-alerts-dead-letters",
    ),
    "a missing grant of Pub/Sub's agent": Seen(
        Edit(
            TRIGGER,
            '  role    = "roles/pubsub.publisher"\n  member  = "serviceAccount:${each.value.pubsub_agent_email}"',
            '  role    = "roles/pubsub.viewer"\n  member  = "serviceAccount:${each.value.pubsub_agent_email}"',
        ),
        "roles: missing: Granted(member='serviceAccount:service-123456789012@gcp-sa-pubsub.iam.gserviceaccount.com', "
        "role='roles/pubsub.publisher', on='topic trimtab-alerts-dead-letters'",
    ),
    "a subscription that expires": Seen(
        Edit(TRIGGER, '    ttl = "" # never: an idle subscription would be deleted after 31 days', '    ttl = "2678400s"'),
        "trimtab-alert: expires when nothing comes for 31 days",
    ),
    "a retry that hurries": Seen(Edit(TRIGGER, 'minimum_backoff = "10s"', 'minimum_backoff = "0s"'), "want 10s to 600s"),
    "pushes as another account": Seen(
        Edit(
            FUNCTIONS,
            "    push_service_account_email = google_service_account.push.email",
            "    push_service_account_email = google_service_account.build.email",
        ),
        "trimtab-alert: pushes as trimtab-build@",
    ),
    "an editor": Seen(
        Edit(ACCESS, '  role    = "roles/logging.logWriter"', '  role    = "roles/editor"'),
        "build_log_writer: roles/editor is too wide",
    ),
    "everybody may call": Seen(
        Edit(
            MODEL,
            '  role     = "roles/run.invoker"\n  member   = local.reconcile',
            '  role     = "roles/run.invoker"\n  member   = "allUsers"',
        ),
        'module.served_model["ranker"].google_cloud_run_v2_service_iam_member.prober: everybody has roles/run.invoker',
    ),
    "the account of a neighbour": Seen(
        Edit(
            FUNCTIONS,
            "service_account_email = google_service_account.function[each.key].email",
            'service_account_email = google_service_account.function["reconcile"].email',
        ),
        "want each as itself",
    ),
    "a right to act as every account": Seen(
        Edit(PROJECT, '  role    = "roles/logging.viewer"', '  role    = "roles/iam.serviceAccountUser"'),
        "roles: not in the list: Granted(member='serviceAccount:trimtab-reconcile@acme-ml.iam.gserviceaccount.com', "
        "role='roles/iam.serviceAccountUser', on='project acme-ml'",
    ),
    "a role with more than it needs": Seen(
        Edit(PROJECT, '["run.services.update"]', '["run.services.update", "run.services.setIamPolicy"]'),
        "role trimtabRunUpdater: holds ['run.services.setIamPolicy', 'run.services.update']",
    ),
    "a database without a fence": Seen(
        Edit(
            ACCESS,
            'expression  = "resource.name == \\"projects/${var.project_id}/databases/${var.firestore.database}\\""',
            'expression  = "true"',
        ),
        "role='projects/acme-ml/roles/trimtabStoreAlert', on='project acme-ml', condition='true')",
    ),
    "a collection that the code does not have": Seen(
        Edit(FIRESTORE, '"facts", "commands", "uploads"', '"fact", "commands", "uploads"'),
        "TTL: [('fact', 'expire_at'), ('facts', 'expire_at')]",
    ),
    "an index left out": Seen(
        Edit(FIRESTORE, '    "model_state/next_look_at"  = ["COLLECTION_GROUP"]', '    "model_state/next_look_at"  = ["COLLECTION"]'),
        "indexes: [('model_state', 'next_look_at')] differ from the code",
    ),
    "ticks to another topic": Seen(
        Edit(CONTROL, 'module.function["schedule"].topic', 'module.function["reconcile"].topic'),
        "tick: goes to projects/acme-ml/topics/trimtab-wakes",
    ),
    "a tick every hour": Seen(Edit(CONTROL, '"* * * * *"', '"0 * * * *"'), "tick: no job of its name that runs every minute"),
    "notifications that the function does not read": Seen(
        Edit("modules/served-project/buckets.tf", '"OBJECT_FINALIZE", ', ""), "are not what the upload function reads"
    ),
    "a sink that hears nothing": Seen(
        Edit(PROJECT, 'protoPayload.serviceName=\\"run.googleapis.com\\"', 'protoPayload.serviceName=\\"cloudrun.googleapis.com\\"'),
        'sink: does not ask for protoPayload.serviceName="run.googleapis.com"',
    ),
    "a log line that nobody writes": Seen(
        Edit(LINES, 'jsonPayload.message=\\"bug\\"', 'jsonPayload.message=\\"crash\\"'),
        "no message is 'crash'",
    ),
    "an alert that nobody hears": Seen(
        Edit(
            "modules/control-plane/alerts.tf",
            "  severity              = each.value.severity\n  notification_channels = var.notification_channels",
            "  severity              = each.value.severity\n  notification_channels = []",
        ),
        "alerts: nobody hears of Trimtab: dead letters",
    ),
    "a chart of nothing": Seen(
        Edit("modules/dashboard/main.tf", 'format(local.on_log_metric, "bugs")', 'format(local.on_log_metric, "errors")'),
        "dashboard: there is no logging.googleapis.com/user/trimtab/errors",
    ),
    "an archive of one name for all": Seen(
        Edit("modules/control-plane/archive.tf", '"trimtab-${substr(filesha256(local.archive), 0, 16)}.zip"', '"trimtab.zip"'), "archive: "
    ),
    "a variable that does not say what it is": Seen(
        Edit("modules/alerts/variables.tf", '  description = "The project of the Cloud Run service."\n', ""),
        "root.alerts: variable project_id has no description",
    ),
}
"""Names, places and amounts of the plan."""
