"""Standard errors of means over pairs of nodes, which err together if they share a node.

The variance is the dyadic-robust one of Aronow, Samii and Assenova (2015): products of the errors of all pairs that
share a node are summed. Its bias and its degrees of freedom are those of a quadratic form in normal effects of the
nodes (Satterthwaite; Bell and McCaffrey 2002): a pair's error is the sum of the effects of its two nodes. If every pair
has its own nodes, this is the usual variance with n − 1 degrees of freedom. If all pairs lead to H nodes of equal
degree, it is the variance clustered by these, with nearly H − 1 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.types import Floats, Ints

# With fewer degrees of freedom the width of an interval says little: its median is half as wide again as that of an
# interval with a known variance.
FEWEST_DYADIC_DF = 3.0
TOO_FEW = (
    "the births share too few nodes: fewer than 3 degrees of freedom, as many as four births without a common node have"
)
# More nodes than this are too many for a dense matrix; traces are then estimated with this many vectors.
_DENSE, _VECTORS, _FEWER = 256, 16, 6
# From so many pairs on, fewer vectors are used.
_MANY = 200_000
# Below this share of the variance, a quadratic form is only rounding.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Dyads:
    """Pairs of nodes (n, 2), which all count the same."""

    ends: Ints

    @cached_property
    def _numbered(self) -> Ints:
        return np.unique(self.ends, return_inverse=True)[1].reshape(-1, 2)

    @cached_property
    def nodes(self) -> int:
        return int(self._numbered.max(initial=-1)) + 1

    @cached_property
    def independent(self) -> bool:
        """Whether no two pairs share a node."""
        return self.nodes == 2 * len(self.ends)

    @cached_property
    def _weights(self) -> Floats:
        return np.full(len(self.ends), 1 / max(len(self.ends), 1))

    @cached_property
    def _incidence(self) -> Any:
        from scipy.sparse import csr_array

        n = len(self.ends)
        parts = (np.ones(2 * n), self._numbered.ravel(), np.arange(0, 2 * n + 1, 2))
        return csr_array(parts, shape=(n, self.nodes))

    @cached_property
    def _turned(self) -> Any:
        return self._incidence.T.tocsr()

    def _at_nodes(self, values: Floats) -> Floats:
        """The sum over the pairs of every node; columns are summed separately."""
        if values.ndim == 1:
            first, second = (np.bincount(end, values, self.nodes) for end in self._numbered.T)
            return np.asarray(first + second)
        return np.asarray(self._turned @ values)

    def _at_pairs(self, effects: Floats) -> Floats:
        return np.asarray(self._incidence @ effects)

    def _form(self, effects: Floats) -> Floats:
        """The variance's quadratic form in the effects of nodes, applied to columns of them."""
        weights = self._weights[:, None]

        def centred(columns: Floats) -> Floats:
            return np.asarray(columns - (weights * columns).sum(axis=0))

        def spread(columns: Floats) -> Floats:
            """The errors at the nodes that these effects cause."""
            return self._at_nodes(weights * centred(self._at_pairs(columns)))

        own = weights**2 * centred(self._at_pairs(effects))
        return spread(spread(effects)) - self._at_nodes(own - weights * own.sum(axis=0))

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        """The variance of the mean, the expectation of its estimate and half the estimate's variance, if nodes err."""
        degrees = self._at_nodes(self._weights)
        true = float(degrees @ degrees)
        if self.independent:
            n = len(self.ends)
            return true, true * (n - 1) / max(n, 1), true**2 * (n - 1) / max(n, 1) ** 2
        if self.nodes <= _DENSE:
            form = self._form(np.eye(self.nodes))
            return true, float(np.trace(form)), float((form * form.T).sum())
        trace, squares = self._estimated_traces()
        return true, trace, squares

    def _estimated_traces(self) -> tuple[float, float]:
        """The same from random vectors: what the largest directions add is exact (Meyer et al. 2021)."""
        count = _VECTORS if len(self.ends) <= _MANY else _FEWER
        # Raw bits are the same in every version of NumPy.
        bits = np.random.PCG64(0).random_raw((2, self.nodes, count)) >> np.uint64(63)
        first, rest = 2.0 * bits - 1.0
        basis, _ = np.linalg.qr(self._form(first))
        inside = self._form(basis)
        rest -= basis @ (basis.T @ rest)
        beyond = self._form(rest)
        trace = float((basis * inside).sum() + (rest * beyond).sum() / count)
        across = beyond - basis @ (basis.T @ beyond)
        core = basis.T @ inside
        # ‖Q‖² in blocks: within the basis, twice across, and beyond it.
        outside = inside - basis @ core
        squares = (core**2).sum() + 2 * (outside**2).sum() + (across**2).sum() / count
        return trace, float(squares)

    @cached_property
    def df(self) -> float:
        """Degrees of freedom, at most the number of pairs less one; 0 if all pairs share one node."""
        true, expected, squares = self._moments
        if len(self.ends) < 2 or expected <= _NOTHING * true or squares <= 0:
            return 0.0
        return float(min(expected**2 / squares, len(self.ends) - 1))

    def error(self, values: ArrayLike) -> tuple[float, float]:
        """Standard error of the mean of these values, and its degrees of freedom."""
        values = np.asarray(values, dtype=float)
        if self.df <= 0:
            return np.nan, 0.0
        influence = self._weights * (values - self._weights @ values)
        squares, sums = float(influence @ influence), self._at_nodes(influence)
        true, expected, _ = self._moments  # their ratio is a correction, because the mean is estimated too
        variance = (float(sums @ sums) - squares) * true / expected
        if variance <= 0:  # possible, because the form is not positive
            n = len(values)
            variance = squares * n / (n - 1)
        return sqrt(variance), self.df
