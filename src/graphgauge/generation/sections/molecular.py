"""Molecules: the metrics of MOSES that no other section has, and the distance of latent distributions."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, NoInterval, whole
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats
from graphgauge.generation.averages import Grouped, View, declared, with_options
from graphgauge.generation.levels import Draws, level, named, simulated
from graphgauge.generation.molecules import internal_diversity, molecule_levels, scaffold_similarity, snn
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.encoded import Encoded


class Chemistry(Grouped):
    """Valid generated molecules and real held-out ones, of all conditions together."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        super().__init__(sides.labels)
        assert sides.generated is not None
        self.real, self.generated = (side.items.take(side.kept) for side in (sides.held_out, sides.generated))
        self._draws = draws

    @cached_property
    def levels(self) -> dict[str, Floats]:
        """Draws of real molecules in place of the generated ones, in disjoint parts of the real ones."""
        return molecule_levels(self.real, max(len(self.generated), 2), self._draws.generator(40))


def _scored(sample: View[Chemistry], score: Any) -> Estimate:
    data = sample.data
    known = len(data.real) > 0 and len(data.generated) > 0 and sample.average is not None
    reason = "no valid molecules on either side" if sample.average else "one number for all conditions"
    return whole(score(data.real, data.generated) if known else np.nan, len(data.generated), reason=reason)


@with_options
def _perfect(sample: View[Chemistry], key: str) -> tuple[Reference, ...]:
    """Perfect: real molecules in place of the generated ones, in disjoint parts of the real ones."""
    drawn = sample.data.levels.get(key)
    return () if drawn is None else named({"perfect": simulated("perfect", drawn)})


_of_molecules = partial(
    declared,
    section="statistical",
    needs=("chemistry",),
    average="whole",
    reference="polykovskiy2020",
    interval=NoInterval("molecules share their neighbours; compare with the band of real ones"),
)


@_of_molecules("snn", chance=_perfect("snn"))
def nearest_similarity(sample: View[Chemistry]) -> Estimate:
    """Mean Tanimoto similarity of a generated molecule to the nearest real one (Morgan fingerprints, radius 2)."""
    return _scored(sample, snn)


@_of_molecules("scaffold_similarity", chance=_perfect("scaffold_similarity"))
def scaffolds(sample: View[Chemistry]) -> Estimate:
    """Cosine of the counts of Bemis and Murcko's scaffolds; molecules without rings have none."""
    return _scored(sample, scaffold_similarity)


@_of_molecules("internal_diversity", section="diversity", chance=_perfect("internal_diversity"))
def internal(sample: View[Chemistry]) -> Estimate:
    """1 less the mean Tanimoto similarity of two generated molecules, each with itself included, as in MOSES."""
    return _scored(sample, lambda real, generated: internal_diversity(generated))


def _no_distance(sample: View[Encoded]) -> tuple[Reference, ...]:
    """Two equal normal distributions."""
    return (level("perfect", 0.0),)


@declared(
    "frechet_distance",
    section="statistical",
    needs=("latent_pairs",),
    average="macro",
    reference="preuer2018",
    direction="lower",
    bounds=(0, np.inf),
    chance=_no_distance,
    interval=NoInterval("it is biased upwards in small samples"),
    conventions={"distributions": "normal, by mean and covariance"},
)
def frechet_distance(sample: View[Encoded]) -> Estimate:
    """Fréchet distance of latent vectors as normal distributions, |μ − ν|² + tr(A + B − 2(AB)^½).

    With the activations of ChemNet as latent vectors it is the FCD.
    """
    data = sample.data
    values = np.full(data.groups, np.nan)
    for code in np.flatnonzero(data.enough):
        real, made = data.pair(int(code))
        first, second = (np.atleast_2d(np.cov(points, rowvar=False)) for points in (real, made))
        # The trace of the root is that of the symmetric product of roots.
        weights, vectors = np.linalg.eigh(first)
        root = (vectors * np.sqrt(np.maximum(weights, 0))) @ vectors.T
        common = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ second @ root), 0)).sum()
        away = ((real.mean(0) - made.mean(0)) ** 2).sum()
        values[code] = max(away + np.trace(first) + np.trace(second) - 2 * common, 0.0)
    return sample.estimate(values, data.n, "no condition has 10 latent vectors on both sides")
