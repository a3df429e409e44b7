"""Nodes, features and entries as candidates, types of nodes and edges, several truths."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError

X = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.5]])


class Summed:
    """A logit: the weighted sum of the features that are left."""

    model_output = "logit"

    def predict(self, subgraph: ex.Subgraph, target: Any, masks: np.ndarray) -> np.ndarray:
        kept = subgraph.feature_masks(masks)
        return sum(
            (part * x).reshape(len(masks), -1).sum(1) for part, (_, x) in zip(kept, subgraph.features, strict=True)
        )


def subgraph(masked: str, **given: Any) -> ex.Subgraph:
    return ex.Subgraph([[0, 1], [1, 2]], node_features=X, masked=masked, **given)


@pytest.mark.parametrize(("masked", "worth"), [("nodes", X.sum(1)), ("features", X.sum(0)), ("entries", X.reshape(-1))])
def test_each_kind_masks_what_it_says(masked: str, worth: np.ndarray) -> None:
    part = subgraph(masked)
    assert len(part) == part.unit_count == len(worth)
    table = ex.collect(Summed(), [ex.Explanation(ex.Context(part, event=0), worth)], levels=[0.3, 0.7])
    for mask, output in zip(table.rows[0].masks, table.rows[0].outputs, strict=True):
        assert output[0] == pytest.approx(worth[mask].sum())
    found = ex.evaluate(table)
    logit = X.sum() - np.sort(worth)[::-1][: max(1, round(0.3 * len(worth)))].sum()
    assert found["fidelity_drop@0.3"].value == pytest.approx(1 / (1 + np.exp(-X.sum())) - 1 / (1 + np.exp(-logit)))
    assert "cohesiveness@0.3" not in found


def test_types_have_features_of_their_own(tmp_path: Path) -> None:
    part = ex.Subgraph(
        [[0, 1], [2, 2]],
        ["a:0", "a:1", "b:0"],
        node_types=["a", "a", "b"],
        edge_types=["a__to__b", "a__to__b"],
        relations=["a__to__b", "b__to__a"],
        masked="entries",
        node_inputs={"b/x": np.array([[5.0, 6.0, 7.0]]), "a/x": np.array([[1.0], [2.0]])},
    )
    assert part._maskable == 5
    mask = np.array([[True, False, True, False, True]])
    assert [each.tolist() for each in part.feature_masks(mask)] == [[[[True], [False]]], [[[True, False, True]]]]
    said = ex.Explanation(ex.Context(part, event=0), np.arange(5))
    ex.write_explanations([said], tmp_path / "said.jsonl")
    back = ex.read_explanations(tmp_path / "said.jsonl")[0].context.subgraph
    assert list(back.node_inputs) == ["b/x", "a/x"]  # the order of types can matter to a module
    assert back.relations.tolist() == ["a__to__b", "b__to__a"]
    for one, other in product([part], [back]):
        assert one.node_types.tolist() == other.node_types.tolist()
        assert one.masked == other.masked


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"masked": "edge"}, "masked"),
        ({"masked": "nodes", "candidates": [3]}, "there is no node 3 among 3"),
        ({"masked": "features", "candidates": [0, 0]}, "a feature is listed twice"),
        ({"masked": "entries", "candidates": [6]}, "there is no entry 6 among 6"),
        ({"node_types": ["a"] * 3}, "belong together"),
        ({"node_types": ["a"] * 2, "edge_types": ["a__b__a"] * 2}, "expected 3 names"),
        ({"node_types": ["a"] * 3, "edge_types": ["a__b__a"] * 2}, "features by type"),
    ],
)
def test_wrong_kinds_and_types_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        ex.Subgraph([[0, 1], [1, 2]], node_features=X, **given)


def test_features_need_features_and_types_need_names() -> None:
    with pytest.raises(InputError, match="no node features to mask"):
        ex.Subgraph([[0, 1], [1, 2]], masked="features")
    with pytest.raises(InputError, match="names no type"):
        ex.Subgraph([[0], [1]], node_types=["a", "a"], edge_types=["a__b__a"], node_inputs={"x": X[:2]})
    with pytest.raises(InputError, match=r"shape \(3, 2\) for 2 a nodes"):
        ex.Subgraph([[0], [1]], node_types=["a", "a"], edge_types=["a__b__a"], node_inputs={"a/x": X})


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
        blind = {level.name: level.value for level in best[key].levels}["random explainer"]
        # The explainer is a random one, so it scores as the random explainer does.
        assert best[key].ci.low < blind < best[key].ci.high
        assert blind > {level.name: level.value for level in alone[key].levels}["random explainer"] + 0.05
        assert "not significantly different" in (best[key].interpretation or "not significantly different")


def test_explainers_and_levels_are_added_without_asking_again() -> None:
    part = subgraph("entries")
    context = ex.Context(part, event=0)
    first, second = ex.Explanation(context, np.arange(6), "first"), ex.Explanation(context, -np.arange(6), "second")

    class Counting(Summed):
        rows = 0

        def predict(self, subgraph: ex.Subgraph, target: Any, masks: np.ndarray) -> np.ndarray:
            self.rows += len(masks)
            return super().predict(subgraph, target, masks)

    model = Counting()
    table = ex.collect(model, [first], levels=[0.3])
    asked = model.rows
    more = ex.collect(
        model, [first, second], metrics=["fidelity_drop@0.5", "fidelity_keep@0.5", "acc_auc"], table=table
    )
    assert more.settings.levels == (0.3, 0.5)
    assert more.explainers == ["first", "second"]
    assert model.rows - asked <= more.masks - table.masks + 1  # one mask is sent again, to watch the model
    again = ex.collect(
        model, [first, second], metrics=["fidelity_drop@0.5", "fidelity_keep@0.5", "acc_auc"], table=more
    )
    assert again.masks == more.masks


@pytest.mark.parametrize("masked", ["nodes", "entries"])
def test_tables_and_figures_of_other_kinds(masked: str, tmp_path: Path) -> None:
    part = subgraph(masked)
    truths = np.eye(len(part), dtype=bool)[:2]
    said = [ex.Explanation(ex.Context(part, event=event, truth=truths), np.arange(len(part))) for event in range(2)]
    table = ex.collect(Summed(), said, levels=[0.3, 0.7])
    table.save(tmp_path / "table.jsonl")
    back = ex.read_table(tmp_path / "table.jsonl")
    assert back.rows[1].subgraph.masked == masked
    keys = ["truth_auc", "fidelity_drop@0.3"]
    assert [ex.evaluate(each, metrics=keys)["truth_auc"].value for each in (table, back)] == [
        ex.evaluate(table, metrics=keys)["truth_auc"].value
    ] * 2
    ex.evaluate(back).plot(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
