"""Molecules: the metrics of MOSES that no other section has, and the distance of latent distributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, NoInterval
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats
from graphgauge.generation.averages import LAWS, ConditionSample, declared, whole_of
from graphgauge.generation.levels import Draws, level, named, simulated
from graphgauge.generation.molecules import Molecules, internal_diversity, molecule_levels, scaffold_similarity, snn
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.encoded import Encoded
from graphgauge.generation.sections.two_sided import TwoSided

_NONE = "no valid molecules on either side"


@dataclass(frozen=True)
class Chemistry(ConditionSample):
    """Valid generated molecules and real held-out ones, of all conditions together."""

    real: Molecules = field(kw_only=True)
    generated: Molecules = field(kw_only=True)
    draws: Draws = field(kw_only=True)

    @classmethod
    def from_sides(cls, sides: Sides, draws: Draws) -> Chemistry:
        assert sides.generated is not None
        real, made = sides.held_out, sides.generated
        return cls(
            sides.labels,
            real=real.items.take(real.kept),
            generated=made.items.take(made.kept),
            draws=draws,
        )

    @cached_property
    def levels(self) -> dict[str, Floats]:
        """Draws of real molecules in place of the generated ones, in disjoint parts of the real ones."""
        return molecule_levels(self.real, max(len(self.generated), 2), self.draws.generator(40))

    def scored(self, score: Any) -> Estimate:
        known = len(self.real) > 0 and len(self.generated) > 0 and self.average is not None
        value = score(self.real, self.generated) if known else np.nan
        return whole_of(value, len(self.generated), _NONE if self.average else "one number for all conditions")


def _perfect(key: str) -> Any:
    """Perfect: real molecules in place of the generated ones, in disjoint parts of the real ones."""

    def chance(sample: Chemistry) -> tuple[Reference, ...]:
        drawn = sample.levels.get(key)
        return () if drawn is None else named({"perfect": simulated("perfect", drawn)})

    chance.__doc__ = _perfect.__doc__
    return chance


_COMMON: dict[str, Any] = {
    "section": "statistical",
    "needs": ("chemistry",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "polykovskiy2020",
    "direction": "higher",
    "bounds": (0, 1),
    "interval": NoInterval("molecules share their neighbours; compare with the band of real ones"),
}


@declared("snn", average="whole", chance=_perfect("snn"), **_COMMON)
def nearest_similarity(sample: Chemistry) -> Estimate:
    """Mean Tanimoto similarity of a generated molecule to the nearest real one (Morgan fingerprints, radius 2)."""
    return sample.scored(snn)


@declared("scaffold_similarity", average="whole", chance=_perfect("scaffold_similarity"), **_COMMON)
def scaffolds(sample: Chemistry) -> Estimate:
    """Cosine of the counts of Bemis and Murcko's scaffolds; molecules without rings have none."""
    return sample.scored(scaffold_similarity)


@declared(
    "internal_diversity", average="whole", chance=_perfect("internal_diversity"), **_COMMON | {"section": "diversity"}
)
def internal(sample: Chemistry) -> Estimate:
    """1 less the mean Tanimoto similarity of two generated molecules, each with itself included, as in MOSES."""
    return sample.scored(lambda real, generated: internal_diversity(generated))


def _no_distance(sample: TwoSided[Encoded]) -> tuple[Reference, ...]:
    """Two equal normal distributions."""
    return (level("perfect", 0.0),)


@declared(
    "frechet_distance",
    average="macro",
    chance=_no_distance,
    **_COMMON
    | {
        "needs": ("latent_pairs",),
        "reference": "preuer2018",
        "direction": "lower",
        "bounds": (0, np.inf),
        "interval": NoInterval("it is biased upwards in small samples"),
        "conventions": {"distributions": "normal, by mean and covariance"},
    },
)
def frechet_distance(sample: TwoSided[Encoded]) -> Estimate:
    """Fréchet distance of latent vectors as normal distributions, |μ − ν|² + tr(A + B − 2(AB)^½).

    With the activations of ChemNet as latent vectors it is the FCD.
    """
    values = np.full(sample.groups, np.nan)
    for code in np.flatnonzero(sample.sides.enough):
        real, made = sample.sides.pair(int(code))
        first, second = (np.atleast_2d(np.cov(points, rowvar=False)) for points in (real, made))
        # The trace of the root is that of the symmetric product of roots.
        weights, vectors = np.linalg.eigh(first)
        root = (vectors * np.sqrt(np.maximum(weights, 0))) @ vectors.T
        common = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ second @ root), 0)).sum()
        away = ((real.mean(0) - made.mean(0)) ** 2).sum()
        values[code] = max(away + np.trace(first) + np.trace(second) - 2 * common, 0.0)
    return sample.estimate(values, sample.n, "no condition has 10 latent vectors on both sides")
