"""The metrics by the groups of one axis, and by query: what breakdowns show, and what comparisons of queries read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.grid import Grid, column
from graphgauge.core.items import Items
from graphgauge.core.loop import Measured, broken_down, sample_of
from graphgauge.core.registry import Chosen, find
from graphgauge.core.types import Floats
from graphgauge.ranking import errors
from graphgauge.ranking.counting import numbered
from graphgauge.ranking.counts import Counts, Labels
from graphgauge.ranking.samples import Lists, Ranks


def by_groups(
    counts: Counts, axis: str, ties: str, chosen: Sequence[Chosen], measured: Measured, confidence: float
) -> Grid:
    """The metrics by the groups of one axis, and in the last row their means over groups, with equal weights."""
    samples: dict[str, Any] = {"ranks": Ranks.of(counts, ties, axis)}
    samples |= {"lists": Lists.of(counts, ties, axis)} if counts.lists else {}
    names = numbered(counts.labels.groups[axis])[0]
    if axis in measured.estimates:
        raise OptionError(f"a group cannot be named {axis!r}", fix="That column contains the metric.")
    along = [(metric, params) for metric, params in chosen if {*metric.needs} & {*samples}]
    n, left_out = samples["lists" if counts.lists else "ranks"].n, measured.skipped
    table = broken_down(axis, names, n, along, samples, confidence=confidence, skipped=left_out)
    if not len(names):
        return table
    last: dict[str, Any] = {axis: "macro", "n": int(table["n"].sum())}
    for metric, params in along:
        if (key := metric.key_of(**params)) in table:
            sample = sample_of(metric, samples)
            ends = errors.macro(sample, metric(sample, **params), confidence, metric.bounds)
            last |= dict(zip((key, f"{key}.low", f"{key}.high"), ends, strict=True))
    return Grid({name: column([*values.tolist(), last[name]]) for name, values in table.columns.items()})


# ---- by query


class Values(Mapping[str, Floats]):
    """The value of each query, computed when it is read; of any metric of ranks or lists that is a mean."""

    def __init__(self, counts: Counts, ties: str, keys: Sequence[str]) -> None:
        self._counts, self._ties, self._keys = counts, ties, keys
        self._known: dict[str, tuple[Floats, Floats]] = {}

    def __getitem__(self, key: str) -> Floats:
        return self.both(key)[0]

    def both(self, key: str) -> tuple[Floats, Floats]:
        """Values and what they weigh: the value of the whole is their weighted mean."""
        if not self._has(key):
            raise KeyError(key)
        if key not in self._known:
            metric, params = find(key, "ranking")
            if metric.name == "pooled_hits":
                # Strictly above the k-th best of the pool: among the first k, and ties lose.
                ranks = self._ranks.under("pessimistic")
                self._known[key] = ranks.mean(ranks.within(params["k"])), ranks.mass
            else:
                sample = self._lists if "lists" in metric.needs and self._counts.lists else self._ranks
                estimate = metric(sample, **params)
                self._known[key] = estimate.value, sample.mass * estimate.facts.get("denominator", 1.0)
        return self._known[key]

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks.each(self._counts, self._ties)

    @cached_property
    def _lists(self) -> Lists:
        n = len(self._counts.candidates)
        return replace(Lists.of(self._counts, self._ties), group=np.arange(n), groups=n)

    def _has(self, key: str) -> bool:
        try:
            metric, _ = find(key, "ranking")
        except OptionError:
            return False
        if metric.name == "pooled_hits":
            return self._counts.pooled
        return "ranks" in metric.needs or ("lists" in metric.needs and self._counts.lists)

    def __iter__(self) -> Iterator[str]:
        return filter(self._has, self._keys)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Weights(Mapping[str, Floats]):
    """What the value of each query weighs; only of metrics in which queries count differently."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Floats:
        return self._values.both(key)[1]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._values if np.ptp(self[key]) > 0)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def per_item(counts: Counts, ties: str, keys: Sequence[str]) -> Items | None:
    """The value of each query; None if queries were folded, or if there are none."""
    if counts.count is not None or not len(counts):
        return None
    labels = counts.labels
    ids = counts.numbers if labels.ids is None else labels.ids
    # The metrics of lists of the first items do not depend on how many there are.
    asked: dict[str, Any] = {"right answers": counts.relevant}
    asked |= {} if counts.depth is not None else {"candidates": counts.candidates}
    asked |= {} if labels.weights is None else {"weights": labels.weights}
    values = Values(replace(counts, labels=Labels(weights=labels.weights)), ties, keys)
    return Items("query", ids, values, Weights(values), labels.cluster, asked)
