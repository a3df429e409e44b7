"""The results of one section during computation: values, their other averages, and columns by condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.metric import Metric, NoInterval
from graphgauge.core.result import Result
from graphgauge.core.result import Table as Breakdown
from graphgauge.generation.capabilities import Capabilities
from graphgauge.generation.request import Request
from graphgauge.generation.samples import Sample
from graphgauge.generation.sections.latent_space import CENTROIDS, Latents
from graphgauge.generation.sections.reconstruction import Reconstructions
from graphgauge.generation.sections.statistical import Encodings, Statistics
from graphgauge.generation.table import Table

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
