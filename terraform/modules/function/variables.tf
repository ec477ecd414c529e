variable "project_id" {
  description = "The project of the function."
  type        = string
}

variable "region" {
  description = "The region of the function."
  type        = string
}

variable "name" {
  description = "The function's name, which its Cloud Run service and its push subscription share."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,48}$", var.name))
    error_message = "name: want 3 to 49 lower case letters, digits and hyphens, a letter first."
  }
}

variable "description" {
  description = "What the function does, in a sentence."
  type        = string
}

variable "entry_point" {
  description = "The name of the Python function that answers requests."
  type        = string
}

variable "source_file" {
  description = "The file in the root of the archive that holds the entry point."
  type        = string

  validation {
    condition     = can(regex("^[a-z_]+\\.py$", var.source_file))
    error_message = "source_file: want a Python file in the root of the archive, such as fn_alert.py: only its own folder is on the path."
  }
}

variable "runtime" {
  description = "The Python runtime."
  type        = string
  default     = "python311"

  validation {
    condition     = can(regex("^python3(1[1-4])$", var.runtime))
    error_message = "runtime: want python311 to python314."
  }
}

variable "archive" {
  description = "Where the archive that `make package` made lies. Its name holds the hash of its content, so that other content is deployed."
  type        = object({ bucket = string, object = string })
}

variable "build" {
  description = "Who builds (`projects/P/serviceAccounts/EMAIL`), and the Artifact Registry repository for the image."
  type        = object({ service_account_id = string, docker_repository = string })
}

variable "service_account_email" {
  description = "The service account that the function runs as. Each function has one of its own."
  type        = string
}

variable "environment" {
  description = "Environment variables at run time."
  type        = map(string)
  default     = {}
}

variable "cpu" {
  description = "CPUs of an instance. More than one request at a time needs at least 1."
  type        = string
  default     = "1"

  validation {
    condition     = try(tonumber(var.cpu) > 0 && (var.concurrency == 1 || tonumber(var.cpu) >= 1), false)
    error_message = "cpu: want a number of CPUs, at least 1 where concurrency is above 1."
  }
}

variable "memory" {
  description = "Memory of an instance."
  type        = string
  default     = "512Mi"

  validation {
    condition     = can(regex("^[1-9][0-9]*(M|Mi|G|Gi)$", var.memory))
    error_message = "memory: want a size such as 512Mi or 1Gi."
  }
}

variable "concurrency" {
  description = "Requests that an instance answers at a time."
  type        = number
  default     = 8

  validation {
    condition     = var.concurrency >= 1 && var.concurrency <= 100
    error_message = "concurrency: want 1 to 100 requests at a time; each has a thread."
  }
}

variable "min_instances" {
  description = "Instances that are kept running."
  type        = number
  default     = 0

  validation {
    condition     = var.min_instances >= 0 && var.min_instances <= var.max_instances
    error_message = "min_instances: want 0 to max_instances."
  }
}

variable "max_instances" {
  description = "Instances at most. No lock: Cloud Run exceeds it at times."
  type        = number
  default     = 10

  validation {
    condition     = var.max_instances >= 1
    error_message = "max_instances: want 1 or more."
  }
}

variable "timeout_seconds" {
  description = "How long a request may take."
  type        = number
  default     = 60

  validation {
    condition     = var.timeout_seconds >= 1 && var.timeout_seconds <= 3600
    error_message = "timeout_seconds: want 1 to 3600."
  }
}

variable "ingress" {
  description = "From where requests are let in. Pub/Sub's pushes of the same project count as internal."
  type        = string
  default     = "ALLOW_INTERNAL_ONLY"

  validation {
    condition     = contains(["ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB", "ALLOW_ALL"], var.ingress)
    error_message = "ingress: want ALLOW_INTERNAL_ONLY, ALLOW_INTERNAL_AND_GCLB or ALLOW_ALL."
  }
}

variable "invokers" {
  description = "Members that may call the function besides its trigger, by any name."
  type        = map(string)
  default     = {}

  validation {
    condition     = length(setintersection(values(var.invokers), ["allUsers", "allAuthenticatedUsers"])) == 0
    error_message = "invokers: a function that anybody may call believes whatever a caller says of itself; name members."
  }
}

variable "trigger" {
  description = "The topic whose messages are pushed to the function, and how; null: the function is called over HTTPS only."
  type = object({
    topic                         = string
    push_service_account_email    = string
    pubsub_agent_email            = string
    ack_deadline_seconds          = optional(number, 60)
    message_retention_seconds     = optional(number, 604800)
    max_delivery_attempts         = optional(number, 30)
    dead_letter_retention_seconds = optional(number, 2678400)
  })
  default = null

  validation {
    condition     = var.trigger == null || try(var.trigger.ack_deadline_seconds >= 10 && var.trigger.ack_deadline_seconds <= 600, false)
    error_message = "trigger.ack_deadline_seconds: Pub/Sub takes 10 to 600."
  }

  validation {
    condition     = var.trigger == null || try(var.trigger.max_delivery_attempts >= 5 && var.trigger.max_delivery_attempts <= 100, false)
    error_message = "trigger.max_delivery_attempts: Pub/Sub takes 5 to 100."
  }

  validation {
    condition     = var.trigger == null || try(var.trigger.ack_deadline_seconds >= var.timeout_seconds, false)
    error_message = "trigger.ack_deadline_seconds: must be at least timeout_seconds, or a message comes again while it is still worked on."
  }

  validation {
    condition = var.trigger == null || try(alltrue([
      for seconds in [var.trigger.message_retention_seconds, var.trigger.dead_letter_retention_seconds] : seconds >= 600 && seconds <= 2678400
    ]), false)
    error_message = "trigger: Pub/Sub keeps messages for 600 to 2678400 seconds."
  }
}

variable "labels" {
  description = "Labels of everything that takes them."
  type        = map(string)
  default     = {}
}
