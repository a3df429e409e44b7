"""Evaluate files: `graphgauge recovery …`, studies, and `recovery.evaluate_files`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from graphgauge.core.fields import (
    Choice,
    Confidence,
    File,
    Flag,
    Metrics,
    NanPolicy,
    Number,
    OneOrTwo,
    PathLike,
    Several,
    Threads,
    Whole,
)
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.result import Evaluation
from graphgauge.io.graphs import read_graph
from graphgauge.io.hashing import receipt_input
from graphgauge.recovery.comparison import AREAS, SHD
from graphgauge.recovery.encodings import ENCODINGS
from graphgauge.recovery.evaluate import evaluate
from graphgauge.recovery.family import FAMILY
from graphgauge.recovery.inputs import EDGES
from graphgauge.recovery.pairs import SIGNS


def evaluate_files(
    *,
    true: Annotated[PathLike, File("The true graph: nonzero entries are edges.")],
    pred: Annotated[PathLike, File("The scores of the predicted graph.")],
    threshold: Annotated[float, Number("An edge is predicted where its score is greater.")] = 0.5,
    shd: Annotated[str, Choice("A reversal costs 1 (pair) or 2 (cell).", SHD)] = "pair",
    sign: Annotated[str | None, Choice("Negative scores are weights (absolute) or scores (keep).", SIGNS)] = None,
    edges: Annotated[
        str | Sequence[str | None],
        OneOrTwo("How the prediction writes i → j; TRUTH,PREDICTION sets both.", EDGES),
    ] = "row_to_column",
    encoding: Annotated[
        str | Sequence[str | None] | None,
        OneOrTwo(
            "How the prediction writes undirected edges; TRUTH,PREDICTION sets both, and either may be empty.",
            tuple(ENCODINGS),
        ),
    ] = None,
    nodes: Annotated[int | None, Whole("Number of nodes, for edge lists.", 1)] = None,
    lagged: Annotated[bool, Flag("The matrices are (d, d, lags + 1).")] = False,
    fractions: Annotated[Sequence[float], Several("Sizes of F1@K, in true edges.", Number(""))] = (
        0.5,
        0.75,
        1,
        1.5,
        2,
    ),
    area: Annotated[str, Choice("How auprc joins its points.", AREAS)] = "steps",
    zero_division: Annotated[float, Number("Value of a ratio without denominator.")] = math.nan,
    metrics: Metrics = None,
    confidence: Confidence = 0.95,
    nan: NanPolicy = "raise",
    threads: Threads = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Compare a learned graph with the true one.

    Files: .npy, .npz (also scipy's sparse ones), .csv, .parquet, .json, .gml, .graphml, .bif, .pt, .safetensors.
    """
    given = FAMILY.read(locals())
    paths = {name: given.pop(name) for name in ("true", "pred")}
    evaluation = evaluate(*map(read_graph, paths.values()), **given)
    evaluation.inputs = lambda: [receipt_input(name, path) for name, path in paths.items()]
    return evaluation
