"""Queries with any number of positives: flat lists of candidates, each with a score and a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import nan_policy
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.ranking.cells import runs_of, stretches_of
from graphgauge.ranking.counting import exact, working_dtype
from graphgauge.ranking.counts import Counts, Labels, Met, stretches
from graphgauge.ranking.pooled import Pooled
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.scores import FIX_NAN, MINUS_INF

_ONE_SCORE = "Candidate lists have one score per candidate: flatten them, with a query for each."
_ONE_EACH = "Give one per score, one per query in the order in which queries first occur, or {query: value}."


def from_lists(
    scores: Any,
    labels: Any,
    queries: Any,
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
        As in `from_scores`: one per query in the order in which queries first occur, one per candidate, or
        `{query: value}`.
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
    names = as_labels(queries, "queries")
    require_shape(names, (len(values),), "queries", "One query per score.")
    places = Places.of(names)
    about = {"groups": groups, "cluster": cluster, "weights": weights}
    known = Labels.given(len(places.names), **about, one_each=places.one_each)
    return ListQueries(values, grades, places, replace(known, ids=places.names), minus_inf, nan_policy(nan))


def _grades(labels: Any, length: int) -> AnyArray:
    grades = as_numeric(labels, "labels")
    require_shape(grades, (length,), "labels", "One label per score: 1 for positives, 0 for negatives, or grades.")
    if grades.dtype.kind == "b" or not length:
        return grades
    fix = "Labels are 0 for negatives, and 1 or a finite grade above 0 for positives."
    lowest, highest = grades.min(), grades.max()
    if np.isnan(lowest):
        refuse_nan(grades, "labels", fix=fix)
    if lowest < 0 or not np.isfinite(highest):
        raise InputError(f"a label is {lowest if lowest < 0 else highest}", where="labels", fix=fix)
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
        """One value per query, from values per score, per query in order of first appearance, or by query."""
        if isinstance(values, Mapping):
            names = self.names.tolist()
            missing = [query for query in names if query not in values]
            if missing:
                what = f"no label for query {missing[0]!r}" + (f" and {len(missing) - 1} others" if missing[1:] else "")
                raise InputError(what, where=name, fix="Give a label for every query.")
            return [values[query] for query in names]
        array = as_numeric(values, name) if name == "weights" else as_labels(values, name)
        require_shape(array, (None,), name, _ONE_EACH)
        rows = int(self.size.sum())
        if len(array) == len(self.names):
            return array
        if len(array) != rows:
            what = f"found {len(array)} for {len(self.names)} queries with {rows} scores"
            raise InputError(what, where=name, fix=_ONE_EACH)
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
    spans = (np.require(each, np.int64, ("C", "A")) for each in (begin, size, positive))
    place, ahead, tied = _core.list_places(whole, *spans, ends, threads_for(scores.size))
    query = np.repeat(np.arange(len(size)), relevant)
    run, start, positives, _ = runs_of(query, ahead)
    values = grades[place].astype(np.float64)
    graded = bool((values != 1).any())
    if graded:
        values = values[np.lexsort((-values, run))]
    runs = ahead[start], tied[start] - positives, positives
    return Counts.from_runs(query[start], runs, size, relevant, grades=values if graded else None)
