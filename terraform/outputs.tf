output "command_uri" {
  description = "Where commands are sent over HTTPS (`trimtab send --to`)."
  value       = module.control_plane.command_uri
}

output "topics" {
  description = "The names of the topics, by function."
  value       = module.control_plane.topics
}

output "events_topic" {
  description = "The name of the topic of what Trimtab did."
  value       = module.control_plane.events_topic
}

output "dead_letter_subscriptions" {
  description = "The names of the subscriptions that keep dead letters, by function."
  value       = module.control_plane.dead_letter_subscriptions
}

output "service_accounts" {
  description = "The e-mail addresses of the functions' service accounts, by function."
  value       = module.control_plane.service_accounts
}

output "serving_accounts" {
  description = "The account that the service of each model runs as, by model: what stands in its spec."
  value       = { for name, model in local.models : name => module.served_project.serving_accounts[model.account] }
}

output "archive_object" {
  description = "The name of the deployed archive, which holds the hash of its content."
  value       = module.control_plane.archive_object
}

output "notification_channel" {
  description = "The channel that alert policies of your own notify Trimtab through."
  value       = module.served_project.notification_channel
}
