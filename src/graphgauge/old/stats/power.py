"""How many seeds, datasets or items would detect a difference of a named size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import OptionError
from graphgauge.core.options import whole_number
from graphgauge.old.stats.intervals import is_rounding
from graphgauge.old.stats.rearrange import Pair
from graphgauge.old.stats.text import several
from graphgauge.old.stats.wilcoxon import require_alpha

_MOST = 1_000_000
# Up to this many pairs the power of sign flips is simulated; beyond, it is that of Student's t.
_FEW_PAIRS = 12
_SIMULATED = 4000
# The spread is an estimate: the count is also given for its upper limit at this confidence.
_CAUTION = 0.8


@dataclass(frozen=True)
class Needed:
    """How many units detect a true difference of `effect` with probability `power`, at the measured spread.

    `total` is per method, and per dataset if runs on given datasets are tested; `cautious` is the count if the spread
    is at the upper end of what the data allow (80 %). None if there is no spread to plan with, or if a million units
    are not enough.

    Examples
    --------
    >>> from graphgauge import stats
    >>> scores = {"ours": [.91, .93, .95, .90, .91, .94], "theirs": [.90, .92, .95, .91, .90, .93]}
    >>> needed = stats.compare(scores, metric="accuracy", effect=0.01).needed[0]
    >>> needed.total, needed.cautious
    (61, 98)
    """

    names: tuple[str, str]
    effect: float
    power: float
    unit: str
    have: int
    total: int | None
    cautious: int | None
    std: float
    where: str = ""

    @property
    def more(self) -> int | None:
        return None if self.total is None else max(0, self.total - self.have)

    def __str__(self) -> str:
        pair = " vs ".join(self.names)
        aim = f"a difference of {self.effect:g} with {100 * self.power:g} % power"
        if self.total is None or self.more is None:
            if self.std > 0:
                return f"{pair}: to detect {aim} takes more than {several(_MOST, self.unit)}{self.where}."
            return f"{pair}: there is no spread to say what would detect {aim}."
        if self.more == 0:
            return f"{pair}: {several(self.have, self.unit)}{self.where} are enough to detect {aim} ({self.total} are)."
        cautious = "" if self.cautious is None else f", or {self.cautious:,} if the spread is underestimated"
        return (
            f"{pair}: to detect {aim} takes {several(self.total, self.unit)}{self.where} "
            f"({self.more:,} more){cautious}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers and the sentence.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold.
        """
        return {**asdict(self), "names": list(self.names), "more": self.more, "sentence": str(self)}


def units_needed(
    effect: float,
    std: float,
    *,
    paired: bool = True,
    datasets: int = 1,
    power: float = 0.8,
    alpha: float = 0.05,
    comparisons: int = 1,
) -> int:
    """The fewest units per method with which a true difference of `effect` is found with probability `power`.

    `std` is the standard deviation of paired differences, or of the runs of one method if they are not paired. With
    several `datasets`, runs are tested within each, and the answer is their number per dataset. The level of each of
    several `comparisons` is α divided by their number. Normal scores are assumed.

    Parameters
    ----------
    effect
        The true difference.
    std
        The standard deviation.
    paired
        Whether units are pairs.
    datasets
        Number of datasets that runs are tested within.
    power
        The probability to find the difference.
    alpha
        Level of the family of tests.
    comparisons
        Number of tests in the family.

    Returns
    -------
    int
        Pairs, or runs per method; per dataset if there are several.

    Raises
    ------
    OptionError
        If the effect is 0, or a probability is not in (0, 1).

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.units_needed(0.01, 0.01), stats.units_needed(0.01, 0.01, paired=False)
    (11, 17)
    """
    require_effect(effect, power)
    require_alpha(alpha)
    whole_number("comparisons", comparisons, 1)
    whole_number("datasets", datasets, 1)
    if not (isinstance(std, int | float | np.number) and 0 < std < math.inf):
        raise OptionError(f"std must be a positive number, not {std!r:.60}", fix="Give the spread of earlier runs.")
    found = fewest_units(abs(effect) / std, paired, datasets, power, alpha / comparisons)
    if found is None:
        raise OptionError(f"an effect of {effect:g} needs more than {_MOST:,} units", fix="Name a larger effect.")
    return found


def fewest_units(ratio: float, paired: bool, datasets: int, power: float, level: float) -> int | None:
    """The fewest units for an effect of this many standard deviations; None if a million is not enough."""
    enough = _can_reject(paired, datasets, level)
    low, high = enough - 1, enough
    while _power(high, ratio, paired, datasets, level) < power:
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if _power(middle, ratio, paired, datasets, level) < power:
            low = middle
        else:
            high = middle
    return high


def needed(
    data: Sequence[Pair],
    *,
    effect: float,
    power: float,
    alpha: float,
    comparisons: int,
    paired: bool,
    unit: str,
    names: tuple[str, str],
) -> Needed:
    """Of a pair of methods, from the spread within the datasets, never from the observed difference."""
    groups: list[tuple[Floats, ...]] = [(a - b,) if paired else (a, b) for a, b in data]
    variances = [float(values.var(ddof=1)) for group in groups for values in group if len(values) > 1]
    df = sum(len(values) - 1 for group in groups for values in group)
    have = min(len(values) for group in groups for values in group)
    where = " on every dataset" if len(data) > 1 else ""
    unit, where = (unit, where) if paired else ("run", f" of each method{where}")
    std = math.sqrt(float(np.mean(variances))) if variances else math.nan
    largest = max(float(np.abs(values).max()) for pair in data for values in pair)
    if not std > 0 or is_rounding(std, largest):
        return Needed(names, effect, power, unit, have, None, None, 0.0 if variances else math.nan, where)
    total, cautious = (
        fewest_units(abs(effect) / spread, paired, len(data), power, alpha / comparisons)
        for spread in (std, std * _upper(df))
    )
    return Needed(names, effect, power, unit, have, total, cautious, std, where)


def require_effect(effect: Any, power: Any) -> None:
    if effect is not None and not (is_real(effect) and 0 < abs(float(effect)) < math.inf):
        raise OptionError(
            f"effect must be a number other than 0, not {effect!r:.60}", fix="Name the difference that matters."
        )
    if not (is_real(power) and 0 < power < 1):
        raise OptionError(f"power must be between 0 and 1, not {power!r:.60}", fix="Use 0.8 for 80 %.")


def is_real(value: Any) -> bool:
    """Whether it is a number; True is none."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _upper(df: int) -> float:
    """The upper limit of a standard deviation with this many degrees of freedom, as a multiple of the estimate."""
    from scipy.special import chdtri

    return math.sqrt(df / float(chdtri(df, _CAUTION)))


def _can_reject(paired: bool, datasets: int, level: float) -> int:
    n = 2
    while (2.0 ** (1 - n * datasets) if paired else 2 / math.comb(2 * n, n) ** datasets) > level:
        n += 1
    return n


def _power(n: int, ratio: float, paired: bool, datasets: int, level: float) -> float:
    from scipy.special import nctdtr, ndtr, ndtri, stdtrit

    if paired and datasets == 1 and n <= _FEW_PAIRS:
        return _flip_power(n, ratio, level)
    df = datasets * (n - 1) * (1 if paired else 2)
    aim = ratio * math.sqrt(datasets * n / (1 if paired else 2))
    if df > 1000:
        return float(ndtr(aim + ndtri(level / 2)))
    critical = float(stdtrit(df, 1 - level / 2))
    return 1 - float(nctdtr(df, aim, critical)) if aim < 30 else 1.0


@lru_cache(maxsize=512)
def _flip_power(n: int, ratio: float, level: float) -> float:
    """Share of normal samples in which all sign flips reject."""
    from graphgauge.old.stats.rearrange import arrangements

    (signs,) = arrangements([(n, n)], paired=True, seed=0).blocks
    values = np.random.default_rng(n).normal(ratio, 1.0, (_SIMULATED, n))
    sums = np.abs(values @ signs[: len(signs) // 2].T.astype(float))
    p = np.mean(sums >= sums[:, :1] * (1 - 1e-12), axis=1)
    return float(np.mean(p <= level * (1 + 1e-12)))
