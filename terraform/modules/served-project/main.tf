# What a project needs once whose models Trimtab steers: the way of its alerts, uploads and changes to the control plane, and reading rights.

data "google_project" "main" {
  count = var.project_number == null ? 1 : 0

  project_id = var.project_id
}

locals {
  project_number   = var.project_number == null ? data.google_project.main[0].number : var.project_number
  reconcile        = "serviceAccount:${var.control_plane.reconcile_account}"
  monitoring_agent = "serviceAccount:service-${local.project_number}@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
  topics           = "projects/${var.control_plane.project_id}/topics"
  labels           = merge(var.labels, { app = "trimtab" })
}

resource "google_project_service" "main" {
  for_each = toset(var.enable_apis ? [
    "cloudresourcemanager.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "run.googleapis.com",
    "serviceusage.googleapis.com",
    "storage.googleapis.com",
  ] : [])

  project            = var.project_id
  service            = each.value
  disable_on_destroy = false # others in the project may use it
}

# Alerts: alert policies of the project notify this channel.

resource "google_monitoring_notification_channel" "trimtab" {
  project      = var.project_id
  display_name = "Trimtab"
  description  = "Trimtab listens here: alert policies with its labels."
  type         = "pubsub"
  user_labels  = local.labels

  labels = {
    topic = "${local.topics}/${var.control_plane.alerts_topic}"
  }

  depends_on = [google_project_service.main]
}

resource "google_pubsub_topic_iam_member" "monitoring_publisher" {
  project = var.control_plane.project_id
  topic   = var.control_plane.alerts_topic
  role    = "roles/pubsub.publisher"
  member  = local.monitoring_agent

  # The agent is made with the project's first channel of this kind.
  depends_on = [google_monitoring_notification_channel.trimtab]
}

# Changes by others: Cloud Run's audit log, without what Trimtab does itself.

resource "google_logging_project_sink" "changes" {
  project                = var.project_id
  name                   = "trimtab-changes"
  description            = "Who changed Cloud Run services, and what Cloud Run says of their readiness."
  destination            = "pubsub.googleapis.com/${local.topics}/${var.control_plane.changes_topic}"
  unique_writer_identity = true

  filter = join(" AND ", [
    "(log_id(\"cloudaudit.googleapis.com/activity\") OR log_id(\"cloudaudit.googleapis.com/system_event\"))",
    "protoPayload.serviceName=\"run.googleapis.com\"",
    "resource.type=(\"cloud_run_service\" OR \"cloud_run_revision\")",
    "NOT protoPayload.authenticationInfo.principalEmail=\"${var.control_plane.reconcile_account}\"",
  ])

  depends_on = [google_project_service.main]
}

resource "google_pubsub_topic_iam_member" "sink_publisher" {
  project = var.control_plane.project_id
  topic   = var.control_plane.changes_topic
  role    = "roles/pubsub.publisher"
  member  = google_logging_project_sink.changes.writer_identity
}

# Reading: Cloud Run's own words, logs, metrics.

resource "google_project_iam_custom_role" "reader" {
  project     = var.project_id
  role_id     = "trimtabRunReader"
  title       = "Trimtab: read Cloud Run services"
  description = "A service, its revisions, and how a change of it ended."
  permissions = ["run.operations.get", "run.revisions.get", "run.services.get"]

  depends_on = [google_project_service.main]
}

resource "google_project_iam_member" "reader" {
  project = var.project_id
  role    = "projects/${var.project_id}/roles/${google_project_iam_custom_role.reader.role_id}"
  member  = local.reconcile
}

resource "google_project_iam_member" "logs" {
  project = var.project_id
  role    = "roles/logging.viewer"
  member  = local.reconcile

  depends_on = [google_project_service.main]
}

resource "google_project_iam_member" "metrics" {
  project = var.project_id
  role    = "roles/monitoring.viewer"
  member  = local.reconcile

  depends_on = [google_project_service.main]
}

# Writing: defined here, granted service by service in the module served-model.

resource "google_project_iam_custom_role" "updater" {
  project     = var.project_id
  role_id     = "trimtabRunUpdater"
  title       = "Trimtab: change a Cloud Run service"
  description = "Its instance bounds, its template, its traffic. Neither make nor delete one, nor let anybody in."
  permissions = ["run.services.update"]

  depends_on = [google_project_service.main]
}

resource "google_project_iam_custom_role" "deleter" {
  count = var.allow_delete ? 1 : 0

  project     = var.project_id
  role_id     = "trimtabRunDeleter"
  title       = "Trimtab: delete a Cloud Run service"
  description = "For the command delete where it says to delete the Cloud Run service as well."
  permissions = ["run.services.delete"]

  depends_on = [google_project_service.main]
}
