"""Graph files: matrices, edge lists and network formats."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.files import DAMAGE, first_line, read_json
from graphgauge.core.graphs import EdgeList, NamedMatrix
from graphgauge.io.arrays import read_array
from graphgauge.io.delimited import Row, as_floats, equally_long, is_number, read_rows, unreadable
from graphgauge.io.npz import open_npz
from graphgauge.io.parquet import read_parquet

_EDGE_COLUMNS = (("source", "target"), ("source", "target", "weight"))


def read_graph(path: str | Path) -> Any:
    """Read a graph file by its ending, in a form that `recovery.evaluate` takes.

    `.npy`, `.npz` (one array, or scipy's sparse format) and torch files have matrices or stacks. `.csv` and `.parquet`
    contain a matrix, with or without node names, or columns source, target and optionally weight. `.json` contains a
    matrix as lists, or nodes and edges, also as networkx writes them. `.gml`, `.graphml`, `.bif` and `.bif.gz` contain
    networks.
    """
    target = Path(path)
    ending = "".join(target.suffixes[-2:]).lower() if target.suffix == ".gz" else target.suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        return read_array(path)
    if not target.exists():
        raise InputError("no such file", where=str(path))
    try:
        return reader(target)
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(f"cannot be read as {ending} ({first_line(error)})", where=str(path)) from None


def _read_npz(path: Path) -> Any:
    with open_npz(path) as archive:
        sparse = {"format", "shape", "data"} <= set(archive.files)
    if not sparse:
        return read_array(path)
    from scipy.sparse import load_npz

    return load_npz(path)


def _read_csv(path: Path) -> Any:
    rows = list(read_rows(path))
    if not rows:
        raise InputError("is empty", where=str(path))
    (_, head), *below = rows
    if tuple(head) in _EDGE_COLUMNS:
        return _listed(head, below, path)
    if all(is_number(cell) for cell in head) and len(rows) == len(head):
        return as_floats(rows, path)
    # The corner is empty, or missing, if the first column contains the row names.
    names = head[1:] if len(head) == len(rows[-1][1]) and len(rows) == len(head) else head
    body = as_floats([(line, cells[-len(names) :]) for line, cells in below], path)
    labels = [cells[0] for _, cells in below] if len(rows[-1][1]) > len(names) else names
    return _named(body, labels, names, path)


def _read_parquet(path: Path) -> Any:
    table = read_parquet(path)
    if tuple(table.column_names) in _EDGE_COLUMNS:
        columns = [table[name].to_pylist() for name in table.column_names]
        return EdgeList(list(zip(*columns, strict=True)))
    columns = [name for name in table.column_names if not _is_text(table[name])]
    if not columns:
        raise InputError("has no column of numbers", where=str(path))
    first = table.column_names[0]
    values = np.column_stack([table[name].to_numpy() for name in columns])
    labels = table[first].to_pylist() if first not in columns else columns
    return _named(values, labels, columns, path)


def _read_json(path: Path) -> Any:
    content = read_json(path)
    if isinstance(content, list):
        return np.array(content, dtype=float)
    if not isinstance(content, dict) or "nodes" not in content or not {"edges", "links"} & set(content):
        raise InputError("expected a matrix as lists, or an object with nodes and edges", where=str(path))
    listed = content["edges"] if "edges" in content else content["links"]
    nodes = tuple(node["id"] if isinstance(node, dict) else node for node in content["nodes"])
    edges = [_json_edge(edge) for edge in listed]
    return EdgeList(edges, nodes, undirected=not content.get("directed", True))


def _json_edge(edge: Any) -> tuple[Any, ...]:
    if isinstance(edge, dict):
        return edge["source"], edge["target"], edge.get("weight", 1)
    source, target, *weight = edge
    return source, target, weight[0] if weight else 1


def _read_gml(path: Path) -> Any:
    networkx = need("networkx", "reading .gml")
    try:
        return networkx.read_gml(path)
    except networkx.NetworkXError as error:
        raise ValueError(str(error)) from None


def _read_graphml(path: Path) -> Any:
    from xml.etree.ElementTree import ParseError

    networkx = need("networkx", "reading .graphml")
    try:
        return networkx.read_graphml(path)
    except (networkx.NetworkXError, ParseError) as error:
        raise ValueError(str(error)) from None


def _read_bif(path: Path) -> EdgeList:
    """The structure of a Bayesian network in the Interchange Format: an edge from each parent to its variable."""
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else Path.open
    with opener(path, "rt", encoding="utf-8") as stream:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", stream.read(), flags=re.DOTALL)
    nodes = tuple(_unquoted(name) for name in re.findall(r"\bvariable\s+(\"[^\"]*\"|[^\s{]+)\s*\{", text))
    edges = []
    for block in re.findall(r"\bprobability\s*\(([^)]*)\)", text):
        child, _, parents = block.partition("|")
        names = [_unquoted(name) for name in re.findall(r"\"[^\"]*\"|[^\s,]+", parents)]
        edges += [(parent, _unquoted(child.strip())) for parent in names]
    if not nodes:
        raise InputError("declares no variable", where=str(path), fix="Expected the Bayesian Interchange Format.")
    return EdgeList(edges, nodes)


def _named(values: Any, rows: Sequence[Any], columns: Sequence[Any], path: Path) -> NamedMatrix:
    """The matrix with its rows in the order of its columns."""
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise InputError(f"expected as many rows as named columns, found {values.shape}", where=str(path))
    if list(rows) != list(columns):
        if sorted(map(str, rows)) != sorted(map(str, columns)):
            raise InputError("rows and columns name different nodes", where=str(path))
        place = {label: index for index, label in enumerate(rows)}
        values = values[[place[label] for label in columns]]
    return NamedMatrix(values, tuple(columns))


def _listed(head: list[str], below: list[Row], path: Path) -> EdgeList:
    """Edges from text below a header: numbers if every node is one, otherwise names."""
    edges: list[tuple[Any, ...]] = []
    for line, (source, target, *weights) in equally_long(below, len(head), path):
        if not source.strip() or not target.strip():
            raise unreadable(path, line, "an empty cell", "Name both nodes of every edge.")
        if not all(is_number(weight) for weight in weights):
            raise unreadable(path, line, f"a weight is not a number: {weights[0]!r:.60}", "Give every edge a weight.")
        edges.append((source, target, *map(float, weights)))
    if all(re.fullmatch(r"\d+", end) for edge in edges for end in edge[:2]):
        return EdgeList([(int(source), int(target), *weights) for source, target, *weights in edges])
    return EdgeList(edges)


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name


def _is_text(column: Any) -> bool:
    return str(column.type) in ("string", "large_string")


_READERS: dict[str, Callable[[Path], Any]] = {
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".gml": _read_gml,
    ".graphml": _read_graphml,
    ".bif": _read_bif,
    ".bif.gz": _read_bif,
}
