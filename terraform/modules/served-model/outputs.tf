output "service_account_email" {
  description = "The account that the service runs as: what stands in its spec."
  value       = local.account
}
