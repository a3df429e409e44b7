"""A receipt names the files that were read, not those that have their names when the result is written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.core.family import BUILT_IN, family
from graphgauge.io.watch import Watch, watched
from graphgauge.ranking import evaluate_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("pos.npy", np.array([3.0, 2.0]))
    np.save("neg.npy", np.array([[1.0, 2.5], [1.0, 0.5]]))
    return tmp_path


def test_every_family_is_watched():
    assert all(family(name).evaluate_files.is_watched for name in BUILT_IN)


def replaced(path):
    np.save("new.npy", np.array([9.0, 9.0]))
    Path("new.npy").replace(path)


def edited_with_its_time_restored(path):
    times = path.stat()
    with path.open("r+b") as stream:
        stream.seek(-8, os.SEEK_END)
        stream.write(np.float64(9).tobytes())
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("change", [replaced, edited_with_its_time_restored])
def test_a_result_saved_after_its_input_changed(here, change):
    evaluation = evaluate_files(pos_scores="pos.npy", neg_scores="neg.npy")
    evaluation.save(here / "before.json", method="m", dataset="d")
    change(here / "pos.npy")
    with pytest.raises(InputError, match=r"changed while being evaluated: pos\.npy"):
        evaluation.save(here / "after.json", method="m", dataset="d")
    assert not (here / "after.json").exists()


def test_a_file_that_no_argument_names_and_that_is_younger_than_the_evaluation(here):
    watch = Watch([], here)
    watch.unchanged([])
    later = here / "later.npy"
    np.save(later, np.zeros(2))
    os.utime(later, ns=(watch._since + 10**9, watch._since + 10**9))
    with pytest.raises(InputError, match="later"):
        watch.unchanged([{"path": "later.npy"}])


def test_a_function_is_watched_once():
    assert watched(evaluate_files) is evaluate_files
