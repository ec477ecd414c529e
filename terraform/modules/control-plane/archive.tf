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

  archive_is_there = try(fileexists(local.archive), false) # false of a folder as well

  # An archive is not compressed: the names of its files and the lines of its requirements can be read in it as they are.
  archive_text = try(textdecodebase64(filebase64(local.archive), "ISO-8859-1"), "")
  is_archive   = startswith(local.archive_text, "PK\u0003\u0004") && alltrue([for name in keys(local.functions) : strcontains(local.archive_text, "fn_${name}.py")])
  has_profiler = strcontains(local.archive_text, "\ngoogle-cloud-profiler==")
}

resource "google_storage_bucket_object" "archive" {
  bucket = google_storage_bucket.archive.name
  name   = "trimtab-${substr(filesha256(local.archive), 0, 16)}.zip"
  source = local.archive

  lifecycle {
    precondition {
      condition = local.archive_is_there
      error_message = var.archive == null ? (
        "archive: there is no ${abspath(local.archive)} yet: run `make package` in the checkout of Trimtab, which makes it, then plan again; or say where an archive is with `archive`."
        ) : (
        "archive: there is no file ${abspath(local.archive)}. Say the whole path, as `make package` prints it: Terraform reads any other from the folder that it runs in, which is terraform/ with -chdir=terraform."
      )
    }

    precondition {
      condition     = local.is_archive || !local.archive_is_there
      error_message = "archive: ${abspath(local.archive)} is none that `make package` made: such a one is a zip file, not compressed, with a file for each function (fn_alert.py, ...)."
    }

    precondition {
      condition     = local.has_profiler || !local.is_archive || !var.cloud_profiler
      error_message = "cloud_profiler: ${abspath(local.archive)} is without the profiler: take the one that `make package-profiler` prints; or leave `archive` out."
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
