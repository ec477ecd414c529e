variable "project_id" {
  description = "The project that Trimtab runs in."
  type        = string
}
