"""False alarms that real data brought to light stay silent, and what they were mended for is still found."""

from functools import partial

import numpy as np
import pytest
from tests.audit.cases import all_cases

from graphgauge import Evaluation, Interval, Reference, Result, audit
from graphgauge.ranking import evaluate

CASES = {case.check: case for case in all_cases()}
NOTHING = Evaluation("ranking", [])
IDEAL = partial(Reference, kind="ideal")


def found(check, subject=NOTHING, **materials):
    return [finding.check for finding in audit.run(subject, only=[check], **materials)]


def runs(**seeds):
    """A result for each seed of each method."""
    return [
        Evaluation("ranking", [scored(0.5)]).named(method=method, dataset="toy", seed=seed)
        for method, own in seeds.items()
        for seed in own
    ]


def scored(value, *references, low=0.0, high=1.0, direction="higher"):
    interval = Interval(value + low, value + high, 0.95, "t", "queries")
    facts = {"n": 9, "unit": "query", "direction": direction, "bounds": (0, 1)}
    return Result(key="mrr", metric="mrr", value=value, interval=interval, references=references, **facts)


def test_contacts_that_repeat_are_no_facts():
    """Two who met before need not meet now: such a pair is a good negative."""
    rng = np.random.default_rng(0)
    facts = np.unique(rng.integers(0, 12, (60, 2)), axis=0)
    events = rng.choice(facts, 400)
    for edges, expected in ((facts, ["known-positives-as-negatives"]), (events, [])):
        targets = rng.choice(facts[:, 1], (len(edges), 5))
        given = {"test_edges": edges[:30], "train_edges": edges[30:], "neg_targets": targets[:30]}
        assert found("known-positives-as-negatives", **given) == expected


def test_all_true_edges_may_be_given_beside_those_of_training():
    """Each stands in two lists then, and in none of them twice."""
    materials = CASES["known-positives-as-negatives"].planted(np.random.default_rng(0), 1.0)
    every = np.concatenate([materials["test_edges"], materials["train_edges"]])
    given = {**materials, "known_edges": every}
    assert found("known-positives-as-negatives", **given) == ["known-positives-as-negatives"]


@pytest.mark.parametrize(
    ("few", "unpaired", "seeds"),
    [
        (False, False, {"drift": [None], "naive": [None]}),
        (False, False, {"model": range(8), "other": range(8), "count": [None]}),
        (True, False, {"model": [0], "count": [None]}),
        (True, True, {"model": range(8), "other": [9], "count": [None]}),
        (False, True, {"model": range(8), "other": range(1, 9)}),
    ],
)
def test_a_method_without_seeds_has_none_to_be_run_with(few, unpaired, seeds):
    assert bool(found("few-seeds", runs(**seeds))) == few
    assert bool(found("unpaired-seeds", runs(**seeds))) == unpaired


@pytest.mark.parametrize(
    ("levels", "fires"),
    [
        ([Reference("one sample repeated", 0.0), IDEAL("real samples", 0.5)], False),
        ([Reference("one sample repeated", 0.5), IDEAL("real samples", 0.9)], True),
        ([IDEAL("perfect forecaster", 0.5)], False),
        ([Reference("constant scorer", 0.0), Reference("random scorer", 0.5)], True),
        ([], False),
    ],
)
def test_what_is_as_good_as_can_be_is_no_baseline(levels, fires):
    evaluation = Evaluation("generation", [scored(0.5, *levels, low=-0.1, high=0.1)])
    assert bool(found("not-above-chance", [evaluation])) == fires


def ahead(direction):
    """Three results of one run each, two of them 0.01 apart and one far behind in the given direction."""
    sign = 1 if direction == "higher" else -1
    values = {"first": 0.5 + 0.01 * sign, "second": 0.5, "behind": 0.5 - 0.3 * sign}
    return [
        Evaluation("forecasting", [scored(value, low=-0.02, high=0.02, direction=direction)]).named(method=method)
        for method, value in values.items()
    ]


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_the_first_two_are_compared_whichever_way_is_better(direction):
    (finding,) = audit.run(ahead(direction), only=["difference-within-error"])
    assert (finding.evidence["first"], finding.evidence["second"]) == ("first", "second")
    assert finding.evidence["where"] == "forecasting on unnamed data"


@pytest.mark.parametrize(("width", "fires"), [(0.0, False), (0.02, True)])
def test_equal_variants_without_an_error_are_no_luck(width, fires):
    evaluations = [
        Evaluation("ranking", [scored(0.5, low=-width, high=width)]).named(method=f"lr={v}") for v in range(6)
    ]
    assert bool(found("best-of-many", evaluations)) == fires


@pytest.mark.parametrize("ties", ["realistic", "expected", "pessimistic"])
@pytest.mark.parametrize("seeds", [1, 3])
def test_a_constant_scorer_is_not_above_chance_though_it_has_no_interval(ties, seeds):
    def run(seed, *scores):
        own = evaluate(*scores, ties=ties, metrics=["mrr"])
        assert own["mrr"].interval is None
        return Evaluation("ranking", [own["mrr"]]).named(method="scorer", dataset="toy", seed=seed)

    blind = [run(seed, np.zeros(50), np.zeros((50, 20))) for seed in range(seeds)]
    assert found("not-above-chance", blind) == ["not-above-chance"]
    good = [run(seed, np.ones(50), np.r_[np.zeros(19), 2.0] * np.ones((50, 1))) for seed in range(seeds)]
    assert found("not-above-chance", good) == []


@pytest.mark.parametrize(("value", "fires"), [(0.23, False), (0.79, True), (0.9, True)])
def test_equal_errors_below_those_of_the_baseline_are_no_finding(value, fires):
    """For a metric where lower is better the distance to the baseline is negative, and no rounding error."""
    error = scored(value, Reference("mean of the truth", 0.79), direction="lower")
    equal = [Evaluation("ranking", [error]).named(method="m", dataset="toy", seed=seed) for seed in range(3)]
    assert bool(found("not-above-chance", equal)) == fires
