mock_provider "google" {}

variables {
  project_id = "acme-ml"
}

run "ten_charts_side_by_side" {
  command = plan

  assert {
    condition     = length(jsondecode(google_monitoring_dashboard.main.dashboard_json).mosaicLayout.tiles) == 10
    error_message = "one tile per chart"
  }
  assert {
    condition     = alltrue([for tile in jsondecode(google_monitoring_dashboard.main.dashboard_json).mosaicLayout.tiles : lookup(tile, "xPos", 0) + tile.width <= 12])
    error_message = "no tile hangs over the edge"
  }
}
