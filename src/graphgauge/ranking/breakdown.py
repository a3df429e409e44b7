"""The metrics by the groups of one axis, and their means over groups with equal weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from graphgauge.core.errors import OptionError
from graphgauge.core.grid import Grid, column
from graphgauge.core.loop import Measured, broken_down
from graphgauge.core.metric import Metric
from graphgauge.core.registry import Chosen
from graphgauge.core.result import Interval, Result
from graphgauge.core.types import AnyArray
from graphgauge.kernels.tally import numbered
from graphgauge.ranking import errors
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.lists import Lists
from graphgauge.ranking.samples import Ranks


class Axis:
    """The metrics by the groups of one axis, and their means over groups, with equal weights."""

    def __init__(
        self, counts: Counts, axis: str, ties: str, chosen: Sequence[Chosen], measured: Measured, confidence: float
    ) -> None:
        self.axis, self.chosen, self.confidence = axis, chosen, confidence
        self.samples: dict[str, Any] = {"ranks": Ranks.of(counts, ties, axis)}
        if counts.lists:
            self.samples["lists"] = Lists.of(counts, ties, axis)
        names = numbered(counts.labels.groups[axis])[0]
        if axis in measured.estimates:
            raise OptionError(f"a group cannot be named {axis!r}", fix="That column contains the metric.")
        along = [(metric, params) for metric, params in chosen if {*metric.needs} & {*self.samples}]
        n = self.samples["lists" if counts.lists else "ranks"].n
        table = broken_down(axis, names, n, along, self.samples, confidence=confidence, skipped=measured.skipped)
        self.macros = {
            key: self._macro(metric, params) for metric, params in along if (key := metric.key_of(**params)) in table
        }
        self.grid = self._with_macro(table, names)

    def _macro(self, metric: Metric, params: Mapping[str, Any]) -> tuple[float, float, float]:
        sample = next(self.samples[need] for need in metric.needs if need in self.samples)
        found: tuple[float, float, float] = errors.macro(
            sample, metric(sample, **params), self.confidence, metric.bounds
        )
        return found

    def _with_macro(self, table: Grid, names: AnyArray) -> Grid:
        if not len(names):
            return table
        last: dict[str, Any] = {self.axis: "macro", "n": int(table["n"].sum())}
        for key, ends in self.macros.items():
            last |= dict(zip((key, f"{key}.low", f"{key}.high"), ends, strict=True))
        return Grid({name: column([*values.tolist(), last[name]]) for name, values in table.columns.items()})

    def macro_result(self, key: str, measured: Measured) -> Result:
        micro = next(each for each in measured.results if each.key == key)
        value, low, high = self.macros[key]
        groups, over = len(self.grid) - 1, f"groups of {self.axis}"
        interval = None if np.isnan(low) else Interval(low, high, self.confidence, "macro-score-t", over)
        return replace(
            micro,
            key=f"{key}_macro_{self.axis}",
            params={**micro.params, "macro": self.axis},
            value=value,
            n=0 if np.isnan(value) else groups,
            unit=self.axis,
            interval=interval,
            no_interval=None if interval else "the groups do not show how their mean errs",
            references=(),
            warnings=(),
            reason="a group has no value" if np.isnan(value) else None,
        )
