"""The levels next to a value: what reference generators score on the same data, at the run's own sizes.

- `perfect`: real samples in place of the generated ones
- `memoriser`: training samples, drawn with replacement; `near_copy`: the same with one bit or one edge moved
- `chance`: samples without structure (each coordinate drawn separately, graphs with random edges), or none that fit

Each level has a band that contains 95 % of the values of its generator. If the real samples are too few to supply
as many fresh ones as were generated, both sides are made smaller, and the run is compared at those sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.options import whole_number
from graphgauge.core.result import Kind, Reference
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.two_sample import Score, unbiased
from graphgauge.stats.intervals import tail

BAND = 0.95
# The smallest and the largest of 39 exchangeable values enclose 95 % of a further one.
SPLITS = 39
# Points of a reference that are compared with each other at most.
MOST = 1000
# In the order of tables.
KINDS: dict[str, Kind] = {"near_copy": "baseline", "memoriser": "baseline", "chance": "chance", "perfect": "ideal"}


@dataclass(frozen=True)
class Draws:
    """How often distributions without a closed form are drawn from: permutations, resamples, reference generators."""

    seed: int = 0
    draws: int = 999

    def __post_init__(self) -> None:
        whole_number("seed", self.seed)
        whole_number("draws", self.draws, 1)

    def generator(self, *key: int) -> np.random.Generator:
        """A separate random stream for each purpose, so that values do not depend on the requested metrics."""
        return np.random.default_rng([self.seed, *key])


@dataclass(frozen=True)
class Rules(Draws):
    """All options that change how samples are compared."""

    empty: str = "1"
    convention: str = "graphgauge"


def level(name: str, value: float, low: float | None = None, high: float | None = None, **own: Any) -> Reference:
    """The level of a reference generator; `own` and `note` if it was simulated with fewer samples."""
    return Reference(name, value, KINDS[name], low, high, **own)


def named(levels: Mapping[str, Reference | None]) -> tuple[Reference, ...]:
    """The levels that have a value, in the order of tables."""
    known = (levels.get(name) for name in KINDS)
    return tuple(each for each in known if each is not None and each.value == each.value)


def band(draws: Floats) -> tuple[float, float]:
    """The order statistics that enclose a further draw with probability 95 %."""
    ordered = np.sort(draws)
    outside = max(int(tail(BAND) * (len(ordered) + 1) + 1e-9), 1)
    return float(ordered[outside - 1]), float(ordered[-outside])


def simulated(name: str, draws: Floats) -> Reference | None:
    """A level from its draws; None without any."""
    draws = draws[~np.isnan(draws)]
    return level(name, float(draws.mean()), *band(draws)) if len(draws) else None


def predicted(name: str, draws: Floats, *, own: float | None = None, note: str | None = None) -> Reference | None:
    """A level from draws (3, draws) for the lower end of its band, its middle and the upper end; None without any."""
    draws = draws[:, ~np.isnan(draws).any(0)]
    if not draws.size:
        return None
    (low, _), (_, high) = band(draws[0]), band(draws[2])
    return level(name, float(draws[1].mean()), low, high, own=own, note=note)


# --------------------------------------------------------------------------------------------- two samples, by kernels


def redrawn(
    gram: Floats, n: int, m: int, score: Score, *, draws: int, generator: np.random.Generator, held_out: int
) -> Floats:
    """Scores of n and m items, drawn with replacement from the first `held_out`, and from all, of those with kernel
    values `gram`.

    Two draws of one item count as two items at its mean distance from the others; only a draw and itself are equal.
    Otherwise copies would widen the distribution of a narrow kernel, and shift that of a biased estimate.
    """
    size = len(gram)
    gram, equal = apart(gram)
    shares = (np.arange(size) < held_out) / held_out
    first = generator.multinomial(n, shares, draws).astype(float)
    second = resampled(generator, m, size, draws)
    across = np.einsum("di,di->d", first @ gram, second)
    values = score(sums_of(first, gram, equal), sums_of(second, gram, equal), across, n, m)
    return possible(values, score)


def apart(gram: Floats, same: float = 0.0) -> tuple[Floats, Floats]:
    """Kernel values with those of two draws of an item as its mean, and what a draw and itself have more.

    `same` is the share of such pairs that are equal after all: of copies from a pool of k of n training samples, k/n.
    """
    equal, gram = np.diagonal(gram).copy(), gram.copy()
    mean = (gram.sum(1) - equal) / max(len(gram) - 1, 1)
    twice = same * equal + (1 - same) * mean
    np.fill_diagonal(gram, twice)
    return gram, equal - twice


def resampled(generator: np.random.Generator, count: int, size: int, draws: int) -> Floats:
    """How often each of `size` items is among `count` drawn with replacement, (draws, size)."""
    return generator.multinomial(count, np.full(size, 1 / size), draws).astype(float)


def sums_of(counts: Floats, between: Floats, equal: Floats) -> Floats:
    """Sums of kernel values over ordered pairs of drawn items, each with itself included."""
    return np.asarray(np.einsum("di,di->d", counts @ between, counts) + counts @ equal)


def possible(values: Any, score: Score) -> Floats:
    """Biased discrepancies and energy distances are not negative; moving copies apart can make them so."""
    return np.asarray(values if score is unbiased else np.maximum(values, 0.0))


def wider(draws: Floats, centre: Any, n: Any, m: Any, drawn: Any) -> Floats:
    """Values of m fresh samples around that of n real ones, from those of `drawn` real ones without replacement.

    `centre` is the value of all real ones, which is the mean over all subsets. Subsets of one sample vary less than
    independent samples do: by 1/drawn − 1/n instead of 1/m + 1/n.
    """
    factor = np.sqrt((1 / m + 1 / n) / (1 / drawn - 1 / n))
    return np.asarray(centre + (draws - centre) * factor)


# ---------------------------------------------------------------------------------------------------- shares of samples


def share_draws(
    successes: Any, n: Any, m: Any, *, draws: int, generator: np.random.Generator, prior: float | None = None
) -> Floats:
    """Shares among m further samples, predicted from `successes` among n; one column per group.

    Jeffreys' prior, or one of the same weight with this mean: half a success in each of many groups would add up.
    """
    up = 0.5 if prior is None else prior
    successes, n, m = (np.asarray(value, dtype=float) for value in (successes, n, m))
    shape = (draws, *np.broadcast_shapes(successes.shape, m.shape))
    rate = generator.beta(successes + up, n - successes + 1 - up, shape)
    counts = generator.binomial(m.astype(np.int64), rate)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(counts / m)


def answer_draws(confusion: Ints, counts: Ints, *, draws: int, generator: np.random.Generator) -> NDArray[np.int32]:
    """Answers (3, draws, conditions, answers) to as many samples of each condition as `counts`, if they were real.

    Few held-out samples do not show all confusions. For the lower end of a band, each condition has one more sample,
    with any answer; for its middle, none; for the upper end, half a sample with the answer that was requested. A
    single prior would add up over conditions: real samples of many would be above or below the band.
    """
    groups = len(confusion)
    unseen = np.stack([np.full((groups, groups), 1 / groups), np.zeros((groups, groups)), np.eye(groups) / 2])
    drawn = np.zeros((len(unseen), draws, groups, groups), np.int32)
    for code in np.flatnonzero(counts):
        for prior, answers in zip(unseen, drawn, strict=True):
            rates = generator.dirichlet(confusion[code] + prior[code], draws)
            answers[:, code] = generator.multinomial(int(counts[code]), rates)
    return drawn


# ----------------------------------------------------------------------------------- samples of reference generators


def near_copies(samples: Any, generator: np.random.Generator) -> Any:
    """Each sample with one set bit moved, or one edge; None of molecules and of directed graphs."""
    if isinstance(samples, Graphs):
        return None if samples.directed else _moved_edges(samples, generator)
    return _moved_bits(samples, generator) if isinstance(samples, np.ndarray) else None


def unstructured(samples: Any, count: int, generator: np.random.Generator) -> Any:
    """Rows whose coordinates are drawn separately, or random graphs with the nodes and edges of real ones."""
    if isinstance(samples, Graphs):
        chosen = samples.take(generator.integers(0, len(samples), count))
        sizes = zip(chosen.nodes.tolist(), np.diff(chosen.offsets).tolist(), strict=True)
        return Graphs.from_objects([(nodes, _random_edges(nodes, edges, generator)) for nodes, edges in sizes])
    rows = generator.integers(0, len(samples), (count, samples.shape[1]))
    return samples[rows, np.arange(samples.shape[1])]


def _moved_bits(samples: AnyArray, generator: np.random.Generator) -> AnyArray:
    """Samples that are all 0 or all 1 are unchanged."""
    bits = np.array(samples, copy=True).reshape(len(samples), int(np.prod(np.shape(samples)[1:])))
    if not bits.size:
        return bits.reshape(np.shape(samples))
    mask = bits != 0
    weight = generator.random(bits.shape)
    off, on = np.where(mask, weight, -1).argmax(1), np.where(mask, -1, weight).argmax(1)
    rows = np.flatnonzero(mask.any(1) & ~mask.all(1))
    bits[rows, off[rows]], bits[rows, on[rows]] = 0, 1
    return bits.reshape(np.shape(samples))


def _moved_edges(graphs: Graphs, generator: np.random.Generator) -> Graphs:
    """A moved edge keeps its label. Graphs without edges and complete ones are unchanged."""
    counts, nodes = np.diff(graphs.offsets), graphs.nodes
    movable = np.flatnonzero((counts > 0) & (counts < nodes * (nodes - 1) // 2))
    edges = graphs.edges.copy()
    width = int(nodes.max(initial=1))

    def keys(owner: Ints, pairs: Ints) -> Ints:
        return np.asarray((owner * width + pairs[:, 0]) * width + pairs[:, 1])

    owner = np.repeat(np.arange(len(graphs)), counts)
    known = keys(owner, edges)  # sorted, as edges are
    moved = graphs.offsets[movable] + generator.integers(0, counts[movable])
    waiting = np.arange(len(movable))
    while len(waiting):
        size = nodes[movable[waiting]]
        first = generator.integers(0, size)
        second = (first + generator.integers(1, size)) % size
        pairs = np.sort(np.stack([first, second], axis=1), axis=1)
        wanted = keys(movable[waiting], pairs)
        free = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] != wanted
        edges[moved[waiting[free]]] = pairs[free]
        waiting = waiting[~free]
    return _with_edges(graphs, edges)


def rewire(graphs: Graphs, generator: np.random.Generator) -> Graphs:
    """Graphs in which pairs of edges have exchanged their targets, ten times as often as there are edges.

    Degrees remain; an exchange that would make a loop or an edge twice is left out.
    """
    edges = graphs.edges.copy()

    def ordered(a: int, b: int) -> tuple[int, int]:
        return (a, b) if graphs.directed else (min(a, b), max(a, b))

    for start, stop in zip(graphs.offsets[:-1].tolist(), graphs.offsets[1:].tolist(), strict=True):
        own: list[list[int]] = edges[start:stop].tolist()
        known = {ordered(a, b) for a, b in own}
        picks = generator.integers(0, max(stop - start, 1), (10 * (stop - start), 2)).tolist()
        for (i, j), turned in zip(picks, (generator.random(len(picks)) < 0.5).tolist(), strict=True):
            (a, b), (c, d) = own[i], own[j]
            if turned and not graphs.directed:
                c, d = d, c
            new = {ordered(a, d), ordered(c, b)}
            if a != d and c != b and len(new) == 2 and not new & known:
                known -= {ordered(a, b), ordered(c, d)}
                known |= new
                own[i], own[j] = [*ordered(a, d)], [*ordered(c, b)]
        edges[start:stop] = own or edges[start:stop]
    return _with_edges(graphs, edges)


def _with_edges(graphs: Graphs, edges: Ints) -> Graphs:
    """The same graphs with other edges in place of theirs, which keep the labels."""
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.offsets))
    order = np.lexsort((edges[:, 1], edges[:, 0], owner))
    labels = None if graphs.edge_labels is None else graphs.edge_labels[order]
    return replace(graphs, edges=edges[order], edge_labels=labels)


def _random_edges(nodes: int, count: int, generator: np.random.Generator) -> Ints:
    possible = nodes * (nodes - 1) // 2
    pair = generator.choice(possible, min(count, possible), replace=False)
    # Pairs are numbered row by row of the upper triangle, whose rows start here.
    start = np.append(0, np.cumsum(np.arange(nodes - 1, 0, -1)))
    low = np.searchsorted(start, pair, side="right") - 1
    return np.stack([low, pair - start[low] + low + 1], axis=1).astype(np.int64)
