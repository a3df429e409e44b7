"""Births are reconciled with the graphs: what appears and was not declared is refused, or reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evolution.conftest import Graph

from graphgauge.core.errors import InputError, OptionError
from graphgauge.evolution import AdaptiveEvaluator, EvaluationSuite, EvolutionLog, evaluate

METRICS = ["auc_birth", "delta_homophily"]


def growth(graph: Graph, cycles: int = 3, born: int = 12, seed: int = 0) -> list[np.ndarray]:
    """Edges that are new in each cycle."""
    drawn = np.random.default_rng(seed).choice(graph.free(), cycles * born, replace=False)
    return list(drawn.reshape(cycles, born, 2))


def after(graph: Graph, births: list[np.ndarray], cycle: int) -> np.ndarray:
    return np.concatenate([graph.edges, *births[: cycle + 1]])


def by_evaluator(graph: Graph, births: list[np.ndarray], declared: list[Any], tmp_path: Path, **options: Any) -> Any:
    """The evaluator is told the graph before the first cycle, and remembers it from then on."""
    evaluator = AdaptiveEvaluator(range(graph.nodes), graph.labels, metrics=METRICS, **options)
    for cycle, own in enumerate(declared):
        first = {"previous_edges": graph.edges} if cycle == 0 else {}
        evaluator.evaluate_cycle(graph.points, own, after(graph, births, cycle), cycle, graph.points, **first)
    return evaluator.evaluations[-1]


def by_suite(graph: Graph, births: list[np.ndarray], declared: list[Any], tmp_path: Path, **options: Any) -> Any:
    suite = EvaluationSuite(range(graph.nodes), graph.labels, ["run"], metrics=METRICS, **options)
    suite.begin("run", graph.points, graph.edges)
    for cycle, own in enumerate(declared):
        suite.step("run", graph.points, own, after(graph, births, cycle), cycle)
    return suite.evaluation()


def by_log(graph: Graph, births: list[np.ndarray], declared: list[Any], tmp_path: Path, **options: Any) -> Any:
    log = EvolutionLog(tmp_path / "log")
    log.begin("run", 0, edges=graph.edges, embeddings=graph.points)
    for cycle, own in enumerate(declared):
        log.append_cycle("run", 0, cycle, embeddings=graph.points, new_edges=own, all_edges=after(graph, births, cycle))
    return evaluate(log, graph.labels, metrics=METRICS, **options)


def by_list(graph: Graph, births: list[np.ndarray], declared: list[Any], tmp_path: Path, **options: Any) -> Any:
    """Every cycle brings its own graph before, and what was not declared hides in it."""
    cycles = [
        {
            "embeddings": graph.points,
            "new_edges": own,
            "all_edges": after(graph, births, cycle),
            "previous_embeddings": graph.points,
            "previous_edges": graph.edges
            if cycle == 0
            else np.concatenate(
                [after(graph, births, cycle - 1), [edge for edge in births[cycle] if edge.tolist() not in own.tolist()]]
            )
            if len(own) < len(births[cycle])
            else after(graph, births, cycle - 1),
        }
        for cycle, own in enumerate(declared)
    ]
    return evaluate(cycles, graph.labels, metrics=METRICS, **options)


DOORS = [by_evaluator, by_suite, by_log, by_list]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kept", [0, 3, 11])
def test_births_that_were_not_declared_are_refused(graph: Graph, tmp_path: Path, door: Any, kept: int):
    births = growth(graph)
    declared = [births[0], births[1], births[2][:kept]]
    with pytest.raises(
        InputError, match=rf"all_edges: {12 - kept} edges were neither in the graph before .*\(\d+, \d+\)"
    ) as caught:
        door(graph, births, declared, tmp_path)
    assert "undeclared=" in str(caught.value)
    assert door(graph, births, births, tmp_path / "whole").findings == ()


@pytest.mark.parametrize("door", DOORS)
def test_or_reported_with_a_finding(graph: Graph, tmp_path: Path, door: Any):
    births = growth(graph)
    declared = [births[0], births[1], births[2][:2]]
    found = door(graph, births, declared, tmp_path, undeclared="report")
    finding = next(each for each in found.findings if each.check == "undeclared-births")
    assert finding.severity == "error"
    assert finding.evidence["appeared"] == 10


def test_the_examples_are_the_edges_themselves(graph: Graph):
    births = growth(graph, 1)[0]
    evaluator = AdaptiveEvaluator(range(graph.nodes), graph.labels, metrics=METRICS)
    hidden = tuple(sorted(births[-1].tolist()))
    with pytest.raises(InputError) as caught:
        evaluator.evaluate_cycle(
            graph.points, births[:-1], np.concatenate([graph.edges, births]), 0, previous_edges=graph.edges
        )
    assert f"1 edges were neither in the graph before the cycle nor in new_edges: {hidden}" in str(caught.value)
    assert not evaluator.evaluations  # the history stays as it was


def test_edges_listed_both_ways_and_loops_are_no_births(graph: Graph):
    births = growth(graph, 1)[0]
    whole = np.concatenate([graph.edges[:, ::-1], graph.edges, births, births[:, ::-1], [[4, 4]]])
    evaluator = AdaptiveEvaluator(range(graph.nodes), graph.labels, metrics=METRICS)
    found = evaluator.evaluate_cycle(graph.points, births, whole, 0, previous_edges=graph.edges)
    assert found["delta_homophily"].n == len(births)
    assert not found.findings


def test_a_first_cycle_without_a_past_says_what_was_not_checked(graph: Graph):
    births = growth(graph, 2)
    evaluator = AdaptiveEvaluator(range(graph.nodes), graph.labels, metrics=METRICS)
    first = evaluator.evaluate_cycle(graph.points, births[0][:5], after(graph, births, 0), 0)
    assert any("are checked from the next cycle on" in note for note in first.notes)
    with pytest.raises(InputError, match="7 edges were neither"):
        evaluator.evaluate_cycle(graph.points, births[1][:5], after(graph, births, 1), 1)
    second = evaluator.evaluate_cycle(graph.points, births[1], after(graph, births, 1), 1)
    assert not any("next cycle on" in note for note in second.notes)


def test_removed_edges_are_declared_or_found(graph: Graph):
    births = growth(graph, 1)[0]
    whole = np.concatenate([graph.edges[4:], births])
    findings = []
    for removed in (None, graph.edges[:1], graph.edges[:4, ::-1]):
        if removed is None or len(removed) < 4:
            with pytest.raises(InputError, match=r"[34] edges were in the graph before the cycle and are missing"):
                AdaptiveEvaluator(range(graph.nodes), graph.labels).evaluate_cycle(
                    graph.points, births, whole, 0, previous_edges=graph.edges, removed_edges=removed
                )
        evaluator = AdaptiveEvaluator(range(graph.nodes), graph.labels, metrics=METRICS, undeclared="report")
        found = evaluator.evaluate_cycle(
            graph.points, births, whole, 0, previous_edges=graph.edges, removed_edges=removed
        )
        findings.append({each.check: each.evidence["lost"] for each in found.findings})
    assert findings == [{"undeclared-removals": 4}, {"undeclared-removals": 3}, {}]


def test_what_can_be_done_with_them_is_named(graph: Graph):
    with pytest.raises(OptionError, match="undeclared"):
        AdaptiveEvaluator(range(graph.nodes), graph.labels, undeclared="ignore")
