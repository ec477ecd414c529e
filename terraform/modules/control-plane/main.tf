# Everything of Trimtab that is one: functions, topics, the database, the clock. What it steers is in served-project and served-model.

data "google_project" "main" {
  count = var.project_number == null ? 1 : 0

  project_id = var.project_id
}

locals {
  project_number = var.project_number == null ? data.google_project.main[0].number : var.project_number
  pubsub_agent   = "service-${local.project_number}@gcp-sa-pubsub.iam.gserviceaccount.com"
  labels         = merge(var.labels, { app = "trimtab" })

  topics = {
    alert     = "${var.topic_prefix}alerts"
    upload    = "${var.topic_prefix}model-uploads"
    command   = "${var.topic_prefix}commands"
    audit     = "${var.topic_prefix}changes"
    schedule  = "${var.topic_prefix}ticks"
    reconcile = "${var.topic_prefix}wakes"
  }
  events_topic = "${var.topic_prefix}events"
}

resource "google_project_service" "main" {
  for_each = toset(var.enable_apis ? concat([
    "artifactregistry.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudscheduler.googleapis.com",
    "firestore.googleapis.com",
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "serviceusage.googleapis.com",
    "storage.googleapis.com",
  ], local.switched_apis) : [])

  project            = var.project_id
  service            = each.value
  disable_on_destroy = false # others in the project may use it
}

# Where the Trimtab of this state is, as it was first said. Told of another place, Terraform would take it away there and make a new one.
resource "terraform_data" "home" {
  input = { project_id = var.project_id, region = var.region }

  lifecycle {
    ignore_changes = [input]

    postcondition {
      condition = self.output == { project_id = var.project_id, region = var.region }
      error_message = join(" ", [
        "This state holds the Trimtab of ${self.output.project_id} in ${self.output.region}: with ${var.project_id} in ${var.region} it would be taken away there.",
        self.output.project_id == var.project_id ? "A project holds one." : "Another project wants a state of its own: `terraform -chdir=terraform workspace new ${var.project_id}`, then again (docs/guides/deploy.md, State).",
        "To move this one all the same: `terraform apply -replace=module.control_plane.terraform_data.home`.",
      ])
    }
  }

  # A project that is none, or where nothing may be switched on, is no home.
  depends_on = [google_project_service.main]
}

# The events that others listen to: what Trimtab did, and why.
resource "google_pubsub_topic" "events" {
  project = var.project_id
  name    = local.events_topic
  labels  = local.labels

  depends_on = [google_project_service.main]
}

# One tick a minute. What it carries says nothing: which minute it is, the clock of the function says.
resource "google_cloud_scheduler_job" "tick" {
  project     = var.project_id
  region      = var.region
  name        = "trimtab-tick"
  description = "Has Trimtab look at what is due, and at what was missed."
  schedule    = "* * * * *"
  time_zone   = "Etc/UTC"
  paused      = false

  pubsub_target {
    topic_name = "projects/${var.project_id}/topics/${module.function["schedule"].topic}"
    data       = base64encode(jsonencode({ tick = "minute" }))
  }

  retry_config {
    retry_count = 0 # the next tick makes up for a lost one
  }
}
