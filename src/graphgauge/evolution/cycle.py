"""One checked cycle, and the samples for its metrics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.metric import Metric
from graphgauge.core.options import nan_policy, thread_count, whole_number
from graphgauge.evolution.areas import Area, area_against_matched, area_against_non_edges
from graphgauge.evolution.births import Births, checked_tgc, largest_component, tgc_step
from graphgauge.evolution.distances import checked_temperature
from graphgauge.evolution.inputs import Labelled, Points, as_edges, distinct, distinct_pairs, numbered, whole_numbers
from graphgauge.evolution.samples import Folds, Growth, LabelPairs, probe

NEGATIVES = ("sample", "all")
NULLS = ("pairs", "squares")
UNDECLARED = ("refuse", "report")
_UNRECONCILED = "the graph before the cycle is unknown; undeclared births are checked from the next cycle on"
_NO_BEFORE = "the embeddings before the cycle are unknown"
# Each random draw in a cycle has its own stream, so that omitting a metric does not change the others.
_STREAMS = {"births": 0, "matched": 1, "held_out": 2}


@dataclass(frozen=True)
class Options:
    """Options of the evaluation, checked once."""

    negatives: str = "sample"
    negatives_per_positive: int = 1
    temperature: float = 1.0
    folds: int = 5
    homophily_null: str = "pairs"
    nan: str = "raise"
    threads: int | None = None
    seed: int = 0
    undeclared: str = "refuse"

    def __post_init__(self) -> None:
        one_of("negatives", self.negatives, NEGATIVES)
        one_of("homophily_null", self.homophily_null, NULLS)
        one_of("undeclared", self.undeclared, UNDECLARED)
        nan_policy(self.nan)
        checked_temperature(self.temperature)
        for name, least in (("negatives_per_positive", 1), ("folds", 2), ("seed", 0)):
            whole_number(name, getattr(self, name), least)
        thread_count(self.threads)

    @property
    def per_positive(self) -> int | None:
        return None if self.negatives == "all" else self.negatives_per_positive

    def conventions(self, *, pools: bool, given_tgc: bool) -> dict[str, str]:
        drawn = f"{self.negatives_per_positive} drawn for each birth"
        return {
            "negatives": drawn if self.negatives == "sample" else "all non-edges",
            "pools": "as given" if pools else "degree and age",
            "null": "distinct pairs" if self.homophily_null == "pairs" else "squared shares",
            "tgc": "as given" if given_tgc else "computed",
            "nan": self.nan,
        }


class Grown:
    """The graph before and after one cycle; samples are computed when first needed."""

    def __init__(
        self,
        labelled: Labelled,
        options: Options,
        cycle: int,
        embeddings: Any,
        new_edges: Any,
        all_edges: Any,
        *,
        previous_embeddings: Any = None,
        previous_edges: Any = None,
        test_edges: Any = None,
        pools: Any = None,
        tgc: float | None = None,
        last_tgc: float | None = None,
        last_edges: Any = None,
        removed_edges: Any = None,
    ) -> None:
        self.labelled, self.options, self.cycle = labelled, options, cycle
        self.points = Points.of(embeddings, "embeddings", nan=options.nan)
        self.nodes = len(self.points)
        if len(labelled) and labelled.ids[-1] >= self.nodes:
            raise InputError(
                f"node {labelled.ids[-1]} is in node_ids, but the embeddings have {self.nodes} rows",
                where="embeddings",
                fix="Pass the embeddings of all nodes; a node's number is its row.",
            )
        self.earlier = (
            None
            if previous_embeddings is None
            else Points.of(previous_embeddings, "previous_embeddings", nan=options.nan)
        )
        if self.earlier is not None and len(self.earlier) > self.nodes:
            raise InputError(
                f"{len(self.earlier)} rows before the cycle, {self.nodes} after it", where="previous_embeddings",
                fix='A node keeps its row. For a removed node, fill the row with NaN and pass nan="omit".',
            )  # fmt: skip
        self.births = Births.of(
            new_edges, all_edges, previous_edges, self.nodes, last_edges=last_edges, removed_edges=removed_edges,
            undeclared=options.undeclared,
        )  # fmt: skip
        self.test_edges = None if test_edges is None else as_edges(test_edges, "test_edges", self.nodes)
        self._pools = None if pools is None else self._checked_pools(pools)
        self._tgc, self._last_tgc = None if tgc is None else checked_tgc(tgc), last_tgc

    @property
    def conventions(self) -> dict[str, str]:
        return self.options.conventions(pools=self._pools is not None, given_tgc=self._tgc is not None)

    def sample(self, metric: Metric) -> Any:
        """The sample that a metric needs; it has the name of its attribute."""
        return getattr(self, metric.needs[0])

    # ---- births against non-edges

    @cached_property
    def after(self) -> Area:
        scored = self.births.edges[self.points.holds(self.births.edges)]
        return self._against_non_edges(self.points, scored, self._eligible(), "no births")

    @cached_property
    def before(self) -> Area:
        if self.earlier is None:
            return Area(np.empty(0), 0, nodes=self.nodes, reason=_NO_BEFORE)
        eligible = self._eligible()
        eligible = eligible[self.earlier.holds(np.stack([eligible, eligible], axis=1))]
        # Edge codes use the current number of nodes; new nodes come last and have no embedding before.
        return self._against_non_edges(_padded(self.earlier, self.nodes), self._old_births, eligible, self._why_none)

    @cached_property
    def matched(self) -> Area:
        if self.earlier is None:
            return Area(np.empty(0), 0, nodes=self.nodes, reason=_NO_BEFORE)
        pools = np.full(self.nodes, -1, np.int64)
        standing = self.earlier.present[: self.nodes]
        pools[: len(standing)] = np.where(standing, self._pool_numbers()[: len(standing)], -1)
        graph = distinct(np.concatenate([self.births.before, self.births.after]))
        return area_against_matched(
            _padded(self.earlier, self.nodes), self._old_births, graph, pools, per_positive=self.options.per_positive,
            rng=self._rng("matched"), reason=self._why_none,
        )  # fmt: skip

    @cached_property
    def held_out(self) -> Area:
        edges = np.empty((0, 2), np.int64) if self.test_edges is None else self.test_edges
        codes = distinct_pairs(edges, self.nodes)
        positives = np.stack([codes // max(self.nodes, 1), codes % max(self.nodes, 1)], axis=1)
        positives = positives[self.points.holds(positives)]
        return area_against_non_edges(
            self.points, positives, distinct(np.concatenate([self.births.after, codes])),
            np.flatnonzero(self.points.present),
            per_positive=self.options.per_positive, rng=self._rng("held_out"), source=None, reason="no test edges",
            threads=self.options.threads,
        )  # fmt: skip

    # ---- labels and growth

    @cached_property
    def labels(self) -> LabelPairs:
        classes = self.labelled.class_of(self.nodes)
        ends = classes[self.births.edges]
        known = (ends >= 0).all(axis=1)
        sizes = self.labelled.sizes
        degrees = self.births.degrees_before()
        drawn = np.bincount(classes + 1, degrees, len(sizes) + 1)[1:]
        by_degree = float(drawn @ drawn / drawn.sum() ** 2) if drawn.any() else np.nan
        return LabelPairs(
            ends[known, 0] == ends[known, 1], numbered(self.births.edges[known, 0]), len(self.births),
            int(np.count_nonzero(sizes)), int(sizes.sum()), self.labelled.same_class[self.options.homophily_null],
            by_degree,
        )  # fmt: skip

    @cached_property
    def probe(self) -> Folds:
        ids = self.labelled.ids
        used = (self.labelled.classes >= 0) & self.points.present[ids]
        return probe(
            self.points.rows[ids[used]], self.labelled.classes[used], folds=self.options.folds, seed=self.options.seed
        )

    @cached_property
    def growth(self) -> Growth:
        if self._tgc is not None:
            return Growth(self._tgc, self.nodes)
        component = largest_component(self.births.after, self.nodes)
        return Growth(tgc_step(len(self.births), self.nodes, component, self._last_tgc), self.nodes)

    def notes(self) -> tuple[str, ...]:
        """Notes on nodes and births that were left out."""
        said = list(self.births.notes)
        if self.births.balance is None:
            said.append(_UNRECONCILED)
        if not self.points.present.all():
            said.append(f"nodes left out because their embedding has NaN: {np.count_nonzero(~self.points.present)}")
        if self.labelled.unlabelled:
            counted = f"{self.labelled.unlabelled} of {len(self.labelled)}"
            said.append(f"original nodes without a class (−1, None or NaN), left out of homophily and probe: {counted}")
        labels = self.labels
        if labels.births > len(labels.same):
            said.append(f"births with both labels known: {len(labels.same)} of {labels.births}")
        if self.earlier is not None and len(self.births) > len(self._old_births):
            young = len(self.births) - len(self._old_births)
            said.append(f"births left out of auc_birth, because a node had no embedding before the cycle: {young}")
        return tuple(said)

    # ---- parts

    @cached_property
    def _old_births(self) -> Ints:
        assert self.earlier is not None
        return self.births.edges[self.earlier.holds(self.births.edges)]

    @property
    def _why_none(self) -> str:
        return "every birth has a new node" if len(self.births) else "no births"

    def _eligible(self) -> Ints:
        """The original nodes that have an embedding."""
        ids = self.labelled.ids
        return ids if self.points.complete else ids[self.points.present[ids]]

    def _rng(self, use: str) -> np.random.Generator:
        return np.random.default_rng([self.options.seed, self.cycle % 2**32, _STREAMS[use]])

    def _against_non_edges(self, points: Points, births: Ints, eligible: Ints, reason: str) -> Area:
        # One stream for both, so that auc_birth uses the same pairs as auc_synthetic.
        return area_against_non_edges(
            points, births, self.births.after, eligible, per_positive=self.options.per_positive,
            rng=self._rng("births"), source=numbered(births[:, 0]), reason=reason, threads=self.options.threads,
        )  # fmt: skip

    def _pool_numbers(self) -> Ints:
        if self._pools is not None:
            return self._pools
        degrees = self.births.degrees_before()
        grown = np.ones(self.nodes, np.int64)
        grown[self.labelled.ids] = 0
        # The exponent of frexp: 0 for degree 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7, …
        pools: Ints = 2 * np.frexp(degrees.astype(float))[1].astype(np.int64) + grown
        return pools

    def _checked_pools(self, pools: Any) -> Ints:
        found = whole_numbers(pools, "pools")
        # Without the embeddings before, the number of nodes before is unknown too.
        least = 0 if self.earlier is None else len(self.earlier)
        if found.ndim != 1 or not least <= len(found) <= self.nodes:
            raise InputError(
                f"expected one number for each of the {least or self.nodes} nodes before the cycle, found shape "
                f"{found.shape}",
                where="pools",
            )
        if (found < 0).any():
            raise InputError(f"{found.min()} is negative", where="pools", fix="Number the pools from 0.")
        return found


def _padded(points: Points, nodes: int) -> Points:
    """The same points extended to `nodes` rows; new nodes are absent."""
    extra = nodes - len(points)
    if extra <= 0:
        return points
    return Points(np.pad(points.rows, ((0, extra), (0, 0))), np.pad(points.present, (0, extra)))
