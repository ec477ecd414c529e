output "id" {
  description = "What Trimtab calls the service: `project:region:name`, as grants of commands and specs say it."
  value       = "${var.project.project_id}:${var.region}:${var.service}"
}
