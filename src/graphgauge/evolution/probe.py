"""What embeddings say about classes: a linear probe for the labels, logistic regression (Alain and Bengio 2017)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.state import State

_STEPS = 1000
_warning_filters = Lock()


@dataclass(frozen=True)
class Folds:
    """What a linear probe gets right: the accuracy in each fold, of how many nodes, and the share of the largest class.

    Without accuracies there is a `reason`.
    """

    accuracies: Floats
    nodes: int
    majority: float
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_state(cls, state: State) -> Folds:
        """The probe of the original nodes that have a label and an embedding after the cycle."""
        nodes, classes = state.original.ids, state.original.classes[state.original.original]
        used = (classes >= 0) & state.after.present[nodes]
        rows = state.after.rows[nodes[used]]
        return probe(rows, classes[used], folds=state.options.folds, seed=state.options.seed)


def probe(points: Floats, classes: Ints, *, folds: int, seed: int) -> Folds:
    """Accuracies on stratified folds of points (n, d) with classes (n,).

    Points are scaled by the training part of each fold only. With fewer nodes or classes than the folds need there are
    no accuracies, but a reason.
    """
    counts = np.bincount(classes) if len(classes) else np.empty(0, np.int64)
    counts = counts[counts > 0]
    nodes = len(classes)
    majority = float(counts.max() / nodes) if nodes else np.nan
    why = (
        (nodes == 0, "no labelled nodes"),
        (len(counts) == 1, "all labels are of one class"),
        (nodes and nodes - counts.max() < 2, "one node is outside the largest class: a training set would lack it"),
        (points.shape[1] == 0, "the embeddings have no dimensions"),
        (nodes and counts.max() < folds, f"no class has {folds} nodes, one per fold"),
    )
    reason = next((said for is_so, said in why if is_so), None)
    if reason is not None:
        return Folds(np.empty(0), nodes, majority, reason)
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
    with _warning_filters, warnings.catch_warnings():
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
