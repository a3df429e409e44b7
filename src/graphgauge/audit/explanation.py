"""Checks of explanations."""

from __future__ import annotations

import numpy as np

from graphgauge.core.findings import Evidence, check
from graphgauge.explanation.samples import Sample

# The share of units with another's importance, over all events, from which the order of ties decides much.
_TIED = 0.5


@check(
    "tied-importance",
    family="explanation",
    severity="warning",
    message="{share:.0%} of the edges share their importance with another, so that the rule for ties decides what an "
    "explanation holds",
    remedy='Collect with ties="average", or let the explainer tell edges apart.',
)
def tied_importance(answers: Sample) -> Evidence | None:
    """Importance is mostly tied, and the rule for ties decides what an explanation holds."""
    share = float(np.mean([event.tied for event in answers.events])) if answers.events else 0.0
    return {"share": share} if share > _TIED else None


@check(
    "probabilities-as-logits",
    family="explanation",
    severity="warning",
    message="all {answers} answers are declared as logits and look like probabilities: they lie between 0 and 1{sums}",
    remedy='If they are, collect with model_output="probability"; a second softmax flattens every score.',
)
def probabilities_as_logits(answers: Sample) -> Evidence | None:
    """Answers that are declared as logits look like probabilities."""
    if not answers.events or answers.events[0].settings.model_output != "logit":
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
    message="the model's answers are the same for all masks of all {events} events",
    remedy="Check that the masks reach the model; otherwise there is nothing to explain by edges.",
)
def model_ignores_edges(answers: Sample) -> Evidence | None:
    """The model answers the same whatever edges it is given."""
    events = [event for event in answers.events if event.units]
    if not events or any(np.ptp(event.probabilities, axis=0).max() > 0 for event in events):
        return None
    return {"events": len(events)}
