"""The door to recovery: a true graph and a learned one, from files.

A file is read by its ending as a matrix, a table of edges or a network. Names of nodes are texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from graphgauge.core.door import CONFIDENCE, METRICS, NAN, PROTOCOL, Door, Input, Option
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray
from graphgauge.io.arrays import open_array
from graphgauge.io.tables import read_set, read_table
from graphgauge.io.text import read_numbers
from graphgauge.recovery.evaluate import SHD
from graphgauge.recovery.reading import SIGNS

_GRAPH = "graphgauge.recovery.doors:read_graph"
_Words = str | tuple[str, ...]

DOORS = (
    Door(
        "",
        "A learned graph against the true one.",
        "graphgauge.recovery.evaluate:evaluate",
        inputs=(
            Input("true", "The true graph: entries other than 0 are edges.", _GRAPH, required=True, argument="A_true"),
            Input("pred", "Scores, weights or marks of the predicted graph.", _GRAPH, required=True, argument="A_pred"),
            Input("sources", "The nodes from which edges can start, a name per line.", "labels"),
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


def read_graph(path: Path) -> Any:
    """A graph file in a form that `evaluate` takes.

    .npy, .npz (also scipy's sparse format), .json and files of torch have matrices or stacks; .csv and .parquet a
    matrix, with or without names, or a table of edges; .gml and .graphml networks.
    """
    ending = path.suffix.lower()
    if not path.is_dir() and path.stat().st_size == 0:
        raise InputError("is empty", where=str(path))
    if ending == ".csv":
        return _from_csv(path)
    if ending == ".parquet":
        return _from_table(read_table(str(path)))
    if ending in (".gml", ".graphml"):
        networkx = need("networkx", f"reading {ending}")
        try:
            return (networkx.read_gml if ending == ".gml" else networkx.read_graphml)(path)
        except networkx.NetworkXError as error:
            raise ValueError(str(error)) from None
    return read_set(str(path)) if ending == ".npz" else open_array(path)


def _from_csv(path: Path) -> Any:
    try:
        header, numbers = read_numbers(path)
    except InputError as error:
        try:
            return _from_table(read_table(str(path)))
        except InputError:
            raise error from None
    if header is not None:
        return _from_table(read_table(str(path)))
    if np.isnan(numbers[0, 0]) and np.array_equal(np.sort(numbers[0, 1:]), np.sort(numbers[1:, 0])):
        # Names that are numbers, in the first row and the first column.
        rows, columns = ([f"{name:.0f}" for name in names] for names in (numbers[1:, 0], numbers[0, 1:]))
        return {"": np.array(rows), **dict(zip(columns, numbers[1:, 1:].T, strict=True))}
    return numbers


def _from_table(columns: Mapping[str, AnyArray]) -> Mapping[str, AnyArray]:
    """A square table as it is, and one of edges, in which names are texts."""
    rows = len(next(iter(columns.values()), ()))
    if len(columns) - rows in (0, 1) and not {"source", "target"} <= set(columns):
        return columns
    return {name: column if column.dtype.kind == "f" else column.astype(str) for name, column in columns.items()}
