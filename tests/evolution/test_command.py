"""`graphgauge evolution`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.evolution.conftest import block_graph
from tests.evolution.test_log import stored

from graphgauge.cli.app import cli
from graphgauge.core.errors import GraphgaugeError
from graphgauge.evolution import EvolutionLog, evaluate
from graphgauge.study import run as run_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, graph = tmp_path_factory.mktemp("evolution"), block_graph()
    stored(place / "run", graph)
    np.save(place / "y.npy", graph.labels)
    np.save(place / "ids.npy", np.arange(120))
    np.savez(place / "data.npz", labels=graph.labels, edges=graph.edges)
    return place


def call(*arguments: Any) -> Result:
    return CliRunner().invoke(cli, ["evolution", *map(str, arguments)], catch_exceptions=True)


def test_it_prints_what_the_library_finds(folder: Path):
    result = call("--log", folder / "run", "--labels", folder / "y.npy", "--folds", 2, "--format", "json")
    assert result.exit_code == 0, result.output
    expected = evaluate(folder / "run", np.load(folder / "y.npy"), folds=2)
    assert json.loads(result.stdout)["results"] == json.loads(expected.to_json())["results"]


def test_options(folder: Path, tmp_path: Path):
    result = call(
        "--log",
        folder / "run",
        "--labels",
        f"{folder / 'data.npz'}:labels",
        "--node-ids",
        folder / "ids.npy",
        "--conditions",
        "Off",
        "--log-seeds",
        "0,1",
        "--test-edges",
        f"{folder / 'data.npz'}:edges",
        "--negatives",
        "all",
        "--metrics",
        "static_auc,auc_birth",
        "--figure",
        tmp_path / "dash.svg",
        "--output",
        tmp_path / "r.json",
        "--gate",
        "auc_birth >= 0",
    )
    assert result.exit_code == 0, result.output
    assert "static_auc" in result.stdout
    assert (tmp_path / "dash.svg").exists()
    written = json.loads((tmp_path / "r.json").read_text())
    names = [(entry["name"], Path(entry["path"]).name) for entry in written["receipt"]["inputs"]]
    assert ("labels", "data.npz") in names
    assert names.count(("log", "start.npz")) == 2
    assert ("log", "cycle-00002.npz") in names


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--log", "absent", "--labels", "y.npy"], 3),
        (["--log", "run", "--labels", "absent.npy"], 3),
        (["--log", "run", "--labels", "ids.npy", "--conditions", "Of"], 2),
        (["--log", "run", "--labels", "y.npy", "--log-seeds", "9"], 3),
        (["--log", "run", "--labels", "y.npy", "--log-seeds", "a"], 2),
        (["--log", "run", "--labels", "y.npy", "--folds", "1"], 2),
        (["--log", "y.npy", "--labels", "y.npy"], 3),
    ],
)
def test_exit_codes(folder: Path, arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    result = call(*arguments)
    found = result.exception.exit_code if isinstance(result.exception, GraphgaugeError) else result.exit_code
    assert found == code, result.output


def test_births_that_were_not_declared(folder: Path, tmp_path: Path):
    graph, log = block_graph(), EvolutionLog(tmp_path / "run")
    born = graph.free()[::40]
    log.begin("run", 0, edges=graph.edges, embeddings=graph.points)
    log.append_cycle(
        "run", 0, 0, embeddings=graph.points, new_edges=born[:4], all_edges=np.concatenate([graph.edges, born])
    )
    asked = ("--log", tmp_path / "run", "--labels", folder / "y.npy", "--metrics", "auc_birth")
    refused = call(*asked)
    assert isinstance(refused.exception, GraphgaugeError)
    assert refused.exception.exit_code == 3
    assert f"{len(born) - 4} edges were neither in the graph before the cycle nor in new_edges" in str(
        refused.exception
    )
    reported = call(*asked, "--undeclared", "report", "--format", "json")
    assert [finding["check"] for finding in json.loads(reported.stdout)["findings"]] == ["undeclared-births"]


@pytest.mark.parametrize("ending", ["txt", "csv", "npy"])
def test_labels_that_are_no_class(folder: Path, tmp_path: Path, ending: str):
    labels = np.load(folder / "y.npy").astype(float)
    labels[::5] = np.nan
    if ending == "npy":
        np.save(tmp_path / "y.npy", labels)
    else:
        text = [f"{label:g}" if label == label else ("-1", "", "nan")[row % 3] for row, label in enumerate(labels)]
        (tmp_path / f"y.{ending}").write_text("\n".join(text) + "\n")
    result = call(
        "--log",
        folder / "run",
        "--labels",
        tmp_path / f"y.{ending}",
        "--metrics",
        "delta_homophily,homophily_baseline",
        "--format",
        "json",
    )
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    known = np.flatnonzero(~np.isnan(labels))
    expected = evaluate(
        folder / "run", labels[known].astype(int), node_ids=known, metrics=["delta_homophily", "homophily_baseline"]
    )
    for key in ("delta_homophily", "homophily_baseline"):
        table = said["breakdowns"]["condition"]
        assert table[key] == pytest.approx(expected.by("condition")[key].tolist(), rel=1e-12)
    assert any("without a class" in note and "24 of 120" in note for note in said["receipt"]["kept"]["notes"])


def test_a_study_notices_cycles_that_were_added(tmp_path: Path):
    graph = block_graph()
    log = stored(tmp_path / "run", graph, cycles=2, conditions=["Off"])
    np.save(tmp_path / "y.npy", graph.labels)
    (tmp_path / "study.toml").write_text(
        'schema = 1\nname = "growth"\nresults = "results/"\n[[evaluate]]\nfamily = "evolution"\ndataset = "blocks"\n'
        'methods = ["Off"]\nseeds = [0, 1]\nlog = "run/{method}/seed-{seed}"\nlabels = "y.npy"\nfolds = 2\n'
    )
    first = run_study(tmp_path / "study.toml", jobs=1)
    assert not first.failed
    assert len(first.done) == 2
    assert run_study(tmp_path / "study.toml", jobs=1).done == ()
    log.append_cycle("Off", 1, 2, embeddings=np.zeros((122, 4)), new_edges=[[0, 119]], all_edges=[[0, 119], [0, 1]])
    again = run_study(tmp_path / "study.toml", jobs=1)
    assert [(done.item.method, done.item.request.run.seed) for done in again.done] == [("Off", 1)]
