"""The figure of rankings: Hits@k over k with its chance level, and the groups of one evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, COLOURS
from graphgauge.core.grid import Grid
from graphgauge.core.registry import find
from graphgauge.ranking.samples import Ranks

SIZE = (9.2, 3.6)
# The number of groups in a figure: the largest ones.
_GROUPS = 25


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """The curves of hits beside each other, or that of one evaluation with the mean reciprocal rank of its groups."""
    first = next(iter(evaluations.values()))
    if "until" in first.options:
        _draw_trail(figure.subplots(), first)
        return
    axes = [axis for axis, grid in first.breakdowns.items() if "mrr" in grid] if len(evaluations) == 1 else []
    panels = np.atleast_1d(figure.subplots(1, 1 + len(axes)))
    _draw_hits(panels[0], evaluations)
    for panel, axis in zip(panels[1:], axes, strict=True):
        _draw_groups(panel, axis, first)


def _draw_hits(panel: Any, evaluations: Mapping[str, Evaluation]) -> None:
    curve = None
    for name, evaluation in evaluations.items():
        if "hits" not in evaluation.drawings:
            continue
        curve = evaluation.drawings["hits"]
        panel.fill_between(curve["k"], curve["low"], curve["high"], alpha=0.25, lw=0)
        panel.plot(curve["k"], curve["value"], label=name)
    if curve is not None:
        panel.plot(curve["k"], curve["random"], ls="--", color=CHANCE, label="random order")
        panel.legend(loc="lower right")
    panel.set(xscale="log", xlabel="k", ylabel="Hits@k", ylim=(0, 1.02))


def _draw_groups(panel: Any, axis: str, evaluation: Evaluation) -> None:
    grid = _without_macro(evaluation.by(axis))
    shown = np.argsort(-grid["n"], kind="stable")[:_GROUPS][::-1]
    value = grid["mrr"][shown]
    low, high = (grid[f"mrr.{side}"][shown] if f"mrr.{side}" in grid else value for side in ("low", "high"))
    errors = np.abs(np.where(np.isnan(low), 0.0, [value - low, high - value]))
    panel.errorbar(value, np.arange(len(shown)), xerr=errors, fmt="o", ms=4, color=COLOURS[0])
    if "mrr" in evaluation:
        panel.axvline(evaluation["mrr"].value, color=COLOURS[1], lw=1, label="all queries")
        panel.legend(loc="lower right")
    panel.set_yticks(np.arange(len(shown)), [str(label)[:40] for label in grid[axis][shown]])
    panel.set(xlabel="MRR", title=f"by {axis}", xlim=(0, 1))


def _without_macro(grid: Grid) -> Grid:
    last = len(grid) - 1 if len(grid) and str(grid[grid.axis][-1]) == "macro" else len(grid)
    return Grid({name: values[:last] for name, values in grid.columns.items()})


def _draw_trail(panel: Any, evaluation: Evaluation) -> None:
    """How the interval of an adaptive run shrank with every look, and the gates on it."""
    read, low, high = np.array(evaluation.options["until"]["trail"], np.float64).reshape(-1, 3).T
    panel.fill_between(read, low, high, step="post", alpha=0.25, lw=0, label="this test set, at every look")
    panel.plot(read, (low + high) / 2, color=COLOURS[0])
    for each in evaluation.values():
        if each.goal is not None:
            panel.axhline(each.goal, ls="--", color=CHANCE, label="goal")
    panel.set(xscale="log", xlabel="queries read", ylabel=next(iter(evaluation)))
    panel.legend(loc="upper right")


def hits_curve(ranks: Ranks, confidence: float) -> Grid:
    """Hits@k over all relevant cut-offs, with its interval and the random scorer's value."""
    metric, _ = find("hits@{k}", "ranking")
    last = int(ranks.candidates.max(initial=1))
    ks = np.unique(np.geomspace(1, last, 64).astype(np.int64))
    rows = []
    for k in ks.tolist():
        result = metric.result(ranks, metric(ranks, k=k), {"k": k}, confidence=confidence, conventions={})
        low, high = result.interval or (np.nan, np.nan)
        rows.append((result.value, low, high, result.references[-1].value if result.references else np.nan))
    values = np.array(rows, np.float64).reshape(-1, 4).T
    return Grid({"k": ks, **dict(zip(("value", "low", "high", "random"), values, strict=True))})
