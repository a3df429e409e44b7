"""The forms of generation input: samples of bits with all that can be known of them, and graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx
import numpy as np
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs

from graphgauge.generation import evaluate
from graphgauge.generation.evaluate import FAMILY
from graphgauge.generation.graphs import Graphs
from graphgauge.old.core.metric import Metric
from graphgauge.old.core.result import Evaluation

QUICK = {"resamples": 20, "permutations": 19}
REAL = ("real", "reconstructed", "latents", "real_conditions", "real_valid", "latent_variances")
GENERATED = ("generated", "generated_latents", "conditions", "valid", "predicted")


def without_companions(evaluation: Evaluation) -> Evaluation:
    """The results that were asked for; their other averages have tests of their own."""
    return Evaluation(FAMILY, [result for result in evaluation.values() if not result.is_companion])


_OF_GRAPHS = (("graphs",), ("graph_training",))


class BitsCase(Case):
    name = "generation-bits"
    family = FAMILY
    scores = ("real", "generated", "reconstructed", "latents", "generated_latents", "train")
    shape: tuple[int, ...] = (2, 3)

    def covers(self, metric: Metric) -> bool:
        return metric.needs not in _OF_GRAPHS

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        if "k" in metric.params:
            return [{"k": k} for k in (1, 3, 50)]
        return [{"statistic": "size"}] if "statistic" in metric.params else [{}]

    def inputs(self) -> st.SearchStrategy[Inputs]:
        @st.composite
        def build(draw: st.DrawFn) -> Inputs:
            # At least ten of the first condition on both sides, so that distributions can be compared.
            n, m = draw(st.integers(10, 13)), draw(st.integers(10, 13))
            rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
            return self.drawn(n, m, 2, rng)

        return build()

    def drawn(self, n: int, m: int, conditions: int, rng: np.random.Generator) -> Inputs:
        def codes(count: int) -> np.ndarray:
            return np.r_[np.zeros(min(count, 10), int), rng.integers(0, conditions, max(count - 10, 0))]

        def bits(count: int) -> np.ndarray:
            return rng.integers(0, 2, (count, *self.shape)).astype(float)

        real, generated = bits(n), bits(m)
        return {
            "real": real,
            "generated": generated,
            "real_conditions": codes(n),
            "conditions": codes(m),
            "train": bits(5),
            "reconstructed": bits(n),
            "valid": np.r_[np.ones(10, bool), rng.random(m - 10) < 0.7],
            "latents": rng.integers(0, 17, (n, 2)).astype(float),
            "latent_variances": rng.integers(1, 9, (n, 2)) / 8,
            "generated_latents": rng.integers(0, 17, (m, 2)).astype(float),
            "statistics": {"size": real.sum((1, 2))},
            "generated_statistics": {"size": generated.sum((1, 2))},
            "predicted": rng.integers(0, conditions, m),
            "classifier_labels": rng.integers(0, conditions, 12),
            "classifier_predicted": rng.integers(0, conditions, 12),
            "labels": [str(code) for code in range(conditions)],
            "ordered": True,
            "threshold": 0.5,
            "real_valid": np.r_[np.ones(10, bool), rng.random(n - 10) < 0.9],
        }

    def typical(self) -> Inputs:
        return self.drawn(60, 50, 3, np.random.default_rng(0))

    def large(self) -> Inputs:
        return self.drawn(400, 300, 3, np.random.default_rng(1))

    def empty(self) -> Inputs:
        nothing = np.zeros((0, *self.shape))
        return {
            "real": nothing,
            "generated": nothing,
            "real_conditions": [],
            "conditions": [],
            "train": nothing,
            "reconstructed": nothing,
            "valid": np.zeros(0, bool),
            "latents": np.zeros((0, 2)),
            "latent_variances": np.zeros((0, 2)),
            "generated_latents": np.zeros((0, 2)),
            "statistics": {"size": []},
            "generated_statistics": {"size": []},
            "predicted": np.zeros(0, int),
            "classifier_labels": np.zeros(0, int),
            "classifier_predicted": np.zeros(0, int),
            "labels": ["0", "1"],
            "ordered": True,
            "threshold": 0.5,
            "real_valid": np.zeros(0, bool),
        }

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return without_companions(evaluate(**inputs, **QUICK, metrics=list(self.entries)))

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        shuffled = dict(inputs)
        for names, described in ((REAL, "statistics"), (GENERATED, "generated_statistics")):
            order = rng.permutation(len(inputs[names[0]]))
            shuffled |= {name: inputs[name][order] for name in names}
            shuffled[described] = {name: values[order] for name, values in inputs[described].items()}
        order = rng.permutation(len(inputs["classifier_labels"]))
        shuffled |= {name: inputs[name][order] for name in ("classifier_labels", "classifier_predicted")}
        return shuffled | {"train": inputs["train"][rng.permutation(len(inputs["train"]))]}

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """One reconstructed bit is set right, and one more attempt is valid."""
        found, valid = inputs["reconstructed"].copy(), inputs["valid"].copy()
        place = tuple(rng.integers(0, size) for size in found.shape)
        found[place] = inputs["real"][place]
        valid[rng.integers(0, len(valid))] = True
        return inputs | {"reconstructed": found, "valid": valid}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, index) for name in self.scores for index in np.ndindex(inputs[name].shape)]


class GraphsCase(Case):
    """Graphs; their latent vectors stand for what may be NaN or of any type."""

    name = "generation-graphs"
    family = FAMILY
    scores = ("latents",)

    def covers(self, metric: Metric) -> bool:
        return metric.needs in _OF_GRAPHS

    def drawn(self, n: int, rng: np.random.Generator) -> Inputs:
        def graphs() -> list[Any]:
            return [
                networkx.gnp_random_graph(int(rng.integers(1, 8)), 0.4, seed=int(rng.integers(1 << 30)))
                for _ in range(n)
            ]

        codes = np.r_[np.zeros(10, int), rng.integers(0, 2, n - 10)]
        # Larger than the real graphs, none of which may be among them.
        train = [networkx.gnp_random_graph(9, 0.4, seed=int(rng.integers(1 << 30))) for _ in range(10)]
        return {
            "train": train,
            "real": graphs(),
            "generated": graphs(),
            "real_conditions": codes,
            "conditions": codes,
            "latents": rng.integers(0, 17, (n, 2)).astype(float),
            "labels": ["0", "1"],
        }

    def inputs(self) -> st.SearchStrategy[Inputs]:
        seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
        return st.builds(lambda n, rng: self.drawn(n, rng), st.integers(10, 12), seeds)

    def typical(self) -> Inputs:
        return self.drawn(30, np.random.default_rng(0))

    def large(self) -> Inputs:
        return self.drawn(60, np.random.default_rng(1))

    def empty(self) -> Inputs:
        none = Graphs.of([], "real")
        return {
            "real": none,
            "generated": none,
            "real_conditions": [],
            "conditions": [],
            "latents": np.zeros((0, 2)),
            "labels": ["0", "1"],
            "train": none,
        }

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return without_companions(evaluate(**inputs, **QUICK, metrics=list(self.entries)))

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        order = rng.permutation(len(inputs["real"]))
        return inputs | {
            "real": [inputs["real"][place] for place in order],
            "latents": inputs["latents"][order],
            "real_conditions": inputs["real_conditions"][order],
        }

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return inputs

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [("latents", index) for index in np.ndindex(inputs["latents"].shape)]


CASES: list[Case] = [BitsCase(), GraphsCase()]
