"""What growth may help or harm: labels of nodes, future edges, and old edges; and plain embeddings to measure it on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.factory import own_code
from graphgauge.evolution.growth_runs import GrownGraph, GrowthRun
from graphgauge.evolution.inputs import COORDINATES, as_edges, distinct_pairs, pair_codes

Embed = Callable[[GrownGraph], Any]
OUTCOMES = ("probe", "future", "retention")
PAIR_SCORES = ("cosine", "dot", "euclidean", "poincare")
# Coordinates of the plain embeddings, and weight of the penalty of the probe on standardised coordinates.
_DIMENSION = 32
_PENALTY = 1.0
_ITERATIONS = 12
# Non-edges per scored edge, half of them with another target and half with another source.
_NEGATIVES = 20
_REDRAWS = 50
# Old edges that are scored, at most.
_MOST_OLD = 1000
# `neighbours` has as many coordinates as nodes.
_MOST_NODES = 5000


# ---- embeddings


def neighbours(graph: GrownGraph) -> Floats:
    """One coordinate per node: 1 for a neighbour and for the node itself. Products count common neighbours."""
    if graph.num_nodes > _MOST_NODES:
        raise OptionError(
            f'embed="neighbours" has one coordinate per node, too many for {graph.num_nodes} nodes',
            fix='Use embed="fastrp".',
        )
    rows: Floats = graph.adjacency().toarray() + np.eye(graph.num_nodes)
    return rows


def fastrp(graph: GrownGraph) -> Floats:
    """Random directions, averaged over neighbours once, twice and three times (FastRP, Chen et al., 2019)."""
    import scipy.sparse as sp

    rng = np.random.default_rng(graph.seed)
    nodes, adjacency = graph.num_nodes, graph.adjacency()
    degrees = np.maximum(adjacency.sum(axis=1), 1)
    walk = sp.diags_array(1 / degrees) @ adjacency
    start = rng.choice([-1.0, 0.0, 1.0], (nodes, _DIMENSION), p=[1 / 6, 2 / 3, 1 / 6])
    spread, total = start / np.sqrt(degrees)[:, None], np.zeros((nodes, _DIMENSION))
    for _ in range(3):
        spread = walk @ spread
        total += _unit(spread)
    return total


def spectral(graph: GrownGraph) -> Floats:
    """The leading eigenvectors of the adjacency matrix, divided by the square roots of both degrees.

    By subspace iteration from the graph's seed: equal graphs give equal rows, also if eigenvalues are equal.
    """
    import scipy.sparse as sp

    adjacency, nodes = graph.adjacency(), graph.num_nodes
    roots = sp.diags_array(1 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1)))
    matrix = roots @ adjacency @ roots
    basis = np.random.default_rng(graph.seed).standard_normal((nodes, min(_DIMENSION, nodes)))
    for _ in range(_ITERATIONS):
        # Shifted by 1, so that the largest eigenvalues are also the largest in size.
        basis = np.linalg.qr(basis + matrix @ basis)[0]
    values, turned = np.linalg.eigh(basis.T @ (matrix @ basis))
    return np.asarray(basis @ turned * np.sqrt(np.maximum(values, 0)))


EMBEDDINGS: Mapping[str, Embed] = {"fastrp": fastrp, "spectral": spectral, "neighbours": neighbours}


def embedding_of(embed: Any) -> tuple[str, Embed]:
    """A built-in embedding by its name, or a function."""
    if callable(embed):
        return getattr(embed, "__qualname__", type(embed).__name__), embed
    name = one_of("embed", embed, tuple(EMBEDDINGS))
    return name, EMBEDDINGS[name]


def embedded(embed: Embed, name: str, graph: GrownGraph) -> Floats:
    """The rows that a function returns for a graph, checked."""
    with own_code(f"embed ({name})"):
        returned = embed(graph)
    rows = as_numeric(returned, "embed")
    require_shape(rows, (None, None), "embed", COORDINATES)
    if len(rows) != graph.num_nodes:
        raise InputError(
            f"returned {len(rows)} rows for {graph.num_nodes} nodes",
            where=f"embed ({name})",
            fix="Return one row per node, also for nodes without edges.",
        )
    refuse_nan(rows, f"embed ({name})", fix="Nodes without edges need finite coordinates too, such as zeros.")
    if not np.isfinite(rows).all():
        raise InputError("returned infinite coordinates", where=f"embed ({name})")
    return np.asarray(rows, float)


# ---- outcomes


def probe_hits(points: Floats, classes: Ints) -> Floats:
    """1 for each node whose class ridge regression on class indicators predicts without it (leave-one-out), else 0.

    Coordinates are standardised; leaving one node out has a closed form, so nothing is drawn and nothing iterates.
    """
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 1e-12 * np.abs(points).max(initial=1e-300), spread, 1)
    design = np.column_stack([np.ones(len(points)), scaled])
    penalty = np.diag([0.0, *np.full(points.shape[1], _PENALTY)])
    solved = np.linalg.solve(design.T @ design + penalty, design.T)
    indicators = np.eye(int(classes.max()) + 1)[classes]
    fitted, own = design @ (solved @ indicators), np.einsum("ij,ji->i", design, solved)[:, None]
    left_out = (fitted - own * indicators) / np.maximum(1 - own, 1e-12)
    # Ties go to the first class; a tolerance keeps rounding from deciding them.
    best = left_out.max(axis=1, keepdims=True)
    predicted = (left_out >= best - 1e-9 * np.maximum(1, np.abs(best))).argmax(axis=1)
    return np.asarray(predicted == classes, float)


def pair_scores(points: Floats, first: Ints, second: Ints, score: str) -> Floats:
    """A score that is higher for closer nodes."""
    if score == "cosine":
        points = _unit(points)
    a, b = points[first], points[second]
    if score == "poincare":
        from graphgauge.evolution.distances import poincare_distance

        return -np.asarray(poincare_distance(a, b))
    if score == "euclidean":
        return np.asarray(-np.linalg.norm(a - b, axis=-1))
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _unit(rows: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


@dataclass(frozen=True)
class Contest:
    """Edges, each with non-edges that share an end with it and could have been in its place."""

    edges: Ints
    negatives: Ints

    def wins(self, points: Floats, score: str) -> Floats:
        """For each edge, the share of its non-edges that score lower; ties count half."""
        own = pair_scores(points, self.edges[:, 0], self.edges[:, 1], score)[:, None]
        pairs = self.negatives.reshape(-1, 2)
        others = pair_scores(points, pairs[:, 0], pairs[:, 1], score).reshape(self.negatives.shape[:2])
        slack = 1e-12 * np.maximum(np.abs(own), np.abs(others))
        return np.asarray((0.5 + 0.5 * np.sign(np.where(np.abs(own - others) <= slack, 0, own - others))).mean(axis=1))


def contest(run: GrowthRun, edges: Ints, excluded: Ints, rng: np.random.Generator) -> Contest:
    """Draw the non-edges. They do not depend on the births, so that no replay is favoured."""
    size, old = run.num_nodes, np.flatnonzero((run.arrived < 0) & run.remaining)
    kinds = np.zeros(size, np.int64) if run.types is None else run.types
    pools = {kind: old[kinds[old] == kind] for kind in np.unique(kinds[edges]).tolist()}
    taken = distinct_pairs(excluded, size)
    negatives = np.repeat(edges[:, None], _NEGATIVES, axis=1)
    side = np.arange(_NEGATIVES) % 2
    redrawn = np.ones(negatives.shape[:2], bool)
    for _ in range(_REDRAWS):
        rows, columns = np.nonzero(redrawn)
        if not len(rows):
            break
        replaced = 1 - side[columns]
        kind = kinds[edges[rows, replaced]]
        for each, pool in pools.items():
            mine = kind == each
            if len(pool):
                negatives[rows[mine], columns[mine], replaced[mine]] = rng.choice(pool, mine.sum())
        pairs = negatives[rows, columns]
        codes = pair_codes(pairs, size)
        redrawn[rows, columns] = (pairs[:, 0] == pairs[:, 1]) | np.isin(codes, taken)
    # An edge whose ends are connected to all others cannot be scored.
    complete = ~redrawn.any(axis=1)
    return Contest(edges[complete], negatives[complete])


@dataclass(frozen=True)
class Outcomes:
    """What is measured on the embeddings of one run: for each outcome, one value per unit (node or edge)."""

    classes: Ints
    labelled: Ints
    future: Contest | None
    retention: Contest | None
    score: str
    probe: Callable[[Floats, GrownGraph], Any] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, run: GrowthRun, classes: Ints, future_edges: Any, score: str, probe: Any, rng: np.random.Generator
    ) -> Outcomes:
        """`classes` has one entry per node, −1 for none; only nodes of the start that are still there are probed."""
        old = (run.arrived < 0) & run.remaining
        classes = np.where(old[: len(classes)], classes[: len(old)], -1) if len(classes) else classes
        labelled = np.flatnonzero(classes >= 0)
        missing = {}
        known = np.unique(classes[labelled])
        if probe is None and len(known) < 2:
            missing["probe"] = "fewer than two classes among the nodes of the start"
        future = None
        if future_edges is None:
            missing["future"] = "no future edges given"
        else:
            given = _once(as_edges(future_edges, "future_edges", run.num_nodes), run.num_nodes)
            # Nodes that come with the growth have no edges if it is withheld, so nothing could be compared.
            given = given[old[given].all(axis=1)]
            given = given[~np.isin(pair_codes(given, run.num_nodes), pair_codes(run.start, run.num_nodes))]
            future = contest(run, given, np.concatenate([run.start, given]), rng)
            if not len(future.edges):
                missing["future"] = "no future edge between nodes of the start that was not in the graph already"
        kept = run.start[run.start_gone > run.cycles]
        if len(kept) > _MOST_OLD:
            kept = kept[np.sort(rng.choice(len(kept), _MOST_OLD, replace=False))]
        extra = [] if future is None else [future.edges]
        retention = contest(run, kept, np.concatenate([run.start, *extra]), rng)
        if not len(retention.edges):
            missing["retention"] = "no edge of the start was kept"
        numbered = np.searchsorted(known, classes[labelled])
        return cls(numbered, labelled, future, retention, score, probe, missing)

    def measure(self, name: str, points: Floats, graph: GrownGraph) -> Floats:
        """One value per unit."""
        if name == "probe":
            return self._probe(points, graph)
        scored = self.future if name == "future" else self.retention
        assert scored is not None
        return scored.wins(points, self.score)

    def ends(self, name: str) -> Ints | None:
        """The nodes that the units of an outcome share; None if units are nodes."""
        scored = {"future": self.future, "retention": self.retention}.get(name)
        return None if scored is None else scored.edges

    def _probe(self, points: Floats, graph: GrownGraph) -> Floats:
        if self.probe is None:
            return probe_hits(points[self.labelled], self.classes)
        with own_code("probe"):
            returned = self.probe(points, graph)
        values = np.atleast_1d(as_numeric(returned, "probe")).astype(float)
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
            raise InputError(
                "returned something else than finite numbers",
                where="probe",
                fix="Return one number, or one per unit, higher for better.",
            )
        return values


def _once(edges: Ints, nodes: int) -> Ints:
    codes = distinct_pairs(edges, nodes)
    return np.stack([codes // max(nodes, 1), codes % max(nodes, 1)], axis=1)
