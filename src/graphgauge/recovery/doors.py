"""The door to recovery: a true graph and a learned one, from files."""

from __future__ import annotations

from typing import Literal

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, Door, Input, Option
from graphgauge.recovery.evaluate import SHD

_GRAPH = "graphgauge.recovery.files:read_graph"


DOORS = (
    Door(
        "",
        "A learned graph against the true one.",
        "graphgauge.recovery.evaluate:evaluate",
        inputs=(
            Input("true", "The true graph: entries other than 0 are edges.", _GRAPH, required=True, argument="A_true"),
            Input("pred", "Scores, weights or marks of the predicted graph.", _GRAPH, required=True, argument="A_pred"),
            Input(
                "sources",
                "The nodes from which edges can start, a name per line.",
                "graphgauge.recovery.files:read_names",
            ),
        ),
        options=(
            Option(
                "threshold", float | None, None, "An edge is predicted if its score is greater: 0.5, or 0 for weights."
            ),
            Option("shd", Literal[SHD], "pair", "A reversal costs 1 (pair) or 2 (cell)."),
            Option("sign", Literal["absolute", "keep"] | None, None, "Negative scores are weights, or scores."),
            Option(
                "orientation",
                str | tuple[str, ...],
                "row_to_column",
                "How the prediction, or TRUTH,PREDICTION, writes i → j: or column_to_row.",
            ),
            Option(
                "encoding",
                str | tuple[str, ...] | None,
                None,
                "How the prediction, or TRUTH,PREDICTION, writes marks, such as pcalg.",
            ),
            Option(
                "nodes",
                int | str | tuple[str, ...] | None,
                None,
                "For edges: how many nodes, their names, or `listed`.",
            ),
            Option("columns", dict[str, str] | None, None, "Columns of edges: source=…, target=…, weight=…."),
            Option("lagged", bool | None, None, "The matrices are (d, d, lags + 1)."),
            Option("zero_division", float | None, None, "Value of a ratio without denominator; NaN by default."),
        ),
        example="graphgauge recovery --true graph.csv --pred weights.npy --sign absolute",
        common=(METRICS, NAN, CONFIDENCE, PROTOCOL),
    ),
)
