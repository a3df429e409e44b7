"""Values of DIG and GraphXAI themselves: `python -m tests.explanation.libraries DIG GRAPHXAI` writes `libraries.json`.

DIG is a clone of github.com/divelab/DIG at commit 21476b0, GRAPHXAI one of github.com/mims-harvard/GraphXAI at a11e65f.
This needs torch_geometric. The cases are random: a model whose scores are sums of weights of edges and features.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

FILE = Path(__file__).with_name("libraries.json")
COMMITS = {"dig": "21476b0", "graphxai": "a11e65f"}
SPARSITIES = (0.0, 0.3, 0.5, 0.7, 0.9, 0.95)


def dig_case(seed: int) -> list[dict[str, Any]]:
    """Some events of one model; importances are all different, because the order of ties is not defined there."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    return [
        {
            "weights": rng.normal(size=(classes, edges)).round(3).tolist(),
            "bias": rng.normal(size=classes).round(3).tolist(),
            "importance": (rng.permutation(edges) - edges / 2).tolist(),
            "label": int(rng.integers(classes)),
        }
        for edges in rng.integers(1, 30, 4).tolist()
    ]


def graphxai_case(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(1000 + seed)
    nodes, features, edges = (int(size) for size in rng.integers(4, 12, 3))
    hard = (rng.random(edges) < 0.5).astype(float)
    return {
        "edges": rng.normal(size=(3, edges)).round(3).tolist(),
        "entries": rng.normal(size=(3, nodes, features)).round(3).tolist(),
        "x": rng.normal(size=(nodes, features)).round(3).tolist(),
        "edge_imp": hard.tolist(),
        "node_imp": rng.permutation(nodes).astype(float).tolist(),
        "feature_imp": rng.random(features).round(4).tolist(),
        "truths": [
            {
                name: (rng.random(size) < 0.4).astype(int).tolist()
                for name, size in (("edge_imp", edges), ("node_imp", nodes), ("feature_imp", features))
            }
            for _ in range(int(rng.integers(1, 4)))
        ],
    }


def stability_case(seed: int) -> dict[str, Any]:
    """An explanation and some of perturbed inputs; node importances are all different, or hard."""
    rng = np.random.default_rng(2000 + seed)
    nodes, features, edges = (int(size) for size in rng.integers(3, 14, 3))
    hard = seed % 2 == 1

    def drawn() -> dict[str, Any]:
        held = (rng.permutation(nodes) < nodes // 2).astype(float) if hard else rng.permutation(nodes) + 1.0
        return {
            "edge_imp": rng.random(edges).round(4).tolist(),
            "node_imp": held.tolist(),
            "feature_imp": rng.permutation(features).astype(float).tolist(),
        }

    return {"said": drawn(), "perturbed": [drawn() for _ in range(int(rng.integers(1, 5)))]}


def _loaded(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _dig_values(metrics: Any, events: list[dict[str, Any]]) -> dict[str, float]:
    import torch
    from torch_geometric.nn import MessagePassing

    class Layer(MessagePassing):
        """As DIG's layers do, it multiplies by the sigmoid of its mask."""

        def forward(self, weights: Any) -> Any:
            return weights @ self.__edge_mask__.sigmoid().to(weights)

    class Summed(torch.nn.Module):
        def __init__(self, event: dict[str, Any]) -> None:
            super().__init__()
            self.layer = Layer()
            self.weights, self.bias = (torch.tensor(event[name], dtype=torch.double) for name in ("weights", "bias"))

        def forward(self, x: Any, edge_index: Any) -> Any:
            return (self.layer(self.weights) + self.bias)[None]

    found = {}
    for sparsity in SPARSITIES:
        collector = metrics.XCollector(sparsity)
        for event in events:
            soft = torch.tensor(event["importance"], dtype=torch.double)
            masks = [metrics.control_sparsity(soft, sparsity) for _ in event["bias"]]
            data = SimpleNamespace(
                x=torch.zeros(2, 1),
                edge_index=torch.zeros(2, len(soft), dtype=torch.long),
                y=torch.tensor([event["label"]]),
                to=lambda device: None,
            )
            metrics.ExplanationProcessor(Summed(event), torch.device("cpu"))(data, masks, collector)
        level = f"{round(1 - sparsity, 12):g}"
        # The collector makes 32-bit tensors of its lists.
        found |= {
            f"fidelity@{level}": collector.fidelity,
            f"fidelity_inv@{level}": collector.fidelity_inv,
            f"sparsity@{level}": collector.sparsity,
        }
    return found


def _graphxai_values(metrics: Any, case: dict[str, Any]) -> dict[str, Any]:
    import torch

    edges, entries = (torch.tensor(case[name], dtype=torch.double) for name in ("edges", "entries"))
    x = torch.tensor(case["x"], dtype=torch.double)

    def model(features: Any, edge_index: Any) -> Any:
        return (edges[:, edge_index[0]].sum(1) + (entries * features).sum((1, 2)))[None]

    graph = SimpleNamespace(x=x, y=torch.zeros(1), edge_index=torch.arange(edges.shape[1]).expand(2, -1))
    said = SimpleNamespace(graph=graph, **{name: torch.tensor(case[name]) for name in case if name.endswith("_imp")})
    truths = [
        SimpleNamespace(**{name: torch.tensor(value) for name, value in truth.items()}) for truth in case["truths"]
    ]
    accuracy, faith = metrics.graph_exp_acc_graph(truths, said), metrics.graph_exp_faith_graph(said, graph, model)
    kinds = ("features", "nodes", "edges")
    return {
        "graph_exp_acc": dict(zip(kinds, accuracy, strict=True)),
        "graph_exp_faith": dict(zip(kinds, faith, strict=True)),
    }


def _stability_values(metrics: Any, case: dict[str, Any]) -> dict[str, Any]:
    """GraphXAI perturbs and explains inside its metric; here the explainer hands out the drawn explanations."""
    import torch

    def explained(said: dict[str, Any]) -> Any:
        count = len(said["edge_imp"])
        return SimpleNamespace(
            node_reference={node: node for node in range(len(said["node_imp"]))},
            enc_subgraph=SimpleNamespace(edge_mask=torch.ones(count, dtype=torch.bool)),
            **{name: torch.tensor(value) for name, value in said.items()},
        )

    left = [explained(each) for each in case["perturbed"]]
    data = SimpleNamespace(x=torch.zeros(3, 2), y=torch.zeros(3), edge_index=torch.zeros(2, 1, dtype=torch.long))
    metrics.rewire_edges = lambda edge_index, **options: edge_index
    metrics.perturb_node_features = lambda x, node_idx, **options: x[node_idx]
    explainer = SimpleNamespace(get_explanation_node=lambda **options: left.pop(0))
    found = metrics.graph_exp_stability(
        explained(case["said"]),
        explainer,
        None,
        0,
        _Silent(),
        delta=1.0,
        sens_idx=[0],
        G=object(),
        data=data,
        num_run=len(left),
    )
    return dict(zip(("features", "nodes", "edges"), found, strict=True))


class _Silent:
    """A model that answers every input alike."""

    def to(self, device: Any) -> Any:
        import torch

        return lambda x, edge_index: torch.zeros(len(x), 2)


class _Anything(ModuleType):
    """Stands in for what GraphXAI's metrics import and do not use here."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return object


def main(dig: str, graphxai: str) -> None:
    metrics = _loaded("dig_metrics", Path(dig) / "dig/xgraph/evaluation/metrics.py")
    cases = [dig_case(seed) for seed in range(30)]
    stored: dict[str, Any] = {"commits": COMMITS}
    stored["dig"] = [{"events": case, "values": _dig_values(metrics, case)} for case in cases]
    for name in (
        "",
        ".explainers",
        ".visualization",
        ".visualization.visualizations",
        ".visualization.explanation_vis",
        ".gnn_models",
        ".gnn_models.node_classification",
        ".gnn_models.node_classification.testing",
        ".datasets",
        ".datasets.shape_graph",
        ".datasets.dataset",
        ".utils",
        ".utils.perturb",
    ):
        sys.modules[f"graphxai{name}"] = _Anything(f"graphxai{name}")
    sys.modules["ipdb"] = _Anything("ipdb")
    metrics = _loaded("graphxai_metrics", Path(graphxai) / "graphxai/metrics/metrics_graph.py")
    drawn = [graphxai_case(seed) for seed in range(30)]
    stored["graphxai"] = [{"case": case, "values": _graphxai_values(metrics, case)} for case in drawn]
    formal = _loaded("graphxai_formal_metrics", Path(graphxai) / "formal/metrics.py")
    cases = [stability_case(seed) for seed in range(30)]
    stored["stability"] = [{"case": case, "values": _stability_values(formal, case)} for case in cases]
    FILE.write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
