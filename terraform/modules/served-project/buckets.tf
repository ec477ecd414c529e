resource "google_storage_bucket" "models" {
  for_each = { for name, bucket in var.model_buckets : name => bucket if bucket.create }

  project                     = var.project_id
  name                        = each.key
  location                    = each.value.location
  labels                      = local.labels
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"

  # Trimtab rolls back to the version before: what was overwritten by mistake can still be had.
  versioning {
    enabled = true
  }
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 30
    }
  }
}

locals {
  buckets = { for name, bucket in var.model_buckets : name => bucket.create ? google_storage_bucket.models[name].name : name }
}

resource "google_pubsub_topic_iam_member" "storage_publisher" {
  count = length(var.model_buckets) > 0 ? 1 : 0

  project = var.control_plane.project_id
  topic   = var.control_plane.uploads_topic
  role    = "roles/pubsub.publisher"
  member  = local.storage_agent
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
