"""What happened in simulated runs as one picture: latency, instances and traffic over time. matplotlib is loaded here only."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.needs import PICTURES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shared.simulation.world.results import Minute, RunResult

COLOURS = ("#1f5fa8", "#c8500a", "#2a8a4a", "#7a4aa0", "#8a6a1f", "#4a4a4a")
WIDE, HIGH = 10.0, 8.0
DPI = 110
MANY_TIMES = 20
"""From this ratio of the longest latency to the shortest on, the scale is logarithmic."""
MOST_MARKS = 12
"""That are numbered and named below the picture; lines are drawn for all."""
MARK_TEXT = 110


def draw(
    path: Path,
    runs: "Mapping[str, RunResult | Sequence[Minute]]",
    *,
    title: str,
    objective_ms: float | None,
    marks: Sequence[tuple[float, str]] = (),
    zero_s: float = 0.0,
) -> None:
    """Write the picture, a PNG or an SVG by the file's name; the same runs give the same bytes.

    `marks` are vertical lines: a time of the world in seconds and a word on what happened (a decision). `zero_s` is the time of the world
    that the axis calls 0.

    Raises:
        ValueError: the name ends in neither .png nor .svg.
        OSError: the file cannot be written.
    """
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"{path}: a picture's name ends in .png or .svg")
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    named = marks[:MOST_MARKS]
    below = 0.32 + 0.2 * (len(named) + (len(marks) > len(named))) if marks else 0.0
    with mpl.rc_context({"svg.hashsalt": "trimtab", "font.family": "DejaVu Sans", "font.size": 9, "svg.fonttype": "path"}):
        figure = Figure(figsize=(WIDE, HIGH + below), layout="constrained")
        FigureCanvasAgg(figure)
        panels: Any = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 3))
        latency, instances, traffic = panels
        lines = {name: _series(run) for name, run in runs.items()}
        steps = {name: _Steps(series, zero_s) for name, series in lines.items()}
        _latency(latency, steps, objective_ms)
        _instances(instances, steps)
        _traffic(traffic, steps)
        for panel in panels:
            panel.grid(visible=True, color="#dddddd", linewidth=0.6)
            panel.spines[["top", "right"]].set_visible(False)
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
            for at_s, _ in marks:
                panel.axvline((at_s - zero_s) / 60, color="#888888", linewidth=0.8, linestyle=":")
        for at_s, numbers in _numbers(named).items():
            place = ((at_s - zero_s) / 60, 1.0)
            latency.annotate(numbers, place, xycoords=("data", "axes fraction"), ha="center", va="bottom", color="#555555")
        figure.align_ylabels(panels)
        times = [point.at_s for series in lines.values() for point in series]
        if times:
            traffic.set_xlim((min(times) - zero_s) / 60, (max(times) - zero_s) / 60 + 1)
        traffic.set_xlabel("\n".join(["minutes", *_named(named, len(marks), zero_s)]), loc="left" if marks else "center")
        figure.suptitle(f"{title} (simulated)", x=0.01, ha="left", fontweight="bold")
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
        figure.savefig(path, dpi=DPI, metadata=metadata, format=path.suffix.lower()[1:])


def _series(run: "RunResult | Sequence[Minute]") -> "Sequence[Minute]":
    return run if isinstance(run, Sequence) else run.series


def _numbers(marks: Sequence[tuple[float, str]]) -> dict[float, str]:
    """Time to the numbers of what happened then."""
    found: dict[float, str] = {}
    for number, (at_s, _) in enumerate(marks, start=1):
        found[at_s] = f"{found[at_s]}, {number}" if at_s in found else str(number)
    return found


def _named(marks: Sequence[tuple[float, str]], count: int, zero_s: float) -> list[str]:
    """The marks in words, below the axis."""
    found = [f"{number}: {(at_s - zero_s) / 60:.0f} min: {text[:MARK_TEXT]}" for number, (at_s, text) in enumerate(marks, start=1)]
    return [*found, f"and {count - len(marks)} more"] if count > len(marks) else found


class _Steps:
    """A run's minutes, each drawn as long as it lasts; minutes without a value are gaps."""

    def __init__(self, series: "Sequence[Minute]", zero_s: float) -> None:
        self._series = [*series, *series[-1:]]
        self.minutes = [(point.at_s - zero_s) / 60 for point in series]
        self.minutes += [self.minutes[-1] + 1] if self.minutes else []

    def values(self, name: str) -> list[float]:
        """Of a field of the minutes."""
        found = (getattr(point, name) for point in self._series)
        return [math.nan if value is None else value for value in found]

    def drawn(self, panel: "Axes", values: list[float], **style: Any) -> None:
        """A line of steps."""
        panel.step(self.minutes, values, where="post", **style)


def _latency(panel: "Axes", runs: Mapping[str, _Steps], objective_ms: float | None) -> None:
    seen: list[float] = []
    for (name, steps), colour in zip(runs.items(), _colours(runs), strict=True):
        for field, style in (("p99_ms", "-"), ("p50_ms", "--")):
            values = steps.values(field)
            steps.drawn(panel, values, color=colour, linestyle=style, linewidth=1.3, label=f"{name} {field[:3]}")
            seen += [value for value in values if value > 0]
    if objective_ms is not None:
        panel.axhline(objective_ms, color="#b00020", linewidth=1.0, label=f"objective {objective_ms:g} ms")
        seen.append(objective_ms)
    if seen and max(seen) > MANY_TIMES * min(seen):
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:,g}")
    else:
        panel.set_ylim(bottom=0)
    panel.set_ylabel("latency, ms")


def _instances(panel: "Axes", runs: Mapping[str, _Steps]) -> None:
    for (name, steps), colour in zip(runs.items(), _colours(runs), strict=True):
        steps.drawn(panel, steps.values("instances"), color=colour, linewidth=1.3, label=name)
    panel.set_ylim(bottom=0)
    panel.set_ylabel("instances billed")


def _traffic(panel: "Axes", runs: Mapping[str, _Steps]) -> None:
    asked = next(iter(runs.values()), None)
    if asked is not None:
        asked.drawn(panel, asked.values("rate"), color="#999999", linewidth=2.2, label="asked")
    for (name, steps), colour in zip(runs.items(), _colours(runs), strict=True):
        rates = steps.values("rate")
        good = [rate * share for rate, share in zip(rates, steps.values("goodput"), strict=True)]
        bad = [rate - each for rate, each in zip(rates, good, strict=True)]
        steps.drawn(panel, good, color=colour, linewidth=1.3, label=f"{name} good")
        steps.drawn(panel, bad, color=colour, linewidth=1.0, linestyle=":", label=f"{name} failed or late")
    panel.set_ylim(bottom=0)
    panel.set_ylabel("requests per second")


def _colours(runs: Mapping[str, Any]) -> list[str]:
    return [COLOURS[place % len(COLOURS)] for place in range(len(runs))]
