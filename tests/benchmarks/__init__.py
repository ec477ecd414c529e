"""What Trimtab costs, measured side by side on one machine: `make bench`."""
