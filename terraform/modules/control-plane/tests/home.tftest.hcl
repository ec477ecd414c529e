# A state is of one project and one region. The runs of this file share a state.
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

run "what_is_there" {
  plan_options {
    target = [terraform_data.home]
  }
}

run "is_found_again" {
  command = plan

  assert {
    condition     = terraform_data.home.output.project_id == "acme-ml"
    error_message = "the project that was said first"
  }
}

run "another_project_does_not_take_its_state" {
  command = plan

  variables {
    project_id = "acme-prod"
  }

  expect_failures = [terraform_data.home]
}

run "nor_does_another_region" {
  command = plan

  variables {
    region = "us-central1"
  }

  expect_failures = [terraform_data.home]
}

run "moving_it_can_be_asked_for" {
  command = plan

  variables {
    project_id = "acme-prod"
  }

  plan_options {
    replace = [terraform_data.home]
  }
}
