output "notification_channel" {
  description = "The channel that alert policies of this project notify Trimtab through."
  value       = google_monitoring_notification_channel.trimtab.name
}

output "serving_accounts" {
  description = "The addresses of the accounts that served services run as, by the names of `serving_accounts`: what stands in their specs."
  value       = local.accounts
}

output "wiring" {
  description = "What the module served-model needs to know of the project."
  value = {
    project_id   = var.project_id
    updater_role = "projects/${var.project_id}/roles/${google_project_iam_custom_role.updater.role_id}"
    deleter_role = var.allow_delete ? "projects/${var.project_id}/roles/${google_project_iam_custom_role.deleter[0].role_id}" : null
  }
}
