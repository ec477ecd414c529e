output "id" {
  description = "The dashboard's name."
  value       = google_monitoring_dashboard.main.id
}
