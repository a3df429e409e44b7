"""What may be wrong with an evaluation of predictions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.finding import check
from graphgauge.core.types import AnyArray
from graphgauge.prediction.sample import Classes, Scores

_check = partial(check, family="prediction")
# A class with fewer items may be left out by chance.
_FEWEST = 10


@_check(
    "below-most-frequent-class",
    message="accuracy {accuracy:.4g} is below the {frequent:.4g} of calling everything {name}",
    remedy="Look at balanced_accuracy and f1_macro, and at whether labels and columns are in the same order",
)
def below_most_frequent_class(results: Any, classes: Classes) -> dict[str, Any] | None:
    """A model that knows less than the shares of the classes."""
    rows = classes.table.sum(axis=1)
    if not classes.n or "accuracy" not in results or results["accuracy"].value >= rows.max() / rows.sum():
        return None
    frequent, name = float(rows.max() / rows.sum()), classes.names[int(rows.argmax())]
    return {"accuracy": results["accuracy"].value, "frequent": frequent, "name": name}


@_check(
    "constant-scores",
    message="the scores of {count} of {tasks} columns are the same for all items",
    remedy="Check the model's output, or leave these columns out",
)
def constant_scores(scores: Scores) -> dict[str, Any] | None:
    """Scores that tell no item from another."""
    flat = int((scores.scores == scores.scores[:1]).all(axis=0).sum())
    return {"count": flat, "tasks": scores.scores.shape[1]} if flat and scores.n > 1 else None


@_check(
    "class-never-predicted",
    message="{count} of {classes} classes are never predicted, such as {name} with {n} items",
    remedy="Report f1_macro or balanced_accuracy, which show it, or weigh classes in training",
)
def class_never_predicted(classes: Classes) -> dict[str, Any] | None:
    """Classes that a model has given up."""
    rows, columns = classes.table.sum(axis=1), classes.table.sum(axis=0)
    absent = np.flatnonzero((rows >= _FEWEST) & (columns == 0))
    if not absent.size:
        return None
    largest = int(absent[np.argmax(rows[absent])])
    return {"count": len(absent), "classes": len(rows), "name": classes.names[largest], "n": int(rows[largest])}


@_check(
    "trained-on-test-items",
    severity="error",
    message="{count} of {n} items are in training, too, such as {name}",
    remedy="Evaluate only items that the model was not trained on",
)
def trained_on_test_items(ids: AnyArray, train_ids: AnyArray) -> dict[str, Any] | None:
    """Items that the model has seen with their labels."""
    shared = ids[np.isin(ids, train_ids)]
    return {"count": len(shared), "n": len(ids), "name": str(shared[0])} if len(shared) else None
