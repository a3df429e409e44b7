"""Pairs of graphs that cannot be compared as they are: refused, or without the cells that have no score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import Ints
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.layers import ARGUMENTS, Layer, Side


def refuse_other_sizes(sides: Sequence[tuple[Layer, ...]], nodes: Any, d: int) -> None:
    for layers, where in zip(sides, ARGUMENTS, strict=True):
        if layers[0].d != d:
            told = nodes is not None
            raise InputError(
                f"{where} has {layers[0].d} nodes",
                where="nodes" if told else "A_true and A_pred",
                fix=f"nodes= says {d}." if told else f"The other has {d}; both must have the same nodes.",
            )
    if len(sides[0]) != len(sides[1]):
        what = f"{len(sides[0])} true lags with {len(sides[1])} predicted ones"
        raise InputError(what, where="A_true and A_pred", fix="Both need the same lags, from 0 on: pad with zeros.")


def checked(pair: Pair, prediction: Side, sign: str | None, nan: str, number: int | None) -> Pair:
    """The pair without cells that have no score; what cannot be compared is refused."""
    facts = [[layer.facts for layer in layers] for layers in (pair.truth, pair.prediction)]
    true, found = ({name: any(each[name] for each in side) for name in side[0]} for side in facts)
    if true["missing"]:
        fix = "Cells must be 0 or not 0."
        raise _wrong_values(pair, pair.truth, np.isnan, "values are NaN", fix, number)
    stored = not all(layer.is_dense for layer in pair.prediction)
    if pair.cut.threshold < 0 and stored:
        fix = "Pass a dense matrix, or a threshold of at least 0."
        what = f"threshold is {pair.cut.threshold:g}, below 0, so every cell that is not stored would be an edge"
        raise OptionError(what, fix=fix)
    if found["missing"]:
        missing = tuple(_missing(layer) for layer in pair.prediction)
        counted = pair if pair.sources is None else replace(pair, missing=())
        held = [cells[counted.allowed(cells, lag)] for lag, cells in enumerate(missing)]
        if nan == "raise" and any(cells.size for cells in held):
            raise _wrong_values(pair, pair.prediction, np.isnan, "values are NaN", _FIX_NAN, number)
        pair = replace(pair, missing=missing)
    if found["negative"] and sign is None:
        raise _wrong_values(pair, pair.prediction, lambda part: part < 0, "scores are negative", _FIX_SIGN, number)
    swapped = true["weighted"] and not found["weighted"] and not prediction.states_marks
    if swapped and found["edges"] and not _has_weights(pair.truth):
        raise InputError(
            "the arguments look swapped: the first has values other than 0 and 1, the second does not",
            where="A_true and A_pred",
            fix="The truth comes first. If it has weights, pass A_true != 0; if it has the marks of a CPDAG, name the "
            'encoding of both, such as encoding=("causal-learn", "causal-learn").',
        )
    return pair


def _missing(layer: Layer) -> Ints:
    """The cells without a score, in order; both of an open edge."""
    cells = layer.stored.cells[np.isnan(layer.stored.values)]
    keys = layer.open.keys[np.isnan(layer.open.weights)]
    low, high = np.divmod(keys, max(layer.d, 1))
    return np.sort(np.concatenate([cells, keys, high * layer.d + low])) if keys.size else cells


def _has_weights(layers: Sequence[Layer]) -> bool:
    """Whether values are weights: neither scores from 0 to 1 nor whole numbers, which may be marks."""
    values = np.concatenate([layer.stored.values for layer in layers])
    return bool(((values < 0) | (values > 1)).any() and (values != np.floor(values)).any())


def _wrong_values(
    pair: Pair, layers: Sequence[Layer], is_wrong: Any, said: str, fix: str, number: int | None
) -> InputError:
    """How many values are wrong, and where the first one is."""
    count, index = 0, ""
    for lag, layer in enumerate(layers):
        cells = [layer.stored.cells[is_wrong(layer.stored.values)], layer.open.keys[is_wrong(layer.open.weights)]]
        count += len(cells[0]) + len(cells[1])
        for cell in [] if index else np.concatenate(cells)[:1]:
            first = [int(end) for end in divmod(int(cell), layer.d)]
            prefix, suffix = [] if number is None else [number], [lag] if len(layers) > 1 else []
            index = str((*prefix, *first, *suffix))
    total = sum(2 * pairs + cells for pairs, cells in (pair.units(lag) for lag in pair.lags))
    where = ARGUMENTS[layers is pair.prediction]
    return InputError(f"{count:,} of {total:,} {said}, the first at index {index}", where=where, fix=fix)


_FIX_NAN = 'Repair the model, or pass nan="omit": such cells are then left out of both graphs and reported.'
_FIX_SIGN = (
    'For weights pass sign="absolute". For scores that are negative where no edge is likely: sign="keep". '
    "For marks of a CPDAG: encoding=."
)
