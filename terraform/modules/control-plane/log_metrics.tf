locals {
  of_functions = join(" AND ", [
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=(${join(" OR ", [for name in keys(local.functions) : "\"trimtab-${name}\""])})",
  ])

  # The lines are those of shared/log.py; a test holds that the code writes each of these texts.
  log_metrics = {
    parked = {
      description = "Events that can never work, and alerts of services without a spec."
      filter      = "jsonPayload.message=(\"parked\" OR \"alerts of a service without a spec were parked\")"
    }
    bugs = {
      description = "Errors that nobody expected: the event is delivered again, and ends among the dead letters."
      filter      = "jsonPayload.message=\"bug\""
    }
    retries = {
      description = "Work that could not be done now: the store, the bus or Cloud Run did not answer."
      filter      = "jsonPayload.message=\"will be tried again\""
    }
    refused = {
      description = "Changes that Cloud Run refused."
      filter      = "jsonPayload.message=(\"Cloud Run refused a change\" OR \"Cloud Run refused a change for quota\" OR \"Cloud Run refused a write of a rollout\")"
    }
    unreadable = {
      description = "Stored documents that cannot be read: their service stands still."
      filter      = "jsonPayload.message=\"unreadable record\""
    }
    ticks = {
      description = "Ticks that were worked off."
      filter      = "jsonPayload.function=\"schedule\" AND jsonPayload.message=\"done\""
    }
    brakes = {
      description = "Looks at which one of the fleet's brakes held a change back."
      filter      = "jsonPayload.function=\"reconcile\" AND jsonPayload.detail:(\"brake-acts\" OR \"brake-usd\")"
    }
    looks = {
      description = "Looks that reconcile finished."
      filter      = "jsonPayload.function=\"reconcile\" AND jsonPayload.message=\"done\""
    }
  }
}

resource "google_logging_metric" "main" {
  for_each = local.log_metrics

  project     = var.project_id
  name        = "trimtab/${each.key}"
  description = each.value.description
  filter      = "${local.of_functions} AND ${each.value.filter}"

  label_extractors = {
    function = "EXTRACT(jsonPayload.function)"
  }

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
    unit        = "1"

    labels {
      key         = "function"
      value_type  = "STRING"
      description = "The function that wrote the line."
    }
  }

  depends_on = [google_project_service.main]
}
