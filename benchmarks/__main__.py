"""`python -m benchmarks [NAME …]`: measure and write `benchmarks/results/NAME.md`; without names, all benchmarks."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import harness


def main() -> None:
    known = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(known)} (default: all)")
    parser.add_argument("--match", default="", help="only rows whose work contains this; prints and writes nothing")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(known)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in arguments.names or known:
        text = harness.run(name, arguments.match)
        if arguments.match:
            print(text)
        else:
            print(f"wrote {harness.write(name, text).name}")


if __name__ == "__main__":
    main()
