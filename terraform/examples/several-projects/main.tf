# One control plane in a project of its own, and models in several others: each is wired once, then model by model.

provider "google" {
  project = var.control_project_id
  region  = var.region
}

module "control_plane" {
  source = "../../modules/control-plane"

  project_id       = var.control_project_id
  project_number   = lookup(var.project_numbers, var.control_project_id, null)
  region           = var.region
  archive          = var.archive
  allowed_projects = distinct([for model in var.models : model.project_id])
}

module "served_project" {
  source   = "../../modules/served-project"
  for_each = toset([for model in var.models : model.project_id])

  control_plane  = module.control_plane.wiring
  project_id     = each.value
  project_number = lookup(var.project_numbers, each.value, null)
  model_buckets  = { for bucket in distinct([for model in var.models : model.bucket if model.project_id == each.value]) : bucket => {} }
}

module "served_model" {
  source   = "../../modules/served-model"
  for_each = var.models

  control_plane         = module.control_plane.wiring
  project               = module.served_project[each.value.project_id].wiring
  region                = each.value.region
  service               = each.key
  service_account_email = each.value.service_account_email
  bucket                = each.value.bucket
}

module "alerts" {
  source   = "../../modules/alerts"
  for_each = var.models

  project_id            = each.value.project_id
  region                = each.value.region
  service               = each.key
  objective             = { p99_ms = each.value.p99_ms }
  notification_channels = [module.served_project[each.value.project_id].notification_channel]
}

module "dashboard" {
  source = "../../modules/dashboard"

  project_id = var.control_project_id
  depends_on = [module.control_plane]
}
