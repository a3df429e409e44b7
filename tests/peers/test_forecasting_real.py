"""What the page on real series says still comes out of the example; the series come with libpysal and statsmodels.

`python examples/forecasting_real.py docs/forecasting_real.md` rewrites it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "forecasting_real.md"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("forecasting_real", ROOT / "examples" / "forecasting_real.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["forecasting_real"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def states(example: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = example.income_forecasts()
    return found


def test_the_page_shows_what_comes_out(example: ModuleType) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, text in example.sections().items():
        begin, end = example.marks(name)
        assert f"{begin}\n\n{text}\n\n{end}" in page, name


def test_the_figure_is_drawn(example: ModuleType, tmp_path: Path) -> None:
    example.draw(tmp_path / "figure.svg")
    assert "North Dakota" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "images" / "forecasting_real.svg").exists()


def test_forecasts_know_nothing_of_the_future(example: ModuleType) -> None:
    _, series, borders = example.incomes()
    changed = series.copy()
    changed[-6:] += 5.0
    for method in example.income_methods(borders).values():
        before, after = (example._rolled(values, method) for values in (series, changed))
        np.testing.assert_allclose(before.mean[:-6], after.mean[:-6], rtol=1e-12)
        np.testing.assert_allclose(before.std[:-6], after.std[:-6], rtol=1e-9)


def test_the_map(example: ModuleType) -> None:
    names, series, borders = example.incomes()
    assert series.shape == (81, 48)
    np.testing.assert_array_equal(borders, borders.T)
    beside = {names[place] for place in np.flatnonzero(borders[names.index("Maine")])}
    assert beside == {"New Hampshire"}


def test_the_surprise(example: ModuleType, states: dict[str, Any]) -> None:
    """True borders beat most shuffled maps a year ahead and lose to most of them from two years on."""
    _, series, borders = example.incomes()
    shuffled = example.shuffled_errors(series, borders)
    better = (shuffled <= states[example.GRAPH].mae).mean(0)
    assert better[0] < 0.25
    assert (better[1:] > 0.75).all()


def test_the_intervals_of_the_incomes(example: ModuleType, states: dict[str, Any]) -> None:
    long, short = (example.evaluated(states[name]) for name in (example.GRAPH, example.SHORT))
    assert long["coverage_95"].value > 0.99
    assert long["ence"].value > 0.5
    assert short["crps"].value < long["crps"].value
    low, high = short["coverage_95"].interval
    assert low < 0.95 < high


def test_the_season(example: ModuleType) -> None:
    warm = example.sea_forecasts()
    naive, seasonal = (warm[name] for name in list(warm)[:2])
    np.testing.assert_array_equal(naive.mean[:, 11], seasonal.mean[:, 11])
    usual = warm["climatology"]
    missed = np.abs(usual.truth - usual.mean) > 1.96 * usual.std
    months = np.arange(example.FIRST_JUDGED_MONTH, example.FIRST_JUDGED_MONTH + len(missed))
    years = 1950 + (months[:, np.newaxis] + 1 + np.arange(12)) // 12
    share = {year: missed[..., 0][years == year].mean() for year in np.unique(years)}
    assert sorted(share, key=lambda year: -share[year])[:4] == [1983, 1997, 1972, 1998]
