"""Encodings of graphs with undirected edges, decoded to one form: A[i, j] for i → j, both cells for i – j."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, one_of

Marks = NDArray[Any]
Cells = NDArray[np.bool_]


def decode(value: Any, encoding: str, name: str) -> Cells:
    """The adjacency of a matrix of marks; a mark that no CPDAG has is an error with its position."""
    one_of("encoding", encoding, ENCODINGS)
    marks = _links(value, name) if encoding == "tigramite" else as_numeric(value, name)
    if marks.ndim != (3 if encoding == "tigramite" else 2) or marks.shape[0] != marks.shape[1]:
        raise InputError(f"expected a square matrix of {encoding} marks, found shape {marks.shape}", where=name)
    _refuse(_UNKNOWN[encoding](marks, marks.swapaxes(0, 1)), marks, encoding, name)
    return ENCODINGS[encoding](marks)


def _links(value: Any, name: str) -> Marks:
    """tigramite's links lag by lag; without lags they are those of lag 0."""
    try:
        links = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, or a tensor
        raise InputError("is not an array of tigramite links", where=name, fix="Pass an array of text.") from None
    return links[:, :, np.newaxis] if links.ndim == 2 else links


def _refuse(wrong: Cells, marks: Marks, encoding: str, name: str) -> None:
    if wrong.any():
        first = tuple(int(index) for index in np.argwhere(wrong)[0])
        opposite = marks[(first[1], first[0], *first[2:])]
        raise InputError(
            f"{np.count_nonzero(wrong)} cells have marks that no graph with directed and undirected edges has in the "
            f"{encoding} encoding, the first at {first}: {marks[first]!s} with {opposite!s} opposite",
            where=name,
            fix="Bidirected and circle marks belong to PAGs, which are not compared here.",
        )


def _causal_learn(marks: Marks) -> Cells:
    """A tail is −1, in the row of the edge's start; an arrowhead is 1, in the row of its end."""
    return np.asarray(marks == -1)


def _pcalg(marks: Marks) -> Cells:
    """`amat.cpdag`: the mark in row a, column b is at a, so a → b is a 1 in row b, column a."""
    return np.asarray(marks.T == 1)


def _gcastle(marks: Marks) -> Cells:
    """1 is row → column; both cells of a pair are an undirected edge."""
    return np.asarray(marks == 1)


def _gadjid(marks: Marks) -> Cells:
    """1 is row → column; 2 is undirected, and one of the two cells is enough."""
    return np.asarray((marks == 1) | (marks == 2) | (marks.T == 2))


def _tigramite(marks: Marks) -> Cells:
    """Links as text, lag by lag: `-->` from i at t − lag to j at t; `<--` its other end; `o-o`, `x-x` are undirected.

    At lag 0 one of the two cells of a pair is enough.
    """
    cells = np.isin(marks, ("-->", *_UNDIRECTED))
    now = marks[:, :, 0]
    cells[:, :, 0] |= ((now == "<--") | np.isin(now, _UNDIRECTED)).T
    return cells


def _contradicts(marks: Marks, turned: Marks) -> Cells:
    """Where a link is not one of tigramite's, or does not match the opposite cell at lag 0."""
    wrong = ~np.isin(marks, ("", "-->", "<--", *_UNDIRECTED))
    now, opposite = marks[:, :, 0], turned[:, :, 0]
    both = (now != "") & (opposite != "") & ~np.eye(len(now), dtype=bool)
    arrows = (now == "-->") & (opposite == "<--") | (now == "<--") & (opposite == "-->")
    wrong[:, :, 0] |= both & ~arrows & ~(np.isin(now, _UNDIRECTED) & np.isin(opposite, _UNDIRECTED))
    return wrong


_UNDIRECTED = ("o-o", "x-x")

ENCODINGS: dict[str, Callable[[Marks], Cells]] = {
    "causal-learn": _causal_learn,
    "pcalg": _pcalg,
    "gcastle": _gcastle,
    "gadjid": _gadjid,
    "tigramite": _tigramite,
}

_UNKNOWN: dict[str, Callable[[Marks, Marks], Cells]] = {
    # Of the nine pairs of marks (0, −1, 1) four are valid: no edge, →, ←, –.
    "causal-learn": lambda marks, turned: (
        ~((marks == 0) & (turned == 0) | (marks == -1) & (np.abs(turned) == 1) | (marks == 1) & (turned == -1))
    ),
    "pcalg": lambda marks, turned: (marks != 0) & (marks != 1),
    "gcastle": lambda marks, turned: (marks != 0) & (marks != 1),
    "gadjid": lambda marks, turned: (
        ~np.isin(marks, (0, 1, 2)) | (marks == 1) & (turned != 0) | (marks == 2) & (turned == 1)
    ),
    "tigramite": _contradicts,
}
