"""The `trimtab` command: another thin entrance to the code in `shared`."""
