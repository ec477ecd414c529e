"""Rules over what a user has: commands, service documents, batching and model files, flags, listings. Pure."""
