# What a deployment may switch on: where processor time goes, and where the time of one event goes. Switched off, nothing of it is here.
# Variables, APIs and roles are those of shared/deployment.py; a test holds the two equal.

locals {
  switches = {
    profiler = {
      on          = var.cloud_profiler
      environment = { TRIMTAB_PROFILER = "true" }
      apis        = ["cloudprofiler.googleapis.com"]
      roles       = ["roles/cloudprofiler.agent"]
    }
    traces = {
      on          = var.trace_ratio > 0
      environment = { TRIMTAB_TRACE_RATIO = tostring(var.trace_ratio) }
      apis        = ["cloudtrace.googleapis.com", "telemetry.googleapis.com"]
      # The Telemetry API counts what it is sent against the project, and asks for the second role of whoever sends.
      roles = ["roles/telemetry.tracesWriter", "roles/serviceusage.serviceUsageConsumer"]
    }
  }
  switched = [for switch in values(local.switches) : switch if switch.on]

  switched_environment = merge([for switch in local.switched : switch.environment]...)
  switched_apis        = flatten([for switch in local.switched : switch.apis])
  switched_roles = merge([
    for role in flatten([for switch in local.switched : switch.roles]) : { for name in keys(local.functions) : "${name} as ${role}" => { name = name, role = role } }
  ]...)
}

resource "google_project_iam_member" "switched" {
  for_each = local.switched_roles

  project = var.project_id
  role    = each.value.role
  member  = "serviceAccount:${google_service_account.function[each.value.name].email}"
}
