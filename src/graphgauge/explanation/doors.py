"""The door to explanations: a table of a model's answers, or explanations and the model to ask, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, PROTOCOL, SEED, Door, Input, Option

_Output = Literal["logit", "probability"] | None
_By = Literal["value", "abs"] | None
_Ties = Literal["fixed", "average", "position"] | None
_Score = Literal["class", "max", "label"]
_Groups = tuple[Literal["class", "correct"], ...] | None
_TIES = "Equal importance: by time, source, target; averaged; or in order."
_SCORE = "Probability of the predicted class, the largest, or the label's."
_DELTA = "Time scale of cohesiveness; the range of times by default."
_GROUPS = "Break down by predicted class, or by whether it is right."

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
            Option("model_output", _Output, None, "What the model returns, if it does not say."),
            Option("by", _By, None, "Rank edges by importance, or by its size."),
            Option("ties", _Ties, None, _TIES),
            Option("random", int | None, None, "Orders of the random explainer, 3 by default; 0: none.", 0, 10_000),
            Option("score", _Score, "class", _SCORE),
            Option("label_threshold", float, 0.5, "Probability from which an event without label is class 1.", 0, 1),
            Option("delta_t", float | None, None, _DELTA, 0, inside=True),
            Option("groups", _Groups, None, _GROUPS),
        ),
        common=(METRICS, CONFIDENCE, SEED, PROTOCOL),
        example="graphgauge explanation --table answers.jsonl --explainer gradient",
        progress=True,
    ),
)
