"""Models and explanations in the shapes of other libraries."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.explanation.brute import random_explanations
from tests.explanation.pyg_like import Data

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, MissingExtraError, OptionError

SRC, DST, TIME = np.array([10, 11, 12, 10, 13]), np.array([11, 12, 13, 12, 10]), np.array([1.0, 2.0, 2.5, 3.0, 4.0])


class OneMask:
    """A model in the original protocol's shape: a mask a call, a subgraph of its own kind."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def predict_proba(self, subgraph: Any, target: Any) -> list[float]:
        return self.predict_proba_with_mask(subgraph, target, [1] * len(subgraph.payload["candidate_eidx"]))

    def predict_proba_with_mask(self, subgraph: Any, target: Any, edge_mask: list[int]) -> list[float]:
        self.asked.append((subgraph, target, edge_mask))
        kept = sum(weight for weight, stays in zip((2.0, -1.0, 0.5), edge_mask, strict=True) if stays)
        return [1 - 1 / (1 + np.exp(-kept)), 1 / (1 + np.exp(-kept))]


def result() -> Any:
    subgraph = SimpleNamespace(payload={"candidate_eidx": [3, 0, 4]})
    context = SimpleNamespace(subgraph=subgraph, target=(10, 5.0))
    return SimpleNamespace(importance_edges=[0.2, 0.9, 0.1], context=context, elapsed_sec=0.25)


def test_results_of_the_original_protocol() -> None:
    explanation = ex.from_result(result(), src=SRC, dst=DST, time=TIME, explainer="theirs", event=7)
    subgraph = explanation.context.subgraph
    assert subgraph.nodes[subgraph.edge_index].tolist() == [[10, 10, 13], [12, 11, 10]]
    assert subgraph.times.tolist() == [3.0, 1.0, 4.0]
    assert explanation.context.target == (10, 5.0)
    assert explanation.elapsed == 0.25
    model = OneMask()
    found = ex.evaluate(model, [explanation], model_output="probability", metrics=["fidelity_drop@0.3"])
    assert found["fidelity_drop@0.3"].value == pytest.approx(abs(1 / (1 + np.exp(-1.5)) - 1 / (1 + np.exp(-2.5))))
    assert all(subgraph is explanation.context.subgraph.native for subgraph, *_ in model.asked)
    assert all(set(mask) <= {0, 1} for *_, mask in model.asked)
    table = ex.collect(OneMask(), [explanation], model_output="probability")
    assert len(model.asked) <= table.masks + 1  # one mask per call, and one for the check


@pytest.mark.parametrize("answer", [None, "yes", np.zeros((2, 2)), [np.nan, 0.5], [0.7, 0.7]])
def test_odd_answers_to_one_mask_are_the_models_own(answer: Any) -> None:
    class Odd:
        def predict_proba_with_mask(self, subgraph: Any, target: Any, edge_mask: list[int]) -> Any:
            return answer

    with pytest.raises(InputError, match=r"^Odd\.predict_proba_with_mask, answers of the model"):
        ex.collect(Odd(), random_explanations(0, 1), model_output="probability")


def test_results_that_lack_something() -> None:
    with pytest.raises(InputError, match="has no context with a subgraph"):
        ex.from_result(SimpleNamespace(context=None), src=SRC, dst=DST)
    for absent in ("importance_edges", "candidate_eidx"):
        bare = result()
        if absent == "importance_edges":
            del bare.importance_edges
        else:
            bare.context.subgraph.payload = None
        with pytest.raises(InputError, match=f"there is no {absent}"):
            ex.from_result(bare, src=SRC, dst=DST)
    with pytest.raises(InputError, match=r"3 candidates, but their edges have shape \(0,\)\. Pass src= and dst="):
        ex.from_result(result())
    far = result()
    far.context.subgraph.payload["candidate_eidx"] = [9]
    with pytest.raises(InputError, match="edge 9 is not among 5"):
        ex.from_result(far, src=SRC, dst=DST)


@pytest.mark.parametrize(
    ("numbers", "edges", "message"),
    [
        ([0, -1], {}, "candidate_eidx: edge -1 is not among 5"),
        ([0.5], {}, "candidate_eidx: expected whole numbers"),
        (["a"], {}, "candidate_eidx: expected numbers"),
        (None, {}, "there is no candidate_eidx"),
        ([[0], [1, 2]], {}, "candidate_eidx: rows of different lengths"),
        ([], {}, "importance: shape .* for 0 candidate edges"),
        ([3, 0, 4], {"dst": DST[:2]}, r"dst: expected shape \(5\), found \(2,\)"),
        ([3, 0, 4], {"time": TIME[:2]}, r"time: expected shape \(5\), found \(2,\)"),
        ([3, 0, 4], {"src": 5}, "src: expected a 1-D array"),
    ],
)
def test_results_whose_numbers_fit_no_edges(numbers: Any, edges: dict[str, Any], message: str) -> None:
    given = result()
    given.context.subgraph.payload["candidate_eidx"] = numbers
    with pytest.raises(InputError, match=message):
        ex.from_result(given, **{"src": SRC, "dst": DST, "time": TIME} | edges)


# --------------------------------------------------------------------------- modules, without torch_geometric


class Mean(torch.nn.Module):
    """A layer that adds the mean of its neighbours' features, with or without edge features; `batch` pools graphs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.own, self.other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        self.dropout = torch.nn.Dropout(0.5)

    def message(self, x: Any) -> Any:
        return x

    def propagate(self, x: Any, edge_index: Any, weight: Any) -> Any:
        source, target = edge_index
        total = torch.zeros_like(x).index_add(0, target, self.message(x[source]) * weight[:, None])
        count = torch.zeros(len(x)).index_add(0, target, torch.ones(len(source))).clamp(min=1)
        return total / count[:, None]

    def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
        weight = torch.ones(edge_index.shape[1]) if edge_attr is None else edge_attr[:, 0]
        out = self.dropout(self.own(x) + self.other(self.propagate(x, edge_index, weight)))
        return out if batch is None else torch.zeros(int(batch.max()) + 1, 2).index_add(0, batch, out)


def graph(seed: int, features: bool = False) -> Data:
    rng = np.random.default_rng(seed)
    nodes, edges = int(rng.integers(3, 6)), int(rng.integers(4, 9))
    given = {"edge_attr": torch.tensor(rng.random((edges, 1)), dtype=torch.float32)} if features else {}
    x = torch.tensor(rng.normal(size=(nodes, 3)), dtype=torch.float32)
    return Data(x=x, edge_index=torch.tensor(rng.integers(0, nodes, (2, edges))), **given)


def context(data: Data, event: int, target: Any = None) -> ex.Context:
    return ex.Context(ex.Subgraph(data.edge_index), 0 if target is None else target, event)


@pytest.mark.parametrize("task", ["node", "graph"])
@pytest.mark.parametrize("features", [False, True])
def test_the_union_of_all_masks_equals_one_graph_at_a_time(task: str, features: bool) -> None:
    module, rng = Mean(), np.random.default_rng(0)
    for seed in range(5):
        data = graph(seed, features)
        model, about = ex.PyGModel(module, data, task=task), context(data, seed)
        masks = rng.random((4, len(about.subgraph))) < 0.5
        module.train()
        together = model.predict(about.subgraph, 0, masks)
        assert module.training  # as it was
        module.eval()
        for mask, answer in zip(torch.tensor(masks), together, strict=True):
            given: dict[str, Any] = {"edge_attr": data.edge_attr[mask]} if features else {}
            if task == "graph":
                given["batch"] = torch.zeros(len(data.x), dtype=torch.int64)
            with torch.no_grad():
                alone = module(data.x, data.edge_index[:, mask], **given)
            np.testing.assert_allclose(answer, alone[0], rtol=1e-5, atol=1e-6)


def test_a_module_is_asked_once_about_all_masks_of_an_event() -> None:
    data = graph(3)
    edges = data.edge_index.shape[1]
    said = [
        ex.Explanation(context(data, node, node), np.random.default_rng(node).random(edges))
        for node in range(len(data.x))
    ]
    model = ex.PyGModel(Mean(), data)
    calls: list[int] = []
    model.part(0)
    for one in said:
        model.part(one.context.target)  # how the graph is cut is measured first
    model.module.register_forward_hook(lambda *arguments: calls.append(1))
    model.part = lambda target: model.everything  # type: ignore[method-assign]
    table = ex.collect(model, said)
    assert len(calls) == 2 * len(said)  # all masks of each event, and the check
    assert ex.evaluate(table, metrics="all")["fidelity_drop@0.1"].n == len(said)


def test_candidates_are_as_many_hops_away_as_there_are_layers() -> None:
    """A path 0 → 1 → … → 9; two layers count two edges, and what is farther is not asked about."""

    class Two(torch.nn.Module):
        def __init__(self, **options: Any) -> None:
            super().__init__()
            self.one, self.two = Mean(), Mean()
            self.one.flow = self.two.flow = options.get("flow", "source_to_target")

        def forward(self, x: Any, edge_index: Any) -> Any:
            edge_index = edge_index if self.one.flow == "source_to_target" else edge_index.flip(0)
            for layer in (self.one, self.two):
                x = x + layer.propagate(x, edge_index, torch.ones(edge_index.shape[1]))
            return x

    data = Data(x=torch.arange(30.0).reshape(10, 3), edge_index=torch.stack([torch.arange(9), torch.arange(1, 10)]))
    model = ex.PyGModel(Two(), data)
    assert model.candidates(9).tolist() == [7, 8]
    assert model.part(9).edges.tolist() == [6, 7, 8]
    assert model.candidates(9, "nodes").tolist() == [7, 8, 9]
    assert model.candidates(9, "features").tolist() == [0, 1, 2]
    assert ex.PyGModel(Two(flow="target_to_source"), data).candidates(0).tolist() == [0, 1]
    assert ex.PyGModel(Two(), data, num_hops=4).candidates(9).tolist() == [5, 6, 7, 8]

    class Plain(torch.nn.Module):
        def forward(self, x: Any, edge_index: Any) -> Any:
            return x

    with pytest.raises(OptionError, match=r"cannot determine what can reach the target: Plain .* num_hops="):
        ex.PyGModel(Plain(), data).candidates(9)
    assert ex.PyGModel(Plain(), data, num_hops=1).candidates(9).tolist() == [8]


def test_explanations_of_torch_geometric() -> None:
    data = Data(x=torch.ones(3, 3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), edge_attr=torch.ones(4, 1))
    said = Data(data, edge_mask=torch.tensor([0.1, 0.3, 0.7, 0.9], requires_grad=True), index=torch.tensor([2]))
    model = ex.PyGModel(Mean(), data, num_hops=3)
    explanation = ex.from_pyg(said, model, explainer="gnn", event="e", seed=3)
    assert explanation.context.target == 2
    assert explanation.context.subgraph.unit_count == 2
    assert explanation.importance.tolist() == pytest.approx([0.1, 0.3, 0.7, 0.9])
    assert explanation.seed == 3
    for changed, message in (
        ({"edge_mask": None}, "has neither edge_mask nor node_mask"),
        ({"edge_index": data.edge_index.flip(1)}, "the edges are not those of the model's data"),
        ({"edge_mask": torch.ones(2)}, r"edge_mask: shape \(2,\) for 4 edges"),
        ({"index": None}, "3 nodes were explained at once"),
    ):
        with pytest.raises(InputError, match=message):
            ex.from_pyg(Data(said | changed), model)
    only = ex.from_pyg(Data(said | {"index": torch.tensor([False, False, True])}), model)
    assert only.context.target == 2


@pytest.mark.parametrize("task", ["node", "graph"])
def test_explanations_of_other_data_are_refused(task: str) -> None:
    data = graph(1)
    edges = data.edge_index
    model = ex.PyGModel(Mean(), data, task=task)
    own = ex.Subgraph(edges, units="edges")
    assert len(model.predict(own, 0, np.ones((1, len(own)), bool))) == 1
    turned = ex.PyGModel(Mean(), Data(data, edge_index=edges.flip(1)), task=task)
    shorter = ex.PyGModel(Mean(), Data(data, edge_index=edges[:, 1:]), task=task)
    nodes = ex.Subgraph(np.empty((2, 0), int), [0, 7], ids=[0, 1], masked="nodes")
    features = ex.Subgraph(np.empty((2, 0), int), [], candidates=[0, 3], masked="features")
    for asked, subgraph in ((turned, own), (shorter, own), (model, nodes), (model, features)):
        with pytest.raises(
            InputError, match=rf"of {task} 0: .* \d is not in the model's data, or is another one there"
        ):
            asked.predict(subgraph, 0, np.ones((1, len(subgraph)), bool))


def test_a_target_that_was_not_explained_is_refused() -> None:
    data = graph(1)
    model = ex.PyGModel(Mean(), data, task="node")
    said = Data(data, edge_mask=torch.ones(data.edge_index.shape[1]), index=torch.tensor([2, 3]))
    assert ex.from_pyg(said, model, target=3).context.target == 3
    with pytest.raises(InputError, match=r"target: node 1 was not explained: the explanation's index is \[2, 3\]"):
        ex.from_pyg(said, model, target=1)


def test_an_explanation_of_another_graph_is_refused() -> None:
    parts = [graph(1), graph(1)]
    count, rows = parts[0].edge_index.shape[1], len(parts[0].x)
    both = Data(
        x=torch.cat([each.x for each in parts]),
        edge_index=torch.cat([each.edge_index + rows * place for place, each in enumerate(parts)], dim=1),
        batch=torch.arange(2).repeat_interleave(rows),
    )
    model = ex.PyGModel(Mean(), both, task="graph")
    second = ex.from_pyg(Data(both, edge_mask=torch.ones(2 * count)), model, target=1).context.subgraph
    masks = np.ones((1, count), bool)
    assert len(model.predict(second, 1, masks)) == 1
    with pytest.raises(InputError, match=r"which of 2 graphs was explained is not known\. Choose one with target="):
        ex.from_pyg(Data(both, edge_mask=torch.ones(2 * count)), model)
    with pytest.raises(InputError, match=f"explanation of graph 0: edge {count} is not in the model's data"):
        model.predict(second, 0, masks)


def test_data_that_a_module_cannot_be_asked_about() -> None:
    data = graph(0, features=True)
    edges = data.edge_index.shape[1]
    for changed, message in (
        ({"x": None}, "have no node features"),
        ({"edge_index": None}, "has no edge_index of two rows"),
        ({"edge_attr": torch.ones(edges + 9, 1)}, "edge_attr .* has no row for each of"),
        ({"edge_attr": "a"}, r"edge_attr \(str\) has no row for each of"),
    ):
        with pytest.raises(InputError, match=message):
            ex.PyGModel(Mean(), Data(data | changed, num_nodes=4))
    with pytest.raises(InputError, match='Only task="graph" takes several'):
        ex.PyGModel(Mean(), [data, data])


def test_targets_of_modules_exist() -> None:
    data = graph(0)
    for target, message in (
        (-1, "there is no node -1 among"),
        (9, "there is no node 9 among"),
        ("a", "the number of a"),
    ):
        said = ex.Explanation(context(data, 0, target), np.ones(data.edge_index.shape[1]))
        with pytest.raises(InputError, match=message):
            ex.collect(ex.PyGModel(Mean(), data), [said])
    with pytest.raises(OptionError):
        ex.PyGModel(Mean(), data, task="link")


def test_modules_that_answer_something_else() -> None:
    class Pooled(Mean):
        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
            return super().forward(x, edge_index).mean(0, keepdim=True)

    class Named(Mean):
        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
            return {"out": x}

    data = graph(0)
    explanation = ex.Explanation(context(data, 0), np.ones(data.edge_index.shape[1]))
    for task, what in (("node", "nodes"), ("graph", "graphs")):
        with pytest.raises(InputError, match=rf"answers of the module: \(1, 2\) for \d+ {what}"):
            ex.collect(ex.PyGModel(Pooled(), data, task=task), [explanation])
        with pytest.raises(InputError, match="dict for"):
            ex.collect(ex.PyGModel(Named(), data, task=task), [explanation])


def test_modules_that_fail() -> None:
    class Fails(Mean):
        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
            return x @ torch.ones(7, 7)

    data = graph(0)
    explanation = ex.Explanation(context(data, 0), np.ones(data.edge_index.shape[1]))
    module = Fails()
    module.train()
    with pytest.raises(InputError, match=r"module Fails\.forward: raised RuntimeError: mat1 and mat2") as caught:
        ex.collect(ex.PyGModel(module, data), [explanation])
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert module.training  # as it was
    for wrong in (None, 5, lambda x, edge_index: x):
        with pytest.raises(InputError, match="module: expected a torch module"):
            ex.PyGModel(wrong, data)


def test_without_torch_geometric_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    data = graph(0)
    explanation = ex.Explanation(context(data, 0), np.ones(data.edge_index.shape[1]))
    with pytest.raises(MissingExtraError, match="Install it with: pip install torch_geometric"):
        ex.collect(ex.PyGModel(Mean(), data, masking="weight"), [explanation])
    assert len(ex.collect(ex.PyGModel(Mean(), data), [explanation])) == 1


def test_events_without_an_index_are_not_pooled() -> None:
    data = graph(0)
    model = ex.PyGModel(Mean(), data, task="graph")
    said = Data(data, edge_mask=torch.rand(data.edge_index.shape[1]))
    first, named = (ex.from_pyg(said, model, explainer=name) for name in ("a", "b"))
    assert first.context.event is None
    with pytest.raises(InputError, match=r"0 events have necessity_auc for all of a, b.*same id \(event=\)"):
        ex.compare(ex.collect(model, [first, named]), "necessity_auc")


# --------------------------------------------------------------------------- results of time_to_explain


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_selected_events_rank_first_also_next_to_infinities(infinite: float) -> None:
    said = result()
    said.importance_edges = np.array([0.1, infinite, 0.3])
    numbers = said.context.subgraph.payload["candidate_eidx"]
    said.extras = {"selected_eidx": [numbers[0], numbers[2]]}
    values = ex.from_result(said, src=np.arange(40), dst=np.arange(40) + 1).importance
    assert set(np.argsort(-values)[:2].tolist()) == {0, 2}
