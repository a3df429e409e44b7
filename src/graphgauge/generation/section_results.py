"""What is requested of a table, and the results of one section: values, their other averages, columns by condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.metric import Metric, NoInterval, asked, sections
from graphgauge.core.options import thread_count, whole_number
from graphgauge.core.result import Result
from graphgauge.core.result import Table as Breakdown
from graphgauge.generation.capabilities import Capabilities
from graphgauge.generation.samples import Sample
from graphgauge.generation.sections.common import FAMILY
from graphgauge.generation.sections.latent_space import CENTROIDS, Latents
from graphgauge.generation.sections.reconstruction import EMPTY_RULES, Reconstructions
from graphgauge.generation.sections.statistical import Encodings, Statistics
from graphgauge.generation.sections.two_sided import Draws
from graphgauge.generation.table import Table


@dataclass(frozen=True)
class Request:
    """The metrics to compute from a table, and their options."""

    metrics: tuple[str, ...] | None = None
    k: tuple[int, ...] = (10,)
    empty: int | str = 1
    confidence: float = 0.95
    draws: Draws = field(default_factory=Draws)
    nan: str = "raise"
    threads: int | None = None

    def __post_init__(self) -> None:
        thread_count(self.threads)
        if self.empty not in EMPTY_RULES:
            raise OptionError(f"empty must be 1, 'nan' or 'skip', not {self.empty!r}")

    @property
    def options(self) -> dict[str, Any]:
        return {
            "confidence": self.confidence, "k": list(self.k), "empty": str(self.empty), "seed": self.draws.seed,
            "resamples": self.draws.resamples, "permutations": self.draws.permutations,
        }  # fmt: skip

    @cached_property
    def by_section(self) -> dict[str, list[str]]:
        """The requested sections in their fixed order, with the names that request each."""
        known = sections(FAMILY)
        if self.metrics is None:
            return {item.name: [item.name] for item in known}
        alias = {name: item.name for item in known for name in (item.name, *item.aliases)}
        wanted: dict[str, list[str]] = {}
        for name in self.metrics:
            place = alias.get(name) or asked(FAMILY, [name])[0].metric.section or ""
            wanted.setdefault(place, []).append(name)
        order = [item.name for item in known]
        return {name: wanted[name] for name in [*order, *(set(wanted) - set(order))] if name in wanted}


def cutoffs(k: Sequence[int] | int) -> tuple[int, ...]:
    values = tuple(k) if isinstance(k, Iterable) else (k,)
    return tuple(whole_number("k", value, 1) for value in values)


AXIS = "condition"
_OTHER = {"macro": "micro", "micro": "macro"}


class SectionResults:
    """The results of one section during computation."""

    def __init__(self, table: Table, request: Request, at_hand: Capabilities) -> None:
        self._table, self._request, self._at_hand = table, request, at_hand
        self.results: list[Result] = []
        self.used: dict[str, Sample] = {}
        self._columns: dict[str, Any] = {}
        self._by_channel: dict[str, Any] = {}

    @property
    def conventions(self) -> dict[str, str]:
        order = "in order" if self._table.ordered else "without order"
        shown = {"nan": self._request.nan, "conditions": f"{len(self._table.labels)} {order}"}
        for sample in self.used.values():
            if isinstance(sample, Reconstructions):
                shown["two empty sides"] = sample.empty
            if isinstance(sample, Encodings):
                shown["encodings"] = sample.sides.space
        return shown

    def add(self, metric: Metric, params: Mapping[str, Any]) -> None:
        need, sample = self._at_hand.first(metric)
        self.used[need] = sample
        average = metric.conventions["average"]
        key, several = metric.key_of(**params), sample.groups > 1
        main = sample.averaged(average)
        result = metric.result(
            main, metric(main, **params), params, confidence=self._request.confidence, conventions=self.conventions
        )
        self.results.append(result)
        if several and average in _OTHER:
            self.results.append(self._companion(metric, params, sample.averaged(_OTHER[average]), _OTHER[average]))
        if several:
            self._add_column(metric, params, key.removeprefix("overall_"), sample.averaged(None))
        if isinstance(sample, Reconstructions) and "channels" in metric.conventions:
            parts = [metric(part.averaged(average), **params) for part in sample.by_channel().values()]
            self._by_channel[key] = np.array([part.value[0] for part in parts])

    def _companion(self, metric: Metric, params: Mapping[str, Any], sample: Sample, average: str) -> Result:
        """The other average of a result, to show next to it."""
        found = metric.result(
            sample, metric(sample, **params), params, confidence=self._request.confidence,
            conventions=self.conventions, baselines=False,
        )  # fmt: skip
        return replace(
            found, key=f"{found.key}_{average}_{AXIS}", params={**found.params, average: AXIS}, warnings=(),
            conventions={**found.conventions, "average": average}, goal=None, priority=None, interpretation=None,
        )  # fmt: skip

    def _add_column(self, metric: Metric, params: Mapping[str, Any], name: str, each: Sample) -> None:
        estimate = metric(each, **params)
        if len(estimate.value) != each.groups:
            return  # one value for all conditions together
        self._columns |= {name: estimate.value, f"{name}.n": np.where(np.isnan(estimate.value), 0, estimate.n)}
        unknown = np.isnan(estimate.value)
        if unknown.all():
            return
        bounds = metric.interval_of(each, estimate, self._request.confidence)
        if not isinstance(bounds, NoInterval):
            _, low, high = bounds
            self._columns |= {
                f"{name}.low": np.where(unknown, np.nan, low), f"{name}.high": np.where(unknown, np.nan, high),
            }  # fmt: skip

    def breakdowns(self) -> dict[str, Breakdown]:
        table = self._table
        found: dict[str, Breakdown] = {}
        if self._columns:
            codes = table.codes if table.generated is not None else table.real_codes
            counts = np.bincount(codes, minlength=len(table.labels))
            found[AXIS] = Breakdown(AXIS, {AXIS: np.array(table.labels), "n": counts, **self._columns})
        for sample in self.used.values():
            if isinstance(sample, Reconstructions) and self._by_channel and sample.channels:
                names = np.array(list(sample.channels))
                columns: dict[str, Any] = {"channel": names, "n": np.full(len(names), len(sample.iou))}
                found["channel"] = Breakdown("channel", columns | self._by_channel)
            if isinstance(sample, Statistics) and any(result.metric != "num_real" for result in self.results):
                found |= sample.by_statistic()
            if isinstance(sample, Latents) and len(sample.points):
                found[CENTROIDS] = sample.centroid_table()
        return found
