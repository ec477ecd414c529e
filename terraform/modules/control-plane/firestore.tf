resource "google_firestore_database" "main" {
  count = var.firestore.create ? 1 : 0

  project                           = var.project_id
  name                              = var.firestore.database
  location_id                       = coalesce(var.firestore.location, var.region)
  type                              = "FIRESTORE_NATIVE"
  concurrency_mode                  = "OPTIMISTIC"
  point_in_time_recovery_enablement = var.firestore.point_in_time_recovery ? "POINT_IN_TIME_RECOVERY_ENABLED" : "POINT_IN_TIME_RECOVERY_DISABLED"
  delete_protection_state           = var.firestore.delete_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.firestore.delete_protection ? "ABANDON" : "DELETE"

  depends_on = [google_project_service.main]
}

locals {
  # Collection groups and fields of shared/gcp/firestore_layout.py; a test holds the two equal.
  ttl_fields = { for collection in ["facts", "commands", "uploads", "decisions", "acts"] : "${collection}/expire_at" => [] }

  unindexed_fields = { for field in [
    "services/record",
    "commands/record",
    "facts/record",
    "state/record",
    "state/committed_at",
    "decisions/record",
    "uploads/record",
    "uploads/uri",
    "model_state/record",
    "model_state/uri",
    "model_state/listed_at",
    "model_state/committed_at",
    "fleet/record",
    "fleet/committed_at",
    "fleet/at",
    "parked/body",
    "parked/attributes",
  ] : field => [] }

  # Firestore makes an index over all collections of a name only where it is told to. The facts of one service are read in order as well.
  indexed_fields = {
    "state/next_look_at"        = ["COLLECTION_GROUP"]
    "state/usd_per_hour_at_max" = ["COLLECTION_GROUP"]
    "facts/created_at"          = ["COLLECTION", "COLLECTION_GROUP"]
    "model_state/next_look_at"  = ["COLLECTION_GROUP"]
    "uploads/created_at"        = ["COLLECTION_GROUP"]
  }

  fields = merge(local.ttl_fields, local.unindexed_fields, local.indexed_fields)
}

# An `index_config` without indexes turns indexing of the field off.
resource "google_firestore_field" "main" {
  for_each = local.fields

  project    = var.project_id
  database   = var.firestore.create ? google_firestore_database.main[0].name : var.firestore.database
  collection = split("/", each.key)[0]
  field      = split("/", each.key)[1]

  index_config {
    dynamic "indexes" {
      for_each = toset(each.value)

      content {
        order       = "ASCENDING"
        query_scope = indexes.value
      }
    }
  }

  dynamic "ttl_config" {
    for_each = contains(keys(local.ttl_fields), each.key) ? [true] : []

    content {}
  }
}
