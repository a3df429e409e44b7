"""Compare generators of which one set of samples each is given: by permutations and resampling over samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import confidence_level, metric_names, whole_number
from graphgauge.generation.declared import FAMILY, FEWEST_COMPARED
from graphgauge.generation.distances import row_ids, unique_at
from graphgauge.generation.evaluate import evaluate, require_graphs
from graphgauge.generation.graph_mmd import CONVENTIONS, DEFAULT_CONVENTION, STATISTICS, padded
from graphgauge.generation.graphs import Graphs, require_alike, rows_of
from graphgauge.generation.inputs import Bits, Codes, Samples
from graphgauge.generation.isomorphism import graph_ids
from graphgauge.generation.levels import MOST, Draws, apart
from graphgauge.generation.sections.described import Described
from graphgauge.generation.table import SampleTable
from graphgauge.generation.two_sample import Score, at_most, energy, squared_distances, unbiased
from graphgauge.old.core.metric import find
from graphgauge.old.core.shown import Sentence
from graphgauge.old.stats.intervals import tail

_COPIES = ("copied-training-set", "near-copies")


@dataclass(frozen=True)
class SampleComparison(Sentence):
    """One metric of two generators on the same real samples.

    `p_value` is that of random exchanges of samples between the generators, and for discrepancies that of a bootstrap,
    if it is larger. It is corrected (Holm) for the number of metrics and pairs. `better` is the generator with the
    better value if the difference is significant and it does not copy its training set; `remark` names those that do.
    """

    metric: str
    first: str
    second: str
    values: tuple[float, float]
    difference: float
    interval: tuple[float, float]
    p_value: float
    better: str | None = None
    remark: str | None = None
    confidence: float = 0.95

    def __str__(self) -> str:
        low, high = self.interval
        said = f"{self.first} {self.values[0]:.4g}, {self.second} {self.values[1]:.4g}"
        significant = self.p_value <= 1 - self.confidence
        verdict = f"better: {self.better or 'none'}" if significant else "no significant difference"
        text = f"{self.metric}: {said}, difference {self.difference:.4g} [{low:.4g}, {high:.4g}], p {self.p_value:.3g}"
        return f"{text}; {verdict}" + (f"; {self.remark}" if self.remark else "")

    def without_remark(self) -> str:
        """The same as text, without the remark: several metrics of one generator have one.

        Returns
        -------
        str
            One paragraph.
        """
        return str(replace(self, remark=None))


def compare_samples(
    real: Any,
    generated: Mapping[str, Any],
    *,
    train: Any = None,
    valid: Mapping[str, Any] | None = None,
    real_valid: Any = None,
    statistics: Mapping[str, Any] | None = None,
    generated_statistics: Mapping[str, Mapping[str, Any]] | None = None,
    samples: str | None = None,
    node_labels: Sequence[str] | str | None = None,
    edge_labels: Sequence[str] | str | None = None,
    convention: str = DEFAULT_CONVENTION,
    metrics: Sequence[str] | str | None = None,
    confidence: float = 0.95,
    permutations: int = 999,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[SampleComparison, ...]:
    """Which of several generators has samples that are nearer to the real ones, more often valid, new or distinct.

    Categories and scales of statistics are those of the real samples and all generators together.

    Shares are tested by exchanging samples between both generators. Discrepancies (MMDs, energy distance) are tested in
    this way and by the bootstrap of their interval, and the larger p-value counts: generators that differ from each
    other may be equally far from the real samples, and exchanges would call one of them better.

    Intervals are percentiles of a bootstrap of all samples, moved to the observed difference. At most 1,000 samples of
    each generator are compared, and equally many of both if the discrepancy depends on the number of samples (energy
    distance, biased MMDs) or is a share of distinct ones.

    Parameters
    ----------
    real, real_valid, train, statistics
        As in `evaluate`.
    generated, valid, generated_statistics
        The same for each generator, by name; at least two generators.
    metrics
        The metrics or sections to compare; all that apply by default. p-values are corrected for these.
    samples, node_labels, edge_labels, convention
        As in `evaluate`.
    confidence
        Level of the intervals.
    permutations, resamples, seed
        Number of exchanges, number of bootstrap draws, and their seed.

    Returns
    -------
    tuple of SampleComparison
        One for each metric and pair of generators.

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
    >>> real, good, bad = (rng.random((40, 6)) < share for share in (0.5, 0.5, 0.9))
    >>> found = generation.compare_samples(
    ...     real, {"good": good, "bad": bad},
    ...     statistics={"bits": real.sum(1)},
    ...     generated_statistics={"good": {"bits": good.sum(1)}, "bad": {"bits": bad.sum(1)}},
    ...     permutations=99, resamples=99,
    ... )
    >>> {test.metric: test.better for test in found}
    {'overall_uniqueness_ratio': 'good', 'mmd': 'good', 'energy_distance': 'good'}
    """
    if not isinstance(generated, Mapping):
        raise InputError(f"expected {{name: samples}}, found {type(generated).__name__}", where="generated")
    if len(generated) < 2:
        raise OptionError("a comparison needs at least two generators", where="generated")
    _require_all(valid, generated, "valid")
    _require_all(generated_statistics, generated, "generated_statistics")
    one_of("convention", convention, CONVENTIONS)
    wanted = compared_metrics(metrics)
    if not wanted:
        raise OptionError(f"these are compared: {', '.join(COMPARED)}", where="metrics")
    draws = Draws(seed, whole_number("resamples", resamples, 1), whole_number("permutations", permutations, 1))
    shared: dict[str, Any] = {
        "real": real,
        "train": train,
        "statistics": statistics,
        "samples": samples,
        "node_labels": node_labels,
        "edge_labels": edge_labels,
        "real_valid": real_valid,
    }
    tables: dict[str, SampleTable] = {}
    remarks = {}
    for name, made in generated.items():
        own = {
            "generated": made,
            "valid": None if valid is None else valid.get(name),
            "generated_statistics": None if generated_statistics is None else generated_statistics.get(name),
        }
        tables[name] = SampleTable.of(**shared, **own)
        _require_same_kind(next(iter(tables.values())), tables[name], name)
        require_graphs(convention, tables[name].generated)
        remarks[name] = _copies(tables[name], name, seed)
    outside = tail(confidence_level(confidence))
    frame, found = Frame.of(list(tables.values()), draws), []
    for first, second in combinations(generated, 2):
        for measured in _measures(tables[first], tables[second], frame, convention, draws):
            if measured.metric not in wanted:
                continue
            low, high = np.quantile(
                measured.drawn - measured.drawn.mean() + measured.difference, [outside, 1 - outside]
            )
            found.append((first, second, measured, (float(low), float(high))))
    if not found:
        asked = "" if metrics is None else f", or {', '.join(wanted)} cannot be computed from them"
        raise InputError(f"fewer than {FEWEST_COMPARED} valid samples of each generator, or real ones{asked}")
    corrected = _holm([measured.p_value for _, _, measured, _ in found])
    return tuple(
        _comparison(first, second, measured, interval, p, remarks, confidence)
        for (first, second, measured, interval), p in zip(found, corrected, strict=True)
    )


COMPARED = (
    "validity_rate",
    "overall_uniqueness_ratio",
    "novelty",
    *(f"{kind}_mmd" for kind in STATISTICS),
    "mmd",
    "energy_distance",
)


def compared_metrics(metrics: Sequence[str] | str | None) -> list[str]:
    """The metrics that are compared of those that are asked for, by key or section."""
    names = metric_names(metrics)
    if names is None:
        return list(COMPARED)
    everything = {"default", "all"} & set(names)
    return [key for key in COMPARED if everything or {key, find(key, FAMILY)[0].section} & set(names)]


def _require_all(given: Mapping[str, Any] | None, generated: Mapping[str, Any], name: str) -> None:
    """Refuse arguments that are given for some generators only, or for others."""
    if given is None:
        return
    odd = [key for key in (*given, *generated) if key not in given or key not in generated]
    if odd:
        raise InputError(
            f"{odd[0]!r} is missing in {name} or in generated", where=name, fix="Give one for each generator."
        )


def _require_same_kind(first: SampleTable, other: SampleTable, name: str) -> None:
    """Refuse generators whose samples cannot be compared with each other."""
    pair = first.generated, other.generated
    where = f"generated[{name!r}]"
    graphs = [part for part in pair if isinstance(part, Graphs)]
    shapes = {part.shape[1:] for part in pair if isinstance(part, np.ndarray)}
    if len(graphs) == 1 or len(shapes) > 1:
        raise InputError("samples of another kind or shape than those of the first generator", where=where)
    require_alike(graphs, where)
    columns = [set(table.generated_statistics or ()) for table in (first, other)]
    if columns[0] != columns[1]:
        raise InputError(f"other statistics: {', '.join(sorted(columns[0] ^ columns[1]))}", where=where)


@dataclass(frozen=True)
class Frame:
    """The columns and scales of statistics, from the real samples and all generators together."""

    described: Described | None

    @classmethod
    def of(cls, tables: Sequence[SampleTable], draws: Draws) -> Frame:
        first = tables[0]
        parts = [table.generated_statistics for table in tables if table.generated_statistics is not None]
        if first.statistics is None or len(parts) < len(tables):
            return cls(None)
        joined = replace(
            first,
            generated=None,
            generated_statistics={name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
            codes=np.concatenate([table.codes for table in tables]),
            valid=np.concatenate([table.kept for table in tables]),
            copied=None,
        )
        return cls(Described(joined, draws))

    def rows(self, statistics: Mapping[str, Any], rows: Codes) -> Floats:
        """The statistics of some samples in units of the common scale."""
        assert self.described is not None
        columns = self.described.columns({name: column[rows] for name, column in statistics.items()}, len(rows))
        return self.described.in_units(columns, self.described.scale[0])


@dataclass(frozen=True)
class _Measured:
    metric: str
    values: tuple[float, float]
    p_value: float
    drawn: Floats

    @property
    def difference(self) -> float:
        return self.values[0] - self.values[1]


def _comparison(
    first: str,
    second: str,
    measured: _Measured,
    interval: tuple[float, float],
    p: float,
    remarks: Mapping[str, str | None],
    confidence: float,
) -> SampleComparison:
    lower = find(measured.metric, FAMILY)[0].direction == "lower"
    winner = first if (measured.difference < 0) == lower else second
    remark = "; ".join(text for name in (first, second) if (text := remarks[name]) is not None) or None
    better = winner if p <= 1 - confidence and measured.difference != 0 and remarks[winner] is None else None
    return SampleComparison(
        measured.metric, first, second, measured.values, measured.difference, interval, p, better, remark, confidence
    )


def _copies(table: SampleTable, name: str, seed: int) -> str | None:
    """Whether a generator copies its training set, exactly or nearly."""
    if table.train is None or table.real is None:
        return None
    found = evaluate(table, metrics=["novelty", "nearer_to_training"], resamples=199, seed=seed)
    said = [finding for finding in found.findings if finding.check in _COPIES]
    return f"{name}: {said[0].message} ({said[0].check})" if said else None


def _measures(first: SampleTable, second: SampleTable, frame: Frame, convention: str, draws: Draws) -> list[_Measured]:
    found: list[_Measured] = []
    sides = [_kept(table, draws) for table in (first, second)]
    if first.valid is not None and second.valid is not None:
        found.append(_shares("validity_rate", first.valid.astype(float), second.valid.astype(float), draws))
    if min(map(len, sides)) < FEWEST_COMPARED:
        return found
    made = [rows_of(table.generated, rows) for table, rows in zip((first, second), sides, strict=True)]
    ids = _ids(made[0], made[1], first.train)
    found.append(_distinct(ids[0], ids[1], draws))
    if first.train is not None:
        new = [(~np.isin(own, ids[2])).astype(np.float64) for own in ids[:2]]
        found.append(_shares("novelty", new[0], new[1], draws))
    if first.real is None:
        return found
    fit = draws.generator(30).permutation(np.flatnonzero(first.real_kept))[:MOST]
    if len(fit) < FEWEST_COMPARED:
        return found
    if isinstance(first.real, Graphs):
        rules = CONVENTIONS[convention]
        for kind, chosen in rules.kernels.items():
            # Some conventions compare no more generated graphs than there are real ones, the first.
            most = len(fit) if kind in rules.truncated else MOST
            compared = [part.take(np.arange(min(len(part), most))) for part in made]
            parts = padded(*(chosen.features(part) for part in (first.real.take(fit), *compared)))
            found.append(_discrepancy(f"{kind}_mmd", parts, chosen.kernel, rules.score, draws))
    else:
        parts = [part.reshape(len(part), -1).astype(float) for part in (first.real[fit], *made)]
        every = np.concatenate(parts)
        distances = squared_distances(every, every)
        width = -2 * (np.median(distances[np.triu_indices(len(every), 1)]) or 1.0)
        found.append(_discrepancy("mmd", parts, lambda x, y: np.exp(squared_distances(x, y) / width), unbiased, draws))
    if frame.described is not None:
        given = [first.statistics, first.generated_statistics, second.generated_statistics]
        parts = [frame.rows(part, rows) for part, rows in zip(given, (fit, *sides), strict=True) if part is not None]
        found.append(
            _discrepancy("energy_distance", parts, lambda x, y: np.sqrt(squared_distances(x, y)), energy, draws)
        )
    return found


def _kept(table: SampleTable, draws: Draws) -> Codes:
    """The valid samples, at most as many as are compared."""
    return np.sort(draws.generator(32).permutation(np.flatnonzero(table.kept))[:MOST])


def _ids(first: Samples, second: Samples, train: Samples | None) -> list[Codes]:
    parts = [part for part in (first, second, train) if part is not None]
    graphs = [part for part in parts if isinstance(part, Graphs)]
    if graphs:
        return list(graph_ids(*graphs))
    flat = [part.reshape(len(part), -1) for part in parts if not isinstance(part, Graphs)]
    return list(row_ids(*map(np.ascontiguousarray, flat)))


def _exchanged(n: int, m: int, draws: Draws) -> Bits:
    """Which of n + m samples are of the first generator: as observed, and after random exchanges."""
    member = np.zeros((draws.permutations + 1, n + m), bool)
    member[:, :n] = True
    draws.generator(33).permuted(member[1:], axis=1, out=member[1:])
    return member


def _p_value(differences: Floats) -> float:
    """Two-sided, from the observed difference and those under the null hypothesis."""
    observed, null = abs(differences[0]), np.abs(differences[1:])
    return float((1 + np.count_nonzero(null >= observed - 1e-12 * max(observed, 1e-300))) / (1 + len(null)))


def _shares(key: str, first: Floats, second: Floats, draws: Draws) -> _Measured:
    n, m = len(first), len(second)
    every = np.concatenate([first, second])
    sums = _exchanged(n, m, draws) @ every
    generator = draws.generator(34)
    drawn = [generator.choice(part, (draws.resamples, len(part))).mean(1) for part in (first, second)]
    values = float(first.mean()), float(second.mean())
    return _Measured(key, values, _p_value(sums / n - (every.sum() - sums) / m), drawn[0] - drawn[1])


def _distinct(first: Codes, second: Codes, draws: Draws) -> _Measured:
    """Expected shares of distinct samples among as many of each generator."""
    size = min(len(first), len(second))
    every = np.concatenate([first, second])
    member = _exchanged(len(first), len(second), draws)

    def share(rows: Bits) -> Floats:
        return np.array([unique_at(every[row], size) for row in rows])

    differences = share(member) - share(~member)
    values = float(share(member[:1])[0]), float(share(~member[:1])[0])
    # Resampled copies would not be distinct, so the spread is that of exchanges.
    return _Measured("overall_uniqueness_ratio", values, _p_value(differences), differences[1:])


def _discrepancy(key: str, parts: Sequence[Floats], kernel: Any, score: Score, draws: Draws) -> _Measured:
    """The discrepancies of both generators from the real samples, exchanged and resampled."""
    real, first, second = parts
    if score is not unbiased:
        # A biased discrepancy is larger for fewer samples.
        most = min(len(first), len(second))
        first, second = (at_most(part, most, draws.generator(36)) for part in (first, second))
    n, m, size = len(first), len(second), len(real)
    pooled = np.concatenate([first, second])
    inside, across = kernel(pooled, pooled), kernel(real, pooled)
    within = float(kernel(real, real).sum())
    member = _exchanged(n, m, draws).astype(float)

    def values(counts: Floats, count: int) -> Floats:
        own = np.einsum("di,di->d", counts @ inside, counts)
        return np.asarray(score(within, own, counts @ across.sum(0), size, count))

    observed, other = values(member, n), values(1 - member, m)
    drawn = _resampled(kernel(real, real), inside, across, n, m, score, draws)
    differences = observed - other
    # Exchanges are exact if both generators draw from one distribution. If they do not, but are equally far from the
    # real distribution, a set of real samples is nearer to one of them: only the bootstrap, which redraws it, allows
    # for that.
    p_value = max(_p_value(differences), _p_value(np.concatenate([differences[:1], drawn - drawn.mean()])))
    return _Measured(key, (float(observed[0]), float(other[0])), p_value, drawn)


def _resampled(within: Floats, inside: Floats, across: Floats, n: int, m: int, score: Score, draws: Draws) -> Floats:
    """Differences for bootstrap samples of all three; copies of one sample count as two at its mean distance."""
    generator, size = draws.generator(35), len(within)
    real, real_equal = apart(within)
    counts = generator.multinomial(size, np.full(size, 1 / size), draws.resamples).astype(float)
    first_sum = np.einsum("di,di->d", counts @ real, counts) + counts @ real_equal
    found = []
    for rows, count in ((slice(0, n), n), (slice(n, n + m), m)):
        own, equal = apart(inside[rows, rows])
        chosen = generator.multinomial(count, np.full(count, 1 / count), draws.resamples).astype(float)
        second = np.einsum("di,di->d", chosen @ own, chosen) + chosen @ equal
        between = np.einsum("di,di->d", counts @ across[:, rows], chosen)
        found.append(score(first_sum, second, between, size, count))
    return np.asarray(found[0] - found[1])


def _holm(p_values: Sequence[float]) -> list[float]:
    order = np.argsort(p_values)
    corrected, largest = np.empty(len(p_values)), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = largest
    return corrected.tolist()
