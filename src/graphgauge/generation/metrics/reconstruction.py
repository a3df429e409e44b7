"""Reconstruction: how much of a real sample comes back when it is encoded and decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import AS_CHOSEN, Estimate, NoChance, NoInterval, whole
from graphgauge.core.registry import Chosen
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Mask
from graphgauge.generation.averages import Grouped, View, canonical_order, flat, floats, rows_by_code
from graphgauge.generation.distances import jaccard_pairs
from graphgauge.generation.levels import Rules
from graphgauge.generation.metrics import declared, over_samples
from graphgauge.generation.sample import Sides

# The score of two empty sides: 1 because all bits agree, or 0.
EMPTY = ("1", "0")


class Reconstructions(Grouped):
    """Held-out real samples in bits, their conditions, and their intersections over unions (IoU)."""

    def __init__(self, sides: Sides, rules: Rules) -> None:
        super().__init__(sides.labels)
        real = sides.held_out
        order = canonical_order(real.conditions, real.items, real.reconstructed)
        self.real, self._returned, self.codes = real.items[order], real.reconstructed[order], real.conditions[order]
        self._channels, self.threshold, self._empty = sides.channels, sides.threshold, float(rules.empty)
        self.counts = np.bincount(self.codes, minlength=self.groups)
        self.conventions = {"two empty sides": rules.empty}
        self.iou = _iou(self.real, self._returned, self._empty)

    def lack(self, code: int) -> str | None:
        return None if self.counts[code] else "no real samples"

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """The scores of each channel by itself."""
        view = View(self, average="whole")
        scores = {"mean_iou": view.mean, "std_iou": view.spread}
        keys = [metric.key for metric, _ in chosen if metric.key in scores]
        if not self._channels or not keys or self.real.ndim < 2:
            return {}
        places = range(len(self._channels))
        parts = [_iou(self.real[:, at], self._returned[:, at], self._empty) for at in places]
        columns = {key: floats(float(scores[key](part, self.codes, "").value[0]) for part in parts) for key in keys}
        n = np.full(len(parts), len(self.real))
        return {"channel": Grid({"channel": np.array(self._channels), "n": n, **columns})}


def _iou(real: Mask, returned: Mask, empty: float) -> Floats:
    """|a ∩ b| / |a ∪ b| of each sample; of two empty ones `empty`."""
    real, returned = flat(real), flat(returned)
    common = np.count_nonzero(real & returned, axis=1)
    either = np.count_nonzero(real | returned, axis=1)
    return np.where(either > 0, common / np.maximum(either, 1), empty)


def _blind(sample: View[Reconstructions]) -> Iterator[Reference]:
    """An empty reconstruction, and another real sample of the same condition (mean over all pairs)."""
    data = sample.data
    blank, bits = _iou(data.real, np.zeros_like(data.real), 1.0), flat(data.real)
    yield Reference("empty reconstruction", float(sample.mean(blank, data.codes, "").value[0]))
    other = floats(
        1 - jaccard_pairs(bits[rows]).mean if len(rows) > 1 else np.nan
        for rows in rows_by_code(data.codes, data.groups)
    )
    another = sample.combined(other, data.counts)
    if another == another:
        yield Reference("another real sample", another, "baseline")


def _read(result: Result) -> str:
    if result.references and result.value <= result.references[-1].value:
        return "no better than another real sample would be"
    for least, words in ((0.9, "nearly all of a sample is reconstructed"), (0.7, "most of a sample is reconstructed")):
        if result.value > least:
            return words
    return "much of a sample is lost"


_IOU = {"two empty sides": AS_CHOSEN, "decoding": "without noise", "channels": "each by itself"}
_NO_SAMPLES = "no real samples with a reconstruction"
_metric = partial(declared, section="reconstruction", needs=("reconstructions",), reference="jaccard1912")
_fact = partial(_metric, direction="none", chance=NoChance("it is no score"), interval=NoInterval("it is no estimate"))


@_metric(
    "mean_iou",
    average="micro",
    chance=_blind,
    interval=over_samples,
    goal=0.7,
    interpretation=_read,
    default=True,
    laws={"monotone": True},
    conventions=_IOU,
)
def mean_iou(sample: View[Reconstructions]) -> Estimate:
    """Bits set in both the sample and its reconstruction over bits set in either, averaged over samples."""
    data = sample.data
    return sample.mean(data.iou, data.codes, _NO_SAMPLES, range=(0.0, 1.0))


@_fact("std_iou", average="whole", conventions=_IOU | {"ddof": "0"})
def std_iou(sample: View[Reconstructions]) -> Estimate:
    """Standard deviation over samples of the intersection over union."""
    return sample.spread(sample.data.iou, sample.data.codes, _NO_SAMPLES)


@_fact("num_samples", average="total", bounds=(0, np.inf))
def num_samples(sample: View[Reconstructions]) -> Estimate:
    """Number of reconstructed real samples."""
    counts = sample.data.counts
    return sample.estimate(np.where(counts.sum() > 0, counts, np.nan), counts, _NO_SAMPLES)


@_fact("threshold", average="whole")
def threshold(sample: View[Reconstructions]) -> Estimate:
    """The probability above which a decoded bit is set."""
    value, count = sample.data.threshold, len(sample.data.real)
    reason = "no threshold: reconstructions were given as bits" if count else _NO_SAMPLES
    return whole(np.nan if value is None or not count else float(value), count, reason=reason)
