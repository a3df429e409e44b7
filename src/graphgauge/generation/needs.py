"""What metrics can be computed on: samples made of the columns of all sides, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphgauge.core.metric import Metric
from graphgauge.generation.averages import ConditionSample
from graphgauge.generation.levels import Draws
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.conditioning import Answers
from graphgauge.generation.sections.described import Described
from graphgauge.generation.sections.diversity import Attempts
from graphgauge.generation.sections.drawn import Drawn
from graphgauge.generation.sections.encoded import Encoded
from graphgauge.generation.sections.latent_space import Latents
from graphgauge.generation.sections.molecular import Chemistry
from graphgauge.generation.sections.recognition import Recognised
from graphgauge.generation.sections.reconstruction import Reconstructions
from graphgauge.generation.sections.two_sided import TwoSided


@dataclass(frozen=True)
class Rules:
    """Options that change how samples are compared."""

    empty: str = "1"
    draws: Draws = field(default_factory=Draws)
    convention: str = "graphgauge"


class Need(NamedTuple):
    """A sample that metrics take: how it is made, of which columns, and for which kinds of items it is meant."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[str | None, ...] = ("bits", "graphs", "molecules", None)


_MAKERS: dict[str, Callable[[Sides, Rules], ConditionSample]] = {
    "reconstructions": lambda sides, rules: Reconstructions.from_sides(sides, rules.empty),
    "attempts": lambda sides, rules: Attempts.from_sides(sides, rules.draws),
    "statistics": lambda sides, rules: TwoSided(sides.labels, sides=Described(sides, rules.draws)),
    "encodings": lambda sides, rules: TwoSided(sides.labels, sides=Encoded(sides, rules.draws)),
    "recognition": lambda sides, rules: TwoSided(sides.labels, sides=Recognised(sides, rules.draws)),
    "graphs": lambda sides, rules: TwoSided(sides.labels, sides=Drawn(sides, rules.draws, rules.convention)),
    "chemistry": lambda sides, rules: Chemistry.from_sides(sides, rules.draws),
    "latents": lambda sides, rules: Latents.from_sides(sides, rules.draws.seed),
    "answers": lambda sides, rules: Answers.from_sides(sides, rules.draws),
}
_BOTH, _LATENTS = ("real.items", "generated.items"), ("real.latents", "generated.latents")
NEEDS = {
    "reconstructions": Need("reconstructions", ("real.items", "real.reconstructed"), ("bits", None)),
    "attempts": Need("attempts", ("generated.items",)),
    "validity": Need("attempts", ("generated.items", "generated.valid")),
    "novelty": Need("attempts", ("generated.items", "train.items")),
    "pairs": Need("attempts", ("generated.items",), ("bits", None)),
    "copies": Need("attempts", (*_BOTH, "train.items")),
    "statistics": Need("statistics", ("real.statistics", "generated.statistics")),
    "encodings": Need("encodings", _BOTH, ("bits", "molecules", None)),
    "latent_pairs": Need("encodings", _LATENTS),
    "recognition": Need("recognition", _BOTH),
    "graphs": Need("graphs", _BOTH, ("graphs", "molecules")),
    "graph_training": Need("graphs", (*_BOTH, "train.items"), ("graphs", "molecules")),
    "chemistry": Need("chemistry", _BOTH, ("molecules",)),
    "latents": Need("latents", ("real.latents",)),
    "posteriors": Need("latents", ("real.latents", "real.variances")),
    "answers": Need("answers", ("generated.predicted",)),
}
_ABSENT = {
    "real": "no real samples given",
    "generated": "no generated samples given",
    "train": "no training set given",
    "real.reconstructed": "no reconstructions given",
    "real.latents": "no latent vectors given",
    "generated.latents": "no latent vectors given",
    "real.variances": "no posterior variances given",
    "generated.valid": "validity is not given",
    "real.statistics": "no statistics given",
    "generated.statistics": "no statistics given",
    "generated.predicted": "no classifier given",
}


class AtHand(Mapping[str, ConditionSample]):
    """The samples that metrics can be computed on, by need, seen in the own average of each metric."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        self.sides, self._rules = sides, rules
        self.made: dict[str, ConditionSample] = {}
        self.names = tuple(name for name in NEEDS if self._applies(name) and not self.absent(name))

    def __getitem__(self, need: str) -> ConditionSample:
        if need not in self.names:
            raise KeyError(need)
        name = NEEDS[need].name
        if name not in self.made:
            self.made[name] = _MAKERS[name](self.sides, self._rules)
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, need: object) -> bool:
        return need in self.names

    def _applies(self, need: str) -> bool:
        # Latent vectors are compared whatever items are.
        latents = need == "encodings" and all(self._has(column) for column in _LATENTS)
        return latents or self.sides.kind in NEEDS[need].kinds

    def _has(self, column: str) -> bool:
        side, _, name = column.partition(".")
        samples = getattr(self.sides, side)
        return samples is not None and getattr(samples, name) is not None

    def absent(self, need: str) -> list[str]:
        """The columns that a need lacks, or whole sides."""
        columns = NEEDS[need].columns
        if need == "encodings" and all(self._has(column) for column in _LATENTS):
            return []
        lacking = [column for column in columns if not self._has(column)]
        sides = dict.fromkeys(each.partition(".")[0] for each in columns)
        whole = [side for side in sides if getattr(self.sides, side) is None]
        return whole or [column.removesuffix(".items") for column in lacking]

    def applies(self, metric: Metric) -> bool:
        """Whether a metric is meant for items of this kind."""
        return any(self._applies(need) for need in metric.needs)

    def reason(self, metric: Metric) -> str | None:
        """Why a metric cannot be computed; None if it can be."""
        if any(need in self.names for need in metric.needs):
            return None
        need = next((each for each in metric.needs if self._applies(each)), None)
        if need is None:
            return f"samples are {self.sides.kind}"
        known: Any = self.sides.missing
        return " and ".join(
            dict.fromkeys(known.get(each, _ABSENT.get(each, f"no {each} given")) for each in self.absent(need))
        )
