"""Statistics: intervals of a million per-query values, and paired comparisons over them.

scipy draws far fewer resamples here than its default of 9,999, which would take many minutes. The closed forms have no
resampling error at all, so at equal accuracy its time is longer than shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.harness import Row, Work, faster, memory, seconds, uses
from graphgauge.old.stats import Runs, compare, load

N = 1_000_000


def reciprocal_ranks() -> np.ndarray:
    return 1 / np.random.default_rng(0).integers(1, 101, N)


def hits() -> np.ndarray:
    return (np.random.default_rng(0).random(N) < 0.3).astype(float)


def scores() -> np.ndarray:
    """One positive and one negative per query."""
    return np.random.default_rng(0).normal([[1.0], [0.0]], 1.0, (2, N)).astype(np.float32)


def differences() -> np.ndarray:
    random = np.random.default_rng(0)
    return 1 / random.integers(1, 101, N) - 1 / random.integers(1, 101, N)


def mean_interval(values: np.ndarray) -> Work:
    from graphgauge.old.stats.intervals import standard_error, t_interval

    def work() -> object:
        mean = values.mean()
        return t_interval(mean, *standard_error(values - mean, np.broadcast_to(1.0, len(values))), 0.95)

    return work


def share_interval(values: np.ndarray) -> Work:
    from graphgauge.old.stats.intervals import wilson_interval

    return lambda: wilson_interval(values.sum(), len(values), 0.95)


def auc_interval(values: np.ndarray) -> Work:
    from graphgauge.old.stats.intervals import delong, logit_t_interval

    offsets = np.arange(N + 1)
    return lambda: logit_t_interval(*delong(values[0], values[1], offsets), 0.95)


def by_scipy(statistic: Callable[..., object], resamples: int, *, axis: bool = True) -> Callable[[np.ndarray], Work]:
    @uses("scipy")
    def prepare(values: np.ndarray) -> Work:
        from scipy.stats import bootstrap

        sample = tuple(values) if values.ndim == 2 else (values,)
        return partial(
            bootstrap,
            sample,
            statistic,
            n_resamples=resamples,
            batch=1,
            method="percentile",
            rng=0,
            vectorized=axis,
            paired=values.ndim == 2,
        )

    return prepare


def auc_by_rank(pos: np.ndarray, neg: np.ndarray) -> float:
    from scipy.stats import rankdata

    m, n = len(pos), len(neg)
    return float((rankdata(np.concatenate((pos, neg)))[:m].sum() - m * (m + 1) / 2) / (m * n))


def sign_flips(values: np.ndarray) -> Work:
    from graphgauge.old.stats import paired_items

    return partial(paired_items, values, resamples=9_999)


def flips_by_numpy(values: np.ndarray) -> Work:
    """One draw after the other; scipy's permutation_test takes seconds per draw at this size."""
    random = np.random.default_rng(0)
    return lambda: [random.choice((-1.0, 1.0), len(values)) @ values for _ in range(99)]


def runs_of(methods: int, datasets: int, seeds: int) -> Runs:
    random = np.random.default_rng(0)
    scores = random.normal(0, 0.02, (methods, datasets, 1)) + random.normal(0.8, 0.01, (methods, datasets, seeds))
    return load(
        {"method": f"m{m}", "dataset": f"d{d}", "seed": s, "accuracy": float(scores[m, d, s])}
        for m in range(methods)
        for d in range(datasets)
        for s in range(seeds)
    )


def comparison(runs: Runs) -> Work:
    return lambda: compare(runs, metric="accuracy", direction="higher").to_json()


ROWS = (
    Row(
        "1M queries: MRR with its interval",
        make=reciprocal_ranks,
        ours=mean_interval,
        reads=lambda data: [data],
        peers={"scipy bootstrap, 199 draws": by_scipy(np.mean, 199)},
        goals=(faster(100, "scipy bootstrap, 199 draws"), memory(64)),
    ),
    Row(
        "1M queries: Hits@K with its interval",
        make=hits,
        ours=share_interval,
        reads=lambda data: [data],
        peers={"scipy bootstrap, 199 draws": by_scipy(np.mean, 199)},
        goals=(faster(100, "scipy bootstrap, 199 draws"), memory(64)),
    ),
    Row(
        "1M queries: pooled AUC with its interval",
        make=scores,
        ours=auc_interval,
        reads=lambda data: [data],
        rounds=3,
        peers={"scipy bootstrap, 199 draws": by_scipy(auc_by_rank, 199, axis=False)},
        goals=(faster(100, "scipy bootstrap, 199 draws"), memory(64)),
    ),
    Row(
        "1M paired differences: sign flips, 9,999 draws",
        make=differences,
        ours=sign_flips,
        rounds=2,
        peers={"NumPy loop, 99 draws": flips_by_numpy},
        goals=(seconds(10), memory(64)),
    ),
    Row(
        "4 methods × 112 datasets × 30 seeds: all pairs with intervals, as JSON",
        make=partial(runs_of, 4, 112, 30),
        ours=comparison,
        rounds=2,
        goals=(seconds(3), memory(512)),
    ),
    Row(
        "40 methods × 50 datasets × 5 seeds: all pairs with intervals, as JSON",
        make=partial(runs_of, 40, 50, 5),
        ours=comparison,
        rounds=2,
        goals=(seconds(8), memory(512)),
    ),
)
