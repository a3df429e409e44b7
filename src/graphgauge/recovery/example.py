"""A small example of every sample, on which metrics that users declare are tried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.recovery.evaluate import Comparison
from graphgauge.recovery.reading import Reading, pairs

_TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]) * 2.0
_FOUND = np.array([[0, 0.9, 0, 0], [0, 0, 0, 0], [0, 0.8, 0, 0.2], [0, 0, 0.7, 0]])


def _samples(*orders: list[int]) -> dict[str, Any]:
    truths, found = ([matrix[np.ix_(order, order)] for order in orders] for matrix in (_TRUTH, _FOUND))
    return dict(Comparison(tuple(pairs(truths, found, Reading()))).samples)


SAMPLES = _samples([0, 1, 2, 3], [3, 1, 0, 2])


def _graphs_exchanged(sample: Any) -> Any:
    """The same sample with its graphs in another order."""
    others = _samples([3, 1, 0, 2], [0, 1, 2, 3])
    return next(replace(other) for other in others.values() if type(other) is type(sample))


LAWS = {"permutation": _graphs_exchanged}
