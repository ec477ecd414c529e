output "command_uri" {
  description = "Where commands are sent over HTTPS (`trimtab send --to`)."
  value       = module.control_plane.command_uri
}

output "serving_accounts" {
  description = "The account that the service of each model runs as, by model: what stands in its spec."
  value       = { for name, model in local.models : name => module.served_project[model.project_id].serving_accounts[model.account] }
}
