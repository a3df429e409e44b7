"""Samples of ranking metrics: ranks, whole lists or pooled scores, of queries that may be grouped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, refuse_nan, require_shape
from graphgauge.core.metric import Estimate
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.kernels.tally import tally
from graphgauge.ranking import ties as rules

Floats = NDArray[np.floating[Any]]
Values = Floats | Ints


@dataclass(frozen=True)
class Sample:
    """Cells of equal items: how many, in which group, in which cluster. Sums run over cells, one per group."""

    count: Ints
    group: Ints | None
    groups: int
    cluster: Ints | None
    over: str

    @cached_property
    def n(self) -> Ints:
        return self._total(self.count).astype(np.int64)

    @cached_property
    def _divisor(self) -> Floats:
        """n, or NaN where it is 0."""
        return np.where(self.n > 0, self.n, np.nan)

    def mean(self, values: Floats) -> Floats:
        return self._total(values * self.count) / self._divisor

    def to_cells(self, values: Floats) -> Floats:
        """A number per group, repeated for each of its cells; a single group broadcasts."""
        return values if self.group is None else values[self.group]

    def estimate(self, values: Floats, **facts: object) -> Estimate:
        """The mean of the items' values."""
        mean = self.mean(values)
        return Estimate(mean, self.n, values - self.to_cells(mean), reason="no queries", facts=facts)

    def ratio(
        self, numerator: Floats, denominator: Floats, *, top: Values, reason: str, at_ends: float = 0.0
    ) -> Estimate:
        """1 − Σ numerator / Σ denominator; NaN if the denominator is 0. A numerator is between 0 and its `top`."""
        above, below = self.mean(numerator), self.mean(denominator)
        below = np.where(below > 0, below, np.nan)
        share = above / below
        influence = (numerator - self.to_cells(share) * denominator) / -self.to_cells(below)
        reason = reason if self.n.any() else "no queries"
        facts = {"ends": lambda: (1 - self.mean(np.asarray(top, dtype=float)) / below, 1.0), "at_ends": at_ends}
        return Estimate(1 - share, self.n, influence, reason=reason, facts=facts)

    @cached_property
    def units(self) -> Ints | None:
        """The clusters, numbered from 0: labels may be hashes, spread over all of 64 bits."""
        return None if self.cluster is None else np.unique(self.cluster, return_inverse=True)[1]

    @property
    def unit_counts(self) -> Ints:
        """How many queries, or clusters where given, each group has."""
        if self.units is None:
            return self.n
        there = self.count > 0
        group = np.zeros_like(self.units) if self.group is None else self.group
        (group, _), _ = tally([group[there], self.units[there]])
        return np.bincount(group, minlength=self.groups)

    def _total(self, values: NDArray[np.generic]) -> Floats:
        if self.group is None:
            return np.add.reduce(values, dtype=float, keepdims=True)
        return np.bincount(self.group, values, self.groups).astype(float)

    def _total_in_any_order(self, values: NDArray[np.generic]) -> Floats:
        """For cells in the order of the shards: sums over sorted values do not depend on it."""
        if self.group is None:
            return np.add.reduce(np.sort(values), dtype=float, keepdims=True)
        order = np.lexsort((values, self.group))
        return np.bincount(self.group[order], values[order], self.groups).astype(float)


@dataclass(frozen=True)
class Ranks(Sample):
    """Queries as counted cells of (greater, equal, candidates), under one tie rule."""

    greater: Ints
    equal: Ints
    candidates: Ints
    ties: str

    @classmethod
    def of(cls, greater: Ints, equal: Ints, candidates: Ints, *, ties: str = "realistic") -> Ranks:
        """Queries one by one."""
        return cls(np.ones(len(greater), np.int64), None, 1, None, "queries", greater, equal, candidates, ties)

    def _total(self, values: NDArray[np.generic]) -> Floats:
        # Cells are sorted, but shards may number their clusters differently.
        return super()._total(values) if self.cluster is None else self._total_in_any_order(values)

    @property
    def tied(self) -> bool:
        return bool(self.equal.any())

    @cached_property
    def fewest_candidates(self) -> float:
        """The smallest number of candidates; infinite without queries."""
        return int(self.candidates.min()) if self.candidates.size else np.inf

    @cached_property
    def one_length(self) -> bool:
        """Whether all queries have as many candidates, as in a matrix."""
        return bool(self.candidates.size) and int(self.candidates.max()) == self.fewest_candidates

    def under(self, ties: str) -> Ranks:
        """The same queries under another tie rule; made once, so that metrics share what it computes."""
        if ties == self.ties:
            return self
        if ties not in self._under_others:
            self._under_others[ties] = replace(self, ties=ties)
        return self._under_others[ties]

    @cached_property
    def _under_others(self) -> dict[str, Ranks]:
        return {}

    def blindly(self, worth: Callable[..., Floats], *args: Any) -> Floats:
        """`worth(ranks, *args)` of each cell if every candidate had the same score; computed once per length."""
        if self.one_length:
            return _worth_of_ties(worth, int(self.fewest_candidates), self.ties, *args)  # broadcasts
        sizes, place = np.unique(self.candidates, return_inverse=True)
        return worth(Ranks.of(np.zeros_like(sizes), sizes - 1, sizes, ties=self.ties), *args)[place]

    @cached_property
    def constant(self) -> Ranks:
        """The same queries under a constant scorer; they differ only in their numbers of candidates."""
        (candidates,), count = tally([self.candidates], self.count)
        return Ranks(count, None, 1, None, self.over, np.zeros_like(count), candidates - 1, candidates, self.ties)

    def rank(self) -> Floats:
        return rules.rank(self.greater, self.equal, self.ties)

    def reciprocal(self) -> Floats:
        return rules.reciprocal(self.greater, self.equal, self.ties)

    def log(self) -> Floats:
        return rules.log(self.greater, self.equal, self.ties)

    def within(self, k: float | Floats) -> Floats:
        return rules.within(self.greater, self.equal, self.ties, k)

    def ndcg(self, k: int) -> Floats:
        """One positive per query: its best place has gain 1."""
        return rules.discount(self.greater, self.equal, self.ties, k)

    def quantile(self, probability: Floats) -> Floats:
        """The rank below which `probability` of each group's queries are, or the midpoint between two ranks.

        Under `expected` the mass of a query is spread evenly over its possible places.
        """
        wanted = np.minimum(np.maximum(probability, 0.0), 1.0) * self.n
        # Shares such as 1/3 + 1/3 + 1/3 miss their sum by rounding: values this close count as reached.
        slack = 1e-9 * np.maximum(self.n, 1)
        first_reaching = self._by_bisection if self.ties == "expected" and self.equal.any() else self._by_order
        below, above = np.maximum(wanted - slack, slack), np.minimum(wanted + slack, self.n)
        middle = (first_reaching(below) + first_reaching(above)) / 2
        return np.where(self.n > 0, middle, np.nan)

    def _by_order(self, wanted: Floats) -> Floats:
        """For each group the smallest rank at or below which `wanted` queries are, more than 0 and at most all."""
        half_ranks, mass, before = self._ordered
        if not len(mass):
            return np.full(self.groups, np.nan)
        place = mass.searchsorted(before + np.ceil(wanted).astype(np.int64))
        return half_ranks[np.minimum(place, len(mass) - 1)] / 2

    @cached_property
    def _ordered(self) -> tuple[Ints, Ints, Ints]:
        """Twice the distinct ranks, group by group, the cumulated queries, and those before each group."""
        half_ranks = (2 * self.rank()).astype(np.int64)
        if self.group is None:
            (half_ranks,), count = tally([half_ranks], self.count)
            return half_ranks, np.cumsum(count), np.zeros(1, np.int64)
        (group, half_ranks), count = tally([self.group, half_ranks], self.count)
        mass = np.cumsum(count)
        starts = np.searchsorted(group, np.arange(self.groups))
        return half_ranks, mass, np.concatenate(([0], mass))[starts]

    def _by_bisection(self, wanted: Floats) -> Floats:
        """The same for queries that are spread over places and have no single rank."""
        if len(self.count) == self.groups == 1:
            places = self.equal + 1.0
            first: Floats = self.greater + np.clip(np.ceil(wanted / self.count * places), 1.0, places)
            return first
        low = np.ones(self.groups, np.int64)
        high = np.full(self.groups, int((self.greater + self.equal).max(initial=0)) + 1)
        while (low < high).any():
            middle = (low + high) // 2
            reached = self._total(self.within(self.to_cells(middle)) * self.count) >= wanted
            low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
        return low.astype(float)


@lru_cache(maxsize=1024)
def _worth_of_ties(worth: Callable[..., Floats], candidates: int, ties: str, *args: Any) -> Floats:
    """Kept, because a model in training is evaluated on lists of the same length many times."""
    found = worth(Ranks.of(*np.array([[0], [candidates - 1], [candidates]]), ties=ties), *args)
    found.flags.writeable = False
    return found


@dataclass(frozen=True)
class Lists(Sample):
    """Whole candidate lists with any number of positives, as runs of equal scores that contain a positive.

    A run starts after `start` better candidates, is `length` long and contains `positives`; `query` is its query.
    `relevant` and `candidates` are the totals of each query.
    """

    query: Ints
    start: Ints
    length: Ints
    positives: Ints
    relevant: Ints
    candidates: Ints
    ties: str

    def under(self, ties: str) -> Lists:
        return replace(self, ties=ties)

    @cached_property
    def constant(self) -> Lists:
        """The same queries, answered by a scorer that gives every candidate the same score."""
        query = np.arange(len(self.relevant))
        start = np.zeros_like(self.relevant)
        return replace(self, query=query, start=start, length=self.candidates, positives=self.relevant)

    def per_query(self, per_run: Floats) -> Floats:
        return np.bincount(self.query, per_run, len(self.relevant)).astype(float)

    def _total(self, values: NDArray[np.generic]) -> Floats:
        return self._total_in_any_order(values)

    @property
    def tied(self) -> bool:
        return bool((self.length > self.positives).any())

    @cached_property
    def first(self) -> Ints:
        """The start of a run's positives: under `optimistic` and `pessimistic` they are adjacent."""
        return self.start + (self.length - self.positives if self.ties == "pessimistic" else 0)

    @property
    def settled(self) -> bool:
        return self.ties in ("optimistic", "pessimistic")

    def hits(self, k: int) -> Floats:
        """Positives among the first k of each query; exact means over random order, unless the tie rule fixes it."""
        if self.settled:
            return self.per_query(np.clip(k - self.first, 0, self.positives).astype(float))
        return self.per_query(self.positives * (np.clip(k - self.start, 0, self.length) / self.length))

    def ndcg(self, k: int) -> Floats:
        """The discounted gain of each query's first k places, over that of all positives in front."""
        k = min(k, int(self.candidates.max(initial=1)))
        total = rules.cumulative_discount(k)
        first, length = (self.first, self.positives) if self.settled else (self.start, self.length)
        inside = total[np.minimum(first + length, k)] - total[np.minimum(first, k)]
        gained = self.per_query(inside * (self.positives / length)) / total[np.minimum(self.relevant, k)]
        return np.minimum(gained, 1.0)  # a perfect order, summed run by run, may round to slightly above 1

    def precision_sum(self, k: int) -> Floats:
        """The sum of precision at the positives among the first k places.

        In a run of b candidates with p positives, after a candidates with P positives, place j has a positive with
        probability p/b, and then P + 1 + (j − 1)(p − 1)/(b − 1) positives are at or before it on average.
        """
        before = np.cumsum(self.positives) - self.positives
        before = before - before[np.searchsorted(self.query, self.query)]  # runs come in the order of their queries
        first, length = (self.first, self.positives) if self.settled else (self.start, self.length)
        places = np.clip(k - first, 0, length)
        run = np.repeat(np.arange(len(first)), places)
        place = np.arange(len(run)) - np.repeat(np.cumsum(places) - places, places)  # j − 1
        share = (self.positives / length)[run]
        pace = ((self.positives - 1) / np.maximum(length - 1, 1))[run]
        term = share * (before[run] + 1 + place * pace) / (first[run] + 1 + place)
        return np.bincount(self.query[run], term, len(self.relevant)).astype(float)


@dataclass(frozen=True)
class Pooled(Sample):
    """All positives against all negatives, across queries; `offsets` record the query of each."""

    pos: AnyArray
    neg: AnyArray
    offsets: Ints

    @classmethod
    def of(cls, pos: Any, neg: Any) -> Pooled:
        """Two flat arrays; every positive is a query, and the negatives belong to none."""
        pos, neg = as_numeric(pos, "pos_scores"), as_numeric(neg, "neg_scores")
        for name, scores in (("pos_scores", pos), ("neg_scores", neg)):
            require_shape(scores, (None,), name, "Pooled metrics take two 1-D arrays.")
        pooled = cls(np.ones(len(pos), np.int64), None, 1, None, "queries", pos, neg, np.empty(0, np.int64))
        if pooled.tails.pos_missing or pooled.tails.neg_missing:
            fix = "Repair the model or drop them before the call."
            refuse_nan(pos, "pos_scores", fix=fix)
            refuse_nan(neg, "neg_scores", fix=fix)
        return pooled

    def estimate_of(self, value: float, **facts: object) -> Estimate:
        reason = "no positives" if len(self.pos) == 0 else "no negatives"
        empty = len(self.pos) == 0 or len(self.neg) == 0
        return Estimate(np.array([np.nan if empty else value]), self.n, reason=reason, facts=facts)

    def threshold(self, rank: int) -> Any:
        """The score of the negative with this rank, 1 for the best; infinite beyond either end."""
        if not 1 <= rank <= len(self.neg):
            return np.inf if rank < 1 else -np.inf
        place = len(self.neg) - rank
        return np.partition(self.neg, place)[place]

    def share_above(self, rank: int) -> float:
        """The share of positives strictly above the negative with this rank: none at rank 0, all beyond the last."""
        if not 1 <= rank <= len(self.neg):
            return 0.0 if rank < 1 else 1.0
        return float(np.count_nonzero(self.pos > self.threshold(rank))) / len(self.pos)

    @cached_property
    def tails(self) -> TailCounts:
        return tail_counts(self.pos, self.neg)
