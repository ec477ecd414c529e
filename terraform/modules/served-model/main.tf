# What one served model needs: the account its Cloud Run service runs as, and Trimtab's rights on that service and as that account.
# The service itself is made by its owner and adopted; Trimtab makes none.

locals {
  reconcile   = "serviceAccount:${var.control_plane.reconcile_account}"
  own_account = var.service_account_email == null
  account     = local.own_account ? google_service_account.serving[0].email : var.service_account_email
}

resource "google_service_account" "serving" {
  count = local.own_account ? 1 : 0

  project      = var.project.project_id
  account_id   = "trimtab-serving-${var.service}"
  display_name = "Serving ${var.service}"
  description  = "What the Cloud Run service ${var.service} runs as: it reads its model and writes its metrics."
}

resource "google_storage_bucket_iam_member" "model_reader" {
  count = var.bucket == null ? 0 : 1

  bucket = var.bucket
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.account}"
}

# The collector beside TF Serving writes its metrics to Cloud Monitoring.
resource "google_project_iam_member" "metric_writer" {
  project = var.project.project_id
  role    = "roles/monitoring.metricWriter"
  member  = "serviceAccount:${local.account}"
}

# Who deploys a revision acts as the account it runs as: as this one, and no other.
resource "google_service_account_iam_member" "act_as" {
  service_account_id = "projects/${var.project.project_id}/serviceAccounts/${local.account}"
  role               = "roles/iam.serviceAccountUser"
  member             = local.reconcile
}

resource "google_cloud_run_v2_service_iam_member" "updater" {
  project  = var.project.project_id
  location = var.region
  name     = var.service
  role     = var.project.updater_role
  member   = local.reconcile
}

# A new revision gets its golden request before it gets traffic.
resource "google_cloud_run_v2_service_iam_member" "prober" {
  project  = var.project.project_id
  location = var.region
  name     = var.service
  role     = "roles/run.invoker"
  member   = local.reconcile
}

resource "google_cloud_run_v2_service_iam_member" "deleter" {
  count = var.allow_delete ? 1 : 0

  project  = var.project.project_id
  location = var.region
  name     = var.service
  role     = var.project.deleter_role
  member   = "serviceAccount:${var.control_plane.command_account}"

  lifecycle {
    precondition {
      condition     = var.project.deleter_role != null
      error_message = "allow_delete: the module served-project of ${var.project.project_id} wants allow_delete as well."
    }
  }
}

# Cloud Run lets nobody deploy an image that they may not read themselves.
resource "google_artifact_registry_repository_iam_member" "image_reader" {
  count = var.image_repository == null ? 0 : 1

  project    = coalesce(var.image_repository.project_id, var.project.project_id)
  location   = var.image_repository.location
  repository = var.image_repository.name
  role       = "roles/artifactregistry.reader"
  member     = local.reconcile
}
