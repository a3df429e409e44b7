"""What is said of an evaluation of explanations: how it was made, and what to conclude."""

from __future__ import annotations

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.number import shown
from graphgauge.explanation.family import FAMILY
from graphgauge.explanation.sample import Rules
from graphgauge.explanation.table import AnswerTable
from graphgauge.stats.text import together

_TIES = {"fixed": "by time, source and target", "average": "average over random orders", "position": "by position"}
# What stands above the results also if it is as usual.
TOLD = ("model_output", "units")
# What happens to masked edges or features.
_MASKING = {"remove": "removed", "weight": "weighted: messages or features times 0"}
_SCORES = {
    "class": "probability of the class predicted on the whole graph",
    "max": "largest probability",
    "label": "probability of the label",
    "output": "the output, or the largest of several",
}


def conventions_of(table: AnswerTable, rules: Rules, protocol: str | None) -> dict[str, str]:
    """How masks were chosen and answers are scored, in words."""
    settings = table.settings
    robust = f"{settings.robust_drop:g} dropped, {settings.robust_keep:g} kept, {settings.robust_samples} samples"
    return {
        **({} if settings.model_output is None else {"model_output": settings.model_output}),
        **({} if settings.masking is None else {"masking": _MASKING.get(settings.masking, settings.masking)}),
        "units": _units(table),
        "ties": _TIES[settings.ties],
        "ranking": "by |importance|" if settings.by == "abs" else "by importance",
        "score": _SCORES[rules.score],
        "sweep": f"{settings.acc_points} points from 0 to {settings.acc_cap:g}",
        "label_threshold": f"{rules.label_threshold:g}",
        **({"robust": robust} if any(kind.startswith("robust") for kind in settings.asked) else {}),
        "delta_t": "range of the candidates' times" if rules.delta_t is None else f"{rules.delta_t:g}",
        **({} if protocol is None else {"protocol": protocol}),
    }


def _units(table: AnswerTable) -> str:
    """Which candidates are masked together."""
    parts = [event.subgraph for event in table if len(event.subgraph)]
    if all(part.unit_count == len(part) for part in parts):
        return "each alone"
    return "both directions of a pair together" if all(part.units is None for part in parts) else "as given"


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
