"""Conventions are the numbers of other libraries."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.explanation import libraries
from tests.explanation.brute import Weighted, random_explanations
from tests.explanation.original import COMMIT, FILE, LEVELS, case, parts

from graphgauge import explanation as ex
from graphgauge.core.errors import InputError, OptionError

STORED = json.loads(FILE.read_text())


def test_the_stored_cases_are_those_of_the_named_commit() -> None:
    assert STORED["commit"] == COMMIT
    assert len(STORED["cases"]) == 60
    for seed in (0, 59):
        drawn = case(seed)
        assert {name: STORED["cases"][seed][name] for name in drawn} == drawn


@pytest.mark.parametrize("seed", range(60))
def test_time_to_explain(seed: int) -> None:
    given = STORED["cases"][seed]
    model, result, context = parts(given)
    explanation = ex.from_result(result, context, src=given["src"], dst=given["dst"], time=given["time"])
    table = ex.collect(model, [explanation], levels=LEVELS, convention="time_to_explain")
    found = ex.evaluate(table, convention="time_to_explain")
    kept = ex.evaluate(table, convention="time_to_explain", options={"fidelity_best": {"mode": "keep"}})
    for key, value in given["values"].items():
        name, _, rest = key.partition(" ")
        mode, _, part = rest.partition(".")
        whole = f"{name}.{part}" if part else name
        ours = (kept if mode == "keep" else found)[whole]
        assert ours.value == pytest.approx(value, rel=1e-12, abs=1e-12), key
        if name.startswith("fidelity"):
            assert ours.direction in ("higher", "none")


def test_results_as_that_library_returns_them() -> None:
    """The context is separate, and has the edges of its candidates."""
    given = STORED["cases"][3]
    model, result, context = parts(given)
    ends = [(given["src"][edge], given["dst"][edge]) for edge in given["candidates"]]
    context.subgraph.edge_index, context.subgraph.timestamps = (
        ends,
        [given["time"][edge] for edge in given["candidates"]],
    )
    context.label = 1
    explanation = ex.from_result(result, context)
    assert explanation.explainer == "theirs"
    assert (explanation.context.event, explanation.context.label, explanation.elapsed) == ("f00d", 1, 0.5)
    assert explanation.context.target == context.target
    assert explanation.context.subgraph.unit_count == len(ends)
    subgraph = explanation.context.subgraph
    assert subgraph.nodes[subgraph.edge_index].T.tolist() == [list(pair) for pair in ends]
    with pytest.raises(InputError, match="has no context with a subgraph"):
        ex.from_result(result)
    assert ex.collect(model, [explanation], convention="time_to_explain").masks > 2


def test_selected_events_rank_first_in_their_own_order() -> None:
    subgraph = SimpleNamespace(payload={}, edge_index=[(0, 1), (1, 2), (2, 3), (3, 4)], timestamps=[1, 2, 3, 4])
    result = SimpleNamespace(
        importance_edges=[4.0, 1.0, 3.0, 2.0],
        explainer="x",
        context_fp="a",
        extras={"candidate_eidx": [7, 5, 6, 9], "coalition_eidx": [5, 9]},
    )
    found = ex.from_result(result, SimpleNamespace(subgraph=subgraph, target=0))
    assert np.argsort(-found.importance).tolist() == [3, 1, 0, 2]


def test_the_convention_fixes_how_edges_are_ranked() -> None:
    for wrong in ({"ties": "average"}, {"by": "abs"}, {"normalize": "minmax"}):
        with pytest.raises(OptionError, match="ranks by value, and ties by position"):
            ex.collect(Weighted(0), random_explanations(0, 1), convention="time_to_explain", **wrong)


@pytest.mark.parametrize("call", [ex.collect, ex.evaluate])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sparsity_levels", "levels="),
        ("result_as_logit", "model_output="),
        ("num_points", '"points": 16'),
        ("tie_break", "position"),
        ("no_such_option", "help"),
    ],
)
def test_original_names_are_answered_with_those_of_today(call: Any, name: str, hint: str) -> None:
    with pytest.raises(OptionError, match=f"there is no option {name}") as caught:
        call(Weighted(0), random_explanations(0, 1), **{name: [0.1]})
    assert hint in str(caught.value)


# ------------------------------------------------------------------------------------- DIG and GraphXAI

OTHERS = json.loads(libraries.FILE.read_text())


class Scores:
    """Sums of weights: of the kept edges, and of the kept nodes' features."""

    model_output = "logit"

    def predict(self, subgraph: ex.Subgraph, target: dict[str, Any], masks: np.ndarray) -> np.ndarray:
        edges = subgraph.edge_masks(masks) @ np.array(target["edges"]).T + np.array(target["bias"])
        if "entries" not in target:
            return edges
        x = np.array(target["x"])[np.newaxis] * np.ones((len(masks), 1, 1))
        if subgraph.masked != "edges":
            x = x * subgraph.feature_masks(masks)[0]
        return edges + np.einsum("cnf,bnf->bc", np.array(target["entries"]), x)


def test_the_stored_cases_of_other_libraries() -> None:
    assert OTHERS["commits"] == libraries.COMMITS
    for seed in (0, 29):
        assert OTHERS["dig"][seed]["events"] == libraries.dig_case(seed)
        assert OTHERS["graphxai"][seed]["case"] == libraries.graphxai_case(seed)


@pytest.mark.parametrize("seed", range(30))
def test_dig(seed: int) -> None:
    stored = OTHERS["dig"][seed]
    explanations = []
    for number, event in enumerate(stored["events"]):
        count = len(event["importance"])
        subgraph = ex.Subgraph(np.arange(2 * count).reshape(2, count))
        target = {"edges": event["weights"], "bias": event["bias"]}
        context = ex.Context(subgraph, target, number, event["label"])
        explanations.append(ex.Explanation(context, event["importance"]))
    levels = [round(1 - sparsity, 12) for sparsity in libraries.SPARSITIES]
    found = ex.evaluate(Scores(), explanations, convention="dig", levels=levels)
    assert {*found} == {*stored["values"]}
    for key, value in stored["values"].items():
        assert found[key].value == pytest.approx(value, abs=2e-7), key  # DIG averages in 32 bits
    assert {level.name for level in found["fidelity@0.5"].levels} >= {"random explainer"}


def test_dig_scores_the_label() -> None:
    explanations = [ex.Explanation(ex.Context(ex.Subgraph([[0], [1]]), {"edges": [[1.0]], "bias": [0.0]}, 0), [1.0])]
    with pytest.raises(InputError, match="event 0 has no label"):
        ex.evaluate(Scores(), explanations, convention="dig")


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("masked", ["edges", "nodes", "features"])
def test_graphxai(seed: int, masked: str) -> None:
    case, values = OTHERS["graphxai"][seed]["case"], OTHERS["graphxai"][seed]["values"]
    count, imp = len(case["edges"][0]), {"edges": "edge_imp", "nodes": "node_imp", "features": "feature_imp"}[masked]
    nodes = max(len(case["x"]), count + 1)
    x = np.array(case["x"] + [[0.0] * len(case["x"][0])] * (nodes - len(case["x"])))
    subgraph = ex.Subgraph(
        [range(count), range(1, count + 1)],
        np.arange(nodes),
        node_features=x,
        masked=masked,
        units=None,
        candidates=np.arange(len(case[imp])),
    )
    entries = np.zeros((3, *x.shape))
    entries[:, : len(case["x"])] = case["entries"]
    target = {"edges": case["edges"], "bias": [0.0] * 3, "x": x.tolist(), "entries": entries.tolist()}
    truths = np.array([truth[imp] for truth in case["truths"]])
    explanation = ex.Explanation(ex.Context(subgraph, target, 0, truth=truths), case[imp])
    accuracy = ex.evaluate(None, [explanation], convention="graphxai", metrics=["graph_exp_acc"])["graph_exp_acc"]
    assert accuracy.value == pytest.approx(values["graph_exp_acc"][masked], rel=1e-12, abs=1e-12)
    if masked == "features":  # GraphXAI leaves these out as well
        with pytest.raises(InputError, match="faithfulness is of edges or nodes"):
            ex.evaluate(Scores(), [explanation], convention="graphxai", metrics=["graph_exp_faith"])
        return
    faith = ex.evaluate(Scores(), [explanation], convention="graphxai")["graph_exp_faith"]
    assert faith.value == pytest.approx(values["graph_exp_faith"][masked], rel=1e-9, abs=1e-12)
    assert faith.direction == "lower"


def test_tables_without_the_masks_of_a_library_are_refused() -> None:
    table = ex.collect(Weighted(2), random_explanations(2, 4))
    for convention in ("dig", "graphxai", "time_to_explain"):
        with pytest.raises(InputError, match=f'masks of {convention}. Collect with convention="{convention}"'):
            ex.evaluate(table, convention=convention)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("masked", ["edges", "nodes", "features"])
def test_graphxai_stability(seed: int, masked: str) -> None:
    stored = OTHERS["stability"][seed]
    case, imp = stored["case"], {"edges": "edge_imp", "nodes": "node_imp", "features": "feature_imp"}[masked]
    assert case == libraries.stability_case(seed)
    count, edges = len(case["said"][imp]), len(case["said"]["edge_imp"])
    nodes = max(len(case["said"]["node_imp"]), edges + 1)
    x = np.zeros((nodes, len(case["said"]["feature_imp"])))
    subgraph = ex.Subgraph(
        [range(edges), range(1, edges + 1)],
        np.arange(nodes),
        node_features=x,
        masked=masked,
        candidates=np.arange(count),
    )
    context = ex.Context(subgraph, event=0)
    said = [ex.Explanation(context, case["said"][imp])]
    said += [ex.Explanation(context, each[imp], perturbed=number) for number, each in enumerate(case["perturbed"])]
    found = ex.evaluate(None, said, convention="graphxai", metrics=["graph_exp_stability"])
    assert found["graph_exp_stability"].value == pytest.approx(stored["values"][masked], abs=2e-7)  # of 32 bits


def test_more_edges_than_there_are_leave_nothing_out() -> None:
    context = ex.Context(ex.Subgraph([range(4), range(1, 5)]), event=0, label=0)
    table = ex.collect(Weighted(0), [ex.Explanation(context, np.arange(4))], convention="dig", topk=[10], levels=[])
    assert ex.evaluate(table, convention="dig")["sparsity@k=10"] == 0
