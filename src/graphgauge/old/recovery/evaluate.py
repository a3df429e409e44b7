"""The entry point `evaluate`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import confidence_level, metric_names
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.loop import measured, sample_for
from graphgauge.old.core.metric import Metric, are_default, select
from graphgauge.old.core.metric import metrics as registered
from graphgauge.old.recovery.comparison import Comparison, Reading, Rules, Stack, compare
from graphgauge.old.recovery.declared import ADJUSTMENT_DISTANCES
from graphgauge.old.recovery.drawings import drawings
from graphgauge.old.recovery.inputs import per_argument
from graphgauge.old.recovery.members import BOUNDS
from graphgauge.old.recovery.nodes import are_numbers
from graphgauge.old.recovery.pairs import Options
from graphgauge.old.recovery.samples import GraphSample, Models
from graphgauge.old.recovery.structure import Model

FRACTIONS = (0.5, 0.75, 1.0, 1.5, 2.0)
# Total sizes up to which the slowest metrics are computed by default.
_QUICK_NODES = 1000
_QUICK_EDGES = 1_000_000


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
        scipy.sparse; stacks (graphs, d, d), averaged with intervals over graphs; lists of graphs, also of different
        sizes; edges as a list of tuples (source, target[, weight]); networkx graphs; pandas frames, matched by node
        name; results of causal-learn, gcastle, lingam, tigramite and pgmpy. `A[i, j]` is i → j.
    threshold
        An edge is predicted if its score is greater.
    shd
        What `directed_shd` counts: `pair`, a reversal costs 1, or `cell`, a reversal costs 2.
    sign
        Negative scores are an error unless they are weights (`absolute`) or ordinary scores (`keep`).
    edges
        `column_to_row` if the prediction's `B[i, j]` is j → i; a pair sets truth and prediction.
    encoding
        How the prediction (or, with a pair, truth and prediction) encodes the marks of its edges: `causal-learn`,
        `pcalg`, `pcalg-pag`, `gcastle`, `gadjid` or `tigramite`.
    nodes
        The number of nodes, or their names, for lists of edges; `listed` for those that occur in either list.
    lagged
        The matrices are (d, d, lags + 1): `A[i, j, l]` leads from i at t − l to j at t. Broken down by lag, for all
        lags above 0 together, and for the summary graph over all lags.
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
    confidence
        Level of the intervals.
    threads
        Threads of the compiled loops; by default all cores.

    Returns
    -------
    Evaluation
        One `Result` per metric, next to the levels of the empty, the full and random graphs.

    Raises
    ------
    InputError
        If the graphs have different nodes, scores are negative without `sign`, or NaN without `nan="omit"`.
    OptionError
        If an argument has no such value.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> ev = recovery.evaluate([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 0.9, 0], [0, 0, 0.2], [0, 0, 0]])
    >>> ev["directed_shd"].value, ev["directed_precision"].value, ev["directed_recall"].value
    (1.0, 1.0, 0.5)
    """
    confidence, metrics = confidence_level(confidence), metric_names(metrics)
    rules = Rules(shd, area, zero_division)
    reading: Reading = {
        "threshold": threshold,
        "sign": sign,
        "edges": edges,
        "encoding": encoding,
        "nodes": nodes,
        "lagged": lagged,
        "nan": nan,
        "threads": threads,
    }
    comparison = compare(A_true, A_pred, rules, **reading)
    samples = comparison.samples()
    swept = checked_fractions(fractions)
    open_names = {"fraction": swept, "bound": BOUNDS, "distance": ADJUSTMENT_DISTANCES}
    chosen = select("recovery", metrics, samples, open_names)
    checked_fractions([params["fraction"] for _, params in chosen if "fraction" in params])  # a key may have any value
    conventions = _conventions(comparison.options, rules, edges, encoding) | _classes(comparison)
    axes = comparison.axes()

    def quick(metric: Metric) -> GraphSample:
        sample: GraphSample = sample_for(metric, samples)
        _refuse_long_work(metric, sample)
        return sample

    found = measured(
        chosen,
        quick if are_default(metrics) else samples,
        confidence=confidence,
        conventions=conventions,
        skip=are_default(metrics),
        by=axes,
    )
    skipped = _needing_models() if are_default(metrics) and "models" not in samples else {}

    def draw(evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.old.recovery.figure import draw_recovery, picture

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
        # Now as well, for the same reason as the checks below.
        drawings=drawings(comparison),
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
        "threshold": f"> {options.threshold:g}",
        "shd": rules.shd,
        "sign": options.sign or "no negative scores",
        "edges": _of_both(per_argument("edges", edges, "row_to_column"), "row_to_column"),
        "nan": options.nan,
    }
    encodings = per_argument("encoding", encoding, None)
    if encodings != (None, None):
        shown["encoding"] = _of_both(encodings, None)
    if rules.area != "steps":
        shown["auprc"] = rules.area
    if rules.zero_division == rules.zero_division:
        shown["zero_division"] = f"{rules.zero_division:g}"
    return shown


def _of_both(pair: tuple[Any, Any], usual: str | None) -> str:
    """An option of truth and prediction: the prediction's value alone if the truth has the usual one."""
    truth, prediction = pair
    return str(prediction) if truth == usual else f"{truth} and {prediction or 'none'}"


def _needing_models() -> dict[str, str]:
    return {
        metric.key: "for graphs without lags"
        for metric in registered("recovery")
        if metric.default and "models" in metric.needs
    }


def _refuse_long_work(metric: Metric, sample: GraphSample) -> None:
    if not isinstance(sample, Models):
        return
    if metric.key in ADJUSTMENT_DISTANCES and len(sample) * sample.d > _QUICK_NODES:
        raise InputError(f"takes long with more than {_QUICK_NODES} nodes: name it in metrics= to compute it")
    if sample.edges > _QUICK_EDGES:
        raise InputError(f"takes long with more than {_QUICK_EDGES:,} edges: name it in metrics= to compute it")


def _classes(comparison: Comparison | Stack) -> dict[str, str]:
    """The classes of truth and prediction; nothing if both are plain directed graphs."""
    if comparison.options.lagged:
        open_marks = (comparison.counts[f"{side}_undirected"].any() for side in ("true", "predicted"))
        return {"classes": " and ".join("mixed lagged" if found else "lagged" for found in open_marks)}
    parts = comparison.parts if isinstance(comparison, Stack) else (comparison,)
    if not any(side.may_be_undirected for part in parts for side in (part.truth, part.prediction)):
        return {}
    pairs = comparison.models()
    edges = sum(len(model.cells) for pair in pairs for model in pair)
    named = _widest if edges > _QUICK_EDGES else lambda model: model.class_name
    return {"classes": " and ".join(" or ".join(dict.fromkeys(map(named, side))) for side in zip(*pairs, strict=True))}


def _widest(model: Model) -> str:
    """The widest class that a graph may belong to by its kinds of edges; finding the narrowest takes long."""
    if model.special[0].size:
        return "pag"
    return "mixed" if model.has_undirected else "directed"


def _notes(whole: Comparison | Stack) -> tuple[str, ...]:
    comparison = whole.first if isinstance(whole, Stack) else whole
    pair, counts = comparison.pair, whole.counts
    notes = []
    if len(counts) > 1 and (isinstance(whole, Stack) or not comparison.options.lagged):
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
    if sides[0] != sides[1] and not are_numbers(comparison.truth.names or ()):
        names = ("A_true", "A_pred") if sides[0] else ("A_pred", "A_true")
        notes.append(f"only {names[0]} names its nodes: {names[1]} is assumed to be in the same order")
    if comparison.options.lagged:
        flaws = (model.flaw for model in comparison.models()[0] if not model.special[0].size)
        notes += [f"at lag 0, {flaw}" for flaw in flaws if flaw is not None]
    return tuple(notes)
