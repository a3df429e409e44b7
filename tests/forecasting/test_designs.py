"""Intervals over time in many designs: what they cover, how wide they are, and what is said about it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GOAL, WIDTH, AMISS = 0.93, 1.5, 0.03
# Three standard errors of the shares of 512 runs, and of the mean of 32 expectations.
SLACK = 3 * (0.95 * 0.05 / 512) ** 0.5
# Shares of rare misses in short series with memory: few stretches of time show any, and the page names them.
WIDER = "coverage_95"


@pytest.fixture(scope="module")
def simulations() -> Any:
    """The script that writes the page."""
    spec = importlib.util.spec_from_file_location("coverage_forecasting", DOCS / "coverage_forecasting.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_forecasting"] = module
    spec.loader.exec_module(module)
    return module


def page() -> dict[tuple[str, str], list[str]]:
    lines = (DOCS / "agreement" / "coverage_forecasting.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip(" *`") for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {(row[0], row[1]): row[2:] for row in rows[1:]}


@pytest.mark.parametrize(("memory", "steps", "start"), [(0.9, 300, 0), (0.5, 1_000, 100_000)])
def test_few_designs(simulations: Any, memory: float, steps: int, start: int) -> None:
    """A little of the page."""
    for key, found in simulations.simulate(simulations.Design(memory, steps, start=start), 256, 2, seed=12).items():
        assert found.given > 0.99
        assert found.width <= WIDTH
        if key in ("bias", "mae"):
            assert found.coverage >= 0.91 - 3 * (0.95 * 0.05 / 256) ** 0.5


def test_where_coverage_falls_short_the_expectation_says_so(simulations: Any) -> None:
    """Misses are rare and occur together: few runs show how large they can be."""
    found = simulations.simulate(simulations.Design(0.9, 300), 256, 8, seed=13)["interval_score_95"]
    assert found.coverage < 0.85
    assert found.expected <= found.coverage + AMISS


@pytest.mark.parametrize(
    "kind", ["GARCH", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("stochastic volatility", "regimes"))]
)
def test_the_expectation_knows_a_variance_that_changes_slowly(simulations: Any, kind: str) -> None:
    found = simulations.simulate(simulations.Design(0.0, 300, volatility=kind), 256, 8, seed=14)
    for key in ("mae", "rmse", "nll"):
        assert found[key].coverage < 0.9
        # Three standard errors of both, about.
        assert found[key].expected <= found[key].coverage + AMISS + 0.07
    assert found["bias"].coverage > GOAL - SLACK


def test_the_page_names_every_row_that_falls_short_of_its_expectation(simulations: Any) -> None:
    text = (DOCS / "agreement" / "coverage_forecasting.md").read_text(encoding="utf-8")
    rows = page()
    assert {name for name, _ in rows} == {design.name for design in simulations.designs()}
    assert len(rows) == len(simulations.KEYS) * len(simulations.designs())
    amiss = 0
    for (name, key), (covers, below, above, width, expected, _) in rows.items():
        assert float(covers) + float(below) + float(above) == pytest.approx(1, abs=2e-3)
        said = GOAL if expected == "–" else float(expected)
        if float(covers) < GOAL and said > float(covers) + AMISS:
            amiss += 1
            assert f"{name}, `{key}` (.{expected[2:]} for" in text
        if float(width) > WIDTH:
            assert key == WIDER or "weekly cycle" in name  # three periods are taken for slow changes
            assert f"{name}, `{key}` ({width})" in text
    assert amiss <= 0.05 * sum(float(row[0]) < GOAL for row in rows.values())
    # The same page again from its own rows.
    assert simulations.page(simulations.written(text)) == text


@pytest.mark.slow
def test_some_rows_of_the_page_again(simulations: Any) -> None:
    """With other random numbers."""
    rows = page()
    for design in simulations.designs()[::5]:
        for key, found in simulations.simulate(design, 512, 0, seed=1).items():
            share = float(rows[design.name, key][0])
            assert abs(found.coverage - share) <= 5 * (share * (1 - share) * 2 / 512 + 1e-6) ** 0.5, (design.name, key)
