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
  description = "The whole path of an archive that `make package` made; null: what it wrote last, `build/trimtab.zip`, or `build/trimtab-profiler.zip` for cloud_profiler."
  type        = string
  default     = null
}

variable "models" {
  description = "The served models, by any name: their Cloud Run service, which is there already (null: it has the model's name), and where. At least one: the control plane steers services of these projects alone."
  type = map(object({
    service               = optional(string)
    project_id            = string
    region                = string
    service_account_email = optional(string)
    bucket                = string
    p99_ms                = number
  }))

  validation {
    condition     = length(var.models) > 0
    error_message = "models: want at least one: without any the control plane could be told to steer any project."
  }

  validation {
    condition     = length(var.models) == length(distinct([for name, model in var.models : "${model.project_id}/${model.region}/${coalesce(model.service, name)}"]))
    error_message = "models: a service in a region serves one model; two of these name the same."
  }
}

variable "bucket_projects" {
  description = "Projects of buckets, by bucket, that lie in another project than the models they serve; null: in theirs."
  type        = map(string)
  default     = {}

  validation {
    condition = alltrue([
      for bucket in distinct([for model in var.models : model.bucket]) :
      contains(keys(var.bucket_projects), bucket) || length(distinct([for model in var.models : model.project_id if model.bucket == bucket])) == 1
    ])
    error_message = "bucket_projects: name the project of a bucket that models of several projects share."
  }
}

variable "command_callers" {
  description = "Members that may call the command function over HTTPS (`user:...`, `group:...`, `serviceAccount:...`). What they may command, command_grants says."
  type        = list(string)
  default     = []
}

variable "command_grants" {
  description = "Who may give which commands on which services, named `project:region:name` or by the beginning of it with a `*`. None: nobody may anything."
  type = list(object({
    identity     = optional(string)
    subscription = optional(string)
    commands     = list(string)
    services     = list(string)
  }))
  default = []
}

variable "command_publishers" {
  description = "Members that may publish to the topic of commands. What they may command, the grant of the subscription `trimtab-command` says."
  type        = list(string)
  default     = []
}

variable "notification_channels" {
  description = "Channels (`projects/P/notificationChannels/N`) that hear of alerts on Trimtab itself. None: the incidents are in the console only."
  type        = list(string)
  default     = []
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
