"""`python -m tests.benchmarks.tf --tensorflow .venv-tf/bin/python`: ask TensorFlow, print the tables, say whether every bound holds.

`--record` keeps what its batch scheduler did for the tests that run without it; `--write` puts the tables into docs/benchmarks-tf.md;
`--only queue`, `--only server` or `--only capacity` does one part. The exit code is 1 if a bound does not hold.
"""

import argparse
import sys
from pathlib import Path

from tests.benchmarks.sources import ROOT
from tests.benchmarks.table import header, write_into
from tests.benchmarks.tf import agreement, predicted, recorded, spoken

PAGE = ROOT / "docs" / "benchmarks-tf.md"
BEGIN = "<!-- measured: begin (written by `python -m tests.benchmarks.tf --write`) -->"
PARTS = ("queue", "server", "capacity")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make bench-tf", description="Against TensorFlow's own batch scheduler; see docs/benchmarks-tf.md"
    )
    parser.add_argument("--tensorflow", type=Path, default=ROOT / ".venv-tf" / "bin" / "python", help="the Python that has TensorFlow")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--repeats", type=int, default=3, help="of the capacity model's measurements")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each of them")
    parser.add_argument("--record", action="store_true", help=f"keep the batches in {recorded.RECORD.relative_to(ROOT)}")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks-tf.md")
    wanted = parser.parse_args()
    if wanted.write and wanted.only:
        parser.error("--write puts a whole run into the page: leave out --only")
    parts, failed = [header()], []
    print(parts[0])
    for name in PARTS if wanted.only is None else (wanted.only,):
        if name == "queue":
            record = recorded.ask(wanted.tensorflow)
            if wanted.record:
                recorded.write(record)
            area = agreement.measure(record)
        elif name == "server":
            area = spoken.measure(wanted.tensorflow)
        else:
            area = predicted.measure(wanted.tensorflow, repeats=wanted.repeats, seconds=wanted.seconds)
        parts.append(area.markdown())
        print(parts[-1], flush=True)
        failed += [f"{name}: {row.measure}: {row.value} (bound {row.bound})" for row in area.rows if row.holds is False]
    if wanted.write:
        write_into(PAGE, "\n".join(parts), BEGIN)
    for line in failed:
        print(f"does not hold: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
