"""The figure of rankings: Hits@k over k with its chance level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE
from graphgauge.core.grid import Grid
from graphgauge.core.registry import find
from graphgauge.ranking.samples import Ranks

SIZE = (9.2, 3.6)


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """The curves of hits over k."""
    panel, curve = figure.subplots(), None
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
