"""The room itself: which modules a command runs and scores pass, what is loaded, how long files are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOM = Path(__file__).parents[2] / "src" / "graphgauge" / "ranking"
# From the command to the compiled core and back: what opens, counts and measures scores.
PASSED = (
    "cli.app",
    "cli.door",
    "io.request",
    "io.arrays",
    "ranking.evaluate",
    "ranking.queries",
    "ranking.scores",
    "_core",
    "ranking.counts",
    "ranking.samples",
    "ranking.metrics",
    "core.loop",
)
RUN = """
import sys
from pathlib import Path
ran = set()
root = str(Path({root!r}))
def profile(frame, event, arg):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_filename.startswith(root):
        ran.add(code.co_filename[len(root) + 1 : -3].replace("/", "."))
from graphgauge.cli.app import cli
import graphgauge.ranking.doors
sys.setprofile(profile)
try:
    cli(["ranking", "--pos-scores", {pos!r}, "--neg-scores", {neg!r}], standalone_mode=False)
except SystemExit:
    pass
sys.setprofile(None)
print("RAN", *sorted(ran))
heavy = {{"scipy", "sklearn", "pandas", "torch"}}
print("LOADED", *sorted({{name.partition(".")[0] for name in sys.modules}} & heavy))
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)
    pos, neg = folder / "pos.npy", folder / "neg.npy"
    np.save(pos, rng.normal(1, 1, 50))
    np.save(neg, rng.normal(0, 1, (50, 20)))
    code = RUN.format(root=str(ROOM.parent), pos=str(pos), neg=str(neg))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = {
        line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith(("RAN", "LOADED"))
    }
    return lines | {"SHOWN": [done.stdout]}


def test_scores_pass_few_modules(command: dict[str, list[str]]) -> None:
    assert len(PASSED) <= 12
    assert set(PASSED) - {"_core"} <= set(command["RAN"])


def test_a_command_runs_few_modules_and_no_heavy_library(command: dict[str, list[str]]) -> None:
    own = [name for name in command["RAN"] if name.startswith(("ranking.", "stats.", "io.", "protocols"))]
    assert len(own) <= 25, own
    assert command["LOADED"] == []


def test_a_command_prints_little(command: dict[str, list[str]]) -> None:
    assert len(command["SHOWN"][0].partition("RAN")[0]) <= 1500


def test_modules_are_neither_long_nor_crumbs() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in ROOM.glob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 500} == {}
    assert {name: length for name, length in lengths.items() if length < 12} == {}


def test_modules_import_few_of_their_own() -> None:
    for path in ROOM.glob("*.py"):
        tree = ast.parse(path.read_text())
        own = {
            node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("graphgauge.ranking.")
        }
        assert len(own) <= 9, (path.name, sorted(own))
