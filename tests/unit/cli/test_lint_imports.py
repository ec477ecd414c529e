"""What `trimtab lint` loads: no Google client, no gRPC, no simulation, whatever the file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shared.lint.recognition import Kind
from tests.support.lint_healthy import HEALTHY

FOREIGN = ("google.cloud", "google.api_core", "google.auth", "grpc", "shared.simulation", "functions_framework", "flask")
_PROGRAM = """
import sys
before = set(sys.modules)  # path files of installed packages load their namespaces
import json
from cli.main import app
sys.argv = ["trimtab", "lint", *sys.argv[1:]]
try:
    app()
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""


def _loaded(folder: Path, *, spec: bool) -> list[str]:
    files = []
    for healthy in HEALTHY:
        if (healthy.kind is Kind.SPEC) is spec:
            (folder / healthy.name).write_text(healthy.text)
            files.append(str(folder / healthy.name))
    ended = subprocess.run([sys.executable, "-c", _PROGRAM, *files], capture_output=True, text=True, check=True)
    code, modules = json.loads(ended.stderr.splitlines()[-1])
    assert code == 0, ended.stdout + ended.stderr
    return list(modules)


@pytest.mark.parametrize("spec", [False, True], ids=["every other kind", "a spec"])
def test_lint_loads_no_client(tmp_path: Path, *, spec: bool) -> None:
    loaded = _loaded(tmp_path, spec=spec)
    assert [name for name in loaded if name.startswith(FOREIGN)] == []


def test_a_file_that_is_no_spec_loads_no_records(tmp_path: Path) -> None:
    assert [name for name in _loaded(tmp_path, spec=False) if name.startswith("shared.records.")] == []
