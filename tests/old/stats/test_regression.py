"""Gates against a baseline: non-inferiority over items, runs and intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats
from tests.sealed import write_sealed

from graphgauge import stats
from graphgauge.core.errors import InputError, OptionError
from graphgauge.old import ranking
from graphgauge.old.core.result import Evaluation
from graphgauge.old.core.schema import read_content, write_result
from graphgauge.old.stats import gate

N = 400


def evaluated(
    shift: float = 0.0, *, seed: int = 0, keep: str | None = "items", n: int = N, **options: Any
) -> Evaluation:
    draw = np.random.default_rng(seed)
    pos, neg = draw.normal(1, 1, n), draw.normal(0, 1, (n, 20))
    return ranking.evaluate(pos + shift, neg, keep=keep, **options)


@pytest.mark.parametrize(
    ("shift", "worse"), [(0.2, "excluded"), (0.0, "excluded"), (-0.001, "excluded"), (-0.5, "shown")]
)
@pytest.mark.parametrize("metric", ["mrr", "mean_rank"])
def test_verdicts_over_items(shift: float, worse: str, metric: str) -> None:
    margin = {"mrr": 0.01, "mean_rank": 0.3}[metric]
    found = stats.gate(evaluated(shift), evaluated(), metric=metric, margin=margin)
    assert (found.worse, found.unit, found.n, found.paired) == (worse, "item", N, True)
    assert bool(found) == found.passed == (worse == "excluded")
    # A loss is a lower MRR, or a higher mean rank.
    assert (found.loss > 0) == (shift < 0)


def test_the_interval_is_that_of_one_sided_tests() -> None:
    """For many items sign flips give Student's t: the loss that a one-sided test at α just rejects."""
    new, old = evaluated(-0.05), evaluated()
    found = stats.gate(new, old, metric="mrr", margin=0.02, alpha=0.05)
    difference = 1 / (new.per_item.greater + 1.0) - 1 / (old.per_item.greater + 1.0)
    reach = scipy_stats.t.ppf(0.95, N - 1) * difference.std(ddof=1) / math.sqrt(N)
    expected = (-difference.mean() - reach, -difference.mean() + reach)
    assert found.loss == pytest.approx(-difference.mean())
    assert found.interval == pytest.approx(expected, abs=2e-4)


@pytest.mark.slow
def test_a_loss_of_exactly_the_margin_passes_as_rarely_as_alpha() -> None:
    draw = np.random.default_rng(0)
    passed = 0
    runs = 300
    for _ in range(runs):
        scores = draw.normal(0.5, 0.02, 12)
        lost = draw.normal(0.01, 0.02, 12)
        runs_of = [dict(enumerate(values)) for values in (scores - lost, scores)]
        new, old = ({"m": {"d": values}} for values in runs_of)
        passed += stats.gate(new, old, metric="value", margin=0.01, direction="higher").passed
    assert passed / runs == pytest.approx(0.05, abs=0.035)


def test_what_it_would_take_is_what_student_needs() -> None:
    """80 % power to exclude a loss of the margin at α = .05, if the models are equal: (z.95 + z.8)² σ² / margin²."""
    new = evaluated(seed=0)
    draw = np.random.default_rng(5)
    pos, neg = np.random.default_rng(0).normal(1, 1, N), np.random.default_rng(0).normal(0, 1, (N, 20))
    other = ranking.evaluate(pos + draw.normal(0, 1, N), neg, keep="items")
    found = stats.gate(other, new, metric="mrr", margin=0.004)
    assert found.worse == "undecided"
    difference = 1 / (other.per_item.greater + 1.0) - 1 / (new.per_item.greater + 1.0)
    z = scipy_stats.norm.ppf(0.95) + scipy_stats.norm.ppf(0.8)
    assert found.needed == pytest.approx((z * difference.std(ddof=1) / 0.004) ** 2, rel=0.02)
    assert f"{found.needed:,} items ({found.needed - N:,} more) would exclude it" in found.advice


def test_several_runs_are_paired_by_seed() -> None:
    def runs(shift: float) -> list[Evaluation]:
        found = [evaluated(shift, seed=seed, keep=None, n=100) for seed in range(6)]
        for seed, each in enumerate(found):
            each.run |= {"seed": seed}
        return found

    same = stats.gate(runs(0.0), runs(0.0), metric="mrr", margin=0.01)
    assert (same.worse, same.interval, same.unit, same.n) == ("excluded", (0.0, 0.0), "seed", 6)
    worse = stats.gate(runs(-0.4), runs(0.0), metric="mrr", margin=0.01)
    assert (worse.worse, worse.paired) == ("shown", True)
    undecided = stats.gate(runs(-0.4)[:1], runs(0.0)[:1], metric="mrr", margin=0.01, over="seeds")
    assert undecided.worse == "undecided"


def test_without_items_the_two_intervals_decide() -> None:
    new, old = evaluated(-0.6, keep=None), evaluated(keep=None)
    found = stats.gate(new, old, metric="mrr", margin=0.01)
    assert (found.unit, found.paired) == ("interval", False)
    low, high = new["mrr"].interval, old["mrr"].interval
    assert found.interval == pytest.approx((high.low - low.high, high.high - low.low))
    assert found.worse == "shown"
    close = stats.gate(evaluated(keep=None), old, metric="mrr", margin=0.01)
    assert close.worse == "undecided"
    assert "--keep items" in close.advice
    with pytest.raises(OptionError, match="higher confidence"):
        stats.gate(evaluated(confidence=0.5, keep=None), old, metric="mrr", margin=0.01)


def test_groups() -> None:
    groups = {"relation": np.arange(N) % 2}
    new, old = evaluated(-1.0, groups=groups), evaluated(groups=groups)
    found = stats.gate(new, old, metric="mrr[relation=1]", margin=0.01)
    assert (found.worse, found.unit) == ("shown", "interval")
    assert found.new == new["mrr"].by("relation")["value"][1]
    with pytest.raises(OptionError, match="unknown relation"):
        stats.gate(new, old, metric="mrr[relation=7]", margin=0.01)


def test_metrics_without_values_of_items_fall_back() -> None:
    metrics = ("mrr", "roc_auc")
    found = stats.gate(evaluated(metrics=metrics), evaluated(metrics=metrics), metric="roc_auc", margin=0.2)
    assert found.unit == "interval"
    assert any("Not paired over items" in note for note in found.notes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": 0}, "margin must be a positive number"),
        ({"margin": -0.1}, "margin must be a positive number"),
        ({"margin": math.nan}, "margin must be a positive number"),
        ({"over": "queries"}, "unknown over"),
        ({"alpha": 0.7}, "below 0.5"),
        ({"metric": "mrx"}, "Did you mean 'mrr'"),
    ],
)
def test_what_is_refused(options: dict[str, Any], said: str) -> None:
    new = evaluated(n=20)
    with pytest.raises(InputError, match=said):
        stats.gate(new, new, **{"metric": "mrr", "margin": 0.01, **options})


def test_files_need_no_names_and_must_have_one_truth(tmp_path: Any) -> None:
    receipt = {
        "inputs": [
            {"name": "labels", "path": "l.npy", "bytes": 3, "hash": "0" * 64},
            {"name": "queries", "path": "q.npy", "bytes": 3, "hash": "2" * 64},
        ]
    }
    new, old = (write_result(evaluated(), tmp_path / name, receipt=receipt) for name in ("new.json", "old.json"))
    assert stats.gate(new, old, metric="mrr", margin=0.01)
    content = read_content(new)
    content["receipt"]["inputs"][0]["hash"] = "1" * 64
    write_sealed(new, content)
    with pytest.raises(InputError, match="different truths"):
        stats.gate(new, old, metric="mrr", margin=0.01)
    allowed = stats.gate(new, old, metric="mrr", margin=0.01, truths="any")
    assert any("different truths" in note for note in allowed.notes)
    content["receipt"]["inputs"][0]["hash"] = "0" * 64
    content["results"][0]["value"] = 0.9
    new.write_text(__import__("json").dumps(content))
    with pytest.raises(InputError, match="root does not match"):
        stats.gate(new, old, metric="mrr", margin=0.01)


def test_different_datasets_are_refused() -> None:
    new, old = evaluated(n=20), evaluated(n=20)
    new.run["dataset"] = "a"
    assert stats.gate(new, old, metric="mrr", margin=0.01).dataset == "a"
    old.run["dataset"] = "b"
    with pytest.raises(InputError, match="the new side is on a, the baseline on b"):
        stats.gate(new, old, metric="mrr", margin=0.01)


OTHER_TESTS: dict[str, Any] = {
    "fewer candidates": lambda pos, neg: ranking.evaluate(pos, neg[:, :2], keep="items"),
    "masked candidates": lambda pos, neg: ranking.evaluate(
        pos, neg, mask=np.broadcast_to(np.arange(neg.shape[1]) < 3, neg.shape), keep="items"
    ),
    "the same candidate several times": lambda pos, neg: ranking.evaluate(pos, neg[:, [0, 1] * 3], keep="items"),
}


@pytest.mark.parametrize("over", ["auto", "intervals"])
@pytest.mark.parametrize("other", OTHER_TESTS)
def test_another_test_is_not_passed_as_the_same(other: str, over: str, tmp_path: Any) -> None:
    """A worse scorer among fewer candidates has a higher value; levels of references show that the test differs."""
    rng = np.random.default_rng(1)
    pos, neg = rng.normal(1, 1, 200), rng.normal(0, 1, (200, 20))
    base, new = ranking.evaluate(pos, neg, keep="items"), OTHER_TESTS[other](pos - 0.5, neg)
    for metric in ("mrr", "hits@10"):
        assert new[metric].value > base[metric].value
        with pytest.raises(InputError, match=r"different truths: .*level of the random scorer is .* for new"):
            gate(new, base, metric=metric, margin=0.01, over=over)
    files = [
        run.save(tmp_path / name, method=name, dataset="d", seed=seed)
        for name, run, seed in (("new", new, 1), ("base", base, 2))
    ]
    with pytest.raises(InputError, match="level of the random scorer"):
        gate(files[0], files[1], metric="mrr", margin=0.01, over=over)
    assert gate(new, base, metric="adjusted_mrr", margin=0.01, over=over).worse != "excluded"
    assert gate(base, base, metric="mrr", margin=0.01)


def test_groups_are_compared_on_the_same_test_only() -> None:
    rng = np.random.default_rng(1)
    pos, neg, groups = rng.normal(1, 1, 60), rng.normal(0, 1, (60, 20)), {"side": np.arange(60) % 2}
    base = ranking.evaluate(pos, neg, groups=groups)
    with pytest.raises(InputError, match="level of the random scorer"):
        gate(ranking.evaluate(pos, neg[:, :2], groups=groups), base, metric="mrr[side=1]", margin=0.01)
    with pytest.raises(InputError, match="different conventions: ties"):
        gate(ranking.evaluate(pos, neg, groups=groups, ties="optimistic"), base, metric="mrr[side=1]", margin=0.01)


def test_copies_of_one_run_are_noted() -> None:
    rng = np.random.default_rng(1)
    pos, neg = rng.normal(1, 1, (5, 60)), rng.normal(0, 1, (5, 60, 20))
    base = [ranking.evaluate(pos[seed], neg[seed]) for seed in range(5)]
    best = max(base, key=lambda run: run["mrr"].value)
    found = gate([best] * 5, base, metric="mrr", margin=0.01)
    assert any("has the same values in every metric for seeds 0, 1" in note for note in found.notes)
    assert not any("same values" in note for note in gate(base, base, metric="mrr", margin=0.01).notes if "new" in note)
