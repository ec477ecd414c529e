# Alerts on Trimtab itself, for people. Those on served models are in the module alerts: Trimtab listens to them.

locals {
  dead_letter_subscriptions = [for name in keys(local.functions) : module.function[name].dead_letter_subscription]
  subscriptions             = [for name in keys(local.functions) : module.function[name].subscription]
  on_subscriptions          = "resource.type=\"pubsub_subscription\" AND resource.labels.subscription_id=one_of(%s) AND metric.type=\"%s\""
  on_log_metric             = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user/%s\""

  own_alerts = {
    dead_letters = {
      title  = "dead letters"
      what   = "a message was given up"
      filter = format(local.on_subscriptions, join(", ", [for name in local.dead_letter_subscriptions : "\"${name}\""]), "pubsub.googleapis.com/subscription/num_undelivered_messages")
      # A count that stands, as long as nobody has read them.
      aligner    = "ALIGN_MAX"
      group_by   = ["resource.labels.subscription_id"]
      threshold  = 0
      duration_s = 300
      severity   = "ERROR"
      text       = "Messages were delivered again and again and given up. Read them in the dead-letter subscription (`gcloud pubsub subscriptions pull SUBSCRIPTION --limit=10`), look for the line `bug` in the function's log, mend it, publish them to the function's topic again."
    }
    unacked = {
      title      = "messages wait"
      what       = "the oldest message waits too long"
      filter     = format(local.on_subscriptions, join(", ", [for name in local.subscriptions : "\"${name}\""]), "pubsub.googleapis.com/subscription/oldest_unacked_message_age")
      aligner    = "ALIGN_MAX"
      group_by   = ["resource.labels.subscription_id"]
      threshold  = var.alert_thresholds.oldest_unacked_seconds
      duration_s = 300
      severity   = "ERROR"
      text       = "A function does not keep up or fails: look at its log for `will be tried again` and `bug`."
    }
    parked = {
      title      = "parked events"
      what       = "an event was parked"
      filter     = format(local.on_log_metric, google_logging_metric.main["parked"].name)
      aligner    = "ALIGN_DELTA"
      group_by   = []
      threshold  = 0
      duration_s = 0
      severity   = "WARNING"
      text       = "An event can never work as it came. `trimtab parked` lists them with the reason; mend the sender, then redrive or discard."
    }
    bugs = {
      title      = "bugs"
      what       = "a function met an error that nobody expected"
      filter     = format(local.on_log_metric, google_logging_metric.main["bugs"].name)
      aligner    = "ALIGN_DELTA"
      group_by   = ["metric.labels.function"]
      threshold  = 0
      duration_s = 0
      severity   = "ERROR"
      text       = "The line `bug` in the function's log says where. The event is delivered again, and ends among the dead letters."
    }
    reconcile_failures = {
      title      = "reconcile fails"
      what       = "looks fail"
      filter     = "${format(local.on_log_metric, google_logging_metric.main["retries"].name)} AND metric.labels.function=\"reconcile\""
      aligner    = "ALIGN_DELTA"
      group_by   = []
      threshold  = var.alert_thresholds.reconcile_retries
      duration_s = 0
      severity   = "ERROR"
      text       = "Looks could not be finished: the store or the bus did not answer, or too slowly. Nothing is lost; the ticks look again."
    }
    refused = {
      title      = "Cloud Run refuses"
      what       = "Cloud Run refused a change"
      filter     = format(local.on_log_metric, google_logging_metric.main["refused"].name)
      aligner    = "ALIGN_DELTA"
      group_by   = []
      threshold  = 0
      duration_s = 0
      severity   = "WARNING"
      text       = "The line in the log of trimtab-reconcile has Cloud Run's words: quota, a permission, a value. The decision of the service says what was wanted."
    }
    unreadable = {
      title      = "unreadable documents"
      what       = "a stored document cannot be read"
      filter     = format(local.on_log_metric, google_logging_metric.main["unreadable"].name)
      aligner    = "ALIGN_DELTA"
      group_by   = []
      threshold  = 0
      duration_s = 0
      severity   = "ERROR"
      text       = "Changes of its service have stopped. The line in the log names the document; point-in-time recovery has the one before."
    }
    brakes = {
      title      = "brakes"
      what       = "a brake of the fleet held a change back"
      filter     = format(local.on_log_metric, google_logging_metric.main["brakes"].name)
      aligner    = "ALIGN_DELTA"
      group_by   = []
      threshold  = var.alert_thresholds.braked_looks
      duration_s = 0
      severity   = "WARNING"
      text       = "The fleet's limit on acts per minute or on dollars per hour is reached. The decisions say which; lift the brake, or find out who drives so many changes."
    }
  }
}

resource "google_monitoring_alert_policy" "own" {
  for_each = local.own_alerts

  project               = var.project_id
  display_name          = "Trimtab: ${each.value.title}"
  combiner              = "OR"
  severity              = each.value.severity
  notification_channels = var.notification_channels
  user_labels           = local.labels

  conditions {
    display_name = each.value.what

    condition_threshold {
      filter          = each.value.filter
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.threshold
      duration        = "${each.value.duration_s}s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.aligner == "ALIGN_MAX" ? "REDUCE_MAX" : "REDUCE_SUM"
        group_by_fields      = each.value.group_by
      }
    }
  }

  alert_strategy {
    auto_close = "1800s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = each.value.text
  }
}

resource "google_monitoring_alert_policy" "no_tick" {
  project               = var.project_id
  display_name          = "Trimtab: no tick"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = local.labels

  conditions {
    display_name = "no tick was worked off"

    condition_absent {
      filter   = format(local.on_log_metric, google_logging_metric.main["ticks"].name)
      duration = "${var.alert_thresholds.no_tick_seconds}s"

      aggregations {
        alignment_period     = "60s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  alert_strategy {
    auto_close = "1800s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = "Timers stand still: nothing settled is looked at. Look at the Scheduler job trimtab-tick, at the subscription trimtab-schedule and at the log of trimtab-schedule."
  }
}
