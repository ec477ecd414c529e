output "policies" {
  description = "The names of the alert policies, by signal."
  value       = { for signal, policy in google_monitoring_alert_policy.main : signal => policy.name }
}
