"""The statistics of real and generated samples, numbers and categories, and their distances."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.levels import MOST, SPLITS, Draws, kernel_levels
from graphgauge.generation.references import unstructured
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.two_sided import Compared
from graphgauge.generation.two_sample import EnergyTest, energy, energy_test, stratified
from graphgauge.generation.wasserstein import NullDraws, moments, null_distances, rounded_off, wasserstein

# The goal of a distance: this quantile of the distance between two draws from the real samples.
UPPER = 0.95


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
        parts = [
            statistics[name][:, np.newaxis] == self.words[name]
            if name in self.words
            else statistics[name][:, np.newaxis]
            for name in self.spans
        ]
        return np.concatenate(parts, axis=1).astype(np.float64) if parts else np.empty((rows, 0))

    @property
    def names(self) -> list[str]:
        """A name for each column."""
        return [
            name if word is None else f"{name} = {word}"
            for name in self.spans
            for word in (self.words[name].tolist() if name in self.words else [None])
        ]

    def distances(self, columns: Floats) -> Floats:
        """Distances (…, statistics) from those of columns. Of categories, half of the sum: total variation."""
        return self._by_statistic(columns, lambda part: part.sum(-1) / 2)

    def spreads(self, columns: Floats) -> Floats:
        """Standard deviations (…, statistics). Of categories, the same as of 0 and 1 if there are two."""
        return self._by_statistic(columns, lambda part: np.sqrt((part**2).sum(-1) / 2))

    def _by_statistic(self, columns: Floats, of_categories: Any) -> Floats:
        if not self.spans:
            return columns
        parts = (columns[..., span] for span in self.spans.values())
        known = zip(self.spans, parts, strict=True)
        return np.stack([of_categories(p) if name in self.words else p[..., 0] for name, p in known], axis=-1)

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
    """Statistics (n, columns) of both sides, with their distances and those between real samples."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        self.columns, self._draws = Columns(sides), draws
        self.names = tuple(self.columns.spans)
        super().__init__(
            sides, lambda side: None if side.statistics is None else self.columns.of(side.statistics, len(side))
        )

    # ---- distances of single statistics

    @cached_property
    def raw(self) -> Floats:
        """Distances (conditions, statistics) in the units of the statistics."""
        distances = self.columns.distances(self._wasserstein(self.generated.rows, self.generated.codes))
        return np.where(self.enough[:, np.newaxis], distances, np.nan)

    def _wasserstein(self, rows: Floats, codes: Ints) -> Floats:
        return wasserstein(self.real.rows, rows, self.real.codes, codes, self.groups)

    @cached_property
    def real_moments(self) -> tuple[Floats, Floats]:
        return moments(self.real.rows, self.real.codes, self.groups)[:2]

    @cached_property
    def _pooled(self) -> tuple[Floats, Ints]:
        """Real and generated samples together."""
        both = self.real, self.generated
        return np.concatenate([part.rows for part in both]), np.concatenate([part.codes for part in both])

    @cached_property
    def constant(self) -> Mask:
        """Whether (conditions, statistics) the real samples are constant."""
        mean, spread = self.real_moments
        return np.asarray(self.enough[:, np.newaxis] & (self.columns.spreads(rounded_off(spread, mean)) == 0))

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation within each condition: of the real samples, or of all if the real ones are constant.

        0 if all are equal.
        """
        mean, spread = moments(*self._pooled, self.groups)[:2]
        pooled = self.columns.spreads(rounded_off(spread, mean))
        scale = np.where(self.constant, pooled, self.columns.spreads(self.real_moments[1]))
        return np.where(self.enough[:, np.newaxis], scale, np.nan)

    @cached_property
    def scaled(self) -> Floats:
        return over(self.raw, self.scale)

    def scaled_by(self, draws: Floats) -> Floats:
        """Distances (draws, conditions, statistics) in units of the scale."""
        return over(draws, self.scale)

    # ---- their levels

    @cached_property
    def memoriser(self) -> Floats | None:
        """Distances (draws, conditions, statistics) of training samples, drawn with replacement."""
        if self.train is None:
            return None
        generator, train = self._draws.generator(22), self.train
        drawn = np.full((SPLITS, self.groups, self.real.rows.shape[1]), np.nan)
        rows = [np.flatnonzero(train.codes == code) for code in range(self.groups)]
        compared = self.enough & np.array([len(own) > 0 for own in rows])
        if not compared.any() or not (compared | ~self.enough).all():
            return None
        sizes = np.where(compared, self.counts, 0)
        codes = np.repeat(np.arange(self.groups), sizes)
        for place in range(SPLITS):
            chosen = [generator.choice(own, size) for own, size in zip(rows, sizes, strict=True) if size]
            distances = self._wasserstein(train.rows[np.concatenate(chosen)], codes)
            drawn[place] = np.where(compared[:, np.newaxis], distances, np.nan)
        return self.columns.distances(drawn)

    @cached_property
    def _null_draws(self) -> NullDraws:
        """Draws from the real samples, or from all if the real ones are constant.

        Draws from n samples have (n − 1)/n of the variance of draws from the distribution.
        """
        sizes = np.where(self.enough, self.counts, 0), np.where(self.enough, self.real_counts, 0)
        further = None if self.learned is None else (self.learned.rows, self.learned.codes)

        def drawn(rows: Floats, codes: Ints, stream: int) -> NullDraws:
            nulls = null_distances(
                rows, codes, *sizes, draws=self._draws.draws, generator=self._draws.generator(stream), further=further
            )
            n = np.maximum(np.bincount(codes, minlength=self.groups), 2)[:, np.newaxis]
            distances = self.columns.distances(nulls.distances) * np.sqrt(n / (n - 1))
            return NullDraws(distances, self.columns.spreads(nulls.scales))

        nulls = drawn(self.real.rows, self.real.codes, 1)
        columns = np.flatnonzero(self.constant.any(0))
        if len(columns):
            for values, other in zip(nulls, drawn(*self._pooled, 6), strict=True):
                values[:, :, columns] = np.where(self.constant[:, columns], other[:, :, columns], values[:, :, columns])
        return nulls

    @property
    def null(self) -> Floats:
        """Unscaled distances (draws, conditions, statistics) between two draws from the real samples."""
        return self._null_draws.distances

    @cached_property
    def scaled_null(self) -> Floats:
        """The same, each divided by the standard deviation of the draw that represents the real samples.

        A sample with a small spread by chance is further from others and has a smaller scale. With one scale for all
        draws the null distribution would lack its upper tail.
        """
        return over(self.null, self._null_draws.scales)

    # ---- all statistics together

    @cached_property
    def energy(self) -> list[EnergyTest | None]:
        """The energy test of all scaled statistics together in each condition."""
        return self.each(lambda code: self._energy(code, self.pair(code)))

    @cached_property
    def energy_tested(self) -> list[EnergyTest | None]:
        """The same without training samples, for the p-value."""
        if self.copied is None:
            return self.energy
        return self.each(lambda code: self._energy(code, self.unseen_pair(code)))

    @cached_property
    def energy_overall(self) -> EnergyTest | None:
        tests = [test for test in self.energy_tested if test is not None]
        return stratified(tests) if tests else None

    def _energy(self, code: int, pair: tuple[Any, Any] | None) -> EnergyTest | None:
        if not self.names or pair is None:
            return None
        real, generated = (self.columns.in_units(side, self.scale[code]) for side in pair)
        return energy_test(real, generated, permutations=self._draws.draws, generator=self._draws.generator(2, code))

    @cached_property
    def energy_levels(self) -> dict[str, Floats]:
        """Energy distances of two draws from the real samples, and of samples with separate coordinates."""

        def levels(code: int) -> Mapping[str, Floats] | None:
            test = self.energy[code]
            if test is None:
                return None
            own, scale = self.real.of(code), self.scale[code]
            real, fresh = (self.columns.in_units(side, scale) for side in (own, self.fresh(code, own)))
            generator = self._draws.generator(9, code)
            chance = unstructured(real, min(4 * test.n[1], MOST), generator) if real.shape[1] > 1 else real[:0]
            pools = {"chance": chance}
            train = self.copies(code, generator, MOST)
            if train is not None:
                pools["memoriser"] = self.columns.in_units(train, scale)
            return kernel_levels(
                lambda x, y: np.sqrt(squared_distances(x, y)),
                real,
                pools,
                *test.n,
                energy,
                draws=self._draws.draws,
                generator=generator,
                fresh=fresh,
                train=self.trained(code),
            )

        return self.drawn(self.each(levels))

    # ---- tables

    def tables(self, labels: tuple[str, ...]) -> dict[str, Grid]:
        """A table by condition for each statistic: distances, their null distribution, the moments of both sides."""
        generated = moments(self.generated.rows, self.generated.codes, self.groups)[:2]
        grids = {}
        for place, (name, span) in enumerate(self.columns.spans.items()):
            null, own = self.null[:, :, place], span.start
            centres = [part[:, own] for part in (*self.real_moments, *generated)]
            if name in self.columns.words:
                centres = [np.full(self.groups, np.nan)] * 4
            grids[name] = Grid(
                {
                    name: np.array(labels),
                    "n": self.counts,
                    "real_n": self.real_counts.astype(float),
                    "wasserstein": self.raw[:, place],
                    "scaled": self.scaled[:, place],
                    "null_mean": null.mean(0),
                    "null_95": np.quantile(null, UPPER, axis=0),
                    **dict(zip(("real_mean", "real_std", "generated_mean", "generated_std"), centres, strict=True)),
                }
            )
        return grids
