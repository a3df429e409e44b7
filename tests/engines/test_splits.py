"""Every form that an engine splits gives the file of one process, to the last bit; other forms are refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tests.engines.split_cases import CASES

from graphgauge.core.family import family
from graphgauge.core.result import Evaluation


class PretendedCrew:
    """Runs tasks in this process as a cluster would: pickled, in any order, and answered in the order of the tasks."""

    sent = 0

    def __init__(self, scheduler, workers):
        pass

    def mapped(self, function, tasks):
        messages = [pickle.dumps((function, task)) for task in tasks]
        PretendedCrew.sent += len(messages)
        found = {}
        for number in reversed(range(len(messages))):
            carried, task = pickle.loads(messages[number])
            found[number] = pickle.loads(pickle.dumps(carried(task)))
        return iter([found[number] for number in range(len(messages))])

    def close(self):
        pass


@pytest.fixture
def pretended(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where modules of users are
    monkeypatch.setattr("graphgauge.core.cluster._Crew", PretendedCrew)
    monkeypatch.setattr("graphgauge.ranking.tasks.TASK_BYTES", 800)
    monkeypatch.setattr("graphgauge.ranking.from_files.TASK_BYTES", 800)
    monkeypatch.setattr("graphgauge.ranking.from_files._SCORED", 400)
    monkeypatch.setattr(PretendedCrew, "sent", 0)


def content(evaluation: Evaluation) -> str:
    return json.dumps([evaluation.to_dict(), evaluation.inputs()], sort_keys=True)


def items(evaluation):
    columns = {} if evaluation.per_item is None else evaluation.per_item.columns
    return columns() if callable(columns) else columns


@pytest.mark.parametrize(
    "key", [("ranking", "matrix"), ("ranking", "ragged"), ("forecasting", "gaussian")], ids=" ".join
)
def test_saved_states_are_those_of_one_process(tmp_path, pretended, key):
    given = CASES[key](tmp_path)
    for engine in ("local", "dask"):
        family(key[0]).evaluate_files(**given, engine=engine, save_state=tmp_path / f"{engine}.npz")
    with np.load(tmp_path / "local.npz") as alone, np.load(tmp_path / "dask.npz") as found:
        assert set(found) == set(alone)
        for name in set(alone) - {"header"}:
            np.testing.assert_array_equal(found[name], alone[name])
        # Numbers that were given by this process are given by the tasks.
        headers = [json.loads(bytes(state["header"])) | {"numbered": 0} for state in (alone, found)]
        assert headers[0] == headers[1]


@pytest.mark.parametrize(("name", "form"), CASES, ids=lambda text: text)
def test_the_result_is_that_of_one_process(tmp_path, pretended, name, form):
    given = CASES[name, form](tmp_path)
    alone = family(name).evaluate_files(**given)
    found = family(name).evaluate_files(**given, engine="dask")
    assert PretendedCrew.sent > 1
    assert content(found) == content(alone)
    for column, values in items(alone).items():
        np.testing.assert_array_equal(items(found)[column], values)
