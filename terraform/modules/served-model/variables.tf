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
}

variable "service" {
  description = "The name of the Cloud Run service, which is there already."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,47}[a-z0-9]$", var.service))
    error_message = "service: want 2 to 49 lower case letters, digits and hyphens: revisions are named after it, and 63 characters are all there are."
  }

  validation {
    condition     = var.service_account_email != null || length(var.service) <= 14
    error_message = "service: a service account's name has 30 characters, so trimtab-serving- leaves 14 for the service; pass service_account_email."
  }
}

variable "service_account_email" {
  description = "The account that the service runs as, of its own project; null: one is made."
  type        = string
  default     = null

  validation {
    condition     = var.service_account_email == null || can(regex("^[a-z0-9-]+@[a-z0-9.-]+\\.gserviceaccount\\.com$", var.service_account_email))
    error_message = "service_account_email: want the address of a service account."
  }

  validation {
    condition     = !endswith(coalesce(var.service_account_email, "none"), "-compute@developer.gserviceaccount.com")
    error_message = "service_account_email: Compute Engine's default account often has the role of an editor, which Trimtab could then act as; give the service an account of its own."
  }
}

variable "bucket" {
  description = "The bucket that the service loads its model from; null: it lies in the image."
  type        = string
  default     = null
}

variable "image_repository" {
  description = "The Artifact Registry repository of the service's image; null: it is public."
  type        = object({ project_id = optional(string), location = string, name = string })
  default     = null
}

variable "allow_delete" {
  description = "Whether a command may delete the service."
  type        = bool
  default     = false
}
