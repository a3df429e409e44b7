"""Distinct places in ranges, without excluded ones, drawn uniformly for many rows at once.

Row i draws `take[i]` of the places `start[i]` … `stop[i] - 1` that are not among its excluded ones, which are sorted.
The ranks of its places among the free ones are drawn by Floyd's method: one random number per place, no rejection,
whether free places are many or few (Bentley and Floyd 1987).
"""

from __future__ import annotations

import numpy as np

from graphgauge import _core
from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.threads import threads_of


def draw_distinct(
    start: Ints, stop: Ints, taken: Ints, first: Ints, last: Ints, take: Ints, uniform: Floats, out: Ints
) -> None:
    """Write the places drawn for row i to `out[i, : take[i]]`.

    Its excluded places are `taken[first[i] : last[i]]`, sorted and within its range. `uniform` (rows, at least the
    largest of `take`) contains random numbers in [0, 1).
    """
    given = [np.require(part, np.int64, ("C", "A")) for part in (start, stop, taken, first, last, take)]
    drawn = _core.draw_distinct(*given, np.require(uniform, None, ("C", "A")), threads=threads_of(None))
    steps = int(take.max(initial=0))
    np.copyto(out[:, :steps], drawn[:, :steps], where=np.arange(steps) < take[:, np.newaxis])
