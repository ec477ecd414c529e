mock_provider "google" {}

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

run "trimtab_may_change_this_service_alone" {
  command = plan

  assert {
    condition     = google_cloud_run_v2_service_iam_member.updater.name == "ranker" && google_cloud_run_v2_service_iam_member.updater.location == "europe-west1" && google_cloud_run_v2_service_iam_member.updater.role == "projects/acme-ml/roles/trimtabRunUpdater"
    error_message = "this service, not those of the project"
  }
  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.deleter) == 0
    error_message = "nobody deletes unless it is said"
  }
}

run "deleting_needs_the_role_of_the_project" {
  command = plan

  variables {
    allow_delete = true
  }

  expect_failures = [google_cloud_run_v2_service_iam_member.deleter]
}

run "a_zone_is_no_region" {
  command = plan

  variables {
    region = "europe-west1-b"
  }

  expect_failures = [var.region]
}

run "a_service_has_a_name_that_cloud_run_takes" {
  command = plan

  variables {
    service = "Ranker"
  }

  expect_failures = [var.service]
}
