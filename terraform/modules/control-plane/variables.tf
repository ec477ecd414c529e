variable "project_id" {
  description = "The project that Trimtab runs in."
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

variable "region" {
  description = "The region of the functions, the Scheduler job and the archive."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region: want a region such as europe-west1, not a zone or a multi-region."
  }
}

variable "archive" {
  description = "The whole path of an archive that `make package` made; null: what it wrote last, `build/trimtab.zip`, or `build/trimtab-profiler.zip` for cloud_profiler."
  type        = string
  default     = null
}

variable "runtime" {
  description = "The Python runtime of the functions."
  type        = string
  default     = "python311"

  validation {
    condition     = can(regex("^python3(1[1-4])$", var.runtime))
    error_message = "runtime: want python311 to python314."
  }
}

variable "topic_prefix" {
  description = "What the names of the topics begin with."
  type        = string
  default     = "trimtab-"

  validation {
    condition     = can(regex("^([a-z][a-z0-9-]{0,40})?$", var.topic_prefix)) && !startswith(var.topic_prefix, "goog")
    error_message = "topic_prefix: want at most 41 lower case letters, digits and hyphens, a letter first and not goog, or nothing."
  }
}

variable "enable_apis" {
  description = "Whether the APIs that Trimtab needs are switched on here; they stay on when Trimtab goes."
  type        = bool
  default     = true
}

variable "firestore" {
  description = "The database: its name, whether it is made here, where (null: in the region), and how it is guarded."
  type = object({
    database               = optional(string, "(default)")
    create                 = optional(bool, true)
    location               = optional(string)
    point_in_time_recovery = optional(bool, true)
    delete_protection      = optional(bool, true)
  })
  default = {}

  validation {
    condition     = can(regex("^(\\(default\\)|[a-z][a-z0-9-]{2,61}[a-z0-9])$", var.firestore.database))
    error_message = "firestore.database: want (default), or 4 to 63 lower case letters, digits and hyphens, a letter first."
  }

  validation {
    condition     = can(regex("^([a-z]+-[a-z]+[0-9]+|[a-z]{3}[0-9]+)$", coalesce(var.firestore.location, var.region)))
    error_message = "firestore.location: want a region such as europe-west1 or a multi-region such as eur3 or nam5."
  }
}

variable "min_instances" {
  description = "Instances of each function that are kept running. None: an event after a pause waits for a cold start."
  type        = number
  default     = 0

  validation {
    condition     = var.min_instances >= 0 && floor(var.min_instances) == var.min_instances
    error_message = "min_instances: want a whole number, 0 or more."
  }

  validation {
    condition     = var.min_instances <= var.max_instances
    error_message = "min_instances: must be at most max_instances."
  }
}

variable "max_instances" {
  description = "Instances of each function at most."
  type        = number
  default     = 10

  validation {
    condition     = var.max_instances >= 1 && var.max_instances <= 100 && floor(var.max_instances) == var.max_instances
    error_message = "max_instances: want 1 to 100."
  }
}

variable "command_grants" {
  description = "Who may give which commands on which services (TRIMTAB_COMMAND_GRANTS): by an identity, or by a subscription `projects/P/subscriptions/S`. None: nobody may anything."
  type = list(object({
    identity     = optional(string)
    subscription = optional(string)
    commands     = list(string)
    services     = list(string)
  }))
  default = []

  validation {
    condition     = alltrue([for grant in var.command_grants : (grant.identity == null) != (grant.subscription == null)])
    error_message = "command_grants: each wants either identity or subscription."
  }

  # The same as shared/records/rights.py: what passes here is read there.
  validation {
    condition     = alltrue([for grant in var.command_grants : grant.identity == null || can(regex("^[^@:\\s]{1,128}@[^@\\s]{1,190}$", grant.identity))])
    error_message = "command_grants.identity: want an e-mail address, such as ada@example.com, without user: in front."
  }

  validation {
    condition     = alltrue([for grant in var.command_grants : grant.subscription == null || can(regex("^projects/[^/\\s]{1,92}/subscriptions/[^/\\s]{3,255}$", grant.subscription))])
    error_message = "command_grants.subscription: want the full name, projects/PROJECT/subscriptions/NAME."
  }

  validation {
    condition = alltrue([for grant in var.command_grants : length(grant.commands) >= 1 && length(grant.commands) <= 9 && length(setsubtract(grant.commands, [
      "apply", "patch", "hold", "release", "rollback", "reconcile", "redrive", "discard", "delete",
    ])) == 0])
    error_message = "command_grants.commands: want some of apply, patch, hold, release, rollback, reconcile, redrive, discard, delete."
  }

  validation {
    condition = alltrue([for grant in var.command_grants : length(grant.services) >= 1 && length(grant.services) <= 100 && alltrue([
      for name in grant.services : can(regex("^[^*\\s]*\\*?$", name)) && length(name) >= 1 && length(name) <= 200
    ])])
    error_message = "command_grants.services: want 1 to 100 of project:region:name, or the beginning of it with a * at the end; * alone is everything."
  }

  validation {
    condition     = length(var.command_grants) <= 200 && length(jsonencode(var.command_grants)) <= 30000
    error_message = "command_grants: want at most 200 grants of 30,000 characters together: they go into an environment variable."
  }
}

variable "command_callers" {
  description = "Members that may call the command function over HTTPS (`user:...`, `group:...`, `serviceAccount:...`). What they may command, command_grants says."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for member in var.command_callers : can(regex("^(user|group|serviceAccount|domain|principal|principalSet):\\S+$", member))])
    error_message = "command_callers: want members such as user:ada@example.com; allUsers and allAuthenticatedUsers are refused, for the function believes the identity that Cloud Run checked."
  }
}

variable "command_publishers" {
  description = "Members that may publish to the topic of commands. What they may command, the grant of the subscription `trimtab-command` says."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for member in var.command_publishers : can(regex("^(user|group|serviceAccount|principal|principalSet):\\S+$", member))])
    error_message = "command_publishers: want members such as serviceAccount:ci@acme-ml.iam.gserviceaccount.com, never allUsers or allAuthenticatedUsers."
  }
}

variable "allowed_images" {
  description = "Images that specs may name, a `*` at the end for anything behind it; null: any."
  type        = list(string)
  default     = null

  validation {
    condition     = var.allowed_images == null || length(coalesce(var.allowed_images, [])) > 0
    error_message = "allowed_images: an empty list would be no limit at all; null means that, and a list must name something."
  }

  validation {
    condition     = alltrue([for name in coalesce(var.allowed_images, []) : can(regex("^[^*,\\s]*\\*?$", name)) && length(name) >= 1 && length(name) <= 512])
    error_message = "allowed_images: want names of at most 512 characters without spaces and commas; a * may stand at the end alone."
  }
}

variable "allowed_service_accounts" {
  description = "Service accounts that specs may name, likewise; null: those of the service's own project."
  type        = list(string)
  default     = null

  validation {
    condition     = var.allowed_service_accounts == null || length(coalesce(var.allowed_service_accounts, [])) > 0
    error_message = "allowed_service_accounts: an empty list would be no limit at all; null means that, and a list must name something."
  }

  validation {
    condition     = alltrue([for name in coalesce(var.allowed_service_accounts, []) : can(regex("^[^*,\\s]*\\*?$", name)) && length(name) >= 1 && length(name) <= 512])
    error_message = "allowed_service_accounts: want names of at most 512 characters without spaces and commas; a * may stand at the end alone."
  }
}

variable "allowed_buckets" {
  description = "Buckets that models may come from, likewise; null: any."
  type        = list(string)
  default     = null

  validation {
    condition     = var.allowed_buckets == null || length(coalesce(var.allowed_buckets, [])) > 0
    error_message = "allowed_buckets: an empty list would be no limit at all; null means that, and a list must name something."
  }

  validation {
    condition     = alltrue([for name in coalesce(var.allowed_buckets, []) : can(regex("^[^*,\\s]*\\*?$", name)) && length(name) >= 1 && length(name) <= 512])
    error_message = "allowed_buckets: want names of at most 512 characters without spaces and commas; a * may stand at the end alone."
  }
}

variable "allowed_projects" {
  description = "Projects whose services specs may name, likewise; null: any."
  type        = list(string)
  default     = null

  validation {
    condition     = var.allowed_projects == null || length(coalesce(var.allowed_projects, [])) > 0
    error_message = "allowed_projects: an empty list would be no limit at all; null means that, and a list must name something."
  }

  validation {
    condition     = alltrue([for name in coalesce(var.allowed_projects, []) : can(regex("^[^*,\\s]*\\*?$", name)) && length(name) >= 1 && length(name) <= 512])
    error_message = "allowed_projects: want names of at most 512 characters without spaces and commas; a * may stand at the end alone."
  }
}

variable "notification_channels" {
  description = "Channels (`projects/P/notificationChannels/N`) that hear of alerts on Trimtab itself. None: the incidents are in the console only."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for channel in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[^/]+$", channel))])
    error_message = "notification_channels: want names such as projects/acme-ml/notificationChannels/123."
  }
}

variable "alert_thresholds" {
  description = "Above what the alerts on Trimtab itself open: the age of the oldest message, looks of reconcile that failed and looks that a brake held back within five minutes, and how long no tick may come."
  type = object({
    oldest_unacked_seconds = optional(number, 900)
    reconcile_retries      = optional(number, 10)
    braked_looks           = optional(number, 0)
    no_tick_seconds        = optional(number, 300)
  })
  default = {}

  validation {
    condition     = var.alert_thresholds.no_tick_seconds >= 180 && var.alert_thresholds.no_tick_seconds % 60 == 0
    error_message = "alert_thresholds.no_tick_seconds: want whole minutes, at least three: log-based metrics come late."
  }

  validation {
    condition     = alltrue([for value in values(var.alert_thresholds) : value >= 0])
    error_message = "alert_thresholds: want 0 or more."
  }
}

variable "cloud_profiler" {
  description = "Whether Cloud Profiler samples where the functions' processor time goes. The archive is then the one with the profiler in it, whose build compiles it."
  type        = bool
  default     = false
  nullable    = false
}

variable "trace_ratio" {
  description = "The share of requests, 0 to 1, whose spans go to Cloud Trace over OpenTelemetry, beside those that Cloud Run traces itself. 0: none at all."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.trace_ratio >= 0 && var.trace_ratio <= 1
    error_message = "trace_ratio: want a share of requests from 0 to 1, such as 0.05 for one in twenty."
  }
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
