# What Trimtab may do with one served service. Whom it runs as, and its image and model, are in served-project.
# The service itself is made by its owner and adopted; Trimtab makes none.

locals {
  reconcile = "serviceAccount:${var.control_plane.reconcile_account}"
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
