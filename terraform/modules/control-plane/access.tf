# Who may do what here. Each line stands in docs/reference/roles.md with its reason, and a test compares the two.

locals {
  # What each function's store calls ask of Firestore. Firestore has no rights per collection: these hold for the whole database.
  store_permissions = {
    alert     = ["datastore.entities.create", "datastore.entities.update"]
    audit     = ["datastore.entities.create", "datastore.entities.update"]
    upload    = ["datastore.entities.create"]
    schedule  = ["datastore.entities.create", "datastore.entities.get", "datastore.entities.list", "datastore.entities.update"]
    reconcile = ["datastore.entities.create", "datastore.entities.get", "datastore.entities.list", "datastore.entities.update"]
    command = [
      "datastore.entities.create", "datastore.entities.delete", "datastore.entities.get", "datastore.entities.list",
      "datastore.entities.update",
    ]
  }

  # Which of the topics each function publishes to. A command redrives parked events to where they came from.
  publishes = {
    alert     = ["reconcile"]
    upload    = ["reconcile"]
    audit     = ["reconcile"]
    schedule  = ["reconcile"]
    reconcile = ["reconcile"]
    command   = keys(local.topics)
  }
  publishers = merge([
    for name, targets in local.publishes : { for target in targets : "${name} to ${target}" => { name = name, target = target } }
  ]...)

  tells = toset(["alert", "upload", "audit", "command", "reconcile"])
}

resource "google_project_iam_custom_role" "store" {
  for_each = local.store_permissions

  project     = var.project_id
  role_id     = "trimtabStore${title(each.key)}"
  title       = "Trimtab: the store of ${each.key}"
  description = "The documents that the function ${each.key} reads and writes."
  permissions = each.value

  depends_on = [google_project_service.main]
}

resource "google_project_iam_member" "store" {
  for_each = local.store_permissions

  project = var.project_id
  role    = "projects/${var.project_id}/roles/${google_project_iam_custom_role.store[each.key].role_id}"
  member  = "serviceAccount:${google_service_account.function[each.key].email}"

  condition {
    title       = "trimtab-database"
    description = "Trimtab's own database only."
    expression  = "resource.name == \"projects/${var.project_id}/databases/${var.firestore.database}\""
  }
}

resource "google_pubsub_topic_iam_member" "publisher" {
  for_each = local.publishers

  project = var.project_id
  topic   = module.function[each.value.target].topic
  role    = "roles/pubsub.publisher"
  member  = "serviceAccount:${google_service_account.function[each.value.name].email}"
}

resource "google_pubsub_topic_iam_member" "events_publisher" {
  for_each = local.tells

  project = var.project_id
  topic   = google_pubsub_topic.events.name
  role    = "roles/pubsub.publisher"
  member  = "serviceAccount:${google_service_account.function[each.value].email}"
}

resource "google_pubsub_topic_iam_member" "command_publisher" {
  for_each = toset(var.command_publishers)

  project = var.project_id
  topic   = module.function["command"].topic
  role    = "roles/pubsub.publisher"
  member  = each.value
}

# Pub/Sub's agent signs as the push account, and as no other. Projects of before April 2021 need it said.
resource "google_service_account_iam_member" "push_token" {
  service_account_id = "projects/${var.project_id}/serviceAccounts/${google_service_account.push.email}"
  role               = "roles/iam.serviceAccountOpenIdTokenCreator"
  member             = "serviceAccount:${local.pubsub_agent}"

  # The agent is made with the project's first topic.
  depends_on = [google_pubsub_topic.events]
}

resource "google_project_iam_member" "build_log_writer" {
  project = var.project_id
  role    = "roles/logging.logWriter"
  member  = "serviceAccount:${google_service_account.build.email}"

  depends_on = [google_project_service.main]
}

# Cloud Functions copies the archive into a bucket of its own, which it makes at the first build.
resource "google_project_iam_member" "build_source_reader" {
  project = var.project_id
  role    = "roles/storage.objectViewer"
  member  = "serviceAccount:${google_service_account.build.email}"

  condition {
    title       = "sources-of-functions"
    description = "The buckets that Cloud Functions copies sources to."
    expression  = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-${local.project_number}-\")"
  }
}

resource "google_artifact_registry_repository_iam_member" "build_writer" {
  project    = var.project_id
  location   = var.region
  repository = google_artifact_registry_repository.main.repository_id
  role       = "roles/artifactregistry.writer"
  member     = "serviceAccount:${google_service_account.build.email}"
}
