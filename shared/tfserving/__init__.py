"""What TF Serving is: its configuration files, its flags and its rules, as values and pure functions."""
