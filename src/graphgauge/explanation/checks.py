"""Checks of explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphgauge.core.finding import check
from graphgauge.core.metric import Metric
from graphgauge.core.types import Floats
from graphgauge.explanation.ask import INVARIANT
from graphgauge.explanation.fidelity import fidelity_drop_signed, fidelity_keep_signed
from graphgauge.explanation.sample import Sample
from graphgauge.stats.shift import of_pairs

Evidence = Mapping[str, Any]
# From this share of tied cuts, the order of ties matters.
_TIED = 0.25
# Answers this close are equal up to rounding.
_ROUNDING = 1e-6
# Above this share of events with nothing to explain, a mean over events mostly describes those.
_MOST = 0.5
_ALPHA = 0.05
# An explainer that knows nothing is worse than random orders by chance, dropped and kept, far less often than this.
_INVERTED = 0.001


@check(
    "answers-do-not-repeat",
    family="explanation",
    severity="error",
    message="the model gives different answers to the same input in {events} of {of} events, by up to {apart:.2g}",
    remedy="Put the model into evaluation mode, and collect again.",
)
def answers_do_not_repeat(answers: Sample) -> Evidence | None:
    """The model answers the same question differently when it is asked a second time."""
    apart = np.array([event.apart for event in answers.events])
    events = int(np.count_nonzero(apart > INVARIANT))
    return {"events": events, "of": len(apart), "apart": float(apart.max())} if events else None


@check(
    "tied-importance",
    family="explanation",
    message="{share:.0%} of the {cuts} cuts fall between edges of equal importance, so the tie rule decides "
    "what an explanation contains",
    remedy='Collect with ties="average", or use an explainer that gives edges different importance.',
)
def tied_importance(answers: Sample) -> Evidence | None:
    """Importance is tied where explanations are cut, and the tie rule decides what they contain."""
    cuts = np.array([tied for place in range(len(answers)) for tied in _cuts(answers, place)])
    if not len(cuts) or answers.settings.ties == "average" or cuts.mean() <= _TIED:
        return None
    return {"share": float(cuts.mean()), "cuts": len(cuts)}


def _cuts(answers: Sample, place: int) -> Iterator[bool]:
    """For each cut of an explanation: whether the units before and after it are tied; random orders have no ties."""
    counts = np.unique(answers.counts[place])
    counts = counts[(counts > 0) & (counts < answers.units[place])]
    for explanation in np.flatnonzero(answers.explained == place) if answers.values else ():
        falling = -np.sort(-answers.values[explanation])
        yield from (falling[counts - 1] == falling[counts]).tolist()


@check(
    "probabilities-as-logits",
    family="explanation",
    message="all {answers} answers are declared as logits and look like probabilities: they are between 0 and 1{sums}",
    remedy='If they are, collect with model_output="probability"; a second softmax flattens every score.',
)
def probabilities_as_logits(answers: Sample) -> Evidence | None:
    """Answers that are declared as logits look like probabilities."""
    if not len(answers.answers.outputs) or answers.settings.model_output != "logit":
        return None
    outputs = answers.answers.outputs
    several = outputs.shape[1] > 1
    if outputs.min() < 0 or outputs.max() > 1 or (several and np.abs(outputs.sum(axis=1) - 1).max() > 1e-3):
        return None
    return {"answers": len(outputs), "sums": " and sum to 1" if several else ""}


@check(
    "model-ignores-edges",
    family="explanation",
    message="the model's answers are the same for all masks of {same} of {events} events",
    remedy="Check that the masks reach the model; otherwise there is nothing to explain by edges, and means over "
    "events are about something else.",
)
def model_ignores_edges(answers: Sample) -> Evidence | None:
    """In most events the model's answer does not depend on the edges."""
    if not len(answers.answers.outputs):
        return None
    with_units = np.flatnonzero(answers.units > 0)
    ends = np.cumsum([len(event.masks) for event in answers.events])
    parts = np.split(answers.answers.probabilities, ends[:-1])
    same = sum(bool(np.ptp(parts[place], axis=0).max() <= _ROUNDING) for place in with_units.tolist())
    return {"same": same, "events": len(with_units)} if same > _MOST * len(with_units) else None


@check(
    "random-not-beaten",
    family="explanation",
    message="over {events} events and all levels fidelity_drop.signed is {drop:.3f}, of random orders "
    "{drop_random:.3f} (p = {drop_p:.3f}), and fidelity_keep.signed {keep:.3f}, of random orders {keep_random:.3f} "
    "(p = {keep_p:.3f}): neither p is below 0.025",
    remedy="Do not claim that these explanations show what the model used; explain more events.",
)
def random_not_beaten(answers: Sample) -> Evidence | None:
    """The explainer is not better than random orders of the same edges, event by event."""
    found = _against_random(answers, 1)
    return None if found is None or min(found["drop_p"], found["keep_p"]) < _ALPHA / 2 else found


@check(
    "inverted-explanation",
    family="explanation",
    severity="error",
    message="over {events} events and all levels the explanations are worse than random orders of the same edges: "
    "fidelity_drop.signed {drop:.3f} and {drop_random:.3f} (p = {drop_p:.2g}), fidelity_keep.signed {keep:.3f} and "
    "{keep_random:.3f} (p = {keep_p:.2g})",
    remedy="Check the sign of the importance: a high value must mean that an edge supports the predicted class.",
)
def inverted_explanation(answers: Sample) -> Evidence | None:
    """The explainer is worse than random orders of the same edges, dropped and kept, event by event."""
    found = _against_random(answers, -1)
    return None if found is None or max(found["drop_p"], found["keep_p"]) >= _INVERTED else found


def _against_random(answers: Sample, side: int) -> dict[str, float] | None:
    """Means over events of both changes with their sign, also of random orders, and one-sided p-values of the pairs.

    `side` 1 tests whether the explainer is better, −1 whether it is worse. None if there is nothing to compare.
    """
    if not {"drop", "keep"} <= {*answers.rows}:
        return None
    found: dict[str, float] = {}
    for name, metric, sign in (("drop", fidelity_drop_signed, side), ("keep", fidelity_keep_signed, -side)):
        own, blind = (_over_levels(sample, metric) for sample in (answers, answers.random))
        known = np.isfinite(own - blind)
        gains = sign * (own - blind)[known]
        if len(gains) < 2 or not gains.any():
            return None
        test = of_pairs(gains, _ALPHA)
        p = test.p_value / 2 if test.difference > 0 else 1 - test.p_value / 2
        found |= {"events": len(gains), f"{name}_p": p}
        found |= {name: float(own[known].mean()), f"{name}_random": float(blind[known].mean())}
    return found


def _over_levels(sample: Sample, fidelity: Metric) -> Floats:
    if not len(sample.owner):
        return np.full(len(sample), np.nan)
    return np.asarray(np.mean([fidelity(sample, level=level).facts["events"] for level in sample.grid], axis=0))
