"""Recommenders: all items but those of training, and lists of the first k items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, is_tensor, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.metric import Metric, asked, metrics
from graphgauge.core.options import metric_names, whole_number
from graphgauge.core.result import Evaluation, Result
from graphgauge.ranking.all_entities import Given, Scorer, rank_all, ranked
from graphgauge.ranking.entity_sets import EntitySets
from graphgauge.ranking.evaluate import POSITIVES_AND_QUERIES, evaluate_state
from graphgauge.ranking.inputs import as_integers, cutoff, cutoffs
from graphgauge.ranking.items import ListItems
from graphgauge.ranking.metrics import mrr_first_at_k
from graphgauge.ranking.state import RankingState

# Item numbers are below this if the number of items is not known.
_MOST_ITEMS = 2**31 - 1
_MATRIX = "A matrix of scores (users, items), or embeddings (users, d) and items=(items, d)."


def recommend(
    scores: Any,
    items: Any = None,
    *,
    test: Any,
    train: Any = None,
    candidates: Any = None,
    score: str | Scorer = "dot",
    minus_inf: str = "raise",
    k: Sequence[int] | int = 10,
    ties: str = "realistic",
    metrics: Sequence[str] | None = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    ids: Any = None,
    keep: str | None = None,
    confidence: float = 0.95,
    batch: int | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
) -> Evaluation:
    """How high the items of a test set rank among all items that a user does not know from training.

    Users without a test item are left out and counted. By default the metrics of whole lists are computed: recall,
    precision, nDCG, MAP, F1, hit ratio, and the reciprocal rank of the first right item.

    Parameters
    ----------
    scores, items
        A matrix of scores (users, items); or embeddings of users, with those of the items in `items`, scored by
        `score` as in `rank_all`.
    test, train
        The items of each user to be found, and those that are no candidates: a scipy sparse matrix (users, items),
        pairs (n, 2) of user and item, or sets as in `rank_all`. An item in both is an error.
    candidates
        The only items that can be recommended to a user, as sets.
    minus_inf
        What a score of −inf means in a matrix: `raise`, an error; `exclude`, an item that is no candidate, as libraries
        mark them; `rank`, a low score like any other.
    """
    one_of("minus_inf", minus_inf, ("raise", "exclude", "rank"))
    counting: dict[str, Any] = {"candidates": candidates, "groups": groups, "cluster": cluster, "ids": ids,
                                "keep": keep, "batch": batch, "max_memory": max_memory, "threads": threads}  # fmt: skip
    if items is None:
        if score != "dot":
            raise OptionError("score needs items", fix=_MATRIX)
        matrix = scores if is_tensor(scores) else as_numeric(_dense(scores), "scores")
        require_shape(matrix, (None, None), "scores", _MATRIX)
        users, count = matrix.shape
        scorer = Given(np.arange(users), np.arange(count), lambda rows, _: matrix[rows[0] : rows[-1] + 1], minus_inf)
        given = _interactions(test, users, count, "test"), _interactions(train, users, count, "train")
        state = ranked(scorer, _as_sets(given[0]), exclude=_as_sets(given[1]), **counting)
    else:
        users, count = (len(rows[0] if isinstance(rows, tuple) else rows) for rows in (scores, items))
        given = _interactions(test, users, count, "test"), _interactions(train, users, count, "train")
        state = rank_all(scores, items, _as_sets(given[0]), exclude=_as_sets(given[1]), score=score, **counting)
    return evaluate_state(state, k=k, ties=ties, metrics=metrics or _of_lists(), confidence=confidence)


def _dense(scores: Any) -> Any:
    if hasattr(scores, "tocsr"):
        raise InputError("found a sparse matrix", where="scores",
                         fix="A score that is not stored is unknown. Pass a dense matrix, or embeddings.")  # fmt: skip
    return scores


def _interactions(given: Any, users: int, items: int, name: str) -> EntitySets:
    """The items of each user, from pairs of user and item or from sets."""
    if is_tensor(given) or isinstance(given, np.ndarray):
        pairs = as_numeric(given, name)
        if pairs.dtype != np.bool_ and pairs.ndim == 2 and pairs.shape[1] == 2:
            numbers = as_integers(pairs, name, "pairs of user and item")
            for column, count, what in ((0, users, "users"), (1, items, "items")):
                outside = (numbers[:, column] < 0) | (numbers[:, column] >= count)
                if outside.any():
                    raise InputError(f"{numbers[outside][0, column]} is not among the {count} {what}", where=name,
                                     fix="Pairs (n, 2) of user and item, both numbered from 0.")  # fmt: skip
            return EntitySets.from_rows(numbers[:, 0], numbers[:, 1], users, items)
    return EntitySets.of(given, users, items, name, "user")


def _as_sets(sets: EntitySets) -> tuple[Ints, Ints]:
    return sets.values, sets.offsets


def _of_lists() -> list[str]:
    """The default metrics that look at whole lists."""
    return [entry.key for entry in metrics("ranking") if entry.default and "lists" in entry.needs]


# ----------------------------------------------------------------------------------------------------- lists as input


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
    up to their length. What depends on items further down (ranks, `mrr`, AUC) is refused.

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
    """
    n_items = _width(targets, exclude) if n_items is None else n_items
    lists = _TopLists.of(indices, n_items)
    answers = _targets(targets, lists)
    barred = EntitySets.of(exclude, len(lists), lists.items, "exclude")
    lists, skipped = lists.without(barred, skip=skip_excluded)
    both = barred.contain(answers.rows(), answers.values)
    if both.any():
        first = int(np.argmax(both))
        raise InputError(f"item {answers.values[first]} of query {answers.rows()[first]} is excluded", where="targets",
                         fix="Leave it out of the targets or out of exclude=.")  # fmt: skip
    ks = cutoffs(k)
    names = _knowable(metric_names(metrics), lists.depth)
    within = [each for each in ks if each <= lists.depth]
    open_keys = [item.metric for item in asked("ranking", names) if item.is_open]
    if open_keys and not within:
        raise OptionError(f"k = {min(ks)} is beyond the lists, of which the first {lists.depth} items are known",
                          fix="Ask for longer lists, or a smaller k.")  # fmt: skip
    beyond = [metric.key_of(k=each) for metric in open_keys for each in ks if each > lists.depth]
    state = RankingState(keep=keep)
    candidates = None if n_items is None else lists.items - barred.sizes
    state.update_lists(**lists.counted(answers, candidates), queries=ids, groups=groups, cluster=cluster,
                       weights=weights)  # fmt: skip
    found = evaluate_state(state, k=within or [1], metrics=names, confidence=confidence)
    conventions = {"ties": "in the order of the lists", "beyond the lists": "a right item there is not found"}
    items = found.per_item
    return Evaluation(
        "ranking",
        [_known(result, conventions, chance=n_items is not None) for result in found.values()],
        conventions=conventions,
        skipped=dict.fromkeys(beyond, f"only the first {lists.depth} items are known"),
        options=found.options,
        breakdowns=found.breakdowns,
        # All of these metrics count queries.
        notes=(*(note for note in found.notes if note != POSITIVES_AND_QUERIES), *_said(skipped, lists.unfilled)),
        per_item=replace(items, depth=lists.depth) if isinstance(items, ListItems) else None,
    )


def _width(*sets: Any) -> int | None:
    """The number of items, if sets are given as a matrix with one column for each."""
    matrices = [given for given in sets if hasattr(given, "tocsr") or str(getattr(given, "dtype", "")).endswith("bool")]
    return int(matrices[0].shape[1]) if matrices and len(matrices[0].shape) == 2 else None


def _known(result: Result, conventions: Mapping[str, str], *, chance: bool) -> Result:
    return replace(
        result, conventions={**result.conventions, **conventions}, chance=result.chance if chance else (), warnings=()
    )


def _said(skipped: int, unfilled: int) -> list[str]:
    said = [f"{skipped} excluded items passed over in the lists"] if skipped else []
    return said + ([f"{unfilled} places of the lists are not filled, and count as wrong items"] if unfilled else [])


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


def names_of_lists() -> list[str]:
    """The metrics of lists of the first items that are computed without being named."""
    names = [entry.key for entry in metrics("ranking") if entry.default and _needs_the_first(entry)]
    return [*names, mrr_first_at_k.key]  # what is known of the reciprocal rank


def _knowable(names: Sequence[str] | None, depth: int) -> list[str]:
    """The metrics that follow from the first `depth` items; others, and those at a larger k, are refused by name."""
    names = names_of_lists() if names is None else names
    for item in asked("ranking", names):
        if item.by_name and not _needs_the_first(item.metric):
            raise OptionError(
                f"{item.metric.key_of(**item.params)} depends on items beyond the lists, which are not known",
                fix="Known are "
                + ", ".join(entry.key for entry in metrics("ranking") if _needs_the_first(entry))
                + ".",
            )
        if not item.is_open and cutoff(item.params["k"]) > depth:
            raise OptionError(f"k = {item.params['k']} is beyond the lists, of which the first {depth} items are known",
                              fix="Ask for longer lists, or a smaller k.")  # fmt: skip
    return list(names)


def _needs_the_first(entry: Metric) -> bool:
    return "lists" in entry.needs and "k" in entry.params


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
            raise InputError(f"list {int(np.argmax(bad))} has an unfilled place before its end, or a number below −1",
                             where="indices", fix="Items are numbered from 0; −1 marks places at the end.")  # fmt: skip
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
            raise InputError(f"list {row[twice[0]]} contains item {value[twice[0]]} twice", where="indices",
                             fix="Every item has one place.")  # fmt: skip

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
                + (f", and {count - 1} others" if count > 1 else ""), where="indices",
                fix="Exclude them before the lists are cut, or pass skip_excluded=True.",
            )  # fmt: skip
        gone = np.bincount(self.rows[inside], minlength=len(self))
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets) - gone)])
        depth = self.depth - int(gone.max())
        if not depth:
            raise InputError(f"list {int(gone.argmax())} contains excluded items only", where="indices",
                             fix="Ask for longer lists.")  # fmt: skip
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
