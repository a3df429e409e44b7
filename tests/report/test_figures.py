"""The families' own figures in the page, from what result files contain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.sample import write

from graphgauge import forecasting, generation, ranking
from graphgauge.old import recovery
from graphgauge.old.core.result import Evaluation, Result, Table
from graphgauge.old.core.schema import read_content, read_result
from graphgauge.old.stats.collect import collect
from graphgauge.report.charts import curves_chart, groups_charts
from graphgauge.report.family import Family, family
from graphgauge.report.figures import figures, wrong_edges
from graphgauge.report.html import write_report
from graphgauge.report.worst import worst_items
from graphgauge.study.drift import differences

RNG = np.random.default_rng(0)
TRUTH = np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
# b → d is reversed, a → c missing, c → d extra.
FOUND = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]])


def read(folder: Path, name: str = "ranking") -> Family:
    return family(name, collect([folder]).records)


def ranked(shift: float) -> Evaluation:
    return ranking.evaluate(RNG.normal(shift, 1, 60), RNG.normal(0, 1, (60, 20)))


# ------------------------------------------------------------------------- drawings in files


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("ranking", lambda: ranked(1.0)),
        ("recovery", lambda: recovery.evaluate(TRUTH, FOUND, nodes=list("abcd"))),
        (
            "generation",
            lambda: generation.evaluate(real=RNG.random((9, 5, 4)) > 0.5, generated=RNG.random((9, 5, 4)) > 0.5),
        ),
    ],
)
def test_drawings_are_the_same_after_saving(name: str, made: Any, tmp_path: Path) -> None:
    evaluation = made()
    assert evaluation.drawings
    again = read_result(evaluation.save(tmp_path / "a.json"))
    assert {key: table.to_dict() for key, table in again.drawings.items()} == {
        key: table.to_dict() for key, table in evaluation.drawings.items()
    }
    content = read_content(tmp_path / "a.json")
    assert differences(content, content) == []
    earlier = {key: part for key, part in content.items() if key != "drawings"}
    assert differences(earlier, content) == []  # a file from before there were drawings
    column = next(iter(content["drawings"][0]["columns"].values()))
    column[0] = "forged" if isinstance(column[0], str) else column[0] + 1
    assert differences(content, evaluation.to_dict()) == ["drawings differ"]


def test_hits_over_all_k_agree_with_the_metrics() -> None:
    evaluation = ranked(1.0)
    curve = evaluation.drawings["hits"]
    at = dict(zip(curve["k"].tolist(), curve["value"].tolist(), strict=True))
    for k in (1, 3, 10):
        assert at[k] == evaluation[f"hits@{k}"].value
    assert at[21] == 1.0


def test_edges_are_drawn_as_what_they_are() -> None:
    evaluation = recovery.evaluate(TRUTH, FOUND, nodes=list("abcd"))
    table, names = evaluation.drawings["edges"], evaluation.drawings["nodes"]["node"]
    kinds = {
        f"{names[a]}{names[b]}": kind for kind, a, b in zip(table["kind"], table["from"], table["to"], strict=True)
    }
    assert kinds == {"ab": "correct", "ac": "missing", "cd": "extra", "db": "reversed"}
    large = np.zeros((70, 70))
    large[0, 1] = 1
    assert recovery.evaluate(large, large).drawings == {}


def test_precision_is_that_of_the_smallest_set_with_the_recall() -> None:
    truth = np.zeros((3, 3), int)
    truth[0, 1] = truth[0, 2] = 1
    scores = np.array([[0, 0.9, 0.3], [0.5, 0, 0], [0, 0, 0]])
    table = recovery.evaluate(truth, scores).drawings["precision"]
    precision = dict(zip(table["recall"].tolist(), table["precision"].tolist(), strict=True))
    assert (precision[0.5], precision[0.55], precision[1.0]) == (1.0, 2 / 3, 2 / 3)


def test_samples_are_drawn_with_what_they_were_meant_to_be() -> None:
    grids = np.zeros((6, 2, 3), bool)
    grids[:, 1, 2] = True
    evaluation = generation.evaluate(
        real=grids,
        real_conditions=["x", "y"] * 3,
        generated=grids,
        conditions=["x"] * 3 + ["y"] * 3,
        valid=[True] * 5 + [False],
    )
    samples, cells = evaluation.drawings["samples"], evaluation.drawings["cells"]
    assert samples["sample"].tolist()[:6] == ["asked for x"] * 3 + ["asked for y"] * 2 + ["asked for y, not valid"]
    assert samples["sample"].tolist()[6] == "real, x"
    assert set(zip(cells["row"].tolist(), cells["column"].tolist(), strict=True)) == {(1, 2)}
    path = np.array([[0, 1], [1, 2]])
    drawn = generation.evaluate(real=[path] * 3, generated=[path] * 3).drawings["cells"]
    assert drawn["number"].tolist()[:4] == [0] * 4  # of an undirected graph both cells
    assert set(zip(drawn["row"].tolist(), drawn["column"].tolist(), strict=True)) == {(0, 1), (1, 0), (1, 2), (2, 1)}


# ------------------------------------------------------------------------- figures


def test_the_methods_are_overlaid_in_the_order_of_their_rank(tmp_path: Path) -> None:
    for seed in range(2):
        for method, shift in {"weak": 0.1, "strong": 2.0}.items():
            write(ranked(shift), tmp_path, method, "toy", seed)
    (panels,) = figures(read(tmp_path), "f")
    (chart,) = panels.charts
    assert list(dict.fromkeys(row["method"] for row in chart.rows)) == ["strong", "weak"]
    last = chart.rows[-1]
    assert (last["at"], last["value"], last["runs"], last["level"]) == (21.0, 1.0, 2, 1.0)
    assert all(row["low"] <= row["value"] <= row["high"] for row in chart.rows)
    curves = curves_chart(read(tmp_path), "c")
    assert "hits@k" not in {row["curve"] for row in curves.rows}  # not twice


def test_a_forecast_shows_its_calibration(tmp_path: Path) -> None:
    truth = RNG.normal(size=(30, 2, 3))
    write(forecasting.evaluate(truth, np.zeros_like(truth), std=np.ones_like(truth)), tmp_path, "m", "toy", 0)
    panels = next(found for found in figures(read(tmp_path, "forecasting"), "f") if found.title == "Calibration")
    reliability, pit = panels.charts
    stated = read_result(next(tmp_path.rglob("*.json"))).breakdowns
    excess = stated["reliability"]["share"] - stated["reliability"]["reliability"]
    assert [row["value"] for row in reliability.rows] == excess.tolist()
    assert np.mean([row["value"] for row in pit.rows]) == pytest.approx(1.0)  # bars of equal width


def test_graphs_are_drawn_next_to_each_other_and_wrong_edges_listed(tmp_path: Path) -> None:
    for method, found in {"pc": FOUND, "oracle": TRUTH, "empty": 0 * TRUTH}.items():
        write(recovery.evaluate(TRUTH, found, nodes=list("abcd")), tmp_path, method, "<b>", 0)
    found = read(tmp_path, "recovery")
    panels = next(found for found in figures(found, "f") if found.pictures)
    assert [picture.title for picture in panels.pictures] == ["oracle, seed 0", "pc, seed 0", "empty, seed 0"]
    assert panels.pictures[0].note == "3 correct"
    assert panels.pictures[1].note == "1 correct, 1 missing, 1 extra, 1 reversed"
    assert wrong_edges(found, "<b>") is None  # the leader has none
    assert "<b>" not in write_report(tmp_path, tmp_path / "r.html").read_text(encoding="utf-8")
    for path in tmp_path.rglob("oracle/**/*.json"):
        path.unlink()
    table = wrong_edges(read(tmp_path, "recovery"), "<b>")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["d → b", "reversed", "no edge"],
        ["a → c", "missing", "missing"],
        ["c → d", "extra", "no edge"],
    ]


@pytest.mark.parametrize(
    "columns",
    [
        {"kind": ["correct"], "from": [-1.0], "to": [0.0]},
        {"kind": ["correct"], "from": [0.0], "to": [1e300]},
        {"kind": ["correct"], "from": [float("nan")], "to": [0.0]},
        {"kind": ["correct"], "to": [0.0]},
        {"kind": ["</svg><script>"], "from": [0.0], "to": [0.0]},
    ],
)
def test_drawings_of_strangers_stay_in_their_boxes(columns: dict[str, list[Any]], tmp_path: Path) -> None:
    names = Table("node", {"node": np.array(["<i>"]), "n": np.array([0])})
    tables = {"edges": Table("kind", {name: np.array(values) for name, values in columns.items()}), "nodes": names}
    measured = Result("directed_f1", "directed_f1", 0.5, 9, "edge", "higher", (0, 1))
    for method in "ab":
        write(Evaluation("recovery", [measured], drawings=tables), tmp_path, method, "toy", 0)
    page = write_report(tmp_path, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "</svg><script>" not in page
    assert "<i>" not in page
    assert "1e+300" not in page


def test_levels_that_are_texts_make_a_curve(tmp_path: Path) -> None:
    results = [
        Result(f"fidelity_drop@{level}", "fidelity_drop", 0.5, 9, "event", "higher", (0, 1), params={"level": level})
        for level in ("0.05", "0.5", "0.1")
    ]
    write(Evaluation("explanation", results), tmp_path, "a", "toy", 0)
    chart = curves_chart(read(tmp_path, "explanation"), "c")
    assert [row["level"] for row in chart.rows] == [0.05, 0.1, 0.5]


# ------------------------------------------------------------------------- single items


def test_items_of_other_seeds_are_not_mixed_up(tmp_path: Path) -> None:
    """Query 0 of one split is not query 0 of another."""
    for seed in range(2):
        ids = np.array([f"split {seed}, {number}" for number in range(30)])
        for method, shift in {"a": 2.0, "b": 0.0}.items():
            positives, negatives = RNG.normal(shift, 1, 30), RNG.normal(0, 1, (30, 9))
            write(ranking.evaluate(positives, negatives, ids=ids, keep="items"), tmp_path, method, "toy", seed)
    (table,) = worst_items(read(tmp_path), "toy")
    assert all(row[0].text.startswith(("seed\u00a00:\u00a0split 0", "seed\u00a01:\u00a0split 1")) for row in table.rows)
    assert "each seed has its own" in table.notes[0]
    assert "of 60" in table.notes[0]


def test_nodes_are_names_and_the_worst_are_listed(tmp_path: Path) -> None:
    truth = RNG.normal(size=(20, 2, 12))
    truth[..., 7] *= 9
    for seed in range(2):
        evaluation = forecasting.evaluate(truth, np.zeros_like(truth), by=["horizon", "node"])
        write(evaluation, tmp_path, "m", "toy", seed)
    found = read(tmp_path, "forecasting")
    charts = {chart.title.rpartition(" ")[2]: str(chart.spec) for chart in groups_charts(found, "g")}
    assert "'type': 'line'" in charts["horizon"]
    assert "'type': 'line'" not in charts["node"]
    (table,) = worst_items(found, "toy")
    assert table.rows[0][0].text == "7"
    assert table.heads[0].text == "Node"
