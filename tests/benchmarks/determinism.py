"""The same scenario and seed give the same bytes: in two fresh processes, and in two fresh installs that compile the world anew.

An install is a virtual environment with the locked versions of what `trimtab[cli,simulation]` needs, and Trimtab as a wheel.
"""

import hashlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.benchmarks.sources import ROOT
from tests.benchmarks.table import Area, Row

LOCK = ROOT / "requirements" / "dev.txt"
EXTRAS = ("cli", "simulation")
INSTALLS = 2
SECONDS = 600

SCENARIO = """
service:
  gcloud: |
    gcloud run deploy ranker --region=europe-west1 --image=tensorflow/serving:2.20.0-gpu --no-allow-unauthenticated \\
      --gpu=1 --gpu-type=nvidia-l4 --no-gpu-zonal-redundancy --cpu=4 --memory=16Gi --no-cpu-throttling \\
      --concurrency=60 --max-instances=20 --port=8501 --set-env-vars=MODEL_NAME=ranker --args=--enable_batching=true
model: {a_ms: 4, c_ms: 0.25, host_ms: 2, cpu_ms_per_request: 0.5}
workload:
  kind: bursty
  low_rows_per_s: 2000
  high_rows_per_s: 10000
  rows: {largest: 16, exponent: 2.2}
  retries: {tries: 3}
objective: {p99_ms: 50}
duration_s: 600
warm_up_s: 120
seed: SEED
"""
"""Everything that is drawn by chance is at work: bursts, sizes, the choice of an instance, retries."""

HOW = (
    "`trimtab simulate SCENARIO --json`, twice in fresh processes, once with another seed, and once in each of {installs} fresh installs "
    "(the locked versions of {packages} packages, Trimtab as a wheel, nothing compiled before). Bytes of standard output, by their SHA-256."
)


def measure() -> Area:
    with tempfile.TemporaryDirectory() as folder:
        first, other = (_scenario(Path(folder), seed) for seed in (7, 8))
        command = [sys.executable, "-c", "from cli.main import app; app()"]
        once, again = (_simulated(command, first, os.environ, ROOT) for _ in range(2))
        changed = _simulated(command, other, os.environ, ROOT)
        wheel = _wheel(Path(folder))
        locked = list(_locked(wheel))
        rows = [
            Row("two fresh processes", _shown(once, again), "the same", once == again),
            Row("another seed", _shown(once, changed), "another", once != changed),
            _installs(Path(folder), wheel, locked, first, once),
        ]
    return Area("Determinism of the simulation", HOW.format(installs=INSTALLS, packages=len(locked)), tuple(rows))


def _scenario(folder: Path, seed: int) -> Path:
    path = folder / f"seed-{seed}.yaml"
    path.write_text(SCENARIO.replace("SEED", str(seed)))
    return path


def _simulated(command: list[str], scenario: Path, environment: "os._Environ[str] | dict[str, str]", folder: Path) -> str:
    run = subprocess.run(
        [*command, "simulate", str(scenario), "--json"], cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=True
    )
    return hashlib.sha256(run.stdout).hexdigest()


def _shown(*digests: str) -> str:
    return ", ".join(dict.fromkeys(digest[:12] for digest in digests))


def _installs(folder: Path, wheel: Path, locked: list[str], scenario: Path, expected: str) -> Row:
    name, bound = f"{INSTALLS} fresh installs, each compiled anew", "the same"
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join(locked))
    try:
        with ThreadPoolExecutor(INSTALLS) as pool:
            made = list(pool.map(lambda number: _installed(folder / f"install-{number}", requirements, wheel, scenario), range(INSTALLS)))
    except (subprocess.SubprocessError, OSError) as error:
        said = getattr(error, "stderr", None) or str(error).encode()
        return Row(name, f"no install: {said.decode(errors='replace').strip().splitlines()[-1][:120]}", bound)
    return Row(name, _shown(expected, *made), bound, set(made) == {expected})


def _wheel(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("trimtab-*.whl")
    return wheel


def _installed(place: Path, requirements: Path, wheel: Path, scenario: Path) -> str:
    """What the scenario comes to in a new environment there."""
    _run([sys.executable, "-m", "venv", str(place)])
    pip = [str(place / "bin" / "pip"), "--quiet", "--disable-pip-version-check", "install", "--no-deps"]
    _run([*pip, "--require-hashes", "-r", str(requirements)])
    _run([*pip, str(wheel)])
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "NUMBA", "VIRTUAL_ENV"))}
    return _simulated([str(place / "bin" / "trimtab")], scenario, environment | {"NUMBA_CACHE_DIR": str(place / "compiled")}, place)


def _run(command: list[str]) -> None:
    subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)


def _locked(wheel: Path) -> Iterator[str]:
    """The lock's lines of all that is needed."""
    (info,) = (each for each in zipfile.Path(wheel).iterdir() if each.name.endswith(".dist-info"))
    wanted = importlib.metadata.PathDistribution(info).requires or []
    needed = set(_needed(wanted, EXTRAS, set()))
    for block in re.split(r"^(?=[A-Za-z0-9])", LOCK.read_text(), flags=re.MULTILINE):
        if canonicalize_name(re.split(r"[=\[ ]", block, maxsplit=1)[0]) in needed:
            yield block.rstrip()


def _needed(lines: Sequence[str], extras: Collection[str], seen: set[tuple[str, str]]) -> Iterator[str]:
    """Names of what requirements bring along in this environment."""
    for part in map(Requirement, lines):
        if part.marker is not None and not any(part.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        key = (canonicalize_name(part.name), ",".join(sorted(part.extras)))
        if key not in seen:
            seen.add(key)
            yield key[0]
            yield from _needed(importlib.metadata.requires(part.name) or [], part.extras, seen)
