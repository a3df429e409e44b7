"""Real and generated samples by condition, and the view of them that metrics are computed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.registry import Chosen
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import FEWEST_COMPARED, ConditionSample, canonical_order, few
from graphgauge.generation.graphs import concatenated, rows_of
from graphgauge.generation.sample import Samples, Sides


@dataclass(frozen=True, eq=False)
class Part:
    """Samples in the form in which they are compared, with the condition of each, and which are in training."""

    rows: Any
    codes: Ints
    in_training: Mask | None

    @classmethod
    def in_order(cls, rows: Any, side: Samples, kept: Mask) -> Part:
        """The samples of a side that are kept; rows of numbers in an order by content."""
        places = np.flatnonzero(kept)
        if isinstance(rows, np.ndarray):
            places = places[canonical_order(side.conditions[places], rows[places])]
        known = None if side.in_training is None else side.in_training[places]
        return cls(rows_of(rows, places), side.conditions[places], known)

    def of(self, code: int) -> Any:
        """Those of one condition."""
        return rows_of(self.rows, self.codes == code)


class Compared:
    """Valid held-out real samples and valid generated ones, with the conditions that have enough of both.

    `train` are training samples in the same form, for the levels of generators that copy them; `learned` are real
    samples that are in training. Both are None without any.
    """

    def __init__(self, sides: Sides, rows_in: Callable[[Samples], Any], *, unseen_only: bool = False) -> None:
        """`rows_in` makes the compared form of a side's samples, or None if it does not have what that takes.

        With `unseen_only` generated samples that are in training are left out, if real ones are.
        """
        real, made, train = sides.real, sides.generated, sides.train
        assert real is not None
        assert made is not None
        self.groups, learned = sides.groups, real.kept & real.in_training
        has_copies = sides.copied is not None
        rows = rows_in(real)
        self.real = Part.in_order(rows, real, real.kept & ~real.in_training)
        self.learned = Part.in_order(rows, real, learned) if learned.any() else None
        kept = made.kept & ~made.in_training if has_copies and unseen_only else made.kept
        self.generated = Part.in_order(rows_in(made), made, kept)
        own = rows_in(train) if train is not None and len(train) and train.conditions is not None else None
        self.train = None if own is None or train is None else Part.in_order(own, train, np.ones(len(train), bool))
        copied = self.generated.in_training
        self.copied: Mask | None = copied if has_copies and copied is not None and copied.any() else None
        self.real_counts = np.bincount(self.real.codes, minlength=self.groups)
        self.counts = np.bincount(self.generated.codes, minlength=self.groups)
        self.enough: Mask = (self.real_counts >= FEWEST_COMPARED) & (self.counts >= FEWEST_COMPARED)

    def pair(self, code: int) -> tuple[Any, Any]:
        """The real and the generated samples of one condition."""
        return self.real.of(code), self.generated.of(code)

    def unseen(self, code: int) -> Mask | None:
        """The generated samples of one condition that are not in training, for tests; None if too few are left.

        Real samples of the training set are left out of everything. If they are a part of what occurs often, a perfect
        generator would differ by them alone.
        """
        rows: Mask = self.generated.codes == code
        new = rows if self.copied is None else rows & ~self.copied
        return new if np.count_nonzero(new) >= FEWEST_COMPARED else None

    def unseen_pair(self, code: int) -> tuple[Any, Any] | None:
        """Both sides without training samples."""
        rows = self.unseen(code)
        return None if rows is None else (self.real.of(code), rows_of(self.generated.rows, rows))

    def fresh(self, code: int, real: Any) -> Any:
        """Real samples and those that are in training: what a perfect generator would generate."""
        return real if self.learned is None else concatenated(real, self.learned.of(code))

    def copies(self, code: int, generator: np.random.Generator, most: int) -> Any:
        """At most this many training samples of one condition; None without any."""
        if self.train is None:
            return None
        rows = np.flatnonzero(self.train.codes == code)
        return rows_of(self.train.rows, np.sort(generator.permutation(rows)[:most])) if len(rows) else None

    def trained(self, code: int) -> int:
        """How many training samples one condition has."""
        return 0 if self.train is None else int(np.count_nonzero(self.train.codes == code))

    def each(self, measure: Callable[[int], Any]) -> list[Any]:
        """The measurement in each condition with enough samples; None in the others."""
        return [measure(code) if self.enough[code] else None for code in range(self.groups)]

    def drawn(self, measured: list[Mapping[str, Floats] | None]) -> dict[str, Floats]:
        """The draws (draws, conditions) of each level that every compared condition has."""
        own = [(code, draws) for code, draws in enumerate(measured) if draws is not None]
        names = [name for name in (own[0][1] if own else ()) if all(name in draws for _, draws in own)]
        columns = {name: np.full((len(own[0][1][name]), self.groups), np.nan) for name in names}
        for code, draws in own:
            for name in names:
                columns[name][:, code] = draws[name]
        return columns

    def tables(self, labels: tuple[str, ...]) -> dict[str, Grid]:
        """Breakdowns other than by condition."""
        return {}

    @property
    def conventions(self) -> dict[str, str]:
        """What options changed the numbers."""
        return {}


Kind = TypeVar("Kind", bound=Compared)


@dataclass(frozen=True)
class TwoSided(ConditionSample, Generic[Kind]):
    """Both sides, averaged over conditions or separate."""

    sides: Kind = field(kw_only=True)

    @property
    def n(self) -> Ints:
        """The number of generated samples in each compared condition."""
        return np.where(self.sides.enough, self.sides.counts, 0)

    def averaged_draws(self, values: Floats) -> Floats:
        """Draws (draws, conditions) averaged over the conditions with a value, without NaN."""
        weights = np.where(np.isnan(values), 0, self.n if self.average == "micro" else 1)
        total = weights.sum(1)
        return np.asarray((np.nan_to_num(values) * weights).sum(1)[total > 0] / total[total > 0])

    def left_out(self) -> Mapping[str, str]:
        reasons = {}
        for place, label in enumerate(self.labels):
            real, generated = int(self.sides.real_counts[place]), int(self.sides.counts[place])
            if generated < FEWEST_COMPARED:
                reasons[label] = few(generated, FEWEST_COMPARED, "valid generated sample")
            elif real < FEWEST_COMPARED:
                reasons[label] = few(real, FEWEST_COMPARED, "real sample")
        return reasons

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        return self.sides.tables(self.labels)

    @property
    def conventions(self) -> dict[str, str]:
        return self.sides.conventions
