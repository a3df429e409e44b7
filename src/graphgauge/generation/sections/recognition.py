"""Recognition: a classifier of real and generated samples, and the features by which it recognises generated ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import Estimate, whole
from graphgauge.core.registry import Chosen
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import P_VALUE, View, declared, flat, of_recognition, ranks
from graphgauge.generation.graph_features import clustering_coefficients, orbit_means
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import Draws, named, simulated
from graphgauge.generation.sample import Samples, Sides
from graphgauge.generation.sections.described import Columns
from graphgauge.generation.sections.drawn import graphs_of
from graphgauge.generation.sections.two_sided import Compared, Part
from graphgauge.stats.errors import auc_error

# Samples of either side that train and test the classifier at most.
_MOST = 2000
_TREES = 100
FEATURES = "recognised_by"
# Features in the table at most.
_SHOWN = 50
_OF_GRAPHS = ("nodes", "edges", "mean degree", "largest degree", "mean clustering", *(f"orbit {n}" for n in range(15)))


class Half(NamedTuple):
    """Features of samples less their mean in the condition, their conditions, and which samples are generated."""

    rows: Floats
    codes: Ints
    generated: Mask


@dataclass(frozen=True)
class Recognition:
    """The classifier's scores of samples that it was not trained on, by condition.

    `null` are the means over conditions of the area for permutations of the held-out samples.
    """

    auc: Floats
    error: Floats
    p_value: float
    counts: Ints
    null: Floats


class Recognised(Compared):
    """Features of both sides: bits, counts and statistics, or the structure of graphs."""

    def __init__(self, sides: Sides, draws: Draws) -> None:
        described = all(side is not None and side.statistics is not None for side in (sides.real, sides.generated))
        self._columns = Columns(sides) if described else None
        # Generated samples that are in training are left out, as real ones are.
        super().__init__(sides, draws, self._features, unseen_only=True)
        self.real, self.generated = _by_columns(self.real), _by_columns(self.generated)
        items = None if sides.real is None else sides.real.items
        own = [*_cells(items.shape[1:], sides.channels), "set bits"] if isinstance(items, np.ndarray) else _OF_GRAPHS
        self.names = [*own, *(self._columns.names if self._columns is not None else [])]

    def _features(self, side: Samples) -> Floats | None:
        """The features (n, features) of a side; None if it lacks what the others have."""
        if side.items is None or (self._columns is not None and side.statistics is None):
            return None
        graphs = graphs_of(side)
        if isinstance(graphs, Graphs):
            rows = _of_graphs(graphs)
        else:
            bits = flat(side.items).astype(np.float64)
            rows = np.column_stack([bits, bits.sum(1)])
        if self._columns is None:
            return rows
        return np.column_stack([rows, self._columns.of(side.statistics, len(side))])

    @cached_property
    def _halves(self) -> tuple[Half, Half]:
        """Half of each side of each condition for training, and half for the test."""
        parts, tested = [], []
        for code in np.flatnonzero(self.enough).tolist():
            generator, own = self.draws.generator(24, code), []
            for made, side in enumerate(self.pair(code)):
                rows = side[generator.permutation(len(side))[:_MOST]]
                own.append(Half(rows, np.full(len(rows), code), np.full(len(rows), made == 1)))
                tested.append(np.arange(len(rows)) % 2 == 1)
            joined = Half(*map(np.concatenate, zip(*own, strict=True)))
            # So that conditions themselves are not recognised.
            centre = joined.rows.mean(0) if self.groups > 1 else 0.0
            parts.append(joined._replace(rows=joined.rows - centre))
        every, test = Half(*map(np.concatenate, zip(*parts, strict=True))), np.concatenate(tested)
        return Half(*(column[~test] for column in every)), Half(*(column[test] for column in every))

    @cached_property
    def recognition(self) -> Recognition | None:
        if not self.enough.any() or not self.names:
            return None
        train, test = self._halves
        score = self._forest_scores(train, test.rows)
        auc, error, counts = np.full(self.groups, np.nan), np.full(self.groups, np.nan), np.zeros(self.groups, np.int64)
        observed, null = 0.0, np.zeros(self.draws.draws)
        for code in np.flatnonzero(self.enough).tolist():
            own, generated = score[test.codes == code], test.generated[test.codes == code]
            auc[code], error[code], _ = auc_error(own[generated], own[~generated])
            counts[code] = np.count_nonzero(generated)
            observed += auc[code]
            null += self._permuted(own, int(counts[code]), code)
        above = np.count_nonzero(null >= observed - 1e-12)
        return Recognition(auc, error, (1 + above) / (1 + len(null)), counts, null / np.count_nonzero(self.enough))

    def _forest_scores(self, train: Half, rows: Floats) -> Floats:
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(
            _TREES, min_samples_leaf=3, class_weight="balanced_subsample", random_state=self.draws.seed, n_jobs=1
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forest.fit(train.rows, train.generated)
        return np.asarray(forest.predict_proba(rows)[:, 1])

    def _permuted(self, score: Floats, n: int, code: int) -> Floats:
        """Areas for random permutations of the held-out samples: exact, because they did not train the classifier."""
        tiled = np.tile(ranks(score), (self.draws.draws, 1))
        sums = self.draws.generator(25, code).permuted(tiled, axis=1)[:, :n].sum(axis=1)
        return np.asarray((sums - n * (n + 1) / 2) / (n * (len(score) - n)))

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """How well each feature alone separates the held-out half, the clearest first."""
        if self.recognition is None:
            return {}
        _, test = self._halves
        present, areas = np.flatnonzero(self.enough).tolist(), np.zeros(len(self.names))
        for code in present:
            own = test.codes == code
            columns = zip(test.rows[own & test.generated].T, test.rows[own & ~test.generated].T, strict=True)
            areas += [auc_error(made, real)[0] for made, real in columns]
        areas /= len(present)
        order = np.argsort(-np.abs(areas - 0.5), kind="stable")[:_SHOWN]
        real, generated = (part.rows[self.enough[part.codes]][:, order].mean(0) for part in (self.real, self.generated))
        columns_of = {"recognition_auc": areas[order], "real_mean": real, "generated_mean": generated}
        names, n = np.array(self.names)[order], np.full(len(order), len(test.codes))
        return {FEATURES: Grid({FEATURES: names, "n": n, **columns_of})}


def _by_columns(part: Part) -> Part:
    """In the order of the first feature, then of the second, …: what samples are drawn in."""
    order = np.lexsort((*part.rows.T[::-1], part.codes)) if part.rows.shape[1] else np.arange(len(part))
    return Part(part.rows[order], part.codes[order], None)


def _cells(shape: tuple[int, ...], channels: tuple[str, ...] | None) -> list[str]:
    """The names of the cells of a sample."""
    return [
        "cell " + ",".join([channels[index[0]] if channels else str(index[0]), *map(str, index[1:])])
        for index in np.ndindex(shape)
    ]


def _of_graphs(graphs: Graphs) -> Floats:
    nodes, edges = graphs.nodes.astype(float), np.diff(graphs.offsets).astype(float)
    count = np.maximum(nodes, 1)
    largest = np.zeros(len(graphs))
    np.maximum.at(largest, graphs.owner, graphs.degrees)
    clustering = np.bincount(graphs.owner, clustering_coefficients(graphs), minlength=len(graphs)) / count
    return np.column_stack([nodes, edges, 2 * edges / count, largest, clustering, orbit_means(graphs)])


# ---- metrics


def _guess(sample: View[Recognised]) -> tuple[Reference, ...]:
    """Perfect: the held-out samples with their sides dealt at random."""
    found = sample.data.recognition
    return () if found is None else named({"perfect": simulated("perfect", found.null)})


def _read(result: Result) -> str:
    if result.interval is None or result.interval.low <= 0.5:
        return "the classifier does not recognise generated samples"
    return f'the classifier recognises generated samples; by("{FEATURES}") names the features'


_FEW = "no condition has 10 valid generated samples and 10 real ones"
_FOREST = {
    "classifier": f"random forest of {_TREES} trees",
    "trained on": "half of either side",
    "tested on": "the other half",
}
_by_forest = partial(declared, section="statistical", needs=("recognition",), reference="lopezpaz2017")


@_by_forest(
    "recognition_auc",
    average="macro",
    direction="lower",
    chance=_guess,
    interval=of_recognition,
    interpretation=_read,
    conventions=_FOREST,
)
def recognition_auc(sample: View[Recognised]) -> Estimate:
    """Probability that a classifier scores a generated sample higher than a real one of the same condition.

    0.5 if it recognises nothing. The classifier is trained on half of either side and scores the other half. Its
    features are the bits, the number of set bits and the statistics; of graphs nodes, edges, degrees, clustering and
    orbits. `by("recognised_by")` lists the features that separate the held-out half best.
    """
    found = sample.data.recognition
    if found is None:
        return sample.nothing(_FEW)
    df = np.maximum(found.counts - 1, 0).astype(float)
    return sample.estimate(found.auc, found.counts, _FEW, error=found.error, df=df)


@_by_forest(
    "recognition_p_value",
    average="whole",
    conventions=_FOREST | {"test": "permutations of the held-out half within each condition"},
    **P_VALUE,
)
def recognition_p_value(sample: View[Recognised]) -> Estimate:
    """Share of permutations of the held-out half for which the classifier separates both sides at least as well."""
    found = sample.data.recognition
    if found is None or sample.average is None:
        return sample.nothing(_FEW if found is None else "one test for all conditions")
    return whole(found.p_value, int(found.counts.sum()), reason=_FEW)
