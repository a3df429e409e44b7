"""What the intervals of births cover, over births and nodes: simulated.

Nodes are points drawn from a plane normal distribution, so that the share of random pairs that are farther apart than d
is exp(−d²/4): the areas are exact, and only births and nodes vary. Every draw has other nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import pytest

from graphgauge.old.core.metric import NoInterval, find
from graphgauge.old.evolution.areas import Area
from graphgauge.old.evolution.samples import LabelPairs

# Draws per row, and for designs in which the rule gives no interval.
DRAWS, FEW_DRAWS = 600, 20
NODES = 300


class Drawn(NamedTuple):
    """One draw: the value, and the interval, if there is one."""

    value: float
    bounds: tuple[float, float] | None


class Row(NamedTuple):
    """Coverage, relative width, and the share of draws without an interval."""

    coverage: float
    width: float
    without: float


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
    estimate = metric(sample, **params)
    rule = metric.interval(sample, estimate)
    if isinstance(rule, NoInterval):
        return Drawn(float(estimate.value[0]), None)
    low, high = (float(np.ravel(end)[0]) for end in rule.function(sample, estimate, 0.95))
    return Drawn(float(estimate.value[0]), None if np.isnan(low) else (low, high))


def row_of(draw: Callable[[np.random.Generator], Drawn], draws: int, seed: int = 0) -> Row:
    found = [draw(np.random.default_rng((seed, number))) for number in range(draws)]
    values = np.array([one.value for one in found])
    truth, spread = values.mean(), values.std(ddof=1)
    bounds = np.array([one.bounds for one in found if one.bounds is not None])
    without = 1 - len(bounds) / draws
    if len(bounds) < draws / 10:
        return Row(np.nan, np.nan, without)
    width = float(np.median(bounds[:, 1] - bounds[:, 0]) / (2 * 1.959964 * spread))
    return Row(float(np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))), width, without)


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
    return {"Areas over births": births, "Homophily over births": labels}


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
def test_intervals_cover_in_every_design():
    places = [(title, name) for title, designs in tables().items() for name in designs]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        rows = dict(zip(places, pool.map(measured, places), strict=True))
    aim = 0.93
    errors = {
        place: 2.5 * np.sqrt(aim * (1 - aim) / (DRAWS * max(1 - row.without, 0.1))) for place, row in rows.items()
    }
    assert not {place: row for place, row in rows.items() if row.coverage < aim - errors[place]}
