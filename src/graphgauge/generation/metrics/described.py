"""The statistics of real and generated samples, and their distances."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.distances import NullDraws, null_distances, spreads, wasserstein
from graphgauge.generation.levels import SPLITS, Draws
from graphgauge.generation.metrics.compared import Compared
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.two_sample import Discrepancy, energy_test


def over(distances: Floats, scales: Any) -> Floats:
    """Distances divided by their scales; 0 if the scale is 0, because then nothing differs."""
    return np.where(scales == 0, 0.0, distances / np.where(scales == 0, 1.0, scales))


class Described(Compared):
    """Statistics (n, statistics) of both sides, with their distances and those between real samples.

    Distances and scales are (conditions, statistics), and draws of them (draws, conditions, statistics).
    """

    def __init__(self, sides: Sides, draws: Draws) -> None:
        every = (sides.real, sides.generated, sides.train)
        self.names: tuple[str, ...] = next(
            tuple(side.statistics) for side in every if side is not None and side.statistics is not None
        )
        super().__init__(sides, draws, self._rows)

    def _rows(self, side: Samples) -> Floats | None:
        if side.statistics is None:
            return None
        columns = [side.statistics[name] for name in self.names]
        return np.column_stack(columns).astype(np.float64) if columns else np.empty((len(side), 0))

    # ---- distances of single statistics

    @cached_property
    def raw(self) -> Floats:
        """Distances in the units of the statistics."""
        return self._compared(self._wasserstein(self.generated.rows, self.generated.codes))

    @cached_property
    def scaled(self) -> Floats:
        """Distances in units of the scales."""
        return over(self.raw, self.scale)

    def points(self, side: Samples, code: int) -> Floats:
        """The statistics of samples in units of the scales of a condition."""
        rows = self._rows(side)
        assert rows is not None
        return over(rows, self.scale[code])

    @cached_property
    def constant(self) -> Mask:
        """Whether the real samples are constant."""
        spread = spreads(self.real.rows, self.real.codes, self.groups)
        return np.asarray(self.enough[:, np.newaxis] & (spread == 0))

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation within each condition: of the real samples, or of all if the real ones are constant.

        0 if all are equal.
        """
        parts = (self._pooled, (self.real.rows, self.real.codes))
        pooled, own = (spreads(rows, codes, self.groups) for rows, codes in parts)
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
        return np.array(drawn)

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
        return NullDraws(nulls.distances * np.sqrt(n / (n - 1)), nulls.scales)

    # ---- all scaled statistics together

    def _test(self, kind: str, code: int, rows: Mask) -> Discrepancy | None:
        if not self.names:
            return None
        pair = self.real.of(code), self.generated.rows[rows]
        real, generated = (over(side, self.scale[code]) for side in pair)
        return energy_test(real, generated, permutations=self.draws.draws, generator=self.draws.generator(2, code))
