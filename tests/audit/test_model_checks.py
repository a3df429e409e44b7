"""Checks of explanations and generators beyond their rates: what they are given, and what they leave to others."""

import numpy as np
from tests.audit import explanation_cases, generation_cases
from tests.generation.toy import data

from graphgauge import generation
from graphgauge.audit import checks


def named(name):
    return next(item for item in checks() if item.name == name)


def repeated():
    samples, codes = (getattr(data(80), name) for name in ("items", "conditions"))
    kept = generation.Samples(samples, conditions=codes)
    return {"real": kept, "generated": generation.Samples(samples[np.arange(80) % 4], conditions=codes)}


def test_ties_that_are_averaged_over_are_no_finding():
    rng = np.random.default_rng(0)
    weights, bias = explanation_cases.drawn(rng)
    model, constant = explanation_cases.Sums(weights, bias), [np.ones(len(each)) for each in weights]
    for ties, fires in (("fixed", True), ("average", False)):
        found = named("tied-importance").run(explanation_cases.materials(model, constant, ties))
        assert (found is not None) == fires


def test_a_blind_classifier_supports_no_claim_that_could_be_above_it():
    given = generation_cases.classified(np.random.default_rng(0), 1 / 3, 0.9)
    assert named("blind-classifier").run(given) is not None


def test_more_samples_than_real_ones_are_no_repeats():
    rng = np.random.default_rng(0)
    ink = np.full((1, 6), 0.5)
    real, made = (generation_cases.samples(rng, ink, np.zeros(n, int)) for n in (20, 400))
    found = generation.evaluate(real=real, generated=made, metrics=["diversity"])
    assert found["overall_uniqueness_ratio"].value < 0.2
    assert found.findings == ()
