"""The samples that a table provides for each need of a metric, or the missing inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import Draws
from graphgauge.generation.samples import ConditionSample
from graphgauge.generation.sections.conditioning import Answers
from graphgauge.generation.sections.described import Described
from graphgauge.generation.sections.diversity import Attempts
from graphgauge.generation.sections.drawn import Drawn
from graphgauge.generation.sections.encoded import Encoded, encoded
from graphgauge.generation.sections.latent_space import Latents
from graphgauge.generation.sections.recognition import Recognised
from graphgauge.generation.sections.reconstruction import Reconstructions
from graphgauge.generation.sections.two_sided import TwoSided
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.metric import Metric


class Part(NamedTuple):
    """A part of a table: whether it is there, the reason that is given if it is not, and whether it is only a kind of
    samples. Metrics of another kind do not apply."""

    there: Callable[[SampleTable], bool]
    reason: str
    is_kind: bool = False


def _are_graphs(table: SampleTable) -> bool:
    return isinstance(table.generated if table.generated is not None else table.real, Graphs)


PARTS = {
    "data": Part(lambda table: table.real is not None, "no real samples given"),
    "reconstruct": Part(lambda table: table.reconstructed is not None, "no reconstructions given"),
    "encode": Part(lambda table: table.latents is not None, "no latent vectors given"),
    "posterior": Part(lambda table: table.latent_variances is not None, "no posterior variances given", is_kind=True),
    "generate": Part(lambda table: table.generated is not None, "no generated samples given"),
    "validate": Part(lambda table: table.valid is not None, "validity is not given"),
    "statistics": Part(
        lambda table: table.statistics is not None and table.generated_statistics is not None, "no statistics given"
    ),
    "train": Part(lambda table: table.train is not None, "no training set given"),
    "classifier": Part(lambda table: table.predicted is not None, "no classifier given"),
    "bits": Part(lambda table: not _are_graphs(table), "samples are graphs", is_kind=True),
    "graphs": Part(_are_graphs, "samples are not graphs", is_kind=True),
    "vectors": Part(
        lambda table: encoded(table) or not _are_graphs(table),
        "samples are neither bits nor have latent vectors",
        is_kind=True,
    ),
}


class Need(NamedTuple):
    """What a metric can need: parts of a table, and the sample that is made of them."""

    parts: tuple[str, ...]
    sample: Callable[[Capabilities], ConditionSample]


NEEDS = {
    "reconstructions": Need(("data", "reconstruct"), lambda own: own.reconstructions),
    "attempts": Need(("generate",), lambda own: own.attempts),
    "validity": Need(("generate", "validate"), lambda own: own.attempts),
    "novelty": Need(("generate", "train"), lambda own: own.attempts),
    "pairs": Need(("generate", "bits"), lambda own: own.attempts),
    "copies": Need(("data", "generate", "train"), lambda own: own.attempts),
    "statistics": Need(("data", "generate", "statistics"), lambda own: own.statistics),
    "encodings": Need(("data", "generate", "vectors"), lambda own: own.encodings),
    "recognition": Need(("data", "generate"), lambda own: own.recognition),
    "graphs": Need(("data", "generate", "graphs"), lambda own: own.graphs),
    "graph_training": Need(("data", "generate", "graphs", "train"), lambda own: own.graphs),
    "latents": Need(("data", "encode"), lambda own: own.latents),
    "posteriors": Need(("data", "encode", "posterior"), lambda own: own.latents),
    "answers": Need(("generate", "classifier"), lambda own: own.answers),
}


class Capabilities:
    """The samples of a table, created when first needed."""

    def __init__(
        self, table: SampleTable, empty: int | str, draws: Draws, threads: int | None, convention: str = "graphgauge"
    ) -> None:
        self._table, self._empty, self._draws, self._convention = table, empty, draws, convention
        self._common: dict[str, Any] = {"seed": draws.seed, "threads": threads}
        self.made: dict[str, ConditionSample] = {}
        self._there = {name: part.there(table) for name, part in PARTS.items()}

    @cached_property
    def reconstructions(self) -> Reconstructions:
        return Reconstructions.of(self._table, self._empty, **self._common)

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts.of(self._table, self._draws, **self._common)

    @cached_property
    def statistics(self) -> TwoSided[Described]:
        return TwoSided(self._table.labels, sides=Described(self._table, self._draws), **self._common)

    @cached_property
    def encodings(self) -> TwoSided[Encoded]:
        sides = Encoded(self._table, self._draws, self._common["threads"])
        return TwoSided(self._table.labels, sides=sides, **self._common)

    @cached_property
    def recognition(self) -> TwoSided[Recognised]:
        return TwoSided(self._table.labels, sides=Recognised(self._table, self._draws), **self._common)

    @cached_property
    def graphs(self) -> TwoSided[Drawn]:
        sides = Drawn(self._table, self._draws, self._convention)
        return TwoSided(self._table.labels, sides=sides, **self._common)

    @cached_property
    def latents(self) -> Latents:
        return Latents.of(self._table, **self._common)

    @cached_property
    def answers(self) -> Answers:
        return Answers.of(self._table, self._draws, **self._common)

    @property
    def names(self) -> list[str]:
        """The needs that the table meets."""
        return [name for name, need in NEEDS.items() if all(self._there[part] for part in need.parts)]

    def applies(self, metric: Metric) -> bool:
        """Whether a metric applies to samples of this kind."""
        return any(all(self._there[part] for part in NEEDS[need].parts if PARTS[part].is_kind) for need in metric.needs)

    def missing(self, metric: Metric) -> str | None:
        """The inputs that a metric lacks, or None."""
        if any(need in self.names for need in metric.needs):
            return None
        absent = [part for part in NEEDS[metric.needs[0]].parts if not self._there[part]]
        # Without samples, nothing about them can be given either.
        samples = [part for part in absent if part in ("data", "generate")]
        return " and ".join(self._table.missing.get(part, PARTS[part].reason) for part in samples or absent)

    def sample(self, metric: Metric) -> ConditionSample:
        """The sample of the first of a metric's needs that the table meets."""
        need = next(need for need in metric.needs if need in self.names)
        if need not in self.made:
            self.made[need] = NEEDS[need].sample(self)
        return self.made[need]

    def averaged(self, metric: Metric) -> ConditionSample:
        """The same, averaged over conditions as the metric is."""
        return self.sample(metric).averaged(metric.conventions["average"])
