"""Graph files: matrices, edge lists and network formats."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.old.core.files import DAMAGE, first_line, read_json, read_unpacked, require_file
from graphgauge.old.core.graphs import EdgeList, EdgeMarks, NamedMatrix
from graphgauge.old.core.grids import is_number
from graphgauge.old.io.arrays import read_array
from graphgauge.old.io.delimited import Row, as_floats, equally_long, read_rows, require_columns, unreadable
from graphgauge.old.io.npz import open_npz
from graphgauge.old.io.parquet import read_parquet


def read_graph(path: str | Path, columns: Mapping[str, str] | None = None) -> Any:
    """Read a graph file by its ending, in a form that `recovery.evaluate` takes.

    `.npy`, `.npz` (one array, or scipy's sparse format) and torch files have matrices or stacks. `.csv`, `.tsv` and
    `.parquet` contain a matrix, with or without node names, or edges: the columns source, target and optionally weight,
    or those in `columns`. A file without these columns is read as if none were named. `.json` contains a matrix as
    lists, or nodes and edges, also as networkx writes them. `.gml`, `.graphml`, `.bif` and `.bif.gz` contain networks,
    and `.txt` a graph as Tetrad saves it or a model string of bnlearn.
    """
    target = Path(path)
    ending = "".join(target.suffixes[-2:]).lower() if target.suffix == ".gz" else target.suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        return read_array(path)
    if not target.exists():
        raise InputError("no such file", where=str(path))
    try:
        if columns is not None and has_columns(target, columns):
            return _read_listed(target, columns)
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
    rows = list(read_rows(path, _separator(path)))
    if not rows:
        raise InputError("is empty", where=str(path))
    (_, head), *below = rows
    if tuple(head) in _EDGE_COLUMNS:
        return _listed(head, below, head, path)
    # In a square table whose first cell is a number no line contains names; a cell that is no number is then an error.
    if is_number(head[0]) and len(rows) == len(head):
        return as_floats(rows, path)
    # The corner is empty, or missing, if the first column contains the row names.
    names = head[1:] if len(head) == len(rows[-1][1]) and len(rows) == len(head) else head
    try:
        body = as_floats([(line, cells[-len(names) :]) for line, cells in below], path)
    except InputError as error:
        if len(head) > 1 and len(rows) != len(head):
            raise InputError(error.what, where=error.where, fix=_name_columns(head)) from None
        raise
    labels = [cells[0] for _, cells in below] if len(rows[-1][1]) > len(names) else names
    return _named(body, labels, names, path)


def _separator(path: Path) -> str:
    """The character between cells: what the first line has more of, tabs, semicolons or commas."""
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        first = next((line for line in stream if line.strip()), "")
    return max(",\t;", key=first.count)


def has_columns(path: str | Path, columns: Mapping[str, str]) -> bool:
    """Whether a file is a table with some of these columns."""
    target = Path(path)
    if _READERS.get(target.suffix.lower()) is _read_csv:
        require_file(target)
        names = next(read_rows(target, _separator(target)), (0, []))[1]
    elif target.suffix.lower() == ".parquet":
        names = read_parquet(target).column_names
    else:
        return False
    return not {name.strip() for name in names}.isdisjoint(columns.values())


def _read_listed(path: Path, columns: Mapping[str, str]) -> EdgeList:
    """Edges from the columns that the caller names."""
    chosen = tuple(columns[role] for role in ("source", "target", "weight") if role in columns)
    if path.suffix.lower() == ".parquet":
        table = read_parquet(path)
        require_columns(chosen, table.column_names, path)
        return EdgeList(list(zip(*(table[name].to_pylist() for name in chosen), strict=True)))
    rows = list(read_rows(path, _separator(path)))
    if not rows:
        raise InputError("is empty", where=str(path))
    (_, head), *below = rows
    head = [name.strip() for name in head]
    require_columns(chosen, head, path)
    return _listed(head, below, chosen, path)


def _read_parquet(path: Path) -> Any:
    table = read_parquet(path)
    if tuple(table.column_names) in _EDGE_COLUMNS:
        return EdgeList(list(zip(*(column.to_pylist() for column in table.columns), strict=True)))
    columns = [name for name in table.column_names if not _is_text(table[name])]
    if not columns:
        raise InputError("has no column of numbers", where=str(path), fix=_name_columns(table.column_names))
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
    if path.suffix == ".gz":
        with gzip.open(path) as stream:
            content = read_unpacked(stream, path.stat().st_size, str(path))
    else:
        content = path.read_bytes()
    text = _without_comments(content.decode())
    nodes = tuple(_unquoted(name) for name in re.findall(r"\bvariable\s+(\"[^\"]*\"|[^\s{]+)\s*\{", text))
    edges = []
    for block in re.findall(r"\bprobability\s*\(([^()]*)\)", text):
        child, _, parents = block.partition("|")
        names = [_unquoted(name) for name in re.findall(r"\"[^\"]*\"|[^\s,]+", parents)]
        edges += [(parent, _unquoted(child.strip())) for parent in names]
    if not nodes:
        raise InputError("declares no variable", where=str(path), fix="Expected the Bayesian Interchange Format.")
    return EdgeList(edges, nodes)


def _without_comments(text: str) -> str:
    """Each `//` to the end of its line and `/* … */` replaced by a space, in time proportional to the text."""
    parts, place = [], 0
    while found := re.compile(r"//|/\*").search(text, place):
        parts += [text[place : found.start()], " "]
        end = text.find("\n" if found[0] == "//" else "*/", found.end())
        if end < 0:
            # An open comment is no comment.
            return "".join(parts) + (text[found.start() :] if found[0] == "/*" else "")
        place = end if found[0] == "//" else end + 2
    return "".join([*parts, text[place:]])


def _named(values: Any, rows: Sequence[Any], columns: Sequence[Any], path: Path) -> NamedMatrix:
    """The matrix with its rows in the order of its columns."""
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        what = f"expected as many rows as named columns, found {values.shape}"
        raise InputError(what, where=str(path), fix=_name_columns(columns))
    if list(rows) != list(columns):
        if sorted(map(str, rows)) != sorted(map(str, columns)):
            raise InputError("rows and columns name different nodes", where=str(path))
        place = {label: index for index, label in enumerate(rows)}
        values = values[[place[label] for label in columns]]
    return NamedMatrix(values, tuple(columns))


def _listed(head: list[str], below: list[Row], columns: Sequence[str], path: Path) -> EdgeList:
    """Edges from text below a header: numbers if every node is one, written without leading zeros, otherwise names."""
    places = [head.index(name) for name in columns]
    edges: list[tuple[Any, ...]] = []
    for line, cells in equally_long(below, len(head), path):
        source, target, *weights = (cells[place].strip() for place in places)
        if not source or not target:
            raise unreadable(path, line, "an empty cell", "Name both nodes of every edge.")
        if not all(is_number(weight) for weight in weights):
            raise unreadable(path, line, f"a weight is not a number: {weights[0]!r:.60}", "Give every edge a weight.")
        edges.append((source, target, *map(float, weights)))
    if all(re.fullmatch(r"0|[1-9]\d*", end) for edge in edges for end in edge[:2]):
        return EdgeList([(int(source), int(target), *weights) for source, target, *weights in edges])
    return EdgeList(edges)


# The ends of an edge as Tetrad writes them.
_TETRAD_ENDS = {"-": 3, "<": 2, ">": 2, "o": 1}
_TETRAD_EDGE = re.compile(r"^\s*(?:\d+\.\s+)?(\S+)\s+([-<o])-([->o])\s+(\S+)\s*.*$")


def _read_text(path: Path) -> Any:
    """Tetrad's saved graph, or bnlearn's model string `[A][B|A][C|A:B]`."""
    text = path.read_text(encoding="utf-8-sig")
    if re.match(r"\s*\[[^\[\]]+\]", text):
        return _model_string(text, path)
    nodes = re.search(r"Graph Nodes:\s*\n([^\n]*)", text)
    body = text.partition("Graph Edges:")[2]
    if nodes is None or "Graph Edges:" not in text:
        raise InputError(
            "is neither a graph that Tetrad saved nor a model string of bnlearn",
            where=str(path),
            fix='Expected "Graph Nodes:" and "Graph Edges:", or [A][B|A].',
        )
    edges: list[tuple[str, str, int, int]] = []
    for line in body.splitlines():
        if not line.strip() or re.match(r"\s*Graph (Attributes|Node Attributes):", line):
            if edges or "Attributes" in line:
                break
            continue
        found = _TETRAD_EDGE.match(line)
        if found is None:
            raise InputError(f"{line.strip()!r:.80} is not an edge", where=str(path))
        source, start, end, target = found.groups()
        edges.append((source, target, _TETRAD_ENDS[start], _TETRAD_ENDS[end]))
    return EdgeMarks(edges, tuple(name.strip() for name in re.split("[;,]", nodes[1]) if name.strip()))


def _model_string(text: str, path: Path) -> EdgeList:
    blocks = re.findall(r"\[([^\[\]]+)\]", text)
    if re.sub(r"\[[^\[\]]+\]|\s", "", text):
        raise InputError("has text outside of the brackets", where=str(path), fix="Expected [A][B|A][C|A:B].")
    nodes, edges = [], []
    for block in blocks:
        child, _, parents = block.partition("|")
        nodes.append(child.strip())
        edges += [(parent.strip(), child.strip()) for parent in parents.split(":") if parent.strip()]
    return EdgeList(edges, tuple(nodes))


def _unquoted(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name


def _is_text(column: Any) -> bool:
    return str(column.type) in ("string", "large_string")


def _name_columns(head: Sequence[str]) -> str:
    named = ",".join(f"{role}={name}" for role, name in zip(("source", "target", "weight"), head, strict=False))
    return f"The header is {', '.join(head):.200}; for a list of edges name its columns, such as --columns {named:.200}"


_EDGE_COLUMNS = (("source", "target"), ("source", "target", "weight"))
_READERS: dict[str, Callable[[Path], Any]] = {
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".gml": _read_gml,
    ".graphml": _read_graphml,
    ".bif": _read_bif,
    ".bif.gz": _read_bif,
    ".tsv": _read_csv,
    ".txt": _read_text,
}
