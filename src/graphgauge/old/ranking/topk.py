"""Lists of the first k items, as a recommender gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, is_tensor, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.old.ranking.entity_sets import EntitySets
from graphgauge.old.ranking.inputs import as_integers
from graphgauge.old.ranking.parts import CutLists
from graphgauge.old.ranking.state import RankingState

Floats = NDArray[np.floating[Any]]

# Item numbers are below this if the number of items is not known.
_MOST_ITEMS = 2**31 - 1


def rank_topk(
    indices: Any,
    targets: Any,
    *,
    exclude: Any = None,
    skip_excluded: bool = False,
    n_items: int | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    keep: str | None = None,
) -> RankingState:
    """Count lists of the first items of each query, best first, as FAISS and recommenders return them.

    Known from such lists: `recall@k`, `precision@k`, `ndcg@k`, `map@k`, `f1@k`, `hit_ratio@k` and `mrr_first@k`, for k
    up to their length. What depends on items further down (ranks, `mrr`, AUC) is refused, and so is a metric that is
    named with a larger k; other cut-offs beyond the lists are skipped. States of lists of different lengths merge: then
    the places are known that all of them have.

    Parameters
    ----------
    indices
        Item numbers (q, length), −1 for places that are not filled, at the end; or a list of arrays. An item twice in a
        list is an error.
    targets
        The right items of each query: a number each (q,), or sets as in `rank_all`. Queries without any are left out.
    exclude, skip_excluded
        Items that are no candidates, such as those of training, as sets. One in a list is an error, or with
        `skip_excluded=True` is passed over: then k goes up to the length that all lists have without them.
    n_items
        The number of items; that of the columns, if sets are given as matrices. Without it there are no chance levels.
    groups, cluster, weights, ids, keep
        As in `evaluate`.

    Returns
    -------
    RankingState
        The counts of all lists, to evaluate, merge and save.

    Raises
    ------
    InputError
        If a list has an item twice, an item of `exclude`, or a number out of range.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ev = ranking.rank_topk([[3, 1], [2, 0]], targets=[1, 2], n_items=5).evaluate(k=2)
    >>> ev["recall@2"].value, ev["mrr_first@2"].value
    (1.0, 0.75)
    """
    n_items = _width(targets, exclude) if n_items is None else n_items
    lists = _TopLists.of(indices, n_items)
    answers = _targets(targets, lists)
    barred = EntitySets.of(exclude, len(lists), lists.items, "exclude")
    lists, skipped = lists.without(barred, skip=skip_excluded)
    both = barred.contain(answers.rows(), answers.values)
    if both.any():
        first = int(np.argmax(both))
        raise InputError(
            f"item {answers.values[first]} of query {answers.rows()[first]} is excluded",
            where="targets",
            fix="Leave it out of the targets or out of exclude=.",
        )
    candidates = None if n_items is None else lists.items - barred.sizes
    cut = CutLists(lists.depth, n_items is not None, lists.unfilled, skipped)
    return RankingState(keep=keep).update_lists(
        **lists.counted(answers, candidates), queries=ids, groups=groups, cluster=cluster, weights=weights, cut=cut
    )


def _width(*sets: Any) -> int | None:
    """The number of items, if sets are given as a matrix with one column for each."""
    matrices = [given for given in sets if hasattr(given, "tocsr") or str(getattr(given, "dtype", "")).endswith("bool")]
    return int(matrices[0].shape[1]) if matrices and len(matrices[0].shape) == 2 else None


def _targets(targets: Any, lists: _TopLists) -> EntitySets:
    plain = targets if isinstance(targets, np.ndarray) or is_tensor(targets) else None
    if (
        plain is None
        and isinstance(targets, list)
        and not any(np.ndim(each) or isinstance(each, set) for each in targets)
    ):
        plain = np.asarray(targets)
    if plain is not None and plain.ndim == 1:
        targets = (plain, np.arange(len(plain) + 1))
    return EntitySets.of(targets, len(lists), lists.items, "targets")


class _TopLists:
    """Item numbers of all lists in one array, best first, and where each list begins."""

    def __init__(self, values: Ints, offsets: Ints, depth: int, items: int, unfilled: int) -> None:
        self.values, self.offsets, self.depth, self.items, self.unfilled = values, offsets, depth, items, unfilled

    @classmethod
    def of(cls, indices: Any, n_items: int | None) -> _TopLists:
        rows = _padded(indices)
        filled = rows >= 0
        if (rows < -1).any() or (filled[:, 1:] & ~filled[:, :-1]).any():
            bad = (rows < -1).any(axis=1) | (filled[:, 1:] & ~filled[:, :-1]).any(axis=1)
            raise InputError(
                f"list {int(np.argmax(bad))} has an unfilled place before its end, or a number below −1",
                where="indices",
                fix="Items are numbered from 0; −1 marks places at the end.",
            )
        items = _MOST_ITEMS if n_items is None else whole_number("n_items", n_items, 1, _MOST_ITEMS)
        if rows.size and rows.max() >= items:
            raise InputError(f"item {rows.max()} is not among the {items} items", where="indices")
        offsets = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
        lists = cls(rows[filled], offsets, rows.shape[1], items, int(np.count_nonzero(~filled)))
        lists._refuse_repeated()
        return lists

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def rows(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def _refuse_repeated(self) -> None:
        order = np.lexsort((self.values, self.rows))
        row, value = self.rows[order], self.values[order]
        twice = np.flatnonzero((row[1:] == row[:-1]) & (value[1:] == value[:-1]))
        if len(twice):
            raise InputError(
                f"list {row[twice[0]]} contains item {value[twice[0]]} twice",
                where="indices",
                fix="Every item has one place.",
            )

    def without(self, barred: EntitySets, *, skip: bool) -> tuple[_TopLists, int]:
        """The lists without excluded items, and how many there were."""
        inside = barred.contain(self.rows, self.values)
        count = int(np.count_nonzero(inside))
        if not count:
            return self, 0
        if not skip:
            first = int(np.argmax(inside))
            raise InputError(
                f"list {self.rows[first]} contains item {self.values[first]}, which is excluded"
                + (f", and {count - 1} others" if count > 1 else ""),
                where="indices",
                fix="Exclude them before the lists are cut, or pass skip_excluded=True.",
            )
        gone = np.bincount(self.rows[inside], minlength=len(self))
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets) - gone)])
        depth = self.depth - int(gone.max())
        if not depth:
            raise InputError(
                f"list {int(gone.argmax())} contains excluded items only", where="indices", fix="Ask for longer lists."
            )
        return _TopLists(self.values[~inside], offsets, depth, self.items, self.unfilled), count

    def counted(self, answers: EntitySets, candidates: Ints | None) -> dict[str, Ints]:
        """Right items at their places, one run each, and those that are not in a list in one run behind it."""
        found = answers.contain(self.rows, self.values)
        row, place = self.rows[found], (np.arange(len(self.values)) - self.offsets[self.rows])[found]
        hits = np.bincount(row, minlength=len(self))
        missing = answers.sizes - hits
        length = np.maximum(np.diff(self.offsets), self.depth)
        # The metrics at k look at the first `depth` places: what is behind them only has to be there.
        total = length + missing if candidates is None else np.maximum(candidates, length + missing)
        behind = np.flatnonzero(missing)
        rows = np.concatenate([row, behind])
        start = np.concatenate([place, length[behind]])
        order = np.lexsort((start, rows))
        run_length = np.concatenate([np.ones(len(row), np.int64), (total - length)[behind]])
        positives = np.concatenate([np.ones(len(row), np.int64), missing[behind]])
        return {
            "relevant": answers.sizes,
            "candidates": total,
            "runs": np.bincount(rows, minlength=len(self)),
            "start": start[order],
            "length": run_length[order],
            "positives": positives[order],
        }


def _padded(indices: Any) -> Ints:
    """Lists as rows of one matrix, with −1 at the ends of shorter ones."""
    if isinstance(indices, list) and any(np.ndim(each) for each in indices):
        parts = [as_integers(each, f"indices[{number}]", "item numbers") for number, each in enumerate(indices)]
        for number, part in enumerate(parts):
            require_shape(part, (None,), f"indices[{number}]", "One list of item numbers per query.")
        rows: AnyArray = np.full((len(parts), max(map(len, parts))), -1, np.int64)
        for number, part in enumerate(parts):
            rows[number, : len(part)] = part
    else:
        rows = as_integers(indices, "indices", "item numbers")
    require_shape(rows, (None, None), "indices", "One row of item numbers per query, best first.")
    if not rows.shape[1]:
        raise InputError("lists without places", where="indices", fix="One row of item numbers per query, best first.")
    return rows
