"""The decisions, pure: values in, values out; no input, no output, no clock, no chance."""
