# All of Trimtab in one project, with the models that it steers there. For models in other projects see examples/several-projects.

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
  labels         = var.labels
}

module "served_model" {
  source   = "./modules/served-model"
  for_each = var.models

  control_plane         = module.control_plane.wiring
  project               = module.served_project.wiring
  region                = coalesce(each.value.region, var.region)
  service               = each.key
  service_account_email = each.value.service_account_email
  bucket                = each.value.bucket
  image_repository      = each.value.image_repository
  allow_delete          = each.value.allow_delete
}

module "alerts" {
  source   = "./modules/alerts"
  for_each = var.models

  project_id            = var.project_id
  region                = coalesce(each.value.region, var.region)
  service               = each.key
  objective             = each.value.objective
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
