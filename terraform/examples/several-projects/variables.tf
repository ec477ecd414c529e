variable "control_project_id" {
  description = "The project that Trimtab runs in."
  type        = string
}

variable "project_numbers" {
  description = "Numbers of projects, by id, that are known already; others are looked up."
  type        = map(string)
  default     = {}
}

variable "region" {
  description = "The region of Trimtab's functions."
  type        = string
  default     = "europe-west1"
}

variable "archive" {
  description = "The path of the archive that `make package` made."
  type        = string
}

variable "models" {
  description = "The served models, by the name of their Cloud Run service, which is there already."
  type = map(object({
    project_id            = string
    region                = string
    service_account_email = optional(string)
    bucket                = string
    p99_ms                = number
  }))
}
