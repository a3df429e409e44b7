"""The entry point `evaluate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.loop import Axis, Measured, measured, sample_for
from graphgauge.core.metric import Metric, are_default, select
from graphgauge.core.metric import metrics as registered
from graphgauge.core.options import confidence_level, metric_names
from graphgauge.recovery.classes import class_of
from graphgauge.recovery.comparison import Comparison, Reading, Rules, Stack, compare, refitted
from graphgauge.recovery.declared import ADJUSTMENT_DISTANCES
from graphgauge.recovery.drawings import drawings
from graphgauge.recovery.family import FAMILY
from graphgauge.recovery.inputs import per_argument
from graphgauge.recovery.members import BOUNDS
from graphgauge.recovery.nodes import are_numbers
from graphgauge.recovery.pairs import Options
from graphgauge.recovery.samples import GraphSample, Models
from graphgauge.recovery.structure import Model

FRACTIONS = (0.5, 0.75, 1.0, 1.5, 2.0)
# Total sizes up to which the slowest metrics are computed by default.
_QUICK_NODES = 1000
_QUICK_EDGES = 1_000_000
# Different remarks on the graphs of a stack that are listed.
_REMARKS = 3


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
    lag_axis: str = "last",
    auto_edges: str = "count",
    classes: str | tuple[str | None, str | None] | None = None,
    refits: Any = None,
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
    lag_axis
        Where the lags are: `last`, or `first` for (lags + 1, d, d).
    auto_edges
        Whether lagged edges from a node to itself `count`, or are left out (`omit`).
    classes
        The class of the prediction (or, with a pair, of truth and prediction): `dag`, `cpdag`, `mpdag`, `mag`, `pag`,
        `undirected` or `mixed`. In a plain matrix it says what two cells of a pair are. Found if left out.
    refits
        Graphs of the same method on resampled data, read as the prediction is. Broken down by refit.
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
        "lag_axis": lag_axis,
        "auto_edges": auto_edges,
        "classes": classes,
        "nan": nan,
        "threads": threads,
    }
    comparison = compare(A_true, A_pred, rules, **reading)
    samples = comparison.samples()
    swept = checked_fractions(fractions)
    open_names = {"fraction": swept, "bound": BOUNDS, "distance": ADJUSTMENT_DISTANCES}
    chosen = select("recovery", metrics, samples, open_names)
    checked_fractions([params["fraction"] for _, params in chosen if "fraction" in params])  # a key may have any value
    described = described_classes(comparison)
    conventions = _conventions(comparison.options, rules, edges, encoding) | described.reading
    axes = comparison.axes()
    if refits is not None:
        axes.append(refitted(A_true, refits, rules, **reading))

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
        notes=(*_notes(comparison), *described.notes, *_spread_notes(found, axes)),
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
    if options.lagged:
        shown["auto-edges"] = "counted" if options.auto_edges == "count" else "left out"
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


@dataclass(frozen=True)
class Described:
    """The classes of both graphs, as a reading and as notes; nothing if both are plain directed graphs."""

    reading: dict[str, str]
    notes: tuple[str, ...] = ()


def described_classes(comparison: Comparison | Stack) -> Described:
    """The class of truth and prediction, and what keeps the first graphs from being valid ones."""
    parts = comparison.parts if isinstance(comparison, Stack) else (comparison,)
    if comparison.options.lagged:
        return Described({"classes": _lagged_classes(comparison)}, _contemporaneous_cycles(parts[0]))
    sides = [side for part in parts for side in (part.truth, part.prediction)]
    if not any(side.may_be_undirected or side.declared for side in sides):
        return Described({})
    pairs = comparison.models()
    if sum(len(model.cells) for pair in pairs for model in pair) > _QUICK_EDGES:
        return Described({"classes": " and ".join(map(_unvalidated, zip(*pairs, strict=True)))})
    found = [[class_of(model) for model in side] for side in zip(*pairs, strict=True)]
    named = [" or ".join(dict.fromkeys(kind.name for kind in side)) for side in found]
    notes = []
    for name, side, label in zip(("A_true", "A_pred"), found, named, strict=True):
        wrong = [kind.problem for kind in side if kind.problem is not None]
        if wrong:
            count = "" if len(side) == 1 else f"{len(wrong)} of {len(side)} graphs, the first: "
            notes.append(f"{name} is no valid {label}: {count}{wrong[0]}")
        remarks = Counter(kind.remark for kind in side if kind.remark is not None)
        for remark, times in remarks.most_common(_REMARKS):
            notes.append(remark if len(side) == 1 else f"{times} of {len(side)} graphs: {remark}")
    return Described({"classes": " and ".join(named)}, tuple(notes))


def _lagged_classes(comparison: Comparison | Stack) -> str:
    """Whether truth and prediction have edges without a direction."""
    open_marks = (comparison.counts[f"{side}_undirected"].any() for side in ("true", "predicted"))
    return " and ".join("mixed lagged" if found else "lagged" for found in open_marks)


def _unvalidated(side: Sequence[Model]) -> str:
    """The classes of graphs that are too large to validate, by their kinds of edges."""
    return " or ".join(dict.fromkeys(model.declared or _widest(model) for model in side))


def _widest(model: Model) -> str:
    if model.special[0].size:
        return "pag"
    return "mixed" if model.has_undirected else "directed"


def _contemporaneous_cycles(comparison: Comparison) -> tuple[str, ...]:
    """What keeps a lagged graph from being one: a directed cycle among the edges without a lag."""
    sides = zip(comparison.models()[0], (comparison.truth, comparison.prediction), strict=True)
    found = [(model, class_of(model) if side.ends is not None else None) for model, side in sides]
    problems = [model.flaw if kind is None else kind.problem for model, kind in found]
    return tuple(f"at lag 0, {problem}" for problem in problems if problem is not None)


def _spread_notes(found: Measured, axes: Sequence[Axis]) -> list[str]:
    """How the headline metrics vary over refits, and how many refits are closer than the empty graph."""
    table = next((axis.table for axis in axes if axis.name == "refit"), None)
    if table is None:
        return []
    notes = []
    for result in found.results:
        if result.key not in FAMILY.headlines or result.key not in table.columns:
            continue
        values = table[result.key]
        held = values[~np.isnan(values)]
        if not len(held):
            continue
        low, high = np.quantile(held, [0.025, 0.975])
        spread = held.std(ddof=1) if len(held) > 1 else 0
        notes.append(
            f"{result.key} over {len(held)} refits: mean {held.mean():.4g}, standard deviation {spread:.4g}, 95 % of "
            f"them in [{low:.4g}, {high:.4g}]; this is a spread over refits, not a confidence interval"
        )
        empty = next((level.value for level in result.chance if level.name == "empty graph"), None)
        if result.key == "directed_shd" and empty is not None:
            closer = int((held < empty).sum())
            notes.append(f"{closer} of {len(held)} refits are closer to the truth than the empty graph ({empty:g})")
    return notes


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
    return tuple(notes)
