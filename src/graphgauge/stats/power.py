"""What a design can show, before any data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.options import whole_number


def attainable_p(n: int) -> float:
    """The smallest two-sided p that a signed-rank or sign-flip test on n non-zero differences can reach: 2^(1−n)."""
    return min(1.0, 2.0 ** (1 - n))


def seeds_needed(comparisons: int = 1, alpha: float = 0.05) -> int:
    """The fewest pairs with which the smallest p of `comparisons` tests can pass Holm's first step at `alpha`.

    >>> [seeds_needed(m) for m in (1, 3, 6, 10)]
    [6, 7, 8, 9]
    """
    require_alpha(alpha)
    whole_number("comparisons", comparisons, 1)
    return math.ceil(1 + math.log2(comparisons / alpha))


def require_alpha(alpha: Any) -> None:
    if not isinstance(alpha, float | np.floating) or not 0 < alpha < 1:
        raise OptionError(f"alpha must be between 0 and 1, not {alpha!r:.60}", fix="Use 0.05 for a 5 % test.")
