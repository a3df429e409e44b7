"""Methods that predict graphs of different classes: tables and comparisons say which metrics are fair to all."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.cli.app import cli
from graphgauge.old import recovery
from graphgauge.old.core.metric import metrics as registered
from graphgauge.old.core.schema import write_result
from graphgauge.old.recovery.family import FAMILY
from graphgauge.old.stats.aggregate import aggregate
from graphgauge.old.stats.compare import compare

METRICS = ["skeleton_f1", "arrowhead_precision", "directed_f1", "cpdag_shd", "tail_precision"]
D = 8


def predicted(method, truth, draw):
    """The same noisy graph as a weighted DAG, a CPDAG or a PAG."""
    keep = truth & (draw.random(truth.shape) < 0.8)
    if method.startswith("dag"):
        return keep.astype(float), {}
    if method.startswith("cpdag"):
        keep = keep.copy()
        first = np.argwhere(keep)[0]
        line = np.zeros_like(keep)
        line[tuple(first)] = line[tuple(first[::-1])] = True
        return (keep | line).astype(int), {"encoding": "gcastle"}
    return np.where(keep, 2, np.where(keep.T, 1, 0)), {"encoding": "pcalg-pag"}


def runs(*methods, seeds=6, keys=METRICS):
    found = []
    for seed in range(seeds):
        draw = np.random.default_rng(seed)
        truth = np.triu(draw.random((D, D)) < 0.4, 1)
        for method in methods:
            graph, options = predicted(method, truth, draw)
            evaluation = recovery.evaluate(truth, graph, metrics=keys, **options)
            evaluation.run = {"method": method, "dataset": "toy", "seed": seed}
            found.append(evaluation)
    return found


def heads(table):
    return dict(zip(METRICS, table.grid().head[1:], strict=True))


def test_a_table_of_dags_and_cpdags_marks_the_columns_that_are_not_fair():
    table = aggregate(runs("dag", "cpdag"), metrics=METRICS, missing="omit")
    marked = {key: "†" in head for key, head in heads(table).items()}
    assert marked == {
        "skeleton_f1": False,
        "arrowhead_precision": False,
        "directed_f1": True,
        "cpdag_shd": False,
        "tail_precision": True,
    }
    text = str(table)
    assert "Methods predict graphs of different classes (DAG: dag; CPDAG: cpdag)." in text
    assert (
        "Not fair to all of them, because marks that a class leaves open count as missing or the metric is not " in text
    )
    assert "defined for it: directed_f1, tail_precision." in text
    assert "Fair to all: skeleton_f1, arrowhead_precision, cpdag_shd." in text
    for form in ("markdown", "latex", "json"):
        assert "Fair to all: skeleton" in table.render(form), form
    assert r"$\dagger$" in table.render("latex")


def test_a_pag_makes_other_columns_unfair():
    table = aggregate(runs("dag", "pag"), metrics=METRICS, missing="omit")
    assert {key for key, head in heads(table).items() if "†" in head} == {"directed_f1", "cpdag_shd"}


@pytest.mark.parametrize("methods", [("dag", "dag 2"), ("cpdag", "cpdag 2"), ("pag", "pag 2")])
def test_methods_of_one_class_are_compared_by_any_metric(methods):
    found = runs(*methods)
    table = aggregate(found, metrics=METRICS, missing="omit")
    assert "†" not in str(table)
    assert "different classes" not in str(table)
    assert compare(found, metric="directed_f1").unfair is None


def test_a_method_counts_as_the_widest_class_that_it_predicts():
    """PC returns CPDAGs, some of which have no undirected edge and look like DAGs."""
    found = runs("dag", "cpdag", "cpdag 2")
    for evaluation in found:
        if evaluation.run["method"] == "cpdag" and evaluation.run["seed"] > 0:
            evaluation.conventions["classes"] = "dag and dag"
    view = aggregate(found, metrics=METRICS, missing="omit").panels["directed_f1"]
    assert view.fairness.classes == {"DAG": ("dag",), "CPDAG": ("cpdag", "cpdag 2")}


def test_a_comparison_by_an_unfair_metric_is_marked():
    found = compare(runs("dag", "cpdag"), metric="directed_f1")
    assert found.unfair == (
        "† directed_f1 is not fair to all methods: it counts marks that graphs of cpdag (CPDAG) leave open as missing, "
        "or is not defined for them. Fair to all: skeleton_f1, arrowhead_precision, cpdag_shd."
    )
    assert str(found).startswith("directed_f1 † (higher is better)")
    assert found.unfair in str(found)
    assert json.loads(found.to_json())["unfair"] == found.unfair
    for form in ("markdown", "latex"):
        assert "is not fair to all methods" in found.render(form)
    fair = compare(runs("dag", "cpdag"), metric="skeleton_f1")
    assert fair.unfair is None
    assert "†" not in str(fair)


def test_tables_without_classes_say_nothing():
    rows = [{"method": m, "seed": s, "directed_f1": 0.1 * s} for m in ("a", "b") for s in range(3)]
    assert "†" not in str(aggregate(rows))
    assert aggregate(rows).panels["directed_f1"].fairness is None


def test_the_command_line_and_the_page_mark_them_too(tmp_path):
    for number, evaluation in enumerate(runs("dag", "cpdag", keys=None)):
        write_result(evaluation, tmp_path / "results" / f"{number}.json")
    call = CliRunner().invoke
    found = call(cli, ["aggregate", str(tmp_path / "results"), "--metric", "directed_f1", "--metric", "skeleton_f1"])
    assert "directed_f1 ↑ †" in found.output, found.output
    assert "Fair to all: skeleton_f1." in found.output
    found = call(cli, ["compare", str(tmp_path / "results"), "--metric", "directed_f1"])
    assert "† directed_f1 is not fair to all methods" in " ".join(found.output.split())
    found = call(cli, ["report", str(tmp_path / "results"), "-o", str(tmp_path / "page.html")])
    assert found.exit_code == 0, found.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "directed_f1 ↑ †" in page
    assert "Methods predict graphs of different classes (DAG: dag; CPDAG: cpdag)." in page


def test_every_class_that_a_metric_names_is_one_of_the_family():
    groups = set(FAMILY.classes.values())
    for entry in registered("recovery"):
        assert set(entry.fair_to or ()) <= groups, entry.key
    assert {entry.key for entry in registered("recovery") if entry.fair_to is None} >= {
        "skeleton_f1",
        "skeleton_shd",
        "arrowhead_precision",
    }
