mock_provider "google" {
  override_during = plan

  mock_resource "google_logging_project_sink" {
    defaults = { writer_identity = "serviceAccount:service-123456789012@gcp-sa-logging.iam.gserviceaccount.com" }
  }
  mock_resource "google_service_account" {
    defaults = { email = "trimtab-serving-ranker@acme-serving.iam.gserviceaccount.com" }
  }
  mock_data "google_storage_project_service_account" {
    defaults = { member = "serviceAccount:service-333333333333@gs-project-accounts.iam.gserviceaccount.com" }
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

run "the_agent_of_each_buckets_project_tells_of_it" {
  command = plan

  variables {
    model_buckets = { acme-models = {}, acme-archive = { project_id = "acme-archive" } }
  }

  assert {
    condition     = toset(keys(google_pubsub_topic_iam_member.storage_publisher)) == toset(["acme-archive", "acme-serving"])
    error_message = "Cloud Storage's agent of the bucket's own project publishes"
  }
}

run "what_models_share_is_granted_once" {
  command = plan

  variables {
    model_buckets = { acme-models = {} }
    serving_accounts = {
      ranker                                        = { buckets = ["acme-models"] }
      "scorer@acme-serving.iam.gserviceaccount.com" = { buckets = ["acme-models"] }
    }
    image_repositories = [
      { location = "europe-west1", name = "serving" },
      { location = "europe-west1", name = "serving", project_id = "acme-serving" },
    ]
  }

  assert {
    condition     = length(google_service_account.serving) == 1 && length(google_service_account_iam_member.act_as) == 2 && length(google_storage_bucket_iam_member.model_reader) == 2
    error_message = "each account is acted as, and reads what its models lie in"
  }
  assert {
    condition     = google_service_account_iam_member.act_as["ranker"].service_account_id == "projects/acme-serving/serviceAccounts/trimtab-serving-ranker@acme-serving.iam.gserviceaccount.com"
    error_message = "as this account, not as those of the project"
  }
  assert {
    condition     = keys(google_artifact_registry_repository_iam_member.image_reader) == ["acme-serving/europe-west1/serving"]
    error_message = "one repository, however it is said"
  }
}

run "a_number_is_no_id" {
  command = plan

  variables {
    project_id = "210987654321"
  }

  expect_failures = [var.project_id]
}

run "an_id_is_no_number" {
  command = plan

  variables {
    project_number = "acme-serving"
  }

  expect_failures = [var.project_number]
}

run "a_new_bucket_wants_a_location" {
  command = plan

  variables {
    model_buckets = { acme-models = { create = true } }
  }

  expect_failures = [var.model_buckets]
}

run "a_bucket_is_no_address" {
  command = plan

  variables {
    model_buckets = { "gs://acme-models" = {} }
  }

  expect_failures = [var.model_buckets]
}

run "names_of_objects_begin_without_a_slash" {
  command = plan

  variables {
    model_buckets = { acme-models = { object_name_prefix = "/ranker" } }
  }

  expect_failures = [var.model_buckets]
}

run "the_project_of_a_bucket_is_an_id" {
  command = plan

  variables {
    model_buckets = { acme-models = { project_id = "Acme" } }
  }

  expect_failures = [var.model_buckets]
}

run "an_account_is_one_of_googles" {
  command = plan

  variables {
    serving_accounts = { "ada@example.com" = {} }
  }

  expect_failures = [var.serving_accounts]
}

run "the_default_account_is_refused" {
  command = plan

  variables {
    serving_accounts = { "123456789012-compute@developer.gserviceaccount.com" = {} }
  }

  expect_failures = [var.serving_accounts]
}

run "a_new_account_has_a_short_name" {
  command = plan

  variables {
    serving_accounts = { ranker-of-everything = {} }
  }

  expect_failures = [var.serving_accounts]
}

run "an_account_stands_once" {
  command = plan

  variables {
    serving_accounts = { ranker = {}, "trimtab-serving-ranker@acme-serving.iam.gserviceaccount.com" = {} }
  }

  expect_failures = [var.serving_accounts]
}

run "a_repository_has_a_name_alone" {
  command = plan

  variables {
    image_repositories = [{ location = "europe-west1", name = "acme/serving" }]
  }

  expect_failures = [var.image_repositories]
}

run "labels_are_lower_case" {
  command = plan

  variables {
    labels = { Team = "ml" }
  }

  expect_failures = [var.labels]
}

run "app_is_trimtabs_own_label" {
  command = plan

  variables {
    labels = { app = "mine" }
  }

  expect_failures = [var.labels]
}
