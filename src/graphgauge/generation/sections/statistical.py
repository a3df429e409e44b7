"""Statistical similarity: whether generated samples have the distribution of real ones, by condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import one_of
from graphgauge.generation.declared import (
    COUNT_LAWS,
    FAMILY,
    FEWEST_COMPARED,
    LAWS,
    MACRO,
    TOTAL,
    WHOLE,
    level,
    nan_array,
    of_discrepancy,
    values_of,
)
from graphgauge.generation.inputs import Codes
from graphgauge.generation.levels import named, simulated
from graphgauge.generation.sections.described import UPPER, Described
from graphgauge.generation.sections.drawn import Drawn
from graphgauge.generation.sections.encoded import NEIGHBOURS, Encoded
from graphgauge.generation.sections.two_sided import TwoSided
from graphgauge.generation.two_sample import p_value
from graphgauge.old.core.metric import (
    AS_CHOSEN,
    Baseline,
    ChanceFunction,
    Estimate,
    Exempt,
    Level,
    MetricFunction,
    NoChance,
    NoInterval,
    metric,
    section,
)
from graphgauge.old.core.result import Result

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


def _mean_over_statistics(values: Floats) -> Floats:
    """The mean over the last axis, without NaN."""
    known_ones = ~np.isnan(values)
    counts = known_ones.sum(-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known_ones, values, 0).sum(-1) / np.where(counts > 0, counts, np.nan))


def _null_of_mean(function: MetricFunction, sample: Statistics, params: Mapping[str, Any]) -> dict[str, float]:
    """Perfect: two draws from the real samples, with the sizes of the generated and the real sample.

    If the real samples are constant, from real and generated samples together. Memoriser: training samples, if their
    statistics are given.
    """
    sides = sample.sides
    copies = {} if sides.memoriser is None else {"memoriser": _mean_over_statistics(sides.scaled_by(sides.memoriser))}
    return _drawn_levels(sample, {"perfect": _mean_over_statistics(sides.scaled_null), **copies})


def _null_of(*, scaled: bool) -> ChanceFunction:
    def chance(function: MetricFunction, sample: Statistics, params: Mapping[str, Any]) -> dict[str, float]:
        sides = sample.sides
        place = sides.names.index(params["statistic"])
        drawn = {"perfect": (sides.scaled_null if scaled else sides.null)[:, :, place]}
        if sides.memoriser is not None:
            drawn["memoriser"] = (sides.scaled_by(sides.memoriser) if scaled else sides.memoriser)[:, :, place]
        return _drawn_levels(sample, drawn)

    chance.__doc__ = _null_of_mean.__doc__
    return chance


def _drawn_levels(sample: TwoSided[Any], drawn: Mapping[str, Floats]) -> dict[str, float]:
    """Levels from draws (draws, conditions), averaged like the sample."""
    return named({name: simulated(name, sample.averaged_draws(draws)) for name, draws in drawn.items()})


def _of_kernels(read: Callable[[Any], Mapping[str, Floats]]) -> ChanceFunction:
    """Perfect: two draws from the real samples, with the run's sizes. Memoriser: training samples; near_copy: the same
    with one bit or edge moved. Chance: samples with separate coordinates, graphs with random edges."""

    def chance(function: MetricFunction, sample: TwoSided[Any], params: Mapping[str, Any]) -> dict[str, float]:
        return _drawn_levels(sample, read(sample.sides))

    chance.__doc__ = _of_kernels.__doc__
    return chance


def _of_neighbours(name: str) -> ChanceFunction:
    """Perfect: disjoint parts of the real samples. Memoriser, near_copy: training samples, and with one bit moved.
    Chance: samples with separate coordinates. All with the sizes at which real samples suffice for both sides."""

    def chance(function: MetricFunction, sample: Encodings, params: Mapping[str, Any]) -> dict[str, float]:
        measures, own, note = sample.sides.prdc_levels
        value = level(sample, values_of(own, name), sample.n)
        levels = {
            kind: simulated(kind, sample.averaged_draws(draws), own=value, note=note)
            for kind, draws in measures[name].items()
        }
        return named({"chance": Level(0.0), **levels})

    chance.__doc__ = _of_neighbours.__doc__
    return chance


def _read(result: Result) -> str:
    if result.reached is None:
        return "no null distribution to compare with"
    if result.reached:
        return "within the distance between two samples of real data"
    ratio = result.value / result.goal if result.goal else np.inf
    return f"{ratio:.1f} times the 95th percentile of the distance between two samples of real data"


_FEW = f"no condition has {FEWEST_COMPARED} valid generated samples and {FEWEST_COMPARED} real ones"
_FEW_NEW = f"{_FEW}, without those of the training set"
_DISTANCE_NULL = NoInterval("resampling increases the distance; compare with real against real")
_COMMON: dict[str, Any] = {
    "family": FAMILY,
    "section": "statistical",
    "needs": ("statistics",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "villani2009",
    "direction": "lower",
    "bounds": (0, np.inf),
    "interval": _DISTANCE_NULL,
}
_SCALE = {"scale": "standard deviation of the real samples of the condition; 0: of real and generated ones together"}
_EACH = {"conditions": f"those with {FEWEST_COMPARED} samples on both sides"}
_COUNT = _COMMON | {
    "needs": ("statistics", "encodings", "graphs"),
    "direction": "none",
    "laws": COUNT_LAWS,
    "conventions": TOTAL | _EACH,
    "chance": NoChance("a count is neither good nor bad"),
    "interval": NoInterval("a count of these samples"),
}


@metric(
    key="overall_mean_distance",
    conventions=MACRO | _EACH | _SCALE,
    chance=_null_of_mean,
    interpretation=_read,
    **_COMMON,
)
def overall_mean_distance(sample: Statistics) -> Estimate:
    """Mean over statistics of the scaled Wasserstein-1 distance between generated and real samples.

    Its target is the 95th percentile of the same distance between two draws from the real samples.
    """
    sides = sample.sides
    values = _mean_over_statistics(sides.scaled)
    reason = _FEW if not sides.enough.any() else "no statistics given"
    if sample.average is None:
        return sample.estimate(values, sample.n, reason)
    null = sample.averaged_draws(_mean_over_statistics(sides.scaled_null))
    goal: dict[str, Any] = {"goal": float(np.quantile(null, UPPER))} if len(null) else {}
    estimate = sample.estimate(values, sample.n, reason, **goal)
    return estimate.warned(
        *(
            f"{name} is constant among the real samples of {count} condition{'' if count == 1 else 's'}: there it "
            "is scaled by the spread of real and generated samples together"
            for name, count in zip(sides.names, sides.constant.sum(0).tolist(), strict=True)
            if count
        )
    )


@metric(key="wasserstein_{statistic}", conventions=MACRO | _EACH, chance=_null_of(scaled=False), **_COMMON)
def wasserstein_of(sample: Statistics, *, statistic: str = "num_holds") -> Estimate:
    """Wasserstein-1 distance of one statistic between generated and real samples, in the unit of the statistic."""
    place = sample.sides.names.index(one_of("statistic", statistic, sample.sides.names))
    return sample.estimate(sample.sides.raw[:, place], sample.n, _FEW)


@metric(
    key="scaled_wasserstein_{statistic}",
    conventions=MACRO | _EACH | _SCALE,
    chance=_null_of(scaled=True),
    **_COMMON,
)
def scaled_wasserstein_of(sample: Statistics, *, statistic: str = "num_holds") -> Estimate:
    """Wasserstein-1 distance of one statistic divided by the real standard deviation within the condition."""
    place = sample.sides.names.index(one_of("statistic", statistic, sample.sides.names))
    return sample.estimate(sample.sides.scaled[:, place], sample.n, _FEW)


@metric(key="num_generated", **_COUNT)
def num_generated(sample: TwoSided[Any]) -> Estimate:
    """Number of valid generated samples in the compared conditions."""
    return sample.estimate(np.where(sample.sides.enough, sample.n, np.nan), sample.n, _FEW)


@metric(key="num_real", **_COUNT)
def num_real(sample: TwoSided[Any]) -> Estimate:
    """Number of real samples in the compared conditions."""
    counts = sample.sides.real_counts
    return sample.estimate(np.where(sample.sides.enough, counts, np.nan), counts, _FEW)


@metric(
    key="energy_distance",
    conventions=MACRO | _EACH | _SCALE | {"on": "all statistics together, each scaled"},
    chance=_of_kernels(lambda sides: sides.energy_levels),
    **_COMMON | {"reference": "szekely2013"},
)
def energy_distance(sample: Statistics) -> Estimate:
    """Energy distance between the statistics of generated and real samples, all statistics together."""
    tests = sample.sides.energy
    return _of_tests(sample, values_of(tests, "distance"), tests)


@metric(
    key="energy_p_value",
    conventions=WHOLE | _EACH | {"test": "permutations within each condition, two samples"},
    chance=NoChance("p-values are uniform if nothing differs"),
    **_COMMON
    | {
        "reference": "szekely2013",
        "direction": "none",
        "bounds": (0, 1),
        "laws": COUNT_LAWS,
        "interval": NoInterval("a p-value is not an estimate"),
    },
)
def energy_p_value(sample: Statistics) -> Estimate:
    """Share of permutations within each condition with a distance at least as large as the observed one."""
    if sample.average is None:
        tests = sample.sides.energy_tested
        return sample.estimate(values_of(tests, "p_value"), _compared(tests), _FEW_NEW)
    test = sample.sides.energy_overall
    n = _compared(sample.sides.energy_tested).sum()
    return Estimate(np.array([np.nan if test is None else test.p_value]), np.array([n]), reason=_FEW_NEW)


_NEIGHBOURS = _COMMON | {
    "needs": ("encodings",),
    "reference": "naeem2020",
    "direction": "higher",
    "bounds": (0, 1),
    "conventions": MACRO | _EACH | {"k": str(NEIGHBOURS), "distance": "Euclidean"},
    "interval": NoInterval("samples share their neighbours"),
}


@metric(key="prdc_precision", chance=_of_neighbours("precision"), **_NEIGHBOURS | {"reference": "kynkaanniemi2019"})
def prdc_precision(sample: Encodings) -> Estimate:
    """Share of generated samples that are nearer to some real sample than its fifth nearest real neighbour."""
    return sample.estimate(values_of(sample.sides.prdc, "precision"), sample.n, _FEW)


@metric(key="prdc_recall", chance=_of_neighbours("recall"), **_NEIGHBOURS | {"reference": "kynkaanniemi2019"})
def prdc_recall(sample: Encodings) -> Estimate:
    """Share of real samples that are nearer to some generated sample than its fifth nearest generated neighbour."""
    return sample.estimate(values_of(sample.sides.prdc, "recall"), sample.n, _FEW)


@metric(key="prdc_density", chance=_of_neighbours("density"), **_NEIGHBOURS | {"bounds": (0, np.inf)})
def prdc_density(sample: Encodings) -> Estimate:
    """Mean number of real samples whose fifth nearest neighbour is further than the generated sample, over five."""
    return sample.estimate(values_of(sample.sides.prdc, "density"), sample.n, _FEW)


@metric(key="prdc_coverage", chance=_of_neighbours("coverage"), **_NEIGHBOURS)
def prdc_coverage(sample: Encodings) -> Estimate:
    """Share of real samples with a generated sample nearer than their fifth nearest real neighbour."""
    return sample.estimate(values_of(sample.sides.prdc, "coverage"), sample.n, _FEW)


_MMD = _COMMON | {
    "needs": ("encodings",),
    "reference": "gretton2012",
    "bounds": (-np.inf, np.inf),
    "conventions": MACRO
    | _EACH
    | {
        "kernel": "Gaussian",
        "bandwidth": "median distance",
        "power": "MMD squared, unbiased: may be below 0",
    },
}


def _compared(tests: list[Any]) -> Codes:
    """The number of generated samples that each test compared."""
    return np.array([0 if test is None else test.n[1] for test in tests], np.int64)


def _of_tests(sample: TwoSided[Any], values: Floats, tests: list[Any], **facts: Any) -> Estimate:
    """Values of tests, which do not compare all samples of large sides, or under some conventions."""
    compared = _compared(tests)
    estimate = sample.estimate(values, compared, _FEW, **facts)
    real = np.array([0 if test is None else test.n[0] for test in tests])
    given = np.where(sample.sides.enough, sample.sides.real_counts, 0)
    if (compared < sample.n).any() or (real < given).any():
        return estimate.warned(
            f"{compared.sum()} of {sample.n.sum()} generated samples and {real.sum()} of {given.sum()} real ones are "
            "compared"
        )
    return estimate


def _of_mmd(sample: TwoSided[Any], tests: list[Any]) -> Estimate:
    errors = values_of(tests, "error")
    df = np.maximum(np.minimum(_compared(tests), sample.sides.real_counts) - 1, 0).astype(float)
    convention = getattr(sample.sides, "convention", None)
    least = {"least": 0.0} if convention is not None and convention.is_biased else {}
    return _of_tests(sample, values_of(tests, "value"), tests, error=errors, df=df, **least)


def _p_of(sample: TwoSided[Any], tests: list[Any]) -> Estimate:
    """The share of permutations within each condition with a mean at least as large as the observed one."""
    if sample.average is None:
        return sample.estimate(values_of(tests, "p_value"), _compared(tests), _FEW_NEW)
    known = [test for test in tests if test is not None]
    value = np.nan
    if known:
        null = np.mean([test.null for test in known], axis=0)
        value = p_value(float(np.mean([test.value for test in known])), null)
    return Estimate(np.array([value]), np.array([_compared(tests).sum()]), reason=_FEW_NEW)


@metric(key="mmd", chance=_of_kernels(lambda sides: sides.mmd_levels), **_MMD | {"interval": of_discrepancy})
def mmd(sample: Encodings) -> Estimate:
    """Squared maximum mean discrepancy between the encodings of generated and real samples."""
    return _of_mmd(sample, sample.sides.mmd)


_P_VALUE = {
    "direction": "none",
    "bounds": (0, 1),
    "laws": COUNT_LAWS,
    "interval": NoInterval("a p-value is not an estimate"),
    "chance": NoChance("p-values are uniform if nothing differs"),
}
_PERMUTED = WHOLE | _EACH | {"test": "permutations within each condition"}


@metric(key="mmd_p_value", **_MMD | _P_VALUE | {"conventions": _PERMUTED})
def mmd_p_value(sample: Encodings) -> Estimate:
    """Share of permutations within each condition with a mean discrepancy at least as large as the observed one."""
    return _p_of(sample, sample.sides.mmd_tested)


_ORDER = Exempt("rounding depends on the order of the graphs")
_CHOSEN = {"convention": AS_CHOSEN, "power": AS_CHOSEN}
_GRAPH = _MMD | {
    "needs": ("graphs",),
    "reference": "liao2019",
    "laws": LAWS | {"permutation": _ORDER},
    "conventions": MACRO | _EACH | _CHOSEN,
    "interval": of_discrepancy,
}
_GRAPH_P = _GRAPH | _P_VALUE | {"conventions": _PERMUTED | {"convention": AS_CHOSEN}}


def _training_set(function: MetricFunction, sample: GraphSides, params: Mapping[str, Any]) -> dict[str, float]:
    """Memoriser: the training set itself."""
    return {"memoriser": Baseline(1.0)}


def _graph_levels(kind: str) -> ChanceFunction:
    return _of_kernels(lambda sides: sides.mmd_levels(kind))


@metric(key="degree_mmd", chance=_graph_levels("degree"), **_GRAPH)
def degree_mmd(sample: GraphSides) -> Estimate:
    """Squared maximum mean discrepancy between the degree distributions of generated and real graphs."""
    return _of_mmd(sample, sample.sides.mmd("degree"))


@metric(key="clustering_mmd", chance=_graph_levels("clustering"), **_GRAPH)
def clustering_mmd(sample: GraphSides) -> Estimate:
    """Squared maximum mean discrepancy between the distributions of clustering coefficients."""
    return _of_mmd(sample, sample.sides.mmd("clustering"))


@metric(key="orbit_mmd", chance=_graph_levels("orbit"), **_GRAPH)
def orbit_mmd(sample: GraphSides) -> Estimate:
    """Squared maximum mean discrepancy between mean counts of the 15 orbits of connected graphs of up to four nodes."""
    return _of_mmd(sample, sample.sides.mmd("orbit"))


@metric(key="spectral_mmd", chance=_graph_levels("spectral"), **_GRAPH)
def spectral_mmd(sample: GraphSides) -> Estimate:
    """Squared maximum mean discrepancy between the spectra of the normalised Laplacians."""
    return _of_mmd(sample, sample.sides.mmd("spectral"))


@metric(key="degree_mmd_p_value", **_GRAPH_P)
def degree_mmd_p_value(sample: GraphSides) -> Estimate:
    """Share of permutations of real and generated graphs with a degree_mmd at least as large as the observed one."""
    return _p_of(sample, sample.sides.mmd_tested("degree"))


@metric(key="clustering_mmd_p_value", **_GRAPH_P)
def clustering_mmd_p_value(sample: GraphSides) -> Estimate:
    """Share of permutations of real and generated graphs with a clustering_mmd at least as large as observed."""
    return _p_of(sample, sample.sides.mmd_tested("clustering"))


@metric(key="orbit_mmd_p_value", **_GRAPH_P)
def orbit_mmd_p_value(sample: GraphSides) -> Estimate:
    """Share of permutations of real and generated graphs with an orbit_mmd at least as large as the observed one."""
    return _p_of(sample, sample.sides.mmd_tested("orbit"))


@metric(key="spectral_mmd_p_value", **_GRAPH_P)
def spectral_mmd_p_value(sample: GraphSides) -> Estimate:
    """Share of permutations of real and generated graphs with a spectral_mmd at least as large as the observed one."""
    return _p_of(sample, sample.sides.mmd_tested("spectral"))


@metric(
    key="graph_mmd_ratio",
    chance=_training_set,
    **_GRAPH
    | {
        "needs": ("graph_training",),
        "reference": "vignac2023",
        "bounds": (0, np.inf),
        "interval": NoInterval("a mean of four ratios of the same graphs"),
        "conventions": MACRO | _EACH | {"convention": AS_CHOSEN, "power": "MMD squared, biased"},
    },
)
def graph_mmd_ratio(sample: GraphSides) -> Estimate:
    """Mean over the four graph statistics of the discrepancy of generated graphs over that of the training set.

    1 means as far from the real graphs as the training set is.
    """
    sides = sample.sides
    if sides.train_codes is None:
        return sample.nothing("the conditions of the training graphs are not given")
    values = nan_array(sides.ratio(code) if sides.enough[code] else np.nan for code in range(sample.groups))
    reason = "the training set is at no distance from the real graphs" if sides.enough.any() else _FEW
    return sample.estimate(values, sample.n, reason)
