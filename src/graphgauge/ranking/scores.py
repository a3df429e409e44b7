"""Sources of queries with one positive each: its score, and those of its negatives.

The negatives are a matrix, perhaps masked, flat with offsets, a list of arrays, one pool for all positives, or what a
function returns. Scores stay where they are, in a file that is mapped, too: they are read and compared block by block
when they are counted.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_cuda, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.ranking.counting import exact, is_read_directly, levels, row_counts, working_dtype
from graphgauge.ranking.counts import POOL, Counts, Labels, Met, stretches
from graphgauge.ranking.queries import Queries, Rows
from graphgauge.ranking.samples import Pooled
from graphgauge.ranking.sets import checked_offsets

FIX_NAN = 'Repair the model, or pass nan="omit" to drop and count them.'
MINUS_INF = ("rank", "exclude")
_RAGGED = "Pass a list of arrays, (values, offsets), or a padded matrix with mask=."
_SHAPES = (
    "One positive score per query, and one row of negatives per query: pos (n,), neg (n, k); or one pool of negatives "
    "(m,) for all positives."
)
# Elements of a file, or of scores that are converted, read at a time.
_AT_ONCE = 1 << 22


def from_scores(
    pos_scores: Any,
    neg_scores: Any,
    *,
    mask: Any = None,
    negatives: Any = None,
    ids: Any = None,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    minus_inf: str = "rank",
    nan: str = "raise",
) -> Queries:
    """One positive per query with negatives of its own, or one pool of negatives for all.

    Parameters
    ----------
    pos_scores
        Scores (n,) of the positives, higher is better: NumPy, torch or a list.
    neg_scores
        Those of their negatives: a matrix (n, k); a list of n arrays, as TGB's evaluators take; a pair
        `(values, offsets)`, where those of query i are `values[offsets[i] : offsets[i + 1]]`; or one pool (m,) that all
        positives share, as in OGB.
    mask
        Which cells of a matrix are negatives.
    negatives
        The negatives that were scored, as `ranking.negatives` drew them: their mask is used, and results name them, so
        that methods are compared on the same negatives only.
    ids
        Names of the queries, by which evaluations are compared.
    groups
        Labels per query to break results down by, `{"relation": …}`.
    cluster
        Labels; queries with the same one (head and tail of a triple) err together.
    weights
        How much each query counts, above 0.
    minus_inf
        What a negative at −inf is: a candidate (`rank`), or left out (`exclude`).
    nan
        `raise`, or `omit`: a NaN positive drops the query, a NaN negative the candidate, and if all negatives are NaN
        the query; all are counted.

    Returns
    -------
    Queries
        For `evaluate` and `evaluate_until`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> queries = ranking.Queries.from_scores([0.9, 0.4], [[0.7, 0.1], [0.8, 0.3]])
    >>> ranking.evaluate(queries)["mrr"].value
    0.75
    """
    one_of("minus_inf", minus_inf, MINUS_INF)
    nan_policy(nan)
    if pos_scores is None or neg_scores is None:
        missing = "pos_scores" if pos_scores is None else "neg_scores"
        raise OptionError(f"{missing} not given", fix="Pass pos_scores and neg_scores, or a Queries.").about(missing)
    drawn = offsets = valid = None
    if negatives is not None:
        if mask is not None:
            raise OptionError("drawn negatives have a mask of their own", fix="Leave out mask.").about("mask")
        from graphgauge.ranking.negative_sampling import scored_mask

        mask, drawn = scored_mask(negatives, neg_scores), str(negatives)
    pos = pos_scores if is_cuda(pos_scores) else as_numeric(pos_scores, "pos_scores")
    require_shape(pos, (None,), "pos_scores", _SHAPES)
    if isinstance(neg_scores, tuple):
        if len(neg_scores) != 2:
            fix = "A tuple is (values, offsets); pass rows of negatives as a list."
            raise InputError(f"found a tuple of {len(neg_scores)}", where="neg_scores", fix=fix)
        neg_scores, offsets = neg_scores
    elif _is_ragged(neg_scores):
        neg_scores, offsets = _joined(neg_scores, len(pos))
    on_device = offsets is None and is_cuda(neg_scores)
    neg = neg_scores if on_device else as_numeric(neg_scores, "neg_scores", ragged=_RAGGED)
    labels = Labels.given(len(pos), ids=ids, groups=groups, cluster=cluster, weights=weights)
    pool = offsets is None and neg.ndim == 1 and drawn is None
    if mask is not None and (pool or offsets is not None):
        raise OptionError("only a matrix of negatives takes a mask", fix="Leave out what is masked.").about("mask")
    if pool:
        if labels.weights is not None:
            raise OptionError("one pool of negatives takes no weights", fix="Leave them out.").about("weights")
        pos, neg = as_numeric(pos, "pos_scores"), as_numeric(neg, "neg_scores")
        if 1 < len(pos) == len(neg) and _are_labels(neg) and not _are_labels(pos):
            fix = "With scores and labels pass scores[labels == 1] and scores[labels == 0]."
            raise InputError("found only 0 and 1, which look like labels", where="neg_scores", fix=fix)
        return PoolQueries(pos, neg, labels, minus_inf, nan)
    if offsets is None:
        require_shape(neg, (len(pos), None), "neg_scores", _SHAPES)
        valid = None if mask is None else _checked_mask(mask, neg)
    else:
        require_shape(neg, (None,), "neg_scores", "With offsets, the negatives are one flat array.")
        offsets = checked_offsets(offsets, len(pos), len(neg), "offsets of neg_scores", "negatives")
    return ScoreQueries(pos, neg, offsets, valid, labels, minus_inf, nan, drawn)


def _are_labels(values: AnyArray) -> bool:
    """Whether both 0 and 1 occur, and nothing else."""
    return bool(((values == 0) | (values == 1)).all() and (values == 0).any() and (values == 1).any())


def _is_ragged(neg: Any) -> bool:
    """Whether negatives are a list of arrays of different lengths, such as TGB's evaluators take."""
    return isinstance(neg, list) and all(np.ndim(row) == 1 for row in neg) and len({len(row) for row in neg}) > 1


def _joined(rows: Any, n: int) -> tuple[AnyArray, Ints]:
    """A list of arrays as one, and where each begins."""
    arrays = [as_numeric(row, f"neg_scores[{place}]") for place, row in enumerate(rows)]
    if len(arrays) != n:
        raise InputError(f"found {len(arrays)} rows for {n} positives", where="neg_scores", fix=_SHAPES)
    dtype = working_dtype(*{row.dtype for row in arrays if row.size} or {np.dtype(float)})
    return np.concatenate([exact(row, dtype) for row in arrays]), np.cumsum([0, *map(len, arrays)])


def _checked_mask(mask: Any, neg: Any) -> Any:
    """The mask as booleans in the shape of the negatives, on their device if both are there."""
    array = mask if is_cuda(mask) and is_cuda(neg) else as_numeric(mask, "mask")
    if str(array.dtype).removeprefix("torch.") != "bool":
        raise InputError(f"expected booleans, found {array.dtype}", where="mask", fix="True marks a valid negative.")
    require_shape(array, tuple(neg.shape), "mask", "The mask has the shape of neg_scores.")
    return array


# ---- each positive with negatives of its own


@dataclass(eq=False)
class ScoreQueries(Queries):
    """Positives (n,) with a matrix of negatives (n, k), perhaps masked, or flat ones with offsets."""

    pos: Any
    neg: Any
    offsets: Ints | None
    mask: Any
    labels: Labels
    minus_inf: str
    nan: str
    negatives: str | None
    has_pool = True

    def __post_init__(self) -> None:
        self.n = len(self.pos)

    @property
    def block_work(self) -> int:  # type: ignore[override]
        """All at once, but in parts from a file, which leave memory when they are counted, or if they are converted."""
        if is_cuda(self.neg) or (_mapping(self.neg) is None and is_read_directly(self.neg)):
            return max(1, self.work())
        return _AT_ONCE

    def work(self) -> int:
        return int(np.prod(self.neg.shape))

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        part = self._part(rows)
        pos = as_numeric(part.pos, "pos_scores")
        greater, equal, missing, lowest, negatives = row_counts(pos, part.neg, part.offsets, part.mask)
        forget(part.neg)
        forget(part.pos)
        unscored = pos != pos
        without_nan = not (unscored.any() or missing.any())
        if self.nan == "raise" and not without_nan:
            self._refuse_nan()
        if without_nan and not lowest.any():
            width = np.int64(self.neg.shape[1] + 1) if self.neg.ndim == 2 and self.mask is None else negatives + 1
            return Counts.from_ranks(greater, equal, width, negatives=self.negatives), None
        excluded = 0
        if self.minus_inf == "exclude":
            equal = equal - np.where(np.isneginf(pos), lowest, 0)
            negatives, excluded = negatives - lowest, int(lowest.sum(dtype=np.int64))
        # Without any negative left, a positive would rank first with any score.
        emptied = (missing > 0) & (missing == negatives) & ~unscored
        kept = ~(unscored | emptied)
        met = Met(
            unscored=int(unscored.sum()),
            emptied=int(emptied.sum()),
            missing=int(missing[kept].sum(dtype=np.int64)),
            lowest=0 if excluded else int(lowest[kept].sum(dtype=np.int64)),
            excluded=excluded,
        )
        candidates = negatives.astype(np.int64) - missing + 1
        counts = Counts.from_ranks(greater[kept], equal[kept], candidates[kept], met=met, negatives=self.negatives)
        return counts, None if kept.all() else kept

    def pool(self) -> Pooled:
        """All scores together, without those that counting leaves out."""
        counts, kept = self.count_rows(slice(0, self.n))  # refuses NaN, if so asked
        pos, neg = as_numeric(self.pos, "pos_scores"), as_numeric(self.neg, "neg_scores")
        queries = np.ones(self.n, bool) if kept is None else kept
        use = queries[:, None] if self.offsets is None else np.repeat(queries, np.diff(self.offsets))
        if self.mask is not None:
            use = use & as_numeric(self.mask, "mask")
        if counts.met.omitted:
            use = use & ~np.isnan(neg)
        if counts.met.excluded:
            use = use & ~np.isneginf(neg)
        flat = neg.reshape(-1) if use.all() else neg[np.broadcast_to(use, neg.shape)]
        cluster = None if self.labels.cluster is None else self.labels.cluster[queries]
        offsets = np.concatenate([[0], np.cumsum(counts.candidates - 1, dtype=np.int64)])
        return Pooled(pos[queries], flat, offsets, cluster, "queries" if cluster is None else "clusters")

    def _part(self, rows: Rows) -> ScoreQueries:
        """The scores of some queries, as views where the rows follow each other."""
        if isinstance(rows, slice) and rows == slice(0, self.n):
            return self
        mask, offsets = None if self.mask is None else self.mask[rows], None
        if self.offsets is None:
            neg = self.neg[rows]
        else:
            numbers = self.rows(rows)
            starts, ends = self.offsets[numbers], self.offsets[numbers + 1]
            offsets = np.concatenate([[0], np.cumsum(ends - starts)])
            together = isinstance(rows, slice) and rows.step in (None, 1) and len(numbers) > 0
            neg = self.neg[starts[0] : ends[-1]] if together else self.neg[stretches(starts, ends - starts)]
        return ScoreQueries(self.pos[rows], neg, offsets, mask, Labels(), self.minus_inf, self.nan, None)

    def _refuse_nan(self) -> None:
        """Raise the error that says how many scores are NaN, and the index of the first."""
        refuse_nan(as_numeric(self.pos, "pos_scores"), "pos_scores", fix=FIX_NAN)
        neg = as_numeric(self.neg, "neg_scores")
        used = neg if self.mask is None else np.where(as_numeric(self.mask, "mask"), neg, 0)
        refuse_nan(used, "neg_scores", fix=FIX_NAN)


def _mapping(array: Any) -> mmap.mmap | None:
    """The map of a file that an array looks into."""
    base = getattr(array, "base", None)
    while isinstance(base, np.ndarray | memoryview):
        base = base.obj if isinstance(base, memoryview) else base.base
    return base if isinstance(base, mmap.mmap) else None


def forget(array: Any) -> None:
    """Let the pages of a file that were read leave the memory of this process; they are read again when needed."""
    mapped = _mapping(array)
    if mapped is not None and hasattr(mapped, "madvise"):
        mapped.madvise(mmap.MADV_DONTNEED)


# ---- one pool of negatives


@dataclass(eq=False)
class PoolQueries(Queries):
    """All positives (n,) against one pool of negatives (m,), as in OGB's collab, ppa, ddi and vessel."""

    pos: AnyArray
    neg: AnyArray
    labels: Labels
    minus_inf: str
    nan: str
    has_pool = True

    def __post_init__(self) -> None:
        self.n = len(self.pos)

    @staticmethod
    def join(parts: Sequence[PoolQueries]) -> PoolQueries:
        """Positives of several parts against the negatives of all."""
        if len({(part.minus_inf, part.nan) for part in parts}) > 1:
            raise InputError("parts differ in minus_inf or nan", fix="Count all in the same way.")
        pos, neg = (np.concatenate([getattr(part, name) for part in parts]) for name in ("pos", "neg"))
        return PoolQueries(pos, neg, Labels.join([part.labels for part in parts]), parts[0].minus_inf, parts[0].nan)

    def to_arrays(self) -> dict[str, AnyArray]:
        """For an archive; `from_arrays` reads them."""
        return {"pos": self.pos, "neg": self.neg} | self.labels.columns()

    @staticmethod
    def from_arrays(arrays: Mapping[str, AnyArray], minus_inf: str, nan: str) -> PoolQueries:
        """What `to_arrays` returned, counted with these rules."""
        return PoolQueries(arrays["pos"], arrays["neg"], Labels.of(arrays), minus_inf, nan)

    def blocks(self) -> Any:
        """All at once: a rank depends on the whole pool."""
        yield slice(0, self.n)

    @cached_property
    def _used(self) -> tuple[AnyArray, Met]:
        """The negatives that count, and what was met among them."""
        if self.neg.dtype.kind != "f":
            return self.neg, Met()
        if self.nan == "raise":
            refuse_nan(self.neg, "neg_scores", fix=FIX_NAN)
        missing, lowest = np.isnan(self.neg), np.isneginf(self.neg)
        exclude = self.minus_inf == "exclude"
        met = Met(missing=int(missing.sum()), **{"excluded" if exclude else "lowest": int(lowest.sum())})
        left_out = missing | (lowest & exclude)
        return self.neg[~left_out] if left_out.any() else self.neg, met

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        pos, (neg, met) = self.pos[rows], self._used
        kept = pos == pos
        if self.nan == "raise" and not kept.all():
            refuse_nan(self.pos, "pos_scores", fix=FIX_NAN)
        met += Met(unscored=int(np.count_nonzero(~kept)))
        if met.missing and not len(neg):  # without any negative left, a positive would rank first with any score
            met += Met(emptied=int(np.count_nonzero(kept)))
            kept = np.zeros(len(pos), bool)
        pos = pos[kept]
        at = levels(pos, neg)
        rising = at.values[::-1]
        place = len(rising) - 1 - np.searchsorted(rising, exact(pos, rising.dtype))
        counts = Counts.from_ranks(at.greater[place], at.equal[place], len(neg) + 1, met=met, negatives=POOL)
        return counts, None if kept.all() else kept

    def pool(self) -> Pooled:
        """The scores of positives and negatives that count."""
        if self.nan == "raise":
            refuse_nan(self.pos, "pos_scores", fix=FIX_NAN)
        neg, met = self._used
        kept = (self.pos == self.pos) & bool(len(neg) or not met.missing)
        cluster = None if self.labels.cluster is None else self.labels.cluster[kept]
        return Pooled(self.pos[kept], neg, None, cluster, "positives" if cluster is None else "clusters", "positive")


# ---- scores that a function returns


def from_function(
    n: int,
    score_query: Callable[[int], Any],
    *,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
) -> Queries:
    """Scores that a function returns query by query: for adaptive runs that score only the queries they read.

    Parameters
    ----------
    n
        The number of queries.
    score_query
        A function of a query's number, 0 … n − 1, that returns the score of its right answer and an array of those of
        the wrong ones.
    groups, cluster, weights, ids
        As in `from_scores`.

    Returns
    -------
    Queries
        For `evaluate` and `evaluate_until`.

    Examples
    --------
    >>> from graphgauge import ranking
    >>> queries = ranking.Queries.from_function(2, lambda number: (0.5, [0.1, 0.7 * number]))
    >>> ranking.evaluate(queries)["mrr"].value
    0.75
    """
    if not callable(score_query):
        raise OptionError(f"score_query must be a function, not {score_query!r:.60}")
    count = whole_number("n", n, 1)
    labels = Labels.given(count, ids=ids, groups=groups, cluster=cluster, weights=weights)
    return AskedQueries(count, score_query, labels)


class AskedQueries(Queries):
    """Scores that a function of a query's number returns: that of its right answer, and those of the wrong ones."""

    # A function is asked for no more queries than are needed.
    block_work = 1 << 10

    def __init__(self, count: int, score_query: Callable[[int], Any], labels: Labels) -> None:
        self.n, self._ask, self.labels = count, score_query, labels

    def count_rows(self, rows: Rows) -> tuple[Counts, Mask | None]:
        pairs = [self._scores(row) for row in self.rows(rows).tolist()]
        pos, neg = np.array([right for right, _ in pairs], np.float64), [others for _, others in pairs]
        flat, offsets = np.concatenate([np.zeros(0), *neg]), np.cumsum([0, *map(len, neg)])
        asked = ScoreQueries(pos, flat, offsets, None, Labels(), "rank", "raise", None)
        return asked.count_rows(slice(0, len(pos)))

    def _scores(self, row: int) -> tuple[AnyArray, AnyArray]:
        """The score of a query's right answer (), and those of the wrong ones (k,)."""
        pair = asked("score_query", f" for query {row}", "It takes the number of a query.", self._ask, row)
        fix = "It returns the score of the right answer, and a flat array of those of the wrong ones."
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(f"returned {type(pair).__name__} for query {row}", where="score_query", fix=fix)
        # Copies, because a function may fill the same arrays again for the next query.
        right, others = (np.array(as_numeric(part, f"score_query({row})"), np.float64) for part in pair)
        if right.ndim or others.ndim != 1:
            what = f"returned shapes {right.shape} and {others.shape} for query {row}"
            raise InputError(what, where="score_query", fix=fix)
        if np.isnan(right) or np.isnan(others).any():
            raise InputError(f"returned NaN for query {row}", where="score_query", fix="Repair the model.")
        return right, others


def asked(where: str, about: str, fix: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a user's function returns; an error in it is one of the argument `where`."""
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the function failed{about} ({what:.200})", where=where, fix=fix) from error
