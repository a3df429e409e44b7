"""How columns of a table depend on each other: correlations of numbers and of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.stats.intervals import is_rounding


class Columns(NamedTuple):
    """Numbers (n, columns), and which of them belong to one statistic: a number, or its categories, one column each."""

    rows: Floats
    spans: Sequence[slice]
    categorical: Sequence[bool]

    def take(self, rows: Ints) -> Columns:
        return self._replace(rows=self.rows[rows])

    def shuffled(self, count: int, generator: np.random.Generator) -> Columns:
        """As many rows, each statistic of which is drawn separately."""
        n = len(self.rows)
        parts = [self.rows[generator.integers(0, n, count), span] for span in self.spans]
        return self._replace(rows=np.concatenate(parts, axis=1))


def pairs(statistics: int) -> tuple[Ints, Ints]:
    """Both statistics of each pair."""
    first, second = np.triu_indices(statistics, 1)
    return first, second


def associations(columns: Columns, *, ranks: bool = False) -> Floats:
    """How strongly the two statistics of each pair depend on each other; 0 if one of them is constant.

    Of two numbers, Pearson's correlation, or Spearman's with `ranks`. Of a number and categories, the correlation
    ratio; of categories, Cramér's V. The last two are corrected for the number of categories, so that samples of
    different sizes are comparable: as by Kelley, and as by Bergsma.

    >>> columns = Columns(np.array([[0.0, 1, 0], [1, 1, 0], [4, 0, 1], [5, 0, 1]]), [slice(0, 1), slice(1, 3)],
    ...                   [False, True])
    >>> associations(columns).round(4)
    array([0.9701])
    """
    n, kinds = len(columns.rows), np.asarray(columns.categorical)
    rows = _ranked(columns) if ranks else columns.rows
    mean = rows.mean(0)
    centred = rows - mean
    length = np.sqrt((centred**2).sum(0))
    length = np.where(is_rounding(length / np.sqrt(n), mean), 0.0, length)
    owner = np.repeat(np.arange(len(columns.spans)), [span.stop - span.start for span in columns.spans])
    # Categories are divided by the root of their number, so that squares add up to those of chi-squared.
    divisor = np.sqrt(np.where(kinds[owner], rows.sum(0), length**2))
    unit = centred / np.where((length > 0) & (divisor > 0), divisor, np.inf)
    product = unit.T @ unit
    member = (owner[:, np.newaxis] == np.arange(len(columns.spans))).astype(float)
    shares = member.T @ product**2 @ member
    present = np.bincount(owner, (rows.sum(0) > 0) | ~kinds[owner], minlength=len(columns.spans))
    first, second = pairs(len(columns.spans))
    share = shares[first, second]
    either, both = kinds[first] | kinds[second], kinds[first] & kinds[second]
    starts = np.array([span.start for span in columns.spans])
    signed = product[starts[first], starts[second]]
    k, other = present[first], present[second]
    with np.errstate(invalid="ignore", divide="ignore"):
        most = np.maximum(k, other)  # a number counts as one
        ratio = 1 - (1 - share) * (n - 1) / np.where(n > most, n - most, np.nan)
        excess = share - (k - 1) * (other - 1) / (n - 1)
        fewer = np.minimum(k - (k - 1) ** 2 / (n - 1), other - (other - 1) ** 2 / (n - 1)) - 1
        squared = np.where(both, excess / np.where(fewer > 0, fewer, np.nan), ratio)
    dependent = np.sqrt(np.clip(np.nan_to_num(squared), 0.0, 1.0)) * (share > 0)
    return np.asarray(np.where(either, dependent, np.clip(signed, -1.0, 1.0)))


def _ranked(columns: Columns) -> Floats:
    from scipy.stats import rankdata

    rows = columns.rows.copy()
    numbers = [span.start for span, words in zip(columns.spans, columns.categorical, strict=True) if not words]
    rows[:, numbers] = rankdata(rows[:, numbers], axis=0)
    return rows


def noise(columns: Columns, of: int, *, ranks: bool, draws: int, most: int, generator: np.random.Generator) -> Floats:
    """How associations (draws, pairs) of `of` rows of the same distribution deviate from their expectation.

    Halves of a sample, without replacement, vary around the whole as much as the whole does around the truth. A
    bootstrap would count rows twice, which strengthens associations.
    """
    n = len(columns.rows)
    half = min(n // 2, most)
    whole = associations(columns, ranks=ranks)
    parts = [associations(columns.take(generator.permutation(n)[:half]), ranks=ranks) for _ in range(draws)]
    return np.asarray((np.array(parts) - whole) * np.sqrt((1 / of) / (1 / half - 1 / n)))
