"""Nodes, features, heterogeneous graphs and several targets, with torch_geometric's own explainers and modules."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer

from graphgauge import explanation as ex
from graphgauge.core.errors import GraphgaugeError, InputError
from graphgauge.explanation import pyg_model
from graphgauge.explanation.pyg_graph import batch_of

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

NODE_MASKS = {"nodes": "object", "features": "common_attributes"}
CONFIG = {"mode": "multiclass_classification", "return_type": "raw"}


@cache
def network(task: str = "node") -> Any:
    torch, nn = peer("torch"), peer("torch_geometric.nn")

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.GCNConv(5, 8), nn.GCNConv(8, 3)

        def forward(self, x: Any, edge_index: Any, batch: Any = None, edge_label_index: Any = None) -> Any:
            h = 3 * self.two(self.one(x, edge_index).tanh(), edge_index)
            if task == "graph":
                return nn.global_mean_pool(h, batch)
            return h[edge_label_index[0]] * h[edge_label_index[1]] if task == "edge" else h

    torch.manual_seed(1)
    return Network().eval()


def graph(nodes: int = 40, edges: int = 70, seed: int = 0) -> tuple[Any, Any]:
    torch = peer("torch")
    torch.manual_seed(seed)
    x = torch.randn(nodes, 5) * (torch.rand(nodes, 5) < 0.6)
    return x, torch.randint(0, nodes, (2, edges))


def explained(
    task: str = "node", *, node_mask: str | None = None, edge_mask: str | None = "object", **given: Any
) -> Any:
    pyg = peer("torch_geometric.explain")
    explainer = pyg.Explainer(
        network(task),
        pyg.DummyExplainer(),
        explanation_type="model",
        node_mask_type=node_mask,
        edge_mask_type=edge_mask,
        model_config={**CONFIG, "task_level": task},
    )
    return explainer, explainer(**given)


def data_of(x: Any, edge_index: Any, **given: Any) -> Any:
    return peer("torch_geometric.data").Data(x=x, edge_index=edge_index, **given)


def random_masks(subgraph: ex.Subgraph, count: int = 12) -> np.ndarray:
    return np.random.default_rng(0).random((count, len(subgraph))) < 0.6


@pytest.mark.parametrize("masked", NODE_MASKS)
@pytest.mark.parametrize("node", [3, 11])
def test_masked_features_by_hand(masked: str, node: int) -> None:
    """Every answer equals the module on the whole graph with the masked features set to 0."""
    torch = peer("torch")
    x, edge_index = graph()
    _, said = explained(node_mask=NODE_MASKS[masked], edge_mask=None, x=x, edge_index=edge_index, index=node)
    model = ex.PyGModel(network(), data_of(x, edge_index))
    one = ex.from_pyg(said, model)
    subgraph = one.context.subgraph
    assert subgraph.masked == masked
    masks = random_masks(subgraph)
    for row, kept in zip(model.predict(subgraph, node, masks), masks, strict=True):
        changed = x.clone()
        for number in subgraph.ids[~kept]:
            if masked == "nodes":
                changed[number] = 0
            else:
                changed[:, number] = 0
        with torch.no_grad():
            wanted = network()(changed, edge_index)[node]
        assert row == pytest.approx(wanted.numpy(), abs=1e-5)
    values = said.node_mask.numpy().reshape(-1)
    assert one.importance.tolist() == pytest.approx(values[subgraph.ids].tolist())
    assert ex.evaluate(ex.collect(model, [one], sparsity_levels=[0.3]), metrics="all")["fidelity_drop@0.3"].n == 1


@pytest.mark.parametrize("node", range(0, 40, 5))
def test_what_is_no_candidate_cannot_change_the_answer(node: int) -> None:
    torch = peer("torch")
    x, edge_index = graph()
    _, said = explained(node_mask="object", x=x, edge_index=edge_index, index=node)
    one = ex.from_pyg(said, ex.PyGModel(network(), data_of(x, edge_index)), masked="nodes")
    reaching = one.context.subgraph.ids.tolist()
    assert len(reaching) < 40
    changed = torch.zeros_like(x)
    changed[reaching] = x[reaching]
    with torch.no_grad():
        assert torch.allclose(network()(changed, edge_index)[node], network()(x, edge_index)[node], atol=1e-6)


def test_entries_add_up_for_nodes_and_features() -> None:
    x, edge_index = graph()
    _, said = explained(node_mask="attributes", x=x, edge_index=edge_index, index=2)
    model = ex.PyGModel(network(), data_of(x, edge_index))
    nodes, features = (ex.from_pyg(said, model, masked=masked) for masked in ("nodes", "features"))
    assert nodes.importance.tolist() == pytest.approx(said.node_mask.sum(1)[nodes.context.subgraph.ids].tolist())
    columns = features.context.subgraph.ids
    assert features.importance.tolist() == pytest.approx(said.node_mask.sum(0)[columns].tolist())
    assert ex.from_pyg(said, model).context.subgraph.masked == "edges"
    _, said = explained(node_mask="object", edge_mask=None, x=x, edge_index=edge_index, index=2)
    with pytest.raises(InputError, match=r"shape \(40, 1\) and does not rank features"):
        ex.from_pyg(said, model, masked="features")
    with pytest.raises(InputError, match="has no edge_mask"):
        ex.from_pyg(said, model, masked="edges")


def test_truths_of_nodes_and_features_survive_files(tmp_path: Any) -> None:
    x, edge_index = graph()
    _, said = explained(node_mask="attributes", x=x, edge_index=edge_index, index=2)
    model = ex.PyGModel(network(), data_of(x, edge_index))
    truths = np.zeros((2, 40), bool)
    truths[0, 2] = truths[1, 0] = True
    made = [
        ex.from_pyg(said, model, masked="nodes", event="n", truth=truths),
        ex.from_pyg(said, model, masked="features", event="e", truth=x.numpy()[0] > 0),
    ]
    ex.write_explanations(made, tmp_path / "said.jsonl")
    back = ex.read_explanations(tmp_path / "said.jsonl")
    assert [each.context.subgraph.masked for each in back] == ["nodes", "features"]
    assert back[0].context.truth.shape == (2, len(back[0].context.subgraph))
    assert back[1].context.truth.tolist() == (x.numpy()[0] > 0)[back[1].context.subgraph.ids].tolist()
    first, second = (ex.collect(model, each, sparsity_levels=[0.5], random=1) for each in (made, back))
    assert [row.outputs.tolist() for row in first] == [row.outputs.tolist() for row in second]


# ------------------------------------------------------------------------------------- heterogeneous graphs


@cache
def hetero(kind: str, task: str = "node") -> Any:
    torch, nn = peer("torch"), peer("torch_geometric.nn")
    types = [("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "by", "author")]

    class Layers(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.SAGEConv((-1, -1), 8)
            self.two = nn.SAGEConv((-1, -1), 4)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.two(self.one(x, edge_index).relu(), edge_index)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if kind == "to_hetero":
                self.layers = nn.to_hetero(Layers(), (["paper", "author"], types))
            elif kind == "HeteroConv":
                self.layers = torch.nn.ModuleList(
                    nn.HeteroConv({each: nn.SAGEConv((-1, -1), 8) for each in types}) for _ in range(2)
                )
            else:
                self.layers = torch.nn.ModuleList(
                    nn.HGTConv(size, 8, (["paper", "author"], types), 2) for size in ({"paper": 4, "author": 3}, 8)
                )
            self.last = torch.nn.Linear(4 if kind == "to_hetero" else 8, 3)

        def forward(
            self, x_dict: Any, edge_index_dict: Any, edge_label_index: Any = None, batch_dict: Any = None
        ) -> Any:
            h = x_dict
            if kind == "to_hetero":
                h = self.layers(h, edge_index_dict)
            else:
                for layer in self.layers:
                    h = {name: each.relu() for name, each in layer(h, edge_index_dict).items()}
            if task == "edge":
                return 5 * self.last(h["author"][edge_label_index[0]] * h["paper"][edge_label_index[1]])
            if task == "graph":
                return 5 * self.last(nn.global_add_pool(h["paper"], batch_dict["paper"]))
            return 5 * self.last(h["paper"])

    torch.manual_seed(0)
    module = Network()
    with torch.no_grad():
        x, edges = typed_graph()
        module(
            x,
            edges,
            torch.zeros(2, 1, dtype=torch.long),
            {name: torch.zeros(len(each), dtype=torch.long) for name, each in x.items()},
        )
    return module.eval()


@cache
def typed_graph(papers: int = 40, authors: int = 25) -> tuple[Any, Any]:
    torch = peer("torch")
    torch.manual_seed(3)

    def pairs(one: int, other: int, count: int) -> Any:
        return torch.stack([torch.randint(0, one, (count,)), torch.randint(0, other, (count,))])

    x = {"paper": torch.randn(papers, 4), "author": torch.randn(authors, 3)}
    writes = pairs(authors, papers, 40)
    return x, {
        ("paper", "cites", "paper"): pairs(papers, papers, 35),
        ("author", "writes", "paper"): writes,
        ("paper", "by", "author"): writes.flip(0),
    }


def hetero_explained(kind: str, task: str, **given: Any) -> tuple[Any, Any]:
    pyg = peer("torch_geometric.explain")
    x, edges = typed_graph()
    explainer = pyg.Explainer(
        hetero(kind, task),
        pyg.DummyExplainer(),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={**CONFIG, "task_level": task},
    )
    return explainer, explainer(x, edges, **given)


def typed_data(**given: Any) -> Any:
    x, edges = typed_graph()
    data = peer("torch_geometric.data").HeteroData(**given)
    for name, each in x.items():
        data[name].x = each
    for name, each in edges.items():
        data[name].edge_index = each
    return data


def typed_model(kind: str, task: str = "node", **options: Any) -> ex.PyGModel:
    types = {"node": "paper", "edge": ("author", "paper"), "graph": None}[task]
    return ex.PyGModel(hetero(kind, task), typed_data(), task=task, target_type=types, **options)


@pytest.mark.parametrize("kind", ["to_hetero", "HeteroConv", "HGTConv"])
@pytest.mark.parametrize("task", ["node", "edge", "graph"])
@pytest.mark.parametrize("masked", ["edges", "nodes", "features"])
def test_heterogeneous_answers_by_hand(kind: str, task: str, masked: str) -> None:
    """Every answer equals the module on the whole graph, with the masked edges removed or features set to 0."""
    torch = peer("torch")
    x, edges = typed_graph()
    inputs: dict[str, Any] = {}
    if task == "edge":
        inputs["edge_label_index"] = torch.tensor([[4, 9], [7, 1]])
    if task == "graph":
        inputs["batch_dict"] = {name: torch.zeros(len(each), dtype=torch.long) for name, each in x.items()}
    place = {"node": 7, "edge": 1, "graph": 0}[task]
    _, said = hetero_explained(kind, task, index=place, **inputs)
    model = typed_model(kind, task)
    one = ex.from_pyg(said, model, masked=masked)
    subgraph = one.context.subgraph
    if task != "graph":
        assert len(subgraph) < {"edges": 115, "nodes": 65, "features": 8}[masked]
    names = [(name, row) for name, pairs in edges.items() for row in range(pairs.shape[1])]
    masks = random_masks(subgraph)
    for outputs, kept in zip(model.predict(subgraph, one.context.target, masks), masks, strict=True):
        other, left = {name: each.clone() for name, each in x.items()}, dict(edges)
        gone = subgraph.ids[~kept]
        if masked == "edges":
            out = {names[number] for number in gone}
            left = {
                name: pairs[:, [row for row in range(pairs.shape[1]) if (name, row) not in out]]
                for name, pairs in edges.items()
            }
        for number in gone if masked != "edges" else []:
            if masked == "nodes":
                other["paper" if number < 40 else "author"][number - 40 * (number >= 40)] = 0
            else:
                other["paper" if number < 4 else "author"][:, number - 4 * (number >= 4)] = 0
        with torch.no_grad():
            wanted = hetero(kind, task)(other, left, **inputs)[place]
        assert outputs == pytest.approx(wanted.numpy(), abs=1e-4)


@pytest.mark.parametrize("kind", ["to_hetero", "HeteroConv"])
def test_stopped_messages_of_a_heterogeneous_graph_by_hand(kind: str) -> None:
    """As torch_geometric's own explainers mask: without a sigmoid, each type by its own mask."""
    explainer, said = hetero_explained(kind, "node", index=7)
    x, edges = typed_graph()
    model = typed_model(kind, masking="weight")
    one = ex.from_pyg(said, model)
    masks = random_masks(one.context.subgraph)
    torch = peer("torch")
    for outputs, kept in zip(model.predict(one.context.subgraph, 7, masks), masks, strict=True):
        whole = np.ones(115)
        whole[one.context.subgraph.ids] = kept
        cuts = np.cumsum([pairs.shape[1] for pairs in edges.values()])[:-1]
        each = (torch.tensor(part, dtype=torch.float32) for part in np.split(whole, cuts))
        wanted = explainer.get_masked_prediction(x, edges, None, dict(zip(edges, each, strict=True)))[7]
        assert outputs == pytest.approx(wanted.detach().numpy(), abs=1e-4)


def test_candidates_of_a_heterogeneous_graph_are_within_two_hops() -> None:
    for kind in ("to_hetero", "HeteroConv", "HGTConv"):
        edges = typed_graph()[1]
        names = [(name, row) for name, pairs in edges.items() for row in range(pairs.shape[1])]
        for node in (0, 7, 20):
            reached, wanted = {("paper", node)}, set()
            for _ in range(2):
                entering = {
                    (name, place)
                    for name, pairs in edges.items()
                    for place in range(pairs.shape[1])
                    if (name[2], int(pairs[1, place])) in reached
                }
                wanted |= entering
                reached |= {(name[0], int(edges[name][0, place])) for name, place in entering}
            assert {names[number] for number in typed_model(kind).candidates(node)} == wanted, (kind, node)


def test_types_that_are_unclear_are_asked_for() -> None:
    for task, given, fix in (
        ("edge", None, r'types of the pair, \("user", "movie"\)'),
        ("edge", ("author", "journal"), "journal"),
        ("node", None, 'the type of the node, "paper"'),
        ("graph", "paper", "leave it out"),
    ):
        with pytest.raises(GraphgaugeError, match=fix):
            ex.PyGModel(hetero("to_hetero", task), typed_data(), task=task, target_type=given)
    _, said = hetero_explained("to_hetero", "node", index=7)
    assert ex.from_pyg(said, typed_model("to_hetero")).context.event == "paper:7"


def test_explainers_on_heterogeneous_data() -> None:
    pyg = peer("torch_geometric.explain")
    explainer = pyg.Explainer(
        hetero("to_hetero"),
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={**CONFIG, "task_level": "node"},
    )
    model = ex.PyGModel.from_explainer(explainer, typed_data(), target_type="paper")
    truth = {("author", "writes", "paper"): np.arange(40) < 20}
    said = ex.explain_pyg({"dummy": explainer}, model, range(6), truth=truth)
    found = ex.evaluate(ex.collect(model, said, sparsity_levels=[0.3]), metrics=["fidelity_drop@0.3", "truth_auc"])
    assert found["fidelity_drop@0.3"].n >= 4


# ------------------------------------------------------------------------------------- several graphs


@pytest.mark.parametrize("masked", ["edges", "nodes", "features"])
@pytest.mark.parametrize("alone", [True, False])
def test_one_graph_of_several(masked: str, alone: bool) -> None:
    """Explained alone or in the batch: the same candidates, importances and answers."""
    torch, batched = peer("torch"), peer("torch_geometric.data").Batch
    graphs = [data_of(*graph(nodes, 3 * nodes, seed=nodes)) for nodes in (5, 8, 6)]
    joined = batched.from_data_list(graphs)
    starts, edges = np.cumsum([0, 5, 8, 6]), np.cumsum([0, 15, 24, 18])
    model = ex.PyGModel(network("graph"), graphs if alone else joined, task="graph")
    for number, each in enumerate(graphs):
        if alone:
            given = {"x": each.x, "edge_index": each.edge_index, "batch": torch.zeros(len(each.x), dtype=torch.long)}
        else:
            given = {"x": joined.x, "edge_index": joined.edge_index, "batch": joined.batch, "index": number}
        _, said = explained("graph", node_mask="attributes", **given)
        one = ex.from_pyg(said, model, target=number, masked=masked)
        subgraph = one.context.subgraph
        first = {"edges": edges[number], "nodes": starts[number], "features": 0}[masked]
        assert (subgraph.ids >= first).all()
        assert one.context.event == number
        mask = said.edge_mask if masked == "edges" else said.node_mask
        mask = mask.reshape(-1) if masked == "edges" else mask.sum(1 if masked == "nodes" else 0)
        assert one.importance == pytest.approx(mask.numpy()[subgraph.ids - (first if alone else 0)])
        masks = random_masks(subgraph, 5)
        for outputs, kept in zip(model.predict(subgraph, number, masks), masks, strict=True):
            gone, x, left = subgraph.ids[~kept] - first, each.x.clone(), each.edge_index
            if masked == "edges":
                left = left[:, np.setdiff1d(np.arange(left.shape[1]), gone)]
            elif masked == "nodes":
                x[gone] = 0
            elif masked == "features":
                x[:, gone] = 0
            else:
                x[gone // 5, gone % 5] = 0
            with torch.no_grad():
                wanted = network("graph")(x, left, torch.zeros(len(x), dtype=torch.long))[0]
            assert outputs == pytest.approx(wanted.numpy(), abs=1e-5)
    with pytest.raises(InputError, match="there is no graph 3 among 3"):
        ex.from_pyg(said, model, target=3)


@pytest.mark.parametrize("kind", ["list", "loader", "batch"])
def test_graphs_as_pyg_has_them(kind: str) -> None:
    pyg_data, loader = peer("torch_geometric.data"), peer("torch_geometric.loader")
    graphs = [data_of(*graph(nodes, 3 * nodes, seed=nodes)) for nodes in (5, 8, 6)]
    given = {
        "list": graphs,
        "loader": loader.DataLoader(graphs, batch_size=2),
        "batch": pyg_data.Batch.from_data_list(graphs),
    }[kind]
    model = ex.PyGModel(network("graph"), given, task="graph")
    assert model.targets == 3
    assert [model.candidates(number).tolist() for number in range(3)] == [
        list(range(start, stop)) for start, stop in ((0, 15), (15, 39), (39, 57))
    ]
    with pytest.raises(InputError, match='Only task="graph" takes several'):
        ex.PyGModel(network(), graphs)
    for wrong in (None, 5):
        with pytest.raises(InputError, match="data: expected a Data or HeteroData object"):
            ex.PyGModel(network(), wrong)


def test_a_module_of_graphs_without_a_batch_is_asked_about_one_at_a_time() -> None:
    torch, nn = peer("torch"), peer("torch_geometric.nn")

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GCNConv(5, 3)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.layer(x, edge_index).tanh().mean(0, keepdim=True)

    module, one = Pooled().eval(), data_of(*graph(8, 20))
    model = ex.PyGModel(module, one, task="graph")
    subgraph = ex.Subgraph(one.edge_index, units="edges")
    masks = random_masks(subgraph, 5)
    for answer, kept in zip(model.predict(subgraph, None, masks), masks, strict=True):
        with torch.no_grad():
            wanted = module(one.x, one.edge_index[:, torch.tensor(kept)])[0]
        assert answer == pytest.approx(wanted.numpy(), abs=1e-6)


# ------------------------------------------------------------------------------------- ways of masking


def test_whole_graph_is_the_same_for_all_ways_of_masking() -> None:
    x, edge_index = graph()
    _, said = explained(node_mask="object", x=x, edge_index=edge_index, index=2)
    for masked in ("edges", "nodes"):
        answers = []
        for masking in ("remove", "weight"):
            model = ex.PyGModel(network(), data_of(x, edge_index), masking=masking)
            subgraph = ex.from_pyg(said, model, masked=masked).context.subgraph
            answers.append(model.predict(subgraph, 2, np.ones((1, len(subgraph)), bool))[0])
        assert np.allclose(answers, answers[0], atol=1e-5)


def test_large_questions_are_asked_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x, edge_index = graph()
    model = ex.PyGModel(network(), data_of(x, edge_index))
    subgraph = ex.from_pyg(explained(x=x, edge_index=edge_index, index=2)[1], model).context.subgraph
    together = model.predict(subgraph, 2, random_masks(subgraph))
    calls = []
    hook = network().register_forward_hook(lambda *given: calls.append(len(given[1][0])))
    monkeypatch.setattr(pyg_model, "_TOGETHER", 3 * model.part(2).graph.size)
    assert model.predict(subgraph, 2, random_masks(subgraph)) == pytest.approx(together, abs=1e-6)
    hook.remove()
    assert len(calls) == 4


# ------------------------------------------------------------------------------------- the workflow

EXAMPLE = Path(__file__).parents[2] / "examples" / "workflow_explainers.py"


@pytest.mark.parametrize("name", ["link", "hetero"])
def test_the_workflow_with_captum(name: str) -> None:
    """Its parts on the fastest tasks; the page shows what a whole run printed."""
    pytest.importorskip("captum", reason="captum is not installed")
    spec = importlib.util.spec_from_file_location("workflow_explainers", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = sys.modules["workflow_explainers"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    peer("torch").manual_seed(0)
    table, found = example.judged(example.TASKS[name]())
    assert len(table) == 20
    compared = ex.compare(table, "fidelity_drop.signed@0.2")
    assert compared["IntegratedGradients", "random explainer"].verdict == "first"
    assert found["IntegratedGradients"]["truth_auc"].value > 0.8
    assert "| IntegratedGradients |" in example.written(table, found)
    shown = (EXAMPLE.parents[1] / "docs" / "workflows" / "explainers" / f"{name}.inc").read_text(encoding="utf-8")
    assert shown.count("|") == example.written(table, found).count("|")


def test_cora_is_small_and_fast(tmp_path: Path) -> None:
    """50 events of a two-layer network on the citation graph: a file of at most 5 MB."""
    torch, pyg, nn = peer("torch"), peer("torch_geometric.explain"), peer("torch_geometric.nn")
    path = Path(__file__).parents[2].parent / "shared" / "data" / "cora.npz"
    if not path.is_file():
        pytest.skip("shared data absent: cora.npz")
    stored = np.load(path, allow_pickle=False)
    rows = np.repeat(np.arange(2708), np.diff(stored["feature_indptr"]))
    x = torch.zeros(2708, int(stored["num_features"]))
    x[rows, stored["feature_indices"]] = 1
    edges = torch.tensor(stored["edges"].T.astype(np.int64))
    torch.manual_seed(0)
    module = nn.GCN(x.shape[1], 16, 2, 7).eval()
    explainer = pyg.Explainer(
        module,
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={**CONFIG, "task_level": "node"},
    )
    data = peer("torch_geometric.data").Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1))
    model = ex.PyGModel(module, data)
    start = process_time()
    table = ex.collect(model, ex.explain_pyg(explainer, model, range(0, 500, 10)))
    table.save(tmp_path / "cora.jsonl")
    found = ex.evaluate(ex.read_table(tmp_path / "cora.jsonl"), metrics=["fidelity_drop"])
    assert process_time() - start < 60
    assert (tmp_path / "cora.jsonl").stat().st_size < 5e6
    assert found["fidelity_drop@0.1"].n == 50


def test_graphs_of_a_loader_have_the_numbers_of_its_dataset() -> None:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader

    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    graphs = [Data(x=torch.full((3, 1), float(place)), edge_index=ring) for place in range(10)]
    made = batch_of(DataLoader(graphs, batch_size=4, shuffle=True, drop_last=True), "graph")
    assert made.x.flatten().tolist() == [float(place) for place in range(10) for _ in range(3)]
