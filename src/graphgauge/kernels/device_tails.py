"""ROC-AUC and average precision of scores on a CUDA device: exact with ties, and only sums are copied.

Sorting all scores at once would need several times their memory. They are distributed over ranges of values first, then
each range is sorted by itself, from the highest down: what the ranges above it contain is known by then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from graphgauge.kernels.device import compared_as, fused

# Scores that are sorted at once; a range with more has equal scores or a very uneven distribution.
_AT_ONCE = 1 << 24
# Scores that are drawn to place the limits between ranges, for each range.
_DRAWN = 4096


class PoolSums(NamedTuple):
    """Of positives and negatives without NaN: how many, twice the wins plus the ties of all pairs, and the sum over
    positives of the precision at their score."""

    positives: int
    negatives: int
    wins: int
    precision: float
    pos_missing: int
    neg_missing: int

    @property
    def roc_auc(self) -> float:
        pairs = self.positives * self.negatives
        return self.wins / (2 * pairs) if pairs else float("nan")

    @property
    def average_precision(self) -> float:
        return self.precision / self.positives if self.positives and self.negatives else float("nan")


def pool_sums(pos: Any, neg: Any) -> PoolSums:
    """The sums over all pairs of positives (P,) and negatives (N,), two tensors on one device."""
    import torch

    pos, neg = _comparable(pos, neg)
    limits = _limits(pos, neg)
    (pos_ranges, pos_missing), (neg_ranges, neg_missing) = (_ranges(scores, limits) for scores in (pos, neg))
    positives, negatives = (len(scores) - missing for scores, missing in ((pos, pos_missing), (neg, neg_missing)))
    above = false_above = 0
    wins = [torch.zeros((), dtype=torch.int64, device=pos.device)]
    precision = torch.zeros((), dtype=torch.float64, device=pos.device)
    for own, other in zip(reversed(pos_ranges), reversed(neg_ranges), strict=True):
        if len(own):
            values, count = torch.unique(own, return_counts=True)
            below, upto = _places(values, other)
            # The negatives below this range lose against all of its positives.
            lower = negatives - false_above - len(other)
            wins.append((count * (below + upto + 2 * lower)).sum())
            true = above + len(own) - count.cumsum(0) + count
            false = false_above + len(other) - below
            precision += (count * (true / (true + false).double())).sum()
        above, false_above = above + len(own), false_above + len(other)
    return PoolSums(positives, negatives, sum(torch.stack(wins).tolist()), float(precision), pos_missing, neg_missing)


def _comparable(pos: Any, neg: Any) -> tuple[Any, Any]:
    """Both in a type in which scores compare exactly, and which can be sorted."""
    import torch

    dtype = compared_as(pos, neg)
    dtype = torch.float32 if dtype in (torch.bool, torch.float16, torch.bfloat16) else dtype
    return pos.to(dtype).contiguous(), neg.to(dtype).contiguous()


def _limits(pos: Any, neg: Any) -> Any:
    """Ascending limits between ranges with about as many scores; a range has those at or below its limit."""
    import torch

    count = -(-(len(pos) + len(neg)) // _AT_ONCE)
    if count <= 1:
        return pos.new_empty(0)
    drawn = []
    for scores in (pos, neg):
        step = max(1, (len(pos) + len(neg)) // (count * _DRAWN))
        drawn.append(scores[::step])
    ordered = torch.cat(drawn).sort().values
    if ordered.is_floating_point():
        ordered = ordered[: len(ordered) - int((ordered != ordered).sum())]  # NaN comes last
    return ordered[torch.arange(1, count, device=pos.device) * len(ordered) // count] if len(ordered) else ordered


def _ranges(scores: Any, limits: Any) -> tuple[list[Any], int]:
    """The scores in each range, in any order, and how many are NaN."""
    import torch

    if not len(limits):
        if not scores.is_floating_point():
            return [scores], 0
        missing = int((scores != scores).sum())
        return [scores[scores == scores] if missing else scores], missing
    if scores.is_cuda and (kernels := fused()):
        grouped, sizes = kernels.distribute(scores, limits)
    else:
        place = torch.searchsorted(limits, scores)
        if scores.is_floating_point():
            place = torch.where(scores == scores, place, len(limits) + 1)
        grouped = scores[place.argsort()]
        sizes = place.bincount(minlength=len(limits) + 2).tolist()
    *ranges, last = torch.split(grouped, sizes)
    return ranges, len(last)


def _places(values: Any, scores: Any) -> tuple[Any, Any]:
    """How many scores are below each of the ascending values, and how many at or below."""
    import torch

    distinct, count = torch.unique(scores, return_counts=True)
    upto = torch.cat([count.new_zeros(1), count.cumsum(0)])
    return tuple(upto[torch.searchsorted(distinct, values, right=right)] for right in (False, True))  # type: ignore[return-value]
