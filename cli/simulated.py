"""The figures of simulated runs as people read them: one table, and a line for each run of what the numbers say."""

import json
import math
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from cli.findings import MIN_WIDTH
from shared.simulation.figures import DOES_NOT_START
from shared.tfserving.batching import DEFAULT_MAX_BATCH_SIZE
from shared.tfserving.capacity.batch_time import BatchTime

if TYPE_CHECKING:
    from cli.simulating import Ran

CAUSES = {
    "server-thread-quota": "server threads exhausted",
    "batch-queue-full": "batch queue full",
    "request-rows-over-limit": "more rows than max_batch_size",
    "batch-queue-wait-timeout": "deadline passed in the batch queue",
    "request-timeout": "timed out",
    "instance-cap-reached": "429, all instances busy at the maximum",
    "scale-out-lag": "429, no instance started in time",
    DOES_NOT_START: "no server comes up",
}
"""What the causes of failures mean, in a few words."""
_REFUSED = frozenset({"server-thread-quota", "batch-queue-full", "request-rows-over-limit", "instance-cap-reached", "scale-out-lag"})
WELL = 0.99
"""The share of good answers from which on a run is well."""
SMALL = 0.005
"""A share of failures below it is not what the line is about."""
BUSY = 0.85
FAR = 2.0
"""From so many times the rows a second on, a GPU could carry far more."""
MAX_WIDTH = 120

Row = tuple[str, Sequence[str]]


def written_json(document: dict[str, Any]) -> None:
    """One object on standard output."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def table(runs: "Sequence[Ran]", *, good_ms: float, budget: float | None, batch_time: BatchTime | None = None) -> Iterator[str]:
    """The table, and below it what it says; as wide as the terminal, in blocks one below the other where the runs do not fit.

    `budget`: what an hour may cost. `batch_time`: how long the model's batches take; None: not known.
    """
    all_figures = [each.figures for each in runs]
    rows = list(_rows(all_figures, good_ms))
    head = max(len(label) for label, _ in rows)
    widths = [max(len(each.name), *(len(cells[place]) for _, cells in rows)) for place, each in enumerate(runs)]
    most = max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size().columns))
    for block in _blocks(widths, most - head):
        yield "  ".join(["simulated".ljust(head), *(runs[place].name.rjust(widths[place]) for place in block)]).rstrip()
        for label, cells in rows:
            yield "  ".join([label.ljust(head), *(cells[place].rjust(widths[place]) for place in block)]).rstrip()
        yield ""
    for each, figures in zip(runs, all_figures, strict=True):
        said = [verdict(figures, good_ms, batch_time)]
        if budget is not None and each.usd_per_hour is not None and each.usd_per_hour > budget:
            said.append(f"${each.usd_per_hour:,.2f} an hour on the average, above the budget of ${budget:,.2f}")
        for line in (*said, *each.notes):
            yield from _wrapped(f"{each.name}: {line}", most)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """On lines; a number stays with its percent sign, and with what it is above or below."""
    kept = text.replace(" %", "\N{NO-BREAK SPACE}%").replace("> ", ">\N{NO-BREAK SPACE}").replace("< ", "<\N{NO-BREAK SPACE}")
    for line in textwrap.wrap(kept, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False):
        yield line.replace("\N{NO-BREAK SPACE}", " ")


def verdict(figures: dict[str, Any], good_ms: float, batch_time: BatchTime | None = None) -> str:
    """What the numbers of a run say, in one line."""
    goodput, errors = figures["goodput"], figures["errors"]
    if goodput is None:
        return "nothing was asked"
    if DOES_NOT_START in errors:
        return "no server comes up with these settings: nothing is answered"
    worst = max(errors, key=lambda cause: errors[cause], default=None)
    said: list[str] = []
    if worst is not None and errors[worst] >= SMALL:
        what = "of tries refused" if worst in _REFUSED else "of tries failed"
        said.append(f"{percent(errors[worst])} {what}: {CAUSES[worst]}")
    late = 1 - goodput - sum(errors.values())
    if late >= SMALL:
        said.append(f"{percent(late)} answered later than {good_ms:g} ms" if errors else f"{percent(late)} answered too late")
    if goodput >= WELL and not said:
        said.append(f"{percent(goodput)} answered within {good_ms:g} ms")
    elif goodput < WELL:
        said += _where_the_limit_is(figures, good_ms, batch_time)
    return ", ".join(said) or f"{percent(goodput)} answered within {good_ms:g} ms"


def _where_the_limit_is(figures: dict[str, Any], good_ms: float, batch_time: BatchTime | None) -> Iterator[str]:
    gpu, cpu, batch = figures["gpu_busy"], figures["cpu_busy"], figures["mean_batch"]
    if gpu is None or cpu is None:
        return
    small = f" with batches of {batch:.1f}" if batch is not None and batch < 4 else ""  # noqa: PLR2004 (rows that a GPU hardly notices)
    if cpu >= BUSY:
        yield f"the CPU is full ({percent(cpu)}), the GPU {percent(gpu)} busy"
    elif gpu >= BUSY and small and batch and batch_time is not None and gain(batch_time, batch, good_ms) >= FAR:
        yield f"the GPU is {percent(gpu)} busy{small}, far below what it can carry"
    elif gpu >= BUSY:
        yield f"the GPU is full ({percent(gpu)})"
    else:
        yield f"the GPU is {percent(gpu)} busy{small}"


def gain(batch_time: BatchTime, mean_rows: float, good_ms: float) -> float:
    """How many times the rows a second the GPU carries in the best of larger batches, against batches of `mean_rows`; 1 where in none.

    Larger ones are up to TF Serving's `max_batch_size` where nothing sets it, and are done within `good_ms`.
    """
    now_ms = batch_time.device_ms(mean_rows) / mean_rows
    sizes = (size for size in range(math.ceil(mean_rows), DEFAULT_MAX_BATCH_SIZE + 1) if batch_time.total_ms(size) <= good_ms)
    best_ms = min((batch_time.device_ms(size) / size for size in sizes), default=now_ms)
    return now_ms / best_ms if 0 < best_ms < now_ms else 1.0


def _rows(runs: Sequence[dict[str, Any]], good_ms: float) -> Iterator[Row]:
    yield f"good: answered within {good_ms:g} ms", [percent(each["goodput"]) for each in runs]
    for name in ("p50", "p95", "p99"):
        yield f"{name} latency", [_ms(each[f"{name}_ms"]) for each in runs]
    for cause in dict.fromkeys(cause for each in runs for cause in each["errors"]):
        yield f"failed: {CAUSES[cause]}", [percent(each["errors"].get(cause, 0.0)) for each in runs]
    yield "mean batch, rows", [_number(each["mean_batch"], 1) for each in runs]
    yield "GPU busy", [percent(each["gpu_busy"]) for each in runs]
    yield "CPU busy", [percent(each["cpu_busy"]) for each in runs]
    yield "instances, mean", [_number(each["mean_instances"], 2) for each in runs]
    yield "USD per million good", [_usd(each["usd_per_million_good"]) for each in runs]
    yield "revisions", [str(each["revisions"]) for each in runs]
    if any(each["last_20_min"] != {key: value for key, value in each.items() if key in each["last_20_min"]} for each in runs):
        last = [each["last_20_min"] for each in runs]
        yield "last 20 min: good", [percent(each["goodput"]) for each in last]
        yield "last 20 min: p99 latency", [_ms(each["p99_ms"]) for each in last]
        yield "last 20 min: instances", [_number(each["mean_instances"], 2) for each in last]
        yield "last 20 min: USD per million good", [_usd(each["usd_per_million_good"]) for each in last]


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """Which columns stand side by side."""
    block: list[int] = []
    for place in range(len(widths)):
        if block and sum(widths[each] + 2 for each in (*block, place)) > room:
            yield block
            block = []
        block.append(place)
    yield block


def percent(share: float | None) -> str:
    """A share with one digit behind the point; never 100 % or 0 % where something is missing or there."""
    if share is None:
        return "-"
    value = 100 * share
    if 0 < value < 0.05:  # noqa: PLR2004 (what would be shown as 0.0)
        return "< 0.1 %"
    if 99.95 <= value < 100:  # noqa: PLR2004 (what would be shown as 100.0)
        return "> 99.9 %"
    return f"{value:.1f} %"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f} ms" if value < 1_000 else f"{value / 1_000:,.1f} s"  # noqa: PLR2004 (a second)


def _usd(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}" if value < 10 else f"{value:,.2f}" if value < 1_000 else f"{value:,.0f}"  # noqa: PLR2004 (three digits or so)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
