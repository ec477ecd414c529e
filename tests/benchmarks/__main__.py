"""`python -m tests.benchmarks`: measure, print one table per area, and say whether every bound holds.

`--only NAME` (may be repeated) measures those areas; `--slow` adds what takes minutes: the storm on the Firestore emulator, more seeds of
the repair, and the search for the best settings; `--write` puts the tables into docs/benchmarks.md, of a whole run all of them, with
`--only` those areas in the place of their last ones. The exit code is 1 if a bound does not hold.
"""

import argparse
import sys
import time
from collections.abc import Callable

from tests.benchmarks import (
    capacity,
    cold_start,
    cost,
    determinism,
    fuzz,
    lint_agreement,
    lint_speed,
    lint_start,
    oracle,
    overhead,
    repair,
    scale,
    storm,
    traces,
    world,
)
from tests.benchmarks.sources import ROOT
from tests.benchmarks.table import Area, header, splice_into, write_into

PAGE = ROOT / "docs" / "benchmarks.md"


SLOW = {"oracle"}
"""Measured only with `--slow`, or by name."""


def areas(*, slow: bool) -> dict[str, Callable[[], Area]]:
    return {
        "cost": cost.measure,
        "overhead": overhead.measure,
        "traces": traces.measure,
        "cold_start": cold_start.measure,
        "scale": scale.measure,
        "storm": lambda: storm.measure(slow=slow),
        "fuzz": fuzz.measure,
        "lint_agreement": lint_agreement.measure,
        "lint_speed": lint_speed.measure,
        "lint_start": lint_start.measure,
        "world": world.measure,
        "capacity": capacity.measure,
        "determinism": determinism.measure,
        "repair": lambda: repair.measure(slow=slow),
        "oracle": oracle.measure,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure side by side; see docs/benchmarks.md")
    parser.add_argument("--only", action="append", choices=areas(slow=False), help="one area; may be repeated")
    parser.add_argument("--slow", action="store_true", help="also what takes minutes: emulated storm, oracle, more seeds")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    wanted = parser.parse_args()
    parts, failed = [header()], []
    print(parts[0])
    for name, measure in areas(slow=wanted.slow).items():
        if name not in wanted.only if wanted.only else name in SLOW and not wanted.slow:
            continue
        began = time.perf_counter()
        area = measure()
        parts.append(area.markdown())
        print(parts[-1], flush=True)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        if wanted.write and wanted.only:
            splice_into(PAGE, area, parts[0])
        failed += [f"{name}: {row.measure}: {row.value} (bound {row.bound})" for row in area.rows if row.holds is False]
    if wanted.write and not wanted.only:
        write_into(PAGE, "\n".join(parts))
    for line in failed:
        print(f"does not hold: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
