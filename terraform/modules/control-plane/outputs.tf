output "wiring" {
  description = "What the modules served-project and served-model need to know of the control plane."
  value = {
    project_id        = var.project_id
    alerts_topic      = module.function["alert"].topic
    uploads_topic     = module.function["upload"].topic
    changes_topic     = module.function["audit"].topic
    reconcile_account = google_service_account.function["reconcile"].email
    command_account   = google_service_account.function["command"].email
  }
}

output "command_uri" {
  description = "Where commands are sent over HTTPS (`trimtab send --to`)."
  value       = module.function["command"].uri
}

output "topics" {
  description = "The names of the topics, by function."
  value       = { for name in keys(local.functions) : name => module.function[name].topic }
}

output "subscriptions" {
  description = "The names of the push subscriptions, by function."
  value       = { for name in keys(local.functions) : name => module.function[name].subscription }
}

output "dead_letter_subscriptions" {
  description = "The names of the subscriptions that keep dead letters, by function."
  value       = { for name in keys(local.functions) : name => module.function[name].dead_letter_subscription }
}

output "events_topic" {
  description = "The name of the topic of what Trimtab did."
  value       = google_pubsub_topic.events.name
}

output "service_accounts" {
  description = "The e-mail addresses of the functions' service accounts, by function."
  value       = { for name in keys(local.functions) : name => google_service_account.function[name].email }
}

output "archive_object" {
  description = "The name of the archive in its bucket, which holds the hash of its content."
  value       = google_storage_bucket_object.archive.name
}
