"""The forms of forecasts: points, Gaussians, masked Gaussians, quantiles and samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.forecasting import ForecastState, evaluate
from graphgauge.forecasting.metrics import Percent

LARGEST = 16
NODES = 3
LEVELS = (0.025, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.975)
MEMBERS = 39
# A history whose first node is constant.
NAIVE = np.array([[2.0, 1, 5], [2, 3, 4], [2, 2, 9], [2, 8, 1]])


class ForecastingCase(Case):
    family = "forecasting"
    scores: tuple[str, ...] = ("y_true", "y_pred")
    needs: tuple[str, ...] = ("errors",)
    options: Inputs = {}  # noqa: RUF012
    size = (1800, 12, 50)

    def covers(self, metric: Metric) -> bool:
        return not set(self.needs).isdisjoint(metric.needs)

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        return [{"level": Percent(level)} for level in (50, 95)] if "level" in metric.params else [dict(metric.params)]

    def arrays(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Inputs:
        return {name: rng.integers(0, LARGEST + 1, shape).astype(float) for name in ("y_true", "y_pred")}

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            shape = draw(st.integers(1, 12)), draw(st.integers(1, 3)), NODES
            return self.arrays(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), shape)

        return build()

    def typical(self) -> Inputs:
        return self.arrays(np.random.default_rng(5), (40, 4, NODES))

    def large(self) -> Inputs:
        return self.arrays(np.random.default_rng(6), self.size)

    def empty(self) -> Inputs:
        return self.arrays(np.random.default_rng(7), (0, 2, NODES))

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return evaluate(**inputs, **self.options, metrics=list(self.entries))

    def taken(self, inputs: Inputs, index: Any) -> Inputs:
        return inputs | {name: value[index].copy() for name, value in inputs.items() if isinstance(value, np.ndarray)}

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        _, horizons, nodes = inputs["y_true"].shape
        return self.taken(
            inputs, np.ix_(range(len(inputs["y_true"])), rng.permutation(horizons), rng.permutation(nodes))
        )

    def split(self, inputs: Inputs, parts: int, rng: np.random.Generator) -> list[Inputs]:
        steps = len(inputs["y_true"])
        edges = [0, *np.sort(rng.integers(0, steps + 1, parts - 1)).tolist(), steps]
        pairs = itertools.pairwise(edges)
        return [self.taken(inputs, slice(start, stop)) | {"start": start} for start, stop in pairs]

    def state(self, inputs: Inputs | None) -> ForecastState:
        state = ForecastState(**self.options, metrics=list(self.entries))
        return state if inputs is None else state.update(**self.whole(inputs))

    def whole(self, inputs: Inputs) -> Inputs:
        return {"start": 0, **inputs}

    def evaluate_state(self, state: ForecastState, inputs: Inputs) -> Evaluation:
        return state.evaluate(metrics=list(self.entries))

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        forecast, truth = inputs["y_pred"].copy(), inputs["y_true"]
        index = tuple(rng.integers(length) for length in truth.shape)
        forecast[index] = truth[index] + (forecast[index] - truth[index]) * rng.random()
        return inputs | {"y_pred": forecast}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, index) for name in self.scores for index in np.ndindex(inputs[name].shape)]

    def swapped(self, inputs: Inputs) -> Inputs:
        return inputs | {"y_true": inputs["y_pred"], "y_pred": inputs["y_true"]}


class PointCase(ForecastingCase):
    name = "forecasting-points"
    size = (11_500, 12, 12)


class ScaledCase(ForecastingCase):
    name = "forecasting-scaled"
    needs = ("scaled",)
    options = {"history": NAIVE, "season": 2}  # noqa: RUF012
    size = (30_000, 12, NODES)

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        # A node goes with its history, so that the nodes stay where they are.
        return self.taken(inputs, (slice(None), rng.permutation(inputs["y_true"].shape[1])))


class GaussianCase(ForecastingCase):
    name = "forecasting-gaussians"
    scores = ("y_true", "y_pred", "std")
    needs = ("errors", "gaussian", "reliability", "spread")

    def arrays(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Inputs:
        return super().arrays(rng, shape) | {"std": rng.integers(1, LARGEST + 1, shape).astype(float)}


class ScaledGaussianCase(GaussianCase):
    name = "forecasting-scaled-gaussians"
    needs = ("scaled", "scaled_intervals")
    options = {"history": NAIVE}  # noqa: RUF012
    size = (2_000, 12, NODES)

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return self.taken(inputs, (slice(None), rng.permutation(inputs["y_true"].shape[1])))


class MaskedCase(GaussianCase):
    name = "forecasting-masked"
    size = (600, 12, 20)

    def arrays(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Inputs:
        arrays = super().arrays(rng, shape) | {"mask": rng.random(shape) < 0.7}
        if arrays["mask"].size:
            arrays["mask"][rng.integers(shape[0]), 0, 0] = True  # at least one item
        # What is masked out may be anything.
        return arrays | {"std": np.where(arrays["mask"], arrays["std"], 0.0)}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, index) for name, index in super().score_places(inputs) if inputs["mask"][index]]


class QuantileCase(ForecastingCase):
    name = "forecasting-quantiles"
    scores = ("y_true", "y_pred", "quantiles")
    needs = ("errors", "quantiles", "reliability")
    options = {"levels": LEVELS}  # noqa: RUF012
    size = (2500, 12, 5)

    def arrays(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Inputs:
        quantiles = np.sort(rng.integers(0, LARGEST + 1, (*shape, len(LEVELS))).astype(float), axis=-1)
        return super().arrays(rng, shape) | {"quantiles": quantiles}


class SampleCase(ForecastingCase):
    name = "forecasting-samples"
    scores = ("y_true", "samples")
    needs = ("errors", "samples", "reliability")
    size = (800, 12, 3)

    def arrays(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Inputs:
        arrays = super().arrays(rng, shape)
        return arrays | {"samples": rng.integers(0, LARGEST + 1, (*shape, MEMBERS)).astype(float)}


class JointCase(SampleCase):
    name = "forecasting-joint"
    needs = ("joint", "pairs")
    options = {"graph": [[0, 1], [1, 2]]}  # noqa: RUF012
    size = (150, 12, 3)

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            shape = draw(st.integers(1, 12)), draw(st.integers(2, 3)), NODES
            return self.arrays(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), shape)

        return build()


CASES: list[Case] = [
    PointCase(),
    ScaledCase(),
    GaussianCase(),
    ScaledGaussianCase(),
    MaskedCase(),
    QuantileCase(),
    SampleCase(),
    JointCase(),
]
