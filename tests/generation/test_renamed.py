"""Metrics that have another key now: the earlier one works through every door, and says so once."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge import explanation, generation
from graphgauge.core import metric as registry
from graphgauge.core.errors import UnknownNameError
from graphgauge.core.family import BUILT_IN
from graphgauge.core.gates import Gate
from graphgauge.core.renamed import say_renamed
from graphgauge.core.schema import read_result, write_result
from graphgauge.stats import aggregate, load
from graphgauge.study import verify

STORED = Path(__file__).parent.parent / "study" / "result1"
OLD, NEW = "unique_problems", "unique_samples"
BITS = np.random.default_rng(0).integers(0, 2, (12, 6)).astype(bool)
SAYS = f"{OLD} is now called {NEW}"


@pytest.fixture(autouse=True)
def nothing_said():
    say_renamed.cache_clear()


def test_no_earlier_key_is_a_key_of_its_family():
    for family in BUILT_IN:
        keys = {entry.key for entry in registry.metrics(family)}
        assert not keys & registry.renamed_keys(family).keys()
        assert set(registry.renamed_keys(family).values()) <= keys
    assert registry.renamed_keys() == {OLD: NEW, "grade_separation": "condition_separation"}
    assert registry.renamed_keys("os") == {}


def test_in_the_library_and_only_once():
    with pytest.warns(FutureWarning, match=SAYS):
        found = generation.evaluate(real=BITS, generated=BITS[:9], metrics=[OLD])
    assert list(found) == [NEW]
    assert found[NEW] == len(np.unique(BITS[:9], axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it has been said
        assert found[OLD] is found[NEW] is found.get(OLD)
        assert OLD in found
        assert Gate.parse(f"{OLD} >= 2").check(found).passed
    assert OLD not in list(found)
    with pytest.raises(UnknownNameError):
        found["unique_routes"]


def test_on_the_command_line(tmp_path):
    np.save(tmp_path / "real.npy", BITS)
    given = ("generation", "--real", "real.npy", "--generated", "real.npy", "--metrics", OLD)
    done = graphgauge(*given, "--gate", f"{OLD} > 0", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [result["key"] for result in json.loads(done.stdout)["results"]] == [NEW]
    assert done.stderr.count(SAYS) == 1
    assert graphgauge(*given, "--gate", f"{OLD} > 99", cwd=tmp_path).returncode == 1
    assert NEW in graphgauge("metrics", OLD, cwd=tmp_path).stdout


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_old_files_are_read_under_the_new_key(tmp_path):
    """Result files, flat files and tables, alone or together with new ones."""
    folder = Path(shutil.copytree(STORED / "results/sampler", tmp_path / "sampler"))
    stored = folder / "generation/metrics_bits_0.json"
    old = json.loads(stored.read_text())["results"][0]
    evaluation = read_result(stored)
    assert old["key"] == OLD
    assert (evaluation[NEW].value, evaluation[NEW].metric) == (old["value"], NEW)
    evaluation.notes = ()
    write_result(evaluation, stored)
    assert json.loads(stored.read_text())["results"][0]["key"] == NEW
    runs = load(folder)
    assert runs.metrics == [NEW, "overall_uniqueness_ratio"]
    for asked in (OLD, NEW):
        assert [row.metric for row in aggregate(runs, metrics=[asked], directions={asked: "higher"}).rows] == [NEW]
    table = tmp_path / "table.csv"
    table.write_text(f"method,seed,{OLD}\na,0,3\na,1,4\n")
    assert load(table).metrics == [NEW]
    done = graphgauge("aggregate", folder, "--metric", OLD, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert NEW in done.stdout


def test_studies_that_name_it(tmp_path):
    folder = Path(shutil.copytree(STORED, tmp_path / "stored"))
    study = folder / "study.toml"
    gate, compare = f'[[gate]]\nrequire = "{OLD} >= 2"\n', f'[[compare]]\nmetric = "{OLD}"\nhigher = true\n'
    text = study.read_text().replace('methods = ["sampler"]', 'methods = ["sampler", "twin"]')
    study.write_text(text.replace("samples/real.npy", "samples/real-{method}.npy") + gate + compare)
    for method in ("sampler", "twin"):
        shutil.copy(folder / "samples" / "real.npy", folder / "samples" / f"real-{method}.npy")
    shutil.rmtree(folder / "results")
    done = graphgauge("run", "study.toml", "--jobs", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    summary = json.loads((folder / "results/study.json").read_text())
    assert [outcome["passed"] for outcome in summary["gates"]] == [True] * 6
    assert {verdict.status for verdict in verify(folder / "results", jobs=1)} == {"equal"}


def test_tables_have_their_earlier_name_too():
    with pytest.warns(DeprecationWarning, match="Table is now called .*AnswerTable"):
        assert explanation.Table is explanation.AnswerTable
    with pytest.raises(AttributeError, match="has no attribute 'Tables'"):
        explanation.Tables  # noqa: B018
