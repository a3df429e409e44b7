"""Evaluate files: `graphgauge recovery …`, studies, and `recovery.evaluate_files`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.progress import SILENT, Progress
from graphgauge.old.core.cluster import ENGINES, Engine, Scheduler
from graphgauge.old.core.described import of_files
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.fields import (
    Choice,
    Confidence,
    File,
    Flag,
    Kind,
    Metrics,
    NanPolicy,
    Number,
    OneOrTwo,
    PathLike,
    Several,
    Threads,
    split_list,
)
from graphgauge.old.core.graphs import EdgeList, NamedMatrix
from graphgauge.old.io.graphs import has_columns, read_graph
from graphgauge.old.io.hashing import receipt_input
from graphgauge.old.recovery.comparison import AREAS, SHD
from graphgauge.old.recovery.encodings import ENCODINGS
from graphgauge.old.recovery.evaluate import evaluate
from graphgauge.old.recovery.family import FAMILY
from graphgauge.old.recovery.inputs import EDGES
from graphgauge.old.recovery.pairs import SIGNS

_NAME_FILES = (".txt", ".csv", ".tsv")
_COLUMNS = ("source", "target", "weight")


@dataclass(frozen=True)
class Nodes(Kind):
    """A number of nodes, their names separated by commas, a file with a name in each line, or `listed`."""

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}, {"type": "array"}]}

    def read(self, value: Any) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            number: Any = value
        elif isinstance(value, str) and value.strip().lstrip("-").isdigit():
            number = int(value)
        elif isinstance(value, str):
            text = value.strip()
            if not text:
                raise OptionError("the list is empty")
            return text if text == "listed" or _is_name_file(text) else tuple(map(str.strip, split_list(text)))
        elif isinstance(value, Sequence) and value and all(isinstance(name, str | int) for name in value):
            return tuple(value)
        else:
            raise OptionError(f"expected a number, names or a file, found {value!r:.60}")
        if number < 1:
            raise OptionError(f"{value!r:.60} is below 1")
        return number

    def paths(self, value: Any) -> Iterator[str]:
        if isinstance(value, str) and _is_name_file(value):
            yield value

    def moved(self, value: Any, place: Any) -> Any:
        return place(value) if isinstance(value, str) and _is_name_file(value) else value


def _is_name_file(text: str) -> bool:
    return text.lower().endswith(_NAME_FILES)


@dataclass(frozen=True)
class Columns(Kind):
    """The columns of an edge list, as `source=…,target=…` and optionally `weight=…`."""

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "object"}]}

    def read(self, value: Any) -> dict[str, str]:
        if isinstance(value, str):
            parts = [part.partition("=") for part in split_list(value)]
            named = {role.strip(): column.strip() for role, _, column in parts}
        elif isinstance(value, Mapping):
            named = {str(role): str(column) for role, column in value.items()}
        else:
            raise OptionError(f"expected source=…,target=…, found {value!r:.60}")
        unknown = [role for role in named if role not in _COLUMNS]
        if unknown or not {"source", "target"} <= set(named) or not all(named.values()):
            raise OptionError(f"expected source=…,target=… and optionally weight=…, found {value!r:.60}")
        return {role: named[role] for role in _COLUMNS if role in named}


@of_files
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
            "How the prediction writes the marks of edges; TRUTH,PREDICTION sets both, and either may be empty.",
            tuple(ENCODINGS),
        ),
    ] = None,
    nodes: Annotated[
        int | str | Sequence[str] | None,
        Nodes("For edge lists: how many, names separated by commas, a file of names, or `listed`."),
    ] = None,
    columns: Annotated[
        Mapping[str, str] | str | None, Columns("The columns of edge lists: source=…,target=…,weight=….")
    ] = None,
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
    engine: Engine = ENGINES[0],
    scheduler: Scheduler = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Compare a learned graph with the true one.

    Files: .npy, .npz (also scipy's sparse ones), .csv, .tsv, .parquet, .json, .gml, .graphml, .bif, .txt (Tetrad's
    and bnlearn's text), .pt, .safetensors.

    Parameters
    ----------
    progress
        Where progress is reported; silent by default.

    Returns
    -------
    Evaluation
        As from `evaluate`; its receipt names the files with their hashes.

    Raises
    ------
    InputError
        If a file cannot be read, or changed meanwhile.
    OptionError
        If an option does not go with the files.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import recovery
    >>> np.save("true.npy", [[0, 1], [0, 0]])
    >>> np.save("pred.npy", [[0, 0.9], [0.1, 0]])
    >>> recovery.evaluate_files(true="true.npy", pred="pred.npy")["directed_shd"].value
    0.0
    """
    given = FAMILY.read(locals())
    del given["engine"], given["scheduler"]
    paths = {name: given.pop(name) for name in ("true", "pred")}
    named, nodes = given.pop("columns"), given.pop("nodes")
    chosen: Mapping[str, str] | None = named
    if isinstance(nodes, str) and nodes != "listed":
        paths["nodes"] = nodes
        nodes = read_names(nodes)
    if chosen is not None and not any(has_columns(paths[name], chosen) for name in ("true", "pred")):
        raise InputError(
            f"no file has the columns {', '.join(chosen.values())}", where="columns", fix="Name them as in the header."
        )
    graphs: dict[str, Any] = {name: read_graph(paths[name], chosen) for name in ("true", "pred")}
    graphs, nodes = _named_alike(graphs, nodes)
    if engine == "dask" and not isinstance(graphs["pred"], list) and getattr(graphs["pred"], "ndim", 2) < 3:
        raise OptionError(
            "an engine splits a stack into its graphs, and this is one graph", fix="Leave out the engine."
        ).about("engine")
    evaluation = evaluate(graphs["true"], graphs["pred"], nodes=nodes, **given)
    evaluation.inputs = lambda: [receipt_input(name, path) for name, path in paths.items()]
    return evaluation


def _named_alike(graphs: dict[str, Any], nodes: Any) -> tuple[dict[str, Any], Any]:
    """Numbers as text if some names are text: one format writes the name 7 as a number, another as text."""
    names = list(nodes) if isinstance(nodes, tuple) else []
    names += [name for graph in graphs.values() for name in _names(graph)]
    if not any(isinstance(name, str) for name in names):
        return graphs, nodes
    graphs = {key: _with_text(graph) if isinstance(graph, EdgeList) else graph for key, graph in graphs.items()}
    return graphs, tuple(map(str, nodes)) if isinstance(nodes, tuple) else nodes


def _names(graph: Any) -> Iterable[Any]:
    """The names of nodes that a file states; the ends of edges alone may be numbers of nodes."""
    if isinstance(graph, NamedMatrix):
        return graph.names
    return getattr(graph, "nodes", None) or ()


def _with_text(graph: EdgeList) -> EdgeList:
    edges = [(str(source), str(target), *weight) for source, target, *weight in graph.edges]
    return replace(graph, edges=edges, nodes=None if graph.nodes is None else tuple(map(str, graph.nodes)))


def read_names(path: PathLike) -> tuple[str, ...]:
    """The names of nodes, one in each line."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({type(error).__name__})", where=str(path)) from None
    names = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not names:
        raise InputError("names no node", where=str(path), fix="Write one name in each line.")
    return names
