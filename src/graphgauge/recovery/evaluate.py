"""The family's one entry point, and plain functions for plain arrays."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isfinite, sqrt
from typing import Any, TypedDict, Unpack

import numpy as np

from graphgauge.core import findings
from graphgauge.core.errors import InputError, MissingExtraError, OptionError, one_of
from graphgauge.core.metric import Metric, select
from graphgauge.core.result import Evaluation, Result, Table
from graphgauge.recovery import metrics as _metrics
from graphgauge.recovery.comparison import DensePair, Options, SparsePair, compared
from graphgauge.recovery.counts import joined
from graphgauge.recovery.curves import Curve, curves_of
from graphgauge.recovery.inputs import Graph, read_pair
from graphgauge.recovery.samples import Curves, EdgeCounts, Models, Sample
from graphgauge.recovery.structure import Model

Samples = dict[str, Any]
Pair = DensePair | SparsePair

FRACTIONS = (0.5, 0.75, 1.0, 1.5, 2.0)
SHD = ("pair", "cell")
AREAS = ("steps", "trapezoid")
# Nodes of all graphs together up to which adjustment distances are computed without being named.
_QUICK_NODES = 1000
# Points of a threshold sweep where scores have more values than that.
_SWEEP = 200


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
    """Say how close a learned graph is to the true one, and what graphs that know nothing would score.

    Parameters
    ----------
    A_true, A_pred
        The true graph (an edge is what is not 0) and the scores of the predicted one: matrices (d, d), dense or
        scipy.sparse; stacks (graphs, d, d), averaged with intervals over graphs; edges as a list of tuples
        (source, target[, weight]); networkx graphs; pandas frames, matched by node name. `A[i, j]` is i → j.
    threshold
        An edge is predicted where its score is greater.
    shd
        What `directed_shd` counts: `pair`, a reversal costs 1, or `cell`, a reversal costs 2.
    sign
        Negative scores are an error unless they are weights (`absolute`) or ordinary scores (`keep`).
    edges
        `column_to_row` where the prediction's `B[i, j]` is j → i; a pair says it of truth and prediction.
    encoding
        How the prediction (or, a pair, how truth and prediction) writes undirected edges: `causal-learn`, `pcalg`,
        `gadjid` or `tigramite`.
    nodes
        How many nodes there are, or their names, where edges are listed.
    lagged
        The matrices are (d, d, lags + 1): `A[i, j, l]` leads from i at t − l to j at t. Broken down by lag, and for
        the summary graph over all lags.
    fractions
        The numbers of selected edges of `f1_at_{}e`, in units of the true edges.
    area
        How `auprc` joins its points: `steps` (average precision) or `trapezoid`.
    zero_division
        The value of a ratio without denominator; NaN says so with a reason.
    metrics
        Keys to compute instead of all.
    nan
        `raise`, or `omit`: a cell whose score is NaN is left out of both graphs, and counted.
    """
    options = Options(threshold, sign, nan, lagged, threads)
    one_of("shd", shd, SHD)
    one_of("area", area, AREAS)
    truth, prediction = read_pair(A_true, A_pred, edges=edges, encoding=encoding, nodes=nodes, lagged=lagged)
    pair = compared(truth, prediction, options)
    undirected = truth.undirected, prediction.undirected
    samples, parts = _samples(pair, undirected, shd=shd, area=area, zero_division=float(zero_division))
    chosen = select("recovery", metrics, samples, {"fraction": _fractions(fractions)})
    conventions = _conventions(options, shd, edges, encoding, area)
    results: list[Result] = []
    skipped = _without_models() if metrics is None and "models" not in samples else {}
    columns: dict[str, Any] = {}
    for metric, params in chosen:
        key, sample = metric.key_of(**params), samples[metric.needs[0]]
        try:
            if metrics is None:
                _refuse_long_work(metric, sample)
            estimate = metric(sample, **params)
        except (InputError, MissingExtraError) as error:
            if metrics is not None:
                raise
            skipped[key] = str(error).rstrip(".")
            continue
        results.append(metric.result(sample, estimate, params, confidence=confidence, conventions=conventions))
        if parts and metric.needs[0] in parts:
            columns[key] = metric(parts[metric.needs[0]], **params).value
    breakdowns = {}
    if parts:
        axis = "lag" if lagged else "graph"
        labels = [*range(len(pair.counts())), "summary"] if lagged else range(len(parts["edges"]))
        first = {axis: np.array(labels), "n": parts["edges"]["cells"]}
        breakdowns[axis] = Table(axis, first | columns)
    return Evaluation(
        "recovery",
        results,
        conventions=conventions,
        options={"threshold": threshold, "fractions": list(_fractions(fractions)), "confidence": confidence},
        breakdowns=breakdowns,
        skipped=skipped,
        findings=findings.find("recovery", samples["edges"], {result.key: result for result in results}),
        notes=_notes(pair, truth, prediction),
    )


class Reading(TypedDict, total=False):
    """How the arguments of the plain functions are read; `evaluate` says what each means."""

    threshold: float
    sign: str | None
    edges: str | tuple[str, str]
    encoding: str | tuple[str | None, str | None] | None
    nodes: int | Sequence[Hashable] | None
    lagged: bool
    nan: str


def shd(A_true: Any, A_pred: Any, *, kind: str = "pair", **reading: Unpack[Reading]) -> int:
    """Structural Hamming distance of two graphs: `pair`, a reversal costs 1, or `cell`, a reversal costs 2.

    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]]), shd([[0, 1], [0, 0]], [[0, 0], [1, 0]], kind="cell")
    (1, 2)
    """
    return _distance(_metrics.directed_shd, A_true, A_pred, kind, reading)


def skeleton_shd(A_true: Any, A_pred: Any, **reading: Unpack[Reading]) -> int:
    """Pairs of nodes that are adjacent in one of two graphs only."""
    return _distance(_metrics.skeleton_shd, A_true, A_pred, "pair", reading)


def directed_f1(
    A_true: Any, A_pred: Any, *, zero_division: float = np.nan, **reading: Unpack[Reading]
) -> float:  # fmt: skip
    """F1 of the predicted edges, direction included; the mean over the graphs of a stack."""
    return _plain(_metrics.directed_f1, A_true, A_pred, reading, zero_division=zero_division)


def orientation_accuracy(A_true: Any, A_pred: Any, **reading: Unpack[Reading]) -> float:
    """Share of pairs adjacent in both graphs that point the right way; the mean over the graphs of a stack."""
    return _plain(_metrics.orientation_accuracy, A_true, A_pred, reading)


def auprc(A_true: Any, A_pred: Any, *, area: str = "steps", **reading: Unpack[Reading]) -> float:
    """Average precision of the scores; `area="trapezoid"` joins the curve's points by straight lines."""
    return _plain(_metrics.auprc, A_true, A_pred, reading, area=one_of("area", area, AREAS))


def roc_auc(A_true: Any, A_pred: Any, **reading: Unpack[Reading]) -> float:
    """Chance that a true edge scores above a cell without one, ties counted half."""
    return _plain(_metrics.roc_auc, A_true, A_pred, reading)


def f1_at_k(
    A_true: Any, A_pred: Any, *, fractions: Sequence[float] | float = FRACTIONS, **reading: Unpack[Reading]
) -> dict[str, float]:
    """F1 of the K best cells for K as fractions of the number of true edges.

    >>> f1_at_k([[0, 1], [0, 0]], [[0, 0.9], [0.3, 0]], fractions=(1, 2))
    {'f1_at_1.0e': 1.0, 'f1_at_2.0e': 0.6666666666666666}
    """
    samples, _ = _read(A_true, A_pred, reading)
    metric = _metrics.f1_at_k
    return {
        metric.key_of(fraction=fraction): float(metric(samples["curves"], fraction=fraction).value[0])
        for fraction in _fractions(fractions)
    }


def threshold_sweep(
    A_true: Any, A_pred: Any, *, thresholds: Sequence[float] | None = None, **reading: Unpack[Reading]
) -> Table:
    """Counts, precision, recall, F1 and distances as the threshold rises.

    Without `thresholds`, at the scores themselves, or at 200 of their quantiles where there are more.
    """
    read = _pair(A_true, A_pred, reading)
    if thresholds is None:
        scores = np.concatenate([read[0].layer(row).sorted_values() for row in range(len(read[0].counts()))])
        steps = np.unique(scores[np.linspace(0, len(scores) - 1, min(len(scores), _SWEEP)).astype(int)])
    else:
        steps = np.unique(np.asarray(thresholds, dtype=float))
    rows = []
    for step in steps:
        samples, _ = _samples(*_pair(A_true, A_pred, reading | {"threshold": float(step)}))
        rows.append({name: float(getattr(_metrics, name)(samples["edges"]).value[0]) for name in _SWEPT})
    columns = {name: np.array([row[name] for row in rows]) for name in _SWEPT}
    return Table("threshold", {"threshold": steps, **columns})


_SWEPT = (
    "tp", "fp", "fn", "directed_precision", "directed_recall", "directed_f1", "directed_shd", "skeleton_f1",
    "skeleton_shd",
)  # fmt: skip


def _pair(A_true: Any, A_pred: Any, reading: Reading) -> tuple[Pair, tuple[bool, bool]]:
    layout = {name: reading[name] for name in ("edges", "encoding", "nodes", "lagged") if name in reading}  # type: ignore[literal-required]
    rules = {name: reading[name] for name in ("threshold", "sign", "nan", "lagged") if name in reading}  # type: ignore[literal-required]
    truth, prediction = read_pair(A_true, A_pred, **layout)
    return compared(truth, prediction, Options(**rules)), (truth.undirected, prediction.undirected)


def _plain(metric: Metric, A_true: Any, A_pred: Any, reading: Reading, **rules: Any) -> float:
    samples, _ = _samples(*_pair(A_true, A_pred, reading), **rules)
    return float(metric(samples[metric.needs[0]]).value[0])


def _distance(metric: Metric, A_true: Any, A_pred: Any, kind: str, reading: Reading) -> int:
    samples, parts = _samples(*_pair(A_true, A_pred, reading), shd=one_of("shd", kind, SHD))
    if parts is not None and not reading.get("lagged"):
        raise InputError(f"a stack of {len(parts['edges'])} graphs has no single distance", fix="Use evaluate().")
    return int(metric(samples["edges"]).value[0])


def _samples(
    pair: Pair, undirected: tuple[bool, bool], *, shd: str = "pair", area: str = "steps", zero_division: float = np.nan
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What the metrics are computed on, and the same row by row where there are several graphs or lags."""
    counts, lagged = pair.counts(), pair.options.lagged
    rows = range(len(counts))
    rules: dict[str, Any] = {"zero_division": zero_division}

    def edges(**given: Any) -> EdgeCounts:
        return EdgeCounts(shd=shd, omitted=pair.omitted, **given, **rules)

    def curves(groups: list[Any], **given: Any) -> Curves:
        return Curves(area=area, draw=lambda: [curves_of(pair, group) for group in groups], **given, **rules)

    if lagged:
        assert isinstance(pair, DensePair)
        summary = pair.summary()
        whole = {"edges": edges(counts=counts.total()), "curves": curves([rows])}
        by_lag = joined([counts, summary.counts()])
        drawn = curves([[row] for row in rows])

        def draw() -> list[tuple[Curve, Curve]]:
            return [*drawn.draw(), curves_of(summary, [0])]

        return whole, {
            "edges": edges(counts=by_lag, averaged=False),
            "curves": Curves(area=area, draw=draw, averaged=False, **rules),
        }

    def models() -> list[tuple[Model, Model]]:
        found = (pair.edges(row) for row in rows)
        sides = list(zip(("A_true", "A_pred"), undirected, strict=True))
        return [
            (Model(truth, pair.d, sides[0][1], "A_true"), Model(prediction, pair.d, sides[1][1], "A_pred"))
            for truth, prediction in found
        ]
