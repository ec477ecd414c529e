"""What each function does: one module per function, and the executor. The only orchestration there is."""
