"""Predicted labels, clean and with planted faults."""

import numpy as np
from tests.audit.cases import Case

from graphgauge import prediction

ITEMS, CLASSES = 400, 6


def materials(evaluation):
    """What the checks of an evaluation look at."""
    return {**evaluation._materials, "results": evaluation}


def imbalanced(rng, share, right):
    """Two classes, one with so large a share of the items; so many labels of each are right."""
    true = (rng.random(ITEMS) >= share).astype(int)
    return materials(prediction.evaluate(true, np.where(rng.random(ITEMS) < right, true, 1 - true)))


def skilled(rng):
    """A model that errs between a tenth and two thirds as often as the most frequent class."""
    share = rng.uniform(0.5, 0.95)
    return imbalanced(rng, share, 1 - (1 - share) * rng.uniform(0.1, 0.67))


def tasks(rng, constant=0):
    """Scores of eight tasks, in full or rounded; those of so many columns are the same for all items."""
    true = rng.integers(0, 2, (ITEMS, 8))
    scores = rng.normal(0, 1, true.shape) + true
    kind = rng.choice(["full", "float16", "rounded", "labels"])
    if kind == "float16":
        scores = scores.astype(np.float16)
    elif kind != "full":
        scores = scores.round(1) if kind == "rounded" else (scores > 0.5).astype(float)
    scores[:, rng.choice(8, constant, replace=False)] = rng.normal()
    return materials(prediction.evaluate(true, scores=scores, task="multilabel"))


def classified(rng, given_up=0):
    """Six classes, the smallest a fortieth of the items, six to nine labels of ten right; some are never predicted."""
    shares = np.array([0.35, 0.25, 0.175, 0.125, 0.075, 0.025])
    true = rng.choice(CLASSES, ITEMS, p=shares)
    right = rng.random(ITEMS) < rng.uniform(0.6, 0.9)
    pred = np.where(right, true, rng.choice(CLASSES, ITEMS, p=shares))
    absent = 1 + rng.choice(CLASSES - 2, given_up, replace=False)
    return materials(prediction.evaluate(true, np.where(np.isin(pred, absent), 0, pred), task="multiclass"))


def split(rng, shared=0):
    """Items and others that were trained on, among which are so many of the items."""
    names = rng.permutation(10 * ITEMS)
    ids, train_ids = names[:ITEMS], np.concatenate([names[ITEMS:], names[:shared]])
    true = rng.integers(0, 3, ITEMS)
    pred = np.where(rng.random(ITEMS) < 0.8, true, 0)
    return materials(prediction.evaluate(true, pred, ids=ids, train_ids=rng.permutation(train_ids)))


CASES = [
    Case(
        "below-most-frequent-class",
        skilled,
        lambda rng, right: imbalanced(rng, 0.8, right),
        {"76 % right where one class has 80 %": 0.76, "70 %": 0.7, "50 %": 0.5},
    ),
    Case("constant-scores", tasks, tasks, {"one column of eight": 1, "four": 4, "all": 8}),
    Case("class-never-predicted", classified, classified, {"one class of six": 1, "two": 2, "four": 4}),
    Case("trained-on-test-items", split, split, {"one item of 400": 1, "40": 40, "all": ITEMS}),
]
