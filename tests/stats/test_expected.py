"""What intervals are expected to cover: tails that a sample does not show, and when nothing needs to be simulated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats
from tests.ranking.designs import Row, independent, simulate, spiked, steep, two_humps

from graphgauge import ranking
from graphgauge.stats import expected as module
from graphgauge.stats.expected import Reach, expected_score_coverage, expected_wilson_coverage
from graphgauge.stats.intervals import macro_spread, wilson_interval


@pytest.mark.parametrize(
    "design",
    [
        independent("two humps", two_humps(1000, 0.95), "mean_rank", 20),
        independent("two humps", two_humps(1000, 0.98), "mean_rank", 40),
        independent("heavy tail", steep(100_000, 0.6), "mean_rank", 20),
        independent("heavy tail", steep(100_000, 0.6), "mean_rank", 400),
        independent("few first places", spiked(1000, 0.02), "mrr", 60),
        independent("MRR .97", steep(200, 0.97), "mrr", 30),
    ],
    ids=lambda design: f"{design.metric} of {design.name}",
)
def test_a_tail_that_samples_do_not_show_is_expected(design) -> None:
    found = simulate(design, 1000, 20, seed=12)
    assert isinstance(found, Row)
    assert found.coverage > 0.915 or found.expected <= found.coverage + 0.03


@pytest.mark.parametrize("negatives", [100, 1000, 100_000])
def test_a_mean_of_few_ranks_has_no_interval_whatever_they_are(negatives: int) -> None:
    for ranks in (np.arange(1, 10), np.linspace(1, negatives, 9).astype(int)):
        state = ranking.RankingState().update_counts(ranks - 1, np.zeros(9, int), np.full(9, negatives + 1))
        for key in ("mean_rank", "amri"):
            result = state.evaluate(metrics=[key])[key]
            assert result.interval is None
            assert "an interval needs 10" in result.no_interval
        assert state.evaluate(metrics=["mrr"])["mrr"].interval is not None
    groups = {"side": np.r_[np.zeros(30, int), np.ones(9, int)]}
    ranks = np.arange(39) + 1
    state = ranking.RankingState().update_counts(ranks, np.zeros(39, int), np.full(39, negatives + 1), groups=groups)
    table = state.evaluate(metrics=["mean_rank"])["mean_rank"].by("side")
    assert np.isnan(table["low"]).tolist() == [False, True]


def test_values_of_another_scale_and_direction_share_one_simulation(monkeypatch) -> None:
    rng = np.random.default_rng(1)
    values = rng.pareto(1.2, 40)
    influence, count = values - values.mean(), np.ones(40, np.int64)
    reach = Reach(-values.mean(), 200.0)
    module._known.clear()
    once = expected_score_coverage(influence, count, None, reach, 0.95)
    assert once is not None
    monkeypatch.setattr(module, "reported", None)  # a second simulation would fail
    mirrored = Reach(-3 * reach.up, -3 * reach.down)
    assert expected_score_coverage(-3 * influence, count, None, mirrored, 0.95) == once


@pytest.mark.parametrize("shape", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("clusters", [False, True])
def test_what_is_not_simulated_would_not_be_short(monkeypatch, shape: float, clusters: bool) -> None:
    """Skewed values: where the shortcut applies, the whole simulation finds nothing either."""
    rng = np.random.default_rng(2)
    for n in (100, 400, 1600):
        values = rng.beta(shape, 3 * shape, n)
        label = np.arange(n) // 2 if clusters else None
        influence, count, reach = values - values.mean(), np.ones(n, np.int64), Reach(-values.mean(), 1 - values.mean())
        if module._is_plain(influence, count.astype(float), label, reach):
            module._known.clear()
            with monkeypatch.context() as patch:
                patch.setattr(module, "_is_plain", lambda *_: False)
                assert expected_score_coverage(influence, count, label, reach, 0.95) is None


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (1, 10), (8, 10), (3, 40), (200, 400)])
def test_coverage_of_a_share_is_exact(successes: int, n: int) -> None:
    """By brute force over all numbers of successes, at quantiles of the same populations."""
    k = np.arange(n + 1)
    low, high = wilson_interval(k, np.full(n + 1, n), 0.95)
    shares = scipy_stats.beta.ppf((np.arange(200) + 0.5) / 200, successes + 1 / 3, n - successes + 1 / 3)
    held = np.array([scipy_stats.binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() for p in shares])
    by_hand = round(held.mean() - held.std(), 2)
    found = expected_wilson_coverage(successes, n, 0.95)
    assert found is None if by_hand >= 0.93 else found == pytest.approx(by_hand, abs=0.011)


def test_samples_at_once_are_samples_one_by_one() -> None:
    rng = np.random.default_rng(3)
    sizes, samples = np.array([1, 2, 5, 9]), 6
    group = np.repeat(np.arange(4), sizes)
    n = len(group)
    for cluster in (None, np.arange(n) % 7):
        values = rng.random((samples, n))
        own = np.array([np.bincount(group, row) / sizes for row in values])
        influence = values - own[:, group]
        key = (np.arange(samples)[:, None] * 4 + group).ravel()
        labels = None if cluster is None else np.tile(cluster, samples)
        together = macro_spread(
            influence.ravel(), np.ones(n * samples), own, group=key, groups=4, cluster=labels, samples=samples
        )
        for number in range(samples):
            alone = macro_spread(influence[number], np.ones(n), own[number], group=group, groups=4, cluster=cluster)
            np.testing.assert_allclose([part[number] for part in together], np.ravel(alone), rtol=1e-12)


def test_every_kind_of_interval_says_what_it_covers_or_nothing() -> None:
    """Small or skewed samples of each kind: an expectation is a share below the level."""
    rng = np.random.default_rng(4)
    pos, neg = rng.normal(2.5, 1, 20), rng.normal(size=(20, 30))
    ranks = np.r_[np.zeros(18, int), 300, 700]
    state = ranking.RankingState().update_counts(
        ranks, np.zeros(20, int), np.full(20, 1001), weights=np.exp(rng.normal(size=20))
    )
    pairs = ranking.RankingState().update_counts(
        ranks, np.zeros(20, int), np.full(20, 1001), cluster=np.arange(20) // 2, groups={"side": np.arange(20) % 2}
    )
    found = [
        ranking.evaluate(pos, neg, metrics=["roc_auc", "pooled_hits@3"]),
        ranking.evaluate(pos, neg.ravel(), metrics=["roc_auc", "mrr"]),
        state.evaluate(metrics=["mean_rank", "median_rank"]),
        pairs.evaluate(metrics=["mean_rank", "median_rank"]),
    ]
    said = [
        result.interval.expected_coverage for evaluation in found for result in evaluation.values() if result.interval
    ]
    assert all(share is None or 0 <= share < 0.93 for share in said)
    assert found[3]["mean_rank"].interval.expected_coverage < 0.9
    assert found[3]["mean_rank_macro_side"].interval.expected_coverage < 0.9
