"""Runs of several cycles, seeds and conditions: summaries, reports, findings, stored logs, events and snapshots."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.evolution.grown import block_graph, cycles, smoothed

from graphgauge import evolution
from graphgauge.core.errors import InputError, OptionError
from graphgauge.stats.intervals import of_runs

LABELS = block_graph().labels
KEYS = ["auc_synthetic", "auc_birth", "delta_homophily"]


def runs(conditions=("a", "b"), seeds=4, **options):
    return [each for name in conditions for seed in range(seeds) for each in cycles(seed, condition=name, **options)]


def test_means_over_seeds_have_students_t():
    found = evolution.evaluate(runs(["a"]), LABELS, metrics=KEYS)
    one = [evolution.evaluate(runs(["a"])[3 * seed : 3 * seed + 3], LABELS, metrics=KEYS, seed=0) for seed in range(4)]
    values = [each["auc_birth"].value for each in one]
    assert found["auc_birth"].value == pytest.approx(np.mean(values))
    expected = of_runs(values, 0.95)
    assert tuple(found["auc_birth"].interval) == pytest.approx(tuple(expected))
    assert one[0]["auc_birth"].interval is None
    assert "one run of many cycles has no interval" in one[0]["auc_birth"].no_interval
    assert found.by("cycle")["cycle"].tolist() == [0, 1, 2]


def test_conditions_are_not_averaged():
    found = evolution.evaluate(runs(), LABELS, metrics=KEYS)
    assert np.isnan(found["auc_birth"].value)
    table = found.by("condition")
    assert table["condition"].tolist() == ["a", "b"]
    alone = evolution.evaluate(runs(), LABELS, metrics=KEYS, conditions=["b"])
    assert table["auc_birth"][1] == alone["auc_birth"].value
    assert (
        evolution.evaluate(runs(), LABELS, metrics=KEYS, conditions=["b", "a"]).by("condition")["condition"][0] == "b"
    )


def test_copies_of_a_run_count_once():
    given = cycles()
    twice = given + [each | {"seed": 1} for each in given]
    found = evolution.evaluate(twice, LABELS, metrics=KEYS)
    assert found["auc_birth"].interval is None
    assert "copied-run" in {each.check for each in found.findings}


def test_circular_areas_are_found_in_a_run_without_interval():
    smooth = evolution.evaluate(cycles(weight=0.6), LABELS)
    assert smooth["auc_synthetic"].interval is None
    (finding,) = [each for each in smooth.findings if each.check == "circular-auc"]
    assert "shows more than was there before" in finding.message
    still = evolution.evaluate(cycles(weight=0.0), LABELS)
    assert "circular-auc" not in {each.check for each in still.findings}


def test_undeclared_births_are_refused():
    given = cycles(count=1)[0]
    given["new_edges"] = given["new_edges"][:-3]
    with pytest.raises(InputError, match="3 edges were neither in the graph before the cycle nor in new_edges"):
        evolution.evaluate([given], LABELS)
    given["new_edges"] = np.concatenate([cycles(count=1)[0]["new_edges"], [[0, 89]]])
    with pytest.raises(InputError, match="1 edges were declared as births and are not in the graph after the cycle"):
        evolution.evaluate([given], LABELS)


def test_births_that_are_not_given_are_those_that_the_graph_gained():
    given = cycles(count=2, weight=0.1)
    inferred = [{name: value for name, value in each.items() if name != "new_edges"} for each in given]
    one, other = (evolution.evaluate(each, LABELS) for each in (given, inferred))
    assert {key: each.value for key, each in one.items()} == {key: each.value for key, each in other.items()}
    assert "inferred-births" in {each.check for each in other.findings}
    assert "inferred-births" not in {each.check for each in one.findings}
    none = evolution.AdaptiveEvaluator(range(90), LABELS).evaluate_cycle(
        given[0]["embeddings"], np.empty((0, 2), int), given[0]["previous_edges"], 0
    )
    assert none["n_synthetic_positives"].value == 0


def test_births_of_edges_that_had_died_are_left_out_of_the_areas():
    """Embeddings have seen them: their ends would be close without any skill."""
    (given,), gone = cycles(count=1), block_graph().edges[:4]
    keep = given["previous_edges"][4:]
    evaluator = evolution.AdaptiveEvaluator(range(90), LABELS, n_neg_per_pos="all", metrics=[*KEYS, "retention"])
    points, births = given["previous_embeddings"], given["new_edges"]
    evaluator.evaluate_cycle(points, [], keep, 0, points, previous_edges=given["previous_edges"])
    after = np.concatenate([keep, births, gone])
    again = evaluator.evaluate_cycle(points, np.concatenate([births, gone]), after, 1, points)
    alone = evolution.AdaptiveEvaluator(range(90), LABELS, n_neg_per_pos="all", metrics=KEYS)
    expected = alone.evaluate_cycle(points, births, after, 0, points, previous_edges=np.concatenate([keep, gone]))
    assert again["auc_birth"].n == 20
    assert again["auc_birth"].value == expected["auc_birth"].value
    assert again["delta_homophily"].n == 24  # they are births nevertheless
    assert "births of edges that existed before, left out of the areas: 4" in again["auc_birth"].warnings


def test_shared_state_is_found():
    first = cycles(condition="a")
    second = [each | {"condition": "b"} for each in cycles(count=6, condition="b")[3:]]
    found = evolution.evaluate(first + second, LABELS, metrics=KEYS)
    assert "shared-state" in {each.check for each in found.findings}


def test_a_suite_reports_and_tests_the_predicted_order(capsys):
    suite = evolution.EvaluationSuite(range(90), LABELS, ["a", "b"], metrics=KEYS)
    suite.replay(runs(seeds=1))
    expected = np.mean(suite.of("a")[0].history["auc_birth"])
    assert suite.report()["a"]["auc_birth_mean"] == pytest.approx(expected)
    assert "one seed in common, so the order cannot be tested" in capsys.readouterr().out
    assert repr(suite) == "<EvaluationSuite of a, b: 2 runs, 6 cycles>"


def test_a_drawing_has_a_panel_for_each_metric(tmp_path: Path):
    suite = evolution.EvaluationSuite(range(90), LABELS, ["a", "b"])
    suite.replay(runs(seeds=2))
    figure = suite.plot(tmp_path / "dashboard.png")
    titles = {axis.get_title().partition("\n")[0] for axis in figure.axes}
    assert {"AUC of births, after the cycle", "Means over cycles and seeds"} <= titles
    assert any(title.startswith("Growth against AUC, ") for title in titles)
    assert (tmp_path / "dashboard.png").stat().st_size > 10_000


def test_evaluators_can_be_copied():
    given = cycles()
    evaluator = evolution.AdaptiveEvaluator(range(90), LABELS)
    for each in given[:2]:
        evaluator.evaluate_cycle(each["embeddings"], each["new_edges"], each["all_edges"], each["cycle"])
    values = []
    for other in (copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator)), evaluator):
        last = given[2]
        found = other.evaluate_cycle(last["embeddings"], last["new_edges"], last["all_edges"], 2)
        values.append({key: str(result.value) for key, result in found.items()})
    assert values[0] == values[1] == values[2]


# ---- the original document


def test_the_integration_section_of_the_document(tmp_path: Path, monkeypatch, capsys):
    """Tensors, a device that is not there, an engine that adds and removes edges, its keys and its files."""
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    graph = block_graph()
    data = SimpleNamespace(num_nodes=90, y=torch.tensor(graph.labels))
    suite = evolution.build_evaluation_suite_from_cora(data, device="cuda")
    for condition in ["Normal", "Off", "Inverted"]:
        rng, edges, points = np.random.default_rng(len(condition)), graph.edges, graph.points
        for t in range(3):
            edges = edges[rng.random(len(edges)) > 0.05]
            pairs = np.sort(rng.integers(0, 90, (15, 2)), axis=1)
            taken = {tuple(edge) for edge in edges.tolist()}
            new = np.array([pair for pair in np.unique(pairs, axis=0).tolist() if pair[0] != pair[1]])
            new = np.array([pair for pair in new.tolist() if tuple(pair) not in taken])
            edges = np.concatenate([edges, new])
            points = smoothed(points, edges, 0.1)
            tgc = 0.1 * (t + 1)
            result = suite.step(
                condition=condition,
                embeddings=torch.tensor(points, dtype=torch.float32),
                new_edges=torch.tensor(new, dtype=torch.long),
                all_edges=torch.tensor(edges).T.T,
                cycle=t,
                tgc=tgc,
            )
            line = f"[{result['condition']}] t={result['cycle']:3d} AUC={result['auc_synthetic']:.4f} "
            line += f"dh={result['delta_homophily']:+.4f} NCA={result['nca_mean']:.4f} TGC={result['tgc']:.5f}"
            assert line.startswith(f"[{condition}] t={t:3d}")
            assert result["tgc"].value == tgc
    assert suite.tgc_history["Off"] == pytest.approx([0.1, 0.2, 0.3])
    assert list(suite.evaluators["Normal"].history["cycle"]) == [0, 1, 2]
    report = suite.report()
    assert {"auc_synthetic_mean", "delta_homophily_mean", "nca_mean"} <= set(report["Normal"])
    printed = capsys.readouterr().out
    assert "Predicted Normal > Off > Inverted: one seed in common, so the order cannot be tested" in printed
    suite.plot()
    assert (tmp_path / "adaptive_dashboard.png").read_bytes().startswith(b"\x89PNG")


# ---- stored runs


def store(folder: Path, seeds: int = 2) -> evolution.Log:
    log = evolution.Log(folder)
    for seed in range(seeds):
        given = cycles(seed, weight=0.2)
        log.begin("Normal", seed, edges=given[0]["previous_edges"], embeddings=given[0]["previous_embeddings"])
        for each in given:
            log.append("Normal", seed, each["cycle"], embeddings=each["embeddings"], new_edges=each["new_edges"])
    np.save(folder / "labels.npy", LABELS)
    return log


def test_a_stored_run_has_the_values_of_its_cycles(tmp_path: Path):
    log = store(tmp_path / "log")
    given = [each | {"condition": "Normal"} for seed in range(2) for each in cycles(seed, weight=0.2)]
    for source in (log, tmp_path / "log", str(tmp_path / "log")):
        found = evolution.evaluate(source)
        expected = evolution.evaluate(given, LABELS)
        assert {key: each.value for key, each in found.items()} == {key: each.value for key, each in expected.items()}
    assert evolution.evaluate(tmp_path / "log" / "Normal" / "seed-1")["auc_birth"].interval is None


def test_a_log_goes_on_where_it_stopped(tmp_path: Path):
    log = store(tmp_path / "log", seeds=1)
    assert log.next_cycle("Normal", 0) == 3
    with pytest.raises(InputError, match=r"cycle 5 of 'Normal', seed 0, is not the next one. Continue with cycle 3"):
        log.append("Normal", 0, 5, embeddings=[[0.0]], new_edges=[])
    for name in ("../out", "", ".hidden", 3):
        with pytest.raises(InputError, match="not a valid condition name"):
            log.next_cycle(name, 0)
    path = tmp_path / "log" / "Normal" / "seed-0" / "cycle-00001.npz"
    path.unlink()
    with pytest.raises(InputError, match=r"the cycle before it is missing"):
        evolution.evaluate(log)
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match="cycle-00001"):
        evolution.evaluate(log)


def test_an_empty_folder_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"contains no run. A run is a folder with start.npz"):
        evolution.evaluate(tmp_path)


# ---- events and snapshots


def test_events_are_births_and_deaths():
    points = np.zeros((4, 2))
    found = evolution.from_events(
        [0, 0, 1, 0], [1, 2, 3, 1], [0, 1, 1, 2], ["add", "add", "add", "remove"], embeddings=points
    )
    assert [each.new_edges.tolist() for each in found] == [[[0, 2], [1, 3]], []]
    assert found[1].all_edges.tolist() == [[0, 2], [1, 3]]
    assert [each.cycle for each in found] == [0, 1]


@pytest.mark.parametrize("ids", [[0.0, 1.0, 2.0], ["a", "b", "c"], [7, 3, 5]])
def test_ids_of_any_kind_find_their_rows(ids):
    """Whole floats are whole numbers; an order of occurrence is no id."""
    points = np.array([[0.0, 0.0], [0.1, 0.0], [0.8, 0.0]])
    (found,) = evolution.from_events([ids[2], ids[0]], [ids[1], ids[1]], [0, 1], embeddings=points, ids=ids)
    one, other = found.embeddings[found.new_edges[0]]
    assert sorted([one.tolist(), other.tolist()]) == sorted([points[0].tolist(), points[1].tolist()])


def test_events_that_name_no_node_are_refused():
    points = np.zeros((3, 2))
    with pytest.raises(InputError, match="is not among the ids"):
        evolution.from_events(["a", "z"], ["b", "a"], [0, 1], embeddings=points, ids=["a", "b", "c"])
    with pytest.raises(InputError, match=r"1.5 is not a whole number"):
        evolution.from_events([0, 1.5], [1, 2], [0, 1], embeddings=points)
    with pytest.raises(InputError, match="NaN"):
        evolution.from_events([0, np.nan], [1, 2], [0, 1], embeddings=points)
    with pytest.raises(InputError, match="is neither add nor remove"):
        evolution.from_events([0, 1], [1, 2], [0, 1], ["add", "merge"], embeddings=points)
    with pytest.raises(InputError, match="an id occurs twice"):
        evolution.from_events(["a"], ["b"], [0], embeddings=points, ids=["a", "b", "a"])


def test_snapshots_of_networkx():
    networkx = pytest.importorskip("networkx")
    given = cycles(count=2, weight=0.1)
    graphs = [networkx.Graph(given[0]["previous_edges"].tolist())]
    graphs += [networkx.Graph(each["all_edges"].tolist()) for each in given]
    points = [given[0]["previous_embeddings"], *(each["embeddings"] for each in given)]
    found = evolution.evaluate(evolution.from_snapshots(graphs, points), LABELS)
    expected = evolution.evaluate(given, LABELS)
    assert {key: each.value for key, each in found.items()} == {key: each.value for key, each in expected.items()}


def test_embeddings_that_lack_a_time_or_a_row_order_are_refused():
    networkx = pytest.importorskip("networkx")
    points = np.zeros((3, 2))
    with pytest.raises(InputError, match="embeddings: has no array for cycle 1"):
        evolution.from_events([0, 1], [1, 2], [0, 1], embeddings={0: points})
    graphs = [networkx.path_graph(3), networkx.complete_graph(3)]
    with pytest.raises(InputError, match=r"embeddings: found a mapping. Pass a row per node as"):
        evolution.evaluate(graphs, embeddings=dict(enumerate(points)))


# ---- refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"new_edges": [[0, 200]]}, "outside the 90 nodes"),
        ({"new_edges": [[0, 1, 2]]}, "expected"),
        ({"embeddings": np.full((90, 4), 0.9)}, "90 of 90 rows have norm 1 or more"),
        ({"embeddings": np.full((90, 4), np.nan)}, "NaN"),
        ({"previous_embeddings": np.zeros((95, 4))}, "95 rows before the cycle, 90 after it"),
        ({"pools": np.zeros(3, int)}, "expected one number for each of the 90 nodes"),
        ({"tgc": np.inf}, "found inf"),
    ],
)
def test_bad_cycles_are_refused_with_their_run(change, message):
    with pytest.raises(InputError, match=message) as raised:
        evolution.evaluate([cycles(count=1)[0] | change], LABELS)
    assert "run, seed 0, cycle 0" in str(raised.value)


def test_bad_options_are_refused():
    given = cycles(count=1)
    for options, message in (
        ({"negatives": 0}, "negatives must be a whole number of at least 1"),
        ({"score": "hamming"}, "hamming"),
        ({"conditions": []}, "conditions is empty"),
        ({"metrics": ["static_auc"]}, "static_auc needs held_out"),
        ({"node_types": ["a"]}, "1 types for 90 nodes"),
    ):
        with pytest.raises((InputError, OptionError), match=message):
            evolution.evaluate(given, LABELS, **options)
    with pytest.raises(InputError, match="cycle 0 comes after cycle 0"):
        evolution.evaluate(given + given, LABELS)
    with pytest.raises(InputError, match=r"embeddingz"):
        evolution.evaluate([{**given[0], "embeddingz": 1}], LABELS)
    evaluator, edges = evolution.AdaptiveEvaluator(range(90)), given[0]["all_edges"]
    with pytest.raises(InputError, match="new_edges contains all"):
        evaluator.evaluate_cycle(given[0]["embeddings"], edges, edges, 0)
