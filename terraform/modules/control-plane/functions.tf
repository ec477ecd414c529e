locals {
  # Facts are kept for as long as Pub/Sub lets them wait; a wake or a tick that is old says nothing that the next does not say.
  functions = {
    alert = {
      description               = "Notifications of Cloud Monitoring become facts."
      message_retention_seconds = 604800
      max_delivery_attempts     = 30
    }
    upload = {
      description               = "Notifications of Cloud Storage about the files of models become facts."
      message_retention_seconds = 604800
      max_delivery_attempts     = 30
    }
    command = {
      description               = "Commands become specs, holds and looks."
      message_retention_seconds = 604800
      max_delivery_attempts     = 30
    }
    audit = {
      description               = "Entries of Cloud Run's audit log become facts."
      message_retention_seconds = 604800
      max_delivery_attempts     = 30
    }
    schedule = {
      description               = "The tick wakes what is due."
      message_retention_seconds = 600
      max_delivery_attempts     = 5
    }
    reconcile = {
      description               = "Wakes: fold, observe, decide, commit, act, record."
      message_retention_seconds = 86400
      max_delivery_attempts     = 10
    }
  }

  environment = {
    TRIMTAB_PROJECT            = var.project_id
    TRIMTAB_FIRESTORE_DATABASE = var.firestore.database
    TRIMTAB_EVENTS_TOPIC       = google_pubsub_topic.events.name
    TRIMTAB_ALERTS_TOPIC       = local.topics.alert
    TRIMTAB_UPLOADS_TOPIC      = local.topics.upload
    TRIMTAB_COMMANDS_TOPIC     = local.topics.command
    TRIMTAB_CHANGES_TOPIC      = local.topics.audit
    TRIMTAB_TICKS_TOPIC        = local.topics.schedule
    TRIMTAB_WAKES_TOPIC        = local.topics.reconcile
  }

  # Their own changes are no changes by others: only these two may change Cloud Run.
  own_principals = [for name in ["reconcile", "command"] : google_service_account.function[name].email]

  grants = [for grant in var.command_grants : { for key, value in grant : key => value if value != null }]

  # What specs may name: asked when a command brings one, and once more before anything is made of it.
  allowed = { for name, list in {
    TRIMTAB_ALLOWED_IMAGES           = var.allowed_images
    TRIMTAB_ALLOWED_SERVICE_ACCOUNTS = var.allowed_service_accounts
    TRIMTAB_ALLOWED_BUCKETS          = var.allowed_buckets
    TRIMTAB_ALLOWED_PROJECTS         = var.allowed_projects
  } : name => join(",", list) if list != null }

  own_environment = {
    audit     = { TRIMTAB_OWN_PRINCIPALS = join(",", local.own_principals) }
    reconcile = local.allowed
    command = merge(local.allowed, {
      TRIMTAB_PUSH_SERVICE_ACCOUNT = google_service_account.push.email
      TRIMTAB_COMMAND_GRANTS       = jsonencode(local.grants)
    })
  }
}

module "function" {
  source   = "../function"
  for_each = local.functions

  project_id  = var.project_id
  region      = var.region
  name        = "trimtab-${each.key}"
  description = each.value.description
  entry_point = each.key
  source_file = "fn_${each.key}.py"
  runtime     = var.runtime
  labels      = local.labels

  archive = {
    bucket = google_storage_bucket.archive.name
    object = google_storage_bucket_object.archive.name
  }
  build = {
    service_account_id = "projects/${var.project_id}/serviceAccounts/${google_service_account.build.email}"
    docker_repository  = "projects/${var.project_id}/locations/${var.region}/repositories/${google_artifact_registry_repository.main.repository_id}"
  }

  service_account_email = google_service_account.function[each.key].email
  environment           = merge(local.environment, local.switched_environment, lookup(local.own_environment, each.key, {}))
  max_instances         = var.max_instances
  min_instances         = var.min_instances

  # People call the command function, and from anywhere, once there are any; Cloud Run still asks each for a token.
  invokers = each.key == "command" ? { for member in distinct(var.command_callers) : member => member } : {}
  ingress  = each.key == "command" && length(var.command_callers) > 0 ? "ALLOW_ALL" : "ALLOW_INTERNAL_ONLY"

  trigger = {
    topic                      = local.topics[each.key]
    push_service_account_email = google_service_account.push.email
    pubsub_agent_email         = local.pubsub_agent
    message_retention_seconds  = each.value.message_retention_seconds
    max_delivery_attempts      = each.value.max_delivery_attempts
  }

  depends_on = [
    google_project_service.main,
    google_project_iam_member.build_log_writer,
    google_project_iam_member.build_source_reader,
    google_artifact_registry_repository_iam_member.build_writer,
  ]
}
