mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      email = "someone@acme-ml.iam.gserviceaccount.com"
    }
  }
}

variables {
  project_id     = "acme-ml"
  project_number = "123456789012"
  region         = "europe-west1"
  archive        = "../../tests/archive.zip"
}

run "the_database_is_guarded" {
  command = plan

  assert {
    condition     = google_firestore_database.main[0].concurrency_mode == "OPTIMISTIC" && google_firestore_database.main[0].delete_protection_state == "DELETE_PROTECTION_ENABLED"
    error_message = "writers compare, none waits for another's lock; the database outlives a destroy"
  }
}

run "a_database_that_is_there_already_is_used" {
  command = plan

  variables {
    firestore = { database = "trimtab", create = false }
  }

  assert {
    condition     = length(google_firestore_database.main) == 0 && google_firestore_field.main["facts/expire_at"].database == "trimtab"
    error_message = "its fields are set up all the same"
  }
}

run "lists_reach_the_functions_that_read_them" {
  command = plan

  variables {
    allowed_buckets = ["acme-models", "acme-more-*"]
  }

  assert {
    condition     = local.own_environment.command["TRIMTAB_ALLOWED_BUCKETS"] == "acme-models,acme-more-*" && local.own_environment.reconcile == { TRIMTAB_ALLOWED_BUCKETS = "acme-models,acme-more-*" }
    error_message = "commands that bring a spec, and looks that make something of it"
  }
}

run "switched_off_nothing_of_a_switch_is_here" {
  command = plan

  assert {
    condition     = length(local.switched_environment) == 0 && length(local.switched_apis) == 0 && length(google_project_iam_member.switched) == 0
    error_message = "no variable, no API, no role"
  }
}

run "the_profiler_is_a_variable_an_api_and_a_role_of_each_function" {
  command = plan

  variables {
    archive        = "../../tests/archive-profiler.zip"
    cloud_profiler = true
  }

  assert {
    condition     = local.switched_environment == { TRIMTAB_PROFILER = "true" } && contains(keys(google_project_service.main), "cloudprofiler.googleapis.com")
    error_message = "the functions are told, and the API is on"
  }
  assert {
    condition     = length(google_project_iam_member.switched) == 6 && alltrue([for grant in google_project_iam_member.switched : grant.role == "roles/cloudprofiler.agent"])
    error_message = "each function sends profiles of its own"
  }
}

run "without_an_archive_nothing_is_planned" {
  command = plan

  variables {
    archive = "build/none.zip"
  }

  expect_failures = [google_storage_bucket_object.archive]
}

run "a_file_that_is_no_archive" {
  command = plan

  variables {
    archive = "README.md"
  }

  expect_failures = [google_storage_bucket_object.archive]
}

run "one_caller_named_twice_is_one" {
  command = plan

  variables {
    command_callers = ["user:ada@example.com", "user:ada@example.com"]
  }

  assert {
    condition     = module.function["command"].name == "trimtab-command"
    error_message = "the second says nothing new"
  }
}

run "the_profiler_wants_the_archive_that_has_it" {
  command = plan

  variables {
    cloud_profiler = true
  }

  expect_failures = [google_storage_bucket_object.archive]
}

run "spans_are_a_variable_two_apis_and_two_roles_of_each_function" {
  command = plan

  variables {
    trace_ratio = 0.05
  }

  assert {
    condition     = local.switched_environment == { TRIMTAB_TRACE_RATIO = "0.05" }
    error_message = "the functions are told how many"
  }
  assert {
    condition     = length(setintersection(keys(google_project_service.main), ["cloudtrace.googleapis.com", "telemetry.googleapis.com"])) == 2
    error_message = "one API takes the spans, the other keeps them"
  }
  assert {
    condition     = length(google_project_iam_member.switched) == 12
    error_message = "each function writes spans, and its project is charged with them"
  }
}
