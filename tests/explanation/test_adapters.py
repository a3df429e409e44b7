"""Models and explanations in the shapes of other libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from tests.explanation.brute import random_explanations

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
    found = ex.evaluate(model, [explanation], model_output="probability", levels=(0.3,))
    assert found["fidelity_drop@0.3"].value == pytest.approx(abs(1 / (1 + np.exp(-1.5)) - 1 / (1 + np.exp(-2.5))))
    assert all(subgraph is explanation.context.subgraph.native for subgraph, *_ in model.asked)
    assert all(set(mask) <= {0, 1} for *_, mask in model.asked)
    table = ex.collect(OneMask(), [explanation], model_output="probability")
    assert len(model.asked) <= table.masks + 1  # one mask per call, and one for the check


def test_one_output_a_mask() -> None:
    class Scalar:
        def predict_proba_with_mask(self, subgraph: Any, target: Any, edge_mask: list[int]) -> float:
            return sum(edge_mask) / 20

    table = ex.collect(Scalar(), random_explanations(0, 1), model_output="probability")
    assert table.rows[0].outputs.shape[1] == 1


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
        (["a"], {}, "candidate_eidx: expected whole numbers"),
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


class Mean(torch.nn.Module):
    """A layer that adds the mean of its neighbours' features, with or without edge features; `batch` pools graphs."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.own, self.other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
        source, target = edge_index
        weight = torch.ones(len(source)) if edge_attr is None else edge_attr[:, 0]
        total = torch.zeros_like(x).index_add(0, target, x[source] * weight[:, None])
        count = torch.zeros(len(x)).index_add(0, target, torch.ones(len(source))).clamp(min=1)
        out = self.dropout(self.own(x) + self.other(total / count[:, None]))
        if batch is None:
            return out
        return torch.zeros(int(batch.max()) + 1, 2).index_add(0, batch, out)


def graph(seed: int, features: bool = False, event: Any = None) -> ex.Context:
    rng = np.random.default_rng(seed)
    nodes, edges = int(rng.integers(3, 6)), int(rng.integers(4, 9))
    subgraph = ex.Subgraph(
        rng.integers(0, nodes, (2, edges)),
        np.arange(nodes),
        node_features=rng.normal(size=(nodes, 3)),
        edge_features=rng.random((edges, 1)) if features else None,
        candidates=rng.permutation(edges)[: edges - 1],
    )
    return ex.Context(subgraph, int(rng.integers(nodes)), seed if event is None else event)


@pytest.mark.parametrize("task", ["node", "graph"])
@pytest.mark.parametrize("features", [False, True])
def test_the_union_of_all_masks_equals_one_graph_at_a_time(task: str, features: bool) -> None:
    module, contexts = Mean(), [graph(seed, features) for seed in range(5)]
    model = ex.PyGModel(module, task=task)
    rng = np.random.default_rng(0)
    masks = [rng.random((4, len(context.subgraph))) < 0.5 for context in contexts]
    module.train()
    together = [model.predict(c.subgraph, c.target, rows) for c, rows in zip(contexts, masks, strict=True)]
    assert module.training  # as it was
    module.eval()
    for context, rows, answers in zip(contexts, masks, together, strict=True):
        subgraph = context.subgraph
        for mask, answer in zip(rows, answers, strict=True):
            kept = np.ones(subgraph.edges, bool)
            kept[subgraph.candidates[~mask]] = False
            given: dict[str, Any] = {}
            if features:
                given["edge_attr"] = torch.tensor(np.array(subgraph.edge_features[kept]), dtype=torch.float32)
            if task == "graph":
                given["batch"] = torch.zeros(len(subgraph.nodes), dtype=torch.int64)
            x = torch.tensor(np.array(subgraph.node_features), dtype=torch.float32)
            with torch.no_grad():
                alone = module(x, torch.tensor(subgraph.edge_index[:, kept]), **given)
            expected = alone[0 if task == "graph" else context.target]
            torch.testing.assert_close(answer, expected, rtol=1e-5, atol=1e-6)


def test_a_module_is_asked_once_about_all_masks_of_an_event() -> None:
    contexts = [graph(seed) for seed in range(6)]
    explanations = [ex.Explanation(c, np.random.default_rng(c.event).random(len(c.subgraph))) for c in contexts]
    calls = []
    module = Mean()
    module.register_forward_hook(lambda *arguments: calls.append(1))
    table = ex.collect(ex.PyGModel(module), explanations)
    assert len(calls) == 12  # all masks of each event, and the check
    assert not table.notes
    assert ex.evaluate(table)["fidelity_drop@0.1"].n == 6


def test_modules_need_features_and_a_row() -> None:
    bare = ex.Context(ex.Subgraph([[0, 1], [1, 2]]), target=0)
    with pytest.raises(InputError, match="no node_features"):
        ex.collect(ex.PyGModel(Mean()), [ex.Explanation(bare, [1, 2])])
    context = graph(0)
    nowhere = ex.Context(context.subgraph, "a", 0)
    with pytest.raises(InputError, match="expected the row of a node, found 'a'"):
        ex.collect(ex.PyGModel(Mean()), [ex.Explanation(nowhere, np.ones(len(context.subgraph)))])
    with pytest.raises(OptionError):
        ex.PyGModel(Mean(), task="link")


class Said(dict):  # type: ignore[type-arg]
    """As torch_geometric's explanations: a mapping with attributes."""

    __getattr__ = dict.__getitem__


def test_explanations_of_torch_geometric() -> None:
    said = Said(
        x=torch.ones(3, 2),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_mask=torch.tensor([0.1, 0.3, 0.7, 0.9], requires_grad=True),
        index=torch.tensor([2]),
        edge_attr=torch.ones(4),
    )
    explanation = ex.from_pyg(said, explainer="gnn", event="e", seed=3, num_hops=3)
    assert explanation.context.target == 2
    assert explanation.context.subgraph.unit_count == 2
    assert explanation.context.subgraph.edge_features.shape == (4, 1)
    assert explanation.importance.tolist() == pytest.approx([0.1, 0.3, 0.7, 0.9])
    assert explanation.seed == 3
    with pytest.raises(InputError, match="has neither edge_mask nor node_mask"):
        ex.from_pyg(Said(x=torch.ones(3, 2), edge_index=said["edge_index"]), num_hops=2)
    for wrong in (None, 5):
        with pytest.raises(InputError, match="expected a torch_geometric Explanation"):
            ex.from_pyg(wrong)
    for changed, message in (
        ({"x": 5}, "node_features"),
        ({"edge_attr": "a"}, "edge_attr cannot be cut to a part of the graph: it is str"),
        ({"edge_index": None}, "edge_index"),
        ({"edge_mask": torch.ones(2)}, "importance"),
    ):
        with pytest.raises(InputError, match=message):
            ex.from_pyg(Said(said | changed), num_hops=2)


def test_targets_of_modules_are_nodes_of_their_own_graph() -> None:
    context = graph(0)
    for target in (-1, len(context.subgraph.nodes)):
        other = ex.Context(context.subgraph, target, 0)
        with pytest.raises(InputError, match=f"there is no node {target} among"):
            ex.collect(ex.PyGModel(Mean()), [ex.Explanation(other, np.ones(len(context.subgraph)))])


def test_modules_that_answer_something_else() -> None:
    class Pooled(Mean):
        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
            return super().forward(x, edge_index).mean(0, keepdim=True)

    class Named(Mean):
        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
            return {"out": x}

    explanation = ex.Explanation(graph(0), np.ones(len(graph(0).subgraph)))
    for task, what in (("node", "nodes"), ("graph", "graphs")):
        with pytest.raises(InputError, match=rf"answers of the module: \(1, 2\) for \d+ {what}"):
            ex.collect(ex.PyGModel(Pooled(), task=task), [explanation])
        with pytest.raises(InputError, match="dict for"):
            ex.collect(ex.PyGModel(Named(), task=task), [explanation])


def test_modules_that_fail_and_what_is_none() -> None:
    class Fails(Mean):
        def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, batch: Any = None) -> Any:
            return x @ torch.ones(7, 7)

    explanation = ex.Explanation(graph(0), np.ones(len(graph(0).subgraph)))
    module = Fails()
    module.train()
    with pytest.raises(InputError, match=r"module Fails\.forward: raised RuntimeError: mat1 and mat2") as caught:
        ex.collect(ex.PyGModel(module), [explanation])
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert module.training  # as it was
    for wrong in (None, 5, lambda x, edge_index: x):
        with pytest.raises(InputError, match="module: expected a torch module"):
            ex.PyGModel(wrong)


def test_without_torch_geometric_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    explanation = ex.Explanation(graph(0), np.ones(len(graph(0).subgraph)))
    with pytest.raises(MissingExtraError, match="Install it with: pip install torch_geometric"):
        ex.collect(ex.PyGModel(Mean(), masking="weight"), [explanation])
    assert len(ex.collect(ex.PyGModel(Mean()), [explanation])) == 1


# --------------------------------------------------------------------------- what can reach the target, without peers


class Layer(torch.nn.Module):
    """Looks like a message-passing layer: adds up what comes over the edges, times a weight, over degrees or not."""

    def __init__(self, normalize: bool = False, flow: str = "source_to_target") -> None:
        super().__init__()
        self.normalize, self.flow = normalize, flow

    def message(self, x: Any) -> Any:
        return x

    def propagate(self, x: Any, edge_index: Any, weight: Any) -> Any:
        source, target = edge_index if self.flow == "source_to_target" else edge_index.flip(0)
        if self.normalize:
            degree = torch.ones(len(x)).index_add(0, target, torch.ones(len(target)))
            weight = weight / (degree[source] * degree[target]).sqrt()
        return x + torch.zeros_like(x).index_add(0, target, self.message(x[source]) * weight[:, None])


class Net(torch.nn.Module):
    def __init__(self, layers: int = 2, **options: Any) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(**options) for _ in range(layers))
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(
        self,
        x: Any,
        edge_index: Any,
        edge_weight: Any = None,
        shift: Any = None,
        steps: int = 1,
        root_index: Any = None,
    ) -> Any:
        weight = torch.ones(edge_index.shape[1]) if edge_weight is None else edge_weight
        for _ in range(steps):
            for layer in self.layers:
                x = layer.propagate(x, edge_index, weight)
        return self.scale * (x if shift is None else x + shift)


# A path 0 → 1 → … → 9, and edges from 20, 21, … that enter it one after the other.
PATH = np.array([[*range(9), *range(20, 29)], [*range(1, 10), *range(9)]])


def asked(module: Any, index: int = 9, args: tuple[str, ...] = (), **given: Any) -> Said:
    x = torch.arange(58.0).reshape(29, 2) / 58
    with torch.no_grad():
        prediction = module(x, torch.tensor(PATH), **given)
    said = Said(
        x=x,
        edge_index=torch.tensor(PATH),
        edge_mask=torch.arange(18) / 18,
        index=torch.tensor([index]),
        prediction=prediction,
        **given,
    )
    object.__setattr__(said, "_model_args", list(args or given))
    return said


def numbers_of(explanation: ex.Explanation) -> list[int]:
    return np.rint(explanation.importance * 18).astype(int).tolist()


@pytest.mark.parametrize(
    ("module", "node", "edges", "context"),
    [
        (Net(1), 9, [8], []),
        (Net(2), 9, [7, 8, 17], []),  # 7 → 8 → 9, and 28 → 8
        (Net(3), 9, [6, 7, 8, 16, 17], []),
        (Net(1, normalize=True), 9, [8], [7, 17]),  # the degree of 8
        (Net(2, normalize=True), 9, [7, 8, 17], [6, 16]),
        (Net(2, flow="target_to_source"), 0, [0, 1], []),
        (Net(2, normalize=True, flow="target_to_source"), 0, [0, 1], [2]),
    ],
)
def test_candidates_are_what_can_reach_the_target(module: Net, node: int, edges: list[int], context: list[int]) -> None:
    found = ex.from_pyg(asked(module, node), ex.PyGModel(module))
    subgraph = found.context.subgraph
    assert numbers_of(found) == edges
    assert subgraph.nodes[subgraph.edge_index].tolist() == PATH[:, sorted(edges + context)].tolist()
    assert subgraph.nodes[found.context.target] == node
    whole = ex.PyGModel(module).predict(subgraph, found.context.target, np.ones((1, len(edges)), bool))
    torch.testing.assert_close(whole[0], asked(module, node)["prediction"][node])


def constant(kind: str) -> Any:
    return {"ones": torch.ones(29, 1), "zeros": torch.zeros(29, 1), "true": torch.ones(29, 1, dtype=torch.bool)}[kind]


@pytest.mark.parametrize("kind", ["ones", "zeros", "true"])
def test_features_that_are_the_same_everywhere(kind: str) -> None:
    """With constant features, only the number of messages shows: degrees and messages still differ."""

    class Shifted(Net):
        def forward(self, x: Any, edge_index: Any) -> Any:  # type: ignore[override]
            return super().forward(x.float() + 1, edge_index, steps=2)

    for normalize, context in ((False, 0), (True, 2)):
        module = Shifted(1, normalize=normalize)
        said = Said(asked(Net(1)), x=constant(kind), prediction=None)
        found = ex.from_pyg(said, ex.PyGModel(module))
        assert numbers_of(found) == [7, 8, 17]  # one layer, used twice
        assert found.context.subgraph.edges == 3 + context


def test_a_category_that_the_module_may_not_know_widens_the_candidates() -> None:
    class Embedded(Net):
        def __init__(self) -> None:
            super().__init__(1, normalize=True)
            self.table = torch.nn.Embedding(1, 2)

        def forward(self, x: Any, edge_index: Any) -> Any:  # type: ignore[override]
            return super().forward(self.table(x), edge_index)

    module = Embedded()
    for x in (torch.zeros(29, dtype=torch.int64), torch.zeros(29)):
        if x.is_floating_point():
            module.forward = lambda x, edge_index: Embedded.forward(module, x.long(), edge_index)  # type: ignore[method-assign]
        found = ex.from_pyg(Said(asked(Net(1)), x=x, prediction=None), ex.PyGModel(module))
        assert numbers_of(found) == [7, 8, 17]


@pytest.mark.parametrize(("steps", "candidates"), [(1, [1]), (2, [0, 1])])
def test_messages_that_return_to_the_target(steps: int, candidates: list[int]) -> None:
    """Of 0 → 1 → 0, the first edge carries a message in two steps only, though no node is further away."""
    module = Net(1, normalize=True)
    module.forward = lambda x, edge_index: Net.forward(module, x, edge_index, steps=steps)  # type: ignore[method-assign]
    said = Said(
        x=torch.tensor([[1.0], [3.0]]),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_mask=torch.tensor([0.0, 1.0]),
        index=0,
    )
    found = ex.from_pyg(said, ex.PyGModel(module))
    assert found.importance.tolist() == candidates
    assert found.context.subgraph.edges == 2


def test_noise_that_is_zero_where_no_message_travels_scores_chance() -> None:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 60, (2, 80))
    edge_index = np.concatenate([ends, ends[::-1]], axis=1)
    source, sink = edge_index
    x = torch.tensor(rng.normal(size=(60, 2)), dtype=torch.float32)
    module = Net(2, normalize=True)
    model, default, wider = ex.PyGModel(module), [], []
    for node in range(40):
        entering = sink == node
        near = entering | np.isin(sink, source[entering])  # two layers
        further = near | np.isin(sink, source[near])
        truth = near & (rng.random(160) < 0.5)
        if not truth.any() or truth[near].all() or near.sum() < 6:
            continue
        said = Said(
            x=x,
            edge_index=torch.tensor(edge_index),
            edge_mask=torch.tensor(np.where(near, rng.random(160), 0.0)),
            index=torch.tensor([node]),
        )
        default.append(ex.from_pyg(said, model, truth=truth))
        wider.append(ex.from_pyg(said, model, truth=truth, candidates=further))
        assert default[-1].context.event == node
        assert len(default[-1].importance) == near.sum()
        assert default[-1].context.subgraph.edges >= further.sum()
    scores = [ex.evaluate(model, each, metrics=["truth_auc"])["truth_auc"].value for each in (default, wider)]
    assert scores[0] == pytest.approx(0.5, abs=0.08)
    assert scores[1] > 0.65


def test_layers_that_reach_farther_than_they_are_many() -> None:
    module = Net(1)
    module.forward = lambda x, edge_index: Net.forward(module, x, edge_index, steps=3)  # type: ignore[method-assign]
    assert numbers_of(ex.from_pyg(asked(module), ex.PyGModel(module))) == [6, 7, 8, 16, 17]
    with pytest.raises(InputError, match="num_hops: edges beyond 1 hops change the answer of Net"):
        ex.from_pyg(asked(module), ex.PyGModel(module), num_hops=1)
    assert numbers_of(ex.from_pyg(asked(module), ex.PyGModel(module), num_hops=3)) == [6, 7, 8, 16, 17]


def test_events_are_named_by_the_index() -> None:
    module = Net(2)
    model, said = ex.PyGModel(module), [asked(module, node) for node in (7, 8, 9)]
    one, two = ([ex.from_pyg(each, model, explainer=name) for each in said] for name in ("one", "two"))
    assert [each.context.event for each in one] == [7, 8, 9]
    assert ex.from_pyg(said[0], model, event="seven").context.event == "seven"
    assert len(ex.collect(model, one + two)) == 3
    with pytest.raises(InputError, match=r"event 7 is explained twice by 'explainer', seed None.*\(explainer=\)"):
        ex.collect(model, [ex.from_pyg(each, model) for each in said * 2])
    pair = Said(asked(module), index=None, edge_label_index=torch.tensor([[1], [4]]))
    object.__setattr__(pair, "_model_args", ["edge_label_index"])
    object.__setattr__(pair, "_model_config", SimpleNamespace(task_level="edge"))
    assert ex.from_pyg(pair, num_hops=1).context.event == "1-4"


def test_events_without_an_index_are_not_pooled() -> None:
    whole = Said(asked(Net(2)), index=None)
    first, again, named = (ex.from_pyg(whole, candidates=range(18), explainer=name) for name in ("a", "a", "b"))
    assert first.context.event is None
    with pytest.raises(InputError, match=r"'a' explains the same subgraph and target twice, without event ids"):
        ex.write_explanations([first, again], "unwritten.jsonl")
    model = ex.PyGModel(Net(2), task="graph")
    model.predict = lambda subgraph, target, masks: masks.sum(1) / 20.0  # type: ignore[method-assign]
    table = ex.collect(model, [first, named])
    with pytest.raises(InputError, match=r"0 events have necessity_auc for all of a, b.*same id \(event=\)"):
        ex.compare(table, "necessity_auc")


def test_hops_that_are_given_without_a_model() -> None:
    module = Net(2, normalize=True)
    found = ex.from_pyg(asked(module), num_hops=2)
    subgraph = found.context.subgraph
    assert numbers_of(found) == [7, 8, 17]
    assert subgraph.edges == 5  # one hop more stays, and the answer with it
    whole = ex.PyGModel(module).predict(subgraph, found.context.target, np.ones((1, 3), bool))
    torch.testing.assert_close(whole[0], asked(module)["prediction"][9])
    for model in (None, ex.PyGModel(Mean())):
        with pytest.raises(OptionError, match="cannot determine which edges can reach the target"):
            ex.from_pyg(Said(asked(module), prediction=None), model)
    with pytest.raises(InputError, match="model: expected a PyGModel"):
        ex.from_pyg(asked(module), module)


def test_candidates_and_units_of_ones_own() -> None:
    module = Net(2)
    truth, units = np.arange(18) == 8, np.arange(18) // 9
    found = ex.from_pyg(asked(module), ex.PyGModel(module), candidates=[17, 8], units=units, truth=truth)
    assert numbers_of(found) == [8, 17]
    assert found.context.subgraph.edges == 3
    assert found.context.truth.tolist() == [True, False]
    assert found.context.subgraph.units.tolist() == [0, 1]
    everything = ex.from_pyg(asked(module), candidates=np.ones(18, bool))
    assert numbers_of(everything) == list(range(18))
    with pytest.raises(InputError, match="candidates: there is no edge 18 among 18"):
        ex.from_pyg(asked(module), candidates=[18])
    with pytest.raises(InputError, match="units"):
        ex.from_pyg(asked(module), candidates=[1], units=[0])


def test_all_that_a_module_takes_is_given_and_survives_a_file(tmp_path: Path) -> None:
    module = Net(2)
    given = {"edge_weight": torch.rand(18), "shift": torch.arange(29)[:, None]}
    model, said = ex.PyGModel(module), asked(module, **given)
    found = ex.from_pyg(said, model, event=0)
    ex.write_explanations([found], tmp_path / "e.jsonl")
    (read,) = ex.read_explanations(tmp_path / "e.jsonl")
    for each in (found, read):
        subgraph = each.context.subgraph
        assert subgraph.node_inputs["shift"].dtype == np.int64
        table = ex.collect(model, [each])
        np.testing.assert_allclose(table.rows[0].outputs[0], said["prediction"][9], rtol=1e-5)
        table.save(tmp_path / "t.jsonl")
        again = ex.read_table(tmp_path / "t.jsonl").rows[0].subgraph
        assert again.edge_inputs["edge_weight"].tolist() == subgraph.edge_inputs["edge_weight"].tolist()


def test_answers_that_were_not_explained_are_refused() -> None:
    module = Net(2)
    forgotten = Said(asked(module), prediction=asked(module, edge_weight=torch.rand(18))["prediction"])
    with pytest.raises(InputError, match=r"prediction: Net answers .* on the whole graph, but .* was explained"):
        ex.from_pyg(forgotten, ex.PyGModel(module))
    few = Said(asked(module), prediction=torch.ones(3, 2))
    with pytest.raises(InputError, match="prediction: 3 rows, but the target is row 9"):
        ex.from_pyg(few, ex.PyGModel(module))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": 2}, "steps cannot be cut to a part of the graph: it is int"),
        ({"root_index": torch.arange(29)}, "root_index cannot be cut .* node numbers"),
        ({"shift": torch.ones(1, 2)}, r"shift cannot be cut .* shape \(1, 2\) for 29 nodes and 18 edges"),
        ({"unknown": torch.ones(29)}, "was made with unknown, which Net.forward does not take"),
    ],
)
def test_inputs_that_cannot_be_cut_are_refused(given: dict[str, Any], said: str) -> None:
    explanation = Said(asked(Net(2)), **given)
    object.__setattr__(explanation, "_model_args", list(given))
    with pytest.raises(InputError, match=said):
        ex.from_pyg(explanation, ex.PyGModel(Net(2)))


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_selected_events_rank_first_also_next_to_infinities(infinite: float) -> None:
    said = result()
    said.importance_edges = np.array([0.1, infinite, 0.3])
    numbers = said.context.subgraph.payload["candidate_eidx"]
    said.extras = {"selected_eidx": [numbers[0], numbers[2]]}
    values = ex.from_result(said, src=np.arange(40), dst=np.arange(40) + 1).importance
    assert set(np.argsort(-values)[:2].tolist()) == {0, 2}


def test_candidates_of_a_result_are_listed_once() -> None:
    said = result()
    said.context.subgraph.payload["candidate_eidx"] = [3] * len(said.importance_edges)
    with pytest.raises(InputError, match="an event is listed twice"):
        ex.from_result(said, src=np.arange(40), dst=np.arange(40) + 1)


def test_candidates_of_an_explanation_are_listed_once() -> None:
    module = Net()
    for given in ([1, 1], np.eye(1, 18, dtype=np.int64)[0]):
        with pytest.raises(InputError, match="is listed twice"):
            ex.from_pyg(asked(module), ex.PyGModel(module), candidates=given)
