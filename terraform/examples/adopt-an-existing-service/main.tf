# One project, one service that is there already and stays its owner's: Trimtab is let in and takes over what it steers.
# A service that Terraform made needs the block `ignore_changes` below, or each apply undoes what Trimtab did.

provider "google" {
  project = var.project_id
  region  = var.region
}

resource "google_service_account" "ranker" {
  project      = var.project_id
  account_id   = "ranker"
  display_name = "Serving ranker"
}

resource "google_cloud_run_v2_service" "ranker" {
  project  = var.project_id
  location = var.region
  name     = "ranker"

  template {
    service_account                  = google_service_account.ranker.email
    max_instance_request_concurrency = 16

    containers {
      image = var.image

      ports {
        container_port = 8501
      }

      resources {
        cpu_idle = false
        limits = {
          cpu              = "8"
          memory           = "32Gi"
          "nvidia.com/gpu" = "1"
        }
      }
    }

    node_selector {
      accelerator = "nvidia-l4"
    }
  }

  # Trimtab's from here on. The rest (ingress, labels, who may call it) stays Terraform's.
  lifecycle {
    ignore_changes = [template, traffic, scaling, client, client_version]
  }
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
      bucket                = var.model_bucket
      objective             = { p99_ms = 800, error_ratio = 0.01 }
    }
  }

  command_callers = ["user:${var.owner}"]
  command_grants = [{
    identity = var.owner
    commands = ["apply", "patch", "hold", "release", "rollback", "reconcile"]
    services = ["${var.project_id}:${var.region}:*"]
  }]
}
