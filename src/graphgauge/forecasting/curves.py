"""Calibration as data: the histogram of the probability integral transform, reliability, and coverage by level."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.forecasting.samples import Reliability
from graphgauge.old.core.result import Table

# Bars of the histogram.
_BARS = 20


def curves(reliability: Reliability) -> dict[str, Table]:
    """Tables by probability or level: `share` of the truths, and the central 95 % of independent cells."""
    if not reliability.n[0] or not len(reliability.p):
        return {}
    tables = [pit_table(reliability), reliability_table(reliability)]
    central = reliability.centred
    if len(central.p):
        tables.append(_shares("level", central.p, central.share[0], int(central.n[0])))
    return {table.axis: table for table in tables}


def pit_table(reliability: Reliability) -> Table:
    """Shares of truths between neighbouring probabilities, as histogram bars; `pit` is their upper end."""
    p = np.concatenate(([0.0], reliability.p, [1.0]))
    reached = np.concatenate(([0.0], reliability.share[0], [1.0]))
    step = max(1, (len(p) - 1) // _BARS)
    edges = np.unique(np.r_[np.arange(0, len(p) - 1, step), len(p) - 1])
    n, width = int(reliability.n[0]), np.diff(p[edges])
    low, high = _band(n, width)
    columns = {"share": np.diff(reached[edges]), "low": low, "high": high}
    return Table("pit", {"pit": p[edges][1:], "n": np.full(len(width), n), **columns})


def reliability_table(reliability: Reliability) -> Table:
    """The share of truths at or below each predicted quantile."""
    return _shares("reliability", reliability.p, reliability.share[0], int(reliability.n[0]))


def _shares(axis: str, p: Floats, share: Floats, n: int) -> Table:
    low, high = _band(n, p)
    return Table(axis, {axis: np.round(p, 10), "n": np.full(len(p), n), "share": share, "low": low, "high": high})


def _band(n: int, p: Floats) -> tuple[Floats, Floats]:
    """The central 95 % of shares of n independent cells, pointwise for each p."""
    low, high = _band_of(n, p.tobytes())
    return low.copy(), high.copy()


@lru_cache(maxsize=64)
def _band_of(n: int, p: bytes) -> tuple[Floats, Floats]:
    """Kept, because a model in training is evaluated on as many cells many times."""
    from scipy.special import bdtrik

    share = np.frombuffer(p)
    return bdtrik(0.025, float(n), share) / n, np.ceil(bdtrik(0.975, float(n), share)) / n
