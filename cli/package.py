"""`make package`: what is deployed, as one archive. The same source makes the same bytes, wherever and whenever it is made.

    trimtab-<version>-<first 16 digits of its SHA-256>.zip
      fn_<function>.py                      one a function: nothing but the import of its entry point
      requirements.txt                      requirements/functions.txt, and the wheel by its path with its hash
      trimtab-<version>-py3-none-any.whl    the project

The buildpack installs requirements.txt and byte-compiles what it installs, but not what lies in the root: so the code is in the wheel.
Nothing is compressed, neither the archive nor the wheel: what a compressor writes depends on its version.
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

from shared.deployment import FUNCTIONS, source_file

ROOT = Path(__file__).parent.parent
LOCKED = Path("requirements", "functions.txt")
DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file: the first that a zip archive can say."""
MODE = 0o100_644
HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Archive:
    """A finished archive: its file name, which says its content, and its bytes."""

    name: str
    content: bytes


def packaged(root: Path) -> Archive:
    """The archive of the source tree at `root`.

    Raises:
        OSError: the tree cannot be read.
        RuntimeError: hatchling made no wheel; the message ends with its words.
    """
    name, wheel = _wheel(root)
    locked = (root / LOCKED).read_text(encoding="utf-8")
    pinned = f"{locked.rstrip()}\n./{name} \\\n    --hash=sha256:{hashlib.sha256(wheel).hexdigest()}\n"
    files = {name: wheel, "requirements.txt": pinned.encode()}
    files |= {source_file(function): _entry(function).encode() for function in FUNCTIONS}
    content = _zipped(files)
    version = name.split("-")[1]
    return Archive(f"trimtab-{version}-{hashlib.sha256(content).hexdigest()[:HASH_DIGITS]}.zip", content)


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


def main() -> None:
    """Write the archive into `build/` and print its path."""
    archive = packaged(ROOT)
    path = ROOT / "build" / archive.name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(archive.content)
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
