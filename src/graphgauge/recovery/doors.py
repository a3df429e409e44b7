"""The door to recovery: a true graph and a learned one, from files."""

from __future__ import annotations

from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, Door, Input, Option
from graphgauge.recovery.evaluate import SHD
from graphgauge.recovery.reading import SIGNS

_GRAPH, _NAMES = "graphgauge.recovery.files:read_graph", "graphgauge.recovery.files:read_names"
_Words = str | tuple[str, ...]

DOORS = (
    Door(
        "",
        "A learned graph against the true one.",
        "graphgauge.recovery.evaluate:evaluate",
        inputs=(
            Input("true", "The true graph: entries other than 0 are edges.", _GRAPH, required=True, argument="A_true"),
            Input("pred", "Scores, weights or marks of the predicted graph.", _GRAPH, required=True, argument="A_pred"),
            Input("sources", "The nodes from which edges can start, a name per line.", _NAMES),
        ),
        options=(
            Option("threshold", float | None, None, "Scores above it are edges: 0.5, or 0 for weights."),
            Option("shd", Literal[SHD], "pair", "A reversal costs 1 (pair) or 2 (cell)."),
            Option("sign", Literal[SIGNS] | None, None, "Negative scores are weights, or scores."),
            Option("orientation", _Words, "row_to_column", "How i → j is written, by [TRUTH,]PREDICTION."),
            Option("encoding", _Words | None, None, "How marks are written, by [TRUTH,]PREDICTION."),
            Option("nodes", int | _Words | None, None, "For edges: how many nodes, their names, or `listed`."),
            Option("columns", dict[str, str] | None, None, "Of edges: source=…,target=…,weight=…,true_source=…."),
            Option("lagged", bool | None, None, "The matrices are (d, d, lags + 1)."),
            Option("zero_division", float | None, None, "Value of a ratio without denominator; NaN by default."),
        ),
        example="graphgauge recovery --true graph.csv --pred weights.npy --sign absolute",
        common=(METRICS, NAN, CONFIDENCE, PROTOCOL),
    ),
)
