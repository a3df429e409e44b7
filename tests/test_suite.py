"""The suite itself: what `make test` draws and what it runs twice, and what `make fuzz` finds."""

from __future__ import annotations

import os
import random
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import fuzz, twins


def drawn() -> list[list[int]]:
    examples: list[list[int]] = []

    @settings(max_examples=100)
    @given(st.lists(st.integers(), min_size=20))
    def draw(numbers: list[int]) -> None:
        examples.append(numbers)

    draw()
    return examples


def test_examples_do_not_depend_on_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypothesis draws constants of loaded modules too, and which are loaded depends on the tests that ran before."""
    before = drawn()
    module = tmp_path / "loaded_by_others.py"
    module.write_text(f"NUMBERS = {[123456789 + 17 * i for i in range(500)]}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("loaded_by_others")
    assert drawn() == before


def test_no_example_database_adds_examples() -> None:
    if settings.default.derandomize:  # the profile of `make test`
        assert settings.default.database is None
    assert settings.get_profile("test").derandomize
    assert settings.get_profile("test").database is None


@pytest.mark.parametrize("_", range(2))
def test_what_has_no_seed_of_its_own_draws_the_same_in_every_test(_: int) -> None:
    """Both runs see the same draws, which a test that ran before would have moved on."""
    expected = random.Random(0).random(), np.random.RandomState(0).random()
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002


PROPERTY = """
from hypothesis import given, strategies as st

@given(st.integers(0, 10**9))
def test_small(number):
    assert number < {limit}
"""


def fuzzed(folder: Path, limit: int, minutes: float, **environment: str) -> subprocess.CompletedProcess[str]:
    file = folder / "property_of_fuzz.py"
    file.write_text(PROPERTY.format(limit=limit))
    options = ["-p", "tests.conftest", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    command = [sys.executable, "-m", "tests.fuzz", str(minutes), *options, str(file)]
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | environment
    root = Path(fuzz.__file__).parents[1]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}], ids=["at home", "in CI"])
def test_fuzzing_ends_when_the_time_is_up(tmp_path: Path, environment: dict[str, str]) -> None:
    done = fuzzed(tmp_path, 10**10, 0.05, **environment)
    assert done.returncode == 0, done.stdout
    assert "rounds without a failure" in done.stdout


def test_fuzzing_fails_on_what_it_finds_and_says_how_to_repeat_it(tmp_path: Path) -> None:
    done = fuzzed(tmp_path, 10**6, 2)
    assert done.returncode == 1, done.stdout
    seed = re.search(r"round 1: (--hypothesis-seed=\d+)", done.stdout)
    line = re.search(r"Repeat with: (.*)", done.stdout)
    assert seed
    assert line
    command = shlex.split(line[1])
    assert command[:2] == [sys.executable, "-m"]
    assert seed[1] in command
    assert "--hypothesis-profile=fuzz" in command
    assert command[-1].endswith("property_of_fuzz.py::test_small")


KERNELS = """
import pytest
from graphgauge.kernels.jit import Kernel

KERNEL = Kernel(lambda: "loop", lambda: "twin")
KERNEL._chosen = KERNEL.loop  # as if compiled

@pytest.fixture(scope="module")
def computed():
    return KERNEL.implementation(1)()

def test_alone():
    assert 1 + 1 == 2

def test_in_the_test():
    KERNEL.implementation(1)()

def test_in_its_fixture(computed):
    assert computed

def test_in_its_fixture_too(computed):
    assert computed
"""
IMPORTED = """
from test_kernels import KERNEL
KERNEL.implementation(1)()

def test_in_the_import():
    assert True
"""


@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not there or switched off")
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_second_run_leaves_out_what_ran_no_compiled_loop(tmp_path: Path, workers: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tmp_path / "test_kernels.py").write_text(KERNELS)
    (tmp_path / "test_imported.py").write_text(IMPORTED)
    options = ["-p", "tests.twins", "-v", workers, f"--rootdir={tmp_path}", str(tmp_path)]
    passed = []
    for numba in "10":
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options],
            cwd=Path(fuzz.__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"GRAPHGAUGE_NUMBA": numba},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [line for line in done.stdout.splitlines() if "PASSED" in line]
        passed.append({match[1] for line in lines if (match := re.search(r"::(\w+)", line))})
    everything = {"test_in_the_test", "test_in_its_fixture", "test_in_its_fixture_too", "test_in_the_import"}
    assert passed == [everything | {"test_alone"}, everything]


def test_the_second_run_repeats_all_of_the_kernels_and_some_of_each_other_file() -> None:
    loops = {f"tests/{folder}/test_a.py::test_{number}": ["one"] for folder in ("laws", "io") for number in range(20)}
    loops |= {"tests/io/test_b.py::test_1": ["one"], "tests/io/test_a.py::test_late": ["one", "two"]}
    loops |= {"tests/laws/test_a.py::test_none": []}
    kept = twins.chosen([*loops, "tests/io/test_new.py::test_unseen"], loops)
    assert sum(test.startswith("tests/laws/") for test in kept) == 20
    assert sorted(test for test in kept if test.startswith("tests/io/test_a")) == [
        *(f"tests/io/test_a.py::test_{number}" for number in range(3)),
        "tests/io/test_a.py::test_late",
    ]
    assert {"tests/io/test_b.py::test_1", "tests/io/test_new.py::test_unseen"} <= kept
