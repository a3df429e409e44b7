"""Recognition: a classifier of real and generated samples, and the features by which it recognises generated ones."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.metric import Estimate, whole
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.generation.averages import View, ranks
from graphgauge.generation.graph_features import clustering_coefficients, orbit_means
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import Draws, named, simulated
from graphgauge.generation.metrics import P_VALUE, declared, of_recognition
from graphgauge.generation.metrics.compared import Compared, Part, vectors
from graphgauge.generation.metrics.described import Columns
from graphgauge.generation.sample import Samples, Sides
from graphgauge.stats.errors import auc_error

# Samples of either side that train and test the classifier at most.
_MOST = 2000
_TREES = 100


class Recognition(NamedTuple):
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
        super().__init__(sides, draws, self._features, unseen=True)
        self.real, self.generated = _by_columns(self.real), _by_columns(self.generated)

    def _features(self, side: Samples) -> Floats | None:
        """The features (n, features) of a side; None if it lacks what the others have."""
        if side.items is None or (self._columns is not None and side.statistics is None):
            return None
        of_items = _of_graphs if isinstance(side.items, Graphs) else _of_bits
        rows = of_items(side.items)
        return rows if self._columns is None else np.column_stack([rows, self._columns.of(side.statistics, len(side))])

    @cached_property
    def recognition(self) -> Recognition | None:
        if not self.enough.any() or not self.real.rows.shape[1]:
            return None
        from sklearn.ensemble import RandomForestClassifier

        present = np.flatnonzero(self.enough).tolist()
        columns = zip(*map(self._halves, present), strict=True)
        rows, codes, generated, tested = (np.concatenate(column) for column in columns)
        forest = RandomForestClassifier(
            _TREES, min_samples_leaf=3, class_weight="balanced_subsample", random_state=self.draws.seed, n_jobs=1
        ).fit(rows[~tested], generated[~tested])
        scores = np.asarray(forest.predict_proba(rows[tested])[:, 1])
        codes, generated = codes[tested], generated[tested]
        (auc, error), counts = np.full((2, self.groups), np.nan), np.bincount(codes[generated], minlength=self.groups)
        null = np.zeros(self.draws.draws)
        for code in present:
            own, made = scores[codes == code], generated[codes == code]
            auc[code], error[code], _ = auc_error(own[made], own[~made])
            null += self._permuted(own, int(counts[code]), code)
        above = np.count_nonzero(null >= auc[present].sum() - 1e-12)
        return Recognition(auc, error, (1 + above) / (1 + len(null)), counts, null / len(present))

    def _halves(self, code: int) -> tuple[Floats, Ints, Mask, Mask]:
        """Features of samples of a condition less their mean, the condition, which are generated, and which are for
        the test: half of each side."""
        generator = self.draws.generator(24, code)
        sides = [side[generator.permutation(len(side))[:_MOST]] for side in self.pair(code)]
        rows = np.concatenate(sides)
        # So that conditions themselves are not recognised.
        centre = rows.mean(0) if self.groups > 1 else 0.0
        tested = np.concatenate([np.arange(len(side)) % 2 == 1 for side in sides])
        return rows - centre, np.full(len(rows), code), np.arange(len(rows)) >= len(sides[0]), tested

    def _permuted(self, score: Floats, n: int, code: int) -> Floats:
        """Areas for random permutations of the held-out samples: exact, because they did not train the classifier."""
        tiled = np.tile(ranks(score), (self.draws.draws, 1))
        sums = self.draws.generator(25, code).permuted(tiled, axis=1)[:, :n].sum(axis=1)
        return np.asarray((sums - n * (n + 1) / 2) / (n * (len(score) - n)))


def _by_columns(part: Part) -> Part:
    """In the order of the first feature, then of the second, …: what samples are drawn in."""
    order = np.lexsort((*part.rows.T[::-1], part.codes)) if part.rows.shape[1] else np.arange(len(part))
    return Part(part.rows[order], part.codes[order], None)


def _of_bits(items: Any) -> Floats:
    bits = vectors(items).astype(np.float64)
    return np.column_stack([bits, bits.sum(1)])


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
    recognised = result.interval is not None and result.interval.low > 0.5
    return f"the classifier {'recognises' if recognised else 'does not recognise'} generated samples"


_FEW = "no condition has 10 valid generated samples and 10 real ones"
_FOREST = {
    "classifier": f"random forest of {_TREES} trees",
    "trained on": "half of either side",
    "tested on": "the other half",
}
_metric = partial(
    declared, section="statistical", needs=("recognition",), reference="lopezpaz2017", conventions=_FOREST
)


@_metric(
    "recognition_auc", average="macro", direction="lower", chance=_guess, interval=of_recognition, interpretation=_read
)
def recognition_auc(sample: View[Recognised]) -> Estimate:
    """Probability that a classifier scores a generated sample higher than a real one of the same condition.

    0.5 if it recognises nothing. The classifier is trained on half of either side and scores the other half. Its
    features are the bits, or fingerprints, the number of set bits and the statistics; of graphs nodes, edges, degrees,
    clustering and orbits.
    """
    found = sample.data.recognition
    if found is None:
        return sample.nothing(_FEW)
    df = np.maximum(found.counts - 1, 0).astype(float)
    return sample.estimate(found.auc, found.counts, _FEW, error=found.error, df=df)


@_metric(
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
