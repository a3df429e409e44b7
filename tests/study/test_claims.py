"""A results folder may hold anything: a study replaces and removes only what it has written itself."""

from __future__ import annotations

import errno
import fcntl
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.study.conftest import STUDY, write_scores

from graphgauge.core.errors import InputError
from graphgauge.old.core.schema import write_result
from graphgauge.ranking import evaluate
from graphgauge.report.html import write_report
from graphgauge.study import run

SMALL = STUDY.replace("seeds = [0, 1, 2]", "seeds = [0]")
SECOND = '\n[[compare]]\nmetric = "mean_rank"\n'
# The user's own, under names that a study uses too, or could be taken for its temporary files.
THEIRS = [
    "comparisons/mine.json",
    "comparisons/2-hits.json",
    "comparisons/notes.txt",
    "package.json",
    "good/ranking/notes.json",
    "good/ranking/metrics_other_0.json",
    "good/README",
    ".0123456789abcdef0123456789abcdef.npy",
    "comparisons/.0123456789abcdef0123456789abcdef.json",
    "scores/.graphgauge-0123456789abcdef0123456789abcdef.npy",
    "deep/.0123456789abcdef0123456789abcdef",
]
PLACES = [".", "", "..", "scores", "results/", "here/../results", "link", "absolute"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "outer" / "project"
    place.mkdir(parents=True)
    write_scores(place, seeds=1)
    return place


def write_study(folder, text, results):
    (folder / "study.toml").write_text(text.replace('"results/"', json.dumps(str(results))), encoding="utf-8")
    return folder / "study.toml"


def contents(root):
    """Every file that no study writes."""
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def assert_kept(before):
    assert {path: path.read_bytes() for path in before if path.exists()} == before


@pytest.mark.parametrize("results", PLACES)
def test_what_was_there_survives_whatever_the_study_does(folder, results):
    if results == "link":
        (folder / "target").mkdir()
        (folder / "link").symlink_to("target")
    if results == "here/../results":
        (folder / "here").mkdir()
    named = folder.parent / "elsewhere" if results == "absolute" else results
    for name in THEIRS:
        path = folder / named / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"their": "own"}')
    before = contents(folder.parent)
    path = write_study(folder, SMALL, named)
    assert run(path).exit_code == 0
    write_study(folder, SMALL + SECOND, named)
    assert len(run(path).judgement.comparisons) == 2
    second = folder / named / "comparisons" / "2-mean_rank.json"
    assert second.exists()
    np.save(folder / "scores/good/0/pos.npy", np.ones(60))
    before = {path: before[path] for path in before if path.name != "pos.npy"}
    write_study(folder, SMALL.replace("two scorers", "renamed"), named)
    assert run(path).exit_code in (0, 1)
    assert not second.exists()  # its own, and no longer true
    write_report(str(folder / named), folder / "page.html")
    assert_kept(before)


OVERWRITTEN = [
    "study.json",
    "comparisons/1-mrr.json",
    "good/ranking/metrics_toy_0.json",
    "good/ranking/metrics_toy_0.items.npz",
    "good/ranking/metrics_toy_0.relation.json",
]


@pytest.mark.parametrize("content", ['{"mrr": 0.3}', "", "[1]", "not JSON", '{"study": "two scorers"}'])
@pytest.mark.parametrize("name", OVERWRITTEN)
def test_what_would_be_overwritten_is_refused(folder, name, content):
    path = write_study(folder, SMALL, ".")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)
    before = contents(folder)
    with pytest.raises(InputError, match="not written by this study, which would overwrite it") as error:
        run(path)
    assert name in str(error.value)
    assert_kept(before)
    assert not (folder / "poor").exists()  # before anything was evaluated


def test_a_folder_in_the_place_of_a_file_is_refused(folder):
    path = write_study(folder, SMALL, ".")
    (folder / "study.json").mkdir()
    with pytest.raises(InputError, match=r"study\.json: not written by this study"):
        run(path)


@pytest.mark.parametrize("method", ["good", "another"])
def test_a_result_of_a_single_command_is_brought_up_to_date_if_it_is_about_the_same_run(folder, method):
    evaluation = evaluate(np.arange(3.0), np.zeros((3, 2)))
    evaluation.run |= {"method": method, "dataset": "toy", "seed": 0}
    target = write_result(evaluation, folder / "results/good/ranking/metrics_toy_0.json")
    before = target.read_bytes()
    path = write_study(folder, SMALL, "results")
    if method == "good":
        assert run(path).exit_code == 0
        assert target.read_bytes() != before
    else:
        with pytest.raises(InputError, match="not written by this study"):
            run(path)
        assert target.read_bytes() == before


def test_another_study_keeps_its_outcome(folder):
    one = write_study(folder, SMALL, "results")
    assert run(one).exit_code == 0
    other = folder / "other.toml"
    other.write_text(one.read_text())
    before = contents(folder / "results")
    with pytest.raises(InputError, match=r"study\.json.*not written by this study"):
        run(other)
    assert_kept(before)
    one.unlink()  # now it is the same study under another name
    assert run(other).exit_code == 0


def test_a_folder_that_was_copied_without_its_hidden_files_goes_on(folder):
    path = write_study(folder, SMALL + SECOND, "results")
    assert run(path).exit_code == 0
    shutil.rmtree(folder / "results/.graphgauge")
    write_study(folder, SMALL, "results")
    assert run(path).exit_code == 0
    assert [path.name for path in (folder / "results/comparisons").iterdir()] == ["1-mrr.json"]


@pytest.mark.parametrize("claims", ["", "[]", '{"studies": 3}', '{"studies": {"../study.toml": 3}}'])
def test_damaged_claims_are_no_claims(folder, claims):
    path = write_study(folder, SMALL, "results")
    assert run(path).exit_code == 0
    (folder / "results/.graphgauge/written.json").write_text(claims)
    assert run(path).exit_code == 0


def test_claims_reach_nothing_outside_the_folder(folder):
    path = write_study(folder, SMALL, "results")
    mine = folder / "mine.json"
    mine.write_text("mine")
    (folder / "results/comparisons").mkdir(parents=True)
    private = folder / "results/.graphgauge"
    private.mkdir()
    names = ["../mine.json", "comparisons/../../mine.json", str(mine), "comparisons/../mine.json"]
    (private / "written.json").write_text(json.dumps({"studies": {"../study.toml": names}}))
    assert run(path).exit_code == 0
    assert mine.read_text() == "mine"


def test_a_damaged_result_of_its_own_is_made_again(folder):
    path = write_study(folder, SMALL, "results")
    run(path)
    target = folder / "results/good/ranking/metrics_toy_0.json"
    before = json.loads(target.read_text())["results"]
    target.write_bytes(target.read_bytes()[:100])
    assert [done.path for done in run(path).done] == [target]
    target.write_text("")
    assert [done.path for done in run(path).done] == [target]
    assert json.loads(target.read_text())["results"] == before


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_without_locks_is_not_taken_for_another_run(folder, monkeypatch, number):
    def fail(*arguments):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.warns(UserWarning, match=r"has no locks \(no locks here\)"):
        assert run(write_study(folder, SMALL, "results")).exit_code == 0


def test_a_lock_that_another_run_holds(folder):
    path = write_study(folder, SMALL, "results")
    private = folder / "results/.graphgauge"
    private.mkdir(parents=True)
    with Path(private / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another run is writing here"):
            run(path)
