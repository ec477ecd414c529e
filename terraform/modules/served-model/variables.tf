variable "control_plane" {
  description = "The output `wiring` of the module control-plane."
  type = object({
    project_id        = string
    alerts_topic      = string
    uploads_topic     = string
    changes_topic     = string
    reconcile_account = string
    command_account   = string
  })
}

variable "project" {
  description = "The output `wiring` of the module served-project of the model's project."
  type        = object({ project_id = string, updater_role = string, deleter_role = optional(string) })
}

variable "region" {
  description = "The region of the Cloud Run service."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region: want a region such as europe-west1."
  }
}

variable "service" {
  description = "The name of the Cloud Run service, which is there already."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,47}[a-z0-9]$", var.service))
    error_message = "service: want 2 to 49 lower case letters, digits and hyphens: revisions are named after it, and 63 characters are all there are."
  }
}

variable "allow_delete" {
  description = "Whether a command may delete the service."
  type        = bool
  default     = false
}
