# All of Trimtab in one project, with the models that it steers there. For models in other projects see examples/several-projects.

locals {
  # What the models' parts look like, as the modules have it; a test holds them equal.
  forms = {
    service      = "^[a-z][a-z0-9-]{0,47}[a-z0-9]$"
    region       = "^[a-z]+-[a-z]+[0-9]+$"
    account      = "^[a-z0-9-]+@[a-z0-9.-]+\\.gserviceaccount\\.com$"
    made_account = "^[a-z]([a-z0-9-]{0,12}[a-z0-9])?$"
    repository   = "^[a-z][a-z0-9-]+/[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"
    channel      = "^projects/[^/]+/notificationChannels/[^/]+$"
  }

  # A model may run as the account that is made for another.
  made_accounts = {
    for name, model in var.models : "trimtab-serving-${name}@${var.project_id}.iam.gserviceaccount.com" => name if model.service_account_email == null
  }
  models = { for name, model in var.models : name => merge(model, {
    service = coalesce(model.service, name)
    region  = coalesce(model.region, var.region)
    account = model.service_account_email == null ? name : lookup(local.made_accounts, model.service_account_email, model.service_account_email)
  }) }
}

module "control_plane" {
  source = "./modules/control-plane"

  project_id               = var.project_id
  project_number           = var.project_number
  region                   = var.region
  archive                  = var.archive
  runtime                  = var.runtime
  topic_prefix             = var.topic_prefix
  enable_apis              = var.enable_apis
  firestore                = var.firestore
  min_instances            = var.min_instances
  max_instances            = var.max_instances
  command_grants           = var.command_grants
  command_callers          = var.command_callers
  command_publishers       = var.command_publishers
  allowed_images           = var.allowed_images
  allowed_service_accounts = var.allowed_service_accounts
  allowed_buckets          = var.allowed_buckets
  allowed_projects         = var.allowed_projects
  notification_channels    = var.notification_channels
  alert_thresholds         = var.alert_thresholds
  cloud_profiler           = var.cloud_profiler
  trace_ratio              = var.trace_ratio
  labels                   = var.labels
}

module "served_project" {
  source = "./modules/served-project"

  control_plane  = module.control_plane.wiring
  project_id     = var.project_id
  project_number = var.project_number
  enable_apis    = var.enable_apis
  model_buckets  = var.model_buckets
  allow_delete   = anytrue([for model in var.models : model.allow_delete])

  serving_accounts = { for account in distinct([for model in local.models : model.account]) : account => {
    buckets = [for model in local.models : model.bucket if model.account == account && model.bucket != null]
  } }
  image_repositories = [for model in var.models : model.image_repository if model.image_repository != null]

  labels = var.labels
}

module "served_model" {
  source   = "./modules/served-model"
  for_each = local.models

  control_plane = module.control_plane.wiring
  project       = module.served_project.wiring
  region        = each.value.region
  service       = each.value.service
  allow_delete  = each.value.allow_delete
}

module "alerts" {
  source   = "./modules/alerts"
  for_each = local.models

  project_id            = var.project_id
  region                = each.value.region
  service               = each.value.service
  objective             = each.value.objective
  signals               = each.value.signals
  notification_channels = concat([module.served_project.notification_channel], each.value.notification_channels)
  labels                = var.labels
}

module "dashboard" {
  source = "./modules/dashboard"
  count  = var.dashboard ? 1 : 0

  project_id = var.project_id

  # Its charts name log-based metrics, which must be there.
  depends_on = [module.control_plane]
}
