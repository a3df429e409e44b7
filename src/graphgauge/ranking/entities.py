"""Queries whose right answers are ranked among all entities: embeddings, a scoring function, a matrix of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, Mask, as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.ranking.beyond import Catalog, Recommended
from graphgauge.ranking.counts import Counts, Met
from graphgauge.ranking.labels import Labels
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.scorers import FunctionOf, Matrix, Places, Scorer, Task, Tasks
from graphgauge.ranking.sets import Numbering, Sets, is_one_each
from graphgauge.ranking.tops import TopItems

# What a score of −inf of a model means: a low score like any other, or an entity that is no candidate.
MINUS_INF = ("rank", "exclude")
# Scores that are computed at once, which later blocks reuse the memory of; but no fewer queries than these.
_AT_ONCE, _FEWEST = 1 << 22, 64


class EntityQueries(Queries):
    """Queries ranked by a scorer among all entities, or among the allowed ones of each, without those left out."""

    def __init__(
        self,
        scorer: Scorer,
        tasks: Tasks,
        labels: Labels,
        *,
        lists: bool,
        minus_inf: str | None,
        catalog: Catalog | None = None,
    ) -> None:
        if minus_inf is not None:
            one_of("minus_inf", minus_inf, MINUS_INF)
        self.scorer, self.tasks, self.labels, self.lists = scorer, tasks, labels, lists
        self.n, self.minus_inf, self.catalog = scorer.queries, minus_inf, catalog

    def work(self) -> int:
        return self.n * self.scorer.entities

    def answered(self) -> Mask | None:
        has = self.tasks.targets.sizes > 0
        return None if has.all() else has

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        has = self.tasks.targets.sizes[rows] > 0
        asked = self.rows(rows)[has]
        parts = [self._counted(asked[part]) for part in self._parts(len(asked))]
        counts = Counts.join(parts) if parts else self._counted(asked)
        met = counts.met + Met(unanswered=len(has) - len(asked))
        return replace(counts, met=met), None if has.all() else has

    def samples(self, k: int) -> Mapping[str, Any]:
        """What is recommended: the first items of all queries, of those without right answers, too."""
        if self.catalog is None:
            return {}
        parts = []
        for part in self._parts(self.n):
            rows = slice(part.start, min(part.stop, self.n))
            task = self.tasks.take(np.arange(rows.start, rows.stop))
            query, item, score = self.scorer.top(rows, task, k)
            candidates = task.left_out.entities - task.left_out.sizes
            if task.allowed is not None:
                candidates = task.allowed.without(task.left_out).sizes
            if self.minus_inf == "exclude":
                kept = ~np.isneginf(score)
                query, item, score = query[kept], item[kept], score[kept]
            parts.append(TopItems.placed(query, item, score, candidates, k))
        return Recommended.samples(TopItems.join(parts), self.catalog, k)

    def _parts(self, count: int) -> Iterator[slice]:
        step = max(_FEWEST, _AT_ONCE // max(self.scorer.entities, 1))
        for start in range(0, count, step):
            yield slice(start, start + step)

    def _counted(self, rows: Ints) -> Counts:
        task = self.tasks.take(rows)
        if not len(rows):
            nothing = np.zeros(0, np.int64)
            return counts_of(task.targets, Places(nothing, nothing, np.zeros(0), nothing, nothing), Met(), self.lists)
        follow = int(rows[-1] - rows[0]) == len(rows) - 1 and bool((np.diff(rows) == 1).all())
        places = self.scorer.places(slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows, task)
        return counts_of(task.targets, *self._without_lowest(places, task.targets, rows), self.lists)

    def _without_lowest(self, places: Places, targets: Sets, rows: Ints) -> tuple[Places, Met]:
        """What candidates at −inf mean, as `minus_inf` says."""
        total = int(places.lowest.sum())
        if self.minus_inf == "rank":
            return places, Met(lowest=total)
        wrong = np.isneginf(places.own)
        if wrong.any():
            first = int(np.argmax(wrong))
            what = f"the right answer {targets.values[first]} of query {rows[targets.rows[first]]} scores −inf"
            raise InputError(what, where="scores", fix='Filter no answers, or say minus_inf="rank".')
        if total and self.minus_inf is None:
            what = f"{total} candidates score −inf, the first in row {rows[np.argmax(places.lowest > 0)]}"
            fix = 'Say minus_inf="exclude" if they are no candidates, or "rank" if that is their score.'
            raise InputError(what, where="scores", fix=fix)
        kept = Places(places.above, places.level, places.own, places.candidates - places.lowest, places.lowest)
        return kept, Met(excluded=total)


def from_embeddings(
    queries: Any,
    entities: Any,
    about: Mapping[str, Any],
    *,
    targets: Any,
    scores: Any,
    score: str | Callable[[Any, Any], Any],
    known: Any,
    candidates: Any,
    minus_inf: str | None,
    catalog: Any,
    names: Any,
) -> EntityQueries:
    """What `Queries.from_embeddings` describes; `about` are ids, groups, cluster and weights."""
    scorer = scorer_of(queries, entities, scores, score)
    labels = Labels.given(scorer.queries, **about)
    every = None if names is None else as_labels(names, "names")
    if every is not None:
        require_shape(every, (scorer.entities,), "names", "One name per entity, in their order.")
    numbering = Numbering(scorer.queries, scorer.entities, labels.ids, every)
    task = task_of(numbering, targets, known, candidates)
    return EntityQueries(
        scorer,
        task,
        labels,
        lists=not is_one_each(targets),
        minus_inf=minus_inf,
        catalog=Catalog.of(catalog, scorer.entities),
    )


def scorer_of(queries: Any, entities: Any, scores: Any, score: str | Callable[[Any, Any], Any]) -> Scorer:
    """What scores the queries against all entities."""
    if scores is not None:
        if queries is not None or entities is not None or score != "dot":
            raise OptionError("scores exclude queries, entities and score", fix="Pass a matrix, or embeddings.")
        return Matrix(scores)
    if queries is None or entities is None:
        raise OptionError("nothing to rank", fix="Pass embeddings as queries and entities, or scores=matrix.")
    if callable(score):
        return FunctionOf(queries, entities, score)
    from graphgauge.ranking.exact import Embeddings

    return Embeddings(queries, entities, score)


def task_of(of: Numbering, targets: Any, known: Any, candidates: Any) -> Task:
    """Targets with what is left out beside them and, if restricted, the only candidates."""
    right = Sets.read(targets, of, "targets")
    allowed = None if candidates is None else Sets.read(candidates, of, "candidates")
    if allowed is not None:
        require_allowed(right, allowed)
    return Task(right, Sets.read(known, of, "known").without(right), allowed)


def require_allowed(targets: Sets, allowed: Sets) -> None:
    outside = ~allowed.contain(targets.rows, targets.values)
    if outside.any():
        first = int(np.argmax(outside))
        what = f"{targets.values[first]} of query {targets.rows[first]} is not among its candidates"
        raise InputError(what, where="targets", fix="Add it to candidates=.")


def counts_of(targets: Sets, places: Places, met: Met, lists: bool) -> Counts:
    """Counts of the targets of each query, which has at least one, from where they stand."""
    if not lists:
        equal = places.level - 1
        return Counts.from_ranks(places.above, equal, places.candidates, met=met)
    row = targets.rows
    order = np.lexsort((-places.own, row))
    row, own = row[order], places.own[order]
    new = np.append(True, (row[1:] != row[:-1]) | (own[1:] != own[:-1]))[: len(row)]
    first = np.flatnonzero(new)
    return Counts(
        query=row[first],
        above=places.above[order][first],
        length=places.level[order][first],
        positives=np.diff(np.append(first, len(row))),
        candidates=places.candidates,
        relevant=targets.sizes,
        met=met,
        lists=True,
    )


class AskedQueries(Queries):
    """Scores that a function of a query's number returns: those of its right answers, and those of the wrong ones."""

    def __init__(self, count: int, score_query: Callable[[int], Any], labels: Labels, lists: bool) -> None:
        self.n, self._ask, self.labels, self.lists = count, score_query, labels, lists

    # A function is asked for no more queries than are needed.
    block_work = 1 << 10

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        asked = [self._scores(row) for row in self.rows(rows).tolist()]
        size = np.array([len(right) for right, _ in asked], np.int64)
        values = np.concatenate([np.arange(count) for count in [0, *size]])
        targets = Sets(values, np.append(0, np.cumsum(size)), int(size.max(initial=1)))
        own = np.concatenate([np.zeros(0), *(right for right, _ in asked)])
        above = [np.count_nonzero(all_ > right[:, None], axis=1) for right, all_ in _with_all(asked)]
        level = [np.count_nonzero(all_ == right[:, None], axis=1) for right, all_ in _with_all(asked)]
        counted = [np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (above, level)]
        candidates = size + np.array([len(others) for _, others in asked], np.int64)
        lowest = sum(int(np.isneginf(others).sum()) for _, others in asked)
        places = Places(counted[0], counted[1], own, candidates, np.zeros(len(size), np.int64))
        return counts_of(targets, places, Met(lowest=lowest), self.lists), None

    def _scores(self, row: int) -> tuple[AnyArray, AnyArray]:
        try:
            pair = self._ask(row)
        except (Exception, SystemExit) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"the function failed for query {row} ({what:.200})", where="score_query") from error
        if not isinstance(pair, tuple) or len(pair) != 2:
            fix = "It returns the scores of the right answers and those of the wrong ones."
            raise InputError(f"returned {type(pair).__name__} for query {row}", where="score_query", fix=fix)
        # Copies, because a function may fill the same arrays again for the next query.
        right, others = (np.array(as_numeric(part, f"score_query({row})"), np.float64) for part in pair)
        if right.ndim != int(self.lists) or others.ndim != 1 or not right.size:
            wanted = "a flat array of right answers" if self.lists else "the score of the right answer"
            what = f"returned shapes {right.shape} and {others.shape} for query {row}"
            raise InputError(what, where="score_query", fix=f"It returns {wanted}, and a flat array of others.")
        if np.isnan(right).any() or np.isnan(others).any():
            raise InputError(f"returned NaN for query {row}", where="score_query", fix="Repair the model.")
        return np.atleast_1d(right), others


def from_function(n: int, score_query: Callable[[int], Any], several: bool, about: Mapping[str, Any]) -> AskedQueries:
    """What `Queries.from_function` describes; `about` are ids, groups, cluster and weights."""
    if not callable(score_query):
        raise OptionError(f"score_query must be a function, not {score_query!r:.60}")
    count = whole_number("n", n, 1)
    labels = Labels.given(count, **about)
    return AskedQueries(count, score_query, labels, several)


def _with_all(asked: list[tuple[AnyArray, AnyArray]]) -> Iterator[tuple[AnyArray, AnyArray]]:
    for right, others in asked:
        yield right, np.concatenate([right, others])
