"""Verifying a folder of somebody else runs nothing of theirs, wherever it is verified from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sealed import write_sealed
from tests.study.conftest import STUDY, write_scores

import graphgauge
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import located
from graphgauge.old.core.schema import read_content
from graphgauge.study import run

SOURCE = Path(graphgauge.__file__).parents[1]
# What a process may look for in the current folder, or beside what it works on.
DECOYS = [
    "numpy.py",
    "click.py",
    "scipy/__init__.py",
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
]


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """A study with results, and whatever could make a process run code, above and in its results."""
    folder = tmp_path_factory.mktemp("stranger")
    write_scores(folder, seeds=1)
    (folder / "study.toml").write_text(STUDY.replace("seeds = [0, 1, 2]", "seeds = [0]").partition("[[compare]]")[0])
    assert run(folder / "study.toml").exit_code == 0
    marker = folder / "ran"
    for place in (folder, folder / "results", folder / "results/good/ranking"):
        for name in DECOYS:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n")
        (place / "matplotlibrc").write_text("backend: module://numpy\n")
    return folder


OWN = {**os.environ, "PYTHONPATH": str(SOURCE)}


def verified(*arguments, cwd, **environment):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("start", "inside"),
    [(["-P", "-m", "graphgauge"], False), (["-P", "-m", "graphgauge"], True), (["-m", "graphgauge"], True)],
)
def test_nothing_of_it_runs(stranger, tmp_path, start, inside):
    cwd = stranger if inside else tmp_path
    done = verified(*start, "verify", "results" if inside else stranger / "results", cwd=cwd, **OWN)
    assert (done.returncode, done.stdout.count(": equal\n")) == (0, 2), done.stdout + done.stderr
    assert not (stranger / "ran").exists()


def test_a_search_path_that_depends_on_the_folder_is_not_passed_on(monkeypatch, tmp_path):
    from graphgauge.study.pool import _environment

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "models", str(tmp_path / "own")]))
    assert _environment()["PYTHONPATH"] == str(tmp_path / "own")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", os.path.relpath(SOURCE, tmp_path)]))
    monkeypatch.chdir(SOURCE.parent)
    monkeypatch.setenv("PYTHONPATH", SOURCE.name)
    assert _environment()["PYTHONPATH"] == str(SOURCE)


@pytest.mark.parametrize("study", [True, False])
def test_code_that_a_study_names_is_not_imported(stranger, tmp_path, study):
    """A model is not asked again, which is no success."""
    folder = tmp_path / "again"
    shutil.copytree(stranger, folder)
    (folder / "model.py").write_text((folder / "numpy.py").read_text().replace("ran", "imported"))
    path = next((folder / "results/good/ranking").glob("metrics_*.json"))
    content = read_content(path)
    content["run"] |= {"family": "generation"}
    content["receipt"]["study"]["options"] = {"subject": "model:make"}
    if study:
        text = 'schema = 1\n[[evaluate]]\nfamily = "generation"\nmethod = "good"\ndataset = "toy"\nrun_seed = 0\n'
        (folder / "study.toml").write_text(text + 'subject = "model:make"\n')
    else:
        (folder / "study.toml").unlink()
    write_sealed(path, content)
    done = verified("-P", "-m", "graphgauge", "verify", path, cwd=tmp_path, **os.environ)
    assert done.returncode == 1
    assert "unchecked: not recomputed: model not rerun: model:make is not imported" in done.stdout
    assert not list(tmp_path.rglob("imported"))


def test_a_worker_refuses_code_even_if_asked(stranger, tmp_path):
    from graphgauge.old.io.hashing import HashIndex
    from graphgauge.study.model import Item
    from graphgauge.study.pool import task
    from graphgauge.study.worker import perform

    item = Item("generation", "m", "d", 0, {"subject": "model:make"})
    asked = task(item, stranger, tmp_path / "x.json", threads=1, hashes=tmp_path / "h", trusted=False)
    before = Path.cwd()
    assert "model:make is not imported" in perform(asked, HashIndex(stranger))["error"]
    assert Path.cwd() == before


@pytest.mark.parametrize("name", ["plain", "with [brackets] and *"])
def test_paths_are_taken_from_the_folder_of_the_study(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    write_scores(folder, seeds=1)
    (folder / "study.toml").write_text(STUDY.replace("seeds = [0, 1, 2]", "seeds = [0]").partition("[[compare]]")[0])
    assert run(folder / "study.toml").exit_code == 0
    assert {str(verdict) for verdict in graphgauge.study.verify(folder / "results")} == {"equal"}


def test_only_options_that_name_files_are_taken_from_a_folder():
    ranking, explanation = family("ranking").fields, family("explanation").fields
    given = {
        "pos_scores": ("a.npy",),
        "neg_scores": ("n-*.npy",),
        "mask": ("/b.npy",),
        "groups": {"r": "c.npy:x"},
        "metrics": ("mrr",),
        "k": (1,),
        "offsets": None,
    }
    assert located(ranking, given, Path("/x[1]")) == given | {
        "pos_scores": ("/x[1]/a.npy",),
        "neg_scores": ("/x[[]1]/n-*.npy",),
        "groups": {"r": "/x[1]/c.npy:x"},
    }
    assert located(explanation, {"explainer": "me", "signed": True}, Path("/x")) == {"explainer": "me", "signed": True}
