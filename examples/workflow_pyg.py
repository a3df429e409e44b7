"""Two graph autoencoders of PyG, scored as OGB does: positives against one pool of negatives.

pip install graphgauge torch_geometric networkx
python examples/workflow_pyg.py
"""

from __future__ import annotations

import networkx as nx
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GAE, GCNConv, SAGEConv
from torch_geometric.transforms import RandomLinkSplit
from torch_geometric.utils import from_networkx

from graphgauge import ranking
from graphgauge.stats import compare


class Encoder(torch.nn.Module):
    def __init__(self, layer: type[torch.nn.Module], nodes: int) -> None:
        super().__init__()
        self.first, self.second = layer(nodes, 32), layer(32, 16)

    def forward(self, features: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(features, edges).relu(), edges)


def trained(seed: int = 0, epochs: int = 150) -> tuple[Data, Data, dict[str, GAE]]:
    """Les Misérables, which ships with networkx, split into training and test edges, and two models."""
    torch.manual_seed(seed)
    data = from_networkx(nx.les_miserables_graph())
    data.x = torch.eye(data.num_nodes)
    split = RandomLinkSplit(
        is_undirected=True,
        num_val=0.0,
        num_test=0.3,
        neg_sampling_ratio=8.0,
        split_labels=True,
        add_negative_train_samples=False,
    )
    train, _, test = split(data)
    models = {}
    for name, layer in (("GCN", GCNConv), ("SAGE", SAGEConv)):
        torch.manual_seed(seed + 1)
        model = GAE(Encoder(layer, data.num_nodes))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(epochs):
            optimizer.zero_grad()
            model.recon_loss(model.encode(train.x, train.edge_index), train.pos_edge_label_index).backward()
            optimizer.step()
        models[name] = model.eval()
    return train, test, models


def main() -> None:
    # begin
    runs = {"GCN": {}, "SAGE": {}}
    for seed in range(6):
        train, test, models = trained(seed)
        for name, model in models.items():
            z = model.encode(train.x, train.edge_index).detach()
            pos, neg = (model.decode(z, edges) for edges in (test.pos_edge_label_index, test.neg_edge_label_index))
            runs[name][seed] = ranking.evaluate(pos, neg, k=[10, 20, 50])
    print(runs["GCN"][0])
    print(compare(runs, metric="mrr"))
    # end


if __name__ == "__main__":
    main()
