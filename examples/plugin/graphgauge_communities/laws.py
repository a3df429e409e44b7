"""Inputs for the laws that the metrics declare."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.testing import Case
from graphgauge_communities.evaluate import evaluate


class Labels(Case):
    family = "communities"

    def inputs(self, rng: np.random.Generator) -> dict[str, Any]:
        nodes, groups = int(rng.integers(1, 40)), int(rng.integers(1, 5))
        return {"true": rng.integers(0, groups, nodes), "pred": rng.integers(0, groups, nodes)}

    def evaluate(self, inputs: dict[str, Any]) -> Evaluation:
        return evaluate(**inputs)

    def permuted(self, inputs: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        order = rng.permutation(len(inputs["true"]))
        return {name: labels[order] for name, labels in inputs.items()}

    def improved(self, inputs: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
        better = inputs["pred"].copy()
        node = rng.integers(len(better))
        better[node] = inputs["true"][node]
        return {**inputs, "pred": better}

    def swapped(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"true": inputs["pred"], "pred": inputs["true"]}


CASES = [Labels()]
