"""Subgraphs, contexts and explanations: what is refused, and what goes together."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from tests.explanation.brute import Weighted

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError
from graphgauge.explanation.masks import Level, Settings, counted, random_places, rankings, unit_importance

PATH = [[0, 1, 2], [1, 2, 3]]


def ranked(explanation: ex.Explanation, **settings: Any) -> list[int]:
    """Candidates from the most important, as masks would take them."""
    chosen = Settings(model_output="logit", **settings)
    values = unit_importance(explanation, chosen.by)
    (ranking,) = rankings(explanation, values, chosen)
    return np.argsort(ranking[explanation.context.subgraph.unit_of], kind="stable").tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"edge_index": [[0, 1], [2]]}, "edge_index: rows of different lengths"),
        ({"edge_index": [["a"], ["b"]]}, "edge_index: expected numbers"),
        ({"edge_index": [0, 1, 2]}, r"edge_index: expected shape \(2, edges\)"),
        ({"edge_index": [[0.0, 1.5], [1, 0]]}, "edge_index: expected whole numbers"),
        ({"edge_index": [[0, -1], [1, 0]]}, "there is no node -1"),
        ({"edge_index": PATH, "nodes": [7, 8]}, "there is no node 2 among 2"),
        ({"edge_index": PATH, "nodes": [7, 7, 8, 9]}, "an id is listed twice"),
        ({"edge_index": PATH, "nodes": [1.5, 2, 3, 4]}, "integer or text labels"),
        ({"edge_index": PATH, "times": [1, 2]}, r"times: shape \(2,\) for 3"),
        ({"edge_index": PATH, "times": [1, 2, np.nan]}, "a time is NaN"),
        ({"edge_index": PATH, "candidates": [0, 3]}, "there is no edge 3"),
        ({"edge_index": PATH, "candidates": [1, 1]}, "listed twice"),
        ({"edge_index": PATH, "units": [0, 1]}, "2 ids for 3 candidate edges"),
        ({"edge_index": PATH, "ids": [0, 1]}, "2 ids for 3 candidate edges"),
        ({"edge_index": PATH, "ids": [0.5, 1, 2]}, "ids: expected whole numbers"),
        ({"edge_index": PATH, "masked": "features"}, "candidates: are missing. Number the features"),
        ({"edge_index": PATH, "masked": "nodes", "candidates": [4]}, "there is no node 4 among 4"),
        ({"edge_index": PATH, "times": np.ma.masked_equal([1.0, 2.0, 3.0], 2)}, "times: found a masked array"),
        ({"edge_index": PATH, "candidates": [[0]]}, "candidates: expected one number per edge"),
    ],
)
def test_subgraphs_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ex.Subgraph(**given)


@pytest.mark.parametrize(
    "field", ["edge_index", "nodes", "times", "units", "ids", "candidates", "target", "truth", "importance"]
)
def test_a_buffer_can_be_used_again(field: str) -> None:
    """The caller fills one array again and again; earlier events keep what they were given."""
    edges = 3
    buffer = np.zeros((2, edges) if field == "edge_index" else edges, np.int64)
    if field in ("nodes", "candidates"):
        buffer += np.arange(edges)
    before = buffer.copy()
    ends = buffer if field == "edge_index" else np.zeros((2, edges), np.int64)
    given: dict[str, Any] = {field: buffer} if field in ("nodes", "times", "units", "ids", "candidates") else {}
    subgraph = ex.Subgraph(ends, **{"nodes": np.arange(edges)} | given)
    context = ex.Context(subgraph, target={"at": [buffer]}, truth=buffer if field == "truth" else None)
    importance = ex.Explanation(context, buffer if field == "importance" else np.zeros(edges)).importance
    buffer += 1
    kept = {"target": context.target["at"][0], "truth": context.truth, "importance": importance}
    np.testing.assert_array_equal(kept[field] if field in kept else getattr(subgraph, field), before)


def test_the_number_of_a_candidate_in_the_data() -> None:
    assert ex.Subgraph(PATH, candidates=[2, 0]).ids.tolist() == [2, 0]
    assert ex.Subgraph(PATH, candidates=[2, 0], ids=[7, 5]).ids.tolist() == [7, 5]
    features = ex.Subgraph(PATH, candidates=[4, 9], masked="features")
    assert (len(features), features.ids.tolist(), features.unit_count) == (2, [4, 9], 2)
    assert len(ex.Subgraph(PATH, masked="nodes")) == 4


def test_importance_of_the_wrong_length_says_whose() -> None:
    context = ex.Context(ex.Subgraph(PATH), event="e7")
    with pytest.raises(
        InputError, match=r"importance: shape \(2,\) for 3 candidate edges. It comes from 'gradient', event 'e7'"
    ):
        ex.Explanation(context, [1, 2], "gradient")
    with pytest.raises(InputError, match="expected numbers"):
        ex.Explanation(context, ["a", "b", "c"])


def test_what_is_handed_over_in_the_wrong_place() -> None:
    subgraph = ex.Subgraph(PATH)
    for wrong in (None, 5, PATH):
        with pytest.raises(InputError, match=f"subgraph: expected a Subgraph, found {type(wrong).__name__}"):
            ex.Context(wrong)
    with pytest.raises(InputError, match="context: expected a Context, found Subgraph"):
        ex.Explanation(subgraph, [1, 2, 3])
    for event in (1.5, [1], True):
        with pytest.raises(InputError, match="event: expected a whole number or text"):
            ex.Context(subgraph, event=event)
    assert type(ex.Context(subgraph, event=np.int64(3)).event) is int
    with pytest.raises(InputError, match="importance: rows of different lengths"):
        ex.Explanation(ex.Context(subgraph), [[1], [2, 3], [4]])


def test_tensors_are_taken_as_they_are() -> None:
    edges = torch.tensor(PATH)
    times = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    subgraph = ex.Subgraph(edges, torch.arange(4), times, units=torch.tensor([0, 0, 1]), candidates=torch.arange(3))
    context = ex.Context(subgraph, truth=torch.tensor([True, False, True]))
    explanation = ex.Explanation(context, torch.tensor([0.5, 1.5, 2.5], dtype=torch.bfloat16, requires_grad=True))
    assert explanation.importance.tolist() == [0.5, 1.5, 2.5]
    assert subgraph.unit_count == 2
    assert context.truth.tolist() == [True, False, True]


def test_truth_of_the_wrong_length_or_kind() -> None:
    subgraph = ex.Subgraph(PATH)
    with pytest.raises(InputError, match="truth"):
        ex.Context(subgraph, truth=[1, 0])
    with pytest.raises(InputError, match="true or false"):
        ex.Context(subgraph, truth=[1, 0, 2])


def test_both_directions_of_a_pair_are_one_unit() -> None:
    subgraph = ex.Subgraph([[0, 1, 1, 2, 2], [1, 0, 2, 1, 2]])
    assert subgraph.unit_count == 3  # 0–1, 1–2, and the loop
    assert len(set(subgraph.unit_of[[0, 1]])) == 1
    assert len(set(subgraph.unit_of[[2, 3]])) == 1


@pytest.mark.parametrize("times", [None, [1.0, 1.0, 1.0, 1.0]])
@pytest.mark.parametrize(
    ("edges", "units"),
    [
        ([[0, 0, 0, 1], [1, 1, 1, 0]], 4),  # which of the three the fourth belongs to, nobody says
        ([[0, 0, 1, 1], [1, 1, 0, 0]], 4),
        ([[0, 1, 2, 2], [1, 0, 3, 3]], 3),
        ([[0, 0, 2, 3], [0, 0, 3, 2]], 3),
    ],
)
def test_parallel_edges_stay_apart(edges: Any, units: int, times: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        order = rng.permutation(4)
        assert ex.Subgraph(np.array(edges)[:, order], times=times).unit_count == units


def test_given_units_win_and_only_candidates_count() -> None:
    subgraph = ex.Subgraph([[0, 1, 2, 3], [1, 0, 3, 2]], candidates=[3, 0, 1], units=["a", "b", "a"])
    assert subgraph.unit_count == 2
    assert subgraph.unit_of[0] == subgraph.unit_of[2]


def test_ties_go_by_time_then_source_then_target_by_id() -> None:
    subgraph = ex.Subgraph([[0, 1, 2, 0], [1, 2, 0, 2]], nodes=[30, 10, 20], times=[5, 5, 1, 5])
    # At time 5 by ids: 10 → 20 (edge 1), then 30 → 10 (edge 0), then 30 → 20 (edge 3).
    assert ranked(ex.Explanation(ex.Context(subgraph), np.zeros(4))) == [2, 1, 0, 3]


def test_the_importance_of_a_unit_has_the_same_bits_in_any_order_of_its_edges() -> None:
    subgraph = ex.Subgraph(PATH, units=[0, 0, 0])
    found = {
        float(unit_importance(ex.Explanation(ex.Context(subgraph), values), "value")[0])
        for values in permutations((0.1, 0.2, 0.3))
    }
    assert len(found) == 1


def test_random_orders_belong_to_the_event_and_the_seed() -> None:
    subgraph = ex.Subgraph([range(40), range(1, 41)])
    drawn = {
        (event, seed): random_places(subgraph, event, seed, "random", 2).tobytes()
        for event in ("a", "b")
        for seed in (0, 1)
    }
    assert len(set(drawn.values())) == 4
    again = random_places(subgraph, "a", 1, "random", 3)
    assert again[:2].tobytes() == drawn["a", 1]  # more orders are added to the first
    assert not np.array_equal(*again[:2])
    assert sorted(again[2]) == list(range(40))


def test_ranking_by_size() -> None:
    explanation = ex.Explanation(ex.Context(ex.Subgraph(PATH)), [-3, 1, 2])
    assert ranked(explanation) == [2, 1, 0]
    assert ranked(explanation, by="abs") == [0, 2, 1]


def test_infinite_importances_rank() -> None:
    explanation = ex.Explanation(ex.Context(ex.Subgraph(PATH)), [-np.inf, 1, np.inf])
    assert ranked(explanation) == [2, 1, 0]


@pytest.mark.parametrize(
    ("share", "units", "count"),
    [
        (0.29, 100, 29),
        (0.05, 10, 1),
        (0.15, 10, 2),
        (0.25, 10, 2),
        (0.5, 5, 2),
        (0.35, 10, 4),
        (0.001, 10, 1),
        (1.0, 7, 7),
        (0.0, 7, 0),
        (0.3, 0, 0),
    ],
)
def test_counts_round_as_python_does_and_stay_within_the_edges(share: float, units: int, count: int) -> None:
    assert counted(share, units) == count == Level(share).count(units)
    assert count == (min(max(round(share * units), share > 0), units))


def test_levels_have_one_spelling() -> None:
    assert Level("0.10") == Level(0.1) == "0.1"
    assert Level("k=05") == "k=5"
    assert Level("k=5").count(3) == 3
    assert Level("0.0") == Level(-0.0) == "0"
    assert Level(0).count(7) == Level("k=0").count(7) == 0
    for wrong in ("-0.1", "1.5", "k=-1", "k=x", "nan", "many"):
        with pytest.raises(ValueError):  # noqa: PT011
            Level(wrong)


WRONG = {
    "sparsity_levels": [(-0.1,), (1.2,), ["k=5"], True, [None]],
    "topk": [-1, [2.5], [True], [float("nan")]],
    "random": [-1, True],
    "seed": [-1, 0.5],
    "acc_cap": [0, 1.5],
    "acc_points": [1],
    "robust_samples": [0],
    "robust_drop": ["half"],
} | {name: ["z"] for name in ("by", "ties", "normalize", "model_output")}


@pytest.mark.parametrize(("name", "wrong"), [(name, each) for name, values in WRONG.items() for each in values])
def test_settings_that_cannot_be(name: str, wrong: Any) -> None:
    model = Weighted(0)
    with pytest.raises(OptionError, match=name):
        ex.collect(model, [ex.Explanation(ex.Context(ex.Subgraph(PATH)), [1, 2, 3])], **{name: wrong})
    assert model.rows == 0


class Asked:
    """A target of the model's own, which cannot be stored."""

    def __init__(self, node: int) -> None:
        self.node = node


class Compared(Asked):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compared) and other.node == self.node

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (np.inf, np.inf, True),
        ([1, np.inf], (1, np.inf), True),
        (np.inf, -np.inf, False),
        ({"at": np.inf}, {"at": np.inf, "b": 1}, False),
        (Asked(1), Asked(1), False),
        (Compared(1), Compared(1), True),
        ([Compared(1)], [Compared(2)], False),
    ],
)
def test_targets_that_cannot_be_stored_are_compared(one: Any, other: Any, same: bool) -> None:
    subgraph = ex.Subgraph(PATH)
    explanations = [
        ex.Explanation(ex.Context(subgraph, one, 0), [1, 2, 3], "one"),
        ex.Explanation(ex.Context(subgraph, other, 0), [1, 2, 3], "two"),
    ]
    if same:
        assert ex.collect(Weighted(0), explanations).explainers == ["one", "two"]
        return
    with pytest.raises(InputError, match="two different subgraphs or targets"):
        ex.collect(Weighted(0), explanations)


def test_what_makes_no_sense_together_is_refused() -> None:
    context = ex.Context(ex.Subgraph(PATH), event=1)
    other = ex.Context(ex.Subgraph([[0, 1, 2], [2, 2, 3]]), event=1)
    with pytest.raises(InputError, match="two different subgraphs"):
        ex.collect(Weighted(0), [ex.Explanation(context, [1, 2, 3], "a"), ex.Explanation(other, [1, 2, 3], "b")])
    with pytest.raises(InputError, match="explained twice by 'a'"):
        ex.collect(Weighted(0), [ex.Explanation(context, [1, 2, 3], "a"), ex.Explanation(context, [3, 2, 1], "a")])
    with pytest.raises(InputError, match="found int"):
        ex.collect(Weighted(0), [3])
    for ids in ((1, None), (None, 0)):  # the second is counted as 1, the first as 0
        unnamed = [ex.Context(ex.Subgraph(PATH), event=event) for event in ids]
        said = [ex.Explanation(one, [1, 2, 3], name) for one, name in zip(unnamed, "ab", strict=True)]
        with pytest.raises(InputError, match="Give ids to all events or to none"):
            ex.collect(Weighted(0), said)
    with pytest.raises(InputError, match="event"):
        ex.collect(Weighted(0), [ex.Explanation(ex.Context(ex.Subgraph(PATH), event=1.5), [1, 2, 3])])


def test_an_event_has_one_label_and_one_truth() -> None:
    subgraph = ex.Subgraph(PATH)

    def collected(**facts: list[Any]) -> ex.AnswerTable:
        contexts = [
            ex.Context(subgraph, event="e", **{name: given[i] for name, given in facts.items()}) for i in (0, 1)
        ]
        said = [ex.Explanation(one, [1, 2, 3], name) for one, name in zip(contexts, "ab", strict=True)]
        return ex.collect(Weighted(0), said)

    with pytest.raises(InputError, match="event 'e' has two different labels"):
        collected(label=[0, 1])
    with pytest.raises(InputError, match="event 'e' has two different truths"):
        collected(truth=[[1, 0, 0], [0, 1, 0]])
    (row,) = collected(label=[None, 0], truth=[[1, 0, 0], None])  # what one of them knows holds for both
    assert (row.context.label, row.context.truth.tolist()) == (0, [True, False, False])


def test_labels_and_seeds_become_plain_numbers() -> None:
    context = ex.Context(ex.Subgraph([[0], [1]]), label=np.float64(1.0))
    assert type(context.label) is int
    assert type(ex.Explanation(context, [1], seed=np.int64(3)).seed) is int


@pytest.mark.parametrize("wrong", [{"explainer": 5}, {"elapsed": "3"}, {"elapsed": -1}, {"seed": "a"}, {"seed": 0.5}])
def test_facts_of_the_wrong_kind(wrong: Any) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        ex.Explanation(ex.Context(ex.Subgraph([[0], [1]])), [1], **wrong)
