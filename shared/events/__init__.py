"""Bytes on the wire to typed facts: the envelope, and one module per kind of event. Everything that can never work raises `Park`."""
