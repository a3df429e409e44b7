"""Simulate what `compare` does at many designs, and write the table of docs/statistics_designs.md.

python docs/stats_designs.py
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from graphgauge.stats import Model, Simulated, simulate

REPEATS, FEWER = 2000, 500
# Of these, so many also simulate what they expect of their interval.
EXPECTATIONS = 100
SEED = 11
# A grid of a few values. Ceilings, in standard deviations from the worse method's mean: a third to nearly all are cut.
GRID = 0.7
CEILINGS = (0.5, 0.3, -0.3)


@dataclass(frozen=True)
class Row:
    """A design: numbers of runs of both methods on each dataset, how they are tested, and the scores."""

    sizes: tuple[tuple[int, int], ...]
    paired: bool = True
    datasets: str = "these"
    correlation: float = 0.0
    spreads: tuple[float, float] = (1.0, 1.0)
    between: float = 0.0
    ties: bool = False
    ceiling: float | None = None
    shapes: tuple[str, str] = ("normal", "normal")

    @property
    def name(self) -> tuple[str, str, str]:
        n, m = self.sizes[0]
        runs = f"{n} pairs" if self.paired else f"{n} + {m} runs"
        kind = "one dataset" if len(self.sizes) == 1 else f"{len(self.sizes)} datasets, {self.datasets}"
        scores = ["ties"] if self.ties else []
        scores += [] if self.ceiling is None else [f"ceiling at {self.ceiling:g}"]
        scores += [] if not self.is_skewed else [" and ".join(dict.fromkeys(self.shapes))]
        scores += [f"spreads {self.spreads[0]:g} and {self.spreads[1]:g}"] if self.spreads != (1.0, 1.0) else []
        return kind, runs, ", ".join([f"correlation {self.correlation:g}" if self.paired else "independent", *scores])

    @property
    def repeats(self) -> int:
        """Fewer for skewed scores, spreads of 5 to 1, and lower ceilings of several datasets."""
        low = self.ceiling is not None and self.ceiling < max(CEILINGS) and len(self.sizes) > 1
        return FEWER if self.is_skewed or self.spreads[0] == 5 or low else REPEATS

    @property
    def is_skewed(self) -> bool:
        return self.shapes != ("normal", "normal")

    @property
    def error(self) -> float:
        """The standard error of the difference, before a ceiling."""
        n, m = self.sizes[0]
        a, b = self.spreads
        noise = (a * a + b * b - 2 * self.correlation * a * b) / n if self.paired else a * a / n + b * b / m
        between = self.between**2 if self.datasets == "drawn" else 0.0
        return math.sqrt((noise + between) / len(self.sizes))

    def simulated(self, repeats: int | None = None) -> Simulated:
        repeats = repeats or self.repeats
        model = Model(
            effect=round(2.8 * self.error, 3),
            correlation=self.correlation,
            spreads=self.spreads,
            between=self.between,
            grid=GRID if self.ties else None,
            ceiling=self.ceiling,
            shapes=self.shapes,
        )
        return simulate(
            self.sizes,
            paired=self.paired,
            datasets=self.datasets,
            model=model,
            repeats=repeats,
            seed=SEED,
            expectations=min(repeats, EXPECTATIONS),
        )


def one(n: int, m: int | None = None, **options: object) -> Row:
    return Row(((n, n if m is None else m),), m is None, **options)  # type: ignore[arg-type]


def these(datasets: int, n: int, m: int | None = None, **options: object) -> Row:
    return replace(one(n, m, **options), sizes=((n, n if m is None else m),) * datasets)


def drawn(datasets: int, n: int, m: int | None = None, **options: object) -> Row:
    return replace(these(datasets, n, m, **options), datasets="drawn", between=1.0)


ROWS = [
    *(one(n, correlation=c) for n in (3, 5) for c in (0.0, 0.95)),
    *(one(n, correlation=c) for n in (6, 10, 30) for c in (0.0, 0.5, 0.95)),
    *(one(n, correlation=0.5, ties=True) for n in (6, 10, 30)),
    *(one(n, correlation=0.5, ceiling=c) for n in (6, 10, 30) for c in CEILINGS),
    one(10, correlation=0.5, spreads=(1.0, 3.0)),
    *(one(n, m) for n, m in ((3, 3), (4, 4), (5, 5), (5, 10), (10, 10), (10, 30), (30, 30))),
    *(one(n, m, spreads=s) for n, m in ((5, 5), (5, 15), (10, 30)) for s in ((1.0, 3.0), (3.0, 1.0))),
    *(one(n, m, ties=True) for n, m in ((5, 5), (10, 30))),
    *(one(n, m, ceiling=c) for n, m in ((5, 5), (10, 30)) for c in CEILINGS),
    *(one(n, m, spreads=(5.0, 1.0)) for n, m in ((2, 50), (4, 20))),
    *(one(n, shapes=("lognormal", "normal"), spreads=(1.0, 0.0)) for n in (5, 12, 30)),
    *(one(n, shapes=("exponential", "exponential"), spreads=(3.0, 1.0)) for n in (8, 20)),
    *(one(n, n, shapes=("exponential", "-exponential")) for n in (5, 10)),
    one(8, 8, shapes=("lognormal", "normal")),
    *(these(d, n, correlation=0.5) for d, n in ((2, 3), (3, 3), (5, 5), (10, 3), (50, 3), (10, 30))),
    these(5, 5, correlation=0.95),
    *(these(5, 5, correlation=0.5, ceiling=c) for c in CEILINGS),
    these(5, 5, correlation=0.5, ties=True),
    these(3, 4, shapes=("lognormal", "normal"), spreads=(1.0, 0.0)),
    *(these(d, n, m) for d, n, m in ((2, 3, 3), (3, 3, 5), (5, 5, 5), (10, 3, 5), (50, 3, 3))),
    these(5, 3, 6, spreads=(3.0, 1.0)),
    *(drawn(d, n, correlation=0.5) for d, n in ((3, 5), (6, 5), (10, 5), (20, 3), (50, 30))),
    drawn(10, 5, correlation=0.95),
    drawn(10, 3, 5),
    *(drawn(d, 5, correlation=0.5, ties=True) for d in (10, 50)),
    *(drawn(d, 5, correlation=0.5, ceiling=c) for d in (10, 50) for c in CEILINGS),
]
HEAD = ["datasets", "runs", "scores", "error", "covers", "expected", "misses low / high", "width", "power"]


def line(row: Row, found: Simulated) -> str:
    covers, expected = ("–" if math.isnan(share) else f"{share:.3f}" for share in (found.coverage, found.expected))
    misses = f"{found.below:.3f} / {found.above:.3f}"
    cells = [*row.name, f"{found.error:.3f}", covers, expected, misses, f"{found.width:.2f}", f"{found.power:.2f}"]
    return f"| {' | '.join(cells)} |"


def main(repeats: int | None = None) -> None:
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
    for row in ROWS:
        lines.append(line(row, row.simulated(repeats)))
        print(lines[-1], flush=True)
    many, few = (repeats or number for number in (REPEATS, FEWER))
    said = (
        f"{many:,} repetitions per row, in which a share of .05 is known to ± {error(many):.3f}; {few} "
        f"(± {error(few):.3f}) of skewed scores, spreads of 5 to 1, and lower ceilings of several datasets. What is "
        f"expected is the mean of {EXPECTATIONS} repetitions."
    )
    lines += ["", said, ""]
    Path(__file__).with_name("stats_designs.inc").write_text("\n".join(lines), encoding="utf-8")


def error(repeats: int) -> float:
    return 2 * math.sqrt(0.05 * 0.95 / repeats)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
