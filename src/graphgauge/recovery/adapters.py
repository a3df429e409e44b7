"""What other tools write: results of libraries, recognised by what they have, and matrices of marks by their encoding.

None of the libraries is needed, and no encoding is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.types import AnyArray
from graphgauge.recovery.graph import CIRCLE, HEAD, KIND_OF, MARKS, TAIL, Graph, Kind, Layer, Listed, Names, numbers_of


@dataclass(frozen=True, eq=False)
class Side:
    """One graph as it was read: its layers, and what it states itself; `where` is its argument, for errors.

    `names` are those of all its nodes in order; of a list of edges the nodes that `occur`, in the order of its layer,
    are known, and `names` only if they were given. `states_marks`, that its edges are given by their marks, not by
    scores; `orientation` and `sign`, that its matrix is known to use these.
    """

    where: str
    layers: tuple[Layer, ...]
    names: Names | None = None
    occur: Names | None = None
    states_marks: bool = False
    orientation: str | None = None
    sign: str | None = None


# What is in the names of lingam's classes whose matrices are of groups, times, samples or noise, not of lags alone.
_NO_LAGS = ("MultiGroup", "Longitudinal", "Bootstrap", "VARMA")


def listed(graph: Graph, where: str) -> Side:
    """Edges between names, each once; an undirected graph may list an edge both ways, alike."""
    occur = graph.nodes if graph.nodes is not None else tuple(dict.fromkeys((*graph.source, *graph.target)))
    d, marks = len(occur), graph.ends()
    source, target = (numbers_of(part, occur, where) for part in (graph.source, graph.target))
    # An arrow leads from its tail, and what has no direction from the lower number.
    is_open = (KIND_OF[marks[:, 0], marks[:, 1]] >= Kind.LINE) & (source != target)
    swapped = np.where(is_open, source > target, marks[:, 0] == HEAD)
    source, target = np.where(swapped, target, source), np.where(swapped, source, target)
    marks = np.where(swapped[:, np.newaxis], marks[:, ::-1], marks)
    kinds = np.where(is_open, KIND_OF[marks[:, 0], marks[:, 1]], int(Kind.FORWARD))
    edges = Listed.ordered(source * d + target, kinds, np.array(graph.weight, np.float64))
    again = np.flatnonzero(edges.cells[1:] == edges.cells[:-1])
    differs = again[graph.directed | (edges.weights[again] != edges.weights[again + 1])]
    if differs.size:
        ends = tuple(occur[end] for end in divmod(int(edges.cells[differs[0]]), d))
        raise InputError(f"the edge {ends!r} is listed twice", where=where, fix="List it once, with one weight.")
    once = np.delete(np.arange(len(edges.cells)), again + 1)
    return Side(where, (Layer(d, edges=edges.only(once)),), graph.nodes, occur)


def from_library(value: Any, where: str) -> Side | None:
    """The graph in a result of another library; None for everything else."""
    if isinstance(value, tuple) and len(value) == 2 and _is_general_graph(value[0]):
        value = value[0]  # causal-learn's FCI returns its graph and a list of edges
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":
        return Side(where, decoded(value, "tigramite", where), states_marks=True)  # no other tool writes edges as text
    if isinstance(value, Mapping):
        return _from_results(value, where)
    if hasattr(value, "is_multigraph") and hasattr(value, "adjacency"):
        return listed(_from_networkx(value), where)
    general = value if _is_general_graph(value) else getattr(value, "G", None)
    if _is_general_graph(general):
        return _from_causal_learn(general, where)
    if hasattr(value, "causal_matrix") and hasattr(value, "learn"):
        return _from_gcastle(value, where)
    # A model that is not fitted has its properties in its class alone.
    if any(hasattr(each, f"adjacency_matri{ending}_") for each in (value, type(value)) for ending in ("x", "ces")):
        return _from_lingam(value, where)
    return None


def _from_networkx(graph: Any) -> Graph:
    """networkx, and pgmpy, which builds on it: every edge with its `weight`, or 1 without one (pgmpy writes None).

    pgmpy's `MAG` has the marks of every edge, its `ADMG` lists edges ↔ both ways, and its `PDAG` undirected ones.
    """
    if hasattr(graph, "valid_marks"):
        starts, stops = {"o": "o", ">": "<", "-": "-"}, {"o": "o", ">": ">", "-": "-"}
        edges = [(u, v, f"{starts[marks[u]]}-{stops[marks[v]]}") for u, v, marks in graph.edges(data="marks")]
    elif hasattr(graph, "add_bidirected_edges"):
        pairs = {frozenset((u, v)): (u, v, "<->") for u, v, kind in graph.edges(data="type") if kind == "bidirected"}
        edges = [(u, v, "-->") for u, v, kind in graph.edges(data="type") if kind != "bidirected"]
        edges += pairs.values()
    elif hasattr(graph, "undirected_edges"):
        lines = {frozenset(ends): (*ends, "---") for ends in graph.undirected_edges}
        edges = [(u, v, "-->") for u, v in graph.edges() if frozenset((u, v)) not in lines]
        edges += lines.values()
    else:
        weighted = [(*ends, 1 if weight is None else weight) for *ends, weight in graph.edges(data="weight")]
        return Graph.from_edges(weighted, nodes=graph.nodes, directed=graph.is_directed())
    source, target, marks = zip(*edges, strict=True) if edges else ((), (), ())
    return Graph(source, target, marks=marks, nodes=graph.nodes)


def _is_general_graph(value: Any) -> bool:
    return hasattr(value, "get_node_names") and hasattr(value, "graph")


def _from_causal_learn(graph: Any, where: str) -> Side:
    """A `GeneralGraph`, also of a `CausalGraph`; nodes are called X1, X2, … unless they were given names."""
    # A Dag names its nodes by their methods.
    names = tuple(name() if callable(name) else name for name in graph.get_node_names())
    usual = all(re.fullmatch(rf"X{number}", str(name)) for number, name in enumerate(names, 1))
    layers = decoded(np.asarray(graph.graph), "causal-learn", where)
    return Side(where, layers, names=None if usual else names, states_marks=True)


def _from_gcastle(learner: Any, where: str) -> Side:
    """A learner's edges; the weights that it has cut rank the cells."""
    matrix = learner.causal_matrix
    columns = getattr(matrix, "columns", None)
    names = None if columns is None or tuple(columns) == tuple(range(len(columns))) else tuple(columns)
    (layer,) = decoded(np.array(matrix), "gcastle", where)
    weights = getattr(learner, "weight_causal_matrix", None)
    if weights is not None and np.shape(weights) == (layer.d, layer.d):
        layer = replace(layer, scores=_sizes(weights))
    return Side(where, (layer,), names=names, states_marks=True)


def _from_lingam(model: Any, where: str) -> Side:
    """A model's weights, row ← column, one matrix per lag; both cells of a pair with a common cause are NaN."""
    name, matrices = type(model).__name__, getattr(model, "adjacency_matrices_", None)
    if matrices is not None and any(word in name for word in _NO_LAGS):
        fix = 'Pass one of its matrices, with orientation="column_to_row", sign="absolute".'
        raise InputError(f"{name} has several graphs, not one for each lag", where=where, fix=fix)
    if matrices is None:
        matrices = [getattr(model, "adjacency_matrix_", None)]
    if matrices[0] is None:
        raise InputError(f"{name} is not fitted", where=where, fix="Call its fit first.")
    layers = []
    for lag, matrix in enumerate(matrices):
        weights = np.ascontiguousarray(np.asarray(matrix, dtype=np.float64).T)
        common = np.isnan(weights) & np.isnan(weights.T)
        if lag or not common.any():
            layers.append(Layer(len(weights), weights, late=lag > 0))
            continue
        kinds = np.where(common, int(Kind.TWO_HEADS), np.where(weights != 0, int(Kind.FORWARD), int(Kind.NONE)))
        layers.append(Layer.of_kinds(kinds, np.where(common, 1.0, weights)))
    return Side(where, tuple(layers), orientation="column_to_row", sign="absolute")


def _from_results(results: Mapping[Any, Any], where: str) -> Side | None:
    """The record of causal-learn's GES, or tigramite's results, whose test statistics rank the cells."""
    if _is_general_graph(results.get("G")):
        return _from_causal_learn(results["G"], where)
    if "val_matrix" in results and "graph" not in results:
        raise InputError("has no graph", where=where, fix="Pass the results of PCMCI with their graph.")
    if "graph" not in results or np.asarray(results["graph"]).dtype.kind not in "US":
        return None
    layers = decoded(results["graph"], "tigramite", where)
    values = results.get("val_matrix")
    if values is not None and np.shape(values) == (layers[0].d, layers[0].d, len(layers)):
        layers = tuple(replace(layer, scores=_sizes(values[:, :, lag])) for lag, layer in enumerate(layers))
    return Side(where, layers, states_marks=True)


def _sizes(values: Any) -> AnyArray:
    """The sizes of weights as scores."""
    return np.ascontiguousarray(np.abs(np.asarray(values, dtype=np.float64)))


# ---- matrices of marks


def _arrows(both: Kind) -> dict[tuple[int, int], int]:
    """1 is an arrow from row to column, and 1 in both cells an edge of this kind."""
    return {(1, 0): Kind.FORWARD, (0, 1): Kind.BACKWARD, (1, 1): both}


def _marks(codes: dict[int, int]) -> dict[tuple[int, int], int]:
    """The code in row i, column j is the mark at i."""
    return {(one, two): int(KIND_OF[codes[one], codes[two]]) for one in codes for two in codes}


def _turned(table: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """The same with rows and columns exchanged."""
    return {(two, one): kind for (one, two), kind in table.items()}


_LINES = {(2, 0): Kind.LINE, (0, 2): Kind.LINE, (2, 2): Kind.LINE}
MATRICES: dict[str, dict[tuple[int, int], int]] = {
    # −1 a tail, 1 an arrowhead, 2 a circle, at the node of the row
    "causal-learn": _marks({-1: TAIL, 1: HEAD, 2: CIRCLE}),
    # `amat.cpdag`: 1 in row j, column i is i → j
    "pcalg": _turned(_arrows(Kind.LINE)),
    # `amat.pag`: 1 a circle, 2 an arrowhead, 3 a tail, at the node of the column
    "pcalg-pag": _turned(_marks({1: CIRCLE, 2: HEAD, 3: TAIL})),
    "gcastle": _arrows(Kind.LINE),
    # 2 in one cell or in both is an undirected edge
    "gadjid": {(1, 0): Kind.FORWARD, (0, 1): Kind.BACKWARD, **_LINES},
    # for matrices of one's own
    "mixed": _arrows(Kind.LINE),
    "mag": _arrows(Kind.TWO_HEADS),
    "undirected": dict.fromkeys(_arrows(Kind.LINE), int(Kind.LINE)),
}
ENCODINGS = (*MATRICES, "tigramite")
# Lagged links: time orients them, and the mark at the earlier end may be open.
_LATER: Mapping[Any, int] = {
    "": Kind.NONE,
    "-->": Kind.FORWARD,
    "o->": Kind.CIRCLE_HEAD,
    "x->": Kind.CIRCLE_HEAD,
    "<->": Kind.TWO_HEADS,
    "o-o": Kind.FORWARD,
    "x-x": Kind.FORWARD,
}


def decoded(value: Any, encoding: str, where: str) -> tuple[Layer, ...]:
    """The layers of a graph of marks: one, or one per lag of tigramite's."""
    one_of("encoding", encoding, ENCODINGS)
    if encoding == "tigramite":
        return _tigramite(value, where)
    codes = as_numeric(value, where)
    if codes.ndim != 2 or codes.shape[0] != codes.shape[1]:
        raise InputError(f"expected a square matrix of {encoding} marks, found shape {codes.shape}", where=where)
    return (Layer.of_kinds(_kinds(codes, MATRICES[encoding], encoding, where)),)


def _kinds(codes: AnyArray, table: Mapping[Any, int], encoding: str, where: str) -> AnyArray:
    """The kind of the edge between the node of each row and that of each column."""
    nothing: Any = "" if codes.dtype.kind == "U" else 0
    kinds = np.full(codes.shape, -1)
    for (here, opposite), kind in (((nothing, nothing), Kind.NONE), *table.items()):
        kinds[(codes == here) & (opposite == codes.T)] = kind
    _refuse(kinds < 0, codes, encoding, where)
    return kinds


def _tigramite(value: Any, where: str) -> tuple[Layer, ...]:
    """Links as text: `-->` from i at t − lag to j at t, `<--` its other end, `<->`, and `o` for an open end.

    PCMCI+ writes `o-o` for an undirected edge and `x-x` for one with conflicting directions; LPCMCI, which writes other
    open ends too, for circles. At lag 0 one of the two cells of a pair is enough.
    """
    links = as_array(value, where, ragged="Pass an array of tigramite's links.").astype(np.str_)
    links = links[:, :, np.newaxis] if links.ndim == 2 else links
    if links.ndim != 3 or links.shape[0] != links.shape[1] or not links.shape[2]:
        raise InputError(f"expected tigramite's links (d, d, lags + 1), found shape {links.shape}", where=where)
    now, later = links[:, :, 0], links[:, :, 1:]
    circles = not np.isin(links, ("", "-->", "<--", "o-o", "x-x")).all()
    table: dict[tuple[str, str], int] = {}
    for text, (start, stop) in MARKS.items():
        line = not circles and text in ("o-o", "x-x")
        alike = {opposite for opposite, ends in MARKS.items() if ends == (stop, start)}
        kind = int(Kind.LINE) if line else int(KIND_OF[start, stop])
        table |= {(text, opposite): kind for opposite in alike} | {(text, ""): kind}
        table |= {("", opposite): kind for opposite in alike}
    kinds = np.select([later == text for text in _LATER], list(map(int, _LATER.values())), -1)
    _refuse(kinds < 0, later, "tigramite", where)
    late = (Layer.of_kinds(kinds[:, :, lag], late=True) for lag in range(later.shape[2]))
    return (Layer.of_kinds(_kinds(now, table, "tigramite", where)), *late)


def _refuse(wrong: AnyArray, codes: AnyArray, encoding: str, where: str) -> None:
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0].tolist())
        what = f"{wrong.sum()} cells have marks that the {encoding} encoding does not have, the first {codes[first]!s}"
        raise InputError(f"{what} at {first}", where=where, fix="Name the encoding that the tool writes.")
