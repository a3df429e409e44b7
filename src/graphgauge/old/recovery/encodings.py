"""Encodings of graphs by the marks at the ends of their edges, decoded to one form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.old.recovery.marks import ARROWHEAD, CIRCLE, NO_MARK, TAIL, Edge, Ends, kinds_of_ends

Codes = NDArray[Any]
Cells = NDArray[np.bool_]
# A lagged edge is an arrow, has a start that is unknown (o→), or has two arrowheads (↔).
LAGGED_ARROW, LAGGED_CIRCLE, LAGGED_TWO_HEADS = 1, 2, 3


@dataclass(frozen=True)
class Decoded:
    """A graph by its marks: `ends[i, j]` is the mark at j of the edge between i and j.

    `late` are the kinds of the lagged edges (lags, d, d), from i to j.
    """

    ends: Ends
    late: NDArray[np.int64] | None = None

    @property
    def cells(self) -> Cells:
        """Arrows in one cell, edges without direction in both; (d, d), or (d, d, lags + 1)."""
        arrow = (self.ends == ARROWHEAD) & (self.ends.T == TAIL)
        kinds = kinds_of_ends(self.ends)
        now = arrow | (kinds >= Edge.LINE)
        return now if self.late is None else np.concatenate([now[np.newaxis], self.late > 0]).transpose(1, 2, 0)

    @property
    def has_more_than_lines(self) -> bool:
        """Whether there are edges other than arrows and undirected ones."""
        return bool((kinds_of_ends(self.ends) > Edge.LINE).any())

    @property
    def has_late_marks(self) -> bool:
        return self.late is not None and bool((self.late > LAGGED_ARROW).any())


def decode(value: Any, encoding: str, name: str) -> Decoded:
    """The marks of a graph; codes that the encoding does not have are an error with their position."""
    one_of("encoding", encoding, ENCODINGS)
    if encoding == "tigramite":
        return _tigramite(value, name)
    codes = as_numeric(value, name)
    if codes.ndim != 2 or codes.shape[0] != codes.shape[1]:
        raise InputError(f"expected a square matrix of {encoding} marks, found shape {codes.shape}", where=name)
    _refuse(_UNKNOWN[encoding](codes, codes.T), codes, encoding, name)
    ends = _DECODERS[encoding](codes).astype(np.int8)
    np.fill_diagonal(ends, NO_MARK)
    return Decoded(ends)


def _refuse(wrong: Cells, codes: Codes, encoding: str, name: str) -> None:
    if wrong.any():
        first = tuple(int(index) for index in np.argwhere(wrong)[0])
        opposite = codes[(first[1], first[0], *first[2:])]
        raise InputError(
            f"{np.count_nonzero(wrong)} cells have marks that the {encoding} encoding does not have, the first at "
            f"{first}: {codes[first]!s} with {opposite!s} opposite",
            where=name,
            fix="Name the encoding that the tool writes.",
        )


def _arrows_and_lines(arrow: Cells, line: Cells) -> Ends:
    """Ends from arrows [i, j] for i → j, and undirected edges in both cells."""
    ends = np.zeros(arrow.shape, np.int8)
    ends[arrow] = ARROWHEAD
    ends[arrow.T | line] = TAIL
    return ends


def _causal_learn(codes: Codes) -> Ends:
    """The mark in row i, column j is at i: a tail is −1, an arrowhead 1, a circle 2."""
    at_end = codes.T
    return np.select([at_end == -1, at_end == 1, at_end == 2], [TAIL, ARROWHEAD, CIRCLE], NO_MARK)


def _pcalg(codes: Codes) -> Ends:
    """`amat.cpdag`: the mark in row a, column b is at a, so a → b is a 1 in row b, column a."""
    return _gcastle(codes.T)


def _pcalg_pag(codes: Codes) -> Ends:
    """`amat.pag`: the mark in row a, column b is at b; 1 is a circle, 2 an arrowhead, 3 a tail."""
    return np.asarray(codes)


def _gcastle(codes: Codes) -> Ends:
    """1 is row → column; both cells of a pair are an undirected edge."""
    filled = codes == 1
    return _arrows_and_lines(filled & ~filled.T, filled & filled.T)


def _gadjid(codes: Codes) -> Ends:
    """1 is row → column; 2 is undirected, and one of the two cells is enough."""
    return _arrows_and_lines(codes == 1, (codes == 2) | (codes.T == 2))


_LINK_ENDS = {"-": TAIL, "<": ARROWHEAD, ">": ARROWHEAD, "o": CIRCLE, "x": CIRCLE}
_PLAIN_LINKS = ("-->", "<--", "o-o", "x-x")
_LINKS = {
    f"{start}-{end}": (_LINK_ENDS[start], _LINK_ENDS[end])
    for start in ("-", "<", "o", "x")
    for end in ("-", ">", "o", "x")
}
_LAGGED_LINKS = {
    "-->": LAGGED_ARROW,
    "o->": LAGGED_CIRCLE,
    "x->": LAGGED_CIRCLE,
    "<->": LAGGED_TWO_HEADS,
    "o-o": LAGGED_ARROW,
    "x-x": LAGGED_ARROW,
}


def _tigramite(value: Any, name: str) -> Decoded:
    """Links as text: `-->` from i at t − lag to j at t, `<--` its other end, `<->`, and `o` for an open end.

    PCMCI+ writes `o-o` for an undirected edge and `x-x` for one with conflicting directions; LPCMCI, which writes other
    open ends too, for circles. At lag 0 one of the two cells of a pair is enough; time orients the others.
    """
    try:
        links = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, or a tensor
        raise InputError("is not an array of tigramite links", where=name, fix="Pass an array of text.") from None
    links = links[:, :, np.newaxis] if links.ndim == 2 else links
    if links.ndim != 3 or links.shape[0] != links.shape[1]:
        raise InputError(f"expected a square matrix of tigramite marks, found shape {links.shape}", where=name)
    now, later = links[:, :, 0], links[:, :, 1:]
    circles = not np.isin(links, ("", *_PLAIN_LINKS)).all()
    near, far = np.zeros(now.shape, np.int8), np.zeros(now.shape, np.int8)
    for text, (start, end) in _LINKS.items():
        line = not circles and text in ("o-o", "x-x")
        near[now == text], far[now == text] = (TAIL, TAIL) if line else (start, end)
    wrong = np.zeros(links.shape, bool)
    both = (now != "") & (now.T != "") & ~np.eye(len(now), dtype=bool)
    wrong[:, :, 0] = ~np.isin(now, ("", *_LINKS)) | both & ((near != far.T) | (far != near.T))
    wrong[:, :, 1:] = ~np.isin(later, ("", *_LAGGED_LINKS))
    _refuse(wrong, links, "tigramite", name)
    ends = np.where(now != "", far, near.T)
    np.fill_diagonal(ends, NO_MARK)
    late = np.zeros(later.shape, np.int64)
    for text, kind in _LAGGED_LINKS.items():
        late[later == text] = kind
    return Decoded(ends.astype(np.int8), late.transpose(2, 0, 1))


_DECODERS: dict[str, Callable[[Codes], Any]] = {
    "causal-learn": _causal_learn,
    "pcalg": _pcalg,
    "pcalg-pag": _pcalg_pag,
    "gcastle": _gcastle,
    "gadjid": _gadjid,
}
ENCODINGS = (*_DECODERS, "tigramite")

_UNKNOWN: dict[str, Callable[[Codes, Codes], Cells]] = {
    "causal-learn": lambda codes, turned: ~np.isin(codes, (0, -1, 1, 2)) | ((codes == 0) != (turned == 0)),
    "pcalg": lambda codes, turned: (codes != 0) & (codes != 1),
    "pcalg-pag": lambda codes, turned: ~np.isin(codes, (0, 1, 2, 3)) | ((codes == 0) != (turned == 0)),
    "gcastle": lambda codes, turned: (codes != 0) & (codes != 1),
    "gadjid": lambda codes, turned: (
        ~np.isin(codes, (0, 1, 2)) | (codes == 1) & (turned != 0) | (codes == 2) & (turned == 1)
    ),
}
