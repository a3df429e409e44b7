"""The metrics of ranking: one function each, with its declared properties.

Those of `ranks` are means over positives, each with a rank r among n candidates: itself and the negatives of its query.
Those of `lists` are means over queries, each as a whole; those of `pooled` compare all positives with all negatives.
What is recommended, whatever is right, is measured in `beyond`. All are NaN without queries, or where they say so.

What a rank is under each tie rule is in `ties`, what a query's values are in `samples`. The facts of an estimate
(`ends`, `at_ends`, `fewest`, `worth`, `slope`, `scale`) are for its interval: see `errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from graphgauge.core.metric import AS_CHOSEN, Estimate, Exempt, Metric, MetricFunction
from graphgauge.core.number import plural
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats
from graphgauge.ranking import beyond as beyond
from graphgauge.ranking import errors
from graphgauge.ranking import ties as rules
from graphgauge.ranking.samples import AT_ENDS, Lists, Pooled, Ranks

LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": True,
    "monotone": True,
    "symmetry": Exempt("a positive and its negatives have different roles"),
}
TIES_EXPECTED = "expected, whatever is chosen"
_RULES = {"ties": AS_CHOSEN, "empty": "nan"}
_LIST_RULES = _RULES | {"realistic ties": "the mean over random order"}
_POOL_RULES = {"ties": "count half", "empty": "nan", "pool": "all positives against all negatives"}
# A mean rank needs so many queries or clusters, or √candidates if that is less: a few near the top say nothing about
# the others, and a single rank may be as large as the number of candidates.
_FEWEST_RANKS = 10

Declare = Callable[[MetricFunction], Metric]


def blind(function: MetricFunction, sample: Ranks | Lists, **params: Any) -> Iterable[Reference]:
    """What scorers without knowledge reach: equal scores under the chosen tie rule, and a random order.

    Nothing is known of lists cut off at some place if the number of candidates is not.
    """
    depth = sample.counts.depth if isinstance(sample, Lists) else None
    if isinstance(sample, Lists) and depth is not None and not (sample.counts.candidates > depth).any():
        return
    alike = sample.constant.under("expected")
    random = float(function(alike, **params).value[0])
    if sample.ties != "expected":
        # A tie of several positives has no realistic order.
        same = isinstance(sample, Lists) and not sample.settled
        constant = random if same else float(function(sample.constant, **params).value[0])
        yield Reference("constant scorer", constant)
    yield Reference("random scorer", random)


def _zero(sample: Ranks, **params: Any) -> Iterable[Reference]:
    """Zero, by construction."""
    return [Reference("random scorer", 0.0)]


_ADJUSTED: dict[str, Any] = {"conventions": _RULES | {"ties": TIES_EXPECTED}, "chance": _zero}


def _of_ranks(key: str, **properties: Any) -> Declare:
    """Declare a mean over positives between 0 and 1, unless the properties say otherwise."""
    common = {"direction": "higher", "bounds": (0, 1), "unit": "query", "interval": errors.of_mean, "laws": LAWS}
    return lambda function: metric(
        key,
        family="ranking",
        **{"needs": ("ranks",), "conventions": _RULES, "chance": partial(blind, function)} | common | properties,
    )(function)


def _of_lists(key: str, conventions: dict[str, str] | None = None, **properties: Any) -> Declare:
    """Declare a mean over queries of a share."""
    return _of_ranks(key, needs=("lists",), conventions=_LIST_RULES | (conventions or {}), **properties)


# ---- ranks: each positive among the negatives of its query


@_of_ranks("mrr", reference="voorhees1999", default=True)
def mrr(ranks: Ranks) -> Estimate:
    """Mean reciprocal rank of the positives among their candidates: mean 1/r."""
    return ranks.estimate(ranks.reciprocal, worth=_reciprocal, scale="logit")


@_of_ranks("hits@{k}", reference="bordes2013", interval=errors.of_share, default=True)
def hits_at_k(ranks: Ranks, *, k: int = 10) -> Estimate:
    """Share of queries whose positive is among the first k: mean 1{r ≤ k}."""
    values = ranks.within(k)
    binary = ranks.ties != "expected" or bool(((values == 0) | (values == 1)).all())
    estimate = ranks.estimate(values, binary=binary)
    if k < ranks.fewest_candidates:
        return estimate
    queries = plural(int(ranks.items[ranks.candidates <= k].sum()), "query", "queries")
    warning = f"k = {k} is at least the number of candidates in {queries}, which score 1 with any model"
    return replace(estimate, warnings=(warning,))


@_of_ranks("mean_rank", reference="bordes2013", direction="lower", bounds=(1, np.inf))
def mean_rank(ranks: Ranks) -> Estimate:
    """Mean rank of the positives: mean r."""
    facts = {"ends": lambda: (1.0, ranks.mean_candidates), "at_ends": 0.0, "fewest": lambda: _fewest(ranks)}
    return ranks.estimate(ranks.rank, worth=_rank, **facts)


@_of_ranks("median_rank", reference="hoyt2022", direction="lower", bounds=(1, np.inf), interval=errors.of_median)
def median_rank(ranks: Ranks) -> Estimate:
    """Median rank of the positives."""
    middle = errors.quantile(ranks, np.full(ranks.groups, 0.5))
    return Estimate(middle, ranks.n, reason="no queries", facts={"unit": ranks.unit})


@_of_ranks(
    "geometric_mean_rank", reference="hoyt2022", direction="lower", bounds=(1, np.inf), interval=errors.of_log_mean
)
def geometric_mean_rank(ranks: Ranks) -> Estimate:
    """Geometric mean rank of the positives, exp(mean ln r): less affected by the worst queries than the mean rank."""
    logs = _log(ranks)
    centre = ranks.mean(logs)
    value = np.exp(centre)
    influence = ranks.to_cells(value) * (logs - ranks.to_cells(centre))
    facts = {
        "unit": ranks.unit,
        "ends": lambda: (1.0, np.exp(ranks.mean(np.log(ranks.candidates)))),
        "at_ends": 0.0,
        "worth": _log,
    }
    return Estimate(value, ranks.n, influence, reason="no queries", facts=facts)


@_of_ranks("amri", reference="berrendorf2020", bounds=(-1, 1), **_ADJUSTED)
def amri(ranks: Ranks) -> Estimate:
    """Adjusted mean rank index, 1 − Σ (r − 1) / Σ (n − 1)/2: 1 for perfect, 0 for random order, of any n.

    NaN if no query has a negative.
    """
    ranks = ranks.under("expected")
    worst = ranks.candidates - 1.0
    slope = 2 / max(ranks.fewest_candidates - 1, 1)
    return _adjusted(ranks, ranks.rank - 1, worst / 2, worst, worth=_rank, slope=slope, fewest=lambda: _fewest(ranks))


@_of_ranks("adjusted_mrr", reference="hoyt2022", bounds=(-1, 1), default=True, **_ADJUSTED)
def adjusted_mrr(ranks: Ranks) -> Estimate:
    """Mean reciprocal rank, scaled so that random order is 0 and perfect is 1: 1 − Σ (1 − 1/r) / Σ (1 − H_n/n).

    H_n/n, with the harmonic number H_n, is the mean of 1/r over random order. NaN if no query has a negative.
    """
    ranks = ranks.under("expected")
    random = ranks.blindly(_reciprocal)
    slope = 1 / (1 - float(random[0])) if len(random) and random[0] < 1 else 0.0
    lost, worst = 1 - ranks.reciprocal, 1 - 1 / ranks.candidates
    return _adjusted(ranks, lost, 1 - random, worst, worth=_reciprocal, slope=slope, at_ends=AT_ENDS)


@_of_ranks("adjusted_hits@{k}", reference="hoyt2022", bounds=(-np.inf, 1), **_ADJUSTED)
def adjusted_hits_at_k(ranks: Ranks, *, k: int = 10) -> Estimate:
    """Hits@k, scaled so that random order is 0 and perfect is 1: 1 − Σ 1{r > k} / Σ (1 − min(k/n, 1)).

    NaN if every query has at most k candidates.
    """
    ranks = ranks.under("expected")
    worst = (ranks.candidates > k).astype(float)
    random = ranks.blindly(lambda each: each.within(k))
    reason = f"every query has at most k = {k} candidates"
    return _adjusted(ranks, 1 - ranks.within(k), 1 - random, worst, reason=reason, at_ends=AT_ENDS)


def _adjusted(
    ranks: Ranks,
    lost: Any,
    lost_at_random: Any,
    worst: Any,
    *,
    reason: str = "no query has a negative",
    slope: float = 1.0,
    at_ends: float = 0.0,
    **facts: Any,
) -> Estimate:
    """1 − Σ lost / Σ lost at random, of what each positive loses; none loses more than its `worst`, also per positive.

    `slope` is how far the value moves, at the most, if the mean worth of the ranks moves by 1. NaN if nothing is lost
    at random.
    """
    loss = ranks.ratio(lost, lost_at_random)

    def ends() -> tuple[Floats, float]:
        return 1 - ranks.mean(worst) / loss.facts["denominator"], 1.0

    assert loss.influence is not None
    common = {"ends": ends, "at_ends": at_ends, "slope": lambda: slope, "under": "expected"}
    facts = {**loss.facts, **common, **facts}
    reason = reason if ranks.n.any() else "no queries"
    return Estimate(1 - loss.value, ranks.n, -loss.influence, reason=reason, facts=facts)


def _fewest(ranks: Ranks) -> Floats:
    """How many units a mean over the ranks of each group needs: ten, or √(mean n) if that is less."""
    return np.minimum(_FEWEST_RANKS, np.floor(np.sqrt(ranks.mean_candidates)))


_reciprocal, _rank = attrgetter("reciprocal"), attrgetter("rank")


def _log(ranks: Ranks) -> Floats:
    """The logarithm of each rank."""
    return rules.log(ranks.greater, ranks.equal, ranks.ties)


# ---- lists: each query as a whole


@_of_ranks(
    "ndcg@{k}",
    needs=("lists", "ranks"),
    conventions=_RULES | {"gain": "the grade"},
    reference="jarvelin2002",
    default=True,
)
def ndcg_at_k(sample: Lists | Ranks, *, k: int = 10) -> Estimate:
    """Discounted gain grade/log2(1 + rank) of the positives among the first k, over that of the best possible order.

    Labels may be grades of relevance above 0; without grades every positive has the gain 1.
    """
    return sample.estimate(sample.ndcg(k), worth=lambda ranks: ranks.ndcg(k), scale="logit")


@_of_lists("recall@{k}", reference="mcsherry2008", default=True)
def recall_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Share of a query's positives that are among its first k candidates, hits / positives, mean over queries."""
    return lists.estimate(lists.hits(k) / lists.relevant)


@_of_lists("precision@{k}", {"short lists": "divided by k all the same"}, reference="mcsherry2008")
def precision_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Share of a query's first k candidates that are positives, hits / k, mean over queries."""
    return lists.estimate(lists.hits(k) / k)


@_of_lists("map@{k}", {"divided by": "min(positives, k)"}, reference="mcsherry2008", default=True)
def map_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Mean average precision: precision at each positive among the first k, over min(positives, k)."""
    return lists.estimate(lists.precision_sum(k) / np.minimum(lists.relevant, k))


@_of_lists("mrr_first", {"per": "query, by its best positive"}, reference="voorhees1999", default=True)
def mrr_first(lists: Lists) -> Estimate:
    """Reciprocal rank of a query's best positive, mean over queries."""
    return lists.estimate(lists.first_reciprocal())


@_of_lists("mrr_first@{k}", {"per": "query, by its best positive", "beyond k": "0"}, reference="voorhees1999")
def mrr_first_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Reciprocal rank of a query's best positive, 0 if it is not among the first k, mean over queries."""
    return lists.estimate(lists.first_reciprocal(k))


@_of_lists(
    "hit_ratio@{k}",
    {"per": "query, by its best positive"},
    reference="deshpande2004",
    interval=errors.of_share,
    default=True,
)
def hit_ratio_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Share of queries with at least one positive among their first k candidates."""
    values = lists.hit(k)
    return lists.estimate(values, binary=lists.settled or bool(((values == 0) | (values == 1)).all()))


@_of_lists("f1@{k}", {"short lists": "divided by k all the same"}, reference="vanrijsbergen1979")
def f1_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Harmonic mean of a query's precision and recall at k, 2 · hits / (k + positives), mean over queries."""
    return lists.estimate(2 * lists.hits(k) / (k + lists.relevant))


@_of_lists("r_precision", reference="manning2008")
def r_precision(lists: Lists) -> Estimate:
    """Share of positives among a query's first R candidates, R the number of its positives, mean over queries."""
    return lists.estimate(lists.hits_of_each(lists.relevant) / lists.relevant)


@_of_lists("ndcg_exp@{k}", {"gain": "2^grade − 1"}, reference="burges2005")
def ndcg_exp_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """nDCG with the exponential gain 2^grade − 1 of the positives; equal to `ndcg@k` if labels are 0 and 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        estimate = lists.estimate(lists.ndcg(k, lambda grades: np.exp2(grades) - 1))
    if len(lists.counts) and np.isnan(estimate.value).any():
        return replace(estimate, reason="the gain 2^grade − 1 of the largest grade is beyond the range of numbers")
    return estimate


# ---- pooled: all positives against all negatives


def _half(sample: Pooled) -> Iterable[Reference]:
    """One half, for the constant and for the random scorer."""
    return [Reference("constant scorer", 0.5)]


def _prevalence(sample: Pooled) -> Iterable[Reference]:
    """The share of positives among all scores."""
    return [Reference("constant scorer", len(sample.pos) / (len(sample.pos) + len(sample.neg)))]


def _threshold_at_random(sample: Pooled, *, k: int = 10) -> Iterable[Reference]:
    """k / (N + 1): the probability to rank above the k-th of N exchangeable negatives."""
    return [Reference("random scorer", min(1.0, k / (len(sample.neg) + 1)))]


def _of_pool(key: str, conventions: dict[str, str] | None = None, **properties: Any) -> Declare:
    return _of_ranks(key, needs=("pooled",), conventions=_POOL_RULES | (conventions or {}), default=True, **properties)


@_of_pool("roc_auc", reference="hanley1982", chance=_half, interval=errors.auc_bounds)
def roc_auc(sample: Pooled) -> Estimate:
    """Probability that a positive outscores a negative, over all pairs of the pool; ties count half.

    NaN without positives or without negatives, as are the other metrics of the pool.
    """
    return sample.estimate(sample.roc_auc)


@_of_pool(
    "average_precision",
    {"ties": "enter together", "curve": "steps, not trapezoids"},
    reference="davis2006",
    chance=_prevalence,
    interval=errors.precision_bounds,
)
def average_precision(sample: Pooled) -> Estimate:
    """Precision at each positive of the pool, averaged over the positives."""
    return sample.estimate(sample.average_precision)


@_of_pool(
    "pooled_hits@{k}",
    {"ties": "with the k-th negative are no hit"},
    reference="hu2020",
    chance=_threshold_at_random,
    interval=errors.hits_bounds,
)
def pooled_hits_at_k(sample: Pooled, *, k: int = 10) -> Estimate:
    """Share of positives strictly above the k-th best of all negatives together."""
    estimate = sample.estimate(sample.share_above(k), k=k)
    if not 0 < len(sample.neg) < k:
        return estimate
    return replace(estimate, warnings=(f"only {len(sample.neg)} negatives: every positive is a hit at k = {k}",))
