"""Every metric from its definition, cell by cell, in plain Python: slow, and with none of the code that is tested."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Cell = dict[str, Any]


def cells(
    y: np.ndarray,
    *,
    mask: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    **arrays: np.ndarray,
) -> Iterator[Cell]:
    """The cells that count, of arrays (time, horizon, node)."""
    for index in np.ndindex(y.shape):
        if mask is None or mask[index]:
            known = {name: np.asarray(array[index], float) for name, array in arrays.items()}
            yield {
                "y": float(y[index]),
                "node": index[2],
                "horizon": index[1],
                "w": 1.0 if weights is None else float(weights[index[2]]),
                **{name: float(value) if value.ndim == 0 else value for name, value in known.items()},
            }


def mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(v * w for v, w in zip(values, weights, strict=True)) / math.fsum(weights)


def phi(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def errors(sample: Sequence[Cell]) -> dict[str, float]:
    e, y = [c["mean"] - c["y"] for c in sample], [c["y"] for c in sample]
    f, w = [c["mean"] for c in sample], [c["w"] for c in sample]
    seen = [i for i, value in enumerate(y) if value != 0]
    centre = mean(y, w)
    return {
        "mae": mean(list(map(abs, e)), w),
        "rmse": math.sqrt(mean([x * x for x in e], w)),
        "mse": mean([x * x for x in e], w),
        "bias": mean(e, w),
        "mape": mean([abs(e[i] / y[i]) for i in seen], [w[i] for i in seen]),
        "wape": mean(list(map(abs, e)), w) / mean(list(map(abs, y)), w),
        "smape": mean([2 * abs(a) / (abs(b) + abs(c)) if b or c else 0.0 for a, b, c in zip(e, y, f, strict=True)], w),
        "r2": 1 - mean([x * x for x in e], w) / mean([(x - centre) ** 2 for x in y], w),
    }


def gaussian(sample: Sequence[Cell], level: float) -> dict[str, float]:
    from statistics import NormalDist

    half = NormalDist().inv_cdf((1 + level) / 2)
    w = [c["w"] for c in sample]
    scores: dict[str, list[float]] = {name: [] for name in ("nll", "crps", "coverage", "width", "score", "var")}
    for c in sample:
        s, z = c["std"], (c["y"] - c["mean"]) / c["std"]
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        scores["nll"].append(math.log(s) + z * z / 2 + math.log(2 * math.pi) / 2)
        scores["crps"].append(s * (z * (2 * phi(z) - 1) + 2 * density - 1 / math.sqrt(math.pi)))
        scores["coverage"].append(float(abs(z) <= half))
        scores["width"].append(2 * half * s)
        scores["score"].append(2 * half * s + 2 / (1 - level) * max(abs(c["y"] - c["mean"]) - half * s, 0.0))
        scores["var"].append(s * s)
    name = f"{100 * level:g}"
    return {
        "nll": mean(scores["nll"], w),
        "crps": mean(scores["crps"], w),
        "sharpness": math.sqrt(mean(scores["var"], w)),
        f"coverage_{name}": mean(scores["coverage"], w),
        f"width_{name}": mean(scores["width"], w),
        f"interval_score_{name}": mean(scores["score"], w),
    }


def binned(sample: Sequence[Cell], bins: int) -> dict[str, float]:
    """`ece` and `ence`: a cell is in the bin of the mean rank of the cells with its standard deviation."""
    stds = [c["std"] for c in sample]
    groups: dict[int, list[Cell]] = {}
    for c in sample:
        less, equal = sum(s < c["std"] for s in stds), sum(s == c["std"] for s in stds)
        groups.setdefault(bins * (2 * less + equal - 1) // (2 * len(stds)), []).append(c)
    ece = ence = 0.0
    for group in groups.values():
        rmse = math.sqrt(sum((c["mean"] - c["y"]) ** 2 for c in group) / len(group))
        rmv = math.sqrt(sum(c["std"] ** 2 for c in group) / len(group))
        ece += len(group) / len(stds) * abs(rmse - rmv)
        ence += abs(rmse - rmv) / rmv / len(groups)
    return {"ece": ece, "ence": ence}


def reliability(sample: Sequence[Cell]) -> dict[str, float]:
    """Of Gaussians or members; a truth among m members lies anywhere between the ends of its ranks."""
    grid, below = [k / 100 for k in range(1, 100)], []
    for p in grid:
        total = 0.0
        for c in sample:
            if "members" in c:
                less, equal = (c["members"] < c["y"]).sum(), (c["members"] == c["y"]).sum()
                total += min(max((p * (len(c["members"]) + 1) - less) / (equal + 1), 0.0), 1.0)
            else:
                total += phi((c["y"] - c["mean"]) / c["std"]) <= p
        below.append(total / len(sample))
    central = [below[98 - k] - below[k] for k in range(49)]
    return {
        "calibration_error": sum(abs(b - p) for b, p in zip(below, grid, strict=True)) / 99,
        "central_calibration_error": sum(abs(c - (98 - 2 * k) / 100) for k, c in enumerate(central)) / 49,
    }


def pinball(c: Cell, place: int, level: float) -> float:
    away = c["y"] - c["quantiles"][place]
    return max(level * away, (level - 1) * away)


def quantiles(sample: Sequence[Cell], levels: Sequence[float]) -> dict[str, float]:
    w = [c["w"] for c in sample]
    each = [mean([pinball(c, k, level) for c in sample], w) for k, level in enumerate(levels)]
    middles = [0.0, *((a + b) / 2 for a, b in itertools.pairwise(levels)), 1.0]
    nearest = [b - a for a, b in itertools.pairwise(middles)]
    found = {
        "pinball": sum(each) / len(each),
        "crps": sum(2 * share * loss for share, loss in zip(nearest, each, strict=True)),
        "wql": 2 * sum(each) / len(each) / mean([abs(c["y"]) for c in sample], w),
        **{f"pinball_{100 * level:g}": loss for level, loss in zip(levels, each, strict=True)},
    }
    for k in range(len(levels) // 2):
        low, high, level = k, len(levels) - 1 - k, levels[len(levels) - 1 - k] - levels[k]
        inside = [float(c["quantiles"][low] <= c["y"] <= c["quantiles"][high]) for c in sample]
        wide = [c["quantiles"][high] - c["quantiles"][low] for c in sample]
        out = [max(c["quantiles"][low] - c["y"], c["y"] - c["quantiles"][high], 0.0) for c in sample]
        name = f"{100 * level:g}"
        found[f"coverage_{name}"], found[f"width_{name}"] = mean(inside, w), mean(wide, w)
        found[f"interval_score_{name}"] = mean([a + 2 / (1 - level) * b for a, b in zip(wide, out, strict=True)], w)
    return found


def ensemble(sample: Sequence[Cell]) -> dict[str, float]:
    w, plain, fair = [c["w"] for c in sample], [], []
    for c in sample:
        x, m = c["members"], len(c["members"])
        away = math.fsum(abs(v - c["y"]) for v in x) / m
        apart = math.fsum(abs(a - b) for a in x for b in x)
        plain.append(away - apart / (2 * m * m))
        fair.append(away - apart / (2 * m * (m - 1)))
    return {"crps": mean(plain, w), "crps_fair": mean(fair, w)}


def scaled(sample: Sequence[Cell], history: np.ndarray, season: int) -> dict[str, float]:
    change = history[season:] - history[:-season]
    size, square = np.abs(change).mean(axis=0), np.square(change).mean(axis=0)
    known = [c for c in sample if size[c["node"]] > 0]
    w = [c["w"] for c in known]
    return {
        "mase": mean([abs(c["mean"] - c["y"]) / size[c["node"]] for c in known], w),
        "rmsse": math.sqrt(mean([(c["mean"] - c["y"]) ** 2 / square[c["node"]] for c in known], w)),
    }
