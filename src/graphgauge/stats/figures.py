"""Figures of many runs: mean ranks with groups, means with intervals, paired differences, performance profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphgauge.core.figures import CHANCE, COLOURS, SHAPES, figure

if TYPE_CHECKING:
    from graphgauge.stats.aggregate import Aggregate
    from graphgauge.stats.comparison import Comparison

# What each kind of outcome can draw, the usual one first.
KINDS = {"Aggregate": ("intervals",), "Comparison": ("ranks", "differences", "profile")}


def draw_ranks(comparison: Comparison, path: str | Path) -> None:
    """Mean ranks on a line; bars join groups without a significant difference, with a dot at each member."""
    standings, cliques = comparison.standings, comparison.cliques
    count = len(standings)
    half = (count + 1) // 2
    with figure(path, width=7, height=0.9 + 0.28 * (len(cliques) + half)) as (axes,):
        place = {standing.method: standing.mean_rank for standing in standings}
        axes.plot([1, count], [0, 0], color="black", lw=1)
        for rank in range(1, count + 1):
            axes.plot([rank, rank], [0, 0.15], color="black", lw=1)
            axes.text(rank, 0.2, str(rank), ha="center", va="bottom", fontsize=9)
        for level, clique in enumerate(cliques, start=1):
            ranks = [place[method] for method in clique]
            axes.plot([min(ranks), max(ranks)], [-0.4 * level] * 2, color=COLOURS[0], lw=5, solid_capstyle="round")
            axes.plot(ranks, [-0.4 * level] * len(ranks), "o", color="white", ms=3)
        floor, reach = -0.4 * len(cliques) - 0.5, 0.06 * (count - 1)
        for index, standing in enumerate(standings):
            left = index < half
            depth = floor - 0.5 * (index if left else count - 1 - index)
            edge = 1 - reach if left else count + reach
            axes.plot([standing.mean_rank] * 2 + [edge], [0, depth, depth], color=CHANCE, lw=0.8)
            label = f" {standing.method} ({standing.mean_rank:.2f}) "
            axes.text(edge, depth, label, ha="right" if left else "left", va="center", fontsize=9)
        over = f"{len(comparison.units)} {comparison.unit}s"
        axes.set_title(
            f"Mean rank by {comparison.metric} over {over}; bars: no significant difference", fontsize=9, pad=16
        )
        axes.set_xlim(1 - 8 * reach, count + 8 * reach)
        axes.axis("off")


def draw_intervals(table: Aggregate, path: str | Path) -> None:
    """Mean and interval of every method, side by side for each metric and dataset."""
    panels = list(dict.fromkeys((row.metric, row.dataset) for row in table.rows))
    methods = list(dict.fromkeys(row.method for row in table.rows))
    with figure(path, len(panels), height=1 + 0.3 * len(methods)) as grid:
        for axes, (metric, dataset) in zip(grid, panels, strict=True):
            for index, method in enumerate(methods):
                row = table[metric, method, dataset]
                if np.isnan(row.mean):
                    axes.text(0.5, index, "no value", transform=axes.get_yaxis_transform(), ha="center", va="center")
                axes.plot([row.ci_lower, row.ci_upper], [index, index], color=_of(COLOURS, index), lw=2)
                axes.plot([row.mean], [index], _of(SHAPES, index), color=_of(COLOURS, index), ms=6)
            axes.set_yticks(range(len(methods)), methods)
            axes.set_ylim(len(methods) - 0.5, -0.5)
            axes.set_xlabel(f"{metric}{' on ' + dataset if dataset else ''}, {100 * table.confidence:g} % interval")


def draw_differences(comparison: Comparison, path: str | Path) -> None:
    """Every unit's difference in each tested pair, their mean and its interval."""
    methods, tests = comparison.methods, comparison.tests
    with figure(path, width=6.5, height=1 + 0.45 * len(tests)) as (axes,):
        axes.axvline(0, color="black", lw=0.8, ls="--")
        for index, test in enumerate(tests):
            first, second = (comparison.scores[:, methods.index(name)] for name in test.names)
            if comparison.target is not None:
                first, second = abs(first - comparison.target), abs(second - comparison.target)
            spread = np.linspace(-0.2, 0.2, len(first)) if len(first) > 1 else np.zeros(1)
            axes.plot(first - second, index + spread, "o", color=CHANCE, alpha=0.6, ms=2.5)
            colour = COLOURS[1] if test.significant else COLOURS[0]
            if test.ci is not None:
                axes.plot([test.ci.low, test.ci.high], [index, index], color=colour, lw=2.5)
            axes.plot([test.mean_difference], [index], "D" if test.significant else "o", color=colour, ms=6)
        axes.set_yticks(range(len(tests)), [" − ".join(test.names) for test in tests])
        axes.set_ylim(len(tests) - 0.5, -0.5)
        over = f"{len(comparison.units)} {comparison.unit}s"
        axes.set_xlabel(f"difference in {comparison.metric} over {over} (orange diamond: significant)")


def draw_profile(comparison: Comparison, path: str | Path) -> None:
    """Share of units on which a method scores at least as well as the value on the axis."""
    higher = comparison.better == "higher"
    scores = comparison.scores if comparison.target is None else abs(comparison.scores - comparison.target)
    with figure(path, width=5.5) as (axes,):
        for index, method in enumerate(comparison.methods):
            ordered = np.sort(scores[:, index])
            n = len(ordered)
            share = np.arange(n, 0, -1) / n if higher else np.arange(1, n + 1) / n
            step = "steps-pre" if higher else "steps-post"
            axes.plot(ordered, share, ds=step, color=_of(COLOURS, index), marker=_of(SHAPES, index), ms=3, label=method)
        distance = "" if comparison.target is None else f", distance from {comparison.target:g}"
        axes.set_xlabel(f"{comparison.metric}{distance} (τ)")
        axes.set_ylabel(f"share of {comparison.unit}s with score {'≥' if higher else '≤'} τ")
        axes.set_ylim(0, 1.03)
        axes.legend()


def _of(cycle: tuple[str, ...], index: int) -> str:
    return cycle[index % len(cycle)]
