"""What the alert function pays for at its start: the readers of its own kind of event, not those of the others."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
OF_OTHERS = {
    "shared.events.audit",
    "shared.events.audit_reading",
    "shared.events.command",
    "shared.events.kinds",
    "shared.events.storage",
    "shared.records.command_schema",
    "shared.records.commands",
    "shared.records.model_subject",
    "shared.records.spec_schema",
}


def test_the_alert_function_loads_no_reader_of_another_kind() -> None:
    script = "import sys, functions.alert.main; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "shared.events.alert" in loaded
    assert loaded & OF_OTHERS == set()
