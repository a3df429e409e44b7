"""The joint forecast: do members that belong together fit the truth of several nodes at once?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.forecasting.inputs import Slab
from graphgauge.kernels.forecast import Sums
from graphgauge.kernels.forecast_columns import column_sums
from graphgauge.kernels.forecast_joint import Joint, energy_scores, variogram_scores

# The order of the variogram, as recommended by Scheuerer and Hamill.
POWER = 0.5
_SCORES = ("energy", "variogram")


@dataclass(frozen=True)
class Pairs:
    """Pairs of nodes, found in a graph."""

    pairs: Ints


@dataclass(frozen=True)
class JointLayout:
    """The columns of the joint scores: each score, that with shuffled members, and the number of vectors."""

    members: int

    @cached_property
    def floats(self) -> tuple[str, ...]:
        return tuple(f"{name}{kind}" for name in _SCORES for kind in ("", "_shuffled"))

    @cached_property
    def counts(self) -> tuple[str, ...]:
        return ("n", "variogram_n")

    def column(self, name: str) -> int:
        return self.floats.index(name)


def joint_sums(slab: Slab, blocks: int, first: int, graph: Ints | None) -> Sums:
    """The joint scores of a slab by time block and horizon.

    `first` is the index of the first step, `graph` are pairs of nodes.
    """
    assert slab.members is not None
    steps, horizons, size = slab.y.shape
    found: dict[str, Joint] = {}

    def vectors(array: Any) -> Any:
        return None if array is None else array.reshape(steps * horizons, *array.shape[2:])

    if size > 1:
        y, members, mask = vectors(slab.y), vectors(slab.members), vectors(slab.mask)
        found["energy"] = energy_scores(y, members, mask, first=first * horizons)
        if graph is not None:
            found["variogram"] = variogram_scores(y, members, graph, mask, power=POWER, first=first * horizons)
    nothing = Joint(*np.full((2, steps * horizons), np.nan))
    scores = [found.get(name, nothing) for name in _SCORES]

    def by_step(values: Any) -> Any:
        return values.reshape(steps, horizons)

    floats = [by_step(np.where(np.isnan(values), 0.0, values)) for score in scores for values in score]
    counts = [by_step(~np.isnan(score.score)) for score in scores]
    return column_sums(floats, counts, (blocks, steps // max(blocks, 1), horizons, 1))[0]


def graph_pairs(graph: Any, nodes: int, names: list[Any] | None) -> Ints:
    """Pairs of different nodes that an edge joins, each once: from an adjacency matrix, or from edges.

    Edges are rows (source, target) or two rows as in PyTorch Geometric; ends are positions, or names of nodes.
    """
    array = np.asarray(graph) if _is_text(graph) else as_numeric(graph, "graph")
    if array.ndim == 2 and array.shape == (nodes, nodes) and array.dtype.kind != "U":
        ends = np.argwhere((array != 0) & ~np.isnan(array) if array.dtype.kind == "f" else array != 0)
    elif array.ndim == 2 and 2 in array.shape:
        edges = array if array.shape[1] == 2 else array.T
        if array.shape == (2, 2) and not _same_pairs(array):
            raise InputError(
                "two edges in two rows: are the rows edges, or the columns, as in PyTorch Geometric?",
                where="graph",
                fix="Repeat an edge, so that there are three rows or three columns, or pass an adjacency matrix.",
            )
        ends = _positions(edges, nodes, names)
    else:
        raise InputError(
            f"has the shape {array.shape}, for {nodes} nodes",
            where="graph",
            fix="Pass an adjacency matrix (node, node), or edges as rows (source, target).",
        )
    pairs = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0).astype(np.int64)
    if not len(pairs):
        raise InputError("has no edge between two nodes", where="graph", fix="Leave it out.")
    return pairs


def _same_pairs(array: Any) -> bool:
    """Whether two edges are the same as rows and as columns."""
    rows, columns = ({tuple(sorted(edge)) for edge in side.tolist()} for side in (array, array.T))
    return rows == columns


def graph_text(pairs: Ints | None) -> str | None:
    """A graph as text for comparisons."""
    return None if pairs is None else f"{len(pairs)} pairs {sha256(pairs.tobytes()).hexdigest()[:16]}"


def _is_text(graph: Any) -> bool:
    return np.asarray(graph).dtype.kind in "UO" if not hasattr(graph, "detach") else False


def _positions(edges: Any, nodes: int, names: list[Any] | None) -> Ints:
    if edges.dtype.kind in "UO":
        place = {str(name): index for index, name in enumerate(names or ())}
        unknown = next((end for end in edges.ravel().tolist() if str(end) not in place), None)
        if unknown is not None:
            raise InputError(
                f"{unknown!r:.60} is not the name of a node", where="graph", fix="Pass nodes=, or positions."
            )
        return np.array([[place[str(end)] for end in edge] for edge in edges.tolist()], np.int64).reshape(-1, 2)
    if edges.dtype.kind == "f" and (edges != np.floor(edges)).any():
        raise InputError("has ends that are not whole numbers", where="graph", fix="Edges are pairs of positions.")
    if edges.size and not 0 <= edges.min() <= edges.max() < nodes:
        raise InputError(
            f"positions from {edges.min():g} to {edges.max():g}, but there are {nodes} nodes",
            where="graph",
            fix="Positions count from 0.",
        )
    return np.asarray(edges, np.int64)
