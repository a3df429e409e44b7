"""The commands `aggregate` and `compare`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

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


@pytest.mark.parametrize("draw", ["ranks", "differences", "profile"])
def test_compare_draws(folder: str, tmp_path: Path, draw: str) -> None:
    run(compare, folder, "--metric", "directed_f1", "--draw", draw, "--figure", str(tmp_path / "f.svg"))
    assert "dagma" in (tmp_path / "f.svg").read_text()


def test_shd_is_better_low(folder: str) -> None:
    assert json.loads(run(compare, folder, "--metric", "directed_shd", "--format", "json").stdout)["best"] == "dagma"


def test_a_table_needs_a_direction(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    lines = [f"{method},{seed},{level + seed % 3}" for method, level in (("a", 1), ("b", 9)) for seed in range(6)]
    table.write_text("method,seed,score\n" + "\n".join(lines) + "\n")
    with pytest.raises(GraphgaugeError, match="Pass --higher or --lower") as caught:
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
