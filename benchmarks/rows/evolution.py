"""Graphs that rewrite themselves."""

from __future__ import annotations

from benchmarks.harness import Row, Work, warm

SETUP = "from graphgauge import evolution as F"
GRAPH = (
    "n = {0}; E = np.unique(np.sort(r.integers(0, n, ({1}, 2))), axis=0); E = E[E[:, 0] != E[:, 1]]; "
    "B = r.integers(0, n, ({2}, 2)); B = B[B[:, 0] != B[:, 1]]; G = np.vstack([E, B]); "
    "X = .1 * r.normal(size=(n, 16)); y = r.integers(0, 7, n)"
)

ROWS = (
    Row(
        "one cycle, 2,708 nodes, 5,429 edges, 300 births, without the probe",
        GRAPH.format(2708, 5429, 300),
        Work(
            "A = F.AdaptiveEvaluator(np.arange(n), y, metrics=['auc_synthetic', 'delta_homophily']); "
            "A.evaluate_cycle(X, B, G, cycle=0)",
            SETUP,
        ),
        limits=(warm(0.02),),
    ),
)
