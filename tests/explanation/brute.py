"""The definitions written down a second time: one event, one mask and one call of a model at a time, in loops."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from graphgauge.explanation import Context, Explanation, Subgraph


class Weighted:
    """A model with a random weight for every edge and pair of edges in every class; it counts what it is asked."""

    def __init__(self, seed: int, classes: int = 2, output: str = "logit") -> None:
        self.seed, self.classes, self.model_output = seed, classes, output
        self.calls = self.rows = 0

    def predict(self, subgraph: Subgraph, target: Any, masks: np.ndarray) -> np.ndarray:
        self.calls += 1
        self.rows += len(masks)
        rng = np.random.default_rng([self.seed, subgraph.edges, int(subgraph.edge_index.sum())])
        edges = len(subgraph)
        columns = 1 if self.classes == 2 and self.model_output == "probability" else self.classes
        linear = rng.normal(size=(columns, edges)).round(3)
        pairs = rng.normal(size=(columns, edges, edges)).round(3) / max(edges, 1)
        logits = np.array(
            [[w @ m + m @ p @ m for w, p in zip(linear, pairs, strict=True)] for m in masks.astype(float)]
        )
        logits = logits.reshape(len(masks), columns)
        if self.model_output == "logit":
            return logits
        if columns == 1:
            return 1 / (1 + np.exp(-logits))
        return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


def said(model: Any, explanation: Explanation, kept: set[int]) -> list[float]:
    """Class probabilities when these candidates are kept."""
    subgraph = explanation.context.subgraph
    mask = np.array([[edge in kept for edge in range(len(subgraph))]], bool).reshape(1, len(subgraph))
    answer = np.asarray(model.predict(subgraph, explanation.context.target, mask))[0]
    if model.model_output == "logit":
        if len(answer) == 1:
            p = 1 / (1 + math.exp(-answer[0]))
            return [1 - p, p]
        weights = [math.exp(value - max(answer)) for value in answer]
        return [weight / sum(weights) for weight in weights]
    return [1 - answer[0], answer[0]] if len(answer) == 1 else list(answer)


def units(subgraph: Subgraph) -> list[list[int]]:
    """Candidates that go together: as given, or both directions of a pair at one time, one edge each."""
    if subgraph.units is not None:
        return [[i for i in range(len(subgraph)) if subgraph.units[i] == unit] for unit in sorted(set(subgraph.units))]
    facts = []
    for candidate in subgraph.candidates:
        u, v = subgraph.edge_index[:, candidate]
        facts.append((int(u), int(v), None if subgraph.times is None else subgraph.times[candidate]))
    groups: list[list[int]] = []
    done = set()
    for i, (u, v, t) in enumerate(facts):
        if i in done:
            continue
        same = [j for j, other in enumerate(facts) if other in ((u, v, t), (v, u, t))]
        both = u != v and facts.count((u, v, t)) == facts.count((v, u, t)) == 1
        groups.append(same if both else [i])
        done |= set(groups[-1])
    return groups


def order(explanation: Explanation, by: str = "value") -> list[list[int]]:
    """Units from the most important: ties by (time, source, target), nodes by id; then by the edge's number."""
    subgraph = explanation.context.subgraph

    def place(edge: int) -> tuple[Any, ...]:
        candidate = subgraph.candidates[edge]
        u, v = (subgraph.nodes[end] for end in subgraph.edge_index[:, candidate])
        return (0 if subgraph.times is None else subgraph.times[candidate], u, v, candidate)

    def importance(unit: list[int]) -> float:
        values = [float(explanation.importance[edge]) for edge in unit]
        return sum(abs(value) if by == "abs" else value for value in values) / len(values)

    return sorted(units(subgraph), key=lambda unit: (-importance(unit), min(place(edge) for edge in unit)))


def count(share: float, n: int) -> int:
    return 0 if share == 0 else max(1, min(n, round(share * n)))


def of_event(
    model: Any,
    explanation: Explanation,
    levels: Any,
    *,
    by: str = "value",
    score: str = "class",
    threshold: float = 0.5,
    cap: float = 0.3,
    points: int = 16,
) -> dict[str, float]:
    """Every metric of one explanation, each mask asked alone and again for every metric."""
    ranked = order(explanation, by)
    n = len(ranked)
    everything = {edge for unit in ranked for edge in unit}

    def top(k: int) -> set[int]:
        return {edge for unit in ranked[:k] for edge in unit}

    whole = said(model, explanation, everything)
    predicted = whole.index(max(whole))

    def f(kept: set[int]) -> float:
        answer = said(model, explanation, kept)
        return max(answer) if score == "max" else answer[predicted]

    def label(kept: set[int]) -> int:
        answer = said(model, explanation, kept)
        return answer.index(max(answer))

    found: dict[str, float] = {}
    for level in levels:
        k = count(level, n)
        drop, keep = f(everything) - f(everything - top(k)), f(everything) - f(top(k))
        found |= {
            f"fidelity_drop@{level}": abs(drop),
            f"fidelity_drop.signed@{level}": drop,
            f"fidelity_keep@{level}": abs(keep),
            f"fidelity_keep.signed@{level}": keep,
        }
        found[f"label_flip_drop@{level}"] = float(label(everything - top(k)) != predicted)
        found[f"label_flip_keep@{level}"] = float(label(top(k)) != predicted)
        found[f"sparsity@{level}"] = 1 - k / n
        kept = said(model, explanation, top(k))
        divergence = sum(p * math.log(p / q) for p, q in zip(whole, kept, strict=True))
        found[f"unfaithfulness@{level}"] = 1 - math.exp(-divergence)
        if len(whole) == 2:
            given = explanation.context.label
            one = given == 1 if given is not None else whole[1] >= threshold
            found[f"fidelity_tempme@{level}"] = kept[1] - whole[1] if one else whole[1] - kept[1]
        found[f"cohesiveness@{level}"] = cohesion(explanation, sorted(top(k)))
    drops = [found[f"fidelity_drop@{level}"] for level in levels]
    found["fidelity_best"] = max(drops)
    found["fidelity_best.k"] = count(levels[drops.index(max(drops))], n) / n
    step = cap / (points - 1)
    shares = [float(share) for share in np.linspace(0, cap, points)]
    for key, masks in (
        ("acc_auc", [top(count(share, n)) for share in shares]),
        ("acc_auc.drop", [everything - top(count(share, n)) for share in shares]),
        ("acc_auc.complement", [top(count(1 - share, n)) for share in shares]),
    ):
        same = [float(label(mask) == predicted) for mask in masks]
        found[key] = sum(step * (a + b) / 2 for a, b in pairwise(same)) / cap
    keeps = [found[f"fidelity_keep@{level}"] for level in levels]
    found["fidelity_best_keep"] = min(keeps)
    found["fidelity_best_keep.k"] = count(levels[keeps.index(min(keeps))], n) / n
    for key, heights in (("necessity_auc", "drop"), ("sufficiency_auc", "keep")):
        curve = {count(level, n): found[f"fidelity_{heights}.signed@{level}"] for level in levels}
        x = sorted(curve)
        if len(x) < 2:
            found[key] = math.nan
            continue
        area = sum((b - a) / n * (curve[a] + curve[b]) / 2 for a, b in pairwise(x))
        found[key] = area / ((x[-1] - x[0]) / n)
    if explanation.context.truth is not None:
        right = {edge for edge in everything if explanation.context.truth[edge]}
        true = [any(edge in right for edge in unit) for unit in ranked]
        values = [np.mean([explanation.importance[edge] for edge in unit]) for unit in ranked]
        for level in levels:
            k = count(level, n)
            hits, held = sum(true[:k]), sum(true)
            found[f"truth_precision@{level}"] = hits / k
            found[f"truth_recall@{level}"] = hits / held if held else math.nan
            found[f"truth_f1@{level}"] = 2 * hits / (k + held)
            found[f"truth_jaccard@{level}"] = hits / (k + held - hits)
        sides = [[value for value, is_true in zip(values, true, strict=True) if is_true == side] for side in (1, 0)]
        pairs = [(a > b) + (a == b) / 2 for a in sides[0] for b in sides[1]]
        found["truth_auc"] = sum(pairs) / len(pairs) if pairs else math.nan
    return found


def cohesion(explanation: Explanation, held: list[int]) -> float:
    subgraph = explanation.context.subgraph
    if subgraph.times is None or len(held) < 2:
        return math.nan
    times = [float(subgraph.times[candidate]) for candidate in subgraph.candidates]
    span = max(times) - min(times)
    if span == 0:
        return math.nan
    total = 0.0
    for i in held:
        for j in held:
            ends = [set(subgraph.edge_index[:, subgraph.candidates[edge]].tolist()) for edge in (i, j)]
            if i != j and ends[0] & ends[1]:
                total += math.cos(abs(times[i] - times[j]) / span)
    return total / (len(held) ** 2 - len(held))


def random_event(
    rng: np.random.Generator, event: Any, *, edges: int | None = None, temporal: bool | None = None, ties: bool = True
) -> Context:
    """Multigraphs with loops, reversed duplicates, edges that are no candidates, equal times, ids out of order."""
    count = int(rng.integers(2, 14)) if edges is None else edges
    nodes = int(rng.integers(2, 7))
    pairs = rng.integers(0, nodes, (2, count))
    if count > 3:
        pairs[:, 1] = pairs[::-1, 0]
    temporal = bool(rng.integers(2)) if temporal is None else temporal
    times = None
    if temporal:
        times = rng.integers(0, 5 if ties else 1000, count)
        if count > 3:
            times[1] = times[0]
    candidates = rng.permutation(count)[: max(1, count - int(rng.integers(0, 3)))] if count else None
    size = 0 if candidates is None else len(candidates)
    units = rng.integers(0, 4, size) if size and rng.random() < 0.3 else None
    rng.random((count, 2))
    subgraph = Subgraph(pairs, rng.permutation(50)[:nodes], times, candidates=candidates, units=units)
    label = int(rng.integers(2)) if rng.random() < 0.5 else None
    return Context(subgraph, target=int(rng.integers(nodes)), event=event, label=label, truth=rng.random(size) < 0.4)


def random_explanations(seed: int, events: int = 6, explainer: str = "one") -> list[Explanation]:
    rng = np.random.default_rng(seed)
    contexts = [random_event(rng, f"e{index}") for index in range(events)]
    return [
        Explanation(context, rng.integers(-3, 4, len(context.subgraph)) / 2, explainer, elapsed=0.5)
        for context in contexts
    ]


def model() -> Weighted:
    """As `--model tests.explanation.brute:model` gets it."""
    return Weighted(3)
