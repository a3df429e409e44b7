"""How tools write the marks of edges into matrices, by name; never guessed.

An encoding is a table: the kind of the edge between i and j by what is in row i, column j and in row j, column i.
Combinations that are not in it do not occur in graphs of that tool, and are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.types import AnyArray
from graphgauge.recovery.graph import CIRCLE, HEAD, KIND_OF, MARKS, TAIL, Kind
from graphgauge.recovery.layers import Layer, Listed

Table = Mapping[Any, int]


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
_LATER: Table = {
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
    return (_layer(_kinds(codes, MATRICES[encoding], encoding, where)),)


def _kinds(codes: AnyArray, table: Table, encoding: str, where: str) -> AnyArray:
    """The kind of the edge between the node of each row and that of each column."""
    nothing: Any = "" if codes.dtype.kind == "U" else 0
    kinds = np.full(codes.shape, -1)
    for (here, opposite), kind in (((nothing, nothing), Kind.NONE), *table.items()):
        kinds[(codes == here) & (opposite == codes.T)] = kind
    _refuse(kinds < 0, codes, encoding, where)
    return kinds


def _layer(kinds: AnyArray, *, late: bool = False) -> Layer:
    if not late:
        np.fill_diagonal(kinds, Kind.NONE)
    held = (kinds != Kind.NONE) if late else (kinds == Kind.FORWARD) | (np.triu(kinds) >= Kind.LINE)
    cells = np.flatnonzero(held)
    return Layer(len(kinds), edges=Listed(cells, kinds.ravel()[cells], np.ones(len(cells), np.uint8)), late=late)


def _tigramite(value: Any, where: str) -> tuple[Layer, ...]:
    """Links as text: `-->` from i at t − lag to j at t, `<--` its other end, `<->`, and `o` for an open end.

    PCMCI+ writes `o-o` for an undirected edge and `x-x` for one with conflicting directions; LPCMCI, which writes other
    open ends too, for circles. At lag 0 one of the two cells of a pair is enough.
    """
    try:
        links = np.asarray(value).astype(np.str_)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, or a tensor
        raise InputError("is not an array of tigramite's links", where=where, fix="Pass an array of text.") from None
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
    layers = [_layer(_kinds(now, table, "tigramite", where))]
    kinds = np.select([later == text for text in _LATER], list(map(int, _LATER.values())), -1)
    _refuse(kinds < 0, later, "tigramite", where)
    return (*layers, *(_layer(kinds[:, :, lag], late=True) for lag in range(later.shape[2])))


def _refuse(wrong: AnyArray, codes: AnyArray, encoding: str, where: str) -> None:
    if wrong.any():
        first = tuple(int(index) for index in np.argwhere(wrong)[0])
        opposite = codes[(first[1], first[0], *first[2:])]
        raise InputError(
            f"{np.count_nonzero(wrong)} cells have marks that the {encoding} encoding does not have, the first at "
            f"{first}: {codes[first]!s} with {opposite!s} opposite",
            where=where,
            fix="Name the encoding that the tool writes.",
        )
