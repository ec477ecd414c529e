"""What a project has of a deployment, held against what it should have. Pure: the picture comes from `gcp/` or from a Terraform plan."""
