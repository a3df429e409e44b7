"""Predictors for adaptive evaluation: what is known of a query before it is read, fitted on queries already read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from graphgauge.core.arrays import Floats, Ints

# A cell of a label weighs its own mean as if this many items at the mean of the cell around it were in it.
_PRIOR = 3.0
# A proxy's slope is fitted as if this many items said that it is 0.
_RIDGE = 2.0


class Assist:
    """Predicts the value of each item, between 0 and 1, from labels and proxies.

    `labels` are codes of each item from 0, coarse ones first: cells of the first, then of the first and second
    together, and so on. `proxies` are numbers on any scale that go with the values, such as those of an earlier model;
    NaN where there is none. A predictor cannot make an adaptive interval wrong, however bad it is; it only makes it
    wider or narrower.
    """

    def __init__(self, items: int, labels: Sequence[Ints] = (), proxies: Sequence[Floats] = ()) -> None:
        self.items = items
        self._cells = _nested(labels)
        self._features = _features(items, proxies)

    @property
    def digest(self) -> int:
        """A number that stands for everything the predictor knows before an item is read.

        The order in which items are read depends on it: a predictor made from the items that an earlier run has drawn
        would otherwise know which come next, if both runs have the same seed.
        """
        digest = hashlib.sha256(str(self.items).encode())
        for part in (*self._cells, self._features):
            digest.update(np.ascontiguousarray(part).tobytes())
        return int.from_bytes(digest.digest()[:8], "big")

    def fit(self, read: Ints, values: Floats) -> Floats:
        """The predictions for all items, from the values of those that were read, of which there is at least one."""
        predicted = np.full(self.items, values.mean())
        if self._features.shape[1]:
            predicted += _ridge(self._features, read, values - predicted[read])
        for cells in self._cells:
            size = int(cells.max()) + 1
            total = np.bincount(cells[read], values - predicted[read], minlength=size)
            predicted += (total / (np.bincount(cells[read], minlength=size) + _PRIOR))[cells]
        np.clip(predicted, 0.0, 1.0, out=predicted)
        return predicted


def _nested(labels: Sequence[Ints]) -> list[Ints]:
    """The cells of the first label, of the first two together, and so on."""
    cells: list[Ints] = []
    for codes in labels:
        together = cells[-1] * (int(codes.max(initial=0)) + 1) + codes if cells else codes
        cells.append(np.unique(together, return_inverse=True)[1].reshape(-1))
    return cells


def _features(items: int, proxies: Sequence[Floats]) -> Floats:
    """Each proxy with its missing values at its mean, and whether it is missing; all with mean 0 and spread 1."""
    columns: list[Floats] = []
    for proxy in proxies:
        missing = ~np.isfinite(proxy)
        if not missing.all():
            columns += [np.where(missing, proxy[~missing].mean(), proxy), missing.astype(float)]
    table = np.column_stack(columns) if columns else np.zeros((items, 0))
    table = table - table.mean(axis=0)
    spread = table.std(axis=0)
    return np.asarray(table[:, spread > 0] / spread[spread > 0])


def _ridge(features: Floats, read: Ints, left: Floats) -> Floats:
    """What a straight line in the features says of all items, beyond the mean of those read."""
    centre = features[read].mean(axis=0)
    near = features[read] - centre
    slope = np.linalg.solve(near.T @ near + _RIDGE * np.eye(near.shape[1]), near.T @ left)
    # Summed column by column: BLAS rounds differently with its number of threads.
    line = np.zeros(len(features))
    for column, weight in zip((features - centre).T, slope, strict=True):
        line += column * weight
    return line
