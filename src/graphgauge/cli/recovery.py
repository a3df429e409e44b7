"""`graphgauge recovery …`."""

from __future__ import annotations

from typing import Any

import click

from graphgauge.cli.common import Inputs, Run, family_options
from graphgauge.cli.types import NUMBERS, OneOrTwo
from graphgauge.core.result import Evaluation
from graphgauge.io.graphs import read_graph
from graphgauge.io.hashing import receipt_input
from graphgauge.recovery import evaluate
from graphgauge.recovery.comparison import AREAS, SHD
from graphgauge.recovery.encodings import ENCODINGS
from graphgauge.recovery.inputs import EDGES
from graphgauge.recovery.pairs import SIGNS


@click.command(name="recovery")
@click.option("--true", required=True, metavar="FILE", help="The true graph: nonzero entries are edges.")
@click.option("--pred", required=True, metavar="FILE", help="The scores of the predicted graph.")
@click.option(
    "--threshold", type=float, default=0.5, show_default=True, help="An edge is predicted where its score is greater."
)
@click.option(
    "--shd", type=click.Choice(SHD), default="pair", show_default=True, help="A reversal costs 1 (pair) or 2 (cell)."
)
@click.option("--sign", type=click.Choice(SIGNS), help="Negative scores are weights (absolute) or scores (keep).")
@click.option(
    "--edges", type=OneOrTwo(EDGES), default="row_to_column", show_default=True,
    help="How the prediction writes i → j; TRUTH,PREDICTION sets both.",
)  # fmt: skip
@click.option(
    "--encoding", type=OneOrTwo(tuple(ENCODINGS)),
    help="How the prediction writes undirected edges; TRUTH,PREDICTION sets both, and either may be empty.",
)  # fmt: skip
@click.option("--nodes", type=click.IntRange(min=1), help="Number of nodes, for edge lists.")
@click.option("--lagged", is_flag=True, help="The matrices are (d, d, lags + 1).")
@click.option(
    "--fractions", type=NUMBERS, default="0.5,0.75,1,1.5,2", show_default=True, help="Sizes of F1@K, in true edges."
)
@click.option(
    "--area", type=click.Choice(AREAS), default="steps", show_default=True, help="How auprc joins its points."
)
@click.option(
    "--zero-division", type=float, default=float("nan"), show_default=True, help="Value of a ratio without denominator."
)
@family_options
def command(run: Run, true: str, pred: str, **options: Any) -> tuple[Evaluation, Inputs]:
    """Compare a learned graph with the true one.

    Files: .npy, .npz (also scipy's sparse ones), .csv, .parquet, .json, .gml, .graphml, .bif, .pt, .safetensors.
    """
    evaluation = evaluate(
        read_graph(true), read_graph(pred),
        metrics=run.metric_keys, nan=run.nan, confidence=run.confidence, threads=run.threads, **options,
    )  # fmt: skip
    return evaluation, lambda: [receipt_input("true", true), receipt_input("pred", pred)]
