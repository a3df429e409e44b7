"""The closing sentence, and what it must not say."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphgauge import study
from graphgauge.core.errors import UnknownNameError
from graphgauge.generation import Graphs, Samples, Sides, evaluate


def graphs(count: int, rate: float, seed: int) -> Graphs:
    return Graphs.from_objects([nx.gnp_random_graph(14, rate, seed=1000 * seed + place) for place in range(count)])


def last(evaluation: Any) -> str:
    return str(evaluation).splitlines()[-1]


def test_a_useless_generator_is_told_in_what_it_differs_and_how_much() -> None:
    found = evaluate(graphs(60, 0.2, 1), graphs(60, 0.6, 2), draws=199)
    said = last(found)
    assert said.startswith("Generated samples differ from real ones in degrees (")
    assert "times as far as 95 % of real sets are from each other, corrected p = 0.02)" in said
    assert all(name in said for name in ("clustering", "orbits", "spectra"))
    assert "no difference" not in said


def test_samples_of_one_distribution_are_rarely_said_to_differ() -> None:
    """Holm over four tests: at most 5 in 100 on average."""
    rng = np.random.default_rng(11)
    wrong = 0
    for run in range(40):
        sides = [
            Samples(rng.random((40, 6)) < 0.4, statistics={"x": rng.normal(size=40), "y": rng.poisson(5, 40)})
            for _ in range(2)
        ]
        wrong += last(evaluate(*sides, draws=99, seed=run)).startswith("Generated samples differ")
    assert wrong <= 6  # binomial: more than 6 of 40 at 5 % have a probability of 0.003


def test_copies_are_said_beside_the_tests() -> None:
    rng = np.random.default_rng(2)
    train, real = rng.random((80, 30)) < 0.4, rng.random((80, 30)) < 0.4
    said = last(evaluate(real, train, train=train, draws=99))
    assert said.endswith("they copy the training set.")


def test_without_real_samples_nothing_was_tested() -> None:
    said = last(evaluate(None, np.random.default_rng(0).random((20, 8)) < 0.5, draws=19))
    assert said == "Nothing was tested against real samples; overall_uniqueness_ratio is 1."


def test_a_memoriser_has_a_band() -> None:
    """Drawn with replacement: as many training samples as generated ones are no single value."""
    rng = np.random.default_rng(5)
    train, real, made = (Samples(rng.random((60, 12)) < 0.4, statistics={"x": rng.normal(size=60)}) for _ in range(3))
    found = evaluate(real, made, train=train, draws=99)
    for key in ("overall_mean_distance", "overall_uniqueness_ratio"):
        level = next(each for each in found[key].references if each.name == "memoriser")
        assert level.low is not None
        assert level.high is not None
        assert level.low < level.value < level.high, key


@pytest.mark.parametrize(
    ("name", "meant"),
    [("uniqueness", "overall_uniqueness_ratio"), ("iou", "mean_iou"), ("silhouette", "silhouette_score")],
)
def test_short_names_are_understood(name: str, meant: str) -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean .*'{meant}'"):
        evaluate(np.eye(12), np.eye(12), metrics=name)


def test_a_study_does_not_call_a_copied_test_set_better(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    real = rng.random((60, 20)) < 0.4
    for method in ("copy", "honest"):
        for seed in range(6):
            made = real if method == "copy" else rng.random((60, 20)) < 0.4
            Sides.from_samples(real, made).save(tmp_path / f"{method}-{seed}.npz")
    lines = ["schema = 1", 'name = "copies"', 'results = "results"', "[[evaluate]]", 'family = "generation"']
    lines += ['dataset = "bits"', 'methods = ["copy", "honest"]', f"seeds = {list(range(6))}"]
    lines += ['samples = "{method}-{seed}.npz"', "draws = 39", "[[compare]]", 'metric = "mmd"', 'dataset = "bits"']
    (tmp_path / "study.toml").write_text("\n".join(lines))
    outcome = study.run(tmp_path / "study.toml", jobs=1)
    assert not outcome.failed
    assert outcome.judgement is not None
    ((_, comparison),) = outcome.judgement.compared
    assert set(comparison.invalid) == {"copy"}
    assert comparison.best == "honest"
    assert not any(pair.significant for pair in comparison)


@pytest.mark.parametrize(("draws", "enough"), [(59, False), (79, True)])
def test_too_few_draws_to_find_a_difference_are_said(draws: int, enough: bool) -> None:
    """Four tests: the smallest corrected p-value is 4/(draws + 1)."""
    said = last(evaluate(graphs(40, 0.2, 1), graphs(40, 0.6 if not enough else 0.2, 2), draws=draws))
    assert ("take draws of at least 79" in said) != enough
