"""What an evaluation says beside the numbers: conventions, warnings, findings, levels, intervals, groups, items."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from graphgauge import Evaluation, ranking
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.ranking.counts import Counts, Labels
from graphgauge.ranking.queries import CountedQueries
from graphgauge.ranking.samples import Ranks, exact_sum

RANDOM = np.random.default_rng(0)
POS, NEG = RANDOM.normal(0.7, 1, 40), RANDOM.normal(0, 1, (40, 9))
RULES = ["realistic", "optimistic", "pessimistic", "expected"]


def constant(queries: int = 5, negatives: int = 9) -> dict[str, np.ndarray]:
    return {"pos_scores": np.full(queries, 0.5), "neg_scores": np.full((queries, negatives), 0.5)}


def counted(greater: Any, equal: Any, candidates: Any, **about: Any) -> Counts:
    columns = [np.asarray(column) for column in (greater, equal, candidates)]
    return Counts.from_ranks(*columns, labels=Labels.given(len(columns[0]), **about))


# ------------------------------------------------------------------ levels


def test_constant_scorer_as_printed_in_the_definitions() -> None:
    assert ranking.mrr(**constant(), ties="expected") == pytest.approx(0.29290, abs=5e-6)
    assert ranking.mrr(**constant(), ties="realistic") == pytest.approx(0.18182, abs=5e-6)
    assert ranking.mrr(**constant(), ties="optimistic") == 1.0
    assert ranking.mrr(**constant(), ties="pessimistic") == 0.1


@pytest.mark.parametrize("ties", RULES)
def test_adjusted_metrics_give_a_constant_scorer_nothing(ties: str) -> None:
    lengths = np.array([1, 4, 9, 30, 2, 0])
    rows = [np.zeros(length) for length in lengths]
    evaluation = ranking.evaluate(np.zeros(6), rows, ties=ties, k=(1, 3), metrics="all")
    for key in ("amri", "adjusted_mrr", "adjusted_hits@1", "adjusted_hits@3"):
        assert evaluation[key].value == pytest.approx(0, abs=1e-14)


def test_adjusted_metrics_without_room_to_adjust() -> None:
    evaluation = ranking.evaluate(np.ones(3), np.zeros((3, 2)), k=3, metrics=["adjusted_hits", "adjusted_mrr"])
    assert math.isnan(evaluation["adjusted_hits@3"].value)
    assert evaluation["adjusted_hits@3"].n == 0
    assert evaluation["adjusted_hits@3"].reason == "every query has at most k = 3 candidates"
    assert evaluation["adjusted_mrr"].value == 1
    alone = ranking.evaluate(np.ones(3), np.zeros((3, 0)), metrics=["amri", "adjusted_mrr"])
    assert alone["amri"].reason == alone["adjusted_mrr"].reason == "no query has a negative"


def test_levels_are_the_constant_and_the_random_scorer() -> None:
    levels = {item.name: item.value for item in ranking.evaluate(POS, NEG)["mrr"].references}
    assert levels["constant scorer"] == pytest.approx(1 / 5.5)
    assert levels["random scorer"] == pytest.approx(float(sum(Fraction(1, rank) for rank in range(1, 11)) / 10))
    hits = {item.name: item.value for item in ranking.evaluate(POS, NEG, ties="optimistic")["hits@3"].references}
    assert hits == {"constant scorer": 1.0, "random scorer": pytest.approx(0.3)}
    pooled = ranking.evaluate(POS, NEG, metrics=["roc_auc", "average_precision", "pooled_hits@9"])
    assert [item.value for item in pooled["roc_auc"].references] == [0.5]
    assert [item.value for item in pooled["average_precision"].references] == [0.1]
    assert [item.value for item in pooled["pooled_hits@9"].references] == [9 / 361]


def test_random_threshold_is_what_random_scores_give() -> None:
    rng = np.random.default_rng(1)
    shares = [ranking.evaluate(rng.random(50), rng.random((50, 4)), metrics=["pooled_hits@20"]) for _ in range(400)]
    mean = np.mean([share["pooled_hits@20"].value for share in shares])
    assert mean == pytest.approx(20 / 201, abs=0.008)


# --------------------------------------------------------- conventions, warnings, findings


def test_a_result_says_which_tie_rule_it_used() -> None:
    evaluation = ranking.evaluate(POS, NEG, ties="pessimistic", metrics=["mrr", "amri", "roc_auc"])
    assert evaluation.conventions == {"ties": "pessimistic", "nan": "raise"}
    assert evaluation["mrr"].conventions["ties"] == "pessimistic"
    assert evaluation["amri"].conventions["ties"].startswith("expected")
    assert evaluation["roc_auc"].conventions["ties"] == "count half"
    queries = ranking.Queries.from_lists([2, 1, 1], [0, 1, 0], [0, 0, 0])
    lists = ranking.evaluate(queries, metrics=["mrr", "ndcg@3"])
    assert lists["mrr"].conventions["ties"] == "realistic"
    assert lists["ndcg@3"].conventions["ties"] == "expected"


def test_cut_offs_at_or_above_the_candidates_warn() -> None:
    evaluation = ranking.evaluate(POS, NEG, k=(9, 10, 11))
    assert not evaluation["hits@9"].warnings
    for k in (10, 11):
        assert evaluation[f"hits@{k}"].value == 1
        said = f"k = {k} is at least the number of candidates in 40 queries, which score 1 with any model"
        assert evaluation[f"hits@{k}"].warnings == (said,)


def test_pooled_hits_with_fewer_negatives_than_k() -> None:
    result = ranking.evaluate([0.0, 0.1], [[1.0], [1.0]], metrics=["pooled_hits@3"])["pooled_hits@3"]
    assert result.value == 1
    assert result.warnings == ("only 2 negatives: every positive is a hit at k = 3",)


def test_labels_are_not_taken_for_scores_of_negatives() -> None:
    scores, labels = np.array([0.9, 0.2, 0.7]), np.array([1, 0, 1])
    with pytest.raises(InputError, match=r"look like labels\. .*pass scores\[labels == 1\] and scores\[labels == 0\]"):
        ranking.evaluate(scores, labels)
    assert ranking.evaluate(labels, labels[::-1])["roc_auc"].value == 0.5  # scores may be 0 and 1


def test_tied_scores_are_a_finding() -> None:
    findings = {each.check: each for each in ranking.evaluate(**constant()).findings}
    assert set(findings) == {"tied-scores", "cutoff-above-candidates"}
    tied = findings["tied-scores"]
    assert tied.severity == "warning"
    assert tied.evidence == {"share": 1.0, "optimistic": 1.0, "pessimistic": pytest.approx(0.1)}
    assert "MRR is 0.1000 or 1.0000" in tied.message
    assert tied.remedy
    assert not ranking.evaluate(POS, NEG, k=1).findings
    assert not ranking.evaluate(np.empty(0), np.empty((0, 3))).findings


def test_what_is_left_out_is_a_finding() -> None:
    (finding,) = ranking.evaluate(np.r_[np.nan, POS[1:]], NEG, nan="omit", k=1).findings
    assert (finding.check, finding.severity) == ("left-out", "note")
    assert finding.message == "left out: 1 queries with a right answer whose score is NaN"
    queries = ranking.Queries.from_lists([1, 0, 1, 0, 5, 4], [1, 0, 0, 1, 0, 0], [7, 7, 8, 8, 9, 9])
    (finding,) = [each for each in ranking.evaluate(queries, k=1).findings if each.check == "left-out"]
    assert finding.message == "left out: 1 queries without a right answer"


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
    for metrics in ("all", ["roc_auc", "average_precision"]):
        once = ranking.evaluate(POS, NEG, k=3, metrics=metrics)
        clustered = ranking.evaluate(**twice, k=3, metrics=metrics, cluster=np.repeat(np.arange(40), 2))
        ignored = ranking.evaluate(**twice, k=3, metrics=metrics)
        for key, result in once.items():
            if key.startswith("pooled_hits"):
                continue  # its threshold is the k-th best of twice as many
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
    plain, *others = (
        ranking.evaluate(POS, NEG, k=3, cluster=cluster, groups=group, metrics="all")
        for cluster in (labels, names, [f"c{label}" for label in labels])
    )
    for key in plain:
        for other in others:
            assert other[key].value == plain[key].value
            bounds = plain[key].interval and tuple(plain[key].interval)
            assert (other[key].interval and tuple(other[key].interval)) == (bounds and pytest.approx(bounds))


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
    evaluation = ranking.evaluate(np.zeros(rows), np.tile(neg, (rows, 1)), cluster=cluster, metrics="all")
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
        found = ranking.evaluate(pos, neg, cluster=cluster, groups={"all": np.zeros(len(cluster), int)})
        assert found["mrr"].interval is None
        assert np.isnan(found.by("all")["mrr.low"]).all()
        assert "as many as three equally large clusters" in found["mrr"].no_interval


def test_median_shared_by_most_queries_keeps_an_interval() -> None:
    """30 of 60 at rank 1, the rest at rank 2: the median may be either."""
    neg = np.where(np.arange(61)[:, None] < 29, -1.0, 1.0) * np.ones((61, 1))
    result = ranking.evaluate(np.zeros(61), neg, metrics="median_rank")["median_rank"]
    assert result.value == 2
    assert tuple(result.interval) == (1, 2)


def test_one_query_has_no_interval() -> None:
    result = ranking.evaluate([1.0], [[0.0, 2.0]])["mrr"]
    assert result.interval is None
    assert result.no_interval == "needs at least three queries that differ"


@pytest.mark.parametrize(("queries", "confidence", "bounded"), [(5, 0.95, False), (6, 0.95, True), (5, 0.9, True)])
def test_few_queries_do_not_bound_a_median(queries: int, confidence: float, bounded: bool) -> None:
    """The smallest and the largest of n ranks hold the median with probability 1 − 2^(1−n): .9375 of five."""
    pos, neg = np.arange(queries, 0, -1.0), np.tile(np.arange(12.0) + 0.5, (queries, 1))
    group = {"part": np.zeros(queries, int)}
    found = ranking.evaluate(pos, neg, groups=group, metrics=["median_rank"], confidence=confidence)
    assert (found["median_rank"].interval is not None) == bounded
    assert np.isfinite(found.by("part")["median_rank.low"][0]) == bounded


@pytest.mark.parametrize(("queries", "negatives", "width"), [(20, 1000, 2.6), (100, 1000, 1.5), (500, 1000, 1.5)])
def test_near_chance_intervals_cover(queries: int, negatives: int, width: float) -> None:
    """Most samples contain none of the few first places that the mean depends on."""
    rng = np.random.default_rng(3)
    ranks = 1 + rng.integers(0, negatives + 1, (400, queries))
    values = 1 / np.arange(1, negatives + 2)
    truth, oracle = values.mean(), 2 * 1.96 * values.std() / math.sqrt(queries)
    held, widths = [], []
    for own in ranks:
        counts = counted(own - 1, np.zeros_like(own), np.full_like(own, negatives + 1))
        interval = ranking.evaluate(CountedQueries(counts), metrics=["mrr"])["mrr"].interval
        held.append(truth in interval)
        widths.append(interval.high - interval.low)
    assert np.mean(held) > 0.93 - 2 * math.sqrt(0.95 * 0.05 / 400)
    assert np.median(widths) / oracle < width


@pytest.mark.parametrize("negatives", [100, 1000, 100_000])
def test_a_mean_of_few_ranks_has_no_interval_whatever_they_are(negatives: int) -> None:
    for ranks in (np.arange(1, 10), np.linspace(1, negatives, 9).astype(int)):
        counts = counted(ranks - 1, np.zeros(9, int), np.full(9, negatives + 1))
        found = ranking.evaluate(CountedQueries(counts), metrics=["mean_rank", "amri", "mrr"])
        for key in ("mean_rank", "amri"):
            assert found[key].interval is None
            assert "needs at least 10 queries" in found[key].no_interval
        assert found["mrr"].interval is not None
    groups = {"side": np.r_[np.zeros(30, int), np.ones(9, int)]}
    counts = counted(np.arange(39) + 1, np.zeros(39, int), np.full(39, negatives + 1), groups=groups)
    table = ranking.evaluate(CountedQueries(counts), metrics=["mean_rank"]).by("side")
    assert np.isnan(table["mean_rank.low"][:2]).tolist() == [False, True]


# ------------------------------------------------------------------------- groups


def test_groups_micro_macro_and_each() -> None:
    relation = np.repeat(["b", "a", "c"], [20, 12, 8])
    groups = {"relation": relation, "side": np.arange(40) % 2}
    evaluation = ranking.evaluate(POS, NEG, groups=groups, metrics="mrr")
    values = reciprocal_ranks(POS, NEG)
    table = evaluation.by("relation")
    assert table["relation"].tolist() == ["a", "b", "c", "macro"]
    assert table["n"].tolist() == [12, 20, 8, 40]
    means = [values[relation == name].mean() for name in "abc"]
    assert table["mrr"][:3].tolist() == pytest.approx(means)
    for row, name in enumerate("abc"):
        own = values[relation == name]
        error = own.std(ddof=1) / math.sqrt(len(own))
        expected = score_by_hand(own, error, len(own) - 1, len(own))
        assert (table["mrr.low"][row], table["mrr.high"][row]) == pytest.approx(expected)
    assert evaluation["mrr"].value == pytest.approx(values.mean())
    macro = table["mrr"][3]
    assert macro == pytest.approx(np.mean(means))
    # Each variance is averaged with the pooled one, which counts like four degrees of freedom.
    sizes = np.array([12, 20, 8])
    squares = np.array(
        [((values[relation == name] - mean) ** 2).sum() for name, mean in zip("abc", means, strict=True)]
    )
    pooled = squares.sum() / 37
    error = math.sqrt(((squares + 4 * pooled) / (sizes + 3) / sizes).sum()) / 3
    multiples = 1 / (sizes * (sizes + 3)) + (4 / sizes / (sizes + 3)).sum() / 37
    df = (multiples @ (sizes - 1)) ** 2 / (multiples**2 @ (sizes - 1))
    around = macro + np.concatenate([values[relation == name] - mean for name, mean in zip("abc", means, strict=True)])
    centred = around - (around.mean() - macro)
    expected = score_by_hand(centred, error, df, np.clip(centred.var() / error**2, 9 / (1 / sizes).sum(), 40))
    assert (table["mrr.low"][3], table["mrr.high"][3]) == pytest.approx(expected, rel=1e-6)
    assert set(evaluation.breakdowns) == {"relation", "side"}
    assert evaluation.by("side")["mrr"][-1] == pytest.approx((values[::2].mean() + values[1::2].mean()) / 2)


def test_macro_over_clusters_that_span_groups() -> None:
    """Head and tail of one triple: with as many of each, macro and micro are one number with one interval."""
    rng = np.random.default_rng(3)
    level = np.repeat(rng.normal(size=50), 2)
    pos, neg = rng.normal(size=100) + 2 * level, rng.normal(size=(100, 9))
    groups = {"side": np.arange(100) % 2}
    evaluation = ranking.evaluate(pos, neg, groups=groups, cluster=np.arange(100) // 2, metrics="mrr")
    macro = {end: table[-1] for end, table in evaluation.by("side").columns.items()}
    assert macro["mrr"] == pytest.approx(evaluation["mrr"].value)
    # What was not seen is measured from a group's own mean, so that the last digits differ.
    assert (macro["mrr.low"], macro["mrr.high"]) == pytest.approx(tuple(evaluation["mrr"].interval), rel=1e-5)


def test_macro_average_has_an_interval_if_groups_have_single_queries() -> None:
    """Many relations of a knowledge graph have one triple; their variance is borrowed from the others."""
    rng = np.random.default_rng(6)
    for sizes in ([1, 1, 1, 1, 1, 1], [40, 1, 1, 1], [5, 2, 1]):
        relation = np.repeat(np.arange(len(sizes)), sizes)
        pos, neg = rng.normal(1, 1, len(relation)), rng.normal(size=(len(relation), 20))
        for cluster in (None, np.arange(len(relation))):
            options = {"groups": {"relation": relation}, "cluster": cluster}
            found = ranking.evaluate(pos, neg, **options, metrics="mrr").by("relation")
            assert found["mrr.low"][-1] <= found["mrr"][-1] <= found["mrr.high"][-1]


def test_groups_of_lists() -> None:
    columns = [1, 0, 1, 0, 5], [1, 0, 0, 1, 0], [7, 7, 8, 8, 9]
    queries = ranking.Queries.from_lists(*columns, groups={"kind": ["x", "x", "y", "y", "x"]})
    evaluation = ranking.evaluate(queries, metrics=["mrr", "recall@1"])
    assert evaluation.by("kind")["mrr"][:2].tolist() == [1.0, 0.5]
    assert evaluation.by("kind")["recall@1"][:2].tolist() == [1.0, 0.0]
    with pytest.raises(InputError, match=r"groups\['kind'\] differs within a query"):
        ranking.Queries.from_lists([1, 0, 2], [1, 0, 0], [0, 0, 1], groups={"kind": [0, 1, 1]})


def test_pooled_metrics_have_no_breakdown() -> None:
    evaluation = ranking.evaluate(POS, NEG, groups={"side": np.arange(40) % 2}, metrics=["mrr", "roc_auc"])
    assert list(evaluation) == ["mrr", "roc_auc"]
    assert list(evaluation.by("side").columns) == ["side", "n", "mrr", "mrr.low", "mrr.high"]


@pytest.mark.parametrize("labels", [np.zeros(39, int), np.zeros((40, 1), int), np.zeros(40), [None] * 40])
def test_group_labels_are_checked(labels: object) -> None:
    with pytest.raises(InputError) as caught:
        ranking.evaluate(POS, NEG, groups={"relation": labels})
    assert "relation" in str(caught.value)


def test_a_group_is_not_named_after_a_column() -> None:
    for name in ("n", "mrr", "hits@3"):
        with pytest.raises(OptionError, match=f"a group cannot be named '{name}'"):
            ranking.evaluate(POS, NEG, groups={name: np.arange(40) % 2})


@pytest.mark.parametrize("ties", RULES)
@pytest.mark.parametrize("clustered", [False, True])
def test_a_group_has_the_interval_that_it_has_alone(ties: str, clustered: bool) -> None:
    """Small groups whose ranks lie far apart: no bound may come from the neighbour."""
    group = np.repeat([0, 1, 2], [4, 5, 4])
    greater = np.r_[[99, 199, 299, 399], [0, 1, 2, 3, 3], [900, 900, 940, 980]]
    cluster = np.r_[0, 0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9] if clustered else None
    counts = counted(greater, np.ones(13, np.int64), np.full(13, 1000), groups={"g": group}, cluster=cluster)
    options = {"ties": ties, "k": 500, "metrics": "all"}
    table = ranking.evaluate(CountedQueries(counts), **options).by("g")
    for row in range(3):
        for key, alone in ranking.evaluate(CountedQueries(counts.take(group == row)), **options).items():
            low, high = alone.interval or (np.nan, np.nan)
            found = table[key][row], table[f"{key}.low"][row], table[f"{key}.high"][row]
            assert found == pytest.approx((alone.value, low, high), nan_ok=True), key


# ------------------------------------------------------------------------ options


@pytest.mark.parametrize("k", ["10", 2.0, None, True, 0, -1, [0], [[1]], np.array(5.5), ["3"], (1, 0)])
def test_cut_offs_are_whole_numbers(k: object) -> None:
    with pytest.raises(OptionError, match="k must be a whole number of at least 1, not"):
        ranking.evaluate(POS, NEG, k=k)
    assert "hits@5" in ranking.evaluate(POS, NEG, k=np.array([5]))


@pytest.mark.parametrize("key", ["hits@0", "hits@-3", "hits@x", "hits@1.5", "hits@"])
def test_cut_offs_in_keys_are_checked_too(key: str) -> None:
    with pytest.raises(OptionError):
        ranking.evaluate(POS, NEG, metrics=[key])


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95])
def test_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(OptionError, match="confidence must be between 0 and 1"):
        ranking.evaluate(POS, NEG, confidence=confidence)


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="'realistic'"):
        ranking.evaluate(POS, NEG, ties="realstic")
    with pytest.raises(UnknownNameError, match="Did you mean 'omit'"):
        ranking.evaluate(POS, NEG, nan="omitt")
    with pytest.raises(UnknownNameError, match="Did you mean 'mrr'"):
        ranking.evaluate(POS, NEG, metrics=["mmr"])
    for function in (ranking.mrr, ranking.hits_at_k, ranking.ranks):
        with pytest.raises(UnknownNameError, match="unknown ties"):
            function(POS, NEG, ties="x")


def test_metrics_by_name_or_key() -> None:
    assert list(ranking.evaluate(POS, NEG)) == ["mrr", "hits@1", "hits@3", "hits@10", "adjusted_mrr"]
    assert list(ranking.evaluate(POS, NEG, metrics="mrr")) == ["mrr"]
    assert list(ranking.evaluate(POS, NEG, k=(2, 5), metrics=["hits", "mrr"])) == ["hits@2", "hits@5", "mrr"]
    assert list(ranking.evaluate(POS, NEG, k=(2, 5), metrics=["hits@7", "ndcg@{k}"])) == ["hits@7", "ndcg@2", "ndcg@5"]
    with pytest.raises(OptionError, match=r"recall@\{k\} needs lists"):
        ranking.evaluate(POS, NEG, metrics=["recall@3"])
    with pytest.raises(OptionError, match="no metrics asked for"):
        ranking.evaluate(POS, NEG, metrics=[])


def test_a_queries_takes_no_options_of_its_constructor() -> None:
    with pytest.raises(OptionError, match="a Queries takes no mask"):
        ranking.evaluate(ranking.Queries.from_scores(POS, NEG), mask=NEG > 0)


# ---------------------------------------------------------------- items and split data


def test_values_of_queries_average_to_the_metric(tmp_path: Any) -> None:
    weights = RANDOM.random(40) + 0.5
    for options in ({}, {"weights": weights}, {"ties": "expected"}):
        found = ranking.evaluate(POS, NEG, ids=[f"q{row}" for row in range(40)], metrics="all", **options)
        loaded = Evaluation.load(found.save(tmp_path / "result.json")).per_item
        assert set(loaded.values) == set(found.per_item.values) >= {"mrr", "hits@3", "adjusted_mrr"}
        for items in (found.per_item, loaded):
            for key in items.values:
                mean = np.average(items[key], weights=items.weights.get(key))
                assert mean == pytest.approx(found[key].value, rel=1e-12, abs=1e-14, nan_ok=True), key
    assert found.per_item.ids.tolist()[:2] == ["q0", "q1"]


def test_values_of_lists_average_to_the_metric() -> None:
    rng = np.random.default_rng(4)
    columns = rng.integers(0, 9, 300), rng.random(300) < 0.3, rng.integers(0, 25, 300)
    found = ranking.evaluate(ranking.Queries.from_lists(*columns), metrics=["mrr", "ndcg@3", "map@5", "adjusted_mrr"])
    for key in found:
        shares = found.per_item.weights.get(key, np.ones(len(found.per_item)))
        mean = np.average(found.per_item[key], weights=shares)
        assert mean == pytest.approx(found[key].value, rel=1e-12), key


def test_the_same_bits_in_any_order_and_split() -> None:
    rng = np.random.default_rng(5)
    pos, neg = np.round(rng.normal(size=900), 1), np.round(rng.normal(size=(900, 12)), 1)
    labels = {"groups": {"side": rng.integers(0, 3, 900)}, "cluster": rng.integers(0, 50, 900)}
    scores, graded, ids = rng.integers(0, 30, 4000), rng.integers(0, 4, 4000), rng.integers(0, 300, 4000)
    for about in ({}, {"groups": labels["groups"]}, labels, {"weights": rng.random(900) + 0.1}):
        whole = ranking.Queries.from_scores(pos, neg, **about).count()
        expected = ranking.evaluate(CountedQueries(whole), metrics="all", ties="expected")
        order = rng.permutation(900)
        parts = [whole.take(part) for part in np.split(order, [100, 101, 600])]
        found = ranking.evaluate(CountedQueries(Counts.join(parts)), metrics="all", ties="expected")
        assert {key: each.value for key, each in found.items()} == {key: each.value for key, each in expected.items()}
        for key, each in expected.items():
            if each.interval is not None:
                assert tuple(found[key].interval) == pytest.approx(tuple(each.interval), rel=1e-13, abs=1e-14)
    lists = ranking.Queries.from_lists(scores, graded, ids).count()
    order = rng.permutation(len(lists.candidates))
    shuffled = Counts.join([lists.take(part) for part in np.array_split(order, 7)])
    one, other = (ranking.evaluate(CountedQueries(each), metrics="all") for each in (lists, shuffled))
    assert {key: each.value for key, each in one.items()} == {key: each.value for key, each in other.items()}


def test_sums_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(6)
    for values in (rng.random(1001), rng.normal(size=1001) * 10.0 ** rng.integers(-9, 9, 1001), np.zeros(3)):
        sums = {float(exact_sum(rng.permutation(values))[0]) for _ in range(20)}
        assert len(sums) == 1
        assert sums.pop() == pytest.approx(math.fsum(values), rel=1e-15, abs=1e-15 * np.abs(values).max())


def test_folded_counts_have_the_same_results() -> None:
    pos, neg = np.round(POS), np.round(NEG)
    groups = {"side": np.arange(40) % 2}
    counts = ranking.Queries.from_scores(pos, neg, groups=groups).count()
    whole, folded = (ranking.evaluate(CountedQueries(each), metrics="all") for each in (counts, counts.fold()))
    assert folded.per_item is None
    for key in whole:
        assert repr(folded[key].value) == repr(whole[key].value)
        assert folded[key].n == whole[key].n
        assert folded[key].interval == whole[key].interval
    assert folded.by("side")["mrr"].tolist() == whole.by("side")["mrr"].tolist()
    assert Ranks.of(counts.fold()).n.tolist() == [40]
