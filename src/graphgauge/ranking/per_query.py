"""The value of each query, by which two evaluations of the same queries are compared: computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.items import Items
from graphgauge.core.registry import find
from graphgauge.core.types import Floats
from graphgauge.ranking.counts import Counts
from graphgauge.ranking.lists import Lists
from graphgauge.ranking.samples import Ranks


class Values(Mapping[str, Floats]):
    """The value of each query, computed when it is read; of any metric of ranks or lists."""

    def __init__(self, samples: Mapping[str, Any], keys: Sequence[str]) -> None:
        self._samples, self._keys = samples, keys
        self._known: dict[str, tuple[Floats, Floats]] = {}

    def __getitem__(self, key: str) -> Floats:
        return self.both(key)[0]

    def both(self, key: str) -> tuple[Floats, Floats]:
        """Values and what they weigh: the mean of the whole is the weighted mean."""
        if key not in self._known:
            try:
                metric, params = find(key, "ranking")
            except OptionError:
                raise KeyError(key) from None
            sample = next((self._samples[need] for need in metric.needs if need in self._samples), None)
            if sample is None or metric.name == "median_rank":
                raise KeyError(key)
            estimate = metric(sample, **params)
            weight = sample.mass * estimate.facts.get("denominator", np.ones(sample.groups))
            self._known[key] = estimate.value, weight
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._keys if find(key, "ranking")[0].needs[0] in self._samples)

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Weights(Mapping[str, Floats]):
    """What the value of each query weighs; only of metrics in which queries count differently."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Floats:
        if key not in self._values:
            raise KeyError(key)
        return self._values.both(key)[1]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._values if np.ptp(self[key]) > 0)

    def __len__(self) -> int:
        return len(list(iter(self)))


def per_item(counts: Counts, ties: str, keys: Sequence[str]) -> Items | None:
    """The value of each query; None if queries were folded, or if there are none."""
    if counts.count is not None or not len(counts):
        return None
    n = len(counts.candidates)
    ids = np.arange(n) if counts.labels.ids is None else counts.labels.ids
    alone = replace(counts, labels=replace(counts.labels, ids=None, cluster=None, groups={}))
    values = Values(_EachAlone(alone, ties), keys)
    return Items("query", ids, values, _Weights(values), counts.labels.cluster)


class _EachAlone(dict[str, Any]):
    """The samples in which every query is a group of its own, made when they are first read."""

    def __init__(self, counts: Counts, ties: str) -> None:
        super().__init__({"ranks": None, **({"lists": None} if counts.lists else {})})
        self._counts, self._ties = counts, ties

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) is None:
            n = len(self._counts.candidates)
            sample: Any = (Ranks if name == "ranks" else Lists).of(self._counts, self._ties)
            if name == "ranks":
                sample = Ranks.each(self._counts, self._ties)
            self[name] = replace(sample, group=np.arange(n) if name == "lists" else sample.group, groups=n)
        return super().__getitem__(name)
