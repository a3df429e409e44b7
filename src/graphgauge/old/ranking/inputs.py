"""The inputs of a ranking evaluation: validation and counting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import (
    AnyArray,
    Floats,
    Ints,
    as_labels,
    as_numeric,
    is_cuda,
    on_device,
    refuse_nan,
    require_shape,
)
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.kernels.counting import RowCounts, masked_counts, ragged_counts, row_counts
from graphgauge.kernels.device import device_counts
from graphgauge.old.core.forms import given_names, require
from graphgauge.old.ranking.family import MATRIX

FIX_NAN = 'Repair the model, or pass nan="omit" to drop and count them.'
_RAGGED = "Pass ragged negatives as one flat array with offsets=, or as a padded matrix with mask=."
# Types that are counted on a device; the host reads others, or refuses them.
_COUNTED_THERE = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_LARGEST = int(np.iinfo(np.int64).max)
# Columns of a table by groups.
_COLUMNS = {
    "": "would have no name",
    "n": "counts the queries of each group",
    "value": "contains the metric",
    "low": "contains its interval",
    "high": "contains its interval",
}
_SHAPES = (
    "One positive score per query, and one row of negatives per query: pos (n,), neg (n, k); or one pool of negatives "
    "(m,) for all positives."
)


@dataclass(frozen=True)
class Scores:
    """Positive scores (n,) and their negatives: a matrix (n, k), perhaps masked, or flat values with offsets.

    Scores are tensors if the negatives are a matrix on a device; a mask may be there or on the host.
    """

    pos: Any
    neg: Any
    offsets: Ints | None = None
    mask: Any = None

    @classmethod
    def of(cls, pos: Any, neg: Any, *, offsets: Any = None, mask: Any = None) -> Scores:
        given = given_names({"pos_scores": pos, "neg_scores": neg, "offsets": offsets, "mask": mask})
        require(MATRIX, given, [MATRIX])
        there = cls.placed(pos, neg) if offsets is None else None
        pos, neg = there or (as_numeric(pos, "pos_scores"), as_numeric(neg, "neg_scores", ragged=_RAGGED))
        require_shape(pos, (None,), "pos_scores", _SHAPES)
        if offsets is None:
            require_shape(neg, (len(pos), None), "neg_scores", _SHAPES)
            return cls(pos, neg, mask=None if mask is None else _mask(mask, neg))
        require_shape(neg, (None,), "neg_scores", "With offsets, the negatives are one flat array.")
        return cls(pos, neg, offsets=checked_offsets(offsets, len(pos), len(neg)))

    @staticmethod
    def placed(pos: Any, neg: Any) -> tuple[Any, Any] | None:
        """Both on the device of the negatives, if they can be counted there: the positives are few."""
        if not _countable_there(neg):
            return None
        pos = pos if _countable_there(pos) else as_numeric(pos, "pos_scores")
        return (on_device(pos, neg.device), neg.detach()) if _type_name(pos) in _COUNTED_THERE else None

    def __len__(self) -> int:
        return len(self.pos)

    def on_host(self) -> Scores:
        """The same scores as arrays."""
        mask = None if self.mask is None else as_numeric(self.mask, "mask")
        return replace(self, pos=as_numeric(self.pos, "pos_scores"), neg=as_numeric(self.neg, "neg_scores"), mask=mask)

    @property
    def repeats_one_row(self) -> bool:
        """Whether the matrix is one row of memory, broadcast to all queries."""
        strides = self.neg.stride() if is_cuda(self.neg) else self.neg.strides
        return self.offsets is None and len(self) > 1 and self.neg.shape[1] > 0 and strides[0] == 0

    def count(self, threads: int | None) -> RowCounts:
        if is_cuda(self.neg):
            return device_counts(self.pos, self.neg, valid=self.mask)
        if self.offsets is not None:
            return ragged_counts(self.pos, self.neg, self.offsets, threads=threads)
        if self.mask is not None:
            return masked_counts(self.pos, self.neg, self.mask, threads=threads)
        return row_counts(self.pos, self.neg, threads=threads)

    def first_missing(self, row: int) -> str:
        """The index of the first negative of a row that is NaN."""
        start, row_of = (0, row) if self.offsets is None else (int(self.offsets[row]), slice(*self.offsets[row:][:2]))
        missing = self.neg[row_of] != self.neg[row_of]
        if self.mask is not None:
            missing = missing & (on_device(self.mask[row], self.neg.device) if is_cuda(self.neg) else self.mask[row])
        place = start + int((missing + 0).argmax())  # numbers: torch has no argmax of booleans
        return f"({row}, {place})" if self.offsets is None else str(place)

    def flat_negatives(self, rows: NDArray[np.bool_]) -> tuple[AnyArray, Ints]:
        """The valid negatives of the given rows in one array, and how many each row has; of scores on the host."""
        neg = self.neg
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


def _countable_there(scores: Any) -> bool:
    """Whether scores are on a device and can be counted on it."""
    return is_cuda(scores) and str(scores.layout) == "torch.strided" and _type_name(scores) in _COUNTED_THERE


def _type_name(scores: Any) -> str:
    return str(scores.dtype).removeprefix("torch.")


def _mask(mask: Any, neg: Any) -> Any:
    array = mask if is_cuda(mask) and is_cuda(neg) and _type_name(mask) == "bool" else as_numeric(mask, "mask")
    if _type_name(array) != "bool":
        raise InputError(f"expected booleans, found {array.dtype}", where="mask", fix="True marks a valid negative.")
    require_shape(array, tuple(neg.shape), "mask", "The mask has the shape of neg_scores.")
    return array


def checked_offsets(offsets: Any, rows: int, values: int, name: str = "offsets", of: str = "negatives") -> Ints:
    """The start of each query's values in one flat array, and the end of the last one's."""
    array = as_integers(offsets, name)
    require_shape(array, (rows + 1,), name, f"n queries have n + 1 offsets: {of} of i are offsets[i:i+2].")
    if array[0] != 0 or array[-1] != values or (np.diff(array) < 0).any():
        raise InputError(
            f"offsets must rise from 0 to {values}, the number of {of}",
            where=name,
            fix=f"Found {array[0]} … {array[-1]}.",
        )
    return array


def as_integers(values: Any, name: str, kind: str = "integers") -> Ints:
    array = as_numeric(values, name)
    if array.dtype.kind not in "iu" and array.size:  # an empty list comes as floats
        raise InputError(f"expected {kind}, found {array.dtype}", where=name)
    return array.astype(np.int64)


def _report_nan(scores: Scores, counts: RowCounts) -> None:
    if counts.pos_missing.any():
        refuse_nan(as_numeric(scores.pos, "pos_scores"), "pos_scores", fix=FIX_NAN)
    total, size = (int(column.sum(dtype=np.int64)) for column in (counts.missing, counts.negatives))
    first = scores.first_missing(int(np.argmax(counts.missing > 0)))
    raise InputError(f"{total} of {size} values are NaN, the first at index {first}", where="neg_scores", fix=FIX_NAN)


def cutoff(k: Any) -> int:
    """The cut-off of a metric at k, no larger than a count can be."""
    # The limit is named only to who exceeds it.
    return whole_number("k", whole_number("k", k, 1), 1, _LARGEST)


def cutoffs(k: Any) -> tuple[int, ...]:
    """The cut-offs of metrics at k, one or several."""
    one = isinstance(k, str) or not isinstance(k, Iterable) or getattr(k, "ndim", 1) == 0
    return tuple(cutoff(value) for value in ([k] if one else k))


def named_groups(groups: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The axes that results are broken down by, as given."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping) or not all(isinstance(name, str) for name in groups):
        raise InputError("expected labels under a name", where="groups", fix='For example {"relation": labels}.')
    for name in groups:
        if name in _COLUMNS:
            raise OptionError(f"a group cannot be named {name!r}", fix=f"That column {_COLUMNS[name]}.")
    return groups


def as_groups(groups: Mapping[str, Any] | None) -> dict[str, AnyArray]:
    """The labels of each axis that results are broken down by."""
    return {name: as_labels(values, f"groups[{name!r}]") for name, values in named_groups(groups).items()}


def as_weights(weights: Any) -> Floats:
    """How much each query counts."""
    array = as_numeric(weights, "weights").astype(float)
    refuse_nan(array, "weights", fix="Leave these queries out.")
    if not (np.isfinite(array) & (array > 0)).all():
        raise InputError(
            "weights must be finite and above 0", where="weights", fix="Leave queries out that do not count."
        )
    return array


def as_clusters(cluster: Any) -> Ints:
    """Numbers of the clusters that queries belong to."""
    array = as_labels(cluster, "cluster")
    if array.dtype.kind not in "iu":
        raise InputError(
            f"expected integers, found {array.dtype}",
            where="cluster",
            fix="Number the clusters: np.unique(names, return_inverse=True)[1].",
        )
    return array.astype(np.int64)
