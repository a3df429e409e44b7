"""Conditions over seeds: what is remembered, reported, compared and drawn."""

from __future__ import annotations

import re
import types
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr
from scipy.stats import t as student
from tests.old.evolution.conftest import Graph

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.core.metric import find
from graphgauge.old.evolution import (
    AdaptiveEvaluator,
    EvaluationSuite,
    NietzscheEvaluationSuite,
    build_evaluation_suite_from_cora,
    tgc_step,
)
from graphgauge.old.evolution.figure import draw_evolution, picture, relation_of

METRICS = ["auc_synthetic", "auc_birth", "delta_homophily", "nca_mean", "tgc"]


def births(graph: Graph, rng: np.random.Generator, kind: str, count: int = 12) -> np.ndarray:
    free = graph.free()
    if kind == "Normal":
        free = free[graph.labels[free[:, 0]] == graph.labels[free[:, 1]]]
    if kind == "Inverted":
        free = free[graph.labels[free[:, 0]] != graph.labels[free[:, 1]]]
    return rng.choice(free, count, replace=False)


def run(graph: Graph, conditions=("Normal", "Off", "Inverted"), seeds=3, cycles=3, **options) -> EvaluationSuite:
    suite = EvaluationSuite(range(graph.nodes), graph.labels, conditions, **{"metrics": METRICS, "folds": 2} | options)
    for condition in conditions:
        for seed in range(seeds):
            rng = np.random.default_rng([seed, len(condition)])
            points, edges = graph.points.copy(), graph.edges
            suite.begin(condition, points, edges, seed)
            for cycle in range(cycles):
                new = births(graph, rng, condition, 12 - cycle % 9)
                edges = np.concatenate([edges, new])
                points *= 0.97  # in place, as systems do
                suite.step(condition, points, new, edges, cycle, seed=seed)
    return suite


@pytest.fixture(scope="module")
def suite() -> EvaluationSuite:
    from tests.old.evolution.conftest import block_graph

    return run(block_graph())


def test_embeddings_before_each_cycle_are_remembered(graph: Graph):
    rng = np.random.default_rng(0)
    suite = EvaluationSuite(range(120), graph.labels, ["Off"], metrics=["auc_synthetic", "auc_birth"], negatives="all")
    points, edges = graph.points.copy(), graph.edges
    first = births(graph, rng, "Off")
    edges = np.concatenate([edges, first])
    found = suite.step("Off", points, first, edges, 0)
    assert found["auc_birth"].reason == "the embeddings before the cycle are unknown"
    second = births(graph, rng, "Off")
    points[:] = rng.uniform(-0.4, 0.4, points.shape)  # in place
    found = suite.step("Off", points, second, np.concatenate([edges, second]), 1)
    alone = AdaptiveEvaluator(range(120), graph.labels, metrics=["auc_synthetic", "auc_birth"], negatives="all")
    expected = alone.evaluate_cycle(
        points, second, np.concatenate([edges, second]), 1, graph.points, previous_edges=edges
    )
    assert found.to_flat() == expected.to_flat()
    assert found["auc_birth"].value != found["auc_synthetic"].value
    assert found.run["method"] == "Off"


def test_a_refused_cycle_changes_nothing(graph: Graph):
    suite = EvaluationSuite(range(120), graph.labels, ["Off"], metrics=["auc_birth"])
    suite.begin("Off", graph.points, graph.edges)
    new = births(graph, np.random.default_rng(0), "Off")
    edges = np.concatenate([graph.edges, new])
    with pytest.raises(InputError, match="norm 1 or more"):
        suite.step("Off", graph.points + 1, new, edges, 0)
    assert suite.evaluators == {}
    assert suite.step("Off", graph.points, new, edges, 0)["auc_birth"].n == len(new)


def test_report(suite: EvaluationSuite, capsys: pytest.CaptureFixture[str]):
    found = suite.report()
    printed = capsys.readouterr().out
    assert list(found) == ["Normal", "Off", "Inverted"]
    for name, numbers in found.items():
        assert name in printed
        assert numbers["cycles"] == 9
        assert numbers["seeds"] == 3
        assert set(numbers) == {
            "auc_synthetic_mean",
            "auc_birth_mean",
            "delta_homophily_mean",
            "nca_mean",
            "tgc_mean",
            "cycles",
            "seeds",
        }
        histories = [suite.evaluators[name, seed].history["auc_birth"] for seed in range(3)]
        assert numbers["auc_birth_mean"] == pytest.approx(np.mean(np.mean(histories, axis=1)))
    assert found["Normal"]["delta_homophily_mean"] > found["Off"]["delta_homophily_mean"]
    assert found["Off"]["delta_homophily_mean"] > found["Inverted"]["delta_homophily_mean"]


def test_intervals_over_seeds(suite: EvaluationSuite):
    table = suite.evaluation().by("condition")
    means = [np.mean(suite.evaluators["Off", seed].history["auc_birth"]) for seed in range(3)]
    margin = student.ppf(0.975, 2) * np.std(means, ddof=1) / np.sqrt(3)
    assert table["auc_birth"][1] == pytest.approx(np.mean(means))
    assert table["auc_birth.low"][1] == pytest.approx(np.mean(means) - margin)
    whole = suite.evaluation()["auc_birth"]
    assert whole.interval is None
    assert not whole.defined  # a mean of conditions means nothing
    assert "read it by condition" in whole.reason


def test_one_run_of_many_cycles_has_no_interval(graph: Graph):
    found = run(graph, ["Off"], seeds=1, cycles=30, metrics=["delta_homophily"]).evaluation()
    result = found["delta_homophily"]
    assert (result.unit, result.n, result.interval) == ("cycle", 30, None)
    assert result.no_interval == "one run of many cycles has no interval; run more seeds"
    assert f"no interval: {result.no_interval}" in found.notes
    assert run(graph, ["Off"], seeds=1, cycles=1, metrics=["delta_homophily"]).evaluation()["delta_homophily"].interval


def test_runs_that_agree_have_an_interval_of_what_was_not_seen(graph: Graph):
    suite = EvaluationSuite(range(120), graph.labels, ["Off"], metrics=["homophily_new_edges", "homophily_baseline"])
    within = graph.free()[graph.labels[graph.free()[:, 0]] == graph.labels[graph.free()[:, 1]]]
    for seed in range(4):
        new = within[seed * 5 : seed * 5 + 5]
        suite.step("Off", graph.points, new, np.concatenate([graph.edges, new]), 0, seed=seed)
    found = suite.evaluation()
    assert found["homophily_new_edges"] == 1
    assert tuple(found["homophily_new_edges"].interval) == pytest.approx((0.025 ** (1 / 4), 1.0))
    assert found["homophily_baseline"].interval is None


def test_cycles_without_births_are_left_out_of_means_and_counted(graph: Graph):
    suite = EvaluationSuite(range(120), graph.labels, ["Off"], metrics=["delta_homophily", "tgc"])
    new = births(graph, np.random.default_rng(0), "Off")
    edges = np.concatenate([graph.edges, new])
    value = suite.step("Off", graph.points, new, edges, 0)["delta_homophily"].value
    suite.step("Off", graph.points, None, edges, 1)
    result = suite.evaluation()["delta_homophily"]
    assert result.value == value
    assert result.n == 1
    assert "1 cycles have no value (no births)" in result.warnings[0]


def test_compare_over_seeds(graph: Graph):
    suite = run(graph, seeds=8, cycles=2, metrics=["delta_homophily"])
    found = suite.compare("delta_homophily")
    assert found.unit == "seed"
    assert len(found.units) == 8
    assert [standing.method for standing in found.standings] == ["Normal", "Off", "Inverted"]
    assert all(test.significant for test in found.tests)
    against = suite.compare("delta_homophily", baseline="Off")
    assert len(against.tests) == 2
    with pytest.raises(UnknownNameError):
        suite.compare("auc")


def test_tgc_is_stored_with_its_cycle_and_computed_where_it_is_not_given(graph: Graph):
    suite = EvaluationSuite(range(120), graph.labels, ["Off"], metrics=["tgc", "auc_synthetic"])
    rng = np.random.default_rng(0)
    edges, smoothed = graph.edges, None
    for cycle, count in enumerate([10, 0, 5]):
        new = births(graph, rng, "Off", count) if count else None
        edges = edges if new is None else np.concatenate([edges, new])
        found = suite.step("Off", graph.points, new, edges, cycle)["tgc"]
        smoothed = tgc_step(count, 120, largest_component(edges, 120), smoothed)
        assert found.value == pytest.approx(smoothed)
    given = EvaluationSuite(range(120), graph.labels, ["Off"], metrics=["tgc", "auc_synthetic"], negatives="all")
    expected = []
    for cycle in range(6):
        new = births(graph, rng, "Off") if cycle % 2 else None
        every = graph.edges if new is None else np.concatenate([graph.edges, new])
        found = given.step("Off", graph.points, new, every, cycle, tgc=float(cycle), previous_edges=graph.edges)
        if found["auc_synthetic"].defined:
            expected.append((cycle, found["auc_synthetic"].value))
    tgc, auc = picture(given).growth["Off"]
    assert list(zip(tgc.tolist(), auc.tolist(), strict=True)) == expected


def largest_component(edges: np.ndarray, nodes: int) -> int:
    parts = {node: {node} for node in range(nodes)}
    for u, v in edges.tolist():
        if parts[u] is not parts[v]:
            parts[u] |= parts[v]
            for node in parts[v]:
                parts[node] = parts[u]
    return max(len(part) for part in parts.values())


def test_growth_against_areas_is_scipys_correlation_within_conditions(suite: EvaluationSuite):
    shown = picture(suite)
    for name in shown.conditions:
        assert shown.relation.within[name] == pytest.approx(pearsonr(*shown.growth[name]).statistic, rel=1e-12)
        assert shown.relation.lines[name] == pytest.approx(np.polyfit(*shown.growth[name], 1), rel=1e-6)
    centres = np.array([(tgc.mean(), auc.mean()) for tgc, auc in shown.growth.values()]).T
    assert shown.relation.between == pytest.approx(pearsonr(*centres).statistic, rel=1e-9)


def test_falling_within_and_rising_between_conditions_are_not_pooled():
    rng = np.random.default_rng(0)
    growth = {}
    for level, name in enumerate(["low", "middle", "high"]):
        x = rng.uniform(0, 1, 40)
        growth[name] = (x + 2 * level, 0.2 * level + 0.1 - 0.1 * x)
    assert pearsonr(*(np.concatenate(part) for part in zip(*growth.values(), strict=True))).statistic > 0.8
    relation = relation_of(growth)
    assert all(r == pytest.approx(-1) for r in relation.within.values())
    assert relation.between > 0.9


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_dashboard(suite: EvaluationSuite, tmp_path: Path, ending: str):
    path = tmp_path / f"dashboard.{ending}"
    suite.plot(path)
    first = path.read_bytes()
    assert len(first) > 5000
    if ending == "svg":
        suite.plot(path)
        assert path.read_bytes() == first
        text = first.decode()
        for word in ("Normal", "Off", "Inverted", "auc_birth", "auc_synthetic", "delta_homophily", "r within"):
            assert word in text


@pytest.mark.parametrize("count", [1, 9])
def test_any_number_of_conditions_can_be_drawn(graph: Graph, tmp_path: Path, count: int):
    names = [f"rule {number} <b>&" for number in range(count)]
    suite = run(graph, names, seeds=1, cycles=2, metrics=["auc_synthetic", "auc_birth"])
    suite.plot(tmp_path / "dashboard.svg")
    assert "<b>" not in (tmp_path / "dashboard.svg").read_text()
    assert picture(suite).relation is None


def test_nothing_to_draw(graph: Graph, tmp_path: Path):
    empty = EvaluationSuite(range(120), graph.labels)
    for ask in (empty.report, empty.evaluation, empty.compare, lambda: empty.plot(tmp_path / "x.png")):
        with pytest.raises(InputError, match="no cycle was evaluated"):
            ask()
    bare = run(graph, ["Off"], seeds=1, cycles=1, metrics=["tgc"])
    with pytest.raises(InputError, match="no metric of the dashboard was computed"):
        bare.plot(tmp_path / "x.png")
    with pytest.raises(OptionError, match=r"\.bmp"):
        run(graph, ["Off"], seeds=1, cycles=1).plot(tmp_path / "x.bmp")


def test_colours_and_shapes_differ(suite: EvaluationSuite, tmp_path: Path):
    draw_evolution(picture(suite), tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    assert len(set(re.findall(r"stroke: (#[0-9a-f]{6})", text))) >= 3
    assert "stroke-dasharray" in text


def test_conditions_and_seeds_are_checked(graph: Graph):
    suite = EvaluationSuite(range(120), graph.labels)
    with pytest.raises(UnknownNameError, match="Normal"):
        suite.step("normal", graph.points, None, graph.edges, 0)
    with pytest.raises(OptionError, match="seed"):
        suite.step("Normal", graph.points, None, graph.edges, 0, seed=1.5)
    for names in ([], ["a", "a"], None, 5, [5]):
        with pytest.raises(OptionError, match="each once"):
            EvaluationSuite(range(120), graph.labels, names)
    with pytest.raises(InputError, match="labels"):
        EvaluationSuite(range(121), graph.labels)
    suite.step("Normal", graph.points, None, graph.edges, 0)
    with pytest.raises(InputError, match="begun already"):
        suite.begin("Normal", graph.points, graph.edges)


def test_names_of_the_original_protocol(graph: Graph):
    old = NietzscheEvaluationSuite(
        cora_node_ids=set(range(120)), cora_labels=graph.labels, conditions=None, device="cuda", temperature=2.0
    )
    assert old.conditions == ("Normal", "Off", "Inverted")
    assert old.step("Off", graph.points, None, graph.edges, 0)["nca_mean"].defined


def test_suites_from_data(graph: Graph, tmp_path: Path):
    np.savez(tmp_path / "cora.npz", labels=graph.labels, edges=graph.edges)
    torch = pytest.importorskip("torch")
    with np.load(tmp_path / "cora.npz") as archive:
        forms = [
            types.SimpleNamespace(num_nodes=120, y=torch.tensor(graph.labels)),
            types.SimpleNamespace(num_nodes=120, y=graph.labels),
            {"y": graph.labels},
            archive,
            graph.labels,
            graph.labels.tolist(),
        ]
        for data in forms:
            suite = build_evaluation_suite_from_cora(data, folds=2)
            assert suite.step("Off", graph.points, None, graph.edges, 0)["nca_mean"].n == 120
    with pytest.raises(InputError, match="neither labels nor y"):
        build_evaluation_suite_from_cora({"x": 1})
    with pytest.raises(OptionError, match="num_nodes must be a whole number"):
        build_evaluation_suite_from_cora(types.SimpleNamespace(num_nodes="a", y=graph.labels))
    for wrong in (7, None, types.SimpleNamespace(num_nodes=120)):
        with pytest.raises(InputError, match="Pass an object with y, or the labels"):
            build_evaluation_suite_from_cora(wrong)
    with pytest.raises(TypeError):
        build_evaluation_suite_from_cora(graph.labels, "cuda")  # a device, never a condition


def test_node_ids_of_any_kind_and_options_are_checked(graph: Graph):
    by_node = dict(enumerate(graph.labels.tolist()))
    for node_ids in (by_node.keys(), set(by_node), list(by_node), np.arange(120)):
        suite = EvaluationSuite(node_ids, by_node, metrics=["homophily_baseline"])
        assert suite.step("Off", graph.points, None, graph.edges, 0)["homophily_baseline"].n == 120
    for seed in ("a", None, -1):
        with pytest.raises(OptionError, match="seed must be a whole number"):
            EvaluationSuite(range(120), graph.labels, seed=seed)


def test_growth_as_reported_and_as_computed_are_not_mixed(graph: Graph):
    evaluator = AdaptiveEvaluator(range(120), graph.labels, metrics=["tgc"])
    new = graph.free()[:6]
    edges = np.concatenate([graph.edges, new])
    assert evaluator.evaluate_cycle(graph.points, new, edges, 0, tgc=5.0)["tgc"] == 5
    expected = tgc_step(0, 120, largest_component(edges, 120))
    assert evaluator.evaluate_cycle(graph.points, None, edges, 1)["tgc"] == expected


def test_bands_stay_within_what_a_metric_can_be(graph: Graph):
    shown = picture(run(graph, ["Off"], seeds=2, cycles=2))
    curves = {key: curve["Off"] for key, curve in shown.curves.items()}
    assert any((curve.high == 1).any() or (curve.low == 0).any() for curve in curves.values())
    for key, curve in curves.items():
        floor, ceiling = find(key, "evolution")[0].bounds
        known = ~np.isnan(curve.low)  # seeds that are equal in a cycle have no band there
        assert (np.isnan(curve.high) == ~known).all(), key
        assert (curve.low[known] >= floor).all(), key
        assert (curve.high[known] <= ceiling).all(), key


def test_notes_of_many_cycles_are_said_once(graph: Graph):
    suite = EvaluationSuite(range(110), graph.labels[:110], ["Off"], metrics=["tgc"])
    for cycle in range(3):
        new = np.array([[119 - i, 10 * cycle + i] for i in range(cycle + 1)])
        suite.step("Off", graph.points, new, np.concatenate([graph.edges, new]), cycle)
    assert suite.evaluation().notes == (
        "the graph before the cycle is unknown; undeclared births are checked from the next cycle on (cycle 0)",
        "births with both labels known: 0 of 1 (cycle 0)",
        "no interval: one run of many cycles has no interval; run more seeds",
    )


def test_each_cycle_weighs_a_tenth_in_the_growth(graph: Graph):
    evaluator = AdaptiveEvaluator(range(120), graph.labels, metrics=["tgc"])
    new = graph.free()[:6]
    edges = np.concatenate([graph.edges, new])
    first = evaluator.evaluate_cycle(graph.points, new, edges, 0)["tgc"].value
    assert first == pytest.approx(6 / 120, rel=0.05)  # nearly all nodes hang together
    assert evaluator.evaluate_cycle(graph.points, None, edges, 1)["tgc"].value == pytest.approx(0.9 * first, rel=1e-12)
