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
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
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
    with pytest.raises(InputError, match=r"1.5 is not a whole number"):
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
    assert "has no column source. Name columns source, target, cycle and perhaps action" in refused.stderr
    assert "leave out all others; it has from, target, cycle" in refused.stderr


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


# ---- numbers that were wrong without a word

ALL = {"negatives": "all", "metrics": ["auc_birth"]}
MOMENTS = [np.random.default_rng(moment).normal(0, 0.15, (20, 4)) for moment in range(6)]


def auc(log, *given, **options) -> float:
    return evolution.evaluate(log, *given, **ALL | options)["auc_birth"].value


def table(*rows: tuple) -> dict[str, list]:
    """Events, (source, target, cycle, action) each, after a ring of twenty nodes in cycle 0."""
    ring = [(node, (node + 1) % 20, 0, "add") for node in range(20)]
    return dict(zip(("source", "target", "cycle", "action"), map(list, zip(*ring, *rows, strict=True)), strict=True))


def test_births_after_quiet_cycles_are_scored_on_the_embeddings_just_before_them():
    """Cycles 2 to 4 have no events: cycle 5 is scored on the embeddings of 4, not on those of 1."""
    log = table((0, 2, 1, "add"), (3, 7, 5, "add"), (4, 11, 5, "add"))
    first, last = evolution.from_events(*log.values(), embeddings=dict(enumerate(MOMENTS)))
    assert np.array_equal(first.previous_embeddings, MOMENTS[0])
    assert np.array_equal(last.previous_embeddings, MOMENTS[4])
    assert np.array_equal(last.embeddings, MOMENTS[5])
    one = evolution.auc_birth(MOMENTS[0], first.new_edges, first.all_edges)
    other = evolution.auc_birth(MOMENTS[4], last.new_edges, last.all_edges)
    assert auc(log, embeddings=dict(enumerate(MOMENTS))) == pytest.approx((one + other) / 2, abs=1e-15)


@pytest.mark.parametrize(
    ("rows", "births"),
    [
        ([(0, 5, 1, "add"), (5, 0, 1, "remove")], []),
        ([(0, 5, 1, "remove"), (0, 5, 1, "add")], [[0, 5]]),
        ([(0, 1, 1, "remove"), (0, 1, 1, "add")], []),
        ([(0, 1, 1, "add"), (0, 1, 1, "add"), (8, 9, 1, "remove"), (3, 3, 1, "add")], []),
    ],
)
def test_the_last_event_of_an_edge_in_a_cycle_counts(rows: list[tuple], births: list[list[int]]):
    (cycle,) = evolution.from_events(*table(*rows, (2, 9, 1, "add")).values(), embeddings=MOMENTS[0])
    assert cycle.new_edges.tolist() == sorted([*births, [2, 9]])


def test_original_nodes_do_not_depend_on_labels():
    log = table((0, 5, 1, "add"), (12, 17, 1, "add"))
    classes = [0, 0] + 17 * [-1] + [1]
    for labels in (classes, {0: 0, 1: 0, 19: 1}, {0: 0, 19: 1}, [0, 0, 1], None):
        assert auc(log, labels, embeddings=MOMENTS[0]) == auc(log, embeddings=MOMENTS[0])
    keys = {"metrics": ["auc_birth", "auc_matched", "delta_homophily", "homophily_baseline", "n_synthetic_negatives"]}
    found, expected = (
        values(evolution.evaluate(log, labels, embeddings=MOMENTS[0], negatives="all", **keys))
        for labels in ({0: 0, 1: 0, 19: 1}, classes)
    )
    assert found == pytest.approx(expected, nan_ok=True, abs=0)
    # Where the embeddings before are unknown, the nodes that have labels are the original ones.
    (cycle,) = evolution.from_events(*log.values(), embeddings=MOMENTS[0])
    alone = {"embeddings": cycle.embeddings, "all_edges": cycle.all_edges, "new_edges": cycle.new_edges}
    (found,) = values(evolution.evaluate([alone], [0, 1] * 9, **ALL | {"metrics": ["n_synthetic_negatives"]})).values()
    assert found == 18 * 17 / 2 - (17 + 2)  # of the ring, and births
    # Labels of nodes that are born later do not make them original.
    born = table((0, 5, 1, "add"), (20, 3, 1, "add"))
    grown = {0: MOMENTS[0], 1: np.vstack([MOMENTS[1], MOMENTS[2][:1]])}
    keys = {"metrics": ["n_synthetic_negatives"], "negatives": "all"}
    (found,) = values(evolution.evaluate(born, [0, 1, 2] * 7, embeddings=grown, **keys)).values()
    assert found == 20 * 19 / 2 - 21


def test_snapshots_are_read_as_networkx_has_them():
    networkx = pytest.importorskip("networkx")
    grid = networkx.grid_2d_graph(4, 5)
    more = networkx.compose(grid, networkx.Graph([((0, 0), (3, 3))]))
    with pytest.raises(
        InputError, match=r"the node \(0, 0\) is neither a number nor a name. Give .* networkx.relabel_nodes"
    ):
        auc([grid, more], embeddings=MOMENTS[0])
    path, ring = networkx.path_graph(5), networkx.cycle_graph(5)
    assert auc((graph for graph in (path, ring)), embeddings=MOMENTS[0][:5]) == auc(
        [path, ring], embeddings=pandas.DataFrame(MOMENTS[0][:5], columns=list("abcd"))
    )
    with pytest.raises(InputError, match="embeddings: 8 rows for 5 ids"):
        auc([path, ring], embeddings=MOMENTS[0][:8], ids=list(range(5)))
    for nothing in ([], np.empty((0, 4))):
        with pytest.raises(InputError):
            auc([path, ring], embeddings=nothing)

    class Other:
        """A graph of a library whose edges are (sources, targets)."""

        def edges(self):
            return np.array([0, 1]), np.array([1, 2])

    with pytest.raises(InputError, match="expected a list of graphs of networkx"):
        evolution.from_snapshots([Other(), Other()], MOMENTS[0])
    for wrong in ([Other(), Other()], path, {0: path, 1: ring}, [{"source": 0, "target": 1, "cycle": 0}]):
        with pytest.raises((InputError, OptionError), match=r"Name columns source, .* pass a list of networkx graphs"):
            auc(wrong, embeddings=MOMENTS[0])


def test_graphs_say_whether_they_are_directed():
    networkx = pytest.importorskip("networkx")
    one, two = networkx.DiGraph([(0, 1), (1, 2)]), networkx.DiGraph([(0, 1), (1, 2), (1, 0), (2, 3)])
    found = evolution.evaluate([one, two], embeddings=MOMENTS[0][:5], **ALL)
    assert found["auc_birth"].n == 2
    assert found["auc_birth"].value == auc([one, two], embeddings=MOMENTS[0][:5], directed=True)
    for graphs, directed in (([one.to_undirected(), two.to_undirected()], True), ([one, two.to_undirected()], False)):
        with pytest.raises(InputError, match="directed"):
            auc(graphs, embeddings=MOMENTS[0][:5], directed=directed)


@pytest.mark.parametrize("name", ["actions", "Action", "weight"])
def test_columns_of_events_that_are_not_read_are_refused(name: str, tmp_path: Path):
    frame = pandas.DataFrame(table((0, 5, 1, "add"), (2, 3, 1, "remove")))
    expected = auc(frame, embeddings=MOMENTS[0])
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert auc(tmp_path / "log.csv", embeddings=MOMENTS[0]) == expected
    wrong = frame.rename(columns={"action": name})
    wrong.to_csv(tmp_path / "wrong.csv", index=False)
    np.save(tmp_path / "points.npy", MOMENTS[0])
    with pytest.raises(InputError, match=f"has the column '{name}', which is not read"):
        auc(wrong, embeddings=MOMENTS[0])
    refused = graphgauge("evolution", "--log", "wrong.csv", "--embeddings", "points.npy", cwd=tmp_path)
    assert refused.returncode != 0
    assert f"has the column '{name}', which is not read" in refused.stderr


def test_events_without_a_cycle_are_told_the_line_to_write():
    frame = pandas.DataFrame(table((0, 5, 1, "add")))
    with pytest.raises(InputError, match=r'has no column cycle. .* log.rename\(columns=\{"time": "cycle"\}\)'):
        auc(frame.rename(columns={"cycle": "time"}), embeddings=MOMENTS[0])
    for wrong, message in ((0.5, "0.5 is not a whole number"), (np.nan, "Leave out the rows that lack a number")):
        with pytest.raises(InputError, match=f"cycle: .*{message}"):
            auc(frame.assign(cycle=[wrong] * len(frame)), embeddings=MOMENTS[0])


def test_edges_that_die_in_a_cycle_are_compared_with_its_births():
    """As in the original document: pairs that are no edges after the cycle, in both areas."""
    (cycle,) = evolution.from_events(*table((0, 5, 1, "add"), (3, 4, 1, "remove")).values(), embeddings=MOMENTS[0])
    gaps = [evolution.poincare_distance(MOMENTS[0][u], MOMENTS[0][v]) for u in range(20) for v in range(u) if v != u]
    pairs = [(v, u) for u in range(20) for v in range(u)]
    after = {tuple(sorted(edge)) for edge in cycle.all_edges.tolist()}
    others = [gap for pair, gap in zip(pairs, gaps, strict=True) if pair not in after]
    assert len(others) == 190 - 20
    expected = np.mean(np.array(others) > gaps[pairs.index((0, 5))])
    for area in ("auc_birth", "auc_synthetic"):
        assert auc([cycle], metrics=[area, "auc_birth"]) == pytest.approx(expected, abs=1e-15)


def test_cycles_have_whole_numbers_on_their_axis():
    suite = evolution.EvaluationSuite(range(90), GRAPH.labels, ["run"])
    suite.replay(cycles(count=3))
    figure = suite.plot()
    axis = next(axis for axis in figure.axes if axis.get_xlabel() == "cycle")
    figure.canvas.draw()
    assert all(float(tick).is_integer() for tick in axis.get_xticks())
