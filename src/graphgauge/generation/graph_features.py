"""MMD between sets of graphs, from their degrees, clustering coefficients, orbits and spectra.

A convention is a choice of histograms, kernel and estimator. `graphgauge` is unbiased and its histograms do not depend
on rounding; the others give the numbers that papers and libraries print, and are protocols of the family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import Floats, Ints
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.two_sample import Kernel, Score, biased, unbiased

STATISTICS = ("degree", "clustering", "orbit", "spectral")
_CLUSTERING_BINS, _SPECTRAL_BINS = 100, 200
# The columns of the core's counts of orbits, and the one of triangles.
_ORBITS, _TRIANGLES = 15, 3
# The lower end of the spectrum's histogram in GRAN's code and all that followed it.
_BELOW_ZERO = -1e-5
# SPECTRE, and DiGress after it, add this to the sum of a histogram before they divide by it.
_EXTRA = 1e-6

Features = Callable[[Graphs], Floats]


@dataclass(frozen=True)
class GraphKernel:
    """Features of graphs and a kernel between them."""

    features: Features
    kernel: Kernel
    bandwidth: float


@dataclass(frozen=True)
class Convention:
    """How graphs are compared: a kernel for each statistic, and the estimator of MMD².

    `truncated` are statistics of which only as many generated graphs are compared as there are real ones, the first.
    """

    name: str
    kernels: Mapping[str, GraphKernel]
    score: Score
    truncated: tuple[str, ...] = ()

    @property
    def estimator(self) -> str:
        if self.score is biased:
            return "MMD squared, biased: pairs of a graph with itself count"
        return "MMD squared, unbiased: may be below 0"


def padded(*features: Floats) -> list[Floats]:
    """Histograms with the same number of bins."""
    width = max(part.shape[1] for part in features)
    return [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in features]


# ---------------------------------------------------------------------------------------------------------- features


def degree_histograms(graphs: Graphs) -> Floats:
    """The degree distribution of each graph (n, degrees); of directed ones the in-degrees, then the out-degrees."""
    if not graphs.directed:
        return _shares(graphs, graphs.degrees, int(graphs.degrees.max(initial=0)) + 1)
    # Even bins are those of in-degrees, odd ones of out-degrees, so that histograms of any width can be compared.
    both = []
    for side in (1, 0):
        degrees = np.bincount(graphs.through[:, side], minlength=int(graphs.nodes.sum()))
        both.append(_shares(graphs, degrees, int(degrees.max(initial=0)) + 1))
    return np.stack(padded(*both), axis=2).reshape(len(graphs), -1) / 2


def clustering_coefficients(graphs: Graphs) -> Floats:
    """The clustering coefficient of each node; 0 below two neighbours."""
    closed = 2 * _orbit_counts(graphs)[:, _TRIANGLES]  # ordered pairs of connected neighbours
    return np.asarray(closed / np.maximum(graphs.degrees * (graphs.degrees - 1), 1))


def clustering_histograms(graphs: Graphs) -> Floats:
    """The distribution of clustering coefficients in bins of 0.01."""
    return _shares(graphs, _bins(clustering_coefficients(graphs), 1.0, _CLUSTERING_BINS), _CLUSTERING_BINS)


def orbit_means(graphs: Graphs) -> Floats:
    """The mean number of times (n, 15) that a node is at each orbit of the connected graphs of up to four nodes.

    Orbits are those of Pržulj 2007, counted as induced subgraphs.
    """
    counts = _orbit_counts(graphs)
    before = np.concatenate([np.zeros((1, _ORBITS), np.int64), np.cumsum(counts, axis=0)])
    sums = before[graphs.starts + graphs.nodes] - before[graphs.starts]
    return np.asarray(sums / np.maximum(graphs.nodes, 1)[:, np.newaxis])


def spectral_histograms(graphs: Graphs) -> Floats:
    """The distribution of each graph's normalised Laplacian eigenvalues in bins of 0.01 from 0 to 2."""
    values = np.concatenate([np.empty(0), *spectra(graphs)])
    return _shares(graphs, _bins(values, 2.0, _SPECTRAL_BINS), _SPECTRAL_BINS)


def spectra(graphs: Graphs) -> list[Floats]:
    """The eigenvalues of each graph's normalised Laplacian; rows of isolated nodes are 0.

    None is above 2, but the largest of a bipartite graph is 2, and may be rounded up.
    """
    found = []
    for index, size in enumerate(graphs.nodes.tolist()):
        adjacency = np.zeros((size, size))
        source, target = graphs[index].T
        adjacency[source, target] = adjacency[target, source] = 1
        degrees = adjacency.sum(axis=1)
        scale = np.divide(1, np.sqrt(degrees), out=np.zeros(size), where=degrees > 0)
        # In the order of networkx, so that eigenvalues on the edge of a bin are rounded alike.
        laplacian = scale[:, np.newaxis] * ((np.diag(degrees) - adjacency) * scale)
        found.append(np.minimum(np.linalg.eigvalsh(laplacian), 2.0) if size else np.empty(0))
    return found


def _orbit_counts(graphs: Graphs) -> Ints:
    near = graphs.neighbourhoods
    return np.asarray(_core.orbits(near.start, near.around, threads=threads_for(int((graphs.degrees**2).sum()))))


def _bins(values: Floats, top: float, bins: int) -> Ints:
    """The bin of each value; a value on an edge, up to rounding, is in the bin above."""
    return np.clip(np.floor(values / top * bins + 1e-9), 0, bins - 1).astype(np.int64)


def _shares(graphs: Graphs, bins: Ints, width: int) -> Floats:
    counts = np.bincount(graphs.owner * width + bins, minlength=len(graphs) * width).reshape(len(graphs), width)
    return counts / np.maximum(graphs.nodes, 1)[:, np.newaxis]


# --------------------------------------------------------------------------------------- features as others bin them


def _numpy_histograms(graphs: Graphs, values: Floats, bins: int, low: float, high: float) -> Floats:
    """Counts as np.histogram gives them for each graph: values beyond the range, even by rounding, are left out."""
    kept = (values >= low) & (values <= high)
    place = np.searchsorted(np.linspace(low, high, bins + 1), values[kept], side="right") - 1
    cells = graphs.owner[kept] * bins + np.minimum(place, bins - 1)
    return np.bincount(cells, minlength=len(graphs) * bins).reshape(len(graphs), bins).astype(float)


def _degree_counts(graphs: Graphs) -> Floats:
    return np.asarray(degree_histograms(graphs) * np.maximum(graphs.nodes, 1)[:, np.newaxis])


def _clustering_counts(graphs: Graphs) -> Floats:
    return _numpy_histograms(graphs, clustering_coefficients(graphs), _CLUSTERING_BINS, 0.0, 1.0)


def _spectral_shares(graphs: Graphs) -> Floats:
    values = np.concatenate([np.empty(0), *spectra(graphs)])
    return _divided(_numpy_histograms(graphs, values, _SPECTRAL_BINS, _BELOW_ZERO, 2.0), 0.0)


def _divided(counts: Floats, extra: float) -> Floats:
    total = counts.sum(axis=1, keepdims=True) + extra
    return np.asarray(np.divide(counts, total, out=np.zeros_like(counts), where=total > 0))


def _shares_of(counts: Features, extra: float) -> Features:
    return lambda graphs: _divided(counts(graphs), extra)


# ----------------------------------------------------------------------------------------------------------- kernels


def cityblock(x: Floats, y: Floats) -> Floats:
    """Sums of absolute differences (n, m) between rows, most of whose entries may be 0."""
    from scipy.spatial.distance import cdist

    used = x.any(axis=0) | y.any(axis=0)
    return np.asarray(cdist(x, y, "cityblock") if used.all() else cdist(x[:, used], y[:, used], "cityblock"))


def _total_variation(bandwidth: float) -> Kernel:
    return lambda x, y: np.exp(-((cityblock(x, y) / 2) ** 2) / (2 * bandwidth**2))


def _gaussian(bandwidth: float) -> Kernel:
    def kernel(x: Floats, y: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        return np.asarray(np.exp(-cdist(x, y, "sqeuclidean") / (2 * bandwidth**2)))

    return kernel


def _earth_mover(bandwidth: float, bins: float = 1.0) -> Kernel:
    """Of histograms on a line: the area between cumulative sums.

    Sums of these histograms differ by at most 1e-6. pyemd charges that difference in another way, so its values agree
    with these to about six digits.
    """

    def kernel(x: Floats, y: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        moved = cdist(np.cumsum(x, axis=1), np.cumsum(y, axis=1), "cityblock") / bins
        return np.asarray(np.exp(-(moved**2) / (2 * bandwidth**2)))

    return kernel


# ------------------------------------------------------------------------------------------------------- conventions


def _tv_kernels(degree: Features, clustering: Features, spectral: Features) -> dict[str, GraphKernel]:
    """The kernels of Liao et al. 2019; the power of a test depends on their bandwidths (O'Bray et al. 2022)."""
    return {
        "degree": GraphKernel(degree, _total_variation(1.0), 1.0),
        "clustering": GraphKernel(clustering, _total_variation(0.1), 0.1),
        "orbit": GraphKernel(orbit_means, _total_variation(30.0), 30.0),
        "spectral": GraphKernel(spectral, _total_variation(1.0), 1.0),
    }


DEFAULT_CONVENTION = "graphgauge"
_SHARES = [_shares_of(counts, 0.0) for counts in (_degree_counts, _clustering_counts, _spectral_shares)]
_LESS = [_shares_of(counts, _EXTRA) for counts in (_degree_counts, _clustering_counts, _spectral_shares)]
_EMD_KERNELS = {
    "degree": GraphKernel(_LESS[0], _earth_mover(1.0), 1.0),
    "clustering": GraphKernel(_LESS[1], _earth_mover(0.1, _CLUSTERING_BINS), 0.1),
    "orbit": GraphKernel(orbit_means, _gaussian(30.0), 30.0),
    "spectral": GraphKernel(_LESS[2], _earth_mover(1.0), 1.0),
}
_OURS = _tv_kernels(degree_histograms, clustering_histograms, spectral_histograms)
CONVENTIONS = {
    convention.name: convention
    for convention in (
        Convention(DEFAULT_CONVENTION, _OURS, unbiased),
        Convention("gran", _tv_kernels(*_SHARES), biased),
        # Their code pairs graphs with a list as long as the real graphs, so further generated ones are left out.
        Convention("spectre", _tv_kernels(*_LESS), biased, ("spectral",)),
        Convention("digress", _tv_kernels(*_LESS), biased, ("spectral",)),
        Convention("digress_emd", _EMD_KERNELS, biased, ("spectral",)),
        Convention("polygraph", _tv_kernels(_SHARES[0], _SHARES[1], _spectral_shares), biased),
    )
}
