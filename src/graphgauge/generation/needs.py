"""What metrics can be computed on: samples made of the columns of all sides, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from graphgauge.core.metric import Metric
from graphgauge.generation.averages import Grouped, View
from graphgauge.generation.levels import Rules
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.attempts import Attempts
from graphgauge.generation.sections.conditioning import Answers
from graphgauge.generation.sections.described import Described
from graphgauge.generation.sections.drawn import Drawn
from graphgauge.generation.sections.encoded import Encoded
from graphgauge.generation.sections.latent_space import Latents
from graphgauge.generation.sections.molecular import Chemistry
from graphgauge.generation.sections.recognition import Recognised
from graphgauge.generation.sections.reconstruction import Reconstructions


class Need(NamedTuple):
    """A sample that metrics take: how it is made, of which columns, and for which kinds of items it is meant."""

    make: Callable[[Sides, Rules], Grouped]
    columns: tuple[str, ...]
    kinds: tuple[str | None, ...] = ("bits", "graphs", "molecules", None)


_BOTH, _LATENTS = ("real.items", "generated.items"), ("real.latents", "generated.latents")
NEEDS = {
    "reconstructions": Need(Reconstructions, ("real.items", "real.reconstructed"), ("bits", None)),
    "attempts": Need(Attempts, ("generated.items",)),
    "validity": Need(Attempts, ("generated.items", "generated.valid")),
    "novelty": Need(Attempts, ("generated.items", "train.items")),
    "pairs": Need(Attempts, ("generated.items",), ("bits", None)),
    "copies": Need(Attempts, (*_BOTH, "train.items")),
    "statistics": Need(Described, ("real.statistics", "generated.statistics")),
    "encodings": Need(Encoded, _BOTH, ("bits", "molecules", None)),
    "latent_pairs": Need(Encoded, _LATENTS),
    "recognition": Need(Recognised, _BOTH),
    "graphs": Need(Drawn, _BOTH, ("graphs", "molecules")),
    "graph_training": Need(Drawn, (*_BOTH, "train.items"), ("graphs", "molecules")),
    "chemistry": Need(Chemistry, _BOTH, ("molecules",)),
    "latents": Need(Latents, ("real.latents",)),
    "posteriors": Need(Latents, ("real.latents", "real.variances")),
    "answers": Need(Answers, ("generated.predicted",)),
}
# What sides and columns are called where they are absent.
_WORDS = {
    "real": "real samples",
    "generated": "generated samples",
    "train": "training set",
    "reconstructed": "reconstructions",
    "latents": "latent vectors",
    "variances": "posterior variances",
    "valid": "validity",
    "predicted": "classifier",
}


class AtHand(Mapping[str, View[Grouped]]):
    """The samples that metrics can be computed on, by need, each in the own average of the metric."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        self.sides, self._rules = sides, rules
        # Latent vectors are compared whatever items are.
        encoded = all(self._has(column) for column in _LATENTS)
        self._needs = NEEDS | ({"encodings": Need(Encoded, _LATENTS)} if encoded else {})
        self._samples: dict[Any, Grouped] = {}
        self._names = [name for name in NEEDS if self._applies(name) and not self._absent(name)]

    def __getitem__(self, need: str) -> View[Grouped]:
        if need not in self._names:
            raise KeyError(need)
        make = self._needs[need].make
        if make not in self._samples:
            self._samples[make] = make(self.sides, self._rules)
        return View(self._samples[make])

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def made(self) -> dict[str, Grouped]:
        """What was needed so far, by all needs that it meets."""
        makers = {need: self._needs[need].make for need in self._names}
        return {need: self._samples[make] for need, make in makers.items() if make in self._samples}

    def _applies(self, need: str) -> bool:
        return self.sides.kind in self._needs[need].kinds

    def _has(self, column: str) -> bool:
        side, _, name = column.partition(".")
        samples = getattr(self.sides, side)
        return samples is not None and getattr(samples, name) is not None

    def _absent(self, need: str) -> list[str]:
        """The columns that a need lacks, or whole sides."""
        lacking = [column for column in self._needs[need].columns if not self._has(column)]
        sides = dict.fromkeys(column.partition(".")[0] for column in lacking)
        whole = [side for side in sides if getattr(self.sides, side) is None]
        return whole or [column.removesuffix(".items") for column in lacking]

    def applies(self, metric: Metric) -> bool:
        """Whether a metric is meant for items of this kind."""
        return any(self._applies(need) for need in metric.needs)

    def reason(self, metric: Metric) -> str | None:
        """Why a metric cannot be computed; None if it can be."""
        if any(need in self._names for need in metric.needs):
            return None
        need = next((each for each in metric.needs if self._applies(each)), None)
        if need is None:
            return f"samples are {self.sides.kind}"
        words = ((each, each.rpartition(".")[2]) for each in self._absent(need))
        known: Any = self.sides.missing
        return " and ".join(
            dict.fromkeys(known.get(each, f"no {_WORDS.get(name, name)} given") for each, name in words)
        )
