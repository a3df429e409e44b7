"""Dask: blocks of arrays are counted where they are stored; only states are sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import isnan
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.extras import need
from graphgauge.core.threads import threads
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.engines.fold import Fold

# States that one task merges: many tasks can merge at once, and none has all states in memory.
_TOGETHER = 16


def evaluate(family: str, *arrays: Any, **options: Any) -> Evaluation:
    """`graphgauge.FAMILY.evaluate` of Dask arrays, on the scheduler or cluster that Dask is set to.

    Arrays are read block by block along the items; all other axes must fit into memory. NumPy arrays given with
    them (such as group labels) are split at the same places. Counts have the same bits as on one machine.

    Parameters
    ----------
    family
        `ranking` or `forecasting`.
    arrays, options
        Arguments of the family's `evaluate`; those that are large as Dask arrays.

    Returns
    -------
    Evaluation
        As from the family's `evaluate`.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    InputError
        If a query is in two blocks, or the arrays do not fit together.

    Examples
    --------
    >>> import dask.array as da
    >>> from graphgauge.old.engines import dask
    >>> pos, neg = da.from_array([0.9, 0.4], chunks=1), da.from_array([[0.7, 0.1], [0.8, 0.3]], chunks=(1, 2))
    >>> dask.evaluate("ranking", pos, neg)["mrr"].value
    0.75
    """
    fold = Fold.of(family, arrays, options)
    (whole,) = need("dask", "an evaluation of Dask arrays").compute(_state(fold))
    return fold.evaluate(whole)


def state(family: str, *arrays: Any, **options: Any) -> Any:
    """The state of all blocks, as a Dask `Delayed`: for `compute`, `persist`, or `save` on a worker.

    Parameters
    ----------
    family, arrays, options
        As in `evaluate`.

    Returns
    -------
    dask.delayed.Delayed
        Of a `RankingState` or `ForecastState`.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import dask.array as da
    >>> from graphgauge.old.engines import dask
    >>> pos, neg = da.from_array([0.9, 0.4], chunks=1), da.from_array([[0.7, 0.1], [0.8, 0.3]], chunks=(1, 2))
    >>> dask.state("ranking", pos, neg).compute().n
    2
    """
    return _state(Fold.of(family, arrays, options))


def _state(fold: Fold) -> Any:
    delayed = need("dask", "an evaluation of Dask arrays").delayed
    pieces, starts = _parts_of_pool(fold) if _is_pool(fold) else _blocks(fold.arguments, fold.axis)
    fixed = delayed(replace(fold, arguments={}), traverse=False)
    states = [
        delayed(_counted)(fixed, piece, start, f"block {number}")
        for number, (piece, start) in enumerate(zip(pieces, starts, strict=True))
    ]
    # Merging also refuses a query in two blocks, but can no longer name the blocks.
    apart = None
    if "queries" in fold.arguments:
        apart = delayed(_require_queries_apart)([delayed(np.unique)(piece["queries"]) for piece in pieces])
    while len(states) > 1:
        states = [
            delayed(_merged)(fixed, states[first : first + _TOGETHER], apart)
            for first in range(0, len(states), _TOGETHER)
        ]
    return states[0]


def _is_pool(fold: Fold) -> bool:
    """Whether the negatives are one pool (m,) for all positives (n,), split otherwise than these."""
    neg = fold.arguments.get("neg_scores")
    return fold.family == "ranking" and neg is not None and np.ndim(neg) == 1


def _parts_of_pool(fold: Fold) -> tuple[list[dict[str, Any]], list[int]]:
    """Blocks of positives without negatives, then blocks of negatives without positives."""
    array_module = need("dask.array", "an evaluation of Dask arrays")
    given: dict[str, Any] = {
        name: value if isinstance(value, array_module.Array | Mapping) else array_module.from_array(np.asarray(value))
        for name, value in fold.arguments.items()
    }
    neg = given.pop("neg_scores")
    pieces, starts = _blocks(given, fold.axis)
    pools, _ = _blocks({"neg_scores": neg}, fold.axis)
    nothing = np.empty(0, neg.dtype), np.empty(0, given["pos_scores"].dtype)
    with_positives = [piece | {"neg_scores": nothing[0]} for piece in pieces]
    return [*with_positives, *(pool | {"pos_scores": nothing[1]} for pool in pools)], starts + [0] * len(pools)


def _counted(fold: Fold, part: Mapping[str, Any], start: int, shard: str) -> Any:
    try:
        with threads(1):  # others of Dask run beside it
            return fold.count(part, start=start, shard=shard)
    except OptionError:
        raise
    except InputError as error:
        # Indices in the message are relative to the block.
        where = shard if error.where is None else f"{shard}, {error.where}"
        raise InputError(error.what, where=where, fix=error.fix) from None


def _merged(fold: Fold, states: Sequence[Any], apart: None) -> Any:
    """`apart` is only waited for."""
    return fold.merge(states)


def _require_queries_apart(names: Sequence[np.ndarray[Any, Any]]) -> None:
    """Refuse candidates of one query in two blocks, which would count as two queries."""
    every = np.concatenate(names)
    block = np.repeat(np.arange(len(names)), [len(some) for some in names])
    order = np.argsort(every, kind="stable")
    twice = np.flatnonzero(every[order][1:] == every[order][:-1])
    if len(twice):
        first, second = block[order[twice[0]]], block[order[twice[0] + 1]]
        raise InputError(
            f"query {every[order[twice[0]]]} has candidates in block {first} and in block {second}",
            where="queries",
            fix="Sort by query and split between queries, for example with dask.dataframe's shuffle.",
        )


def _blocks(arguments: Mapping[str, Any], axis: int) -> tuple[list[dict[str, Any]], list[int]]:
    """The same items of every array, block by block, and the index of the first item of each block."""
    array_module = need("dask.array", "an evaluation of Dask arrays")
    groups = arguments.get("groups", {})
    if not isinstance(groups, Mapping):
        raise InputError("expected labels under a name", where="groups", fix='For example {"relation": labels}.')
    flat = {name: value for name, value in arguments.items() if name != "groups"} | {
        f"groups.{name}": value for name, value in groups.items()
    }
    lead = next((value for value in flat.values() if isinstance(value, array_module.Array)), None)
    if lead is None:
        raise InputError("found no Dask array", fix="Use the family's own evaluate(), or dask.array.from_array.")
    lengths = lead.chunks[axis]
    if any(isnan(length) for length in lengths):
        raise InputError("the blocks have unknown lengths", fix="Call compute_chunk_sizes() on the arrays first.")
    cut = {name: _cut(array_module, name, value, axis, lengths) for name, value in flat.items()}
    pieces = []
    for number in range(len(lengths)):
        piece = {name: blocks[number] for name, blocks in cut.items() if not name.startswith("groups.")}
        if groups:
            piece["groups"] = {name: cut[f"groups.{name}"][number] for name in groups}
        pieces.append(piece)
    return pieces, [0, *accumulate(lengths)][:-1]


def _cut(array_module: Any, name: str, value: Any, axis: int, lengths: tuple[int, ...]) -> list[Any]:
    array = value if isinstance(value, array_module.Array) else array_module.from_array(np.asarray(value), chunks=-1)
    if array.ndim <= axis or array.shape[axis] != sum(lengths):
        raise InputError(f"expected {sum(lengths)} items along axis {axis}, found shape {array.shape}", where=name)
    array = array.rechunk({**dict.fromkeys(range(array.ndim), -1), axis: lengths})
    return list(array.to_delayed().ravel())
