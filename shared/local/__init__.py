"""The ports on one machine."""
