"""Verifying a folder of somebody else runs nothing of theirs, wherever it is verified from."""

from __future__ import annotations

import importlib
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sealed import write_sealed
from tests.study.conftest import STUDY, write_scores

import graphgauge
import graphgauge.kernels
from graphgauge.core.family import family
from graphgauge.core.fields import located
from graphgauge.core.schema import read_content
from graphgauge.kernels.jit import Kernel
from graphgauge.study import run

SOURCE = Path(graphgauge.__file__).parents[1]
# What a process may look for in the current folder, or beside what it works on.
DECOYS = [
    "numpy.py",
    "numba.py",
    "click.py",
    "scipy/__init__.py",
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
]


class Bomb:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


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
        set_traps(place, marker)
    return folder


def set_traps(place: Path, marker: Path) -> None:
    """A configuration of numba that names a cache, and in that an index for every kernel, which numba unpickles."""
    numba = pytest.importorskip("numba")
    (place / ".numba_config.yaml").write_text(f"cache_dir: {place / 'cache'}\n")
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(place / "cache")
    try:
        kernels = [
            value
            for module in pkgutil.iter_modules(graphgauge.kernels.__path__)
            for value in vars(importlib.import_module(f"graphgauge.kernels.{module.name}")).values()
            if isinstance(value, Kernel)
        ]
        for kernel in kernels:
            index = Path(numba.njit(nogil=True, cache=True)(kernel.loop)._cache._cache_file._index_path)
            index.parent.mkdir(parents=True, exist_ok=True)
            index.write_bytes(pickle.dumps(Bomb(marker)))
    finally:
        numba.config.CACHE_DIR = before
    assert len(list(place.rglob("*.nbi"))) > 10


@pytest.fixture
def eager(tmp_path):
    """An environment in which every kernel is compiled, however small the work; it is the user's own."""
    (tmp_path / "sitecustomize.py").write_text("import graphgauge.kernels.jit as jit\njit.IMPORT_PAYS_FROM = 0\n")
    # Commands that other tests ran in this process have set numba's cache for it.
    own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return {**own, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(tmp_path)])}


def verified(*arguments, cwd, **environment):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_traps_work(stranger, eager, tmp_path):
    """Where numba does read this configuration, the code runs: the tests below are about something."""
    again = tmp_path / "again"
    shutil.copytree(stranger, again)
    set_traps(again, again / "ran")
    scores = ("--pos-scores", "scores/good/0/pos.npy", "--neg-scores", "scores/good/0/neg-*.npy")
    code = "import sys; from graphgauge.cli.app import cli; cli.callback = None; cli(sys.argv[1:])"
    verified("-P", "-c", code, "ranking", *scores, cwd=again, **eager)
    assert (again / "ran").exists()


@pytest.mark.parametrize(
    ("start", "inside", "settings"),
    [
        (["-P", "-m", "graphgauge"], False, {}),
        (["-P", "-m", "graphgauge"], True, {}),
        (["-m", "graphgauge"], True, {}),
        (["-P", "-m", "graphgauge"], True, {"NUMBA_CACHE_DIR": "cache"}),
    ],
)
def test_nothing_of_it_runs(stranger, eager, tmp_path, start, inside, settings):
    cwd = stranger if inside else tmp_path
    done = verified(*start, "verify", "results" if inside else stranger / "results", cwd=cwd, **eager, **settings)
    assert (done.returncode, done.stdout.count(": equal\n")) == (0, 2), done.stdout + done.stderr
    assert not (stranger / "ran").exists()


def test_a_command_in_such_a_folder_takes_no_cache_from_it(stranger, eager):
    scores = ("--pos-scores", "scores/good/0/pos.npy", "--neg-scores", "scores/good/0/neg-*.npy")
    done = verified("-m", "graphgauge", "ranking", *scores, cwd=stranger, **eager)
    assert done.returncode == 0, done.stderr
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
    from graphgauge.io.hashing import HashIndex
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
