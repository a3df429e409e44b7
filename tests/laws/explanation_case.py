"""Explanations of a model whose logit is a whole number: the weights of the kept edges, added up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.explanation import Context, Explanation, Subgraph, evaluate
from graphgauge.explanation.masks import Level

LARGEST = 16
LEVELS = (0.2, 0.5)


class Added:
    model_output = "logit"

    def predict(self, subgraph: Subgraph, target: Any, masks: np.ndarray) -> np.ndarray:
        return masks @ np.array(target["weights"], float) + target["bias"]


class ExplanationCase(Case):
    """The importance that the laws spoil and convert is that of the first event; `rest` holds the others."""

    name = "explanation-events"
    family = "explanation"
    scores = ("importance",)

    def covers(self, metric: Metric) -> bool:
        return True

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        return [{"level": Level(level)} for level in (0.2, "k=2")] if "level" in metric.params else [{}]

    def build(self, importance: Any, rest: Any, weights: Any, truth: Any) -> Inputs:
        edges = weights.shape[1]
        return {
            "importance": importance,
            "rest": rest,
            "weights": weights,
            "truth": truth,
            "source": np.arange(edges) // 2,
            "target": np.arange(1, edges + 1),
            "times": np.arange(edges) // 3,
            "bias": -1,
        }

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            events, edges = draw(st.integers(1, 3)), draw(st.integers(1, 6))

            def numbers(low: int, high: int, rows: int) -> np.ndarray:
                values = draw(st.lists(st.integers(low, high), min_size=rows * edges, max_size=rows * edges))
                return np.array(values, float).reshape(rows, edges)

            importance = numbers(0, LARGEST, events)
            return self.build(importance[0], importance[1:], numbers(-4, 4, events), numbers(0, 1, events))

        return build()

    def random(self, events: int, edges: int) -> Inputs:
        rng = np.random.default_rng(events)
        importance = rng.integers(0, LARGEST + 1, (events, edges)).astype(float)
        weights, truth = rng.integers(-3, 5, (events, edges)).astype(float), rng.random((events, edges)) < 0.3
        return self.build(importance[0], importance[1:], weights, truth.astype(float))

    def typical(self) -> Inputs:
        return self.random(3, 12)

    def large(self) -> Inputs:
        return self.random(12, 30)

    def empty(self) -> Inputs:
        return self.random(2, 0)

    def evaluate(self, inputs: Inputs) -> Evaluation:
        ends, explanations = np.stack([inputs["source"], inputs["target"]]), []
        for event, weights in enumerate(inputs["weights"]):
            subgraph = Subgraph(ends, np.arange(len(weights) + 2), inputs["times"])
            target = {"weights": weights.tolist(), "bias": inputs["bias"]}
            # The number of an event is that of its weights: what is shuffled keeps its name.
            name = str(inputs.get("names", range(len(inputs["weights"])))[event])
            context = Context(subgraph, target, name, truth=inputs["truth"][event])
            importance = inputs["importance"] if event == 0 else inputs["rest"][event - 1]
            explanations.append(Explanation(context, importance, "explainer", 0.25, 0))
            explanations.append(Explanation(context, -weights, "explainer", 0.5, 1))
        return evaluate(
            Added(),
            explanations,
            sparsity_levels=LEVELS,
            topk=2,
            random=1,
            metrics=list(self.entries),
            robust_samples=3,
            acc_points=4,
        )

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        events, edges = (rng.permutation(size) for size in inputs["weights"].shape)
        importance = np.vstack([inputs["importance"][None], inputs["rest"]])[np.ix_(events, edges)]
        shuffled = {name: inputs[name][np.ix_(events, edges)] for name in ("weights", "truth")}
        along = {name: inputs[name][edges] for name in ("source", "target", "times")}
        return inputs | shuffled | along | {"importance": importance[0], "rest": importance[1:], "names": events}

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        importance = inputs["importance"].copy()
        edge = rng.integers(len(importance))
        low, high = (importance[edge], LARGEST) if inputs["truth"][0][edge] else (0, importance[edge])
        importance[edge] = rng.integers(int(low), int(high) + 1)
        return inputs | {"importance": importance}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [("importance", (edge,)) for edge in range(len(inputs["importance"]))]


CASES: list[Case] = [ExplanationCase()]
