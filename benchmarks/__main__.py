"""`python -m benchmarks [PART …]`: measure the rows whose names contain a part, or all, and write the table.

The interpreter needs the peers; a row says which of them could not be measured. Rows of some parts only are printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import harness

FAMILIES = (
    "core",
    "ranking",
    "recovery",
    "forecasting",
    "generation",
    "explanation",
    "evolution",
    "prediction",
    "stats",
)
TABLE = Path(__file__).parent / "results.md"


def rows(family: str) -> tuple[harness.Row, ...]:
    found: tuple[harness.Row, ...] = importlib.import_module(f"benchmarks.rows.{family}").ROWS
    return found


def imports() -> Iterator[str]:
    """What importing a family costs beyond NumPy."""
    clock = "t = time.perf_counter(); import {}; print(1e3 * (time.perf_counter() - t))"
    for family in ("_core", *FAMILIES[1:]):
        code = f"import time, numpy, {'graphgauge; ' if family == '_core' else ''}".rstrip(", ")
        code = f"{code}\n{clock.format(f'graphgauge.{family}')}"
        least = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7))
        yield f"{family} {least:.0f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="part of a row's name, or a family")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        family, name, what = given.measure
        row = next(row for row in rows(family) if row.name == name)
        print(json.dumps(harness.measure(row, what)))
        return
    lines = [f"| {' | '.join(harness.TITLES)} |", "|---" * len(harness.TITLES) + "|"]
    print("\n".join(lines), flush=True)
    for family in FAMILIES:
        for row in rows(family):
            if not given.parts or any(part in f"{family} {row.name}" for part in given.parts):
                lines.append(f"| {' | '.join(harness.cells(row, harness.measured(family, row)))} |")
                print(lines[-1], flush=True)
    if not given.parts:
        head = (
            f"{platform.machine()}, Python {platform.python_version()}; importing beside NumPy: {', '.join(imports())}."
        )
        TABLE.write_text(f"{head}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
        print(f"\nwrote {TABLE}")


if __name__ == "__main__":
    main()
