"""Generated samples, clean and with planted faults."""

import numpy as np
from tests.audit.cases import Case

from graphgauge.generation import Samples, evaluate
from graphgauge.generation.levels import near_copies

CONDITIONS = 3
REAL = np.repeat(np.arange(CONDITIONS), (60, 40, 20))
TRAIN = np.repeat(np.arange(CONDITIONS), (180, 120, 60))
MADE = np.repeat(np.arange(CONDITIONS), 60)


def world(rng, width=12):
    """How often each condition sets each bit; the narrower, the more often two samples are the same by chance."""
    return rng.beta(0.5, 1, (CONDITIONS, width))


def samples(rng, ink, codes):
    return rng.random((len(codes), ink.shape[1])) < ink[codes]


def judged(real, made, metrics, predicted=None, **sides):
    made = Samples(made, conditions=MADE, predicted=predicted)
    return evaluate(Samples(real, conditions=REAL), made, metrics=metrics, draws=99, **sides).materials


def copying(rng, share=0.0):
    """A generator that hands out what it learned from, this often; else it draws as the data were drawn."""
    ink = world(rng, 20)
    train, made = samples(rng, ink, TRAIN), samples(rng, ink, MADE)
    for code in range(CONDITIONS):
        mine = np.flatnonzero((code == MADE) & (rng.random(len(MADE)) < share))
        made[mine] = train[rng.permutation(np.flatnonzero(code == TRAIN))[: len(mine)]]
    return judged(samples(rng, ink, REAL), made, ["novelty"], train=train)


def varying(rng, share=0.0):
    """A generator that moves one bit of what it learned from, this often; else it draws as the data were drawn."""
    ink = world(rng, 40)
    train, made = samples(rng, ink, TRAIN), samples(rng, ink, MADE)
    mine = np.flatnonzero(rng.random(len(MADE)) < share)
    made[mine] = near_copies(train[rng.permutation(len(train))[: len(mine)]], rng)
    return judged(samples(rng, ink, REAL), made, ["novelty", "nearer_to_training"], train=train)


def overlapping(rng, share=0.0):
    """Real samples of which so many were trained on, in whatever order."""
    ink = world(rng, 60)
    train, real = samples(rng, ink, TRAIN), samples(rng, ink, REAL)
    seen = rng.permutation(len(REAL))[: int(share * len(REAL))]
    real[seen] = train[rng.integers(0, len(TRAIN), len(seen))]
    return judged(real, samples(rng, ink, MADE), ["novelty"], train=train)


def repeating(rng, pool=None):
    """A generator that has only so many samples of a condition in store, or as many as the world."""
    ink = world(rng)
    made = samples(rng, ink, MADE)
    if pool is not None:
        for code in range(CONDITIONS):
            mine = np.flatnonzero(code == MADE)
            made[mine] = made[rng.choice(mine[:pool], len(mine))]
    return judged(samples(rng, ink, REAL), made, ["overall_uniqueness_ratio"])


class Encoder:
    """Draws latent vectors around what it sees of a sample, and around the condition where it is told."""

    conditions = tuple("abc")
    ordered = True

    def __init__(self, rng, told):
        self.rng, self.told = rng, told

    def encode(self, codes, conditions):
        seen = codes[:, :4] + self.told * np.asarray(conditions)[:, None]
        return seen + self.rng.normal(0, 0.5, seen.shape)


def classified(rng, right, made=0.5):
    """A classifier that gets so many real samples right, and takes so many generated ones for what was asked for."""
    ink = world(rng)
    right, made = (np.broadcast_to(share, CONDITIONS) for share in (right, made))
    answers, predicted = (
        np.where(rng.random(len(codes)) < share[codes], codes, (codes + rng.integers(1, CONDITIONS, len(codes))) % 3)
        for codes, share in ((REAL, right), (MADE, made))
    )
    return judged(
        samples(rng, ink, REAL),
        samples(rng, ink, MADE),
        ["overall_exact_accuracy", "classifier_exact_accuracy"],
        predicted=predicted,
        classifier=Samples(conditions=REAL, predicted=answers),
    )


def blind(rng, knows):
    """A classifier that deals its answers as often as they are right, and knows this share of them."""
    shares = np.bincount(REAL) / len(REAL)
    return classified(rng, knows + (1 - knows) * shares)


def copied_test(rng, share=0.0):
    """A generator that hands out real held-out samples, this often; else it draws as the data were drawn."""
    ink = world(rng, 40)
    real, made = samples(rng, ink, REAL), samples(rng, ink, MADE)
    for code in range(CONDITIONS):
        own, asked = np.flatnonzero(code == REAL), np.flatnonzero(code == MADE)
        mine = asked[rng.random(len(asked)) < share]
        made[mine] = real[rng.choice(own, len(mine))]
    return judged(real, made, ["overall_uniqueness_ratio"])


def partly_invalid(rng, share=0.0):
    """Real samples of which so many are not valid, and are compared with no other."""
    ink = world(rng, 20)
    valid = np.ones(len(REAL), bool)
    valid[rng.permutation(len(REAL))[: int(share * len(REAL))]] = False
    real = Samples(samples(rng, ink, REAL), conditions=REAL, valid=valid)
    made = Samples(samples(rng, ink, MADE), conditions=MADE, valid=np.ones(len(MADE), bool))
    return evaluate(real, made, metrics=["validity_rate"], draws=99).materials


CASES = [
    Case(
        "left-out-samples",
        partly_invalid,
        partly_invalid,
        {"one real sample in a hundred not valid": 0.01, "a tenth": 0.1, "half": 0.5},
    ),
    Case("copied-test-set", copied_test, copied_test, {"a third copied": 0.33, "two thirds": 0.67, "all": 1.0}),
    Case("copied-training-set", copying, copying, {"a third copied": 0.33, "two thirds": 0.67, "all": 1.0}),
    Case("near-copies", varying, varying, {"two thirds are near copies": 0.67, "nine tenths": 0.9, "all": 1.0}),
    Case(
        "learned-real-samples",
        overlapping,
        overlapping,
        {"one real sample in a hundred trained on": 0.01, "a tenth": 0.1, "all": 1.0},
    ),
    Case("repeated-samples", repeating, repeating, {"60 samples in store": 60, "20": 20, "3": 3}),
    Case(
        "blind-classifier",
        lambda rng: classified(rng, 0.7),
        blind,
        {"a tenth known": 0.1, "nothing": 0.0, "less than nothing": -0.3},
    ),
]
