"""Faults of earlier versions of evolution, by number: none may come back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from tests.command import graphgauge
from tests.evolution.grown import block_graph, cycles, smoothed

from graphgauge import evolution
from graphgauge.core.door import doors
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.registry import find

GRAPH = block_graph()


def events() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of the graph before, and of two cycles after it."""
    given = cycles(count=2)
    parts = [given[0]["previous_edges"], *(each["new_edges"] for each in given)]
    ends = np.concatenate(parts)
    return ends[:, 0], ends[:, 1], np.repeat([0, 1, 2], [len(part) for part in parts])


def values(evaluation) -> dict[str, float]:
    return {key: result.value for key, result in evaluation.items()}


def test_e31_ids_that_pandas_made_floats_find_the_rows_that_they_name():
    """A missing id in a column makes all of them floats: they are no numbers in the order of occurrence."""
    source, target, cycle = events()
    order = np.random.default_rng(1).permutation(len(source))
    frame = pandas.DataFrame({"source": source, "target": target, "cycle": cycle}).iloc[order]
    as_floats = pandas.concat([frame, pandas.DataFrame({"source": [np.nan], "target": [1], "cycle": [1]})])
    assert as_floats["source"].dtype == np.float64
    expected = values(evolution.evaluate(frame, GRAPH.labels, embeddings=GRAPH.points))
    found = evolution.evaluate(as_floats.dropna(), GRAPH.labels, embeddings=GRAPH.points)
    assert values(found) == expected
    with pytest.raises(InputError, match="NaN"):
        evolution.evaluate(as_floats, GRAPH.labels, embeddings=GRAPH.points)
    # Ids with gaps, which stand for rows in any order, as whole floats and as integers.
    ids = 7.0 * np.random.default_rng(2).permutation(90)
    named = frame.assign(source=ids[frame["source"]], target=ids[frame["target"]])
    for kind in (np.float64, np.int64):
        once = evolution.evaluate(named, embeddings=GRAPH.points, ids=ids.astype(kind), negatives="all")
        plain = evolution.evaluate(frame, embeddings=GRAPH.points, negatives="all")
        assert once["auc_birth"].value == pytest.approx(plain["auc_birth"].value, abs=1e-15)
    with pytest.raises(InputError, match=r"1.5 is not a node number"):
        evolution.evaluate(frame.assign(source=1.5), embeddings=GRAPH.points)


STUDY = """\
schema = 1
name = "growth"
results = "results/"

[[evaluate]]
family = "evolution"
dataset = "blocks"
methods = ["Normal", "Off"]
seeds = [0, 1, 2]
log = "run/{method}/seed-{seed}"
labels = "y.npy"
metrics = ["auc_synthetic", "auc_birth"]
"""


def test_e32_circular_areas_are_found_in_the_layout_of_studies(tmp_path: Path):
    """A run per method and seed has no interval of its own; the finding does not need one."""
    log = evolution.Log(tmp_path / "run")
    for condition, weight in (("Normal", 0.6), ("Off", 0.0)):
        for seed in range(3):
            given = cycles(seed, weight=weight)
            log.begin(condition, seed, edges=given[0]["previous_edges"], embeddings=given[0]["previous_embeddings"])
            for each in given:
                parts = {"embeddings": each["embeddings"], "new_edges": each["new_edges"]}
                log.append(condition, seed, each["cycle"], **parts)
    np.save(tmp_path / "y.npy", GRAPH.labels)
    (tmp_path / "study.toml").write_text(STUDY)
    ran = graphgauge("run", "study.toml", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    results = [json.loads(path.read_text()) for path in (tmp_path / "results").rglob("evolution/metrics_*.json")]
    found = {
        (each["run"]["method"], each["run"]["seed"]): [
            one for one in each["findings"] if one["check"] == "circular-auc"
        ]
        for each in results
    }
    assert sorted(run for run, findings in found.items() if findings) == [("Normal", seed) for seed in range(3)]
    message = found["Normal", 0][0]["message"]
    assert "births gain" in message
    assert "shows more than was there before" in message


def test_e33_a_template_names_only_options_that_the_door_has(tmp_path: Path):
    made = graphgauge("init", "evolution", "-o", "study.toml", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "study.toml").read_text()
    door = doors("evolution")[""]
    names = {each.name for each in (*door.inputs, *door.options)}
    assert "growth_probe" not in text
    assert 'metric = "auc_birth"' in text
    assert {"log", "labels"} <= {name for name in names if f"{name} = " in text}


def test_e34_a_table_of_events_is_read_and_its_columns_are_named_in_errors(tmp_path: Path):
    source, target, cycle = events()
    table = pandas.DataFrame({"source": source, "target": target, "cycle": cycle})
    table.to_csv(tmp_path / "log.csv", index=False)
    np.save(tmp_path / "points.npy", GRAPH.points)
    given = ("evolution", "--log", "log.csv", "--embeddings", "points.npy")
    ran = graphgauge(*given, "--flat", "flat.json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    expected = evolution.evaluate(table, embeddings=GRAPH.points)
    assert json.loads((tmp_path / "flat.json").read_text())["auc_birth"] == expected["auc_birth"].value
    table.rename(columns={"source": "from"}).to_csv(tmp_path / "log.csv", index=False)
    refused = graphgauge(*given, cwd=tmp_path)
    assert refused.returncode != 0
    assert "has no column source. Name columns source, target, cycle and action; it has from, target" in refused.stderr


def test_e35_original_nodes_are_those_before_the_first_cycle():
    """Nodes that are born later are in no pair that births are compared with."""
    before = GRAPH.points[:88]
    source, target, cycle = events()
    old = (source < 88) & (target < 88)
    source, target, cycle = source[old], target[old], cycle[old]
    moments = {0: before, 1: GRAPH.points[:89], 2: GRAPH.points}
    found = evolution.evaluate(
        {
            "source": np.append(source, [88, 89]),
            "target": np.append(target, [0, 1]),
            "cycle": np.append(cycle, [1, 2]),
        },
        embeddings=moments,
        negatives="all",
        metrics=["n_synthetic_negatives"],
    )
    pairs = {tuple(sorted(edge)) for edge in zip(source.tolist(), target.tolist(), strict=True)}
    expected = []
    for last in (1, 2):
        standing = {
            tuple(sorted(edge))
            for edge, when in zip(zip(source.tolist(), target.tolist(), strict=True), cycle.tolist(), strict=True)
            if when <= last
        }
        expected.append(88 * 87 // 2 - len(standing))
    assert len(pairs) >= 88
    assert found.by("cycle")["n_synthetic_negatives"].tolist() == expected


def test_e36_draws_do_not_depend_on_the_order_of_ids():
    source, target, cycle = events()
    names = np.array([f"n{node:03d}" for node in range(90)])
    table = {"source": names[source], "target": names[target], "cycle": cycle}
    for metrics in (["auc_synthetic", "auc_birth", "auc_matched"], ["auc_matched"]):
        found = [
            evolution.evaluate(table, embeddings=GRAPH.points[rows], ids=names[rows], metrics=metrics)
            for rows in (np.arange(90), np.random.default_rng(3).permutation(90))
        ]
        assert values(found[0]) == values(found[1])


@pytest.mark.parametrize("kind", ["array", "tensor", "by id"])
def test_labels_types_and_test_edges_go_by_the_ids_of_rows(kind: str):
    """Rows are sorted by their ids inside: what belongs to them has to follow."""
    source, target, cycle = events()
    names = np.array([f"n{node:03d}" for node in range(90)])
    table = {"source": names[source], "target": names[target], "cycle": cycle}
    types, held = np.array(["even", "odd"])[np.arange(90) % 2], np.array([[0, 50], [3, 70], [2, 9]])
    options = {"metrics": "all", "negatives": "all", "folds": 3}
    plain = {"source": source, "target": target, "cycle": cycle}
    given = {"embeddings": GRAPH.points, "node_types": types, "test_edges": held}
    expected = evolution.evaluate(plain, GRAPH.labels, **given, **options)
    rows = np.random.default_rng(3).permutation(90)
    labels, own = GRAPH.labels[rows], types[rows]
    if kind == "tensor":
        labels = pytest.importorskip("torch").tensor(labels)
    elif kind == "by id":
        labels, own = (dict(zip(names[rows].tolist(), each.tolist(), strict=True)) for each in (labels, own))
    named = {"embeddings": GRAPH.points[rows], "ids": names[rows], "node_types": own, "test_edges": names[held]}
    found = evolution.evaluate(table, labels, **named, **options)
    assert values(found).keys() == values(expected).keys()
    for key, value in values(expected).items():
        assert found[key].value == pytest.approx(value, nan_ok=True, abs=1e-12), key


def test_labels_of_snapshots_go_by_the_names_of_nodes():
    networkx = pytest.importorskip("networkx")
    given, rows = cycles(count=2), np.random.default_rng(3).permutation(90)
    graphs = [given[0]["previous_edges"], *(each["all_edges"] for each in given)]
    expected = evolution.evaluate(given, GRAPH.labels, metrics=["delta_homophily", "auc_birth"], negatives="all")
    named = [networkx.Graph([(f"n{u}", f"n{v}") for u, v in edges.tolist()]) for edges in graphs]
    points, ids = [each[rows] for each in [GRAPH.points] * 3], [f"n{node}" for node in rows]
    for labels in (GRAPH.labels[rows], {f"n{node}": label for node, label in enumerate(GRAPH.labels.tolist())}):
        options = {"metrics": ["delta_homophily", "auc_birth"], "negatives": "all"}
        found = evolution.evaluate(named, labels, embeddings=points, ids=ids, **options)
        assert values(found) == pytest.approx(values(expected))
    with pytest.raises(InputError, match="the node 'n"):
        evolution.evaluate(named, embeddings=points)


def test_e37_a_metric_without_a_level_is_gone():
    with pytest.raises(UnknownNameError, match="label_informativeness"):
        find("label_informativeness", "evolution")


def test_e38_births_that_were_in_the_graph_are_left_out_and_said():
    (given,) = cycles(count=1)
    standing = given["previous_edges"][:4]
    more = given | {"new_edges": np.concatenate([given["new_edges"], standing])}
    found, expected = (evolution.evaluate([each], GRAPH.labels, negatives="all") for each in (more, given))
    assert values(found) == values(expected)
    assert "births that were in the graph before the cycle, left out: 4" in found["auc_birth"].warnings
    assert "births that were in the graph before the cycle, left out: 4" in str(found)
    page = Path(__file__).parents[2] / "docs" / "evolution.md"
    assert "Births that were in the graph before the cycle are left out with a warning" in page.read_text()


def test_rewired_graphs_are_not_refused():
    """The system of the document removes edges without a word."""
    points, edges = GRAPH.points, GRAPH.edges
    suite = evolution.EvaluationSuite(range(90), GRAPH.labels, ["Normal"])
    for cycle, seed in enumerate((5, 6)):
        draw = np.random.default_rng(seed)
        pairs = np.unique(np.sort(draw.integers(0, 90, (20, 2)), axis=1), axis=0)
        known = {tuple(edge) for edge in edges.tolist()}
        births = np.array([pair for pair in pairs.tolist() if pair[0] < pair[1] and tuple(pair) not in known])
        edges = np.concatenate([edges[2:], births])
        points = smoothed(points, edges, 0.1)
        found = suite.step("Normal", points, births, edges, cycle)
    assert found["n_synthetic_positives"].value == len(births)


def test_ids_are_one_per_row() -> None:
    with pytest.raises(InputError, match=r"ids: expected shape \(any\), found \(2, 2\)"):
        evolution.from_events([0], [1], [0], embeddings=np.zeros((2, 2)), ids=[[0, 1], [2, 3]])
    with pytest.raises(InputError, match="is not among the ids"):
        evolution.from_events([0], [1], [0], embeddings=np.zeros((0, 2)), ids=np.empty(0, np.int64))
