"""The forms of generation input: samples of bits with all that can be known of them, and graphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import strategies as st
from tests.laws.cases import Case, Inputs

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.metric import Metric
from graphgauge.generation import Graphs, Samples, evaluate

FAMILY = "generation"
_OF_GRAPHS, _OF_MOLECULES = (("graphs",), ("graph_training",)), (("chemistry",),)


def evaluated(inputs: Inputs, keys: list[str]) -> Evaluation:
    """The evaluation of columns by side, such as `real.latents`; items are those of the side's name."""
    sides: dict[str, dict[str, Any]] = {}
    options = {}
    for name, value in inputs.items():
        side, _, column = name.partition(".")
        if side in ("real", "generated", "train", "classifier"):
            sides.setdefault(side, {})[column or "items"] = value
        else:
            options[name] = value
    made = {side: Samples(**columns) for side, columns in sides.items()}
    return evaluate(**made, **options, draws=19, metrics=keys)


class BitsCase(Case):
    name = "generation-bits"
    family = FAMILY
    scores = ("real", "generated", "real.reconstructed", "real.latents", "generated.latents", "train")
    shape: tuple[int, ...] = (2, 3)

    def covers(self, metric: Metric) -> bool:
        return metric.needs not in (*_OF_GRAPHS, *_OF_MOLECULES)

    def parameters(self, metric: Metric) -> Iterable[dict[str, Any]]:
        if "k" in metric.params:
            return [{"k": k} for k in (1, 3, 50)]
        if "measure" in metric.params:
            return [{"measure": measure} for measure in ("precision", "recall", "density", "coverage")]
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
            "real.conditions": codes(n),
            "generated.conditions": codes(m),
            "train": bits(5),
            "real.reconstructed": bits(n),
            "generated.valid": np.r_[np.ones(10, bool), rng.random(m - 10) < 0.7],
            "real.latents": rng.integers(0, 17, (n, 2)).astype(float),
            "generated.latents": rng.integers(0, 17, (m, 2)).astype(float),
            "real.statistics": {"size": real.sum((1, 2))},
            "generated.statistics": {"size": generated.sum((1, 2))},
            "generated.predicted": rng.integers(0, conditions, m),
            "classifier.conditions": rng.integers(0, conditions, 12),
            "classifier.predicted": rng.integers(0, conditions, 12),
            "labels": [str(code) for code in range(conditions)],
            "ordered": True,
            "threshold": 0.5,
            "real.valid": np.r_[np.ones(10, bool), rng.random(n - 10) < 0.9],
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
            "real.conditions": [],
            "generated.conditions": [],
            "train": nothing,
            "real.reconstructed": nothing,
            "generated.valid": np.zeros(0, bool),
            "real.latents": np.zeros((0, 2)),
            "generated.latents": np.zeros((0, 2)),
            "real.statistics": {"size": []},
            "generated.statistics": {"size": []},
            "generated.predicted": np.zeros(0, int),
            "classifier.conditions": np.zeros(0, int),
            "classifier.predicted": np.zeros(0, int),
            "labels": ["0", "1"],
            "ordered": True,
            "threshold": 0.5,
            "real.valid": np.zeros(0, bool),
        }

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return evaluated(inputs, list(self.entries))

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        shuffled = dict(inputs)
        for side in ("real", "generated", "classifier", "train"):
            own = [name for name in inputs if name.partition(".")[0] == side]
            order = rng.permutation(len(inputs[own[0]]))
            for name in own:
                value = inputs[name]
                shuffled[name] = {k: v[order] for k, v in value.items()} if isinstance(value, dict) else value[order]
        return shuffled

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        """One reconstructed bit is set right, and one more attempt is valid."""
        found, valid = inputs["real.reconstructed"].copy(), inputs["generated.valid"].copy()
        place = tuple(rng.integers(0, size) for size in found.shape)
        found[place] = inputs["real"][place]
        valid[rng.integers(0, len(valid))] = True
        return inputs | {"real.reconstructed": found, "generated.valid": valid}

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [(name, index) for name in self.scores for index in np.ndindex(inputs[name].shape)]


class GraphsCase(Case):
    """Graphs; their latent vectors stand for what may be NaN or of any type."""

    name = "generation-graphs"
    family = FAMILY
    scores = ("real.latents",)

    def covers(self, metric: Metric) -> bool:
        return metric.needs in _OF_GRAPHS

    def drawn(self, n: int, rng: np.random.Generator) -> Inputs:
        def graphs() -> Graphs:
            return Graphs.from_objects(
                [
                    networkx.gnp_random_graph(int(rng.integers(1, 8)), 0.4, seed=int(rng.integers(1 << 30)))
                    for _ in range(n)
                ]
            )

        codes = np.r_[np.zeros(10, int), rng.integers(0, 2, n - 10)]
        # Larger than the real graphs, none of which may be among them.
        train = [networkx.gnp_random_graph(9, 0.4, seed=int(rng.integers(1 << 30))) for _ in range(10)]
        return {
            "train": train,
            "real": graphs(),
            "generated": graphs(),
            "real.conditions": codes,
            "generated.conditions": codes,
            "real.latents": rng.integers(0, 17, (n, 2)).astype(float),
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
        none = Graphs.from_objects([])
        return {
            "real": none,
            "generated": none,
            "real.conditions": [],
            "generated.conditions": [],
            "real.latents": np.zeros((0, 2)),
            "labels": ["0", "1"],
            "train": none,
        }

    def evaluate(self, inputs: Inputs) -> Evaluation:
        return evaluated(inputs, list(self.entries))

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        order = rng.permutation(len(inputs["real"]))
        return inputs | {
            "real": inputs["real"].take(order),
            "real.latents": inputs["real.latents"][order],
            "real.conditions": inputs["real.conditions"][order],
        }

    def improved(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return inputs

    def score_places(self, inputs: Inputs) -> list[tuple[str, tuple[int, ...]]]:
        return [("real.latents", index) for index in np.ndindex(inputs["real.latents"].shape)]


class MoleculesCase(GraphsCase):
    """Molecules, in place of graphs."""

    name = "generation-molecules"

    def covers(self, metric: Metric) -> bool:
        return metric.needs in _OF_MOLECULES

    def drawn(self, n: int, rng: np.random.Generator) -> Inputs:
        molecules = pytest.importorskip("graphgauge.generation.molecules")
        pytest.importorskip("rdkit")
        some = ["CCO", "c1ccccc1", "C1CCCCC1O", "CC(=O)O", "CCN", "c1ccncc1", "CCCC", "CO", "C1CC1", "CC#N"]

        def side() -> Any:
            return molecules.Molecules.from_smiles([some[place] for place in rng.integers(0, len(some), n)])

        latents = rng.integers(0, 17, (n, 2)).astype(float)
        return {"real": side(), "generated": side(), "real.latents": latents}

    def empty(self) -> Inputs:
        drawn = self.drawn(2, np.random.default_rng(0))
        none = np.empty(0, np.int64)
        return {
            "real": drawn["real"].take(none),
            "generated": drawn["generated"].take(none),
            "real.latents": np.zeros((0, 2)),
        }

    def permuted(self, inputs: Inputs, rng: np.random.Generator) -> Inputs:
        return inputs  # draws of levels take molecules in their order, and values are of all pairs


CASES: list[Case] = [BitsCase(), GraphsCase(), MoleculesCase()]
