# What Trimtab does, on one page: what comes in, what waits, what was given up, what it changed.

locals {
  functions     = ["alert", "upload", "command", "audit", "schedule", "reconcile"]
  names         = join(", ", [for name in local.functions : "\"trimtab-${name}\""])
  on_functions  = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=one_of(${local.names})"
  on_push       = "resource.type=\"pubsub_subscription\" AND resource.labels.subscription_id=one_of(${local.names})"
  on_dead       = "resource.type=\"pubsub_subscription\" AND resource.labels.subscription_id=one_of(${join(", ", [for name in local.functions : "\"trimtab-${name}-dead-letters\""])})"
  on_log_metric = "resource.type=\"cloud_run_revision\" AND metric.type=\"logging.googleapis.com/user/trimtab/%s\""

  charts = [
    { title = "Looks of reconcile", filter = format(local.on_log_metric, "looks"), aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
    { title = "Requests by function", filter = "${local.on_functions} AND metric.type=\"run.googleapis.com/request_count\"", aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["resource.label.service_name", "metric.label.response_code_class"] },
    { title = "p95 of a request (ms)", filter = "${local.on_functions} AND metric.type=\"run.googleapis.com/request_latencies\"", aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = ["resource.label.service_name"] },
    { title = "Instances", filter = "${local.on_functions} AND metric.type=\"run.googleapis.com/container/instance_count\"", aligner = "ALIGN_MAX", reducer = "REDUCE_SUM", by = ["resource.label.service_name"] },
    { title = "Age of the oldest message (s)", filter = "${local.on_push} AND metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"", aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = ["resource.label.subscription_id"] },
    { title = "Dead letters", filter = "${local.on_dead} AND metric.type=\"pubsub.googleapis.com/subscription/num_undelivered_messages\"", aligner = "ALIGN_MAX", reducer = "REDUCE_MAX", by = ["resource.label.subscription_id"] },
    { title = "Parked", filter = format(local.on_log_metric, "parked"), aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.label.function"] },
    { title = "Bugs", filter = format(local.on_log_metric, "bugs"), aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = ["metric.label.function"] },
    { title = "Refused by Cloud Run", filter = format(local.on_log_metric, "refused"), aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
    { title = "Held back by a brake", filter = format(local.on_log_metric, "brakes"), aligner = "ALIGN_DELTA", reducer = "REDUCE_SUM", by = [] },
  ]
}

resource "google_monitoring_dashboard" "main" {
  project = var.project_id

  dashboard_json = jsonencode({
    displayName = "Trimtab"
    mosaicLayout = {
      columns = 12
      # The service gives back neither a zero nor an empty list: written here they would be a change at every plan.
      tiles = [for index, chart in local.charts : merge(
        { for side, place in { xPos = index % 2 * 6, yPos = floor(index / 2) * 4 } : side => place if place > 0 },
        {
          width  = 6
          height = 4
          widget = {
            title = chart.title
            xyChart = {
              dataSets = [{
                plotType = "LINE"
                timeSeriesQuery = {
                  timeSeriesFilter = {
                    filter = chart.filter
                    aggregation = { for name, value in {
                      alignmentPeriod    = "60s"
                      perSeriesAligner   = chart.aligner
                      crossSeriesReducer = chart.reducer
                      groupByFields      = chart.by
                    } : name => value if length(value) > 0 }
                  }
                }
              }]
            }
          }
      })]
    }
  })
}
