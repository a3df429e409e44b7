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


def key_of(stored: str) -> str:
    """A key of the stored values as ours: `fidelity_best keep.best_s` is `fidelity_best_keep.k`."""
    name, _, rest = stored.partition(" ")
    mode, _, part = rest.partition(".")
    return name + ("_keep" if mode == "keep" else "") + (".k" if part else "")


@pytest.mark.parametrize("seed", range(60))
def test_time_to_explain(seed: int) -> None:
    given = STORED["cases"][seed]
    model, result, context = parts(given)
    explanation = ex.from_result(result, context, src=given["src"], dst=given["dst"], time=given["time"])
    found = ex.evaluate(model, [explanation], sparsity_levels=LEVELS, protocol="time_to_explain")
    assert found.options["protocol"] == "time_to_explain"
    for key, value in given["values"].items():
        ours = found[key_of(key)]
        assert ours.value == pytest.approx(value, rel=1e-12, abs=1e-12), key
        if key.startswith("fidelity"):
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
    assert ex.evaluate(model, [explanation], protocol="time_to_explain")["acc_auc"].defined


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


def test_the_protocol_fixes_how_edges_are_ranked_and_scored() -> None:
    said = random_explanations(0, 3)
    for wrong in ({"ties": "average"}, {"score": "label"}, {"metrics": ["acc_auc"]}):
        with pytest.raises(OptionError, match="and the protocol time_to_explain has"):
            ex.evaluate(Weighted(0), said, protocol="time_to_explain", **wrong)
    table = ex.collect(Weighted(0), said)
    with pytest.raises(OptionError, match=r"ties='position' is an option of asking.*with ties='fixed'"):
        ex.evaluate(table, protocol="time_to_explain")
    joined = next(seed for seed in range(20) if any(_joins(one) for one in random_explanations(seed, 6)))
    with pytest.raises(InputError, match=r"masks edges together.*units=.edges."):
        ex.evaluate(Weighted(0), random_explanations(joined, 6), protocol="time_to_explain")


def _joins(one: ex.Explanation) -> bool:
    return one.context.subgraph.unit_count < len(one.context.subgraph)


class Sum:
    """One probability, a sum over kept edges."""

    model_output = "probability"

    def __init__(self, weights: Any, bias: float) -> None:
        self._weights, self._bias = np.asarray(weights), bias

    def predict(self, subgraph: Any, target: Any, masks: np.ndarray) -> np.ndarray:
        return self._bias + masks @ self._weights


def test_the_document_by_hand() -> None:
    """Ten edges of decreasing importance; p = .1 + .08 k, or 1 − p if that is larger; the label is 1 from k = 5 on."""
    subgraph = ex.Subgraph([range(10), range(1, 11)], times=range(10))
    one = ex.Explanation(ex.Context(subgraph, event=0), np.arange(10, 0, -1))
    levels = (0.1, 0.25, 0.5)
    found = ex.evaluate(
        Sum(np.full(10, 0.08), 0.1), [one], sparsity_levels=levels, protocol="time_to_explain_reference"
    )

    def f(edges: int) -> float:
        return max(0.1 + 0.08 * edges, 0.9 - 0.08 * edges)

    counts = [1, 2, 5]  # 2.5 is rounded to 2, as Python rounds
    drops, keeps = ([abs(f(10) - f(each)) for each in (10 - c for c in counts)], [abs(f(10) - f(c)) for c in counts])
    for level, drop, keep, count in zip(levels, drops, keeps, counts, strict=True):
        assert found[f"fidelity_drop@{level}"].value == pytest.approx(drop)
        assert found[f"fidelity_keep@{level}"].value == pytest.approx(keep)
        assert found[f"fidelity_keep@{level}"].direction == "higher"
        assert found[f"fidelity_tempme@{level}"].value == pytest.approx(f(count) - f(10))  # f(G) ≥ 0.5: label 1
    assert found["fidelity_best"].value == pytest.approx(max(drops))
    assert found["fidelity_best.k"].value == levels[int(np.argmax(drops))]
    assert found["fidelity_best_keep"].value == pytest.approx(max(keeps))
    assert found["fidelity_best_keep.k"].value == levels[int(np.argmax(keeps))]
    kept = [round((1 - share) * 10) for share in np.linspace(0, 0.3, 16)]
    assert found["acc_auc.complement"].value == 1.0 == float(np.mean([each >= 5 for each in kept]))
    assert found["cohesiveness@0.25"].value == pytest.approx(np.cos(1 / 9))


def test_three_readings_of_one_table() -> None:
    """The document's example of how far readings differ: the sweep, the best of keep, the score."""
    said = random_explanations(8, 12)
    separate = [
        ex.Explanation(
            ex.Context(
                ex.Subgraph(
                    one.context.subgraph.edge_index,
                    one.context.subgraph.nodes,
                    one.context.subgraph.times,
                    units="edges",
                ),
                event=one.context.event,
            ),
            np.arange(one.context.subgraph.edges) % 3,
        )
        for one in said
    ]
    table = ex.collect(Weighted(8), separate, metrics="all", ties="position")
    ours = ex.evaluate(table, metrics="all")
    library = ex.evaluate(table, protocol="time_to_explain")
    document = ex.evaluate(table, protocol="time_to_explain_reference")
    assert document["acc_auc.complement"].value == ours["acc_auc.complement"].value != ours["acc_auc"].value
    assert ours["fidelity_best_keep"].value <= document["fidelity_best_keep"].value
    assert library["fidelity_keep@0.1"].value != document["fidelity_keep@0.1"].value != ours["fidelity_keep@0.1"].value
