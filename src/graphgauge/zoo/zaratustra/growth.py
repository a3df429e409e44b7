"""Growth rules: which nodes can be ends of a cycle's new edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
# Maps the degrees of all nodes to the possible anchors.
Pool = Callable[[NDArray[Any]], Ids]


@dataclass(frozen=True)
class Growth:
    """A rule: the pool of anchors, and which of them `anchor="distance"` prefers (None: it draws at random)."""

    pool: Pool
    prefers: Literal["nearest", "farthest"] | None = None


def everyone(degrees: NDArray[Any]) -> Ids:
    """All nodes: random growth, the null model."""
    return np.arange(len(degrees))


def elites(degrees: NDArray[Any], sigmas: float = 2.0) -> Ids:
    """Nodes whose degree is more than this many standard deviations above the mean."""
    return np.flatnonzero(degrees > degrees.mean() + sigmas * degrees.std())


def periphery(degrees: NDArray[Any], share: float = 0.25) -> Ids:
    """Nodes whose degree is at most this quantile of all degrees."""
    return np.flatnonzero(degrees <= np.quantile(degrees, share))


RULES: Mapping[str, Growth] = {
    "Normal": Growth(elites, "nearest"),
    "Off": Growth(everyone),
    "Inverted": Growth(periphery, "farthest"),
}
