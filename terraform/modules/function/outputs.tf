output "name" {
  description = "The function's name."
  value       = google_cloudfunctions2_function.main.name
}

output "uri" {
  description = "Where it is called."
  value       = google_cloudfunctions2_function.main.service_config[0].uri
}

output "topic" {
  description = "The name of its topic; null without a trigger."
  value       = try(google_pubsub_topic.main["main"].name, null)
}

output "subscription" {
  description = "The name of its push subscription; null without a trigger."
  value       = try(google_pubsub_subscription.main["main"].name, null)
}

output "dead_letter_subscription" {
  description = "The name of the subscription that keeps its dead letters; null without a trigger."
  value       = try(google_pubsub_subscription.dead_letters["main"].name, null)
}
