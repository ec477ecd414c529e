# One function: an HTTP function, and where it has a trigger its own topic, push subscription and dead letters.
# A function's or Eventarc's own subscription takes no dead-letter topic, and one that fails for a day is lost: hence ours.

resource "google_cloudfunctions2_function" "main" {
  project     = var.project_id
  location    = var.region
  name        = var.name
  description = var.description
  labels      = var.labels

  build_config {
    runtime           = var.runtime
    entry_point       = var.entry_point
    service_account   = var.build.service_account_id
    docker_repository = var.build.docker_repository

    environment_variables = {
      GOOGLE_FUNCTION_SOURCE = var.source_file
    }

    source {
      storage_source {
        bucket = var.archive.bucket
        object = var.archive.object
      }
    }
  }

  service_config {
    service_account_email            = var.service_account_email
    available_cpu                    = var.cpu
    available_memory                 = var.memory
    max_instance_request_concurrency = var.concurrency
    min_instance_count               = var.min_instances
    max_instance_count               = var.max_instances
    timeout_seconds                  = var.timeout_seconds
    ingress_settings                 = var.ingress
    all_traffic_on_latest_revision   = true

    environment_variables = merge(var.environment, {
      FUNCTION_SOURCE = var.source_file
      THREADS         = tostring(var.concurrency)
    })
  }
}

locals {
  push_invoker = var.trigger == null ? {} : { push = "serviceAccount:${var.trigger.push_service_account_email}" }
}

# Of gen 2 functions only the grant on the Cloud Run service counts.
resource "google_cloud_run_v2_service_iam_member" "invoker" {
  for_each = merge(var.invokers, local.push_invoker)

  project  = var.project_id
  location = var.region
  name     = google_cloudfunctions2_function.main.name
  role     = "roles/run.invoker"
  member   = each.value

  lifecycle {
    # A service that is made anew has lost its policy.
    replace_triggered_by = [google_cloudfunctions2_function.main.id]
  }
}
