"""The ranking metrics: one function each, with its declared properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels import tails
from graphgauge.old.core.metric import (
    AS_CHOSEN,
    Bounds,
    Estimate,
    Exempt,
    IntervalRule,
    Laws,
    MetricFunction,
    NoInterval,
    metric,
)
from graphgauge.old.ranking.pooled import (
    average_precision_error,
    pooled_hits_bounds,
    two_sample_auc_error,
)
from graphgauge.old.ranking.samples import Lists, Pooled, Ranks, Sample
from graphgauge.old.stats.intervals import (
    FEWEST_DF,
    Spread,
    delong,
    is_rounding,
    logit_t_interval,
    score_interval,
    spread,
    t_quantile,
    wilson_interval,
)

_NO_SYMMETRY = Exempt("a positive and its negatives have different roles")
_LAWS: Laws = {"permutation": True, "merge": True, "monotone": True, "symmetry": _NO_SYMMETRY}
_RULES = {"ties": AS_CHOSEN, "empty": "nan"}
TIES_EXPECTED = "expected, whatever is chosen"
_EXPECTED = _RULES | {"ties": TIES_EXPECTED}
# Several tied positives have no realistic order: results say that their ties are as expected.
_LIST_RULES = _RULES | {"realistic ties": "the mean over random order"}
# Of a query at each end: single queries reach the ends of shares and reciprocal ranks, but hardly the last rank.
AT_ENDS = 0.05
# A mean rank needs so many queries or clusters, or √candidates if that is less: a few near the top say nothing about
# the others, and a single rank may be as large as the number of candidates.
FEWEST_RANKS = 10
_POOLED_RULES = _RULES | {"ties": "count half", "pool": "all positives against all negatives"}


Ends = tuple[Any, Any]
Floats = NDArray[np.floating[Any]]


def group_spread(sample: Sample, estimate: Estimate) -> Spread:
    """What the queries or clusters of each group show of its error."""
    assert estimate.influence is not None
    return spread(
        estimate.influence,
        sample.masses,
        group=sample.group,
        groups=sample.groups,
        cluster=sample.clusters,
        most=sample.worth,
    )


def _wilson_bounds(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    return wilson_interval(np.round(estimate.value * estimate.n), estimate.n, confidence)


def _woodruff_bounds(ranks: Ranks, estimate: Estimate, confidence: float) -> Bounds:
    """The distribution function's own interval at the median, carried back to ranks (Woodruff 1952).

    Many queries may share the median's rank, and the shares below it and at or below it err differently. Even all
    n units enclose the median only with probability 1 − 2^(1−n): if that is too little, there are no bounds.
    """
    shares = [ranks.estimate(ranks.within(ranks.to_cells(estimate.value - step))) for step in (0.25, 0.0)]
    (below, df, *_), (upto, *_) = (group_spread(ranks, share) for share in shares)
    reach = t_quantile(df, confidence)
    low, high = 0.5 - reach * below, 0.5 + reach * upto
    too_few = 2.0 ** (1.0 - ranks.unit_counts) > 1 - confidence
    unknown = np.isnan(low) | too_few | (is_rounding(below, 1.0) & is_rounding(upto, 1.0))
    bounds = ranks.quantile(np.where(unknown, 0.5, low)), ranks.quantile(np.where(unknown, 0.5, high))
    return np.where(unknown, np.nan, bounds[0]), np.where(unknown, np.nan, bounds[1])


def group_errors(sample: Sample, estimate: Estimate) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard error and degrees of freedom of each group's value."""
    found = group_spread(sample, estimate)
    return found.error, found.df


def ends_of(sample: Sample, estimate: Estimate) -> tuple[Ends, float]:
    """The least and the largest possible value of each group, and how much of a query may be unseen at either."""
    found = estimate.facts.get("range")
    if found is not None:
        return found, AT_ENDS
    ends = estimate.facts.get("ends", (-np.inf, np.inf))
    return ends() if callable(ends) else ends, estimate.facts.get("at_ends", 0.0)


def _score_bounds(found: Spread, sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    ends, at_ends = ends_of(sample, estimate)
    return score_interval(estimate.value, found, ends, confidence, at_ends=at_ends)


def _log_score_bounds(found: Spread, sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = (part / estimate.value for part in (found.error, found.lowest, found.highest))
        logs = found._replace(**dict(zip(("error", "lowest", "highest"), scaled, strict=True)))
        low, high = score_interval(np.log(estimate.value), logs, _log_ends(estimate), confidence)
    return np.exp(low), np.exp(high)


def _log_ends(estimate: Estimate) -> Ends:
    found: Ends = estimate.facts.get("log_ends", (-np.inf, np.inf))
    return found


def fewest_ranks(ranks: Ranks) -> Floats:
    """How many units a mean over the ranks of each group needs."""
    return np.minimum(FEWEST_RANKS, np.floor(np.sqrt(ranks.mean_candidates)))


def too_few(units: Any, estimate: Estimate) -> NDArray[np.bool_]:
    """Whether each group has fewer units than its metric needs, which depends on the numbers of candidates alone."""
    return np.asarray(units < (estimate.facts["fewest"]() if "fewest" in estimate.facts else 0))


def too_few_reason(units: int, estimate: Estimate, over: str) -> str:
    return (
        f"ranks of {units} {over} do not show how large the others may be: "
        f"an interval needs {int(np.max(estimate.facts['fewest']()))} with so many candidates"
    )


def _by_spread(
    method: str, bounds: Callable[..., Bounds], sample: Sample, estimate: Estimate
) -> IntervalRule | NoInterval:
    found = group_spread(sample, estimate)
    if sample.group is None and sample.cluster is not None and found.df[0] < FEWEST_DF < sample.unit_counts[0]:
        return NoInterval(
            f"the cluster sizes leave {found.df[0]:.1f} degrees of freedom, and an interval needs {FEWEST_DF:g}: "
            "as many as three clusters of one size"
        )
    function = partial(bounds, found)
    if "fewest" in estimate.facts:
        few = too_few(sample.unit_counts, estimate)
        if sample.group is None and few[0] and sample.unit_counts[0] > FEWEST_DF:
            return NoInterval(too_few_reason(int(sample.unit_counts[0]), estimate, sample.over))
        function = partial(_of_enough, few, function)
    method = method if sample.cluster is None else f"cluster-{method}"
    return IntervalRule(method, sample.over, function, fewest="at least three")


def _of_enough(few: NDArray[np.bool_], bounds: Callable[..., Bounds], *given: Any) -> Bounds:
    """The bounds of groups with enough units, NaN for the others."""
    low, high = bounds(*given)
    return (np.where(few, np.nan, low), np.where(few, np.nan, high)) if few.any() else (low, high)


def _mean(sample: Sample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Score interval with Student's t over queries, or over clusters where given (CR2, degrees of freedom by size)."""
    return _by_spread("score-t", _score_bounds, sample, estimate)


def _share(sample: Sample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Wilson where every query scores 0 or 1 and none are clustered, else the score interval with Student's t."""
    if sample.cluster is None and estimate.facts["binary"]:
        return IntervalRule("wilson", "queries", _wilson_bounds)
    return _mean(sample, estimate)


def _log_mean(sample: Sample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Score interval with Student's t on the logarithm, over queries or clusters."""
    return _by_spread("log-score-t", _log_score_bounds, sample, estimate)


def _median(ranks: Ranks, estimate: Estimate) -> IntervalRule:
    """Woodruff's inversion of the distribution function, over queries or clusters."""
    return IntervalRule("woodruff", ranks.over, _woodruff_bounds, fewest="at least six (at 95 %)")


def _delong(pooled: Pooled, estimate: Estimate) -> IntervalRule:
    """DeLong on the logit scale, with a query (or cluster) as one unit."""
    return IntervalRule("delong-logit", pooled.over, _logit_bounds)


def _linearised(pooled: Pooled, estimate: Estimate) -> IntervalRule:
    """First-order variance on the logit scale, with a query (or cluster) as one unit."""
    return IntervalRule("linearised-logit", pooled.over, _logit_bounds)


def _with_threshold(pooled: Pooled, estimate: Estimate) -> IntervalRule:
    """The error of the positives (Wilson, or Student's t over clusters) and of the threshold, added in squares."""
    return IntervalRule(
        "wilson and threshold" if pooled.cluster is None else "cluster-t and threshold",
        pooled.over,
        _threshold_bounds,
    )


def _threshold_bounds(pooled: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    return pooled_hits_bounds(pooled, estimate.facts["k"], float(estimate.value[0]), confidence)


def _logit_bounds(pooled: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    error, df = estimate.facts["error"](pooled)
    return logit_t_interval(estimate.value, error, df, confidence)


def _blind(function: MetricFunction, sample: Ranks | Lists, params: Mapping[str, Any]) -> dict[str, float]:
    """The constant scorer under the chosen tie rule, and the mean of a random order."""
    rules = {"constant scorer": sample.ties, "random scorer": "expected"}
    if sample.ties == "expected":
        del rules["constant scorer"]
    if isinstance(sample, Lists) and not sample.settled:  # then both are the mean of a random order
        level = float(function(sample.constant, **params).value[0])
        return dict.fromkeys(rules, level)
    if isinstance(sample, Ranks) and sample.one_length:
        sizes = int(sample.n[0]), int(sample.fewest_candidates)
        return {name: _one_length_level(function, *sizes, ties, **params) for name, ties in rules.items()}
    return {name: float(function(sample.constant.under(ties), **params).value[0]) for name, ties in rules.items()}


@lru_cache(maxsize=1024)
def _one_length_level(function: MetricFunction, queries: int, candidates: int, ties: str, **params: Any) -> float:
    """The level of lists of one length; kept, because a model in training is evaluated on the same ones many times."""
    one = Ranks.of(*np.array([[0], [candidates - 1], [candidates]]), ties=ties)
    return float(function(replace(one, count=np.array([queries])), **params).value[0])


def _zero(function: MetricFunction, sample: Ranks, params: Mapping[str, Any]) -> dict[str, float]:
    """Zero, by construction."""
    return {"random scorer": 0.0}


def _prevalence(function: MetricFunction, pooled: Pooled, params: Mapping[str, Any]) -> dict[str, float]:
    """The share of positives among all scores."""
    return {"constant scorer": pooled.positives / (pooled.positives + pooled.negatives)}


def _half(function: MetricFunction, pooled: Pooled, params: Mapping[str, Any]) -> dict[str, float]:
    """One half, for the constant and for the random scorer."""
    return {"constant scorer": 0.5}


def _random_threshold(function: MetricFunction, pooled: Pooled, params: Mapping[str, Any]) -> dict[str, float]:
    """K / (N + 1): the probability to rank above the K-th of N exchangeable negatives."""
    return {"random scorer": min(1.0, params["k"] / (pooled.negatives + 1))}


def _trivial(ranks: Ranks, k: int) -> tuple[str, ...]:
    if k < ranks.fewest_candidates:
        return ()
    queries = int(ranks.count[ranks.candidates <= k].sum())
    return (f"k = {k} is at least the number of candidates in {queries} queries, which score 1 with any model",)


@metric(
    key="mrr",
    family="ranking",
    needs=("ranks",),
    direction="higher",
    bounds=(0, 1),
    unit="query",
    conventions=_RULES,
    reference="voorhees1999",
    chance=_blind,
    interval=_mean,
    laws=_LAWS,
)
def mrr(ranks: Ranks) -> Estimate:
    """Mean reciprocal rank of the positives among their candidates."""
    return ranks.estimate(ranks.reciprocal(), range=(0.0, 1.0))


@metric(
    key="hits@{k}",
    family="ranking",
    needs=("ranks",),
    direction="higher",
    bounds=(0, 1),
    unit="query",
    conventions=_RULES,
    reference="bordes2013",
    chance=_blind,
    interval=_share,
    laws=_LAWS,
)
def hits_at_k(ranks: Ranks, *, k: int = 10) -> Estimate:
    """Share of queries whose positive is among the first k."""
    values = ranks.within(k)
    binary = ranks.ties != "expected" or bool(((values == 0) | (values == 1)).all())
    return ranks.estimate(values, binary=binary, range=(0.0, 1.0)).warned(*_trivial(ranks, k))


@metric(
    key="mean_rank",
    family="ranking",
    needs=("ranks",),
    direction="lower",
    bounds=(1, np.inf),
    unit="query",
    conventions=_RULES,
    reference="bordes2013",
    chance=_blind,
    interval=_mean,
    laws=_LAWS,
)
def mean_rank(ranks: Ranks) -> Estimate:
    """Mean rank of the positives."""
    return ranks.estimate(ranks.rank(), ends=lambda: (1.0, ranks.mean_candidates), fewest=lambda: fewest_ranks(ranks))


@metric(
    key="median_rank",
    family="ranking",
    needs=("ranks",),
    direction="lower",
    bounds=(1, np.inf),
    unit="query",
    conventions=_RULES,
    reference="hoyt2022",
    chance=_blind,
    interval=_median,
    laws=_LAWS,
)
def median_rank(ranks: Ranks) -> Estimate:
    """Median rank of the positives."""
    middle = ranks.quantile(np.full(ranks.groups, 0.5))
    return Estimate(middle, ranks.n, reason="no queries", facts={"unit": ranks.unit})


@metric(
    key="geometric_mean_rank",
    family="ranking",
    needs=("ranks",),
    direction="lower",
    bounds=(1, np.inf),
    unit="query",
    conventions=_RULES,
    reference="hoyt2022",
    chance=_blind,
    interval=_log_mean,
    laws=_LAWS,
)
def geometric_mean_rank(ranks: Ranks) -> Estimate:
    """Geometric mean rank of the positives: less affected by the worst queries than the mean rank."""
    logs = ranks.log()
    value = np.exp(ranks.mean(logs))
    influence = ranks.to_cells(value) * (logs - ranks.to_cells(np.log(value)))
    log_ends = 0.0, ranks.mean(np.log(ranks.candidates))
    facts = {"log_ends": log_ends, "ends": lambda: (1.0, np.exp(log_ends[1])), "unit": ranks.unit}
    return Estimate(value, ranks.n, influence, reason="no queries", facts=facts)


@metric(
    key="ndcg@{k}",
    family="ranking",
    needs=("lists", "ranks"),
    direction="higher",
    bounds=(0, 1),
    unit="query",
    conventions=_RULES | {"gain": "the grade"},
    reference="jarvelin2002",
    chance=_blind,
    interval=_mean,
    laws=_LAWS,
)
def ndcg_at_k(sample: Lists | Ranks, *, k: int = 10) -> Estimate:
    """Discounted gain grade/log2(1 + rank) of the positives among the first k, over that of the best possible order.

    Labels may be grades of relevance above 0; without grades every positive has the gain 1.
    """
    return sample.estimate(sample.ndcg(k), range=(0.0, 1.0))


@metric(
    key="amri",
    family="ranking",
    needs=("ranks",),
    direction="higher",
    bounds=(-1, 1),
    unit="query",
    conventions=_EXPECTED,
    reference="berrendorf2020",
    chance=_zero,
    interval=_mean,
    laws=_LAWS,
)
def amri(ranks: Ranks) -> Estimate:
    """Adjusted mean rank index: 1 for perfect, 0 for random order, for any number of candidates."""
    ranks = ranks.under("expected")
    worst = ranks.candidates - 1
    found = ranks.ratio(ranks.rank() - 1, worst / 2, top=worst, reason="no query has a negative")
    return replace(found, facts={**found.facts, "fewest": lambda: fewest_ranks(ranks)})


@metric(
    key="adjusted_mrr",
    family="ranking",
    needs=("ranks",),
    direction="higher",
    bounds=(-1, 1),
    unit="query",
    conventions=_EXPECTED,
    reference="hoyt2022",
    chance=_zero,
    interval=_mean,
    laws=_LAWS,
)
def adjusted_mrr(ranks: Ranks) -> Estimate:
    """Mean reciprocal rank, scaled so that random order is 0 and perfect is 1."""
    ranks = ranks.under("expected")
    random = ranks.blindly(Ranks.reciprocal)
    worst = 1 - 1 / ranks.candidates
    return ranks.ratio(1 - ranks.reciprocal(), 1 - random, top=worst, at_ends=AT_ENDS, reason="no query has a negative")


@metric(
    key="adjusted_hits@{k}",
    family="ranking",
    needs=("ranks",),
    direction="higher",
    bounds=(-np.inf, 1),
    unit="query",
    conventions=_EXPECTED,
    reference="hoyt2022",
    chance=_zero,
    interval=_mean,
    laws=_LAWS,
)
def adjusted_hits_at_k(ranks: Ranks, *, k: int = 10) -> Estimate:
    """Hits@k, scaled so that random order is 0 and perfect is 1."""
    ranks = ranks.under("expected")
    random = ranks.blindly(Ranks.within, k)
    worst = (ranks.candidates > k).astype(float)
    reason = f"every query has at most k = {k} candidates"
    return ranks.ratio(1 - ranks.within(k), 1 - random, top=worst, at_ends=AT_ENDS, reason=reason)


# What metrics of whole lists have in common.
_OF_LISTS: dict[str, Any] = {
    "family": "ranking",
    "needs": ("lists",),
    "direction": "higher",
    "bounds": (0, 1),
    "unit": "query",
    "chance": _blind,
    "interval": _mean,
    "laws": _LAWS,
}


@metric(
    key="recall@{k}",
    **_OF_LISTS,
    conventions=_LIST_RULES,
    reference="mcsherry2008",
)
def recall_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Share of a query's positives that are among its first k candidates, mean over queries."""
    return lists.estimate(lists.hits(k) / lists.relevant, range=(0.0, 1.0))


@metric(
    key="precision@{k}",
    **_OF_LISTS,
    conventions=_LIST_RULES | {"short lists": "divided by k all the same"},
    reference="mcsherry2008",
)
def precision_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Share of a query's first k candidates that are positives, mean over queries."""
    return lists.estimate(lists.hits(k) / k, range=(0.0, 1.0))


@metric(
    key="map@{k}",
    **_OF_LISTS,
    conventions=_LIST_RULES | {"divided by": "min(positives, k)"},
    reference="mcsherry2008",
)
def map_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Mean average precision: precision at each positive among the first k, over min(positives, k)."""
    return lists.estimate(lists.precision_sum(k) / np.minimum(lists.relevant, k), range=(0.0, 1.0))


@metric(
    key="mrr_first",
    **_OF_LISTS,
    conventions=_LIST_RULES | {"per": "query, by its best positive"},
    reference="voorhees1999",
)
def mrr_first(lists: Lists) -> Estimate:
    """Reciprocal rank of a query's best positive, mean over queries."""
    return lists.estimate(lists.first_reciprocal(), range=(0.0, 1.0))


@metric(
    key="mrr_first@{k}",
    **_OF_LISTS,
    conventions=_LIST_RULES | {"per": "query, by its best positive", "beyond k": "0"},
    reference="voorhees1999",
    default=False,
)
def mrr_first_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Reciprocal rank of a query's best positive, 0 if it is not among the first k, mean over queries."""
    return lists.estimate(lists.first_reciprocal(k), range=(0.0, 1.0))


@metric(
    key="hit_ratio@{k}",
    **_OF_LISTS | {"interval": _share},
    conventions=_LIST_RULES | {"per": "query, by its best positive"},
    reference="deshpande2004",
)
def hit_ratio_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Share of queries with at least one positive among their first k candidates."""
    values = lists.hit(k)
    binary = lists.settled or bool(((values == 0) | (values == 1)).all())
    return lists.estimate(values, binary=binary, range=(0.0, 1.0))


@metric(
    key="f1@{k}",
    **_OF_LISTS,
    conventions=_LIST_RULES | {"short lists": "divided by k all the same"},
    reference="vanrijsbergen1979",
    default=False,
)
def f1_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """Harmonic mean of a query's precision and recall at k, 2 · hits / (k + positives), mean over queries."""
    return lists.estimate(2 * lists.hits(k) / (k + lists.relevant), range=(0.0, 1.0))


@metric(
    key="r_precision",
    **_OF_LISTS,
    conventions=_LIST_RULES,
    reference="manning2008",
    default=False,
)
def r_precision(lists: Lists) -> Estimate:
    """Share of positives among a query's first R candidates, R the number of its positives, mean over queries."""
    return lists.estimate(lists.hits(lists.relevant) / lists.relevant, range=(0.0, 1.0))


@metric(
    key="ndcg_exp@{k}",
    **_OF_LISTS,
    conventions=_LIST_RULES | {"gain": "2^grade − 1"},
    reference="burges2005",
    default=False,
)
def ndcg_exp_at_k(lists: Lists, *, k: int = 10) -> Estimate:
    """nDCG with the exponential gain 2^grade − 1 of the positives; equal to `ndcg@k` if labels are 0 and 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = lists.estimate(lists.ndcg(k, lambda grades: np.exp2(grades) - 1), range=(0.0, 1.0))
    if len(lists.counts) and np.isnan(found.value).any():
        return replace(found, reason="the gain 2^grade − 1 of the largest grade is beyond the range of numbers")
    return found


@metric(
    key="roc_auc",
    family="ranking",
    needs=("pooled",),
    direction="higher",
    bounds=(0, 1),
    unit="query",
    conventions=_POOLED_RULES,
    reference="hanley1982",
    chance=_half,
    interval=_delong,
    laws=_LAWS,
    default=False,
)
def roc_auc(pooled: Pooled) -> Estimate:
    """Probability that a positive outscores a negative, over all pairs of the pool; ties count half."""
    return pooled.estimate_of(tails.roc_auc(pooled.tails), error=_auc_error)


@metric(
    key="average_precision",
    family="ranking",
    needs=("pooled",),
    direction="higher",
    bounds=(0, 1),
    unit="query",
    conventions=_POOLED_RULES | {"ties": "enter together", "curve": "steps, not trapezoids"},
    reference="davis2006",
    chance=_prevalence,
    interval=_linearised,
    laws=_LAWS,
    default=False,
)
def average_precision(pooled: Pooled) -> Estimate:
    """Precision at each positive of the pool, averaged over the positives."""
    return pooled.estimate_of(tails.average_precision(pooled.tails), error=_precision_error)


@metric(
    key="pooled_hits@{k}",
    family="ranking",
    needs=("pooled",),
    direction="higher",
    bounds=(0, 1),
    unit="query",
    conventions=_POOLED_RULES | {"ties": "with the k-th negative are no hit"},
    reference="hu2020",
    chance=_random_threshold,
    interval=_with_threshold,
    laws=_LAWS,
    default=False,
)
def pooled_hits_at_k(pooled: Pooled, *, k: int = 10) -> Estimate:
    """Share of positives strictly above the k-th best of all negatives together."""
    if len(pooled.pos) and 0 < len(pooled.neg) < k:
        return pooled.estimate_of(1.0, k=k).warned(
            f"only {len(pooled.neg)} negatives: every positive is a hit at k = {k}"
        )
    if not len(pooled.pos) or not len(pooled.neg):
        return pooled.estimate_of(np.nan)
    return pooled.estimate_of(pooled.share_above(k), k=k)


def _auc_error(pooled: Pooled) -> tuple[float, float]:
    if pooled.unrelated:
        return two_sample_auc_error(pooled)
    _, error, df = delong(pooled.pos, pooled.neg, pooled.offsets, cluster=pooled.units)
    return error, df


def _precision_error(pooled: Pooled) -> tuple[float, float]:
    return average_precision_error(pooled.pos, pooled.neg, pooled.offsets, pooled.tails, pooled.units)
