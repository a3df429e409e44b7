"""The encodings of real and generated samples: their neighbourhoods and discrepancies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.types import Floats
from graphgauge.generation.averages import flat
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.levels import (
    MOST,
    SPLITS,
    Draws,
    kernel_levels,
    note_of_sizes,
    split_sizes,
    splits,
)
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.references import near_copies, unstructured
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.two_sided import Compared
from graphgauge.generation.two_sample import (
    PRDC,
    MMDTest,
    Neighbours,
    mmd_test,
    prdc,
    prdc_of,
    squared_radii,
    unbiased,
)

# The number of neighbours in precision, recall, density and coverage.
NEIGHBOURS = 5


class Encoded(Compared):
    """Encodings (n, d) of both sides: latent vectors, or without an encoder bits, or fingerprints of molecules."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        self._draws = draws
        self.space = space_of(sides)
        super().__init__(sides, self._rows)

    def _rows(self, side: Samples) -> Floats | None:
        if self.space == "latent vectors":
            latents: Floats | None = side.latents
            return latents
        if side.items is None:
            return None
        bits = side.items.fingerprints if isinstance(side.items, Molecules) else flat(side.items)
        return bits.astype(np.float64)

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

    @property
    def conventions(self) -> dict[str, str]:
        return {"encodings": self.space}

    # ---- neighbourhoods

    @cached_property
    def prdc(self) -> list[PRDC | None]:
        return self.each(lambda code: prdc(*self.pair(code), k=NEIGHBOURS))

    @cached_property
    def prdc_levels(self) -> tuple[dict[str, dict[str, Floats]], list[PRDC | None], str | None]:
        """The draws of each level of each measure, the run at the same sizes, and what these are."""
        sizes: dict[int, tuple[int, int]] = {}
        own: list[PRDC | None] = [None] * self.groups
        most = _most_points(self.real.rows.shape[1])

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
            drawn = {
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
                drawn[name] = [against(pool, place) for place in range(len(parts))]
            return drawn

        drawn = self.each(levels)
        measures = {name: self.drawn([_draws_of(each, name) for each in drawn]) for name in PRDC._fields}
        note = None
        if sizes:
            kept, fresh = ([pair[side] for pair in sizes.values()] for side in (0, 1))
            note = note_of_sizes(kept, fresh, self.groups)
        return measures, own, note

    # ---- discrepancies

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
        return mmd_test(*pair, permutations=self._draws.draws, generator=self._draws.generator(4, code))

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
                    draws=self._draws.draws,
                    generator=generator,
                    fresh=fresh,
                    train=self.trained(code),
                )

            count = min(max(test.n[1], 2), MOST)
            pools = self.pools(code, real, count, generator)
            others = {name: pool for name, pool in pools.items() if name != "chance"}
            drawn = levels_of(real, others, self.fresh(code, real))
            if "chance" in pools:
                # Samples made of the coordinates of the same real ones would be too near to them.
                first, second = real[::2], real[1::2]
                apart = {"chance": unstructured(second, max(count, min(4 * count, MOST)), generator)}
                drawn["chance"] = levels_of(first, apart, first)["chance"]
            return drawn

        return self.drawn(self.each(levels))


def space_of(sides: Sides) -> str:
    """What samples are compared as."""
    both = (sides.real, sides.generated)
    if all(side is not None and side.latents is not None for side in both):
        return "latent vectors"
    return "fingerprints" if sides.kind == "molecules" else "bits"


def _draws_of(drawn: Mapping[str, list[PRDC]] | None, name: str) -> dict[str, Floats] | None:
    """The draws of one measure, by level."""
    return drawn and {kind: np.array([getattr(one, name) for one in each]) for kind, each in drawn.items()}  # type: ignore[return-value]


def _most_points(width: int) -> int:
    """How many points the levels of neighbourhoods use at most, so that they take seconds."""
    return int(np.clip(np.sqrt(4e9 / (SPLITS * max(width, 1))), 100, MOST))
