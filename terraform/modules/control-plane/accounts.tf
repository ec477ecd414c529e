# One service account per function; what each may do is in access.tf, and why in docs/reference/roles.md.

resource "google_service_account" "function" {
  for_each = local.functions

  project      = var.project_id
  account_id   = "trimtab-${each.key}"
  display_name = "Trimtab ${each.key}"
  description  = each.value.description

  depends_on = [google_project_service.main]
}

resource "google_service_account" "push" {
  project      = var.project_id
  account_id   = "trimtab-push"
  display_name = "Trimtab push"
  description  = "The identity of Pub/Sub's pushes: what comes as this account to the command function has the rights of its subscription."

  depends_on = [google_project_service.main]
}

resource "google_service_account" "build" {
  project      = var.project_id
  account_id   = "trimtab-build"
  display_name = "Trimtab build"
  description  = "Builds the functions."

  depends_on = [google_project_service.main]
}
