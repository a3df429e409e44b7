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

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

NODE_MASKS = {"nodes": "object", "features": "common_attributes", "entries": "attributes"}
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


@pytest.mark.parametrize("masked", NODE_MASKS)
@pytest.mark.parametrize("node", [3, 11])
def test_masked_features_by_hand(masked: str, node: int) -> None:
    """Every answer equals the module on the whole graph with the masked features set to 0."""
    torch = peer("torch")
    x, edge_index = graph()
    _, said = explained(node_mask=NODE_MASKS[masked], edge_mask=None, x=x, edge_index=edge_index, index=node)
    model = ex.PyGModel(network())
    one = ex.from_pyg(said, model)
    subgraph = one.context.subgraph
    assert subgraph.masked == masked
    table = ex.collect(model, [one], levels=[0.3, 0.6])
    mask = said.node_mask.expand(x.shape) if masked != "nodes" else said.node_mask
    for row, kept in zip(table.rows[0].outputs, table.rows[0].masks, strict=True):
        changed = x.clone()
        for candidate in np.array(subgraph.candidates)[~kept]:
            if masked == "nodes":
                changed[int(subgraph.nodes[candidate])] = 0
            elif masked == "features":
                changed[:, candidate] = 0
            else:
                changed[int(subgraph.nodes[candidate // 5]), candidate % 5] = 0
        with torch.no_grad():
            wanted = network()(changed, edge_index)[node]
        assert row == pytest.approx(wanted.numpy(), abs=1e-5)
    if masked == "nodes":
        wanted = [float(mask[int(subgraph.nodes[each]), 0]) for each in subgraph.candidates]
    elif masked == "features":
        wanted = [float(mask[0, each]) for each in subgraph.candidates]
    else:
        wanted = [float(mask[int(subgraph.nodes[each // 5]), each % 5]) for each in subgraph.candidates]
    assert one.importance.tolist() == pytest.approx(wanted)
    assert ex.evaluate(table)["fidelity_drop@0.3"].n == 1


@pytest.mark.parametrize("node", range(0, 40, 5))
def test_what_is_no_candidate_cannot_change_the_answer(node: int) -> None:
    torch = peer("torch")
    x, edge_index = graph()
    _, said = explained(node_mask="object", x=x, edge_index=edge_index, index=node)
    one = ex.from_pyg(said, ex.PyGModel(network()), masked="nodes")
    subgraph = one.context.subgraph
    reaching = {int(subgraph.nodes[each]) for each in subgraph.candidates}
    assert len(reaching) < 40
    changed = torch.zeros_like(x)
    changed[list(reaching)] = x[list(reaching)]
    with torch.no_grad():
        assert torch.allclose(network()(changed, edge_index)[node], network()(x, edge_index)[node], atol=1e-6)


def test_entries_add_up_for_nodes_and_features() -> None:
    x, edge_index = graph()
    _, said = explained(node_mask="attributes", x=x, edge_index=edge_index, index=2)
    model = ex.PyGModel(network())
    nodes, features = (ex.from_pyg(said, model, masked=masked) for masked in ("nodes", "features"))
    rows = [int(nodes.context.subgraph.nodes[each]) for each in nodes.context.subgraph.candidates]
    assert nodes.importance.tolist() == pytest.approx(said.node_mask.sum(1)[rows].tolist())
    columns = list(features.context.subgraph.candidates)
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
    model = ex.PyGModel(network())
    truths = np.zeros((2, 40), bool)
    truths[0, 2] = truths[1, 0] = True
    made = [
        ex.from_pyg(said, model, masked="nodes", event="n", truth=truths),
        ex.from_pyg(said, model, masked="entries", event="e", truth=x.numpy() > 0),
    ]
    ex.write_explanations(made, tmp_path / "said.jsonl")
    back = ex.read_explanations(tmp_path / "said.jsonl")
    assert [each.context.subgraph.masked for each in back] == ["nodes", "entries"]
    assert back[0].context.truth.shape == (2, len(back[0].context.subgraph))
    flat = x.numpy().reshape(-1) > 0
    subgraph = back[1].context.subgraph
    wanted = [flat[int(subgraph.nodes[each // 5]) * 5 + each % 5] for each in subgraph.candidates]
    assert back[1].context.truth.tolist() == wanted
    first, second = (ex.collect(model, each, levels=[0.5], random=1) for each in (made, back))
    assert [row.outputs.tolist() for row in first] == [row.outputs.tolist() for row in second]


@pytest.mark.parametrize("task", ["node", "edge", "graph"])
@pytest.mark.parametrize("index", [None, [1, 4, 2], 3])
def test_several_targets_are_torch_geometrics_mean(task: str, index: Any) -> None:
    torch, metric = peer("torch"), peer("torch_geometric.explain.metric")
    x, edge_index = graph(30, 60)
    given: dict[str, Any] = {"x": x, "edge_index": edge_index}
    if task == "graph":
        batch = torch.arange(30) // 5
        given |= {"batch": batch, "edge_index": edge_index[:, batch[edge_index[0]] == batch[edge_index[1]]]}
    if task == "edge":
        given["edge_label_index"] = torch.randint(0, 30, (2, 6))
    given["index"] = torch.tensor(index) if isinstance(index, list) else index
    explainer, said = explained(task, node_mask="object", **given)
    model = ex.PyGModel(network(task), task=task)
    count = {"node": 30, "edge": 6, "graph": 6}[task]
    targets = range(count) if index is None else np.atleast_1d(index).tolist()
    several = [ex.from_pyg(said, model, target=each, event=each, topk=[5]) for each in targets]
    found = ex.evaluate(None, several, convention="pyg")
    for level, each in (("", said), ("@k=5", said.threshold("topk_hard", 5))):
        pair = found[f"pos_fidelity{level}"].value, found[f"neg_fidelity{level}"].value
        assert pair == pytest.approx(metric.fidelity(explainer, each), abs=1e-7)  # in 32 bits
        if len(several) == 1:  # of several it is a function of their mean divergence
            divergence = metric.unfaithfulness(explainer, each)
            assert found[f"unfaithfulness{level}"].value == pytest.approx(divergence, rel=1e-4, abs=1e-6)
    table = ex.collect(model, several, levels=[0.2])
    assert ex.evaluate(table)["fidelity_drop@0.2"].n == sum(len(row.subgraph) > 0 for row in table)


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


@pytest.mark.parametrize("kind", ["to_hetero", "HeteroConv", "HGTConv"])
@pytest.mark.parametrize("task", ["node", "edge", "graph"])
@pytest.mark.parametrize("masked", ["edges", "nodes", "features", "entries"])
def test_heterogeneous_answers_by_hand(kind: str, task: str, masked: str, tmp_path: Any) -> None:
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
    model = ex.PyGModel(hetero(kind, task), task=task)
    types = ("author", "paper") if task == "edge" else None
    one = ex.from_pyg(said, model, masked=masked, target_type=types)
    subgraph = one.context.subgraph
    ex.write_explanations([one], tmp_path / "said.jsonl")
    stored = ex.read_explanations(tmp_path / "said.jsonl")
    table = ex.collect(model, stored, levels=[0.3, 0.7], random=2)
    kinds = np.array(subgraph.node_types)
    numbers = [int(str(name).partition(":")[2]) for name in subgraph.nodes]
    if task != "graph":
        assert len(subgraph.nodes) < 65
    for outputs, kept in zip(table.rows[0].outputs, table.rows[0].masks, strict=True):
        other, left = {name: each.clone() for name, each in x.items()}, dict(edges)
        gone = np.array(subgraph.candidates)[~kept]
        if masked == "edges":
            removed: dict[str, list[tuple[int, int]]] = {}
            for each in gone:
                a, b = subgraph.edge_index[:, each]
                removed.setdefault(str(subgraph.edge_types[each]), []).append((numbers[a], numbers[b]))
            left = {name: without(pairs, removed.get("__".join(name), [])) for name, pairs in edges.items()}
        for each in gone if masked != "edges" else []:
            if masked == "nodes":
                other[str(kinds[each])][numbers[each]] = 0
            elif masked == "features":
                other["author" if each < 3 else "paper"][:, each if each < 3 else each - 3] = 0
            else:
                own = np.flatnonzero(kinds == "author")
                if each < 3 * len(own):
                    other["author"][numbers[own[each // 3]], each % 3] = 0
                else:
                    row, column = divmod(each - 3 * len(own), 4)
                    other["paper"][numbers[np.flatnonzero(kinds == "paper")[row]], column] = 0
        with torch.no_grad():
            wanted = hetero(kind, task)(other, left, **inputs)[place]
        assert outputs == pytest.approx(wanted.numpy(), abs=1e-4)
    assert ex.evaluate(table)["fidelity_drop@0.3"].n == 1


def without(pairs: Any, gone: list[tuple[int, int]]) -> Any:
    """Edges without one of each listed pair."""
    left = list(gone)
    keep = []
    for place, pair in enumerate(pairs.T.tolist()):
        if tuple(pair) in left:
            left.remove(tuple(pair))
        else:
            keep.append(place)
    assert not left
    return pairs[:, keep]


def test_candidates_of_a_heterogeneous_graph_are_within_two_hops() -> None:
    for kind in ("to_hetero", "HeteroConv", "HGTConv"):
        assert ex.PyGModel(hetero(kind)).hops == 2
        edges = typed_graph()[1]
        for node in (0, 7, 20):
            _, said = hetero_explained(kind, "node", index=node)
            subgraph = ex.from_pyg(said, ex.PyGModel(hetero(kind))).context.subgraph
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
            assert len(subgraph) == len(wanted), (kind, node)
            assert subgraph.graph_edges == 115


@pytest.mark.parametrize("kind", ["to_hetero", "HeteroConv"])
def test_own_masks_of_a_heterogeneous_explanation(kind: str) -> None:
    """torch_geometric's fidelity does not take these; its masked predictions do."""
    explainer, said = hetero_explained(kind, "node", index=7)
    x, edges = typed_graph()
    found = ex.evaluate(None, [ex.from_pyg(said, ex.PyGModel(hetero(kind)))], convention="pyg")
    masks = said.collect("node_mask"), said.collect("edge_mask")
    others = [{name: 1 - each for name, each in part.items()} for part in masks]
    whole = explainer.get_prediction(x, edges)[7].argmax()
    for key, pair in (("neg_fidelity", masks), ("pos_fidelity", others)):
        masked = explainer.get_masked_prediction(x, edges, *pair)[7].argmax()
        assert found[key].value == float(masked != whole)


def test_types_that_are_unclear_are_asked_for() -> None:
    torch = peer("torch")
    _, said = hetero_explained("to_hetero", "edge", index=1, edge_label_index=torch.tensor([[4, 9], [7, 1]]))
    model = ex.PyGModel(hetero("to_hetero", "edge"), task="edge")
    with pytest.raises(GraphgaugeError, match=r'target_type=\("user", "movie"\)'):
        ex.from_pyg(said, model)
    with pytest.raises(GraphgaugeError, match="target_type"):
        ex.from_pyg(said, model, target_type=("author", "journal"))
    _, said = hetero_explained("to_hetero", "node", index=7)
    assert ex.from_pyg(said, ex.PyGModel(hetero("to_hetero"))).context.event == "paper:7"


def test_explainers_on_heterogeneous_data() -> None:
    pyg, data = peer("torch_geometric.explain"), peer("torch_geometric.data")
    x, edges = typed_graph()
    typed = data.HeteroData()
    for name, each in x.items():
        typed[name].x = each
    for name, each in edges.items():
        typed[name].edge_index = each
    explainer = pyg.Explainer(
        hetero("to_hetero"),
        pyg.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={**CONFIG, "task_level": "node"},
    )
    truth = {("author", "writes", "paper"): np.arange(40) < 20}
    said = ex.explain_pyg({"dummy": explainer}, typed, index=range(6), truth=truth)
    table = ex.collect(ex.PyGModel.of(explainer), said, levels=[0.3])
    found = ex.evaluate(table, metrics=["fidelity_drop", "truth_auc"])
    assert found["fidelity_drop@0.3"].n >= 4


# ------------------------------------------------------------------------------------- ways of masking


def test_whole_graph_is_the_same_for_all_ways_of_masking() -> None:
    x, edge_index = graph()
    _, said = explained(node_mask="object", x=x, edge_index=edge_index, index=2)
    for masked in ("edges", "nodes"):
        answers = []
        for masking in ("remove", "weight"):
            model = ex.PyGModel(network(), masking=masking)
            table = ex.collect(model, [ex.from_pyg(said, model, masked=masked)], levels=[0.3])
            assert table.settings.masking == masking
            answers.append(table.rows[0].outputs[0])
        assert np.allclose(answers, answers[0], atol=1e-5)


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
    assert "better than the random explainer" in found["Saliency"]["fidelity_drop@0.2"].interpretation
    assert found["Saliency"]["truth_auc"].value > 0.8
    assert "| Saliency |" in example.written(table, found)
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
    model = ex.PyGModel(module)
    start = process_time()
    table = ex.collect(model, ex.explain_pyg(explainer, data, range(0, 500, 10), model=model))
    table.save(tmp_path / "cora.jsonl")
    found = ex.evaluate(ex.read_table(tmp_path / "cora.jsonl"), metrics=["fidelity_drop"])
    assert process_time() - start < 60
    assert (tmp_path / "cora.jsonl").stat().st_size < 5e6
    assert found["fidelity_drop@0.1"].n == 50
