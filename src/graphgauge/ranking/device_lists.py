"""The flat form of tensors on a CUDA device: they stay there, and so do counts until they are read."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.kernels.device_lists import changes, list_places, marked
from graphgauge.ranking.lists import COUNTS, NearRuns, PositiveCells, Queries, QueryLists

_SCORES = ("float16", "bfloat16", "float32", "float64", "int16", "int32", "int64")
_LABELS = ("bool", "uint8", "int8", *_SCORES)
_IDS = ("int16", "int32", "int64")


class DeviceLists(QueryLists):
    """As `QueryLists`, with the counts of runs on a device: metrics of the first places read only those."""

    _query: Any
    _start: Any
    _length: Any
    _positives: Any

    def __init__(self, relevant: Ints, candidates: Ints, runs: Ints, query: Any, start: Any, length: Any,
                 positives: Any) -> None:  # fmt: skip
        self.__dict__.update(relevant=relevant, candidates=candidates, runs=runs, grades=None)
        self.__dict__.update(_query=query, _start=start, _length=length, _positives=positives)

    @cached_property
    def start(self) -> Ints:
        return _host(self._start)

    @cached_property
    def length(self) -> Ints:
        return _host(self._length)

    @cached_property
    def positives(self) -> Ints:
        return _host(self._positives)

    @cached_property
    def tied(self) -> bool:
        return bool((self._length > self._positives).any())

    def best(self) -> tuple[Ints, Ints, Ints]:
        first = self._there(np.cumsum(self.runs) - self.runs)
        start, length, positives = _together(self._start[first], self._length[first], self._positives[first])
        return start, length, positives

    def near(self, k: int, *, last: bool) -> NearRuns:
        first = self._start + self._length - self._positives if last else self._start
        runs = (first < k).nonzero()[:, 0]
        columns = (column[runs] for column in (self._query, self._start, self._length, self._positives))
        return NearRuns(*_together(runs, *columns))

    def cells(self) -> PositiveCells:
        import torch

        columns = self._query, self._start - self._ahead, self._length - self._positives
        new = torch.ones(len(self._query), dtype=torch.bool, device=self._query.device)
        new[1:] = torch.stack([column[1:] != column[:-1] for column in columns]).any(0)
        first = new.nonzero()[:, 0]
        upto = self._positives.cumsum(0)
        count = torch.diff((upto - self._positives)[first], append=upto[-1:])
        return PositiveCells(*_together(*(column[first] for column in columns), count))

    def ahead_of(self, runs: Ints) -> Ints:
        return _host(self._ahead[self._there(runs)])

    @cached_property
    def _ahead(self) -> Any:
        """The positives of a query in the runs before each."""
        before = self._there(np.cumsum(self.relevant) - self.relevant)
        return self._positives.cumsum(0) - self._positives - before[self._query]

    def take(self, queries: NDArray[np.bool_]) -> QueryLists:
        if self.runs[~queries].any():
            return super().take(queries)
        number = self._there(np.cumsum(queries) - 1)
        return DeviceLists(self.relevant[queries], self.candidates[queries], self.runs[queries], number[self._query],
                           self._start, self._length, self._positives)  # fmt: skip

    def _there(self, numbers: Ints) -> Any:
        return self._start.new_tensor(numbers)

    def columns(self) -> dict[str, AnyArray]:
        return {name: getattr(self, name) for name in COUNTS}


class OnDevice(NamedTuple):
    """Queries of the flat form, what was counted of them, and the lowest score."""

    queries: Queries
    lists: QueryLists
    lowest: float


def counted_on_device(scores: Any, labels: Any, ids: Any) -> OnDevice | None:
    """Count flat tensors (n,) of one device; None if the host has to look: at NaN, grades, errors and other types."""
    import torch

    known = ((scores, _SCORES), (labels, _LABELS), (ids, _IDS))
    if any(str(each.dtype).removeprefix("torch.") not in names or each.layout != torch.strided or not len(each)
           for each, names in known):  # fmt: skip
        return None
    scores, labels, ids = (each.detach() for each in (scores, labels, ids))
    lowest = float(scores.min()) if scores.is_floating_point() else 0.0
    if lowest != lowest:
        return None
    begin, order = changes(ids), None
    queries = Queries.of_stretches(_host(begin), ids[begin].cpu().numpy(), len(ids))
    if queries is None:  # the candidates of a query are not together
        ids, order = ids.sort(stable=True)
        scores, labels = scores[order], labels[order]
        begin = changes(ids)
        queries = Queries.of_stretches(_host(begin), ids[begin].cpu().numpy(), len(ids))
        assert queries is not None
        queries = Queries(queries.names, queries.begin, queries.size, order)
    positive = marked(labels)
    if bool((labels[positive] != 1).any()):
        return None
    return OnDevice(queries, _lists(scores, positive, begin, queries), lowest)


def _lists(scores: Any, positive: Any, begin: Any, queries: Queries) -> QueryLists:
    """The lists of queries whose candidates begin at `begin`, in the order of their rows."""
    import torch

    in_rows = np.argsort(queries.begin)
    number, size = (torch.as_tensor(each, device=scores.device) for each in (in_rows, queries.size[in_rows]))
    first = torch.searchsorted(positive, torch.cat([begin, begin.new_tensor([len(scores)])]))
    ahead, tied = list_places(scores, positive, begin, size, first)
    query = torch.repeat_interleave(number, first.diff())
    # Both in one integer: a query has fewer than 2**32 candidates.
    key, order = (query << 32 | ahead).sort(stable=True)
    new = torch.ones(len(key), dtype=torch.bool, device=key.device)
    new[1:] = key[1:] != key[:-1]
    runs = new.nonzero()[:, 0]
    positives = torch.diff(runs, append=runs.new_tensor([len(key)]))
    query, start, length = key[runs] >> 32, key[runs] & 0xFFFFFFFF, tied[order[runs]]
    relevant = torch.zeros(len(number), dtype=torch.int64, device=key.device).scatter_(0, number, first.diff())
    per_query = torch.searchsorted(query, torch.arange(len(number) + 1, device=key.device)).diff()
    return DeviceLists(_host(relevant), queries.size, _host(per_query), query, start, length, positives)


def _host(numbers: Any) -> Ints:
    return np.asarray(numbers.cpu().numpy(), np.int64)


def _together(*columns: Any) -> tuple[Ints, ...]:
    """Columns of one length on the host, copied at once."""
    import torch

    return tuple(_host(torch.stack(columns)))
