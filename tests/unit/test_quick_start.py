"""The collector is off while an entry point loads, and on again when it has loaded."""

import subprocess
import sys

SHOW = """
import gc
from shared import quick_start
before = gc.isenabled()
quick_start.done()
quick_start.done()
print(before, gc.isenabled(), gc.get_freeze_count() > 0)
"""


def test_loading_is_not_collected_and_afterwards_it_is_frozen() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
