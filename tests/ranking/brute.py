"""Every ranking metric from its definition, in plain Python and fractions; slow, and independent of the library.

A query is a list of candidates (score, is positive). Ties are broken by enumerating orders, never by formula.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction

Candidate = tuple[float, bool]
Query = list[Candidate]
Number = Fraction | float


def orders(query: Query, ties: str) -> Iterator[list[bool]]:
    """All orders of the candidates that the scores allow, best first, as lists of labels."""
    runs = [
        [label for _, label in run]
        for _, run in itertools.groupby(sorted(query, reverse=True), key=lambda item: item[0])
    ]
    if ties in ("optimistic", "pessimistic"):
        yield [label for run in runs for label in sorted(run, reverse=ties == "optimistic")]
        return
    for parts in itertools.product(*(itertools.permutations(run) for run in runs)):
        yield [label for part in parts for label in part]


def places(query: Query) -> list[int]:
    """The places of a query's one positive over all orders."""
    return [order.index(True) + 1 for order in orders(query, "expected")]


def split(query: Query) -> list[Query]:
    """Each positive with the query's negatives."""
    negatives = [item for item in query if not item[1]]
    return [[item, *negatives] for item in query if item[1]]


def at_rank(query: Query, ties: str, function: Callable[[Fraction], Number]) -> Number:
    """A function of the rank of a query's one positive, under a tie rule."""
    found = places(query)
    if ties == "expected":
        return sum(function(Fraction(place)) for place in found) / len(found)
    rank = {
        "optimistic": Fraction(min(found)),
        "pessimistic": Fraction(max(found)),
        "realistic": Fraction(min(found) + max(found), 2),
    }[ties]
    return function(rank)


def mean(values: list[Number]) -> Number:
    return sum(values) / len(values) if values else math.nan


def gain(rank: Fraction, k: int) -> float:
    return 1 / math.log2(1 + rank) if rank <= k else 0.0


def median(queries: list[Query], ties: str) -> Number:
    """Half the mass below, half above; each query's mass is spread over the places it may take."""
    masses: list[tuple[Fraction, Fraction]] = []
    for query in queries:
        if ties == "expected":
            found = places(query)
            masses += [(Fraction(place), Fraction(1, len(found))) for place in found]
        else:
            masses.append((Fraction(at_rank(query, ties, lambda rank: rank)), Fraction(1)))
    masses.sort()
    half, reached = Fraction(len(queries), 2), Fraction(0)
    for index, (rank, mass) in enumerate(masses):
        reached += mass
        if reached > half:
            return rank
        if reached == half:
            following = next(other for other, _ in masses[index + 1 :] if other >= rank)
            return (rank + following) / 2
    return math.nan


def ranked(key: str, k: int, queries: list[Query], ties: str) -> Number:
    """The metrics of one positive a query."""
    if not queries:
        return math.nan
    if key == "mrr":
        return mean([at_rank(query, ties, lambda rank: 1 / rank) for query in queries])
    if key == "hits":
        return mean([at_rank(query, ties, lambda rank: Fraction(rank <= k)) for query in queries])
    if key == "mean_rank":
        return mean([at_rank(query, ties, lambda rank: rank) for query in queries])
    if key == "geometric_mean_rank":
        return math.exp(mean([at_rank(query, ties, lambda rank: math.log(rank)) for query in queries]))
    if key == "median_rank":
        return median(queries, ties)
    if key == "ndcg":
        return mean([at_rank(query, ties, lambda rank: gain(rank, k)) for query in queries])
    # Between a random order (0) and a perfect one (1); a random order is one where all scores tie.
    base = {"amri": "mean_rank", "adjusted_mrr": "mrr", "adjusted_hits": "hits"}[key]
    blind = [[(0.0, label) for _, label in query] for query in queries]
    random, found = (ranked(base, k, given, "expected") for given in (blind, queries))
    return (found - random) / (1 - random) if random != 1 else math.nan


def listed(key: str, k: int, query: Query, ties: str) -> Number:
    """The metrics of a whole list, over all of its orders."""
    relevant = sum(label for _, label in query)
    best = sum(gain(Fraction(place), k) for place in range(1, relevant + 1))
    values: list[Number] = []
    for order in orders(query, ties):
        hits = [place for place, label in enumerate(order, 1) if label and place <= k]
        values.append(
            {
                "recall": Fraction(len(hits), relevant),
                "precision": Fraction(len(hits), k),
                "map": sum((Fraction(above, place) for above, place in enumerate(hits, 1)), Fraction(0))
                / min(relevant, k),
                "ndcg": sum(gain(Fraction(place), k) for place in hits) / best,
            }[key]
        )
    return mean(values)


def lists(key: str, k: int, queries: list[Query], ties: str) -> Number:
    rule = ties if ties in ("optimistic", "pessimistic") else "expected"
    return mean([listed(key, k, query, rule) for query in queries if any(label for _, label in query)])


def pooled(key: str, k: int, queries: list[Query]) -> Number:
    """The metrics of all positives against all negatives."""
    positives = [score for query in queries for score, label in query if label]
    negatives = [score for query in queries for score, label in query if not label]
    if not positives or not negatives:
        return math.nan
    if key == "roc_auc":
        wins = sum(Fraction((p > n) * 2 + (p == n), 2) for p in positives for n in negatives)
        return wins / (len(positives) * len(negatives))
    if key == "pooled_hits":
        if len(negatives) < k:
            return Fraction(1)
        threshold = sorted(negatives, reverse=True)[k - 1]
        return Fraction(sum(p > threshold for p in positives), len(positives))
    total = Fraction(0)
    for level in set(positives):
        true, false = sum(p >= level for p in positives), sum(n >= level for n in negatives)
        total += positives.count(level) * Fraction(true, true + false)
    return total / len(positives)
