"""The compiled loops alone, without anything around them."""

from __future__ import annotations

from benchmarks.harness import EARLIER, READ, Row, Work, faster, first, warm

SETUP = "from graphgauge import _core; from graphgauge.core.threads import default_threads; T = default_threads()"
# The earlier loops compile beside the first call; `settle` waits for that.
OLD = "import os; T = int(os.environ['GRAPHGAUGE_THREADS']); from graphgauge.kernels.jit import settle; "
MASK = "; M = r.random(N.shape) < .9"
CANDIDATES = (
    "s = r.random(20_000_000, dtype='f4'); b = np.arange(2001) * 10_000; "
    "F = np.arange(2001) * {0}; "
    "P = (b[:-1, None] + np.sort(r.random((2000, 10_000)).argpartition({0})[:, :{0}])).ravel()"
)
FORECAST = (
    "y = r.random((2000, 12, 200)).astype('{0}'); f = (y + r.normal(size=y.shape)).astype('{0}'); "
    "d = (r.random(y.shape) + .1).astype('{0}'); m = r.random(y.shape) > .1; none = np.zeros(0)"
)
BITS = "A, B = (r.random(({0}, 594)) < .03 for _ in range(2)); "
PACKED = BITS + "w, v = (np.packbits(np.pad(x, ((0, 0), (0, 46))), 1).view('u8') for x in (A, B))"
PDIST = "from scipy.spatial.distance import pdist"
GAUSSIAN = (
    "u = (y - f) / d; w = np.exp(-.5 * u * u) / np.sqrt(2 * np.pi); "
    "(d * (u * (2 * ndtr(u) - 1) + 2 * w - 1 / np.sqrt(np.pi))).mean(), (.5 * u * u + np.log(d)).mean()"
)


def counts(name: str, dtype: str, masked: bool) -> Row:
    shape = "200_000, 100" if name == "200k × 100" else "20_000, 1000"
    data = f"N = r.random(({shape}), dtype='f4').astype('{dtype}'); p = r.random(len(N)).astype('{dtype}')"
    lines = Work("(N > p[:, None]).sum(1), (N == p[:, None]).sum(1)")
    plain = dtype == "f4" and not masked
    return Row(
        f"rank counts {name} {dtype}{', masked' * masked}",
        data + MASK * masked,
        Work(f"_core.rank_counts(p, N, {'M' if masked else 'None'}, T)", SETUP),
        ({"NumPy": lines} if plain else {})
        | {
            EARLIER: Work(
                "masked_counts(p, N, M, threads=T); settle()" if masked else "row_counts(p, N, threads=T); settle()",
                f"{OLD}from graphgauge.kernels.counting import masked_counts, row_counts",
            )
        },
        "N",
        (warm(1.3 if dtype != "f2" and not masked else 2.5, READ), *([first(0.4, "NumPy")] if plain else [])),
    )


def lists(positives: int) -> Row:
    return Row(
        f"lists 2000 × 10,000 f4, {positives} positives",
        CANDIDATES.format(positives),
        Work("_core.list_places(s, b, P, F, T)", SETUP),
        {
            "argsort": Work("np.argsort(-s.reshape(2000, 10_000), axis=1)"),
            EARLIER: Work(
                "list_places(s, P, b[:-1], np.diff(b), np.diff(F), threads=T); settle()",
                f"{OLD}from graphgauge.kernels.lists import list_places",
            ),
        },
        "s",
        (faster(5 if positives <= 10 else 2, "argsort"),),
    )


def errors(dtype: str, masked: bool) -> Row:
    mask, asked = ("m", 0) if masked else ("None", 0b11 << 6)
    lines = Work("np.abs(y - f)[m].mean(); np.sqrt(((y - f)[m] ** 2).mean())")
    parts = ("errors", "bias", "size") if masked else ("errors", "bias", "size", "relative", "symmetric")
    return Row(
        f"point errors 2000 × 12 × 200 {dtype}{', masked' * masked}",
        FORECAST.format(dtype),
        Work(f"_core.error_sums(y, f, None, {mask}, {asked}, none, 0, 2000, 2000, T)", SETUP),
        ({"NumPy": lines} if masked else {})
        | {
            EARLIER: Work(
                f"error_sums(y, f, mask={mask}, parts={parts}); settle()",
                f"{OLD}from graphgauge.kernels.forecast import error_sums",
            )
        },
        "y, f",
        (first(0.6, "NumPy"),) if masked else (warm(4 if dtype == "f4" else 2.5, READ),),
    )


ROWS = (
    *(
        counts(*each)
        for each in (
            ("200k × 100", "f4", False),
            ("20k × 1000", "f4", False),
            ("200k × 100", "f8", False),
            ("200k × 100", "f2", False),
            ("200k × 100", "f4", True),
        )
    ),
    *(lists(positives) for positives in (1, 10, 100, 1000)),
    *(errors(*each) for each in (("f4", True), ("f4", False), ("f8", False))),
    Row(
        "Gaussian scores 2000 × 12 × 200 f8",
        FORECAST.format("f8"),
        Work("_core.error_sums(y, f, d, None, 0b11 << 10, none, 0, 2000, 2000, T)", SETUP),
        {
            "SciPy": Work(GAUSSIAN, "from scipy.special import ndtr"),
            EARLIER: Work(
                "error_sums(y, f, d, parts=('errors', 'bias', 'size', 'scores')); settle()",
                f"{OLD}from graphgauge.kernels.forecast import error_sums",
            ),
        },
        "y, f, d",
        (faster(2, "SciPy"),),
    ),
    Row(
        "Hamming and Jaccard 2000 × 594",
        PACKED.format(2000),
        Work("_core.common_bits(w, T)", SETUP),
        {
            "SciPy": Work("pdist(B, 'hamming'), pdist(B, 'jaccard')", PDIST),
            EARLIER: Work(
                "common_bits(B, threads=T); settle()", f"{OLD}from graphgauge.kernels.pairs import common_bits"
            ),
        },
        "B",
        (first(0.1, "SciPy"),),
    ),
    Row(
        "Hamming and Jaccard 5003 × 594",
        PACKED.format(5003),
        Work("_core.common_bits(w, T)", SETUP),
        {
            "SciPy": Work("pdist(B, 'hamming'), pdist(B, 'jaccard')", PDIST),
            EARLIER: Work(
                "common_bits(B, threads=T); settle()", f"{OLD}from graphgauge.kernels.pairs import common_bits"
            ),
        },
        "B",
        (faster(100, "SciPy"),),
    ),
    Row(
        "AUC and AP of 10M scores f4",
        "y = r.random(10_000_000, dtype='f4') < .1; s = r.random(10_000_000, dtype='f4') + .1 * y.astype('f4')",
        Work(
            "p, n = np.sort(s[y]), np.sort(s[~y]); v, c = np.unique(p, return_counts=True); "
            "v, c = v[::-1].copy(), c[::-1]; a, e = _core.merged_counts(v, n, T); t = np.cumsum(c); "
            "(c * (len(n) - a - e / 2)).sum() / len(p) / len(n), (c * t / (t + a + e)).sum() / len(p)",
            SETUP,
        ),
        {
            "scikit-learn": Work(
                "roc_auc_score(y, s), average_precision_score(y, s)",
                "from sklearn.metrics import average_precision_score, roc_auc_score",
            )
        },
        "s",
        (faster(20, "scikit-learn"),),
    ),
    Row(
        "silhouette 5000 × 32",
        "X = r.random((5000, 32)); c = np.sort(r.integers(0, 8, 5000))",
        Work("_core.group_distances(X, X, c, 8, T)", SETUP),
        {
            "scikit-learn": Work("silhouette_samples(X, c)", "from sklearn.metrics import silhouette_samples"),
            EARLIER: Work(
                "silhouettes(X, c, threads=T); settle()", f"{OLD}from graphgauge.kernels.silhouette import silhouettes"
            ),
        },
        "X",
        (faster(2, "scikit-learn"),),
    ),
    Row(
        "PRDC of bits 2000 + 2000 × 594",
        PACKED.format(2000),
        Work(
            "a, b = (_core.kth_distances(x, 5, T) for x in (w, v)); _core.ball_counts(w, a, v, b, T)",
            SETUP,
        ),
        {
            "scikit-learn": Work(
                "g = K(n_neighbors=6).fit(A).kneighbors(A)[0][:, -1]; K().fit(B).kneighbors(A); "
                "K().fit(B).kneighbors(B); K().fit(A).radius_neighbors(B, g.max())",
                "from sklearn.neighbors import NearestNeighbors as K",
            )
        },
        "A, B",
        (faster(5, "scikit-learn"),),
    ),
    Row(
        "orbits of 500 graphs of 100 nodes",
        "E = r.random((500, 100, 100)) < .08; E |= E.transpose(0, 2, 1); E &= ~np.eye(100, dtype=bool); "
        "e = np.argwhere(E); e = e[:, 1:] + 100 * e[:, :1]; c = np.searchsorted(e[:, 0], np.arange(50_001)); "
        "n = e[:, 1].copy()",
        Work("_core.orbits(c, n, T)", SETUP),
        {
            EARLIER: Work(
                "from_csr(); settle()",
                f"{OLD}from graphgauge.kernels.orbits import Neighbourhoods, node_orbits, _walk\n"
                "def from_csr():\n"
                "    k, q = np.zeros(len(n), np.int64), np.zeros(len(c) - 1, np.int64)\n"
                "    _walk.implementation(int((np.diff(c).astype(float) ** 2).sum()))(c, n, k, q)\n"
                "    return node_orbits(Neighbourhoods(c, n, k, q))",
            )
        },
        limits=(warm(1, EARLIER),),
    ),
    Row(
        "pair codes d = 5000 f4",
        "Y = (r.random((5000, 5000)) < .002).astype('f4'); S = r.random((5000, 5000), dtype='f4')",
        Work(
            "a = _core.cell_bits(S, 5000, -np.inf, .5, T)[0]; b = _core.cell_bits(Y, 5000, 0., 0., T)[0]; "
            "_core.pair_states(b, a, 5000, T)",
            SETUP,
        ),
        {
            EARLIER: Work(
                "w = edge_bits(Y[None], S[None], .5, absolute=False, loopless=1, threads=T); "
                "pair_table(w[0], w[1], 5000, threads=T); settle()",
                f"{OLD}from graphgauge.kernels.graphs import edge_bits, pair_table",
            )
        },
        "Y, S",
        (warm(2, READ),),
    ),
)
