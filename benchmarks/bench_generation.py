"""Generation: pairs of samples, silhouettes, distances between statistics, and calling a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Row, Work, faster, memory, seconds, uses

BOARD = 3 * 18 * 11
CONDITIONS = 14


# ------------------------------------------------------------------------------------------------ pairs of samples


def boards(n: int) -> np.ndarray:
    """Bits as sparse as climbing problems: about 12 of 594 set."""
    return np.random.default_rng(0).random((n, BOARD)) < 0.02


def hamming(bits: np.ndarray) -> Work:

    from graphgauge.generation.distances import hamming_pairs, row_ids

    return lambda: (hamming_pairs(bits), np.unique(row_ids(bits)[0]).size)


@uses("scipy")
def hamming_by_pdist(bits: np.ndarray) -> Work:
    from scipy.spatial.distance import pdist

    def call() -> object:
        distances = pdist(bits, "hamming")
        return distances.mean(), distances.std(), len(np.unique(bits, axis=0))

    return call


def jaccard(bits: np.ndarray) -> Work:

    from graphgauge.generation.distances import jaccard_pairs

    return lambda: jaccard_pairs(bits)


@uses("scipy")
def jaccard_by_pdist(bits: np.ndarray) -> Work:
    from scipy.spatial.distance import pdist

    def call() -> object:
        distances = pdist(bits, "jaccard")
        return distances.mean(), distances.std()

    return call


def neighbourhoods(bits: np.ndarray) -> Work:
    """Precision, recall, density and coverage of one half against the other."""

    from graphgauge.generation.two_sample import prdc

    real, generated = bits[::2].astype(float), bits[1::2].astype(float)
    return lambda: prdc(real, generated)


@uses("prdc")
def by_prdc(bits: np.ndarray) -> Work:
    from prdc import compute_prdc

    real, generated = bits[::2].astype(float), bits[1::2].astype(float)
    return lambda: compute_prdc(real, generated, nearest_k=5)


# ---------------------------------------------------------------------------------------------------------- graphs


@dataclass(frozen=True)
class Drawn:
    real: list[Any]
    generated: list[Any]


def blocks(n: int) -> Drawn:
    """Graphs of 90 nodes in three blocks."""
    import networkx as nx

    rates = [[0.3 if a == b else 0.01 for b in range(3)] for a in range(3)]

    def graphs(first: int) -> list[Any]:
        return [nx.stochastic_block_model([30, 30, 30], rates, seed=first + place) for place in range(n)]

    return Drawn(graphs(0), graphs(n))


def graph_discrepancies(data: Drawn) -> Work:
    """Degrees, clustering, spectra and orbits in GRAN's convention, from networkx graphs to four numbers."""

    from graphgauge.generation.graph_mmd import STATISTICS, graph_mmd
    from graphgauge.generation.graphs import Graphs

    def call() -> object:
        real, generated = Graphs.of(data.real), Graphs.of(data.generated)
        generator = np.random.default_rng(0)
        return [
            graph_mmd(real, generated, kind, permutations=1, generator=generator, convention="gran").value
            for kind in STATISTICS
        ]

    return call


@uses("networkx")
def pair_by_pair(data: Drawn) -> Work:
    """Degrees, clustering and spectra as in the code of papers: networkx, and one call of the kernel per pair."""
    import networkx as nx
    from scipy.linalg import eigvalsh

    def spectrum(graph: Any) -> Any:
        values = eigvalsh(nx.normalized_laplacian_matrix(graph).todense())
        return np.histogram(values, bins=200, range=(-1e-5, 2))[0]

    features = (
        lambda graph: np.array(nx.degree_histogram(graph)),
        lambda graph: np.histogram(list(nx.clustering(graph).values()), bins=100, range=(0.0, 1.0))[0],
        spectrum,
    )

    def kernel(x: Any, y: Any, width: float) -> float:
        size = max(len(x), len(y))
        x, y = (np.pad(part.astype(float), (0, size - len(part))) for part in (x, y))
        return float(np.exp(-((np.abs(x - y).sum() / 2) ** 2) / (2 * width**2)))

    def mean(one: Any, other: Any, width: float) -> float:
        return float(np.mean([kernel(x, y, width) for x in one for y in other]))

    def call() -> object:
        found = []
        for feature, width in zip(features, (1.0, 0.1, 1.0), strict=True):
            real, generated = (
                [counts / counts.sum() for counts in map(feature, side)] for side in (data.real, data.generated)
            )
            within = mean(real, real, width) + mean(generated, generated, width)
            found.append(within - 2 * mean(real, generated, width))
        return found

    return call


# ----------------------------------------------------------------------------------------------------- silhouettes


@dataclass(frozen=True)
class Latents:
    points: np.ndarray
    labels: np.ndarray


def latents(n: int, dimensions: int) -> Latents:
    random = np.random.default_rng(0)
    labels = random.integers(0, CONDITIONS, n)
    centres = 0.3 * random.standard_normal((CONDITIONS, dimensions))
    return Latents(random.standard_normal((n, dimensions)) + centres[labels], labels)


def silhouette(data: Latents) -> Work:

    from graphgauge.kernels.silhouette import silhouettes

    return lambda: silhouettes(data.points, data.labels).mean()


@uses("scikit-learn")
def by_sklearn(data: Latents) -> Work:
    from sklearn.metrics import silhouette_score

    return lambda: silhouette_score(data.points, data.labels)


# ------------------------------------------------------------------------------------------------------ statistics


@dataclass(frozen=True)
class Statistics:
    real: np.ndarray
    generated: np.ndarray
    codes: np.ndarray


def statistics(n: int) -> Statistics:
    """Six counts of n real and n generated samples in each condition."""
    random = np.random.default_rng(0)
    codes = random.permutation(np.repeat(np.arange(CONDITIONS), n))
    real, generated = (random.poisson(8 + shift, (CONDITIONS * n, 6)).astype(float) for shift in (0, 1))
    return Statistics(real, generated, codes)


def distances(data: Statistics) -> Work:

    from graphgauge.kernels.wasserstein import wasserstein

    return lambda: wasserstein(data.real, data.generated, data.codes, data.codes, CONDITIONS)


@uses("scipy")
def by_scipy(data: Statistics) -> Work:
    """One call per condition and statistic, on prepared columns."""
    from scipy.stats import wasserstein_distance

    columns = [
        (
            np.ascontiguousarray(data.real[data.codes == code, column]),
            np.ascontiguousarray(data.generated[data.codes == code, column]),
        )
        for code in range(CONDITIONS)
        for column in range(6)
    ]
    return lambda: [wasserstein_distance(real, generated) for real, generated in columns]


ROWS = (
    Row(
        "pairwise Hamming mean, std and row means, and distinct samples, n = 20k, D = 594",
        make=partial(boards, 20_000),
        ours=hamming,
        reads=lambda bits: [bits],
        peers={"scipy's pdist and np.unique": hamming_by_pdist},
        goals=(faster(500, "scipy's pdist and np.unique"), memory(100)),
        peer_seconds=1.0,
    ),
    Row(
        "pairwise Jaccard mean, std and row means, n = 20k, D = 594",
        make=partial(boards, 20_000),
        ours=jaccard,
        reads=lambda bits: [bits],
        peers={"scipy's pdist": jaccard_by_pdist},
        goals=(faster(150, "scipy's pdist"), memory(100)),
        rounds=3,
        peer_seconds=1.0,
    ),
    Row(
        "Jaccard of twice the samples: memory grows with the rows, not with the pairs",
        make=partial(boards, 40_000),
        ours=jaccard,
        reads=lambda bits: [bits],
        goals=(memory(100),),
        rounds=1,
    ),
    Row(
        "precision, recall, density and coverage of 20k real and 20k generated samples, D = 594",
        make=partial(boards, 40_000),
        ours=neighbourhoods,
        reads=lambda bits: [bits],
        goals=(memory(1000),),
        rounds=1,
    ),
    Row(
        "the same of 2k and 2k samples",
        make=partial(boards, 4000),
        ours=neighbourhoods,
        reads=lambda bits: [bits],
        peers={"prdc": by_prdc},
        goals=(faster(2, "prdc"),),
        rounds=3,
        peer_seconds=1.0,
    ),
    Row(
        "degree, clustering, spectral and orbit MMD of 100 and 100 networkx graphs of 90 nodes, GRAN's convention",
        make=partial(blocks, 100),
        ours=graph_discrepancies,
        peers={"networkx and SciPy, pair by pair, without orbits": pair_by_pair},
        goals=(faster(10, "networkx and SciPy, pair by pair, without orbits"), seconds(1)),
        rounds=3,
        peer_seconds=1.0,
    ),
    Row(
        "exact silhouette, n = 20k, D = 32, 14 conditions",
        make=partial(latents, 20_000, 32),
        ours=silhouette,
        reads=lambda data: [data.points],
        peers={"scikit-learn": by_sklearn},
        goals=(faster(4, "scikit-learn"), memory(200)),
        rounds=3,
        peer_seconds=1.0,
    ),
    Row(
        "Wasserstein distance of 6 integer statistics × 14 conditions, 1,000 real and 1,000 generated in each",
        make=partial(statistics, 1000),
        ours=distances,
        reads=lambda data: [data.real, data.generated],
        peers={"scipy": by_scipy},
        goals=(faster(20, "scipy"),),
        repeat=5,
    ),
)
