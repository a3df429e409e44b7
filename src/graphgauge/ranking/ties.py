"""The value of a query, from its three integers: negatives greater, negatives equal, candidates.

Under the rules `realistic`, `optimistic` and `pessimistic` a query has one rank. Under `expected` it has none: its
e tied negatives and the positive share the e + 1 places after the g greater ones, and every quantity is the exact
mean over the random order of these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.options import whole_number
from graphgauge.core.types import Floats
from graphgauge.ranking.counting import distinct
from graphgauge.ranking.counts import Whole as Ints

TIES = ("realistic", "optimistic", "pessimistic", "expected")

# From here on the asymptotic series below are exact to the last bits of a double.
_SERIES_FROM = 32


def cutoff(k: Any) -> int:
    """A cut-off: a whole number from 1, which floats hold exactly."""
    last = whole_number("k", k, 1)
    if last > 2**53:
        raise OptionError(f"k must be at most {2**53:,}", fix="No list is as long.").about("k")
    return last


def rank(greater: Ints, equal: Ints, ties: str) -> Floats:
    """The rank, or under `expected` the mean rank, which is the realistic one."""
    tied = {"optimistic": 0.0, "pessimistic": 1.0}.get(ties, 0.5)
    return 1.0 + greater + tied * equal


def reciprocal(greater: Ints, equal: Ints, ties: str) -> Floats:
    """1 / rank."""
    if ties != "expected":
        return 1.0 / rank(greater, equal, ties)
    return _mean_over_ties(greater, equal, np.reciprocal, _harmonic_difference)


def log(greater: Ints, equal: Ints, ties: str) -> Floats:
    """The logarithm of the rank."""
    if ties != "expected":
        return np.log(rank(greater, equal, ties))
    return _mean_over_ties(greater, equal, np.log, _log_factorial_difference)


def within(greater: Ints, equal: Ints, ties: str, k: float | Floats) -> Floats:
    """1 where the rank is at most k; under `expected` the probability of that."""
    if ties != "expected":
        return (rank(greater, equal, ties) <= k).astype(float)
    places = equal + 1.0
    share: Floats = np.minimum(np.maximum(np.floor(k) - greater, 0.0), places) / places
    return share


def discount(greater: Ints, equal: Ints, ties: str, k: int) -> Floats:
    """1 / log2(1 + rank) where the rank is at most k, else 0."""
    if ties != "expected":
        ranks = rank(greater, equal, ties)
        return np.where(ranks <= k, discount_at(ranks), 0.0)
    last = min(k, int((greater + equal).max(initial=0)) + 1)
    total = cumulative_discount(last)
    inside: Floats = total[np.minimum(greater + equal + 1, last)] - total[np.minimum(greater, last)]
    return inside / (equal + 1)


def discount_at(ranks: Floats) -> Floats:
    """1 / log2(1 + rank)."""
    found: Floats = 1.0 / np.log2(1.0 + ranks)
    return found


def cumulative_discount(last: int) -> Floats:
    """The sum of 1 / log2(1 + rank) over the ranks 1 … r, for r = 0 … last."""
    return np.concatenate(([0.0], np.cumsum(1.0 / np.log2(np.arange(2.0, last + 2.0)))))


def none_among(places: Ints, length: Ints, positives: Ints) -> Floats:
    """The probability that the first `places` of a run in random order have none of its positives."""
    none: Floats = (places == 0).astype(float)
    open_ = np.flatnonzero((places > 0) & (length > positives))
    drawn, size, few = places[open_], length[open_], np.minimum(places[open_], positives[open_])
    many = np.maximum(drawn, positives[open_])
    left = np.ones(len(open_))
    # C(b − p, c) / C(b, c), a product over the smaller of p and c.
    for step in range(int(few.max(initial=0))):
        left *= np.where(step < few, np.maximum(size - many - step, 0) / np.maximum(size - step, 1), 1.0)
    none[open_] = left
    return none


def first_reciprocal(start: Ints, length: Ints, positives: Ints, last: float) -> Floats:
    """The mean of 1 / rank of the first positive of a run in random order; 0 for ranks beyond the last.

    The first of p positives is at place j of b with probability C(b − j, p − 1) / C(b, p).
    """
    mean = np.where(start + 1 <= last, 1.0 / (start + 1), 0.0)
    # In front and not cut off, the sum is p / (b − p + 1) · (1/p + … + 1/b).
    whole = (start == 0) & (length <= last)
    front = np.flatnonzero((length > positives) & whole)
    right = positives[front].astype(np.float64)
    others = length[front] - right + 1
    mean[front] = right / others * _harmonic_difference(right - 1, others)
    tied = np.flatnonzero((length > positives) & (start + 1 <= last) & ~whole)
    if not tied.size:
        return mean
    first, place = distinct([start[tied], length[tied], positives[tied]])
    value = np.zeros(len(first))
    for index, run in enumerate(tied[first]):
        before, size, own = int(start[run]), int(length[run]), int(positives[run])
        at = np.arange(1, int(min(size - own + 1, last - before)) + 1)
        left = size - at[:-1]
        value[index] = float((np.cumprod(np.append(own / size, (left - own + 1) / left)) / (before + at)).sum())
    mean[tied] = value[place]
    return mean


def _mean_over_ties(
    greater: Ints,
    equal: Ints,
    at_rank: Callable[[Floats], Floats],
    total_over_ranks: Callable[[Floats, Floats], Floats],
) -> Floats:
    """The mean of a function over the ranks g + 1 … g + e + 1; without ties its value at g + 1, to the last bit."""
    above, places = greater.astype(np.float64), equal.astype(np.float64) + 1.0
    mean = at_rank(above + 1.0)
    tied = np.flatnonzero(equal)
    if tied.size:
        mean[tied] = total_over_ranks(above[tied], places[tied]) / places[tied]
    return mean


def _harmonic_difference(start: Floats, terms: Floats) -> Floats:
    """The sum of 1/i over i = start + 1 … start + terms, without the cancellation of two harmonic numbers."""
    head, start, terms = _leading_terms(start, terms, np.reciprocal)
    stop = start + terms

    def tail(n: Floats) -> Floats:
        return 1 / (2 * n) - 1 / (12 * n**2) + 1 / (120 * n**4) - 1 / (252 * n**6) + 1 / (240 * n**8)

    total: Floats = head + np.log1p(terms / start) + (tail(stop) - tail(start))
    return total


def _log_factorial_difference(start: Floats, terms: Floats) -> Floats:
    """The sum of log(i) over i = start + 1 … start + terms, without the cancellation of two log-factorials."""
    head, start, terms = _leading_terms(start, terms, np.log)
    stop = start + terms

    def tail(n: Floats) -> Floats:
        return 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7)

    body = (start + 0.5) * np.log1p(terms / start) + terms * (np.log(stop) - 1)
    total: Floats = head + body + (tail(stop) - tail(start))
    return total


def _leading_terms(start: Floats, terms: Floats, function: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
    """The sum of the terms before the series is valid, from a table, and the rest to be summed."""
    table = _sums(function)
    first = np.minimum(start, _SERIES_FROM).astype(np.int64)
    last = np.minimum(start + terms, _SERIES_FROM).astype(np.int64)
    # If nothing remains any start is valid, and zero would divide by itself.
    return (table[last] - table[first]).astype(float), np.maximum(start, _SERIES_FROM), terms - (last - first)


@cache
def _sums(function: Callable[[Floats], Floats]) -> Floats:
    """The sums of a function over 1 … n, for n = 0 … the first term of the series.

    They are subtracted from each other: the extra digits of a long double, where available, keep that exact.
    """
    return np.concatenate(([0.0], np.cumsum(function(np.arange(1, _SERIES_FROM + 1, dtype=np.longdouble)))))
