mock_provider "google" {}

variables {
  project_id            = "acme-ml"
  region                = "europe-west1"
  name                  = "trimtab-alert"
  description           = "Notifications become facts."
  entry_point           = "alert"
  source_file           = "fn_alert.py"
  archive               = { bucket = "b-source", object = "trimtab-0123.zip" }
  build                 = { service_account_id = "projects/acme-ml/serviceAccounts/b@acme-ml.iam.gserviceaccount.com", docker_repository = "projects/acme-ml/locations/europe-west1/repositories/trimtab" }
  service_account_email = "trimtab-alert@acme-ml.iam.gserviceaccount.com"
}

run "without_a_trigger_it_is_called_over_https_only" {
  command = plan

  assert {
    condition     = length(google_pubsub_subscription.main) == 0 && length(google_pubsub_topic.dead_letters) == 0
    error_message = "no trigger, no topic"
  }
  assert {
    condition     = length(google_cloud_run_v2_service_iam_member.invoker) == 0
    error_message = "nobody may call it but who is named"
  }
}

run "with_a_trigger_it_has_dead_letters_that_are_kept" {
  command = plan

  variables {
    trigger = {
      topic                      = "trimtab-alerts"
      push_service_account_email = "trimtab-push@acme-ml.iam.gserviceaccount.com"
      pubsub_agent_email         = "service-1@gcp-sa-pubsub.iam.gserviceaccount.com"
    }
  }

  assert {
    condition     = google_pubsub_subscription.main["main"].dead_letter_policy[0].max_delivery_attempts == 30
    error_message = "given up after 30 deliveries"
  }
  assert {
    condition     = google_pubsub_subscription.dead_letters["main"].name == "trimtab-alert-dead-letters" && google_pubsub_subscription.dead_letters["main"].expiration_policy[0].ttl == ""
    error_message = "dead letters wait until somebody has read them"
  }
  assert {
    condition     = google_cloud_run_v2_service_iam_member.invoker["push"].member == "serviceAccount:trimtab-push@acme-ml.iam.gserviceaccount.com"
    error_message = "pushes come as the push account"
  }
}

run "nobody_may_call_it_without_a_name" {
  command = plan

  variables {
    invokers = { everybody = "allUsers" }
  }

  expect_failures = [var.invokers]
}

run "a_message_does_not_come_again_while_it_is_worked_on" {
  command = plan

  variables {
    timeout_seconds = 120
    trigger = {
      topic                      = "trimtab-alerts"
      push_service_account_email = "trimtab-push@acme-ml.iam.gserviceaccount.com"
      pubsub_agent_email         = "service-1@gcp-sa-pubsub.iam.gserviceaccount.com"
    }
  }

  expect_failures = [var.trigger]
}

run "a_name_that_is_too_short" {
  command = plan

  variables {
    name = "x"
  }

  expect_failures = [var.name]
}

run "a_source_in_a_folder" {
  command = plan

  variables {
    source_file = "functions/alert/main.py"
  }

  expect_failures = [var.source_file]
}

run "an_old_runtime" {
  command = plan

  variables {
    runtime = "python39"
  }

  expect_failures = [var.runtime]
}

run "half_a_processor_for_many" {
  command = plan

  variables {
    cpu = "0.5"
  }

  expect_failures = [var.cpu]
}

run "memory_without_a_unit" {
  command = plan

  variables {
    memory = "512"
  }

  expect_failures = [var.memory]
}

run "no_request_at_a_time" {
  command = plan

  variables {
    concurrency = 0
  }

  expect_failures = [var.concurrency]
}

run "more_kept_than_there_may_be" {
  command = plan

  variables {
    min_instances = 11
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

run "no_time_at_all" {
  command = plan

  variables {
    timeout_seconds = 0
  }

  expect_failures = [var.timeout_seconds]
}

run "a_door_that_is_none" {
  command = plan

  variables {
    ingress = "ALLOW_SOME"
  }

  expect_failures = [var.ingress]
}

run "an_ack_deadline_that_pubsub_refuses" {
  command = plan

  variables {
    trigger = { topic = "trimtab-alerts", push_service_account_email = "p@acme-ml.iam.gserviceaccount.com", pubsub_agent_email = "s@gcp-sa-pubsub.iam.gserviceaccount.com", ack_deadline_seconds = 601 }
  }

  expect_failures = [var.trigger]
}

run "deliveries_that_pubsub_refuses" {
  command = plan

  variables {
    trigger = { topic = "trimtab-alerts", push_service_account_email = "p@acme-ml.iam.gserviceaccount.com", pubsub_agent_email = "s@gcp-sa-pubsub.iam.gserviceaccount.com", max_delivery_attempts = 4 }
  }

  expect_failures = [var.trigger]
}

run "dead_letters_for_longer_than_pubsub_keeps_them" {
  command = plan

  variables {
    trigger = { topic = "trimtab-alerts", push_service_account_email = "p@acme-ml.iam.gserviceaccount.com", pubsub_agent_email = "s@gcp-sa-pubsub.iam.gserviceaccount.com", dead_letter_retention_seconds = 2678401 }
  }

  expect_failures = [var.trigger]
}
