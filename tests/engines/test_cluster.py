"""Shards as tasks of a `dask.distributed` cluster: the bits of one process, also if workers die."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
from distributed import Client

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.progress import Progress
from graphgauge.old.engines.merge import merge_files
from graphgauge.old.ranking import evaluate_files

METRICS = ["mrr", "hits@3", "mean_rank", "roc_auc", "average_precision"]


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch):
    monkeypatch.setattr("graphgauge.old.ranking.tasks.TASK_BYTES", 4000)


@pytest.fixture
def shards(tmp_path):
    rng = np.random.default_rng(1)
    for number in range(8):
        np.save(tmp_path / f"pos-{number}.npy", rng.normal(1, 1, 40).round(1).astype(np.float32))
        np.save(tmp_path / f"neg-{number}.npy", rng.normal(0, 1, (40, 12)).round(1).astype(np.float32))
    np.save(tmp_path / "relation.npy", rng.integers(0, 3, 320))
    return tmp_path


def files(folder):
    return {"pos_scores": str(folder / "pos-*.npy"), "neg_scores": str(folder / "neg-*.npy")}


def content(evaluation):
    return json.dumps(evaluation.to_dict(), sort_keys=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"metrics": METRICS},
        {"groups": True, "keep": "items"},
        {"weights": True},
        {"mask": True, "cluster": True},
    ],
    ids=str,
)
def test_the_file_is_that_of_one_process(cluster, shards, options):
    rng = np.random.default_rng(2)
    arrays = {"weights": rng.random(320) + 0.5, "cluster": rng.integers(0, 50, 320)}
    for name, array in arrays.items():
        np.save(shards / f"{name}.npy", array)
    for number in range(8):
        np.save(shards / f"mask-{number}.npy", rng.random((40, 12)) < 0.8)
    paths = {"groups": {"relation": shards / "relation.npy"}, "mask": str(shards / "mask-*.npy")}
    paths |= {name: shards / f"{name}.npy" for name in arrays}
    given = {name: paths[name] if value is True else value for name, value in options.items()}
    alone = evaluate_files(**files(shards), **given)
    found = evaluate_files(**files(shards), **given, engine="dask", scheduler=cluster.scheduler_address)
    assert content(found) == content(alone)
    if "keep" in options:
        np.testing.assert_array_equal(found.per_item.ids, alone.per_item.ids)
        np.testing.assert_array_equal(found.per_item.greater, alone.per_item.greater)


@pytest.mark.slow
def test_one_pool(cluster, shards):
    for number in range(8):
        np.save(shards / f"neg-{number}.npy", np.random.default_rng(number).normal(0, 1, 500).astype(np.float32))
    given = files(shards)
    alone = evaluate_files(**given)
    assert content(evaluate_files(**given, engine="dask", scheduler=cluster.scheduler_address)) == content(alone)
    with pytest.raises(OptionError, match="one process"):
        evaluate_files(**given, groups={"relation": shards / "relation.npy"}, engine="dask")


@pytest.mark.slow
def test_saved_states_are_those_of_one_process(cluster, shards):
    given = files(shards)
    evaluate_files(**given, engine="dask", scheduler=cluster.scheduler_address, save_state=shards / "dask.npz")
    alone = evaluate_files(**given, save_state=shards / "alone.npz")
    assert merge_files(states=[shards / "dask.npz"])["mrr"].value == alone["mrr"].value


class Killer(Progress):
    """Kills a worker when the first answer has come, with other tasks under way."""

    def __init__(self, pids):
        self.pids, self.killed_at = pids, None

    def stage(self, name, done, total, detail=""):
        if self.killed_at is None:
            os.kill(self.pids[0], signal.SIGKILL)
            self.killed_at = done / total


@pytest.mark.slow
def test_a_worker_that_dies_changes_nothing(cluster, shards, monkeypatch):
    monkeypatch.setattr("graphgauge.old.ranking.tasks.TASK_BYTES", 500)
    alone = evaluate_files(**files(shards), metrics=METRICS)
    with Client(cluster.scheduler_address) as client:
        killer = Killer(list(client.run(os.getpid).values()))
    given = {"metrics": METRICS, "engine": "dask", "scheduler": cluster.scheduler_address, "progress": killer}
    found = evaluate_files(**files(shards), **given)
    assert killer.killed_at < 0.1
    assert content(found) == content(alone)


def damaged(shards, how):
    target = shards / "neg-5.npy"
    array = np.load(target)
    if how == "missing":
        target.unlink()
    elif how == "truncated":
        target.write_bytes(target.read_bytes()[:-100])
    elif how == "dtype":
        np.save(target, array.astype(np.float64))
    elif how == "width":
        np.save(target, array[:, :7])
    elif how == "short":
        np.save(target, array[:30])


@pytest.mark.parametrize("how", ["truncated", "dtype", "width", "short", "missing"])
def test_bad_shards_are_refused_by_name_before_a_worker_is_asked(shards, how):
    damaged(shards, how)
    given = files(shards)
    if how == "missing":
        given["neg_scores"] = [shards / f"neg-{number}.npy" for number in range(8)]
    # Nothing answers at this address: an error about it would come from trying.
    with pytest.raises(InputError, match=r"(neg|pos)-[56]\.npy"):
        evaluate_files(**given, engine="dask", scheduler="tcp://127.0.0.1:9")


def test_a_scheduler_that_does_not_answer_is_named(shards, monkeypatch):
    monkeypatch.setattr("graphgauge.old.core.cluster.PATIENCE", "1s")
    with pytest.raises(InputError, match="no scheduler answers"):
        evaluate_files(**files(shards), engine="dask", scheduler="tcp://127.0.0.1:9")


@pytest.mark.slow
def test_an_error_on_a_worker_names_the_rows(cluster, shards):
    array = np.load(shards / "neg-3.npy")
    array[7, 2] = np.nan
    np.save(shards / "neg-3.npy", array)
    with pytest.raises(InputError, match=r"NaN") as refused:
        evaluate_files(**files(shards), engine="dask", scheduler=cluster.scheduler_address)
    assert "in rows 120 to 160" in str(refused.value)


@pytest.mark.slow
def test_a_local_cluster_is_started_and_stopped(shards):
    found = evaluate_files(**files(shards), engine="dask", threads=1)
    assert content(found) == content(evaluate_files(**files(shards)))


def test_a_form_that_cannot_be_split_is_refused_with_those_that_can(shards):
    with pytest.raises(OptionError, match=r"engine dask cannot split queries that are drawn.*It splits positives with"):
        evaluate_files(**files(shards), until="mrr ± 0.1", engine="dask")


def test_a_scheduler_needs_the_engine(shards):
    with pytest.raises(OptionError, match="scheduler needs engine dask"):
        evaluate_files(**files(shards), scheduler="tcp://127.0.0.1:9")
