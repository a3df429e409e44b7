"""Installed families that cannot be used: everything else works, and a message says what is wrong with them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graphgauge.cli.app import COMMANDS
from graphgauge.core.family import BUILT_IN, RESERVED

DECLARED = """\
from graphgauge.core.family import Family
FAMILY = Family(name={name!r}, line="A line.", question="?", headlines=(), package="{package}")
"""


def install(site: Path, package: str, entry: str, source: str) -> None:
    """A package with one module and one entry point."""
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text(source)
    about = site / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[graphgauge.families]\n{entry}\n")


def ran(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "graphgauge", *words]
    return subprocess.run(command, cwd=site, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)


def declared(name: str, package: str) -> str:
    return DECLARED.format(name=name, package=package)


BROKEN = {
    "gone": ("gone = nosuchmodule:FAMILY", "", "ModuleNotFoundError"),
    "absent": ("absent = {package}:NOSUCH", "", "AttributeError"),
    "raises": ("raises = {package}:FAMILY", "raise RuntimeError('at import')", "at import"),
    "leaves": ("leaves = {package}:FAMILY", "import sys; sys.exit(0)", "SystemExit"),
    "wrong": ("wrong = {package}:FAMILY", "FAMILY = 1", "not a Family"),
    "other": ("other = {package}:FAMILY", declared("another", "p"), "not a Family of this name"),
    "ranking": ("ranking = {package}:FAMILY", declared("ranking", "p"), "name of a built-in family"),
    "merge": ("merge = {package}:FAMILY", declared("merge", "p"), "name of a command"),
    "results": ("results = {package}:FAMILY", declared("results", "p"), "name of a command"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them at once, two packages with one name, one whose metrics cannot be imported, and one that is fine."""
    folder = tmp_path_factory.mktemp("site")
    for name, (entry, source, _) in BROKEN.items():
        install(folder, f"of_{name}", entry.format(package=f"of_{name}"), source)
    for package in ("one", "two"):
        install(folder, package, f"twice = {package}:FAMILY", declared("twice", package))
    install(folder, "hollow", "hollow = hollow:FAMILY", declared("hollow", "hollow"))
    rng = np.random.default_rng(0)
    np.save(folder / "pos.npy", rng.normal(1, 1, 20))
    np.save(folder / "neg.npy", rng.normal(0, 1, (20, 5)))
    return folder


def test_reserved_names_are_those_of_the_commands() -> None:
    assert {*COMMANDS, "results", "runs"} == {*RESERVED}


def test_help_lists_what_works_and_says_what_does_not(site: Path) -> None:
    done = ran(site, "--help")
    assert done.returncode == 0, done.stderr
    usable, _, refused = done.stdout.partition("Installed, but cannot be used")
    assert all(name in usable for name in (*BUILT_IN, *COMMANDS, "hollow"))
    said = " ".join(refused.split())
    for name, (_, _, why) in BROKEN.items():
        assert f"the family '{name}' of of_{name}" in said, name
        assert why in said, name
    assert "the family 'twice' of one and two is declared more than once" in said


@pytest.mark.parametrize("name", [name for name in (*BROKEN, "twice") if name not in ("ranking", "merge")])
def test_its_command_is_refused_with_the_reason(site: Path, name: str) -> None:
    done = ran(site, name, "--true", "t.npy")
    assert done.returncode == 2, done.stderr
    assert f"the family '{name}' of" in done.stderr
    assert "Traceback" not in done.stderr


def test_built_in_families_and_commands_work(site: Path) -> None:
    evaluated = ran(site, "ranking", "--pos-scores", "pos.npy", "--neg-scores", "neg.npy", "-o", "r/result.json")
    assert evaluated.returncode == 0, evaluated.stderr
    for words in (["metrics", "mrr"], ["audit", "r"], ["merge", "--help"]):
        done = ran(site, *words)
        assert done.returncode == 0, (words, done.stderr)


def test_a_study_that_names_it_says_why_it_cannot_be_read(site: Path) -> None:
    (site / "study.toml").write_text('schema = 1\n[[evaluate]]\nfamily = "raises"\nmethod = "m"\ndataset = "d"\n')
    done = ran(site, "run", "study.toml")
    assert done.returncode in (2, 3), done.stderr
    assert "at import" in done.stderr
