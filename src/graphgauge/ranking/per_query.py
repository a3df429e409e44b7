"""The value of each query, by which two evaluations of the same queries are compared: computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.items import Items
from graphgauge.core.registry import find
from graphgauge.core.types import Floats
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.labels import Labels
from graphgauge.ranking.lists import Lists
from graphgauge.ranking.samples import Ranks

# Metrics that are no means over queries.
_NO_MEANS = ("median_rank", "geometric_mean_rank")


class Values(Mapping[str, Floats]):
    """The value of each query, computed when it is read; of any metric of ranks or lists that is a mean."""

    def __init__(self, counts: Counts, ties: str, keys: Sequence[str]) -> None:
        self._counts, self._ties, self._keys = counts, ties, keys
        self._known: dict[str, tuple[Floats, Floats]] = {}

    def __getitem__(self, key: str) -> Floats:
        return self.both(key)[0]

    def both(self, key: str) -> tuple[Floats, Floats]:
        """Values and what they weigh: the value of the whole is their weighted mean."""
        if key not in self._known:
            try:
                metric, params = find(key, "ranking")
            except OptionError:
                raise KeyError(key) from None
            if not self._has(key):
                raise KeyError(key)
            if metric.name == "pooled_hits":
                # Strictly above the k-th best of the pool: among the first k, and ties lose.
                ranks = self._ranks.under("pessimistic")
                self._known[key] = ranks.mean(ranks.within(params["k"])), ranks.mass
            else:
                sample = self._lists if "lists" in metric.needs and self._counts.lists else self._ranks
                estimate = metric(sample, **params)
                weight = sample.mass * estimate.facts.get("denominator", 1.0)
                self._known[key] = estimate.value, weight
        return self._known[key]

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks.each(self._counts, self._ties)

    @cached_property
    def _lists(self) -> Lists:
        n = len(self._counts.candidates)
        return replace(Lists.of(self._counts, self._ties), group=np.arange(n), groups=n)

    def _has(self, key: str) -> bool:
        metric, _ = find(key, "ranking")
        if metric.name in _NO_MEANS:
            return False
        if metric.name == "pooled_hits":
            return self._counts.pooled
        return "ranks" in metric.needs or ("lists" in metric.needs and self._counts.lists)

    def __iter__(self) -> Iterator[str]:
        return filter(self._has, self._keys)

    def __len__(self) -> int:
        return len(list(iter(self)))


class Weights(Mapping[str, Floats]):
    """What the value of each query weighs; only of metrics in which queries count differently."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Floats:
        return self._values.both(key)[1]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._values if np.ptp(self[key]) > 0)

    def __len__(self) -> int:
        return len(list(iter(self)))


def per_item(counts: Counts, ties: str, keys: Sequence[str]) -> Items | None:
    """The value of each query; None if queries were folded, or if there are none."""
    if counts.count is not None or not len(counts):
        return None
    labels = counts.labels
    ids = np.arange(len(counts.candidates)) if labels.ids is None else labels.ids
    values = Values(replace(counts, labels=Labels(weights=labels.weights)), ties, keys)
    return Items("query", ids, values, Weights(values), labels.cluster)
