"""The simulated world as the outside of the local edition: what Cloud Run runs becomes load on GPUs, and what can be seen of that."""
