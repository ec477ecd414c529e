# Whom served services run as, and what their images and models ask for: once for each account, repository and bucket, however many
# models share it, so that a model that goes takes nothing from the others.

locals {
  # An account that is there is named by its address, one that is made here by what follows `trimtab-serving-`.
  made     = toset([for name in keys(var.serving_accounts) : name if !strcontains(name, "@")])
  accounts = { for name in keys(var.serving_accounts) : name => contains(local.made, name) ? google_service_account.serving[name].email : name }

  model_readers = merge([
    for name, account in var.serving_accounts : { for bucket in account.buckets : "${name} of ${bucket}" => { account = name, bucket = bucket } }
  ]...)
  repositories = toset([for each in var.image_repositories : "${coalesce(each.project_id, var.project_id)}/${each.location}/${each.name}"])
}

resource "google_service_account" "serving" {
  for_each = local.made

  project      = var.project_id
  account_id   = "trimtab-serving-${each.key}"
  display_name = "Serving ${each.key}"
  description  = "What a served Cloud Run service runs as: it reads its model and writes its metrics."

  depends_on = [google_project_service.main]
}

resource "google_storage_bucket_iam_member" "model_reader" {
  for_each = local.model_readers

  bucket = lookup(local.buckets, each.value.bucket, each.value.bucket)
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts[each.value.account]}"
}

# The collector beside TF Serving writes its metrics to Cloud Monitoring.
resource "google_project_iam_member" "metric_writer" {
  for_each = local.accounts

  project = var.project_id
  role    = "roles/monitoring.metricWriter"
  member  = "serviceAccount:${each.value}"

  depends_on = [google_project_service.main]
}

# Who deploys a revision acts as the account it runs as: as these, and no other.
resource "google_service_account_iam_member" "act_as" {
  for_each = local.accounts

  service_account_id = "projects/${var.project_id}/serviceAccounts/${each.value}"
  role               = "roles/iam.serviceAccountUser"
  member             = local.reconcile

  depends_on = [google_project_service.main]
}

# Cloud Run lets nobody deploy an image that they may not read themselves.
resource "google_artifact_registry_repository_iam_member" "image_reader" {
  for_each = local.repositories

  project    = split("/", each.key)[0]
  location   = split("/", each.key)[1]
  repository = split("/", each.key)[2]
  role       = "roles/artifactregistry.reader"
  member     = local.reconcile
}
