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
