"""Imported first by every entry point: loading modules makes objects, not garbage, so the collector is off until it is done.

What was loaded is then frozen: later collections do not look at it, and a forked server keeps sharing its pages. Saves about a tenth
of the processor time of loading the Google clients (docs/benchmarks.md holds the figures of the whole start).
"""

import gc

gc.disable()


def done() -> None:
    """Everything is loaded: freeze it and collect as usual. Only the first call of a process does anything."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
