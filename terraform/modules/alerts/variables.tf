variable "project_id" {
  description = "The project of the Cloud Run service."
  type        = string
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
}

variable "signals" {
  description = "Which of the ten signals have a policy."
  type        = set(string)
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
}
