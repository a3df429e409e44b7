"""Diversity: which attempts are valid, and whether they differ from each other and from the training set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.metric import (
    Baseline,
    ChanceFunction,
    Estimate,
    Ideal,
    MetricFunction,
    NoChance,
    NoInterval,
    metric,
    section,
)
from graphgauge.core.result import Result
from graphgauge.generation.declared import (
    COUNT_LAWS,
    FAMILY,
    FEWEST_VALID,
    LAWS,
    MACRO,
    MICRO,
    TOTAL,
    counted,
    few,
    known,
    level,
    members,
    nan_array,
    of_shares,
    over_pairs,
    over_samples,
    values_of,
)  # fmt: skip
from graphgauge.generation.distances import Pairs, hamming_pairs, jaccard_pairs, row_ids, unique_at
from graphgauge.generation.graphs import Graphs, graph_ids
from graphgauge.generation.inputs import Bits, Codes, Samples
from graphgauge.generation.samples import ConditionSample, canonical_order
from graphgauge.generation.table import SampleTable
from graphgauge.stats.intervals import standard_error

section(
    "diversity", family=FAMILY, priority="high",
    question="how many attempts are valid, and how much they differ from each other and from the training set",
)  # fmt: skip


class Valid:
    """The valid samples and their references, in a fixed order; computed once, when first needed."""

    def __init__(self, table: SampleTable, threads: int | None) -> None:
        assert table.generated is not None
        self.groups, self._threads = len(table.labels), threads
        kept = np.ones(len(table.codes), bool) if table.valid is None else table.valid
        self.generated, self.codes = _ordered(table.generated, table.codes, kept)
        self.real, self.real_codes = None, None
        if table.real is not None:
            self.real, self.real_codes = _ordered(table.real, table.real_codes, np.ones(len(table.real_codes), bool))
        self.train, self.excluded = table.train, len(table.excluded)

    @cached_property
    def rows(self) -> list[Codes]:
        return members(self.codes, self.groups)

    @cached_property
    def real_rows(self) -> list[Codes]:
        return [] if self.real_codes is None else members(self.real_codes, self.groups)

    @cached_property
    def _ids(self) -> list[Codes]:
        """Ids of samples: equal samples have equal ids; graphs are equal up to isomorphism."""
        given = [part for part in (self.generated, self.real, self.train) if part is not None]
        graphs = [part for part in given if isinstance(part, Graphs)]
        return list(graph_ids(*graphs) if graphs else row_ids(*(_flat(part) for part in given)))

    @property
    def ids(self) -> Codes:
        return self._ids[0]

    @property
    def real_ids(self) -> Codes | None:
        return None if self.real is None else self._ids[1]

    @cached_property
    def novel(self) -> Bits:
        assert self.train is not None
        return ~np.isin(self.ids, self._ids[-1])

    @cached_property
    def hamming(self) -> list[Pairs | None]:
        return self._pairs(hamming_pairs, self.generated, self.rows)

    @cached_property
    def real_hamming(self) -> list[Pairs | None]:
        return self._pairs(hamming_pairs, self.real, self.real_rows)

    @cached_property
    def jaccard(self) -> list[Pairs | None]:
        return self._pairs(jaccard_pairs, self.generated, self.rows)

    @cached_property
    def real_jaccard(self) -> list[Pairs | None]:
        return self._pairs(jaccard_pairs, self.real, self.real_rows)

    def _pairs(self, pairs: Callable[..., Pairs], samples: Samples | None, rows: list[Codes]) -> list[Pairs | None]:
        if samples is None:
            return [None] * self.groups
        bits = _flat(samples)
        return [pairs(bits[own], threads=self._threads) if len(own) >= FEWEST_VALID else None for own in rows]

    @property
    def width(self) -> int:
        """Number of bits of a sample; 1 if there are no samples."""
        assert isinstance(self.generated, np.ndarray)
        return max(int(np.prod(self.generated.shape[1:])), 1)


def _ordered(samples: Samples, codes: Codes, kept: Bits) -> tuple[Samples, Codes]:
    index = np.flatnonzero(kept)
    if isinstance(samples, Graphs):
        index = index[np.argsort(codes[index], kind="stable")]
        return samples.take(index), codes[index]
    index = index[canonical_order(codes[index], samples[index])]
    return samples[index], codes[index]


def _flat(samples: Any) -> Bits:
    return np.ascontiguousarray(samples.reshape(len(samples), int(np.prod(samples.shape[1:]))))


@dataclass(frozen=True)
class Attempts(ConditionSample):
    """All attempts, valid or not, and the valid ones."""

    codes: Codes = field(kw_only=True)
    answers: Bits | None = field(kw_only=True)
    valid: Valid = field(kw_only=True)

    @classmethod
    def of(cls, table: SampleTable, **common: Any) -> Attempts:
        return cls(
            table.labels, codes=table.codes, answers=table.valid, valid=Valid(table, common.get("threads")), **common
        )

    @property
    def attempts(self) -> Codes:
        return np.bincount(self.codes, minlength=self.groups)

    @property
    def counts(self) -> Codes:
        """Valid samples of each condition."""
        return np.bincount(self.valid.codes, minlength=self.groups)

    @property
    def enough(self) -> Bits:
        return self.counts >= FEWEST_VALID

    def left_out(self) -> Mapping[str, str]:
        pairs = zip(self.labels, self.counts.tolist(), self.attempts.tolist(), strict=True)
        return {
            label: few(count, FEWEST_VALID, "valid sample", tried) if tried else "no samples were generated"
            for label, count, tried in pairs
            if count < FEWEST_VALID
        }

    def of_pairs(self, pairs: list[Pairs | None], scale: float = 1.0) -> Estimate:
        """Mean distances between the samples of a condition, with errors from the means of the single samples."""
        values = values_of(pairs, "mean") / scale
        error, df = np.full(self.groups, np.nan), np.zeros(self.groups)
        for place, own in enumerate(pairs):
            if own is not None:
                spread = 2 * (own.row_means - own.mean) / scale
                (error[place],), (df[place],) = standard_error(spread, np.ones(len(spread)))
        return self.estimate(values, self.counts, _FEW, error=error, df=df)

    def of_ids(self, read: Callable[[Codes], float]) -> Floats:
        """A function of the ids of the valid samples of each condition, if there are enough."""
        valid = self.valid
        return nan_array(read(valid.ids[own]) if len(own) >= FEWEST_VALID else np.nan for own in valid.rows)


def _real_pairs(read: Callable[[Valid], Floats]) -> ChanceFunction:
    """A generator that repeats one sample, and the real samples compared with each other."""

    def chance(function: MetricFunction, sample: Attempts, params: Mapping[str, Any]) -> dict[str, float]:
        real = level(sample, np.where(sample.enough, read(sample.valid), np.nan), sample.counts)
        return known({"one sample repeated": 0.0, "real samples": Ideal(real)})

    chance.__doc__ = _real_pairs.__doc__
    return chance


def _real_unique(function: MetricFunction, sample: Attempts, params: Mapping[str, Any]) -> dict[str, float]:
    """A generator that repeats one sample, and the same number of real samples without replacement, on average."""
    valid, k = sample.valid, params.get("k")
    sizes = sample.counts if k is None else np.full(sample.groups, k)
    values = np.full(sample.groups, np.nan)
    if valid.real_ids is not None:
        for place, rows in enumerate(valid.real_rows):
            drawn = min(int(sizes[place]), len(rows))
            if drawn >= FEWEST_VALID and sample.enough[place]:
                values[place] = unique_at(valid.real_ids[rows], drawn)
    repeated = level(sample, np.where(sample.enough, 1 / np.maximum(sizes, 1), np.nan), sample.counts)
    return known({"one sample repeated": repeated, "real samples": Ideal(level(sample, values, sample.counts))})


def _real_novelty(function: MetricFunction, sample: Attempts, params: Mapping[str, Any]) -> dict[str, float]:
    """A generator that copies the training set, and the real samples that it was not trained on."""
    levels: dict[str, float] = {"copies of the training set": Baseline(0.0)}
    # Real samples that it was trained on were dropped; they count as not novel.
    valid = sample.valid
    given = valid.excluded + (0 if valid.real is None else len(valid.real))
    if given:
        levels["real held-out samples"] = Ideal(1 - valid.excluded / given)
    return levels


def _read(result: Result) -> str:
    if result.value > 0.95:
        return "nearly all samples differ"
    if result.value > 0.8:
        return "most samples differ"
    return "few distinct samples: the generator repeats itself" if result.value < 0.5 else "many samples are repeated"


_FEW = f"no condition has {FEWEST_VALID} valid samples"
_COMMON: dict[str, Any] = {
    "family": FAMILY, "section": "diversity", "needs": ("attempts",), "unit": "sample", "laws": LAWS,
    "reference": "polykovskiy2020", "direction": "higher", "bounds": (0, 1),
}  # fmt: skip
_PAIRS = _COMMON | {"needs": ("pairs",), "reference": "hamming1950"}
_WITHIN = MACRO | {"pairs": "within a condition, each once", "samples": "valid ones"}
_COUNT = _COMMON | {
    "direction": "none", "bounds": (0, np.inf), "laws": COUNT_LAWS, "conventions": TOTAL,
    "chance": NoChance("a count is neither good nor bad"), "interval": NoInterval("a count of these samples"),
}  # fmt: skip


@metric(
    key="validity_rate", interval=of_shares, conventions=MICRO | {"attempts": "all of them; no answer is not valid"},
    chance=NoChance("it depends only on the validity rules"),
    **_COMMON | {"needs": ("validity",), "laws": LAWS | {"monotone": True}},
)  # fmt: skip
def validity_rate(sample: Attempts) -> Estimate:
    """Share of all attempts that are valid."""
    assert sample.answers is not None
    return sample.share(sample.answers, sample.codes, "no samples were generated")


@metric(
    key="overall_mean_diversity", conventions=_WITHIN | {"distance": "Hamming, as a share of all bits"},
    interval=over_pairs,
    chance=_real_pairs(lambda valid: values_of(valid.real_hamming, "mean") / valid.width),
    **_PAIRS,
)  # fmt: skip
def overall_mean_diversity(sample: Attempts) -> Estimate:
    """Mean share of bits in which two valid samples of a condition differ.

    Sparse samples always differ in few bits: two problems of 11 holds on a board of 594 cells differ by at most 0.037.
    Compare it with the value for real samples.
    """
    return sample.of_pairs(sample.valid.hamming, sample.valid.width)


@metric(
    key="overall_std_diversity", conventions=_WITHIN | {"distance": "Hamming, as a share of all bits", "ddof": "0"},
    interval=NoInterval("a spread describes these samples"),
    chance=_real_pairs(lambda valid: values_of(valid.real_hamming, "std") / valid.width),
    **_PAIRS | {"direction": "none", "laws": COUNT_LAWS},
)  # fmt: skip
def overall_std_diversity(sample: Attempts) -> Estimate:
    """Standard deviation over pairs of the share of bits in which two valid samples differ."""
    return sample.estimate(values_of(sample.valid.hamming, "std") / sample.valid.width, sample.counts, _FEW)


@metric(
    key="overall_uniqueness_ratio", conventions=MACRO | {"samples": "valid ones"}, interval=over_samples,
    chance=_real_unique, goal=0.8, interpretation=_read, **_COMMON,
)  # fmt: skip
def overall_uniqueness_ratio(sample: Attempts) -> Estimate:
    """Share of distinct samples among the valid ones of a condition; graphs are distinct up to isomorphism."""
    values = sample.of_ids(lambda ids: len(np.unique(ids)) / len(ids))
    error, df = np.full(sample.groups, np.nan), np.zeros(sample.groups)
    for place, rows in enumerate(sample.valid.rows):
        if len(rows) >= FEWEST_VALID:
            _, counts = np.unique(sample.valid.ids[rows], return_counts=True)
            # The jackknife, which is conservative: leaving out a sample that occurs once removes its id.
            single = np.count_nonzero(counts == 1) / len(rows)
            error[place], df[place] = np.sqrt(single * (1 - single) / (len(rows) - 1)), len(rows) - 1
    return sample.estimate(values, sample.counts, _FEW, error=error, df=df, range=(0.0, 1.0))


@metric(
    key="novelty", conventions=MICRO | {"samples": "valid ones"}, interval=of_shares, chance=_real_novelty,
    **_COMMON | {"needs": ("novelty",)},
)  # fmt: skip
def novelty(sample: Attempts) -> Estimate:
    """Share of valid samples that are not in the training set; graphs are equal up to isomorphism."""
    kept = sample.enough[sample.valid.codes]
    return sample.share(sample.valid.novel[kept], sample.valid.codes[kept], _FEW)


@metric(
    key="mean_hamming_bits", conventions=_WITHIN | {"distance": "Hamming, in bits"}, interval=over_pairs,
    chance=_real_pairs(lambda valid: values_of(valid.real_hamming, "mean")),
    **_PAIRS | {"bounds": (0, np.inf), "unit": "sample"},
)  # fmt: skip
def mean_hamming_bits(sample: Attempts) -> Estimate:
    """Mean number of bits in which two valid samples of a condition differ."""
    return sample.of_pairs(sample.valid.hamming)


@metric(
    key="mean_jaccard", conventions=_WITHIN | {"distance": "Jaccard; two empty samples: 0"}, interval=over_pairs,
    chance=_real_pairs(lambda valid: values_of(valid.real_jaccard, "mean")),
    **_PAIRS | {"reference": "jaccard1912"},
)  # fmt: skip
def mean_jaccard(sample: Attempts) -> Estimate:
    """Mean Jaccard distance of two valid samples of a condition: bits set in only one over bits set in either."""
    return sample.of_pairs(sample.valid.jaccard)


@metric(
    key="unique@{k}", conventions=MACRO | {"samples": "valid ones, the mean over all choices of k"},
    interval=NoInterval("a mean over draws from one sample; overall_uniqueness_ratio has one"), chance=_real_unique,
    **_COMMON,
)  # fmt: skip
def unique_at_k(sample: Attempts, *, k: int = 10) -> Estimate:
    """Expected share of distinct samples among k valid ones of a condition.

    Unlike `overall_uniqueness_ratio`, it is comparable between different numbers of samples.
    """
    values = sample.of_ids(lambda ids: unique_at(ids, k))
    return sample.estimate(values, sample.counts, f"no condition has {k} valid samples")


@metric(key="unique_samples", formerly="unique_problems", **_COUNT)
def unique_samples(sample: Attempts) -> Estimate:
    """Number of distinct valid samples, summed over conditions."""
    values = sample.of_ids(lambda ids: float(len(np.unique(ids))))
    return sample.estimate(values, sample.counts, _FEW)


@metric(key="total_valid", **_COUNT)
def total_valid(sample: Attempts) -> Estimate:
    """Number of valid samples."""
    return counted(sample, sample.counts, "no valid samples")
