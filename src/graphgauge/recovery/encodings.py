"""How tools write the marks of edges into matrices, by name; never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.types import AnyArray, Mask
from graphgauge.recovery.graph import CIRCLE, HEAD, KIND_OF, MARKS, TAIL, Kind
from graphgauge.recovery.layers import Layer, Open


@dataclass(frozen=True)
class Encoding:
    """`ends(codes)[i, j]` is the mark at j of the edge between i and j; `unknown` are codes that do not occur."""

    summary: str
    ends: Callable[[AnyArray], AnyArray]
    unknown: Callable[[AnyArray, AnyArray], Mask]


def _ends(arrow: Mask, line: Mask, ends_of_line: int = TAIL) -> AnyArray:
    """Marks from arrows [i, j] for i → j, and edges in both cells whose two ends have the same mark."""
    return np.select([line, arrow, arrow.T], [ends_of_line, HEAD, TAIL], 0)


def _both(codes: AnyArray, ends_of_line: int) -> AnyArray:
    filled = codes == 1
    return _ends(filled & ~filled.T, filled & filled.T, ends_of_line)


def _not_binary(codes: AnyArray, _: AnyArray) -> Mask:
    return np.isin(codes, (0, 1), invert=True)


def _one_sided(codes: AnyArray, opposite: AnyArray, known: tuple[int, ...]) -> Mask:
    wrong: Mask = np.isin(codes, known, invert=True) | ((codes == 0) != (opposite == 0))
    return wrong


_CAUSAL_LEARN = {-1: TAIL, 1: HEAD, 2: CIRCLE}
_PCALG_PAG = {1: CIRCLE, 2: HEAD, 3: TAIL}


def _translated(codes: AnyArray, marks: dict[int, int]) -> AnyArray:
    return np.select([codes == code for code in marks], list(marks.values()), 0)


MATRICES = {
    "causal-learn": Encoding(
        "the mark in row i, column j is at i: −1 a tail, 1 an arrowhead, 2 a circle",
        lambda codes: _translated(codes.T, _CAUSAL_LEARN),
        lambda codes, opposite: _one_sided(codes, opposite, (0, -1, 1, 2)),
    ),
    "pcalg": Encoding(
        "`amat.cpdag`: 1 in row j, column i is i → j; 1 in both is i – j",
        lambda codes: _both(codes.T, TAIL),
        _not_binary,
    ),
    "pcalg-pag": Encoding(
        "`amat.pag`: the mark in row i, column j is at j: 1 a circle, 2 an arrowhead, 3 a tail",
        lambda codes: _translated(codes, _PCALG_PAG),
        lambda codes, opposite: _one_sided(codes, opposite, (0, 1, 2, 3)),
    ),
    "gcastle": Encoding(
        "1 in row i, column j is i → j; 1 in both is i – j", lambda codes: _both(codes, TAIL), _not_binary
    ),
    "gadjid": Encoding(
        "1 in row i, column j is i → j; 2 in one cell or both is i – j",
        lambda codes: _ends(codes == 1, (codes == 2) | (codes.T == 2)),
        lambda codes, opposite: (
            ~np.isin(codes, (0, 1, 2)) | ((codes == 1) & (opposite != 0)) | ((codes == 2) & (opposite == 1))
        ),
    ),
    "mixed": Encoding("as gcastle: two cells are an undirected edge", lambda codes: _both(codes, TAIL), _not_binary),
    "mag": Encoding("1 in row i, column j is i → j; 1 in both is i ↔ j", lambda codes: _both(codes, HEAD), _not_binary),
    "undirected": Encoding(
        "1 in one cell or both is i – j",
        lambda codes: _ends(np.zeros(codes.shape, bool), (codes == 1) | (codes.T == 1)),
        _not_binary,
    ),
}
ENCODINGS = (*MATRICES, "tigramite")
# Lagged links: time orients them, and the mark at the earlier end may be open.
_LATER = {
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
    rule = MATRICES[encoding]
    wrong = rule.unknown(codes, codes.T)
    _refuse(wrong, codes, encoding, where)
    return (_layer(rule.ends(codes)),)


def _layer(ends: AnyArray) -> Layer:
    """The layer of a matrix of marks: [i, j] is the mark at j."""
    d = len(ends)
    kinds = KIND_OF[ends.T, ends]
    np.fill_diagonal(kinds, Kind.NONE)
    keys = np.flatnonzero(np.triu(kinds) >= Kind.LINE)
    opened = Open(keys, kinds.ravel()[keys], np.ones(len(keys)))
    return Layer((kinds == Kind.FORWARD).astype(np.uint8), d, opened)


def _tigramite(value: Any, where: str) -> tuple[Layer, ...]:
    """Links as text: `-->` from i at t − lag to j at t, `<--` its other end, `<->`, and `o` for an open end.

    PCMCI+ writes `o-o` for an undirected edge and `x-x` for one with conflicting directions; LPCMCI, which writes other
    open ends too, for circles. At lag 0 one of the two cells of a pair is enough.
    """
    try:
        links = np.asarray(value)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, or a tensor
        raise InputError("is not an array of tigramite's links", where=where, fix="Pass an array of text.") from None
    links = links[:, :, np.newaxis] if links.ndim == 2 else links
    if links.ndim != 3 or links.shape[0] != links.shape[1] or not links.shape[2]:
        raise InputError(f"expected tigramite's links (d, d, lags + 1), found shape {links.shape}", where=where)
    now, later, d = links[:, :, 0], links[:, :, 1:], len(links)
    circles = not np.isin(links, ("", "-->", "<--", "o-o", "x-x")).all()
    near, far = np.zeros((d, d), np.int64), np.zeros((d, d), np.int64)
    for text, (start, stop) in MARKS.items():
        line = not circles and text in ("o-o", "x-x")
        near[now == text], far[now == text] = (TAIL, TAIL) if line else (start, stop)
    wrong = np.zeros(links.shape, bool)
    both = (now != "") & (now.T != "") & ~np.eye(d, dtype=bool)
    wrong[:, :, 0] = ~np.isin(now, ("", "<--", *MARKS)) | (both & ((near != far.T) | (far != near.T)))
    wrong[:, :, 1:] = ~np.isin(later, ("", *_LATER))
    _refuse(wrong, links, "tigramite", where)
    layers = [_layer(np.where(now != "", far, near.T))]
    for lag in range(later.shape[2]):
        kinds = _translated_text(later[:, :, lag])
        keys = np.flatnonzero(kinds >= Kind.LINE)
        opened = Open(keys, kinds.ravel()[keys], np.ones(len(keys)))
        layers.append(Layer((kinds == Kind.FORWARD).astype(np.uint8), d, opened, late=True))
    return tuple(layers)


def _translated_text(links: AnyArray) -> AnyArray:
    return np.select([links == text for text in _LATER], list(map(int, _LATER.values())), 0)


def _refuse(wrong: Mask, codes: AnyArray, encoding: str, where: str) -> None:
    if wrong.any():
        first = tuple(int(index) for index in np.argwhere(wrong)[0])
        opposite = codes[(first[1], first[0], *first[2:])]
        raise InputError(
            f"{np.count_nonzero(wrong)} cells have marks that the {encoding} encoding does not have, the first at "
            f"{first}: {codes[first]!s} with {opposite!s} opposite",
            where=where,
            fix="Name the encoding that the tool writes.",
        )
