"""Trimtab's code, room by room; docs/architecture.md draws the rooms and what each may import."""
