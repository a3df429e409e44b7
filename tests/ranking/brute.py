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


def averaged(queries: list[Query], ties: str, function: Callable[[Fraction], Number]) -> Number:
    return mean([at_rank(query, ties, function) for query in queries])


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


# The definitions, by the metric's name: of one positive a query, of a whole list in one order, and of all scores
# together. A new metric is added to the table of the sample that it needs.
RANKED: dict[str, Callable[[list[Query], str, int], Number]] = {
    "mrr": lambda queries, ties, k: averaged(queries, ties, lambda rank: 1 / rank),
    "hits": lambda queries, ties, k: averaged(queries, ties, lambda rank: Fraction(rank <= k)),
    "mean_rank": lambda queries, ties, k: averaged(queries, ties, lambda rank: rank),
    "geometric_mean_rank": lambda queries, ties, k: math.exp(averaged(queries, ties, lambda rank: math.log(rank))),
    "median_rank": lambda queries, ties, k: median(queries, ties),
    "ndcg": lambda queries, ties, k: averaged(queries, ties, lambda rank: gain(rank, k)),
    "amri": lambda queries, ties, k: adjusted("mean_rank", queries, k),
    "adjusted_mrr": lambda queries, ties, k: adjusted("mrr", queries, k),
    "adjusted_hits": lambda queries, ties, k: adjusted("hits", queries, k),
}
LISTED: dict[str, Callable[[list[int], int, int], Number]] = {
    "recall": lambda hits, relevant, k: Fraction(len(hits), relevant),
    "precision": lambda hits, relevant, k: Fraction(len(hits), k),
    "map": lambda hits, relevant, k: (
        sum((Fraction(above, place) for above, place in enumerate(hits, 1)), Fraction(0)) / min(relevant, k)
    ),
    "ndcg": lambda hits, relevant, k: (
        sum(gain(Fraction(place), k) for place in hits)
        / sum(gain(Fraction(place), k) for place in range(1, relevant + 1))
    ),
}
LISTED |= {
    "mrr_first": lambda hits, relevant, k: Fraction(1, hits[0]) if hits else Fraction(0),
    "hit_ratio": lambda hits, relevant, k: Fraction(bool(hits)),
    # The harmonic mean of precision and recall, which is 0 if they are.
    "f1": lambda hits, relevant, k: (
        2 / (1 / Fraction(len(hits), k) + 1 / Fraction(len(hits), relevant)) if hits else Fraction(0)
    ),
    "r_precision": lambda hits, relevant, k: Fraction(sum(place <= relevant for place in hits), relevant),
    "ndcg_exp": lambda hits, relevant, k: LISTED["ndcg"](hits, relevant, k),
}
POOLED: dict[str, Callable[[list[float], list[float], int], Number]] = {
    "roc_auc": lambda positives, negatives, k: area(positives, negatives),
    "average_precision": lambda positives, negatives, k: average_precision(positives, negatives),
    "pooled_hits": lambda positives, negatives, k: above_all_but(k - 1, positives, negatives),
}


def adjusted(base: str, queries: list[Query], k: int) -> Number:
    """Between a random order (0) and a perfect one (1); a random order is one where all scores tie."""
    blind = [[(0.0, label) for _, label in query] for query in queries]
    random, found = (RANKED[base](given, "expected", k) for given in (blind, queries))
    return (found - random) / (1 - random) if random != 1 else math.nan


def area(positives: list[float], negatives: list[float]) -> Number:
    wins = sum(Fraction((p > n) * 2 + (p == n), 2) for p in positives for n in negatives)
    return wins / (len(positives) * len(negatives))


def above_all_but(others: int, positives: list[float], negatives: list[float]) -> Number:
    """The share of positives with at most that many negatives at or above them."""
    if len(negatives) <= others:
        return Fraction(1)
    threshold = sorted(negatives, reverse=True)[others]
    return Fraction(sum(p > threshold for p in positives), len(positives))


def average_precision(positives: list[float], negatives: list[float]) -> Number:
    total = Fraction(0)
    for level in set(positives):
        true, false = sum(p >= level for p in positives), sum(n >= level for n in negatives)
        total += positives.count(level) * Fraction(true, true + false)
    return total / len(positives)


def ranked(key: str, k: int, queries: list[Query], ties: str) -> Number:
    """The metrics of one positive a query."""
    return RANKED[key](queries, ties, k) if queries else math.nan


def lists(key: str, k: int, queries: list[Query], ties: str) -> Number:
    """The metrics of a whole list, over all of its orders."""
    rule = ties if ties in ("optimistic", "pessimistic") else "expected"
    found: list[Number] = []
    for query in queries:
        relevant = sum(label for _, label in query)
        if not relevant:
            continue
        values: list[Number] = []
        for order in orders(query, rule):
            hits = [place for place, label in enumerate(order, 1) if label and place <= (k or len(order))]
            values.append(LISTED[key](hits, relevant, k))
        found.append(mean(values))
    return mean(found)


def graded(gain: Callable[[float], float], k: int, queries: list[list[tuple[float, float]]], ties: str) -> float:
    """nDCG of graded candidates (score, grade), over all orders that the scores allow."""

    def dcg(grades: list[float]) -> float:
        return sum(gain(grade) / math.log2(1 + place) for place, grade in enumerate(grades[:k], 1))

    rule = ties if ties in ("optimistic", "pessimistic") else "expected"
    found = []
    for query in queries:
        best = dcg(sorted((grade for _, grade in query), reverse=True))
        if best:
            values = [dcg(order) / best for order in orders(query, rule)]  # type: ignore[arg-type]
            found.append(sum(values) / len(values))
    return sum(found) / len(found) if found else math.nan


def pooled(key: str, k: int, queries: list[Query]) -> Number:
    """The metrics of all positives against all negatives."""
    positives = [score for query in queries for score, label in query if label]
    negatives = [score for query in queries for score, label in query if not label]
    return POOLED[key](positives, negatives, k) if positives and negatives else math.nan
