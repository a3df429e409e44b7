"""Reconstruction: how much of a real sample comes back when it is encoded and decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import AS_CHOSEN, Estimate, NoChance, NoInterval
from graphgauge.core.registry import Chosen, section
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import (
    COUNT_LAWS,
    FAMILY,
    LAWS,
    ConditionSample,
    canonical_order,
    declared,
    flat,
    floats,
    over_samples,
    rows_by_code,
    whole_of,
    without_rounding,
)
from graphgauge.generation.distances import jaccard_pairs
from graphgauge.generation.sample import Sides

# The score of two empty sides: 1 because all bits agree, 0, NaN (and so is the mean), or left out.
EMPTY = ("1", "0", "nan", "skip")

section(
    "reconstruction",
    family=FAMILY,
    priority="high",
    question="how much of a real sample comes back when it is encoded and decoded",
)


@dataclass(frozen=True)
class Reconstructions(ConditionSample):
    """Held-out real samples in bits, with the intersection over union of each with what came back."""

    real: Mask = field(kw_only=True)
    codes: Ints = field(kw_only=True)
    iou: Floats = field(kw_only=True)
    channels: Mapping[str, Floats] = field(default_factory=dict, kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    empty: str = field(default="1", kw_only=True)

    @classmethod
    def from_sides(cls, sides: Sides, empty: str) -> Reconstructions:
        real = sides.held_out
        order = canonical_order(real.conditions, real.items, real.reconstructed)
        bits, returned = real.items[order], real.reconstructed[order]
        axes = sides.channels if sides.channels is not None and bits.ndim > 1 else ()
        return cls(
            sides.labels,
            real=flat(bits),
            codes=real.conditions[order],
            iou=_iou(bits, returned, empty),
            channels={name: _iou(bits[:, place], returned[:, place], empty) for place, name in enumerate(axes)},
            threshold=sides.threshold,
            empty=empty,
        )

    @property
    def counts(self) -> Ints:
        return np.bincount(self.codes, minlength=self.groups)

    def left_out(self) -> Mapping[str, str]:
        return {label: "no real samples" for label, n in zip(self.labels, self.counts, strict=True) if not n}

    @property
    def conventions(self) -> dict[str, str]:
        return {"two empty sides": self.empty}

    def scored(self) -> tuple[Floats, Ints]:
        """The values that count, and the condition of each."""
        if self.empty != "skip":
            return self.iou, self.codes
        kept = ~np.isnan(self.iou)
        return self.iou[kept], self.codes[kept]

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """The scores of each channel by itself."""
        scores = [each for each in chosen if each[0].key in ("mean_iou", "std_iou")]
        if not self.channels or not scores:
            return {}
        names, parts = np.array(list(self.channels)), [replace(self, iou=iou) for iou in self.channels.values()]
        columns: dict[str, Any] = {"channel": names, "n": np.full(len(names), len(self.iou))}
        for metric, _ in scores:
            columns[metric.key] = floats(float(metric(part).value[0]) for part in parts)
        return {"channel": Grid(columns)}


def _iou(real: Mask, returned: Mask, empty: str) -> Floats:
    """|a ∩ b| / |a ∪ b| of each sample; of two empty ones what `empty` says."""
    real, returned = flat(real), flat(returned)
    common = np.count_nonzero(real & returned, axis=1)
    either = np.count_nonzero(real | returned, axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(either > 0, common / either, float(empty) if empty in ("0", "1") else np.nan)


def _blind(sample: Reconstructions) -> Iterator[Reference]:
    """An empty reconstruction, and another real sample of the same condition (mean over all pairs)."""
    blank = _iou(sample.real, np.zeros_like(sample.real), "1")
    yield Reference("empty reconstruction", float(sample.mean(blank, sample.codes, "").value[0]))
    other = floats(
        1 - jaccard_pairs(sample.real[rows]).mean if len(rows) > 1 else np.nan
        for rows in rows_by_code(sample.codes, sample.groups)
    )
    another = sample.combined(other, sample.counts)
    if another == another:
        yield Reference("another real sample", another, "baseline")


def _read(result: Result) -> str:
    if result.references and result.value <= result.references[-1].value:
        return "no better than another real sample would be"
    for least, words in ((0.9, "nearly all of a sample is reconstructed"), (0.7, "most of a sample is reconstructed")):
        if result.value > least:
            return words
    return "much of a sample is lost"


_COMMON: dict[str, Any] = {
    "section": "reconstruction",
    "needs": ("reconstructions",),
    "unit": "sample",
    "reference": "jaccard1912",
}
_IOU = {"two empty sides": AS_CHOSEN, "decoding": "without noise", "channels": "each by itself"}
_NO_SAMPLES = "no real samples with a reconstruction"
_FACT = _COMMON | {
    "direction": "none",
    "laws": COUNT_LAWS,
    "chance": NoChance("it is no score"),
    "interval": NoInterval("it is no estimate"),
}


@declared(
    "mean_iou",
    average="micro",
    conventions=_IOU,
    direction="higher",
    bounds=(0, 1),
    chance=_blind,
    interval=over_samples,
    goal=0.7,
    interpretation=_read,
    default=True,
    laws=LAWS | {"monotone": True},
    **_COMMON,
)
def mean_iou(sample: Reconstructions) -> Estimate:
    """Bits set in both the sample and its reconstruction over bits set in either, averaged over samples."""
    items, codes = sample.scored()
    empty = int(np.count_nonzero(np.isnan(items)))
    reason = f"{empty} samples are empty on both sides" if empty else _NO_SAMPLES
    return sample.mean(items, codes, reason, range=(0.0, 1.0))


@declared("std_iou", average="whole", conventions=_IOU | {"ddof": "0"}, bounds=(0, 1), **_FACT)
def std_iou(sample: Reconstructions) -> Estimate:
    """Standard deviation over samples of the intersection over union."""
    items, codes = sample.scored()
    if sample.average is not None:
        value = without_rounding(np.std(items), items) if len(items) else np.nan
        return whole_of(value, len(items), _NO_SAMPLES)
    parts = (items[rows] for rows in rows_by_code(codes, sample.groups))
    values = floats(without_rounding(np.std(part), part) if len(part) else np.nan for part in parts)
    return sample.estimate(values, np.bincount(codes, minlength=sample.groups), _NO_SAMPLES)


@declared("num_samples", average="total", bounds=(0, np.inf), **_FACT)
def num_samples(sample: Reconstructions) -> Estimate:
    """Number of reconstructed real samples."""
    return sample.count(sample.counts, _NO_SAMPLES)


@declared("threshold", average="whole", bounds=(0, 1), **_FACT)
def threshold(sample: Reconstructions) -> Estimate:
    """The probability above which a decoded bit is set."""
    known = sample.threshold is not None and len(sample.iou) > 0
    reason = _NO_SAMPLES if not len(sample.iou) else "no threshold: reconstructions were given as bits"
    return whole_of(float(sample.threshold or 0.0) if known else np.nan, len(sample.iou), reason)
