"""Conventions are the numbers of other libraries."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
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


def test_tables_without_the_masks_of_a_library_are_refused() -> None:
    table = ex.collect(Weighted(2), random_explanations(2, 4))
    with pytest.raises(InputError, match=r'masks of time_to_explain\. Collect with convention="time_to_explain"'):
        ex.evaluate(table, convention="time_to_explain")
