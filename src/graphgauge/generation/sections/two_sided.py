"""Real and generated samples by condition: their statistics, encodings or graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.options import whole_number
from graphgauge.generation.declared import FEWEST_COMPARED, few
from graphgauge.generation.distances import NullDraws, null_distances, rounded_off
from graphgauge.generation.graph_mmd import graph_mmd
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.samples import ConditionSample, canonical_order
from graphgauge.generation.table import SampleTable
from graphgauge.generation.two_sample import PRDC, EnergyTest, MMDTest, energy_test, mmd_test, prdc, stratified
from graphgauge.kernels.wasserstein import moments, wasserstein

# The number of neighbours in precision, recall, density and coverage.
NEIGHBOURS = 5


@dataclass(frozen=True)
class Draws:
    """The numbers of draws for null distributions without a closed form."""

    seed: int = 0
    resamples: int = 1000
    permutations: int = 999

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)

    def generator(self, *key: int) -> np.random.Generator:
        """A separate random stream for each purpose, so that values do not depend on the requested metrics."""
        return np.random.default_rng([self.seed, *key])


class Sides:
    """Both sides, and the conditions with enough samples on both."""

    def __init__(self, real: Any, real_codes: Codes, generated: Any, codes: Codes, groups: int) -> None:
        self.real, self.real_codes, self.generated, self.codes = real, real_codes, generated, codes
        self.groups = groups
        self.real_counts = np.bincount(real_codes, minlength=groups)
        self.counts = np.bincount(codes, minlength=groups)
        self.enough: Bits = (self.real_counts >= FEWEST_COMPARED) & (self.counts >= FEWEST_COMPARED)

    def pair(self, code: int) -> tuple[Any, Any]:
        """The real and the generated samples of one condition."""
        return _rows(self.real, self.real_codes == code), _rows(self.generated, self.codes == code)

    def each(self, measure: Callable[[int], Any]) -> list[Any]:
        """The measurement in each condition with enough samples; None in the others."""
        return [measure(code) if self.enough[code] else None for code in range(self.groups)]


def _rows(samples: Any, mask: Bits) -> Any:
    return samples.take(mask) if isinstance(samples, Graphs) else samples[mask]


@dataclass(frozen=True)
class TwoSided(ConditionSample):
    sides: Sides = field(kw_only=True)

    @property
    def n(self) -> Codes:
        """The number of generated samples in each compared condition."""
        return np.where(self.sides.enough, self.sides.counts, 0)

    def left_out(self) -> Mapping[str, str]:
        reasons = {}
        for place, label in enumerate(self.labels):
            real, generated = int(self.sides.real_counts[place]), int(self.sides.counts[place])
            if generated < FEWEST_COMPARED:
                reasons[label] = few(generated, FEWEST_COMPARED, "valid generated sample")
            elif real < FEWEST_COMPARED:
                reasons[label] = few(real, FEWEST_COMPARED, "real sample")
        return reasons


class Described(Sides):
    """Statistics (n, S) of both sides, with their distances and those between real samples."""

    def __init__(self, table: SampleTable, draws: Draws) -> None:
        assert table.statistics is not None
        assert table.generated_statistics is not None
        self.names, self._draws = tuple(table.statistics), draws
        real = _columns(table.statistics, self.names, len(table.real_codes))
        generated = _columns(table.generated_statistics, self.names, len(table.codes))
        super().__init__(*_in_order(real, table.real_codes), *_in_order(generated, table.codes, table.valid),
                         len(table.labels))  # fmt: skip

    @cached_property
    def raw(self) -> Floats:
        raw = wasserstein(self.real, self.generated, self.real_codes, self.codes, self.groups)
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
        return np.asarray(self.enough[:, np.newaxis] & (rounded_off(spread, mean) == 0))

    @cached_property
    def scale(self) -> Floats:
        """The standard deviation within each condition: of the real samples, or of all if the real ones are constant.

        0 if all are equal.
        """
        mean, spread = moments(*self._pooled, self.groups)[:2]
        scale = np.where(self.constant, rounded_off(spread, mean), self.real_moments[1])
        return np.where(self.enough[:, np.newaxis], scale, np.nan)

    @cached_property
    def scaled(self) -> Floats:
        return _over(self.raw, self.scale)

    @cached_property
    def _null_draws(self) -> NullDraws:
        """Draws from the real samples, or from all if the real ones are constant.

        Draws from n samples have (n − 1)/n of the variance of draws from the distribution.
        """
        sizes = np.where(self.enough, self.counts, 0), np.where(self.enough, self.real_counts, 0)
        resamples = self._draws.resamples

        def drawn(sample: Floats, codes: Codes, stream: int) -> NullDraws:
            found = null_distances(sample, codes, *sizes, draws=resamples, generator=self._draws.generator(stream))
            n = np.maximum(np.bincount(codes, minlength=self.groups), 2)[:, np.newaxis]
            return found._replace(distances=found.distances * np.sqrt(n / (n - 1)))

        nulls = drawn(self.real, self.real_codes, 1)
        columns = np.flatnonzero(self.constant.any(0))
        if len(columns):
            pooled, codes = self._pooled
            others = drawn(pooled[:, columns], codes, 6)
            for values, other in zip(nulls, others, strict=True):
                values[:, :, columns] = np.where(self.constant[:, columns], other, values[:, :, columns])
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

        def test(code: int) -> EnergyTest | None:
            if not self.names:
                return None
            real, generated = (_over(side, self.scale[code]) for side in self.pair(code))
            return energy_test(
                real, generated, permutations=self._draws.permutations, generator=self._draws.generator(2, code)
            )

        return self.each(test)

    @cached_property
    def energy_overall(self) -> EnergyTest | None:
        tests = [test for test in self.energy if test is not None]
        return stratified(tests) if tests else None


class Encoded(Sides):
    """Encodings (n, d) of both sides: latent vectors, or the bits if there is no encoder."""

    def __init__(self, table: SampleTable, draws: Draws, threads: int | None) -> None:
        self._draws, self._threads = draws, threads
        self.space = "latent vectors" if encoded(table) else "bits"
        if encoded(table):
            real, generated = table.latents, table.generated_latents
        else:
            real, generated = (_as_vectors(samples) for samples in (table.real, table.generated))
        assert real is not None
        assert generated is not None
        super().__init__(*_in_order(real, table.real_codes), *_in_order(generated, table.codes, table.valid),
                         len(table.labels))  # fmt: skip

    @cached_property
    def prdc(self) -> list[PRDC | None]:
        return self.each(lambda code: prdc(*self.pair(code), k=NEIGHBOURS, threads=self._threads))

    @cached_property
    def halves(self) -> list[PRDC | None]:
        """The same for one random half of the real samples against the other."""

        def halved(code: int) -> PRDC | None:
            real, _ = self.pair(code)
            order = self._draws.generator(3, code).permutation(len(real))
            half = len(real) // 2
            if half <= NEIGHBOURS:
                return None
            return prdc(real[order[half:]], real[order[:half]], k=NEIGHBOURS, threads=self._threads)

        return self.each(halved)

    @cached_property
    def mmd(self) -> list[MMDTest | None]:
        return self.each(
            lambda code: mmd_test(
                *self.pair(code), permutations=self._draws.permutations, generator=self._draws.generator(4, code)
            )
        )


class Drawn(Sides):
    """Graphs on both sides."""

    def __init__(self, table: SampleTable, draws: Draws) -> None:
        self._draws = draws
        kept = slice(None) if table.valid is None else table.valid
        assert isinstance(table.generated, Graphs)
        generated = table.generated if table.valid is None else table.generated.take(table.valid)
        super().__init__(table.real, table.real_codes, generated, table.codes[kept], len(table.labels))
        self._tests: dict[str, list[MMDTest | None]] = {}

    def mmd(self, kind: str) -> list[MMDTest | None]:
        if kind not in self._tests:
            self._tests[kind] = self.each(
                lambda code: graph_mmd(
                    *self.pair(code), kind, permutations=self._draws.permutations,
                    generator=self._draws.generator(5, code),
                )
            )  # fmt: skip
        return self._tests[kind]


def encoded(table: SampleTable) -> bool:
    return table.latents is not None and table.generated_latents is not None


def _over(distances: Floats, scales: Floats) -> Floats:
    """Distances divided by their scales; 0 if the scale is 0, because then nothing differs."""
    return np.where(scales == 0, 0.0, distances / np.where(scales == 0, 1.0, scales))


def _columns(statistics: Mapping[str, Floats], names: tuple[str, ...], rows: int) -> Floats:
    return np.column_stack([statistics[name] for name in names]) if names else np.empty((rows, 0))


def _as_vectors(samples: Any) -> Floats:
    return np.ascontiguousarray(samples.reshape(len(samples), int(np.prod(samples.shape[1:]))), dtype=np.float64)


def _in_order(values: Floats, codes: Codes, valid: Bits | None = None) -> tuple[Floats, Codes]:
    """The valid rows, in an order by content."""
    kept = np.arange(len(codes)) if valid is None else np.flatnonzero(valid)
    kept = kept[canonical_order(codes[kept], values[kept])]
    return values[kept], codes[kept]
