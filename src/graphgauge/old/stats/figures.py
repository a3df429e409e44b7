"""Figures of many runs: mean ranks with groups, means with intervals, paired differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.old.core.figures import CHANCE, COLOURS, SHAPES, figure

if TYPE_CHECKING:
    from graphgauge.old.stats.aggregate import Aggregate
    from graphgauge.old.stats.compare_items import ItemsComparison
    from graphgauge.old.stats.comparison import Comparison

# More than these are drawn in rows or as dots, or refused, so that names stay legible.
_MOST_ON_A_LINE = 16
_MOST_PANELS = 12
_MOST_PAIRS = 45
# What each kind of outcome can draw, the usual one first.
KINDS = {
    "Aggregate": ("intervals",),
    "Comparison": ("ranks", "differences"),
    "ItemsComparison": ("pairs",),
}


def draw_ranks(comparison: Comparison, path: str | Path) -> None:
    """Mean ranks on a line; bars join groups without a significant difference, with a dot at each member."""
    standings, cliques = comparison.standings, comparison.cliques
    count = len(standings)
    if count > _MOST_ON_A_LINE:
        _draw_rank_rows(comparison, path)
        return
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
        over = comparison.over
        axes.set_title(
            f"Mean rank by {comparison.metric} over {over}; bars: no significant difference", fontsize=9, pad=16
        )
        axes.set_xlim(1 - 8 * reach, count + 8 * reach)
        axes.axis("off")


def _draw_rank_rows(comparison: Comparison, path: str | Path) -> None:
    """Mean ranks of many methods, a row for each; vertical bars join groups without a significant difference."""
    standings, cliques = comparison.standings, comparison.cliques
    row = {standing.method: index for index, standing in enumerate(standings)}
    ranks = [standing.mean_rank for standing in standings]
    spread = max(max(ranks) - min(ranks), 1e-9)
    step = spread / 30
    with figure(path, width=7 + 0.09 * len(cliques), height=1.2 + 0.2 * len(standings)) as (axes,):
        axes.hlines(range(len(ranks)), min(ranks), ranks, color=CHANCE, lw=0.6)
        axes.plot(ranks, range(len(ranks)), "o", color="black", ms=4)
        for index, clique in enumerate(cliques):
            place = max(ranks) + (index + 2) * step
            rows = [row[method] for method in clique]
            axes.plot([place, place], [min(rows), max(rows)], color=_of(COLOURS, index), lw=1.2)
            axes.plot([place] * len(rows), rows, "o", color=_of(COLOURS, index), ms=2.5)
        axes.set_yticks(range(len(ranks)), [f"{s.method} ({s.mean_rank:.2f})" for s in standings], fontsize=8)
        axes.set_ylim(len(ranks) - 0.5, -0.5)
        # Right of the last rank are the groups, not ranks.
        axes.set_xticks([tick for tick in axes.get_xticks() if 1 <= tick <= max(ranks)])
        axes.set_xlabel(
            f"mean rank by {comparison.metric} over {comparison.over}; vertical bars: no significant difference",
            fontsize=9,
        )


def draw_intervals(table: Aggregate, path: str | Path) -> None:
    """Mean and interval of every method, side by side for each metric and dataset."""
    panels = list(dict.fromkeys((row.metric, row.dataset) for row in table.rows))
    methods = list(dict.fromkeys(row.method for row in table.rows))
    if len(panels) > _MOST_PANELS and len({dataset for _, dataset in panels}) > 1:
        _draw_strips(table, path)
        return
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


def _draw_strips(table: Aggregate, path: str | Path) -> None:
    """The means of many datasets: a row per method, a dot per dataset, and a bar at the mean over datasets."""
    metrics = list(dict.fromkeys(row.metric for row in table.rows))
    methods = list(dict.fromkeys(row.method for row in table.rows))
    with figure(path, len(metrics), width=5.5, height=1.2 + 0.2 * len(methods)) as grid:
        for axes, metric in zip(grid, metrics, strict=True):
            datasets = 0
            for index, method in enumerate(methods):
                means = [r.mean for r in table.rows if (r.metric, r.method) == (metric, method) and r.mean == r.mean]
                datasets = max(datasets, len(means))
                axes.plot(means, [index] * len(means), "o", color=COLOURS[0], alpha=0.35, ms=3)
                if means:
                    axes.plot([np.mean(means)] * 2, [index - 0.35, index + 0.35], color="black", lw=2)
            axes.set_yticks(range(len(methods)), methods, fontsize=8)
            axes.set_ylim(len(methods) - 0.5, -0.5)
            axes.set_xlabel(f"{metric}: means on {datasets} datasets (dots) and over them (bar)", fontsize=9)


def draw_differences(comparison: Comparison, path: str | Path) -> None:
    """Every unit's difference in each tested pair, their mean and its interval."""
    methods, tests = comparison.methods, comparison.tests
    if len(tests) > _MOST_PAIRS and comparison.baseline is None:
        raise OptionError(
            f"{len(tests)} pairs are more than the {_MOST_PAIRS} that are drawn", fix="Compare with a baseline."
        )
    with figure(path, width=6.5, height=1 + 0.45 * len(tests)) as (axes,):
        axes.axvline(0, color="black", lw=0.8, ls="--")
        for index, test in enumerate(tests):
            first, second = (comparison.scores[:, methods.index(name)] for name in test.names)
            if comparison.target is not None:
                first, second = abs(first - comparison.target), abs(second - comparison.target)
            if comparison.unit != "run" or comparison.design.count > 1:  # unpaired runs have no difference each
                spread = np.linspace(-0.2, 0.2, len(first)) if len(first) > 1 else np.zeros(1)
                axes.plot(first - second, index + spread, "o", color=CHANCE, alpha=0.6, ms=2.5)
            colour = COLOURS[1] if test.significant else COLOURS[0]
            if test.ci is not None:
                axes.plot([test.ci.low, test.ci.high], [index, index], color=colour, lw=2.5)
            axes.plot([test.shift], [index], "D" if test.significant else "o", color=colour, ms=6)
        axes.set_yticks(range(len(tests)), [" − ".join(test.names) for test in tests])
        axes.set_ylim(len(tests) - 0.5, -0.5)
        axes.set_xlabel(f"difference in {comparison.metric} over {comparison.over} (orange diamond: significant)")


def draw_pairs(comparison: ItemsComparison, path: str | Path) -> None:
    """The mean difference of each pair over the items, with its interval."""
    with figure(path, width=6.5, height=1 + 0.4 * len(comparison.pairs)) as (axes,):
        axes.axvline(0, color="black", lw=0.8, ls="--")
        for index, pair in enumerate(comparison.pairs):
            significant = pair.p_adjusted <= comparison.alpha
            colour = COLOURS[1] if significant else COLOURS[0]
            if pair.test.ci is not None:
                axes.plot(list(pair.test.ci), [index, index], color=colour, lw=2.5)
            axes.plot([pair.test.mean_difference], [index], "D" if significant else "o", color=colour, ms=6)
        axes.set_yticks(range(len(comparison.pairs)), [" − ".join(pair.names) for pair in comparison.pairs])
        axes.set_ylim(len(comparison.pairs) - 0.5, -0.5)
        axes.set_xlabel(f"difference in {comparison.metric} over items (orange diamond: significant)")


def _of(cycle: tuple[str, ...], index: int) -> str:
    return cycle[index % len(cycle)]
