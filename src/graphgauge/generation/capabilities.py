"""The samples that a table provides for each need of a metric, or the missing inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from graphgauge.core.metric import Metric
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.samples import ConditionSample
from graphgauge.generation.sections.conditioning import Answers
from graphgauge.generation.sections.diversity import Attempts
from graphgauge.generation.sections.latent_space import Latents
from graphgauge.generation.sections.reconstruction import Reconstructions
from graphgauge.generation.sections.statistical import Encodings, GraphSides, Statistics
from graphgauge.generation.sections.two_sided import Described, Drawn, Draws, Encoded, encoded
from graphgauge.generation.table import SampleTable

# The fields of a table for each need. Bits and graphs are kinds of samples; metrics of the other kind do not apply.
REQUIRED = {
    "reconstructions": ("data", "reconstruct"),
    "attempts": ("generate",),
    "validity": ("generate", "validate"),
    "novelty": ("generate", "train"),
    "pairs": ("generate", "bits"),
    "statistics": ("data", "generate", "statistics"),
    "encodings": ("data", "generate", "vectors"),
    "graphs": ("data", "generate", "graphs"),
    "graph_training": ("data", "generate", "graphs", "train"),
    "copies": ("data", "generate", "train"),
    "latents": ("data", "encode"),
    "answers": ("generate", "classifier"),
}
KINDS = ("bits", "graphs", "vectors")
REASONS = {
    "data": "no real samples given",
    "reconstruct": "no reconstructions given",
    "encode": "no latent vectors given",
    "generate": "no generated samples given",
    "validate": "validity is not given",
    "statistics": "no statistics given",
    "train": "no training set given",
    "classifier": "no classifier given",
    "bits": "samples are graphs",
    "graphs": "samples are not graphs",
    "vectors": "samples are graphs without latent vectors",
}


class Capabilities:
    """The samples of a table, created when first needed."""

    def __init__(
        self, table: SampleTable, empty: int | str, draws: Draws, threads: int | None, convention: str = "graphgauge"
    ) -> None:
        self._table, self._draws, self._convention = table, draws, convention
        self._common: dict[str, Any] = {"seed": draws.seed, "threads": threads}
        self.made: dict[str, ConditionSample] = {}
        self._makers: dict[str, Callable[[], ConditionSample]] = {
            "reconstructions": lambda: Reconstructions.of(table, empty, **self._common),
            **dict.fromkeys(("attempts", "validity", "novelty", "pairs", "copies"), lambda: self._attempts),
            "statistics": lambda: Statistics(table.labels, sides=Described(table, draws), **self._common),
            "encodings": lambda: Encodings(table.labels, sides=Encoded(table, draws, threads), **self._common),
            **dict.fromkeys(("graphs", "graph_training"), lambda: self._graphs),
            "latents": lambda: Latents.of(table, **self._common),
            "answers": lambda: Answers.of(table, draws, **self._common),
        }

    @cached_property
    def _attempts(self) -> Attempts:
        return Attempts.of(self._table, self._draws, **self._common)

    @cached_property
    def _graphs(self) -> GraphSides:
        table = self._table
        return GraphSides(table.labels, sides=Drawn(table, self._draws, self._convention), **self._common)

    @cached_property
    def _there(self) -> dict[str, bool]:
        table = self._table
        graphs = isinstance(table.generated if table.generated is not None else table.real, Graphs)
        return {
            "data": table.real is not None,
            "reconstruct": table.reconstructed is not None,
            "encode": table.latents is not None,
            "generate": table.generated is not None,
            "validate": table.valid is not None,
            "statistics": table.statistics is not None and table.generated_statistics is not None,
            "train": table.train is not None,
            "classifier": table.predicted is not None,
            "bits": not graphs,
            "graphs": graphs,
            "vectors": not graphs or encoded(table),
        }

    @property
    def names(self) -> list[str]:
        """The needs that the table meets."""
        return [need for need, parts in REQUIRED.items() if all(self._there[part] for part in parts)]

    def applies(self, metric: Metric) -> bool:
        """Whether a metric applies to samples of this kind."""
        return any(all(self._there[part] for part in REQUIRED[need] if part in KINDS) for need in metric.needs)

    def missing(self, metric: Metric) -> str | None:
        """The inputs that a metric lacks, or None."""
        if any(need in self.names for need in metric.needs):
            return None
        absent = [part for part in REQUIRED[metric.needs[0]] if not self._there[part]]
        # Without samples, nothing about them can be given either.
        samples = [part for part in absent if part in ("data", "generate")]
        return " and ".join(self._table.missing.get(part, REASONS[part]) for part in samples or absent)

    def sample(self, metric: Metric) -> ConditionSample:
        """The sample of the first of a metric's needs that the table meets."""
        need = next(need for need in metric.needs if need in self.names)
        if need not in self.made:
            self.made[need] = self._makers[need]()
        return self.made[need]

    def averaged(self, metric: Metric) -> ConditionSample:
        """The same, averaged over conditions as the metric is."""
        return self.sample(metric).averaged(metric.conventions["average"])
