"""One checked cycle, and the samples for its metrics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, thread_count, whole_number
from graphgauge.old.core.metric import Metric
from graphgauge.old.evolution.areas import Area, Candidates, area_against_matched, area_against_non_edges
from graphgauge.old.evolution.baselines import LinkScores, Ranked
from graphgauge.old.evolution.births import UNDECLARED, Births, checked_tgc, largest_component, tgc_step, two_sides
from graphgauge.old.evolution.distances import checked_temperature
from graphgauge.old.evolution.inputs import (
    SCORES,
    Codes,
    Flags,
    Labelled,
    Points,
    among,
    as_edges,
    distinct,
    types_by_row,
    whole_numbers,
)
from graphgauge.old.evolution.samples import Folds, Growth, Kept, LabelPairs, probe

NEGATIVES = ("sample", "all")
NULLS = ("pairs", "squares")
_UNRECONCILED = "the graph before the cycle is unknown; undeclared births are checked from the next cycle on"
_NO_BEFORE = "the embeddings before the cycle are unknown"
# Simple scores are left out for graphs with more edges, because they are sorted anew in every cycle.
_MOST_EDGES = 1 << 20
# Each random draw in a cycle has its own stream, so that omitting a metric does not change the others.
_STREAMS = {"births": 0, "matched": 1, "held_out": 2, "newborn": 3}
_AT_INSERTION = "new nodes are scored by their embeddings after the cycle, which may have been adapted to their edges"


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
    score: Any = "poincare"
    directed: bool = False

    def __post_init__(self) -> None:
        if not callable(self.score):
            one_of("score", self.score, SCORES)
        if not isinstance(self.directed, bool | np.bool_):
            raise OptionError(f"directed must be True or False, not {self.directed!r:.80}")
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

    def conventions(self, *, pools: bool, given_tgc: bool, inserted: bool) -> dict[str, str]:
        drawn = f"{self.negatives_per_positive} drawn for each birth"
        return {
            "score": self.score if isinstance(self.score, str) else "a function",
            "direction": "directed" if self.directed else "undirected, both orientations averaged",
            "newborn": "at insertion, as given" if inserted else "at insertion, from after the cycle",
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
        inserted_embeddings: Any = None,
        node_types: Any = None,
        seen: tuple[int, Ints] | None = None,
        born: tuple[int, Ints] | None = None,
    ) -> None:
        self.options, self.cycle = options, cycle
        self.points = self._points(embeddings, "embeddings")
        self.nodes = len(self.points)
        self.unborn = int(np.count_nonzero(labelled.ids >= self.nodes))
        self.original = labelled.among(self.nodes)
        self.earlier = None if previous_embeddings is None else self._points(previous_embeddings, "previous_embeddings")
        if self.earlier is not None and len(self.earlier) > self.nodes:
            raise InputError(
                f"{len(self.earlier)} rows before the cycle, {self.nodes} after it",
                where="previous_embeddings",
                fix='A node keeps its row. For a removed node, fill the row with NaN and pass nan="omit".',
            )
        self._inserted = (
            None if inserted_embeddings is None else self._points(inserted_embeddings, "inserted_embeddings")
        )
        if self._inserted is not None and len(self._inserted) != self.nodes:
            raise InputError(
                f"{len(self._inserted)} rows, {self.nodes} after the cycle",
                where="inserted_embeddings",
                fix="Pass one row per node; only those of new nodes are used.",
            )
        self.births = Births.of(
            new_edges,
            all_edges,
            previous_edges,
            self.nodes,
            last_edges=last_edges,
            undeclared=options.undeclared,
            directed=options.directed,
            seen=recoded(seen, self.nodes),
        )
        self.test_edges = None if test_edges is None else as_edges(test_edges, "test_edges", self.nodes)
        self._pools = None if pools is None else self._checked_pools(pools)
        self._types = None if node_types is None else self._checked_types(node_types)
        self._tgc, self._last_tgc = None if tgc is None else checked_tgc(tgc), last_tgc
        self._born = recoded(born, self.nodes)

    def _points(self, embeddings: Any, name: str) -> Points:
        options = self.options
        return Points.of(embeddings, name, nan=options.nan, score=options.score, directed=options.directed)

    @property
    def conventions(self) -> dict[str, str]:
        return self.options.conventions(
            pools=self._pools is not None, given_tgc=self._tgc is not None, inserted=self._inserted is not None
        )

    def sample(self, metric: Metric) -> Any:
        """The sample that a metric needs; it has the name of its attribute."""
        return getattr(self, metric.needs[0])

    # ---- births against non-edges

    @cached_property
    def after(self) -> Area:
        scored = self._fresh & self.points.holds(self.births.edges)
        return self._against_non_edges(self.points, scored, self._eligible(), self._why_none_after)

    @cached_property
    def before(self) -> Area:
        if self.earlier is None:
            return Area(np.empty(0), 0, nodes=self.nodes, reason=_NO_BEFORE)
        eligible = self._eligible()
        eligible = eligible[self.earlier.holds(np.stack([eligible, eligible], axis=1))]
        # Edge codes use the current number of nodes; new nodes come last and have no embedding before.
        points, scored = self.earlier.extended(self.nodes), self._old & self._fresh
        found = self._against_non_edges(points, scored, eligible, self._why_none)
        return replace(found, baselines=self._baselines(scored, eligible)) if len(found) else found

    def _baselines(self, scored: Flags, eligible: Ints) -> dict[str, float]:
        """Areas of simple scores for the same births and non-edges; without direction, and not for all non-edges."""
        if self.options.per_positive is None or not 0 < len(self.births.before) <= _MOST_EDGES:
            return {}
        edges = self.births.codes.edges(self.births.before)
        links = LinkScores(np.unique(np.sort(edges, axis=1), axis=0), self.nodes)
        return {
            name: self._against_non_edges(Ranked(self.nodes, function), scored, eligible, "no births").value
            for name, function in links.scores.items()
        }

    @cached_property
    def matched(self) -> Area:
        """Births with at most one new end: the new one has its embedding at insertion, and is never replaced."""
        if self.earlier is None:
            return Area(np.empty(0), 0, nodes=self.nodes, reason=_NO_BEFORE)
        points, standing = self._at_insertion, self._stood
        pools = np.where(standing, self._pool_numbers(), -1)
        births = self.births.edges
        scored = self._fresh & points.holds(births) & standing[births].any(axis=1)
        arms = _arms(births[scored], standing, both=not self.options.directed)
        return self._against_matched(points, scored, arms, pools, "matched", self._why_none)

    @cached_property
    def newborn(self) -> Area:
        """Births with a new end, against other nodes of the type and age of the end it is linked to."""
        if self.earlier is None:
            return Area(np.empty(0), 0, nodes=self.nodes, reason=_NO_BEFORE)
        points, standing = self._at_insertion, self._stood
        fresh = points.present & ~standing
        types = np.zeros(self.nodes, np.int64) if self._types is None else self._types
        pools = np.where(points.present, 2 * types + fresh, -1)
        births = self.births.edges
        scored = self._fresh & points.holds(births) & fresh[births].any(axis=1)
        own = births[scored]
        arms = np.concatenate(
            [
                np.stack(
                    [
                        np.flatnonzero(fresh[own[:, end]]),
                        np.full(np.count_nonzero(fresh[own[:, end]]), end),
                        np.full(np.count_nonzero(fresh[own[:, end]]), 1 - end),
                    ],
                    axis=1,
                )
                for end in (0, 1)
            ]
        )
        why = "no birth has a new node" if len(self.births) else "no births"
        return self._against_matched(points, scored, arms, pools, "newborn", why)

    @cached_property
    def held_out(self) -> Area:
        edges = np.empty((0, 2), np.int64) if self.test_edges is None else self.test_edges
        codes = distinct(self.births.codes.of(edges[edges[:, 0] != edges[:, 1]]))
        positives = self.births.codes.edges(codes)
        positives = positives[self.points.holds(positives)]
        graph = distinct(np.concatenate([self.births.after, codes]))
        group, candidates = self._grouped(positives, np.flatnonzero(self.points.present), graph)
        return area_against_non_edges(
            self.points,
            positives,
            group,
            candidates,
            per_positive=self.options.per_positive,
            rng=self._rng("held_out"),
            reason="no test edges",
            threads=self.options.threads,
        )

    @cached_property
    def kept(self) -> Kept:
        """What became of the births of earlier cycles."""
        born = np.empty(0, np.int64) if self._born is None else self._born
        return Kept(len(born), int(np.count_nonzero(among(born, self.births.after))))

    # ---- labels and growth

    @cached_property
    def labels(self) -> LabelPairs:
        classes = self.original.class_of(self.nodes)
        ends = classes[self.births.edges]
        known = (ends >= 0).all(axis=1)
        sizes = self.original.sizes
        degrees = self.births.degrees_before()
        drawn = np.bincount(classes + 1, degrees, len(sizes) + 1)[1:]
        by_degree = float(drawn @ drawn / drawn.sum() ** 2) if drawn.any() else np.nan
        return LabelPairs(
            ends[known],
            self.births.edges[known],
            len(self.births),
            int(np.count_nonzero(sizes)),
            int(sizes.sum()),
            self.original.same_class[self.options.homophily_null],
            by_degree,
            self.options.directed,
        )

    @cached_property
    def probe(self) -> Folds:
        ids = self.original.ids
        used = (self.original.classes >= 0) & self.points.present[ids]
        return probe(
            self.points.rows[ids[used]], self.original.classes[used], folds=self.options.folds, seed=self.options.seed
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
        if not self.points.complete:
            missing = np.count_nonzero(~self.points.present)
            said.append(f"nodes left out because their embedding has NaN: {missing}")
        if self.unborn:
            said.append(f"original nodes that have no embedding yet: {self.unborn}")
        if self.original.labelled and self.original.unlabelled:
            counted = f"{self.original.unlabelled} of {len(self.original)}"
            said.append(f"original nodes without a class (−1, None or NaN), left out of homophily and probe: {counted}")
        if self.original.labelled and len(self.labels) < len(self.births):
            said.append(f"births with both labels known: {len(self.labels)} of {len(self.births)}")
        if self.earlier is not None and not self._old.all():
            young = np.count_nonzero(~self._old)
            said.append(f"births left out of auc_birth, because a node had no embedding before the cycle: {young}")
            if self._inserted is None:
                said.append(_AT_INSERTION)
        return tuple(said)

    # ---- checks

    def sides(self) -> tuple[int, int] | None:
        """The sizes of the two sides of a graph that has only edges between them, if no types were given.

        Sparse graphs often are like that by chance: each further edge beyond a tree would have been within a side with
        probability one half, and as many as _SURELY_TWO are asked for.
        """
        if self._types is not None or not len(self.births):
            return None
        return two_sides(self.births.either, self.nodes)

    def held_in_graph(self) -> tuple[int, int] | None:
        """How many of the held-out edges there are, and how many of them are in the graph after the cycle."""
        if self.test_edges is None:
            return None
        codes = distinct(self.births.codes.of(self.test_edges[self.test_edges[:, 0] != self.test_edges[:, 1]]))
        inside = among(codes, self.births.before)
        return len(codes), int(np.count_nonzero(inside))

    # ---- parts

    @cached_property
    def _stood(self) -> Flags:
        """Which nodes had an embedding before the cycle."""
        assert self.earlier is not None
        return self.earlier.extended(self.nodes).present

    @cached_property
    def _at_insertion(self) -> Points:
        """Embeddings before the cycle; those of new nodes when they were inserted, or after the cycle."""
        assert self.earlier is not None
        return self.earlier.extended(self.nodes, self.points if self._inserted is None else self._inserted)

    @cached_property
    def _fresh(self) -> Flags:
        """Births of edges that never existed; embeddings may have been adapted to the others."""
        return ~self.births.reborn

    @cached_property
    def _old(self) -> Flags:
        """Births whose nodes both had an embedding before the cycle."""
        assert self.earlier is not None
        return self.earlier.holds(self.births.edges)

    @property
    def _why_none(self) -> str:
        if not len(self.births):
            return "no births"
        return (
            "every birth is of an edge that existed before" if not self._fresh.any() else "every birth has a new node"
        )

    @property
    def _why_none_after(self) -> str:
        return "no births" if self._fresh.any() or not len(self.births) else self._why_none

    def _eligible(self) -> Ints:
        """The original nodes that have an embedding."""
        ids = self.original.ids
        return ids if self.points.complete else ids[self.points.present[ids]]

    def _rng(self, use: str) -> np.random.Generator:
        return np.random.default_rng([self.options.seed, self.cycle % 2**32, _STREAMS[use]])

    def _against_non_edges(self, points: Points | Ranked, scored: Flags, eligible: Ints, reason: str) -> Area:
        births = self.births.edges[scored]
        group, candidates = self._grouped(births, eligible, self.births.after)
        # One stream for both, so that auc_birth uses the same pairs as auc_synthetic.
        return area_against_non_edges(
            points,
            births,
            group,
            candidates,
            per_positive=self.options.per_positive,
            rng=self._rng("births"),
            reason=reason,
            threads=self.options.threads,
        )

    def _grouped(self, edges: Ints, eligible: Ints, taken: Ints) -> tuple[Ints, list[Candidates]]:
        """Edges by the types of their ends, and the pairs that each group could have had: those not taken."""
        directed = self.options.directed
        if self._types is None:
            group = np.zeros(len(edges), np.int64)
            return group, [Candidates(eligible, eligible, taken, self.nodes, directed)]
        ends = self._types[edges]
        names, group = np.unique(ends if directed else np.sort(ends, axis=1), axis=0, return_inverse=True)
        candidates = []
        for first, second in names.tolist():
            sources = eligible[self._types[eligible] == first]
            targets = sources if first == second else eligible[self._types[eligible] == second]
            candidates.append(Candidates(sources, targets, taken, self.nodes, directed))
        return group.reshape(-1), candidates

    def _against_matched(self, points: Points, scored: Flags, arms: Ints, pools: Ints, use: str, reason: str) -> Area:
        return area_against_matched(
            points,
            self.births.edges[scored],
            arms,
            self.births.either,
            pools,
            directed=self.options.directed,
            per_positive=self.options.per_positive,
            rng=self._rng(use),
            reason=reason,
            what=f"auc_{use}",
        )

    def _pool_numbers(self) -> Ints:
        if self._pools is not None:
            # Nodes without a number are new ones, which are never chosen.
            return np.pad(self._pools, (0, self.nodes - len(self._pools)), constant_values=-1)
        degrees = self.births.degrees_before()
        grown = np.ones(self.nodes, np.int64)
        grown[self.original.ids] = 0
        # The exponent of frexp: 0 for degree 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7, …
        pools: Ints = 2 * np.frexp(degrees.astype(float))[1].astype(np.int64) + grown
        return pools if self._types is None else pools + (2 * 64 + 2) * self._types

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

    def _checked_types(self, node_types: Any) -> Ints:
        node_types = types_by_row(node_types, self.nodes)
        given = node_types.tolist() if isinstance(node_types, np.ndarray) else list(node_types)
        if len(given) < self.nodes:
            raise InputError(
                f"{len(given)} types for {self.nodes} nodes", where="node_types", fix="Pass one type per node."
            )
        names = {name: number for number, name in enumerate(sorted(set(map(str, given[: self.nodes]))))}
        return np.array([names[str(name)] for name in given[: self.nodes]], np.int64)


def _arms(births: Ints, standing: Flags, *, both: bool) -> Ints:
    """(birth, kept end, replaced end): the target gives way, and without direction the source too, unless it is new."""
    parts = []
    for kept, replaced in ((0, 1), (1, 0)) if both else ((0, 1),):
        own = np.flatnonzero(standing[births[:, replaced]])
        parts.append(np.stack([own, np.full(len(own), kept), np.full(len(own), replaced)], axis=1))
    return np.concatenate(parts)


def recoded(remembered: tuple[int, Ints] | None, nodes: int) -> Ints | None:
    """Codes of an earlier graph, which had fewer nodes, as codes of this one."""
    if remembered is None:
        return None
    size, codes = remembered
    if size == nodes or not len(codes):
        return codes
    earlier, now = Codes(size), Codes(nodes, directed=True)  # the ends are in order already
    return distinct(now.of(earlier.edges(codes)))
