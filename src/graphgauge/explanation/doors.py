"""The door to explanations: a table of a model's answers, or explanations and the model to ask, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, SEED, Door, Input, Option

DOORS = (
    Door(
        "",
        "Whether explanations name the edges that a model used.",
        "graphgauge.explanation.evaluate:from_files",
        inputs=(
            Input("table", "Answers of a model, as collected: .jsonl.", "graphgauge.explanation.table:read_table"),
            Input(
                "explanations",
                "Explanations, one event per line: .jsonl; metrics of edges need no model.",
                "graphgauge.explanation.table:read_explanations",
            ),
            Input("model", "MODULE:FACTORY of the model that is asked about them.", "code"),
        ),
        options=(
            Option("save_answers", Path | None, None, "Append answers to this .jsonl; a second run resumes from it."),
            Option("explainer", str | None, None, "The explainer to evaluate, if there are several."),
            Option("sparsity_levels", tuple[float, ...] | None, None, "Shares of the edges to keep and drop.", 0, 1),
            Option("topk", tuple[int, ...] | None, None, "Numbers of edges to keep and drop.", 0),
            Option(
                "model_output",
                Literal["logit", "probability"] | None,
                None,
                "What the model returns, if it does not say.",
            ),
            Option("by", Literal["value", "abs"] | None, None, "Rank edges by importance, or by its size."),
            Option(
                "ties",
                Literal["fixed", "average", "position"] | None,
                None,
                "Equal importance: by time, source, target; averaged; or in order.",
            ),
            Option("random", int | None, None, "Orders of the random explainer, 3 by default; 0: none.", 0, 10_000),
            Option(
                "score",
                Literal["class", "max", "label"],
                "class",
                "Probability of the predicted class, the largest, or the label's.",
            ),
            Option("label_threshold", float, 0.5, "Probability from which an event without label is class 1.", 0, 1),
            Option(
                "delta_t",
                float | None,
                None,
                "Time scale of cohesiveness; the range of times by default.",
                0,
                inside=True,
            ),
            Option(
                "groups",
                tuple[Literal["class", "correct"], ...] | None,
                None,
                "Break down by predicted class, or by whether it is right.",
            ),
        ),
        common=(METRICS, CONFIDENCE, NAN, SEED, PROTOCOL),
        example="graphgauge explanation --table answers.jsonl --explainer gradient",
        progress=True,
    ),
)
