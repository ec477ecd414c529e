# The alert policies of one served model. Trimtab reads the three labels: which service, where, and what it means.
# A test holds these equal to the policies that the simulation runs with (shared/local/world/alerts.py).

locals {
  on_cloud_run    = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=\"${var.service}\" AND resource.labels.location=\"${var.region}\""
  served          = ":tensorflow:serving:request_count"
  series          = "monitored_resource=\"cloud_run_revision\",service_name=\"${var.service}\",location=\"${var.region}\"}[1m]"
  requests        = "sum(rate(run_googleapis_com:request_count{${local.series}))"
  answered_well   = "sum(rate(run_googleapis_com:request_count{response_code_class=\"2xx\",${local.series}))"
  failed          = "sum(rate(run_googleapis_com:request_count{response_code_class=\"5xx\",${local.series}))"
  on_server       = "namespace=\"${var.service}\",location=\"${var.region}\"}[1m]"
  served_requests = "sum(rate(${local.served}{${local.on_server}))"
  refused         = "sum(rate(${local.served}{status=\"UNAVAILABLE\",${local.on_server}))"
  median          = "histogram_quantile(0.5, sum by (le) (rate(run_googleapis_com:%s_bucket{${local.series})))"

  # Filters with a threshold.
  threshold = merge({
    no-instance = {
      title      = "no instance available"
      condition  = "429 answers per second"
      filter     = "${local.on_cloud_run} AND metric.type=\"run.googleapis.com/request_count\" AND metric.labels.response_code=\"429\""
      aligner    = "ALIGN_RATE"
      reducer    = "REDUCE_SUM"
      threshold  = 0
      duration_s = 60
      text       = "Requests are refused for want of an instance."
    }
    pending-latency = {
      title      = "requests wait for an instance"
      condition  = "p99 of the wait above 1000 ms"
      filter     = "${local.on_cloud_run} AND metric.type=\"run.googleapis.com/request_latency/pending\""
      aligner    = "ALIGN_PERCENTILE_99"
      reducer    = "REDUCE_MAX"
      threshold  = 1000
      duration_s = 120
      text       = "Requests wait for an instance to start."
    }
    gpu-memory = {
      title      = "GPU memory nearly full"
      condition  = "p99 of GPU memory above 95 %"
      filter     = "${local.on_cloud_run} AND metric.type=\"run.googleapis.com/container/gpu/memory_utilizations\""
      aligner    = "ALIGN_PERCENTILE_99"
      reducer    = "REDUCE_MAX"
      threshold  = 0.95
      duration_s = 120
      text       = "GPU memory is nearly full."
    }
    idle = {
      title      = "idle instances"
      condition  = "instances idle for half an hour"
      filter     = "${local.on_cloud_run} AND metric.type=\"run.googleapis.com/container/instance_count\" AND metric.labels.state=\"idle\""
      aligner    = "ALIGN_MIN"
      reducer    = "REDUCE_SUM"
      threshold  = 0
      duration_s = 1800
      text       = "The service holds more instances than its traffic needs."
    }
    }, var.objective.p99_ms == null ? {} : {
    latency = {
      title      = "slow answers"
      condition  = "p99 above ${coalesce(var.objective.p99_ms, 0)} ms"
      filter     = "${local.on_cloud_run} AND metric.type=\"run.googleapis.com/request_latencies\""
      aligner    = "ALIGN_PERCENTILE_99"
      reducer    = "REDUCE_MAX"
      threshold  = var.objective.p99_ms
      duration_s = 120
      text       = "Requests are slower than the objective."
    }
  })

  # PromQL, which compares by itself. A metric that nobody has written yet is none that Cloud Monitoring knows: before a collector runs
  # beside TF Serving, and before a service had its first request, a query finds nothing and says nothing.
  promql = {
    queue-full = {
      title      = "batching queue full"
      condition  = "UNAVAILABLE answers of TF Serving per second"
      query      = "${local.refused} > 0"
      duration_s = 60
      text       = "TF Serving's batching queue refuses requests."
    }
    thread-gap = {
      title      = "server threads exhausted"
      condition  = "requests that Cloud Run answered well and TF Serving never saw, above 1 %"
      query      = "1 - ${local.served_requests} / ${local.answered_well} > 0.01"
      duration_s = 60
      text       = "Cloud Run counts more requests than TF Serving does: the server has no thread for them and refuses them unseen."
    }
    error-ratio = {
      title      = "errors"
      condition  = "5xx answers above ${var.objective.error_ratio} of all"
      query      = "${local.failed} / ${local.requests} > ${var.objective.error_ratio}"
      duration_s = 120
      text       = "More requests fail than the objective allows."
    }
    cpu-high-gpu-low = {
      title      = "CPU busy, GPU idle"
      condition  = "median CPU above 80 % while the median GPU is below 50 %"
      query      = "(${format(local.median, "container_cpu_utilizations")} > 0.8) and (${format(local.median, "container_gpu_utilizations")} < 0.5)"
      duration_s = 120
      text       = "The CPU is busy while the GPU idles."
    }
  }

  # Series that should be there.
  absent = {
    no-data = {
      title      = "no data"
      condition  = "no request count for five minutes"
      filter     = "${local.on_cloud_run} AND metric.type=\"run.googleapis.com/request_count\""
      duration_s = 300
      text       = "Nothing is known of the service's requests."
    }
  }

  policies = { for signal, policy in merge(local.threshold, local.promql, local.absent) : signal => {
    title     = policy.title
    condition = policy.condition
    text      = policy.text
  } if contains(var.signals, signal) }

  labels = { for signal in keys(local.policies) : signal => merge(var.labels, {
    trimtab_service = var.service
    trimtab_region  = var.region
    trimtab_signal  = signal
  }) }
}

resource "google_monitoring_alert_policy" "main" {
  for_each = local.policies

  project               = var.project_id
  display_name          = "${var.service}: ${each.value.title}"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = var.notification_channels
  user_labels           = local.labels[each.key]

  conditions {
    display_name = each.value.condition

    dynamic "condition_threshold" {
      for_each = [for signal, policy in local.threshold : policy if signal == each.key]

      content {
        filter          = condition_threshold.value.filter
        comparison      = "COMPARISON_GT"
        threshold_value = condition_threshold.value.threshold
        duration        = "${condition_threshold.value.duration_s}s"

        aggregations {
          alignment_period     = "60s"
          per_series_aligner   = condition_threshold.value.aligner
          cross_series_reducer = condition_threshold.value.reducer
        }
      }
    }

    dynamic "condition_prometheus_query_language" {
      for_each = [for signal, policy in local.promql : policy if signal == each.key]

      content {
        query                     = condition_prometheus_query_language.value.query
        duration                  = "${condition_prometheus_query_language.value.duration_s}s"
        evaluation_interval       = "60s"
        disable_metric_validation = true
      }
    }

    dynamic "condition_absent" {
      for_each = [for signal, policy in local.absent : policy if signal == each.key]

      content {
        filter   = condition_absent.value.filter
        duration = "${condition_absent.value.duration_s}s"

        aggregations {
          alignment_period     = "60s"
          per_series_aligner   = "ALIGN_RATE"
          cross_series_reducer = "REDUCE_SUM"
        }
      }
    }
  }

  alert_strategy {
    auto_close           = "1800s"
    notification_prompts = ["OPENED", "CLOSED"]
  }

  documentation {
    mime_type = "text/markdown"
    content   = each.value.text
  }
}
