"""One service under load: Cloud Run's routing and scaling, TF Serving's batch queue and one GPU for each instance, event by event."""
