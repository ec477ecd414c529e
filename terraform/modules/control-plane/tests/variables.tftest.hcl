# What the variables refuse. Without an account: the provider is mocked.
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

run "a_runtime_that_is_too_old" {
  command = plan

  variables {
    runtime = "python310"
  }

  expect_failures = [var.runtime]
}

run "a_prefix_that_pubsub_keeps_for_itself" {
  command = plan

  variables {
    topic_prefix = "goog-"
  }

  expect_failures = [var.topic_prefix]
}

run "a_database_has_a_name" {
  command = plan

  variables {
    firestore = { database = "Trimtab" }
  }

  expect_failures = [var.firestore]
}

run "a_zone_is_no_place_for_a_database" {
  command = plan

  variables {
    firestore = { location = "europe-west1-b" }
  }

  expect_failures = [var.firestore]
}

run "fewer_than_none_are_kept_running" {
  command = plan

  variables {
    min_instances = -1
  }

  expect_failures = [var.min_instances]
}

run "more_kept_running_than_there_may_be" {
  command = plan

  variables {
    min_instances = 5
    max_instances = 4
  }

  expect_failures = [var.min_instances]
}

run "no_instance_at_all" {
  command = plan

  variables {
    max_instances = 0
  }

  expect_failures = [var.max_instances]
}

run "a_grant_has_one_side" {
  command = plan

  variables {
    command_grants = [{ commands = ["hold"], services = ["*"] }]
  }

  expect_failures = [var.command_grants]
}

run "an_identity_is_an_address_alone" {
  command = plan

  variables {
    command_grants = [{ identity = "user:ada@example.com", commands = ["hold"], services = ["*"] }]
  }

  expect_failures = [var.command_grants]
}

run "a_subscription_has_its_full_name" {
  command = plan

  variables {
    command_grants = [{ subscription = "trimtab-command", commands = ["hold"], services = ["*"] }]
  }

  expect_failures = [var.command_grants]
}

run "a_command_is_one_of_nine" {
  command = plan

  variables {
    command_grants = [{ identity = "ada@example.com", commands = ["restart"], services = ["*"] }]
  }

  expect_failures = [var.command_grants]
}

run "a_grant_of_no_command" {
  command = plan

  variables {
    command_grants = [{ identity = "ada@example.com", commands = [], services = ["*"] }]
  }

  expect_failures = [var.command_grants]
}

run "a_star_stands_at_the_end" {
  command = plan

  variables {
    command_grants = [{ identity = "ada@example.com", commands = ["hold"], services = ["*:europe-west1:ranker"] }]
  }

  expect_failures = [var.command_grants]
}

run "a_grant_of_no_service" {
  command = plan

  variables {
    command_grants = [{ identity = "ada@example.com", commands = ["hold"], services = [] }]
  }

  expect_failures = [var.command_grants]
}

run "more_grants_than_are_read" {
  command = plan

  variables {
    command_grants = [for number in range(201) : { identity = "ada@example.com", commands = ["hold"], services = ["*"] }]
  }

  expect_failures = [var.command_grants]
}

run "callers_are_named" {
  command = plan

  variables {
    command_callers = ["allAuthenticatedUsers"]
  }

  expect_failures = [var.command_callers]
}

run "not_everybody_calls" {
  command = plan

  variables {
    command_callers = ["allUsers"]
  }

  expect_failures = [var.command_callers]
}

run "publishers_are_named" {
  command = plan

  variables {
    command_publishers = ["allUsers"]
  }

  expect_failures = [var.command_publishers]
}

run "a_channel_has_its_full_name" {
  command = plan

  variables {
    notification_channels = ["123"]
  }

  expect_failures = [var.notification_channels]
}

run "ticks_are_missed_after_minutes" {
  command = plan

  variables {
    alert_thresholds = { no_tick_seconds = 90 }
  }

  expect_failures = [var.alert_thresholds]
}

run "a_threshold_below_nothing" {
  command = plan

  variables {
    alert_thresholds = { reconcile_retries = -1 }
  }

  expect_failures = [var.alert_thresholds]
}

run "labels_are_lower_case" {
  command = plan

  variables {
    labels = { Team = "ml" }
  }

  expect_failures = [var.labels]
}

run "values_of_labels_are_lower_case" {
  command = plan

  variables {
    labels = { team = "ML" }
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

run "an_empty_list_of_images_is_no_limit" {
  command = plan

  variables {
    allowed_images = []
  }

  expect_failures = [var.allowed_images]
}

run "a_comma_ends_the_name_of_an_image" {
  command = plan

  variables {
    allowed_images = ["one,two"]
  }

  expect_failures = [var.allowed_images]
}

run "an_empty_list_of_service_accounts_is_no_limit" {
  command = plan

  variables {
    allowed_service_accounts = []
  }

  expect_failures = [var.allowed_service_accounts]
}

run "a_comma_ends_the_name_of_an_account" {
  command = plan

  variables {
    allowed_service_accounts = ["one,two"]
  }

  expect_failures = [var.allowed_service_accounts]
}

run "an_empty_list_of_buckets_is_no_limit" {
  command = plan

  variables {
    allowed_buckets = []
  }

  expect_failures = [var.allowed_buckets]
}

run "a_comma_ends_the_name_of_a_bucket" {
  command = plan

  variables {
    allowed_buckets = ["one,two"]
  }

  expect_failures = [var.allowed_buckets]
}

run "an_empty_list_of_projects_is_no_limit" {
  command = plan

  variables {
    allowed_projects = []
  }

  expect_failures = [var.allowed_projects]
}

run "a_comma_ends_the_name_of_a_project" {
  command = plan

  variables {
    allowed_projects = ["one,two"]
  }

  expect_failures = [var.allowed_projects]
}

run "less_than_no_request" {
  command = plan

  variables {
    trace_ratio = -0.1
  }

  expect_failures = [var.trace_ratio]
}

run "more_than_every_request" {
  command = plan

  variables {
    trace_ratio = 5
  }

  expect_failures = [var.trace_ratio]
}
