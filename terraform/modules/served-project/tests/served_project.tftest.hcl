mock_provider "google" {
  override_during = plan

  mock_resource "google_logging_project_sink" {
    defaults = { writer_identity = "serviceAccount:service-123456789012@gcp-sa-logging.iam.gserviceaccount.com" }
  }
}

variables {
  project_id     = "acme-serving"
  project_number = "210987654321"
  control_plane = {
    project_id        = "acme-ml"
    alerts_topic      = "trimtab-alerts"
    uploads_topic     = "trimtab-model-uploads"
    changes_topic     = "trimtab-changes"
    reconcile_account = "trimtab-reconcile@acme-ml.iam.gserviceaccount.com"
    command_account   = "trimtab-command@acme-ml.iam.gserviceaccount.com"
  }
}

run "agents_of_this_project_publish_to_topics_of_that_one" {
  command = plan

  variables {
    model_buckets = { acme-models = {} }
  }

  assert {
    condition     = google_pubsub_topic_iam_member.monitoring_publisher.project == "acme-ml" && strcontains(google_pubsub_topic_iam_member.monitoring_publisher.member, "service-210987654321@")
    error_message = "the policies' project notifies, the control plane's topic hears"
  }
  assert {
    condition     = google_pubsub_topic_iam_member.sink_publisher.member == google_logging_project_sink.changes.writer_identity
    error_message = "the sink writes as itself"
  }
  assert {
    condition     = google_storage_notification.uploads["acme-models"].topic == "//pubsub.googleapis.com/projects/acme-ml/topics/trimtab-model-uploads"
    error_message = "uploads are heard by the control plane"
  }
}

run "a_new_bucket_wants_a_location" {
  command = plan

  variables {
    model_buckets = { acme-models = { create = true } }
  }

  expect_failures = [var.model_buckets]
}
