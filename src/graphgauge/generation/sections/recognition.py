"""Recognition: a classifier of real and generated samples, and the features by which it recognises generated ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.declared import COUNT_LAWS, FAMILY, LAWS, MACRO, WHOLE, of_area
from graphgauge.generation.graph_mmd import clustering_coefficients, orbit_means
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.inputs import Bits, Codes
from graphgauge.generation.levels import Draws, named, simulated
from graphgauge.generation.sections.described import columns_of
from graphgauge.generation.sections.two_sided import Sides, TwoSided
from graphgauge.generation.table import SampleTable
from graphgauge.old.core.metric import Estimate, MetricFunction, NoChance, NoInterval, metric
from graphgauge.old.core.result import Result, Table

# Samples of either side that train and test the classifier at most.
_MOST = 2000
_TREES = 100
FEATURES = "recognised_by"
# Features in the table at most.
_SHOWN = 50


class Halves(NamedTuple):
    """The features of all samples, whether each is generated, and which half each is in."""

    rows: Floats
    codes: Codes
    generated: Bits
    tested: Bits


@dataclass(frozen=True)
class Recognition:
    """The classifier's scores of samples that it was not trained on, by condition."""

    auc: Floats
    error: Floats
    p_value: float
    counts: Codes
    # The mean area over conditions for permutations of the held-out samples.
    null: Floats


class Recognised(Sides):
    """Features of both sides: bits, counts and statistics, or the structure of graphs."""

    def __init__(self, table: SampleTable, draws: Draws) -> None:
        self._draws = draws
        real, self.names = _features(table.real, table.statistics, table)
        generated, _ = _features(table.generated, table.generated_statistics, table)
        # Real samples of the training set are left out, too.
        new = table.kept if table.copied is None else table.kept & ~table.copied

        def ordered(rows: Floats, codes: Codes, kept: Bits) -> tuple[Floats, Codes]:
            order = np.flatnonzero(kept)
            order = order[np.lexsort((*rows[order].T[::-1], codes[order]))] if rows.shape[1] else order
            return rows[order], codes[order]

        super().__init__(
            *ordered(real, table.real_codes, table.real_kept), *ordered(generated, table.codes, new), len(table.labels)
        )

    @cached_property
    def halves(self) -> Halves:
        """Half of each side of each condition for training, and half for the test."""
        rows, codes, generated, tested = [], [], [], []
        for code in np.flatnonzero(self.enough).tolist():
            generator = self._draws.generator(24, code)
            for made, side in enumerate(self.pair(code)):
                chosen = generator.permutation(len(side))[:_MOST]
                rows.append(side[chosen])
                codes.append(np.full(len(chosen), code))
                generated.append(np.full(len(chosen), made == 1))
                tested.append(np.arange(len(chosen)) % 2 == 1)
        found = np.concatenate(rows) if rows else np.empty((0, len(self.names)))
        joined = [np.concatenate(part) if part else np.empty(0, int) for part in (codes, generated, tested)]
        return Halves(_within(found, joined[0], self.groups), joined[0], joined[1] == 1, joined[2] == 1)

    @cached_property
    def recognition(self) -> Recognition | None:
        if not self.enough.any() or not self.names:
            return None
        halves = self.halves
        score = self._scores(halves)
        test = halves.tested
        codes, generated = halves.codes[test], halves.generated[test]
        auc, error, counts = np.full(self.groups, np.nan), np.full(self.groups, np.nan), np.zeros(self.groups, np.int64)
        observed, null = 0.0, np.zeros(self._draws.permutations)
        for code in np.flatnonzero(self.enough).tolist():
            own = codes == code
            auc[code], error[code] = _area(score[own], generated[own])
            counts[code] = np.count_nonzero(generated[own])
            observed += auc[code]
            null += _permuted(score[own], generated[own], self._draws, code)
        above = np.count_nonzero(null >= observed - 1e-12)
        present = np.count_nonzero(self.enough)
        return Recognition(auc, error, (1 + above) / (1 + len(null)), counts, null / present)

    def _scores(self, halves: Halves) -> Floats:
        from sklearn.ensemble import RandomForestClassifier

        train = ~halves.tested
        forest = RandomForestClassifier(
            _TREES, min_samples_leaf=3, class_weight="balanced_subsample", random_state=self._draws.seed, n_jobs=1
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forest.fit(halves.rows[train], halves.generated[train])
        return np.asarray(forest.predict_proba(halves.rows[halves.tested])[:, 1])

    def by_feature(self) -> Table:
        """How well each feature alone separates the held-out half, the clearest first."""
        halves = self.halves
        test = halves.tested
        codes, generated, rows = halves.codes[test], halves.generated[test], halves.rows[test]
        present = np.flatnonzero(self.enough)
        areas = np.zeros(len(self.names))
        for code in present.tolist():
            own = codes == code
            areas += [_area(column, generated[own])[0] for column in rows[own].T]
        areas /= max(len(present), 1)
        order = np.argsort(-np.abs(areas - 0.5), kind="stable")[:_SHOWN]
        raw = [
            np.concatenate([side[code_of == code] for code in present]) if len(present) else side[:0]
            for side, code_of in ((self.real, self.real_codes), (self.generated, self.codes))
        ]
        means = [part[:, order].mean(0) if len(part) else np.full(len(order), np.nan) for part in raw]
        return Table(
            FEATURES,
            {
                FEATURES: np.array(self.names)[order],
                "n": np.full(len(order), len(generated)),
                "recognition_auc": areas[order],
                "real_mean": means[0],
                "generated_mean": means[1],
            },
        )


def _within(rows: Floats, codes: Codes, groups: int) -> Floats:
    """Features less their mean in the condition, so that conditions themselves are not recognised."""
    if groups == 1 or not len(rows):
        return rows
    found = rows.copy()
    for code in np.unique(codes):
        found[codes == code] -= found[codes == code].mean(0)
    return found


def _area(score: Floats, positive: Bits) -> tuple[float, float]:
    """The area under the ROC curve, and its standard error (DeLong)."""
    from scipy.stats import rankdata

    n, m = int(np.count_nonzero(positive)), int(np.count_nonzero(~positive))
    if not n or not m:
        return np.nan, np.nan
    ranks = rankdata(score)
    above = (ranks[positive] - rankdata(score[positive])) / m
    below = 1 - (ranks[~positive] - rankdata(score[~positive])) / n
    area = float(above.mean())
    spread = (above.var(ddof=1) / n if n > 1 else np.nan) + (below.var(ddof=1) / m if m > 1 else np.nan)
    return area, float(np.sqrt(spread))


def _permuted(score: Floats, positive: Bits, draws: Draws, code: int) -> Floats:
    """Areas for random permutations of the held-out samples: exact, because they did not train the classifier."""
    from scipy.stats import rankdata

    generator = draws.generator(25, code)
    n, m = int(np.count_nonzero(positive)), int(np.count_nonzero(~positive))
    ranks = np.tile(rankdata(score), (draws.permutations, 1))
    sums = generator.permuted(ranks, axis=1)[:, :n].sum(axis=1)
    return np.asarray((sums - n * (n + 1) / 2) / (n * m))


def _features(samples: Any, statistics: Any, table: SampleTable) -> tuple[Floats, list[str]]:
    if isinstance(samples, Graphs):
        rows, names = _of_graphs(samples)
    else:
        bits = samples.reshape(len(samples), int(np.prod(samples.shape[1:]))).astype(np.float64)
        rows = np.column_stack([bits, bits.sum(1)])
        names = [*_cells(samples.shape[1:], table.channels), "set bits"]
    both = table.statistics is not None and table.generated_statistics is not None
    if both and statistics:
        columns, owner = columns_of(statistics, table)
        rows = np.column_stack([rows, columns])
        names = [*names, *owner]
    return rows, names


def _cells(shape: tuple[int, ...], channels: tuple[str, ...] | None) -> list[str]:
    """The names of the cells of a sample."""
    found = []
    for index in np.ndindex(shape):
        first = [channels[index[0]]] if channels else [str(index[0])]
        found.append("cell " + ",".join([*first, *map(str, index[1:])]))
    return found


def _of_graphs(graphs: Graphs) -> tuple[Floats, list[str]]:
    nodes, edges = graphs.nodes.astype(float), np.diff(graphs.offsets).astype(float)
    count = np.maximum(nodes, 1)
    largest = np.zeros(len(graphs))
    np.maximum.at(largest, graphs.owner, graphs.degrees)
    clustering = np.bincount(graphs.owner, clustering_coefficients(graphs), minlength=len(graphs)) / count
    names = ["nodes", "edges", "mean degree", "largest degree", "mean clustering"]
    columns = [nodes, edges, 2 * edges / count, largest, clustering, orbit_means(graphs)]
    return np.column_stack(columns), [*names, *(f"orbit {place}" for place in range(15))]


Recognising = TwoSided[Recognised]


def _guess(function: MetricFunction, sample: Recognising, params: Any) -> dict[str, float]:
    """Perfect: the held-out samples with their sides dealt at random."""
    found = sample.sides.recognition
    return {} if found is None else named({"perfect": simulated("perfect", found.null)})


def _read(result: Result) -> str:
    if result.interval is None or result.interval.low <= 0.5:
        return "the classifier does not recognise generated samples"
    return f'the classifier recognises generated samples; by("{FEATURES}") names the features'


_FEW = "no condition has 10 valid generated samples and 10 real ones"
_COMMON: dict[str, Any] = {
    "family": FAMILY,
    "section": "statistical",
    "needs": ("recognition",),
    "unit": "sample",
    "reference": "lopezpaz2017",
    "bounds": (0, 1),
    "default": False,
}
_FOREST = {
    "classifier": f"random forest of {_TREES} trees",
    "trained on": "half of either side",
    "tested on": "the other half",
}


@metric(
    key="recognition_auc",
    direction="lower",
    laws=LAWS,
    chance=_guess,
    interval=of_area,
    interpretation=_read,
    conventions=MACRO | _FOREST,
    **_COMMON,
)
def recognition_auc(sample: Recognising) -> Estimate:
    """Probability that a classifier scores a generated sample higher than a real one of the same condition.

    0.5 if it recognises nothing. The classifier is trained on half of either side and scores the other half. Its
    features are the bits, the number of set bits and the statistics; of graphs nodes, edges, degrees, clustering and
    orbits. `by("recognised_by")` lists the features that separate the held-out half best.
    """
    found = sample.sides.recognition
    if found is None:
        return sample.nothing(_FEW)
    df = np.maximum(found.counts - 1, 0).astype(float)
    return sample.estimate(found.auc, found.counts, _FEW, error=found.error, df=df)


@metric(
    key="recognition_p_value",
    direction="none",
    laws=COUNT_LAWS,
    chance=NoChance("p-values are uniform if nothing differs"),
    interval=NoInterval("a p-value is not an estimate"),
    conventions=WHOLE | _FOREST | {"test": "permutations of the held-out half within each condition"},
    **_COMMON,
)
def recognition_p_value(sample: Recognising) -> Estimate:
    """Share of permutations of the held-out half for which the classifier separates both sides at least as well."""
    found = sample.sides.recognition
    if found is None or sample.average is None:
        return sample.nothing(_FEW if found is None else "one test for all conditions")
    return Estimate(np.array([found.p_value]), np.array([found.counts.sum()]), reason=_FEW)
