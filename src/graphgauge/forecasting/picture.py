"""The data of the forecasting figure, from the counted sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphgauge.core.result import Evaluation, Table
from graphgauge.forecasting.samples import Reliability, Spread

# Bars of the PIT histogram.
_BARS = 20


@dataclass(frozen=True)
class Picture:
    """Tables for the panels; None if the forecast has no such panel."""

    pit: Table | None
    reliability: Table | None
    spread: Table | None
    horizon: Table | None
    node: Table | None


def picture(evaluation: Evaluation, reliability: Reliability | None, spread: Spread | None) -> Picture:
    curve = reliability if reliability is not None and reliability.n[0] > 0 else None
    return Picture(
        None if curve is None else _pit(curve),
        None if curve is None else _reliability(curve),
        _bins(spread) if spread is not None and spread.n[0] > 0 else None,
        evaluation.breakdowns.get("horizon"),
        evaluation.breakdowns.get("node"),
    )


def _band(n: int, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The central 95 % of shares of n independent cells, pointwise for each p."""
    from scipy.special import bdtrik

    return bdtrik(0.025, float(n), p) / n, np.ceil(bdtrik(0.975, float(n), p)) / n


def _pit(reliability: Reliability) -> Table:
    """Shares of truths between neighbouring probabilities, as histogram bars."""
    p = np.concatenate(([0.0], reliability.p, [1.0]))
    reached = np.concatenate(([0.0], reliability.share[0], [1.0]))
    step = max(1, (len(p) - 1) // _BARS)
    edges = np.unique(np.r_[np.arange(0, len(p) - 1, step), len(p) - 1])
    width = np.diff(p[edges])
    low, high = _band(int(reliability.n[0]), width)
    return Table("p", {"p": p[edges][1:], "share": np.diff(reached[edges]), "low": low, "high": high})


def _reliability(reliability: Reliability) -> Table:
    low, high = _band(int(reliability.n[0]), reliability.p)
    return Table("p", {"p": reliability.p, "share": reliability.share[0], "low": low, "high": high})


def _bins(spread: Spread) -> Table:
    bins = spread.bins[0]
    there = np.flatnonzero(bins.n)
    n = bins.n[there]
    columns = {"rmv": np.sqrt(bins.var[there] / n), "rmse": np.sqrt(bins.square[there] / n)}
    return Table("bin", {"bin": there + 1, "n": n, **columns})
