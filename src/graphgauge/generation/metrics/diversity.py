"""Diversity: which attempts are valid, and whether they differ from each other and from the training set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from graphgauge.core.metric import Estimate, Exempt, NoInterval, whole
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints
from graphgauge.generation.averages import FEWEST_COMPARED, FEWEST_VALID, View, floats, values_of, warned
from graphgauge.generation.identity import unique_at
from graphgauge.generation.levels import SPLITS, band, level, named, share_draws, simulated, wider
from graphgauge.generation.metrics import COUNT, declared, of_shares, over_pairs, over_samples, with_options
from graphgauge.generation.metrics.attempts import Attempts
from graphgauge.stats.errors import standard_error

_FEW = f"no condition has {FEWEST_VALID} valid samples"
_NONE = "no samples were generated"
_metric = partial(
    declared,
    section="diversity",
    needs=("attempts",),
    reference="polykovskiy2020",
    conventions={"samples": "valid ones"},
)

# ---- shares of attempts and of valid samples


def _from_shares(shares: Floats, value: float) -> Reference:
    """Perfect: real samples with this share, of which as many have these."""
    low, high = band(shares)
    return level("perfect", value, min(low, value), max(high, value))


def _real_validity(sample: View[Attempts]) -> tuple[Reference, ...]:
    """Perfect: real samples under the same rules, with the run's mix of conditions; only if their validity is given."""
    data = sample.data
    if data.real_answers is None or not len(data.real_answers[0]):
        return ()
    fit, codes = data.real_answers
    n = np.bincount(codes, minlength=data.groups).astype(float)
    valid = np.bincount(codes, fit, minlength=data.groups)
    # Conditions without real samples have the rate of all.
    valid, n = np.where(n > 0, valid, fit.sum()), np.where(n > 0, n, len(fit))
    generator, prior = data.draws.generator(18), None if data.groups == 1 else (valid.sum() + 0.5) / (n.sum() + 1)
    shares = share_draws(valid, n, data.attempts, draws=data.draws.draws, generator=generator, prior=prior)
    asked = data.attempts > 0
    weights = data.attempts[asked] / data.attempts.sum()
    value = float((valid[asked] / n[asked] * weights).sum())
    return (_from_shares((shares[:, asked] * weights).sum(axis=1), value),)


@_metric(
    "validity_rate",
    needs=("validity",),
    average="micro",
    interval=of_shares,
    chance=_real_validity,
    default=True,
    laws={"monotone": True},
    conventions={"attempts": "all of them; no answer is not valid"},
)
def validity_rate(sample: View[Attempts]) -> Estimate:
    """Share of all attempts that are valid."""
    assert sample.data.answers is not None
    return sample.share(sample.data.answers, sample.data.codes, _NONE)


# ---- distances between the samples of a condition

_SHARE = {
    "pairs": "of one condition, each once",
    "samples": "valid ones",
    "distance": "Hamming, as a share of all bits",
}
_of_pairs = partial(_metric, needs=("pairs",), average="macro", reference="hamming1950", interval=over_pairs)


@with_options
def _real_pairs(sample: View[Attempts], name: str) -> tuple[Reference, ...]:
    """Perfect: the real samples compared with each other. Chance: one sample repeated."""
    data = sample.data
    values = np.where(data.enough, values_of(data.real_pairs, name) / data.width, np.nan)
    return named({"chance": level("chance", 0.0), "perfect": level("perfect", sample.combined(values, data.counts))})


@_of_pairs("overall_mean_diversity", unit="pair", chance=_real_pairs("mean"), conventions=_SHARE)
def overall_mean_diversity(sample: View[Attempts]) -> Estimate:
    """Mean share of bits in which two valid samples of a condition differ.

    Sparse samples always differ in few bits: two problems of 11 holds on a board of 594 cells differ by at most 0.037.
    Compare it with the value for real samples. Errors are from the means of the single samples.
    """
    data = sample.data
    error, df = np.full(data.groups, np.nan), np.zeros(data.groups)
    for place, own in enumerate(data.pairs):
        if own is not None:
            spread = 2 * (own.row_means - own.mean) / data.width
            (error[place],), (df[place],) = standard_error(spread, np.ones(len(spread)))
    return sample.estimate(values_of(data.pairs, "mean") / data.width, data.counts, _FEW, error=error, df=df)


@_of_pairs(
    "overall_std_diversity",
    unit="pair",
    direction="none",
    chance=_real_pairs("std"),
    interval=NoInterval("a spread describes these samples"),
    conventions=_SHARE,
)
def overall_std_diversity(sample: View[Attempts]) -> Estimate:
    """Standard deviation over pairs of the share of bits in which two valid samples differ."""
    data = sample.data
    return sample.estimate(values_of(data.pairs, "std") / data.width, data.counts, _FEW)


# ---- repeats


def unique_level(sample: View[Attempts], k: int | None) -> Reference | None:
    """The share of distinct samples among real ones.

    The run is compared at sizes at which the real samples can be drawn without repeating any: half of them. A
    repeat that real samples do not show may still be there: its rate is bounded by the number of their pairs.
    """
    data, generator = sample.data, sample.data.draws.generator(19)
    if data.real_ids is None or not data.same_rules:
        return None
    (columns, own, centre), reduced = np.full((3, SPLITS * 5, data.groups), np.nan), []
    for place, rows in enumerate(data.real_rows):
        n, m = len(rows), int(data.counts[place])
        half = min(m, n // 2)
        size = half if k is None else k
        if not data.enough[place] or size < FEWEST_VALID or half < size or m < size:
            continue
        ids = data.real_ids[rows]
        centre[:, place] = unique_at(ids, size)
        own[:, place] = unique_at(data.ids[data.rows[place]], size)
        reduced += [size] if k is None and size < m else []
        drawn = np.array([unique_at(generator.permutation(ids)[:half], size) for _ in range(SPLITS * 5)])
        columns[:, place] = wider(drawn, centre[0, place], n, m, half)
        # Pairs of equal samples, as rare events (Jeffreys' prior, of all conditions together).
        pairs = float((np.unique(ids, return_counts=True)[1] ** 2).sum() - n) / 2
        rate = generator.gamma(pairs + 0.5 / np.count_nonzero(data.enough), 1 / (n * (n - 1) / 2), SPLITS * 5)
        repeats = generator.poisson(rate * m * (m - 1) / 2) * (size - 1) / max(m - 1, 1) / m
        columns[:, place] = np.where(pairs < 5, 1 - np.minimum(repeats, 1), columns[:, place])
    known = ~np.isnan(centre[0])
    if not known.any():
        return None

    def mean(values: Floats) -> float:
        return sample.combined(np.where(known, values, np.nan), data.counts)

    each = "" if data.groups == 1 else " per condition"
    most = f"simulated with at most {max(reduced, default=0)} samples{each}, half of the real ones; see `own`"
    at_size = mean(own[0]) if reduced or not known[data.enough].all() else None
    perfect = _from_shares(np.clip([mean(row) for row in columns], 0, 1), mean(centre[0]))
    return level("perfect", perfect.value, perfect.low, perfect.high, own=at_size, note=most if reduced else None)


def _real_unique(sample: View[Attempts], *, k: int | None = None) -> tuple[Reference, ...]:
    """Perfect: as many real samples, of half of the real ones at most. Memoriser: training samples, drawn with
    replacement. Chance: one sample repeated."""
    data = sample.data
    sizes = data.counts if k is None else np.full(data.groups, k)
    repeated = sample.combined(np.where(data.enough, 1 / np.maximum(sizes, 1), np.nan), data.counts)
    levels = {"chance": level("chance", repeated), "perfect": unique_level(sample, k)}
    copied = [len(rows) > 0 for rows in data.train_rows]
    if data.train is not None and data.enough.any() and np.all(copied, where=data.enough):
        generator, shares = data.draws.generator(15), np.full((SPLITS, data.groups), np.nan)
        for place in np.flatnonzero(data.enough):
            ids, size = data.train_ids[data.train_rows[place]], int(sizes[place])
            shares[:, place] = [len(np.unique(generator.choice(ids, size))) / size for _ in range(SPLITS)]
        levels["memoriser"] = simulated("memoriser", floats(sample.combined(row, data.counts) for row in shares))
    return named(levels)


def _read(result: Result) -> str:
    if "perfect" in (result.compatible or ()) and result.value <= 0.95:
        return "as many distinct samples as real ones have"
    if result.value > 0.95:
        return "nearly all samples differ"
    if result.value > 0.8:
        return "most samples differ"
    return "few distinct samples: the generator repeats itself" if result.value < 0.5 else "many samples are repeated"


def _of_ids(data: Attempts, read: Callable[[Ints], float]) -> Floats:
    """A function of the ids of the valid samples of each condition, if there are enough."""
    return floats(read(data.ids[own]) if len(own) >= FEWEST_VALID else np.nan for own in data.rows)


@_metric(
    "overall_uniqueness_ratio",
    average="macro",
    interval=over_samples,
    chance=_real_unique,
    goal=0.8,
    interpretation=_read,
    default=True,
)
def overall_uniqueness_ratio(sample: View[Attempts]) -> Estimate:
    """Share of distinct samples among the valid ones of a condition; graphs are distinct up to isomorphism."""
    data = sample.data

    def error_of(ids: Ints) -> float:
        # The jackknife, which is conservative: leaving out a sample that occurs once removes its id.
        single = np.count_nonzero(np.unique(ids, return_counts=True)[1] == 1) / len(ids)
        return float(np.sqrt(single * (1 - single) / (len(ids) - 1)))

    values, error = (_of_ids(data, read) for read in (lambda ids: len(np.unique(ids)) / len(ids), error_of))
    df = np.where(data.enough, data.counts - 1.0, 0.0)
    return warned(sample.estimate(values, data.counts, _FEW, error=error, df=df, range=(0.0, 1.0)), *data.warnings)


# ---- copies of the training set


def _real_novelty(sample: View[Attempts]) -> tuple[Reference, ...]:
    """Perfect: real samples that the generator was not trained on. Memoriser: copies of training samples."""
    data = sample.data
    given, new, count = 0 if data.real is None else len(data.real), data.held_out, len(data.valid)
    levels = {"memoriser": level("memoriser", 0.0, 0.0, 0.0)}
    if given and count:
        # Real samples that it was trained on count as not novel.
        draws = share_draws(new, given, count, draws=data.draws.draws, generator=data.draws.generator(17))
        levels["perfect"] = _from_shares(draws, new / given)
    return named(levels)


def _never_new(sample: View[Attempts]) -> tuple[Reference, ...]:
    """Memoriser: copies of training samples, none of which is new."""
    return (level("memoriser", 0.0),)


_new = partial(_metric, needs=("novelty",), average="micro", interval=of_shares)


@_new("novelty", chance=_real_novelty, default=True)
def novelty(sample: View[Attempts]) -> Estimate:
    """Share of valid samples that are not in the training set; graphs are equal up to isomorphism."""
    data = sample.data
    kept = data.enough[data.valid.codes]
    return warned(sample.share(data.novel[kept], data.valid.codes[kept], _FEW), *data.warnings)


@_new("unique_novelty", chance=_never_new, conventions={"samples": "distinct valid ones"})
def unique_novelty(sample: View[Attempts]) -> Estimate:
    """Share of the distinct valid samples of a condition that are not in the training set, as in MOSES."""
    data = sample.data
    first = [rows[np.unique(data.ids[rows], return_index=True)[1]] for rows in data.rows if len(rows) >= FEWEST_VALID]
    kept = np.sort(np.concatenate([np.empty(0, np.int64), *first]))
    return sample.share(data.novel[kept], data.valid.codes[kept], _FEW)


@_new(
    "valid_unique_novel",
    reference="vignac2023",
    chance=_never_new,
    conventions={"attempts": "all of them", "repeats": "over all conditions"},
)
def valid_unique_novel(sample: View[Attempts]) -> Estimate:
    """Share of all attempts that are valid, differ from all earlier ones and are not in the training set."""
    data = sample.data
    first = np.zeros(len(data.ids), bool)
    first[np.unique(data.ids, return_index=True)[1]] = True
    missed = np.repeat(np.arange(data.groups), data.attempts - data.counts)
    items = np.concatenate([first & data.novel, np.zeros(len(missed), bool)])
    return warned(sample.share(items, np.concatenate([data.valid.codes, missed]), _NONE), *data.warnings)


def _copies_levels(sample: View[Attempts]) -> tuple[Reference, ...]:
    """Perfect: training and real samples, roles dealt at random. Near_copy: training samples, one bit or edge moved."""
    near = sample.data.nearest
    return () if near is None else named({name: simulated(name, draws) for name, draws in near.drawn.items()})


@_metric(
    "nearer_to_training",
    needs=("copies",),
    average="whole",
    reference="alaa2022",
    direction="lower",
    interval=NoInterval("samples share their neighbours"),
    chance=_copies_levels,
    default=True,
    laws={"permutation": Exempt("large samples are drawn from")},
    conventions={
        "samples": "valid ones that equal no training or real sample",
        "ties": "share their weight",
        "distance": "Jaccard; molecules: Tanimoto; graphs: L1 of counts of refined colours, least if one edge differs",
    },
)
def nearer_to_training(sample: View[Attempts]) -> Estimate:
    """Share of new samples whose nearest neighbour is a training sample, among training and real held-out samples.

    Novelty counts samples that equal one of these. A generator as near to one as to the other has the share of training
    samples among both; near copies have a larger one, though none is in the training set.
    """
    near = sample.data.nearest
    if near is None:
        return whole(np.nan, 0, reason=f"fewer than {FEWEST_COMPARED} new generated, training or real samples")
    return whole(near.share, near.n)


# ---- distinct samples among k, and counts


@_metric(
    "unique@{k}",
    average="macro",
    interval=NoInterval("a mean over draws from one sample; overall_uniqueness_ratio has one"),
    chance=_real_unique,
    conventions={"samples": "valid ones, the mean over all choices of k"},
)
def unique_at_k(sample: View[Attempts], *, k: int = 10) -> Estimate:
    """Expected share of distinct samples among k valid ones of a condition.

    Unlike `overall_uniqueness_ratio`, it is comparable between different numbers of samples.
    """
    values = _of_ids(sample.data, lambda ids: unique_at(ids, k))
    return sample.estimate(values, sample.data.counts, f"no condition has {k} valid samples")


@_metric("unique_problems", average="total", **COUNT)
def unique_problems(sample: View[Attempts]) -> Estimate:
    """Number of distinct valid samples, summed over conditions."""
    values = _of_ids(sample.data, lambda ids: float(len(np.unique(ids))))
    return sample.estimate(values, sample.data.counts, _FEW)


@_metric("total_valid", average="total", **COUNT)
def total_valid(sample: View[Attempts]) -> Estimate:
    """Number of valid samples."""
    data = sample.data
    return sample.estimate(np.where(data.attempts > 0, data.counts, np.nan), data.counts, _NONE)
