"""The entry point `evaluate`: inputs to pairs, pairs to samples, samples to results."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from graphgauge.core.errors import one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.items import Items
from graphgauge.core.loop import Measured, broken_down, measure
from graphgauge.core.options import confidence_level, number
from graphgauge.core.registry import DEFAULT, Chosen, select
from graphgauge.protocols import under_protocols
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.graph import weighting
from graphgauge.recovery.reading import Reading, pairs
from graphgauge.recovery.samples import Curves, Edges, Models, Rows, Weights
from graphgauge.recovery.structure import BOUNDS, models_of

SHD = ("pair", "cell")
# Sizes of F1@K in true edges: those of the default, and all.
USUAL_FRACTIONS, FRACTIONS = (0.5, 1.0, 1.5), (0.5, 0.75, 1.0, 1.5, 2.0)
# With more nodes, metrics that take long have to be named.
_QUICK_NODES = 1000
_ADJUSTMENT = ("sid", "parent_aid", "ancestor_aid", "oset_aid", "member_sid")


@under_protocols("recovery")
def evaluate(
    A_true: Any,
    A_pred: Any,
    *,
    threshold: float | None = None,
    shd: str = "pair",
    sign: str | None = None,
    orientation: str | Sequence[str | None] = "row_to_column",
    encoding: str | Sequence[str | None] | None = None,
    nodes: int | str | Sequence[Hashable] | None = None,
    columns: Mapping[str, str] | None = None,
    lagged: bool | None = None,
    sources: str | Sequence[Hashable] | None = None,
    zero_division: float | None = None,
    metrics: Any = None,
    nan: str = "raise",
    confidence: float = 0.95,
    protocol: str | None = None,
) -> Evaluation:
    """Measure how close a learned graph is to the true one, next to the scores of trivial graphs.

    Parameters
    ----------
    A_true, A_pred
        The true graph (edges are cells other than 0) and the predicted one, in one of these forms. A matrix (d, d) of
        scores or weights, dense or scipy.sparse: `A[i, j]` is i → j. Edges: a list of tuples (source, target) or
        (source, target, weight), a `Graph`, a frame. A result of networkx, pgmpy, causal-learn, gcastle, lingam or
        tigramite. Several graphs, as a stack (graphs, d, d) or a list, are averaged; one truth may stand for all.
    threshold
        An edge is predicted if its score is greater; 0.5 for scores, 0 for weights.
    shd
        What `directed_shd` counts: `pair`, a reversal costs 1, or `cell`, a reversal costs 2.
    sign
        Negative scores are an error unless they are weights (`absolute`) or ordinary scores (`keep`).
    orientation
        `column_to_row` if the prediction's `B[i, j]` is j → i; a pair sets truth and prediction.
    encoding
        How the prediction (or, with a pair, truth and prediction) writes the marks of its edges: `causal-learn`,
        `pcalg`, `pcalg-pag`, `gcastle`, `gadjid`, `tigramite`, `mixed`, `undirected` or `mag`.
    nodes
        For lists of edges the number of nodes, their names, or `listed` for those that occur; where only one side has
        names, the names in the order of the other's rows.
    columns
        The columns of tables of edges: `{"source": …, "target": …, "weight": …}`, where a truth needs no weight; those
        of the truth, if they have other names, as `"true_source"` and `"true_target"`.
    lagged
        The matrices are (d, d, lags + 1): `A[i, j, l]` leads from i at t − l to j at t. Results that have lags say so.
    sources
        The nodes from which edges can start, or `listed` for those from which true edges do; no other cells count.
    zero_division
        The value of a ratio without denominator; by default NaN, with a reason.
    metrics
        None for the default, `all`, or keys.
    nan
        `raise`, or `omit`: a cell whose score is NaN is left out of both graphs.
    confidence
        Level of the intervals over several graphs.
    protocol
        The name of a benchmark that fixes options and metrics, such as `notears` or `beeline`.

    Returns
    -------
    Evaluation
        One `Result` per metric; `by("graph")` for several graphs, `by("lag")` for lags.

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
    level = confidence_level(confidence)
    reading = Reading(threshold, sign, orientation, encoding, nodes, columns, lagged, sources, nan)
    comparison = Comparison(tuple(pairs(A_true, A_pred, reading)), shd, zero_division)
    samples = comparison.samples
    usual = metrics is None or (isinstance(metrics, list | tuple) and DEFAULT in metrics)
    swept = {"fraction": USUAL_FRACTIONS if usual else FRACTIONS, "bound": BOUNDS}
    chosen, named = select("recovery", metrics, samples, swept)
    skipped = comparison.slow(chosen, named)
    kept = [each for each in chosen if each[0].key_of(**each[1]) not in skipped]
    conventions = comparison.conventions(reading)
    found = measure(kept, samples, named=named, confidence=level, conventions=conventions)
    axes = comparison.axes(kept, found, level)
    evaluation = Evaluation(
        "recovery",
        found.results,
        conventions=conventions,
        options={"confidence": level},
        breakdowns=axes,
        skipped=skipped | found.skipped,
        per_item=_items(axes["graph"]) if "graph" in axes else None,
        materials={"edges": samples["edges"], "pairs": comparison.pairs},
        drawings=partial(_drawings, comparison.pairs[0]),
    )
    # Looked for now, because the caller may change the graphs later.
    _ = evaluation.findings
    return evaluation


@dataclass(frozen=True, eq=False)
class Comparison:
    """Pairs of graphs, and the conventions that do not change how they are counted."""

    pairs: tuple[Pair, ...]
    shd: str = "pair"
    zero_division: float | None = None

    def __post_init__(self) -> None:
        one_of("shd", self.shd, SHD)
        if self.zero_division is not None and self.zero_division == self.zero_division:
            number("zero_division", self.zero_division, 0, 1)

    @cached_property
    def samples(self) -> dict[str, Rows]:
        """A row per graph, all of its lags together."""
        kinds: dict[str, type[Rows]] = {"edges": Edges, "curves": Curves}
        if not any(pair.is_lagged or pair.sources is not None for pair in self.pairs):
            kinds["models"] = Models
        if all(_are_weights(pair) for pair in self.pairs):
            kinds["weights"] = Weights
        undefined = np.nan if self.zero_division is None else float(self.zero_division)
        rows = Rows([(pair, pair.lags) for pair in self.pairs], zero_division=undefined, shd=self.shd)
        return {name: kind(**vars(rows)) for name, kind in kinds.items()}

    def axes(self, chosen: list[Chosen], found: Measured, level: float) -> dict[str, Grid]:
        """The results one by one: by graph, or by lag with the summary graph and all lags above 0 together."""
        axis, labels, samples = "graph", [*range(len(self.pairs))], self.samples
        if len(self.pairs) == 1:
            pair = self.pairs[0]
            if not pair.is_lagged:
                return {}
            axis, labels = "lag", [*map(str, pair.lags), "summary", "lagged"]
            layers = [*((pair, [lag]) for lag in pair.lags), (pair.summary(), [0]), (pair, pair.lags[1:])]
            samples = {name: replace(samples[name], layers=layers) for name in ("edges", "curves")}
        rows = {name: replace(sample, averaged=False) for name, sample in samples.items()}
        cells = rows["edges"]["cells"]  # type: ignore[index]
        return {axis: broken_down(axis, labels, cells, chosen, rows, confidence=level, skipped=found.skipped)}

    def slow(self, chosen: Iterable[Chosen], named: Collection[str]) -> dict[str, str]:
        """Adjustment distances of large graphs that were not named, with the reason."""
        if sum(pair.d for pair in self.pairs) <= _QUICK_NODES:
            return {}
        reason = f"takes long with more than {_QUICK_NODES:,} nodes: name it in metrics= to compute it"
        keys = [metric.key_of(**params) for metric, params in chosen if metric.name in _ADJUSTMENT]
        return {key: reason for key in keys if key not in named}

    def conventions(self, reading: Reading) -> dict[str, str]:
        """What changes the numbers, or how the output was read."""
        pair = self.pairs[0]
        shown = {"threshold": f"> {pair.cut.threshold:g}", "shd": self.shd}
        if pair.cut.absolute or reading.sign is not None:
            shown["sign"] = "absolute" if pair.cut.absolute else str(reading.sign)
        for option, usual in (("orientation", "row_to_column"), ("encoding", None)):
            truth, prediction = (getattr(form, option) for form in reading.forms)
            if (truth, prediction) != (usual, usual):
                shown[option] = str(prediction) if truth == usual else f"{truth} and {prediction or 'none'}"
        if reading.nan != "raise":
            shown["nan"] = reading.nan
        if pair.sources is not None:
            shown["sources"] = f"{int(pair.sources.sum())} of {pair.d} nodes"
        if self.zero_division is not None:
            shown["zero_division"] = f"{self.zero_division:g}"
        classes = self._classes()
        return shown | ({"classes": classes} if classes else {})

    def _classes(self) -> str | None:
        """The classes of truths and predictions; None if all edges are arrows."""
        is_open = any(layer.is_open for pair in self.pairs for layer in (*pair.truth, *pair.prediction))
        if self.pairs[0].is_lagged:
            return "lagged with open marks" if is_open else "lagged"
        if not is_open:
            return None
        sides = zip(*((model.class_name for model in models_of(pair)) for pair in self.pairs), strict=True)
        return " and ".join(" or ".join(sorted(set(side))) for side in sides)


def _are_weights(pair: Pair) -> bool:
    """Whether both graphs have weights, or no edge that could have one."""
    return all(is_weighted or not has_edges for has_edges, is_weighted in map(weighting, (pair.truth, pair.prediction)))


def _items(graphs: Grid) -> Items:
    """The value of each metric on each graph."""
    values = {name: column for name, column in graphs.columns.items() if name not in ("graph", "n")}
    return Items("graph", graphs["graph"], values)


def _drawings(pair: Pair) -> dict[str, Grid]:
    from graphgauge.recovery.figure import drawings

    return drawings(pair)
