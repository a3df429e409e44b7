"""Checks of explanations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.explanation.fidelity import fidelity_drop_signed, fidelity_keep_signed
from graphgauge.explanation.masks import MODES
from graphgauge.explanation.samples import EventSample, Scored
from graphgauge.old.core.findings import Evidence, check
from graphgauge.old.stats.intervals import sample_std

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
    "tied-importance",
    family="explanation",
    severity="warning",
    message="{share:.0%} of the {cuts} cuts fall between edges of equal importance, so the tie rule decides "
    "what an explanation contains",
    remedy='Collect with ties="average", or use an explainer that gives edges different importance.',
)
def tied_importance(answers: EventSample) -> Evidence | None:
    """Importance is tied where explanations are cut, and the tie rule decides what they contain."""
    cuts = np.array([tied for event in answers.events for tied in _cuts(event, answers)])
    if not len(cuts) or answers.events[0].settings.ties == "average" or cuts.mean() <= _TIED:
        return None
    return {"share": float(cuts.mean()), "cuts": len(cuts)}


def _cuts(event: Scored, answers: EventSample) -> Iterator[bool]:
    """For each cut of an explanation: whether the units before and after it are tied."""
    counts = sorted({level.of(event.units) for level in answers.grid})
    for importance in event.importances:
        falling = -np.sort(-importance)
        yield from (falling[count - 1] == falling[count] for count in counts if 0 < count < event.units)


@check(
    "probabilities-as-logits",
    family="explanation",
    severity="warning",
    message="all {answers} answers are declared as logits and look like probabilities: they are between 0 and 1{sums}",
    remedy='If they are, collect with model_output="probability"; a second softmax flattens every score.',
)
def probabilities_as_logits(answers: EventSample) -> Evidence | None:
    """Answers that are declared as logits look like probabilities."""
    if not answers.events or answers.events[0].settings.model_output != "logit" or not _asked(answers):
        return None
    outputs = np.concatenate([event.row.outputs for event in answers.events])
    several = outputs.shape[1] > 1
    if outputs.min() < 0 or outputs.max() > 1 or (several and np.abs(outputs.sum(axis=1) - 1).max() > 1e-3):
        return None
    return {"answers": len(outputs), "sums": " and sum to 1" if several else ""}


@check(
    "model-ignores-edges",
    family="explanation",
    severity="warning",
    message="the model's answers are the same for all masks of {same} of {events} events",
    remedy="Check that the masks reach the model; otherwise there is nothing to explain by edges, and means over "
    "events are about something else.",
)
def model_ignores_edges(answers: EventSample) -> Evidence | None:
    """In most events the model's answer does not depend on the edges."""
    if not _asked(answers):
        return None
    moved = [np.ptp(event.probabilities, axis=0).max() for event in answers.events if event.units]
    same = int(np.count_nonzero(np.array(moved) <= _ROUNDING))
    return {"same": same, "events": len(moved)} if same > _MOST * len(moved) else None


@check(
    "random-not-beaten",
    family="explanation",
    severity="warning",
    message="over {events} events fidelity_drop.signed is {drop:.3f} and that of random orders of the same edges "
    "{drop_random:.3f} (p = {drop_p:.3f}), fidelity_keep.signed {keep:.3f} and {keep_random:.3f} (p = {keep_p:.3f}), "
    "in the mean over levels: neither p is below 0.025, so neither is significantly better",
    remedy="Do not claim that these explanations show what the model used; explain more events.",
)
def random_not_beaten(answers: EventSample) -> Evidence | None:
    """The explainer is not better than random orders of the same edges, event by event."""
    drop, keep = _against_random(answers, 1)
    if drop is None or keep is None or min(drop.p, keep.p) < _ALPHA / 2:
        return None
    return _evidence(drop, keep)


@check(
    "inverted-explanation",
    family="explanation",
    severity="error",
    message="over {events} events the explanations are worse than random orders of the same edges: "
    "fidelity_drop.signed {drop:.3f} and {drop_random:.3f} (p = {drop_p:.2g}), fidelity_keep.signed {keep:.3f} and "
    "{keep_random:.3f} (p = {keep_p:.2g}), in the mean over levels",
    remedy="Check the sign of the importance: a high value must mean that an edge supports the predicted class.",
)
def inverted_explanation(answers: EventSample) -> Evidence | None:
    """The explainer is worse than random orders of the same edges, dropped and kept, event by event."""
    drop, keep = _against_random(answers, -1)
    if drop is None or keep is None or max(drop.p, keep.p) >= _INVERTED:
        return None
    return _evidence(drop, keep)


def _asked(answers: EventSample, *kinds: str) -> bool:
    """Whether the model was asked about masks, of all these kinds."""
    return all(event.settings.asked and {*kinds} <= {*event.settings.asked} for event in answers.events)


class _Paired(NamedTuple):
    """Means of the explainer and of random orders, a one-sided paired t-test's p-value, and the number of events."""

    own: float
    blind: float
    p: float
    events: int


def _evidence(drop: _Paired, keep: _Paired) -> Evidence:
    found: dict[str, float] = {"events": drop.events}
    for name, test in (("drop", drop), ("keep", keep)):
        found |= {name: test.own, f"{name}_random": test.blind, f"{name}_p": test.p}
    return found


def _against_random(answers: EventSample, side: int) -> tuple[_Paired | None, _Paired | None]:
    """Both fidelities with their sign; `side` 1 tests whether the explainer is better, −1 whether it is worse."""
    if not _asked(answers, *MODES):
        return None, None
    drop, keep = fidelity_drop_signed, fidelity_keep_signed
    return _paired(answers, drop, side), _paired(answers, keep, -side)


def _paired(answers: EventSample, fidelity: Any, sign: int) -> _Paired | None:
    from scipy.special import stdtr

    own, blind = (_over_levels(sample, fidelity) for sample in (answers, answers.at_random))
    gains = sign * (own - blind)
    known = np.isfinite(gains)
    n = int(known.sum())
    if n < 2 or not gains[known].any():
        return None
    error = sample_std(gains[known]) / np.sqrt(n)
    mean = float(gains[known].mean())
    p = float(stdtr(n - 1, -mean / error)) if error > 0 else float(mean <= 0)
    return _Paired(float(own[known].mean()), float(blind[known].mean()), p, n)


def _over_levels(sample: EventSample, fidelity: Any) -> Floats:
    return np.asarray(np.mean([fidelity(sample, level=level).facts["events"] for level in sample.grid], axis=0))
