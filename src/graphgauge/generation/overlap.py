"""Find real samples that a model was trained on and that are therefore not held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.generation.distances import row_ids
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.inputs import Bits, Samples
from graphgauge.generation.isomorphism import graph_ids


class HeldOut(NamedTuple):
    """How many real samples are compared, and how many were left out because the generator was trained on them."""

    compared: int
    excluded: int


def learned(samples: Samples, train: Samples | None) -> Bits:
    """Which samples are in the training set.

    Graphs are compared up to isomorphism. Samples of another kind or shape never match.
    """
    if train is not None and len(train) and len(samples):
        if isinstance(samples, Graphs) and isinstance(train, Graphs):
            return _among(*graph_ids(samples, train))
        if isinstance(samples, np.ndarray) and isinstance(train, np.ndarray) and samples.shape[1:] == train.shape[1:]:
            return _among(*row_ids(_flat(samples), _flat(train)))
    return np.zeros(len(samples), bool)


def _among(items: NDArray[Any], known: NDArray[Any]) -> Bits:
    return np.asarray(np.isin(items, known))


def _flat(bits: Bits) -> Bits:
    return np.ascontiguousarray(bits.reshape(len(bits), -1))
