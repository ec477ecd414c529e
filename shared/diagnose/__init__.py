"""Evidence (logs, metrics, a configuration, an alert) to ranked causes and remedies. Pure."""
