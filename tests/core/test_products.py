"""Tables and pages about results do not replace a result or its data, in Python as on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import ranking, stats
from graphgauge.cli.app import cli
from graphgauge.core.errors import OptionError
from graphgauge.report import write_report

DATA = ("a.json", "a.items.npz", "scores.npy")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    np.save(tmp_path / "scores.npy", draw.normal(size=3))
    for number, name in enumerate("ab"):
        found = ranking.evaluate(draw.normal(1, 1, 30) + number, draw.normal(0, 1, (30, 5)), metrics=["mrr"])
        found.save(tmp_path / f"{name}.json", method=name, dataset="d", seed=0)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", DATA)
def test_python(results: Path, name: str) -> None:
    before = contents(results)
    with pytest.raises(OptionError, match="no name of a page"):
        write_report(results, results / name)
    if name.endswith(".json"):
        with pytest.raises(OptionError, match="is a result, or data of one"):
            stats.aggregate(results).save(results / name)
    assert contents(results) == before


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("command", [("report",), ("aggregate",), ("compare", "--metric", "mrr", "--over", "items")])
def test_commands(results: Path, name: str, command: tuple[str, ...]) -> None:
    before = contents(results)
    done = CliRunner().invoke(cli, [command[0], str(results), *command[1:], "-o", str(results / name)])
    assert done.exit_code != 0
    assert isinstance(done.exception, OptionError | SystemExit)
    assert contents(results) == before


def test_an_older_table_is_replaced(results: Path) -> None:
    for _ in range(2):
        stats.aggregate(results).save(results / "table.csv")
    assert (results / "table.csv").stat().st_size > 0
