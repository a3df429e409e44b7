"""The files that the commands of a page are given: small, and made the way a user would make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from graphgauge import evolution, explanation, prediction, ranking

SIDES = 60  # how many of everything


def scores() -> None:
    """pos.npy and neg.npy, and the same in two shards, with a relation and a triple for each query."""
    draw = np.random.default_rng(0)
    pos, neg = draw.normal(1.5, 1, 2 * SIDES), draw.normal(0, 1, (2 * SIDES, 20))
    np.save("pos.npy", pos)
    np.save("neg.npy", neg)
    for shard in range(2):
        np.save(f"pos-{shard}.npy", pos[shard * SIDES : (shard + 1) * SIDES])
        np.save(f"neg-{shard}.npy", neg[shard * SIDES : (shard + 1) * SIDES])
    np.save("relation.npy", draw.integers(0, 3, 2 * SIDES))
    np.save("triple.npy", np.repeat(np.arange(SIDES), 2))


def adaptive() -> None:
    """Queries of two models among 200 entities with their relations, and scores with 30 negatives each."""
    draw = np.random.default_rng(0)
    entities, targets = draw.normal(size=(200, 8)), draw.integers(0, 200, 3000)
    relation = draw.integers(0, 4, 3000)
    queries = entities[targets] + (0.5 + 0.2 * relation[:, None]) * draw.normal(size=(3000, 8))
    arrays = {
        "q": queries,
        "e": entities,
        "t": targets,
        "relation": relation,
        "other": queries + draw.normal(size=queries.shape),
        "pos": draw.normal(1, 1, 3000),
        "neg": draw.normal(0, 1, (3000, 30)),
    }
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)


def edges() -> None:
    """train.npy and test.npy, and scores of the test edges with 50 negatives each."""
    draw = np.random.default_rng(0)
    np.save("train.npy", draw.integers(0, 400, (900, 2)))
    np.save("test.npy", draw.integers(0, 400, (SIDES, 2)))
    np.save("pos.npy", draw.normal(1, 1, SIDES))
    np.save("neg.npy", draw.normal(0, 1, (SIDES, 50)))


def lists() -> None:
    """s, y and q.parquet: several candidates a query, one of them right; i.npy: which of 50 items each is."""
    import pyarrow as pa
    from pyarrow import parquet

    draw = np.random.default_rng(0)
    columns = {"s": draw.normal(size=5 * SIDES), "y": np.tile([1, 0, 0, 0, 0], SIDES), "q": np.arange(5 * SIDES) // 5}
    for name, values in columns.items():
        parquet.write_table(pa.table({name: values}), f"{name}.parquet")
    np.save("i.npy", 7 * np.arange(5 * SIDES) % 50)
    np.save("popularity.npy", np.arange(1, 51))


def embeddings() -> None:
    """q, e and t.npy, and for each query one other right answer."""
    draw = np.random.default_rng(0)
    np.save("q.npy", draw.normal(size=(SIDES, 4)))
    np.save("e.npy", draw.normal(size=(100, 4)))
    np.save("t.npy", np.arange(SIDES))
    np.save("known.npy", np.arange(SIDES) + 1)
    np.save("offsets.npy", np.arange(SIDES + 1))
    np.save("pool.npy", draw.normal(size=10 * SIDES))


def recommender() -> None:
    """Users and items, two items of test and one of training for each user, and lists of the first 20."""
    draw = np.random.default_rng(0)
    np.save("users.npy", draw.normal(size=(SIDES, 4)))
    np.save("items.npy", draw.normal(size=(3000, 4)))
    three = np.array([draw.permutation(3000)[:3] for _ in range(SIDES)])
    np.save("test.npy", three[:, :2].ravel())
    np.save("test-offsets.npy", np.arange(0, 2 * SIDES + 1, 2))
    np.save("train.npy", three[:, 2])
    np.save("train-offsets.npy", np.arange(SIDES + 1))
    np.save("lists.npy", np.array([draw.permutation(3000)[:20] for _ in range(SIDES)]))
    np.save("scores.npy", draw.normal(size=(SIDES, 3000)))
    np.save("test-pairs.npy", np.stack([np.repeat(np.arange(SIDES), 2), three[:, :2].ravel()], axis=1))
    np.save("train-pairs.npy", np.stack([np.arange(SIDES), three[:, 2]], axis=1))


def knowledge_graph() -> None:
    """Triples of test and training, and embeddings of entities and relations."""
    draw = np.random.default_rng(0)
    every = draw.permutation(np.unique(draw.integers(0, [30, 4, 30], (600, 3)), axis=0))
    np.save("triples.npy", every[:SIDES])
    np.save("train-triples.npy", every[SIDES:])
    np.save("vectors.npy", draw.normal(size=(30, 4)))
    np.save("relation-vectors.npy", draw.normal(size=(4, 4)))


def graphs() -> None:
    """A true graph and weights of a learned one, under the names of both pages."""
    draw = np.random.default_rng(0)
    truth = np.triu(draw.random((6, 6)) < 0.4, 1)
    weights = np.where(truth, 0.8, 0.1) * draw.choice([-1, 1], truth.shape)
    np.save("A_true.npy", truth)
    np.save("A_pred.npy", np.abs(weights))
    np.save("truth.npy", truth)
    np.save("weights.npy", weights)


def forecasts() -> None:
    """true and mean.npy over time, horizon and node, and the same as a long table."""
    draw = np.random.default_rng(0)
    y = 50 + draw.normal(size=(SIDES, 3, 4))
    mean = y + draw.normal(size=y.shape)
    np.save("true.npy", y)
    np.save("mean.npy", mean)
    days = np.datetime64("2026-01-01") + np.arange(SIDES)
    lines = [
        f"{node},{day},{y[time, 0, node]},{mean[time, 0, node]}" for node in range(4) for time, day in enumerate(days)
    ]
    Path("forecasts.csv").write_text("\n".join(["unique_id,ds,y,Naive", *lines, ""]), encoding="utf-8")


MODEL = """
import numpy as np


class Model:
    model_output = "probability"

    def predict(self, subgraph, target, masks):
        return 0.1 + 0.8 * (masks @ np.arange(masks.shape[1])) / np.arange(masks.shape[1]).sum()


def load():
    return Model()
"""


def explanations() -> None:
    """models.py, and run.jsonl with what two explainers say of a few events."""
    Path("models.py").write_text(MODEL, encoding="utf-8")
    draw = np.random.default_rng(0)
    said = []
    for event in range(6):
        edges = draw.integers(0, 6, (2, 10))
        graph = explanation.Subgraph(edges, nodes=np.arange(6), times=np.sort(draw.uniform(0, 9, 10)))
        context = explanation.Context(graph, event=event)
        for explainer in ("gradient", "occlusion"):
            said.append(explanation.Explanation(context, draw.random(10), explainer=explainer))
    explanation.write_explanations(said, "run.jsonl")


def samples() -> None:
    """Real, generated and training boards with the condition of each."""
    draw = np.random.default_rng(0)
    np.save("train.npy", draw.random((SIDES, 2, 4, 3)) < 0.4)
    for name, conditions in (("real", "real.txt"), ("generated", "asked.txt")):
        np.save(f"{name}.npy", draw.random((SIDES, 2, 4, 3)) < 0.4)
        Path(conditions).write_text("".join(f"{grade}\n" for grade in ["6A", "6B", "6C"] * (SIDES // 3)))


def growth(labels: str) -> None:
    """A system that grew for a few cycles, under run/, and the classes of its nodes."""
    draw = np.random.default_rng(0)
    points = draw.normal(0, 0.1, (SIDES, 4))
    log = evolution.Log("run")
    for seed in range(2):
        log.begin("Normal", seed, edges=draw.integers(0, SIDES, (90, 2)), embeddings=points)
        for cycle in range(3):
            births = draw.integers(0, SIDES, (10, 2))
            log.append("Normal", seed, cycle, embeddings=points * 0.9, new_edges=births)
    np.save(labels, np.arange(SIDES) % 3)


def results(methods: Sequence[str], dataset: str, seeds: int = 6, folder: str = "results") -> None:
    """Results of several methods and seeds, in a folder."""
    for skill, method in enumerate(methods):
        for seed in range(seeds):
            draw = np.random.default_rng(seed)
            evaluation = ranking.evaluate(draw.normal(skill, 1, SIDES), draw.normal(0, 1, (SIDES, 20)))
            evaluation.save(folder, method=method, dataset=dataset, seed=seed)


def runs() -> None:
    """accuracy.csv: methods by datasets by seeds."""
    draw = np.random.default_rng(0)
    lines = [
        f"{method},{dataset},{seed},{0.8 + 0.03 * skill + 0.01 * draw.normal():.4f}"
        for skill, method in enumerate(["HC2", "InceptionTime", "WEASEL-2.0"])
        for dataset in "abcdefgh"
        for seed in range(3)
    ]
    Path("accuracy.csv").write_text("\n".join(["method,dataset,seed,accuracy", *lines, ""]))


def classified() -> None:
    """Results of two node classifiers and six seeds, in a folder."""
    for right, method in ((0.5, "gat"), (0.8, "gcn")):
        for seed in range(6):
            draw = np.random.default_rng(seed)
            true = draw.integers(0, 3, SIDES)
            guess = np.where(draw.random(SIDES) < right, true, draw.integers(0, 3, SIDES))
            prediction.evaluate(true, guess).save("results", method=method, dataset="cora", seed=seed)


def study_inputs() -> None:
    """What the study that `graphgauge init ranking` writes asks for."""
    for skill, method in enumerate(["baseline", "ours"]):
        Path(method).mkdir()
        for seed in range(6):
            draw = np.random.default_rng(seed)
            np.save(f"{method}/pos-{seed}.npy", draw.normal(skill, 1, SIDES))
            np.save(f"{method}/neg-{seed}.npy", draw.normal(0, 1, (SIDES, 20)))


FILES: dict[str, Sequence[Callable[[], None]]] = {
    "README.md": (
        scores,
        graphs,
        forecasts,
        explanations,
        samples,
        lambda: growth("labels.npy"),
        lambda: results(["weak", "strong"], "toy"),
    ),
    "docs/index.md": (scores,),
    "docs/scale.md": (scores,),
    "docs/adaptive.md": (adaptive,),
    "docs/ranking.md": (scores, lists, embeddings, recommender, knowledge_graph),
    "docs/negatives.md": (edges,),
    "docs/recovery.md": (graphs,),
    "docs/forecasting.md": (forecasts,),
    "docs/explanation.md": (explanations,),
    "docs/generation.md": (samples,),
    "docs/evolution.md": (lambda: growth("y.npy"),),
    "docs/prediction.md": (classified,),
    "docs/statistics.md": (scores, runs, lambda: results(["transe", "distmult"], "nations")),
    "docs/report.md": (lambda: results(["weak", "strong"], "toy"),),
    "docs/study.md": (study_inputs,),
}
