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

  validation {
    condition     = var.project_number == null || can(regex("^[0-9]{1,19}$", coalesce(var.project_number, "none")))
    error_message = "project_number: want the number alone, such as 123456789012, not the project's id."
  }
}

variable "enable_apis" {
  description = "Whether the APIs that steering needs are switched on here; they stay on when Trimtab goes."
  type        = bool
  default     = true
}

variable "model_buckets" {
  description = "The buckets with the models, by name: whether the bucket is made here and where, its project (null: this one), and the prefix below which objects are told of. Of several served projects one names a bucket, or each of its objects is told of twice."
  type = map(object({
    project_id         = optional(string)
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

  validation {
    condition     = alltrue([for bucket in var.model_buckets : !startswith(coalesce(bucket.object_name_prefix, "none"), "/")])
    error_message = "model_buckets.object_name_prefix: want the beginning of objects' names, such as ranker/, without a slash in front."
  }

  validation {
    condition     = alltrue([for bucket in var.model_buckets : can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", coalesce(bucket.project_id, var.project_id)))])
    error_message = "model_buckets.project_id: want the project's id, not its number or its name."
  }
}

variable "serving_accounts" {
  description = "The accounts that served services of this project run as, and the buckets that each reads models from. One that is there already is named by its address; any other name is of one that is made here, `trimtab-serving-NAME`."
  type        = map(object({ buckets = optional(set(string), []) }))
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.serving_accounts) : !strcontains(name, "@") || can(regex("^[a-z0-9-]+@[a-z0-9.-]+\\.gserviceaccount\\.com$", name))])
    error_message = "serving_accounts: want the address of a service account."
  }

  validation {
    condition     = alltrue([for name in keys(var.serving_accounts) : !endswith(name, "-compute@developer.gserviceaccount.com")])
    error_message = "serving_accounts: Compute Engine's default account often has the role of an editor, which Trimtab could then act as; give the service an account of its own."
  }

  validation {
    condition     = alltrue([for name in keys(var.serving_accounts) : strcontains(name, "@") || can(regex("^[a-z]([a-z0-9-]{0,12}[a-z0-9])?$", name))])
    error_message = "serving_accounts: a service account's name has 30 characters, so trimtab-serving- leaves 14 lower case letters, digits and hyphens, a letter first; or name one that is there by its address (service_account_email of the model)."
  }

  validation {
    condition = length(setintersection(keys(var.serving_accounts), [
      for name in keys(var.serving_accounts) : "trimtab-serving-${name}@${var.project_id}.iam.gserviceaccount.com"
    ])) == 0
    error_message = "serving_accounts: an account that is made here stands here by its address as well; name it once."
  }
}

variable "image_repositories" {
  description = "The Artifact Registry repositories of served images. Of several served projects one names a repository."
  type        = set(object({ project_id = optional(string), location = string, name = string }))
  default     = []

  validation {
    condition     = alltrue([for each in var.image_repositories : can(regex("^[a-z][a-z0-9-]+$", each.location)) && can(regex("^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$", each.name))])
    error_message = "image_repositories: want a location such as europe-west1 and the repository's name alone, in lower case."
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

  validation {
    condition     = alltrue([for key, value in var.labels : can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))])
    error_message = "labels: want at most 63 lower case letters, digits, _ and - in keys and in values, a letter first in keys."
  }

  validation {
    condition     = !contains(keys(var.labels), "app")
    error_message = "labels: app is Trimtab's own."
  }
}
