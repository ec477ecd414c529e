# Without an account: the provider is mocked. `terraform init && terraform test`.
mock_provider "google" {
  override_during = plan

  mock_resource "google_service_account" {
    defaults = {
      email = "someone@acme-ml.iam.gserviceaccount.com"
      name  = "projects/acme-ml/serviceAccounts/someone@acme-ml.iam.gserviceaccount.com"
    }
  }
  mock_resource "google_monitoring_notification_channel" {
    defaults = { name = "projects/acme-ml/notificationChannels/1" }
  }
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project_id = "acme-ml"
  region     = "europe-west1"
  archive    = "tests/archive.zip"
}

# The archive is named because a checkout need not have packaged yet: where it has, project and region are all that must be said.
run "works_with_project_and_region_alone" {
  command = plan

  assert {
    condition     = length(output.topics) == 6 && output.topics["reconcile"] == "trimtab-wakes" && output.events_topic == "trimtab-events"
    error_message = "six functions, each with a topic of its own"
  }
  assert {
    condition     = length(module.dashboard) == 1 && length(module.served_model) == 0
    error_message = "a dashboard, and no model before one is named"
  }
  assert {
    condition     = output.archive_object == "trimtab-${substr(filesha256(var.archive), 0, 16)}.zip"
    error_message = "the archive's name holds its hash, or other content would not be deployed"
  }
}

run "a_model_gets_rights_and_alerts" {
  command = plan

  variables {
    model_buckets = { acme-models = {} }
    models        = { ranker = { bucket = "acme-models", objective = { p99_ms = 800 } } }
  }

  assert {
    condition     = length(module.served_model) == 1 && length(module.alerts["ranker"].policies) == 10
    error_message = "ten signals, ten policies"
  }
}

run "a_model_without_p99_has_no_alert_on_latency" {
  command = plan

  variables {
    models = { ranker = {} }
  }

  assert {
    condition     = length(module.alerts["ranker"].policies) == 9 && !contains(keys(module.alerts["ranker"].policies), "latency")
    error_message = "no objective, no threshold"
  }
}

run "a_bucket_that_nobody_watches_is_refused" {
  command = plan

  variables {
    models = { ranker = { bucket = "elsewhere" } }
  }

  expect_failures = [var.models]
}

run "one_service_in_two_regions" {
  command = plan

  variables {
    models = {
      ranker    = { service_account_email = "ranker@acme-ml.iam.gserviceaccount.com", signals = ["error-ratio", "no-data"] }
      ranker-us = { service_account_email = "ranker@acme-ml.iam.gserviceaccount.com", service = "ranker", region = "us-central1" }
    }
  }

  assert {
    condition     = module.served_model["ranker-us"].id == "acme-ml:us-central1:ranker" && keys(module.served_project.serving_accounts) == ["ranker@acme-ml.iam.gserviceaccount.com"]
    error_message = "two services, one account"
  }
  assert {
    condition     = keys(module.alerts["ranker"].policies) == ["error-ratio", "no-data"] && length(module.alerts["ranker-us"].policies) == 9
    error_message = "each model has the signals that it wants"
  }
}

run "one_service_twice" {
  command = plan

  variables {
    models = { ranker = {}, other = { service = "ranker" } }
  }

  expect_failures = [var.models]
}

run "an_account_has_an_address" {
  command = plan

  variables {
    models = { ranker = { service_account_email = "ranker" } }
  }

  expect_failures = [var.models]
}

run "the_default_account_is_refused" {
  command = plan

  variables {
    models = { ranker = { service_account_email = "123456789012-compute@developer.gserviceaccount.com" } }
  }

  expect_failures = [var.models]
}

run "a_new_account_has_a_short_name" {
  command = plan

  variables {
    models = { ranker-of-everything = {} }
  }

  expect_failures = [var.models]
}

run "a_service_has_a_name_that_cloud_run_takes" {
  command = plan

  variables {
    models = { Ranker = {} }
  }

  expect_failures = [var.models]
}

run "a_model_is_in_a_region" {
  command = plan

  variables {
    models = { ranker = { region = "europe-west1-b" } }
  }

  expect_failures = [var.models]
}

run "a_repository_has_a_name_alone" {
  command = plan

  variables {
    models = { ranker = { image_repository = { location = "europe-west1", name = "acme/serving" } } }
  }

  expect_failures = [var.models]
}

run "a_channel_of_a_model_has_its_full_name" {
  command = plan

  variables {
    models = { ranker = { notification_channels = ["123"] } }
  }

  expect_failures = [var.models]
}

run "a_number_is_no_id" {
  command = plan

  variables {
    project_id = "123456789012"
  }

  expect_failures = [var.project_id]
}

run "an_id_is_no_number" {
  command = plan

  variables {
    project_number = "acme-ml"
  }

  expect_failures = [var.project_number]
}

run "a_zone_is_no_region" {
  command = plan

  variables {
    region = "europe-west1-b"
  }

  expect_failures = [var.region]
}

run "labels_are_lower_case" {
  command = plan

  variables {
    labels = { Team = "ml" }
  }

  expect_failures = [var.labels]
}

run "trimtabs_labels_are_its_own" {
  command = plan

  variables {
    labels = { trimtab_service = "other" }
  }

  expect_failures = [var.labels]
}

run "deploying_what_the_variables_say" {
  command = plan

  variables {
    deploying = "acme-ml/europe-west1"
  }
}

run "deploying_another_project_than_the_variables_say" {
  command = plan

  variables {
    deploying = "acme-prod/europe-west1"
  }

  expect_failures = [var.deploying]
}

run "what_is_switched_on_is_passed_on" {
  command = plan

  variables {
    archive        = "tests/archive-profiler.zip"
    cloud_profiler = true
    trace_ratio    = 0.05
  }

  assert {
    condition     = output.archive_object == "trimtab-${substr(filesha256(var.archive), 0, 16)}.zip"
    error_message = "the archive with the profiler is named by its content as well"
  }
}
