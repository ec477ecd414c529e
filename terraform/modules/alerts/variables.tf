variable "project_id" {
  description = "The project of the Cloud Run service."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "project_id: want the project's id, not its number or its name."
  }
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
  description = "The name of the Cloud Run service."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,47}[a-z0-9]$", var.service))
    error_message = "service: want 2 to 49 lower case letters, digits and hyphens; it stands in queries."
  }
}

variable "objective" {
  description = "The objective of the service's spec: p99 in milliseconds (null: no alert on latency) and the share of requests that may fail."
  type        = object({ p99_ms = optional(number), error_ratio = optional(number, 0.01) })
  default     = {}

  validation {
    condition     = var.objective.error_ratio > 0 && var.objective.error_ratio < 1
    error_message = "objective.error_ratio: want a share between 0 and 1, such as 0.01."
  }

  validation {
    condition     = var.objective.p99_ms == null || try(var.objective.p99_ms > 0, false)
    error_message = "objective.p99_ms: want milliseconds above 0."
  }
}

variable "notification_channels" {
  description = "The channel of the module served-project, and those of people who want to hear as well."
  type        = list(string)

  validation {
    condition     = length(var.notification_channels) > 0
    error_message = "notification_channels: without a channel nobody hears of an alert; pass that of the module served-project."
  }

  validation {
    condition     = alltrue([for channel in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[^/]+$", channel))])
    error_message = "notification_channels: want names such as projects/acme-ml/notificationChannels/123."
  }
}

variable "signals" {
  description = "Which of the ten signals have a policy; null: all. `queue-full` and `thread-gap` need TF Serving's own metrics, and are silent without."
  type        = set(string)
  nullable    = false
  default = [
    "queue-full", "thread-gap", "no-instance", "pending-latency", "latency", "error-ratio", "cpu-high-gpu-low", "gpu-memory", "idle",
    "no-data",
  ]

  validation {
    condition = length(setsubtract(var.signals, [
      "queue-full", "thread-gap", "no-instance", "pending-latency", "latency", "error-ratio", "cpu-high-gpu-low", "gpu-memory", "idle",
      "no-data",
    ])) == 0
    error_message = "signals: docs/reference/signals.md lists the ten that there are."
  }
}

variable "labels" {
  description = "User labels of the policies beside Trimtab's three."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for key, value in var.labels : can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))])
    error_message = "labels: want at most 63 lower case letters, digits, _ and - in keys and in values, a letter first in keys."
  }

  validation {
    condition     = length(setintersection(keys(var.labels), ["trimtab_service", "trimtab_region", "trimtab_signal"])) == 0
    error_message = "labels: trimtab_service, trimtab_region and trimtab_signal are what Trimtab reads; they are set here."
  }
}
