"""Candidate lists with any number of positives: what is counted of them, and the flat form that gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import (
    AnyArray,
    Floats,
    Ints,
    as_labels,
    as_numeric,
    refuse_nan,
    require_shape,
)
from graphgauge.core.errors import InputError
from graphgauge.kernels.lists import changes, grouped, last_places, list_places
from graphgauge.kernels.tally import numbered
from graphgauge.kernels.threads import map_blocks, row_blocks
from graphgauge.old.ranking.inputs import FIX_NAN

_ONE_EACH = "Give one per score, one per query in the order in which queries first occur, or {query: value}."


@dataclass(frozen=True)
class QueryLists:
    """Counts of candidate lists, query by query and, within a query, run by run from the best score.

    A query has `relevant` positives among its `candidates`, in `runs` runs of equal scores. A run begins after `start`
    candidates with higher scores, is `length` long and contains `positives`; runs without a positive are not kept.
    `grades`, if relevance is graded, belong to the positives in the same order, within a run from the highest.
    """

    relevant: Ints
    candidates: Ints
    runs: Ints
    start: Ints
    length: Ints
    positives: Ints
    grades: Floats | None = None

    def __len__(self) -> int:
        return len(self.relevant)

    @cached_property
    def run_query(self) -> Ints:
        """The query of each run."""
        return np.repeat(np.arange(len(self)), self.runs)

    @cached_property
    def positive_query(self) -> Ints:
        """The query of each positive."""
        return np.repeat(np.arange(len(self)), self.relevant)

    @cached_property
    def positives_ahead(self) -> Ints:
        """The positives of a query in the runs before each."""
        ahead = np.cumsum(self.positives) - self.positives
        before = np.cumsum(self.relevant) - self.relevant
        return ahead - before[self.run_query]

    @cached_property
    def positive_run(self) -> Ints:
        """The run of each positive."""
        return np.repeat(np.arange(len(self.start)), self.positives)

    @property
    def tied(self) -> bool:
        """Whether a positive and a negative have the same score."""
        return bool((self.length > self.positives).any())

    def best(self) -> tuple[Ints, Ints, Ints]:
        """Start, length and positives of the first run of each query."""
        first = np.cumsum(self.runs) - self.runs
        return self.start[first], self.length[first], self.positives[first]

    def near(self, k: int, *, last: bool) -> NearRuns:
        """The runs of which a positive may be among the first k places: the first one or, if `last`, the last ones."""
        chosen = np.flatnonzero((self.start + (self.length - self.positives) if last else self.start) < k)
        columns = (column[chosen] for column in (self.run_query, self.start, self.length, self.positives))
        return NearRuns(chosen, *columns)

    def ahead_of(self, runs: Ints) -> Ints:
        """The positives of a query in the runs before each of these."""
        return self.positives_ahead[runs]

    @property
    def place_in_run(self) -> Ints:
        """How many positives of its run are before each."""
        return _counting(self.positives)

    @property
    def place_in_query(self) -> Ints:
        """How many positives of its query are before each."""
        return _counting(self.relevant)

    @property
    def grades_by_query(self) -> Floats | None:
        """The grades of each query, the highest first."""
        return None if self.grades is None else self.grades[np.lexsort((-self.grades, self.positive_query))]

    def cells(self) -> PositiveCells:
        """The positives of each query with as many negatives above them and beside them, in this order."""
        above, beside = self.start - self.positives_ahead, self.length - self.positives
        new = np.ones(len(above), bool)
        # Runs without a negative between them are one cell, if none is in them.
        new[1:] = (np.diff(self.run_query) != 0) | (np.diff(above) != 0) | (np.diff(beside) != 0)
        first = np.flatnonzero(new)
        count = np.add.reduceat(self.positives, first) if len(first) else self.positives
        return PositiveCells(self.run_query[first], above[first], beside[first], count)

    def take(self, queries: NDArray[np.bool_]) -> QueryLists:
        """Some of the queries, in the same order."""
        if queries.all():
            return self
        runs = queries[self.run_query]
        return QueryLists(
            self.relevant[queries],
            self.candidates[queries],
            self.runs[queries],
            self.start[runs],
            self.length[runs],
            self.positives[runs],
            None if self.grades is None else self.grades[queries[self.positive_query]],
        )

    def arranged(self, order: Ints) -> QueryLists:
        """The queries in another order."""
        runs, positives = (_places(lengths, order) for lengths in (self.runs, self.relevant))
        return QueryLists(
            self.relevant[order],
            self.candidates[order],
            self.runs[order],
            self.start[runs],
            self.length[runs],
            self.positives[runs],
            None if self.grades is None else self.grades[positives],
        )

    def columns(self) -> dict[str, AnyArray]:
        return {name: values for name, values in vars(self).items() if name in _COLUMNS and values is not None}

    @classmethod
    def join(cls, parts: list[QueryLists]) -> QueryLists:
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS[:-1]
        }
        if any(part.grades is not None for part in parts):
            columns["grades"] = np.concatenate([part.all_grades for part in parts])
        return cls(**columns)

    @property
    def all_grades(self) -> Floats:
        """The grade of each positive; 1 if they are not graded."""
        return np.ones(int(self.relevant.sum())) if self.grades is None else self.grades

    def check(self) -> None:
        """Raise an error if these are not possible counts."""
        queries, runs = self.relevant.shape, self.start.shape
        for name, shape in {"candidates": queries, "runs": queries, "length": runs, "positives": runs}.items():
            require_shape(getattr(self, name), shape, name, "One per query, and one per run.")
        require_shape(self.start, (int(self.runs.sum()),), "start", "As many as `runs` says.")
        ends = self.start + self.length
        same = self.run_query[1:] == self.run_query[:-1]
        sound = (
            (self.runs >= 0).all()
            and (self.positives > 0).all()
            and (self.length >= self.positives).all()
            and (self.start >= 0).all()
            and (ends <= self.candidates[self.run_query]).all()
            and (self.start[1:] >= ends[:-1])[same].all()
            and np.array_equal(np.bincount(self.run_query, self.positives, len(self)), self.relevant)
            and (self.relevant <= self.candidates).all()
        )
        if not sound:
            raise InputError(
                "impossible counts of candidate lists",
                fix="Runs follow each other from the best, and their positives add up to `relevant`.",
            )
        if self.grades is not None:
            require_shape(self.grades, (int(self.relevant.sum()),), "grades", "One per positive.")
            if not (np.isfinite(self.grades) & (self.grades > 0)).all():
                raise InputError("grades of positives must be finite and above 0", where="grades")


class PositiveCells(NamedTuple):
    """Positives with the same counts: their query, its negatives above and beside them, and how many they are."""

    query: Ints
    above: Ints
    beside: Ints
    positives: Ints


class NearRuns(NamedTuple):
    """Some runs: their numbers, and of each its query, start, length and positives."""

    runs: Ints
    query: Ints
    start: Ints
    length: Ints
    positives: Ints


def _counting(lengths: Ints) -> Ints:
    """0, 1, … for each length in turn."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _places(lengths: Ints, order: Ints) -> Ints:
    """The places of what belongs to each query in turn, if each has so many, in another order of the queries."""
    size = lengths[order]
    return np.repeat((np.cumsum(lengths) - lengths)[order], size) + _counting(size)


COUNTS = ("relevant", "candidates", "runs", "start", "length", "positives")
_COLUMNS = (*COUNTS, "grades")


@dataclass(frozen=True)
class TopItems:
    """The first items of each query, as far as they were kept: those with a score above or at the last place's.

    `lengths` are the numbers of kept items of each query and `candidates` of all of them. An item is in a run of
    `length` equal scores after `start` better candidates: one of the next places is its, all being as likely.
    """

    item: Ints
    start: Ints
    length: Ints
    lengths: Ints
    candidates: Ints

    def columns(self) -> dict[str, Ints]:
        return dict(vars(self))

    @classmethod
    def join(cls, parts: list[TopItems]) -> TopItems:
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in _TOP_COLUMNS})

    def check(self) -> None:
        sound = (
            self.lengths.shape == self.candidates.shape
            and int(self.lengths.sum()) == len(self.item) == len(self.start) == len(self.length)
            and bool((self.item >= 0).all() and (self.start >= 0).all() and (self.length > 0).all())
            and bool((self.lengths >= 0).all() and (self.lengths <= self.candidates).all())
        )
        if not sound:
            raise InputError("impossible lists of items")


_TOP_COLUMNS = ("item", "start", "length", "lengths", "candidates")


@dataclass(frozen=True)
class Queries:
    """The queries of flat input in the order of their ids, and where the candidates of each are.

    Those of query q are the rows `order[begin[q]:begin[q] + size[q]]`, or without `order` the rows from `begin[q]` on.
    """

    names: AnyArray
    begin: Ints
    size: Ints
    order: Ints | None

    @classmethod
    def of(cls, ids: AnyArray, threads: int | None) -> Queries:
        """If the candidates of each query are adjacent, only these stretches are looked at, not every row."""
        start = changes(ids, threads=threads)
        together = cls.of_stretches(start, ids[start], len(ids))
        if together is not None:
            return together
        names, code = numbered(ids[start])
        order, size = grouped(np.repeat(code, np.diff(np.append(start, len(ids)))), len(names))
        return cls(names, np.cumsum(size) - size, size, order)

    @classmethod
    def of_stretches(cls, start: Ints, ids: AnyArray, rows: int) -> Queries | None:
        """Queries of rows whose id changes at each `start` to those of `ids`; None if an id comes again."""
        names, code = numbered(ids)
        if len(names) < len(start):
            return None
        begin, size = np.empty_like(start), np.empty_like(start)
        begin[code], size[code] = start, np.diff(np.append(start, rows))
        return cls(names, begin, size, None)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rows(self) -> int:
        return int(self.size.sum())

    @cached_property
    def first_row(self) -> Ints:
        return self.begin if self.order is None else self.order[self.begin]

    @cached_property
    def of_row(self) -> Ints:
        """The query of each row."""
        query = np.empty(self.rows, np.int64)
        in_order = np.argsort(self.begin)
        repeated = np.repeat(in_order, self.size[in_order])
        query[slice(None) if self.order is None else self.order] = repeated
        return query

    def one_each(self, values: Any, name: str, convert: Callable[[Any], AnyArray]) -> AnyArray:
        """One value per query, from values per score, per query in order of first appearance, or by query id."""
        if isinstance(values, Mapping):
            return convert(self._looked_up(values, name))
        values = convert(values)
        require_shape(values, (None,), name, _ONE_EACH)
        if values.shape == (self.rows,):
            chosen: AnyArray = values[self.first_row]
            if (values != chosen[self.of_row]).any():
                raise InputError(f"{name} differs within a query", fix="All candidates of a query belong to one group.")
            return chosen
        if values.shape != (len(self),):
            raise InputError(
                f"found {len(values)} for {len(self)} queries with {self.rows} scores", where=name, fix=_ONE_EACH
            )
        by_id: AnyArray = np.empty_like(values)
        by_id[np.argsort(self.first_row)] = values
        return by_id

    def _looked_up(self, labels: Mapping[Any, Any], name: str) -> list[Any]:
        names = self.names.tolist()
        missing = [query for query in names if query not in labels]
        if missing:
            raise InputError(
                f"no label for query {missing[0]!r}" + (f" and {len(missing) - 1} others" if missing[1:] else ""),
                where=name,
                fix="Give a label for every query.",
            )
        return [labels[query] for query in names]


_ONE_SCORE = "The flat form has one score per candidate: flatten them, with a query id for each."


@dataclass(frozen=True)
class FlatBatch:
    """One batch of the flat form: its `queries`, the counted `lists` of those that are `kept`, and what is not.

    Queries come in the order of their ids. `scores` and `grades` are the candidates that are left, of the queries
    in `used`.
    """

    queries: Queries
    kept: NDArray[np.bool_]
    lists: QueryLists
    scores: AnyArray
    grades: AnyArray
    used: Queries
    # Which of the given ones these are, if not all.
    rows: NDArray[np.bool_] | None
    dropped_queries: int
    dropped_candidates: int
    emptied_queries: int
    without_positives: int
    lowest_candidates: int

    @classmethod
    def of(cls, scores: Any, labels: Any, queries: Any, nan: str, threads: int | None = None) -> FlatBatch:
        scores = as_numeric(scores, "scores")
        require_shape(scores, (None,), "scores", _ONE_SCORE)
        grades = as_grades(labels, len(scores), threads)
        ids = as_labels(queries, "queries")
        require_shape(ids, (len(scores),), "queries", "One query id per score.")
        lowest = _lowest(scores, threads)
        given = used = Queries.of(ids, threads)
        unscored = emptied = np.zeros(len(given), bool)
        rows = None
        if np.isnan(lowest):
            if nan == "raise":
                refuse_nan(scores, "scores", fix=FIX_NAN)
            unscored, emptied = _lost(scores, grades, given)
            missing = np.isnan(scores)
            rows = ~(missing | (unscored | emptied)[given.of_row])
            dropped = int(np.count_nonzero(missing & ~(unscored | emptied)[given.of_row]))
            scores, grades = scores[rows], grades[rows]
            used, lowest = Queries.of(ids[rows], threads), _lowest(scores, threads)
        lists = _counted(scores, grades, used, threads)
        kept = np.isin(given.names, used.names) if rows is not None else np.ones(len(given), bool)
        with_positives = lists.relevant > 0
        kept[kept] = with_positives
        return cls(
            given,
            kept,
            lists.take(with_positives),
            scores,
            grades,
            used,
            rows,
            dropped_queries=int(np.count_nonzero(unscored)),
            dropped_candidates=0 if rows is None else dropped,
            emptied_queries=int(np.count_nonzero(emptied)),
            without_positives=len(given) - int(np.count_nonzero(kept | unscored | emptied)),
            lowest_candidates=int(np.count_nonzero(np.isneginf(scores))) if np.isneginf(lowest) else 0,
        )

    def pool(self) -> tuple[AnyArray, AnyArray, Ints]:
        """Scores of the positives and of the negatives, query by query, and how many negatives each query has."""
        scores, positive = self.scores, self.grades > 0
        relevant, size = (
            np.bincount(self.used.of_row[rows], minlength=len(self.used)) for rows in (positive, ~positive)
        )
        there = relevant > 0
        rows = [np.flatnonzero(chosen & there[self.used.of_row]) for chosen in (positive, ~positive)]
        pos, neg = (scores[chosen[np.argsort(self.used.of_row[chosen], kind="stable")]] for chosen in rows)
        return pos, neg, size[there]

    def top(self, items: Any, k: int, threads: int | None) -> TopItems:
        """The first k items of each query that has a score, and those tied with the last of them."""
        numbers = as_numeric(items, "items")
        if numbers.dtype.kind not in "iu" or numbers.shape != (self.queries.rows,) or (numbers < 0).any():
            raise InputError(
                f"expected one item number per score, found {numbers.dtype} {numbers.shape}",
                where="items",
                fix="Number the items from 0, as in the catalogue.",
            )
        numbers = numbers.astype(np.int64)
        numbers = numbers if self.rows is None else numbers[self.rows]
        scores = self.scores
        ordered = scores if self.used.order is None else scores[self.used.order]
        least = last_places(ordered, self.used.begin, self.used.size, k)
        chosen = np.flatnonzero(scores >= least[self.used.of_row])
        query, score, item = self.used.of_row[chosen], scores[chosen], numbers[chosen]
        # Best first; ascending scores are read from the end, because unsigned ones cannot be negated.
        order = np.lexsort((item, score))[::-1]
        order = order[np.argsort(query[order], kind="stable")]
        query, score, item = query[order], score[order], item[order]
        twice = (query[1:] == query[:-1]) & (item[1:] == item[:-1])
        lengths = np.bincount(query, minlength=len(self.used))
        begin = np.cumsum(lengths) - lengths
        new = np.ones(len(query), bool)
        new[1:] = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
        run, first = np.cumsum(new) - 1, np.flatnonzero(new)
        if twice.any():
            raise InputError(f"item {item[:-1][twice][0]} occurs twice in a query", where="items")
        return TopItems(item, first[run] - begin[query], np.bincount(run)[run], lengths, self.used.size)


def as_grades(labels: Any, length: int, threads: int | None) -> AnyArray:
    grades = as_numeric(labels, "labels")
    require_shape(grades, (length,), "labels", "One label per score: 1 for positives, 0 for negatives, or grades.")
    if grades.dtype.kind == "b" or not length:
        return grades
    refuse_nan(grades, "labels", fix="Labels are 0 for negatives, and 1 or a grade above 0 for positives.")
    ends = map_blocks(
        lambda block: (grades[block].min(), grades[block].max()), row_blocks(length, length), threads=threads
    )
    lowest, highest = min(end[0] for end in ends), max(end[1] for end in ends)
    if lowest < 0 or not np.isfinite(highest):
        found = lowest if lowest < 0 else highest
        raise InputError(
            f"a label is {found}",
            where="labels",
            fix="Labels are 0 for negatives, and 1 or a finite grade above 0 for positives.",
        )
    return grades


def _lowest(scores: AnyArray, threads: int | None) -> float:
    """The lowest score; NaN if any is."""
    if scores.dtype.kind != "f" or not len(scores):
        return 0.0
    blocks = row_blocks(len(scores), len(scores))
    return float(np.min(map_blocks(lambda block: scores[block].min(), blocks, threads=threads)))


def _lost(scores: AnyArray, grades: AnyArray, queries: Queries) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Queries with a positive that is NaN, and those of which all negatives are."""
    missing, positive = np.isnan(scores), grades > 0
    relevant, unscored, negatives, left = (
        np.bincount(queries.of_row[rows], minlength=len(queries))
        for rows in (positive, positive & missing, ~positive, ~positive & ~missing)
    )
    # Without any negative left, the positives would rank first with any scores.
    return unscored > 0, (relevant > 0) & (unscored == 0) & (negatives > 0) & (left == 0)


def _counted(scores: AnyArray, grades: AnyArray, queries: Queries, threads: int | None) -> QueryLists:
    if queries.order is not None:
        scores, grades = scores[queries.order], grades[queries.order]
    blocks = row_blocks(len(grades), len(grades))
    found = map_blocks(lambda block: np.flatnonzero(grades[block]) + block.start, blocks, threads=threads)
    positive = np.concatenate(found)
    first = np.searchsorted(positive, queries.begin)
    relevant = np.searchsorted(positive, queries.begin + queries.size) - first
    before = np.cumsum(relevant) - relevant
    own = positive[np.repeat(first - before, relevant) + np.arange(len(positive))]
    places = list_places(scores, own, queries.begin, queries.size, relevant, threads=threads)
    query = np.repeat(np.arange(len(queries)), relevant)
    new_run = np.ones(len(own), bool)
    new_run[1:] = (query[1:] != query[:-1]) | (places.ahead[1:] != places.ahead[:-1])
    start = np.flatnonzero(new_run)
    relevance = grades[places.positive].astype(float)
    graded = bool((relevance != 1).any())
    if graded:
        relevance = relevance[np.lexsort((-relevance, np.cumsum(new_run)))]
    return QueryLists(
        relevant=relevant,
        candidates=queries.size,
        runs=np.bincount(query[start], minlength=len(queries)),
        start=places.ahead[start],
        length=places.tied[start],
        positives=np.diff(np.append(start, len(own))),
        grades=relevance if graded else None,
    )
