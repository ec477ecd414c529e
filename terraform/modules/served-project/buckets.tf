resource "google_storage_bucket" "models" {
  for_each = { for name, bucket in var.model_buckets : name => bucket if bucket.create }

  project                     = coalesce(each.value.project_id, var.project_id)
  name                        = each.key
  location                    = each.value.location
  labels                      = local.labels
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  # Trimtab rolls back to the version before: what was overwritten by mistake can still be had.
  versioning {
    enabled = true
  }
  soft_delete_policy {
    retention_duration_seconds = 604800
  }
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 30
    }
  }

  depends_on = [google_project_service.main]
}

locals {
  buckets         = { for name, bucket in var.model_buckets : name => bucket.create ? google_storage_bucket.models[name].name : name }
  bucket_projects = toset([for bucket in var.model_buckets : coalesce(bucket.project_id, var.project_id)])
}

# Cloud Storage makes its agent of a project when somebody first asks for it, as this does. It tells of the buckets of its own project.
data "google_storage_project_service_account" "main" {
  for_each = local.bucket_projects

  project = each.value

  depends_on = [google_project_service.main]
}

resource "google_pubsub_topic_iam_member" "storage_publisher" {
  for_each = local.bucket_projects

  project = var.control_plane.project_id
  topic   = var.control_plane.uploads_topic
  role    = "roles/pubsub.publisher"
  member  = data.google_storage_project_service_account.main[each.key].member
}

# One notification per bucket, however many models lie in it: two would tell of each object twice.
resource "google_storage_notification" "uploads" {
  for_each = local.buckets

  bucket             = each.value
  payload_format     = "JSON_API_V1"
  topic              = "//pubsub.googleapis.com/${local.topics}/${var.control_plane.uploads_topic}"
  event_types        = ["OBJECT_FINALIZE", "OBJECT_ARCHIVE", "OBJECT_DELETE"]
  object_name_prefix = var.model_buckets[each.key].object_name_prefix

  depends_on = [google_pubsub_topic_iam_member.storage_publisher]
}

resource "google_storage_bucket_iam_member" "reconcile" {
  for_each = local.buckets

  bucket = each.value
  role   = "roles/storage.objectViewer"
  member = local.reconcile
}
