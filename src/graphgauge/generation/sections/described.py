"""The statistics of real and generated samples, numbers and categories, and their distances."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.generation.distances import NullDraws, null_distances, rounded_off
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.levels import MOST, SPLITS, Draws, kernel_levels, unstructured
from graphgauge.generation.sections.two_sided import Sides, copied_rows, in_order
from graphgauge.generation.table import SampleTable
from graphgauge.generation.two_sample import EnergyTest, energy, energy_test, squared_distances, stratified
from graphgauge.kernels.wasserstein import moments, wasserstein
from graphgauge.old.core.result import Table

# The goal of a distance: this quantile of the distance between two draws from the real samples.
UPPER = 0.95


class Described(Sides):
    """Statistics (n, S) of both sides, with their distances and those between real samples."""

    def __init__(self, table: SampleTable, draws: Draws) -> None:
        assert table.statistics is not None
        assert table.generated_statistics is not None
        self.names, self._draws = tuple(table.statistics), draws
        self._spans = _spans(table)
        real, generated = (
            _columns(part, self._spans, rows)
            for part, rows in (
                (table.statistics, len(table.real_codes)),
                (table.generated_statistics, len(table.codes)),
            )
        )
        super().__init__(
            *in_order(real, table.real_codes, table.real_kept),
            *in_order(generated, table.codes, table.kept),
            len(table.labels),
        )
        if table.train_statistics is not None and table.train_codes is not None:
            rows = _columns(table.train_statistics, self._spans, len(table.train_codes))
            self.train, self.train_codes = in_order(rows, table.train_codes)
        if table.excluded_statistics is not None and len(table.excluded):
            rows = _columns(table.excluded_statistics, self._spans, len(table.excluded))
            self.left, self.left_codes = in_order(rows, table.excluded, table.excluded_kept)
        self.copied = copied_rows(generated, table)

    @cached_property
    def memoriser(self) -> Floats | None:
        """Distances (draws, conditions, statistics) of training samples in place of the generated ones."""
        if self.train is None or self.train_codes is None:
            return None
        generator, found = self._draws.generator(22), np.full((SPLITS, self.groups, self.real.shape[1]), np.nan)
        rows = [np.flatnonzero(self.train_codes == code) for code in range(self.groups)]
        compared = self.enough & np.array([len(own) > 0 for own in rows])
        sizes = np.where(compared, self.counts, 0)
        codes = np.repeat(np.arange(self.groups), sizes)
        for place in range(SPLITS):
            chosen = [
                generator.choice(own, size, replace=size > len(own))
                for own, size in zip(rows, sizes, strict=True)
                if size
            ]
            if chosen:
                drawn = wasserstein(self.real, self.train[np.concatenate(chosen)], self.real_codes, codes, self.groups)
                found[place] = np.where(compared[:, np.newaxis], drawn, np.nan)
        return self._distances(found) if (compared | ~self.enough).all() and compared.any() else None

    def _distances(self, columns: Floats) -> Floats:
        """Distances (…, statistics) from those of columns. Of categories, half of the sum: total variation."""
        return (
            np.stack(
                [
                    columns[..., span.start] if words is None else columns[..., span].sum(-1) / 2
                    for span, words in self._spans.values()
                ],
                axis=-1,
            )
            if self._spans
            else columns
        )

    def _spreads(self, columns: Floats) -> Floats:
        """Standard deviations (…, statistics). Of categories, the same as of 0 and 1 if there are two."""
        return (
            np.stack(
                [
                    columns[..., span.start] if words is None else np.sqrt((columns[..., span] ** 2).sum(-1) / 2)
                    for span, words in self._spans.values()
                ],
                axis=-1,
            )
            if self._spans
            else columns
        )

    def columns(self, statistics: Mapping[str, Any], rows: int) -> Floats:
        """Statistics in the columns of this comparison (rows, columns)."""
        return _columns(statistics, self._spans, rows)

    def in_units(self, rows: Floats, scale: Floats) -> Floats:
        """Rows (n, columns) in units of the scales of their statistics; different categories are one unit apart."""
        found = np.empty_like(rows)
        for place, (span, words) in enumerate(self._spans.values()):
            found[:, span] = _over(rows[:, span], scale[place] * (1 if words is None else np.sqrt(2)))
        return found

    def is_categorical(self, place: int) -> bool:
        return list(self._spans.values())[place][1] is not None

    @cached_property
    def raw(self) -> Floats:
        raw = self._distances(wasserstein(self.real, self.generated, self.real_codes, self.codes, self.groups))
        return np.where(self.enough[:, np.newaxis], raw, np.nan)

    @cached_property
    def real_moments(self) -> tuple[Floats, Floats]:
        return moments(self.real, self.real_codes, self.groups)[:2]

    @cached_property
    def generated_moments(self) -> tuple[Floats, Floats]:
        return moments(self.generated, self.codes, self.groups)[:2]

    @cached_property
    def _pooled(self) -> tuple[Floats, Codes]:
        """Real and generated samples together."""
        return np.concatenate([self.real, self.generated]), np.concatenate([self.real_codes, self.codes])

    @cached_property
    def constant(self) -> Bits:
        """Whether (conditions, statistics) the real samples are constant."""
        mean, spread = self.real_moments
        return np.asarray(self.enough[:, np.newaxis] & (self._spreads(rounded_off(spread, mean)) == 0))

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation within each condition: of the real samples, or of all if the real ones are constant.

        0 if all are equal.
        """
        mean, spread = moments(*self._pooled, self.groups)[:2]
        scale = np.where(self.constant, self._spreads(rounded_off(spread, mean)), self._spreads(self.real_moments[1]))
        return np.where(self.enough[:, np.newaxis], scale, np.nan)

    @cached_property
    def scaled(self) -> Floats:
        return _over(self.raw, self.scale)

    def scaled_by(self, draws: Floats) -> Floats:
        """Distances (draws, conditions, statistics) in units of the scale."""
        return _over(draws, self.scale)

    def by_statistic(self, labels: tuple[str, ...]) -> dict[str, Table]:
        """A table by condition for each statistic: distances, their null distribution, the moments of both sides."""
        tables = {}
        for place, name in enumerate(self.names):
            null = self.null[:, :, place]
            own = list(self._spans.values())[place][0].start
            moments_of = [
                np.full(self.groups, np.nan) if self.is_categorical(place) else part[:, own]
                for part in (*self.real_moments, *self.generated_moments)
            ]
            columns = {
                name: np.array(labels),
                "n": self.counts,
                "real_n": self.real_counts.astype(float),
                "wasserstein": self.raw[:, place],
                "scaled": self.scaled[:, place],
                "null_mean": null.mean(0),
                "null_95": np.quantile(null, UPPER, axis=0),
                "real_mean": moments_of[0],
                "real_std": moments_of[1],
                "generated_mean": moments_of[2],
                "generated_std": moments_of[3],
            }
            tables[name] = Table(name, columns)
        return tables

    @cached_property
    def _null_draws(self) -> NullDraws:
        """Draws from the real samples, or from all if the real ones are constant.

        Draws from n samples have (n − 1)/n of the variance of draws from the distribution.
        """
        sizes = np.where(self.enough, self.counts, 0), np.where(self.enough, self.real_counts, 0)
        resamples = self._draws.resamples

        further = None if self.left is None or self.left_codes is None else (self.left, self.left_codes)

        def drawn(sample: Floats, codes: Codes, stream: int) -> NullDraws:
            found = null_distances(
                sample, codes, *sizes, draws=resamples, generator=self._draws.generator(stream), further=further
            )
            found = NullDraws(self._distances(found.distances), self._spreads(found.scales))
            n = np.maximum(np.bincount(codes, minlength=self.groups), 2)[:, np.newaxis]
            return found._replace(distances=found.distances * np.sqrt(n / (n - 1)))

        nulls = drawn(self.real, self.real_codes, 1)
        columns = np.flatnonzero(self.constant.any(0))
        if len(columns):
            pooled, codes = self._pooled
            others = drawn(pooled, codes, 6)
            for values, other in zip(nulls, others, strict=True):
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
        return _over(self.null, self._null_draws.scales)

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

    def _energy(self, code: int, pair: tuple[Any, Any] | None) -> EnergyTest | None:
        if not self.names or pair is None:
            return None
        real, generated = (self.in_units(side, self.scale[code]) for side in pair)
        return energy_test(
            real, generated, permutations=self._draws.permutations, generator=self._draws.generator(2, code)
        )

    @cached_property
    def energy_levels(self) -> dict[str, Floats]:
        """Energy distances of two draws from the real samples, and of samples with separate coordinates."""

        def levels(code: int) -> Mapping[str, Floats] | None:
            test = self.energy[code]
            if test is None:
                return None
            own = self.pair(code)[0]
            real, fresh = (self.in_units(side, self.scale[code]) for side in (own, self.fresh(code, own)))
            generator = self._draws.generator(9, code)
            chance = unstructured(real, min(4 * test.n[1], MOST), generator) if real.shape[1] > 1 else real[:0]
            pools = {"chance": chance}
            train = self.copies(code, generator, MOST)
            if train is not None:
                pools["memoriser"] = self.in_units(train, self.scale[code])
            return kernel_levels(
                lambda x, y: np.sqrt(squared_distances(x, y)),
                real,
                pools,
                *test.n,
                energy,
                draws=self._draws.resamples,
                generator=generator,
                fresh=fresh,
            )

        return self.drawn(self.each(levels))

    @cached_property
    def energy_overall(self) -> EnergyTest | None:
        tests = [test for test in self.energy_tested if test is not None]
        return stratified(tests) if tests else None


def _over(distances: Floats, scales: Floats) -> Floats:
    """Distances divided by their scales; 0 if the scale is 0, because then nothing differs."""
    return np.where(scales == 0, 0.0, distances / np.where(scales == 0, 1.0, scales))


# The columns of each statistic, and the categories if it has any.
Spans = dict[str, tuple[slice, Any]]


def _spans(table: SampleTable) -> Spans:
    """Numbers have one column; categories have one each, of those that occur on any side."""
    given = table.statistics, table.generated_statistics, table.train_statistics, table.excluded_statistics
    sides = [part for part in given if part is not None]
    found, start = {}, 0
    for name in sides[0]:
        columns = [part[name] for part in sides]
        texts = {column.dtype.kind == "U" for column in columns}
        if len(texts) > 1:
            raise InputError(f"{name} is text on one side and numbers on the other", where="statistics")
        words = np.unique(np.concatenate(columns)) if texts == {True} else None
        width = 1 if words is None else len(words)
        found[name] = slice(start, start + width), words
        start += width
    return found


def _columns(statistics: Mapping[str, Any], spans: Spans, rows: int) -> Floats:
    parts = [
        statistics[name][:, np.newaxis] if words is None else statistics[name][:, np.newaxis] == words
        for name, (_, words) in spans.items()
    ]
    return np.concatenate(parts, axis=1).astype(np.float64) if parts else np.empty((rows, 0))


def columns_of(statistics: Mapping[str, Any], table: SampleTable) -> tuple[Floats, list[str]]:
    """The columns of one side, and their names."""
    spans = _spans(table)
    names = []
    for name, (_, words) in spans.items():
        names += [name] if words is None else [f"{name} = {word}" for word in words.tolist()]
    return _columns(statistics, spans, len(next(iter(statistics.values()), ()))), names
