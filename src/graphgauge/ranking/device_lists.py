"""The flat form of tensors on a CUDA device: they stay there, and so do counts until they are read."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Floats, Ints, Mask, as_labels, as_numeric, is_cuda, on_device
from graphgauge.kernels.device_lists import changes, list_places, marked
from graphgauge.ranking.inputs import nan_error
from graphgauge.ranking.lists import COUNTS, NearRuns, PositiveCells, Queries, QueryLists

_SCORES = ("float16", "bfloat16", "float32", "float64", "int16", "int32", "int64")
_LABELS = ("bool", "uint8", "int8", *_SCORES)
_IDS = ("uint8", "int8", "int16", "int32", "int64")


class DeviceLists(QueryLists):
    """As `QueryLists`, with the counts of runs on a device: metrics of the first places read only those."""

    _query: Any
    _start: Any
    _length: Any
    _positives: Any

    _grades: Any

    def __init__(
        self,
        relevant: Ints,
        candidates: Ints,
        runs: Ints,
        query: Any,
        start: Any,
        length: Any,
        positives: Any,
        grades: Any,
    ) -> None:
        self.__dict__.update(relevant=relevant, candidates=candidates, runs=runs)
        self.__dict__.update(_query=query, _start=start, _length=length, _positives=positives, _grades=grades)

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
    def grades(self) -> Floats | None:
        return None if self._grades is None else self._grades.cpu().numpy()

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
        return DeviceLists(
            self.relevant[queries],
            self.candidates[queries],
            self.runs[queries],
            number[self._query],
            self._start,
            self._length,
            self._positives,
            self._grades,
        )

    def _there(self, numbers: Ints) -> Any:
        return self._start.new_tensor(numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        """What is copied or pickled is on the host: another process may have no device."""
        return QueryLists, (*(getattr(self, name) for name in COUNTS), self.grades)

    def columns(self) -> dict[str, AnyArray]:
        counts = {name: getattr(self, name) for name in COUNTS}
        return counts if self.grades is None else {**counts, "grades": self.grades}


class Flat(NamedTuple):
    """Flat tensors on one device: scores, labels and query ids."""

    scores: Any
    labels: Any
    ids: Any


class Lost(NamedTuple):
    """Queries that NaN leaves nothing of, because of a positive or of all negatives, and how many other candidates."""

    unscored: Mask
    emptied: Mask
    candidates: int


class OnDevice(NamedTuple):
    """What was counted of flat tensors.

    `queries` are all, and `lists` belong to those that are `used`, whose candidates are `scores` and `labels`. If some
    are left out or moved, these are the `rows` of what was given.
    """

    queries: Queries
    used: Queries
    lists: QueryLists
    scores: Any
    labels: Any
    rows: Any
    lowest: float
    lost: Lost


def flat_tensors(scores: Any, labels: Any, queries: Any) -> Flat | None:
    """Labels and ids where the scores are; None if the host has to look: at other shapes and types."""
    if not is_cuda(scores):
        return None
    labels = labels if is_cuda(labels) else as_numeric(labels, "labels")
    queries = queries if is_cuda(queries) else as_labels(queries, "queries")
    known = ((scores, _SCORES), (labels, _LABELS), (queries, _IDS))
    if not all(
        str(each.dtype).removeprefix("torch.") in names
        and str(getattr(each, "layout", "torch.strided")) == "torch.strided"
        and tuple(each.shape) == (len(scores),) != (0,)
        for each, names in known
    ):
        return None
    return Flat(*(on_device(each, scores.device) for each in (scores, labels, queries)))


def counted_on_device(flat: Flat, nan: str) -> OnDevice | None:
    """Count flat tensors of one device; None if the host has to look at labels that are no grades."""
    scores, labels, ids = flat
    positive = marked(labels)
    grades = labels[positive]
    graded = bool((grades != 1).any())
    if graded and not bool(((grades > 0) & (grades < float("inf"))).all()):
        return None
    lowest = float(scores.min()) if scores.is_floating_point() else 0.0
    if lowest != lowest and nan == "raise":
        missing = scores != scores
        raise nan_error("scores", int(missing.sum()), len(scores), int(marked(missing)[0]))
    begin, order = changes(ids), None
    if len(ids[begin].unique()) < len(begin):  # the candidates of a query are not together
        ids, order = ids.sort(stable=True)
        scores, labels = scores[order], labels[order]
        begin, positive = changes(ids), marked(labels)
    queries = _queries(ids, begin, order)
    nothing = np.zeros(len(queries), bool)
    used, lost, rows = queries, Lost(nothing, nothing, 0), None
    if lowest != lowest:
        lost, used, left = _without_missing(scores, labels, positive, begin, queries)
        rows = left if order is None else order[left]
        scores, labels = scores[left], labels[left]
        positive, begin = marked(labels), on_device(np.sort(used.begin), scores.device)
        lowest = float(scores.min()) if len(scores) else 0.0
    lists = _lists(scores, positive, labels[positive] if graded else None, begin, used)
    given = (flat.scores, flat.labels) if rows is None else (scores, labels)
    return OnDevice(queries, used, lists, *given, rows, lowest, lost)


def _queries(ids: Any, begin: Any, order: Any) -> Queries:
    """The queries of ids, which are new at each `begin`."""
    queries = Queries.of_stretches(_host(begin), ids[begin].cpu().numpy(), len(ids))
    assert queries is not None
    return replace(queries, order=order)


def _without_missing(
    scores: Any, labels: Any, positive: Any, begin: Any, queries: Queries
) -> tuple[Lost, Queries, Any]:
    """What NaN takes away, the queries that are left, and which rows are."""
    import torch

    in_rows = np.argsort(queries.begin)
    ends = torch.cat([begin, begin.new_tensor([len(scores)])])

    def per_query(places: Any) -> Ints:
        """How many of these ascending rows each query has."""
        found = np.empty(len(queries), np.int64)
        found[in_rows] = _host(torch.searchsorted(places, ends).diff())
        return found

    missing = marked(scores != scores)
    relevant, absent, unscored = (per_query(places) for places in (positive, missing, missing[labels[missing] != 0]))
    negatives = queries.size - relevant
    # Without any negative left, the positives would rank first with any scores.
    emptied = (relevant > 0) & (unscored == 0) & (negatives > 0) & (negatives == absent)
    gone = (unscored > 0) | emptied
    size = np.where(gone, 0, queries.size - absent)
    left = torch.repeat_interleave(on_device(~gone[in_rows], scores.device), ends.diff(), output_size=len(scores))
    left[missing] = False
    start = np.empty_like(size)
    start[in_rows] = np.cumsum(size[in_rows]) - size[in_rows]
    kept = size > 0
    used = Queries(queries.names[kept], start[kept], size[kept], None)
    return Lost(unscored > 0, emptied, int(absent[~gone].sum())), used, left


def _lists(scores: Any, positive: Any, grades: Any, begin: Any, queries: Queries) -> QueryLists:
    """The lists of queries whose candidates begin at `begin`, in the order of their rows."""
    import torch

    in_rows = np.argsort(queries.begin)
    number, size = (on_device(each, scores.device) for each in (in_rows, queries.size[in_rows]))
    first = torch.searchsorted(positive, torch.cat([begin, begin.new_tensor([len(scores)])]))
    ahead, tied = list_places(scores, positive, begin, size, first)
    query = torch.repeat_interleave(number, first.diff())
    if grades is not None:  # within a run from the highest
        by_grade = grades.argsort(descending=True, stable=True)
        grades, query, ahead, tied = (each[by_grade] for each in (grades, query, ahead, tied))
    # Both in one integer: a query has fewer than 2**32 candidates.
    key, order = (query << 32 | ahead).sort(stable=True)
    new = torch.ones(len(key), dtype=torch.bool, device=key.device)
    new[1:] = key[1:] != key[:-1]
    runs = new.nonzero()[:, 0]
    positives = torch.diff(runs, append=runs.new_tensor([len(key)]))
    query, start, length = key[runs] >> 32, key[runs] & 0xFFFFFFFF, tied[order[runs]]
    relevant = torch.zeros(len(number), dtype=torch.int64, device=key.device).scatter_(0, number, first.diff())
    per_query = torch.searchsorted(query, torch.arange(len(number) + 1, device=key.device)).diff()
    return DeviceLists(
        _host(relevant),
        queries.size,
        _host(per_query),
        query,
        start,
        length,
        positives,
        None if grades is None else grades[order].double(),
    )


def one_of_each(values: Any, begin: Ints, order: Any) -> Any:
    """The value at each `begin` of values in this order; None if they also change elsewhere."""
    import torch

    grouped = values if order is None else values[order]
    places = on_device(begin, values.device)
    return grouped[places] if bool(torch.isin(changes(grouped), places).all()) else None


def _host(numbers: Any) -> Ints:
    return np.asarray(numbers.cpu().numpy(), np.int64)


def _together(*columns: Any) -> tuple[Ints, ...]:
    """Columns of one length on the host, copied at once."""
    import torch

    return tuple(_host(torch.stack(columns)))
