"""Explanations that torch_geometric's own explainers return: taken, run, compared, and scored by its own metrics."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer

from graphgauge import explanation as ex
from graphgauge import stats
from graphgauge.core.errors import InputError

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


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


def draw(seed: int) -> tuple[Any, Any, Any]:
    """An explainer, an explanation by it, and the data."""
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
    data.pop("edge_label_index", None)
    return explainer, said, peer("torch_geometric.data").Data(**data)


@pytest.mark.parametrize("start", range(0, 240, 20))
def test_every_mask_type_and_task(start: int) -> None:
    """Its own numbers by its own code, and the same object as an explanation of ours."""
    metric = peer("torch_geometric.explain.metric")
    for seed in range(start, start + 20):
        explainer, said, data = draw(seed)
        found = ex.pyg_metrics(explainer, [said, said.threshold("topk_hard", 3)])
        for row, each in enumerate((said, said.threshold("topk_hard", 3))):
            assert (found["pos_fidelity"][row], found["neg_fidelity"][row]) == metric.fidelity(explainer, each)
            assert found["unfaithfulness"][row] == metric.unfaithfulness(explainer, each)
        one = ex.from_pyg(said, ex.PyGModel.from_explainer(explainer, data))
        mask = said.get("edge_mask" if one.context.subgraph.masked == "edges" else "node_mask")
        if mask.ndim == 2:  # those of entries are added up
            mask = mask.sum(0) if mask.shape[1] > 1 else mask[:, 0]
        assert one.importance == pytest.approx(mask.numpy()[one.context.subgraph.ids])
        assert (one.context.label is None) == (explainer.explanation_type.value == "model")


def test_their_numbers_can_be_tested() -> None:
    torch, pyg, nn = peer("torch"), peer("torch_geometric.explain"), peer("torch_geometric.nn")
    torch.manual_seed(0)
    x, edge_index = torch.randn(30, 4), torch.randint(0, 30, (2, 120))
    module = nn.GCN(4, 8, 2, 3).eval()
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    found = {}
    for name, algorithm in (("gnn", pyg.GNNExplainer(epochs=20)), ("dummy", pyg.DummyExplainer())):
        explainer = pyg.Explainer(
            module, algorithm, explanation_type="model", edge_mask_type="object", model_config=config
        )
        said = [explainer(x, edge_index, index=node) for node in range(10)]
        found[name] = ex.pyg_metrics(explainer, said)["unfaithfulness"]
    paired = stats.paired_test(found["gnn"], found["dummy"], better="lower")
    assert paired.pairs == 10
    assert paired.means == (pytest.approx(found["gnn"].mean()), pytest.approx(found["dummy"].mean()))


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
    model = ex.PyGModel.from_explainer(explainers["dummy"], graph)
    table = ex.collect(model, ex.explain_pyg(explainers, model, range(6)))
    assert table.explainers == ["GNNExplainer", "dummy"]
    assert [row.id for row in table] == list(range(6))
    assert [row.context.label for row in table] == graph.y[:6].tolist()
    found = ex.evaluate(table, explainer="GNNExplainer", score="label", groups=["class", "correct"], metrics="all")
    assert found["elapsed"].value > 0
    assert set(found.by("correct")["correct"]) <= {"yes", "no"}


def test_explainers_do_not_hide_each_others_masks() -> None:
    """GNNExplainer leaves parameters in layers, and Captum's masks would not reach the messages."""
    pytest.importorskip("captum", reason="captum is not installed")
    torch, pyg, nn = peer("torch"), peer("torch_geometric.explain"), peer("torch_geometric.nn")
    torch.manual_seed(0)
    module = nn.GraphConv(4, 3).eval()
    data = peer("torch_geometric.data").Data(x=torch.randn(10, 4), edge_index=torch.randint(0, 10, (2, 40)))
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}

    def made(algorithm: Any) -> Any:
        return pyg.Explainer(module, algorithm, explanation_type="model", edge_mask_type="object", model_config=config)

    captum, gnn = made(pyg.CaptumExplainer("Saliency")), made(pyg.GNNExplainer(epochs=3))
    model = ex.PyGModel(module, data)
    before = ex.explain_pyg(captum, model, range(5))
    after = ex.explain_pyg({"gnn": gnn, "captum": captum}, model, range(5))[1::2]
    assert [one.importance.tolist() for one in after] == [one.importance.tolist() for one in before]
    assert all(one.importance.any() for one in after if len(one.importance))

    def by_hand(explainer: Any) -> list[Any]:
        return [explainer(data.x, data.edge_index, index=node) for node in range(5)]

    by_hand(gnn)
    again = ex.explain_pyg(captum, model, range(5))
    assert [one.importance.tolist() for one in again] == [one.importance.tolist() for one in before]
    ex.pyg_metrics(gnn, by_hand(gnn))
    assert all(one.edge_mask.any() for one in by_hand(captum))


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
    model = ex.PyGModel.from_explainer(explainer, data)
    mask = torch.zeros(10, dtype=torch.bool)
    mask[[3, 7]] = True
    for index in (mask, mask.numpy(), [3, 7], torch.tensor([3, 7])):
        assert [one.context.event for one in ex.explain_pyg(explainer, model, index)] == [3, 7]
    for wrong in ([1.7], [3, 3], [[3, 4]], [-1], [np.nan], [10]):
        with pytest.raises(InputError, match="index"):
            ex.explain_pyg(explainer, model, wrong)


def test_one_pair_as_a_plain_column() -> None:
    """As in torch_geometric's example of explaining a link: `edge_label_index[:, 0]`."""
    torch, pyg = peer("torch"), peer("torch_geometric.explain")
    torch.manual_seed(0)
    data = peer("torch_geometric.data").Data(x=torch.randn(12, 4), edge_index=torch.randint(0, 12, (2, 40)))
    config = {"mode": "multiclass_classification", "task_level": "edge", "return_type": "raw"}
    explainer = pyg.Explainer(
        Output.of("edge", "GCN", 3, "raw"),
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config=config,
    )
    said = explainer(data.x, data.edge_index, edge_label_index=torch.tensor([[5], [9]]))
    said.edge_label_index = torch.tensor([5, 9])
    model = ex.PyGModel.from_explainer(explainer, data)
    assert ex.from_pyg(said, model).context.target == [5, 9]
    with pytest.raises(InputError, match="data: have no edge_label_index"):
        ex.explain_pyg(explainer, model)
    for wrong in (data, explainer.model):
        with pytest.raises(InputError, match="model: expected a PyGModel"):
            ex.explain_pyg(explainer, wrong)


@pytest.mark.parametrize("task", ["node", "edge", "graph"])
def test_one_of_several_that_were_explained_at_once(task: str) -> None:
    torch, pyg = peer("torch"), peer("torch_geometric.explain")
    torch.manual_seed(0)
    x, edge_index = torch.randn(12, 4), torch.randint(0, 12, (2, 40))
    given: dict[str, Any] = {"x": x, "edge_index": edge_index}
    if task == "graph":
        batch = torch.arange(12) // 4
        given |= {"batch": batch, "edge_index": edge_index[:, batch[edge_index[0]] == batch[edge_index[1]]]}
    data = peer("torch_geometric.data").Data(**given)
    if task == "edge":
        given["edge_label_index"] = torch.randint(0, 12, (2, 3))
    config = {"mode": "multiclass_classification", "task_level": task, "return_type": "raw"}
    explainer = pyg.Explainer(
        Output.of(task, "GCN", 3, "raw"),
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config=config,
    )
    said, model = explainer(**given, index=torch.tensor([0, 2])), ex.PyGModel.from_explainer(explainer, data)
    found = [ex.from_pyg(said, model, target=each) for each in (0, 2)]
    assert found[0].context.event != found[1].context.event
    with pytest.raises(InputError, match="Choose one with target="):
        ex.from_pyg(said, model)
