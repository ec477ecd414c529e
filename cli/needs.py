"""What the commands around the simulated world need beside the command line itself."""

from importlib.util import find_spec
from pathlib import Path

from cli.shown import stop

PICTURES = (".png", ".svg")

_SIMULATION = ("numba", "matplotlib")


def simulation() -> None:
    """End the command, with what to install, where the simulation is not there."""
    missing = [name for name in _SIMULATION if find_spec(name) is None]
    if missing:
        stop(f"{missing[0]} is not installed: the simulation is an extra of Trimtab, pip install 'trimtab[cli,simulation]'")


def picture(path: Path) -> None:
    """End the command where a picture of that name cannot be written: better before minutes of simulation than after."""
    if path.suffix.lower() not in PICTURES:
        stop(f"--plot {path}: a picture's name ends in .png or .svg")
    if not path.absolute().parent.is_dir():
        stop(f"--plot {path}: there is no folder {path.absolute().parent}")
