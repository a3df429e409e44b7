"""Metrics of graphs as causal models: marks at the ends of edges, equivalence classes, effects, and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.metric import Estimate
from graphgauge.recovery.metrics import declared as of
from graphgauge.recovery.samples import Edges, Models, Weights
from graphgauge.recovery.structure import BOUNDS, Model, NotDefined, adjustment_distance, over_members

# ---- marks at the ends of edges

_MARK: dict[str, Any] = {"unit": "mark", "reference": "spirtes2000", "conventions": of.MARKS, "laws": of.ONE_WAY}


@of.edges("arrowhead_precision", **_MARK, fair_to=None)
def arrowhead_precision(edges: Edges) -> Estimate:
    """Share of predicted arrowheads that are true, whatever the mark at the other end."""
    return edges.ratio(edges["arrowheads_tp"], edges["arrowheads_predicted"], "no predicted arrowheads")


@of.edges("arrowhead_recall", **_MARK)
def arrowhead_recall(edges: Edges) -> Estimate:
    """Share of true arrowheads that are predicted; a circle does not find one."""
    return edges.ratio(edges["arrowheads_tp"], edges["arrowheads_true"], "no true arrowheads")


@of.edges("arrowhead_f1", **_MARK)
def arrowhead_f1(edges: Edges) -> Estimate:
    """Harmonic mean of the precision and recall of arrowheads."""
    both = edges["arrowheads_predicted"] + edges["arrowheads_true"]
    return edges.ratio(2 * edges["arrowheads_tp"], both, "neither graph has an arrowhead")


@of.edges("tail_precision", **_MARK, fair_to=of.WITHOUT_LINES)
def tail_precision(edges: Edges) -> Estimate:
    """Share of predicted tails that are true; an undirected edge has two."""
    return edges.ratio(edges["tails_tp"], edges["tails_predicted"], "no predicted tails")


@of.edges("tail_recall", **_MARK)
def tail_recall(edges: Edges) -> Estimate:
    """Share of true tails that are predicted; a circle does not find one."""
    return edges.ratio(edges["tails_tp"], edges["tails_true"], "no true tails")


@of.edges("tail_f1", **_MARK)
def tail_f1(edges: Edges) -> Estimate:
    """Harmonic mean of the precision and recall of tails."""
    return edges.ratio(
        2 * edges["tails_tp"], edges["tails_predicted"] + edges["tails_true"], "neither graph has a tail"
    )


# ---- equivalence classes

_COLLIDERS: dict[str, Any] = {
    "reference": "verma1990",
    "conventions": of.EMPTY | {"v-structure": "a → c ← b by one-way edges, a and b not adjacent"},
}


@of.models("v_structure_precision", **_COLLIDERS, laws=of.EXCHANGED)
def v_structure_precision(models: Models) -> Estimate:
    """Share of predicted unshielded colliders that are true."""
    _, predicted, common = models.colliders
    return models.ratio(common, predicted, "the prediction has no v-structure")


@of.models("v_structure_recall", **_COLLIDERS, laws=of.EXCHANGED)
def v_structure_recall(models: Models) -> Estimate:
    """Share of true unshielded colliders that are predicted."""
    true, _, common = models.colliders
    return models.ratio(common, true, "the truth has no v-structure")


@of.models("v_structure_f1", **_COLLIDERS)
def v_structure_f1(models: Models) -> Estimate:
    """Harmonic mean of the precision and recall of unshielded colliders."""
    true, predicted, common = models.colliders
    return models.ratio(2 * common, true + predicted, "neither graph has a v-structure")


@of.models(
    "cpdag_shd",
    **of.DISTANCE,
    conventions={"counts": "pairs, whatever shd is", "graphs": "DAGs, or CPDAGs with a named encoding"},
)
def cpdag_shd(models: Models) -> Estimate:
    """Structural Hamming distance in pairs between the equivalence classes (CPDAGs) of both graphs."""
    return models.distance(lambda true, found: true.compared.distance(found.compared))


_ADJUSTMENT: dict[str, Any] = {
    "reference": "henckel2024",
    "direction": "lower",
    "bounds": (0, inf),
    "fair_to": ("DAG",),
    "laws": of.ONE_WAY,
    "conventions": {"counts": "ordered pairs, of d·(d − 1)", "graphs": "DAGs, or CPDAGs with a named encoding"},
}


@of.models(
    "sid", **_ADJUSTMENT | {"reference": "peters2015", "conventions": {"counts": "ordered pairs", "graphs": "DAGs"}}
)
def sid(models: Models) -> Estimate:
    """Structural intervention distance: ordered pairs whose effect the prediction's parent sets get wrong."""
    return models.distance(partial(adjustment_distance, "sid"), ordered=True, dags=(0, 1))


@of.models("parent_aid", **_ADJUSTMENT)
def parent_aid(models: Models) -> Estimate:
    """Adjustment identification distance with parent sets."""
    return models.distance(partial(adjustment_distance, "parent_aid"), ordered=True)


@of.models("ancestor_aid", **_ADJUSTMENT)
def ancestor_aid(models: Models) -> Estimate:
    """Adjustment identification distance with ancestor sets."""
    return models.distance(partial(adjustment_distance, "ancestor_aid"), ordered=True)


@of.models("oset_aid", **_ADJUSTMENT)
def oset_aid(models: Models) -> Estimate:
    """Adjustment identification distance with optimal adjustment sets."""
    return models.distance(partial(adjustment_distance, "oset_aid"), ordered=True)


# ---- members of classes

_MEMBERS: dict[str, Any] = {
    "laws": of.ONE_WAY,
    "conventions": {"members": "all DAGs that a CPDAG or MPDAG represents, each counted once; the truth is a DAG"},
}
_DISTANCE = {name: of.DISTANCE[name] for name in ("direction", "bounds", "reference")}


@of.models("member_shd_{bound}", **_MEMBERS, **_DISTANCE)
def member_shd(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) SHD in pairs over the DAGs that the prediction represents."""
    return _over_members(models, bound, lambda truth, dag: truth.distance(dag))


@of.models("member_f1_{bound}", **_MEMBERS, reference="rijsbergen1979")
def member_f1(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) directed F1 over the DAGs that the prediction represents."""

    def f1(truth: Model, dag: Model) -> float:
        both = len(truth.keys) + len(dag.keys)
        if not both and models.zero_division != models.zero_division:
            raise NotDefined("both graphs are empty")
        right = len(np.intersect1d(truth.arrows, dag.arrows, assume_unique=True))
        return 2 * right / both if both else models.zero_division

    return _over_members(models, bound, f1)


@of.models("member_sid_{bound}", **_MEMBERS | {"reference": "peters2015"}, direction="lower", bounds=(0, inf))
def member_sid(models: Models, *, bound: str = "mean") -> Estimate:
    """The least (`min`), mean or greatest (`max`) SID over the DAGs that the prediction represents.

    The least and the greatest are the bounds of Peters and Bühlmann.
    """
    distance = partial(adjustment_distance, "sid")
    return _over_members(models, bound, distance, ordered=True)


def _over_members(
    models: Models, bound: str, value: Callable[[Model, Model], float], *, ordered: bool = False
) -> Estimate:
    if bound not in BOUNDS:
        raise OptionError(f"{bound!r} is not one of {', '.join(BOUNDS)}")

    def between(truth: Model, found: Model) -> float:
        return over_members(found, partial(value, truth))[bound]

    return models.distance(between, ordered=ordered, dags=(0,))


# ---- weights


@of.weights("sign_accuracy")
def sign_accuracy(weights: Weights) -> Estimate:
    """Share of the arrows in both graphs whose weights have the same sign."""
    return weights.each(lambda true, found: float(np.mean(np.sign(true) == np.sign(found))))


@of.weights("weight_rmse", direction="lower", bounds=(0, inf))
def weight_rmse(weights: Weights) -> Estimate:
    """Root mean squared difference of the weights of the arrows in both graphs."""
    return weights.each(lambda true, found: float(np.sqrt(np.mean(np.subtract(true, found, dtype=float) ** 2))))
