"""`make package`: what is deployed, as two archives. The same source makes the same bytes, wherever and whenever they are made.

    trimtab-<version>-<first 16 digits of its SHA-256>.zip
      fn_<function>.py                      one a function: nothing but the import of its entry point
      requirements.txt                      requirements/functions.txt, and the wheel by its path with its hash
      trimtab-<version>-py3-none-any.whl    the project
    trimtab-profiler-<version>-<...>.zip
      the same, but for requirements/functions-profiler.txt

The second is the first with Cloud Profiler, which is compiled where the functions are built and weighs as much as all the rest: so not
everybody carries it. `make package` prints the path of the first, `make package-profiler` that of the second. Both lie under a fixed name
as well, `build/trimtab.zip` and `build/trimtab-profiler.zip`: those that Terraform takes where it is told of no other.

The buildpack installs requirements.txt and byte-compiles what it installs, but not what lies in the root: so the code is in the wheel.
Nothing is compressed, neither the archives nor the wheel: what a compressor writes depends on its version, and Terraform reads in the
archive that it is one and whether the profiler is in it.
"""

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from shared.deployment import FUNCTIONS, source_file

ROOT = Path(__file__).parent.parent
PLAIN, PROFILER = "trimtab", "trimtab-profiler"
"""What the names of the two archives begin with."""
LOCKED = {PLAIN: Path("requirements", "functions.txt"), PROFILER: Path("requirements", "functions-profiler.txt")}
DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file: the first that a zip archive can say."""
MODE = 0o100_644
HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Archive:
    """A finished archive: its file name, which says its content; the name that it has whatever its content; its bytes."""

    name: str
    fixed_name: str
    content: bytes


class Archives(NamedTuple):
    """The two of a source tree."""

    plain: Archive
    profiler: Archive
    """With Cloud Profiler in it."""


def packaged(root: Path) -> Archives:
    """The archives of the source tree at `root`.

    Raises:
        OSError: the tree cannot be read.
        RuntimeError: hatchling made no wheel; the message ends with its words.
    """
    name, wheel = _wheel(root)
    return Archives(*(_archive(kind, (root / LOCKED[kind]).read_text(encoding="utf-8"), name, wheel) for kind in (PLAIN, PROFILER)))


def _archive(kind: str, locked: str, name: str, wheel: bytes) -> Archive:
    pinned = f"{locked.rstrip()}\n./{name} \\\n    --hash=sha256:{hashlib.sha256(wheel).hexdigest()}\n"
    files = {name: wheel, "requirements.txt": pinned.encode()}
    files |= {source_file(function): _entry(function).encode() for function in FUNCTIONS}
    content = _zipped(files)
    version = name.split("-")[1]
    return Archive(f"{kind}-{version}-{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}.zip", f"{kind}.zip", content)


def _entry(function: str) -> str:
    said = f'"""The entry point `{function}`: the source file that the functions framework is pointed at."""'
    return f'{said}\n\nfrom functions.{function}.main import {function}\n\n__all__ = ["{function}"]\n'


def _wheel(root: Path) -> tuple[str, bytes]:
    """File name and bytes of the project's wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        built = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603 (fixed arguments)
        wheels = sorted(Path(folder).glob("*.whl"))
        if built.returncode != 0 or len(wheels) != 1:
            raise RuntimeError(f"hatchling build in {root} ended with {built.returncode}:\n{(built.stdout + built.stderr)[-2_000:]}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            return wheels[0].name, _zipped({each.filename: wheel.read(each) for each in wheel.infolist()})


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip archive that depends on the files' names and contents alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system = 3  # Unix, so that the mode counts on every system
            entry.external_attr = MODE << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def write(archives: Archives, folder: Path) -> None:
    """Write both into the folder, each under both its names: whole or not at all, and the fixed names last.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(exist_ok=True)
    for archive in archives:
        _replace(folder / archive.name, archive.content)
    for archive in archives:
        _replace(folder / archive.fixed_name, archive.content)


def _replace(path: Path, content: bytes) -> None:
    """Whoever reads at the same time has the old content or the new, never a half; two who package at once do not meet."""
    with tempfile.TemporaryDirectory(prefix=".packaging-", dir=path.parent) as own:
        Path(own, path.name).write_bytes(content)
        Path(own, path.name).replace(path)


def main() -> None:
    """Write both archives into `build/`; print the path of the plain one and nothing else, or with `--profiler` that of the other."""
    folder = ROOT / "build"
    try:
        archives = packaged(ROOT)
        write(archives, folder)
    except (OSError, RuntimeError) as error:
        sys.exit(f"make package: {error}")
    printed = archives.profiler if "--profiler" in sys.argv[1:] else archives.plain
    sys.stdout.write(f"{folder / printed.name}\n")


if __name__ == "__main__":
    main()
