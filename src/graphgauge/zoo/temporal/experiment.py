"""From a trained network to the evaluation of its explainers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphgauge import explanation
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grids import Cell, Grid
from graphgauge.core.result import Result
from graphgauge.core.schema import write_result
from graphgauge.explanation import Context, Explanation
from graphgauge.explanation.table import AnswerTable, write_explanations
from graphgauge.zoo.temporal.explainers import EXPLAINERS, MOST_UNITS, explain

# 0.2 of twelve contacts are two, as many as the planted rule needs.
SHOWN = ("truth_auc", "fidelity_drop@0.2", "fidelity_keep@0.2", "acc_auc", "cohesiveness@0.2", "elapsed")
COMPARED = ("fidelity_drop@0.2", "truth_auc")


@dataclass(frozen=True)
class Experiment:
    """Explanations of one model's answers, and its answers for their masks."""

    dataset: str
    accuracy: float
    explanations: Sequence[Explanation]
    table: AnswerTable
    seed: int

    @classmethod
    def of(
        cls,
        model: Any,
        contexts: Sequence[Context],
        explainers: Sequence[str] | None,
        *,
        dataset: str,
        accuracy: float,
        seed: int = 0,
    ) -> Experiment:
        """Explain the events and run the model on all masks; by default with every explainer that fits the data."""
        names = list(explainers or _able(contexts))
        said = list(explain(model, contexts, names, seed=seed))
        return cls(dataset, accuracy, said, explanation.collect(model, said, seed=seed), seed)

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        found = {}
        for name in self.table.explainers:
            found[name] = explanation.evaluate(self.table, explainer=name, keep="items")
            found[name].run |= {"method": name, "dataset": self.dataset, "seed": self.seed}
        return found

    def write(self, folder: Path) -> None:
        """Write the explanations, the model's answers and one result file per explainer."""
        write_explanations(self.explanations, folder / "explanations.jsonl")
        self.table.save(folder / "table.jsonl")
        for name, evaluation in self.evaluations.items():
            write_result(evaluation, folder / "results" / f"{name}.json")

    def __str__(self) -> str:
        shown = [key for key in SHOWN if any(key in evaluation for evaluation in self.evaluations.values())]
        rows = [
            [Cell(name), *(Cell(_text(evaluation.get(key))) for key in shown)]
            for name, evaluation in self.evaluations.items()
        ]
        head = f"{self.dataset}: right on {self.accuracy:.1%} of later questions; {len(self.table)} events explained."
        baseline = "random" if "random" in self.evaluations else None
        compared = [
            str(explanation.compare(self.table, metric=key, baseline=baseline, random=False, seed=self.seed))
            for key in COMPARED
            if key in shown and len(self.evaluations) > 1
        ]
        return "\n\n".join([head, Grid(["explainer", *shown], rows).text(), *compared])


def _able(contexts: Sequence[Context]) -> list[str]:
    """The explainers that fit the data: recency needs times, the oracle needs a truth …"""
    lacking = {
        "recency": any(context.subgraph.times is None for context in contexts),
        "oracle": any(context.truth is None for context in contexts),
        "exhaustive": any(context.subgraph.unit_count > MOST_UNITS for context in contexts),
    }
    return [name for name in EXPLAINERS if not lacking.get(name, False)]


def _text(result: Result | None) -> str:
    if result is None:
        return "–"
    interval = "" if result.ci is None else f" [{result.ci.low:.3f}, {result.ci.high:.3f}]"
    return f"{result.value:.3f}{interval}"
