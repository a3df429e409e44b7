"""The entry point `evaluate`: queries are counted, and the chosen metrics computed.

inputs ── Queries.from_… ──▶ Queries ── count ──▶ Counts ── Ranks, Lists, Pooled ──▶ metrics ──▶ Evaluation
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid, column
from graphgauge.core.items import Items
from graphgauge.core.loop import Measured, broken_down, measure, sample_of
from graphgauge.core.metric import Metric
from graphgauge.core.options import confidence_level
from graphgauge.core.registry import DEFAULT, Chosen, find, select
from graphgauge.core.types import Floats
from graphgauge.protocols import under_protocols
from graphgauge.ranking import errors
from graphgauge.ranking.counting import numbered
from graphgauge.ranking.counts import Counts, Labels
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.samples import Lists, Pooled, Ranks
from graphgauge.ranking.ties import TIES, cutoff

# The metrics that are computed without being named: of queries with one positive, with several, of lists of which the
# first places are known, and of one pool of negatives.
OF_RANKS = ("mrr", "hits", "adjusted_mrr")
OF_LISTS = ("recall", "ndcg", "map", "hit_ratio", "mrr_first")
OF_FIRST = ("recall", "ndcg", "map", "hit_ratio", "mrr_first@{k}")
OF_POOL = ("pooled_hits", "roc_auc", "average_precision", "mrr")
_OF_CUT = {"ties": "in the order of the lists", "beyond the lists": "a right item there is not found"}


@under_protocols("ranking")
def evaluate(
    pos_scores: Any,
    neg_scores: Any = None,
    *,
    mask: Any = None,
    negatives: Any = None,
    ids: Any = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    minus_inf: str = "rank",
    nan: str = "raise",
    k: Sequence[int] | int = (1, 3, 10),
    ties: str = "realistic",
    metrics: Sequence[str | Metric] | str | None = None,
    confidence: float = 0.95,
    protocol: str | None = None,
) -> Evaluation:
    """Rank every positive among its negatives and compute metrics with intervals and chance levels.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores (n,) of the positives, and of their negatives: a matrix (n, k), a list of n arrays, `(values, offsets)`,
        or one pool (m,) for all. Or any `Queries`, alone.
    mask, negatives, ids, groups, cluster, weights, minus_inf, nan
        Of scores, as in `Queries.from_scores`.
    k
        The cut-offs of `hits@k` and the other metrics at k.
    ties
        How equal scores rank: `realistic` (the mean place), `optimistic`, `pessimistic`, or `expected`, the exact mean
        of each metric over random tie-breaking.
    metrics
        Keys, metrics that were declared, or "all"; without it the headline metrics.
    confidence
        Level of the intervals.
    protocol
        The name of a benchmark, such as "ogbl-collab", whose metrics and tie rule are used.

    Returns
    -------
    Evaluation
        One `Result` per metric, with its value, interval and chance levels; findings; breakdowns by group, in which
        the row `macro` is the mean over groups; the value of each query in `per_item`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1)
    >>> ev["mrr"].value, ev["hits@1"].value
    (0.75, 0.5)
    >>> [(level.name, round(level.value, 4)) for level in ev["mrr"].references]
    [('constant scorer', 0.5), ('random scorer', 0.6111)]
    """
    about = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
    queries = queries_of(pos_scores, neg_scores, **about, mask=mask, negatives=negatives, minus_inf=minus_inf, nan=nan)
    one_of("ties", ties, TIES)
    confidence, ks = confidence_level(confidence), _cutoffs(k)
    names, by_default = _asked(metrics)
    counts = queries.count()
    if counts.depth is not None and ties != "realistic":
        raise OptionError("lists of the first items have an order and no ties", fix="Leave out ties.").about("ties")
    shop = [] if queries.catalog is None else queries.catalog.samples
    at_hand = ["ranks", *["lists"] * counts.lists, *["pooled"] * queries.has_pool, *shop]
    _require_catalog(names, at_hand)
    usual = select("ranking", _defaults(queries, counts), at_hand, {"k": ks})[0] if by_default else []
    own, named = select("ranking", names, at_hand, {"k": ks}) if names is not None else ([], frozenset())
    together = {metric.key_of(**params): (metric, params) for metric, params in (*usual, *own)}
    asked = named | {metric.key_of(**params) for metric, params in usual}
    chosen, skipped = _known(list(together.values()), asked, counts)
    samples = _samples(queries, counts, ties, chosen)
    conventions = _conventions(counts, ties)
    rules = partial(_conventions_of, conventions)
    measured = measure(chosen, samples, named=named, confidence=confidence, conventions=rules)
    return Evaluation(
        "ranking",
        measured.results,
        conventions=conventions,
        options={"k": list(ks), "confidence": confidence},
        breakdowns={axis: by_groups(counts, axis, ties, chosen, measured, confidence) for axis in counts.labels.groups},
        skipped=measured.skipped | skipped,
        per_item=per_item(counts, ties, list(measured.estimates)),
        materials={"ranks": samples["ranks"], "pooled": samples.get("pooled"), "counts": counts},
        drawings=partial(_drawings, samples["ranks"], confidence),
    )


def queries_of(pos_scores: Any, neg_scores: Any = None, **options: Any) -> Queries:
    """The queries that a function of scores was given."""
    if not isinstance(pos_scores, Queries):
        return Queries.from_scores(pos_scores, neg_scores, **options)
    for name, value in {"neg_scores": neg_scores, **options}.items():
        if value is not None and not (isinstance(value, str) and value in ("rank", "raise")):
            raise OptionError(f"a Queries takes no {name}", fix="Give it to the constructor.").about(name)
    return pos_scores


# ---- which metrics on which samples


def _defaults(queries: Queries, counts: Counts) -> list[str]:
    """The metrics that are computed without being named."""
    own = OF_FIRST if counts.depth is not None else OF_LISTS if counts.lists else OF_RANKS
    return [*(OF_POOL if counts.pooled else own), *([] if queries.catalog is None else queries.catalog.metrics)]


def _samples(queries: Queries, counts: Counts, ties: str, chosen: Sequence[Chosen]) -> dict[str, Any]:
    """The samples by name: scores are pooled, and the first items found, only if a metric needs it."""
    needs = {need for metric, _ in chosen for need in metric.needs}
    samples: dict[str, Any] = {"ranks": Ranks.of(counts, ties)}
    if counts.lists:
        samples["lists"] = Lists.of(counts, ties)
    if queries.has_pool and "pooled" in needs:
        samples["pooled"] = queries.pool()
    if queries.catalog is not None and needs & {*queries.catalog.samples}:
        longest = max(params.get("k", 1) for _, params in chosen)
        samples |= dict.fromkeys(queries.catalog.samples, queries.recommended(longest))
    return samples


def _require_catalog(names: Any, at_hand: Sequence[str]) -> None:
    """Refuse named metrics of what is recommended, if there is no catalogue with what they need."""
    for name in names if isinstance(names, list) else ():
        need = find(name, "ranking")[0].needs[0] if isinstance(name, str) else "ranks"
        if need in ("recommended", "popularity", "categories") and need not in at_hand:
            part, argument = ("", "size") if need == "recommended" else (f" with {need}", need)
            fix = f"Pass catalog=ranking.Catalog({argument}=…) to recommend, Queries.from_topk or from_embeddings."
            raise OptionError(f"{name.partition('@')[0]}@k needs a catalogue{part}", fix=fix).about("metrics")


def _cutoffs(k: Any) -> tuple[int, ...]:
    several = isinstance(k, Sequence | np.ndarray) and not isinstance(k, str) and np.ndim(k) > 0
    return tuple(cutoff(each) for each in (k if several else [k]))


def _asked(metrics: Any) -> tuple[Any, bool]:
    """What is named beside the default metrics, None if nothing is; whether these are asked for."""
    listed = [metrics] if isinstance(metrics, str | Metric) else metrics
    if metrics is None or metrics == "all" or not isinstance(listed, Iterable):
        return metrics, metrics is None
    listed = list(listed)
    if not listed:
        raise OptionError("no metrics asked for", fix="Leave metrics= out to get the default ones.").about("metrics")
    return [each for each in listed if each != DEFAULT] or None, DEFAULT in listed


def _known(chosen: list[Chosen], asked: frozenset[str], counts: Counts) -> tuple[list[Chosen], dict[str, str]]:
    """The metrics that follow from what is known, and why the others are left out: an error if one is asked for."""
    kept: list[Chosen] = []
    skipped = {}
    within = {metric.key for metric, params in chosen if params.get("k", math.inf) <= (counts.depth or 0)}
    for metric, params in chosen:
        error = _unknowable(metric, params, counts)
        if error is None:
            kept.append((metric, params))
            continue
        key = metric.key_of(**params)
        if key in asked and not (error.field == "k" and metric.key in within):
            raise error
        skipped[key] = error.what.replace(key, "it", 1)
    return kept, skipped


def _unknowable(metric: Metric, params: Mapping[str, Any], counts: Counts) -> OptionError | None:
    """Why a metric does not follow from weighted queries, or from the places that are known of lists."""
    k = cutoff(params.get("k", 1))
    if "pooled" in metric.needs and counts.labels.weights is not None:
        return OptionError("pooled metrics do not take weights", fix="Name other metrics, or give no weights.")
    if counts.depth is None or not len(counts):
        return None
    if metric.needs == ("ranks",) or ("lists" in metric.needs and "k" not in params):
        what = f"{metric.key_of(**params)} depends on items beyond the lists, which are not known"
        fix = "Known are recall@k, precision@k, map@k, ndcg@k, hit_ratio@k, f1@k and mrr_first@k."
        return OptionError(what, fix=fix)
    if k > counts.depth:
        what = f"k = {k} is beyond the lists, of which the first {counts.depth} items are known"
        return OptionError(what, fix="Ask for longer lists, or a smaller k.").about("k")
    return None


def _conventions(counts: Counts, ties: str) -> dict[str, str]:
    conventions = {"ties": ties, "nan": "omit" if counts.met.omitted else "raise"}
    if counts.met.excluded:
        conventions["minus_inf"] = "exclude"
    if counts.negatives is not None:
        conventions["negatives"] = counts.negatives
    return conventions | (_OF_CUT if counts.depth is not None else {})


def _conventions_of(common: Mapping[str, str], sample: Any) -> Mapping[str, str]:
    # A tie of several positives has no realistic order.
    unsettled = isinstance(sample, Lists) and not sample.settled and sample.counts.depth is None
    return {**common, "ties": "expected"} if unsettled else common


# ---- by group, and by query


def by_groups(
    counts: Counts, axis: str, ties: str, chosen: Sequence[Chosen], measured: Measured, confidence: float
) -> Grid:
    """The metrics by the groups of one axis, and in the last row their means over groups, with equal weights."""
    samples: dict[str, Any] = {"ranks": Ranks.of(counts, ties, axis)}
    samples |= {"lists": Lists.of(counts, ties, axis)} if counts.lists else {}
    names = numbered(counts.labels.groups[axis])[0]
    if "macro" in names.tolist():
        what = "a label is 'macro', as the row of the means over groups"
        raise InputError(what, where=f"groups[{axis!r}]", fix="Call it otherwise.")
    along = [(metric, params) for metric, params in chosen if {*metric.needs} & {*samples}]
    n, left_out = samples["lists" if counts.lists else "ranks"].n, measured.skipped
    table = broken_down(axis, names, n, along, samples, confidence=confidence, skipped=left_out)
    if not len(names):
        return table
    last: dict[str, Any] = {axis: "macro", "n": int(table["n"].sum())}
    for metric, params in along:
        if (key := metric.key_of(**params)) in table:
            sample = sample_of(metric, samples)
            ends = errors.macro(sample, metric(sample, **params), confidence, metric.bounds)
            last |= dict(zip((key, f"{key}.low", f"{key}.high"), ends, strict=True))
    return Grid({name: column([*values.tolist(), last[name]]) for name, values in table.columns.items()})


class Values(Mapping[str, Floats]):
    """The value of each query, computed when it is read; of any metric of ranks or lists that is a mean."""

    def __init__(self, counts: Counts, ties: str, keys: Sequence[str]) -> None:
        self._counts, self._ties, self._keys = counts, ties, keys
        self._known: dict[str, tuple[Floats, Floats]] = {}

    def __getitem__(self, key: str) -> Floats:
        return self.both(key)[0]

    def both(self, key: str) -> tuple[Floats, Floats]:
        """Values and what they weigh: the value of the whole is their weighted mean."""
        if not self._has(key):
            raise KeyError(key)
        if key not in self._known:
            metric, params = find(key, "ranking")
            if metric.name == "pooled_hits":
                # Strictly above the k-th best of the pool: among the first k, and ties lose.
                ranks = self._ranks.under("pessimistic")
                self._known[key] = ranks.mean(ranks.within(params["k"])), ranks.mass
            else:
                sample = self._lists if "lists" in metric.needs and self._counts.lists else self._ranks
                estimate = metric(sample, **params)
                self._known[key] = estimate.value, sample.mass * estimate.facts.get("denominator", 1.0)
        return self._known[key]

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks.each(self._counts, self._ties)

    @cached_property
    def _lists(self) -> Lists:
        n = len(self._counts.candidates)
        return replace(Lists.of(self._counts, self._ties), group=np.arange(n), groups=n)

    def _has(self, key: str) -> bool:
        try:
            metric, _ = find(key, "ranking")
        except OptionError:
            return False
        if metric.name == "pooled_hits":
            return self._counts.pooled
        if metric.name in ("median_rank", "geometric_mean_rank"):  # no means over queries
            return False
        return "ranks" in metric.needs or ("lists" in metric.needs and self._counts.lists)

    def __iter__(self) -> Iterator[str]:
        return filter(self._has, self._keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Weights(Mapping[str, Floats]):
    """What the value of each query weighs; only of metrics in which queries count differently."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Floats:
        return self._values.both(key)[1]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._values if np.ptp(self[key]) > 0)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def per_item(counts: Counts, ties: str, keys: Sequence[str]) -> Items | None:
    """The value of each query; None if queries were folded, or if there are none."""
    if counts.count is not None or not len(counts):
        return None
    labels = counts.labels
    ids = counts.numbers if labels.ids is None else labels.ids
    # The metrics of lists of the first items do not depend on how many there are.
    asked: dict[str, Any] = {"right answers": counts.relevant}
    asked |= {} if counts.depth is not None else {"candidates": counts.candidates}
    asked |= {} if labels.weights is None else {"weights": labels.weights}
    values = Values(replace(counts, labels=Labels(weights=labels.weights)), ties, keys)
    return Items("query", ids, values, Weights(values), labels.cluster, asked)


# ---- figures and plain numbers


def _drawings(ranks: Ranks, confidence: float) -> dict[str, Grid]:
    from graphgauge.ranking.figure import hits_curve

    return {"hits": hits_curve(ranks, confidence)}


def mrr(pos_scores: Any, neg_scores: Any, *, ties: str = "realistic", **options: Any) -> float:
    """Mean reciprocal rank.

    Parameters
    ----------
    pos_scores, neg_scores, options
        As in `Queries.from_scores`.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.

    Returns
    -------
    float
        In (0, 1]; 1 if every positive has the first rank; NaN without positives.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.mrr([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]])
    0.75
    >>> round(ranking.mrr([0.5], [[0.5] * 9], ties="expected"), 5)
    0.2929
    """
    sample = _ranks(pos_scores, neg_scores, ties, options)
    return float(sample.mean(sample.reciprocal)[0])


def hits_at_k(pos_scores: Any, neg_scores: Any, *, k: int = 10, ties: str = "realistic", **options: Any) -> float:
    """Share of positives among the first k.

    Parameters
    ----------
    pos_scores, neg_scores, options
        As in `Queries.from_scores`.
    k
        The last rank that counts as a hit.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.

    Returns
    -------
    float
        In [0, 1]; NaN without positives.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.hits_at_k([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]], k=1)
    0.5
    """
    last = cutoff(k)
    sample = _ranks(pos_scores, neg_scores, ties, options)
    return float(sample.mean(sample.within(last))[0])


def ranks(pos_scores: Any, neg_scores: Any, *, ties: str = "realistic", **options: Any) -> Floats:
    """The rank of every positive among its candidates; under `expected` the mean rank.

    Parameters
    ----------
    pos_scores, neg_scores, options
        As in `Queries.from_scores`.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.

    Returns
    -------
    array (n,)
        One rank per positive, in their order, 1 for the first place; NaN where nan="omit" drops a query.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.ranks([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]]).tolist()
    [2.0, 1.0]
    """
    one_of("ties", ties, TIES)
    queries = queries_of(pos_scores, neg_scores, **options)
    counts, kept = queries.count_rows(slice(0, queries.n))
    found = np.full(queries.n, np.nan)
    found[slice(None) if kept is None else kept] = Ranks.each(counts, ties).rank
    return found


def roc_auc(pos_scores: Any, neg_scores: Any) -> float:
    """Area under the ROC curve of two 1-D arrays of scores; ties count half.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores of the positives and of the negatives, higher is better.

    Returns
    -------
    float
        In [0, 1], 0.5 at chance; NaN if either array is empty.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.roc_auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    return _pooled(pos_scores, neg_scores).roc_auc


def average_precision(pos_scores: Any, neg_scores: Any) -> float:
    """Step-wise average precision of two 1-D arrays of scores.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores of the positives and of the negatives, higher is better.

    Returns
    -------
    float
        In (0, 1]; NaN if either array is empty. Its chance level is the share of positives among all scores.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> round(ranking.average_precision([0.9, 0.4], [0.7, 0.1]), 4)
    0.8333
    """
    return _pooled(pos_scores, neg_scores).average_precision


def _ranks(pos_scores: Any, neg_scores: Any, ties: str, options: Mapping[str, Any]) -> Ranks:
    one_of("ties", ties, TIES)
    return Ranks.of(queries_of(pos_scores, neg_scores, **options).count(), ties)


def _pooled(pos_scores: Any, neg_scores: Any) -> Pooled:
    pos, neg = as_numeric(pos_scores, "pos_scores"), as_numeric(neg_scores, "neg_scores")
    for name, scores in (("pos_scores", pos), ("neg_scores", neg)):
        require_shape(scores, (None,), name, "Pooled metrics take two 1-D arrays.")
        refuse_nan(scores, name, fix="Repair the model or drop them before the call.")
    return Pooled(pos, neg)
