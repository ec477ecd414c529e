locals {
  triggers = var.trigger == null ? {} : { main = var.trigger }
}

resource "google_pubsub_topic" "main" {
  for_each = local.triggers

  project = var.project_id
  name    = each.value.topic
  labels  = var.labels
}

resource "google_pubsub_topic" "dead_letters" {
  for_each = local.triggers

  project = var.project_id
  name    = "${each.value.topic}-dead-letters"
  labels  = var.labels
}

resource "google_pubsub_subscription" "main" {
  for_each = local.triggers

  project                    = var.project_id
  name                       = var.name
  topic                      = "projects/${var.project_id}/topics/${google_pubsub_topic.main[each.key].name}"
  labels                     = var.labels
  ack_deadline_seconds       = each.value.ack_deadline_seconds
  message_retention_duration = "${each.value.message_retention_seconds}s"

  push_config {
    push_endpoint = google_cloudfunctions2_function.main.service_config[0].uri

    oidc_token {
      service_account_email = each.value.push_service_account_email
      audience              = google_cloudfunctions2_function.main.service_config[0].uri
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  dead_letter_policy {
    dead_letter_topic     = "projects/${var.project_id}/topics/${google_pubsub_topic.dead_letters[each.key].name}"
    max_delivery_attempts = each.value.max_delivery_attempts
  }

  expiration_policy {
    ttl = "" # never: an idle subscription would be deleted after 31 days
  }

  # A push that is refused counts as a delivery: the right to push comes first.
  depends_on = [google_cloud_run_v2_service_iam_member.invoker]
}

# What nobody subscribes to is gone when it is published: dead letters are kept here until a person has read them.
resource "google_pubsub_subscription" "dead_letters" {
  for_each = local.triggers

  project                    = var.project_id
  name                       = "${var.name}-dead-letters"
  topic                      = "projects/${var.project_id}/topics/${google_pubsub_topic.dead_letters[each.key].name}"
  labels                     = var.labels
  ack_deadline_seconds       = 60
  message_retention_duration = "${each.value.dead_letter_retention_seconds}s"

  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_topic_iam_member" "dead_letter_publisher" {
  for_each = local.triggers

  project = var.project_id
  topic   = google_pubsub_topic.dead_letters[each.key].name
  role    = "roles/pubsub.publisher"
  member  = "serviceAccount:${each.value.pubsub_agent_email}"

  lifecycle {
    replace_triggered_by = [google_pubsub_topic.dead_letters[each.key].id]
  }
}

resource "google_pubsub_subscription_iam_member" "dead_letter_subscriber" {
  for_each = local.triggers

  project      = var.project_id
  subscription = google_pubsub_subscription.main[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = "serviceAccount:${each.value.pubsub_agent_email}"

  lifecycle {
    replace_triggered_by = [google_pubsub_subscription.main[each.key].id]
  }
}
