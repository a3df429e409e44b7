"""Reconstruction: how much of a real sample comes back when it is encoded and decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.declared import (
    COUNT_LAWS,
    EMPTY,
    FAMILY,
    LAWS,
    MICRO,
    TOTAL,
    counted,
    known,
    level,
    members,
    nan_array,
    over_samples,
)
from graphgauge.generation.distances import jaccard_pairs
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.samples import RealSample, canonical_order
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.metric import (
    AS_CHOSEN,
    Baseline,
    Estimate,
    MetricFunction,
    NoChance,
    NoInterval,
    metric,
    section,
)
from graphgauge.old.core.result import Result
from graphgauge.old.stats.intervals import without_rounding

# The score of two empty sides: 1 because all bits agree, NaN (and so is the mean), or left out.
EMPTY_RULES = (1, "nan", "skip")

section(
    "reconstruction",
    family=FAMILY,
    priority="high",
    question="how much of a real sample comes back when it is encoded and decoded",
)


@dataclass(frozen=True)
class Reconstructions(RealSample):
    """Real samples and their reconstructions, in bits."""

    real: Bits = field(kw_only=True)
    iou: Floats = field(kw_only=True)
    channels: Mapping[str, Floats] = field(default_factory=dict)
    threshold: float | None = None
    empty: str = "1"

    @classmethod
    def of(cls, table: SampleTable, empty: int | str, **common: Any) -> Reconstructions:
        assert isinstance(table.real, np.ndarray)
        assert table.reconstructed is not None
        order = canonical_order(table.real_codes, table.real, table.reconstructed)
        real, found, codes = table.real[order], table.reconstructed[order], table.real_codes[order]
        rows = len(real)
        axes = table.channels if table.channels is not None and real.ndim > 1 else ()
        return cls(
            table.labels,
            real=real.reshape(rows, int(np.prod(real.shape[1:]))),
            codes=codes,
            iou=_iou(real, found, empty),
            channels={name: _iou(real[:, place], found[:, place], empty) for place, name in enumerate(axes)},
            threshold=table.options.get("threshold"),
            empty=str(empty),
            **common,
        )

    def by_channel(self) -> dict[str, Reconstructions]:
        """The same for each channel."""
        return {name: replace(self, iou=iou) for name, iou in self.channels.items()}

    def scored(self) -> tuple[Floats, Codes]:
        """The values that count, and the condition of each."""
        if self.empty != "skip":
            return self.iou, self.codes
        kept = ~np.isnan(self.iou)
        return self.iou[kept], self.codes[kept]


def _iou(real: Bits, found: Bits, empty: int | str) -> Floats:
    rows = len(real)
    width = int(np.prod(real.shape[1:]))
    real, found = real.reshape(rows, width), found.reshape(rows, width)
    common = np.count_nonzero(real & found, axis=1)
    either = np.count_nonzero(real | found, axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(either > 0, common / either, 1.0 if empty == 1 else np.nan)


def _blind(function: MetricFunction, sample: Reconstructions, params: Mapping[str, Any]) -> dict[str, float]:
    """An empty reconstruction, and another real sample of the same condition (mean over all pairs)."""
    blank = _iou(sample.real, np.zeros_like(sample.real), 1)
    empty = sample.mean(blank, sample.codes, "").value[0]
    groups = members(sample.codes, sample.groups)
    other = nan_array(
        1 - jaccard_pairs(sample.real[rows], threads=sample.threads).mean if len(rows) > 1 else np.nan
        for rows in groups
    )
    another = Baseline(level(sample, other, sample.counts))
    return known({"empty reconstruction": float(empty), "another real sample": another})


def _read(result: Result) -> str:
    blind = result.chance[-1].value if result.chance else 0.0
    if result.value <= blind:
        return "no better than another real sample would be"
    for least, words in ((0.9, "nearly all of a sample is reconstructed"), (0.7, "most of a sample is reconstructed")):
        if result.value > least:
            return words
    return "much of a sample is lost"


_COMMON: dict[str, Any] = {
    "family": FAMILY,
    "section": "reconstruction",
    "needs": ("reconstructions",),
    "unit": "sample",
    "reference": "jaccard1912",
    "laws": LAWS,
}
_IOU = EMPTY | {"two empty sides": AS_CHOSEN, "decoding": "without noise", "channels": "each by itself"}
_NO_SAMPLES = "no real samples with a reconstruction"
_FACT: dict[str, Any] = {
    "chance": NoChance("it is an option, not a score"),
    "interval": NoInterval("it is an option, not an estimate"),
}


@metric(
    key="mean_iou",
    direction="higher",
    bounds=(0, 1),
    chance=_blind,
    interval=over_samples,
    goal=0.7,
    interpretation=_read,
    conventions=MICRO | _IOU,
    **_COMMON | {"laws": LAWS | {"monotone": True}},
)
def mean_iou(sample: Reconstructions) -> Estimate:
    """Bits set in both the sample and its reconstruction over bits set in either, averaged over samples."""
    items, codes = sample.scored()
    empty = int(np.count_nonzero(np.isnan(items)))
    reason = f"{empty} samples are empty on both sides" if empty else _NO_SAMPLES
    return sample.mean(items, codes, reason, range=(0.0, 1.0))


@metric(
    key="std_iou",
    direction="none",
    bounds=(0, 1),
    conventions=EMPTY | {"average": "whole", "ddof": "0"} | _IOU,
    chance=NoChance("a spread is neither good nor bad"),
    interval=NoInterval("a spread describes these samples"),
    **_COMMON | {"laws": COUNT_LAWS},
)
def std_iou(sample: Reconstructions) -> Estimate:
    """Standard deviation over samples of the intersection over union."""
    items, codes = sample.scored()
    if sample.average is not None:
        value = without_rounding(np.std(items), items) if len(items) else np.nan
        return Estimate(np.array([value]), np.array([len(items)]), reason=_NO_SAMPLES)
    parts = (items[rows] for rows in members(codes, sample.groups))
    values = nan_array(without_rounding(np.std(part), part) if len(part) else np.nan for part in parts)
    return sample.estimate(values, np.bincount(codes, minlength=sample.groups), _NO_SAMPLES)


@metric(
    key="num_samples",
    direction="none",
    bounds=(0, np.inf),
    conventions=TOTAL,
    **_FACT,
    **_COMMON | {"laws": COUNT_LAWS},
)
def num_samples(sample: Reconstructions) -> Estimate:
    """Number of reconstructed real samples."""
    return counted(sample, sample.counts, _NO_SAMPLES)


@metric(
    key="threshold",
    direction="none",
    bounds=(0, 1),
    conventions=EMPTY | {"average": "whole"},
    **_FACT,
    **_COMMON | {"laws": COUNT_LAWS},
)
def threshold(sample: Reconstructions) -> Estimate:
    """The probability above which a decoded bit is set."""
    stated = sample.threshold is not None and len(sample.iou) > 0
    value = float(sample.threshold) if stated and sample.threshold is not None else np.nan
    reason = _NO_SAMPLES if not len(sample.iou) else "no threshold: reconstructions were given as bits"
    return Estimate(np.array([value]), np.array([len(sample.iou)]), reason=reason)
