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

variable "project_id" {
  description = "The project whose models are served."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "project_id: want the project's id (6 to 30 lower case letters, digits and hyphens), not its number or its name."
  }
}

variable "project_number" {
  description = "The project's number, from which the addresses of Google's agents are made; null: it is looked up."
  type        = string
  default     = null
}

variable "enable_apis" {
  description = "Whether the APIs that steering needs are switched on here; they stay on when Trimtab goes."
  type        = bool
  default     = true
}

variable "model_buckets" {
  description = "The buckets with the models, by name: whether the bucket is made here and where, and the prefix below which objects are told of."
  type = map(object({
    create             = optional(bool, false)
    location           = optional(string)
    object_name_prefix = optional(string)
  }))
  default = {}

  validation {
    condition     = alltrue([for bucket in var.model_buckets : !bucket.create || bucket.location != null])
    error_message = "model_buckets: a bucket that is made here wants a location; that of its models' services is the quickest."
  }

  validation {
    condition     = alltrue([for name in keys(var.model_buckets) : can(regex("^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", name))])
    error_message = "model_buckets: want names of buckets, without gs://."
  }
}

variable "allow_delete" {
  description = "Whether there is a role with which a command may delete a Cloud Run service; it is granted model by model."
  type        = bool
  default     = false
}

variable "labels" {
  description = "Labels of everything that takes them, beside `app`."
  type        = map(string)
  default     = {}
}
