"""Explanations, clean and with planted faults."""

import numpy as np
from tests.audit.cases import Case

from graphgauge.explanation import Context, Explanation, Subgraph, collect
from graphgauge.explanation.sample import Rules, sample_of

LEVELS = (0.1, 0.25, 0.5)


class Sums:
    """Answers with a sum over the edges of an event; `heads` are its classes, one for a single logit."""

    def __init__(self, weights, bias, model_output="logit", heads=1, read=lambda answers: answers):
        self.weights, self.bias, self.model_output, self.heads, self.read = weights, bias, model_output, heads, read

    def predict(self, subgraph, target, masks):
        total = masks @ self.weights[target] + self.bias[target]
        return self.read(total if self.heads == 1 else np.column_stack([-total, *[total] * (self.heads - 1)]))


def drawn(rng, events=20, scale=1.0, bias=-0.5):
    """Weights of a few edges that count and many that hardly do, of either sign, and a bias, mostly against them."""
    sizes = rng.integers(8, 15, events)
    weights = [scale * (rng.normal(0, 0.1, n) + rng.normal(0.7, 1, n) * (rng.random(n) < 0.3)) for n in sizes]
    return weights, scale * rng.normal(bias, 0.5, events)


def materials(model, importances, ties="fixed"):
    explanations = []
    for event, importance in enumerate(importances):
        ends = np.stack([np.zeros(len(importance), int), np.arange(1, len(importance) + 1)])
        explanations.append(Explanation(Context(Subgraph(ends), event, event), importance, "ours"))
    table = collect(model, explanations, sparsity_levels=LEVELS, ties=ties, acc_points=3)
    return {"answers": sample_of(table, "ours", Rules())}


def explained(rng, noise=0.8, known=1.0):
    """An explainer that knows `known` of each weight, beside noise."""
    weights, bias = drawn(rng)
    return materials(
        Sums(weights, bias), [known * np.abs(each) + noise * rng.normal(0, 1, len(each)) for each in weights]
    )


def honest(rng):
    """An explainer that knows something, or nothing."""
    return explained(rng, known=rng.choice([0.0, 0.3, 1.0]))


def inverted(rng, noise):
    """Importance of what speaks against the answer, beside noise."""
    weights, bias = drawn(rng)
    towards = [np.sign(each.sum() + own) * each for each, own in zip(weights, bias, strict=True)]
    return materials(Sums(weights, bias), [noise * rng.normal(0, 1, len(each)) - each for each in towards])


def sparse(rng, kept=0.55, decimals=3):
    """Importance of a sparse explainer: zero but for a share of the edges, and rounded as a file has it."""
    weights, bias = drawn(rng)
    importances = [np.round(np.abs(each) + rng.random(len(each)), decimals) for each in weights]
    for importance in importances:
        importance[np.argsort(importance)[: round((1 - kept) * len(importance))]] = 0
    return materials(Sums(weights, bias), importances)


def restless(rng, noise):
    """A model in training mode: noise on every answer, whoever asks."""
    weights, bias = drawn(rng)
    draws = np.random.default_rng(rng.integers(1 << 31))

    def read(answers):
        return answers + noise * draws.normal(0, 1, answers.shape)

    return materials(Sums(weights, bias, read=read), [rng.random(len(each)) for each in weights])


def rounded(rng, values):
    """Importance that takes so many values."""
    weights, bias = drawn(rng)
    return materials(Sums(weights, bias), [rng.integers(0, values, len(each)) / values for each in weights])


def logits(rng):
    """Logits of a model that is nowhere certain and mostly says yes, of one column or of two, which are opposite."""
    weights, bias = drawn(rng, scale=rng.uniform(0.3, 1), bias=0.5)
    return materials(Sums(weights, bias, heads=int(rng.integers(1, 3))), [rng.random(len(each)) for each in weights])


def squashed(rng, heads):
    weights, bias = drawn(rng)

    def read(answers):
        columns = answers if heads > 1 else np.column_stack([np.zeros_like(answers), answers])
        odds = np.exp(columns - columns.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        return shares if heads > 1 else shares[:, 1]

    return materials(Sums(weights, bias, heads=heads, read=read), [rng.random(len(each)) for each in weights])


def deaf(rng, share):
    """In this share of the events the model looks at no edge; its answers differ by the rounding of float32."""
    weights, bias = drawn(rng)
    weights = [np.where(rng.random() < share, 0.0, each) for each in weights]
    jitter = np.random.default_rng(rng.integers(1 << 31))

    def read(answers):
        return answers + 1e-7 * jitter.normal(0, 1, answers.shape)

    return materials(Sums(weights, bias, read=read), [rng.random(len(each)) for each in weights])


def faint(rng):
    """A model that hardly looks at its edges, and in a quarter of the events at none."""
    weights, bias = drawn(rng, scale=0.01)
    weights = [np.where(rng.random() < 0.25, 0.0, each) for each in weights]
    return materials(Sums(weights, 100 * bias), [rng.random(len(each)) for each in weights])


CASES = [
    Case(
        "answers-do-not-repeat",
        explained,
        restless,
        {"noise of a thousandth on logits": 1e-3, "of a hundredth": 1e-2, "of a tenth": 0.1},
    ),
    Case("tied-importance", sparse, rounded, {"20 values": 20, "5": 5, "1": 1}),
    Case(
        "probabilities-as-logits", logits, squashed, {"a sigmoid of one logit": 1, "a softmax of two": 2, "of five": 5}
    ),
    Case("model-ignores-edges", faint, deaf, {"in 60 % of the events": 0.6, "in 80 %": 0.8, "in all": 1.0}),
    Case(
        "random-not-beaten",
        explained,
        lambda rng, known: explained(rng, 1.0, known),
        {"an explainer that knows a tenth": 0.1, "nothing": 0.0, "the reverse": -1.0},
    ),
    Case(
        "inverted-explanation",
        honest,
        inverted,
        {"with noise of the size of the largest weights": 1.0, "of half of it": 0.5, "without": 0.0},
    ),
]
