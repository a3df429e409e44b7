"""The forms of recovery input: scored graphs, plain graphs, stacks, lags and DAGs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.recovery import evaluate

LARGEST = 16
DISTANCES = ("sid", "parent_aid", "ancestor_aid", "oset_aid")
PARAMETERS = {"fraction": (0.5, 1.0, 2.0), "bound": ("min", "mean", "max")}

Axes = tuple[int, ...] | None


def true_edges_untied(truth: np.ndarray, predicted: list[np.ndarray], scores: list[np.ndarray], axes: Axes) -> bool:
    """Tied true edges enter the curve together; one that is pulled out of a tie may cost more than it gains."""
    tied = [given[truth > 0] for given in scores]
    return truth.ndim == 2 and all(len(np.unique(values)) == len(values) for values in tied)


def one_way_and_common(truth: np.ndarray, predicted: list[np.ndarray], scores: list[np.ndarray], axes: Axes) -> bool:
    """One found direction of a two-way edge makes a pair common that is not right yet."""
    if truth.ndim != 2 or (truth * truth.T).any():
        return False
    return all(((truth + truth.T) * (graph + graph.T)).any() for graph in predicted)


def some_predicted(truth: np.ndarray, predicted: list[np.ndarray], scores: list[np.ndarray], axes: Axes) -> bool:
    return all(graph.any(axes).all() for graph in predicted)


def some_in_either(truth: np.ndarray, predicted: list[np.ndarray], scores: list[np.ndarray], axes: Axes) -> bool:
    return all((graph + truth).any(axes).all() for graph in predicted)


# By the metric's key, the inputs on which a better score cannot lower the value, if not all: a function of the
# truth, the thresholded predictions before and after, their scores, and the axes of one graph.
MONOTONE_IF: dict[str, Callable[[np.ndarray, list[np.ndarray], list[np.ndarray], Axes], bool]] = {
    "auprc": true_edges_untied,
    "auprc_trapezoid": true_edges_untied,
    "orientation_accuracy": one_way_and_common,
    "directed_precision": some_predicted,
    "fdr": some_predicted,
    "directed_f1": some_in_either,
    "auprc_ratio": true_edges_untied,
    "arrowhead_precision": some_predicted,
    "tail_precision": some_predicted,
    "arrowhead_f1": some_in_either,
    "tail_f1": some_in_either,
}


class RecoveryCase(Case):
    family = "recovery"
    scores = ("A_true", "A_pred")
    needs: tuple[str, ...] = ("edges", "curves")
    # What the scores may be, from one that is no edge to one that is.
    levels: tuple[int, ...] = (0, 3, 8, 9, 12, LARGEST)
    options: Inputs = {"threshold": 8}  # noqa: RUF012
    # The axes of one graph; all of them for lags.
    graph_axes: Axes = (-2, -1)

    def covers(self, metric: Metric) -> bool:
        return not set(self.needs).isdisjoint(metric.needs)

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        swept = [PARAMETERS[name] for name in metric.params]
        return [dict(zip(metric.params, values, strict=True)) for values in itertools.product(*swept)]

    def shape(self, d: int) -> tuple[int, ...]:
        return (d, d)

    def counted(self, shape: tuple[int, ...]) -> np.ndarray:
        """The cells that count."""
        return np.broadcast_to(~np.eye(shape[-1], dtype=bool), shape)

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            shape = self.shape(draw(st.integers(2, 5)))
            size = int(np.prod(shape))
            truth = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            scores = draw(st.lists(st.sampled_from(self.levels), min_size=size, max_size=size))
            arrays = {"A_true": np.array(truth, float).reshape(shape), "A_pred": np.array(scores, float).reshape(shape)}
            return arrays | self.options

        return build()

    def random(self, d: int) -> Inputs:
        rng = np.random.default_rng(d)
        shape = self.shape(d)
        truth, scores = (rng.random(shape) < 3 / d).astype(float), rng.choice(self.levels, shape).astype(float)
        return {"A_true": truth, "A_pred": scores} | self.options

    def typical(self) -> Inputs:
        return self.random(20)

    def large(self) -> Inputs:
        return self.random(2100)

    def empty(self) -> Inputs:
        return {"A_true": np.zeros(self.shape(1)), "A_pred": np.zeros(self.shape(1))} | self.options

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return evaluate(**inputs, metrics=list(self.entries))

    def relabelled(self, matrix: np.ndarray, order: np.ndarray) -> np.ndarray:
        return matrix[..., order[:, np.newaxis], order].copy()

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        order = rng.permutation(inputs["A_true"].shape[-1])
        return inputs | {name: self.relabelled(inputs[name], order) for name in self.scores}

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        scores = inputs["A_pred"].copy()
        places = np.argwhere(self.counted(scores.shape))
        index = tuple(places[rng.integers(len(places))])
        level = self.levels.index(int(scores[index]))
        better = self.levels[level:] if inputs["A_true"][index] else self.levels[: level + 1]
        scores[index] = rng.choice(better)
        return inputs | {"A_pred": scores}

    def precondition(self, law: str, metric: Metric, *inputs: Inputs) -> bool:
        if law != "monotone" or metric.key not in MONOTONE_IF:
            return True
        truth = inputs[0]["A_true"] * self.counted(inputs[0]["A_true"].shape)
        predicted = [(given["A_pred"] > given["threshold"]) * self.counted(truth.shape) for given in inputs]
        return MONOTONE_IF[metric.key](truth, predicted, [given["A_pred"] for given in inputs], self.graph_axes)

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        shape = inputs["A_true"].shape
        return [(name, index) for name in self.scores for index in np.ndindex(shape) if self.counted(shape)[index]]


class ScoredCase(RecoveryCase):
    name = "recovery-scores"
    needs = ("curves",)


class GraphCase(RecoveryCase):
    name = "recovery-graphs"
    needs = ("edges",)
    levels = (0, 1)
    options = {"threshold": 0.5}  # noqa: RUF012

    def swapped(self, inputs: Inputs) -> Inputs:
        return inputs | {"A_true": inputs["A_pred"], "A_pred": inputs["A_true"]}


class StackCase(RecoveryCase):
    name = "recovery-stacks"

    def shape(self, d: int) -> tuple[int, ...]:
        return (4, d, d)

    def large(self) -> Inputs:
        return self.random(150)

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        graphs = rng.permutation(4)
        shuffled = super().permuted(inputs, rng)
        return shuffled | {name: shuffled[name][graphs] for name in self.scores}

    def swapped(self, inputs: Inputs) -> Inputs:
        # Binary, because a truth with weights against a prediction without is taken for swapped arguments.
        graphs = [(inputs["A_pred"] > inputs["threshold"]) * 1.0, inputs["A_true"] * LARGEST]
        return inputs | dict(zip(self.scores, graphs, strict=True))


class LaggedCase(RecoveryCase):
    name = "recovery-lags"
    graph_axes = None
    options = {"threshold": 8, "lagged": True}  # noqa: RUF012

    def shape(self, d: int) -> tuple[int, ...]:
        return (d, d, 3)

    def large(self) -> Inputs:
        return self.random(150)

    def empty(self) -> Inputs:
        return {"A_true": np.zeros((1, 1, 1)), "A_pred": np.zeros((1, 1, 1))} | self.options

    def counted(self, shape: tuple[int, ...]) -> np.ndarray:
        cells = np.ones(shape, bool)
        cells[..., 0] = ~np.eye(shape[0], dtype=bool)
        return cells

    def relabelled(self, matrix: np.ndarray, order: np.ndarray) -> np.ndarray:
        return matrix[order[:, np.newaxis], order].copy()

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        order = rng.permutation(len(inputs["A_true"]))
        return inputs | {name: self.relabelled(inputs[name], order) for name in self.scores}

    def swapped(self, inputs: Inputs) -> Inputs:
        graphs = [(inputs["A_pred"] > inputs["threshold"]) * 1.0, inputs["A_true"] * LARGEST]
        return inputs | dict(zip(self.scores, graphs, strict=True))


class WeightCase(RecoveryCase):
    """Weights on both sides; signs, which unsigned numbers do not have, are tested elsewhere."""

    name = "recovery-weights"
    needs = ("weights",)
    options = {"threshold": 0, "sign": "absolute"}  # noqa: RUF012
    levels = (0, 2, 4, 5)

    def weighted(self, inputs: Inputs) -> Inputs:
        # Values that only weights have, in different cells of two nodes of their own.
        found = {}
        for name in self.scores:
            d = len(inputs[name])
            whole = np.zeros((d + 2, d + 2))
            whole[:d, :d] = inputs[name]
            whole[(d, d + 1) if name == "A_true" else (d + 1, d)] = 4
            found[name] = whole
        return inputs | found

    def inputs(self) -> st.SearchStrategy[Inputs]:
        return super().inputs().map(self.weighted)

    def random(self, d: int) -> Inputs:
        return self.weighted(super().random(d))

    def empty(self) -> Inputs:
        return self.weighted(super().empty())

    def swapped(self, inputs: Inputs) -> Inputs:
        return inputs | {"A_true": inputs["A_pred"], "A_pred": inputs["A_true"]}


class DagCase(GraphCase):
    """DAGs with one order of nodes in common, so that a change for the better closes no cycle."""

    name = "recovery-dags"
    needs = ("models",)

    def covers(self, metric: Metric) -> bool:
        return super().covers(metric) and metric.key not in DISTANCES

    def counted(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.triu(np.ones(shape, bool), 1)

    def inputs(self) -> st.SearchStrategy[Inputs]:
        return super().inputs().map(lambda inputs: inputs | {name: np.triu(inputs[name], 1) for name in self.scores})

    def random(self, d: int) -> Inputs:
        rng = np.random.default_rng(d)
        truth, graph = (np.triu(rng.random((d, d)) < 4 / d, 1).astype(float) for _ in range(2))
        return {"A_true": truth, "A_pred": graph} | self.options

    def large(self) -> Inputs:
        return self.random(150)


class AdjustmentCase(DagCase):
    name = "recovery-adjustment"

    def covers(self, metric: Metric) -> bool:
        return metric.key in DISTANCES

    def large(self) -> Inputs:
        # The threads of the library behind these do not survive a fork; that this is refused has a test of its own.
        return self.empty()


CASES: list[Case] = [ScoredCase(), GraphCase(), StackCase(), LaggedCase(), WeightCase(), DagCase(), AdjustmentCase()]
