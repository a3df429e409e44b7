"""Weights of queries: only their ratios matter, and nothing ignores them."""

import numpy as np
import pytest

from graphgauge import ranking, stats
from graphgauge.core.errors import InputError
from graphgauge.old.core.schema import write_result

RNG = np.random.default_rng(5)
POS, NEG = RNG.normal(1, 1, 40), RNG.normal(size=(40, 20))
WEIGHTS = RNG.random(40) + 0.1
CLUSTER, GROUP = np.arange(40) // 3, np.arange(40) % 4
METRICS = ["mrr", "mean_rank", "hits@3", "median_rank", "adjusted_mrr", "geometric_mean_rank"]


def _numbers(evaluation):
    return [
        [result.value, *([np.nan] * 2 if result.ci is None else [result.ci.low, result.ci.high])]
        for result in evaluation.values()
    ]


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 0.01, 1000.0, 1e150, 1e307])
@pytest.mark.parametrize(
    "labels", [{}, {"cluster": CLUSTER}, {"groups": {"g": GROUP}}, {"cluster": CLUSTER, "groups": {"g": GROUP}}]
)
def test_the_unit_of_weights_does_not_matter(scale, labels):
    once = ranking.evaluate(POS, NEG, weights=WEIGHTS, metrics=METRICS, **labels)
    again = ranking.evaluate(POS, NEG, weights=WEIGHTS * scale, metrics=METRICS, **labels)
    # Numbers near 1e-320 have three digits.
    np.testing.assert_allclose(_numbers(again), _numbers(once), rtol=2e-3 if scale < 1e-310 else 1e-9)


@pytest.mark.parametrize("labels", [{"cluster": CLUSTER}, {"cluster": CLUSTER, "groups": {"g": GROUP}}])
@pytest.mark.parametrize("weight", [1e-9, 1.0, 64.0, 1e9])
def test_equal_weights_are_none(labels, weight):
    plain = ranking.evaluate(POS, NEG, metrics=["mrr", "mean_rank"], **labels)
    equal = ranking.evaluate(POS, NEG, weights=np.full(40, weight), metrics=["mrr", "mean_rank"], **labels)
    np.testing.assert_allclose(_numbers(equal), _numbers(plain), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-320, 1e-3, 1e307])
def test_the_unit_does_not_matter_in_the_flat_form(scale):
    queries = np.repeat(np.arange(10), 6)
    scores, labels = RNG.normal(size=60), np.tile([1, 0, 1, 0, 0, 0], 10)
    weight = np.array([1.0, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    options = {"scores": scores, "labels": labels, "queries": queries, "metrics": ["recall@3", "ndcg@3", "mrr"], "k": 3}
    once = ranking.evaluate(**options, weights=weight, cluster=np.arange(10) // 2)
    again = ranking.evaluate(**options, weights=weight * scale, cluster=np.arange(10) // 2)
    np.testing.assert_allclose(_numbers(again), _numbers(once), rtol=2e-3 if scale < 1e-310 else 1e-9)
    hits = np.array([np.sum(labels[q * 6 :][:6][np.argsort(-scores[q * 6 :][:6])[:3]]) / 2 for q in range(10)])
    assert once["recall@3"].value == pytest.approx(weight @ hits / weight.sum())


@pytest.mark.parametrize("flat", [False, True])
def test_a_paired_comparison_does_not_ignore_weights(flat, tmp_path):
    queries = np.repeat(np.arange(10), 4)
    if flat:
        given = {"scores": RNG.normal(size=40), "labels": np.tile([1, 0, 0, 1], 10), "queries": queries}
    else:
        given = {"pos_scores": POS[:10], "neg_scores": NEG[:10]}
    weighted = ranking.evaluate(**given, weights=WEIGHTS[:10], keep="items").per_item
    plain = ranking.evaluate(**given, keep="items").per_item
    weighted.save(tmp_path / "items.npz")
    stored = ranking.Items.load(tmp_path / "items.npz")
    np.testing.assert_array_equal(stored.weight, WEIGHTS[:10])
    for pair in ((weighted, weighted), (plain, stored), (stored, plain)):
        with pytest.raises(InputError, match="weighted"):
            ranking.compare(*pair)
    assert ranking.compare(plain, plain).mean_difference == 0


def test_stored_results_with_weights_are_not_compared_over_items(tmp_path):
    arrays = {"pos": POS, "neg": NEG, "weights": WEIGHTS}
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
    for method in ("a", "b"):
        evaluation = ranking.evaluate_files(
            pos_scores=[str(tmp_path / "pos.npy")],
            neg_scores=[str(tmp_path / "neg.npy")],
            weights=str(tmp_path / "weights.npy"),
            keep="items",
            per_query=str(tmp_path / "queries.npz"),
        )
        evaluation.run |= {"method": method, "dataset": "toy", "seed": 0}
        write_result(evaluation, tmp_path / f"{method}.json")
    np.testing.assert_array_equal(np.load(tmp_path / "queries.npz")["weight"], WEIGHTS)
    with pytest.raises(InputError, match="are weighted"):
        stats.compare([tmp_path / "a.json", tmp_path / "b.json"], metric="mrr", over="items")
