"""What embeddings and births say about classes.

Births between nodes of the same class, with three nulls (Newman 2003), and a linear probe for the labels: logistic
regression on the embeddings (Alain and Bengio 2017).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from graphgauge.core.metric import Bounds
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.evolution.state import State
from graphgauge.stats.dyads import Dyads
from graphgauge.stats.intervals import of_area, of_share

_STEPS = 1000
_filters = Lock()


class LabelPairs:
    """Births with both labels known: their nodes and classes, and levels of chance for agreement.

    `random` is that of distinct labelled nodes, `random_squares` that of draws with replacement, `by_degree` that of
    nodes drawn by their degree before the cycle. `classes` has the class of either end; `kinds` is the number of
    classes that nodes have, `labelled` that of nodes.
    """

    def __init__(self, state: State) -> None:
        original, births = state.original, state.births
        classes = original.class_of(state.nodes)
        pairs = classes[births.edges]
        known = np.asarray((pairs >= 0).all(axis=1))
        self.classes, self.ends, self.births = pairs[known], births.edges[known], len(births)
        self.directed = state.options.directed
        self.kinds, self.labelled = int(np.count_nonzero(original.sizes)), int(original.sizes.sum())
        self.random, self.random_squares = original.same_class
        drawn = np.bincount(classes + 1, births.degrees_before(state.nodes), len(original.sizes) + 1)[1:]
        self.by_degree = float(drawn @ drawn / drawn.sum() ** 2) if drawn.any() else np.nan
        nodes = original.classes[original.original]
        counted = {
            "original nodes without a class (−1, None or NaN), left out of homophily and probe": nodes < 0,
            "births left out of homophily, because a label is unknown": ~known,
        }
        self.warnings = tuple(f"{what}: {left.sum()} of {len(left)}" for what, left in counted.items() if left.any())

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def reason(self) -> str:
        return "no births" if not self.births else "no birth has two nodes with labels"

    @cached_property
    def same(self) -> Mask:
        return np.asarray(self.classes[:, 0] == self.classes[:, 1])

    @cached_property
    def share(self) -> float:
        return float(np.count_nonzero(self.same) / len(self.same)) if len(self.same) else np.nan

    @cached_property
    def dyads(self) -> Dyads:
        return Dyads(self.ends)

    def share_bounds(self, confidence: float) -> Bounds:
        """The interval of the share: Wilson's, or logit-t if births share nodes and err together."""
        if self.dyads.independent:
            return of_share(np.count_nonzero(self.same), len(self.same), confidence, over="births")
        return of_area(self.share, *self.dyads.error(self.same), confidence, over="births")

    # ---- the ends of the births, paired at random

    @cached_property
    def ends_by_class(self) -> tuple[Floats, Floats]:
        """How many ends each class has: of sources and of targets; without direction, half of all for either."""
        size = int(self.classes.max(initial=-1)) + 1
        first, second = (np.bincount(column, minlength=size).astype(float) for column in self.classes.T)
        return (first, second) if self.directed else ((first + second) / 2, (first + second) / 2)

    @cached_property
    def by_ends(self) -> float:
        """The share in the same class if the ends of the births were paired at random, every node keeping its number.

        With direction, sources are paired with targets. Without, an end is paired with one of any other node: nodes
        have weights whose products are the expected numbers of births of each pair (quasi-independence).
        """
        if len(self) < (1 if self.directed else 2):
            return np.nan
        return self.squares if self.directed else float(self._partners.mean())

    @cached_property
    def _partners(self) -> Floats:
        """For each end of each birth, the share of the nodes that it could be paired with, by weight, in its class."""
        nodes, place, degrees = np.unique(self.ends, return_inverse=True, return_counts=True)
        place = place.reshape(-1, 2)
        weights, hub = pair_weights(degrees)
        own = np.zeros(len(nodes), np.int64)
        own[place] = self.classes
        in_class = np.bincount(own, weights)
        shares = (in_class[own] - weights) / (weights.sum() - weights)
        if hub is not None:  # all births are of one node: the others can be paired with it alone
            shares = np.where(np.arange(len(nodes)) == hub, shares, own == own[hub])
        return np.asarray(shares[place])

    @cached_property
    def _drawn_shares(self) -> Floats:
        """For each birth, the shares of the ends that agree with its own if drawn from all."""
        first, second = self.ends_by_class
        return np.asarray((second[self.classes[:, 0]] + first[self.classes[:, 1]]) / max(len(self), 1))

    def beyond_ends(self) -> Floats:
        """Each birth's contribution to the share minus `by_ends`: that of the mean, to first order."""
        return np.asarray(self.same - (self._drawn_shares if self.directed else self._partners.sum(axis=1)))

    @cached_property
    def squares(self) -> float:
        """Σ of the squared shares of ends by class: agreement if ends were drawn with replacement."""
        first, second = self.ends_by_class
        return float(first @ second / len(self) ** 2) if len(self) else np.nan

    @cached_property
    def adjusted(self) -> float:
        """Agreement beyond that of drawn ends, over its maximum (Platonov et al. 2023)."""
        return np.nan if not self.squares < 1 else (self.share - self.squares) / (1 - self.squares)

    def adjusted_influence(self) -> Floats:
        """The contribution of each birth to `adjusted`, to first order."""
        room, own = 1 - self.squares, self._drawn_shares
        return np.asarray((self.same - own) / room + (self.share - self.squares) * own / room**2)


def pair_weights(degrees: Ints) -> tuple[Floats, int | None]:
    """Weights x of nodes with x_u · Σ_{v ≠ u} x_v = d_u, and the node that has all births, if there is one.

    x_u is a root of x(S − x) = d_u, the smaller one unless one node has nearly as many births as all others together;
    S is the sum of the weights. A node with all births has an unbounded weight: here the weights of the others count.
    """
    from scipy.optimize import brentq

    sizes, place, count = np.unique(np.asarray(degrees, float), return_inverse=True, return_counts=True)
    largest, lowest = float(sizes[-1]), 2 * np.sqrt(float(sizes[-1]))
    if count[-1] == 1 and 2 * largest >= float(sizes @ count) * (1 - 1e-12):
        return np.asarray(degrees, float), int(np.argmax(degrees))

    def small(total: float) -> Floats:
        # Stable for large sums, where S − √(S² − 4d) would cancel.
        return np.asarray(2 * sizes / (total + np.sqrt(np.maximum(total**2 - 4 * sizes, 0.0))))

    # The largest takes the larger root if the smaller ones do not add up: the others then make up its smaller one.
    larger = small(lowest) @ count < lowest

    def excess(total: float) -> float:
        roots = small(total)
        return float(2 * roots[-1] - roots @ count if larger else roots @ count - total)

    high = lowest
    while excess(high) > 0:
        high *= 2
    weights = small(float(brentq(excess, lowest, high)) if high > lowest else lowest)
    if larger:
        weights[-1] = largest / weights[-1]
    return weights[place], None


# ---- the probe


@dataclass(frozen=True)
class Folds:
    """Accuracy of a linear probe in each fold, and the share of the largest class."""

    accuracies: Floats
    nodes: int
    majority: float
    reason: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    def from_state(cls, state: State) -> Folds:
        nodes, classes = state.original.ids, state.original.classes[state.original.original]
        used = (classes >= 0) & state.after.present[nodes]
        rows = state.after.rows[nodes[used]]
        return probe(rows, classes[used], folds=state.options.folds, seed=state.options.seed)


def probe(points: Floats, classes: Ints, *, folds: int, seed: int) -> Folds:
    """Stratified folds; the scaler is fitted on the training part only."""
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
