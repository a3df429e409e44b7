"""Queries with any number of positives: lists of candidates with scores and labels, or lists of the first items.

Of lists of the first items, best first, as FAISS, recommenders and search engines return them, are known `recall@k`,
`precision@k`, `ndcg@k`, `map@k`, `f1@k`, `hit_ratio@k` and `mrr_first@k` for k up to their length. What depends on
items further down (ranks, `mrr`, AUC) is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import AnyArray, Floats, Ints, Mask, as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.threads import threads_for
from graphgauge.ranking.beyond import Catalog, Recommended
from graphgauge.ranking.counting import exact, runs_of, stretches_of, working_dtype
from graphgauge.ranking.counts import Counts, Labels, Met, stretches
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.samples import Pooled
from graphgauge.ranking.scores import FIX_NAN, MINUS_INF
from graphgauge.ranking.sets import Numbering, Sets, is_matrix, numbers_of

_ONE_SCORE = "Candidate lists have one score per candidate: flatten them, with a query for each."


def from_lists(
    scores: Any,
    labels: Any,
    queries: Any = None,
    *,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    minus_inf: str = "rank",
    nan: str = "raise",
) -> Queries:
    """Candidate lists with any number of positives: a score, a label and a query for each candidate.

    Parameters
    ----------
    scores
        One score per candidate, higher is better.
    labels
        0 for negatives, and 1 or a grade of relevance above 0 for positives.
    queries
        The query of each candidate: numbers or names, in any order.
    groups, cluster, weights
        As in `from_scores`, but one per candidate: all of a query have the same.
    minus_inf, nan
        As in `from_scores`.

    Returns
    -------
    Queries
        For `evaluate`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> queries = ranking.Queries.from_lists([0.9, 0.4, 0.2, 0.7], [1, 0, 1, 0], ["a", "a", "b", "b"])
    >>> ranking.evaluate(queries, k=1)["recall@1"].value
    0.5
    """
    one_of("minus_inf", minus_inf, MINUS_INF)
    values = as_numeric(scores, "scores")
    require_shape(values, (None,), "scores", _ONE_SCORE)
    grades = _grades(labels, len(values))
    if queries is None:
        raise InputError("the query of each candidate is missing", where="queries", fix="Pass queries=, one per score.")
    names = as_labels(queries, "queries")
    require_shape(names, (len(values),), "queries", "One query per score.")
    places = Places.of(names)
    if isinstance(groups, Mapping):
        groups = {name: places.one_each(f"groups[{name!r}]", each) for name, each in groups.items()}
    about = {"cluster": places.one_each("cluster", cluster), "weights": places.one_each("weights", weights)}
    known = Labels.given(len(places.names), groups=groups, **about)
    return ListQueries(values, grades, places, replace(known, ids=places.names), minus_inf, nan_policy(nan))


def _grades(labels: Any, length: int) -> AnyArray:
    grades = as_numeric(labels, "labels")
    require_shape(grades, (length,), "labels", "One label per score: 1 for positives, 0 for negatives, or grades.")
    lowest, highest = (grades.min(), grades.max()) if length else (0, 0)
    if not (lowest >= 0 and highest < np.inf):  # as of NaN
        fix = "Labels are 0 for negatives, and 1 or a finite grade above 0 for positives."
        raise InputError(f"a label is {highest if lowest >= 0 else lowest}", where="labels", fix=fix)
    return grades


@dataclass(frozen=True, eq=False)
class Places:
    """The queries in the order in which they first occur, and where the candidates of each are.

    Those of query q are the rows `order[begin[q]:begin[q] + size[q]]`, or without `order` the rows from `begin[q]` on.
    """

    names: AnyArray
    begin: Ints
    size: Ints
    order: Ints | None

    @classmethod
    def of(cls, ids: AnyArray) -> Places:
        """Where the rows of each id are; if they are adjacent, only the ends of these stretches are sorted."""
        start = stretches_of(ids)
        names, first, code = np.unique(ids[start], return_index=True, return_inverse=True)
        size = np.diff(np.append(start, len(ids)))
        if len(names) == len(start):
            return cls(ids[start], start, size, None)
        in_turn = np.argsort(first)
        owner = np.repeat(np.argsort(in_turn)[code], size)
        size = np.bincount(owner)
        return cls(names[in_turn], np.cumsum(size) - size, size, np.argsort(owner, kind="stable"))

    def take(self, rows: Rows) -> tuple[Any, Ints, Ints]:
        """The rows of some queries' candidates, as a slice where they follow each other; begin and size in these."""
        begin, size = self.begin[rows], self.size[rows]
        if isinstance(rows, slice) and rows.step in (None, 1) and self.order is None:
            first = int(begin[0]) if len(begin) else 0
            return slice(first, first + int(size.sum())), begin - first, size
        chosen = stretches(begin, size)
        return chosen if self.order is None else self.order[chosen], np.cumsum(size) - size, size

    def one_each(self, name: str, values: Any) -> Any:
        """One value per query, from values per score."""
        if values is None:
            return None
        array = as_numeric(values, name) if name == "weights" else as_labels(values, name)
        require_shape(array, (int(self.size.sum()),), name, "Give one per score.")
        ordered = array if self.order is None else array[self.order]
        first = ordered[self.begin]
        if (ordered != np.repeat(first, self.size)).any():
            raise InputError(f"{name} differs within a query", fix="All candidates of a query belong to one group.")
        return first


@dataclass(eq=False)
class ListQueries(Queries):
    """Candidates with a score and a grade each; those of grade 0 are negatives."""

    scores: AnyArray
    grades: AnyArray
    places: Places
    labels: Labels
    minus_inf: str
    nan: str
    has_pool = True

    def __post_init__(self) -> None:
        self.n = len(self.places.names)

    def work(self) -> int:
        return len(self.scores)

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        scores, grades, begin, size, kept, met = self._left(rows)
        counts = count_lists(scores, grades, begin, size)
        answered = counts.relevant > 0
        unanswered = int(np.count_nonzero(~answered & kept))
        counts = counts if answered.all() else counts.take(answered)
        kept = kept & answered
        met += Met(unanswered=unanswered)
        return replace(counts, met=met), None if kept.all() else kept

    def _left(self, rows: Rows) -> tuple[AnyArray, AnyArray, Ints, Ints, Mask, Met]:
        """The candidates of some queries without those that are left out, and which queries are left.

        Queries that are left out have no candidates.
        """
        chosen, begin, size = self.places.take(rows)
        scores, grades = self.scores[chosen], self.grades[chosen]
        kept = np.ones(len(size), bool)
        if scores.dtype.kind != "f" or not len(scores) or np.isfinite(scores.min()):
            return scores, grades, begin, size, kept, Met()
        query = np.repeat(np.arange(len(size)), size)
        right, missing = grades > 0, np.isnan(scores)
        if self.nan == "raise" and missing.any():
            refuse_nan(self.scores, "scores", fix=FIX_NAN)
        positives, unscored, negatives, left = (
            np.bincount(query[which], minlength=len(size))
            for which in (right, right & missing, ~right, ~right & ~missing)
        )
        # Without any negative left, the positives would rank first with any scores.
        emptied = (positives > 0) & (unscored == 0) & (negatives > 0) & (left == 0)
        kept = ~((unscored > 0) | emptied)
        use = kept[query]
        met = Met(int(np.count_nonzero(unscored)), int(emptied.sum()), missing=int((missing & use).sum()))
        lowest, exclude = np.isneginf(scores) & ~right & use, self.minus_inf == "exclude"
        met += Met(**{"excluded" if exclude else "lowest": int(lowest.sum())})
        use &= ~(missing | (lowest & exclude))
        size = np.bincount(query[use], minlength=len(size))
        return scores[use], grades[use], np.cumsum(size) - size, size, kept, met

    def pool(self) -> Pooled:
        """All scores together, query by query: a unit is a query that has a positive."""
        scores, grades, _, size, kept, _ = self._left(slice(0, self.n))
        query = np.repeat(np.arange(len(size)), size)
        positive = grades > 0
        answered = kept & (np.bincount(query[positive], minlength=len(size)) > 0)
        pos_query, neg_query = query[positive], query[~positive]
        owned = answered[neg_query]
        neg, lengths = scores[~positive][owned], np.bincount(neg_query[owned], minlength=len(size))
        # The negatives of a query belong to its first positive, and its positives err together.
        first = np.concatenate([[True], pos_query[1:] != pos_query[:-1]])[: len(pos_query)]
        of_positive = np.where(first, lengths[pos_query], 0)
        alone = self.labels.cluster is None and bool(first.all())
        cluster = None if alone else pos_query if self.labels.cluster is None else self.labels.cluster[pos_query]
        offsets = np.concatenate([[0], np.cumsum(of_positive)])
        over = "queries" if self.labels.cluster is None else "clusters"
        return Pooled(scores[positive], neg, offsets, cluster, over, "positive")


def count_lists(scores: AnyArray, grades: AnyArray, begin: Ints, size: Ints) -> Counts:
    """The runs of lists whose candidates are `scores[begin[q]:begin[q] + size[q]]`, one after the other, none NaN.

    Only positives are sorted, and the other candidates of their list are placed among them.
    """
    positive = np.flatnonzero(grades)
    first = np.searchsorted(positive, begin)
    relevant = np.searchsorted(positive, begin + size) - first
    ends = np.concatenate([[0], np.cumsum(relevant)])
    whole = exact(scores, working_dtype(scores.dtype))
    offsets = np.append(begin, len(scores)).astype(np.int64, copy=False)
    place, ahead, tied = _core.list_places(whole, offsets, positive, ends, threads_for(scores.size))
    query = np.repeat(np.arange(len(size)), relevant)
    run, start, positives, _ = runs_of(query, ahead)
    values = grades[place].astype(np.float64)
    graded = bool((values != 1).any())
    if graded:
        values = values[np.lexsort((-values, run))]
    runs = ahead[start], tied[start] - positives, positives
    return Counts.from_runs(query[start], runs, size, relevant, grades=values if graded else None)


_LISTS = "One row of items per query, best first; −1 marks unfilled places at the end."


def from_topk(
    indices: Any,
    targets: Any,
    *,
    known: Any = None,
    n_items: int | None = None,
    catalog: Any = None,
    names: Any = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
) -> Queries:
    """Lists of the first items of each query, best first, as FAISS, recommenders and search engines return them.

    Parameters
    ----------
    indices
        Items (q, length), −1 for unfilled places at the end; a list of arrays; or a run `{query: {document: score}}`,
        as ranx and ir_measures take it.
    targets
        The right items of each query: a number each (q,), or sets as in `from_embeddings`; of a run its judgements,
        `{query: {document: grade}}`.
    known
        Items of training, as sets: no candidates. Those in a list are passed over and counted.
    n_items
        The number of items, for chance levels; by default that of `catalog`, or the largest that occurs, plus one.
    catalog
        A `Catalog`, for `coverage@k` and the other metrics of what is recommended.
    names
        The names of the items in order, if lists name them.
    groups, cluster, weights, ids
        As in `from_scores`.

    Returns
    -------
    Queries
        For `evaluate`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ev = ranking.evaluate(ranking.Queries.from_topk([[3, 1], [2, 0]], [1, 2], n_items=5), k=2)
    >>> ev["recall@2"].value, ev["mrr_first@2"].value
    (1.0, 0.75)
    """
    about = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
    if isinstance(indices, Mapping):
        if catalog is not None or known is not None or names is not None:
            fix = "Leave them out, or pass lists of item numbers."
            raise OptionError("a run takes no catalog, known and names", fix=fix)
        return _from_run(indices, targets, n_items, about)
    shop = Catalog.of(catalog)
    every = None if names is None else as_labels(names, "names")
    values, offsets = _lists(indices, every)
    labels = Labels.given(len(offsets) - 1, **about)
    count = n_items
    if count is None:
        count = len(every) if every is not None else None if shop is None else shop.size
    count = None if count is None else whole_number("n_items", count, 1)
    of = Numbering(len(offsets) - 1, count, labels.ids, every, entity="item")
    right, left_out = Sets.read(targets, of, "targets"), Sets.read(known, of, "known")
    largest = int(values.max(initial=-1))
    if count is None:  # a matrix has a column for every item
        count = max(0 if is_matrix(targets) or is_matrix(known) else largest + 1, right.entities, left_out.entities)
    if largest >= count:
        raise InputError(f"item {largest} is not among the {count} items", where="indices")
    right, left_out = (replace(each, entities=count) for each in (right, left_out))
    fix = "Leave it out of the targets or out of known=."
    known_too = left_out.contain(right.rows, right.values)
    right.refuse(known_too, "targets", "item {entity} of query {row} is known", fix)
    return TopQueries(values, offsets, right, left_out, labels, catalog=Catalog.of(shop, count))


class TopQueries(Queries):
    """Lists `values[offsets[i] : offsets[i + 1]]` of items, of which the first `depth` places of all are known.

    `grades` are those of the right items, in the order of `targets.values`; None if all are 1. If lists are `complete`,
    nothing comes after their end, and all places are known.
    """

    def __init__(
        self,
        values: Ints,
        offsets: Ints,
        targets: Sets,
        known: Sets,
        labels: Labels,
        *,
        grades: Floats | None = None,
        catalog: Catalog | None = None,
        complete: bool = False,
    ) -> None:
        self.labels, self.targets, self._grades, self.catalog = labels, targets, grades, catalog
        self.n, longest = len(offsets) - 1, int(np.diff(offsets).max(initial=0))
        unfilled = 0 if complete else self.n * longest - len(values)
        rows = np.repeat(np.arange(self.n), np.diff(offsets))
        passed = known.contain(rows, values)
        gone = np.bincount(rows[passed], minlength=self.n)
        self.lists = Sets(values[~passed], offsets - np.append(0, np.cumsum(gone)), targets.entities)
        self.depth = targets.entities if complete else longest - int(gone.max(initial=0))
        if self.n and not self.depth:
            what = f"list {int(np.argmax(gone))} has known items only" if longest else "lists without places"
            raise InputError(what, where="indices", fix="Ask for longer lists.")
        self.answers = targets.sizes
        # Targets are never left out.
        self._candidates = targets.entities - known.sizes
        self._met = Met(unfilled=unfilled, passed_over=int(passed.sum()))

    def work(self) -> int:
        return len(self.lists.values)

    def recommended(self, k: int) -> Recommended:
        """The lists themselves, as far as all of them go."""
        assert self.catalog is not None
        lists, query = self.lists, self.lists.rows
        place = np.arange(len(query)) - lists.offsets[query]
        kept = place < self.depth
        columns = (each[kept] for each in (query, lists.values, place, np.ones_like(place)))
        shown = np.minimum(lists.sizes, self.depth)
        return Recommended.of(*columns, candidates=shown, catalog=self.catalog, kept=self.depth)

    # What all lists together have is said once.
    block_work = 1 << 62

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        has = self.answered(rows)
        asked = self.rows(rows)[slice(None) if has is None else has]
        targets, lists = self.targets.take(asked), self.lists.take(asked)
        query, item = lists.rows, lists.values
        right = targets.contain(query, item)
        place = (np.arange(len(item)) - lists.offsets[query])[right]
        hits = np.bincount(query[right], minlength=len(asked))
        # Right items at their places, one run each, and those that are not in a list in one run behind all lists.
        behind = np.maximum(lists.sizes, self.depth)
        left = np.flatnonzero(targets.sizes > hits)
        run_query, above = np.append(query[right], left), np.append(place, behind[left])
        positives = np.append(np.ones(len(place), np.int64), (targets.sizes - hits)[left])
        order = np.lexsort((above, run_query))
        runs = above[order], np.zeros(len(order), np.int64), positives[order]
        candidates = np.maximum(self._candidates[asked], behind + targets.sizes - hits)
        counts = Counts.from_runs(
            *(run_query[order], runs, candidates, targets.sizes),
            grades=self._ordered_grades(asked, targets, query[right], item[right]),
            met=self._met + Met(unanswered=0 if has is None else int((~has).sum())),
            depth=self.depth,
        )
        return counts, has

    def _ordered_grades(self, asked: Ints, targets: Sets, query: Ints, item: Ints) -> Floats | None:
        """The grades of right items in the order of runs: as they are listed, then the others from the highest."""
        if self._grades is None:
            return None
        own = Sets(np.arange(len(self._grades)), self.targets.offsets, len(self._grades)).take(asked)
        grades, span = self._grades[own.values], max(targets.entities, 1)
        keys, listed = targets.rows * span + targets.values, query * span + item
        rank = np.full(len(keys), len(item))
        rank[np.searchsorted(keys, listed)] = np.arange(len(item))
        return grades[np.lexsort((-grades, rank, targets.rows))]


def _from_run(run: Mapping[Any, Any], relevance: Any, n_items: int | None, about: Mapping[str, Any]) -> TopQueries:
    """A run `{query: {document: score}}` and its judgements `{query: {document: grade}}`, as in TREC.

    Queries are those with judgements, in their order; one that is missing in the run has an empty list.
    """
    for where, given, value in (("indices", run, "score"), ("targets", relevance, "grade")):
        if not isinstance(given, Mapping) or not all(isinstance(each, Mapping) for each in given.values()):
            raise InputError(f"a run goes with judgements: expected {{query: {{document: {value}}}}}", where=where)
    foreign = [query for query in run if query not in relevance]
    if foreign:
        raise InputError(f"the query {foreign[0]!r:.60} has no judgements", where="indices", fix="Leave it out.")
    number: dict[Any, int] = {}
    lists = [run.get(query, {}) for query in relevance]
    document = np.array([number.setdefault(each, len(number)) for part in lists for each in part], np.int64)
    score = np.array([score for part in lists for score in part.values()], np.float64)
    if np.isnan(score).any():
        raise InputError(f"{np.isnan(score).sum()} scores are NaN", where="indices", fix="Repair the model.")
    size = np.array([len(part) for part in lists], np.int64)
    order = np.lexsort((-score, np.repeat(np.arange(len(lists)), size)))
    judged = [(row, doc, grade) for row, part in enumerate(relevance.values()) for doc, grade in part.items()]
    right = [(row, number.setdefault(doc, len(number)), grade) for row, doc, grade in judged if grade > 0]
    rows, items, grades = np.array(right, np.float64).reshape(-1, 3).T
    count = len(number) if n_items is None else max(whole_number("n_items", n_items, 1), len(number))
    by_item = np.lexsort((items, rows))
    targets = Sets.from_pairs(rows[by_item].astype(np.int64), items[by_item].astype(np.int64), len(lists), count)
    nothing = Sets.from_pairs(document[:0], document[:0], len(lists), count)
    labels = Labels.given(len(lists), **{**about, "ids": as_labels(list(relevance), "relevance")})
    offsets = np.append(0, np.cumsum(size))
    graded = None if (grades == 1).all() else grades[by_item]
    return TopQueries(document[order], offsets, targets, nothing, labels, grades=graded, complete=True)


def _lists(indices: Any, names: Any) -> tuple[Ints, Ints]:
    """The items of all lists, and where each begins; each item once in a list, unfilled places at the end."""
    needed = "names= of all items in order"
    if isinstance(indices, tuple) and len(indices) == 2 and "float" in str(getattr(indices[1], "dtype", "")):
        raise InputError("found a pair of lists and their scores", where="indices", fix="Pass the lists: indices[0].")
    if isinstance(indices, list) and any(np.ndim(each) for each in indices):
        parts = [numbers_of(each, names, f"indices[{number}]", needed) for number, each in enumerate(indices)]
        if any(part.ndim != 1 for part in parts):
            raise InputError("a list is not flat", where="indices", fix=_LISTS)
        flat = np.concatenate(parts) if parts else np.empty(0, np.int64)
        size = np.array([len(part) for part in parts], np.int64)
    else:
        rows = numbers_of(indices, names, "indices", needed)
        if rows.ndim != 2 or not rows.shape[1]:
            raise InputError(f"found the shape {rows.shape}", where="indices", fix=_LISTS)
        flat, size = rows.reshape(-1), np.full(len(rows), rows.shape[1])
    row = np.repeat(np.arange(len(size)), size)
    filled = flat >= 0
    follows = np.append(False, row[1:] == row[:-1])[: len(row)]
    wrong = (flat < -1) | (filled & follows & ~np.append(True, filled[:-1])[: len(row)])
    if wrong.any():
        what = f"list {row[np.argmax(wrong)]} has an unfilled place before its end, or a number below −1"
        raise InputError(what, where="indices", fix="Items are numbered from 0; −1 marks places at the end.")
    row, flat = row[filled], flat[filled]
    order = np.lexsort((flat, row))
    twice = np.flatnonzero((np.diff(row[order]) == 0) & (np.diff(flat[order]) == 0))
    if twice.size:
        what = f"list {row[order][twice[0]]} contains item {flat[order][twice[0]]} twice"
        raise InputError(what, where="indices", fix="Every item has one place.")
    return flat, np.append(0, np.cumsum(np.bincount(row, minlength=len(size))))
