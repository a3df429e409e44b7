"""Intervals over time in many designs: what they cover, how wide they are, and what is said about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.forecasting.designs import Design, designs, simulate

PAGE = Path(__file__).parents[2] / "docs" / "agreement" / "coverage_series.md"
RUNS = 512
# Evaluations of each design whose expectation is simulated.
CHECKED = 16
GOAL, WIDTH, AMISS = 0.93, 1.5, 0.03
# Shares of rare misses in short series with memory: few stretches of time show any, and the page says so.
WIDER = {("100 steps, memory 0.95, normal", "coverage_95"), ("100 steps, memory 0.9, t3", "coverage_95")}
# Three standard errors of a share of so many runs.
SLACK = 3 * (0.95 * 0.05 / RUNS) ** 0.5


@pytest.mark.parametrize(
    "design", [Design(0.9, 300), Design(0.5, 1_000, start=100_000)], ids=lambda design: design.name
)
def test_few_designs(design: Design) -> None:
    """A little of the page."""
    for key, found in simulate(design, 256, 2, seed=12).items():
        assert found.given > 0.99
        assert found.width <= WIDTH
        if key in ("bias", "mae"):
            assert found.coverage >= 0.91 - 3 * (0.95 * 0.05 / 256) ** 0.5


def test_where_coverage_falls_short_the_expectation_says_so() -> None:
    """Misses are rare and occur together: few runs show how large they can be."""
    found = simulate(Design(0.9, 300), 256, 8, seed=13)["interval_score_95"]
    assert found.coverage < 0.85
    assert found.expected <= found.coverage + AMISS


@pytest.mark.slow
def test_page_of_designs() -> None:
    """The page in the documentation; every row keeps what the page promises."""
    rows, wrong = [], {}
    for design in designs():
        for key, found in simulate(design, RUNS, CHECKED).items():
            head = f"| {design.name} | `{key}` |"
            if not found.given:
                rows.append(f"{head} – | – | – | – | – |")
                continue
            short = found.coverage < GOAL - SLACK
            if short and found.expected > found.coverage + AMISS + SLACK:
                wrong[design.name, key] = found
            if found.width > WIDTH + 0.1 and (design.name, key) not in WIDER:
                wrong[design.name, key] = found
            expected = "–" if found.expected >= GOAL else f"{found.expected:.2f}"
            shares = " | ".join(f"{share:.3f}" for share in (found.coverage, found.below, found.above))
            rows.append(f"{head} {shares} | {found.width:.2f} | {expected} |")
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        head = PAGE.read_text(encoding="utf-8").partition("| design |")[0]
        table = [
            "| design | metric | covers | too low | too high | width | expected |",
            "|---|---|---|---|---|---|---|",
        ]
        PAGE.write_text(head + "\n".join([*table, *rows, ""]), encoding="utf-8")
    assert len(rows) >= 150
    assert not wrong
