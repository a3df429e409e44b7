"""`Counts`: the only sample of ranking. Where the positives of each query stand among its candidates.

Equal scores form a run. A query is described by its runs that hold a positive: how many candidates are above the run,
how long it is, how many of it are positives. One positive per query is the case of one run, with `above` the negatives
that score higher and `length` the negatives that score the same, plus one. Every metric under every tie rule, every
breakdown and every interval follows from these integers, so that data may be split, ordered and joined in any way.

    a source (`queries.Queries`) ── count(rows) ──▶ Counts ── join, take, fold ──▶ Counts
    Counts ── under(ties, axis) ──▶ `samples.Ranks`, `lists.Lists` ── metrics ──▶ results
    Counts ── to_arrays, from_arrays ──▶ the .npz of a state and of single queries
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.kernels.tally import distinct, numbered
from graphgauge.ranking.labels import Labels

# How `Counts.negatives` describes one pool that all positives share.
POOL = "one pool for all positives, which therefore err together"
Whole = NDArray[np.integer[Any]]
_RUNS = ("query", "above", "length", "positives")
_QUERIES = ("candidates", "relevant")


@dataclass(frozen=True)
class Met:
    """What was met while counting: what had to be left out, and candidates at −inf.

    Queries are `unscored` if a positive is NaN, `emptied` if all their negatives are, `unanswered` if they have no
    positive. `missing` are candidates that are NaN, `lowest` negatives at −inf, which are counted, `excluded` those at
    −inf that are left out, `passed_over` known items that lists contained, `unfilled` empty places of lists.
    """

    unscored: int = 0
    emptied: int = 0
    unanswered: int = 0
    missing: int = 0
    lowest: int = 0
    excluded: int = 0
    passed_over: int = 0
    unfilled: int = 0

    def __add__(self, other: Met) -> Met:
        return Met(*(one + two for one, two in zip(self.numbers(), other.numbers(), strict=True)))

    def numbers(self) -> list[int]:
        return [getattr(self, each.name) for each in fields(self)]

    @property
    def omitted(self) -> bool:
        """Whether NaN was left out."""
        return bool(self.unscored or self.emptied or self.missing)


@dataclass(frozen=True, eq=False)
class Counts:
    """Queries, and their runs of equal scores that hold a positive.

    Parameters
    ----------
    query, above, length, positives
        Of each run, query by query and within one from the best: its query, the candidates of the query with higher
        scores, the candidates in the run, the positives in it. Whole numbers of any width.
    candidates, relevant
        Of each query: its candidates, positives among them, and its positives.
    labels
        Ids, groups, clusters and weights of the queries.
    grades
        Of each positive, run by run and within one from the highest; None if all are 1.
    count
        How many equal queries each one stands for; None if each is itself.
    met
        What was left out and what was met.
    negatives
        How the negatives were drawn, if known; `POOL` if all positives share one pool.
    depth
        How many places are known; positives below have no run. None if all are.
    lists
        Whether queries may have several positives: then metrics of whole lists are computed, too.
    """

    query: Whole
    above: Whole
    length: Whole
    positives: Whole
    candidates: Whole
    relevant: Whole
    labels: Labels = field(default_factory=Labels)
    grades: Floats | None = None
    count: Ints | None = None
    met: Met = field(default_factory=Met)
    negatives: str | None = None
    depth: int | None = None
    lists: bool = False

    @classmethod
    def from_ranks(cls, greater: Any, equal: Any, candidates: Any, **parts: Any) -> Counts:
        """One positive per query: negatives that score higher, negatives that score the same, candidates with it."""
        n = len(greater)
        one = np.broadcast_to(np.int32(1), n)
        candidates = np.broadcast_to(candidates, n)
        return cls(np.arange(n, dtype=np.int32), greater, equal + np.int32(1), one, candidates, one, **parts)

    def __len__(self) -> int:
        """The number of queries, a folded one as many as it stands for."""
        return len(self.candidates) if self.count is None else int(self.count.sum())

    @cached_property
    def one_each(self) -> bool:
        """Whether every query has one positive."""
        return len(self.above) == len(self.candidates) and bool((self.relevant == 1).all())

    @property
    def pooled(self) -> bool:
        """Whether all positives share one pool of negatives."""
        return self.negatives == POOL

    @cached_property
    def tied(self) -> bool:
        """Whether a positive and a negative have the same score."""
        return bool((self.length > self.positives).any())

    @cached_property
    def ahead(self) -> Ints:
        """Of each run, the positives of its query in better runs."""
        if self.one_each:
            return np.zeros(len(self.above), np.int64)
        before = np.cumsum(self.positives) - self.positives
        return before - before[self.first][self.query]

    @cached_property
    def first(self) -> Ints:
        """The first run of each query; beyond the last run if it and those after it have none."""
        return np.searchsorted(self.query, np.arange(len(self.candidates)))

    @property
    def all_grades(self) -> Floats:
        """The grade of each positive; 1 if they are not graded."""
        return np.ones(int(self.positives.sum())) if self.grades is None else self.grades

    # ---- other samples

    def take(self, rows: Any) -> Counts:
        """Some queries, by numbers or a mask, in this order."""
        rows = np.arange(len(self.candidates))[rows]
        if self.one_each:
            runs, query = rows, np.arange(len(rows))
        else:
            size = np.bincount(self.query, minlength=len(self.candidates))[rows]
            runs = stretches(self.first[rows], size)
            query = np.repeat(np.arange(len(rows)), size)
        grades = None
        if self.grades is not None:
            start = np.cumsum(self.positives) - self.positives
            grades = self.grades[stretches(start[runs], self.positives[runs])]
        return replace(
            self,
            query=query,
            **{name: getattr(self, name)[runs] for name in _RUNS[1:]},
            **{name: getattr(self, name)[rows] for name in _QUERIES},
            labels=self.labels.take(rows),
            grades=grades,
            count=None if self.count is None else self.count[rows],
        )

    @staticmethod
    def join(parts: Sequence[Counts]) -> Counts:
        """The queries of several parts, one after the other.

        Parts have the same labels, negatives drawn in the same way, and lists of the same depth.
        """
        if len(parts) == 1:
            return parts[0]
        kinds = (("negatives", "negatives"), ("length of lists", "depth"), ("number of positives", "lists"))
        for what, name in kinds:
            if len({getattr(part, name) for part in parts}) > 1:
                raise InputError(f"parts differ in their {what}", fix="Evaluate them one by one.")
        starts = np.cumsum([0] + [len(part.candidates) for part in parts[:-1]])
        graded = any(part.grades is not None for part in parts)
        folded = any(part.count is not None for part in parts)
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _RUNS[1:] + _QUERIES}
        return Counts(
            query=np.concatenate([part.query + start for part, start in zip(parts, starts, strict=True)]),
            **columns,
            labels=Labels.join([part.labels for part in parts]),
            grades=np.concatenate([part.all_grades for part in parts]) if graded else None,
            count=np.concatenate([part.multiples for part in parts]) if folded else None,
            met=sum((part.met for part in parts), Met()),
            negatives=parts[0].negatives,
            depth=parts[0].depth,
            lists=parts[0].lists,
        )

    @property
    def multiples(self) -> Ints:
        """How many queries each one stands for."""
        return np.ones(len(self.candidates), np.int64) if self.count is None else self.count

    def fold(self) -> Counts:
        """Queries of one positive that count the same, in the same groups and cluster, as one; ids are dropped.

        Weighted queries and those with several positives stay as they are, because hardly any two are alike.
        """
        if not self.one_each or self.labels.weights is not None or self.grades is not None:
            return self
        labels = self.labels.without_ids()
        codes = [numbered(values)[1] for values in labels.columns().values()]
        cell, number = distinct([*codes, self.above, self.length, self.candidates])
        folded = replace(self, labels=labels, count=None).take(cell)
        return replace(folded, count=np.bincount(number, self.count, len(cell)).astype(np.int64))

    # ---- files

    def check(self) -> Counts:
        """These counts, if they are possible."""
        n = len(self.candidates)
        runs = [getattr(self, name) for name in _RUNS]
        whole = all(each.dtype.kind in "iu" and each.ndim == 1 for each in (*runs, self.candidates, self.relevant))
        shaped = whole and len({len(each) for each in runs}) == 1 and len(self.relevant) == n
        if not shaped or (len(self.query) and not 0 <= int(self.query.min()) <= int(self.query.max()) < n):
            raise InputError("impossible counts: columns of different lengths or kinds", fix="Count again.")
        ends = self.above + self.length
        same = self.query[1:] == self.query[:-1]
        positives = np.bincount(self.query, self.positives, n)
        sound = (
            (self.query[1:] >= self.query[:-1]).all()
            and (self.positives > 0).all()
            and (self.length >= self.positives).all()
            and (self.above >= 0).all()
            and (ends <= self.candidates[self.query]).all()
            and (self.above[1:] >= ends[:-1])[same].all()
            and (positives == self.relevant if self.depth is None else positives <= self.relevant).all()
            and (self.relevant <= self.candidates).all()
            and (self.count is None or (self.count.shape == (n,) and (self.count > 0).all()))
            and (
                self.grades is None
                or (self.grades.shape == (int(self.positives.sum()),) and bool((self.grades > 0).all()))
            )
        )
        if not sound:
            raise InputError("impossible counts", fix="Count again.")
        return self

    def to_arrays(self) -> dict[str, AnyArray]:
        """For an .npz archive, which `from_arrays` reads; nothing in it needs pickle."""
        columns = {name: np.asarray(getattr(self, name)) for name in _RUNS + _QUERIES}
        optional = {"grades": self.grades, "count": self.count}
        columns |= {name: values for name, values in optional.items() if values is not None}
        columns |= {"met": np.array(self.met.numbers(), np.int64), "depth": np.array(self.depth or 0)}
        columns |= {"lists": np.array(self.lists)}
        return columns | {"negatives": np.array(self.negatives or "")} | self.labels.to_arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Counts:
        """What `to_arrays` gave, checked."""
        facts = ("met", "depth", "negatives", "lists")
        missing = [name for name in (*_RUNS, *_QUERIES, *facts) if name not in arrays]
        if missing:
            raise InputError(f"not counts of queries: there is no {missing[0]}", fix="Count again.")
        try:
            met = Met(*(int(number) for number in arrays["met"]))
            depth, negatives = int(arrays["depth"]) or None, str(arrays["negatives"]) or None
            lists = bool(arrays["lists"])
        except (TypeError, ValueError):
            raise InputError("not counts of queries", fix="Count again.") from None
        labels = Labels.from_arrays(arrays, len(arrays["candidates"]))
        columns = {name: arrays[name] for name in (*_RUNS, *_QUERIES)}
        found = cls(**columns, labels=labels, met=met, negatives=negatives, depth=depth, lists=lists)
        return replace(found, grades=arrays.get("grades"), count=arrays.get("count")).check()


def stretches(start: Whole, size: Whole) -> Ints:
    """start, start + 1, … of each stretch in turn.

    >>> stretches(np.array([5, 0]), np.array([2, 1]))
    array([5, 6, 0])
    """
    before = np.cumsum(size) - size
    return np.repeat(start - before, size) + np.arange(int(size.sum()))
