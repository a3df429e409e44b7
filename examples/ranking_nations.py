"""Nations: two embedding models and a frequency baseline, ranked against all entities under several protocols.

The 14 countries and 55 relations of Nations (Kemp et al. 2006) ship as text files with PyKEEN, which is not imported:

    pip install graphgauge pykeen
    python examples/ranking_nations.py                  # or: … path/to/folder/with/train.txt,valid.txt,test.txt
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphgauge import ranking
from graphgauge.core.result import Evaluation


@dataclass(frozen=True)
class Graph:
    """Triples (n, 3) of entity, relation, entity, by number."""

    entities: list[str]
    relations: list[str]
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray

    @classmethod
    def read(cls, folder: Path) -> Graph:
        parts = [np.loadtxt(folder / f"{part}.txt", dtype=str, delimiter="\t") for part in ("train", "valid", "test")]
        triples = np.concatenate(parts)
        entities = sorted({*triples[:, 0], *triples[:, 2]})
        relations = sorted({*triples[:, 1]})
        columns = [
            np.searchsorted(names, triples[:, place]) for place, names in enumerate((entities, relations, entities))
        ]
        numbers = np.stack(columns, axis=1)
        return cls(entities, relations, *np.split(numbers, np.cumsum([len(part) for part in parts])[:-1]))


def nations() -> Path:
    """The folder of PyKEEN's files, found without importing it."""
    found = importlib.util.find_spec("pykeen")
    if found is None or not found.submodule_search_locations:
        sys.exit(
            "Nations ships with PyKEEN: pip install pykeen, or name a folder with train.txt, valid.txt and test.txt."
        )
    return Path(found.submodule_search_locations[0]) / "datasets" / "nations"


class Adam:
    """Adam on a dictionary of arrays, changed in place."""

    def __init__(self, weights: dict[str, np.ndarray], rate: float) -> None:
        self.weights, self.rate, self.step = weights, rate, 0
        self.moments = {name: (np.zeros_like(array), np.zeros_like(array)) for name, array in weights.items()}

    def update(self, gradients: dict[str, np.ndarray]) -> None:
        self.step += 1
        for name, gradient in gradients.items():
            mean, square = self.moments[name]
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            corrected = np.sqrt(square / (1 - 0.999**self.step)) + 1e-8
            self.weights[name] -= self.rate * mean / (1 - 0.9**self.step) / corrected


def questions(triples: np.ndarray, relations: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both queries of each triple, (h, r, ?) and (?, r, t): given entity, relation (separate for heads), answer."""
    head, relation, tail = triples.T
    return np.r_[tail, head], np.r_[relation + relations, relation], np.r_[head, tail]


def train(graph: Graph, kind: str, *, size: int = 32, epochs: int = 200, seed: int = 0) -> np.ndarray:
    """A softmax over all entities, in full batches. Returns the scores (queries, entities) of the test triples."""
    draw = np.random.default_rng(seed)
    weights = {
        "entity": draw.normal(0, 0.3, (len(graph.entities), size)),
        "relation": draw.normal(0, 0.3, (2 * len(graph.relations), size)),
    }
    optimiser = Adam(weights, rate=0.02)
    given, relation, answer = questions(graph.train, len(graph.relations))
    for _ in range(epochs):
        entity, own, shift = weights["entity"], weights["entity"][given], weights["relation"][relation]
        query = own * shift if kind == "DistMult" else own + shift
        error = softmax(scores(query, entity, kind))
        error[np.arange(len(answer)), answer] -= 1
        error /= len(answer)
        if kind == "DistMult":
            to_query, to_entity = error @ entity, error.T @ query
            to_own, to_shift = to_query * shift, to_query * own
        else:  # the rows of the error sum to 0, so the square of the query cancels
            to_own = to_shift = 2 * error @ entity
            to_entity = 2 * (error.T @ query - error.sum(axis=0)[:, None] * entity)
        gradients = {"entity": to_entity, "relation": np.zeros_like(weights["relation"])}
        np.add.at(gradients["entity"], given, to_own)
        np.add.at(gradients["relation"], relation, to_shift)
        optimiser.update({name: gradients[name] + 3e-4 * weights[name] for name in gradients})
    given, relation, _ = questions(graph.test, len(graph.relations))
    own, shift = weights["entity"][given], weights["relation"][relation]
    return scores(own * shift if kind == "DistMult" else own + shift, weights["entity"], kind)


def scores(query: np.ndarray, entity: np.ndarray, kind: str) -> np.ndarray:
    """Products for DistMult, negated squared distances for TransE."""
    product = query @ entity.T
    if kind == "DistMult":
        return product
    return 2 * product - (entity**2).sum(axis=1) - (query**2).sum(axis=1)[:, None]


def softmax(values: np.ndarray) -> np.ndarray:
    raised = np.exp(values - values.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def frequency(graph: Graph) -> np.ndarray:
    """How often each entity was the answer for the same relation in training, ignoring the given entity."""
    counts = np.zeros((2 * len(graph.relations), len(graph.entities)))
    _, relation, answer = questions(graph.train, len(graph.relations))
    np.add.at(counts, (relation, answer), 1)
    return counts[questions(graph.test, len(graph.relations))[1]]


def protocols(graph: Graph) -> dict[str, np.ndarray]:
    """The candidates of each answer under three protocols, of which two are used in publications."""
    given, relation, answer = questions(graph.test, len(graph.relations))
    everyone = np.arange(len(graph.entities))
    true = np.zeros((len(graph.entities), 2 * len(graph.relations), len(graph.entities)), bool)
    for triples in (graph.train, graph.valid, graph.test):
        true[questions(triples, len(graph.relations))] = True
    unfiltered = everyone != answer[:, None]
    filtered = unfiltered & ~true[given, relation]
    return {
        "unfiltered": unfiltered,
        "filtered": filtered,
        "filtered, without the given entity": filtered & (everyone != given[:, None]),
    }


def evaluate(graph: Graph, scored: np.ndarray, candidates: np.ndarray) -> Evaluation:
    """Evaluate every test query on its candidates; both queries of a triple form one cluster."""
    _, relation, answer = questions(graph.test, len(graph.relations))
    triples = len(graph.test)
    return ranking.evaluate(
        scored[np.arange(len(answer)), answer],
        scored,
        mask=candidates,
        groups={
            "relation": np.array(graph.relations)[relation % len(graph.relations)],
            "side": np.repeat(["head", "tail"], triples),
        },
        cluster=np.tile(np.arange(triples), 2),
        keep="items",
    )


def main() -> None:
    graph = Graph.read(Path(sys.argv[1]) if len(sys.argv) > 1 else nations())
    print(f"{len(graph.entities)} entities, {len(graph.relations)} relations, {len(graph.train)} training triples")
    scorers = {
        "DistMult": train(graph, "DistMult"),
        "TransE": train(graph, "TransE"),
        "frequency": frequency(graph),
    }
    for protocol, candidates in protocols(graph).items():
        found = {name: evaluate(graph, scored, candidates) for name, scored in scorers.items()}
        print(f"\n{protocol}: {np.median(candidates.sum(axis=1) + 1):.0f} candidates (median)")
        print(f"{'':10}  {'MRR':5}  95 % interval   adjusted  by relation  Hits@1  Hits@10")
        for name, ev in found.items():
            low, high = ev["mrr"].ci
            print(
                f"{name:10}  {ev['mrr']:.3f}  [{low:.3f}, {high:.3f}]  {ev['adjusted_mrr']:8.3f}  "
                f"{ev['mrr_macro_relation']:11.3f}  {ev['hits@1']:6.3f}  {ev['hits@10']:7.3f}"
            )
        by_chance = {key: found["DistMult"][key].chance[-1].value for key in ("mrr", "hits@1", "hits@10")}
        print(
            f"{'chance':10}  {by_chance['mrr']:.3f}  {'':14}  {0:8.3f}  {'':11}  "
            f"{by_chance['hits@1']:6.3f}  {by_chance['hits@10']:7.3f}"
        )
        for ties in ("realistic", "expected"):
            test = ranking.compare(found["TransE"].per_item, found["frequency"].per_item, ties=ties)
            low, high = test.ci
            difference = f"{test.mean_difference:+.3f} [{low:+.3f}, {high:+.3f}]"
            print(f"TransE − frequency, ties {ties}: {difference}, p = {test.p_value:.4f}")


if __name__ == "__main__":
    main()
