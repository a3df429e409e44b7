"""Real and generated samples by condition, and the view of them that metrics are computed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.declared import FEWEST_COMPARED, few
from graphgauge.generation.graphs import concatenated, rows_of
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.samples import ConditionSample, canonical_order
from graphgauge.generation.table import SampleTable


class Sides:
    """Both sides, and the conditions with enough samples on both.

    `train` are training samples in the same form, with their conditions, for the levels of generators that copy them.
    """

    train: Any = None
    train_codes: Codes | None = None
    # Real samples that were left out because they are in the training set, and which generated samples are in it.
    left: Any = None
    left_codes: Codes | None = None
    copied: Bits | None = None

    def __init__(self, real: Any, real_codes: Codes, generated: Any, codes: Codes, groups: int) -> None:
        self.real, self.real_codes, self.generated, self.codes = real, real_codes, generated, codes
        self.groups = groups
        self.real_counts = np.bincount(real_codes, minlength=groups)
        self.counts = np.bincount(codes, minlength=groups)
        self.enough: Bits = (self.real_counts >= FEWEST_COMPARED) & (self.counts >= FEWEST_COMPARED)

    def pair(self, code: int) -> tuple[Any, Any]:
        """The real and the generated samples of one condition."""
        return rows_of(self.real, self.real_codes == code), rows_of(self.generated, self.codes == code)

    def unseen(self, code: int) -> Bits | None:
        """The generated samples of one condition without training samples, for tests; None if too few are left.

        Real samples of the training set are left out of everything. If they are a part of what occurs often, a perfect
        generator would differ by them alone.
        """
        rows = self.codes == code
        new = rows if self.copied is None else rows & ~self.copied
        return new if np.count_nonzero(new) >= FEWEST_COMPARED else None

    def unseen_pair(self, code: int) -> tuple[Any, Any] | None:
        """Both sides without training samples."""
        rows = self.unseen(code)
        return None if rows is None else (self.pair(code)[0], rows_of(self.generated, rows))

    def fresh(self, code: int, real: Any) -> Any:
        """Real samples and those that were left out: what a perfect generator would generate."""
        if self.left is None or self.left_codes is None:
            return real
        return concatenated(real, rows_of(self.left, self.left_codes == code))

    def copies(self, code: int, generator: np.random.Generator, most: int) -> Any:
        """At most this many training samples of one condition; None without any."""
        if self.train is None or self.train_codes is None:
            return None
        rows = np.flatnonzero(self.train_codes == code)
        return rows_of(self.train, np.sort(generator.permutation(rows)[:most])) if len(rows) else None

    def each(self, measure: Callable[[int], Any]) -> list[Any]:
        """The measurement in each condition with enough samples; None in the others."""
        return [measure(code) if self.enough[code] else None for code in range(self.groups)]

    def drawn(self, found: list[Mapping[str, Floats] | None]) -> dict[str, Floats]:
        """The draws (draws, conditions) of each level that every compared condition has."""
        own = [(code, draws) for code, draws in enumerate(found) if draws is not None]
        names = [name for name in (own[0][1] if own else ()) if all(name in draws for _, draws in own)]
        columns = {name: np.full((len(own[0][1][name]), self.groups), np.nan) for name in names}
        for code, draws in own:
            for name in names:
                columns[name][:, code] = draws[name]
        return columns


Kind = TypeVar("Kind", bound=Sides)


@dataclass(frozen=True)
class TwoSided(ConditionSample, Generic[Kind]):
    """Both sides, averaged over conditions or separate."""

    sides: Kind = field(kw_only=True)

    @property
    def n(self) -> Codes:
        """The number of generated samples in each compared condition."""
        return np.where(self.sides.enough, self.sides.counts, 0)

    def averaged_draws(self, values: Floats) -> Floats:
        """Draws (draws, conditions) averaged over the conditions with a value, without NaN."""
        weights = np.where(np.isnan(values), 0, self.n if self.average == "micro" else 1)
        total = weights.sum(1)
        found = (np.nan_to_num(values) * weights).sum(1)[total > 0] / total[total > 0]
        return np.asarray(found)

    def left_out(self) -> Mapping[str, str]:
        reasons = {}
        for place, label in enumerate(self.labels):
            real, generated = int(self.sides.real_counts[place]), int(self.sides.counts[place])
            if generated < FEWEST_COMPARED:
                reasons[label] = few(generated, FEWEST_COMPARED, "valid generated sample")
            elif real < FEWEST_COMPARED:
                reasons[label] = few(real, FEWEST_COMPARED, "real sample")
        return reasons


def copied_rows(values: Floats, table: SampleTable) -> Bits | None:
    """Which of the valid generated samples, in their order, are training samples; None if none of them."""
    if table.copied is None or not table.copied.any():
        return None
    kept = np.flatnonzero(table.kept)
    return table.copied[kept[canonical_order(table.codes[kept], values[kept])]]


def in_order(values: Floats, codes: Codes, kept: Bits | None = None) -> tuple[Floats, Codes]:
    """The rows that are kept, in an order by content."""
    rows = np.arange(len(codes)) if kept is None else np.flatnonzero(kept)
    rows = rows[canonical_order(codes[rows], values[rows])]
    return values[rows], codes[rows]
