"""The simulated world: Cloud Run's control plane and the load on a service, in injected time."""
