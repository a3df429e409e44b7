"""`Counts`: the only sample of ranking. Where the positives of each query stand among its candidates.

Equal scores form a run. A query is described by its runs that hold a positive: how many candidates are above the run,
how many wrong answers are in it beside the positives, how many positives. One positive per query is the case of one
run: negatives that score higher, and negatives that score the same. Every metric under every tie rule, every
breakdown and every interval follows from these integers, so that data may be split, ordered and joined in any way.

    a source (`queries.Queries`) ── count(rows) ──▶ Counts ── join, take, fold ──▶ Counts
    Counts ── under(ties, axis) ──▶ `samples.Ranks`, `lists.Lists` ── metrics ──▶ results
    Counts ── to_arrays, from_arrays ──▶ the .npz of a state and of single queries
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Floats, Ints, as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.ranking.counting import distinct, numbered

_GROUP = "group."


@dataclass(frozen=True, eq=False)
class Labels:
    """`ids` name the queries, by which evaluations are paired; `groups` are the axes that results are broken down by.

    Queries of one `cluster` (head and tail of a triple) err together. `weights` are how much each query counts.
    """

    ids: AnyArray | None = None
    groups: Mapping[str, AnyArray] = field(default_factory=dict)
    cluster: Ints | None = None
    weights: Floats | None = None

    @classmethod
    def given(
        cls,
        n: int,
        *,
        ids: Any = None,
        groups: Mapping[str, Any] | None = None,
        cluster: Any = None,
        weights: Any = None,
    ) -> Labels:
        """What a user passes, converted and checked for `n` queries."""
        values = {f"group.{name}": labels for name, labels in _named(groups).items()}
        values |= {"ids": ids, "cluster": cluster, "weights": weights}
        columns = {}
        for name, value in values.items():
            if value is not None:
                where = _where(name)
                columns[name] = _KINDS.get(name, as_labels)(value, where)
                require_shape(columns[name], (n,), where, "Give one per query.")
        labels = cls.of(columns)
        labels.require_unique()
        return labels

    @classmethod
    def of(cls, columns: Mapping[str, AnyArray]) -> Labels:
        """Those of `columns()`, which have been checked."""
        groups = {name.removeprefix(_GROUP): values for name, values in columns.items() if name.startswith(_GROUP)}
        return cls(groups=groups, **{name: columns.get(name) for name in _KINDS})

    def columns(self) -> dict[str, AnyArray]:
        """Every array by its name, as in archives."""
        columns = {f"{_GROUP}{name}": values for name, values in self.groups.items()}
        return columns | {name: values for name in _KINDS if (values := getattr(self, name)) is not None}

    def take(self, rows: Any) -> Labels:
        """Those of some queries: a slice, a mask or numbers."""
        return Labels.of({name: values[rows] for name, values in self.columns().items()})

    @staticmethod
    def join(parts: Sequence[Labels]) -> Labels:
        """Those of several parts, one after the other; all have the same labels of the same kinds."""
        columns = [part.columns() for part in parts]
        first = columns[0]
        if len(parts) == 1 or not any(columns):
            return parts[0]
        for own in columns[1:]:
            if own.keys() != first.keys():
                named = " and ".join(", ".join(map(_where, each)) or "none" for each in (own, first))
                raise InputError(f"parts differ in their labels: {named}", fix="Give every part the same.")
        for name in first:
            # A part without queries has labels of no kind.
            if len({own[name].dtype.kind == "U" for own in columns if own[name].size}) > 1:
                what = "text labels in one part and integers in another"
                raise InputError(what, where=_where(name), fix="Use one kind.")
        return Labels.of({name: np.concatenate([own[name] for own in columns]) for name in first})

    def require_unique(self) -> None:
        """Refuse an id that comes again: it would count as two queries."""
        if self.ids is None:
            return
        ordered = np.sort(self.ids)
        again = np.flatnonzero(ordered[1:] == ordered[:-1])
        if again.size:
            raise InputError(f"{ordered[again[0]]} occurs twice", where="ids", fix="Give every query its own id.")


def _where(name: str) -> str:
    """A column as messages name it."""
    return f"groups[{name.removeprefix(_GROUP)!r}]" if name.startswith(_GROUP) else name


def _named(groups: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if groups is not None and not (isinstance(groups, Mapping) and all(isinstance(name, str) for name in groups)):
        raise InputError("expected labels under a name", where="groups", fix='For example {"relation": labels}.')
    for name in groups or ():
        if name == "":
            raise OptionError("a group has no name", fix='Name it, for example {"relation": labels}.').about("groups")
        if name == "n":
            raise OptionError(f"a group cannot be named {name!r}", fix="Tables have a column n of their own.")
    return groups or {}


def _clusters(cluster: Any, where: str) -> Ints:
    """Numbers of the clusters; names are numbered in their order."""
    array = as_labels(cluster, where)
    if array.dtype.kind == "U":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    return array.astype(np.int64, copy=False)


def _weights(weights: Any, where: str) -> Floats:
    array = as_numeric(weights, where).astype(np.float64)
    refuse_nan(array, where, fix="Leave these queries out.")
    if not (np.isfinite(array) & (array > 0)).all():
        fix = "Leave queries out that do not count."
        raise InputError("weights must be finite and above 0", where=where, fix=fix)
    return array


_KINDS: dict[str, Callable[[Any, str], AnyArray]] = {"ids": as_labels, "cluster": _clusters, "weights": _weights}


# Queries without ids are kept one by one up to this many, and beyond it as cells of those that count the same.
SINGLE = 1 << 24
# How `Counts.negatives` describes one pool that all positives share.
POOL = "one pool for all positives, which therefore err together"
Whole = NDArray[np.integer[Any]]
_RUNS = ("above", "beside", "positives")
_QUERIES = ("candidates", "relevant")
_OPTIONAL = ("owner", "grades", "count", "left")


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
    above, beside, positives
        Of each run, query by query and within one from the best: the candidates of its query with higher scores, the
        wrong answers in the run, the positives in it. Whole numbers of any width.
    candidates, relevant
        Of each query: its candidates, positives among them, and its positives.
    owner
        The query of each run; None if each query has one run with one positive.
    labels
        Ids, groups, clusters and weights of the queries.
    grades
        Of each positive, run by run and within one from the highest; None if all are 1.
    count
        How many equal queries each one stands for; None if each is itself.
    left
        The numbers of the queries that were left out, among all that were given; None if none was.
    met
        What was left out and what was met.
    negatives
        How the negatives were drawn, if known; `POOL` if all positives share one pool.
    depth
        How many places are known; positives below have no run. None if all are.
    lists
        Whether queries may have several positives: then metrics of whole lists are computed, too.
    """

    above: Whole
    beside: Whole
    positives: Whole
    candidates: Whole
    relevant: Whole
    owner: Whole | None = None
    labels: Labels = field(default_factory=Labels)
    grades: Floats | None = None
    count: Ints | None = None
    left: Ints | None = None
    met: Met = field(default_factory=Met)
    negatives: str | None = None
    depth: int | None = None
    lists: bool = False

    @classmethod
    def from_ranks(cls, greater: Any, equal: Any, candidates: Any, **parts: Any) -> Counts:
        """One positive per query: negatives that score higher, negatives that score the same, candidates with it."""
        one = np.broadcast_to(np.int32(1), len(greater))
        return cls(greater, equal, one, np.broadcast_to(candidates, len(greater)), one, **parts)

    @classmethod
    def from_runs(cls, query: Ints, runs: Sequence[Any], candidates: Any, relevant: Any, **parts: Any) -> Counts:
        """Queries with any number of positives; `runs` are above, beside and positives of each run of a query."""
        above, beside, positives = runs
        return cls(above, beside, positives, candidates, relevant, query, lists=True, **parts)

    def __len__(self) -> int:
        """The number of queries, a folded one as many as it stands for."""
        return len(self.candidates) if self.count is None else int(self.count.sum())

    @cached_property
    def query(self) -> Whole:
        """The query of each run."""
        return np.arange(len(self.candidates)) if self.owner is None else self.owner

    @cached_property
    def length(self) -> Whole:
        """How many candidates each run has."""
        return self.beside + self.positives

    @cached_property
    def one_each(self) -> bool:
        """Whether every query has one run with one positive."""
        return self.owner is None or (
            len(self.above) == len(self.candidates) and bool(((self.relevant == 1) & (self.positives == 1)).all())
        )

    @property
    def pooled(self) -> bool:
        """Whether all positives share one pool of negatives."""
        return self.negatives == POOL

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

    @property
    def multiples(self) -> Ints:
        """How many queries each one stands for."""
        return np.ones(len(self.candidates), np.int64) if self.count is None else self.count

    @property
    def given(self) -> int:
        """How many queries were given, with those that were left out."""
        return len(self.candidates) + (0 if self.left is None else len(self.left))

    @property
    def numbers(self) -> Ints:
        """The number of each query among all that were given."""
        every = np.arange(self.given)
        return every if self.left is None else np.delete(every, self.left)

    # ---- other samples

    def take(self, rows: Any) -> Counts:
        """Some queries, by numbers or a mask, in this order; they are numbered anew."""
        runs, owner = rows, None
        if self.owner is not None:
            rows = np.arange(len(self.candidates))[rows]
            size = np.bincount(self.owner, minlength=len(self.candidates))[rows]
            runs, owner = stretches(self.first[rows], size), np.repeat(np.arange(len(rows)), size)
        grades = None
        if self.grades is not None:
            start = np.cumsum(self.positives) - self.positives
            grades = self.grades[stretches(start[runs], self.positives[runs])]
        return replace(
            self,
            owner=owner,
            **{name: getattr(self, name)[runs] for name in _RUNS},
            **{name: getattr(self, name)[rows] for name in _QUERIES},
            labels=self.labels.take(rows),
            grades=grades,
            count=None if self.count is None else self.count[rows],
            left=None,
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
        owner = None
        if any(part.owner is not None for part in parts):
            owner = np.concatenate([part.query + start for part, start in zip(parts, starts, strict=True)])
        graded = any(part.grades is not None for part in parts)
        folded = any(part.count is not None for part in parts)
        begin = np.cumsum([0] + [part.given for part in parts[:-1]])
        left = [part.left + start for part, start in zip(parts, begin, strict=True) if part.left is not None]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _RUNS + _QUERIES
        }
        return replace(
            parts[0],
            **columns,
            owner=owner,
            labels=Labels.join([part.labels for part in parts]),
            grades=np.concatenate([part.all_grades for part in parts]) if graded else None,
            count=np.concatenate([part.multiples for part in parts]) if folded else None,
            left=np.concatenate(left) if left and not folded else None,
            met=sum((part.met for part in parts), Met()),
        )

    def split(self, sizes: Sequence[tuple[int, int]]) -> Iterator[Counts]:
        """The parts that were joined: each has so many queries here, and so many that were left out.

        What was met is not known part by part, and stays with the first.
        """
        begin = before = 0
        for number, (here, out) in enumerate(sizes):
            left = None if self.left is None or not out else self.left[before : before + out] - begin - before
            met = Met() if number else self.met
            yield replace(self.take(slice(begin, begin + here)), left=left, met=met)
            begin, before = begin + here, before + out

    def fold(self) -> Counts:
        """Queries of one positive that count the same, in the same groups and cluster, as one; ids are dropped.

        Weighted queries and those with several positives stay as they are, because hardly any two are alike.
        """
        if not self.one_each or self.labels.weights is not None or self.grades is not None:
            return self
        labels = replace(self.labels, ids=None)
        codes = [numbered(values)[1] for values in labels.columns().values()]
        cell, number = distinct([*codes, self.above, self.beside, self.candidates])
        folded = replace(self, labels=labels, count=None).take(cell)
        return replace(folded, count=np.bincount(number, self.count, len(cell)).astype(np.int64))

    # ---- files

    def to_arrays(self) -> dict[str, AnyArray]:
        """For an .npz archive, which `from_arrays` reads; nothing in it needs pickle."""
        columns = {name: np.asarray(getattr(self, name)) for name in _RUNS + _QUERIES}
        optional = {name: getattr(self, name) for name in _OPTIONAL}
        facts = {"met": self.met.numbers(), "depth": self.depth or 0, "lists": self.lists}
        facts["negatives"] = self.negatives or ""
        columns |= {name: np.array(fact) for name, fact in facts.items()}
        return columns | {name: each for name, each in optional.items() if each is not None} | self.labels.columns()

    def check(self) -> Counts:
        """These counts, if they are possible: whoever forges a file also makes its hash."""
        n = len(self.candidates)
        runs, queries = ([getattr(self, name) for name in names] for names in (_RUNS, _QUERIES))
        columns = [*runs, *queries, self.query]
        shaped = all(each.dtype.kind in "iu" and each.ndim == 1 for each in columns)
        shaped = shaped and len({len(each) for each in (*runs, self.query)}) == 1 and len(self.relevant) == n
        if not shaped or (len(self.query) and not 0 <= int(self.query.min()) <= int(self.query.max()) < n):
            raise InputError("impossible counts: columns of different lengths or kinds", fix="Count again.")
        ends, same = self.above + self.length, self.query[1:] == self.query[:-1]
        positives = np.bincount(self.query, self.positives, n)
        possible = [
            self.query[1:] >= self.query[:-1],
            self.positives > 0,
            self.beside >= 0,
            self.above >= 0,
            ends <= self.candidates[self.query],
            (self.above[1:] >= ends[:-1])[same],
            positives == self.relevant if self.depth is None else positives <= self.relevant,
            self.relevant <= self.candidates,
        ]
        for optional, size in ((self.count, n), (self.grades, int(self.positives.sum()))):
            if optional is not None:
                possible.append(optional > 0 if optional.shape == (size,) else np.array([False]))
        if self.left is not None:
            whole = self.left.dtype.kind in "iu" and self.left.ndim == 1
            inside = (np.diff(self.left, prepend=-1) > 0) & (self.left < self.given) if whole else np.array([False])
            possible.append(inside)
        if not all(each.all() for each in possible):
            raise InputError("impossible counts", fix="Count again.")
        return self

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Counts:
        """What `to_arrays` gave, checked."""
        missing = [name for name in (*_RUNS, *_QUERIES, "met", "depth", "negatives", "lists") if name not in arrays]
        if missing:
            raise InputError(f"not counts of queries: there is no {missing[0]}", fix="Count again.")
        try:
            facts: dict[str, Any] = {
                "met": Met(*(int(number) for number in arrays["met"])),
                "depth": int(arrays["depth"]) or None,
                "negatives": str(arrays["negatives"]) or None,
                "lists": bool(arrays["lists"]),
            }
        except (TypeError, ValueError):
            raise InputError("not counts of queries", fix="Count again.") from None
        columns: dict[str, Any] = {name: arrays.get(name) for name in (*_RUNS, *_QUERIES, *_OPTIONAL)}
        own = Labels.of(arrays)
        labels = Labels.given(
            len(arrays["candidates"]), ids=own.ids, groups=own.groups, cluster=own.cluster, weights=own.weights
        )
        return cls(**columns, **facts, labels=labels).check()


def arrays_of(arrays: Mapping[str, AnyArray], number: int) -> dict[str, AnyArray]:
    """Those of one part of an archive, whose names begin with its number."""
    prefix = f"{number}."
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}


def stretches(start: Whole, size: Whole) -> Ints:
    """start, start + 1, … of each stretch in turn.

    >>> stretches(np.array([5, 0]), np.array([2, 1]))
    array([5, 6, 0])
    """
    before = np.cumsum(size) - size
    return np.repeat(start - before, size) + np.arange(int(size.sum()))
