"""Adaptive evaluation: read queries in random order, only as many as the asked precision or a gate needs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from graphgauge.core.arrays import Floats, Ints, as_numeric, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.gate import Gate, GateOutcome, Verdict
from graphgauge.core.items import Items
from graphgauge.core.number import shown
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.progress import SILENT, Progress
from graphgauge.core.registry import find
from graphgauge.core.result import Interval, Result
from graphgauge.ranking.counting import numbered
from graphgauge.ranking.counts import Labels
from graphgauge.ranking.evaluate import evaluate
from graphgauge.ranking.queries import CountedQueries, Queries
from graphgauge.ranking.reading import Followed, Reading
from graphgauge.ranking.sequence import Assist
from graphgauge.ranking.ties import TIES

_DIFFERENCE = "_difference"


def evaluate_until(
    queries: Queries,
    *,
    against: Queries | None = None,
    within: Mapping[str, float] | None = None,
    gates: Sequence[str] | str = (),
    assist: Any = (),
    max_queries: int | None = None,
    ties: str = "realistic",
    confidence: float = 0.95,
    seed: int = 0,
    resume: str | Path | None = None,
    save: str | Path | None = None,
    progress: Progress = SILENT,
) -> Evaluation:
    """Read queries in random order until the asked precision is reached or the gates are decided.

    The interval of each value is for the mean over all queries of this test set, and holds at every look: the
    probability that it ever misses is at most 1 − confidence. Each gate is called passed or failed by mistake with
    probability at most 1 − confidence.

    Parameters
    ----------
    queries
        The queries, of which only those that are drawn are counted.
    against
        The same queries of another model. By default the run goes on until it is known which has the higher MRR;
        `mrr_difference` is the mean of the first minus the second, a key for `within` and `gates`.
    within
        Half-widths to reach, by metric: a mean of values between 0 and 1 per query, such as `mrr`, `hits@10`,
        `recall@20`, `ndcg@10`. The value is the middle of the interval then.
    gates
        Requirements to decide, such as `mrr >= 0.30`; undecided if the run ends before.
    assist
        What predicts the values, to narrow the interval: names of groups, an evaluation of an earlier model or its
        `per_item`, or one number per query. It is fitted on queries already read. A bad one costs queries, never
        validity.
    max_queries
        The run ends after this many queries.
    ties, confidence
        As in `evaluate`.
    seed
        Seed of the order of queries.
    resume, save
        A file to go on from, and one to write: at the end, every minute, and if the run fails. A run can go on with
        other widths and gates: what was read keeps those under which it was read, and is not scored again.
    progress
        What is told of how much was read.

    Returns
    -------
    Evaluation
        Values with intervals that hold at every look; `options["until"]` says how much was read, and `gate(text)` what
        became of a gate.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import ranking
    >>> rng = np.random.default_rng(0)
    >>> queries = ranking.Queries.from_scores(rng.normal(2, 1, 3000), rng.normal(0, 1, (3000, 9)))
    >>> ev = ranking.evaluate_until(queries, gates="mrr >= 0.3")
    >>> ev.gate("mrr >= 0.3").passed, ev["mrr"].n < 3000
    (True, True)
    """
    one_of("ties", ties, TIES)
    alpha, seed = 1 - confidence_level(confidence), whole_number("seed", seed)
    for name, each in {"queries": queries, "against": against}.items():
        if not isinstance(each, Queries) and (name == "queries" or each is not None):
            fix = "Make it by Queries.from_scores(pos_scores, neg_scores), or another constructor."
            raise InputError(f"found {type(each).__name__}, not a Queries", where=name, fix=fix)
    most = None if max_queries is None else whole_number("max_queries", max_queries, 1)
    if against is not None and len(against) != len(queries):
        what = f"{len(queries)} queries of one model and {len(against)} of the other"
        raise InputError(what, where="against", fix="Compare them on the same queries.")
    widths, requirements = _asked(within, gates, against is not None)
    keys = dict.fromkeys([*widths, *(Gate.parse(text).key for text in requirements)])
    metrics = {key: _metric_of(key, against is not None) for key in keys}
    has = queries.answered()
    rows = np.arange(len(queries)) if has is None else np.flatnonzero(has)
    if not len(rows):
        raise InputError("there are no queries", fix="Pass at least one.")
    labels = queries.labels.take(rows)
    weights = np.ones(len(rows)) if labels.weights is None else labels.weights
    # By a power of two, so that nothing is rounded.
    weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]) + 1)
    followed = [Followed(key, each, key.endswith(_DIFFERENCE), weights, alpha) for key, each in metrics.items()]
    assists = _assists(assist, labels, rows, len(queries), tuple(dict.fromkeys(metrics.values())))
    sides = [queries] if against is None else [queries, against]
    reading = Reading(sides, rows, weights, followed, assists, ties=ties, seed=seed)
    if resume is not None:
        reading.replay(Path(resume))
    reading.ask(widths, requirements)
    stopped = reading.run(most, None if save is None else Path(save), progress)
    return _finished(reading, labels, stopped, confidence)


# ---- what is asked for


def _asked(
    within: Mapping[str, float] | None, gates: Sequence[str] | str, paired: bool
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Widths by key, and gates, both with the whole names of what they are about."""
    if within is not None and not isinstance(within, Mapping):
        raise OptionError(f"within is {within!r:.60}", fix='For example within={"mrr": 0.01}.')
    texts = [gates] if isinstance(gates, str) else list(gates or ())
    if not all(isinstance(text, str) for text in [*texts, *(within or ())]):
        raise OptionError("metrics and gates are texts", fix='Such as within={"mrr": 0.01}, gates=["mrr >= 0.3"].')
    widths: dict[str, float] = {}
    for key, width in (within or {}).items():
        if not isinstance(width, int | float | np.number) or isinstance(width, bool) or not 0 < width < math.inf:
            raise OptionError(f"within {width!r:.40} for {key}", fix="Give a half-width above 0, such as 0.01.")
        widths[key] = float(width)
    for gate in map(Gate.parse, texts):
        plain = gate.end is None and gate.axis is None and gate.sign not in ("==", "!=")
        if not plain or isinstance(gate.limit, str) or not math.isfinite(gate.limit):
            fix = "Write KEY >= NUMBER or KEY <= NUMBER, with the key of a mean."
            raise OptionError(f"gate {gate.text!r} cannot be decided by reading until it is", fix=fix)
    if paired and not any(_DIFFERENCE in text for text in [*widths, *texts]):
        texts.append("mrr_difference != 0")  # which is better
    elif not widths and not texts:
        raise OptionError("nothing to stop at", fix='Give within={"mrr": 0.01} or gates=["mrr >= 0.3"].')
    return widths, tuple(dict.fromkeys(Gate.parse(text).text for text in texts))


def _metric_of(key: str, paired: bool) -> str:
    """The metric that a key is about, if it is a mean of values between 0 and 1 per query."""
    if key.endswith(_DIFFERENCE) and not paired:
        raise OptionError(f"{key} needs a second model", fix="Pass it as against=.")
    name = key.removesuffix(_DIFFERENCE)
    metric, params = find(name, "ranking")
    if metric.key_of(**params) != name:
        raise OptionError(f"{name} is not a whole key", fix=f"Write {metric.key_of(**params)}.")
    if metric.bounds != (0, 1) or not (metric.name in ("mrr", "hits", "ndcg") or "lists" in metric.needs):
        fix = "Use mrr or hits@k, or with several right answers recall@k or ndcg@k."
        raise OptionError(f"{name} is not a mean of values between 0 and 1 per query", fix=fix)
    return name


# ---- queries and predictors


def _assists(assist: Any, labels: Labels, rows: Ints, queries: int, metrics: Sequence[str]) -> dict[str, Assist]:
    """A predictor for each metric, of the queries that are drawn."""
    parts = list(assist) if isinstance(assist, tuple | list) else [] if assist is None else [assist]
    names = [part for part in parts if isinstance(part, str)]
    for name in names:
        if name not in labels.groups:
            has = f"they are {', '.join(labels.groups)}" if labels.groups else "there are none"
            raise OptionError(f"assist: there are no groups {name!r:.60}, {has}", fix="Pass their labels in groups.")
    codes = [numbered(labels.groups[name])[1] for name in names]
    others = [part for part in parts if not isinstance(part, str)]
    ids = rows if labels.ids is None else labels.ids
    proxies = {metric: [_proxy(part, metric, ids, rows, queries) for part in others] for metric in metrics}
    return {metric: Assist(len(rows), codes, own) for metric, own in proxies.items()} if parts else {}


def _proxy(given: Any, metric: str, ids: Any, rows: Ints, queries: int) -> Floats:
    """One number per query that goes with the metric; NaN where there is none."""
    items = given.per_item if isinstance(given, Evaluation) else given
    if items is None:
        raise InputError("the evaluation has no values per query", where="assist", fix="Evaluate again.")
    if not isinstance(items, Items):
        proxy = as_numeric(items, "assist").astype(np.float64)
        require_shape(proxy, (queries,), "assist", "One number per query.")
        return proxy[rows]
    order = np.argsort(ids, kind="stable")
    place = order[np.minimum(np.searchsorted(ids, items.ids, sorter=order), len(ids) - 1)]
    is_read = ids[place] == items.ids
    if not is_read.any():
        what = "none of its queries is among those to be read"
        raise InputError(what, where="assist", fix="Give both the same ids.")
    values = np.full(len(ids), np.nan)
    values[place[is_read]] = items[metric][is_read]
    return values


# ---- the finished run


def _finished(reading: Reading, labels: Labels, stopped: str, confidence: float) -> Evaluation:
    """A finished run as an evaluation: the usual one of the queries that were read, with what is known of all."""
    bases = [_of_queries_read(reading, side, labels, confidence) for side in range(len(reading.sides))]
    results = [_result(reading, each, bases, stopped, confidence) for each in reading.followed]
    outcomes = [
        _outcome(reading, each, gate, result.value, stopped)
        for each, result in zip(reading.followed, results, strict=True)
        for gate in each.bets
        if gate.sign != "!="
    ]
    base = bases[0]
    ev = Evaluation(
        "ranking",
        results,
        conventions=base.conventions,
        options={**base.options, "until": _facts(reading, stopped, outcomes)},
        per_item=base.per_item,
        drawings=base.drawings,
        findings=base.findings if reading.complete else (),
        breakdowns=base.breakdowns if reading.complete else None,
    )
    ev.gates = tuple(outcomes)
    return ev


def _of_queries_read(reading: Reading, side: int, labels: Labels, confidence: float) -> Evaluation:
    queries = reading.order[: reading.read]
    order = np.argsort(queries)
    own = labels.take(queries[order])
    own = dataclasses.replace(own, ids=reading.rows[queries[order]]) if own.ids is None else own
    counts = dataclasses.replace(reading.counts(side).take(order), labels=own)
    names = list(reading.metrics)
    return evaluate(CountedQueries(counts), metrics=names, ties=reading.ties, confidence=confidence)


def _result(reading: Reading, each: Followed, bases: Sequence[Evaluation], stopped: str, confidence: float) -> Result:
    base, complete = bases[0][each.metric], reading.complete
    if complete and not each.paired:
        return base
    if complete:
        value = base.value - bases[1][each.metric].value
        interval = Interval(value, value, confidence, "everything was read", "this test set")
    else:
        value, (low, high) = _known(each)
        interval = Interval(low, high, confidence, "confidence sequence", "this test set, at every look")
    facts = {"value": value, "interval": interval, "no_interval": None}
    said = _progress(reading, each, stopped)
    levels = () if each.paired else tuple(replace(level, note="of the queries read") for level in base.references)
    result = replace(base, key=each.key, references=levels, interpretation=said, **facts)
    if not each.paired:
        return result
    params = {**base.params, "difference": "first − second"}
    facts = {"n": reading.read, "unit": "query", "bounds": (-1.0, 1.0), "warnings": (), "reason": None}
    return replace(result, params=params, conventions={"ties": reading.ties}, **facts)


def _known(each: Followed) -> tuple[float, tuple[float, float]]:
    """The value, in the middle of an interval that is as narrow as was asked for, and the interval."""
    low, high = each.bound.interval
    if any(gate.sign == "!=" for gate in each.undecided):
        # A test that has not decided which is better is not contradicted by the interval.
        low, high = min(low, 0.0), max(high, 0.0)
    narrow = each.bound.half_width <= each.width
    return (low + high) / 2 if narrow else min(max(each.bound.estimate, low), high), (low, high)


def _progress(reading: Reading, each: Followed, stopped: str) -> str:
    total = len(reading.rows)
    said = f"{reading.read:,} of {total:,} queries read ({reading.read / total:.1%}): {stopped}"
    if each.paired:
        ends = {"above": "the first is better", "below": "the second is better"}
        said = f"{ends.get(_better(each) or '', 'not decided which is better')}; {said}"
    if each.too_wide:
        said += f"; {each.key} is known to ± {shown(each.bound.half_width)}, not ± {each.width:g}"
    return said


def _better(each: Followed) -> str | None:
    """On which side of 0 a difference is, by its gates at 0, or without one by the interval."""
    at_zero = [each.side(gate) for gate in each.bets if gate.limit == 0]
    if at_zero:
        return next(filter(None, at_zero), None)
    low, high = each.bound.interval
    return "above" if low > 0 else "below" if high < 0 else None


def _outcome(reading: Reading, each: Followed, gate: Gate, value: float, stopped: str) -> GateOutcome:
    """What became of a gate; with everything read, it holds for the value or it does not."""
    limit, side = float(gate.limit), each.side(gate)
    if reading.complete or side is not None:
        passed = gate.holds(value, limit) if reading.complete else (side == "above") == (">" in gate.sign)
        verdict: Verdict = "passed" if passed else "failed"
        return GateOutcome(gate=gate.text, verdict=verdict, value=value, limit=limit)
    low, high = map(shown, each.bound.interval)
    read = f"{reading.read:,} of {len(reading.rows):,} queries"
    why = f"{each.key} is between {low} and {high} after {read}; {stopped}"
    return GateOutcome(gate=gate.text, verdict="undecided", value=value, limit=limit, why=why)


def _facts(reading: Reading, stopped: str, outcomes: Sequence[GateOutcome]) -> dict[str, Any]:
    return {
        "read": reading.read,
        "of": len(reading.rows),
        "complete": reading.complete,
        "stopped": stopped,
        "seed": reading.seed,
        "schedule": [dataclasses.asdict(asked) for asked in reading.schedule],
        "gates": {each.gate: each.verdict for each in outcomes},
        "decided": {each.key: side for each in reading.followed if each.paired and (side := _better(each))},
        "trail": [list(point) for point in reading.trail],
    }
