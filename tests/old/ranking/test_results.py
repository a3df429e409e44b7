"""What an evaluation says beside the numbers: conventions, warnings, findings, chance, groups."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from graphgauge import ranking
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.ranking.evaluate import POSITIVES_AND_QUERIES

RANDOM = np.random.default_rng(0)
POS, NEG = RANDOM.normal(0.7, 1, 40), RANDOM.normal(0, 1, (40, 9))


def constant(queries: int = 5, negatives: int = 9) -> dict[str, np.ndarray]:
    return {"pos_scores": np.full(queries, 0.5), "neg_scores": np.full((queries, negatives), 0.5)}


# ------------------------------------------------------------------ constant scorer


def test_constant_scorer_as_printed_in_the_definitions() -> None:
    assert ranking.mrr(**constant(), ties="expected") == pytest.approx(0.29290, abs=5e-6)
    assert ranking.mrr(**constant(), ties="realistic") == pytest.approx(0.18182, abs=5e-6)
    assert ranking.mrr(**constant(), ties="optimistic") == 1.0
    assert ranking.mrr(**constant(), ties="pessimistic") == 0.1


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic", "expected"])
def test_adjusted_metrics_give_a_constant_scorer_nothing(ties: str) -> None:
    lengths = np.array([1, 4, 9, 30, 2, 0])
    evaluation = ranking.evaluate(
        np.zeros(6), np.zeros(lengths.sum()), offsets=np.r_[0, np.cumsum(lengths)], ties=ties, k=(1, 3)
    )
    for key in ("amri", "adjusted_mrr", "adjusted_hits@1", "adjusted_hits@3"):
        assert evaluation[key].value == pytest.approx(0, abs=1e-14)


def test_adjusted_metrics_without_room_to_adjust() -> None:
    evaluation = ranking.evaluate(np.ones(3), np.zeros((3, 2)), k=3, metrics=["adjusted_hits", "adjusted_mrr"])
    assert math.isnan(evaluation["adjusted_hits@3"].value)
    assert evaluation["adjusted_hits@3"].n == 0
    assert evaluation["adjusted_hits@3"].reason == "every query has at most k = 3 candidates"
    assert evaluation["adjusted_mrr"].value == 1
    alone = ranking.evaluate(np.ones(3), np.zeros((3, 0)))
    assert alone["amri"].reason == alone["adjusted_mrr"].reason == "no query has a negative"


def test_chance_is_the_constant_and_the_random_scorer() -> None:
    chance = {item.name: item.value for item in ranking.evaluate(POS, NEG)["mrr"].chance}
    assert chance["constant scorer"] == pytest.approx(1 / 5.5)
    assert chance["random scorer"] == pytest.approx(float(sum(Fraction(1, rank) for rank in range(1, 11)) / 10))
    hits = {item.name: item.value for item in ranking.evaluate(POS, NEG, ties="optimistic")["hits@3"].chance}
    assert hits == {"constant scorer": 1.0, "random scorer": pytest.approx(0.3)}
    pooled = ranking.evaluate(POS, NEG, metrics=["roc_auc", "average_precision", "pooled_hits@9"])
    assert [item.value for item in pooled["roc_auc"].chance] == [0.5]
    assert [item.value for item in pooled["average_precision"].chance] == [0.1]
    assert [item.value for item in pooled["pooled_hits@9"].chance] == [9 / 361]


def test_random_threshold_is_what_random_scores_give() -> None:
    rng = np.random.default_rng(1)
    shares = [ranking.evaluate(rng.random(50), rng.random((50, 4)), metrics=["pooled_hits@20"]) for _ in range(400)]
    mean = np.mean([share["pooled_hits@20"].value for share in shares])
    assert mean == pytest.approx(20 / 201, abs=0.008)


# --------------------------------------------------------- conventions and warnings


def test_a_result_says_which_tie_rule_it_used() -> None:
    evaluation = ranking.evaluate(POS, NEG, ties="pessimistic", metrics=["mrr", "amri", "roc_auc"])
    assert evaluation.conventions == {"ties": "pessimistic", "nan": "raise"}
    assert evaluation["mrr"].conventions["ties"] == "pessimistic"
    assert evaluation["amri"].conventions["ties"].startswith("expected")
    assert evaluation["roc_auc"].conventions["ties"] == "count half"
    lists = ranking.evaluate(scores=[2, 1, 1], labels=[0, 1, 0], queries=[0, 0, 0], metrics=["mrr", "ndcg@3"])
    assert lists["mrr"].conventions["ties"] == "realistic"
    assert lists["ndcg@3"].conventions["ties"] == "expected"


def test_cut_offs_at_or_above_the_candidates_warn() -> None:
    evaluation = ranking.evaluate(POS, NEG, k=(9, 10, 11))
    assert not evaluation["hits@9"].warnings
    for k in (10, 11):
        assert evaluation[f"hits@{k}"].value == 1
        assert evaluation[f"hits@{k}"].warnings == (
            f"k = {k} is at least the number of candidates in 40 queries, which score 1 with any model",
        )


def test_optimistic_ties_warn_where_they_flatter() -> None:
    tied = ranking.evaluate(**constant(), ties="optimistic")
    assert "optimistic" in tied["mrr"].warnings[0]
    assert not tied["amri"].warnings  # expected, whatever is chosen
    assert not ranking.evaluate(POS, NEG, ties="optimistic")["mrr"].warnings
    lists = {"labels": [1, 0], "queries": [0, 0], "ties": "optimistic", "metrics": ["recall@1"]}
    assert "optimistic" in ranking.evaluate(scores=[1, 1], **lists)["recall@1"].warnings[0]
    assert not ranking.evaluate(scores=[2, 1], **lists)["recall@1"].warnings
    several = {"labels": [1, 1], "queries": [0, 0], "ties": "optimistic", "metrics": ["recall@1"]}
    assert not ranking.evaluate(scores=[1, 1], **several)["recall@1"].warnings  # tied with itself: nothing to win


def test_pooled_hits_with_fewer_negatives_than_k() -> None:
    result = ranking.evaluate([0.0, 0.1], [[1.0], [1.0]], metrics=["pooled_hits@3"])["pooled_hits@3"]
    assert result.value == 1
    assert result.warnings == ("only 2 negatives: every positive is a hit at k = 3",)


def test_tied_scores_are_a_finding() -> None:
    finding, cutoff = ranking.evaluate(**constant()).findings
    assert (finding.check, cutoff.check) == ("tied-scores", "cutoff-above-candidates")
    assert finding.severity == "warning"
    assert finding.evidence == {"share": 1.0, "optimistic": 1.0, "pessimistic": pytest.approx(0.1)}
    assert "MRR is 0.1000 or 1.0000" in finding.message
    assert finding.remedy
    assert ranking.evaluate(POS, NEG, k=1).findings == ()
    assert ranking.evaluate(np.empty(0), np.empty((0, 3))).findings == ()


# ---------------------------------------------------------------------- intervals


def reciprocal_ranks(pos: np.ndarray, neg: np.ndarray) -> np.ndarray:
    return np.array([1 / (1 + sum(n > p for n in row)) for p, row in zip(pos, neg, strict=True)])


def score_by_hand(
    values: np.ndarray, error: float, df: float, independent: float, confidence: float = 0.95
) -> tuple[float, float]:
    """All means between 0 and 1 that Student's t does not reject, if the variance is proportional to m (1 − m)."""
    mean = values.mean()
    # What was not seen: a third of a value four times as far out on either side, and a twentieth at each end.
    unseen = [max(0, mean - 4 * (mean - values.min())), min(1, mean + 4 * (values.max() - mean)), 0, 1]
    weights = np.array([1 / 3, 1 / 3, 1 / 20, 1 / 20])
    away = np.array(unseen) - mean
    variance = error**2 + weights @ away**2 / independent**2
    middle = mean + weights @ away / independent
    t = stats.t.ppf((1 + confidence) / 2, df)

    def beyond(m: float) -> float:
        return (m - mean) ** 2 - t**2 * variance * m * (1 - m) / (middle * (1 - middle))

    return optimize.brentq(beyond, 0, mean, xtol=1e-15), optimize.brentq(beyond, mean, 1, xtol=1e-15)


def test_interval_of_a_mean_inverts_a_score_test() -> None:
    interval = ranking.evaluate(POS, NEG, confidence=0.9)["mrr"].interval
    values = reciprocal_ranks(POS, NEG)
    n, error = len(values), values.std(ddof=1) / math.sqrt(len(values))
    assert tuple(interval) == pytest.approx(score_by_hand(values, error, n - 1, n, 0.9), rel=1e-9)
    assert (interval.method, interval.over, interval.level) == ("score-t", "queries", 0.9)


def test_interval_over_clusters_is_that_of_equal_cluster_means() -> None:
    """With clusters of one size the sandwich variance is that of the cluster means."""
    interval = ranking.evaluate(POS, NEG, cluster=np.arange(40) // 2)["mrr"].interval
    values = reciprocal_ranks(POS, NEG)
    error = values.reshape(20, 2).mean(axis=1).std(ddof=1) / math.sqrt(20)
    independent = np.clip(values.var() / error**2, 20, 40)
    assert tuple(interval) == pytest.approx(score_by_hand(values, error, 19, independent), rel=1e-9)
    assert (interval.method, interval.over) == ("cluster-score-t", "clusters")


def test_a_query_entered_twice_in_one_cluster_tells_nothing_new() -> None:
    twice = {"pos_scores": np.repeat(POS, 2), "neg_scores": np.repeat(NEG, 2, axis=0)}
    for metrics in (None, ["roc_auc", "average_precision"]):
        once = ranking.evaluate(POS, NEG, k=3, metrics=metrics)
        clustered = ranking.evaluate(**twice, k=3, metrics=metrics, cluster=np.repeat(np.arange(40), 2))
        ignored = ranking.evaluate(**twice, k=3, metrics=metrics)
        for key, result in once.items():
            assert clustered[key].value == pytest.approx(result.value), key
            low, high = ignored[key].interval
            narrower = high - low < result.interval.high - result.interval.low
            assert narrower or key == "median_rank", key  # its bounds are ranks, too coarse to show it
            if result.interval.method != "wilson":  # a share has another rule for clusters
                assert tuple(clustered[key].interval) == pytest.approx(tuple(result.interval)), key


def test_cluster_labels_are_only_names() -> None:
    labels = np.arange(40) // 2
    names = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, 20)[labels]
    group = {"side": np.arange(40) % 2}
    for metrics in (None, ["roc_auc", "average_precision"]):
        plain = ranking.evaluate(POS, NEG, k=3, cluster=labels, groups=group, metrics=metrics)
        hashed = ranking.evaluate(POS, NEG, k=3, cluster=names, groups=group, metrics=metrics)
        for key in plain:
            assert hashed[key].value == plain[key].value
            bounds = plain[key].interval and tuple(plain[key].interval)
            assert (hashed[key].interval and tuple(hashed[key].interval)) == (bounds and pytest.approx(bounds))


def test_hits_interval_is_wilsons() -> None:
    result = ranking.evaluate(POS, NEG)["hits@3"]
    p, n, z = result.value, 40, NormalDist().inv_cdf(0.975)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    margin = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert tuple(result.interval) == pytest.approx((centre - margin, centre + margin), rel=1e-12)
    assert result.interval.method == "wilson"
    tied = ranking.evaluate(np.round(POS), np.round(NEG), ties="expected")["hits@3"]
    assert tied.interval.method == "score-t"  # shares of ties are neither 0 nor 1
    assert ranking.evaluate(**constant(), ties="expected")["hits@3"].interval is None  # and here all the same


@pytest.mark.parametrize("greater", [0, 2, 9])
@pytest.mark.parametrize("queries", [2, 3, 7, 49])
@pytest.mark.parametrize("clustered", [False, True])
def test_agreement_is_not_certainty(greater: int, queries: int, clustered: bool) -> None:
    """Where all queries agree, rounding must not pass for a spread of 1e-17."""
    neg = np.r_[np.ones(greater), -np.ones(9 - greater)]
    cluster = np.repeat(np.arange(queries), 2) if clustered else None
    rows = queries * (1 + clustered)
    evaluation = ranking.evaluate(np.zeros(rows), np.tile(neg, (rows, 1)), cluster=cluster)
    spreadless = ["mean_rank", "median_rank", "geometric_mean_rank", "amri"]
    if greater == 0 and queries > 2:  # at the end of the scale: at most this share of the population can differ
        other = 1 - 0.025 ** (1 / queries)
        assert tuple(evaluation["mrr"].interval) == pytest.approx((1 - other, 1.0))
        blind = np.mean(1 / np.arange(1, 11))
        worst = 1 - (1 - 0.1) / (1 - blind)
        assert tuple(evaluation["adjusted_mrr"].interval) == pytest.approx((1 - other * (1 - worst), 1.0))
    else:
        spreadless += ["mrr"] if greater == 9 and queries > 2 else ["mrr", "adjusted_mrr"]
    for key in spreadless:
        assert evaluation[key].interval is None, key
        assert "differ" in evaluation[key].no_interval


@pytest.mark.parametrize("sizes", [[60, 3, 2, 2, 1, 1, 1], [30, 30, 1], [50, 50]])
def test_sizes_that_say_too_little_have_no_interval(sizes: list[int]) -> None:
    """The rule looks at the sizes, not at the values: nearly everything depends on one or two clusters."""
    rng = np.random.default_rng(8)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    for shift in (0.0, 1.0, 3.0):
        pos, neg = rng.normal(shift, 1, len(cluster)), rng.normal(size=(len(cluster), 9))
        found = ranking.evaluate(pos, neg, cluster=cluster, groups={"all": np.zeros(len(cluster), int)})["mrr"]
        assert found.interval is None
        assert np.isnan(found.by("all")["low"]).all()
        assert "degrees of freedom" in found.no_interval or "at least three clusters" in found.no_interval


def test_clusters_that_agree_are_not_certain_either() -> None:
    """Ranks 1 and 3 in every cluster: the clusters' sums cancel to rounding."""
    neg = np.tile([[-1.0, -1.0], [1.0, 1.0]], (10, 1))
    found = ranking.evaluate(np.zeros(20), neg, cluster=np.arange(20) // 2)["mrr"]
    assert found.interval is None
    assert "differ" in found.no_interval


def test_median_shared_by_most_queries_keeps_an_interval() -> None:
    """30 of 60 at rank 1, the rest at rank 2: the median may be either."""
    neg = np.where(np.arange(61)[:, None] < 29, -1.0, 1.0) * np.ones((61, 1))
    result = ranking.evaluate(np.zeros(61), neg)["median_rank"]
    assert result.value == 2
    assert tuple(result.interval) == (1, 2)


def test_one_query_has_no_interval() -> None:
    result = ranking.evaluate([1.0], [[0.0, 2.0]])["mrr"]
    assert result.interval is None
    assert result.no_interval == "needs at least three queries that differ"


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95])
def test_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(OptionError, match="confidence must be between 0 and 1"):
        ranking.evaluate(POS, NEG, confidence=confidence)


# ------------------------------------------------------------------------- groups


def test_groups_micro_macro_and_each() -> None:
    relation = np.repeat(["b", "a", "c"], [20, 12, 8])
    evaluation = ranking.evaluate(POS, NEG, groups={"relation": relation, "side": np.arange(40) % 2})
    values = reciprocal_ranks(POS, NEG)
    table = evaluation["mrr"].by("relation")
    assert table["relation"].tolist() == ["a", "b", "c"]
    assert table["n"].tolist() == [12, 20, 8]
    means = [values[relation == name].mean() for name in "abc"]
    assert table["value"].tolist() == pytest.approx(means)
    for row, name in enumerate("abc"):
        own = values[relation == name]
        error = own.std(ddof=1) / math.sqrt(len(own))
        expected = score_by_hand(own, error, len(own) - 1, len(own))
        assert (table["low"][row], table["high"][row]) == pytest.approx(expected)
    assert evaluation["mrr"].value == pytest.approx(values.mean())
    macro = evaluation["mrr_macro_relation"]
    assert macro.value == pytest.approx(np.mean(means))
    assert (macro.n, macro.unit, macro.params) == (3, "relation", {"macro": "relation"})
    # Each variance is averaged with the pooled one, which counts like four degrees of freedom.
    sizes = np.array([12, 20, 8])
    squares = np.array(
        [((values[relation == name] - mean) ** 2).sum() for name, mean in zip("abc", means, strict=True)]
    )
    pooled = squares.sum() / 37
    error = math.sqrt(((squares + 4 * pooled) / (sizes + 3) / sizes).sum()) / 3
    multiples = 1 / (sizes * (sizes + 3)) + (4 / sizes / (sizes + 3)).sum() / 37
    df = (multiples @ (sizes - 1)) ** 2 / (multiples**2 @ (sizes - 1))
    around = macro.value + np.concatenate(
        [values[relation == name] - mean for name, mean in zip("abc", means, strict=True)]
    )
    centred = around - (around.mean() - macro.value)
    expected = score_by_hand(centred, error, df, np.clip(centred.var() / error**2, 9 / (1 / sizes).sum(), 40))
    assert tuple(macro.interval) == pytest.approx(expected, rel=1e-6)
    assert (macro.interval.method, macro.interval.over) == ("macro-score-t", "queries by relation")
    assert set(evaluation.breakdowns) == {"relation", "side"}
    assert evaluation["mrr_macro_side"].value == pytest.approx((values[::2].mean() + values[1::2].mean()) / 2)
    assert list(evaluation)[-1].endswith("_macro_side")


def test_macro_over_clusters_that_span_groups() -> None:
    """Head and tail of one triple: with as many of each, macro and micro are one number with one interval."""
    rng = np.random.default_rng(3)
    level = np.repeat(rng.normal(size=50), 2)
    pos, neg = rng.normal(size=100) + 2 * level, rng.normal(size=(100, 9))
    evaluation = ranking.evaluate(pos, neg, groups={"side": np.arange(100) % 2}, cluster=np.arange(100) // 2)
    assert evaluation["mrr_macro_side"].value == pytest.approx(evaluation["mrr"].value)
    # What was not seen is measured from a group's own mean, so that the last digits differ.
    assert tuple(evaluation["mrr_macro_side"].interval) == pytest.approx(tuple(evaluation["mrr"].interval), rel=1e-5)


def test_groups_in_flat_form_and_left_out_queries() -> None:
    evaluation = ranking.evaluate(
        scores=[1, 0, 1, 0, 5],
        labels=[1, 0, 0, 1, 0],
        queries=[7, 7, 8, 8, 9],
        groups={"kind": ["x", "x", "y", "y", "x"]},
    )
    assert evaluation.by("kind")["mrr"].tolist() == [1.0, 0.5]
    assert evaluation.by("kind")["recall@1"].tolist() == [1.0, 0.0]
    assert evaluation.notes == (POSITIVES_AND_QUERIES, "1 queries left out: they have no positive")
    with pytest.raises(InputError, match=r"groups\['kind'\] differs within a query"):
        ranking.evaluate(scores=[1, 0], labels=[1, 0], queries=[0, 0], groups={"kind": [0, 1]})


def test_pooled_metrics_have_no_breakdown() -> None:
    evaluation = ranking.evaluate(POS, NEG, groups={"side": np.arange(40) % 2}, metrics=["mrr", "roc_auc"])
    assert list(evaluation) == ["mrr", "roc_auc", "mrr_macro_side"]


@pytest.mark.parametrize("labels", [np.zeros(39, int), np.zeros((40, 1), int), np.zeros(40), [None] * 40])
def test_group_labels_are_checked(labels: object) -> None:
    with pytest.raises(InputError) as caught:
        ranking.evaluate(POS, NEG, groups={"relation": labels})
    assert "relation" in str(caught.value)


def test_a_group_named_like_its_count_is_refused() -> None:
    with pytest.raises(OptionError, match="cannot be named 'n'"):
        ranking.evaluate(POS, NEG, groups={"n": np.arange(40)})


# ------------------------------------------------------------------------ options


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "10", (1, 0), None])
def test_cut_offs_are_whole_numbers_of_at_least_one(k: object) -> None:
    with pytest.raises(OptionError, match="k must be a whole number of at least 1"):
        ranking.evaluate(POS, NEG, k=k)


@pytest.mark.parametrize("key", ["hits@0", "hits@-3", "hits@x", "hits@1.5", "hits@"])
def test_cut_offs_in_keys_are_checked_too(key: str) -> None:
    with pytest.raises(OptionError):
        ranking.evaluate(POS, NEG, metrics=[key])


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="'realistic'"):
        ranking.evaluate(POS, NEG, ties="realstic")
    with pytest.raises(UnknownNameError, match="Did you mean 'omit'"):
        ranking.evaluate(POS, NEG, nan="omitt")
    with pytest.raises(UnknownNameError, match="Did you mean 'mrr'"):
        ranking.evaluate(POS, NEG, metrics=["mmr"])
    with pytest.raises(UnknownNameError, match="items"):
        ranking.evaluate(POS, NEG, keep="item")
    for function in (ranking.mrr, ranking.hits_at_k, ranking.ranks):
        with pytest.raises(UnknownNameError, match="tie rule"):
            function(POS, NEG, ties="x")


def test_metrics_by_name_key_or_pattern() -> None:
    assert list(ranking.evaluate(POS, NEG, metrics="mrr")) == ["mrr"]
    assert list(ranking.evaluate(POS, NEG, k=(2, 5), metrics=["hits", "mrr"])) == ["hits@2", "hits@5", "mrr"]
    assert list(ranking.evaluate(POS, NEG, k=(2, 5), metrics=["hits@7", "ndcg@{k}"])) == ["hits@7", "ndcg@2", "ndcg@5"]
    with pytest.raises(OptionError, match=r"recall@\{k\} needs lists"):
        ranking.evaluate(POS, NEG, metrics=["recall@3"])


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic", "expected"])
@pytest.mark.parametrize("clustered", [False, True])
def test_a_group_has_the_interval_that_it_has_alone(ties: str, clustered: bool) -> None:
    """Small groups whose ranks lie far apart: no bound may come from the neighbour."""
    group = np.repeat([0, 1, 2], [4, 5, 4])
    greater = np.r_[[99, 199, 299, 399], [0, 1, 2, 3, 3], [900, 900, 940, 980]]
    counts = greater, np.ones(13, np.int64), np.full(13, 1000)
    cluster = np.r_[0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9] if clustered else None
    options = {"ties": ties, "k": 500}
    whole = ranking.RankingState().update_counts(*counts, groups={"g": group}, cluster=cluster).evaluate(**options)
    for row in range(3):
        own = group == row
        part = ranking.RankingState().update_counts(
            *(column[own] for column in counts), cluster=None if cluster is None else cluster[own]
        )
        for key, alone in part.evaluate(**options).items():
            table = whole[key].by("g")
            low, high = alone.interval or (np.nan, np.nan)
            found = table["value"][row], table["low"][row], table["high"][row]
            assert found == pytest.approx((alone.value, low, high), nan_ok=True), key


def test_median_of_a_small_group_behind_many_queries() -> None:
    """Two ranks, halfway between them the median, however many queries stand in the groups before."""
    counts = np.r_[10**9, 1, 1]
    sample = ranking.RankingState().update_counts([0, 4, 8], [0, 0, 0], [9, 9, 9], groups={"g": [0, 1, 1]})
    ranks = sample.ranks("realistic", "g")
    assert replace(ranks, count=counts).quantile(np.array([0.5, 0.5])).tolist() == [1.0, 7.0]


def test_a_group_is_not_named_after_a_column() -> None:
    for name in ("n", "mrr", "hits@3"):
        with pytest.raises(OptionError, match=f"a group cannot be named '{name}'"):
            ranking.evaluate(POS, NEG, groups={name: np.arange(40) % 2})


def test_a_state_says_that_it_dropped_queries() -> None:
    state = ranking.RankingState().update(np.r_[np.nan, POS[1:]], NEG, nan="omit")
    assert state.evaluate().conventions["nan"] == "omit"
    assert ranking.RankingState().update(POS, NEG).evaluate().conventions["nan"] == "raise"
    with pytest.raises(UnknownNameError, match="unknown nan 'drop'"):
        ranking.RankingState().update(POS, NEG).evaluate(nan="drop")


@pytest.mark.parametrize("k", ["10", 2.0, None, True, 0, [0], [[1]], np.array(5), ["3"]])
def test_cut_offs_are_whole_numbers(k: object) -> None:
    with pytest.raises(OptionError, match="k must be a whole number of at least 1, not"):
        ranking.evaluate(POS, NEG, k=k)
    assert "hits@5" in ranking.evaluate(POS, NEG, k=np.array([5]))
    for several in ([1, 3], []):
        with pytest.raises(OptionError, match="k must be a whole number"):
            ranking.hits_at_k(POS, NEG, k=several)


@pytest.mark.parametrize(("queries", "confidence", "bounded"), [(5, 0.95, False), (6, 0.95, True), (5, 0.9, True)])
def test_few_queries_do_not_bound_a_median(queries: int, confidence: float, bounded: bool) -> None:
    """The smallest and the largest of n ranks hold the median with probability 1 − 2^(1−n): .9375 of five."""
    pos, neg = np.arange(queries, 0, -1.0), np.tile(np.arange(12.0) + 0.5, (queries, 1))
    group = {"part": np.zeros(queries, int)}
    found = ranking.evaluate(pos, neg, groups=group, metrics=["median_rank"], confidence=confidence)["median_rank"]
    assert (found.interval is not None) == bounded
    assert np.isfinite(found.by("part")["low"]).tolist() == [bounded]
    if not bounded:
        assert found.no_interval == "needs at least six (at 95 %) queries that differ"


# ------------------------------------------------------ intervals that promise too much


def near_chance(queries: int, negatives: int) -> Any:
    rng = np.random.default_rng(3)
    return ranking.evaluate(rng.normal(size=queries), rng.normal(size=(queries, negatives)))


@pytest.mark.parametrize(("queries", "negatives", "width"), [(20, 1000, 2.6), (100, 1000, 1.5), (500, 1000, 1.5)])
def test_near_chance_intervals_cover(queries: int, negatives: int, width: float) -> None:
    """Most samples contain none of the few first places that the mean depends on."""
    rng = np.random.default_rng(3)
    ranks = 1 + rng.integers(0, negatives + 1, (400, queries))
    values = 1 / np.arange(1, negatives + 2)
    truth, oracle = values.mean(), 2 * 1.96 * values.std() / math.sqrt(queries)
    held, widths, students = [], [], []
    for own in ranks:
        state = ranking.RankingState().update_counts(own - 1, np.zeros_like(own), np.full_like(own, negatives + 1))
        interval = state.evaluate(metrics=["mrr"])["mrr"].interval
        held.append(truth in interval)
        widths.append(interval.high - interval.low)
        low, high = stats.ttest_1samp(1 / own, 0).confidence_interval(0.95)
        students.append(low <= truth <= high)
    assert np.mean(held) > 0.93 - 2 * math.sqrt(0.95 * 0.05 / 400)
    assert np.median(widths) / oracle < width
    assert np.mean(students) < 0.88  # what it replaces


def test_macro_average_has_an_interval_if_groups_have_single_queries() -> None:
    """Many relations of a knowledge graph have one triple; their variance is borrowed from the others."""
    rng = np.random.default_rng(6)
    for sizes in ([1, 1, 1, 1, 1, 1], [40, 1, 1, 1], [5, 2, 1]):
        relation = np.repeat(np.arange(len(sizes)), sizes)
        pos, neg = rng.normal(1, 1, len(relation)), rng.normal(size=(len(relation), 20))
        for cluster in (None, np.arange(len(relation))):
            found = ranking.evaluate(pos, neg, groups={"relation": relation}, cluster=cluster)["mrr_macro_relation"]
            assert found.interval is not None, found.no_interval
            assert found.value in found.interval


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
