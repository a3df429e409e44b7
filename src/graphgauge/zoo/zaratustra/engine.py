"""The engine: seed nodes get edges to anchors, new nodes appear between anchors, embeddings are smoothed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.evolution import poincare_distance, tgc_step
from graphgauge.evolution.births import largest_component
from graphgauge.evolution.inputs import pair_codes
from graphgauge.zoo.zaratustra.data import GraphData

Ids = NDArray[np.int64]
# Maps the degrees of all nodes to the possible anchors.
Pool = Callable[[NDArray[Any]], Ids]


@dataclass(frozen=True)
class Growth:
    """A rule: the pool of anchors, and which of them `anchor="distance"` prefers (None: it draws at random)."""

    pool: Pool
    prefers: Literal["nearest", "farthest"] | None = None


def everyone(degrees: NDArray[Any]) -> Ids:
    """All nodes: random growth, the null model."""
    return np.arange(len(degrees))


def elites(degrees: NDArray[Any], sigmas: float = 2.0) -> Ids:
    """Nodes whose degree is more than this many standard deviations above the mean."""
    return np.flatnonzero(degrees > degrees.mean() + sigmas * degrees.std())


def periphery(degrees: NDArray[Any], share: float = 0.25) -> Ids:
    """Nodes whose degree is at most this quantile of all degrees."""
    return np.flatnonzero(degrees <= np.quantile(degrees, share))


def nobody(degrees: NDArray[Any]) -> Ids:
    """No node: nothing grows, embeddings are smoothed all the same."""
    return np.empty(0, np.int64)


RULES: Mapping[str, Growth] = {
    "Normal": Growth(elites, "nearest"),
    "Off": Growth(everyone),
    "Inverted": Growth(periphery, "farthest"),
    "Still": Growth(nobody),
}


Edges = NDArray[np.int64]
ANCHORS = ("uniform", "distance")
EMBEDDINGS = ("features", "random")
AVERAGES = ("symmetric", "mean")
RADII = ("smoothing", "start", "degree")


@dataclass(frozen=True)
class Settings:
    """Settings of the engine. `anchor="distance"` is circular: it chooses by the distance that scores the edges.

    Smoothing pulls a node towards its neighbours, divided by the square roots of both degrees (`average="symmetric"`)
    or averaged (`"mean"`). Its distance from the centre is then the result of the smoothing (`radius_by="smoothing"`),
    that of the start (`"start"`), or decreases with its degree, so that hubs are near the centre (`"degree"`).
    """

    seeds_per_cycle: int = 20
    edges_per_seed: int = 2
    births_per_cycle: int = 2
    anchor: Literal["uniform", "distance"] = "uniform"
    embedding: Literal["features", "random"] = "features"
    average: Literal["symmetric", "mean"] = "symmetric"
    radius_by: Literal["smoothing", "start", "degree"] = "smoothing"
    dimension: int = 32
    radius: float = 0.9
    smoothing: float = 0.1
    birth_noise: float = 0.02

    def __post_init__(self) -> None:
        one_of("anchor", self.anchor, ANCHORS)
        one_of("embedding", self.embedding, EMBEDDINGS)
        one_of("average", self.average, AVERAGES)
        one_of("radius_by", self.radius_by, RADII)
        for name, least in (("seeds_per_cycle", 0), ("births_per_cycle", 0), ("edges_per_seed", 1), ("dimension", 1)):
            whole_number(name, getattr(self, name), least)
        for name in ("radius", "smoothing"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < 1:
                raise OptionError(f"{name} must be between 0 and 1, not {value!r:.80}")
        if not isinstance(self.birth_noise, int | float) or not 0 <= self.birth_noise < inf:
            raise OptionError(f"birth_noise must be a number of at least 0, not {self.birth_noise!r:.80}")


class Zaratustra:
    """A graph that rewrites itself; the same data, settings and seed give the same run.

    A cycle's random draws depend only on the seed and the cycle. Conditions therefore use the same seed nodes as long
    as their graphs have the same number of nodes, and runs of one seed are pairs.
    """

    def __init__(
        self, data: GraphData, settings: Settings | None = None, *, seed: int = 0, rules: Mapping[str, Growth] = RULES
    ) -> None:
        self.data = data
        self.settings = settings or Settings()
        self.seed = whole_number("seed", seed, 0)
        self.rules = rules
        self.cycle = 0
        self.edges_created_at_cycle: list[Edges] = []
        # For the nodes before the last cycle: 1 if the node was a possible anchor, otherwise 0.
        self.pools = np.zeros(data.num_nodes, dtype=np.int64)
        self._edges = [data.edges]
        self._neighbours: list[set[int]] = [set() for _ in range(data.num_nodes)]
        for u, v in data.edges.tolist():
            self._join(u, v)
        self.embeddings = first_embeddings(data.features, self.settings, self.degrees, self.seed)
        self._tgc: float | None = None

    @property
    def num_nodes(self) -> int:
        return len(self._neighbours)

    @property
    def edges(self) -> Edges:
        """All distinct edges of the current graph."""
        self._edges = [np.concatenate(self._edges)]
        return self._edges[0]

    @property
    def degrees(self) -> NDArray[np.int64]:
        return np.array([len(around) for around in self._neighbours], dtype=np.int64)

    def step(self, condition: str) -> Edges:
        """Run one cycle; returns only the edges born in it."""
        growth = self.rules[one_of("condition", condition, tuple(self.rules))]
        rng = np.random.default_rng((self.seed, self.cycle))
        before, settings = self.num_nodes, self.settings
        pool = growth.pool(self.degrees)
        seeds = rng.choice(before, min(settings.seeds_per_cycle, before), replace=False)
        born = [(u, v) for u in seeds.tolist() for v in self._anchored(u, growth, pool, rng)]
        for _ in range(settings.births_per_cycle):
            born += self._birth(growth, pool, rng)
        self.pools = np.zeros(before, dtype=np.int64)
        self.pools[pool] = 1
        births = np.array(born, dtype=np.int64).reshape(-1, 2)
        self._edges.append(births)
        self.embeddings = smoothed(self.embeddings, self.edges, self.degrees, self.settings)
        self._close(births, None)
        return births

    def replay(self, births: Edges, embeddings: Floats, tgc: float | None = None) -> None:
        """Apply a stored cycle as if it had been run now; without its capacity, this is computed."""
        self._neighbours += [set() for _ in range(len(embeddings) - self.num_nodes)]
        for u, v in births.tolist():
            self._join(u, v)
        self._edges.append(births)
        self.embeddings = embeddings
        self._close(births, tgc)

    def _close(self, births: Edges, tgc: float | None) -> None:
        if tgc is None:
            component = largest_component(pair_codes(self.edges, self.num_nodes), self.num_nodes)
            tgc = tgc_step(len(births), self.num_nodes, component, self._tgc)
        self.edges_created_at_cycle.append(births)
        self._tgc = tgc
        self.cycle += 1

    def compute_tgc(self) -> float:
        """Births per node times the share of the largest component, as a running mean over the cycles."""
        return float("nan") if self._tgc is None else self._tgc

    def _join(self, u: int, v: int) -> None:
        self._neighbours[u].add(v)
        self._neighbours[v].add(u)

    def _anchored(self, u: int, growth: Growth, pool: NDArray[np.int64], rng: np.random.Generator) -> list[int]:
        """Connect a node to new anchors; fewer than requested if there are not enough."""
        free = pool[~np.isin(pool, [u, *self._neighbours[u]])]
        count = min(self.settings.edges_per_seed, len(free))
        if self.settings.anchor == "distance" and growth.prefers is not None:
            here = np.broadcast_to(self.embeddings[u], (len(free), self.embeddings.shape[1]))
            distance = poincare_distance(here, self.embeddings[free])
            order = np.argsort(distance if growth.prefers == "nearest" else -distance, kind="stable")
            chosen = free[order[:count]]
        else:
            chosen = rng.choice(free, count, replace=False)
        anchors: list[int] = chosen.tolist()
        for v in anchors:
            self._join(u, v)
        return anchors

    def _birth(self, growth: Growth, pool: NDArray[np.int64], rng: np.random.Generator) -> list[tuple[int, int]]:
        """Add a node near the mean of its anchors and connect it to them."""
        if len(pool) == 0:
            return []
        anchors = rng.choice(pool, min(self.settings.edges_per_seed, len(pool)), replace=False)
        noise = rng.standard_normal(self.settings.dimension)
        self.embeddings = np.vstack([self.embeddings, placed(self.embeddings[anchors], noise, self.settings)])
        newborn = self.num_nodes
        self._neighbours.append(set())
        for anchor in anchors.tolist():
            self._join(newborn, anchor)
        return [(newborn, anchor) for anchor in anchors.tolist()]


def smoothed(points: Floats, edges: Edges, degrees: NDArray[np.int64], settings: Settings) -> Floats:
    """One step: x ← (1 − w)·x + w·Âx, with Â the adjacency matrix over the roots of both degrees, or over one degree.

    A node without neighbours stays where it is if they are averaged.
    """
    nodes, counts = len(points), np.maximum(degrees, 1)[:, None]
    if settings.average == "symmetric":
        roots = np.sqrt(counts[:, 0])
        weight = 1 / (roots[edges[:, 0]] * roots[edges[:, 1]])
        half = sp.csr_array((weight, (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
        pulled = half @ points + half.T @ points
    else:
        half = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(nodes, nodes))
        pulled = np.where(degrees[:, None] > 0, (half @ points + half.T @ points) / counts, points)
    moved = (1 - settings.smoothing) * points + settings.smoothing * pulled
    if settings.radius_by == "smoothing":
        return _into_ball(moved, settings.radius)
    if settings.radius_by == "start":
        return _with_norms(moved, np.linalg.norm(points, axis=1))
    return _with_norms(moved, radii_by_degree(degrees, settings.radius))


def placed(anchors: Floats, noise: Floats, settings: Settings) -> Floats:
    """The place of a new node: the mean of its anchors with some noise."""
    return _into_ball(anchors.mean(axis=0) + settings.birth_noise * noise, settings.radius)


def radii_by_degree(degrees: NDArray[np.int64], radius: float) -> Floats:
    """Norms for which the hyperbolic distance from the centre decreases linearly with the logarithm of the degree.

    It is that of `radius` for degree 0 or 1, and the smaller the higher the degree, as in hyperbolic random graphs.
    """
    order = np.log(np.maximum(degrees, 1))
    height = 1 - order / np.log(max(int(degrees.max(initial=1)), 1) + 1)
    return np.asarray(np.tanh(height * np.arctanh(radius)))


def first_embeddings(features: Any, settings: Settings, degrees: NDArray[np.int64], seed: int) -> Floats:
    """The leading singular vectors of the features, or noise, scaled so that the largest norm is the radius.

    With `radius_by="degree"`, only their directions are used.
    """
    rng = np.random.default_rng(seed)
    if settings.embedding == "random":
        start: Floats = rng.standard_normal((features.shape[0], settings.dimension))
    else:
        start = _leading(features, settings.dimension, rng)
    if settings.radius_by == "degree":
        return _with_norms(start, radii_by_degree(degrees, settings.radius))
    return np.asarray(settings.radius / np.linalg.norm(start, axis=1).max() * start)


def _leading(features: Any, dimension: int, rng: np.random.Generator) -> Floats:
    if dimension >= min(features.shape):
        raise OptionError(f"dimension {dimension} needs more than that many nodes and features, not {features.shape}")
    from scipy.sparse.linalg import svds

    wide = features.astype(np.float64)
    left, size, right = svds(wide, k=dimension, v0=rng.standard_normal(min(wide.shape)))
    # The sign of a singular vector is arbitrary: here its largest entry is positive.
    signs = np.sign(right[np.arange(dimension), np.abs(right).argmax(axis=1)])
    return np.asarray((left * size * signs)[:, ::-1])


def _into_ball(points: Floats, radius: float) -> Floats:
    norms = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points * np.minimum(1, radius / np.maximum(norms, radius)))


def _with_norms(points: Floats, norms: Floats) -> Floats:
    """The same directions with these norms; a point in the centre has no direction and stays."""
    own = np.linalg.norm(points, axis=1)
    return np.asarray(points * (norms / np.where(own > 0, own, 1))[:, None])
