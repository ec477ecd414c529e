mock_provider "google" {}

variables {
  project_id            = "acme-ml"
  region                = "europe-west1"
  service               = "ranker"
  objective             = { p99_ms = 800, error_ratio = 0.02 }
  notification_channels = ["projects/acme-ml/notificationChannels/1"]
}

run "every_policy_carries_the_three_labels_and_a_channel" {
  command = plan

  assert {
    condition = alltrue([for signal, policy in google_monitoring_alert_policy.main :
      policy.user_labels["trimtab_service"] == "ranker" && policy.user_labels["trimtab_region"] == "europe-west1" &&
      policy.user_labels["trimtab_signal"] == signal && length(policy.notification_channels) == 1
    ])
    error_message = "Trimtab reads which service, where, and what it means"
  }
  assert {
    condition     = google_monitoring_alert_policy.main["latency"].conditions[0].condition_threshold[0].threshold_value == 800
    error_message = "the objective is the threshold"
  }
}

run "no_choice_is_all_ten" {
  command = plan

  variables {
    signals = null
  }

  assert {
    condition     = length(google_monitoring_alert_policy.main) == 10
    error_message = "null: all"
  }
  assert {
    condition     = google_monitoring_alert_policy.main["queue-full"].conditions[0].condition_prometheus_query_language[0].disable_metric_validation
    error_message = "a metric that no server has written yet is no reason to refuse the policy"
  }
}

run "a_policy_that_nobody_hears_of_is_refused" {
  command = plan

  variables {
    notification_channels = []
  }

  expect_failures = [var.notification_channels]
}

run "a_signal_that_trimtab_does_not_know_is_refused" {
  command = plan

  variables {
    signals = ["disk-full"]
  }

  expect_failures = [var.signals]
}

run "a_number_is_no_id" {
  command = plan

  variables {
    project_id = "123456789012"
  }

  expect_failures = [var.project_id]
}

run "a_zone_is_no_region" {
  command = plan

  variables {
    region = "europe-west1-b"
  }

  expect_failures = [var.region]
}

run "a_name_that_would_end_a_query" {
  command = plan

  variables {
    service = "x\"} or vector(1)"
  }

  expect_failures = [var.service]
}

run "a_share_is_below_one" {
  command = plan

  variables {
    objective = { error_ratio = 1 }
  }

  expect_failures = [var.objective]
}

run "no_time_is_no_objective" {
  command = plan

  variables {
    objective = { p99_ms = 0 }
  }

  expect_failures = [var.objective]
}

run "a_channel_has_its_full_name" {
  command = plan

  variables {
    notification_channels = ["1"]
  }

  expect_failures = [var.notification_channels]
}

run "labels_are_lower_case" {
  command = plan

  variables {
    labels = { Team = "ml" }
  }

  expect_failures = [var.labels]
}

run "trimtabs_labels_are_set_here" {
  command = plan

  variables {
    labels = { trimtab_service = "other" }
  }

  expect_failures = [var.labels]
}
