"""Compare generators of which one set of samples each is given: by permutations and resampling over samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import confidence_level, metric_names, whole_number
from graphgauge.core.registry import find
from graphgauge.core.result import Interval
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import FAMILY, FEWEST_COMPARED, flat
from graphgauge.generation.distances import squared_distances
from graphgauge.generation.evaluate import evaluate
from graphgauge.generation.graph_features import CONVENTIONS, DEFAULT_CONVENTION, STATISTICS, padded
from graphgauge.generation.graphs import Graphs, rows_of
from graphgauge.generation.identity import codes, unique_at
from graphgauge.generation.levels import MOST, Draws, apart
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.described import Described
from graphgauge.generation.two_sample import Score, at_most, energy, unbiased
from graphgauge.stats.design import Design
from graphgauge.stats.intervals import tail
from graphgauge.stats.many import holm
from graphgauge.stats.outcome import Comparison, Pair, Standing, Verdict

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
    each generator are compared, and equally many of both if the discrepancy depends on the number of samples (energy
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
    convention = protocol or DEFAULT_CONVENTION
    one_of("protocol", convention, CONVENTIONS)
    wanted = _wanted(metrics)
    chosen = Draws(whole_number("seed", seed), whole_number("draws", draws, 1))
    level = confidence_level(confidence)
    parts: dict[str, Any] = {"real": _unconditional(real), "train": _unconditional(train)}
    sides = {name: Sides.from_samples(generated=_unconditional(made), **parts) for name, made in generated.items()}
    _require_alike(sides)
    if protocol is not None and any(each.kind != "graphs" for each in sides.values()):
        raise OptionError(f"{protocol} compares graphs, and samples are not", fix="Leave it out.").about("protocol")
    frame, measured = _Frame.over(list(sides.values()), chosen), []
    for pair in combinations(generated, 2):
        both = _Both(sides[pair[0]], sides[pair[1]], frame, convention, chosen)
        measured += [(pair, each) for each in both.measures() if each.metric in wanted]
    if not measured:
        asked = "" if metrics is None else f", or {', '.join(wanted)} cannot be computed from them"
        raise InputError(f"fewer than {FEWEST_COMPARED} valid samples of each generator, or real ones{asked}")
    corrected = holm([each.p_value for _, each in measured])
    invalid = {name: why for name, each in sides.items() if (why := _copies(each, seed)) is not None}
    tested = [(pair, each, float(p)) for (pair, each), p in zip(measured, corrected, strict=True)]
    keys = [key for key in COMPARED if any(each.metric == key for _, each, _ in tested)]
    return tuple(
        _comparison(key, [one for one in tested if one[1].metric == key], sides, invalid, level, len(keys))
        for key in keys
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
    if value is None:
        return None
    return replace(value, conditions=None, predicted=None) if isinstance(value, Samples) else Samples(value)


def _require_alike(sides: Mapping[str, Sides]) -> None:
    """Refuse generators whose samples cannot be compared with each other, or of which less is known."""
    (first, model), *others = sides.items()
    for name, other in others:
        own = [side.generated for side in (model, other)]
        for column in ("items", "valid", "statistics"):
            if len({getattr(each, column) is None for each in own}) > 1:
                raise InputError(f"{column} of {first} or of {name} are missing", where="generated", fix="Give both.")
        statistics = [set(each.statistics or ()) for each in own if each is not None]
        if statistics[0] != statistics[1]:
            raise InputError(f"other statistics than {first}", where=f"generated[{name!r}]")
        if own[0] is not None and own[1] is not None and own[0].items is not None:
            codes(own[0].items, own[1].items)  # refuses other kinds and shapes


def _copies(sides: Sides, seed: int) -> str | None:
    """Why a generator cannot be better: it copies the real samples or its training set, exactly or nearly."""
    if sides.real is None or sides.generated is None or sides.generated.items is None or sides.real.items is None:
        return None
    keys = ["total_valid"] if sides.train is None else ["novelty", "nearer_to_training"]
    findings = evaluate(sides, metrics=keys, draws=_CHECKED_DRAWS, seed=seed).findings
    return next((f"{each.check}: {each.message}" for each in findings if each.check in _COPIES), None)


# ---- what is measured


@dataclass(frozen=True)
class _Measured:
    """A metric of two generators, and its difference in draws."""

    metric: str
    values: tuple[float, float]
    p_value: float
    drawn: Floats
    effect: float = np.nan

    @property
    def difference(self) -> float:
        return self.values[0] - self.values[1]


@dataclass(frozen=True)
class _Frame:
    """The columns and scales of statistics, from the real samples and all generators together."""

    described: Described | None

    @classmethod
    def over(cls, sides: Sequence[Sides], draws: Draws) -> _Frame:
        first, made = sides[0], [each.generated for each in sides if each.generated is not None]
        if first.real is None or first.real.statistics is None or any(each.statistics is None for each in made):
            return cls(None)
        joined = Samples(
            conditions=np.concatenate([each.conditions for each in made]),
            valid=np.concatenate([each.kept for each in made]),
            statistics={name: np.concatenate([each.statistics[name] for each in made]) for name in made[0].statistics},
            in_training=np.concatenate([each.in_training for each in made]),
        )
        return cls(Described(replace(first, generated=joined), draws))

    def rows(self, statistics: Mapping[str, Any], rows: Ints) -> Floats:
        """The statistics of some samples in units of the common scale."""
        assert self.described is not None
        columns = self.described.columns
        return columns.in_units(
            columns.of({name: column[rows] for name, column in statistics.items()}, len(rows)), self.described.scale[0]
        )


class _Both:
    """Two generators: the samples of each that are compared, and what is measured on them."""

    def __init__(self, first: Sides, second: Sides, frame: _Frame, convention: str, draws: Draws) -> None:
        assert first.generated is not None
        assert second.generated is not None
        self.first, self.made = first, (first.generated, second.generated)
        self.frame, self.convention, self.draws = frame, CONVENTIONS[convention], draws
        self.rows = [np.sort(draws.generator(32).permutation(np.flatnonzero(each.kept))[:MOST]) for each in self.made]

    def measures(self) -> Iterator[_Measured]:
        """All metrics that the columns allow."""
        valid = [each.valid for each in self.made]
        if all(each is not None for each in valid):
            yield self._shares("validity_rate", *(each.astype(float) for each in valid))
        if min(map(len, self.rows)) < FEWEST_COMPARED:
            return
        if self.made[0].items is not None:
            yield from self._repeats()
        real = self.first.real
        if real is None:
            return
        fit = self.draws.generator(30).permutation(np.flatnonzero(real.kept & ~real.in_training))[:MOST]
        if len(fit) < FEWEST_COMPARED:
            return
        if real.items is not None and self.made[0].items is not None:
            yield from self._of_items(real, fit)
        if self.frame.described is not None:
            sides = [(real, fit), *zip(self.made, self.rows, strict=True)]
            parts = [self.frame.rows(side.statistics, rows) for side, rows in sides]
            yield self._discrepancy("energy_distance", parts, lambda x, y: np.sqrt(squared_distances(x, y)), energy)

    def _repeats(self) -> Iterator[_Measured]:
        train = self.first.train
        some = [rows_of(side.items, rows) for side, rows in zip(self.made, self.rows, strict=True)]
        learned = [] if train is None or train.items is None else [train.items]
        ids = codes(*some, *learned).ids
        yield self._distinct(ids[0], ids[1])
        if learned:
            new = [(~np.isin(own, ids[2])).astype(np.float64) for own in ids[:2]]
            yield self._shares("novelty", new[0], new[1])

    def _of_items(self, real: Samples, fit: Ints) -> Iterator[_Measured]:
        some = [rows_of(side.items, rows) for side, rows in zip(self.made, self.rows, strict=True)]
        if isinstance(real.items, Graphs):
            rules = self.convention
            for kind, chosen in rules.kernels.items():
                # Some protocols compare no more generated graphs than there are real ones, the first.
                most = len(fit) if kind in rules.truncated else MOST
                compared = [part.take(np.arange(min(len(part), most))) for part in some]
                parts = padded(*(chosen.features(part) for part in (real.items.take(fit), *compared)))
                yield self._discrepancy(f"{kind}_mmd", parts, chosen.kernel, rules.score)
            return
        parts = [_vectors(part) for part in (rows_of(real.items, fit), *some)]
        every = np.concatenate(parts)
        distances = squared_distances(every, every)
        width = -2 * (np.median(distances[np.triu_indices(len(every), 1)]) or 1.0)
        yield self._discrepancy("mmd", parts, lambda x, y: np.exp(squared_distances(x, y) / width), unbiased)

    # ---- differences, exchanged and resampled

    def _exchanged(self, n: int, m: int) -> Mask:
        """Which of n + m samples are of the first generator: as observed, and after random exchanges."""
        member = np.zeros((self.draws.draws + 1, n + m), bool)
        member[:, :n] = True
        self.draws.generator(33).permuted(member[1:], axis=1, out=member[1:])
        return member

    def _shares(self, key: str, first: Floats, second: Floats) -> _Measured:
        n, m = len(first), len(second)
        every = np.concatenate([first, second])
        sums = self._exchanged(n, m) @ every
        generator = self.draws.generator(34)
        drawn = [generator.choice(part, (self.draws.draws, len(part))).mean(1) for part in (first, second)]
        values = float(first.mean()), float(second.mean())
        p = _p_value(sums / n - (every.sum() - sums) / m)
        return _Measured(key, values, p, drawn[0] - drawn[1], effect=values[0] - values[1])

    def _distinct(self, first: Ints, second: Ints) -> _Measured:
        """Expected shares of distinct samples among as many of each generator."""
        size = min(len(first), len(second))
        every, member = np.concatenate([first, second]), self._exchanged(len(first), len(second))

        def share(rows: Mask) -> Floats:
            return np.array([unique_at(every[row], size) for row in rows])

        differences = share(member) - share(~member)
        values = float(share(member[:1])[0]), float(share(~member[:1])[0])
        # Resampled copies would not be distinct, so the spread is that of exchanges.
        p, effect = _p_value(differences), values[0] - values[1]
        return _Measured("overall_uniqueness_ratio", values, p, differences[1:], effect=effect)

    def _discrepancy(self, key: str, parts: Sequence[Floats], kernel: Any, score: Score) -> _Measured:
        """The discrepancies of both generators from the real samples, exchanged and resampled."""
        real, first, second = parts
        if score is not unbiased:
            # A biased discrepancy is larger for fewer samples.
            most = min(len(first), len(second))
            first, second = (at_most(part, most, self.draws.generator(36)) for part in (first, second))
        n, m, size = len(first), len(second), len(real)
        pooled = np.concatenate([first, second])
        inside, across, within = kernel(pooled, pooled), kernel(real, pooled), kernel(real, real)
        member = self._exchanged(n, m).astype(float)

        def values(counts: Floats, count: int) -> Floats:
            own = np.einsum("di,di->d", counts @ inside, counts)
            return np.asarray(score(float(within.sum()), own, counts @ across.sum(0), size, count))

        observed, other = values(member, n), values(1 - member, m)
        drawn = self._resampled(within, inside, across, n, m, score)
        differences = observed - other
        # Exchanges are exact if both generators draw from one distribution. If they do not, but are equally far from
        # the real distribution, a set of real samples is nearer to one of them: only the bootstrap, which redraws it,
        # allows for that.
        p = max(_p_value(differences), _p_value(np.concatenate([differences[:1], drawn - drawn.mean()])))
        return _Measured(key, (float(observed[0]), float(other[0])), p, drawn)

    def _resampled(self, within: Floats, inside: Floats, across: Floats, n: int, m: int, score: Score) -> Floats:
        """Differences for bootstrap samples of all three; copies of one sample count as two at its mean distance."""
        generator, size, draws = self.draws.generator(35), len(within), self.draws.draws
        real, real_equal = apart(within)
        counts = generator.multinomial(size, np.full(size, 1 / size), draws).astype(float)
        first_sum = np.einsum("di,di->d", counts @ real, counts) + counts @ real_equal
        drawn = []
        for rows, count in ((slice(0, n), n), (slice(n, n + m), m)):
            own, equal = apart(inside[rows, rows])
            chosen = generator.multinomial(count, np.full(count, 1 / count), draws).astype(float)
            second = np.einsum("di,di->d", chosen @ own, chosen) + chosen @ equal
            between = np.einsum("di,di->d", counts @ across[:, rows], chosen)
            drawn.append(score(first_sum, second, between, size, count))
        return np.asarray(drawn[0] - drawn[1])


def _vectors(items: Any) -> Floats:
    return np.asarray(items.fingerprints if isinstance(items, Molecules) else flat(items), dtype=np.float64)


def _p_value(differences: Floats) -> float:
    """Two-sided, from the observed difference and those under the null hypothesis."""
    observed, null = abs(differences[0]), np.abs(differences[1:])
    return float((1 + np.count_nonzero(null >= observed - 1e-12 * max(observed, 1e-300))) / (1 + len(null)))


# ---- the outcome


def _comparison(
    key: str,
    tested: Sequence[tuple[tuple[str, str], _Measured, float]],
    sides: Mapping[str, Sides],
    invalid: Mapping[str, str],
    level: float,
    metrics: int,
) -> Comparison:
    """One metric over all pairs, the generator with the best value first."""
    lower = find(key, FAMILY)[0].direction == "lower"
    values: dict[str, float] = {}
    for names, each, _ in tested:
        for name, value in zip(names, each.values, strict=True):
            values.setdefault(name, value)
    order = sorted(values, key=lambda name: (values[name] if lower else -values[name], name))
    counts = {name: int(each.generated.kept.sum()) for name, each in sides.items() if each.generated is not None}
    return Comparison(
        metric=key,
        better="lower" if lower else "higher",
        confidence=level,
        design=Design(unit="sample", units=(min(counts.values()), max(counts.values())), paired=False),
        standings=tuple(Standing(method=name, mean=values[name], std=np.nan, n=counts[name]) for name in order),
        pairs=tuple(_pair(*each, order=order, lower=lower, invalid=invalid, level=level) for each in tested),
        metrics_compared=metrics,
        invalid={name: why for name, why in invalid.items() if name in values},
    )


def _pair(
    names: tuple[str, str],
    measured: _Measured,
    p_holm: float,
    *,
    order: Sequence[str],
    lower: bool,
    invalid: Mapping[str, str],
    level: float,
) -> Pair:
    """The test of two generators, the better one first."""
    sign = 1 if order.index(names[0]) < order.index(names[1]) else -1
    outside, drawn = tail(level), measured.drawn
    ends = np.quantile(drawn - drawn.mean() + measured.difference, [outside, 1 - outside])
    low, high = (float(end) for end in np.sort(sign * ends))
    difference = sign * measured.difference
    verdict: Verdict = "none"
    if invalid.keys() & set(names):
        verdict = "invalid"
    elif p_holm <= 1 - level and difference != 0:
        verdict = "first" if (difference < 0) == lower else "second"
    return Pair(
        names=names if sign > 0 else (names[1], names[0]),
        difference=difference,
        interval=Interval(low, high, level, "percentile bootstrap", "samples"),
        p_value=measured.p_value,
        p_holm=p_holm,
        effect=abs(measured.effect) if verdict == "first" else sign * measured.effect,
        test="permutations and bootstrap" if lower else "permutations",
        lowest_p=1 / (len(drawn) + 1),
        error=float(drawn.std(ddof=1)),
        df=np.nan,
        verdict=verdict,
    )
