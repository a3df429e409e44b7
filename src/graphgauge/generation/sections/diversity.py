"""Diversity: which attempts are valid, and whether they differ from each other and from the training set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, Exempt, NoChance, NoInterval
from graphgauge.core.registry import section
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import (
    COUNT_LAWS,
    FAMILY,
    FEWEST_COMPARED,
    FEWEST_VALID,
    LAWS,
    ConditionSample,
    declared,
    few,
    floats,
    of_shares,
    over_pairs,
    over_samples,
    values_of,
    warned,
    whole_of,
)
from graphgauge.generation.distances import Pairs
from graphgauge.generation.identity import unique_at
from graphgauge.generation.levels import SPLITS, Draws, band, level, named, share_draws, simulated, wider
from graphgauge.generation.sample import Sides
from graphgauge.generation.sections.valid import Valid
from graphgauge.stats.errors import standard_error

section(
    "diversity",
    family=FAMILY,
    priority="high",
    question="how many attempts are valid, and how much they differ from each other and from the training set",
)


@dataclass(frozen=True)
class Attempts(ConditionSample):
    """All attempts, valid or not, and the valid ones; `real_answers` are validity and conditions of real samples."""

    codes: Ints = field(kw_only=True)
    answers: Mask | None = field(kw_only=True)
    valid: Valid = field(kw_only=True)
    real_answers: tuple[Mask, Ints] | None = field(kw_only=True, default=None)

    @classmethod
    def from_sides(cls, sides: Sides, draws: Draws) -> Attempts:
        generated, real, answers = sides.generated, sides.real, None
        assert generated is not None
        if real is not None and real.valid is not None:
            # Those that are in training are real samples as well.
            order = np.argsort(real.in_training, kind="stable")
            answers = real.valid[order], real.conditions[order]
        return cls(
            sides.labels,
            codes=generated.conditions,
            answers=generated.valid,
            valid=Valid(sides, draws),
            real_answers=answers,
        )

    @property
    def attempts(self) -> Ints:
        return np.bincount(self.codes, minlength=self.groups)

    @property
    def counts(self) -> Ints:
        """Valid samples of each condition."""
        return np.bincount(self.valid.codes, minlength=self.groups)

    @property
    def enough(self) -> Mask:
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

    def of_ids(self, read: Callable[[Ints], float]) -> Floats:
        """A function of the ids of the valid samples of each condition, if there are enough."""
        valid = self.valid
        return floats(read(valid.ids[own]) if len(own) >= FEWEST_VALID else np.nan for own in valid.rows)

    def pairs_level(self, name: str, kind: str, scale: float) -> Reference | None:
        """The mean distance within samples of a reference generator, as many as the run has."""
        drawn = self.valid.pair_draws(kind, name == "memoriser")
        if drawn is None:
            return None
        known = ~np.isnan(drawn[0])
        if not known.any() or (self.enough & ~known).any():
            return None
        weights = known * (self.counts if self.average == "micro" else 1)
        return simulated(name, np.nansum(drawn * weights, axis=1) / weights.sum() / scale)

    def unique_level(self, k: int | None) -> Reference | None:
        """The share of distinct samples among real ones.

        The run is compared at sizes at which the real samples can be drawn without repeating any: half of them. A
        repeat that real samples do not show may still be there: its rate is bounded by the number of their pairs.
        """
        valid, generator = self.valid, self.valid.draws.generator(19)
        if valid.real_ids is None or not valid.same_rules:
            return None
        (columns, own, centre), reduced = np.full((3, SPLITS * 5, self.groups), np.nan), []
        for place, rows in enumerate(valid.real_rows):
            n, m = len(rows), int(self.counts[place])
            half = min(m, n // 2)
            size = half if k is None else k
            if not self.enough[place] or size < FEWEST_VALID or half < size or m < size:
                continue
            ids = valid.real_ids[rows]
            centre[:, place] = unique_at(ids, size)
            own[:, place] = unique_at(valid.ids[valid.rows[place]], size)
            reduced += [size] if k is None and size < m else []
            drawn = np.array([unique_at(generator.permutation(ids)[:half], size) for _ in range(SPLITS * 5)])
            columns[:, place] = wider(drawn, centre[0, place], n, m, half)
            # Pairs of equal samples, as rare events (Jeffreys' prior, of all conditions together).
            pairs = float((np.unique(ids, return_counts=True)[1] ** 2).sum() - n) / 2
            rate = generator.gamma(pairs + 0.5 / np.count_nonzero(self.enough), 1 / (n * (n - 1) / 2), SPLITS * 5)
            repeats = generator.poisson(rate * m * (m - 1) / 2) * (size - 1) / max(m - 1, 1) / m
            columns[:, place] = np.where(pairs < 5, 1 - np.minimum(repeats, 1), columns[:, place])
        known = ~np.isnan(centre[0])
        if not known.any():
            return None

        def mean(values: Floats) -> float:
            return self.combined(np.where(known, values, np.nan), self.counts)

        draws = np.clip([mean(row) for row in columns], 0, 1)
        at_size = mean(own[0]) if reduced or not known[self.enough].all() else None
        each = "" if self.groups == 1 else " per condition"
        most = f"simulated with at most {max(reduced, default=0)} samples{each}, half of the real ones; see `own`"
        note = most if reduced else None
        (low, high), value = band(draws), mean(centre[0])
        return level("perfect", value, min(low, value), max(high, value), at_size, note)


# ---- levels


def _real_pairs(kind: str, scale: Callable[[Valid], float], *, spread: bool = False) -> Any:
    """Perfect: the real samples compared with each other. Memoriser: the training samples. Chance: one sample
    repeated."""

    def chance(sample: Attempts) -> tuple[Reference, ...]:
        valid, by = sample.valid, scale(sample.valid)
        real = valid.real_hamming if kind == "hamming" else valid.real_jaccard
        values = values_of(real, "std" if spread else "mean") / by
        perfect = level("perfect", sample.combined(np.where(sample.enough, values, np.nan), sample.counts))
        if spread:
            return named({"chance": level("chance", 0.0), "perfect": perfect})
        drawn = sample.pairs_level("perfect", kind, by)
        if drawn is not None:
            perfect = level("perfect", perfect.value, drawn.low, drawn.high)
        copied = sample.pairs_level("memoriser", kind, by)
        return named({"chance": level("chance", 0.0), "memoriser": copied, "perfect": perfect})

    chance.__doc__ = _real_pairs.__doc__
    return chance


def _real_unique(sample: Attempts, *, k: int | None = None) -> tuple[Reference, ...]:
    """Perfect: as many real samples, of half of the real ones at most. Memoriser: training samples, drawn with
    replacement. Chance: one sample repeated."""
    valid = sample.valid
    sizes = sample.counts if k is None else np.full(sample.groups, k)
    repeated = sample.combined(np.where(sample.enough, 1 / np.maximum(sizes, 1), np.nan), sample.counts)
    levels = {"chance": level("chance", repeated), "perfect": sample.unique_level(k)}
    copied = [len(rows) > 0 for rows in valid.train_rows]
    if valid.train is not None and sample.enough.any() and np.all(copied, where=sample.enough):
        generator, shares = valid.draws.generator(15), np.full((SPLITS, sample.groups), np.nan)
        for place in np.flatnonzero(sample.enough):
            ids, size = valid.train_ids[valid.train_rows[place]], int(sizes[place])
            shares[:, place] = [len(np.unique(generator.choice(ids, size))) / size for _ in range(SPLITS)]
        levels["memoriser"] = simulated("memoriser", floats(sample.combined(row, sample.counts) for row in shares))
    return named(levels)


def _real_novelty(sample: Attempts) -> tuple[Reference, ...]:
    """Perfect: real samples that the generator was not trained on. Memoriser: copies of training samples; near_copy:
    the same with one bit or edge moved."""
    # Real samples that it was trained on count as not novel.
    valid = sample.valid
    given = valid.learned + (0 if valid.real is None else len(valid.real))
    levels: dict[str, Reference | None] = {"memoriser": level("memoriser", 0.0, 0.0, 0.0)}
    copied, count = valid.near_copy_novelty, len(valid.codes)
    if copied == copied and count:
        draws = valid.draws.generator(16).binomial(count, copied, valid.draws.draws) / count
        levels["near_copy"] = level("near_copy", copied, *band(draws))
    if given and count:
        new = given - valid.learned
        draws = share_draws(new, given, count, draws=valid.draws.draws, generator=valid.draws.generator(17))
        low, high = band(draws)
        levels["perfect"] = level("perfect", new / given, min(low, new / given), max(high, new / given))
    return named(levels)


def _real_validity(sample: Attempts) -> tuple[Reference, ...]:
    """Perfect: real samples under the same rules, with the run's mix of conditions; only if their validity is given."""
    if sample.real_answers is None or not len(sample.real_answers[0]):
        return ()
    fit, codes = sample.real_answers
    n = np.bincount(codes, minlength=sample.groups).astype(float)
    valid = np.bincount(codes, fit, minlength=sample.groups)
    # Conditions without real samples have the rate of all.
    valid, n = np.where(n > 0, valid, fit.sum()), np.where(n > 0, n, len(fit))
    draws = sample.valid.draws
    prior = None if sample.groups == 1 else (valid.sum() + 0.5) / (n.sum() + 1)
    shares = share_draws(valid, n, sample.attempts, draws=draws.draws, generator=draws.generator(18), prior=prior)
    asked = sample.attempts > 0
    weights = sample.attempts[asked] / sample.attempts.sum()
    low, high = band((shares[:, asked] * weights).sum(axis=1))
    value = float((valid[asked] / n[asked] * weights).sum())
    return (level("perfect", value, min(low, value), max(high, value)),)


def _never_new(sample: Attempts) -> tuple[Reference, ...]:
    """Memoriser: copies of training samples, none of which is new."""
    return (level("memoriser", 0.0),)


def _copies_levels(sample: Attempts) -> tuple[Reference, ...]:
    """Perfect: training and real samples with their roles dealt at random. Near_copy: training samples with one bit or
    edge moved."""
    near = sample.valid.nearest
    return () if near is None else named({name: simulated(name, draws) for name, draws in near.drawn.items()})


def _read(result: Result) -> str:
    if "perfect" in (result.compatible or ()) and result.value <= 0.95:
        return "as many distinct samples as real ones have"
    if result.value > 0.95:
        return "nearly all samples differ"
    if result.value > 0.8:
        return "most samples differ"
    return "few distinct samples: the generator repeats itself" if result.value < 0.5 else "many samples are repeated"


# ---- metrics

_FEW = f"no condition has {FEWEST_VALID} valid samples"
_COMMON: dict[str, Any] = {
    "section": "diversity",
    "needs": ("attempts",),
    "unit": "sample",
    "direction": "higher",
    "bounds": (0, 1),
    "laws": LAWS,
    "reference": "polykovskiy2020",
    "conventions": {"samples": "valid ones"},
}
_PAIRS = _COMMON | {"needs": ("pairs",), "unit": "pair", "reference": "hamming1950"}
_WITHIN = {"pairs": "of one condition, each once", "samples": "valid ones"}
_HAMMING = _PAIRS | {"conventions": _WITHIN | {"distance": "Hamming, as a share of all bits"}}
_COUNT = _COMMON | {
    "direction": "none",
    "bounds": (0, np.inf),
    "laws": COUNT_LAWS,
    "chance": NoChance("a count is neither good nor bad"),
    "interval": NoInterval("a count of these samples"),
}


@declared(
    "validity_rate",
    average="micro",
    interval=of_shares,
    chance=_real_validity,
    default=True,
    **_COMMON
    | {
        "needs": ("validity",),
        "laws": LAWS | {"monotone": True},
        "conventions": {"attempts": "all of them; no answer is not valid"},
    },
)
def validity_rate(sample: Attempts) -> Estimate:
    """Share of all attempts that are valid."""
    assert sample.answers is not None
    return sample.share(sample.answers, sample.codes, "no samples were generated")


@declared(
    "overall_mean_diversity",
    average="macro",
    interval=over_pairs,
    chance=_real_pairs("hamming", lambda valid: valid.width),
    **_HAMMING,
)
def overall_mean_diversity(sample: Attempts) -> Estimate:
    """Mean share of bits in which two valid samples of a condition differ.

    Sparse samples always differ in few bits: two problems of 11 holds on a board of 594 cells differ by at most 0.037.
    Compare it with the value for real samples.
    """
    return sample.of_pairs(sample.valid.hamming, sample.valid.width)


@declared(
    "overall_std_diversity",
    average="macro",
    interval=NoInterval("a spread describes these samples"),
    chance=_real_pairs("hamming", lambda valid: valid.width, spread=True),
    **_HAMMING | {"direction": "none", "laws": COUNT_LAWS},
)
def overall_std_diversity(sample: Attempts) -> Estimate:
    """Standard deviation over pairs of the share of bits in which two valid samples differ."""
    return sample.estimate(values_of(sample.valid.hamming, "std") / sample.valid.width, sample.counts, _FEW)


@declared(
    "overall_uniqueness_ratio",
    average="macro",
    interval=over_samples,
    chance=_real_unique,
    goal=0.8,
    interpretation=_read,
    default=True,
    **_COMMON,
)
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
    estimate = sample.estimate(values, sample.counts, _FEW, error=error, df=df, range=(0.0, 1.0))
    return warned(estimate, *sample.valid.warnings)


@declared(
    "novelty",
    average="micro",
    interval=of_shares,
    chance=_real_novelty,
    default=True,
    **_COMMON | {"needs": ("novelty",)},
)
def novelty(sample: Attempts) -> Estimate:
    """Share of valid samples that are not in the training set; graphs are equal up to isomorphism."""
    kept = sample.enough[sample.valid.codes]
    estimate = sample.share(sample.valid.novel[kept], sample.valid.codes[kept], _FEW)
    return warned(estimate, *sample.valid.warnings)


@declared(
    "unique_novelty",
    average="micro",
    interval=of_shares,
    chance=_never_new,
    **_COMMON
    | {"needs": ("novelty",), "reference": "polykovskiy2020", "conventions": {"samples": "distinct valid ones"}},
)
def unique_novelty(sample: Attempts) -> Estimate:
    """Share of the distinct valid samples of a condition that are not in the training set, as in MOSES."""
    valid = sample.valid
    kept = np.zeros(len(valid.ids), bool)
    for rows in valid.rows:
        if len(rows) >= FEWEST_VALID:
            kept[rows[np.unique(valid.ids[rows], return_index=True)[1]]] = True
    return sample.share(valid.novel[kept], valid.codes[kept], _FEW)


@declared(
    "valid_unique_novel",
    average="micro",
    interval=of_shares,
    chance=_never_new,
    **_COMMON
    | {
        "needs": ("novelty",),
        "reference": "vignac2023",
        "conventions": {"attempts": "all of them", "repeats": "over all conditions"},
    },
)
def valid_unique_novel(sample: Attempts) -> Estimate:
    """Share of all attempts that are valid, differ from all earlier ones and are not in the training set."""
    valid = sample.valid
    first = np.zeros(len(valid.ids), bool)
    first[np.unique(valid.ids, return_index=True)[1]] = True
    missed = np.repeat(np.arange(sample.groups), sample.attempts - sample.counts)
    items = np.concatenate([first & valid.novel, np.zeros(len(missed), bool)])
    estimate = sample.share(items, np.concatenate([valid.codes, missed]), "no samples were generated")
    return warned(estimate, *valid.warnings)


@declared(
    "nearer_to_training",
    average="whole",
    interval=NoInterval("samples share their neighbours; compare with the band of a perfect generator"),
    chance=_copies_levels,
    default=True,
    **_COMMON
    | {
        "needs": ("copies",),
        "reference": "alaa2022",
        "direction": "lower",
        "laws": LAWS | {"permutation": Exempt("large samples are drawn from, in their order")},
        "conventions": {
            "samples": "valid ones that equal no training or real sample",
            "ties": "share their weight",
            "distance": "Jaccard; molecules: Tanimoto; graphs: L1 of counts of refined colours, least if one edge "
            "differs",
        },
    },
)
def nearer_to_training(sample: Attempts) -> Estimate:
    """Share of new samples whose nearest neighbour is a training sample, among training and real held-out samples.

    Samples that equal a training or real sample are left out; novelty counts those. A generator that is as
    near to one as to the other has the share of training samples among both. Near copies of training samples have a
    larger share, even if none of them is in the training set.
    """
    near = sample.valid.nearest
    if near is None:
        return whole_of(np.nan, 0, f"fewer than {FEWEST_COMPARED} new generated, training or real samples")
    return whole_of(near.share, near.n, "")


@declared(
    "mean_hamming_bits",
    average="macro",
    interval=over_pairs,
    chance=_real_pairs("hamming", lambda valid: 1.0),
    **_PAIRS | {"bounds": (0, np.inf), "unit": "sample", "conventions": _WITHIN | {"distance": "Hamming, in bits"}},
)
def mean_hamming_bits(sample: Attempts) -> Estimate:
    """Mean number of bits in which two valid samples of a condition differ."""
    return sample.of_pairs(sample.valid.hamming)


@declared(
    "mean_jaccard",
    average="macro",
    interval=over_pairs,
    chance=_real_pairs("jaccard", lambda valid: 1.0),
    **_PAIRS | {"reference": "jaccard1912", "conventions": _WITHIN | {"distance": "Jaccard; two empty samples: 0"}},
)
def mean_jaccard(sample: Attempts) -> Estimate:
    """Mean Jaccard distance of two valid samples of a condition: bits set in only one over bits set in either."""
    return sample.of_pairs(sample.valid.jaccard)


@declared(
    "unique@{k}",
    average="macro",
    interval=NoInterval("a mean over draws from one sample; overall_uniqueness_ratio has one"),
    chance=_real_unique,
    **_COMMON | {"conventions": {"samples": "valid ones, the mean over all choices of k"}},
)
def unique_at_k(sample: Attempts, *, k: int = 10) -> Estimate:
    """Expected share of distinct samples among k valid ones of a condition.

    Unlike `overall_uniqueness_ratio`, it is comparable between different numbers of samples.
    """
    values = sample.of_ids(lambda ids: unique_at(ids, k))
    return sample.estimate(values, sample.counts, f"no condition has {k} valid samples")


@declared("unique_problems", average="total", **_COUNT)
def unique_problems(sample: Attempts) -> Estimate:
    """Number of distinct valid samples, summed over conditions."""
    values = sample.of_ids(lambda ids: float(len(np.unique(ids))))
    return sample.estimate(values, sample.counts, _FEW)


@declared("total_valid", average="total", **_COUNT)
def total_valid(sample: Attempts) -> Estimate:
    """Number of valid samples."""
    if sample.attempts.sum():
        return sample.estimate(np.where(sample.attempts > 0, sample.counts, np.nan), sample.counts, "no samples")
    return sample.count(sample.counts, "no samples were generated")
