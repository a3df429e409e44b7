"""What to conclude from an evaluation of explanations, in one sentence."""

from __future__ import annotations

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.number import shown
from graphgauge.explanation.family import FAMILY
from graphgauge.stats.text import together


def conclusion(evaluation: Evaluation) -> str:
    """How the explainer stands to the random one, by the headline metrics that were computed."""
    who = evaluation.options.get("explainer", "the explainer")
    groups: dict[str, list[str]] = {"better": [], "worse": [], "not distinguished": []}
    for key in [key for key in FAMILY.headlines if key in evaluation] or [*evaluation]:
        words = evaluation[key].interpretation
        if words is not None:
            verdict = next((each for each in groups if words.startswith(each)), "not distinguished")
            groups[verdict].append(f"{key} ({shown(evaluation[key].value)})")
    said = [f"{verdict} by {together(keys)}" for verdict, keys in groups.items() if keys]
    if said:
        return f"Against random orders of the same edges, {who} is {', '.join(said)}."
    first = next((each for each in evaluation.values() if each.defined), None)
    return "" if first is None else f"{first.key} of {who} is {shown(first.value)}."
