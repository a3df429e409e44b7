"""What metrics take: `Ranks`, each positive among the negatives of its query; `Lists`, whole queries; `Pooled`, scores.

Ranks and lists are views of `Counts` under one tie rule, overall or along one axis of groups. Their cells are items
that count alike, with how many they are, so that a million queries cost as much as their histogram. Sums are exact:
their bits do not depend on how the data were split, ordered or counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from graphgauge.core.metric import Estimate
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.ranking import ties as rules
from graphgauge.ranking.counting import Levels, distinct, exact_sum, levels, numbered, parts_of, tally
from graphgauge.ranking.counts import Counts, Whole
from graphgauge.stats.errors import Clusters, Spread, spread

# Of a query at each end: single queries reach the ends of shares and reciprocal ranks, but hardly the last rank.
AT_ENDS = 0.05


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Cells of equal items, which are positives or queries.

    `count` is the number of items of a cell, or their weight, and `items` their number. `group` is the group of a cell,
    None if there is one. Cells of one `cluster` err together; without it every item errs for itself. `over` and `unit`
    say what errs and what is counted.
    """

    ties: str
    count: Floats
    items: Ints
    group: Ints | None = None
    groups: int = 1
    cluster: Ints | None = None
    over: str = "queries"
    unit: str = "query"
    _others: dict[str, Any] = field(default_factory=dict, init=False)
    # What is computed once for all tie rules.
    _of_any_rule: ClassVar[tuple[str, ...]] = ("n", "mass", "most", "clusters")

    def under(self, ties: str) -> Self:
        """The same items under another tie rule; made once, so that metrics share what it computes."""
        if ties == self.ties:
            return self
        if ties not in self._others:
            other = replace(self, ties=ties)
            other._others[self.ties] = self
            other.__dict__.update({name: self.__dict__[name] for name in self._of_any_rule if name in self.__dict__})
            self._others[ties] = other
        found: Self = self._others[ties]
        return found

    @cached_property
    def n(self) -> Ints:
        """The number of items of each group."""
        return self.total(self.items).astype(np.int64)

    @cached_property
    def mass(self) -> Floats:
        """The items of each group, or their weight; NaN without any."""
        mass = self.total(self.count)
        return np.where(mass > 0, mass, np.nan)

    def total(self, values: Any) -> Floats:
        """The sum of one value per cell, by group."""
        return exact_sum(np.asarray(values, np.float64), self.group, self.groups)

    def mean(self, values: Any) -> Floats:
        """The mean over the items of each group of one value per cell."""
        return self.total(np.asarray(values) * self.count) / self.mass

    def to_cells(self, values: Floats) -> Floats:
        """A number per group, for each of its cells; that of a single group stays as it is."""
        return values if self.group is None else values[self.group]

    def merged(self, place: Ints, cells: int) -> dict[str, Any]:
        """The items of new cells, if each of these is part of the one at its place."""
        items = np.bincount(place, self.items, cells).astype(np.int64)
        return {"count": exact_sum(np.asarray(self.count), place, cells), "items": items}

    # ---- estimates

    def estimate(self, values: Floats, **facts: Any) -> Estimate:
        """The mean of one value per cell, between 0 and 1 unless `ends` says otherwise."""
        mean = self.mean(values)
        facts = {"ends": (0.0, 1.0), "at_ends": AT_ENDS, "unit": self.unit} | facts
        return Estimate(mean, self.n, values - self.to_cells(mean), reason="no queries", facts=facts)

    def ratio(self, numerator: Floats, denominator: Floats, **facts: Any) -> Estimate:
        """Σ numerator / Σ denominator, one of each per cell; NaN where the denominators are 0."""
        below = self.mean(denominator)
        below = np.where(below > 0, below, np.nan)
        value = self.mean(numerator) / below
        influence = (numerator - self.to_cells(value) * denominator) / self.to_cells(below)
        facts = {"ends": (0.0, 1.0), "at_ends": AT_ENDS, "unit": self.unit, "denominator": below} | facts
        return Estimate(value, self.n, influence, reason="no queries", facts=facts)

    # ---- errors

    @cached_property
    def clusters(self) -> Clusters | None:
        """The sizes of the clusters, which the errors of all metrics share."""
        if self.cluster is None:
            return None
        return Clusters.from_labels(self.cluster, self.count, group=self.group, groups=self.groups)

    @property
    def units(self) -> Ints:
        """How many items, or clusters where they err together, each group has."""
        return self.n if self.clusters is None else np.bincount(self.clusters.owner, minlength=self.groups)

    @cached_property
    def most(self) -> Floats:
        """How many items of equal weight each group is worth, (Σw)² / Σw² (Kish 1965)."""
        if self.cluster is None:
            return self.mass
        with np.errstate(invalid="ignore"):
            return self.mass**2 / self.total(self.count**2 / np.maximum(self.items, 1))

    def spread(self, influence: Floats) -> Spread:
        """How an estimate errs whose items have this influence."""
        influence = np.broadcast_to(influence, self.count.shape)
        return spread(
            influence, self.count, group=self.group, groups=self.groups, cluster=self.clusters, most=self.most
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranks(Sample):
    """Positives, each among the negatives of its query: those above it, those beside it, and the candidates with it.

    If `shared`, all positives have the same negatives, and their ranks err together.
    """

    greater: Ints
    equal: Ints
    candidates: Ints
    shared: bool = False
    _of_any_rule = (*Sample._of_any_rule, "lengths", "fewest_candidates", "mean_candidates")

    @classmethod
    def of(cls, counts: Counts, ties: str = "realistic", axis: str | None = None) -> Ranks:
        """The positives of all queries, overall or by the groups of an axis."""
        labels = counts.labels
        names, codes = (None, None) if axis is None else numbered(labels.groups[axis])
        common: dict[str, Any] = {
            "groups": 1 if names is None else len(names),
            "over": "clusters" if labels.cluster is not None else "positives" if counts.pooled else "queries",
            "unit": "positive" if counts.lists or counts.pooled else "query",
            "shared": counts.pooled,
        }
        if counts.one_each and labels.cluster is None and labels.weights is None:
            columns = [counts.above, counts.beside, counts.candidates]
            rows, items = tally(columns if codes is None else [codes, *columns], counts.count)
            common |= dict(zip(("greater", "equal", "candidates"), rows[-3:], strict=True))
            common |= {"group": None if codes is None else rows[0], "count": items.astype(np.float64), "items": items}
            return cls(ties=ties, **common)
        alone, query = cls.each(counts, ties), counts.query
        multiples = counts.multiples[query]
        cluster = np.arange(len(counts.candidates)) if labels.cluster is None else numbered(labels.cluster)[1]
        common |= {"count": alone.count * multiples, "items": alone.items * multiples, "cluster": cluster[query]}
        return replace(alone, group=None if codes is None else codes[query], **common)

    @classmethod
    def each(cls, counts: Counts, ties: str = "realistic") -> Ranks:
        """The positives as runs, each query in a group of its own."""
        query = counts.query.astype(np.int64)
        items = counts.positives.astype(np.int64)
        weights = 1.0 if counts.labels.weights is None else counts.labels.weights[query]
        return cls(
            ties=ties,
            count=np.asarray(items * weights, np.float64),
            items=items,
            group=query,
            groups=len(counts.candidates),
            unit="positive" if counts.lists else "query",
            greater=(counts.above - counts.ahead).astype(np.int64),
            equal=counts.beside.astype(np.int64),
            candidates=(counts.candidates - counts.relevant + 1)[query].astype(np.int64),
            shared=counts.pooled,
        )

    def alike(self, greater: Ints, equal: Ints, candidates: Ints) -> Ranks:
        """Other positives, one of each, under the same rule: to ask what a rank is worth."""
        one = np.ones(len(greater), np.int64)
        about: dict[str, Any] = {"ties": self.ties, "over": self.over, "unit": self.unit}
        return Ranks(count=one.astype(float), items=one, greater=greater, equal=equal, candidates=candidates, **about)

    @cached_property
    def constant(self) -> Ranks:
        """The same positives if all candidates had the same score."""
        candidates, place = self.lengths
        alike = self.alike(np.zeros_like(candidates), candidates - 1, candidates)
        return replace(alike, **self.merged(place, len(candidates)))

    def blindly(self, worth: Callable[[Ranks], Floats]) -> Floats:
        """What each positive would be worth if all candidates of its query had the same score."""
        return worth(self.constant)[self.lengths[1]]

    @cached_property
    def lengths(self) -> tuple[Ints, Ints]:
        """The distinct numbers of candidates, and the place of each cell's among them."""
        return numbered(self.candidates)

    @cached_property
    def fewest_candidates(self) -> float:
        """The smallest number of candidates; infinite without queries."""
        return int(self.candidates.min()) if self.candidates.size else np.inf

    @cached_property
    def mean_candidates(self) -> Floats:
        """The mean number of candidates of each group."""
        return self.mean(self.candidates)

    # ---- what a rank is worth, per cell

    @cached_property
    def rank(self) -> Floats:
        """The rank, or under `expected` the mean rank."""
        return rules.rank(self.greater, self.equal, self.ties)

    @cached_property
    def reciprocal(self) -> Floats:
        """1 / rank."""
        return rules.reciprocal(self.greater, self.equal, self.ties)

    def within(self, k: Any) -> Floats:
        """1 where the rank is at most k; under `expected` the probability of that."""
        return rules.within(self.greater, self.equal, self.ties, k)

    def ndcg(self, k: int) -> Floats:
        """1 / log2(1 + rank) where the rank is at most k: the best place has gain 1."""
        return rules.discount(self.greater, self.equal, self.ties, k)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lists(Sample):
    """Queries with any number of positives, as runs of equal scores.

    A tie of several positives has no realistic order: under `realistic` values are as under `expected`, the exact means
    over random order. Under `optimistic` and `pessimistic` the positives of a run are its first or its last places.
    """

    counts: Counts

    @classmethod
    def of(cls, counts: Counts, ties: str = "realistic", axis: str | None = None) -> Lists:
        """All queries, overall or by the groups of an axis."""
        labels, n = counts.labels, len(counts.candidates)
        names, codes = (None, None) if axis is None else numbered(labels.groups[axis])
        items = counts.multiples
        cluster = None if labels.cluster is None else numbered(labels.cluster)[1]
        return cls(
            ties=ties,
            count=items.astype(np.float64) if labels.weights is None else items * labels.weights,
            items=items,
            group=codes,
            groups=1 if names is None else len(names),
            cluster=np.arange(n) if cluster is None and labels.weights is not None else cluster,
            over="queries" if labels.cluster is None else "clusters",
            counts=counts,
        )

    @property
    def relevant(self) -> Whole:
        return self.counts.relevant

    @property
    def settled(self) -> bool:
        """Whether the tie rule says which candidates of a run come first."""
        return self.ties in ("optimistic", "pessimistic")

    @cached_property
    def constant(self) -> Lists:
        """The same queries if all candidates had the same score; alike queries are one."""
        own, grades = self.counts, None
        if own.grades is None:
            first, place = distinct([own.relevant, own.candidates])
        else:
            first = place = np.arange(len(own.candidates))
            grades = own.grades[np.lexsort((-own.grades, np.repeat(own.query, own.positives)))]
        relevant, candidates, n = own.relevant[first], own.candidates[first], np.arange(len(first))
        runs = np.zeros_like(n), candidates - relevant, relevant
        alike = Counts.from_runs(n, runs, candidates, relevant, grades=grades, depth=own.depth)
        return replace(self, group=None, groups=1, cluster=None, counts=alike, **self.merged(place, len(first)))

    # ---- per query

    def per_query(self, per_run: Floats, query: Whole | None = None) -> Floats:
        """The sum of one value per run, of all runs or of those of these queries."""
        query = self.counts.query if query is None else query
        return np.bincount(query, per_run, len(self.counts.candidates)).astype(np.float64)

    @cached_property
    def span(self) -> tuple[Whole, Whole, Whole]:
        """Of each run, the places before those that its positives may take, how many these are, and the positives."""
        above, length, positives = self.counts.above, self.counts.length, self.counts.positives
        if not self.settled:
            return above, length, positives
        return above + (self.counts.beside if self.ties == "pessimistic" else 0), positives, positives

    def _near(self, k: int) -> tuple[Ints, Whole, Whole, Whole]:
        """The runs of which a positive may be among the first k places, and their span."""
        runs = np.flatnonzero(self.span[0] < k)
        first, length, positives = (column[runs] for column in self.span)
        return runs, first, length, positives

    def hits(self, k: int) -> Floats:
        """Positives among the first k of each query."""
        if k not in self._hits:  # several metrics need them
            runs, first, length, positives = self._near(k)
            share = np.minimum(k - first, length) / length
            self._hits[k] = self.per_query(positives * share, self.counts.query[runs])
        return self._hits[k]

    @cached_property
    def _hits(self) -> dict[int, Floats]:
        return {}

    def hits_of_each(self, k: Whole) -> Floats:
        """Positives among the first places of each query, as many places as `k` says for it."""
        first, length, positives = self.span
        return self.per_query(positives * (np.clip(k[self.counts.query] - first, 0, length) / length))

    def hit(self, k: int) -> Floats:
        """Whether a positive is among the first k of each query, or how probable that is."""
        first, length, positives = self._best
        return self._of_best(1 - rules.none_among(np.clip(k - first, 0, length), length, positives))

    def first_reciprocal(self, k: float = np.inf) -> Floats:
        """The reciprocal rank of each query's best positive, 0 beyond k."""
        return self._of_best(rules.first_reciprocal(*self._best, k))

    @cached_property
    def _best(self) -> tuple[Whole, Whole, Whole]:
        """The span of the first run of each query that has one."""
        runs = self.counts.first[self._answered]
        first, length, positives = (column[runs] for column in self.span)
        return first, length, positives

    @cached_property
    def _answered(self) -> Ints:
        """The queries that have a run."""
        return np.flatnonzero(np.bincount(self.counts.query, minlength=len(self.counts.candidates)))

    def _of_best(self, values: Floats) -> Floats:
        found = np.zeros(len(self.counts.candidates))
        found[self._answered] = values
        return found

    def precision_sum(self, k: int) -> Floats:
        """The sum of precision at the positives among the first k places of each query.

        In a run of b candidates with p positives, after a candidates with P positives, place j has a positive with
        probability p/b, and then P + 1 + (j − 1)(p − 1)/(b − 1) positives are at or before it on average.
        """
        runs, first, length, positives = self._near(k)
        places = np.minimum(k - first, length)
        run = np.repeat(np.arange(len(first)), places)
        place = np.arange(len(run)) - np.repeat(np.cumsum(places) - places, places)  # j − 1
        pace = ((positives - 1) / np.maximum(length - 1, 1))[run]
        precision = (self.counts.ahead[runs][run] + 1 + place * pace) / (first[run] + 1 + place)
        return self.per_query((positives / length)[run] * precision, self.counts.query[runs][run])

    def ndcg(self, k: int, gain: Callable[[Floats], Floats] | None = None) -> Floats:
        """The discounted gain of each query's first k places, over that of all positives in front, best first."""
        k = min(k, int(self.counts.candidates.max(initial=1)))
        total, grades = rules.cumulative_discount(k), self.counts.grades
        if grades is None:
            runs, first, length, positives = self._near(k)
            inside = total[np.minimum(first + length, k)] - total[first]
            gained = self.per_query(inside * (positives / length), self.counts.query[runs])
            return np.minimum(gained / total[np.minimum(self.relevant, k)], 1.0)
        gains = grades if gain is None else gain(grades)
        gained = self._discounted(gains, total, k) / self._best_possible(gains, total, k)
        return np.minimum(gained, 1.0)  # a perfect order, summed run by run, may round to slightly above 1

    def _discounted(self, gains: Floats, total: Floats, k: int) -> Floats:
        """The discounted gain of each query's first k places; gains are those of the positives, run by run."""
        first, length, positives = self.span
        run = np.repeat(np.arange(len(first)), positives)
        if not self.settled:
            inside = total[np.minimum(first + length, k)] - total[np.minimum(first, k)]
            return self.per_query(inside * (np.bincount(run, gains, len(first)) / length))
        # Within a tie the best come first, or last.
        within = np.arange(len(run)) - np.repeat(np.cumsum(positives) - positives, positives)
        place = first[run] + (within if self.ties == "optimistic" else positives[run] - 1 - within)
        return self.per_query(gains * _discount(total, place, k), self.counts.query[run])

    def _best_possible(self, gains: Floats, total: Floats, k: int) -> Floats:
        query = np.repeat(self.counts.query, self.counts.positives)
        order = np.lexsort((-gains, query))
        size = np.bincount(query, minlength=len(self.counts.candidates))
        place = np.arange(len(query)) - np.repeat(np.cumsum(size) - size, size)
        return self.per_query(gains[order] * _discount(total, place, k), query)


def _discount(total: Floats, place: Whole, k: int) -> Floats:
    """What each place adds to the cumulative discount; 0 from the k-th on."""
    found: Floats = total[np.minimum(place + 1, k)] - total[np.minimum(place, k)]
    return found


# ---- all positives against all negatives

# Levels that are summed at once.
_PART = 1 << 16


@dataclass(frozen=True, eq=False)
class Pooled:
    """Scores of all positives (m,) and all negatives (n,), none of them NaN.

    Those of positive i are `neg[offsets[i]:offsets[i + 1]]`, if they belong to queries. `cluster` has a label per
    positive.
    """

    pos: AnyArray
    neg: AnyArray
    offsets: Ints | None = None
    cluster: Ints | None = None
    over: str = "queries"
    unit: str = "query"

    @staticmethod
    def join(parts: Sequence[Pooled]) -> Pooled:
        """The scores of several parts together, whose clusters are numbered in each part if they are queries."""
        first = parts[0]
        if len(parts) == 1:
            return first
        pos, neg = (np.concatenate([getattr(part, name) for part in parts]) for name in ("pos", "neg"))
        starts = np.cumsum([0] + [len(part.neg) for part in parts])
        offsets = [part.offsets[1:] + at for part, at in zip(parts, starts, strict=False) if part.offsets is not None]
        cluster = [part.cluster for part in parts if part.cluster is not None]
        if cluster and first.over == "queries":
            sizes = np.cumsum([0, *(int(each.max(initial=-1)) + 1 for each in cluster)])
            cluster = [each + shift for each, shift in zip(cluster, sizes, strict=False)]
        joined: dict[str, Any] = {"offsets": np.concatenate([[0], *offsets])} if offsets else {}
        joined |= {"cluster": np.concatenate(cluster)} if cluster else {}
        return replace(first, pos=pos, neg=neg, **joined)

    @cached_property
    def levels(self) -> Levels:
        """At each distinct positive score: the positives that have it, the negatives above and beside."""
        return levels(self.pos, self.neg)

    @cached_property
    def units(self) -> Ints | None:
        """The clusters, numbered from 0."""
        return None if self.cluster is None else numbered(self.cluster)[1]

    @property
    def roc_auc(self) -> float:
        """P(positive > negative) + P(equal) / 2 over all pairs, as a ratio of whole numbers; NaN if a side is empty."""
        pairs, wins, at = len(self.pos) * len(self.neg), 0, self.levels
        for part in parts_of(len(at.values), _PART):
            doubled = 2 * (len(self.neg) - at.greater[part]) - at.equal[part]
            # Two halves of 31 bits: neither sum of products exceeds 64 bits with fewer than 2**32 positives.
            high, low = doubled >> 31, doubled & (2**31 - 1)
            wins += (int(np.dot(at.positives[part], high)) << 31) + int(np.dot(at.positives[part], low))
        return wins / (2 * pairs) if pairs else math.nan

    @property
    def average_precision(self) -> float:
        """The mean over positives of the precision at their score; NaN if a side is empty."""
        if not len(self.pos) or not len(self.neg):
            return math.nan
        at = self.levels
        hits = np.cumsum(at.positives)
        precision = at.positives * (hits / (hits + at.greater + at.equal))
        return math.fsum(float(precision[part].sum()) for part in parts_of(len(hits), _PART)) / len(self.pos)

    def threshold(self, rank: int) -> Any:
        """The score of the negative with this rank, 1 for the best; infinite beyond either end."""
        if not 1 <= rank <= len(self.neg):
            return np.inf if rank < 1 else -np.inf
        place = len(self.neg) - rank
        return np.partition(self.neg, place)[place]

    def share_above(self, rank: int) -> float:
        """The share of positives strictly above the negative with this rank: none at rank 0, all beyond the last."""
        if not len(self.pos) or not 1 <= rank <= len(self.neg):
            return 0.0 if rank < 1 else 1.0
        return float(np.count_nonzero(self.pos > self.threshold(rank))) / len(self.pos)

    def estimate(self, value: float, **facts: Any) -> Estimate:
        empty = not len(self.pos) or not len(self.neg)
        reason = "no negatives" if len(self.pos) else "no positives"
        n = np.array([len(self.pos)])
        return Estimate(np.array([np.nan if empty else value]), n, reason=reason, facts=facts | {"unit": self.unit})
