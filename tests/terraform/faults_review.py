"""Faults that a review planted and no test saw: arguments nobody thought of, tables that differ, variables that do not arrive."""

from tests.terraform.faults import Seen
from tests.terraform.plans import Edit

REVIEWED = {
    "a subscription that filters": Seen(
        Edit(
            "modules/function/trigger.tf",
            "  ack_deadline_seconds       = each.value.ack",
            '  filter = "attributes.never = \\"set\\""\n  ack_deadline_seconds       = each.value.ack',
        ),
        "nobody thought of filter = ",
    ),
    "a push without its wrapper": Seen(
        Edit("modules/function/trigger.tf", "    oidc_token {", "    no_wrapper {\n      write_metadata = false\n    }\n    oidc_token {"),
        "nobody thought of push_config.no_wrapper",
    ),
    "a clock in another region": Seen(
        Edit(
            "modules/control-plane/main.tf",
            '  region      = var.region\n  name        = "trimtab-tick"',
            '  region      = "us-central1"\n  name        = "trimtab-tick"',
        ),
        "regions: the control plane is spread over ['europe-west1', 'us-central1']",
    ),
    "an address of commands that is another's": Seen(
        Edit("modules/control-plane/outputs.tf", 'module.function["command"].uri', 'module.function["alert"].uri'),
        'output control_plane.command_uri: is not module.function["command"].uri',
    ),
    "an output with one account for all": Seen(
        Edit("modules/control-plane/outputs.tf", "google_service_account.function[name].email }", "google_service_account.push.email }"),
        "output service_accounts: is {'alert': 'trimtab-push@",
    ),
    "an output of another channel": Seen(
        Edit("outputs.tf", "module.served_project.notification_channel", "module.control_plane.events_topic"),
        "output notification_channel: is not module.served_project.notification_channel",
    ),
    "a chart of another metric": Seen(
        Edit("modules/dashboard/main.tf", 'format(local.on_log_metric, "looks")', 'format(local.on_log_metric, "ticks")'),
        "dashboard: Looks of reconcile: is of ['logging.googleapis.com/user/trimtab/ticks']",
    ),
    "a chart of a metric that is none": Seen(
        Edit("modules/dashboard/main.tf", "run.googleapis.com/container/instance_count", "run.googleapis.com/container/instances"),
        "dashboard: Instances: is of ['run.googleapis.com/container/instances']",
    ),
    "a chart by an aligner that is none": Seen(
        Edit(
            "modules/dashboard/main.tf",
            'aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX"',
            'aligner = "ALIGN_P95", reducer = "REDUCE_MAX"',
        ),
        "by ['ALIGN_P95', 'REDUCE_MAX'",
    ),
    "a chart of fewer functions": Seen(
        Edit("modules/dashboard/main.tf", '"schedule", "reconcile"]', '"schedule"]'), "is without ['reconcile']"
    ),
    "a label that reads no field": Seen(
        Edit("modules/control-plane/log_metrics.tf", "EXTRACT(jsonPayload.function)", "EXTRACT(jsonPayload.func)"),
        'label_extractors.function is "EXTRACT(jsonPayload.func)"',
    ),
    "a metric of another kind": Seen(
        Edit("modules/control-plane/log_metrics.tf", 'metric_kind = "DELTA"', 'metric_kind = "CUMULATIVE"'),
        'metric_descriptor.metric_kind is "CUMULATIVE", want "DELTA"',
    ),
    "a refusal that nobody counts": Seen(
        Edit("modules/control-plane/log_metrics.tf", ' OR \\"Cloud Run refused a change for quota\\"', ""), "metric refused: counts "
    ),
    "a metric of another line": Seen(
        Edit("modules/control-plane/log_metrics.tf", 'jsonPayload.message=\\"will be tried again\\"', 'jsonPayload.message=\\"done\\"'),
        'metric retries: counts jsonPayload.message="done"',
    ),
    "a tick of another function": Seen(
        Edit(
            "modules/control-plane/log_metrics.tf",
            'jsonPayload.function=\\"schedule\\" AND jsonPayload.message=\\"done\\"',
            'jsonPayload.function=\\"alert\\" AND jsonPayload.message=\\"done\\"',
        ),
        'metric ticks: counts jsonPayload.function="alert"',
    ),
    "an alert that takes the least": Seen(
        Edit("modules/control-plane/alerts.tf", '"REDUCE_MAX" : "REDUCE_SUM"', '"REDUCE_MIN" : "REDUCE_MIN"'), "'REDUCE_MIN', "
    ),
    "an alert that looks once a day": Seen(
        Edit("modules/control-plane/alerts.tf", 'alignment_period     = "300s"', 'alignment_period     = "86400s"'),
        "[('86400s', 'ALIGN_DELTA', ",
    ),
    "an alert by a label that is none": Seen(
        Edit("modules/control-plane/alerts.tf", 'group_by   = ["metric.labels.function"]', 'group_by   = ["metric.labels.fn"]'),
        "['metric.labels.fn']",
    ),
    "a served alert of each revision": Seen(
        Edit(
            "modules/alerts/main.tf",
            "          cross_series_reducer = condition_threshold.value.reducer\n",
            (
                "          cross_series_reducer = condition_threshold.value.reducer\n"
                '          group_by_fields      = ["resource.labels.revision_name"]\n'
            ),
        ),
        "conditions.condition_threshold.aggregations.group_by_fields",
    ),
    "a channel that is off": Seen(
        Edit("modules/served-project/main.tf", '  type         = "pubsub"\n', '  type         = "pubsub"\n  enabled      = false\n'),
        "google_monitoring_notification_channel.trimtab: is switched off by enabled",
    ),
    "a sink that leaves something out": Seen(
        Edit(
            "modules/served-project/main.tf",
            "  unique_writer_identity = true\n",
            (
                '  unique_writer_identity = true\n\n  exclusions {\n    name   = "no-deletes"\n'
                '    filter = "protoPayload.methodName:\\"DeleteService\\""\n  }\n'
            ),
        ),
        "nobody thought of exclusions",
    ),
    "a role that is off": Seen(
        Edit(
            "modules/served-project/main.tf",
            '  title       = "Trimtab: read Cloud Run services"\n',
            '  title       = "Trimtab: read Cloud Run services"\n  stage       = "DISABLED"\n',
        ),
        'nobody thought of stage = "DISABLED"',
    ),
    "an account that is off": Seen(
        Edit(
            "modules/control-plane/accounts.tf",
            '  account_id   = "trimtab-${each.key}"\n',
            '  account_id   = "trimtab-${each.key}"\n  disabled     = true\n',
        ),
        'google_service_account.function["alert"]: nobody thought of disabled = true',
    ),
    "a repository of no images": Seen(
        Edit("modules/control-plane/archive.tf", 'format        = "DOCKER"', 'format        = "PYTHON"'),
        'format is "PYTHON", want "DOCKER"',
    ),
    "an archive that is deleted": Seen(
        Edit(
            "modules/control-plane/archive.tf",
            "  force_destroy               = true # `make package` makes all of it again\n",
            (
                '  force_destroy               = true\n  lifecycle_rule {\n    action {\n      type = "Delete"\n    }\n'
                "    condition {\n      age = 0\n    }\n  }\n"
            ),
        ),
        "google_storage_bucket.archive: nobody thought of lifecycle_rule",
    ),
    "a build into another region": Seen(
        Edit("modules/control-plane/functions.tf", "locations/${var.region}/repositories", "locations/us-central1/repositories"),
        "is built into projects/acme-ml/locations/us-central1",
    ),
    "a second trigger": Seen(
        Edit(
            "modules/function/main.tf",
            "  service_config {",
            (
                '  event_trigger {\n    event_type   = "google.cloud.pubsub.topic.v1.messagePublished"\n'
                '    pubsub_topic = "projects/x/topics/y"\n  }\n\n  service_config {'
            ),
        ),
        "nobody thought of event_trigger",
    ),
    "a served project without an API": Seen(
        Edit("modules/served-project/main.tf", '    "run.googleapis.com",\n', ""), "APIs of acme-ml: ['run.googleapis.com']"
    ),
    "a database before its API": Seen(
        Edit("modules/control-plane/firestore.tf", "\n  depends_on = [google_project_service.main]\n", ""),
        "control_plane: google_firestore_database.main may be made before the APIs are on",
    ),
    "a role by its letters": Seen(
        Edit(
            "modules/control-plane/access.tf",
            'roles/${google_project_iam_custom_role.store[each.key].role_id}"',
            'roles/trimtabStore${title(each.key)}"',
        ),
        "its role does not refer to google_project_iam_custom_role.store",
    ),
    "a dashboard before its metrics": Seen(
        Edit("main.tf", "\n  # Its charts name log-based metrics, which must be there.\n  depends_on = [module.control_plane]\n", ""),
        "dashboard: may be made before the metrics of its charts",
    ),
}
"""Of the plan of the sample."""

AWAY = {
    "a condition of another database": Seen(
        Edit("modules/control-plane/access.tf", 'databases/${var.firestore.database}\\""', 'databases/(default)\\""'),
        'resource.name == "projects/acme-ml/databases/left: (default)"',
    ),
    "a topic that only the default names": Seen(
        Edit(
            "modules/control-plane/functions.tf",
            "TRIMTAB_WAKES_TOPIC        = local.topics.reconcile",
            'TRIMTAB_WAKES_TOPIC        = "trimtab-wakes"',
        ),
        "left: trimtab-wakes",
    ),
    "a root that keeps labels back": Seen(Edit("main.tf", "  labels                   = var.labels\n", ""), "is without the label team"),
    "a root that keeps min_instances back": Seen(
        Edit("main.tf", "  min_instances            = var.min_instances\n", ""), "service_config.0.min_instance_count is "
    ),
    "a channel of a model that is dropped": Seen(
        Edit(
            "main.tf",
            "concat([module.served_project.notification_channel], each.value.notification_channels)",
            "[module.served_project.notification_channel]",
        ),
        "notification_channels.1 is None",
    ),
    "a model with signals that it does without": Seen(
        Edit("main.tf", "  signals               = each.value.signals\n", ""),
        'module.alerts["scorer"].google_monitoring_alert_policy.main["no-data"]: the model does without it',
    ),
    "a threshold that is fixed": Seen(
        Edit("modules/control-plane/alerts.tf", "var.alert_thresholds.oldest_unacked_seconds", "900"), "threshold_value is 900, want 1200"
    ),
    "a prefix that is dropped": Seen(
        Edit("modules/served-project/buckets.tf", "  object_name_prefix = var.model_buckets[each.key].object_name_prefix\n", ""),
        "object_name_prefix is None",
    ),
    "a bucket in another project": Seen(
        Edit(
            "modules/served-project/buckets.tf",
            "  project                     = coalesce(each.value.project_id, var.project_id)\n  name",
            "  project                     = var.project_id\n  name",
        ),
        "project is globex-ai, want globex-data",
    ),
}
"""Of the plan with every variable off its default."""
