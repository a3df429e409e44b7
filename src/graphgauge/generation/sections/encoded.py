"""The encodings of real and generated samples: their neighbourhoods and discrepancies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from graphgauge.core.types import Floats, Mask
from graphgauge.generation.averages import flat
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.levels import (
    MOST,
    SPLITS,
    Draws,
    near_copies,
    note_of_sizes,
    split_sizes,
    splits,
    unstructured,
)
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.two_sided import Compared
from graphgauge.generation.two_sample import PRDC, Discrepancy, mmd_test, prdc, prdc_of, squared_radii, unbiased

# The number of neighbours in precision, recall, density and coverage.
NEIGHBOURS = 5


class Neighbourhoods(NamedTuple):
    """The levels of precision, recall, density and coverage, which need real samples on both sides.

    `draws` are those of each measure, by level; `own` is the run at the same sizes, which `note` states.
    """

    draws: dict[str, dict[str, Floats]]
    own: list[PRDC | None]
    note: str | None


class Encoded(Compared):
    """Encodings (n, d) of both sides: latent vectors, or without an encoder bits, or fingerprints of molecules."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        both = (sides.real, sides.generated)
        if all(side is not None and side.latents is not None for side in both):
            self.space = "latent vectors"
        else:
            self.space = "fingerprints" if sides.kind == "molecules" else "bits"
        self.conventions = {"encodings": self.space}
        super().__init__(sides, draws, self._rows)

    def _rows(self, side: Samples) -> Floats | None:
        if self.space == "latent vectors":
            latents: Floats | None = side.latents
            return latents
        if side.items is None:
            return None
        bits = side.items.fingerprints if isinstance(side.items, Molecules) else flat(side.items)
        return bits.astype(np.float64)

    def _pools(self, code: int, real: Floats, count: int, generator: np.random.Generator) -> dict[str, Floats]:
        """Samples of the reference generators other than the perfect one."""
        pools: dict[str, Floats] = {}
        train = self.copies(code, generator, MOST)
        if train is not None:
            pools["memoriser"] = train
            if self.space == "bits":
                pools["near_copy"] = near_copies(train, generator)
        if real.shape[1] > 1:
            pools["chance"] = _unstructured(real, count, generator)
        return pools

    # ---- neighbourhoods

    @cached_property
    def prdc(self) -> list[PRDC | None]:
        return self.each(lambda code: prdc(*self.pair(code), k=NEIGHBOURS))

    @cached_property
    def neighbourhoods(self) -> Neighbourhoods:
        # So few points that the levels take seconds.
        most = int(np.clip(np.sqrt(4e9 / (SPLITS * max(self.real.rows.shape[1], 1))), 100, MOST))
        sizes: list[tuple[int, int]] = []

        def split(code: int) -> dict[str, Floats] | None:
            kept, fresh = split_sizes(int(self.real_counts[code]), int(self.counts[code]), most)
            if min(kept, fresh) <= NEIGHBOURS:
                return None
            sizes.append((kept, fresh))
            return self._split(code, kept, fresh, most)

        drawn = self.each(split)
        own = [None if each is None else PRDC(*each.pop("own")[0]) for each in drawn]
        draws = {
            name: self.by_level([each and {level: one[:, place] for level, one in each.items()} for each in drawn])
            for place, name in enumerate(PRDC._fields)
        }
        kept, fresh = ([pair[side] for pair in sizes] for side in (0, 1))
        return Neighbourhoods(draws, own, note_of_sizes(kept, fresh, self.groups) if kept else None)

    def _split(self, code: int, kept: int, fresh: int, most: int) -> dict[str, Floats]:
        """The levels (splits, measures) with `kept` real and `fresh` other samples, and the `own` value of the run.

        The real samples of the perfect level are disjoint parts of the same ones.
        """
        real, generated = self.pair(code)
        generator = self.draws.generator(3, code)
        real = real[np.sort(generator.choice(len(real), min(len(real), most), replace=False))]
        held_out = len(real)
        real = self.fresh(code, real)
        parts = splits(held_out, len(real), kept, fresh, generator)
        within = squared_distances(real, real)
        radii = [squared_radii(within[np.ix_(rows, rows)], NEIGHBOURS) for rows, _ in parts]

        def against(pool: Floats, place: int) -> PRDC:
            some = pool[generator.choice(len(pool), fresh, replace=len(pool) < fresh)]
            inside = squared_radii(squared_distances(some, some), NEIGHBOURS)
            return prdc_of(radii[place], inside, squared_distances(real[parts[place][0]], some), NEIGHBOURS)

        perfect = []
        for (rows, others), own_radii in zip(parts, radii, strict=True):
            inside = squared_radii(within[np.ix_(others, others)], NEIGHBOURS)
            perfect.append(prdc_of(own_radii, inside, within[np.ix_(rows, others)], NEIGHBOURS))
        drawn = {"perfect": perfect, "own": [against(generated, 0)]}
        for name, pool in self._pools(code, real, fresh, generator).items():
            drawn[name] = [against(pool, place) for place in range(SPLITS)]
        return {name: np.array(values) for name, values in drawn.items()}

    # ---- discrepancies

    def _test(self, kind: str, code: int, rows: Mask) -> Discrepancy:
        draws, generator = self.draws.draws, self.draws.generator(4, code)
        return mmd_test(self.real.of(code), self.generated.rows[rows], permutations=draws, generator=generator)

    def _levels(self, kind: str, code: int, test: Discrepancy) -> Mapping[str, Floats]:
        generator, width, count = self.draws.generator(10, code), -2 * test.bandwidth**2, min(test.n[1], MOST)

        def kernel(x: Floats, y: Floats) -> Floats:
            return np.exp(squared_distances(x, y) / width)

        def levels(real: Floats, fresh: Floats, pools: Mapping[str, Floats]) -> dict[str, Floats]:
            sizes = min(len(real), test.n[0]), test.n[1]
            return self.from_kernel(code, kernel, unbiased, sizes, real, fresh, pools, generator)

        real = self.real.of(code)
        pools = self._pools(code, real, count, generator)
        structured = "chance" in pools
        pools.pop("chance", None)
        drawn = levels(real, self.fresh(code, real), pools)
        if structured:
            # Samples made of the coordinates of the same real ones would be too near to them.
            first, second = real[::2], real[1::2]
            drawn["chance"] = levels(first, first, {"chance": _unstructured(second, count, generator)})["chance"]
        return drawn


def _unstructured(real: Floats, count: int, generator: np.random.Generator) -> Floats:
    """At least this many samples with separate coordinates, and four times as many if that is quick."""
    pool: Floats = unstructured(real, max(count, min(4 * count, MOST)), generator)
    return pool
