resource "google_storage_bucket" "archive" {
  project                     = var.project_id
  name                        = "${var.project_id}-trimtab-source"
  location                    = var.region
  labels                      = local.labels
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # `make package` makes all of it again

  depends_on = [google_project_service.main]
}

resource "google_storage_bucket_object" "archive" {
  bucket = google_storage_bucket.archive.name
  name   = "trimtab-${substr(filesha256(var.archive), 0, 16)}.zip"
  source = var.archive
}

resource "google_artifact_registry_repository" "main" {
  project       = var.project_id
  location      = var.region
  repository_id = "trimtab"
  description   = "The images of Trimtab's functions."
  format        = "DOCKER"
  labels        = local.labels

  cleanup_policies {
    id     = "keep-the-newest"
    action = "KEEP"
    most_recent_versions {
      keep_count = 5
    }
  }

  cleanup_policies {
    id     = "delete-after-a-month"
    action = "DELETE"
    condition {
      older_than = "2592000s"
    }
  }

  depends_on = [google_project_service.main]
}
