"""Nodes and features as candidates, several truths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge import explanation as ex

X = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.5]])


class Summed:
    """A logit: the sum of the features that are left of its own X."""

    model_output = "logit"

    def predict(self, subgraph: ex.Subgraph, target: Any, masks: np.ndarray) -> np.ndarray:
        numbers = np.arange(X.size).reshape(X.shape)
        place = {"nodes": numbers // 2, "features": numbers % 2}[subgraph.masked]
        kept = np.ones((len(masks), X.size), bool)
        kept[:, subgraph.ids] = masks
        return (kept[:, place] * X).sum(axis=(1, 2))


def subgraph(masked: str, **given: Any) -> ex.Subgraph:
    number = {"nodes": 3, "features": 2}[masked]
    return ex.Subgraph([[0, 1], [1, 2]], **{"candidates": np.arange(number), "masked": masked} | given)


@pytest.mark.parametrize(("masked", "worth"), [("nodes", X.sum(1)), ("features", X.sum(0))])
def test_each_kind_masks_what_it_says(masked: str, worth: np.ndarray) -> None:
    part = subgraph(masked)
    assert len(part) == part.unit_count == len(worth)
    keys = ["fidelity_drop@0.3", "fidelity_keep@0.7"]
    table = ex.collect(Summed(), [ex.Explanation(ex.Context(part, event=0), worth)], metrics=keys)
    for mask, output in zip(table.events[0].masks, table.events[0].outputs, strict=True):
        assert output[0] == pytest.approx(worth[mask].sum())
    found = ex.evaluate(table, metrics=keys)
    logit = X.sum() - np.sort(worth)[::-1][: max(1, round(0.3 * len(worth)))].sum()
    assert found["fidelity_drop@0.3"].value == pytest.approx(1 / (1 + np.exp(-X.sum())) - 1 / (1 + np.exp(-logit)))
    assert not any(key.startswith("cohesiveness") for key in ex.evaluate(table))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"masked": "edge"}, "masked"),
        ({"masked": "nodes", "candidates": [3]}, "there is no node 3 among 3"),
        ({"masked": "features", "candidates": [0, 0]}, "one is listed twice. List each feature once"),
        ({"masked": "features", "candidates": [-1]}, "there is no feature -1"),
        ({"masked": "features"}, "Number the features that can be masked"),
    ],
)
def test_wrong_kinds_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        ex.Subgraph([[0, 1], [1, 2]], **given)


def test_the_nearest_of_several_truths_counts_and_chance_rises() -> None:
    rng = np.random.default_rng(0)
    one, several = [], []
    for event in range(40):
        part = ex.Subgraph(np.array([np.arange(8), np.arange(1, 9)]))
        truths = np.zeros((3, 8), bool)
        for row in truths:
            row[rng.permutation(8)[:2]] = True
        importance = rng.random(8)
        one.append(ex.Explanation(ex.Context(part, event=event, truth=truths[0]), importance))
        several.append(ex.Explanation(ex.Context(part, event=event, truth=truths), importance))
    keys = ["truth_auc", "truth_recall@0.25", "truth_jaccard@0.25"]
    alone, best = (ex.evaluate(None, said, metrics=keys) for said in (one, several))
    for key in keys:
        assert best[key].value > alone[key].value
        blind = best[key].chance.value
        # The explainer is a random one, so it scores as the random explainer does.
        assert best[key].interval.low < blind < best[key].interval.high
        assert blind > alone[key].chance.value + 0.05
        assert "not significantly different" in (best[key].interpretation or "not significantly different")
