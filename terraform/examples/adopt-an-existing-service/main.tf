# One project, one service that is there already and stays its owner's: Trimtab is let in and takes over what it steers.
# The service, its account and the account's right to read the model stand for what you have. A service that Terraform made needs the
# block `lifecycle` with `ignore_changes`, or each apply undoes what Trimtab did.

provider "google" {
  project = var.project_id
  region  = var.region
}

resource "google_service_account" "ranker" {
  project      = var.project_id
  account_id   = "ranker"
  display_name = "Serving ranker"
}

resource "google_storage_bucket_iam_member" "ranker" {
  bucket = var.model_bucket
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${google_service_account.ranker.email}"
}

resource "google_cloud_run_v2_service" "ranker" {
  project  = var.project_id
  location = var.region
  name     = "ranker"
  ingress  = "INGRESS_TRAFFIC_INTERNAL_ONLY"

  scaling {
    min_instance_count = 1
  }

  template {
    service_account                  = google_service_account.ranker.email
    execution_environment            = "EXECUTION_ENVIRONMENT_GEN2"
    max_instance_request_concurrency = 32
    timeout                          = "35s"
    gpu_zonal_redundancy_disabled    = true # switched on it costs more, and a new project has no quota for it

    scaling {
      max_instance_count = 3
    }

    node_selector {
      accelerator = "nvidia-l4"
    }

    containers {
      name  = "serving"
      image = var.image

      # The file of batching lies in a variable, so that the service needs no image of its own.
      command = ["/bin/sh", "-c", "printf '%s' \"$BATCHING\" > /tmp/batching.txt && exec /usr/bin/tensorflow_model_server \"$@\"", "serving"]
      args = [
        "--port=8500",
        "--rest_api_port=8501",
        "--rest_api_timeout_in_ms=30000",
        "--rest_api_num_threads=40",
        "--model_name=ranker",
        "--model_base_path=gs://${var.model_bucket}/ranker",
        "--file_system_poll_wait_seconds=0",
        "--max_num_load_retries=0",
        "--enable_batching=true",
        "--batching_parameters_file=/tmp/batching.txt",
      ]

      env {
        name  = "BATCHING"
        value = <<-EOT
          max_batch_size { value: 32 }
          batch_timeout_micros { value: 0 }
          max_enqueued_batches { value: 4 }
          num_batch_threads { value: 2 }
        EOT
      }

      ports {
        container_port = 8501
      }

      resources {
        cpu_idle          = false
        startup_cpu_boost = true
        limits = {
          cpu              = "8"
          memory           = "32Gi"
          "nvidia.com/gpu" = "1"
        }
      }

      startup_probe {
        period_seconds    = 10
        timeout_seconds   = 1
        failure_threshold = 90

        tcp_socket {
          port = 8501
        }
      }
    }
  }

  # Trimtab's from here on. The rest (ingress, labels, who may call it) stays Terraform's.
  lifecycle {
    ignore_changes = [template, traffic, scaling, client, client_version]
  }

  depends_on = [google_storage_bucket_iam_member.ranker]
}

module "trimtab" {
  source = "../.."

  project_id     = var.project_id
  project_number = var.project_number
  region         = var.region
  archive        = var.archive

  model_buckets = { (var.model_bucket) = {} }

  models = {
    (google_cloud_run_v2_service.ranker.name) = {
      service_account_email = google_service_account.ranker.email
      objective             = { p99_ms = 800, error_ratio = 0.01 }

      # `bucket` is not said, because the account may read it already. `queue-full` and `thread-gap` are left out, because they are asked
      # of TF Serving's own metrics, and no collector runs beside this service that would send them.
      signals = ["no-instance", "pending-latency", "latency", "error-ratio", "cpu-high-gpu-low", "gpu-memory", "idle", "no-data"]
    }
  }

  command_callers = ["user:${var.owner}"]
  command_grants = [{
    identity = var.owner
    commands = ["apply", "patch", "hold", "release", "rollback", "reconcile"]
    services = ["${var.project_id}:${var.region}:*"]
  }]
}
