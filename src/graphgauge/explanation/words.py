"""What to conclude from an evaluation of explanations, in one sentence."""

from __future__ import annotations

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.number import shown

_SIDES = {"necessity_auc": "dropping what it names", "sufficiency_auc": "keeping that alone", "truth_auc": "the truth"}


def conclusion(evaluation: Evaluation) -> str:
    """How the explainer stands to the random one, by the headline metrics that were computed."""
    who = evaluation.options.get("explainer", "the explainer")
    said = []
    for key, side in _SIDES.items():
        if key in evaluation and evaluation[key].interpretation:
            verdict = str(evaluation[key].interpretation).partition(" (")[0]
            said.append(
                f"{verdict.removesuffix(' than the random explainer')} by {side} ({key} {shown(evaluation[key].value)})"
            )
    if not said:
        first = next((each for each in evaluation.values() if each.defined), None)
        return "" if first is None else f"{first.key} of {who} is {shown(first.value)}."
    return f"Against random orders of the same edges, {who} is {', '.join(said)}."
