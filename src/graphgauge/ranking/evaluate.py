"""The entry point `evaluate`: queries are counted, and the chosen metrics computed.

inputs ── Queries.from_… ──▶ Queries ── count ──▶ Counts ── Ranks, Lists, Pooled ──▶ metrics ──▶ Evaluation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.loop import Measured, measure
from graphgauge.core.metric import Metric
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.registry import DEFAULT, Chosen, find, select
from graphgauge.core.result import Result
from graphgauge.protocols import under_protocols
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.lists import Lists
from graphgauge.ranking.per_query import per_item
from graphgauge.ranking.pooled import Pooled
from graphgauge.ranking.queries import Queries
from graphgauge.ranking.samples import Ranks
from graphgauge.ranking.ties import TIES

if TYPE_CHECKING:
    from graphgauge.ranking.breakdown import Axis

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
    about: dict[str, Any] = {"ids": ids, "groups": groups, "cluster": cluster, "weights": weights}
    options = about | {"mask": mask, "negatives": negatives, "minus_inf": minus_inf, "nan": nan}
    queries = queries_of(pos_scores, neg_scores, options)
    return evaluation_of(
        queries.count,
        k=k,
        ties=ties,
        metrics=metrics,
        confidence=confidence,
        pool=queries.pool,
        others=queries.samples,
    )


def queries_of(pos_scores: Any, neg_scores: Any, options: Mapping[str, Any]) -> Queries:
    """The queries that a function of scores was given."""
    if not isinstance(pos_scores, Queries):
        return Queries.from_scores(pos_scores, neg_scores, **options)
    defaults = {"minus_inf": "rank", "nan": "raise"}
    named = {"neg_scores": neg_scores, **options}
    for name, value in named.items():
        if value is None or (name in defaults and value == defaults[name]):
            continue
        raise OptionError(f"a Queries takes no {name}", fix="Give it to the constructor of the Queries.").about(name)
    return pos_scores


def evaluation_of(
    counted: Callable[[], Counts] | Counts,
    *,
    k: Sequence[int] | int = (1, 3, 10),
    ties: str = "realistic",
    metrics: Sequence[str | Metric] | str | None = None,
    confidence: float = 0.95,
    pool: Callable[[], Pooled | None] | None = None,
    others: Callable[[int], Mapping[str, Any]] | None = None,
) -> Evaluation:
    """The metrics of counts, of which options are checked before anything is counted."""
    one_of("ties", ties, TIES)
    confidence, ks = confidence_level(confidence), _cutoffs(k)
    names, macro_keys = _split_macro(metrics)
    counts = counted() if callable(counted) else counted
    if counts.depth is not None and ties != "realistic":
        raise OptionError("lists of the first items have an order and no ties", fix="Leave out ties.").about("ties")
    names, by_default = _without_default(names)
    samples = _samples(counts, ties, names, by_default, pool, others, ks)
    usual = [*_default_keys(counts), *_catalog_keys(samples)] if by_default else []
    first = select("ranking", usual, samples, {"k": ks})[0] if usual else []
    own, named = select("ranking", names, samples, {"k": ks}) if names is not None else ([], frozenset())
    together = {metric.key_of(**params): (metric, params) for metric, params in (*first, *own)}
    chosen, skipped = _known(list(together.values()), named, counts)
    for _, params in chosen:
        whole_number("k", params.get("k", 1), 1)
    conventions = _conventions(counts, ties)
    measured = measure(
        chosen,
        samples,
        named=named,
        confidence=confidence,
        conventions=partial(_conventions_of, conventions),
    )
    axes = _broken_down(counts, ties, chosen, measured, confidence)
    macros = [axes[axis].macro_result(key, measured) for key, axis in _named_macros(macro_keys, axes, chosen)]
    ranks = samples["ranks"]
    return Evaluation(
        "ranking",
        [*(_warned(each, ties, samples) for each in measured.results), *macros],
        conventions=conventions,
        options={"k": list(ks), "confidence": confidence},
        breakdowns={axis: each.grid for axis, each in axes.items()},
        skipped=measured.skipped | skipped,
        per_item=per_item(counts, ties, list(measured.estimates)),
        materials={"ranks": ranks, "pooled": samples.get("pooled"), "counts": counts},
        drawings=partial(_drawings, ranks, confidence),
    )


# ---- which metrics on which samples


def _cutoffs(k: Any) -> tuple[int, ...]:
    several = isinstance(k, Sequence | np.ndarray) and not isinstance(k, str) and np.ndim(k) > 0
    return tuple(whole_number("k", each, 1) for each in (k if several else [k]))


def _default_keys(counts: Counts) -> list[str]:
    if counts.pooled:
        return list(OF_POOL)
    if counts.depth is not None:
        return list(OF_FIRST)
    return list(OF_LISTS if counts.lists else OF_RANKS)


def _without_default(names: Any) -> tuple[Any, bool]:
    """What is named beside the metrics of the default, None if nothing is; and whether these are asked for."""
    listed = [names] if isinstance(names, str | Metric) else names
    if names is None or not isinstance(listed, list | tuple) or DEFAULT not in listed:
        return names, names is None
    return [each for each in listed if each != DEFAULT] or None, True


def _catalog_keys(samples: Mapping[str, Any]) -> list[str]:
    """The metrics of what is recommended, where there is a catalogue."""
    if "recommended" not in samples:
        return []
    from graphgauge.ranking.beyond import of_catalog

    return of_catalog(samples)


def _samples(
    counts: Counts,
    ties: str,
    names: Any,
    by_default: bool,
    pool: Callable[[], Pooled | None] | None,
    others: Callable[[int], Mapping[str, Any]] | None,
    ks: Sequence[int],
) -> dict[str, Any]:
    """The samples that the chosen metrics need, as far as there are any."""
    samples: dict[str, Any] = {"ranks": Ranks.of(counts, ties)}
    if counts.lists:
        samples["lists"] = Lists.of(counts, ties)
    needs = _needs(names)
    if ((counts.pooled and by_default) or names == "all" or "pooled" in needs) and pool is not None:
        weighted = counts.labels.weights is not None
        if weighted and "pooled" in needs:
            raise OptionError("pooled metrics do not take weights", fix="Name other metrics, or give no weights.")
        found = None if weighted else pool()
        samples |= {} if found is None else {"pooled": found}
    if others is not None:
        samples |= others(max(*ks, *(params["k"] for params in _named_params(names) if "k" in params), 1))
    if _named_metrics(names):
        from graphgauge.ranking.beyond import require_catalog

        require_catalog([metric for metric, _ in _named_metrics(names)], samples)
    return samples


def _named_metrics(names: Any) -> list[Chosen]:
    """The metrics that were named one by one; what is no name is refused where they are selected."""
    if names is None or (isinstance(names, str) and names == "all"):
        return []
    listed = [names] if isinstance(names, str | Metric) else names if isinstance(names, list | tuple) else []
    known = [each for each in listed if isinstance(each, str | Metric)]
    return [find(each, "ranking") if isinstance(each, str) else (each, {}) for each in known]


def _needs(names: Any) -> set[str]:
    return {need for metric, _ in _named_metrics(names) for need in metric.needs}


def _named_params(names: Any) -> list[dict[str, Any]]:
    return [params for _, params in _named_metrics(names)]


def _known(chosen: list[Chosen], named: frozenset[str], counts: Counts) -> tuple[list[Chosen], dict[str, str]]:
    """The metrics that follow from the places that are known, and why the others are left out."""
    if counts.depth is None or not len(counts):
        return chosen, {}
    kept: list[Chosen] = []
    skipped = {}
    for metric, params in chosen:
        key = metric.key_of(**params)
        if metric.needs == ("ranks",) or ("lists" in metric.needs and "k" not in params):
            if key not in named:
                skipped[key] = "it depends on items beyond the lists, which are not known"
                continue
            raise OptionError(
                f"{key} depends on items beyond the lists, which are not known",
                fix="Known are recall@k, precision@k, map@k, ndcg@k, hit_ratio@k, f1@k and mrr_first@k.",
            )
        if params.get("k", 1) > counts.depth:
            if key in named and not any(each.key == metric.key and p["k"] <= counts.depth for each, p in chosen):
                what = f"k = {params['k']} is beyond the lists, of which the first {counts.depth} items are known"
                raise OptionError(what, fix="Ask for longer lists, or a smaller k.").about("k")
            skipped[key] = f"only the first {counts.depth} items are known"
        else:
            kept.append((metric, params))
    return kept, skipped


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


def _warned(result: Result, ties: str, samples: Mapping[str, Any]) -> Result:
    if ties != "optimistic" or result.conventions.get("ties") != ties or not samples["ranks"].tied:
        return result
    from msgspec.structs import replace as changed

    said = "scores are tied, and optimistic ranks count every tie as a win"
    return changed(result, warnings=(*result.warnings, said))


# ---- breakdowns


def _broken_down(
    counts: Counts, ties: str, chosen: Sequence[Chosen], measured: Measured, confidence: float
) -> dict[str, Axis]:
    if not counts.labels.groups:
        return {}
    from graphgauge.ranking.breakdown import Axis

    return {axis: Axis(counts, axis, ties, chosen, measured, confidence) for axis in counts.labels.groups}


def _split_macro(metrics: Any) -> tuple[Any, list[str]]:
    """The names of metrics, and those of means over groups, such as `mrr_macro_relation`, which need their metric."""
    if metrics is None or isinstance(metrics, Metric):
        return metrics, []
    if not isinstance(metrics, str | Iterable):
        return metrics, []
    listed = [metrics] if isinstance(metrics, str) else list(metrics)
    if not listed:
        raise OptionError("no metrics asked for", fix="Leave metrics= out to get the default ones.").about("metrics")
    macros = [each for each in listed if isinstance(each, str) and "_macro_" in each]
    if not macros:
        return metrics, []
    names = [each.partition("_macro_")[0] if each in macros else each for each in listed]
    return list(dict.fromkeys(names)), macros


def _named_macros(
    macros: Sequence[str], axes: Mapping[str, Any], chosen: Sequence[Chosen]
) -> Iterator[tuple[str, str]]:
    keys = [metric.key_of(**params) for metric, params in chosen]
    for name in macros:
        key, _, axis = name.partition("_macro_")
        if axis not in axes:
            raise OptionError(f"{name} needs groups by {axis}", fix=f'Pass groups={{"{axis}": labels}}.')
        entry, _ = find(key, "ranking")
        yield from ((each, axis) for each in keys if each == key or find(each, "ranking")[0] is entry)


# ---- what figures are drawn from


def _drawings(ranks: Ranks, confidence: float) -> dict[str, Grid]:
    return {"hits": hits_curve(ranks, confidence)}


def hits_curve(ranks: Ranks, confidence: float) -> Grid:
    """Hits@k over all relevant cut-offs, with its interval and the random scorer's value."""
    metric, _ = find("hits@{k}", "ranking")
    last = int(ranks.candidates.max(initial=1))
    ks = np.unique(np.geomspace(1, last, 64).astype(np.int64))
    rows = []
    for k in ks.tolist():
        result = metric.result(ranks, metric(ranks, k=k), {"k": k}, confidence=confidence, conventions={})
        low, high = result.interval or (np.nan, np.nan)
        rows.append((result.value, low, high, result.references[-1].value if result.references else np.nan))
    values = np.array(rows, np.float64).reshape(-1, 4).T
    return Grid({"k": ks, **dict(zip(("value", "low", "high", "random"), values, strict=True))})
