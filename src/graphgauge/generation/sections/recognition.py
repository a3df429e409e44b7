"""Recognition: a classifier of real and generated samples, and the features by which it recognises generated ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import Estimate, NoChance, NoInterval
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.averages import COUNT_LAWS, LAWS, declared, flat, of_recognition, ranks, whole_of
from graphgauge.generation.graph_features import clustering_coefficients, orbit_means
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import Draws, named, simulated
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.described import Columns
from graphgauge.generation.sections.drawn import graphs_of
from graphgauge.generation.sections.two_sided import Compared, Part, TwoSided
from graphgauge.stats.errors import auc_error

# Samples of either side that train and test the classifier at most.
_MOST = 2000
_TREES = 100
FEATURES = "recognised_by"
# Features in the table at most.
_SHOWN = 50


class Halves(NamedTuple):
    """The features of all samples, whether each is generated, and which half each is in."""

    rows: Floats
    codes: Ints
    generated: Mask
    tested: Mask


@dataclass(frozen=True)
class Recognition:
    """The classifier's scores of samples that it was not trained on, by condition."""

    auc: Floats
    error: Floats
    p_value: float
    counts: Ints
    # The mean area over conditions for permutations of the held-out samples.
    null: Floats


class Recognised(Compared):
    """Features of both sides: bits, counts and statistics, or the structure of graphs."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        self._draws, self.names = draws, _names(sides)
        # Generated samples that are in training are left out, as real ones are.
        super().__init__(sides, lambda side: _features(side, sides), unseen_only=True)
        self.real, self.generated = _by_columns(self.real), _by_columns(self.generated)

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
        joined = np.concatenate(codes)
        within = _within(np.concatenate(rows), joined, self.groups)
        return Halves(within, joined, np.concatenate(generated), np.concatenate(tested))

    @cached_property
    def recognition(self) -> Recognition | None:
        if not self.enough.any() or not self.names:
            return None
        halves = self.halves
        score, test = self._scores(halves), halves.tested
        codes, generated = halves.codes[test], halves.generated[test]
        auc, error, counts = np.full(self.groups, np.nan), np.full(self.groups, np.nan), np.zeros(self.groups, np.int64)
        observed, null = 0.0, np.zeros(self._draws.draws)
        for code in np.flatnonzero(self.enough).tolist():
            own = codes == code
            auc[code], error[code], _ = auc_error(score[own & generated], score[own & ~generated])
            counts[code] = np.count_nonzero(generated[own])
            observed += auc[code]
            null += _permuted(score[own], generated[own], self._draws, code)
        above = np.count_nonzero(null >= observed - 1e-12)
        return Recognition(auc, error, (1 + above) / (1 + len(null)), counts, null / np.count_nonzero(self.enough))

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

    def tables(self, labels: tuple[str, ...]) -> dict[str, Grid]:
        """How well each feature alone separates the held-out half, the clearest first."""
        if self.recognition is None:
            return {}
        halves, test = self.halves, self.halves.tested
        codes, generated, rows = halves.codes[test], halves.generated[test], halves.rows[test]
        present = np.flatnonzero(self.enough)
        areas = np.zeros(len(self.names))
        for code in present.tolist():
            made, other = rows[(codes == code) & generated], rows[(codes == code) & ~generated]
            areas += [auc_error(*columns)[0] for columns in zip(made.T, other.T, strict=True)]
        areas /= len(present)
        order = np.argsort(-np.abs(areas - 0.5), kind="stable")[:_SHOWN]
        means = [
            np.concatenate([part.of(code) for code in present.tolist()])[:, order].mean(0)
            for part in (self.real, self.generated)
        ]
        columns = {
            FEATURES: np.array(self.names)[order],
            "n": np.full(len(order), len(generated)),
            "recognition_auc": areas[order],
            "real_mean": means[0],
            "generated_mean": means[1],
        }
        return {FEATURES: Grid(columns)}


def _by_columns(part: Part) -> Part:
    """In the order of the first feature, then of the second, …: what samples are drawn in."""
    rows = part.rows
    order = np.lexsort((*rows.T[::-1], part.codes)) if rows.shape[1] else np.arange(len(rows))
    return Part(rows[order], part.codes[order], None)


def _within(rows: Floats, codes: Ints, groups: int) -> Floats:
    """Features less their mean in the condition, so that conditions themselves are not recognised."""
    if groups == 1:
        return rows
    centred = rows.copy()
    for code in np.unique(codes):
        centred[codes == code] -= centred[codes == code].mean(0)
    return centred


def _permuted(score: Floats, positive: Mask, draws: Draws, code: int) -> Floats:
    """Areas for random permutations of the held-out samples: exact, because they did not train the classifier."""
    n, m = int(np.count_nonzero(positive)), int(np.count_nonzero(~positive))
    tiled = np.tile(ranks(score), (draws.draws, 1))
    sums = draws.generator(25, code).permuted(tiled, axis=1)[:, :n].sum(axis=1)
    return np.asarray((sums - n * (n + 1) / 2) / (n * m))


# ---- features


def _has_statistics(sides: Sides) -> bool:
    return all(side is not None and side.statistics is not None for side in (sides.real, sides.generated))


def _features(side: Samples, sides: Sides) -> Floats | None:
    if side.items is None or (_has_statistics(sides) and side.statistics is None):
        return None
    graphs = graphs_of(side)
    if isinstance(graphs, Graphs):
        rows: AnyArray = _of_graphs(graphs)
    else:
        bits = flat(side.items).astype(np.float64)
        rows = np.column_stack([bits, bits.sum(1)])
    if not _has_statistics(sides):
        return rows
    return np.column_stack([rows, Columns(sides).of(side.statistics, len(side))])


def _names(sides: Sides) -> list[str]:
    assert sides.real is not None
    items = sides.real.items
    own = [*_cells(items.shape[1:], sides.channels), "set bits"] if isinstance(items, np.ndarray) else list(_OF_GRAPHS)
    return [*own, *(Columns(sides).names if _has_statistics(sides) else [])]


def _cells(shape: tuple[int, ...], channels: tuple[str, ...] | None) -> list[str]:
    """The names of the cells of a sample."""
    return [
        "cell " + ",".join([channels[index[0]] if channels else str(index[0]), *map(str, index[1:])])
        for index in np.ndindex(shape)
    ]


_OF_GRAPHS = ("nodes", "edges", "mean degree", "largest degree", "mean clustering", *(f"orbit {n}" for n in range(15)))


def _of_graphs(graphs: Graphs) -> Floats:
    nodes, edges = graphs.nodes.astype(float), np.diff(graphs.offsets).astype(float)
    count = np.maximum(nodes, 1)
    largest = np.zeros(len(graphs))
    np.maximum.at(largest, graphs.owner, graphs.degrees)
    clustering = np.bincount(graphs.owner, clustering_coefficients(graphs), minlength=len(graphs)) / count
    return np.column_stack([nodes, edges, 2 * edges / count, largest, clustering, orbit_means(graphs)])


# ---- metrics

Recognising = TwoSided[Recognised]


def _guess(sample: Recognising) -> tuple[Reference, ...]:
    """Perfect: the held-out samples with their sides dealt at random."""
    found = sample.sides.recognition
    return () if found is None else named({"perfect": simulated("perfect", found.null)})


def _read(result: Result) -> str:
    if result.interval is None or result.interval.low <= 0.5:
        return "the classifier does not recognise generated samples"
    return f'the classifier recognises generated samples; by("{FEATURES}") names the features'


_FEW = "no condition has 10 valid generated samples and 10 real ones"
_COMMON: dict[str, Any] = {
    "section": "statistical",
    "needs": ("recognition",),
    "unit": "sample",
    "reference": "lopezpaz2017",
    "bounds": (0, 1),
}
_FOREST = {
    "classifier": f"random forest of {_TREES} trees",
    "trained on": "half of either side",
    "tested on": "the other half",
}


@declared(
    "recognition_auc",
    average="macro",
    direction="lower",
    laws=LAWS,
    chance=_guess,
    interval=of_recognition,
    interpretation=_read,
    conventions=_FOREST,
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


@declared(
    "recognition_p_value",
    average="whole",
    direction="none",
    laws=COUNT_LAWS,
    chance=NoChance("p-values are uniform if nothing differs"),
    interval=NoInterval("a p-value is not an estimate"),
    conventions=_FOREST | {"test": "permutations of the held-out half within each condition"},
    **_COMMON,
)
def recognition_p_value(sample: Recognising) -> Estimate:
    """Share of permutations of the held-out half for which the classifier separates both sides at least as well."""
    found = sample.sides.recognition
    if found is None or sample.average is None:
        return sample.nothing(_FEW if found is None else "one test for all conditions")
    return whole_of(found.p_value, int(found.counts.sum()), _FEW)
