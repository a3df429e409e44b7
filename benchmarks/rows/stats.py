"""Comparisons over seeds and datasets."""

from __future__ import annotations

from benchmarks.harness import Row, Work, first, memory

ROWS = (
    Row(
        "compare 30 methods on 112 datasets",
        "R = [dict(method=f'm{i}', dataset=f'd{j}', seed=0, f1=r.random()) for i in range(30) for j in range(112)]",
        Work("str(F.compare(R, metric='f1'))", "from graphgauge import stats as F"),
        limits=(first(3), memory(500)),
    ),
)
