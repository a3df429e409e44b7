"""Agreement with torch_geometric's explanation metrics, and the table of the cases in which they differ.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/explanation.md`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import count, order
from tests.peers.agreement import assert_current, cases, peer, versions

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

TABLE = Path(__file__).parents[2] / "docs" / "agreement" / "explanation.md"
SHOWN = ("torch-geometric", "torch")
LEVELS = (0.1, 0.3, 0.5)


# ------------------------------------------------------------------------------------- a network and its masks


@cache
def network(layer: str, classes: int = 3) -> Any:
    torch, nn = peer("torch"), peer("torch_geometric.nn")
    torch.manual_seed(0)
    kinds = {"GCN": nn.GCN, "SAGE": nn.GraphSAGE, "GIN": nn.GIN}
    return kinds[layer](4, 8, 2, classes).eval()


@cache
def graph(seed: int, undirected: bool) -> tuple[Any, Any]:
    """Features, and edges with loops; undirected ones stand in both directions."""
    torch = peer("torch")
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 12, (2, 20))
    ends = np.unique(np.concatenate([ends, ends[::-1]], 1) if undirected else ends, axis=1)
    x = rng.normal(size=(12, 4)).astype(np.float32)
    return torch.tensor(x), torch.tensor(ends)


def explainer_of(module: Any, returns: str = "raw") -> Any:
    pyg = peer("torch_geometric.explain")
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": returns}
    return pyg.Explainer(
        module, pyg.DummyExplainer(), explanation_type="model", edge_mask_type="object", model_config=config
    )


def explanation_of(module: Any, data: tuple[Any, Any], node: int, edge_mask: Any, *, index: Any = None) -> Any:
    """As torch_geometric's explainers return it: the mask with what was predicted."""
    torch = peer("torch")
    x, edge_index = data
    with torch.no_grad():
        prediction = module(x, edge_index)
    found = peer("torch_geometric.explain").Explanation(
        x=x,
        edge_index=edge_index,
        edge_mask=torch.as_tensor(edge_mask, dtype=torch.float32),
        index=torch.tensor([node]) if index is None else index,
        prediction=prediction,
        target=prediction.argmax(-1),
    )
    found._model_args = []
    return found


def importances(data: tuple[Any, Any], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(data[1].shape[1])


def model_of(module: Any, data: tuple[Any, Any], **options: Any) -> ex.PyGModel:
    x, edge_index = data
    return ex.PyGModel(module, peer("torch_geometric.data").Data(x=x, edge_index=edge_index), **options)


def own(module: Any, data: tuple[Any, Any], masking: str = "weight") -> tuple[list[Any], ex.AnswerTable]:
    """Explanations of all nodes, and the module's outputs for them."""
    model = model_of(module, data, masking=masking)
    explanations = [
        ex.from_pyg(
            explanation_of(module, data, node, importances(data, node)), model, candidates=range(data[1].shape[1])
        )
        for node in range(12)
    ]  # torch_geometric's metrics mask all edges of the graph
    return explanations, ex.collect(model, explanations, sparsity_levels=LEVELS)


def hard_mask(explanation: ex.Explanation, level: float) -> np.ndarray:
    ranked = order(explanation)
    held = [edge for unit in ranked[: count(level, len(ranked))] for edge in unit]
    mask = np.zeros(len(explanation.importance))
    mask[held] = 1
    return mask


@pytest.mark.parametrize("seed", range(8))
def test_a_known_truth_against_torch_geometric(seed: int) -> None:
    torch, metric = peer("torch"), peer("torch_geometric.explain.metric")
    rng = np.random.default_rng(seed)
    ends = np.stack([np.arange(25), np.arange(1, 26)])
    truth, importance = rng.random(25) < 0.3, rng.permutation(25) / 25
    context = ex.Context(ex.Subgraph(ends), truth=truth, event=0)

    class Nothing:
        model_output = "logit"

        def predict(self, subgraph: Any, target: Any, masks: Any) -> Any:
            return np.zeros((len(masks), 2))

    found = ex.evaluate(
        Nothing(),
        [ex.Explanation(context, importance)],
        metrics=["truth_precision@0.4", "truth_recall@0.4", "truth_f1@0.4", "truth_auc"],
    )
    held = torch.zeros(25)
    held[np.argsort(-importance)[:10].copy()] = 1
    theirs = metric.groundtruth_metrics(held, torch.tensor(truth), ["precision", "recall", "f1_score"], threshold=0.5)
    for ours, value in zip(("precision", "recall", "f1"), theirs, strict=True):
        assert found[f"truth_{ours}@0.4"].value == pytest.approx(value, abs=1e-6)
    area = metric.groundtruth_metrics(torch.tensor(importance), torch.tensor(truth), "auroc")
    assert found["truth_auc"].value == pytest.approx(float(area), abs=1e-6)


def test_real_explainers_go_in() -> None:
    torch, pyg = peer("torch"), peer("torch_geometric.explain")
    module, (x, edge_index) = network("GCN"), graph(1, True)
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explainer = pyg.Explainer(
        module, pyg.GNNExplainer(epochs=5), explanation_type="model", edge_mask_type="object", model_config=config
    )
    torch.manual_seed(0)
    model = model_of(module, (x, edge_index))
    explanations = [
        ex.from_pyg(explainer(x, edge_index, index=node), model, explainer="GNNExplainer") for node in range(3)
    ]
    assert ex.evaluate(model, explanations)["necessity_auc"].n == 3


# ------------------------------------------------------------------------------------- what can reach the target


def reaching(kind: str) -> Any:
    """Networks whose layers reach one hop, look at degrees, reach several hops, or look at all nodes."""
    torch, nn = peer("torch"), peer("torch_geometric.nn")
    torch.manual_seed(1)
    if kind in ("GCN", "GraphSAGE", "GIN", "GAT"):
        return getattr(nn, kind)(4, 8, 2, 3).eval()
    layers = {
        "SGConv": [(nn.SGConv(4, 3, K=2), "x, edge_index -> x")],
        "ChebConv": [(nn.ChebConv(4, 3, K=3), "x, edge_index -> x")],
        "APPNP": [(nn.Linear(4, 3), "x -> x"), (nn.APPNP(K=3, alpha=0.1), "x, edge_index -> x")],
        "GraphNorm": [(nn.SAGEConv(4, 3), "x, edge_index -> x"), (nn.GraphNorm(3), "x -> x")],
        "against": [(nn.SAGEConv(4, 3, flow="target_to_source"), "x, edge_index -> x")],
    }
    return nn.Sequential("x, edge_index", layers[kind]).eval()


# How far their messages travel. GCN, SGConv, ChebConv and APPNP also look at degrees one hop further.
HOPS = {
    "GCN": 2,
    "GraphSAGE": 2,
    "GIN": 2,
    "GAT": 2,
    "SGConv": 2,
    "ChebConv": 2,
    "APPNP": 3,
    "GraphNorm": None,
    "against": 1,
}
KINDS = tuple(HOPS)


def entering(data: tuple[Any, Any], node: int, kind: str) -> set[int]:
    """The edges on paths to a node of as many edges as messages travel."""
    hops, (source, sink) = HOPS[kind], data[1].numpy()[:: -1 if kind == "against" else 1]
    if hops is None:
        return set(range(len(source)))
    reached, found = {node}, set()
    for _ in range(hops):
        found = {edge for edge, end in enumerate(sink.tolist()) if end in reached}
        reached |= set(source[list(found)].tolist())
    return found


@cache
def sparse_graph(undirected: bool) -> tuple[Any, Any]:
    """Large enough for most edges to lie beyond three hops of most nodes."""
    torch = peer("torch")
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 90, (2, 100))
    ends = np.concatenate([ends, ends[::-1]], 1) if undirected else ends
    return torch.tensor(rng.normal(size=(90, 4)).astype(np.float32)), torch.tensor(ends)


def that_matter(module: Any, data: tuple[Any, Any], node: int) -> set[int]:
    """The edges whose removal alone changes the answer, one by one."""
    torch = peer("torch")
    x, edge_index = data
    with torch.no_grad():
        whole = module(x, edge_index)[node]
        alone = [
            module(x, edge_index[:, torch.arange(edge_index.shape[1]) != edge])[node]
            for edge in range(edge_index.shape[1])
        ]
    return {edge for edge, answer in enumerate(alone) if not torch.allclose(answer, whole, atol=1e-5)}


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_candidates_are_the_edges_that_can_matter(kind: str, undirected: bool) -> None:
    module, data = reaching(kind), sparse_graph(undirected)
    model, edges = model_of(module, data), data[1].shape[1]
    for node in (0, 17, 40):
        found = ex.from_pyg(explanation_of(module, data, node, np.arange(edges) / edges), model)
        subgraph = found.context.subgraph
        assert found.importance == pytest.approx(subgraph.ids / edges)
        assert that_matter(module, data, node) <= set(model.part(node).edges.tolist())
        assert set(subgraph.ids.tolist()) == entering(data, node, kind)
        assert (subgraph.nodes[subgraph.edge_index] == data[1].numpy()[:, subgraph.ids]).all()
        assert found.context.target == node
        if kind != "GraphNorm":
            assert len(subgraph) < edges / 2


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "GraphNorm"])  # it looks at all copies at once
@pytest.mark.parametrize("masking", ["remove", "weight"])
def test_answers_are_those_of_the_whole_graph_with_the_masked_edges(kind: str, masking: str) -> None:
    torch = peer("torch")
    module, (x, edge_index) = reaching(kind), sparse_graph(True)
    model, rng = model_of(module, (x, edge_index), masking=masking), np.random.default_rng(0)
    explainer = explainer_of(module)
    for node in (0, 17):
        edges = model.candidates(node)
        masks = rng.random((6, len(edges))) < 0.6
        subgraph = ex.Subgraph(edge_index[:, edges], units="edges", ids=edges)
        for answer, mask in zip(model.predict(subgraph, node, masks), masks, strict=True):
            kept = torch.ones(edge_index.shape[1])
            kept[edges] = torch.tensor(mask).float()
            with torch.no_grad():
                if masking == "remove":
                    wanted = module(x, edge_index[:, kept.bool()])[node]
                else:
                    wanted = explainer.get_masked_prediction(x, edge_index, None, kept)[node]
            np.testing.assert_allclose(answer, wanted, rtol=1e-4, atol=1e-5)


def repeated(steps: int, size: int = 4, classes: int = 0) -> Any:
    """One layer, used several times, on features or on what a table has for classes."""
    torch, nn = peer("torch"), peer("torch_geometric.nn")

    class Repeated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GraphConv(size, size)
            self.table = torch.nn.Embedding(classes, size) if classes else torch.nn.Identity()

        def forward(self, x: Any, edge_index: Any) -> Any:
            x = self.table(x)
            for _ in range(steps):
                x = self.layer(x, edge_index).tanh()
            return x

    torch.manual_seed(0)
    return Repeated().eval()


@pytest.mark.parametrize("features", ["different", "ones", "categories"])
def test_layers_that_are_used_more_often_than_they_are_many(features: str) -> None:
    """Messages over other edges are stopped to see it, so it is no matter what the features are."""
    torch = peer("torch")
    x, edge_index = sparse_graph(True)
    x = x if features == "different" else torch.ones_like(x)
    x = torch.zeros(90, dtype=torch.long) if features == "categories" else x
    module = repeated(3, classes=int(features == "categories"))
    model = model_of(module, (x, edge_index))
    assert set(model.candidates(17).tolist()) == entering((x, edge_index), 17, "APPNP")  # also three steps
    with pytest.raises(InputError, match="num_hops: edges beyond 1 hops change the answer of"):
        model_of(module, (x, edge_index), num_hops=1).candidates(17)
    assert (model_of(module, (x, edge_index), num_hops=3).candidates(17) == model.candidates(17)).all()


@pytest.mark.parametrize(("steps", "candidates"), [(1, [1]), (2, [0, 1])])
def test_messages_that_return_to_the_target(steps: int, candidates: list[int]) -> None:
    """Of 0 → 1 → 0, the first edge carries a message in two steps only, though no node is further away."""
    torch = peer("torch")
    data = torch.tensor([[1.0], [3.0]]), torch.tensor([[0, 1], [1, 0]])
    assert model_of(repeated(steps, 1), data).candidates(0).tolist() == candidates


def test_noise_among_what_can_matter_is_no_explanation() -> None:
    """Among all edges of a graph, noise near the target looks like an explanation."""
    module, data = reaching("GraphSAGE"), sparse_graph(True)
    model, edges = model_of(module, data), data[1].shape[1]
    rng = np.random.default_rng(0)
    everywhere, near = [], []
    for node in range(30):
        mask = np.zeros(edges)
        mask[model.candidates(node)] = rng.random(len(model.candidates(node)))
        said = explanation_of(module, data, node, mask)
        everywhere.append(ex.from_pyg(said, model, candidates=range(edges)))
        near.append(ex.from_pyg(said, model))
    checks = [{each.check for each in ex.evaluate(model, said).findings} for said in (everywhere, near)]
    assert "random-not-beaten" not in checks[0]
    assert "random-not-beaten" in checks[1]


@pytest.mark.parametrize("kind", ["GCN", "SGConv"])
def test_noise_that_is_zero_beyond_the_messages_scores_chance(kind: str) -> None:
    """As explainers that learn masks: no gradient reaches an edge that carries no message, so its mask stays 0."""
    module, data = reaching(kind), sparse_graph(True)
    model, edges = model_of(module, data), data[1].shape[1]
    rng = np.random.default_rng(0)
    explanations = []
    for node in range(60):
        near = np.isin(np.arange(edges), list(entering(data, node, kind)))
        truth = near & (rng.random(edges) < 0.5)
        if near.sum() >= 6 and truth.any() and not truth[near].all():
            found = ex.from_pyg(explanation_of(module, data, node, np.arange(edges) / edges), model, truth=truth)
            for seed in range(6):  # one draw per node is too few: its standard error is 0.04
                noise = np.where(near, rng.random(edges), 0)[found.context.subgraph.ids]
                explanations.append(ex.Explanation(found.context, noise, "noise", seed=seed))
    assert len(explanations) > 6 * 30
    score = ex.evaluate(model, explanations, metrics=["truth_auc"])["truth_auc"]
    assert score.value == pytest.approx(0.5, abs=0.08)


def test_learned_masks_have_no_free_edges() -> None:
    pyg, torch = peer("torch_geometric.explain"), peer("torch")
    module, data = reaching("GCN"), sparse_graph(True)
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explainer = pyg.Explainer(
        module, pyg.GNNExplainer(epochs=5), explanation_type="model", edge_mask_type="object", model_config=config
    )
    torch.manual_seed(0)
    model = model_of(module, data)
    for node in (17, 40):
        found = ex.from_pyg(explainer(*data, index=node), model, explainer="GNNExplainer")
        assert found.context.event == node
        assert (found.importance > 0).all()
        assert len(model.part(node).edges) > len(found.importance)


def test_stored_events_hold_what_can_matter(tmp_path: Path) -> None:
    module, data = reaching("GCN"), sparse_graph(True)
    model, said = model_of(module, data), explanation_of(module, data, 3, importances(data, 3))
    sizes = []
    for candidates in (None, range(data[1].shape[1])):
        found = ex.from_pyg(said, model, event=3, candidates=candidates)
        ex.write_explanations([found], tmp_path / "e.jsonl")
        sizes.append((tmp_path / "e.jsonl").stat().st_size)
        (again,) = ex.read_explanations(tmp_path / "e.jsonl")
        assert again.context.subgraph.ids.tolist() == found.context.subgraph.ids.tolist()
    assert sizes[0] < sizes[1] / 2


def explained(
    module: Any, level: str, data: tuple[Any, Any], mode: str = "multiclass_classification", **given: Any
) -> Any:
    """By torch_geometric itself."""
    pyg = peer("torch_geometric.explain")
    config = {"mode": mode, "task_level": level, "return_type": "raw"}
    explainer = pyg.Explainer(
        module, pyg.DummyExplainer(), explanation_type="model", edge_mask_type="object", model_config=config
    )
    return explainer(*data, **given)


def test_what_a_module_was_given_is_given_again() -> None:
    torch, make = peer("torch"), peer("torch_geometric.data").Data
    x, edge_index = sparse_graph(True)
    weight, attr = torch.rand(edge_index.shape[1]), torch.rand(edge_index.shape[1], 2)
    torch.manual_seed(0)
    cases = [("GCN", {"edge_weight": weight}, {}), ("GAT", {"edge_attr": attr}, {"edge_dim": 2})]
    for kind, given, options in cases:
        module = getattr(peer("torch_geometric.nn"), kind)(4, 8, 2, 3, **options).eval()
        said = explained(module, "node", (x, edge_index), index=11, **given)
        model = ex.PyGModel(module, make(x=x, edge_index=edge_index, **given))
        outputs = next(iter(ex.collect(model, [ex.from_pyg(said, model)]))).outputs
        np.testing.assert_allclose(outputs[0], said.prediction[11], rtol=1e-4, atol=1e-5)
        assert not np.allclose(said.prediction[11], module(x, edge_index)[11].detach(), atol=1e-3)
        with pytest.raises(InputError, match=r"on the whole graph, but .* was explained"):
            ex.from_pyg(said, ex.PyGModel(module, make(x=x, edge_index=edge_index)))
    whole = make(x=x, edge_index=edge_index, edge_weight=torch.rand(3))
    with pytest.raises(InputError, match=r"edge_weight \(\(3,\)\) has no row for each of 90 nodes or 200 edges"):
        ex.PyGModel(peer("torch_geometric.nn").GCN(4, 8, 2, 3), whole)


def test_explanations_of_another_graph_or_module_are_refused() -> None:
    torch = peer("torch")
    module, (x, edge_index) = network("GCN"), graph(1, True)
    said = explained(module, "node", (x, edge_index), index=2)
    with pytest.raises(InputError, match="the edges are not those of the model's data"):
        ex.from_pyg(said, model_of(module, (x, edge_index.flip(1))))
    with pytest.raises(InputError, match=r"GIN answers .* on the whole graph, but .* was explained"):
        ex.from_pyg(said, model_of(network("GIN"), (x, edge_index)))
    with pytest.raises(InputError, match="explains a node-level model, but PyGModel has task='graph'"):
        ex.from_pyg(said, model_of(module, (x, edge_index), task="graph"))
    with pytest.raises(InputError, match="expected a PyGModel"):
        ex.from_pyg(said, module)
    with pytest.raises(InputError, match="expected a torch_geometric Explanation"):
        ex.from_pyg(5, model_of(module, (x, edge_index)))
    bare = peer("torch_geometric.explain").Explanation(x=x, edge_index=edge_index, index=torch.tensor(1))
    with pytest.raises(InputError, match="has neither edge_mask nor node_mask"):
        ex.from_pyg(bare, model_of(module, (x, edge_index)))


def test_candidates_and_units_of_ones_own() -> None:
    module, data = network("GCN"), graph(1, True)
    model, edges = model_of(module, data), data[1].shape[1]
    said = explained(module, "node", data, index=2)
    truth, units = np.arange(edges) == 8, np.arange(edges) // 9
    found = ex.from_pyg(said, model, candidates=[8, 17], units=units, truth=truth)
    assert found.context.subgraph.ids.tolist() == [8, 17]
    assert found.context.truth.tolist() == [True, False]
    assert found.context.subgraph.units.tolist() == [0, 1]
    everything = ex.from_pyg(said, model, candidates=np.ones(edges, bool), units="edges")
    assert everything.context.subgraph.unit_count == edges > ex.from_pyg(said, model).context.subgraph.unit_count
    for wrong in ([edges], [1, 1], [[1]]):
        with pytest.raises(InputError, match="candidates: expected different numbers below"):
            ex.from_pyg(said, model, candidates=wrong)
    with pytest.raises(InputError, match="units"):
        ex.from_pyg(said, model, units=[0])


def test_a_pair_of_nodes() -> None:
    torch, nn = peer("torch"), peer("torch_geometric.nn")
    torch.manual_seed(0)
    data = sparse_graph(True)
    pairs = torch.tensor([[1, 30, 7], [2, 60, 50]])
    linked = nn.Sequential(
        "x, edge_index, edge_label_index",
        [
            (nn.SAGEConv(4, 8), "x, edge_index -> h"),
            (lambda h, pairs: (h[pairs[0]] * h[pairs[1]]).sum(-1), "h, edge_label_index -> h"),
        ],
    ).eval()
    model = model_of(linked, data, task="edge")
    said = explained(linked, "edge", data, "binary_classification", edge_label_index=pairs, index=1)
    found = ex.from_pyg(said, model)
    assert found.context.target == [30, 60] == ex.from_pyg(said, model, target=[30, 60]).context.target
    assert found.context.event == "30-60"
    subgraph = found.context.subgraph
    assert set(subgraph.nodes[subgraph.edge_index[1]]) <= {30, 60}  # one layer: what enters either
    outputs = next(iter(ex.collect(model, [found]))).outputs
    np.testing.assert_allclose(outputs[0], [said.prediction[1]], rtol=1e-4, atol=1e-5)


def test_modules_that_keep_their_first_graph_are_refused() -> None:
    nn = peer("torch_geometric.nn")
    with pytest.raises(InputError, match="cached=True"):
        model_of(
            nn.Sequential("x, edge_index", [(nn.GCNConv(4, 3, cached=True), "x, edge_index -> x")]), graph(1, True)
        )


# ------------------------------------------------------------------------------------- where conventions differ


def shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def answer(call: Callable[[], Any]) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return shown(call())
    except Exception as error:
        return type(error).__name__


class Majority:
    """Answers 1 while at least `share` of the edges are there: dropping 30 % then changes nothing, keeping 30 % all."""

    model_output = "probability"

    def __init__(self, share: float) -> None:
        self._share = share

    def predict(self, subgraph: Any, target: Any, masks: Any) -> Any:
        return (masks.mean(1) >= self._share).astype(float)


def ours(call: Callable[[], Any]) -> str:
    try:
        return shown(call())
    except InputError:
        return "InputError"


def rows() -> list[list[str]]:
    torch, metric = peer("torch"), peer("torch_geometric.explain.metric")
    module, data = network("GCN"), graph(1, True)
    explanations, table = own(module, data)
    removed = own(module, data, "remove")[1]
    both = ex.evaluate(table, metrics="all")

    def mean(call: Callable[..., float], masks: Callable[[ex.Explanation], Any], returns: str = "raw") -> float:
        asked = explainer_of(module, returns)
        said = (explanation_of(module, data, node, masks(explanations[node])) for node in range(12))
        return float(np.mean([call(asked, one) for one in said]))

    def unfaithful(masks: Callable[[ex.Explanation], Any], returns: str = "raw") -> float:
        return mean(metric.unfaithfulness, masks, returns)

    def hard(one: ex.Explanation) -> Any:
        return hard_mask(one, 0.3)

    def spoiled(one: ex.Explanation) -> Any:
        return np.where(np.arange(len(one.importance)) == 0, np.nan, one.importance)

    def score(*fidelities: float) -> float:
        return float(metric.characterization_score(*map(torch.tensor, fidelities)))

    def of_majority(key: str, share: float) -> float:
        return ex.evaluate(Majority(share), explanations, metrics=[key])[key].value

    soft = shown(both["unfaithfulness@0.3"].value)
    without = ex.evaluate(removed, metrics=["fidelity_drop@0.3"])["fidelity_drop@0.3"].value
    bare = [ex.Explanation(explanations[0].context, spoiled(explanations[0]))]
    wrong = model_of(module, data, model_output="probability")
    return [
        [
            "labels that change without the top 30 %",
            "`label_flip_drop`",
            shown(both["label_flip_drop@0.3"].value),
            "`fidelity`, first number",
            answer(lambda: mean(lambda *asked: metric.fidelity(*asked)[0], hard)),
        ],
        [
            "labels that change with only the top 30 %",
            "`label_flip_keep`",
            shown(both["label_flip_keep@0.3"].value),
            "`fidelity`, second number",
            answer(lambda: mean(lambda *asked: metric.fidelity(*asked)[1], hard)),
        ],
        [
            "unfaithfulness of the same masks",
            "KL(whole graph ‖ explanation)",
            soft,
            "`unfaithfulness`, which documents the first and computes the second",
            answer(lambda: unfaithful(hard)),
        ],
        [
            "the same, the node given as a number",
            "the same number",
            soft,
            "`unfaithfulness` if `index` is not a tensor: the divergence is divided by the number of classes",
            answer(
                lambda: float(
                    np.mean(
                        [
                            metric.unfaithfulness(
                                explainer_of(module), explanation_of(module, data, node, hard(one), index=node)
                            )
                            for node, one in enumerate(explanations)
                        ]
                    )
                )
            ),
        ],
        [
            "importances as a soft mask",
            "importances are ranked and cut: their scale does not matter",
            soft,
            "`unfaithfulness` of the soft mask",
            answer(lambda: unfaithful(lambda one: one.importance)),
        ],
        [
            "the same importances divided by 10",
            "the same number, because the order is the same",
            soft,
            "`unfaithfulness` of the soft mask",
            answer(lambda: unfaithful(lambda one: one.importance / 10)),
        ],
        [
            "`fidelity_drop` of the top 30 % in a GCN",
            '`masking="remove"`: the degrees also change',
            shown(without),
            'messages times 0, `masking="weight"` here',
            shown(both["fidelity_drop@0.3"].value),
        ],
        [
            "logits declared as probabilities",
            "names the value",
            ours(lambda: ex.collect(wrong, explanations)),
            '`unfaithfulness` with `return_type="probs"`',
            answer(lambda: unfaithful(hard, "probs")),
        ],
        [
            "a NaN importance",
            "names the first",
            ours(lambda: ex.collect(model_of(module, data), bare)),
            "`unfaithfulness`",
            answer(lambda: unfaithful(spoiled)),
        ],
        [
            "characterization of fidelities 0 and 0",
            "the harmonic mean of 0 and 1",
            ours(lambda: of_majority("characterization@0.3", 0.0)),
            "`characterization_score`",
            answer(lambda: score(0.0, 0.0)),
        ],
        [
            "characterization of fidelities 0 and 1, both at their worst",
            "the harmonic mean of 0 and 0",
            ours(lambda: of_majority("characterization@0.3", 0.5)),
            "`characterization_score`",
            answer(lambda: score(0.0, 1.0)),
        ],
    ]


def table_text() -> str:
    return "\n".join(
        [
            "# Where explanation metrics differ between libraries",
            "",
            "<!-- Written by tests/peers/test_explanation_peers.py; GRAPHGAUGE_REGENERATE=1 rewrites it. -->",
            "",
            "Libraries give the names [fidelity plus and minus](../conventions.md#fidelity) to different metrics.",
            "`pyg_metrics(explainer, explanations)` returns torch_geometric's own numbers, of an explanation's",
            "masks as they are. Precision, recall, F1 and AUROC against a known truth agree with it.",
            '`protocol="time_to_explain"` equals that library\'s code, at commit 239f3f2, on 60 random cases: single',
            "outputs and classes, logits and probabilities, ties, selected events, levels that fall on halves.",
            "",
            "The cases below are of a GCN of two layers on an undirected graph of 12 nodes, with a random",
            "importance for every edge: first graphgauge's value and rule, then what torch_geometric returns.",
            "",
            f"Observed with {versions(SHOWN)}.",
            "",
            *cases(rows()),
            "",
        ]
    )


def test_the_table_of_differences_is_current() -> None:
    assert_current(TABLE, table_text())
