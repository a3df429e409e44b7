"""Samples of ranking metrics: ranks, whole lists or pooled scores, of queries that may be grouped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, refuse_nan, require_shape
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.kernels.tally import distinct, numbered, tally
from graphgauge.old.core.metric import Estimate
from graphgauge.old.ranking import ties as rules
from graphgauge.old.ranking.lists import NearRuns, QueryLists
from graphgauge.old.stats.intervals import Clusters, Masses

Floats = NDArray[np.floating[Any]]
Values = Floats | Ints


@dataclass(frozen=True)
class Sample:
    """Cells of equal items: how many, in which group, in which cluster. Sums run over cells, one per group.

    `count` is the number of items of a cell, or their weight if they are weighted; then `items` is the number. `unit`
    is what an item is, and `over` what intervals resample.
    """

    count: Values
    group: Ints | None
    groups: int
    cluster: Ints | None
    over: str
    items: Ints | None = field(default=None, kw_only=True)
    unit: str = field(default="query", kw_only=True)

    @cached_property
    def n(self) -> Ints:
        return self._total(self.count if self.items is None else self.items).astype(np.int64)

    @cached_property
    def masses(self) -> Masses:
        """The counts as floating-point numbers, by which every mean and every error multiplies."""
        return Masses.of(self.count)

    @cached_property
    def mass(self) -> Floats:
        """The sum of the weights of each group; n, if items are not weighted."""
        return self._total(self.count)

    @property
    def weighted(self) -> bool:
        return self.count.dtype.kind == "f"

    @cached_property
    def worth(self) -> Floats:
        """How many items of equal weight each group is worth, (Σw)² / Σw²: n, if items are not weighted (Kish 1965)."""
        if self.items is None or not self.weighted:
            return self.mass
        squares = self._total(self.count**2 / np.maximum(self.items, 1))
        return self.mass**2 / np.where(squares > 0, squares, np.nan)

    @cached_property
    def _divisor(self) -> Floats:
        """The mass, or NaN where it is 0."""
        return np.where(self.mass > 0, self.mass, np.nan)

    def mean(self, values: Floats) -> Floats:
        return self._total(values * self.masses.each) / self._divisor

    def total(self, values: Floats) -> Floats:
        """The sum of one value per cell, by group."""
        return self._total(values)

    def to_cells(self, values: Floats) -> Floats:
        """A number per group, repeated for each of its cells; a single group broadcasts."""
        return values if self.group is None else values[self.group]

    def estimate(self, values: Floats, **facts: object) -> Estimate:
        """The mean of the items' values."""
        mean = self.mean(values)
        facts = {**facts, "unit": self.unit}
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

        def ends() -> tuple[Floats, float]:
            return 1 - self.mean(np.asarray(top, dtype=float)) / below, 1.0

        facts = {"ends": ends, "at_ends": at_ends, "unit": self.unit}
        return Estimate(1 - share, self.n, influence, reason=reason, facts=facts)

    @cached_property
    def units(self) -> Ints | None:
        """The clusters, numbered from 0: labels may be hashes, spread over all of 64 bits."""
        return None if self.cluster is None else numbered(self.cluster)[1]

    @cached_property
    def clusters(self) -> Clusters | None:
        """The sizes of the clusters, for the errors of all metrics."""
        return None if self.units is None else Clusters.of(self.count, self.units, self.group, self.groups)

    @property
    def unit_counts(self) -> Ints:
        """How many queries, or clusters where given, each group has."""
        return self.n if self.clusters is None else np.bincount(self.clusters.owner, minlength=self.groups)

    def _total(self, values: NDArray[np.generic]) -> Floats:
        if self.group is None:
            return np.add.reduce(values, dtype=float, keepdims=True)
        return np.bincount(self.group, values, self.groups).astype(float)

    def _total_in_any_order(self, values: NDArray[np.generic]) -> Floats:
        """For cells in the order of the shards: sums over sorted values do not depend on it, nor do those of counts."""
        if self.group is None:
            ordered = values if values.dtype.kind in "iu" else np.sort(values)
            return np.add.reduce(ordered, dtype=float, keepdims=True)
        order = np.lexsort((values, self.group))
        return np.bincount(self.group[order], values[order], self.groups).astype(float)


# Properties of `Ranks` that hold under every tie rule.
_WITHOUT_TIES = (
    "n",
    "masses",
    "mass",
    "worth",
    "_divisor",
    "units",
    "clusters",
    "_folded",
    "lengths",
    "fewest_candidates",
    "one_length",
    "mean_candidates",
)
# Rules under which the rank is the mean place.
_MEAN_PLACE = {"realistic", "expected"}


@dataclass(frozen=True)
class _Folded:
    """Distinct (group, greater, equal, candidates) of cells: one cell of each, and the items of all of them.

    `number` is the place of each cell among the distinct ones.
    """

    cell: Ints
    number: Ints
    count: Floats
    group: Ints | None
    groups: int

    @classmethod
    def of(cls, ranks: Ranks) -> _Folded:
        keys = [] if ranks.group is None else [ranks.group]
        keys += [ranks.greater, ranks.equal, ranks.candidates]
        cell, number = distinct(keys)
        count = np.bincount(number, ranks.count, len(cell)).astype(float)
        return cls(cell, number, count, None if ranks.group is None else ranks.group[cell], ranks.groups)

    def total(self, values: Floats) -> Floats:
        """The sum over all items of the values of their cells, by group."""
        products = values[self.cell] * self.count
        if self.group is None:
            return np.add.reduce(products, dtype=float, keepdims=True)
        return np.bincount(self.group, products, self.groups).astype(float)


@dataclass(frozen=True)
class Ranks(Sample):
    """Queries as counted cells of (greater, equal, candidates), under one tie rule.

    If `shared`, all positives have the same negatives, and their ranks err together.
    """

    greater: Ints
    equal: Ints
    candidates: Ints
    ties: str
    shared: bool = False

    @classmethod
    def of(cls, greater: Ints, equal: Ints, candidates: Ints, *, ties: str = "realistic") -> Ranks:
        """Queries one by one."""
        return cls(np.ones(len(greater), np.int64), None, 1, None, "queries", greater, equal, candidates, ties)

    def _total(self, values: NDArray[np.generic]) -> Floats:
        # Cells are sorted, but shards may number their clusters differently.
        return super()._total(values) if self.cluster is None else self._total_in_any_order(values)

    def mean(self, values: Floats) -> Floats:
        if self.cluster is None or self.weighted or values.shape != self.count.shape:
            return super().mean(values)
        return self._folded.total(values) / self._divisor

    @cached_property
    def _folded(self) -> _Folded:
        """The cells without their clusters: far fewer, and in an order that does not depend on that of the shards."""
        return _Folded.of(self)

    @property
    def tied(self) -> bool:
        return bool(self.equal.any())

    @cached_property
    def fewest_candidates(self) -> float:
        """The smallest number of candidates; infinite without queries."""
        return int(self.candidates.min()) if self.candidates.size else np.inf

    @cached_property
    def mean_candidates(self) -> Floats:
        """The mean number of candidates of each group."""
        return self.mean(self.candidates.astype(float))

    @cached_property
    def one_length(self) -> bool:
        """Whether all queries have as many candidates, as in a matrix."""
        return bool(self.candidates.size) and int(self.candidates.max()) == self.fewest_candidates

    def under(self, ties: str) -> Ranks:
        """The same queries under another tie rule; made once, so that metrics share what it computes."""
        if ties == self.ties:
            return self
        if ties not in self._under_others:
            other = replace(self, ties=ties)
            # What does not depend on the tie rule is computed once.
            kept = _WITHOUT_TIES if {ties, self.ties} != _MEAN_PLACE else (*_WITHOUT_TIES, "_rank")
            other.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
            self._under_others[ties] = other
        return self._under_others[ties]

    @cached_property
    def _under_others(self) -> dict[str, Ranks]:
        return {}

    def blindly(self, worth: Callable[..., Floats], *args: Any) -> Floats:
        """`worth(ranks, *args)` of each cell if every candidate had the same score; computed once per length."""
        if self.one_length:
            return _worth_of_ties(worth, int(self.fewest_candidates), self.ties, *args)  # broadcasts
        sizes, place = self.lengths
        return worth(Ranks.of(np.zeros_like(sizes), sizes - 1, sizes, ties=self.ties), *args)[place]

    @cached_property
    def lengths(self) -> tuple[Ints, Ints]:
        """The distinct numbers of candidates, and the place of each cell's among them."""
        return numbered(self.candidates)

    @cached_property
    def constant(self) -> Ranks:
        """The same queries under a constant scorer; they differ only in their numbers of candidates."""
        (candidates,), count = tally([self.candidates], self.count)
        none = np.zeros_like(candidates)
        return Ranks(count, None, 1, None, self.over, none, candidates - 1, candidates, self.ties)

    def _of_cells(self, worth: Callable[..., Floats], *args: Any) -> Floats:
        """`worth(greater, equal, ties, *args)` of each cell; cells that differ only in their cluster have it once."""
        if self.cluster is None or self.weighted:
            return worth(self.greater, self.equal, self.ties, *args)
        cell, number = self._folded.cell, self._folded.number
        return worth(self.greater[cell], self.equal[cell], self.ties, *args)[number]

    def rank(self) -> Floats:
        return self._rank

    @cached_property
    def _rank(self) -> Floats:
        return self._of_cells(rules.rank)

    def reciprocal(self) -> Floats:
        return self._reciprocal

    @cached_property
    def _reciprocal(self) -> Floats:
        return self._of_cells(rules.reciprocal)

    def log(self) -> Floats:
        return self._of_cells(rules.log)

    def within(self, k: float | Floats) -> Floats:
        if self.ties != "expected":
            return (self._rank <= k).astype(float)
        if not isinstance(k, int):
            return rules.within(self.greater, self.equal, self.ties, k)
        return self._of_cells(rules.within, k)

    def ndcg(self, k: int) -> Floats:
        """One positive per query: its best place has gain 1."""
        if self.ties != "expected":
            return np.where(self._rank <= k, self._discount, 0.0)
        return self._of_cells(rules.discount, k)

    @cached_property
    def _discount(self) -> Floats:
        """The discount of every rank, for all k."""
        return rules.discount_at(self._rank)

    def quantile(self, probability: Floats) -> Floats:
        """The rank below which `probability` of each group's queries are, or the midpoint between two ranks.

        Under `expected` the mass of a query is spread evenly over its possible places.
        """
        wanted = np.minimum(np.maximum(probability, 0.0), 1.0) * self.mass
        # Shares such as 1/3 + 1/3 + 1/3 miss their sum by rounding: values this close count as reached.
        slack = 1e-9 * (self.mass if self.weighted else np.maximum(self.n, 1))
        first_reaching = self._by_bisection if self.ties == "expected" and self.equal.any() else self._by_order
        below, above = np.maximum(wanted - slack, slack), np.minimum(wanted + slack, self.mass)
        middle = (first_reaching(below) + first_reaching(above)) / 2
        return np.where(self.n > 0, middle, np.nan)

    def _by_order(self, wanted: Floats) -> Floats:
        """For each group the smallest rank at or below which `wanted` queries are, more than 0 and at most all."""
        half_ranks, mass, before = self._ordered
        if not len(mass):
            return np.full(self.groups, np.nan)
        reached = before + (wanted if self.weighted else np.ceil(wanted).astype(np.int64))
        place = mass.searchsorted(reached)
        return half_ranks[np.minimum(place, len(mass) - 1)] / 2

    @cached_property
    def _ordered(self) -> tuple[Ints, Values, Values]:
        """Twice the ranks in order, group by group, the cumulated queries, and those before each group."""
        half_ranks = (2 * self.rank()).astype(np.int64)
        if self.group is None:
            # Cells are sorted by what is greater: few ties leave their ranks in order.
            if not self.weighted and not (half_ranks[1:] < half_ranks[:-1]).any():
                return half_ranks, np.cumsum(self.count, dtype=np.int64), np.zeros(1, np.int64)
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
    """Whole candidate lists with any number of positives, under one tie rule."""

    counts: QueryLists
    ties: str

    def under(self, ties: str) -> Lists:
        return replace(self, ties=ties)

    @property
    def relevant(self) -> Ints:
        return self.counts.relevant

    @property
    def candidates(self) -> Ints:
        return self.counts.candidates

    @cached_property
    def constant(self) -> Lists:
        """The same queries, answered by a scorer that gives every candidate the same score."""
        own = self.counts
        if own.grades is None and self.group is None:
            (relevant, candidates), count = tally([own.relevant, own.candidates], self.count)
            none = np.zeros_like(relevant)
            alike = QueryLists(relevant, candidates, none + 1, none, candidates, relevant)
            return Lists(count, None, 1, None, self.over, alike, self.ties)
        none = np.zeros_like(own.relevant)
        alike = QueryLists(
            own.relevant, own.candidates, none + 1, none, own.candidates, own.relevant, own.grades_by_query
        )
        return replace(self, counts=alike)

    def per_query(self, per_run: Floats, query: Ints | None = None) -> Floats:
        """The sum of one value per run, or of runs of these queries."""
        query = self.counts.run_query if query is None else query
        return np.bincount(query, per_run, len(self.counts)).astype(float)

    def _total(self, values: NDArray[np.generic]) -> Floats:
        return self._total_in_any_order(values)

    @property
    def tied(self) -> bool:
        return self.counts.tied

    @cached_property
    def _stretch(self) -> tuple[Ints, Ints, Ints]:
        """The places that the positives of each run may take."""
        return self._places(self.counts.start, self.counts.length, self.counts.positives)

    def _places(self, start: Ints, length: Ints, positives: Ints) -> tuple[Ints, Ints, Ints]:
        """The places that the positives of some runs may take: the first, how many, and how many are positives.

        Under `optimistic` and `pessimistic` they are adjacent.
        """
        if not self.settled:
            return start, length, positives
        return start + (length - positives if self.ties == "pessimistic" else 0), positives, positives

    @property
    def settled(self) -> bool:
        return self.ties in ("optimistic", "pessimistic")

    def near(self, k: int) -> tuple[NearRuns, tuple[Ints, Ints, Ints]]:
        """The runs that begin among the first k places, and where their positives may be.

        Others add nothing to what happens there, and are most of all runs if k is small.
        """
        if k not in self._near:
            found = self.counts.near(k, last=self.ties == "pessimistic")
            self._near[k] = found, self._places(found.start, found.length, found.positives)
        return self._near[k]

    @cached_property
    def _near(self) -> dict[int, tuple[NearRuns, tuple[Ints, Ints, Ints]]]:
        return {}

    def hits(self, k: int | Ints) -> Floats:
        """Positives among the first k of each query; exact means over random order, unless the tie rule fixes it."""
        if isinstance(k, int):
            if k not in self._hits:  # of several metrics
                near, (first, length, positives) = self.near(k)
                self._hits[k] = self.per_query(positives * (np.minimum(k - first, length) / length), near.query)
            return self._hits[k]
        first, length, positives = self._stretch
        return self.per_query(positives * (np.clip(k[self.counts.run_query] - first, 0, length) / length))

    @cached_property
    def _hits(self) -> dict[int, Floats]:
        return {}

    def hit(self, k: int) -> Floats:
        """Whether a positive is among the first k of each query: certain, or the probability in random order."""
        first, length, positives = self._best
        places = np.clip(k - first, 0, length)
        return 1 - rules.none_among(places, length, positives)

    def first_reciprocal(self, k: int | None = None) -> Floats:
        """The reciprocal rank of each query's best positive, 0 beyond k; the mean over random order of ties."""
        first, length, positives = self._best
        return rules.first_reciprocal(first, length, positives, np.inf if k is None else k)

    @cached_property
    def _best(self) -> tuple[Ints, Ints, Ints]:
        """The first run of each query: the best positive is in it."""
        return self._places(*self.counts.best())

    def ndcg(self, k: int, gain: Callable[[Floats], Floats] | None = None) -> Floats:
        """The discounted gain of each query's first k places, over that of all positives in front, best first."""
        own = self.counts
        k = min(k, int(self.candidates.max(initial=1)))
        total = rules.cumulative_discount(k)
        if own.grades is None:
            near, (first, length, positives) = self.near(k)
            inside = total[np.minimum(first + length, k)] - total[first]
            gained = self.per_query(inside * (positives / length), near.query) / total[np.minimum(self.relevant, k)]
        else:
            gains = own.grades if gain is None else gain(own.grades)
            gained = self._discounted(gains, total, k) / self._best_possible(gains, total, k)
        return np.minimum(gained, 1.0)  # a perfect order, summed run by run, may round to slightly above 1

    def _discounted(self, gains: Floats, total: Floats, k: int) -> Floats:
        """The discounted gain of each query's first k places."""
        own = self.counts
        first, length, positives = self._stretch
        if not self.settled:
            inside = total[np.minimum(first + length, k)] - total[np.minimum(first, k)]
            in_run = np.bincount(own.positive_run, gains, len(first))
            return self.per_query(inside * (in_run / length))
        # Within a tie the best come first, or last.
        within = own.place_in_run
        place = first[own.positive_run] + (
            within if self.ties == "optimistic" else positives[own.positive_run] - 1 - within
        )
        discount = total[np.minimum(place + 1, k)] - total[np.minimum(place, k)]
        return np.bincount(own.positive_query, gains * discount, len(own)).astype(float)

    def _best_possible(self, gains: Floats, total: Floats, k: int) -> Floats:
        own = self.counts
        order = np.lexsort((-gains, own.positive_query))
        place = own.place_in_query
        discount = total[np.minimum(place + 1, k)] - total[np.minimum(place, k)]
        return np.bincount(own.positive_query, gains[order] * discount, len(own)).astype(float)

    def precision_sum(self, k: int) -> Floats:
        """The sum of precision at the positives among the first k places.

        In a run of b candidates with p positives, after a candidates with P positives, place j has a positive with
        probability p/b, and then P + 1 + (j − 1)(p − 1)/(b − 1) positives are at or before it on average.
        """
        near, (first, length, positives) = self.near(k)
        before = self.counts.ahead_of(near.runs)
        places = np.minimum(k - first, length)
        run = np.repeat(np.arange(len(first)), places)
        place = np.arange(len(run)) - np.repeat(np.cumsum(places) - places, places)  # j − 1
        share = (positives / length)[run]
        pace = ((positives - 1) / np.maximum(length - 1, 1))[run]
        term = share * (before[run] + 1 + place * pace) / (first[run] + 1 + place)
        return self.per_query(term, near.query[run])


@dataclass(frozen=True)
class Pooled(Sample):
    """All positives against all negatives, across queries; `offsets` record the query of each.

    Without offsets the negatives are a pool that belongs to no query.
    """

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

    @property
    def positives(self) -> int:
        return len(self.pos)

    @property
    def negatives(self) -> int:
        return len(self.neg)

    @property
    def unrelated(self) -> bool:
        """Whether the negatives belong to no query: two samples, each with its own error."""
        return not len(self.offsets)

    def estimate_of(self, value: float, **facts: object) -> Estimate:
        reason = "no positives" if len(self.pos) == 0 else "no negatives"
        empty = len(self.pos) == 0 or len(self.neg) == 0
        facts = {**facts, "unit": self.unit}
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
