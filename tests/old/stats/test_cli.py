"""The commands `aggregate` and `compare`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.command import graphgauge

from graphgauge.cli.aggregate import command as aggregate
from graphgauge.cli.compare import command as compare
from graphgauge.core.errors import GraphgaugeError


@pytest.fixture
def folder(write_run: Any, results: Path) -> str:
    rng = np.random.default_rng(3)
    for method, level in (("notears", 0.65), ("golem", 0.899), ("dagma", 0.9)):
        for seed in range(8):
            write_run(
                method, "sachs", seed, {"directed_f1": level + rng.normal(0, 0.01), "directed_shd": 20 * (1 - level)}
            )
    return str(results)


def run(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


def test_aggregate_prints_the_table_of_the_paper(folder: str) -> None:
    outcome = run(aggregate, folder, "--metric", "directed_f1")
    assert outcome.exit_code == 0
    assert "directed_f1 ↑" in outcome.stdout
    assert "*" in outcome.stdout


@pytest.mark.parametrize(
    ("ending", "start"), [("tex", r"\begin{tabular}"), ("md", "| method"), ("csv", "metric,method"), ("json", "{")]
)
def test_output_takes_the_form_of_its_ending(folder: str, tmp_path: Path, ending: str, start: str) -> None:
    target = tmp_path / f"out.{ending}"
    outcome = run(aggregate, folder, "-o", str(target))
    assert target.read_text().startswith(start)
    assert f"wrote {target}" in outcome.stderr
    assert "wrote" not in outcome.stdout


def test_aggregate_draws(folder: str, tmp_path: Path) -> None:
    run(aggregate, folder, "--metric", "directed_f1", "--figure", str(tmp_path / "f.svg"))
    assert "dagma" in (tmp_path / "f.svg").read_text()


def test_compare_says_who_is_told_apart(folder: str) -> None:
    outcome = run(compare, folder, "--metric", "directed_f1", "--baseline", "notears")
    assert "dagma is better than notears" in outcome.stdout
    content = json.loads(run(compare, folder, "--metric", "directed_f1", "--format", "json").stdout)
    assert set(content["not_distinguished"]) | {content["best"]} == {"golem", "dagma"}


@pytest.mark.parametrize("draw", ["ranks", "differences"])
def test_compare_draws(folder: str, tmp_path: Path, draw: str) -> None:
    run(compare, folder, "--metric", "directed_f1", "--draw", draw, "--figure", str(tmp_path / "f.svg"))
    assert "dagma" in (tmp_path / "f.svg").read_text()


def test_shd_is_better_low(folder: str) -> None:
    assert json.loads(run(compare, folder, "--metric", "directed_shd", "--format", "json").stdout)["best"] == "dagma"


def test_a_table_needs_a_direction(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    lines = [f"{method},{seed},{level + seed % 3}" for method, level in (("a", 1), ("b", 9)) for seed in range(6)]
    table.write_text("method,seed,score\n" + "\n".join(lines) + "\n")
    with pytest.raises(GraphgaugeError, match=r'Pass direction="higher" or direction="lower"') as caught:
        run(compare, str(table), "--metric", "score")
    assert caught.value.exit_code == 2
    assert "b is better than a" in run(compare, str(table), "--metric", "score", "--higher").stdout
    assert "a is better than b" in run(compare, str(table), "--metric", "score", "--lower").stdout


def test_bad_input_has_its_exit_code(folder: str, write_run: Any) -> None:
    write_run("golem", "sachs", 3, {"directed_f1": math.nan})
    with pytest.raises(GraphgaugeError, match=r"golem on sachs seed 3 \(no edges\)") as caught:
        run(compare, folder, "--metric", "directed_f1")
    assert caught.value.exit_code == 3
    with pytest.raises(GraphgaugeError, match="no figure over items"):
        run(compare, folder, "--metric", "directed_f1", "--over", "items", "--figure", "x.svg")


def test_methods_whose_outputs_are_read_differently_are_one_benchmark(tmp_path: Path) -> None:
    """Weights with a sign and a threshold, weights of the transposed graph, and a class in pcalg's encoding."""
    rng = np.random.default_rng(0)
    readings = {
        "notears": ("--sign", "absolute", "--threshold", "0.3"),
        "lingam": ("--sign", "absolute", "--edges", "column_to_row"),
        "pc": ("--encoding", "pcalg"),
    }
    for seed in range(7):
        truth = np.triu(rng.random((6, 6)) < 0.5, 1)
        weights = truth * rng.normal(0, 1, (6, 6)) + rng.normal(0, 0.1, (6, 6)) * ~np.eye(6, dtype=bool)
        cells = (truth ^ (rng.random((6, 6)) < 0.05)) & ~np.eye(6, dtype=bool)
        # pcalg writes i → j as a one at (j, i).
        outputs = {"notears": weights, "lingam": weights.T, "pc": cells.T.astype(int)}
        np.save(tmp_path / "truth.npy", truth)
        for method, options in readings.items():
            np.save(tmp_path / "pred.npy", outputs[method])
            done = graphgauge(
                "recovery",
                "--true",
                "truth.npy",
                "--pred",
                "pred.npy",
                *options,
                "--method",
                method,
                "--dataset",
                "er",
                "--run-seed",
                seed,
                "--metrics",
                "directed_f1,directed_shd",
                cwd=tmp_path,
            )
            assert done.returncode == 0, done.stderr
    done = graphgauge("aggregate", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(
        f"outputs were read differently: {name} is" in done.stdout for name in ("threshold", "edges", "encoding")
    )
    done = graphgauge("compare", "results", "--metric", "directed_f1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in readings)
    done = graphgauge("report", "results", "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 methods, 1 dataset, 7 seeds, 21 results" in page
    assert "under different conventions" not in page


def test_tables_and_their_columns(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    lines = [f"{m},{s},{(50 + 9 * (m == 'b') + s % 3) / 100}" for m in "ab" for s in range(6)]
    table.write_text("which,try,hit rate\n" + "\n".join(lines) + "\n")
    outcome = run(compare, str(table), "--columns", "method=which,seed=try", "--metric", "hit rate", "--higher")
    assert "b is better than a" in outcome.stdout
    with pytest.raises(GraphgaugeError, match=r"no column 'model' for method\. It has which, try, hit rate") as caught:
        run(aggregate, str(table), "--columns", "method=model")
    assert caught.value.exit_code == 2
    with pytest.raises(GraphgaugeError, match=r'has no column "method"\. Name the columns by role') as caught:
        run(aggregate, str(table))
    assert caught.value.exit_code == 3


def test_the_style_of_a_paper(folder: str) -> None:
    options = (
        "--metric",
        "directed_f1",
        "--percent",
        "--digits",
        "1",
        "--order",
        "notears,dagma",
        "--marks",
        "ranks",
        "--format",
        "latex",
    )
    lines = run(aggregate, folder, *options).stdout.splitlines()
    assert lines[2].startswith(r"method & directed\_f1 (\%)")
    assert [line.split()[0] for line in lines[4:7]] == ["notears", "dagma", "golem"]
    assert lines[4].startswith("notears & 6")
    assert sum(r"\textbf" in line for line in lines) == sum(r"\underline" in line for line in lines) == 1
    shown = run(compare, folder, "--metric", "directed_f1", "--percent", "--digits", "1", "--order", "notears").stdout
    assert next(line for line in shown.splitlines() if line.startswith("notears")).split()[1].startswith("6")


@pytest.mark.parametrize("baseline", ["notears", "golem"])
def test_a_baseline_has_marks_and_a_legend_of_its_own(folder: str, baseline: str) -> None:
    shown = run(compare, folder, "--metric", "directed_f1", "--baseline", baseline).stdout
    others = {"notears": (), "golem": ("dagma",)}[baseline]
    table = shown.partition("\npair ")[0]
    close = {line.split()[0] for line in table.splitlines() if "~" in line.split("  ")[0]} - {"~", "*"}
    assert close == set(others)
    assert (f"~ not significantly different from {baseline}." in shown) == bool(others)
    assert "different from the best" not in shown
