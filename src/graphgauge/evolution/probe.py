"""A linear probe for the labels: logistic regression on the embeddings (Alain and Bengio 2017)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np

from graphgauge.core.types import Floats, Ints

_STEPS = 1000
_filters = Lock()


@dataclass(frozen=True)
class Folds:
    """Accuracy of a linear probe in each fold, and the share of the largest class."""

    accuracies: Floats
    nodes: int
    majority: float
    reason: str = ""
    warnings: tuple[str, ...] = ()


def probe(points: Floats, classes: Ints, *, folds: int, seed: int) -> Folds:
    """Stratified folds; the scaler is fitted on the training part only."""
    counts = np.bincount(classes) if len(classes) else np.empty(0, np.int64)
    counts = counts[counts > 0]
    nodes = len(classes)
    majority = float(counts.max() / nodes) if nodes else np.nan
    if nodes == 0:
        return Folds(np.empty(0), 0, majority, "no labelled nodes")
    if len(counts) < 2:
        return Folds(np.empty(0), nodes, majority, "all labels are of one class")
    if nodes - counts.max() < 2:
        return Folds(
            np.empty(0),
            nodes,
            majority,
            "one node is outside the largest class: a training set would lack it",
        )
    if points.shape[1] == 0:
        return Folds(np.empty(0), nodes, majority, "the embeddings have no dimensions")
    if nodes < folds or counts.max() < folds:
        return Folds(np.empty(0), nodes, majority, f"no class has {folds} nodes, one per fold")
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    said = []
    if counts.min() < folds:
        said.append(f"classes with fewer nodes than folds: {np.count_nonzero(counts < folds)}")
    accuracies, steps = [], 0
    # Warnings ignored here are reported below; filters are global, so one thread at a time changes them.
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        split = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
        for training, test in split.split(points, classes):
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_STEPS))
            model.fit(points[training], classes[training])
            accuracies.append(float(np.mean(model.predict(points[test]) == classes[test])))
            steps = max(steps, int(model[-1].n_iter_.max()))
    if steps >= _STEPS:
        said.append(f"the probe did not converge within {_STEPS} steps")
    return Folds(np.array(accuracies), nodes, majority, warnings=tuple(said))
