"""Statistical similarity: whether generated samples have the distribution of real ones, by condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphgauge.core.errors import one_of
from graphgauge.core.metric import AS_CHOSEN, Estimate, Exempt, NoChance, NoInterval
from graphgauge.core.registry import section
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.generation.averages import (
    COUNT_LAWS,
    FAMILY,
    FEWEST_COMPARED,
    LAWS,
    declared,
    floats,
    of_discrepancy,
    values_of,
    warned,
    whole_of,
)
from graphgauge.generation.graph_features import STATISTICS
from graphgauge.generation.levels import level, named, simulated
from graphgauge.generation.sections.described import UPPER, Described
from graphgauge.generation.sections.drawn import Drawn
from graphgauge.generation.sections.encoded import NEIGHBOURS, Encoded
from graphgauge.generation.sections.two_sided import TwoSided
from graphgauge.generation.two_sample import PRDC, p_value

section(
    "statistical",
    family=FAMILY,
    priority="high",
    question="whether generated samples have the distribution of real ones",
)

# The samples of the metrics below.
Statistics = TwoSided[Described]
Encodings = TwoSided[Encoded]
GraphSides = TwoSided[Drawn]

# ---- levels


def _mean_over_statistics(values: Floats) -> Floats:
    """The mean over the last axis, without NaN."""
    known = ~np.isnan(values)
    counts = known.sum(-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0).sum(-1) / np.where(counts > 0, counts, np.nan))


def _levels(sample: TwoSided[Any], drawn: Mapping[str, Floats]) -> tuple[Reference, ...]:
    """Levels from draws (draws, conditions), averaged like the sample."""
    return named({name: simulated(name, sample.averaged_draws(draws)) for name, draws in drawn.items()})


def _null_of_mean(sample: Statistics) -> tuple[Reference, ...]:
    """Perfect: two draws from the real samples, with the sizes of the generated and the real sample.

    If the real samples are constant, from real and generated samples together. Memoriser: training samples, if their
    statistics are given.
    """
    sides = sample.sides
    copies = {} if sides.memoriser is None else {"memoriser": _mean_over_statistics(sides.scaled_by(sides.memoriser))}
    return _levels(sample, {"perfect": _mean_over_statistics(sides.scaled_null), **copies})


def _null_of(*, scaled: bool) -> Any:
    def chance(sample: Statistics, *, statistic: str) -> tuple[Reference, ...]:
        sides = sample.sides
        place = sides.names.index(statistic)
        drawn = {"perfect": (sides.scaled_null if scaled else sides.null)[:, :, place]}
        if sides.memoriser is not None:
            drawn["memoriser"] = (sides.scaled_by(sides.memoriser) if scaled else sides.memoriser)[:, :, place]
        return _levels(sample, drawn)

    chance.__doc__ = _null_of_mean.__doc__
    return chance


def _of_kernels(read: Callable[[Any], Mapping[str, Floats]]) -> Any:
    """Perfect: two draws from the real samples, with the run's sizes. Memoriser: training samples; near_copy: the same
    with one bit or edge moved. Chance: samples with separate coordinates, graphs with random edges."""

    def chance(sample: TwoSided[Any]) -> tuple[Reference, ...]:
        return _levels(sample, read(sample.sides))

    chance.__doc__ = _of_kernels.__doc__
    return chance


def _of_neighbours(sample: Encodings, *, measure: str) -> tuple[Reference, ...]:
    """Perfect: disjoint parts of the real samples. Memoriser, near_copy: training samples, and with one bit moved.
    Chance: samples with separate coordinates. All with the sizes at which real samples suffice for both sides."""
    measures, own, note = sample.sides.prdc_levels
    value = sample.combined(values_of(own, measure), sample.n)
    levels = {
        kind: simulated(kind, sample.averaged_draws(draws), own=value, note=note)
        for kind, draws in measures[measure].items()
    }
    return named({"chance": level("chance", 0.0), **levels})


def _training_set(sample: GraphSides) -> tuple[Reference, ...]:
    """Memoriser: the training set itself."""
    return (level("memoriser", 1.0),)


def _read(result: Result) -> str:
    if result.reached is None:
        return "no null distribution to compare with"
    if result.reached:
        return "within the distance between two samples of real data"
    ratio = result.value / result.goal if result.goal else np.inf
    return f"{ratio:.1f} times the 95th percentile of the distance between two samples of real data"


# ---- statistics

_FEW = f"no condition has {FEWEST_COMPARED} valid generated samples and {FEWEST_COMPARED} real ones"
_FEW_NEW = f"{_FEW}, without those of the training set"
_EACH = {"conditions": f"those with {FEWEST_COMPARED} samples on both sides"}
_SCALE = {"scale": "standard deviation of the real samples of the condition; 0: of real and generated ones together"}
_COMMON: dict[str, Any] = {
    "section": "statistical",
    "needs": ("statistics",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "villani2009",
    "direction": "lower",
    "bounds": (0, np.inf),
    "interval": NoInterval("resampling increases the distance; compare with real against real"),
    "conventions": _EACH,
}
_COUNT = _COMMON | {
    "needs": ("statistics", "encodings", "graphs"),
    "direction": "none",
    "laws": COUNT_LAWS,
    "chance": NoChance("a count is neither good nor bad"),
    "interval": NoInterval("a count of these samples"),
}
_P_VALUE = {
    "direction": "none",
    "bounds": (0, 1),
    "laws": COUNT_LAWS,
    "interval": NoInterval("a p-value is not an estimate"),
    "chance": NoChance("p-values are uniform if nothing differs"),
}
_PERMUTED = {"test": "permutations within each condition"}


def _distance(sample: Statistics, values: Floats) -> Estimate:
    """The mean of scaled distances; its goal is the 95th percentile of that between two draws from the real samples."""
    sides = sample.sides
    reason = _FEW if not sides.enough.any() else "no statistics given"
    if sample.average is None:
        return sample.estimate(values, sample.n, reason)
    null = sample.averaged_draws(_mean_over_statistics(sides.scaled_null))
    goal: dict[str, Any] = {"goal": float(np.quantile(null, UPPER))} if len(null) else {}
    estimate = sample.estimate(values, sample.n, reason, **goal)
    return warned(
        estimate,
        *(
            f"{name} is constant among the real samples of {count} condition{'' if count == 1 else 's'}: there it "
            "is scaled by the spread of real and generated samples together"
            for name, count in zip(sides.names, sides.constant.sum(0).tolist(), strict=True)
            if count
        ),
    )


@declared(
    "overall_mean_distance",
    average="macro",
    chance=_null_of_mean,
    interpretation=_read,
    default=True,
    **_COMMON | {"conventions": _EACH | _SCALE},
)
def overall_mean_distance(sample: Statistics) -> Estimate:
    """Mean over statistics of the scaled Wasserstein-1 distance between generated and real samples.

    Its target is the 95th percentile of the same distance between two draws from the real samples.
    """
    return _distance(sample, _mean_over_statistics(sample.sides.scaled))


def _null_of_raw(sample: Statistics) -> tuple[Reference, ...]:
    """Perfect: two draws from the real samples, with the sizes of the generated and the real sample."""
    return _levels(sample, {"perfect": _mean_over_statistics(sample.sides.null)})


@declared("overall_mean_distance_raw", average="macro", chance=_null_of_raw, **_COMMON)
def overall_mean_distance_raw(sample: Statistics) -> Estimate:
    """Mean over statistics of the Wasserstein-1 distance in their own units, as in the original protocol.

    Statistics in large units count most; `overall_mean_distance` scales each by its spread.
    """
    return sample.estimate(_mean_over_statistics(sample.sides.raw), sample.n, _FEW)


@declared("wasserstein_{statistic}", average="macro", chance=_null_of(scaled=False), **_COMMON)
def wasserstein_of(sample: Statistics, *, statistic: str = "num_holds") -> Estimate:
    """Wasserstein-1 distance of one statistic between generated and real samples, in the unit of the statistic."""
    place = sample.sides.names.index(one_of("statistic", statistic, sample.sides.names))
    return sample.estimate(sample.sides.raw[:, place], sample.n, _FEW)


@declared(
    "scaled_wasserstein_{statistic}",
    average="macro",
    chance=_null_of(scaled=True),
    **_COMMON | {"conventions": _EACH | _SCALE},
)
def scaled_wasserstein_of(sample: Statistics, *, statistic: str = "num_holds") -> Estimate:
    """Wasserstein-1 distance of one statistic divided by the real standard deviation within the condition."""
    place = sample.sides.names.index(one_of("statistic", statistic, sample.sides.names))
    return sample.estimate(sample.sides.scaled[:, place], sample.n, _FEW)


@declared("num_generated", average="total", **_COUNT)
def num_generated(sample: TwoSided[Any]) -> Estimate:
    """Number of valid generated samples in the compared conditions."""
    return sample.estimate(np.where(sample.sides.enough, sample.n, np.nan), sample.n, _FEW)


@declared("num_real", average="total", **_COUNT)
def num_real(sample: TwoSided[Any]) -> Estimate:
    """Number of real samples in the compared conditions."""
    counts = sample.sides.real_counts
    return sample.estimate(np.where(sample.sides.enough, counts, np.nan), counts, _FEW)


@declared(
    "energy_distance",
    average="macro",
    chance=_of_kernels(lambda sides: sides.energy_levels),
    **_COMMON
    | {"reference": "szekely2013", "conventions": _EACH | _SCALE | {"on": "all statistics together, each scaled"}},
)
def energy_distance(sample: Statistics) -> Estimate:
    """Energy distance between the statistics of generated and real samples, all statistics together."""
    tests = sample.sides.energy
    return _of_tests(sample, values_of(tests, "distance"), tests)


@declared(
    "energy_p_value",
    average="whole",
    default=True,
    **_COMMON
    | _P_VALUE
    | {
        "reference": "szekely2013",
        "conventions": _EACH | {"test": "permutations within each condition, two samples"},
    },
)
def energy_p_value(sample: Statistics) -> Estimate:
    """Share of permutations within each condition with a distance at least as large as the observed one."""
    tests, test = sample.sides.energy_tested, sample.sides.energy_overall
    if sample.average is None:
        return sample.estimate(values_of(tests, "p_value"), _tested(tests), _FEW_NEW)
    return whole_of(np.nan if test is None else test.p_value, int(_tested(tests).sum()), _FEW_NEW)


# ---- encodings


def _tested(tests: list[Any]) -> Ints:
    """The number of generated samples that each test compared."""
    return np.array([0 if test is None else test.n[1] for test in tests], np.int64)


def _of_tests(sample: TwoSided[Any], values: AnyArray, tests: list[Any], **facts: Any) -> Estimate:
    """Values of tests, which do not compare all samples of large sides, or under some protocols."""
    compared = _tested(tests)
    estimate = sample.estimate(values, compared, _FEW, **facts)
    real = np.array([0 if test is None else test.n[0] for test in tests])
    given = np.where(sample.sides.enough, sample.sides.real_counts, 0)
    if not (compared < sample.n).any() and not (real < given).any():
        return estimate
    return warned(
        estimate,
        f"{compared.sum()} of {sample.n.sum()} generated samples and {real.sum()} of {given.sum()} real ones are "
        "compared",
    )


def _of_mmd(sample: TwoSided[Any], tests: list[Any], *, least: float | None = None) -> Estimate:
    errors = values_of(tests, "error")
    df = np.maximum(np.minimum(_tested(tests), sample.sides.real_counts) - 1, 0).astype(float)
    return _of_tests(
        sample, values_of(tests, "value"), tests, error=errors, df=df, **({} if least is None else {"least": least})
    )


def _p_of(sample: TwoSided[Any], tests: list[Any]) -> Estimate:
    """The share of permutations within each condition with a mean at least as large as the observed one."""
    if sample.average is None:
        return sample.estimate(values_of(tests, "p_value"), _tested(tests), _FEW_NEW)
    known = [test for test in tests if test is not None]
    value = np.nan
    if known:
        null = np.mean([test.null for test in known], axis=0)
        value = p_value(float(np.mean([test.value for test in known])), null)
    return whole_of(value, int(_tested(tests).sum()), _FEW_NEW)


@declared(
    "prdc_{measure}",
    average="macro",
    chance=_of_neighbours,
    **_COMMON
    | {
        "needs": ("encodings",),
        "reference": "naeem2020",
        "direction": "higher",
        "interval": NoInterval("samples share their neighbours"),
        "conventions": _EACH | {"k": str(NEIGHBOURS), "distance": "Euclidean"},
    },
)
def prdc_of_encodings(sample: Encodings, *, measure: str = "precision") -> Estimate:
    """Precision, recall, density or coverage of encodings, from balls that reach to the fifth nearest neighbour.

    precision: the share of generated samples in some real ball; recall: of real ones in some generated ball; density:
    the real balls that contain a generated sample, over five, on average; coverage: the share of real balls with a
    generated sample.
    """
    one_of("measure", measure, PRDC._fields)
    return sample.estimate(values_of(sample.sides.prdc, measure), sample.n, _FEW)


_MMD = _COMMON | {
    "needs": ("encodings",),
    "reference": "gretton2012",
    "bounds": (-np.inf, np.inf),
    "conventions": _EACH
    | {"kernel": "Gaussian", "bandwidth": "median distance", "power": "MMD squared, unbiased: may be below 0"},
}


@declared(
    "mmd",
    average="macro",
    chance=_of_kernels(lambda sides: sides.mmd_levels),
    default=True,
    **_MMD | {"interval": of_discrepancy},
)
def mmd(sample: Encodings) -> Estimate:
    """Squared maximum mean discrepancy between the encodings of generated and real samples."""
    return _of_mmd(sample, sample.sides.mmd)


@declared("mmd_p_value", average="whole", default=True, **_MMD | _P_VALUE | {"conventions": _EACH | _PERMUTED})
def mmd_p_value(sample: Encodings) -> Estimate:
    """Share of permutations within each condition with a mean discrepancy at least as large as the observed one."""
    return _p_of(sample, sample.sides.mmd_tested)


# ---- graphs

_CHOSEN = {"protocol": AS_CHOSEN, "power": AS_CHOSEN}
_GRAPH = _MMD | {
    "needs": ("graphs",),
    "reference": "liao2019",
    "laws": LAWS | {"permutation": Exempt("rounding depends on the order of the graphs")},
    "conventions": _EACH | _CHOSEN,
    "interval": of_discrepancy,
}
_GRAPH_P = _GRAPH | _P_VALUE | {"conventions": _EACH | _PERMUTED | {"protocol": AS_CHOSEN}}
_OF = {
    "degree": "degree distributions",
    "clustering": "distributions of clustering coefficients",
    "orbit": "mean counts of the 15 orbits of connected graphs of up to four nodes",
    "spectral": "spectra of the normalised Laplacians",
}


def _graph_mmd(kind: str) -> None:
    """Declare the discrepancy of one statistic of graphs, and its p-value."""

    def value(sample: GraphSides) -> Estimate:
        least = 0.0 if sample.sides.convention.is_biased else None
        return _of_mmd(sample, sample.sides.mmd(kind), least=least)

    def p(sample: GraphSides) -> Estimate:
        return _p_of(sample, sample.sides.mmd_tested(kind))

    value.__doc__ = f"Squared maximum mean discrepancy between the {_OF[kind]} of generated and real graphs."
    p.__doc__ = f"Share of permutations of real and generated graphs with a {kind}_mmd at least as large as observed."
    levels = _of_kernels(lambda sides: sides.mmd_levels(kind))
    declared(f"{kind}_mmd", average="macro", chance=levels, default=True, **_GRAPH)(value)
    declared(f"{kind}_mmd_p_value", average="whole", default=True, **_GRAPH_P)(p)


for _kind in STATISTICS:
    _graph_mmd(_kind)


@declared(
    "graph_mmd_ratio",
    average="macro",
    chance=_training_set,
    **_GRAPH
    | {
        "needs": ("graph_training",),
        "reference": "vignac2023",
        "bounds": (0, np.inf),
        "interval": NoInterval("a mean of four ratios of the same graphs"),
        "conventions": _EACH | {"protocol": AS_CHOSEN, "power": "MMD squared, biased"},
    },
)
def graph_mmd_ratio(sample: GraphSides) -> Estimate:
    """Mean over the four graph statistics of the discrepancy of generated graphs over that of the training set.

    1 means as far from the real graphs as the training set is.
    """
    sides = sample.sides
    if sides.train is None:
        return sample.nothing("the conditions of the training graphs are not given")
    values = floats(sides.ratio(code) if sides.enough[code] else np.nan for code in range(sample.groups))
    reason = "the training set is at no distance from the real graphs" if sides.enough.any() else _FEW
    return sample.estimate(values, sample.n, reason)
