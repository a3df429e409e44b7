"""Figures of many runs: mean ranks with groups, differences with intervals, means with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.figure import CHANCE, COLOURS, SHAPES, drawn
from graphgauge.core.markup import clean
from graphgauge.core.number import percent

if TYPE_CHECKING:
    from graphgauge.stats.outcome import Comparison
    from graphgauge.stats.regression import Regression
    from graphgauge.stats.summaries import Aggregate

KINDS = ("ranks", "differences")
_MOST_COLUMNS = 4


def comparison_figure(comparison: Comparison, kind: str | None, path: str | Path | None, ax: Any = None) -> Any:
    """Mean ranks if methods have them, or the difference of each pair."""
    has_ranks = comparison.standings[0].mean_rank == comparison.standings[0].mean_rank and len(comparison.standings) > 2
    kind = one_of("figure", kind, KINDS) if kind is not None else "ranks" if has_ranks else "differences"
    if kind == "ranks" and not has_ranks:
        raise OptionError("mean ranks take three methods on the same seeds or datasets", fix='Use kind="differences".')
    rows, draw = (comparison.standings, _draw_ranks) if kind == "ranks" else (comparison.pairs, _draw_differences)
    return drawn(lambda part: draw(part.subplots(), comparison), 7, 1.3 + 0.26 * len(rows), path, ax)


def aggregate_figure(table: Aggregate, path: str | Path | None, ax: Any = None) -> Any:
    """Mean and interval of every method, side by side for each metric and dataset."""
    panels = list(dict.fromkeys((row.metric, row.dataset) for row in table.rows))
    methods, columns = table.methods, min(len(panels), _MOST_COLUMNS)
    rows = -(-len(panels) // columns)

    def draw(part: Any) -> None:
        grid = part.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid[len(panels) :]:
            axes.remove()
        for axes, (metric, dataset) in zip(grid[: len(panels)], panels, strict=True):
            for index, method in enumerate(methods):
                row, colour = table[metric, method, dataset], COLOURS[index % len(COLOURS)]
                if np.isnan(row.mean):
                    axes.text(0.5, index, "no value", transform=axes.get_yaxis_transform(), ha="center", va="center")
                axes.plot([row.ci_lower, row.ci_upper], [index, index], color=colour, lw=2)
                axes.plot([row.mean], [index], SHAPES[index % len(SHAPES)], color=colour, ms=6)
            axes.set_yticks(range(len(methods)), methods)
            axes.set_ylim(len(methods) - 0.5, -0.5)
            where = f" on {dataset}" if dataset else ""
            axes.set_xlabel(f"{metric}{where}, {percent(table.confidence)} interval")

    return drawn(draw, 1.4 + 2.8 * columns, rows * (1.1 + 0.3 * len(methods)), path, ax)


def gate_figure(tests: Sequence[Regression], path: str | Path | None = None) -> Any:
    """The change of each metric with its interval, no change (grey) and the margin (dashed); a panel per test."""
    colours = {"excluded": COLOURS[2], "shown": COLOURS[1], "undecided": COLOURS[5]}

    def draw(part: Any) -> None:
        for axes, test in zip(part.subplots(max(1, len(tests)), 1, squeeze=False)[:, 0], tests, strict=False):
            sign, change = -1 if test.better == "higher" else 1, test.new - test.baseline
            axes.axvline(0, color=CHANCE, lw=0.8)
            axes.axvline(sign * test.margin, color=COLOURS[1], lw=1.2, ls="--")
            axes.plot([sign * test.low, sign * test.high], [0, 0], color=colours[test.worse], lw=3)
            axes.plot([change], [0], "o", color=colours[test.worse])
            axes.set_yticks([])
            axes.grid(False)
            text = f"{test.metric}: worse by more than {test.margin:g} is {test.worse} (change {change:+.4g})"
            axes.set_title(clean(text, 120).replace("$", r"\$"), fontsize=9, loc="left")  # a dollar begins a formula

    return drawn(draw, 7, 0.5 + 0.95 * max(1, len(tests)), path)


def _draw_ranks(axes: Any, comparison: Comparison) -> None:
    """A row per method, by mean rank; vertical bars join groups without a significant difference."""
    standings = sorted(comparison.standings, key=lambda each: each.mean_rank)
    ranks = [each.mean_rank for each in standings]
    row = {each.method: index for index, each in enumerate(standings)}
    axes.hlines(range(len(ranks)), min(ranks), ranks, color=CHANCE, lw=0.6)
    axes.plot(ranks, range(len(ranks)), "o", color="black", ms=4)
    step = max(max(ranks) - min(ranks), 1e-9) / 30
    for index, clique in enumerate(comparison.cliques):
        place, rows, colour = max(ranks) + (index + 2) * step, [row[m] for m in clique], COLOURS[index % len(COLOURS)]
        axes.plot([place, place], [min(rows), max(rows)], color=colour, lw=1.5)
        axes.plot([place] * len(rows), rows, "o", color=colour, ms=3)
    axes.set_yticks(range(len(ranks)), [f"{each.method} ({each.mean_rank:.2f})" for each in standings])
    axes.set_ylim(len(ranks) - 0.5, -0.5)
    # Right of the last rank are the groups, not ranks.
    axes.set_xticks([tick for tick in axes.get_xticks() if 1 <= tick <= max(ranks)])
    axes.set_xlabel(f"mean rank by {comparison.metric} over {comparison.design.over}; bars: not distinguished")


def _draw_differences(axes: Any, comparison: Comparison) -> None:
    """The difference of each pair with its interval."""
    axes.axvline(0, color="black", lw=0.8, ls="--")
    for index, pair in enumerate(comparison.pairs):
        colour, shape = (COLOURS[1], "D") if pair.significant else (COLOURS[0], "o")
        if pair.interval is not None:
            axes.plot(list(pair.interval), [index, index], color=colour, lw=2.5)
        axes.plot([pair.difference], [index], shape, color=colour, ms=6)
    axes.set_yticks(range(len(comparison.pairs)), [" − ".join(pair.names) for pair in comparison.pairs])
    axes.set_ylim(len(comparison.pairs) - 0.5, -0.5)
    axes.set_xlabel(f"difference in {comparison.metric} over {comparison.design.over} (diamond: significant)")
