"""Every form that an engine splits gives the file of one process, to the last bit; other forms are refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tests.engines.split_cases import CASES

from graphgauge.core.errors import OptionError
from graphgauge.old.core.family import BUILT_IN, families, family
from graphgauge.old.core.result import Evaluation


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
    monkeypatch.setattr("graphgauge.old.core.cluster._Crew", PretendedCrew)
    monkeypatch.setattr("graphgauge.old.ranking.tasks.TASK_BYTES", 800)
    monkeypatch.setattr("graphgauge.old.ranking.from_files.TASK_BYTES", 800)
    monkeypatch.setattr("graphgauge.old.ranking.from_files._SCORED", 400)
    monkeypatch.setattr(PretendedCrew, "sent", 0)


def content(evaluation: Evaluation) -> str:
    return json.dumps([evaluation.to_dict(), evaluation.inputs()], sort_keys=True)


def items(evaluation):
    columns = {} if evaluation.per_item is None else evaluation.per_item.columns
    return columns() if callable(columns) else columns


@pytest.mark.parametrize("key", [("ranking", "matrix"), ("ranking", "ragged")], ids=" ".join)
def test_saved_states_are_those_of_one_process(tmp_path, pretended, key):
    given = CASES[key](tmp_path)
    for engine in ("local", "dask"):
        family(key[0]).evaluate_files(**given, engine=engine, save_state=tmp_path / f"{engine}.npz")
    with np.load(tmp_path / "local.npz") as alone, np.load(tmp_path / "dask.npz") as found:
        assert set(found) == set(alone)
        for name in set(alone) - {"header"}:
            np.testing.assert_array_equal(found[name], alone[name])
        # Numbers, and names of shards of rankings, that were given by this process are given by the tasks.
        given_here = {"numbered": 0} | ({"shards": []} if key[0] == "ranking" else {})
        headers = [json.loads(bytes(state["header"])) | given_here for state in (alone, found)]
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


def split_of(declared, given):
    return next(split for split in declared.splits if split.fits(given))


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_split_has_a_case(tmp_path, name):
    declared, tried = family(name), set()
    for number, make in enumerate(make for (owner, _), make in CASES.items() if owner == name):
        folder = tmp_path / str(number)
        folder.mkdir()
        tried.add(split_of(declared, make(folder)))
    assert tried == {split for split in declared.splits if split.into is not None}


@pytest.mark.parametrize(
    ("declared", "split"),
    [(declared, split) for declared in families() for split in declared.splits if split.into is None],
    ids=lambda value: getattr(value, "form", None) or value.name,
)
def test_what_cannot_be_split_is_refused_with_what_can(declared, split):
    values = dict.fromkeys(split.given, "given") | {"engine": "dask"}
    with pytest.raises(OptionError) as refused:
        declared._check_engine(values, list(values), str)
    assert refused.value.field == "engine"
    assert split.form in str(refused.value)
    assert split.why in str(refused.value)
    assert all(each.form in str(refused.value) for each in declared.splits if each.into is not None)


@pytest.mark.parametrize("declared", families(), ids=lambda declared: declared.name)
def test_every_family_has_the_engine_or_says_no_word_of_it(declared):
    assert ("engine" in declared.fields) == bool(declared.splits)


def test_unsorted_queries_are_refused(tmp_path, pretended):
    given = CASES["ranking", "flat"](tmp_path)
    queries = np.load(given["queries"])
    np.save(given["queries"], queries[::-1])
    with pytest.raises(OptionError, match="sorted by query"):
        family("ranking").evaluate_files(**given, engine="dask")
