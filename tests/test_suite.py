"""The suite itself: `make test` draws the same examples every time."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


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
