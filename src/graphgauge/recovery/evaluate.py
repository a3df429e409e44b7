"""The entry point `evaluate`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.loop import measured, sample_for
from graphgauge.core.metric import Metric, select
from graphgauge.core.metric import metrics as registered
from graphgauge.core.options import confidence_level, metric_names
from graphgauge.core.result import Evaluation
from graphgauge.recovery.comparison import Comparison, Rules
from graphgauge.recovery.pairs import Options
from graphgauge.recovery.samples import GraphSample, Models

FRACTIONS = (0.5, 0.75, 1.0, 1.5, 2.0)
# Total sizes up to which the slowest metrics are computed by default.
_QUICK_NODES = 1000
_QUICK_EDGES = 1_000_000
_ADJUSTMENT = ("sid", "parent_aid", "ancestor_aid", "oset_aid")


def evaluate(
    A_true: Any,
    A_pred: Any,
    *,
    threshold: float = 0.5,
    shd: str = "pair",
    sign: str | None = None,
    edges: str | tuple[str, str] = "row_to_column",
    encoding: str | tuple[str | None, str | None] | None = None,
    nodes: int | Sequence[Hashable] | None = None,
    lagged: bool = False,
    fractions: Sequence[float] | float = FRACTIONS,
    area: str = "steps",
    zero_division: float = np.nan,
    metrics: Sequence[str] | None = None,
    nan: str = "raise",
    confidence: float = 0.95,
    threads: int | None = None,
) -> Evaluation:
    """Measure how close a learned graph is to the true one, next to the scores of trivial graphs.

    Parameters
    ----------
    A_true, A_pred
        The true graph (edges are cells other than 0) and the scores of the predicted one: matrices (d, d), dense or
        scipy.sparse; stacks (graphs, d, d), averaged with intervals over graphs; edges as a list of tuples
        (source, target[, weight]); networkx graphs; pandas frames, matched by node name. `A[i, j]` is i → j.
    threshold
        An edge is predicted if its score is greater.
    shd
        What `directed_shd` counts: `pair`, a reversal costs 1, or `cell`, a reversal costs 2.
    sign
        Negative scores are an error unless they are weights (`absolute`) or ordinary scores (`keep`).
    edges
        `column_to_row` if the prediction's `B[i, j]` is j → i; a pair sets truth and prediction.
    encoding
        How the prediction (or, with a pair, truth and prediction) encodes undirected edges: `causal-learn`, `pcalg`,
        `gadjid` or `tigramite`.
    nodes
        The number of nodes, or their names, for lists of edges.
    lagged
        The matrices are (d, d, lags + 1): `A[i, j, l]` leads from i at t − l to j at t. Broken down by lag, and for
        the summary graph over all lags.
    fractions
        The numbers of selected edges of `f1_at_{}e`, as multiples of the true edges.
    area
        How `auprc` joins its points: `steps` (average precision) or `trapezoid`.
    zero_division
        The value of a ratio without denominator; NaN comes with a reason.
    metrics
        Keys to compute instead of the default ones.
    nan
        `raise`, or `omit`: a cell whose score is NaN is left out of both graphs and reported.
    """
    confidence, metrics = confidence_level(confidence), metric_names(metrics)
    rules = Rules(shd, area, zero_division)
    comparison = Comparison.of(
        A_true, A_pred, rules, threshold=threshold, sign=sign, edges=edges, encoding=encoding, nodes=nodes,
        lagged=lagged, nan=nan, threads=threads,
    )  # fmt: skip
    samples = comparison.samples()
    swept = checked_fractions(fractions)
    chosen = select("recovery", metrics, samples, {"fraction": swept})
    checked_fractions([params["fraction"] for _, params in chosen if "fraction" in params])  # a key may have any value
    conventions = _conventions(comparison.options, rules, edges, encoding)
    axes = comparison.axes()

    def quick(metric: Metric) -> GraphSample:
        sample: GraphSample = sample_for(metric, samples)
        _refuse_long_work(metric, sample)
        return sample

    found = measured(
        chosen, quick if metrics is None else samples, confidence=confidence, conventions=conventions,
        skip=metrics is None, by=axes,
    )  # fmt: skip
    skipped = _needing_models() if metrics is None and "models" not in samples else {}

    def draw(evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.recovery.figure import draw_recovery, picture

        draw_recovery(evaluation, picture(comparison), path)

    evaluation = Evaluation(
        "recovery",
        found.results,
        conventions=conventions,
        options={"threshold": threshold, "fractions": list(swept), "confidence": confidence},
        breakdowns={axis.name: axis.table for axis in axes},
        skipped=skipped | found.skipped,
        materials={"edges": samples["edges"], "comparison": comparison},
        notes=_notes(comparison),
        figure=draw,
    )
    # Checked now: a check may compare the graphs again, and the caller may change them later.
    return evaluation.checked()


def checked_fractions(fractions: Sequence[float] | float) -> tuple[float, ...]:
    values = fractions if np.iterable(fractions) else [fractions]
    for value in values:
        if not isinstance(value, Real) or not isfinite(value) or value <= 0:
            raise OptionError(f"fractions must be positive numbers, not {value!r}")
    return tuple(float(value) for value in values)


def _conventions(options: Options, rules: Rules, edges: Any, encoding: Any) -> dict[str, str]:
    shown = {
        "threshold": f"> {options.threshold:g}", "shd": rules.shd, "sign": options.sign or "no negative scores",
        "edges": edges if isinstance(edges, str) else " and ".join(edges), "nan": options.nan,
    }  # fmt: skip
    if encoding is not None:
        shown["encoding"] = encoding if isinstance(encoding, str) else " and ".join(map(str, encoding))
    if rules.area != "steps":
        shown["auprc"] = rules.area
    if rules.zero_division == rules.zero_division:
        shown["zero_division"] = f"{rules.zero_division:g}"
    return shown


def _needing_models() -> dict[str, str]:
    return {
        metric.key: "for graphs without lags"
        for metric in registered("recovery")
        if metric.default and "models" in metric.needs
    }


def _refuse_long_work(metric: Metric, sample: GraphSample) -> None:
    if not isinstance(sample, Models):
        return
    if metric.key in _ADJUSTMENT and len(sample) * sample.d > _QUICK_NODES:
        raise InputError(f"takes long with more than {_QUICK_NODES} nodes: name it in metrics= to compute it")
    if sample.edges > _QUICK_EDGES:
        raise InputError(f"takes long with more than {_QUICK_EDGES:,} edges: name it in metrics= to compute it")


def _notes(comparison: Comparison) -> tuple[str, ...]:
    pair, counts = comparison.pair, comparison.counts
    notes = []
    if len(counts) > 1 and not comparison.options.lagged:
        notes.append(f"values are means over {len(counts)} graphs")
    if pair.weighted_truth:
        notes.append("A_true has values other than 0 and 1: every cell other than 0 is an edge")
    if pair.missing_scores:
        notes.append(f"{pair.omitted.sum()} cells left out of both graphs: their score is NaN")
    for side, (name, other) in {"true": ("A_true", "A_pred"), "predicted": ("A_pred", "A_true")}.items():
        undirected, two_way = int(counts[f"{side}_undirected"].sum()), int(counts[f"{side}_two_way"].sum())
        opposite = int(counts[f"{'predicted' if side == 'true' else 'true'}_undirected"].sum())
        if undirected:
            notes.append(
                f"{undirected} undirected edges in {name} have no direction: they count in skeleton_*, and in "
                "directed_* neither as right nor as wrong"
            )
        if two_way and opposite:
            notes.append(
                f"{two_way} pairs of {name} have edges both ways, which are two directed edges, while {other} has "
                "undirected ones: pass the encoding of both if they mean the same"
            )
    for name, loops in (("A_true", [1, 3]), ("A_pred", [2, 3])):
        found = int(counts.loops[:, loops].sum())
        if found:
            notes.append(f"{found} self-loops in {name} are not counted")
    sides = comparison.truth.named, comparison.prediction.named
    if sides[0] != sides[1]:
        names = ("A_true", "A_pred") if sides[0] else ("A_pred", "A_true")
        notes.append(f"only {names[0]} names its nodes: {names[1]} is assumed to be in the same order")
    return tuple(notes)
