"""What the intervals of births cover, over births, nodes and cycles: simulated, and told in the documentation.

Nodes are points drawn from a plane normal distribution, so that the share of random pairs that are farther apart than d
is exp(−d²/4): the areas are exact, and only births and nodes vary. Every draw has other nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from graphgauge.core.metric import NoInterval, find
from graphgauge.evolution.areas import Area
from graphgauge.evolution.samples import LabelPairs, Trajectory

PAGE = Path(__file__).parents[2] / "docs" / "agreement" / "coverage_evolution.md"
# Draws per row, and for designs in which the rule gives no interval.
DRAWS, FEW_DRAWS = 600, 20
NODES = 300
RUNS = "One run over cycles"


class Drawn(NamedTuple):
    """One draw: the value, and the interval with what it is expected to cover, if there is one."""

    value: float
    bounds: tuple[float, float] | None
    expected: float | None = None


class Row(NamedTuple):
    """Coverage, the shares of truths below and above the interval, relative width, share without one, expectation."""

    coverage: float
    below: float
    above: float
    width: float
    without: float
    expected: float

    def cells(self) -> list[str]:
        expected = "" if np.isnan(self.expected) else f"{self.expected:.2f}"
        if np.isnan(self.coverage):
            return ["–", "–", "–", "–", "100%", ""]
        return [
            f"{self.coverage:.3f}",
            f"{self.below:.3f}",
            f"{self.above:.3f}",
            f"{self.width:.2f}",
            f"{self.without:.0%}",
            expected,
        ]


def ends_of(rng: np.random.Generator, hubs: int, births: int, ways: str) -> np.ndarray:
    """Births between hubs, the first nodes, and others: to them, from and to them, or to the first hubs most of all."""
    weights = 1 / np.arange(1, hubs + 1) if ways == "Zipf" else np.ones(hubs)
    hub = rng.choice(hubs, births, p=weights / weights.sum())
    other = rng.integers(hubs, NODES, births)
    ends = np.stack([other, hub], axis=1)
    turned = rng.random(births) < 0.5 if ways == "both ways" else np.zeros(births, bool)
    ends[turned] = ends[turned][:, ::-1]
    return np.unique(ends, axis=0)


def pairs_of(rng: np.random.Generator, nodes: int, births: int) -> np.ndarray:
    first = rng.integers(0, nodes, births)
    return np.unique(np.sort(np.stack([first, (first + rng.integers(1, nodes, births)) % nodes], axis=1)), axis=0)


def shares_of(rng: np.random.Generator, ends: np.ndarray, closer: float = 0.0) -> np.ndarray:
    """The share of random pairs that are farther apart; ends of births are drawn towards each other by a share."""
    points = rng.normal(size=(NODES, 2))
    gaps = (1 - closer) * (points[ends[:, 0]] - points[ends[:, 1]])
    return np.asarray(np.exp(-(gaps**2).sum(axis=1) / 4))


def of_area(ends: np.ndarray, shares: np.ndarray) -> Drawn:
    area = Area(shares, 10**9, ends, nodes=NODES)
    return judged("auc_birth", area)


def of_labels(rng: np.random.Generator, ends: np.ndarray, key: str) -> Drawn:
    classes = rng.integers(0, 4, NODES)[ends]
    return judged(key, LabelPairs(classes, ends, len(ends), 4, NODES, 0.25, 0.25))


def judged(key: str, sample: object) -> Drawn:
    metric, params = find(key, "evolution")
    estimate = sample.estimate() if isinstance(sample, Trajectory) else metric(sample, **params)
    rule = metric.interval(sample, estimate)
    if isinstance(rule, NoInterval):
        return Drawn(float(estimate.value[0]), None)
    low, high = (float(np.ravel(end)[0]) for end in rule.function(sample, estimate, 0.95))
    expected = rule.coverage(sample, estimate, 0.95) if rule.coverage is not None else None
    return Drawn(float(estimate.value[0]), None if np.isnan(low) else (low, high), expected)


def row_of(draw: Callable[[np.random.Generator], Drawn], draws: int, seed: int = 0) -> Row:
    found = [draw(np.random.default_rng((seed, number))) for number in range(draws)]
    values = np.array([one.value for one in found])
    truth, spread = values.mean(), values.std(ddof=1)
    bounds = np.array([one.bounds for one in found if one.bounds is not None])
    # An expectation that falls short is printed with the result; none means the level.
    expected = [0.95 if one.expected is None else one.expected for one in found if one.bounds is not None]
    without = 1 - len(bounds) / draws
    if len(bounds) < draws / 10:
        return Row(np.nan, np.nan, np.nan, np.nan, without, np.nan)
    below, above = np.mean(truth < bounds[:, 0]), np.mean(truth > bounds[:, 1])
    width = float(np.median(bounds[:, 1] - bounds[:, 0]) / (2 * 1.959964 * spread))
    mean = float(np.mean(expected))
    return Row(1 - below - above, float(below), float(above), width, without, mean if mean < 0.945 else np.nan)


def over_births(hubs: int, births: int, ways: str, closer: float = 0.0) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        ends = ends_of(rng, hubs, births, ways)
        return of_area(ends, shares_of(rng, ends, closer))

    return draw


def over_pairs(nodes: int, births: int, closer: float = 0.0) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        ends = pairs_of(rng, nodes, births)
        return of_area(ends, shares_of(rng, ends, closer))

    return draw


def by_label(key: str, hubs: int, births: int) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        ends = ends_of(rng, hubs, births, "one way") if hubs else pairs_of(rng, NODES, births)
        return of_labels(rng, ends, key)

    return draw


def over_cycles(cycles: int, memory: float, hubs: int = 0, births: int = 20) -> Callable[[np.random.Generator], Drawn]:
    """Cycles whose shares move together, with this memory from cycle to cycle; hubs are the same in all of them."""

    def draw(rng: np.random.Generator) -> Drawn:
        points = rng.normal(size=(NODES, 2))
        level = rng.normal(0, 0.3)
        values, parts = [], []
        for _ in range(cycles):
            level = memory * level + np.sqrt(1 - memory**2) * rng.normal(0, 0.3)
            ends = ends_of(rng, hubs, births, "one way") if hubs else pairs_of(rng, NODES, births)
            gaps = points[ends[:, 0]] - points[ends[:, 1]]
            shares = np.exp(-np.exp(level) * (gaps**2).sum(axis=1) / 4)
            values.append(shares.mean())
            parts.append((ends, shares))
        return judged("auc_birth", Trajectory([np.array(values)], possible=(0.0, 1.0), births=parts))

    return draw


Designs = dict[str, Callable[[np.random.Generator], Drawn]]


def tables() -> dict[str, Designs]:
    births: Designs = {
        f"{hubs} hubs, {ways}, {count} births": over_births(hubs, count, ways)
        for hubs in (2, 5, 50)
        for ways in ("one way", "both ways", "Zipf")
        for count in (5, 20, 100, 500)
        if ways != "Zipf" or count == 100
    }
    births |= {
        f"pairs of {nodes} nodes, {count} births": over_pairs(nodes, count)
        for nodes in (20, 100, 300)
        for count in (5, 20, 100, 500)
        if count <= 5 * nodes
    }
    births |= {
        f"{what}, {count} births, ends drawn together": draw(count)
        for count in (20, 100)
        for what, draw in {
            "5 hubs": lambda count: over_births(5, count, "one way", 0.6),
            "50 hubs": lambda count: over_births(50, count, "one way", 0.6),
            "pairs": lambda count: over_pairs(300, count, 0.6),
        }.items()
    }
    labels: Designs = {
        f"`{key}`, {f'{hubs} hubs' if hubs else 'pairs'}, {count} births": by_label(key, hubs, count)
        for key in ("homophily_new_edges", "delta_homophily_ends", "adjusted_homophily")
        for hubs in (0, 5, 50)
        for count in (20, 100)
    }
    cycles: Designs = {
        f"{count} cycles, memory {memory:g}, {f'{hubs} lasting hubs' if hubs else 'pairs'}": over_cycles(
            count, memory, hubs
        )
        for hubs in (0, 5, 50)
        for memory in (0.0, 0.5, 0.9)
        for count in (5, 10, 30, 100)
    }
    return {"Areas over births": births, "Homophily over births": labels, RUNS: cycles}


QUICK = {
    "5 hubs": over_births(5, 100, "one way"),
    "50 hubs, both ways": over_births(50, 100, "both ways"),
    "pairs": over_pairs(100, 50),
    "labels": by_label("homophily_new_edges", 5, 100),
}


@pytest.mark.parametrize("name", QUICK)
def test_intervals_cover_if_births_share_their_nodes(name: str):
    row = row_of(QUICK[name], 200)
    assert row.coverage >= 0.91
    assert row.width < 1.5


def test_two_hubs_are_too_few_for_an_interval():
    assert row_of(over_births(2, 100, "one way"), 20).without == 1


def measured(place: tuple[str, str]) -> Row:
    title, name = place
    design = tables()[title][name]
    few = row_of(design, FEW_DRAWS)
    return few if few.without == 1 else row_of(design, DRAWS)


@pytest.mark.slow
def test_the_page_says_what_is_covered():
    lines = [
        "# Coverage: evolution",
        "",
        "What intervals with a nominal coverage of .95 reach if births share their nodes. Nodes are points of a plane "
        "normal distribution and differ in every draw. *Below* and *above* are the shares of draws in which the truth "
        "is below or above the interval. *Width* is the median width over that of an interval that knows the "
        "variance. *None* is the share of draws without an interval: by rule there is none with fewer than three "
        "degrees of freedom, and for one run none with fewer than 30 cycles. *Expected* is the mean of the coverage "
        "that the results themselves expect, if it is less than their level: a lower bound for the longest memory "
        f"that the cycles do not exclude. {DRAWS} draws per row, so that a coverage of .95 has a standard error of "
        f".009 ({FEW_DRAWS} if none of these has an interval); "
        "`GRAPHGAUGE_REGENERATE=1 pytest tests/evolution/test_coverage.py -m slow` writes this page.",
        "",
    ]
    places = [(title, name) for title, designs in tables().items() for name in designs]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rows = dict(zip(places, pool.map(measured, places), strict=True))
    short = {}
    for title, designs in tables().items():
        lines += [
            f"## {title}",
            "",
            "| design | coverage | below | above | width | none | expected |",
            "|---" * 7 + "|",
        ]
        for name in designs:
            row = rows[title, name]
            lines.append("| " + " | ".join([name, *row.cells()]) + " |")
            aim = 0.93 if np.isnan(row.expected) else row.expected - 0.03
            draws = DRAWS * max(1 - row.without, 0.1)
            error = 2.5 * np.sqrt(aim * (1 - aim) / draws)
            if row.coverage < aim - error:
                short[f"{title}: {name}"] = row
        lines.append("")
    text = "\n".join(lines)
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        PAGE.write_text(text, encoding="utf-8")
    assert not short
    assert PAGE.read_text(encoding="utf-8") == text
