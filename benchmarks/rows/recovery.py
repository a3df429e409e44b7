"""Learned graphs against true ones."""

from __future__ import annotations

from benchmarks.harness import Row, Work, faster, first, memory

SETUP = "from graphgauge import recovery as F"
DENSE = "Y = (r.random(({0}, {0})) < .002).astype('{1}'); np.fill_diagonal(Y, 0); S = r.random(({0}, {0}))"

ROWS = (
    Row(
        "d = 2000 dense, all defaults",
        DENSE.format(2000, "i1"),
        Work("[x.value for x in F.evaluate(Y, S).values()]", SETUP),
        {
            "NumPy": Work(
                "h = S > .5; np.fill_diagonal(h, False); w = Y > 0; (h & w).sum(), (h & ~w).sum(), (~h & w).sum(); "
                "s = h | h.T; u = w | w.T; (s != u).sum()"
            )
        },
        "Y, S",
        (first(6, "NumPy"),),
    ),
    Row(
        "SHD, d = 5000",
        DENSE.format(5000, "f8"),
        Work("F.shd(Y, S, threshold=.5)", SETUP),
        {
            "cdt": Work(
                "SHD(Y, H, double_for_anticausal=False)", "from cdt.metrics import SHD; H = (S > .5).astype(float)"
            )
        },
        "Y, S",
        (faster(3, "cdt"),),
    ),
    Row(
        "AP and ROC-AUC, d = 5000",
        DENSE.format(5000, "i1"),
        Work("F.evaluate(Y, S, metrics=['auprc', 'roc_auc'])", SETUP),
        {
            "scikit-learn": Work(
                "average_precision_score(y, s), roc_auc_score(y, s)",
                "from sklearn.metrics import average_precision_score, roc_auc_score; o = ~np.eye(5000, dtype=bool); "
                "y, s = Y[o], S[o]",
            )
        },
        "Y, S",
        (faster(40, "scikit-learn"),),
    ),
    Row(
        "sparse, d = 100,000 with a million edges",
        "from scipy.sparse import random_array; Y, S = (random_array((100_000, 100_000), density=1e-4, rng=r, "
        "format='csr') for _ in range(2))",
        Work("F.evaluate(Y, S)", SETUP),
        limits=(first(2), memory(1000)),
    ),
)
