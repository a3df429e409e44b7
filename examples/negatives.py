"""Who ranks well depends on the negatives: characters of Les Misérables, three scorers, four ways to draw negatives.

The graph (Knuth 1993; 77 characters, 254 pairs that appear together) ships with networkx:

    pip install 'graphgauge[frames]'
    python examples/negatives.py
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from graphgauge import ranking
from graphgauge.core.result import Evaluation

K = 30
SAMPLERS = ("uniform", "degree", "heart")


def split(seed: int = 0) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of nodes, the edges for training, and those to predict."""
    graph = nx.convert_node_labels_to_integers(nx.les_miserables_graph(), ordering="sorted")
    edges = np.random.default_rng(seed).permutation(np.array(graph.edges))
    return len(graph), edges[76:], edges[:76]


def scorers(nodes: int, train: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of all pairs, from the training edges alone."""
    known = np.zeros((nodes, nodes))
    known[train[:, 0], train[:, 1]] = known[train[:, 1], train[:, 0]] = 1
    degree = known.sum(axis=0)
    weight = 1 / np.log(np.maximum(degree, 2))
    values, vectors = np.linalg.eigh(known)
    largest = np.argsort(np.abs(values))[-8:]
    return {
        "popularity": np.outer(degree, degree),
        "Adamic-Adar": known @ (weight[:, None] * known),
        "embedding": (vectors[:, largest] * values[largest]) @ vectors[:, largest].T,
    }


def evaluate(scores: np.ndarray, drawn: ranking.Negatives) -> Evaluation:
    heads, tails = drawn.edges.T
    wrong = drawn.corrupted  # (n, k, 2): both ends of each negative
    return ranking.evaluate(
        scores[heads, tails], scores[wrong[:, :, 0], wrong[:, :, 1]], ties="expected", negatives=drawn, keep="items"
    )


def table() -> dict[str, dict[str, Evaluation]]:
    nodes, train, test = split()
    known = scorers(nodes, train)
    found = {}
    for sampler in SAMPLERS:
        history = None if sampler == "uniform" else train
        drawn = ranking.negatives(
            test, sampler, k=K, known=train, history=history, nodes=nodes, side="both", directed=False
        )
        found[sampler] = {name: evaluate(scores, drawn) for name, scores in known.items()}
    return found


def main() -> None:
    found = table()
    print(
        f"MRR of {len(split()[2])} held-out edges among {K} negatives each; a random scorer has "
        f"{found['uniform']['popularity']['mrr'].chance[-1].value:.3f}\n"
    )
    print(f"{'':12}", *(f"{sampler:>22}" for sampler in SAMPLERS))
    for name in found["uniform"]:
        cells = (found[sampler][name]["mrr"] for sampler in SAMPLERS)
        print(f"{name:12}", *(f"{cell:>7.3f} [{cell.ci.low:.3f}, {cell.ci.high:.3f}]" for cell in cells))
    for sampler in SAMPLERS:
        first, second = (found[sampler][name].per_item for name in ("embedding", "Adamic-Adar"))
        test = ranking.compare(first, second)
        print(f"\n{sampler}: embedding − Adamic-Adar = {test.mean_difference:+.3f}, p = {test.p_value:.3g}", end="")
    print()


if __name__ == "__main__":
    main()
