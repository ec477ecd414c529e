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
