"""Explainers, from random to one that knows the rule. They take any model that answers for masks.

f is the probability of the class that the model predicts on the whole subgraph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.factory import own_code
from graphgauge.explanation.adapters import said_output
from graphgauge.explanation.fields import answer_rows, checked_outputs, lined_up, probabilities
from graphgauge.explanation.inputs import Context, Explanation

Explainer = Callable[[Any, Context, np.random.Generator], Floats]

# An event takes 2 to this power calls.
MOST_UNITS = 12


def random(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """Importance drawn at random."""
    return _for_edges(context, draw.random(context.subgraph.unit_count))


def recency(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """Later contacts are more important."""
    times = context.subgraph.candidate_times
    if times is None:
        raise InputError("the subgraph has no times", where=_named(context), fix="Leave recency out.")
    return np.asarray(times, dtype=np.float64)


def occlusion(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """The decrease of f when one unit is left out."""
    units = context.subgraph.unit_count
    kept = np.concatenate([np.ones((1, units), bool), ~np.eye(units, dtype=bool)])
    whole, *without = _confidence(model, context, kept)
    return _for_edges(context, whole - np.array(without))


def reversed_occlusion(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """The reversed order of occlusion, which should be worst."""
    return -occlusion(model, context, draw)


def gradient(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """The derivative of f's log-odds by the weight of each unit's edges, at weight 1."""
    if not callable(getattr(model, "slopes", None)):
        raise InputError(f"{type(model).__name__} has no method slopes", where="model", fix="Leave gradient out.")
    with own_code(f"{_named(context)}, model {type(model).__name__}.slopes"):
        slopes = lined_up(model.slopes(context.subgraph, context.target), len(context.subgraph), "slopes", "edge")
    of_units = np.bincount(context.subgraph.unit_of, slopes, context.subgraph.unit_count)
    return _for_edges(context, of_units.astype(np.float64))


def exhaustive(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """The exact Shapley value of each unit: the mean of its contribution to f over all orders of the units."""
    units = context.subgraph.unit_count
    if units > MOST_UNITS:
        raise OptionError(
            f"{_named(context)} has {units} units, which have too many subsets",
            fix=f"Leave exhaustive out, or use subgraphs of at most {MOST_UNITS} units.",
        )
    subsets = np.arange(1 << units)
    held = (subsets[:, np.newaxis] >> np.arange(units) & 1).astype(bool)
    f = _confidence(model, context, held)
    size = held.sum(1)
    # A unit follows a given set of s others in s!(n − s − 1)! of the n! orders.
    share = np.array([1 / (units * comb(units - 1, s)) for s in range(units)])
    values = np.empty(units)
    for unit in range(units):
        before = subsets[~held[:, unit]]
        values[unit] = share[size[before]] @ (f[before | 1 << unit] - f[before])
    return _for_edges(context, values)


def oracle(model: Any, context: Context, draw: np.random.Generator) -> Floats:
    """Knows the rule: 1 for the true units, 0 for the others."""
    if context.truth is None:
        raise InputError("the truth is unknown", where=_named(context), fix="Leave oracle out.")
    return np.asarray(context.truth, dtype=np.float64)


EXPLAINERS: dict[str, Explainer] = {
    "random": random,
    "recency": recency,
    "gradient": gradient,
    "occlusion": occlusion,
    "exhaustive": exhaustive,
    "oracle": oracle,
    "reversed": reversed_occlusion,
}


def explain(
    model: Any, contexts: Iterable[Context], explainers: Sequence[str], *, seed: int = 0
) -> Iterator[Explanation]:
    """The explanations of each event by each explainer, with running times; the seed is for random explainers."""
    functions = {name: EXPLAINERS[one_of("explainer", name, EXPLAINERS)] for name in explainers}
    for number, context in enumerate(contexts):
        for name, function in functions.items():
            draw = np.random.default_rng([seed, number])
            began = time.perf_counter()
            importance = function(model, context, draw)
            yield Explanation(context, importance, name, time.perf_counter() - began, seed)


def _confidence(model: Any, context: Context, kept: NDArray[np.bool_]) -> Floats:
    """f under masks over units; the class is the one predicted with all units."""
    masks = np.concatenate([np.ones((1, kept.shape[1]), bool), kept])[:, context.subgraph.unit_of]
    said, method = said_output(model, None), f"{type(model).__name__}.predict"
    where = f"{method}, answers of the model, {_named(context)}"
    with own_code(f"{_named(context)}, model {method}"):
        outputs = answer_rows(model.predict(context.subgraph, context.target, masks), len(masks), where)
    probability = probabilities(checked_outputs(outputs, said, where), said)
    answers: Floats = probability[1:, probability[0].argmax()]
    return answers


def _named(context: Context) -> str:
    return f"event {context.event!r:.80}"


def _for_edges(context: Context, of_units: Floats) -> Floats:
    """Gives each candidate the importance of its unit."""
    return of_units[context.subgraph.unit_of]
