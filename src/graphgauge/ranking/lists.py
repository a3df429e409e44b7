"""The sample of metrics of whole lists: queries with any number of positives, as runs of equal scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.ranking import ties as rules
from graphgauge.ranking.cells import distinct, numbered
from graphgauge.ranking.counts import Counts, Whole
from graphgauge.ranking.samples import Sample, merged


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

    def under(self, ties: str) -> Lists:
        return replace(self, ties=ties)

    @property
    def relevant(self) -> Whole:
        return self.counts.relevant

    @property
    def tied(self) -> bool:
        return self.counts.tied

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
        return replace(self, group=None, groups=1, cluster=None, counts=alike, **merged(self, place, len(first)))

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
        total, grades = rules.cumulative_discount(k), self.counts.all_grades
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
