"""The form of evolution input: one cycle of a growing graph."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.evolution import AdaptiveEvaluator


class CycleCase(Case):
    """Labels and births are whole numbers of any kind; embeddings lie in the ball and have tests of their own."""

    name = "evolution-cycles"
    family = "evolution"
    scores = ("labels", "new_edges")
    negatives: int | str = "all"

    def covers(self, metric: Metric) -> bool:
        return True

    def cycle(self, rng: np.random.Generator, nodes: int, births: int, edges: int) -> Inputs:
        pairs = np.argwhere(np.triu(np.ones((nodes, nodes), bool), 1))
        chosen = rng.permutation(len(pairs))
        new, old, test = np.split(pairs[chosen], [births, births + edges])
        # Few places, so that distances tie.
        places = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [-0.5, 0.25], [0.25, 0.25]])
        return {
            "embeddings": places[rng.integers(0, len(places), nodes)],
            "previous_embeddings": places[rng.integers(0, len(places), nodes)],
            "labels": np.arange(nodes) % 3 * 1.0,
            "new_edges": rng.permuted(new, axis=1).astype(float),
            "all_edges": np.concatenate([new, old]),
            "test_edges": test[: max(1, births)],
        }

    def inputs(self) -> st.SearchStrategy[Inputs]:
        def build(seed: int, nodes: int, births: int, edges: int) -> Inputs:
            return self.cycle(np.random.default_rng(seed), nodes, births, edges)

        return st.builds(build, st.integers(0, 2**32 - 1), st.integers(7, 9), st.integers(1, 5), st.integers(1, 6))

    def typical(self) -> Inputs:
        return self.cycle(np.random.default_rng(0), 60, 40, 200)

    def large(self) -> Inputs:
        return self.cycle(np.random.default_rng(1), 600, 300, 900)

    def empty(self) -> Inputs:
        none, points = np.empty((0, 2)), np.empty((0, 2))
        return {
            "embeddings": points,
            "previous_embeddings": points,
            "labels": np.empty(0),
            "new_edges": none,
            "all_edges": none,
            "test_edges": none,
        }

    def evaluate(self, inputs: Inputs) -> Evaluation:
        given = dict(inputs)
        labels, test_edges = given.pop("labels"), given.pop("test_edges")
        evaluator = AdaptiveEvaluator(
            range(len(labels)),
            labels,
            test_edges=test_edges,
            n_neg_per_pos=self.negatives,
            nca_n_splits=2,
            metrics=list(self.entries),
        )
        return evaluator.evaluate_cycle(**given, cycle=0)

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        names = ("new_edges", "all_edges", "test_edges")
        return inputs | {name: rng.permutation(inputs[name], axis=0) for name in names}

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """A birth between two classes gives way to one within a class, of the same node."""
        labels, births = inputs["labels"], inputs["new_edges"].copy()
        taken = {frozenset(edge) for edge in inputs["all_edges"].tolist()}
        for row in rng.permutation(len(births)):
            source, target = births[row].astype(int).tolist()
            others = [
                node
                for node in range(len(labels))
                if labels[node] == labels[source] and node != source and frozenset((source, node)) not in taken
            ]
            if labels[source] != labels[target] and others:
                births[row, 1] = rng.choice(others)
                kept = [edge for edge in inputs["all_edges"].tolist() if set(edge) != {source, target}]
                return inputs | {"new_edges": births, "all_edges": np.array([*kept, births[row].astype(int).tolist()])}
        return inputs

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        # A label that is NaN is no class; it is left out and counted.
        return [("new_edges", index) for index in np.ndindex(inputs["new_edges"].shape)]


class SampledCase(CycleCase):
    """What depends on a draw."""

    name = "evolution-sampled"
    negatives = 1

    def covers(self, metric: Metric) -> bool:
        return "negatives" in metric.conventions


CASES = [CycleCase(), SampledCase()]
