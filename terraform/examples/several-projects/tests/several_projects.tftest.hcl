mock_provider "google" {}

variables {
  control_project_id = "acme-control"
  project_numbers    = { acme-control = "111111111111", acme-ads = "222222222222", acme-search = "333333333333" }
  archive            = "../../tests/archive.zip"
  models = {
    ranker   = { project_id = "acme-ads", region = "europe-west1", bucket = "acme-models", p99_ms = 800 }
    embedder = { project_id = "acme-search", region = "europe-west1", bucket = "acme-models", p99_ms = 200 }
  }
}

run "a_shared_bucket_has_a_project" {
  command = plan

  expect_failures = [var.bucket_projects]
}

run "without_a_model_there_would_be_no_limit" {
  command = plan

  variables {
    models = {}
  }

  expect_failures = [var.models]
}

run "one_service_twice" {
  command = plan

  variables {
    models = {
      ranker = { project_id = "acme-ads", region = "europe-west1", bucket = "acme-ads-models", p99_ms = 800 }
      other  = { project_id = "acme-ads", region = "europe-west1", bucket = "acme-ads-models", p99_ms = 800, service = "ranker" }
    }
  }

  expect_failures = [var.models]
}
