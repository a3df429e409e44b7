"""Intervals in many designs: what they cover, how wide they are, and what is said about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.ranking.designs import (
    Design,
    Macro,
    Row,
    clustered,
    designs,
    independent,
    power,
    relations,
    simulate,
    steep,
)

PAGE = Path(__file__).parents[2] / "docs" / "agreement" / "coverage_designs.md"
RUNS = 2000
# Evaluations of each design whose expectation is simulated.
CHECKED = 200
GOAL, WIDTH, AMISS = 0.93, 1.5, 0.03

FEW = [
    independent("chance", power(1000, 1.0), "mrr", 100),
    independent("MRR .3", steep(1000, 0.3), "mrr", 5),
    independent("MRR .3", steep(1000, 0.3), "mean_rank", 20),
    independent("MRR .99", steep(1000, 0.99), "mrr", 100),
    clustered("lognormal(1)", 30, 10),
    clustered("Zipf", 30, 10),
    relations("one or two queries", 50, 0.3, 50),
]


@pytest.mark.parametrize("design", FEW, ids=lambda design: f"{design.metric} of {design.name}")
def test_few_designs(design: Design | Macro) -> None:
    """A little of the page: 400 runs, hence three standard errors."""
    found = simulate(design, 400, 4, seed=11)
    assert isinstance(found, Row)
    assert found.coverage >= GOAL - 3 * (0.95 * 0.05 / 400) ** 0.5
    assert found.width <= WIDTH + 0.1
    assert found.given > 0.99


@pytest.mark.parametrize("kind", ["one giant", "lognormal(1.5)"])
def test_a_design_that_says_too_little_has_no_interval_whatever_its_values(kind: str) -> None:
    for mrr, negatives in ((0.3, 50), (0.03, 1000), (0.9, 50)):
        assert "degrees of freedom" in simulate(clustered(kind, 10, 20, mrr=mrr, negatives=negatives), 20, 20)


def test_where_coverage_falls_short_the_expectation_says_so() -> None:
    found = simulate(independent("MRR .6, heavy tail", steep(1000, 0.6), "amri", 20), 400, 20, seed=11)
    assert found.coverage < 0.92
    assert found.expected <= found.coverage + AMISS


@pytest.mark.slow
def test_page_of_designs() -> None:
    """The page in the documentation; every row keeps what the page promises."""
    rows, wrong = [], {}
    for design in designs():
        found = simulate(design, RUNS, CHECKED)
        key = f"| {design.name} | `{design.metric}` |"
        if isinstance(found, str):
            rows.append(f"{key} – | – | – | – | – |")
            continue
        # Three standard errors of a share from so many runs.
        if found.coverage < GOAL - 0.015 and found.expected > found.coverage + AMISS:
            wrong[design.name, design.metric] = found
        expected = "–" if found.expected >= GOAL else f"{found.expected:.2f}"
        rows.append(
            f"{key} {found.coverage:.3f} | {found.below:.3f} | {found.above:.3f} | {found.width:.2f} | {expected} |"
        )
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        head = PAGE.read_text(encoding="utf-8").partition("| design |")[0]
        table = [
            "| design | metric | covers | too low | too high | width | expected |",
            "|---|---|---|---|---|---|---|",
        ]
        PAGE.write_text(head + "\n".join([*table, *rows, ""]), encoding="utf-8")
    assert len(rows) >= 40
    assert not wrong
