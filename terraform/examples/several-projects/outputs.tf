output "serving_accounts" {
  description = "The account that each service runs as, by service: what stands in its spec."
  value       = { for name, model in module.served_model : name => model.service_account_email }
}
