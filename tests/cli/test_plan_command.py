"""`graphgauge plan`: what will be read and kept is that of the files, and time follows from the measured rates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge.cli.app import cli
from graphgauge.cli.plan import lines_of
from graphgauge.core.errors import UnknownNameError
from graphgauge.io.arrays import open_arrays
from graphgauge.ranking import RankingState
from graphgauge.ranking.costs import kept_bytes
from graphgauge.study.costs import Costs, Input, plan_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("planned")
    rng = np.random.default_rng(0)
    for number in range(3):
        np.save(here / f"pos-{number}.npy", rng.random(1000, np.float32))
        np.save(here / f"neg-{number}.npy", rng.random((1000, 20), np.float32))
    np.save(here / "y.npy", rng.random((50, 2, 3)))
    np.save(here / "graph.npy", np.triu(np.ones((4, 4)), 1))
    return here


@pytest.fixture(scope="module")
def planned(folder: Path) -> dict[str, object]:
    given = ["--pos-scores", f"{folder}/pos-*.npy", "--neg-scores", f"{folder}/neg-*.npy", "--method", "m"]
    ran = CliRunner().invoke(cli, ["plan", "ranking", *given, "--workers", "1,10", "--format", "json"])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.output)


def test_inputs_are_those_of_the_files(planned, folder: Path):
    sizes = [sum(path.stat().st_size for path in folder.glob(f"{name}-*.npy")) for name in ("pos", "neg")]
    assert planned["inputs"] == [
        {"name": "pos_scores", "files": 3, "bytes": sizes[0], "rows": 3000},
        {"name": "neg_scores", "files": 3, "bytes": sizes[1], "rows": 3000},
    ]
    assert planned["bytes"] == sum(sizes)
    assert planned["kept"] == 32 * 21 * 22 // 2
    assert all(planned[rate] > 0 for rate in ("reads", "counts", "hashes", "start", "merge", "growth"))
    assert [takes["workers"] for takes in planned["takes"]] == [1, 10]
    assert not Path("results").exists()  # nothing is evaluated but a sample


def test_time_follows_from_the_rates():
    costs = Costs(
        "ranking",
        (Input("neg_scores", 4, 8 * 10**9, 100),),
        reads=2e9,
        hashes=4e9,
        counts=1e9,
        start=1.0,
        fixed=0.5,
        merge=0.05,
        state=1e8,
        growth=0.1,
        kept=10**9,
        program=10**8,
        network=1e9,
    )
    alone, eight = costs.takes(1), costs.takes(8)
    assert (alone.read, alone.count, alone.hash, alone.merge) == (4.0, 8.5, 2.0, 0.0)
    assert alone.total == 1.0 + 8.5
    assert (eight.read, eight.count, eight.hash, eight.merge) == (0.5, 1.5, 0.25, pytest.approx(8 * 0.05 + 1.6))
    assert eight.total == pytest.approx(1.0 + 1.5 + 2.0)
    assert replace(costs, most_growth=10**7).takes(8).merge == pytest.approx(8 * (0.05 + 0.11))
    assert replace(costs, counts=None).takes(1) is None
    assert "not known" in lines_of(replace(costs, counts=None), (1,))[-1]
    assert any("8" in line and "4.5 s" in line for line in lines_of(costs, (1, 8)))


@pytest.mark.parametrize("negatives", [3, 60])
def test_no_more_is_kept_than_was_said(tmp_path: Path, negatives: int):
    rng = np.random.default_rng(3)
    pos, neg = rng.integers(0, 9, 500), rng.integers(0, 9, (500, negatives))
    np.save(tmp_path / "pos.npy", pos)
    np.save(tmp_path / "neg.npy", neg)
    files = {f"{name}_scores": open_arrays([str(tmp_path / f"{name}.npy")]) for name in ("pos", "neg")}
    none = dict.fromkeys(("offsets", "max_memory", "groups", "cluster", "weights", "keep", "per_query"))
    state = RankingState().update(pos, neg)
    columns, counts = state._counted_cells()
    held = sum(column.nbytes for column in columns.values()) + counts.nbytes
    assert held <= kept_bytes(none, files) <= 32 * 500
    pool = {"pos_scores": files["pos_scores"], "neg_scores": files["pos_scores"]}
    assert kept_bytes(none, pool) == 2 * pos.nbytes
    assert kept_bytes(none | {"max_memory": 100}, pool) == 100
    assert kept_bytes(none, {}) is None


def test_other_families(folder: Path):
    costs = plan_files("forecasting", {"true": str(folder / "y.npy"), "pred": str(folder / "y.npy")})
    assert costs.counts is not None
    assert costs.kept > 0
    costs = plan_files("recovery", {"true": str(folder / "graph.npy"), "pred": str(folder / "graph.npy")})
    assert (costs.counts, costs.memory, len(costs.inputs)) == (None, None, 2)


def test_mistakes():
    with pytest.raises(UnknownNameError, match="Did you mean 'ranking'"):
        CliRunner().invoke(cli, ["plan", "rankin"], catch_exceptions=False)
