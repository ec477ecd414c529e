# One control plane in a project of its own, and models in several others: each is wired once, then model by model.

provider "google" {
  project = var.control_project_id
  region  = var.region
}

locals {
  models = { for name, model in var.models : name => merge(model, { account = coalesce(model.service_account_email, name) }) }

  # A bucket that models of several projects share is wired once, with the first of them.
  buckets = { for bucket in distinct([for model in var.models : model.bucket]) : bucket => {
    wired_in   = [for model in var.models : model.project_id if model.bucket == bucket][0]
    project_id = lookup(var.bucket_projects, bucket, null)
  } }
}

module "control_plane" {
  source = "../../modules/control-plane"

  project_id       = var.control_project_id
  project_number   = lookup(var.project_numbers, var.control_project_id, null)
  region           = var.region
  archive          = var.archive
  allowed_projects = distinct([for model in var.models : model.project_id])

  command_callers       = var.command_callers
  command_grants        = var.command_grants
  command_publishers    = var.command_publishers
  notification_channels = var.notification_channels

  cloud_profiler = var.cloud_profiler
  trace_ratio    = var.trace_ratio
}

module "served_project" {
  source   = "../../modules/served-project"
  for_each = toset([for model in var.models : model.project_id])

  control_plane  = module.control_plane.wiring
  project_id     = each.value
  project_number = lookup(var.project_numbers, each.value, null)
  model_buckets  = { for name, bucket in local.buckets : name => { project_id = bucket.project_id } if bucket.wired_in == each.value }

  serving_accounts = { for account in distinct([for model in local.models : model.account if model.project_id == each.value]) : account => {
    buckets = [for model in local.models : model.bucket if model.project_id == each.value && model.account == account]
  } }
}

module "served_model" {
  source   = "../../modules/served-model"
  for_each = var.models

  control_plane = module.control_plane.wiring
  project       = module.served_project[each.value.project_id].wiring
  region        = each.value.region
  service       = coalesce(each.value.service, each.key)
}

module "alerts" {
  source   = "../../modules/alerts"
  for_each = var.models

  project_id            = each.value.project_id
  region                = each.value.region
  service               = coalesce(each.value.service, each.key)
  objective             = { p99_ms = each.value.p99_ms }
  notification_channels = [module.served_project[each.value.project_id].notification_channel]
}

module "dashboard" {
  source = "../../modules/dashboard"

  project_id = var.control_project_id
  depends_on = [module.control_plane]
}
