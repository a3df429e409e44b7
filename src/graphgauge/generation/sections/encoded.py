"""The encodings of real and generated samples: their neighbourhoods and discrepancies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.levels import (
    MOST,
    SPLITS,
    Draws,
    kernel_levels,
    near_copies,
    note_of_sizes,
    split_sizes,
    splits,
    unstructured,
)
from graphgauge.generation.sections.two_sided import Sides, copied_rows, in_order
from graphgauge.generation.table import SampleTable
from graphgauge.generation.two_sample import (
    PRDC,
    MMDTest,
    Neighbours,
    mmd_test,
    prdc,
    prdc_of,
    squared_distances,
    squared_radii,
    unbiased,
)

# The number of neighbours in precision, recall, density and coverage.
NEIGHBOURS = 5


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
            self.train, self.train_codes = in_order(train, table.train_codes)
        left = table.excluded_latents if encoded(table) else table.excluded_samples
        if isinstance(left, np.ndarray) and len(table.excluded):
            rows = _as_vectors(left)
            self.left, self.left_codes = in_order(rows, table.excluded, table.excluded_kept)
        assert generated is not None
        self.copied = copied_rows(generated, table)
        assert real is not None
        assert generated is not None
        super().__init__(
            *in_order(real, table.real_codes, table.real_kept),
            *in_order(generated, table.codes, table.kept),
            len(table.labels),
        )

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
                [
                    None
                    if each is None
                    else {kind: np.array([getattr(one, name) for one in draws]) for kind, draws in each.items()}
                    for each in drawn
                ]
            )
            for name in PRDC._fields
        }
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
                    lambda x, y: np.exp(squared_distances(x, y) / width),
                    some,
                    pools,
                    min(len(some), test.n[0]),
                    test.n[1],
                    unbiased,
                    draws=self._draws.resamples,
                    generator=generator,
                    fresh=fresh,
                )

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


def encoded(table: SampleTable) -> bool:
    return table.latents is not None and table.generated_latents is not None


def _as_vectors(samples: Any) -> Floats:
    return np.ascontiguousarray(samples.reshape(len(samples), int(np.prod(samples.shape[1:]))), dtype=np.float64)
