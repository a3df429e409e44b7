"""One checked cycle, and the samples for its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, whole_number
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.evolution.areas import Area, area_against_matched, area_against_non_edges
from graphgauge.evolution.births import UNDECLARED, Births, checked_tgc, largest_component, tgc_step, two_sides
from graphgauge.evolution.candidates import Candidates
from graphgauge.evolution.edges import NOTHING, Codes, Remembered, among, as_edges, distinct, whole_numbers
from graphgauge.evolution.homophily import LabelPairs
from graphgauge.evolution.labels import Labelled, types_by_row
from graphgauge.evolution.links import LinkScores, Ranked
from graphgauge.evolution.points import SCORES, Points, Score
from graphgauge.evolution.probe import Folds, probe
from graphgauge.evolution.samples import Growth, Kept

_UNRECONCILED = "the graph before the cycle is unknown; undeclared births are checked from the next cycle on"
_NO_BEFORE = "the embeddings before the cycle are unknown"
# Simple scores are left out for graphs with more edges, because they are sorted anew in every cycle.
_MOST_EDGES = 1 << 20
# Each random draw in a cycle has its own stream, so that omitting a metric does not change the others.
_STREAMS = {"births": 0, "matched": 1, "held_out": 2, "newborn": 3}
_AT_INSERTION = "new nodes are scored by their embeddings after the cycle, which may have been adapted to their edges"
# The samples that metrics need, as attributes of a cycle.
SAMPLES = ("after", "before", "matched", "newborn", "held_out", "labels", "probe", "kept", "growth")


@dataclass(frozen=True)
class Options:
    """Options of the evaluation, checked once. `negatives` is how many are drawn for each birth, or "all"."""

    negatives: int | str = 1
    folds: int = 5
    nan: str = "raise"
    seed: int = 0
    undeclared: str = "refuse"
    score: Score = "poincare"
    directed: bool = False
    test_edges: Any = None
    node_types: Any = None

    def __post_init__(self) -> None:
        if not callable(self.score):
            one_of("score", self.score, SCORES)
        if not isinstance(self.directed, bool | np.bool_):
            raise OptionError(f"directed must be True or False, not {self.directed!r:.80}")
        if self.negatives != "all":
            whole_number("negatives", self.negatives, 1)
        one_of("undeclared", self.undeclared, UNDECLARED)
        nan_policy(self.nan)
        whole_number("folds", self.folds, 2)
        whole_number("seed", self.seed)
        if self.test_edges is not None:
            as_edges(self.test_edges, "test_edges")

    @property
    def per_positive(self) -> int | None:
        """How many pairs are drawn for each birth; None for all."""
        return None if self.negatives == "all" else int(self.negatives)

    @property
    def described(self) -> dict[str, Any]:
        """What a result file says about them."""
        score = self.score if isinstance(self.score, str) else "a function"
        return {name: getattr(self, name) for name in ("negatives", "folds", "seed", "directed")} | {"score": score}


@dataclass(frozen=True)
class Cycle:
    """One cycle of one run: its births, and the system before and after it, as given.

    `previous_embeddings` and `previous_edges` are None if unknown; births that are None are inferred from the graphs.
    """

    embeddings: Any
    new_edges: Any
    all_edges: Any
    condition: str = "run"
    seed: int = 0
    cycle: int = 0
    previous_embeddings: Any = None
    previous_edges: Any = None
    tgc: float | None = None
    pools: Any = None
    inserted_embeddings: Any = None


@dataclass(frozen=True)
class Past:
    """What a run remembers: the graph after its last cycle, all edges that it has had, its births, its growth rate."""

    edges: Any = None
    seen: Remembered | None = None
    born: Remembered = field(default_factory=lambda: NOTHING)
    tgc: float | None = None


class Grown:
    """The graph before and after one cycle; samples are computed when first needed."""

    def __init__(self, labelled: Labelled, options: Options, given: Cycle, past: Past = Past()) -> None:  # noqa: B008
        self.options, self.cycle = options, given.cycle
        self.points = self._points(given.embeddings, "embeddings")
        self.nodes = len(self.points)
        self.unborn = int(np.count_nonzero(labelled.ids >= self.nodes))
        self.original = labelled.among(self.nodes)
        before, at = given.previous_embeddings, given.inserted_embeddings
        self.earlier = None if before is None else self._points(before, "previous_embeddings")
        if self.earlier is not None and len(self.earlier) > self.nodes:
            raise InputError(
                f"{len(self.earlier)} rows before the cycle, {self.nodes} after it",
                where="previous_embeddings",
                fix='A node keeps its row. For a removed node, fill the row with NaN and pass nan="omit".',
            )
        self._inserted = None if at is None else self._points(at, "inserted_embeddings")
        if self._inserted is not None and len(self._inserted) != self.nodes:
            raise InputError(
                f"{len(self._inserted)} rows, {self.nodes} after the cycle",
                where="inserted_embeddings",
                fix="Pass one row per node; only those of new nodes are used.",
            )
        self.births = Births.from_graphs(
            given.new_edges,
            given.all_edges,
            given.previous_edges,
            Codes(self.nodes, options.directed),
            last_edges=past.edges,
            undeclared=options.undeclared,
            seen=None if past.seen is None else past.seen.now(self.nodes),
        )
        held, types = options.test_edges, options.node_types
        self.test_edges = None if held is None else as_edges(held, "test_edges", self.nodes)
        self._pools = None if given.pools is None else self._checked_pools(given.pools)
        self._types = None if types is None else self._checked_types(types)
        self._tgc, self._last_tgc = None if given.tgc is None else checked_tgc(given.tgc), past.tgc
        self._born = past.born.now(self.nodes)

    def _points(self, embeddings: Any, name: str) -> Points:
        options = self.options
        return Points.of(embeddings, name, nan=options.nan, score=options.score, directed=options.directed)

    @property
    def conventions(self) -> dict[str, str]:
        """How the values were made."""
        options = self.options
        return {
            "score": options.score if isinstance(options.score, str) else "a function",
            "direction": "directed" if options.directed else "undirected, both orientations averaged",
            "newborn": f"at insertion, {'from after the cycle' if self._inserted is None else 'as given'}",
            "negatives": "all non-edges"
            if options.per_positive is None
            else f"{options.per_positive} drawn for each birth",
            "pools": "degree and age" if self._pools is None else "as given",
            "tgc": "computed" if self._tgc is None else "as given",
            "nan": options.nan,
        }

    def samples(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Samples by name, each computed when it is first read."""
        return _Lazy(self, names)

    @property
    def has_newborn(self) -> bool:
        """Whether nodes were born in the cycle, as far as the embeddings before it tell."""
        return self.earlier is not None and bool(self._fresh_nodes.any())

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

    def _baselines(self, scored: Mask, eligible: Ints) -> dict[str, float]:
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
        points, fresh = self._at_insertion, self._fresh_nodes
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
        codes = self.births.codes.set_of(edges)
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
        )

    @cached_property
    def kept(self) -> Kept:
        """What became of the births of earlier cycles."""
        return Kept(len(self._born), int(np.count_nonzero(among(self._born, self.births.after))))

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
            self.original.same_class["pairs"],
            by_degree,
            self.original.same_class["squares"],
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
        codes = self.births.codes.set_of(self.test_edges)
        inside = among(codes, self.births.before)
        return len(codes), int(np.count_nonzero(inside))

    @cached_property
    def paired(self) -> tuple[Floats, Ints] | None:
        """For the births scored both before and after, on the same pairs: what each gained, and the nodes of each."""
        if self.earlier is None or not len(self.before) or not len(self.after):
            return None
        codes = self.births.codes
        after, before = (codes.of(area.ends) for area in (self.after, self.before) if area.ends is not None)
        both, place, other = np.intersect1d(after, before, assume_unique=True, return_indices=True)
        if not len(both):
            return None
        return self.after.shares[place] - self.before.shares[other], codes.edges(both)

    # ---- parts

    @cached_property
    def _stood(self) -> Mask:
        """Which nodes had an embedding before the cycle."""
        assert self.earlier is not None
        return self.earlier.extended(self.nodes).present

    @cached_property
    def _fresh_nodes(self) -> Mask:
        """Which nodes have an embedding now, or at their insertion, and had none before the cycle."""
        return self._at_insertion.present & ~self._stood

    @cached_property
    def _at_insertion(self) -> Points:
        """Embeddings before the cycle; those of new nodes when they were inserted, or after the cycle."""
        assert self.earlier is not None
        return self.earlier.extended(self.nodes, self.points if self._inserted is None else self._inserted)

    @cached_property
    def _fresh(self) -> Mask:
        """Births of edges that never existed; embeddings may have been adapted to the others."""
        return ~self.births.reborn

    @cached_property
    def _old(self) -> Mask:
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

    def _against_non_edges(self, points: Points | Ranked, scored: Mask, eligible: Ints, reason: str) -> Area:
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

    def _against_matched(self, points: Points, scored: Mask, arms: Ints, pools: Ints, use: str, reason: str) -> Area:
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


def _arms(births: Ints, standing: Mask, *, both: bool) -> Ints:
    """(birth, kept end, replaced end): the target gives way, and without direction the source too, unless it is new."""
    parts = []
    for kept, replaced in ((0, 1), (1, 0)) if both else ((0, 1),):
        own = np.flatnonzero(standing[births[:, replaced]])
        parts.append(np.stack([own, np.full(len(own), kept), np.full(len(own), replaced)], axis=1))
    return np.concatenate(parts)


class _Lazy(Mapping[str, Any]):
    """Attributes of a cycle as a mapping."""

    def __init__(self, cycle: Grown, names: Sequence[str]) -> None:
        self._cycle, self._names = cycle, names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return getattr(self._cycle, name)

    def __iter__(self) -> Any:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
