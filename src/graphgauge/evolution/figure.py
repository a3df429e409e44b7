"""The dashboard: metrics over cycles, growth against area, and means side by side, from the table of cycles.

The pooled correlation of growth and area mixes what happens within a condition and between conditions, and may have the
opposite sign (Simpson's paradox): both are said. Cycles depend on each other, so p is that of unrelated cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, COLOURS, SHAPES
from graphgauge.core.grid import Grid

SIZE = (13.2, 7.6)
# What is drawn, if it was computed, with the level of chance: the first four over cycles, all as bars.
TITLES = {
    "auc_synthetic": ("AUC of births, after the cycle", 0.5),
    "auc_birth": ("AUC of births, before the cycle", 0.5),
    "delta_homophily": ("Homophily of births less chance", 0.0),
    "nca_mean": ("Accuracy of the probe", None),
    "auc_matched": ("AUC against matched targets, before", 0.5),
    "auc_newborn": ("AUC of new nodes' edges", 0.5),
}
_CURVES = 4
# Lines differ in colour, dashes and marks: any one of the three is enough.
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """Four curves over cycles, growth against area, and the means of all conditions."""
    table = joined(evaluations)
    names = list(dict.fromkeys(table["condition"].tolist()))
    keys = [key for key in TITLES if key in table and not np.isnan(table[key]).all()]
    curves = keys[:_CURVES]
    grid = figure.add_gridspec(2, max(len(curves), 2))
    for place, key in enumerate(curves):
        _curve(figure.add_subplot(grid[0, place]), table, key, names)
    both = {"tgc", "auc_synthetic"} <= set(table)
    if both:
        _growth(figure.add_subplot(grid[1, 0]), table, names)
    _bars(figure.add_subplot(grid[1, 1 if both else 0 :]), table, keys, names)
    if curves and len(names) > 1:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 6))


def joined(evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    """The cycles of all evaluations in one table; a name replaces that of a condition if there are several."""
    tables = []
    for name, evaluation in evaluations.items():
        cycles = evaluation.drawings.get("cycles")
        if cycles is None:
            one = {key: [result.value] for key, result in evaluation.items()}
            cycles = Grid.of(condition=[evaluation.run.method or "run"], cycle=[evaluation.options["cycle"]], **one)
        table = {key: cycles[key] for key in cycles.columns}
        tables.append(table | ({"condition": np.full(len(cycles), name)} if name and len(evaluations) > 1 else {}))
    shared = [key for key in tables[0] if all(key in table for table in tables)]
    return {key: np.concatenate([table[key] for table in tables]) for key in shared}


def _curve(axis: Any, table: Mapping[str, Any], key: str, names: list[str]) -> None:
    title, chance = TITLES[key]
    if chance is not None:
        axis.axhline(chance, ls=(0, (1, 2)), lw=1.2, color=CHANCE)
    for index, name in enumerate(names):
        own = table["condition"] == name
        axis.plot(table["cycle"][own], table[key][own], ls=_DASHES[index % 7], lw=1.6, ms=4, label=name, **_look(index))
    axis.set(xlabel="cycle", ylabel=key)
    axis.locator_params(axis="x", integer=True, min_n_ticks=1)
    axis.set_title(title, fontsize=10)


def _look(index: int) -> dict[str, Any]:
    return {"marker": SHAPES[index % 7], "color": COLOURS[index % 7]}


def correlations(table: Mapping[str, Any], names: list[str]) -> str:
    """Pearson's r of growth and area: within each condition, and pooled with its p."""
    from scipy.stats import pearsonr

    def r(own: Any) -> tuple[float, float]:
        x, y = (np.asarray(table[key][own], np.float64) for key in ("tgc", "auc_synthetic"))
        known = ~np.isnan(x) & ~np.isnan(y)
        x, y = x[known], y[known]
        if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            return np.nan, np.nan
        found = pearsonr(x, y)
        return float(found.statistic), float(found.pvalue)

    pooled, p = r(np.ones(len(table["condition"]), bool))
    if np.isnan(pooled):
        return "nothing to correlate"
    within = [f"{name} {r(table['condition'] == name)[0]:.2f}" for name in names]
    return f"r = {pooled:.2f} (p = {p:.2g}); within:\n{', '.join(within)}"


def _growth(axis: Any, table: Mapping[str, Any], names: list[str]) -> None:
    for index, name in enumerate(names):
        own = table["condition"] == name
        axis.scatter(table["tgc"][own], table["auc_synthetic"][own], s=14, alpha=0.6, lw=0, **_look(index))
    axis.set(xlabel="tgc", ylabel="auc_synthetic")
    axis.set_title(f"Growth against AUC, {correlations(table, names)}", fontsize=9)


def _bars(axis: Any, table: Mapping[str, Any], keys: list[str], names: list[str]) -> None:
    width = 0.8 / max(len(names), 1)
    axis.axhline(0, color="#000000", lw=0.8)
    for index, name in enumerate(names):
        own = table["condition"] == name
        means = {place: table[key][own] for place, key in enumerate(keys) if not np.isnan(table[key][own]).all()}
        heights = np.array([np.nanmean(values) for values in means.values()])
        at = np.array([*means]) + (index - (len(names) - 1) / 2) * width
        look = {"color": COLOURS[index % 7], "hatch": _HATCHES[index % 7]}
        bars = axis.bar(at, heights, width * 0.94, alpha=0.75, edgecolor="white", lw=0.5, **look)
        if len(names) <= 5:
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # above the line of chance
            axis.bar_label(bars, fmt="%.3f", padding=3, fontsize=7, bbox=ground)
    for place, key in enumerate(keys):
        if TITLES[key][1]:
            axis.plot([place - 0.44, place + 0.44], [TITLES[key][1]] * 2, ls=(0, (1, 1)), color="#000000", lw=1.2)
    axis.margins(y=0.1)  # room for the numbers
    axis.set_xticks(range(len(keys)), keys, fontsize=8)
    axis.set_title("Means over cycles and seeds", fontsize=10)
    axis.grid(visible=False, axis="x")
