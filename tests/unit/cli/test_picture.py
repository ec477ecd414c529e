"""The picture of simulated runs."""

from pathlib import Path

import pytest

from cli.picture import draw
from shared.simulation.world.results import Minute

SVG, PNG = b"<?xml", b"\x89PNG"


def minute(at_s: float, *, goodput: float | None = 1.0, p99_ms: float | None = 30.0) -> Minute:
    return Minute(at_s, 10.0, goodput, p99_ms and p99_ms / 2, p99_ms, 0.0, 2.0, 0.5, 0.1, 1.5)


SERIES = (minute(60), minute(120, goodput=0.5, p99_ms=2_000), minute(180, goodput=None, p99_ms=None), minute(240))


@pytest.mark.parametrize(("name", "head"), [("a.svg", SVG), ("a.PNG", PNG)])
def test_the_same_runs_give_the_same_bytes(tmp_path: Path, name: str, head: bytes) -> None:
    made = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name
        draw(path, {"static": SERIES, "steered": SERIES[:2]}, title="A", objective_ms=50, marks=[(60, "raised"), (60, "again")], zero_s=60)
        made.append(path.read_bytes())
    assert made[0] == made[1]
    assert made[0].startswith(head)


def test_a_picture_of_nothing_is_drawn_all_the_same(tmp_path: Path) -> None:
    draw(tmp_path / "empty.svg", {"static": ()}, title="A", objective_ms=None)
    assert (tmp_path / "empty.svg").stat().st_size > 1_000


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a picture's name ends in \.png or \.svg"):
        draw(tmp_path / "a.pdf", {}, title="A", objective_ms=None)


def test_many_decisions_are_all_lines_and_the_first_of_them_words(tmp_path: Path) -> None:
    draw(tmp_path / "a.svg", {"static": SERIES}, title="A", objective_ms=50, marks=[(60.0 + place, "x" * 300) for place in range(30)])
    assert (tmp_path / "a.svg").exists()
