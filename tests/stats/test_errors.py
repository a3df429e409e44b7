"""Standard errors and degrees of freedom against their definitions, written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphgauge.stats.dyads import Dyads
from graphgauge.stats.errors import (
    Clusters,
    auc_error,
    auc_placements,
    cosine_error,
    macro_spread,
    spread,
    standard_error,
    two_samples,
)


def _cr2(x, labels):
    """CR2 and its degrees of freedom by matrices, for errors that are equal within clusters."""
    weight = np.array([np.mean(labels == each) for each in np.unique(labels)])
    sums = np.array([(x - x.mean())[labels == each].sum() for each in np.unique(labels)]) / len(x)
    variance = (sums**2 / (1 - weight)).sum()
    # With effects u of the clusters, the estimate of the variance is the sum of (w_g (u_g − w·u))² / (1 − w_g).
    rows = np.diag(weight / np.sqrt(1 - weight)) @ (np.eye(len(weight)) - np.outer(np.ones(len(weight)), weight))
    form = rows @ rows.T
    return np.sqrt(variance), np.trace(form) ** 2 / (form**2).sum()


@pytest.mark.parametrize("sizes", [(3, 3, 3), (1, 2, 7), (50, 1, 1, 1), (5, 4, 3, 2, 1)])
def test_clusters_by_matrices(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    x = np.random.default_rng(sum(sizes)).normal(size=len(labels))
    error, df = standard_error(x - x.mean(), cluster=labels)
    wanted = _cr2(x, labels)
    assert error[0] == pytest.approx(wanted[0], rel=1e-12)
    assert df[0] == pytest.approx(wanted[1], rel=1e-9)


def test_independent_items_have_the_textbook_error():
    x = np.array([1.0, 2, 4, 8])
    error, df = standard_error(x - x.mean())
    assert error[0] == pytest.approx(x.std(ddof=1) / 2, rel=1e-14)
    assert df[0] == 3


def test_cells_with_counts_are_the_items_they_stand_for():
    x, count = np.array([0.1, 0.5, 0.9]), np.array([3, 1, 4])
    group, labels = np.array([0, 0, 1]), np.array([5, 7, 5])
    items, mean = np.repeat(x, count), np.array([0.2, 0.9])[group]
    whole = spread(
        items - np.repeat(mean, count), group=np.repeat(group, count), groups=2, cluster=np.repeat(labels, count)
    )
    cells = spread(x - mean, count, group=group, groups=2, cluster=labels)
    for one, other in zip(cells, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def test_clusters_may_be_numbered_once_and_have_any_labels():
    x = np.random.default_rng(0).normal(size=6)
    for labels in (np.array([1, 1, 2, 2, 3, 3]), np.array(list("aabbcc")), np.array([-(2**62), -(2**62), 0, 0, 9, 9])):
        once = standard_error(x - x.mean(), cluster=Clusters.from_labels(labels))
        np.testing.assert_array_equal(once[0], standard_error(x - x.mean(), cluster=np.repeat([0, 1, 2], 2))[0])


def test_one_unit_has_no_error():
    assert np.isnan(standard_error([0.0])[0][0])
    assert np.isnan(standard_error([0.3, -0.3], cluster=np.zeros(2, int))[0][0])


def test_the_macro_error_of_equal_groups_is_that_of_their_pooled_variance():
    x = np.array([1.0, 3, 2, 4])
    group, means = np.array([0, 0, 1, 1]), np.array([2.0, 3.0])
    whole = macro_spread(x - means[group], None, means, group=group, groups=2)
    assert whole.error[0] == pytest.approx(np.sqrt(1 + 1) / 2, rel=1e-12)
    assert whole.df[0] == pytest.approx(2, rel=1e-12)


def test_two_samples_by_welch():
    error, df = two_samples((1.0, 4.0), (2.0, 9.0))
    assert error[0] == pytest.approx(np.sqrt(5))
    assert df[0] == pytest.approx(25 / (1 / 4 + 16 / 9))


def test_placements_by_comparing_all_pairs():
    rng = np.random.default_rng(3)
    pos, neg = np.round(rng.normal(1, 1, 9), 1), np.round(rng.normal(0, 1, 21), 1)
    offsets = np.array([0, 1, 5, 5, 8, 9, 13, 17, 20, 21])
    wins = (pos[:, None] > neg) + (pos[:, None] == neg) / 2
    auc, placed_wins, losses = auc_placements(pos, neg, offsets)
    assert auc == pytest.approx(wins.mean(), rel=1e-14)
    np.testing.assert_allclose(placed_wins, wins.mean(axis=1))
    owner = np.repeat(np.arange(9), np.diff(offsets))
    above = np.bincount(owner, wins.mean(axis=0), 9)
    np.testing.assert_allclose(losses, above)


def test_the_independent_auc_error_is_delongs():
    rng = np.random.default_rng(4)
    pos, neg = rng.normal(1, 1, 12), rng.normal(0, 1, 30)
    wins = (pos[:, None] > neg).astype(float)
    variance = wins.mean(axis=1).var(ddof=1) / 12 + wins.mean(axis=0).var(ddof=1) / 30
    assert auc_error(pos, neg)[1] == pytest.approx(np.sqrt(variance), rel=1e-12)


def test_queries_with_one_negative_each_err_as_pairs():
    rng = np.random.default_rng(5)
    pos, neg = rng.normal(1, 1, 40), rng.normal(0, 1, 40)
    wins = (pos[:, None] > neg).astype(float)
    influence = wins.mean(axis=1) + wins.mean(axis=0) - 2 * wins.mean()
    auc, error, _ = auc_error(pos, neg, np.arange(41))
    assert (auc, error) == (wins.mean(), pytest.approx(influence.std(ddof=1) / np.sqrt(40), rel=1e-12))


def test_dyads_sum_the_products_of_pairs_that_share_a_node():
    ends = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [6, 7]])
    x = np.array([0.2, 0.9, 0.4, 0.1, 0.7])
    error, df = Dyads(ends).error(x)
    centred = (x - x.mean()) / 5
    shared = [[bool(set(a) & set(b)) for b in ends.tolist()] for a in ends.tolist()]
    variance = centred @ np.array(shared) @ centred
    # The same sum of the errors that effects of the nodes cause says by how much it is too small.
    incidence = np.array([[node in pair for node in range(8)] for pair in ends.tolist()], float)
    centre = np.eye(5) - 0.2
    form = incidence.T @ centre @ (np.array(shared) / 25) @ centre @ incidence
    true = (incidence.sum(axis=0) ** 2).sum() / 25
    assert error == pytest.approx(np.sqrt(variance * true / np.trace(form)), rel=1e-9)
    assert df == pytest.approx(min(np.trace(form) ** 2 / (form @ form).trace(), 4), rel=1e-9)


def test_cosines_as_defined():
    rng = np.random.default_rng(6)
    for memory, steps in itertools.product((0.0, 0.6), (30, 100)):
        noise = rng.normal(size=steps)
        x = np.array([sum(memory**k * noise[t - k] for k in range(t + 1)) for t in range(steps)])
        centred = x - x.mean()
        raw = (centred[1:] @ centred[:-1]) / (centred @ centred)
        rho = min(raw + (1 + 3 * raw) / steps, 0.98)
        rho = min(rho + 1.5 * np.sqrt((1 - rho**2) / steps), 0.98) if rho * np.sqrt(steps) >= 1 else 0.0
        most = {30: 4, 100: 8}[steps]
        seen = [(1 - rho) ** 2 / (1 + rho**2 - 2 * rho * np.cos(np.pi * k / steps)) for k in range(1, most + 1)]
        count = max(4, max([k for k in range(1, most + 1) if np.mean(seen[:k]) >= 0.9], default=0))
        times = (np.arange(steps) + 0.5) / steps
        waves = [centred @ np.cos(np.pi * k * times) for k in range(1, count + 1)]
        variance = 2 * np.mean(np.square(waves)) / np.mean(seen[:count])
        error, df = cosine_error(centred / steps)
        assert (error, df) == (pytest.approx(np.sqrt(variance) / steps, rel=1e-10), count)


def test_steps_that_a_column_lacks_are_left_out():
    x = np.random.default_rng(7).normal(size=(60, 2))
    cells = np.ones((60, 2))
    cells[:20, 1] = 0
    x[:20, 1] = 99
    error, df = cosine_error(x, cells)
    alone, alone_df = cosine_error(x[20:, 1])
    assert (error[1], df[1]) == (pytest.approx(alone, rel=1e-12), alone_df)
    cells[:31, 1] = 0
    assert np.isnan(cosine_error(x, cells)[0][1])


def _dyadic(ends, x):
    """The double sum over pairs that share a node, its correction and its degrees of freedom, by matrices."""
    n, nodes = len(ends), np.unique(ends)
    shared = (ends[:, None, :, None] == ends[None, :, None, :]).any(axis=(2, 3)).astype(float)
    incidence = (ends[:, 0, None] == nodes).astype(float) + (ends[:, 1, None] == nodes)
    centred, centre = (x - x.mean()) / n, np.eye(n) - 1 / n
    form = incidence.T @ centre @ (shared / n**2) @ centre @ incidence
    true = (incidence.sum(axis=0) ** 2).sum() / n**2
    variance = centred @ shared @ centred * true / np.trace(form)
    return np.sqrt(variance), min(np.trace(form) ** 2 / (form**2).sum(), n - 1)


def _graph(nodes, edges, seed):
    """Different pairs, each of two different nodes; a cycle makes every node occur."""
    random = np.random.default_rng(seed)
    drawn = np.sort(random.integers(0, nodes, (edges, 2)))
    every = np.vstack(
        [drawn[drawn[:, 0] < drawn[:, 1]], np.sort(np.c_[np.arange(nodes), np.roll(np.arange(nodes), 1)])]
    )
    return np.unique(every, axis=0)


@pytest.mark.parametrize(("nodes", "edges"), [(6, 8), (12, 20), (40, 60), (256, 100)])
def test_dyads_by_the_double_sum(nodes, edges):
    ends = _graph(nodes, edges, nodes)
    x = np.random.default_rng(1).normal(size=nodes)[ends].sum(axis=1)
    error, df = Dyads(1000 - 7 * ends).error(x)
    assert (error, df) == pytest.approx(_dyadic(ends, x), rel=1e-9)


@pytest.mark.parametrize(("nodes", "edges"), [(257, 100), (300, 2000)])
def test_dyads_of_many_nodes_are_close_to_the_double_sum(nodes, edges):
    ends = _graph(nodes, edges, 3)
    x = np.random.default_rng(2).normal(size=nodes)[ends].sum(axis=1)
    error, df = Dyads(ends).error(x)
    wanted = _dyadic(ends, x)
    assert error == pytest.approx(wanted[0], rel=0.01)
    assert df == pytest.approx(wanted[1], rel=0.03)


def test_dyads_that_share_no_node_and_those_that_share_one():
    x = np.random.default_rng(0).normal(size=9)
    alone, df = Dyads(np.arange(18).reshape(9, 2)).error(x)
    assert (alone, df) == (pytest.approx(x.std(ddof=1) / 3, rel=1e-12), pytest.approx(8))
    error, df = Dyads(np.array([[0, node] for node in range(1, 10)])).error(x)
    assert (np.isnan(error), df) == (True, 0)
    assert Dyads(np.array([[0, 1]])).df == 0
    # Four pairs around a cycle whose neighbours err against each other: the double sum is 0, and the plain error left.
    cycle, against = Dyads(np.array([[0, 1], [1, 2], [2, 3], [0, 3], [4, 5], [5, 6]])), np.array([1, -1, 1, -1, 0.0, 0])
    assert cycle.error(against)[0] == pytest.approx(against.std(ddof=1) / np.sqrt(6), rel=1e-12)


def test_groups_with_sparse_labels_are_as_if_alone():
    random = np.random.default_rng(8)
    group, x = random.integers(0, 3, 60), random.normal(size=60)
    for scale in (1, 10**5, 2**31):
        labels = random.integers(0, 7, 60) * scale
        mean = np.bincount(group, x) / np.bincount(group)
        error, df = standard_error(x - mean[group], group=group, groups=3, cluster=labels)
        for each in range(3):
            assert (error[each], df[each]) == pytest.approx(_cr2(x[group == each], labels[group == each]), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_spread_by_its_definition(seed):
    random = np.random.default_rng(seed)
    labels, x = np.repeat(np.arange(6), random.integers(1, 5, 6)), random.random(30)
    x = x[: len(labels)] - x[: len(labels)].mean()
    found = spread(x, cluster=labels)
    shares = np.bincount(labels) / len(x)
    units = 1 / (shares**2).sum()
    items = min(max((x**2).mean() / found.error[0] ** 2, units), len(x))
    assert (found.units[0], found.items[0]) == (pytest.approx(units), pytest.approx(items))
    assert (found.lowest[0], found.highest[0]) == (x.min(), x.max())
    alone = spread(x, most=7)
    assert (alone.units[0], alone.items[0], alone.df[0]) == (len(x), len(x), len(x) - 1)


def test_the_macro_error_borrows_from_the_pooled_variance():
    """Each variance is averaged with the pooled one, which counts four degrees of freedom; df are Satterthwaite's."""
    sizes = np.array([2, 5, 9, 1])
    group, free = np.repeat(np.arange(4), sizes), np.maximum(sizes - 1, 0)
    x = np.random.default_rng(9).normal(size=sizes.sum())
    means = np.bincount(group, x) / sizes

    def variance(squares):
        pooled = free @ squares / free.sum()
        return ((free * squares + 4 * pooled) / (free + 4) / sizes).sum() / 16

    squares = np.bincount(group, (x - means[group]) ** 2) / np.maximum(free, 1)
    found = macro_spread(x - means[group], None, means, group=group, groups=4)
    assert found.error[0] == pytest.approx(np.sqrt(variance(squares)), rel=1e-12)
    parts = np.array([variance(np.eye(4)[each]) for each in range(3)])
    assert found.df[0] == pytest.approx(parts.sum() ** 2 / (parts**2 / free[:3]).sum(), rel=1e-12)
    assert found.units[0] == pytest.approx(16 / (1 / sizes).sum())
    single = macro_spread(np.zeros(4), None, means, group=np.arange(4), groups=4)
    assert (single.error[0], single.df[0]) == (pytest.approx(means.std(ddof=1) / 2), 3)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_auc_of_queries_errs_by_query_or_cluster(clustered):
    random = np.random.default_rng(10)
    sizes = random.integers(1, 6, 24)
    pos, neg = random.normal(0.7, 1, 24), random.normal(0, 1, sizes.sum())
    wins, owner = (pos[:, None] > neg).astype(float), np.repeat(np.arange(24), sizes)
    auc = wins.mean()
    labels = np.arange(24) // 3 if clustered else np.arange(24)
    influence = np.zeros(labels.max() + 1)
    np.add.at(influence, labels, wins.mean(axis=1) - auc)
    np.add.at(influence, labels[owner], (wins.mean(axis=0) - auc) * 24 / len(neg))
    n, influence = len(influence), influence * len(influence) / 24
    kurtosis = n * (influence**4).sum() / (influence**2).sum() ** 2
    df = min(n - 1, 2 * n / (kurtosis - (n - 3) / (n - 1)))
    found = auc_error(pos, neg, np.r_[0, np.cumsum(sizes)], cluster=labels if clustered else None)
    assert found == pytest.approx((auc, np.sqrt((influence**2).sum() / n / (n - 1)), df), rel=1e-12)


@pytest.mark.parametrize(("pos", "neg", "offsets"), [([1.0], [0.0, 2.0], None), ([1.0], [0.0, 2.0], [0, 2])])
def test_an_auc_of_one_unit_has_no_error(pos, neg, offsets):
    auc, error, df = auc_error(np.array(pos), np.array(neg), None if offsets is None else np.array(offsets))
    assert (auc, np.isnan(error), df) == (0.5, True, 0.0)
    assert np.isnan(auc_error(np.array([]), np.array(neg))[:2]).all()
    assert auc_error(np.array([1.0, 1.0]), np.array([0.0, 0.0]), np.array([0, 1, 2])) == (1.0, 0.0, 1.0)
