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
