"""The greedy explainer, against every order of dropping on small graphs."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from tests.explanation.brute import Weighted, random_explanations, said

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError


def scores(model: Any, one: ex.Explanation, edges: list[set[int]], order: Any, predicted: int) -> list[float]:
    """The predicted class's probability as units are dropped in an order."""
    kept, found = set(range(len(one.context.subgraph))), []
    for unit in order:
        kept -= edges[unit]
        found.append(round(said(model, one, kept)[predicted], 12))
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("output", ["logit", "probability"])
def test_each_step_drops_what_lowers_the_answer_most(seed: int, output: str) -> None:
    """Of all orders of the units the one whose first step is best, then the second, then the third, and so on."""
    model = Weighted(seed, 3, output)
    for one in random_explanations(seed, 4):
        subgraph = one.context.subgraph
        found = ex.greedy(model, one.context)
        edges = [set(np.flatnonzero(subgraph.unit_of == unit).tolist()) for unit in range(subgraph.unit_count)]
        if not 0 < len(edges) <= 5:
            continue
        predicted = int(np.argmax(said(model, one, set(range(len(subgraph))))))
        places = np.array([found.importance[min(part)] for part in edges])
        assert sorted(places) == list(range(1, len(edges) + 1))
        orders = permutations(range(len(edges)))
        best = min(scores(model, one, edges, order, predicted) for order in orders)
        assert scores(model, one, edges, np.argsort(-places), predicted) == best


def test_it_is_one_more_explainer() -> None:
    model = Weighted(1)
    others = random_explanations(1, 8)
    said = [*others, *(ex.greedy(model, one.context) for one in others)]
    table = ex.collect(model, said, sparsity_levels=[0.3])
    found = ex.compare(table, "fidelity_drop.signed@0.3")
    assert found["greedy"].mean > found["one"].mean
    assert model.calls > 0


def test_what_cannot_be_asked() -> None:
    context = ex.Context(ex.Subgraph([[0, 1], [1, 2]]), event=0)
    with pytest.raises(InputError, match="neither predict nor"):
        ex.greedy(5, context, model_output="logit")

    class Silent:
        def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> Any:
            return np.full((len(masks), 2), np.nan)

    with pytest.raises(OptionError, match="model_output is missing"):
        ex.greedy(Silent(), context)
    with pytest.raises(InputError, match="NaN"):
        ex.greedy(Silent(), context, model_output="logit")
    empty = ex.Context(ex.Subgraph(np.zeros((2, 0), int), [0]), event=0)
    assert ex.greedy(Weighted(0), empty).importance.tolist() == []
