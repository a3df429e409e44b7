"""The statistics of real and generated samples, numbers and categories, and their distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.distances import NullDraws, null_distances, spreads, wasserstein
from graphgauge.generation.levels import SPLITS, Draws
from graphgauge.generation.metrics.compared import Compared
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.two_sample import Discrepancy, energy_test


class Columns:
    """Statistics as columns of numbers: one each, or one for each category of those of text, as 0 and 1."""

    def __init__(self, sides: Sides) -> None:
        every = (sides.real, sides.generated, sides.train)
        given = [side.statistics for side in every if side is not None and side.statistics is not None]
        self.spans: dict[str, slice] = {}
        self.words: dict[str, AnyArray] = {}
        start = 0
        for name in given[0]:
            columns = [part[name] for part in given]
            if columns[0].dtype.kind == "U":
                self.words[name] = np.unique(np.concatenate(columns))
            stop = start + (len(self.words[name]) if name in self.words else 1)
            self.spans[name], start = slice(start, stop), stop

    def of(self, statistics: Mapping[str, AnyArray], rows: int) -> Floats:
        """The columns (rows, columns) of some samples."""
        numbers = {name: statistics[name][:, np.newaxis] for name in self.spans}
        parts = [part == self.words[name] if name in self.words else part for name, part in numbers.items()]
        return np.concatenate(parts, axis=1).astype(np.float64) if parts else np.empty((rows, 0))

    def distances(self, columns: Floats) -> Floats:
        """Distances (…, statistics) from those of columns. Of categories, half of the sum: total variation."""
        return self._by_statistic(columns, lambda part: part.sum(-1) / 2)

    def spreads(self, columns: Floats) -> Floats:
        """Standard deviations (…, statistics). Of categories, the same as of 0 and 1 if there are two."""
        return self._by_statistic(columns, lambda part: np.sqrt((part**2).sum(-1) / 2))

    def _by_statistic(self, columns: Floats, of_categories: Callable[[Floats], Floats]) -> Floats:
        if not self.spans:
            return columns
        parts = {name: columns[..., span] for name, span in self.spans.items()}
        return np.stack([of_categories(p) if name in self.words else p[..., 0] for name, p in parts.items()], axis=-1)

    def in_units(self, rows: Floats, scale: Floats) -> Floats:
        """Rows (n, columns) in units of the scales of their statistics; different categories are one unit apart."""
        scaled = np.empty_like(rows)
        for place, (name, span) in enumerate(self.spans.items()):
            scaled[:, span] = over(rows[:, span], scale[place] * (np.sqrt(2) if name in self.words else 1))
        return scaled


def over(distances: Floats, scales: Any) -> Floats:
    """Distances divided by their scales; 0 if the scale is 0, because then nothing differs."""
    return np.where(scales == 0, 0.0, distances / np.where(scales == 0, 1.0, scales))


class Described(Compared):
    """Statistics (n, columns) of both sides, with their distances and those between real samples.

    Distances and scales are (conditions, statistics), and draws of them (draws, conditions, statistics).
    """

    def __init__(self, sides: Sides, draws: Draws) -> None:
        self.columns = Columns(sides)
        self.names = tuple(self.columns.spans)
        super().__init__(
            sides, draws, lambda side: None if side.statistics is None else self.columns.of(side.statistics, len(side))
        )

    # ---- distances of single statistics

    @cached_property
    def raw(self) -> Floats:
        """Distances in the units of the statistics."""
        return self._compared(self.columns.distances(self._wasserstein(self.generated.rows, self.generated.codes)))

    @cached_property
    def scaled(self) -> Floats:
        """Distances in units of the scales."""
        return over(self.raw, self.scale)

    def points(self, side: Samples, code: int) -> Floats:
        """The statistics of samples in units of the scales of a condition."""
        return self.columns.in_units(self.columns.of(side.statistics, len(side)), self.scale[code])

    @cached_property
    def constant(self) -> Mask:
        """Whether the real samples are constant."""
        spread = self.columns.spreads(spreads(self.real.rows, self.real.codes, self.groups))
        return np.asarray(self.enough[:, np.newaxis] & (spread == 0))

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation within each condition: of the real samples, or of all if the real ones are constant.

        0 if all are equal.
        """
        parts = (self._pooled, (self.real.rows, self.real.codes))
        pooled, own = (self.columns.spreads(spreads(rows, codes, self.groups)) for rows, codes in parts)
        return self._compared(np.where(self.constant, pooled, own))

    @cached_property
    def _pooled(self) -> tuple[Floats, Ints]:
        """Real and generated samples together."""
        both = self.real, self.generated
        return np.concatenate([part.rows for part in both]), np.concatenate([part.codes for part in both])

    def _wasserstein(self, rows: Floats, codes: Ints) -> Floats:
        return wasserstein(self.real.rows, rows, self.real.codes, codes, self.groups)

    def _compared(self, values: Floats) -> Floats:
        return np.where(self.enough[:, np.newaxis], values, np.nan)

    # ---- their levels

    @cached_property
    def memoriser(self) -> Floats | None:
        """Distances of training samples, drawn with replacement; None if a compared condition has none."""
        if self.train is None or not self.enough.any():
            return None
        generator, train = self.draws.generator(22), self.train
        rows = [np.flatnonzero(train.codes == code) for code in np.flatnonzero(self.enough)]
        if not all(map(len, rows)):
            return None
        codes, sizes, drawn = np.repeat(np.arange(self.groups), self.n), self.n[self.enough], []
        for _ in range(SPLITS):
            chosen = [generator.choice(own, size) for own, size in zip(rows, sizes, strict=True)]
            drawn.append(self._compared(self._wasserstein(train.rows[np.concatenate(chosen)], codes)))
        return self.columns.distances(np.array(drawn))

    @property
    def null(self) -> Floats:
        """Unscaled distances between two draws from the real samples."""
        return self._null_draws.distances

    @cached_property
    def scaled_null(self) -> Floats:
        """The same, each divided by the standard deviation of the draw that represents the real samples.

        A sample with a small spread by chance is further from others and has a smaller scale. With one scale for all
        draws the null distribution would lack its upper tail.
        """
        return over(self.null, self._null_draws.scales)

    @cached_property
    def _null_draws(self) -> NullDraws:
        """Draws from the real samples, or from all if the real ones are constant."""
        nulls = self._drawn_from(self.real.rows, self.real.codes, 1)
        columns = np.flatnonzero(self.constant.any(0))
        if len(columns):
            for values, other in zip(nulls, self._drawn_from(*self._pooled, 6), strict=True):
                values[:, :, columns] = np.where(self.constant[:, columns], other[:, :, columns], values[:, :, columns])
        return nulls

    def _drawn_from(self, rows: Floats, codes: Ints, stream: int) -> NullDraws:
        """Draws from n samples have (n − 1)/n of the variance of draws from the distribution."""
        nulls = null_distances(
            rows,
            codes,
            self.n,
            np.where(self.enough, self.real_counts, 0),
            draws=self.draws.draws,
            generator=self.draws.generator(stream),
            further=None if self.learned is None else (self.learned.rows, self.learned.codes),
        )
        n = np.maximum(np.bincount(codes, minlength=self.groups), 2)[:, np.newaxis]
        distances = self.columns.distances(nulls.distances) * np.sqrt(n / (n - 1))
        return NullDraws(distances, self.columns.spreads(nulls.scales))

    # ---- all scaled statistics together

    def _test(self, kind: str, code: int, rows: Mask) -> Discrepancy | None:
        if not self.names:
            return None
        pair = self.real.of(code), self.generated.rows[rows]
        real, generated = (self.columns.in_units(side, self.scale[code]) for side in pair)
        return energy_test(real, generated, permutations=self.draws.draws, generator=self.draws.generator(2, code))
