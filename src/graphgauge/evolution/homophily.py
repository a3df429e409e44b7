"""What a cycle says about classes: births within a class, beside three levels of chance (Newman 2003), and a probe.

The probe is logistic regression from embeddings to labels (Alain and Bengio 2017).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from graphgauge.core.metric import Bounds
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.evolution.cycle import State
from graphgauge.stats.dyads import Dyads
from graphgauge.stats.intervals import of_area, of_share

# Steps of the probe.
_STEPS = 1000
_warning_filters = Lock()


class LabelPairs:
    """The B births whose nodes both have a label, and the levels of chance that their agreement is compared with.

    Attributes
    ----------
    ends, classes
        (B, 2) the nodes of each birth, source first, and their classes.
    births
        The number of all births, with labels or without.
    node_count, class_count
        The numbers of nodes with a label, and of classes that have one.
    random, random_squares
        The share of pairs of these n nodes in one class, n_c of them in class c: Σ n_c (n_c − 1) / (n (n − 1)) of two
        different nodes, Σ (n_c / n)² of two draws with replacement. NaN with fewer than two nodes.
    by_degree
        Σ (d_c / d)², with the degrees d_c of a class before the cycle: nodes drawn by degree. NaN without edges.
    warnings
        What was left out because a label is unknown.
    """

    def __init__(self, state: State) -> None:
        original, births = state.original, state.births
        node_class = original.class_of(state.nodes)
        pairs = node_class[births.edges]
        known = np.asarray((pairs >= 0).all(axis=1))
        self.classes, self.ends, self.births = pairs[known], births.edges[known], len(births)
        self.directed = state.options.directed
        self.class_count, self.node_count = int(np.count_nonzero(original.sizes)), int(original.sizes.sum())
        self.random, self.random_squares = original.same_class
        degrees = np.bincount(node_class + 1, births.degrees_before(state.nodes), len(original.sizes) + 1)[1:]
        self.by_degree = float(degrees @ degrees / degrees.sum() ** 2) if degrees.any() else np.nan
        unknown = {
            "original nodes without a class (−1, None or NaN), left out of homophily and probe": (
                original.classes[original.original] < 0
            ),
            "births left out of homophily, because a label is unknown": ~known,
        }
        self.warnings = tuple(f"{what}: {rows.sum()} of {len(rows)}" for what, rows in unknown.items() if rows.any())

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def reason(self) -> str:
        """Why there is no value, if there is none."""
        return "no births" if not self.births else "no birth has two nodes with labels"

    @cached_property
    def agreement(self) -> Mask:
        """(B,) whether both nodes of a birth are in one class."""
        return np.asarray(self.classes[:, 0] == self.classes[:, 1])

    @cached_property
    def share(self) -> float:
        """The share of births within a class; NaN without births."""
        return float(np.count_nonzero(self.agreement) / len(self)) if len(self) else np.nan

    @cached_property
    def dyads(self) -> Dyads:
        """Which births share nodes, and so err together."""
        return Dyads(self.ends)

    def share_bounds(self, confidence: float) -> Bounds:
        """The interval of the share: Wilson's, or logit-t if births share nodes and err together."""
        if self.dyads.independent:
            return of_share(np.count_nonzero(self.agreement), len(self.agreement), confidence, over="births")
        return of_area(self.share, *self.dyads.error(self.agreement), confidence, over="births")

    # ---- the ends of the births, paired at random

    @cached_property
    def ends_by_class(self) -> tuple[Floats, Floats]:
        """(classes,) twice: the sources of each class, and its targets; without direction half of its ends, twice."""
        size = int(self.classes.max(initial=-1)) + 1
        first, second = (np.bincount(column, minlength=size).astype(float) for column in self.classes.T)
        return (first, second) if self.directed else ((first + second) / 2, (first + second) / 2)

    @cached_property
    def by_ends(self) -> float:
        """The share in the same class if the ends of the births were paired at random, every node keeping its number.

        With direction, sources are paired with targets: `squares`. Without, an end is paired with one of any other
        node: nodes have weights whose products are the expected numbers of births of each pair (quasi-independence).
        NaN without births, and for a single one without direction, which has only its own ends.
        """
        if len(self) < (1 if self.directed else 2):
            return np.nan
        return self.squares if self.directed else float(self._partner_shares.mean())

    @cached_property
    def _partner_shares(self) -> Floats:
        """(B, 2) for each end, the share of the nodes that it could be paired with, by weight, in its class."""
        nodes, place, degrees = np.unique(self.ends, return_inverse=True, return_counts=True)
        place = place.reshape(-1, 2)
        weights, hub = pair_weights(degrees)
        node_class = np.zeros(len(nodes), np.int64)
        node_class[place] = self.classes
        class_weight = np.bincount(node_class, weights)
        shares = (class_weight[node_class] - weights) / (weights.sum() - weights)
        if hub is not None:  # all births are of one node: the others can be paired with it alone
            shares = np.where(np.arange(len(nodes)) == hub, shares, node_class == node_class[hub])
        return np.asarray(shares[place])

    @cached_property
    def _end_shares(self) -> Floats:
        """(B,) the share of the targets in the class of a birth's source, plus that of the sources in its target's."""
        first, second = self.ends_by_class
        return np.asarray((second[self.classes[:, 0]] + first[self.classes[:, 1]]) / max(len(self), 1))

    def by_ends_influence(self) -> Floats:
        """(B,) each birth's contribution to `share` − `by_ends`, whose mean it is to first order."""
        return np.asarray(self.agreement - (self._end_shares if self.directed else self._partner_shares.sum(axis=1)))

    @cached_property
    def squares(self) -> float:
        """Σ over classes of its shares of the sources and of the targets, multiplied: ends drawn with replacement.

        NaN without births.
        """
        first, second = self.ends_by_class
        return float(first @ second / len(self) ** 2) if len(self) else np.nan

    @cached_property
    def adjusted(self) -> float:
        """(share − squares) / (1 − squares), from 1 down (Platonov et al. 2023); NaN if all ends are in one class."""
        return np.nan if not self.squares < 1 else (self.share - self.squares) / (1 - self.squares)

    def adjusted_influence(self) -> Floats:
        """(B,) each birth's contribution to `adjusted`, to first order."""
        room, chance = 1 - self.squares, self._end_shares
        return np.asarray((self.agreement - chance) / room + (self.share - self.squares) * chance / room**2)


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


# ---- a linear probe for the labels


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
