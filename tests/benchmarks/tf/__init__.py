"""The simulated batch scheduler and the capacity model against TensorFlow's own scheduler: `make bench-tf`."""
