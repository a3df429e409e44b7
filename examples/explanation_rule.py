"""Do explainers find the edges that a model uses, and do the metrics agree?

The model answers yes if the most recent edge at the target node is strong. Occlusion, which leaves out one edge at a
time, finds that edge. Recency finds it only if no edge elsewhere is later. When edges are dropped, occlusion is best
and its reverse worst. When edges are kept, acc_auc ranks recency first: if the second most recent edge is also strong,
leaving out one edge changes nothing, so occlusion finds no edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge import explanation


class LastStrongEdge:
    model_output = "probability"

    def predict(self, subgraph: explanation.Subgraph, target: int, masks: np.ndarray) -> np.ndarray:
        at_target = (subgraph.edge_index == target).any(0)
        answers = []
        for mask in masks:
            held = np.flatnonzero(mask & at_target)
            last = held[np.argmax(subgraph.times[held])] if len(held) else None
            strong = last is not None and subgraph.edge_features[last, 0] > 0.5
            answers.append(0.9 if strong else 0.2)
        return np.array(answers)


def occlusion(model: Any, context: explanation.Context) -> np.ndarray:
    """The change of the answer when one edge is left out."""
    edges = len(context.subgraph)
    masks = np.vstack([np.ones(edges, bool), ~np.eye(edges, dtype=bool)])
    answers = model.predict(context.subgraph, context.target, masks)
    return np.abs(answers[0] - answers[1:])


def main() -> None:
    draw, model, explanations = np.random.default_rng(0), LastStrongEdge(), []
    for event in range(60):
        subgraph = explanation.Subgraph(
            draw.integers(0, 6, (2, 25)), np.arange(6), np.sort(draw.random(25)), edge_features=draw.random((25, 1))
        )
        context = explanation.Context(subgraph, target=0, event=event)
        left_out = occlusion(model, context)
        found = {"occlusion": left_out, "recency": subgraph.times, "random": draw.random(25), "reversed": -left_out}
        explanations += [explanation.Explanation(context, values, name) for name, values in found.items()]
    table = explanation.collect(model, explanations)
    print(f"{table.masks} masks asked for {len(table)} events and {len(table.explainers)} explainers")
    for name in table.explainers:
        evaluation = explanation.evaluate(table, explainer=name)
        for key in ("fidelity_drop@0.1", "acc_auc"):
            result = evaluation[key]
            low, high = result.ci
            chance = result.chance[-1].value
            print(f"{name:<10} {key:<18} {result.value:6.3f}  [{low:.3f}, {high:.3f}]  random {chance:.3f}")
    print(explanation.compare(table, "fidelity_drop@0.1", baseline="random", random=False))


if __name__ == "__main__":
    main()
