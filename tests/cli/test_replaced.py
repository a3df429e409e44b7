"""Outputs of commands about results never replace a result, its side files, or a table that was read."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import ranking
from graphgauge.cli.app import cli
from graphgauge.core.errors import OptionError


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("replaced")
    rng = np.random.default_rng(0)
    pos, neg = rng.normal(1, 1, 60), rng.normal(0, 1, (60, 5))
    for side in ("new", "base"):
        for seed in (0, 1):
            found = ranking.evaluate(pos + rng.normal(size=60), neg, groups={"g": np.arange(60) % 2})
            found.save(place / side / f"{seed}.json", method=side, dataset="d", seed=seed)
    (place / "table.csv").write_text("method,dataset,seed,mrr\na,d,0,0.5\na,d,1,0.6\nb,d,0,0.4\nb,d,1,0.3\n")
    return place


COMMANDS = [
    "gate new/0.json --against base --metric mrr --margin 0.1 -o base/0.json",
    "gate new/0.json --against base/0.json --metric mrr --margin 0.1 -o new/0.items.npz",
    "gate new/0.json --against base/0.json --metric mrr --margin 0.1 -o base/0.items.npz",
    "gate new/0.json --against base/0.json --metric mrr --margin 0.1 -o base/1.json",
    "aggregate new -o new/1.json",
    "aggregate new --figure new/1.json",
    "aggregate table.csv -o table.csv",
    "compare new base --metric mrr -o base/1.json",
    "compare table.csv --metric mrr -o table.csv",
    "report new base -o new/0.json",
    "report new base -o new/0.items.npz",
    "init --output new/0.json",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_results_and_inputs_are_not_replaced(
    made: Path, tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path / "all")
    monkeypatch.chdir(tmp_path / "all")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = CliRunner().invoke(cli, words.split())
    assert isinstance(done.exception, OptionError), done.output  # exit code 2
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
