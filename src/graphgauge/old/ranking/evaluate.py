"""The entry point `evaluate`, and functions that return plain numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.options import confidence_level, metric_names, nan_policy
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.later import read
from graphgauge.old.core.loop import Axis, measured, sample_for
from graphgauge.old.core.metric import NO_SPREAD, Estimate, Metric, asked, select
from graphgauge.old.core.metric import metrics as registered
from graphgauge.old.core.result import Interval, Result, Table, enclosing
from graphgauge.old.ranking import beyond as _beyond
from graphgauge.old.ranking import metrics as _metrics
from graphgauge.old.ranking.beyond import Catalog, beyond_samples
from graphgauge.old.ranking.cut_lists import CONVENTIONS, as_known, knowable, notes_of_lists, reachable
from graphgauge.old.ranking.inputs import Scores, counted, cutoff, cutoffs
from graphgauge.old.ranking.items import POOL
from graphgauge.old.ranking.negative_sampling import Negatives
from graphgauge.old.ranking.samples import Lists, Pooled, Ranks
from graphgauge.old.ranking.shared_error import shared_rule
from graphgauge.old.ranking.shared_pool import Part, is_pool, pool_counts
from graphgauge.old.ranking.state import RankingState
from graphgauge.old.ranking.ties import TIES, rank
from graphgauge.old.stats.intervals import macro_spread, score_interval

Floats = NDArray[np.floating[Any]]

# All declared metrics: those of ranks and lists, and of what is recommended.
METRIC_MODULES = (_metrics, _beyond)
POSITIVES_AND_QUERIES = "n counts positives for metrics of ranks, such as mrr and hits@k, and queries for the others"


def evaluate(
    pos_scores: Any = None,
    neg_scores: Any = None,
    *,
    scores: Any = None,
    labels: Any = None,
    queries: Any = None,
    items: Any = None,
    catalog: Catalog | Mapping[str, Any] | None = None,
    k: Sequence[int] | int = (1, 3, 10),
    ties: str = "realistic",
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    metrics: Sequence[str] | None = None,
    offsets: Any = None,
    mask: Any = None,
    negatives: Negatives | None = None,
    ids: Any = None,
    nan: str = "raise",
    confidence: float = 0.95,
    keep: str | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Rank every positive among its negatives and compute metrics with intervals and chance levels.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores (n,) of the positives and (n, k) of their negatives, higher is better: NumPy, torch (a matrix on a
        CUDA device is counted there) or lists. Ragged negatives: one flat array with `offsets` (n + 1), or a matrix
        with boolean `mask`. One flat array (m,) without offsets is a pool that all positives share, as in OGB: by
        default `pooled_hits@k` (OGB's hits@k), `roc_auc`, `average_precision` and `mrr`, each positive ranked among
        the whole pool.
    scores, labels, queries
        The flat form: one score, label and query id per candidate, several positives per query allowed. Labels are 0
        for negatives, and 1 or a grade of relevance above 0 for positives. Adds `mrr_first`, `hit_ratio@k`,
        `recall@k`, `precision@k`, `map@k` and the whole-list `ndcg@k`, which count queries; `mrr`, `hits@k` and other
        metrics of ranks count positives, each ranked among its query's negatives.
    items, catalog
        In the flat form, the number of each candidate's item in a `Catalog`; adds `coverage@k`, `gini@k`,
        `personalization@k` and, as far as the catalogue knows, popularity, novelty and diversity.
    k
        The cut-offs of `hits@k` and the other metrics at k.
    ties
        How equal scores rank: `realistic` (the mean place), `optimistic`, `pessimistic`, or `expected`, the exact mean
        of each metric over random tie-breaking.
    groups
        Labels per query to break results down by, `{"relation": ...}`; see `Evaluation.by`. In the flat form one per
        score, one per query in the order in which queries first occur, or `{query: label}`.
    cluster
        Integers; queries with the same label (head and tail of a triple) err together, and intervals account for it.
        In the flat form given as groups are.
    weights
        How much each query counts, above 0: means are weighted, and so are their errors. In the flat form given as
        groups are. Pooled metrics and those of recommended items take none.
    metrics
        Keys to compute instead of the default rank-based ones; `roc_auc`, `average_precision` and `pooled_hits@k`,
        which pool all scores, must be named.
    negatives
        The negatives that were scored, as `ranking.negatives` drew them: their mask is used, and results name them, so
        that methods are compared on the same negatives only.
    nan
        `raise`, or `omit`: a NaN positive drops the query, a NaN negative the candidate, and if all negatives are
        NaN the query; all are counted.
    keep
        `"items"` keeps each query's counts (under `ids`, if given) in `Evaluation.per_item`, for `compare`.
    offsets, mask
        Where each query's negatives begin in a flat array (n + 1), or which cells of a matrix are negatives.
    ids
        Names of the queries, by which `compare` pairs them.
    confidence
        Level of the intervals.
    threads
        Threads of the compiled loop; by default all cores.

    Returns
    -------
    Evaluation
        One `Result` per metric, with its value, interval and chance level; the findings of the audit; breakdowns by
        group.

    Raises
    ------
    InputError
        If shapes do not fit, or a score is NaN and `nan` is `raise`.
    OptionError
        If an argument has no such value, or two arguments exclude each other.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ev = ranking.evaluate([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]], k=1)
    >>> ev["mrr"].value, ev["hits@1"].value
    (0.75, 0.5)
    >>> [(level.name, round(level.value, 4)) for level in ev["mrr"].chance]
    [('constant scorer', 0.5), ('random scorer', 0.6111)]
    """
    metrics = metric_names(metrics)
    if (items is None) != (catalog is None):
        raise OptionError("items and catalog go together", fix="Pass items=, one number per score, and a Catalog.")
    top = None if items is None else last_place(k, metrics)
    state = empty_state(metrics=metrics, keep=keep, top=top)
    state.update(
        pos_scores,
        neg_scores,
        scores=scores,
        labels=labels,
        queries=queries,
        items=items,
        groups=groups,
        cluster=cluster,
        weights=weights,
        offsets=offsets,
        mask=mask,
        negatives=negatives,
        ids=ids,
        nan=nan,
        threads=threads,
    )
    return evaluate_state(state, k=k, ties=ties, metrics=metrics, confidence=confidence, nan=nan, catalog=catalog)


def last_place(k: Sequence[int] | int, metrics: Sequence[str] | None) -> int:
    """The largest cut-off of all metrics that are asked for."""
    named = [item.params for item in asked("ranking", metrics) if item.by_name] if metrics else []
    return max(*cutoffs(k), *(cutoff(params["k"]) for params in named if "k" in params), 1)


def empty_state(
    *,
    metrics: Sequence[str] | str | None = None,
    keep: str | None = None,
    top: int | None = None,
    shard: str | None = None,
    drawn: str | None = None,
) -> RankingState:
    """A state that counts what the metrics need; `drawn` says how the negatives of all batches were drawn."""
    pooled = needs_pool(metric_names(metrics))
    return RankingState(pooled=pooled, keep=keep, top=top, shard=shard, negatives=drawn)


def evaluate_state(
    state: RankingState,
    *,
    k: Sequence[int] | int = (1, 3, 10),
    ties: str = "realistic",
    metrics: Sequence[str] | None = None,
    confidence: float = 0.95,
    nan: str = "raise",
    catalog: Catalog | Mapping[str, Any] | None = None,
) -> Evaluation:
    """The metrics of a state; `catalog` describes the items that it has kept."""
    one_of("tie rule", ties, TIES)
    confidence, metrics = confidence_level(confidence), metric_names(metrics)
    ks = cutoffs(k)
    if state.cut is None:
        return _evaluated(state, ks, ties, metrics, confidence, nan, catalog)
    if ties != "realistic":
        raise OptionError("lists of the first items have an order and no ties", fix="Leave out ties.")
    names = knowable(state.cut, metrics)
    within, skipped = reachable(state.cut, names, ks)
    found = _evaluated(state, within, ties, names, confidence, nan, catalog)
    return Evaluation(
        "ranking",
        [as_known(result, state.cut) for result in found.values()],
        conventions=CONVENTIONS,
        skipped=skipped,
        options=found.options,
        breakdowns=found.breakdowns,
        # All of these metrics count queries.
        notes=(*(note for note in found.notes if note != POSITIVES_AND_QUERIES), *notes_of_lists(state.cut)),
        per_item=found.per_item,
    )


def _evaluated(
    state: RankingState,
    ks: Sequence[int],
    ties: str,
    metrics: Sequence[str] | None,
    confidence: float,
    nan: str,
    catalog: Catalog | Mapping[str, Any] | None,
) -> Evaluation:
    if catalog is not None and state.top is None:
        raise OptionError("no items were kept", fix="Count with top=k, and give items=.")
    described = Catalog.of(catalog)
    samples = _samples(state, ties) | beyond_samples(state.recommended(described))
    chosen = select("ranking", metrics or _default_names(state), samples, {"k": ks})
    if any(next(need for need in metric.needs if need in samples) == "ranks" for metric, _ in chosen):
        samples["ranks"] = state.ranks(ties)
    for axis in state.axes:
        if re.sub(r"\.(low|high)$", "", axis) in {metric.key_of(**params) for metric, params in chosen}:
            raise OptionError(f"a group cannot be named {axis!r}", fix="That column contains the metric.")
    # A state has already dropped NaN by its own policy; this call cannot change it.
    omitted = state.dropped_queries or state.dropped_candidates or state.emptied_queries
    conventions = {"ties": ties, "nan": "omit" if omitted else nan_policy(nan)}
    if state.shares_pool:
        conventions["negatives"] = POOL
    elif state.negatives is not None:
        conventions["negatives"] = state.negatives
    for _, params in chosen:
        if "k" in params:
            cutoff(params["k"])
    companions: list[Result] = []
    axes = [_GroupAxis(state, axis, ties, companions) for axis in state.axes]
    # The samples have the state's counts, or copies: what the caller changes later does not change a result.
    found = measured(
        [(_for_pool(metric, sample_for(metric, samples), params), params) for metric, params in chosen],
        samples,
        confidence=confidence,
        conventions=partial(_conventions, conventions),
        warning=partial(_tie_warning, ties),
        by=axes,
        lazily=True,
    )
    ranks, pooled = samples.get("ranks"), samples.get("pooled")

    def draw(evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.old.ranking.figure import draw_ranking

        draw_ranking(evaluation, hits_curve(read(ranks), confidence), path)

    return Evaluation(
        "ranking",
        [*found.results, *found.deferred, *companions],
        conventions=conventions,
        options={"k": list(ks), "confidence": confidence},
        breakdowns={axis.name: axis.table for axis in axes},
        materials={
            "ranks": ranks,
            "pooled": pooled,
            "lowest_candidates": state.lowest_candidates,
        },
        notes=_notes(state),
        per_item=None
        if (items := state.items()) is None
        else replace(items, ties=ties, negatives=conventions.get("negatives")),
        figure=None if ranks is None else draw,
        drawings=None if ranks is None else lambda: {"hits": hits_curve(read(ranks), confidence)},
    )


def mrr(
    pos_scores: Any,
    neg_scores: Any,
    *,
    ties: str = "realistic",
    offsets: Any = None,
    mask: Any = None,
    nan: str = "raise",
) -> float:
    """Mean reciprocal rank; see `evaluate` for the arguments.

    Parameters
    ----------
    pos_scores, neg_scores, offsets, mask
        Scores (n,) of the positives and (n, k) of their negatives. Ragged negatives: flat with `offsets`, or a matrix
        with `mask`.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.
    nan
        `raise`, or `omit`: queries and candidates with NaN are left out.

    Returns
    -------
    float
        In (0, 1]; 1 if every positive has the first rank.

    Raises
    ------
    InputError
        If the shapes do not fit, or a score is NaN and `nan` is `raise`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.mrr([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]])
    0.75
    >>> round(ranking.mrr([0.5], [[0.5] * 9], ties="expected"), 5)
    0.2929
    """
    return _plain(_metrics.mrr, pos_scores, neg_scores, ties, offsets, mask, nan)


def hits_at_k(
    pos_scores: Any,
    neg_scores: Any,
    *,
    k: int = 10,
    ties: str = "realistic",
    offsets: Any = None,
    mask: Any = None,
    nan: str = "raise",
) -> float:
    """Share of positives among the first k; see `evaluate` for the arguments.

    Parameters
    ----------
    pos_scores, neg_scores, offsets, mask
        Scores (n,) of the positives and (n, k) of their negatives. Ragged negatives: flat with `offsets`, or a matrix
        with `mask`.
    k
        The last rank that counts as a hit.
    ties
        `realistic`, `optimistic`, `pessimistic` or `expected`.
    nan
        `raise`, or `omit`: queries and candidates with NaN are left out.

    Returns
    -------
    float
        The share of positives with a rank of at most k, in [0, 1].

    Raises
    ------
    InputError
        If the shapes do not fit, or a score is NaN and `nan` is `raise`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.hits_at_k([0.5, 0.9], [[0.7, 0.1], [0.1, 0.2]], k=1)
    0.5
    """
    return _plain(_metrics.hits_at_k, pos_scores, neg_scores, ties, offsets, mask, nan, k=cutoff(k))


def ranks(
    pos_scores: Any,
    neg_scores: Any,
    *,
    ties: str = "realistic",
    offsets: Any = None,
    mask: Any = None,
    threads: int | None = None,
) -> Floats:
    """The rank of every positive among its candidates; under `expected` the mean rank.

    Parameters
    ----------
    pos_scores, neg_scores, offsets, mask
        Scores (n,) of the positives and (n, k) of their negatives. Ragged negatives: flat with `offsets`, or a matrix
        with `mask`.
    ties
        `realistic` (the mean place), `optimistic`, `pessimistic` or `expected`.
    threads
        At most this many threads; by default all cores.

    Returns
    -------
    numpy.ndarray
        One rank per positive (n,), from 1 to the number of its candidates. Halves occur with ties.

    Raises
    ------
    InputError
        If the shapes do not fit, or a score is NaN.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.ranks([0.5, 0.9], [[0.7, 0.5], [0.1, 0.2]])
    array([2.5, 1. ])
    """
    one_of("tie rule", ties, TIES)
    if is_pool(neg_scores, offsets):
        part = Part.of(pos_scores, neg_scores, mask=mask, groups=None, cluster=None, ids=None, nan="raise")
        return rank(*pool_counts(part.pos, part.neg, threads=threads), ties)
    counts = counted(Scores.of(pos_scores, neg_scores, offsets=offsets, mask=mask), "raise", threads)
    return rank(counts.greater, counts.equal, ties)


def roc_auc(pos_scores: Any, neg_scores: Any) -> float:
    """Probability that a positive outscores a negative, over all pairs of two 1-D arrays; ties count half.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores of the positives and of the negatives, higher is better.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance. NaN if either array is empty.

    Raises
    ------
    InputError
        If an array is not 1-D, or has a NaN.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> ranking.roc_auc([0.9, 0.4], [0.4, 0.1])
    0.875
    """
    return float(_metrics.roc_auc(Pooled.of(pos_scores, neg_scores)).value[0])


def average_precision(pos_scores: Any, neg_scores: Any) -> float:
    """Step-wise average precision of two 1-D arrays of positive and negative scores.

    Parameters
    ----------
    pos_scores, neg_scores
        Scores of the positives and of the negatives, higher is better.

    Returns
    -------
    float
        In (0, 1]; NaN if either array is empty. Its chance level is the share of positives among all scores.

    Raises
    ------
    InputError
        If an array is not 1-D, or has a NaN.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> round(ranking.average_precision([0.9, 0.4], [0.7, 0.1]), 4)
    0.8333
    """
    return float(_metrics.average_precision(Pooled.of(pos_scores, neg_scores)).value[0])


def hits_curve(ranks: Ranks, confidence: float) -> Table:
    """Hits@k over all relevant cut-offs, with its interval and the random scorer's value."""
    last = int(ranks.candidates.max(initial=1))
    hits = _metrics.hits_at_k
    cutoffs = np.unique(np.geomspace(1, last, 64).astype(np.int64))
    rows = []
    for k in cutoffs.tolist():
        metric = _for_pool(hits, ranks, {"k": k})
        result = metric.result(ranks, hits(ranks, k=k), {"k": k}, confidence=confidence, conventions={})
        low, high = result.interval or (np.nan, np.nan)
        rows.append((result.value, low, high, result.chance[-1].value if result.chance else np.nan))
    values = np.array(rows).T
    return Table("k", {"k": cutoffs, **dict(zip(("value", "low", "high", "random"), values, strict=True))})


def _conventions(common: Mapping[str, str], sample: Any) -> Mapping[str, str]:
    # A tie of several positives has no realistic order.
    return {**common, "ties": "expected"} if isinstance(sample, Lists) and not sample.settled else common


def _tie_warning(ties: str, metric: Metric, sample: Any) -> str | None:
    if ties != "optimistic" or metric.conventions["ties"] == _metrics.TIES_EXPECTED:
        return None
    tied = isinstance(sample, Ranks | Lists) and sample.tied
    return "scores are tied, and optimistic ranks count every tie as a win" if tied else None


class _GroupAxis(Axis):
    """The groups of one axis; each metric also has the mean over groups, among the `companions`."""

    def __init__(self, state: RankingState, name: str, ties: str, companions: list[Result]) -> None:
        samples = _samples(state, ties, name)
        super().__init__(name, state.labels(name), samples["ranks"].n, samples)
        self._companions = companions

    def add_estimate(self, metric: Metric, sample: Any, estimate: Estimate, whole: Result, confidence: float) -> None:
        self.columns[whole.key] = estimate.value
        found = metric.interval_of(sample, estimate, confidence)
        self.add_bounds(whole.key, found)
        self._companions.append(_macro(whole, self.name, sample, estimate, confidence))


def _plain(metric: Metric, pos: Any, neg: Any, ties: str, offsets: Any, mask: Any, nan: str, **params: Any) -> float:
    one_of("tie rule", ties, TIES)
    state = RankingState().update(pos, neg, offsets=offsets, mask=mask, nan=nan)
    return float(metric(state.ranks(ties), **params).value[0])


def needs_pool(metrics: Sequence[str] | None) -> bool:
    """Whether one of the named metrics pools the scores of all queries."""
    return metrics is not None and any(
        "pooled" in item.metric.needs for item in asked("ranking", metrics) if item.by_name
    )


def _samples(state: RankingState, ties: str, axis: str | None = None) -> dict[str, Any]:
    lists = state.lists(ties, axis)
    # Sorting all positives of all lists takes longer than the metrics that do without.
    ranks = state.ranks(ties, axis) if lists is None or axis is not None else state.ranks_later(ties)
    samples: dict[str, Any] = {"ranks": ranks, "lists": lists}
    samples |= {} if axis is not None else {"pooled": state.pool()}
    return {name: sample for name, sample in samples.items() if sample is not None}


def _for_pool(metric: Metric, sample: Any, params: Mapping[str, Any]) -> Metric:
    """The metric with the interval that accounts for a shared pool of negatives, where there is one."""
    if not isinstance(sample, Ranks) or not sample.shared:
        return metric
    return replace(metric, interval=lambda ranks, estimate: shared_rule(metric, ranks, estimate, dict(params)))


def _default_names(state: RankingState) -> list[str] | None:
    """One pool for all positives is for OGB's metrics; the others are computed if they are named."""
    return pool_names() if state.shares_pool else None


def pool_names() -> list[str]:
    """The metrics of one pool of negatives that are computed without being named."""
    return [*(entry.key for entry in registered("ranking") if "pooled" in entry.needs), _metrics.mrr.key]


def _macro(micro: Result, axis: str, sample: Any, estimate: Estimate, confidence: float) -> Result:
    """The mean over groups with equal weights, with an interval for these groups."""
    value = float(np.mean(estimate.value)) if len(estimate.value) else np.nan
    interval, no_interval = None, "a median has no first-order error" if estimate.influence is None else None
    if isinstance(sample, Ranks) and sample.shared:
        no_interval = "the groups share one pool of negatives"
    elif estimate.influence is not None and value == value:
        (low_end, high_end), at_ends = _metrics.ends_of(sample, estimate)
        ends = float(np.mean(low_end)), float(np.mean(high_end))
        found = macro_spread(
            estimate.influence,
            sample.count,
            estimate.value,
            group=sample.group,
            groups=sample.groups,
            cluster=sample.units,
            most=sample.worth,
        )
        low, high = score_interval([value], found, ends, confidence, at_ends=at_ends)
        low, high = enclosing(value, low, high, micro.bounds)
        units = int(sample.unit_counts.sum()) if sample.units is None else int(sample.units.max(initial=-1)) + 1
        if _metrics.too_few(units, estimate).any():
            no_interval = _metrics.too_few_reason(units, estimate, sample.over)
        elif np.isnan(low[0]):
            no_interval = f"needs at least three {sample.over} {NO_SPREAD}"
        else:
            method = "macro-score-t" if sample.cluster is None else "macro-cluster-score-t"
            interval = Interval(float(low[0]), float(high[0]), confidence, method, f"{sample.over} by {axis}")
    return replace(
        micro,
        key=f"{micro.key}_macro_{axis}",
        params={**micro.params, "macro": axis},
        value=value,
        n=0 if np.isnan(value) else len(estimate.value),
        unit=axis,
        interval=interval,
        no_interval=no_interval,
        chance=(),
        warnings=(),
        reason=None if value == value else "a group has no value",
    )


def _notes(state: RankingState) -> tuple[str, ...]:
    notes = [POSITIVES_AND_QUERIES] if state.counts_positives else []
    if state.dropped_queries:
        notes.append(f"{state.dropped_queries} queries dropped: their positive's score is NaN")
    if state.emptied_queries:
        notes.append(f"{state.emptied_queries} queries dropped: the scores of all their negatives are NaN")
    if state.dropped_candidates:
        notes.append(f"{state.dropped_candidates} candidates dropped: their score is NaN")
    if state.without_positives:
        notes.append(f"{state.without_positives} queries left out: they have no positive")
    return tuple(notes)
