"""The inputs of a ranking evaluation: validation and counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints, as_labels, as_numeric, is_cuda, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.forms import given_names, require
from graphgauge.core.options import whole_number
from graphgauge.kernels.counting import RowCounts, masked_counts, ragged_counts, row_counts
from graphgauge.kernels.device import device_counts
from graphgauge.ranking.family import MATRIX

FIX_NAN = 'Repair the model, or pass nan="omit" to drop and count them.'
_RAGGED = "Pass ragged negatives as one flat array with offsets=, or as a padded matrix with mask=."
# Columns of a table by groups.
_COLUMNS = {
    "": "would have no name", "n": "counts the queries of each group", "value": "contains the metric",
    "low": "contains its interval", "high": "contains its interval",
}  # fmt: skip
_SHAPES = (
    "One positive score per query, and one row of negatives per query: pos (n,), neg (n, k); or one pool of negatives "
    "(m,) for all positives."
)


@dataclass(frozen=True)
class Scores:
    """Positive scores (n,) and their negatives: a matrix (n, k), perhaps masked, or flat values with offsets."""

    pos: Any
    neg: Any
    offsets: Ints | None = None
    mask: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, pos: Any, neg: Any, *, offsets: Any = None, mask: Any = None) -> Scores:
        given = given_names({"pos_scores": pos, "neg_scores": neg, "offsets": offsets, "mask": mask})
        require(MATRIX, given, [MATRIX])
        if is_cuda(pos) and is_cuda(neg) and offsets is None and mask is None:
            require_shape(pos, (None,), "pos_scores", _SHAPES)
            require_shape(neg, (len(pos), None), "neg_scores", _SHAPES)
            return cls(pos, neg)
        pos, neg = as_numeric(pos, "pos_scores"), as_numeric(neg, "neg_scores", ragged=_RAGGED)
        require_shape(pos, (None,), "pos_scores", _SHAPES)
        if offsets is None:
            require_shape(neg, (len(pos), None), "neg_scores", _SHAPES)
            return cls(pos, neg, mask=None if mask is None else _mask(mask, neg))
        require_shape(neg, (None,), "neg_scores", "With offsets, the negatives are one flat array.")
        return cls(pos, neg, offsets=checked_offsets(offsets, len(pos), len(neg)))

    def __len__(self) -> int:
        return len(self.pos)

    @property
    def repeats_one_row(self) -> bool:
        """Whether the matrix is one row of memory, broadcast to all queries."""
        strides = self.neg.stride() if is_cuda(self.neg) else self.neg.strides
        return self.offsets is None and len(self) > 1 and self.neg.shape[1] > 0 and strides[0] == 0

    def count(self, threads: int | None) -> RowCounts:
        if is_cuda(self.neg):
            return device_counts(self.pos, self.neg)
        if self.offsets is not None:
            return ragged_counts(self.pos, self.neg, self.offsets, threads=threads)
        if self.mask is not None:
            return masked_counts(self.pos, self.neg, self.mask, threads=threads)
        return row_counts(self.pos, self.neg, threads=threads)

    def flat_negatives(self, rows: NDArray[np.bool_]) -> tuple[AnyArray, Ints]:
        """The valid negatives of the given rows in one array, and how many each row has."""
        neg = as_numeric(self.neg, "neg_scores")
        if self.offsets is None:
            use = np.broadcast_to(rows[:, None], neg.shape)
            use = use if self.mask is None else use & self.mask
        else:
            use = np.repeat(rows, np.diff(self.offsets))
        if neg.dtype.kind == "f" and np.isnan(neg).any():
            use = use & ~np.isnan(neg)
        if self.offsets is None:
            lengths = np.count_nonzero(use, axis=1)
        else:
            lengths = np.diff(np.r_[0, np.cumsum(use)][self.offsets])
        return (neg.reshape(-1) if use.all() else neg[use]), lengths[rows].astype(np.int64)


@dataclass(frozen=True)
class Counted:
    """The three integers of each query, their rows, and the numbers of dropped queries and candidates."""

    greater: Ints
    equal: Ints
    candidates: Ints
    rows: NDArray[np.bool_] | None = None
    dropped_queries: int = 0
    dropped_candidates: int = 0
    emptied_queries: int = 0


def counted(scores: Scores, nan: str, threads: int | None) -> Counted:
    """Count every query; NaN is an error or is dropped and counted, by policy."""
    counts = scores.count(threads)
    unscored, missing = int(counts.pos_missing.sum()), int(counts.missing.sum(dtype=np.int64))
    if (unscored or missing) and nan == "raise":
        _report_nan(scores, counts)
    greater, equal = counts.greater.astype(np.int64), counts.equal.astype(np.int64)
    candidates = counts.negatives.astype(np.int64) - counts.missing + 1
    # Without any negative left, a positive would rank first with any score.
    emptied = (counts.missing > 0) & (counts.missing == counts.negatives) & ~counts.pos_missing
    rows = ~(counts.pos_missing | emptied)
    if rows.all():
        return Counted(greater, equal, candidates, None, 0, missing)
    missing = int(counts.missing[rows].sum(dtype=np.int64))
    return Counted(greater[rows], equal[rows], candidates[rows], rows, unscored, missing, int(emptied.sum()))


@dataclass(frozen=True)
class FlatLists:
    """Whole candidate lists, counted: each positive against its query's negatives, and the runs of equal scores.

    Queries are numbered by their place among the sorted distinct ids. `rows` are the candidates that were kept,
    and `place` the query of each. `names` are the sorted ids of all given queries, including dropped ones.
    """

    names: AnyArray
    rows: NDArray[np.bool_]
    place: Ints
    greater: Ints
    equal: Ints
    negatives: Ints
    positive_query: Ints
    run_query: Ints
    run_start: Ints
    run_length: Ints
    run_positives: Ints
    relevant: Ints
    candidates: Ints
    dropped_queries: int
    dropped_candidates: int
    emptied_queries: int
    without_positives: int

    @classmethod
    def of(cls, scores: Any, labels: Any, queries: Any, nan: str) -> FlatLists:
        scores = as_numeric(scores, "scores")
        require_shape(scores, (None,), "scores", "The flat form has one score per candidate.")
        labels, queries = _binary(labels, len(scores)), as_labels(queries, "queries")
        require_shape(queries, (len(scores),), "queries", "One query id per score.")
        if nan == "raise":
            refuse_nan(scores, "scores", fix=FIX_NAN)
        missing = np.isnan(scores) if scores.dtype.kind == "f" else np.zeros(len(scores), bool)
        given, place = np.unique(queries, return_inverse=True)
        relevant, unscored, negatives, left = (
            np.bincount(place[rows], minlength=len(given))
            for rows in (labels, labels & missing, ~labels, ~labels & ~missing)
        )
        # Without any negative left, the positives would rank first with any scores.
        emptied = (relevant > 0) & (unscored == 0) & (negatives > 0) & (left == 0)
        lost = ((unscored > 0) | emptied)[place]
        without_positives = int(np.count_nonzero(relevant == 0))
        rows = ~(missing | lost)
        scores, labels, queries = scores[rows], labels[rows], queries[rows]
        names, place = np.unique(queries, return_inverse=True)
        # Stable and ascending, read from the end: this also works for unsigned integers, which cannot be negated.
        order = np.lexsort((scores, place))[::-1]
        query, value, label = place[order], scores[order], labels[order].astype(np.int64)
        starts = _run_starts(query, value)
        length = np.diff(np.r_[starts, len(query)])
        positives = np.add.reduceat(label, starts) if len(starts) else np.empty(0, np.int64)
        owner = query[starts]
        total = np.bincount(query, minlength=len(names))
        relevant = np.bincount(query, label, len(names)).astype(np.int64)
        before = starts - _at_query_start(starts, owner)
        ahead = np.cumsum(positives) - positives
        ahead = ahead - _at_query_start(ahead, owner)
        own = positives > 0
        return cls(
            names=given,
            rows=rows,
            place=place,
            greater=np.repeat(before[own] - ahead[own], positives[own]),
            equal=np.repeat(length[own] - positives[own], positives[own]),
            negatives=np.repeat((total - relevant)[owner[own]], positives[own]),
            positive_query=np.repeat(owner[own], positives[own]),
            run_query=owner[own],
            run_start=before[own],
            run_length=length[own],
            run_positives=positives[own],
            relevant=relevant,
            candidates=total,
            dropped_queries=int(np.count_nonzero(unscored)),
            dropped_candidates=int(np.count_nonzero(missing & ~lost)),
            emptied_queries=int(np.count_nonzero(emptied)),
            without_positives=without_positives,
        )


def _run_starts(*columns: AnyArray) -> Ints:
    """The starts of runs of equal rows."""
    changes = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.r_[True, changes][: len(columns[0])])


def _at_query_start(values: Ints, owner: Ints) -> Ints:
    """For each run, the value at the first run of its query."""
    first = _run_starts(owner)
    return np.repeat(values[first], np.diff(np.r_[first, len(owner)]))


def _mask(mask: Any, neg: AnyArray) -> NDArray[np.bool_]:
    array = as_numeric(mask, "mask")
    if array.dtype != np.bool_:
        raise InputError(f"expected booleans, found {array.dtype}", where="mask", fix="True marks a valid negative.")
    require_shape(array, neg.shape, "mask", "The mask has the shape of neg_scores.")
    return array


def checked_offsets(offsets: Any, rows: int, values: int, name: str = "offsets", of: str = "negatives") -> Ints:
    """The start of each query's values in one flat array, and the end of the last one's."""
    array = as_integers(offsets, name)
    require_shape(array, (rows + 1,), name, f"n queries have n + 1 offsets: {of} of i are offsets[i:i+2].")
    if array[0] != 0 or array[-1] != values or (np.diff(array) < 0).any():
        raise InputError(
            f"offsets must rise from 0 to {values}, the number of {of}", where=name,
            fix=f"Found {array[0]} … {array[-1]}.",
        )  # fmt: skip
    return array


def as_integers(values: Any, name: str, kind: str = "integers") -> Ints:
    array = as_numeric(values, name)
    if array.dtype.kind not in "iu" and array.size:  # an empty list comes as floats
        raise InputError(f"expected {kind}, found {array.dtype}", where=name)
    return array.astype(np.int64)


def _binary(labels: Any, length: int) -> NDArray[np.bool_]:
    array = as_numeric(labels, "labels")
    require_shape(array, (length,), "labels", "One label per score: 1 for positives, 0 for negatives.")
    refuse_nan(array, "labels", fix="Labels are 0 or 1.")
    if not np.isin(array, (0, 1)).all():
        raise InputError("labels other than 0 and 1", where="labels", fix="Graded relevance is not supported.")
    return array.astype(bool)


def _report_nan(scores: Scores, counts: RowCounts) -> None:
    if counts.pos_missing.any():
        refuse_nan(as_numeric(scores.pos, "pos_scores"), "pos_scores", fix=FIX_NAN)
    row = int(np.argmax(counts.missing > 0))
    if scores.offsets is None:
        valid = True if scores.mask is None else scores.mask[row]
        column = int(np.argmax(np.isnan(as_numeric(scores.neg[row], "neg_scores")) & valid))
        where = f"({row}, {column})"
    else:
        start = int(scores.offsets[row])
        where = str(start + int(np.argmax(np.isnan(scores.neg[start : int(scores.offsets[row + 1])]))))
    total = int(counts.missing.sum(dtype=np.int64))
    size = int(counts.negatives.sum(dtype=np.int64))
    raise InputError(f"{total} of {size} values are NaN, the first at index {where}", where="neg_scores", fix=FIX_NAN)


def cutoff(k: Any) -> int:
    """The cut-off of a metric at k, no larger than a count can be."""
    # The limit is named only to who exceeds it.
    return whole_number("k", whole_number("k", k, 1), 1, np.iinfo(np.int64).max)


def cutoffs(k: Any) -> tuple[int, ...]:
    """The cut-offs of metrics at k, one or several."""
    one = isinstance(k, str) or not isinstance(k, Iterable) or getattr(k, "ndim", 1) == 0
    return tuple(cutoff(value) for value in ([k] if one else k))


def as_groups(groups: Mapping[str, Any] | None) -> dict[str, AnyArray]:
    """The labels of each axis that results are broken down by."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping) or not all(isinstance(name, str) for name in groups):
        raise InputError("expected labels under a name", where="groups", fix='For example {"relation": labels}.')
    for name in groups:
        if name in _COLUMNS:
            raise OptionError(f"a group cannot be named {name!r}", fix=f"That column {_COLUMNS[name]}.")
    return {name: as_labels(values, f"groups[{name!r}]") for name, values in groups.items()}


def as_clusters(cluster: Any) -> Ints:
    """Numbers of the clusters that queries belong to."""
    array = as_labels(cluster, "cluster")
    if array.dtype.kind not in "iu":
        raise InputError(
            f"expected integers, found {array.dtype}", where="cluster",
            fix="Number the clusters: np.unique(names, return_inverse=True)[1].",
        )  # fmt: skip
    return array.astype(np.int64)


def one_per_query(values: AnyArray, lists: FlatLists, name: str) -> AnyArray:
    """Labels per query, from labels per score."""
    require_shape(values, lists.rows.shape, name, "In the flat form, one per score.")
    values, place = values[lists.rows], lists.place
    first = np.zeros(len(lists.relevant), np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    if (values != values[first][place]).any():
        raise InputError(f"{name} differs within a query", fix="All candidates of a query belong to one group.")
    chosen: AnyArray = values[first]
    return chosen


def runs_by_query(lists: FlatLists) -> dict[str, Ints]:
    """The runs of equal scores, query by query."""
    order = np.argsort(lists.run_query, kind="stable")
    return {
        "start": lists.run_start[order],
        "length": lists.run_length[order],
        "positives": lists.run_positives[order],
    }
