"""MMD between sets of graphs, from histograms of degrees, clustering coefficients and spectra."""

from __future__ import annotations

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError, one_of
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.two_sample import MMDTest, kernel_test

_CLUSTERING_BINS, _SPECTRAL_BINS = 100, 200
# Maximum number of nodes of a graph whose spectrum is computed; more would exhaust the memory.
_MOST_DENSE = 20_000


def graph_mmd(
    real: Graphs, generated: Graphs, kind: str, *, permutations: int, generator: np.random.Generator
) -> MMDTest:
    """MMD² of the graphs' histograms of `degree`, `clustering` coefficient or normalised Laplacian eigenvalues.

    The kernel is exp(−t²/2σ²) of the total variation t between two histograms, with the bandwidths of Liao et al. 2019:
    1, 0.1 and 1. The test's power depends on them (O'Bray et al. 2022).
    """
    histograms, bandwidth = _KINDS[one_of("graph statistic", kind, _KINDS)]
    if min(len(real), len(generated)) < 2:
        raise InputError(f"expected at least two graphs on either side, found {len(real)} and {len(generated)}")
    parts = [histograms(graphs) for graphs in (real, generated)]
    rows = np.zeros((len(real) + len(generated), max(part.shape[1] for part in parts)))
    rows[: len(real), : parts[0].shape[1]], rows[len(real) :, : parts[1].shape[1]] = parts

    def strip(some: slice) -> Floats:
        from scipy.spatial.distance import cdist

        variation = cdist(rows[some], rows, "cityblock") / 2
        return np.asarray(np.exp(variation**2 / (-2 * bandwidth**2)))

    return kernel_test(
        strip, len(real), len(generated), "exp(−t²/2σ²), t total variation", bandwidth, permutations=permutations,
        generator=generator,
    )  # fmt: skip


def degree_histograms(graphs: Graphs) -> Floats:
    """The degree distribution of each graph (n, degrees); zeros for a graph without nodes."""
    return _shares(graphs, graphs.degrees, int(graphs.degrees.max(initial=0)) + 1)


def clustering_histograms(graphs: Graphs) -> Floats:
    """The distribution of clustering coefficients in bins of 0.01; the coefficient is 0 below two neighbours."""
    from scipy.sparse import csr_array

    size = int(graphs.nodes.sum())
    adjacency = csr_array((np.ones(len(graphs.ends)), graphs.ends.T), shape=(size, size))
    # Ordered pairs of connected neighbours.
    closed: Floats = (adjacency @ adjacency).multiply(adjacency).sum(axis=1)
    possible = graphs.degrees * (graphs.degrees - 1)
    return _shares(graphs, _bins(closed / np.maximum(possible, 1), 1.0, _CLUSTERING_BINS), _CLUSTERING_BINS)


def spectral_histograms(graphs: Graphs) -> Floats:
    """The distribution of each graph's normalised Laplacian eigenvalues in bins of 0.01 from 0 to 2."""
    if graphs.nodes.max(initial=0) > _MOST_DENSE:
        raise InputError(
            f"a graph of {graphs.nodes.max()} nodes is too large for its spectrum; the limit is {_MOST_DENSE}",
            where="spectral_mmd", fix="Request other metrics by name.",
        )  # fmt: skip
    eigenvalues = []
    for index, size in enumerate(graphs.nodes.tolist()):
        adjacency = np.zeros((size, size))
        source, target = graphs[index].T
        adjacency[source, target] = adjacency[target, source] = 1
        degrees = adjacency.sum(axis=1)
        scale = np.divide(1, np.sqrt(degrees), out=np.zeros(size), where=degrees > 0)
        laplacian = np.diag((degrees > 0).astype(float)) - scale[:, np.newaxis] * adjacency * scale
        eigenvalues.append(np.linalg.eigvalsh(laplacian))
    values = np.concatenate(eigenvalues) if eigenvalues else np.empty(0)
    return _shares(graphs, _bins(values, 2.0, _SPECTRAL_BINS), _SPECTRAL_BINS)


_KINDS = {
    "degree": (degree_histograms, 1.0),
    "clustering": (clustering_histograms, 0.1),
    "spectral": (spectral_histograms, 1.0),
}


def _bins(values: Floats, top: float, bins: int) -> Ints:
    """The bin of each value; a value on an edge, up to rounding, is in the bin above."""
    return np.clip(np.floor(values / top * bins + 1e-9), 0, bins - 1).astype(np.int64)


def _shares(graphs: Graphs, bins: Ints, width: int) -> Floats:
    counts = np.bincount(graphs.owner * width + bins, minlength=len(graphs) * width).reshape(len(graphs), width)
    return counts / np.maximum(graphs.nodes, 1)[:, np.newaxis]
