"""`convention="pyg"` against torch_geometric itself, on explanations that its own explainers return."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TOPK = (3, 7)


class Output:
    """A network for a task, whose answers are raw, probabilities or log-probabilities."""

    @staticmethod
    @cache
    def of(task: str, layer: str, classes: int, returns: str) -> Any:
        torch, nn = peer("torch"), peer("torch_geometric.nn")

        class Network(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                kinds = {"GCN": nn.GCN, "SAGE": nn.GraphSAGE, "GIN": nn.GIN, "GAT": nn.GAT}
                self.layers = kinds[layer](4, 8, 2, classes)

            def forward(
                self, x: Any, edge_index: Any, edge_weight: Any = None, batch: Any = None, edge_label_index: Any = None
            ) -> Any:
                given = {} if edge_weight is None else {"edge_weight": edge_weight}
                h = 2 * self.layers(x, edge_index, **given)
                if task == "graph":
                    h = nn.global_add_pool(h, batch)
                if task == "edge":
                    h = h[edge_label_index[0]] + h[edge_label_index[1]]
                if classes == 1:
                    return h.sigmoid() if returns == "probs" else h
                return {"raw": h, "probs": h.softmax(-1), "log_probs": h.log_softmax(-1)}[returns]

        torch.manual_seed(len(task) + classes)
        return Network().eval()


def draw(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """An explainer, an explanation by it, and what was drawn."""
    torch, pyg = peer("torch"), peer("torch_geometric.explain")
    rng = random.Random(seed)
    task = rng.choice(["node", "node", "edge", "graph"])
    classes = rng.choice([1, 3, 4])
    returns = rng.choice(["raw", "probs"] if classes == 1 else ["raw", "probs", "log_probs"])
    node_mask, edge_mask = rng.choice(
        [
            (None, "object"),
            ("object", "object"),
            ("attributes", "object"),
            ("common_attributes", "object"),
            ("object", None),
            ("attributes", None),
            ("common_attributes", None),
            (None, "object"),
        ]
    )
    threshold = rng.choice([None, ("hard", 0.5), ("topk", 5), ("topk_hard", 5)])
    kind = rng.choice(["model", "phenomenon"])
    layer = rng.choice(["GCN", "SAGE", "GIN", "GAT"])
    torch.manual_seed(seed)
    nodes = rng.randint(6, 25)
    data: dict[str, Any] = {"x": torch.randn(nodes, 4), "edge_index": torch.randint(0, nodes, (2, 2 * nodes))}
    if rng.random() < 0.5:
        data["edge_index"] = torch.cat([data["edge_index"], data["edge_index"].flip(0)], 1)
    if layer == "GCN" and rng.random() < 0.5:
        data["edge_weight"] = torch.rand(data["edge_index"].shape[1])
    rows = nodes
    if task == "graph":
        data["batch"] = torch.arange(nodes) * 3 // nodes
        inside = data["batch"][data["edge_index"][0]] == data["batch"][data["edge_index"][1]]
        data["edge_index"] = data["edge_index"][:, inside]
        if "edge_weight" in data:
            data["edge_weight"] = data["edge_weight"][inside]
        rows = 3
    if task == "edge":
        data["edge_label_index"] = torch.randint(0, nodes, (2, 5))
        rows = 5
    mode = "binary_classification" if classes == 1 else "multiclass_classification"
    explainer = pyg.Explainer(
        Output.of(task, layer, classes, returns),
        pyg.DummyExplainer(),
        explanation_type=kind,
        node_mask_type=node_mask,
        edge_mask_type=edge_mask,
        threshold_config=threshold,
        model_config={"mode": mode, "task_level": task, "return_type": returns},
    )
    given: dict[str, Any] = {"index": rng.randrange(rows)}
    if kind == "phenomenon":
        given["target"] = torch.randint(0, max(classes, 2), (rows,))
    said = explainer(**data, **given)
    return explainer, said, {"task": task, "kind": kind, "edges": edge_mask is not None}


@pytest.mark.parametrize("start", range(0, 240, 20))
def test_every_mask_type_and_task(start: int) -> None:
    metric = peer("torch_geometric.explain.metric")
    for seed in range(start, start + 20):
        explainer, said, drawn = draw(seed)
        model = ex.PyGModel.of(explainer)
        found = ex.evaluate(None, [ex.from_pyg(said, model, topk=TOPK)], convention="pyg")
        for level in ("", *(f"@k={size}" for size in TOPK)):
            cut = said.threshold("topk_hard", int(level[3:])) if level else said
            pair = metric.fidelity(explainer, cut)
            assert (found[f"pos_fidelity{level}"], found[f"neg_fidelity{level}"]) == pair, (seed, drawn)
            divergence = metric.unfaithfulness(explainer, cut)
            # torch computes the divergence in 32 bits
            ours = found[f"unfaithfulness{level}"].value
            assert ours == pytest.approx(divergence, rel=1e-5, abs=1e-6), (seed, drawn)
            score = metric.characterization_score(*map(peer("torch").tensor, pair))
            assert found[f"characterization_score{level}"].value == float(score)


def test_means_over_explanations_and_the_curve() -> None:
    torch, metric = peer("torch"), peer("torch_geometric.explain.metric")
    explainers, said = [], []
    for seed in range(400):
        explainer, one, drawn = draw(seed)
        several = explainer.model_config.mode.value == "multiclass_classification"
        raw = explainer.model_config.return_type.value == "raw"
        if drawn == {"task": "node", "kind": "model", "edges": True} and several and raw:
            explainers.append(explainer)
            said.append(one)
    assert len(said) >= 6
    pairs = {size: [] for size in TOPK}
    answered = []
    for event, (explainer, one) in enumerate(zip(explainers, said, strict=True)):
        model = ex.PyGModel.of(explainer)
        answered.append(ex.from_pyg(one, model, event=event, topk=TOPK))
        for size in TOPK:
            pairs[size].append(metric.fidelity(explainer, one.threshold("topk_hard", size)))
    found = ex.evaluate(None, answered, convention="pyg")
    pos, neg = torch.tensor(np.array([np.mean(pairs[size], 0) for size in TOPK]).T)
    shares = torch.tensor([np.mean([size / one.edge_index.shape[1] for one in said]) for size in TOPK])
    assert [found[f"pos_fidelity@k={size}"].value for size in TOPK] == pytest.approx(pos.tolist(), abs=1e-15)
    if (neg < 1).all():
        area = metric.fidelity_curve_auc(pos, neg, shares)
        assert found["fidelity_curve_auc"].value == pytest.approx(area.item(), abs=1e-12)
    both = metric.characterization_score(pos, neg)
    assert [found[f"characterization_score@k={size}"].value for size in TOPK] == pytest.approx(both.tolist(), abs=1e-12)


def test_own_masks_survive_files(tmp_path: Any) -> None:
    explainer, said, _ = next(draw(seed) for seed in range(50) if draw(seed)[1].get("node_mask") is not None)
    model = ex.PyGModel.of(explainer)
    explanation = ex.from_pyg(said, model, event=0, topk=TOPK)
    direct = ex.evaluate(None, [explanation], convention="pyg")
    ex.write_explanations([explanation], tmp_path / "said.jsonl")
    table = ex.collect(model, ex.read_explanations(tmp_path / "said.jsonl"))
    table.save(tmp_path / "table.jsonl")
    again = ex.evaluate(ex.read_table(tmp_path / "table.jsonl"), convention="pyg")
    assert {key: again[key].value for key in direct} == {key: direct[key].value for key in direct}


def test_explanations_without_the_module_say_what_is_missing() -> None:
    _, said, _ = next(each for each in map(draw, range(50)) if each[2]["edges"] and each[2]["task"] == "node")
    with pytest.raises(InputError, match=r"own masks\. Pass from_pyg\(explanation, PyGModel"):
        ex.evaluate(None, [ex.from_pyg(said, num_hops=2)], convention="pyg", metrics=["pos_fidelity"])


def test_five_lines_for_a_data_set() -> None:
    torch, pyg, data = peer("torch"), peer("torch_geometric.explain"), peer("torch_geometric.data")
    torch.manual_seed(0)
    graph = data.Data(x=torch.randn(30, 4), edge_index=torch.randint(0, 30, (2, 80)), y=torch.randint(0, 3, (30,)))
    network = Output.of("node", "GCN", 3, "raw")
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explainers = {
        name: pyg.Explainer(network, algorithm, explanation_type=kind, edge_mask_type="object", model_config=config)
        for name, algorithm, kind in (
            ("GNNExplainer", pyg.GNNExplainer(epochs=5), "model"),
            ("dummy", pyg.DummyExplainer(), "phenomenon"),
        )
    }
    explanations = ex.explain_pyg(explainers, graph, index=range(6))
    table = ex.collect(ex.PyGModel.of(explainers["dummy"]), explanations)
    assert table.explainers == ["GNNExplainer", "dummy"]
    assert [row.id for row in table] == list(range(6))
    assert [row.context.label for row in table] == graph.y[:6].tolist()
    found = ex.evaluate(table, explainer="GNNExplainer", score="label", groups=["class", "correct"])
    assert found["elapsed"].value > 0
    assert set(found.by("correct")["correct"]) <= {"yes", "no"}
    assert found.by("class")["n"].sum() == 6


@pytest.mark.parametrize("soft", [True, False])
def test_random_masks_are_the_chance_level(soft: bool) -> None:
    """Against a mean over many random masks that torch_geometric itself is given, among the same candidates."""
    torch, pyg, nn = peer("torch"), peer("torch_geometric.explain"), peer("torch_geometric.nn")
    torch.manual_seed(0)
    module = nn.GCN(4, 8, 2, 3).eval()
    x, edge_index = torch.randn(30, 4), torch.randint(0, 30, (2, 120))
    explainer = pyg.Explainer(
        module,
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    model, key = ex.PyGModel(module), "unfaithfulness" if soft else "unfaithfulness@k=5"
    said, expected = [], []
    for node in range(8):
        one = explainer(x, edge_index, index=node)
        made = ex.from_pyg(one, model, topk=[5], random=60)
        said.append(made)
        numbers = ex.from_pyg(one, model, topk=[5], truth=np.arange(120) >= 0).context
        part = numbers.subgraph
        whole = {tuple(pair): None for pair in part.nodes[part.edge_index[:, part.candidates]].T.tolist()}
        candidates = [place for place, pair in enumerate(edge_index.T.tolist()) if tuple(pair) in whole]
        for _ in range(60):
            mask = one.edge_mask.clone()
            if soft:
                mask[candidates] = mask[candidates][torch.randperm(len(candidates))]
            else:
                mask[:] = 0
                mask[torch.tensor(candidates)[torch.randperm(len(candidates))[:5]]] = 1
            other = one.clone()
            other.edge_mask = mask
            expected.append(float(pyg.unfaithfulness(explainer, other)))
    found = ex.evaluate(None, said, convention="pyg")[key]
    assert found.chance[0].name == "random explainer"
    assert found.chance[0].value == pytest.approx(np.mean(expected), abs=0.05)
    assert "the random explainer" in found.interpretation
    none = ex.evaluate(None, [ex.from_pyg(one, model, random=0)], convention="pyg")["pos_fidelity"]
    assert not none.chance
    compared = ex.compare(said, key, convention="pyg")
    assert set(compared.means) == {"explainer", "random explainer"}


def test_the_targets_to_explain_are_numbers_or_a_mask() -> None:
    torch, pyg, nn = peer("torch"), peer("torch_geometric.explain"), peer("torch_geometric.nn")
    module = nn.GCN(4, 8, 2, 3).eval()
    data = peer("torch_geometric.data").Data(x=torch.randn(10, 4), edge_index=torch.randint(0, 10, (2, 30)))
    explainer = pyg.Explainer(
        module,
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    mask = torch.zeros(10, dtype=torch.bool)
    mask[[3, 7]] = True
    for index in (mask, mask.numpy(), [3, 7], torch.tensor([3, 7])):
        assert [one.context.event for one in ex.explain_pyg(explainer, data, index)] == [3, 7]
    for wrong in ([1.7], [3, 3], [[3, 4]], [-1], [np.nan]):
        with pytest.raises(InputError, match="index"):
            ex.explain_pyg(explainer, data, wrong)
