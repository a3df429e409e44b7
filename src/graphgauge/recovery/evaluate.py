"""The entry point `evaluate`: inputs to pairs, pairs to samples, samples to results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.items import Items
from graphgauge.core.loop import Measured, broken_down, measure
from graphgauge.core.options import confidence_level
from graphgauge.core.registry import DEFAULT, Chosen, select
from graphgauge.protocols import under_protocols
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.door import Reading, pairs
from graphgauge.recovery.graph import Kind
from graphgauge.recovery.members import BOUNDS
from graphgauge.recovery.samples import Curves, Edges, Models, Rows, Weights
from graphgauge.recovery.structure import Model

SHD = ("pair", "cell")
# Sizes of F1@K in true edges: those of the default, and all.
USUAL_FRACTIONS, FRACTIONS = (0.5, 1.0, 1.5), (0.5, 0.75, 1.0, 1.5, 2.0)
# Sizes above which metrics that take long have to be named.
_QUICK_NODES, _QUICK_EDGES = 1000, 1_000_000
_ADJUSTMENT = ("sid", "parent_aid", "ancestor_aid", "oset_aid")


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
        The columns of tables of edges: `{"source": …, "target": …, "weight": …}`.
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
    usual = metrics is None or (not isinstance(metrics, str) and DEFAULT in metrics)
    swept = {"fraction": USUAL_FRACTIONS if usual else FRACTIONS, "bound": BOUNDS}
    chosen, named = select("recovery", metrics, samples, swept)
    skipped = comparison.slow(each for each in chosen if each[0].key_of(**each[1]) not in named)
    kept = [each for each in chosen if each[0].key_of(**each[1]) not in skipped]
    conventions = comparison.conventions(reading)
    found = measure(kept, samples, named=named, confidence=level, conventions=conventions)
    axes = {name: axis(kept, found, level) for name, axis in comparison.axes().items()}
    evaluation = Evaluation(
        "recovery",
        found.results,
        conventions=conventions,
        options={"confidence": level},
        breakdowns=axes,
        skipped=skipped | found.skipped,
        per_item=_items(axes["graph"]) if "graph" in axes else None,
        materials={"edges": samples["edges"], "pairs": comparison.pairs},
        drawings=partial(_drawings, comparison.pairs),
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
        if self.zero_division is not None and not isinstance(self.zero_division, Real):
            raise OptionError(f"zero_division must be a number, not {self.zero_division!r}")

    @property
    def undefined(self) -> float:
        """The value of a ratio without denominator."""
        return np.nan if self.zero_division is None else float(self.zero_division)

    @cached_property
    def samples(self) -> dict[str, Rows]:
        """A row per graph, all of its lags together."""
        undefined = self.undefined
        samples: dict[str, Rows] = {
            "edges": self.edges,
            "curves": Curves(layers=[(pair, pair.lags) for pair in self.pairs], zero_division=undefined),
        }
        if not any(pair.is_lagged or pair.sources is not None for pair in self.pairs):
            samples["models"] = Models(made=self.models, zero_division=undefined)
        if all(_are_weights(pair) for pair in self.pairs):
            samples["weights"] = Weights(made=self._weights, zero_division=undefined)
        return samples

    @cached_property
    def edges(self) -> Edges:
        """The counts of each graph."""
        return self._edges(np.stack([pair.tables.sum(0) for pair in self.pairs]))

    def _edges(self, tables: Any) -> Edges:
        return Edges(counts=Counts(tables), shd=self.shd, zero_division=self.undefined)

    def models(self) -> list[tuple[Model, Model]]:
        """Truth and prediction of each pair as causal models."""
        return [models_of(pair) for pair in self.pairs]

    def _weights(self) -> list[tuple[Any, Any]]:
        return [_common_weights(pair) for pair in self.pairs]

    def axes(self) -> dict[str, Callable[[list[Chosen], Measured, float], Grid]]:
        """The results one by one: by graph, or by lag with the summary graph and all lags above 0 together."""
        if len(self.pairs) > 1:
            samples = {name: replace(sample, averaged=False) for name, sample in self.samples.items()}
            return {"graph": partial(_broken_down, "graph", np.arange(len(self.pairs)), samples)}
        pair = self.pairs[0]
        if not pair.is_lagged:
            return {}
        summary, late = pair.summary(), pair.lags[1:]
        tables = [*pair.tables, summary.tables.sum(0), pair.tables[1:].sum(0)]
        layers = [*((pair, [lag]) for lag in pair.lags), (summary, [0]), (pair, late)]
        curves = Curves(layers=layers, zero_division=self.undefined, averaged=False)
        edges = replace(self._edges(np.stack(tables)), averaged=False)
        labels = [*map(str, pair.lags), "summary", "lagged"]
        return {"lag": partial(_broken_down, "lag", labels, {"edges": edges, "curves": curves})}

    def slow(self, chosen: Iterable[Chosen]) -> dict[str, str]:
        """Metrics that take long on graphs of this size, with the reason."""
        nodes, counts = sum(pair.d for pair in self.pairs), self.edges
        edges = int(counts["true_pairs"].sum() + counts["predicted_pairs"].sum())
        skipped = {}
        for metric, params in chosen:
            if "models" in metric.needs:
                limit = f"{_QUICK_EDGES:,} edges" if edges > _QUICK_EDGES else f"{_QUICK_NODES:,} nodes"
                if edges > _QUICK_EDGES or (nodes > _QUICK_NODES and metric.name in (*_ADJUSTMENT, "member_sid")):
                    key = metric.key_of(**params)
                    skipped[key] = f"takes long with more than {limit}: name it in metrics= to compute it"
        return skipped

    def conventions(self, reading: Reading) -> dict[str, str]:
        """What changes the numbers, or how the output was read."""
        pair = self.pairs[0]
        shown = {"threshold": f"> {pair.cut.threshold:g}", "shd": self.shd}
        if pair.cut.absolute or reading.sign is not None:
            shown["sign"] = "absolute" if pair.cut.absolute else str(reading.sign)
        if "column_to_row" in reading.orientations:
            shown["orientation"] = _of_both(reading.orientations, "row_to_column")
        if reading.encodings != (None, None):
            shown["encoding"] = _of_both(reading.encodings, None)
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
        is_open = any(
            (kinds >= Kind.LINE).any() for pair in self.pairs for lag in pair.lags for _, kinds in _open(pair, lag)
        )
        if self.pairs[0].is_lagged:
            return "lagged with open marks" if is_open else "lagged"
        if not is_open:
            return None
        sides = zip(*((model.class_name for model in models) for models in self.models()), strict=True)
        return " and ".join(" or ".join(sorted(set(side))) for side in sides)


def _open(pair: Pair, lag: int) -> list[tuple[Any, Any]]:
    return [(layer.open.keys, layer.open.kinds) for layer in (pair.truth[lag], pair.prediction[lag])]


def _of_both(pair: tuple[Any, Any], usual: str | None) -> str:
    """An option of truth and prediction: the prediction's value alone if the truth has the usual one."""
    truth, prediction = pair
    return str(prediction) if truth == usual else f"{truth} and {prediction or 'none'}"


def models_of(pair: Pair) -> tuple[Model, Model]:
    """Truth and prediction of a pair without lags as causal models."""
    sides = zip(pair.edges(), ("A_true", "A_pred"), strict=True)
    truth, prediction = (Model(keys, kinds, pair.d, name, pair.names) for (keys, kinds), name in sides)
    return truth, prediction


def _are_weights(pair: Pair) -> bool:
    """Whether both graphs have weights, or no edge that could have one."""
    facts = [[layer.facts for layer in layers] for layers in (pair.truth, pair.prediction)]
    return all(any(each["weighted"] for each in side) or not any(each["edges"] for each in side) for side in facts)


def _common_weights(pair: Pair) -> tuple[Any, Any]:
    """The weights of the arrows that both graphs have."""
    found: tuple[list[Any], list[Any]] = [], []
    for lag in pair.lags:
        cells = np.intersect1d(*pair.arrows(lag), assume_unique=True)
        for side, layer in enumerate((pair.truth[lag], pair.prediction[lag])):
            stored = layer.stored
            found[side].append(stored.values[np.searchsorted(stored.cells, cells)])
    return np.concatenate(found[0]), np.concatenate(found[1])


def _broken_down(
    axis: str, labels: Any, samples: dict[str, Rows], chosen: list[Chosen], found: Measured, level: float
) -> Grid:
    cells = samples["edges"]["cells"]  # type: ignore[index]
    kept = [each for each in chosen if any(need in samples for need in each[0].needs)]
    return broken_down(axis, labels, cells, kept, samples, confidence=level, skipped=found.skipped)


def _items(graphs: Grid) -> Items:
    """The value of each metric on each graph."""
    values = {name: column for name, column in graphs.columns.items() if name not in ("graph", "n")}
    return Items("graph", graphs["graph"], values)


def _drawings(compared: tuple[Pair, ...]) -> dict[str, Grid]:
    from graphgauge.recovery.figure import drawings

    return drawings(compared[0])
