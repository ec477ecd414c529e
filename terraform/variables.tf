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

variable "deploying" {
  description = "PROJECT/REGION as `make deploy` was told, for it alone to say: a file of variables that says another is refused. null: nobody was told."
  type        = string
  default     = null

  validation {
    condition     = var.deploying == null || var.deploying == "${var.project_id}/${var.region}"
    error_message = "make deploy was told ${coalesce(var.deploying, "nothing")}, and a file of variables says ${var.project_id}/${var.region}: which one? Terraform reads terraform.tfvars and *.auto.tfvars in terraform/ by itself, and the file that VARS names."
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
}

variable "topic_prefix" {
  description = "What the names of the topics begin with."
  type        = string
  default     = "trimtab-"
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
}

variable "min_instances" {
  description = "Instances of each function that are kept running. None: an event after a pause waits for a cold start."
  type        = number
  default     = 0
}

variable "max_instances" {
  description = "Instances of each function at most."
  type        = number
  default     = 10
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
}

variable "command_callers" {
  description = "Members that may call the command function over HTTPS (`user:...`, `group:...`, `serviceAccount:...`). What they may command, command_grants says."
  type        = list(string)
  default     = []
}

variable "command_publishers" {
  description = "Members that may publish to the topic of commands. What they may command, the grant of the subscription `trimtab-command` says."
  type        = list(string)
  default     = []
}

variable "allowed_images" {
  description = "Images that specs may name, a `*` at the end for anything behind it; null: any."
  type        = list(string)
  default     = null
}

variable "allowed_service_accounts" {
  description = "Service accounts that specs may name, likewise; null: those of the service's own project."
  type        = list(string)
  default     = null
}

variable "allowed_buckets" {
  description = "Buckets that models may come from, likewise; null: any."
  type        = list(string)
  default     = null
}

variable "allowed_projects" {
  description = "Projects whose services specs may name, likewise; null: any."
  type        = list(string)
  default     = null
}

variable "notification_channels" {
  description = "Channels (`projects/P/notificationChannels/N`) that hear of alerts on Trimtab itself. None: the incidents are in the console only."
  type        = list(string)
  default     = []
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
}

variable "model_buckets" {
  description = "The buckets with the models, by name: whether the bucket is made here and where, its project (null: this one), and the prefix below which objects are told of."
  type = map(object({
    project_id         = optional(string)
    create             = optional(bool, false)
    location           = optional(string)
    object_name_prefix = optional(string)
  }))
  default = {}
}

variable "models" {
  description = "The served models, by any name: their Cloud Run service, which is there already (null: it has the model's name), where it runs and as whom (null: the region above; an account that is made here), where its model and its image lie, its objective, which of the ten signals have an alert and whom else they tell, and whether a command may delete it."
  type = map(object({
    service               = optional(string)
    region                = optional(string)
    service_account_email = optional(string)
    bucket                = optional(string)
    image_repository      = optional(object({ project_id = optional(string), location = string, name = string }))
    objective             = optional(object({ p99_ms = optional(number), error_ratio = optional(number, 0.01) }), {})
    signals               = optional(set(string))
    notification_channels = optional(list(string), [])
    allow_delete          = optional(bool, false)
  }))
  default = {}

  # What the modules ask of a model, asked here in the words of whoever writes it: whose model it is, and what the field is called.
  validation {
    condition     = length([for name, model in var.models : name if !can(regex(local.forms.service, coalesce(model.service, name)))]) == 0
    error_message = "models: ${join(", ", [for name, model in var.models : name if !can(regex(local.forms.service, coalesce(model.service, name)))])}: want the name of a Cloud Run service, 2 to 49 lower case letters, digits and hyphens, a letter first; where the model is called otherwise, say it with `service`."
  }

  validation {
    condition     = length(var.models) == length(distinct([for name, model in var.models : "${coalesce(model.region, var.region)}/${coalesce(model.service, name)}"]))
    error_message = "models: a service in a region serves one model; two of these name the same."
  }

  validation {
    condition     = length([for name, model in var.models : name if !can(regex(local.forms.region, coalesce(model.region, var.region)))]) == 0
    error_message = "models.region: ${join(", ", [for name, model in var.models : name if !can(regex(local.forms.region, coalesce(model.region, var.region)))])}: want a region such as europe-west1, not a zone."
  }

  validation {
    condition     = length([for name, model in var.models : name if !can(regex(local.forms.account, coalesce(model.service_account_email, "none@none.gserviceaccount.com")))]) == 0
    error_message = "models.service_account_email: ${join(", ", [for name, model in var.models : name if !can(regex(local.forms.account, coalesce(model.service_account_email, "none@none.gserviceaccount.com")))])}: want the address of a service account, or null for one that is made here."
  }

  validation {
    condition     = length([for name, model in var.models : name if endswith(coalesce(model.service_account_email, "none"), "-compute@developer.gserviceaccount.com")]) == 0
    error_message = "models.service_account_email: ${join(", ", [for name, model in var.models : name if endswith(coalesce(model.service_account_email, "none"), "-compute@developer.gserviceaccount.com")])}: Compute Engine's default account often has the role of an editor, which Trimtab could then act as; give the service an account of its own."
  }

  validation {
    condition     = length([for name, model in var.models : name if model.service_account_email == null && !can(regex(local.forms.made_account, name)) && can(regex(local.forms.service, coalesce(model.service, name)))]) == 0
    error_message = "models: ${join(", ", [for name, model in var.models : name if model.service_account_email == null && !can(regex(local.forms.made_account, name)) && can(regex(local.forms.service, coalesce(model.service, name)))])}: an account would be made, trimtab-serving-NAME, and its name has room for 14 lower case letters, digits and hyphens, a letter first: say whom the service runs as with `service_account_email`."
  }

  validation {
    condition     = length([for name, model in var.models : name if model.bucket != null && !contains(keys(var.model_buckets), coalesce(model.bucket, "none"))]) == 0
    error_message = "models.bucket: ${join(", ", [for name, model in var.models : name if model.bucket != null && !contains(keys(var.model_buckets), coalesce(model.bucket, "none"))])}: want a bucket of model_buckets, or Trimtab may not read it and hears of no upload."
  }

  validation {
    condition     = length([for name, model in var.models : name if model.image_repository != null && !can(regex(local.forms.repository, "${model.image_repository.location}/${model.image_repository.name}"))]) == 0
    error_message = "models.image_repository: ${join(", ", [for name, model in var.models : name if model.image_repository != null && !can(regex(local.forms.repository, "${model.image_repository.location}/${model.image_repository.name}"))])}: want a location such as europe-west1 and the repository's name alone, in lower case."
  }

  validation {
    condition     = length([for name, model in var.models : name if length([for channel in model.notification_channels : channel if !can(regex(local.forms.channel, channel))]) > 0]) == 0
    error_message = "models.notification_channels: ${join(", ", [for name, model in var.models : name if length([for channel in model.notification_channels : channel if !can(regex(local.forms.channel, channel))]) > 0])}: want names such as projects/acme-ml/notificationChannels/123."
  }
}

variable "cloud_profiler" {
  description = "Whether Cloud Profiler samples where the functions' processor time goes. The archive is then the one with the profiler in it, whose build compiles it."
  type        = bool
  default     = false
}

variable "trace_ratio" {
  description = "The share of requests, 0 to 1, whose spans go to Cloud Trace over OpenTelemetry, beside those that Cloud Run traces itself. 0: none at all."
  type        = number
  default     = 0
}

variable "dashboard" {
  description = "Whether there is a dashboard of what Trimtab does."
  type        = bool
  default     = true
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
    condition     = length(setintersection(keys(var.labels), ["app", "trimtab_service", "trimtab_region", "trimtab_signal"])) == 0
    error_message = "labels: app, trimtab_service, trimtab_region and trimtab_signal are Trimtab's own."
  }
}
