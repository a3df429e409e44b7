"""Values of time_to_explain itself: `python -m tests.explanation.original CHECKOUT` writes `original.json`.

CHECKOUT is a clone of github.com/juliawenkmann/time_to_explain at commit 239f3f2, which is not on PyPI. The cases are
random: a model whose score is a sum of weights, importances with ties, selected events, labels, and levels that fall on
halves.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("original.json")
LEVELS = (0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 1.0)
COMMIT = "239f3f2"


class Summed:
    """A model behind the original interface: logits or probabilities, one number or one per class."""

    def __init__(self, weights: Any, bias: Any, output: str) -> None:
        self._weights, self._bias, self.model_output = np.array(weights), np.array(bias), output

    def predict_proba(self, subgraph: Any, target: Any) -> Any:
        return self.predict_proba_with_mask(subgraph, target, [1.0] * self._weights.shape[1])

    def predict_proba_with_mask(self, subgraph: Any, target: Any, edge_mask: Any = None, node_mask: Any = None) -> Any:
        scores = self._weights @ np.array(edge_mask, float) + self._bias
        if self.model_output == "logit":
            return float(scores[0]) if len(scores) == 1 else scores
        if len(scores) == 1:
            return float(1 / (1 + np.exp(-scores[0])))
        return np.exp(scores) / np.exp(scores).sum()


def case(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    edges, classes = int(rng.integers(1, 24)), int(rng.choice([1, 1, 2, 3]))
    candidates = rng.permutation(60)[:edges]
    extras = {"selected_eidx": candidates[rng.random(edges) < 0.3].tolist()} if rng.random() < 0.4 else {}
    return {
        "weights": rng.normal(size=(classes, edges)).round(3).tolist(),
        "bias": rng.normal(size=classes).round(3).tolist(),
        "output": str(rng.choice(["logit", "probability"])),
        "candidates": candidates.tolist(),
        "importance": (rng.integers(-4, 5, edges) / 4).tolist(),
        "extras": extras,
        "label": int(rng.integers(2)) if rng.random() < 0.5 else None,
        "src": rng.integers(0, 8, 60).tolist(),
        "dst": rng.integers(8, 14, 60).tolist(),
        "time": np.sort(rng.random(60)).round(4).tolist(),
    }


def parts(given: dict[str, Any]) -> tuple[Summed, Any, Any]:
    """The model, the result and the context, in the shape of the original objects."""
    subgraph = SimpleNamespace(payload={"candidate_eidx": given["candidates"]}, node_ids=[], edge_index=[])
    context = SimpleNamespace(subgraph=subgraph, target={"u": 1, "i": 9, "ts": 2.0}, label=given["label"], run_id="run")
    result = SimpleNamespace(
        importance_edges=given["importance"],
        extras=given["extras"],
        explainer="theirs",
        context_fp="f00d",
        elapsed_sec=0.5,
    )
    return Summed(given["weights"], given["bias"], given["output"]), result, context


def theirs(module: Any, given: dict[str, Any]) -> dict[str, float]:
    """All metrics of one case, by the original code."""
    model, result, context = parts(given)
    found: dict[str, float] = {}
    asked = {
        "fidelity_drop": (module.build_fidelity_drop, {}),
        "fidelity_keep": (module.build_fidelity_keep, {}),
        "fidelity_best drop": (module.build_fidelity_best, {"mode": "drop"}),
        "fidelity_best keep": (module.build_fidelity_best, {"mode": "keep"}),
        "fidelity_tempme": (module.build_fidelity_tempme, {}),
        "acc_auc": (module.build_acc_auc, None),
    }
    for name, (build, options) in asked.items():
        metric = build({} if options is None else {"sparsity_levels": list(LEVELS), **options})
        metric.setup(model, None)
        values = metric.compute(context, result).values
        if name == "acc_auc":
            found[name] = values["auc"]
        elif name.startswith("fidelity_best"):
            found |= {name: values["best"], f"{name}.best_s": values["best_s"]}
        else:
            found |= {f"{name}@{key[3:]}": value for key, value in values.items() if key.startswith("@s=")}
    return {key: float(value) for key, value in found.items()}


def main(checkout: str) -> None:
    from importlib import import_module

    if not hasattr(np, "trapz"):
        setattr(np, "trapz", np.trapezoid)  # noqa: B010
    os.chdir(checkout)  # it looks for its own files there
    sys.path.insert(0, str(Path.cwd() / "I_explainer_benchmark"))
    module = import_module("src.metrics.fidelity")
    cases = [case(seed) for seed in range(60)]
    content = {"commit": COMMIT, "cases": [{**each, "values": theirs(module, each)} for each in cases]}
    FILE.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
