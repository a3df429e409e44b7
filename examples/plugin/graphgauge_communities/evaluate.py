"""Evaluate found groups of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels
from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.loop import measure
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.registry import select
from graphgauge_communities.metrics import Groups


def evaluate(
    true: Any,
    pred: Any,
    *,
    train: Any = None,
    metrics: Sequence[str] | str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Compare found groups of nodes with the true ones.

    Parameters
    ----------
    true, pred
        One label per node, whole numbers or text. `accuracy` matches groups by name; `nmi` and `ari` ignore the names.
    train
        The group of each training node, to find true groups that have none.
    metrics
        Keys to compute instead of all.
    confidence
        Level of the intervals.
    seed
        Seed of the shuffles that give the levels of chance.
    """
    confidence, seed = confidence_level(confidence), whole_number("seed", seed)
    truth, found = as_labels(true, "true"), as_labels(pred, "pred")
    if truth.shape != found.shape or truth.ndim != 1:
        raise InputError(f"{truth.shape} true and {found.shape} found labels", fix="Give one label per node.")
    rows, row = np.unique(truth, return_inverse=True)
    columns, column = np.unique(found, return_inverse=True)
    table = np.zeros((len(rows), len(columns)), np.int64)
    np.add.at(table, (row, column), 1)
    same = rows.astype(str)[:, np.newaxis] == columns.astype(str)
    samples = {"groups": Groups(table, same, seed)}
    conventions = {"nan": "raise"}
    chosen, named = select("communities", metrics, samples)
    results = measure(chosen, samples, named=named, confidence=confidence, conventions=conventions)
    return Evaluation(
        "communities",
        results.results,
        conventions=conventions,
        options={"confidence": confidence},
        skipped=results.skipped,
        materials={**samples, "true": truth, "train": train},
    )
