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

locals {
  # Where none is given, the one that `make package` wrote last in the checkout that this module is part of.
  archive = coalesce(var.archive, "${path.module}/../../../build/${var.cloud_profiler ? "trimtab-profiler" : "trimtab"}.zip")

  # An archive is not compressed: the line of its requirements can be read in it as it is.
  has_profiler = try(strcontains(textdecodebase64(filebase64(local.archive), "ISO-8859-1"), "\ngoogle-cloud-profiler=="), false)
}

resource "google_storage_bucket_object" "archive" {
  bucket = google_storage_bucket.archive.name
  name   = "trimtab-${substr(filesha256(local.archive), 0, 16)}.zip"
  source = local.archive

  lifecycle {
    precondition {
      condition     = fileexists(local.archive)
      error_message = "archive: there is no ${abspath(local.archive)} yet: run `make package` in the checkout of Trimtab, which makes it, then plan again; or say where an archive is with `archive`."
    }

    precondition {
      condition     = !var.cloud_profiler || !fileexists(local.archive) || local.has_profiler
      error_message = "cloud_profiler: ${abspath(local.archive)} is without the profiler: take trimtab-profiler-....zip, which `make package` makes beside it, as it is; or leave `archive` out."
    }
  }
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
