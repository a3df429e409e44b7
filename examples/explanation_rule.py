"""Do explainers find the edges that a model uses, and do the metrics agree?

The model answers yes if the most recent edge at the target node is strong. Occlusion, which leaves out one edge at a
time, finds that edge. Recency finds it only if no edge elsewhere is later. When edges are dropped, occlusion is best
and its reverse worst. When edges are kept, acc_auc ranks recency first: if the second most recent edge is also strong,
leaving out one edge changes nothing, so occlusion finds no edge.
"""

from __future__ import annotations

import numpy as np

from graphgauge import explanation

EVENTS, EDGES = 60, 25


class LastStrongEdge:
    """The model has the data, and an event's `ids` say which edges are asked about."""

    model_output = "probability"

    def __init__(self, strength: np.ndarray) -> None:
        self.strength = strength

    def predict(self, subgraph: explanation.Subgraph, target: int, masks: np.ndarray) -> np.ndarray:
        at_target = (subgraph.edge_index == target).any(0)
        when = np.where(masks & at_target, subgraph.times, -1.0)
        strong = (when.max(1) > 0) & (self.strength[subgraph.ids][when.argmax(1)] > 0.5)
        return np.where(strong, 0.9, 0.2)


def occlusion(model: LastStrongEdge, context: explanation.Context) -> np.ndarray:
    """The change of the answer when one edge is left out."""
    masks = np.vstack([np.ones(EDGES, bool), ~np.eye(EDGES, dtype=bool)])
    answers = model.predict(context.subgraph, context.target, masks)
    return np.abs(answers[0] - answers[1:])


def main() -> None:
    draw, explanations = np.random.default_rng(0), []
    model = LastStrongEdge(draw.random(EVENTS * EDGES))
    for event in range(EVENTS):
        subgraph = explanation.Subgraph(
            draw.integers(0, 6, (2, EDGES)),
            np.arange(6),
            np.sort(draw.random(EDGES)),
            ids=event * EDGES + np.arange(EDGES),
        )
        context = explanation.Context(subgraph, target=0, event=event)
        left_out = occlusion(model, context)
        found = {"occlusion": left_out, "recency": subgraph.times, "reversed": -left_out}
        explanations += [explanation.Explanation(context, values, name) for name, values in found.items()]
    table = explanation.collect(model, explanations)
    print(f"{table.masks} masks asked for {len(table)} events and {len(table.explainers)} explainers")
    for name in table.explainers:
        print(explanation.evaluate(table, explainer=name))
    print(explanation.compare(table, "necessity_auc"))


if __name__ == "__main__":
    main()
