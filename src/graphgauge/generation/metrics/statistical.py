"""Statistical similarity: whether generated samples have the distribution of real ones, by condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.errors import one_of
from graphgauge.core.metric import AS_CHOSEN, Estimate, Exempt, NoChance, NoInterval, whole
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints
from graphgauge.generation.averages import FEWEST_COMPARED, Grouped, View, values_of, warned
from graphgauge.generation.graph_features import STATISTICS
from graphgauge.generation.levels import Draws, level, named, simulated
from graphgauge.generation.metrics import COUNT, P_VALUE, declared, of_discrepancy, with_options
from graphgauge.generation.metrics.compared import NEIGHBOURS, Compared, Drawn, Encoded
from graphgauge.generation.metrics.described import Described, over
from graphgauge.generation.molecules import Molecules, internal_diversity, scaffold_similarity, snn
from graphgauge.generation.sample import Sides
from graphgauge.generation.two_sample import PRDC, Discrepancy, biased, p_of_all

# The goal of a distance: this quantile of the distance between two draws from the real samples.
UPPER = 0.95
_FEW = f"no condition has {FEWEST_COMPARED} valid generated samples and {FEWEST_COMPARED} real ones"
_FEW_NEW = f"{_FEW}, without those of the training set"
_EACH = {"conditions": f"those with {FEWEST_COMPARED} samples on both sides"}
_SCALED = _EACH | {
    "scale": "standard deviation of the real samples of the condition; 0: of real and generated ones together"
}
_metric = partial(declared, section="statistical", direction="lower", conventions=_EACH)


def levels_of(sample: View[Compared], drawn: Mapping[str, Floats]) -> tuple[Reference, ...]:
    """Levels from draws (draws, conditions), averaged like the sample."""
    return named({name: simulated(name, sample.averaged(draws, sample.data.n)) for name, draws in drawn.items()})


# ---- distances of single statistics

_distance = partial(
    _metric,
    needs=("statistics",),
    average="macro",
    reference="villani2009",
    bounds=(0, np.inf),
    interval=NoInterval("resampling increases the distance; compare with real against real"),
)


def _mean_over_statistics(values: Floats) -> Floats:
    """The mean over the last axis, without NaN."""
    known = ~np.isnan(values)
    counts = known.sum(-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0).sum(-1) / np.where(counts > 0, counts, np.nan))


@with_options
def _null_of(sample: View[Described], *, scaled: bool, statistic: str | None = None) -> tuple[Reference, ...]:
    """Perfect: two draws from the real samples, with the sizes of the generated and the real sample.

    If the real samples are constant, from real and generated samples together. Memoriser: training samples, if their
    statistics are given.
    """
    data = sample.data
    drawn = {"perfect": data.scaled_null if scaled else data.null}
    if data.memoriser is not None:
        drawn["memoriser"] = over(data.memoriser, data.scale) if scaled else data.memoriser
    if statistic is None:
        return levels_of(sample, {name: _mean_over_statistics(draws) for name, draws in drawn.items()})
    place = data.names.index(statistic)
    return levels_of(sample, {name: draws[:, :, place] for name, draws in drawn.items()})


def _read(result: Result) -> str:
    if result.reached is None:
        return "no null distribution to compare with"
    if result.reached:
        return "within the distance between two samples of real data"
    ratio = result.value / result.goal if result.goal else np.inf
    return f"{ratio:.1f} times the 95th percentile of the distance between two samples of real data"


@_distance(
    "overall_mean_distance", chance=_null_of(scaled=True), interpretation=_read, default=True, conventions=_SCALED
)
def overall_mean_distance(sample: View[Described]) -> Estimate:
    """Mean over statistics of the scaled Wasserstein-1 distance between generated and real samples.

    Its target is the 95th percentile of the same distance between two draws from the real samples.
    """
    data, values = sample.data, _mean_over_statistics(sample.data.scaled)
    reason = "no statistics given" if data.enough.any() else _FEW
    if sample.average is None:
        return sample.estimate(values, data.n, reason)
    null = sample.averaged(_mean_over_statistics(data.scaled_null), data.n)
    null = null[~np.isnan(null)]
    goal: dict[str, Any] = {"goal": float(np.quantile(null, UPPER))} if len(null) else {}
    constant = zip(data.names, data.constant.sum(0).tolist(), strict=True)
    return warned(
        sample.estimate(values, data.n, reason, **goal),
        *(
            f"{name} is constant among the real samples of {count} condition{'' if count == 1 else 's'}: there it "
            "is scaled by the spread of real and generated samples together"
            for name, count in constant
            if count
        ),
    )


@_distance("overall_mean_distance_raw", chance=_null_of(scaled=False))
def overall_mean_distance_raw(sample: View[Described]) -> Estimate:
    """Mean over statistics of the Wasserstein-1 distance in their own units, as in the original protocol.

    Statistics in large units count most; `overall_mean_distance` scales each by its spread.
    """
    return sample.estimate(_mean_over_statistics(sample.data.raw), sample.data.n, _FEW)


@_distance("wasserstein_{statistic}", chance=_null_of(scaled=False))
def wasserstein_of(sample: View[Described], *, statistic: str = "num_holds") -> Estimate:
    """Wasserstein-1 distance of one statistic between generated and real samples, in the unit of the statistic."""
    return _of_statistic(sample, sample.data.raw, statistic)


@_distance("scaled_wasserstein_{statistic}", chance=_null_of(scaled=True), conventions=_SCALED)
def scaled_wasserstein_of(sample: View[Described], *, statistic: str = "num_holds") -> Estimate:
    """Wasserstein-1 distance of one statistic divided by the real standard deviation within the condition."""
    return _of_statistic(sample, sample.data.scaled, statistic)


def _of_statistic(sample: View[Described], distances: Floats, statistic: str) -> Estimate:
    names = sample.data.names
    return sample.estimate(distances[:, names.index(one_of("statistic", statistic, names))], sample.data.n, _FEW)


_count = partial(_metric, needs=("statistics", "encodings", "graphs"), average="total", reference="villani2009")


@_count("num_generated", **COUNT)
def num_generated(sample: View[Compared]) -> Estimate:
    """Number of valid generated samples in the compared conditions."""
    return _counted(sample, sample.data.counts)


@_count("num_real", **COUNT)
def num_real(sample: View[Compared]) -> Estimate:
    """Number of real samples in the compared conditions."""
    return _counted(sample, sample.data.real_counts)


def _counted(sample: View[Compared], counts: Ints) -> Estimate:
    return sample.estimate(np.where(sample.data.enough, counts, np.nan), counts, _FEW)


# ---- tests of two samples: of statistics, encodings and graphs


@with_options
def _of_kernels(sample: View[Compared], kind: str) -> tuple[Reference, ...]:
    """Perfect: two draws from the real samples, with the run's sizes. Memoriser: training samples; near_copy: the same
    with one bit or edge moved. Chance: samples with separate coordinates, graphs with random edges."""
    return levels_of(sample, sample.data.levels(kind))


def _tested(tests: list[Discrepancy | None]) -> Ints:
    """The number of generated samples that each test compared."""
    return np.array([0 if test is None else test.n[1] for test in tests], np.int64)


def _discrepancy(sample: View[Any], kind: str) -> Estimate:
    """Values of tests, which do not compare all samples of large sides, or under some protocols."""
    data, tests = sample.data, sample.data.tests(kind)
    compared = _tested(tests)
    df = np.maximum(np.minimum(compared, data.real_counts) - 1, 0).astype(float)
    least = 0.0 if isinstance(data, Drawn) and data.convention.score is biased else -np.inf
    values, errors = values_of(tests, "value"), values_of(tests, "error")
    estimate = sample.estimate(values, compared, _FEW, error=errors, df=df, least=least)
    real = np.array([0 if test is None else test.n[0] for test in tests])
    given = np.where(data.enough, data.real_counts, 0)
    if not (compared < data.n).any() and not (real < given).any():
        return estimate
    return warned(
        estimate,
        f"{compared.sum()} of {data.n.sum()} generated samples and {real.sum()} of {given.sum()} real ones are "
        "compared",
    )


def _p_value(sample: View[Compared], kind: str) -> Estimate:
    tests = sample.data.fair_tests(kind)
    if sample.average is None:
        return sample.estimate(values_of(tests, "p_value"), _tested(tests), _FEW_NEW)
    known = [test for test in tests if test is not None]
    return whole(p_of_all(known) if known else np.nan, int(_tested(tests).sum()), reason=_FEW_NEW)


_PERMUTED = _EACH | {"test": "permutations within each condition"}
_energy = partial(_metric, needs=("statistics",), reference="szekely2013")
_encoded = partial(_metric, needs=("encodings",), reference="gretton2012")
_graphs = partial(
    _metric,
    needs=("graphs",),
    reference="liao2019",
    laws={"permutation": Exempt("rounding depends on the order of the graphs")},
)


@_energy(
    "energy_distance",
    average="macro",
    bounds=(0, np.inf),
    chance=NoChance("energy_p_value tests it against permutations"),
    interval=NoInterval("resampling increases the distance; compare with real against real"),
    conventions=_SCALED | {"on": "all statistics together, each scaled"},
)
def energy_distance(sample: View[Described]) -> Estimate:
    """Energy distance between the statistics of generated and real samples, all statistics together."""
    return _discrepancy(sample, "energy")


@_energy(
    "energy_p_value",
    average="whole",
    default=True,
    **P_VALUE | {"conventions": _EACH | {"test": "permutations within each condition, two samples"}},
)
def energy_p_value(sample: View[Described]) -> Estimate:
    """Share of permutations within each condition with a distance at least as large as the observed one."""
    return _p_value(sample, "energy")


@_encoded(
    "prdc_{measure}",
    average="macro",
    reference="naeem2020",
    direction="higher",
    bounds=(0, np.inf),
    chance=NoChance("it depends on the numbers of samples; compare generators with equally many"),
    interval=NoInterval("samples share their neighbours"),
    conventions=_EACH | {"k": str(NEIGHBOURS), "distance": "Euclidean"},
)
def prdc_of_encodings(sample: View[Encoded], *, measure: str = "precision") -> Estimate:
    """Precision, recall, density or coverage of encodings, from balls that reach to the fifth nearest neighbour.

    precision: the share of generated samples in some real ball; recall: of real ones in some generated ball; density:
    the real balls that contain a generated sample, over five, on average; coverage: the share of real balls with a
    generated sample.
    """
    one_of("measure", measure, PRDC._fields)
    return sample.estimate(values_of(sample.data.prdc, measure), sample.data.n, _FEW)


_UNBOUNDED: dict[str, Any] = {"bounds": (-np.inf, np.inf), "interval": of_discrepancy, "default": True}


@_encoded(
    "mmd",
    average="macro",
    chance=_of_kernels("mmd"),
    conventions=_EACH
    | {"kernel": "Gaussian", "bandwidth": "median distance", "power": "MMD squared, unbiased: may be below 0"},
    **_UNBOUNDED,
)
def mmd(sample: View[Encoded]) -> Estimate:
    """Squared maximum mean discrepancy between the encodings of generated and real samples."""
    return _discrepancy(sample, "mmd")


@_encoded("mmd_p_value", average="whole", default=True, **P_VALUE | {"conventions": _PERMUTED})
def mmd_p_value(sample: View[Encoded]) -> Estimate:
    """Share of permutations within each condition with a mean discrepancy at least as large as the observed one."""
    return _p_value(sample, "mmd")


_OF = {
    "degree": "degree distributions",
    "clustering": "distributions of clustering coefficients",
    "orbit": "mean counts of the 15 orbits of connected graphs of up to four nodes",
    "spectral": "spectra of the normalised Laplacians",
}


def _graph_mmd(kind: str) -> None:
    """Declare the discrepancy of one statistic of graphs, and its p-value."""

    def value(sample: View[Drawn]) -> Estimate:
        return _discrepancy(sample, kind)

    def p(sample: View[Drawn]) -> Estimate:
        return _p_value(sample, kind)

    value.__doc__ = f"Squared maximum mean discrepancy between the {_OF[kind]} of generated and real graphs."
    p.__doc__ = f"Share of permutations of real and generated graphs with a {kind}_mmd at least as large as observed."
    chosen = _EACH | {"protocol": AS_CHOSEN, "power": AS_CHOSEN}
    _graphs(f"{kind}_mmd", average="macro", chance=_of_kernels(kind), conventions=chosen, **_UNBOUNDED)(value)
    permuted = P_VALUE | {"conventions": _PERMUTED | {"protocol": AS_CHOSEN}, "laws": None}
    _graphs(f"{kind}_mmd_p_value", average="whole", default=True, **permuted)(p)


for _kind in STATISTICS:
    _graph_mmd(_kind)


def _training_set(sample: View[Drawn]) -> tuple[Reference, ...]:
    """Memoriser: the training set itself."""
    return (level("memoriser", 1.0),)


@_graphs(
    "graph_mmd_ratio",
    needs=("graph_training",),
    average="macro",
    reference="vignac2023",
    bounds=(0, np.inf),
    chance=_training_set,
    interval=NoInterval("a mean of four ratios of the same graphs"),
    conventions=_EACH | {"protocol": AS_CHOSEN, "power": "MMD squared, biased"},
)
def graph_mmd_ratio(sample: View[Drawn]) -> Estimate:
    """Mean over the four graph statistics of the discrepancy of generated graphs over that of the training set.

    1 means as far from the real graphs as the training set is.
    """
    data = sample.data
    if data.train is None:
        return sample.nothing("the conditions of the training graphs are not given")
    reason = "the training set is at no distance from the real graphs" if data.enough.any() else _FEW
    return sample.estimate(_mean_over_statistics(data.ratios(data.train)), data.n, reason)


# ---- molecules, and latent vectors as normal distributions


class Chemistry(Grouped):
    """Valid generated molecules and real held-out ones, of all conditions together."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        super().__init__(sides.labels)
        assert sides.generated is not None
        self.real, self.generated = (side.items.take(side.kept) for side in (sides.held_out, sides.generated))

    def scored(self, score: Callable[[Molecules, Molecules], float]) -> Estimate:
        """A score of both sides."""
        known = len(self.real) and len(self.generated)
        value = score(self.real, self.generated) if known else np.nan
        return whole(value, len(self.generated), reason="no valid molecules on either side")


_of_molecules = partial(
    declared,
    section="statistical",
    needs=("chemistry",),
    average="whole",
    reference="polykovskiy2020",
    chance=NoChance("it depends on the real molecules; compare generators with the same ones"),
    interval=NoInterval("molecules share their neighbours"),
)


@_of_molecules("snn")
def nearest_similarity(sample: View[Chemistry]) -> Estimate:
    """Mean Tanimoto similarity of a generated molecule to the nearest real one (Morgan fingerprints, radius 2)."""
    return sample.data.scored(lambda real, made: snn(real.fingerprints, made.fingerprints))


@_of_molecules("scaffold_similarity")
def scaffolds(sample: View[Chemistry]) -> Estimate:
    """Cosine of the counts of Bemis and Murcko's scaffolds; molecules without rings have none."""
    return sample.data.scored(lambda real, made: scaffold_similarity(real.scaffolds, made.scaffolds))


@_of_molecules("internal_diversity", section="diversity")
def internal(sample: View[Chemistry]) -> Estimate:
    """1 less the mean Tanimoto similarity of two generated molecules, each with itself included, as in MOSES."""
    return sample.data.scored(lambda real, made: internal_diversity(made.fingerprints))


def _no_distance(sample: View[Encoded]) -> tuple[Reference, ...]:
    """Two equal normal distributions."""
    return (level("perfect", 0.0),)


@declared(
    "frechet_distance",
    section="statistical",
    needs=("latent_pairs",),
    average="macro",
    reference="preuer2018",
    direction="lower",
    bounds=(0, np.inf),
    chance=_no_distance,
    interval=NoInterval("it is biased upwards in small samples"),
    conventions={"distributions": "normal, by mean and covariance"},
)
def frechet_distance(sample: View[Encoded]) -> Estimate:
    """Fréchet distance of latent vectors as normal distributions, |μ − ν|² + tr(A + B − 2(AB)^½).

    With the activations of ChemNet as latent vectors it is the FCD.
    """
    data = sample.data
    values = np.full(data.groups, np.nan)
    for code in np.flatnonzero(data.enough):
        real, made = data.pair(int(code))
        first, second = (np.atleast_2d(np.cov(points, rowvar=False)) for points in (real, made))
        # The trace of the root is that of the symmetric product of roots.
        weights, vectors = np.linalg.eigh(first)
        root = (vectors * np.sqrt(np.maximum(weights, 0))) @ vectors.T
        common = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ second @ root), 0)).sum()
        away = ((real.mean(0) - made.mean(0)) ** 2).sum()
        values[code] = max(away + np.trace(first) + np.trace(second) - 2 * common, 0.0)
    return sample.estimate(values, data.n, "no condition has 10 latent vectors on both sides")
