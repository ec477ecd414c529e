"""The ports on Google Cloud, one module per service."""
