"""Real and generated samples by condition: their statistics, encodings or graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.core.result import Table
from graphgauge.generation.declared import FEWEST_COMPARED, few
from graphgauge.generation.distances import NullDraws, null_distances, rounded_off
from graphgauge.generation.graph_mmd import CONVENTIONS, feature_mmd, padded
from graphgauge.generation.graphs import Graphs, concatenated
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.levels import (
    MOST,
    SPLITS,
    kernel_levels,
    near_copies,
    note_of_sizes,
    split_sizes,
    splits,
    unstructured,
)
from graphgauge.generation.samples import ConditionSample, canonical_order
from graphgauge.generation.table import SampleTable
from graphgauge.generation.two_sample import (
    PRDC,
    EnergyTest,
    MMDTest,
    Neighbours,
    biased,
    energy,
    energy_test,
    mmd_test,
    prdc,
    prdc_of,
    squared_distances,
    squared_radii,
    stratified,
    unbiased,
)
from graphgauge.kernels.wasserstein import moments, wasserstein

# The goal of a distance: this quantile of the distance between two draws from the real samples.
UPPER = 0.95
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
        return _rows(self.real, self.real_codes == code), _rows(self.generated, self.codes == code)

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
        return None if rows is None else (self.pair(code)[0], _rows(self.generated, rows))

    def fresh(self, code: int, real: Any) -> Any:
        """Real samples and those that were left out: what a perfect generator would generate."""
        if self.left is None or self.left_codes is None:
            return real
        return concatenated(real, _rows(self.left, self.left_codes == code))

    def copies(self, code: int, generator: np.random.Generator, most: int) -> Any:
        """At most this many training samples of one condition; None without any."""
        if self.train is None or self.train_codes is None:
            return None
        rows = np.flatnonzero(self.train_codes == code)
        return _rows(self.train, np.sort(generator.permutation(rows)[:most])) if len(rows) else None

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


def _rows(samples: Any, rows: Bits | Codes) -> Any:
    return samples.take(rows) if isinstance(samples, Graphs) else samples[rows]


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
        super().__init__(*_in_order(real, table.real_codes, table.real_valid),
                         *_in_order(generated, table.codes, table.valid), len(table.labels))  # fmt: skip
        if table.train_statistics is not None and table.train_codes is not None:
            rows = _columns(table.train_statistics, self._spans, len(table.train_codes))
            self.train, self.train_codes = _in_order(rows, table.train_codes)
        if table.excluded_statistics is not None and len(table.excluded):
            rows = _columns(table.excluded_statistics, self._spans, len(table.excluded))
            self.left, self.left_codes = _in_order(rows, table.excluded, table.excluded_valid)
        self.copied = _copied_rows(generated, table)

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
        return np.stack(
            [
                columns[..., span.start] if words is None else columns[..., span].sum(-1) / 2
                for span, words in self._spans.values()
            ],
            axis=-1,
        ) if self._spans else columns  # fmt: skip

    def _spreads(self, columns: Floats) -> Floats:
        """Standard deviations (…, statistics). Of categories, the same as of 0 and 1 if there are two."""
        return np.stack(
            [
                columns[..., span.start] if words is None else np.sqrt((columns[..., span] ** 2).sum(-1) / 2)
                for span, words in self._spans.values()
            ],
            axis=-1,
        ) if self._spans else columns  # fmt: skip

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
                lambda x, y: np.sqrt(squared_distances(x, y)), real, pools, *test.n, energy,
                draws=self._draws.resamples, generator=generator, fresh=fresh,
            )  # fmt: skip

        return self.drawn(self.each(levels))

    @cached_property
    def energy_overall(self) -> EnergyTest | None:
        tests = [test for test in self.energy_tested if test is not None]
        return stratified(tests) if tests else None


class Encoded(Sides):
    """Encodings (n, d) of both sides: latent vectors, or the bits if there is no encoder."""

    def __init__(self, table: SampleTable, draws: Draws, threads: int | None) -> None:
        self._draws, self._threads = draws, threads
        self.space = "latent vectors" if encoded(table) else "bits"
        train: Floats | None
        if encoded(table):
            real, generated, train = table.latents, table.generated_latents, table.train_latents
        else:
            real, generated = (_as_vectors(samples) for samples in (table.real, table.generated))
            train = None if table.train is None or not len(table.train) else _as_vectors(table.train)
        if train is not None and table.train_codes is not None:
            self.train, self.train_codes = _in_order(train, table.train_codes)
        left = table.excluded_latents if encoded(table) else table.excluded_samples
        if isinstance(left, np.ndarray) and len(table.excluded):
            rows = _as_vectors(left)
            self.left, self.left_codes = _in_order(rows, table.excluded, table.excluded_valid)
        assert generated is not None
        self.copied = _copied_rows(generated, table)
        assert real is not None
        assert generated is not None
        super().__init__(*_in_order(real, table.real_codes, table.real_valid),
                         *_in_order(generated, table.codes, table.valid), len(table.labels))  # fmt: skip

    def pools(self, code: int, real: Floats, count: int, generator: np.random.Generator) -> dict[str, Floats]:
        """Samples of the reference generators other than the perfect one."""
        pools: dict[str, Floats] = {}
        train = self.copies(code, generator, MOST)
        if train is not None:
            pools["memoriser"] = train
            if self.space == "bits":
                pools["near_copy"] = near_copies(train, generator)
        if real.shape[1] > 1:
            pools["chance"] = unstructured(real, max(count, min(4 * count, MOST)), generator)
        return pools

    @cached_property
    def prdc(self) -> list[PRDC | None]:
        return self.each(lambda code: prdc(*self.pair(code), k=NEIGHBOURS, threads=self._threads))

    @cached_property
    def prdc_levels(self) -> tuple[dict[str, dict[str, Floats]], list[PRDC | None], str | None]:
        """The draws of each level of each measure, the run at the same sizes, and what these are."""
        sizes: dict[int, tuple[int, int]] = {}
        own: list[PRDC | None] = [None] * self.groups
        most = _most_points(self.real.shape[1])

        def levels(code: int) -> Mapping[str, list[PRDC]] | None:
            real, generated = self.pair(code)
            kept, fresh = split_sizes(len(real), len(generated), most)
            if min(kept, fresh) <= NEIGHBOURS:
                return None
            sizes[code] = kept, fresh
            generator = self._draws.generator(3, code)
            real = real[np.sort(generator.choice(len(real), min(len(real), most), replace=False))]
            held_out = len(real)
            real = self.fresh(code, real)
            within = squared_distances(real, real)
            parts, neighbours = splits(held_out, len(real), kept, fresh, generator), Neighbours(within, NEIGHBOURS)
            radii = [neighbours.radii(a) for a, _ in parts]
            found = {
                "perfect": [
                    prdc_of(own_radii, neighbours.radii(b), within[np.ix_(a, b)], NEIGHBOURS)
                    for (a, b), own_radii in zip(parts, radii, strict=True)
                ]
            }

            def against(pool: Floats, place: int) -> PRDC:
                some = pool[generator.choice(len(pool), fresh, replace=len(pool) < fresh)]
                inside = squared_radii(squared_distances(some, some), NEIGHBOURS)
                return prdc_of(radii[place], inside, squared_distances(real[parts[place][0]], some), NEIGHBOURS)

            own[code] = against(generated, 0)
            for name, pool in self.pools(code, real, fresh, generator).items():
                found[name] = [against(pool, place) for place in range(len(parts))]
            return found

        drawn = self.each(levels)
        measures = {
            name: self.drawn(
                [None if each is None else {kind: np.array([getattr(one, name) for one in draws])
                                            for kind, draws in each.items()} for each in drawn]
            )
            for name in PRDC._fields
        }  # fmt: skip
        note = None
        if sizes:
            kept, fresh = ([pair[side] for pair in sizes.values()] for side in (0, 1))
            note = note_of_sizes(kept, fresh, self.groups)
        return measures, own, note

    @cached_property
    def mmd(self) -> list[MMDTest | None]:
        return self.each(lambda code: self._mmd(code, self.pair(code)))

    @cached_property
    def mmd_tested(self) -> list[MMDTest | None]:
        """The same without training samples, for the p-value."""
        return self.mmd if self.copied is None else self.each(lambda code: self._mmd(code, self.unseen_pair(code)))

    def _mmd(self, code: int, pair: tuple[Any, Any] | None) -> MMDTest | None:
        if pair is None:
            return None
        return mmd_test(*pair, permutations=self._draws.permutations, generator=self._draws.generator(4, code))

    @cached_property
    def mmd_levels(self) -> dict[str, Floats]:
        def levels(code: int) -> Mapping[str, Floats] | None:
            test = self.mmd[code]
            if test is None:
                return None
            real, _ = self.pair(code)
            generator, width = self._draws.generator(10, code), -2 * test.bandwidth**2

            def levels_of(some: Floats, pools: dict[str, Floats], fresh: Any) -> dict[str, Floats]:
                return kernel_levels(
                    lambda x, y: np.exp(squared_distances(x, y) / width), some, pools, min(len(some), test.n[0]),
                    test.n[1], unbiased,
                    draws=self._draws.resamples, generator=generator, fresh=fresh,
                )  # fmt: skip

            count = min(max(test.n[1], 2), MOST)
            pools = self.pools(code, real, count, generator)
            others = {name: pool for name, pool in pools.items() if name != "chance"}
            found = levels_of(real, others, self.fresh(code, real))
            if "chance" in pools:
                # Samples made of the coordinates of the same real ones would be too near to them.
                first, second = real[::2], real[1::2]
                apart = {"chance": unstructured(second, max(count, min(4 * count, MOST)), generator)}
                found["chance"] = levels_of(first, apart, first)["chance"]
            return found

        return self.drawn(self.each(levels))


def _most_points(width: int) -> int:
    """How many points the levels of neighbourhoods use at most, so that they take seconds."""
    return int(np.clip(np.sqrt(4e9 / (SPLITS * max(width, 1))), 100, MOST))


class Drawn(Sides):
    """Graphs on both sides."""

    def __init__(self, table: SampleTable, draws: Draws, convention: str) -> None:
        self._draws, self.convention = draws, CONVENTIONS[convention]
        assert isinstance(table.real, Graphs)
        assert isinstance(table.generated, Graphs)
        sides = (table.real, table.real_codes, table.real_valid), (table.generated, table.codes, table.valid)
        kept = [np.ones(len(codes), bool) if valid is None else valid for _, codes, valid in sides]
        (real, real_codes), (generated, codes) = (
            (graphs.take(rows), own[rows]) for (graphs, own, _), rows in zip(sides, kept, strict=True)
        )
        super().__init__(real, real_codes, generated, codes, len(table.labels))
        if isinstance(table.train, Graphs) and len(table.train) and table.train_codes is not None:
            self.train, self.train_codes = table.train, table.train_codes
        if table.copied is not None and table.copied[kept[1]].any():
            self.copied = table.copied[kept[1]]
        if isinstance(table.excluded_samples, Graphs) and len(table.excluded):
            fits = np.ones(len(table.excluded), bool) if table.excluded_valid is None else table.excluded_valid
            self.left, self.left_codes = table.excluded_samples.take(fits), table.excluded[fits]
        self._tests: dict[str, list[MMDTest | None]] = {}
        self._features: dict[str, tuple[Floats, Floats]] = {}

    def _described(self, kind: str) -> tuple[Floats, Floats]:
        if kind not in self._features:
            features = self.convention.kernels[kind].features
            real, generated = padded(features(self.real), features(self.generated))
            self._features[kind] = real, generated
        return self._features[kind]

    def mmd(self, kind: str) -> list[MMDTest | None]:
        if kind not in self._tests:
            self._tests[kind] = self.each(lambda code: self._mmd(kind, code, self.codes == code))
        return self._tests[kind]

    def mmd_tested(self, kind: str) -> list[MMDTest | None]:
        """The same without training graphs, for the p-value."""
        if self.copied is None:
            return self.mmd(kind)

        def test(code: int) -> MMDTest | None:
            rows = self.unseen(code)
            return None if rows is None else self._mmd(kind, code, rows)

        return self.each(test)

    def _mmd(self, kind: str, code: int, rows: Bits) -> MMDTest:
        real, generated = self._described(kind)
        return feature_mmd(
            _by_content(real[self.real_codes == code]), _by_content(self._kept(generated[rows], kind, code)),
            self.convention.kernels[kind], self.convention.score, permutations=self._draws.permutations,
            generator=self._draws.generator(5, code),
        )  # fmt: skip

    def _kept(self, generated: Floats, kind: str, code: int) -> Floats:
        """The generated graphs that the convention compares."""
        return generated[: self.real_counts[code]] if kind in self.convention.truncated else generated

    def ratio(self, code: int) -> float:
        """The mean over statistics of the MMD² of generated graphs over that of the training set, both biased."""
        own = None if self.train_codes is None else self.train.take(self.train_codes == code)
        if own is None or len(own) < 2:
            return np.nan
        found = []
        for kind, chosen in self.convention.kernels.items():
            real, generated = (
                side[codes == code]
                for side, codes in zip(self._described(kind), (self.real_codes, self.codes), strict=True)
            )
            generated = self._kept(generated, kind, code)
            real, generated, train = padded(real, generated, chosen.features(own))
            inside = chosen.kernel(real, real).sum()
            values = [
                biased(
                    inside, chosen.kernel(other, other).sum(), chosen.kernel(real, other).sum(), len(real), len(other)
                )
                for other in (generated, train)
            ]
            found.append(values[0] / values[1] if values[1] > 0 else np.nan)
        known = [value for value in found if value == value]
        return float(np.mean(known)) if known else np.nan

    def mmd_levels(self, kind: str) -> dict[str, Floats]:
        chosen, real = self.convention.kernels[kind], self._described(kind)[0]

        def levels(code: int) -> Mapping[str, Floats]:
            own = _by_content(real[self.real_codes == code])
            test = self.mmd(kind)[code]
            assert test is not None
            n, m = test.n
            pools = {name: chosen.features(pool) for name, pool in self._pools(code, m).items()}
            if self.left is not None and self.left_codes is not None:
                pools["left"] = chosen.features(self.left.take(self.left_codes == code))
            width = max([own.shape[1], *(pool.shape[1] for pool in pools.values())])

            def wide(rows: Floats) -> Floats:
                return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

            wider = {name: wide(pool) for name, pool in pools.items()}
            fresh = concatenated(wide(own), wider.pop("left", None))
            return kernel_levels(
                chosen.kernel, wide(own), wider, n, m, self.convention.score, draws=self._draws.resamples,
                generator=self._draws.generator(11, code), fresh=fresh,
            )  # fmt: skip

        return self.drawn(self.each(levels))

    def _pools(self, code: int, count: int) -> dict[str, Graphs]:
        if code not in self._pool_cache:
            generator = self._draws.generator(12, code)
            real, _ = self.pair(code)
            pools = {} if real.directed else {"chance": unstructured(real, min(count, _POOL), generator)}
            train = self.copies(code, generator, _POOL)
            if train is not None:
                pools["memoriser"] = train
                if not train.directed:
                    pools["near_copy"] = near_copies(train, generator)
            self._pool_cache[code] = pools
        return self._pool_cache[code]

    @cached_property
    def _pool_cache(self) -> dict[int, dict[str, Graphs]]:
        return {}


def _by_content(rows: Floats) -> Floats:
    """Rows in an order that does not depend on that of the graphs."""
    return rows[np.lexsort(rows.T[::-1])] if rows.size else rows


# Graphs of each reference generator at most.
_POOL = 200


def encoded(table: SampleTable) -> bool:
    return table.latents is not None and table.generated_latents is not None


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


def _as_vectors(samples: Any) -> Floats:
    return np.ascontiguousarray(samples.reshape(len(samples), int(np.prod(samples.shape[1:]))), dtype=np.float64)


def _copied_rows(values: Floats, table: SampleTable) -> Bits | None:
    """Which of the valid generated samples, in their order, are training samples; None if none of them."""
    if table.copied is None or not table.copied.any():
        return None
    kept = np.arange(len(table.codes)) if table.valid is None else np.flatnonzero(table.valid)
    return table.copied[kept[canonical_order(table.codes[kept], values[kept])]]


def _in_order(values: Floats, codes: Codes, valid: Bits | None = None) -> tuple[Floats, Codes]:
    """The valid rows, in an order by content."""
    kept = np.arange(len(codes)) if valid is None else np.flatnonzero(valid)
    kept = kept[canonical_order(codes[kept], values[kept])]
    return values[kept], codes[kept]
