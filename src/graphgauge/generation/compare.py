"""Compare generators of which one set of samples each is given: by permutations and resampling over samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import confidence_level, metric_names
from graphgauge.core.registry import find
from graphgauge.core.result import Interval
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import FAMILY, FEWEST_COMPARED
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.graph_features import CONVENTIONS, DEFAULT_CONVENTION, STATISTICS, Convention, padded
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.identity import codes, unique_at
from graphgauge.generation.levels import MOST, Draws, apart, resampled, sums_of
from graphgauge.generation.metrics.compared import vectors
from graphgauge.generation.metrics.described import Described
from graphgauge.generation.sample import Samples, Sides, as_side, require_one_kind
from graphgauge.generation.two_sample import Score, at_most, energy, p_value, unbiased
from graphgauge.stats.design import Design
from graphgauge.stats.intervals import tail
from graphgauge.stats.many import holm
from graphgauge.stats.outcome import Comparison, Pair, Standing, verdict_of

COMPARED = (
    "validity_rate",
    "overall_uniqueness_ratio",
    "novelty",
    *(f"{kind}_mmd" for kind in STATISTICS),
    "mmd",
    "energy_distance",
)
# Findings of generators that are not better whatever their values are.
_COPIES = ("copied-test-set", "copied-training-set", "near-copies")
_CHECKED_DRAWS = 199


def compare_samples(
    real: Any,
    generated: Mapping[str, Any],
    *,
    train: Any = None,
    metrics: Sequence[str] | str | None = None,
    confidence: float = 0.95,
    draws: int = 999,
    seed: int = 0,
    protocol: str | None = None,
) -> tuple[Comparison, ...]:
    """Which of several generators has samples that are nearer to the real ones, more often valid, new or distinct.

    Shares are tested by exchanging samples between both generators. Discrepancies (MMDs, energy distance) are tested in
    this way and by the bootstrap of their interval, and the larger p-value counts: generators that differ from each
    other may be equally far from the real samples, and exchanges would call one of them better. All p-values are
    corrected by Holm for the metrics and pairs. A generator that copies the real or the training samples is not better.

    Intervals are percentiles of a bootstrap of all samples, moved to the observed difference. At most 1,000 samples of
    each generator are compared, and equally many of all if the discrepancy depends on the number of samples (energy
    distance, biased MMDs) or is a share of distinct ones. Conditions are not used: compare one condition at a time.

    Parameters
    ----------
    real, train
        As in `evaluate`.
    generated
        The samples of each generator, by name; at least two.
    metrics
        The metrics or sections to compare; all that apply by default.
    confidence
        Level of the intervals and of the family of tests.
    draws, seed
        Number of exchanges and of bootstrap draws, and their seed.
    protocol
        As in `evaluate`.

    Returns
    -------
    tuple of Comparison
        One for each metric.

    Raises
    ------
    InputError
        If samples have different shapes.
    OptionError
        If there are fewer than two generators.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import generation
    >>> rng = np.random.default_rng(0)
    >>> def side(share):
    ...     bits = rng.random((40, 6)) < share
    ...     return generation.Samples(bits, statistics={"size": bits.sum(1)})
    >>> found = generation.compare_samples(side(0.5), {"good": side(0.5), "bad": side(0.9)}, draws=99)
    >>> {each.metric: each["good", "bad"].winner for each in found}
    {'overall_uniqueness_ratio': 'good', 'mmd': 'good', 'energy_distance': 'good'}
    """
    if not isinstance(generated, Mapping):
        raise InputError(f"expected {{name: samples}}, found {type(generated).__name__}", where="generated")
    if len(generated) < 2:
        raise OptionError("a comparison needs at least two generators", where="generated")
    generated = {str(name): own for name, own in generated.items()}
    convention = CONVENTIONS[one_of("protocol", protocol or DEFAULT_CONVENTION, CONVENTIONS)]
    wanted, level, chosen = _wanted(metrics), confidence_level(confidence), Draws(seed, draws)
    fixed = _unconditional(real), _unconditional(train)
    sides = {name: Sides.from_samples(fixed[0], _unconditional(own), fixed[1]) for name, own in generated.items()}
    made = {name: each.generated for name, each in sides.items() if each.generated is not None}
    _require_alike(made)
    if protocol is not None and any(each.kind != "graphs" for each in sides.values()):
        raise OptionError(f"{protocol} compares graphs, and samples are not", fix="Leave it out.").about("protocol")
    common, rivals = _rivals(next(iter(sides.values())), made, chosen)
    shared = _Shared(common, min(len(each.kept) for each in rivals.values()), _width(common, rivals.values()))
    tests = [
        replace(each, names=pair)
        for pair in combinations(rivals, 2)
        for each in _tests(shared, rivals[pair[0]], rivals[pair[1]], convention, chosen)
        if each.metric in wanted
    ]
    if not tests:
        asked = "" if metrics is None else f", or {', '.join(wanted)} cannot be computed from them"
        raise InputError(f"fewer than {FEWEST_COMPARED} valid samples of each generator, or real ones{asked}")
    corrected = holm([each.p_value for each in tests])
    tests = [replace(each, p_holm=float(p)) for each, p in zip(tests, corrected, strict=True)]
    attempts = {name: len(side.kept) for name, side in made.items()}
    compared = {name: len(each.kept) for name, each in rivals.items()}
    invalid = {name: why for name, each in sides.items() if (why := _copies(each, seed)) is not None}
    by_metric = [own for key in COMPARED if (own := [each for each in tests if each.metric == key])]
    return tuple(
        _comparison(own, attempts if own[0].metric == "validity_rate" else compared, invalid, level, len(by_metric))
        for own in by_metric
    )


def _wanted(metrics: Sequence[str] | str | None) -> list[str]:
    """The metrics that are compared of those that are asked for, by key or section."""
    names = metric_names(metrics)
    if names is None or {"default", "all"} & set(names):
        return list(COMPARED)
    asked = [key for key in COMPARED if {key, find(key, FAMILY)[0].section} & set(names)]
    if not asked:
        raise OptionError(f"these are compared: {', '.join(COMPARED)}", where="metrics")
    return asked


def _unconditional(value: Any) -> Samples | None:
    """A side without its conditions."""
    side = as_side(value)
    return None if side is None else replace(side, conditions=None, predicted=None)


def _require_alike(generated: Mapping[str, Samples]) -> None:
    """Refuse generators whose samples cannot be compared with each other, or of which less is known."""
    require_one_kind(generated)
    for column in ("items", "valid", "statistics"):
        without = [name for name, side in generated.items() if getattr(side, column) is None]
        if 0 < len(without) < len(generated):
            what = f"{column} of {' and '.join(without)} are missing"
            raise InputError(what, where="generated", fix="Give them of all generators, or of none.")


def _copies(sides: Sides, seed: int) -> str | None:
    """Why a generator cannot be better: it copies the real samples or its training set, exactly or nearly."""
    if sides.real is None or sides.generated is None or sides.generated.items is None or sides.real.items is None:
        return None
    keys = ["total_valid"] if sides.train is None else ["novelty", "nearer_to_training"]
    findings = evaluate(sides, metrics=keys, draws=_CHECKED_DRAWS, seed=seed).findings
    return next((f"{each.check}: {each.message}" for each in findings if each.check in _COPIES), None)


# ---- what is compared


@dataclass(frozen=True)
class _Rival:
    """What is compared of a side: `valid` of all its samples; of the valid ones, at most 1,000, their columns, their
    statistics as points in common units, ids that are equal where samples are, and which are not in training."""

    valid: Mask | None
    kept: Samples
    points: Floats | None
    ids: Ints | None = None
    new: Mask | None = None


@dataclass(frozen=True)
class _Shared:
    """What all pairs have in common, so that a generator has one value: the real side, the size of the smallest
    generator, and the median distance between items of all sides, which is the kernel's bandwidth."""

    real: _Rival | None
    size: int
    width: float


def _width(real: _Rival | None, rivals: Iterable[_Rival]) -> float:
    """The median distance between the items of all sides; graphs have kernels of their own."""
    items = [each.kept.items for each in rivals]
    items += [] if real is None else [real.kept.items]
    if real is None or any(each is None or isinstance(each, Graphs) for each in items):
        return math.nan
    every = np.concatenate([np.asarray(vectors(each), dtype=np.float64) for each in items])
    return float(np.median(squared_distances(every, every)[np.triu_indices(len(every), 1)])) or 1.0


def _rivals(first: Sides, made: Mapping[str, Samples], draws: Draws) -> tuple[_Rival | None, dict[str, _Rival]]:
    """The real side, if there is one, and all generated ones by name."""
    described = _described(first, list(made.values()), draws)

    def rival(side: Samples, rows: Ints) -> _Rival:
        kept = side.take(rows)
        return _Rival(side.valid, kept, None if described is None else described.points(kept, 0))

    valid = {name: draws.generator(32).permutation(np.flatnonzero(side.kept)) for name, side in made.items()}
    rivals = {name: rival(side, np.sort(valid[name][:MOST])) for name, side in made.items()}
    items = [each.kept.items for each in rivals.values()]
    if all(each is not None for each in items):
        learned = [] if first.train is None or first.train.items is None else [first.train.items]
        ids = codes(*items, *learned).ids
        for name, own in zip(made, ids, strict=False):
            rivals[name] = replace(rivals[name], ids=own, new=~np.isin(own, ids[-1]) if learned else None)
    if first.real is None:
        return None, rivals
    fit = draws.generator(30).permutation(np.flatnonzero(first.real.kept & ~first.real.in_training))
    return rival(first.real, fit[:MOST]), rivals


def _described(first: Sides, made: Sequence[Samples], draws: Draws) -> Described | None:
    """The columns and scales of statistics, from the real samples and all generators together."""
    if first.real is None or first.real.statistics is None or any(each.statistics is None for each in made):
        return None
    joined = Samples(
        conditions=np.concatenate([each.conditions for each in made]),
        valid=np.concatenate([each.kept for each in made]),
        statistics={name: np.concatenate([each.statistics[name] for each in made]) for name in made[0].statistics},
        in_training=np.concatenate([each.in_training for each in made]),
    )
    return Described(replace(first, generated=joined), draws)


# ---- tests


@dataclass(frozen=True)
class _Test:
    """A metric of two generators, and its difference in draws; `p_holm` is corrected for all metrics and pairs."""

    metric: str
    values: tuple[float, float]
    p_value: float
    drawn: Floats
    names: tuple[str, str] = ("", "")
    p_holm: float = np.nan


def _tests(shared: _Shared, first: _Rival, second: _Rival, convention: Convention, draws: Draws) -> Iterator[_Test]:
    """All metrics that the columns allow."""
    real = shared.real
    if first.valid is not None and second.valid is not None:
        yield _shares("validity_rate", first.valid, second.valid, draws)
    if min(len(first.kept), len(second.kept)) < FEWEST_COMPARED:
        return
    if first.ids is not None and second.ids is not None:
        yield _distinct(first.ids, second.ids, shared.size, draws)
    if first.new is not None and second.new is not None:
        yield _shares("novelty", first.new, second.new, draws)
    if real is None or len(real.kept) < FEWEST_COMPARED:
        return
    sides = (real, first, second)
    items = [each.kept.items for each in sides]
    if all(isinstance(each, Graphs) for each in items):
        for kind, chosen in convention.kernels.items():
            # Some protocols compare no more generated graphs than there are real ones, the first.
            most = len(real.kept) if kind in convention.truncated else MOST
            parts = padded(*(chosen.features(each.take(np.arange(min(len(each), most)))) for each in items))
            yield _discrepancy(f"{kind}_mmd", parts, chosen.kernel, convention.score, shared.size, draws)
    elif all(each is not None for each in items):
        parts = [np.asarray(vectors(each), dtype=np.float64) for each in items]
        width = -2 * shared.width
        yield _discrepancy(
            "mmd", parts, lambda x, y: np.exp(squared_distances(x, y) / width), unbiased, shared.size, draws
        )
    points = [each.points for each in sides if each.points is not None]
    if points:
        yield _discrepancy(
            "energy_distance", points, lambda x, y: np.sqrt(squared_distances(x, y)), energy, shared.size, draws
        )


def _exchanged(n: int, m: int, draws: Draws) -> Mask:
    """Which of n + m samples are of the first generator: as observed, and after random exchanges."""
    member = np.zeros((draws.draws + 1, n + m), bool)
    member[:, :n] = True
    draws.generator(33).permuted(member[1:], axis=1, out=member[1:])
    return member


def _p_value(differences: Floats) -> float:
    """Two-sided, from the observed difference and those under the null hypothesis."""
    return p_value(abs(float(differences[0])), np.abs(differences[1:]))


def _shares(key: str, first: Mask, second: Mask, draws: Draws) -> _Test:
    n, m = len(first), len(second)
    every = np.concatenate([first, second]).astype(float)
    sums = _exchanged(n, m, draws) @ every
    generator = draws.generator(34)
    drawn = [generator.choice(part, (draws.draws, len(part))).mean(1) for part in (every[:n], every[n:])]
    p = _p_value(sums / n - (every.sum() - sums) / m)
    return _Test(key, (float(first.mean()), float(second.mean())), p, drawn[0] - drawn[1])


def _distinct(first: Ints, second: Ints, size: int, draws: Draws) -> _Test:
    """Expected shares of distinct samples among `size` of each generator."""
    every, member = np.concatenate([first, second]), _exchanged(len(first), len(second), draws)
    own, other = (np.array([unique_at(every[row], size) for row in rows]) for rows in (member, ~member))
    # Resampled copies would not be distinct, so the spread is that of exchanges.
    differences = own - other
    return _Test("overall_uniqueness_ratio", (float(own[0]), float(other[0])), _p_value(differences), differences[1:])


def _discrepancy(
    key: str, parts: Sequence[Floats], kernel: Callable[[Any, Any], Floats], score: Score, most: int, draws: Draws
) -> _Test:
    """The discrepancies of both generators from the real samples, exchanged and resampled."""
    real, first, second = parts
    if score is not unbiased:
        # A biased discrepancy is larger for fewer samples.
        first, second = (at_most(part, most, draws.generator(36)) for part in (first, second))
    n, m, size = len(first), len(second), len(real)
    pooled = np.concatenate([first, second])
    inside, across, within = kernel(pooled, pooled), kernel(real, pooled), kernel(real, real)
    member = _exchanged(n, m, draws).astype(float)

    def values(counts: Floats, count: int) -> Floats:
        own = np.einsum("di,di->d", counts @ inside, counts)
        return np.asarray(score(float(within.sum()), own, counts @ across.sum(0), size, count))

    observed, other = values(member, n), values(1 - member, m)
    drawn = _resampled(within, inside, across, n, m, score, draws)
    differences = observed - other
    # Exchanges are exact if both generators draw from one distribution. If they do not, but are equally far from
    # the real distribution, a set of real samples is nearer to one of them: only the bootstrap, which redraws it,
    # allows for that.
    p = max(_p_value(differences), _p_value(np.concatenate([differences[:1], drawn - drawn.mean()])))
    return _Test(key, (float(observed[0]), float(other[0])), p, drawn)


def _resampled(within: Floats, inside: Floats, across: Floats, n: int, m: int, score: Score, draws: Draws) -> Floats:
    """Differences for bootstrap samples of all three; copies of one sample count as two at its mean distance."""
    generator = draws.generator(35)

    def drawn(gram: Floats) -> tuple[Floats, Floats]:
        """How often each sample is drawn, and the sum over all pairs of draws."""
        counts = resampled(generator, len(gram), len(gram), draws.draws)
        return counts, sums_of(counts, *apart(gram))

    real, real_sum = drawn(within)
    scores = []
    for rows, count in ((slice(0, n), n), (slice(n, n + m), m)):
        chosen, own_sum = drawn(inside[rows, rows])
        between = np.einsum("di,di->d", real @ across[:, rows], chosen)
        scores.append(score(real_sum, own_sum, between, len(within), count))
    return np.asarray(scores[0] - scores[1])


# ---- the outcome


def _comparison(
    tests: Sequence[_Test], counts: Mapping[str, int], invalid: Mapping[str, str], level: float, metrics: int
) -> Comparison:
    """One metric over all pairs, the generator with the best value first."""
    lower = find(tests[0].metric, FAMILY)[0].direction == "lower"
    better: Literal["lower", "higher"] = "lower" if lower else "higher"
    values: dict[str, float] = {}
    for each in tests:
        values = dict(zip(each.names, each.values, strict=True)) | values
    order = sorted(values, key=lambda name: (values[name] if lower else -values[name], name))
    outside, pairs = tail(level), []
    for each in tests:
        sign = 1 if order.index(each.names[0]) < order.index(each.names[1]) else -1  # the better one first
        difference, drawn = sign * (each.values[0] - each.values[1]), sign * each.drawn
        low, high = np.quantile(drawn - drawn.mean() + difference, [outside, 1 - outside]).tolist()
        copied = not invalid.keys().isdisjoint(each.names)
        pair = Pair(
            names=each.names if sign > 0 else (each.names[1], each.names[0]),
            difference=difference,
            interval=Interval(low, high, level, "percentile bootstrap", "samples"),
            p_value=each.p_value,
            p_holm=each.p_holm,
            effect=np.nan if lower else difference,
            test="permutations and bootstrap" if lower else "permutations",
            lowest_p=1 / (len(drawn) + 1),
            error=float(drawn.std(ddof=1)),
            df=np.nan,
            verdict="invalid" if copied else verdict_of(difference, each.p_holm, 0.0, better, 1 - level),
        )
        pairs.append(pair)
    return Comparison(
        metric=tests[0].metric,
        better=better,
        confidence=level,
        design=Design(unit="sample", units=(min(counts.values()), max(counts.values())), paired=False),
        standings=tuple(Standing(method=name, mean=values[name], std=np.nan, n=counts[name]) for name in order),
        pairs=tuple(pairs),
        metrics_compared=metrics,
        invalid={name: why for name, why in invalid.items() if name in values},
    )
