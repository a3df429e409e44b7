"""Lists of the first k items: from a recommender, or from scores that come in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, is_tensor, require_shape
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.options import thread_count, whole_number
from graphgauge.kernels.lists import last_places
from graphgauge.ranking.all_entities import MINUS_INF, as_floats
from graphgauge.ranking.entity_sets import EntitySets, number_of_sets
from graphgauge.ranking.inputs import as_integers
from graphgauge.ranking.parts import CutLists
from graphgauge.ranking.state import RankingState

Floats = NDArray[np.floating[Any]]

# Item numbers are below this if the number of items is not known.
_MOST_ITEMS = 2**31 - 1
ALONG = ("items", "queries")


def from_topk(
    indices: Any,
    targets: Any,
    *,
    exclude: Any = None,
    skip_excluded: bool = False,
    n_items: int | None = None,
    k: Sequence[int] | int = (1, 3, 10),
    metrics: Sequence[str] | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    keep: str | None = None,
    confidence: float = 0.95,
) -> Evaluation:
    """Evaluate lists of the first items of each query, best first, as FAISS and recommenders return them.

    Known from such lists: `recall@k`, `precision@k`, `ndcg@k`, `map@k`, `f1@k`, `hit_ratio@k` and `mrr_first@k`, for k
    up to their length. What depends on items further down (ranks, `mrr`, AUC) is refused. `rank_topk` takes the same
    lists and returns a state, which can be merged and saved.

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
    k
        Cut-offs. Those beyond the lists are skipped, with the reason in `Evaluation.skipped`; a metric that is named
        with such a k is an error.
    metrics
        Keys to compute instead of the default ones.
    groups, cluster, weights, ids, keep, confidence
        As in `evaluate`.

    Returns
    -------
    Evaluation
        The metrics that such lists determine.

    Raises
    ------
    InputError
        If a list has an item twice, an item of `exclude`, or a number out of range.
    OptionError
        If a metric depends on items further down than the lists reach.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ev = ranking.from_topk([[3, 1], [2, 0]], targets=[1, 2], n_items=5, k=2)
    >>> ev["recall@2"].value, ev["mrr_first@2"].value
    (1.0, 0.75)
    """
    state = rank_topk(
        indices,
        targets,
        exclude=exclude,
        skip_excluded=skip_excluded,
        n_items=n_items,
        groups=groups,
        cluster=cluster,
        weights=weights,
        ids=ids,
        keep=keep,
    )
    return state.evaluate(k=k, metrics=metrics, confidence=confidence)


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
    """Count lists of the first items of each query; returns the state to merge, save and evaluate.

    The arguments are those of `from_topk`. States of lists of different lengths merge: then the places are known that
    all of them have.

    Parameters
    ----------
    indices, targets, exclude, skip_excluded, n_items, groups, cluster, weights, ids, keep
        As in `from_topk`.

    Returns
    -------
    RankingState
        The counts of all lists.

    Raises
    ------
    InputError
        If a list has an item twice, an item of `exclude`, or a number out of range.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> state = ranking.rank_topk([[3, 1]], targets=[1], n_items=5)
    >>> state.merge(ranking.rank_topk([[2, 0]], targets=[2], n_items=5)).evaluate(k=2)["recall@2"].value
    1.0
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


class TopK(NamedTuple):
    """The first items of each query (q, k), best first, and their scores; −1 and −inf where there is none."""

    indices: Ints
    scores: Floats


def stream_topk(
    blocks: Iterable[Any],
    k: int,
    *,
    along: str = "items",
    exclude: Any = None,
    minus_inf: str = "raise",
    threads: int | None = None,
) -> TopK:
    """The first k items of each query, from scores that come in blocks; k numbers per query are kept.

    The result is what `from_topk` takes. Of equal scores the lower item number comes first.

    Parameters
    ----------
    blocks
        Matrices of scores, arrays or tensors, one after the other: of all queries and the next items, or with
        `along="queries"` of the next queries and all items. They may come from a generator.
    exclude
        Items that are in no list, such as those of training: sets as in `rank_all`.
    minus_inf
        What a score of −inf means: `raise`, an error; `exclude`, an item that is no candidate; `rank`, a low score.
    k
        Items to keep per query.
    along
        Whether blocks are the next `items` of all queries, or the next `queries`.
    threads
        Threads of the compiled loop; by default all cores.

    Returns
    -------
    TopK
        `indices` and `scores` (queries, k), best first; −1 and −inf if there are fewer items.

    Raises
    ------
    InputError
        If blocks do not fit together, or a score is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> first = ranking.stream_topk([np.array([[0.1, 0.9]]), np.array([[0.5]])], k=2)
    >>> first.indices.tolist(), first.scores.tolist()
    ([[1, 2]], [[0.9, 0.5]])
    """
    k, threads = whole_number("k", k, 1), thread_count(threads)
    one_of("along", along, ALONG)
    one_of("minus_inf", minus_inf, MINUS_INF)
    barred: EntitySets | None = None
    queries = items = 0  # scored so far
    found: list[TopK] = []  # of all queries, or of each block of them
    for number, given in enumerate(blocks):
        name = f"blocks[{number}]"
        scores = as_floats(given, name)
        known = (queries, None) if along == "items" else (None, items)
        require_shape(scores, (None, None) if not number else known, name, _same_length(along))
        if exclude is not None and barred is None:
            barred = _barred(exclude, along, *scores.shape)
        first_query, first_item = (0, items) if along == "items" else (queries, 0)
        gone = _cells(barred, first_query, first_item, *scores.shape)
        best = _first(scores, first_item, gone, k, minus_inf, name, threads)
        if along == "items":
            queries, items = len(scores), items + scores.shape[1]
            found = [_joined(found[0], best, k) if found else best]
        else:
            queries, items = queries + len(scores), scores.shape[1]
            found.append(best)
    if not found:
        raise InputError("no scores", where="blocks", fix="Give matrices of scores, one after the other.")
    if barred is not None:
        _require_whole(barred, _width(exclude), queries, items)
    return TopK(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _same_length(along: str) -> str:
    if along == "items":
        return 'Every block has a row for every query; with along="queries" it has a column for every item.'
    return 'Every block has a column for every item; with along="items" it has a row for every query.'


def _barred(exclude: Any, along: str, rows: int, columns: int) -> EntitySets:
    """The excluded items of all queries; the length along which blocks come is known from the sets, or at the end."""
    if along == "items":
        return EntitySets.of(exclude, rows, _width(exclude) or _MOST_ITEMS, "exclude")
    return EntitySets.of(exclude, number_of_sets(exclude), columns, "exclude")


def _cells(barred: EntitySets | None, first_query: int, first_item: int, rows: int, columns: int) -> tuple[Ints, Ints]:
    """Rows and columns of the cells of a block that are no candidates."""
    if barred is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    block = slice(min(first_query, len(barred)), min(first_query + rows, len(barred)))
    row, item = barred.rows(block), barred.within(block)
    inside = (item >= first_item) & (item < first_item + columns)
    return row[inside], item[inside] - first_item


def _require_whole(barred: EntitySets, width: int | None, queries: int, items: int) -> None:
    """The excluded sets are of these queries and items, which are known only after the last block."""
    if len(barred) != queries:
        raise InputError(f"found {len(barred)} sets for {queries} queries", where="exclude", fix="One per query.")
    last = int(barred.values.max(initial=-1))
    if last >= items or width not in (None, items):
        what = f"names item {last}" if last >= items else f"has {width} columns"
        raise InputError(f"{what}, and {items} items were scored", where="exclude", fix="Score every item once.")


def _first(
    scores: Floats, first_item: int, gone: tuple[Ints, Ints], k: int, minus_inf: str, name: str, threads: int | None
) -> TopK:
    """The first k of one block, of which the cells `gone` are no candidates."""
    if minus_inf == "raise" and np.isneginf(scores.min(initial=0.0)):
        lowest = np.isneginf(scores)
        lowest[gone] = False
        if lowest.any():
            row, column = np.argwhere(lowest)[0]
            raise InputError(
                f"{np.count_nonzero(lowest)} candidates score −inf, the first at ({row}, {column}): as a filter they "
                "would still be in lists",
                where=name,
                fix='Pass them in exclude=, or say minus_inf="exclude" or "rank".',
            )
    scores[gone] = -np.inf
    rows, width = scores.shape
    if width > k:
        begin = width * np.arange(rows)
        least = last_places(scores.reshape(-1), begin, np.full(rows, width), k, threads=threads)
        row, column = np.nonzero(scores >= least[:, None])
    else:
        row, column = (part.reshape(-1) for part in np.indices(scores.shape))
    score, item = scores[row, column], first_item + column
    if minus_inf == "rank":
        absent = np.zeros(scores.shape, bool)
        absent[gone] = True
        item[absent[row, column]] = -1
    else:  # nothing else scores −inf
        item[np.isneginf(score)] = -1
    return _ordered(row, score, item, rows, k)


def _joined(one: TopK, other: TopK, k: int) -> TopK:
    """The first k of two lists of each query."""
    scores = np.concatenate([one.scores, other.scores], axis=1)
    items = np.concatenate([one.indices, other.indices], axis=1)
    row = np.repeat(np.arange(len(scores)), scores.shape[1])
    return _ordered(row, scores.reshape(-1), items.reshape(-1), len(scores), k)


def _ordered(row: Ints, score: Floats, item: Ints, rows: int, k: int) -> TopK:
    """The first k of each row, best first; an item of −1 is none, and comes last."""
    order = np.lexsort((item, -score, item < 0, row))
    row, score, item = row[order], score[order], item[order]
    place = np.arange(len(row)) - np.searchsorted(row, row)
    kept = (place < k) & (item >= 0)
    indices, best = np.full((rows, k), -1, np.int64), np.full((rows, k), -np.inf, score.dtype)
    indices[row[kept], place[kept]], best[row[kept], place[kept]] = item[kept], score[kept]
    return TopK(indices, best)


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
