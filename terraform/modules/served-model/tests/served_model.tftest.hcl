mock_provider "google" {
  override_during = plan

  mock_resource "google_service_account" {
    defaults = { email = "trimtab-serving-ranker@acme-ml.iam.gserviceaccount.com" }
  }
}

variables {
  region  = "europe-west1"
  service = "ranker"
  project = { project_id = "acme-ml", updater_role = "projects/acme-ml/roles/trimtabRunUpdater" }
  control_plane = {
    project_id        = "acme-ml"
    alerts_topic      = "trimtab-alerts"
    uploads_topic     = "trimtab-model-uploads"
    changes_topic     = "trimtab-changes"
    reconcile_account = "trimtab-reconcile@acme-ml.iam.gserviceaccount.com"
    command_account   = "trimtab-command@acme-ml.iam.gserviceaccount.com"
  }
}

run "trimtab_may_act_as_the_service_and_change_it_alone" {
  command = plan

  assert {
    condition     = google_service_account_iam_member.act_as.service_account_id == "projects/acme-ml/serviceAccounts/trimtab-serving-ranker@acme-ml.iam.gserviceaccount.com"
    error_message = "as this account, not as those of the project"
  }
  assert {
    condition     = google_cloud_run_v2_service_iam_member.updater.name == "ranker" && google_cloud_run_v2_service_iam_member.updater.role == "projects/acme-ml/roles/trimtabRunUpdater"
    error_message = "this service, not those of the project"
  }
  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.deleter) == 0
    error_message = "nobody deletes unless it is said"
  }
}

run "an_account_that_is_there_is_used" {
  command = plan

  variables {
    service_account_email = "ranker@acme-ml.iam.gserviceaccount.com"
  }

  assert {
    condition     = length(google_service_account.serving) == 0 && output.service_account_email == "ranker@acme-ml.iam.gserviceaccount.com"
    error_message = "none is made beside it"
  }
}

run "the_default_account_is_refused" {
  command = plan

  variables {
    service_account_email = "123456789012-compute@developer.gserviceaccount.com"
  }

  expect_failures = [var.service_account_email]
}

run "deleting_needs_the_role_of_the_project" {
  command = plan

  variables {
    allow_delete = true
  }

  expect_failures = [google_cloud_run_v2_service_iam_member.deleter]
}
