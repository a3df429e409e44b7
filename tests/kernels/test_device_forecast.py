"""Sums over tensors of forecasts, tested against the host's; on CPU tensors, or CUDA where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import ndtri

from graphgauge.kernels import device_forecast
from graphgauge.kernels.device_forecast import Asked, CellSums, cell_sums
from graphgauge.kernels.forecast import PARTS, error_sums
from graphgauge.kernels.forecast_calibration import pit_counts

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
EDGES = ndtri(np.arange(1, 100) / 100)
WIDTHS = tuple(ndtri((1 + np.array([0.5, 0.8, 0.95])) / 2))


def cells(shape: tuple[int, int, int], dtype: str, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Truths, some at an edge of a percentile or of an interval, some 0; forecasts and their standard deviations."""
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(3, 2, shape).astype(dtype), rng.uniform(0.1, 2, shape).astype(dtype)
    y = (mean + std * rng.normal(size=shape)).astype(dtype)
    y[rng.random(shape) < 0.1] = 0
    at_edge = rng.random(shape) < 0.2
    y = np.where(at_edge, mean + std * rng.choice([*EDGES, *WIDTHS], shape), y).astype(dtype)
    return y, mean, std


def expected(
    arrays: tuple[Any, ...], mask: Any, edges: np.ndarray, place: np.ndarray, parts: tuple[str, ...], widths: Any
) -> CellSums:
    y, mean, std = arrays
    shape = (len(edges) - 1, y.shape[1]), (int(place[-1]) + 1, y.shape[2])
    found = []
    for block in range(len(edges) - 1):
        part = slice(edges[block], edges[block + 1])
        given = [None if each is None else each[part] for each in (y, mean, std, mask)]
        sums = error_sums(*given, z=widths, parts=parts, only_asked=True)
        pit = None if std is None else pit_counts(*given, edges=EDGES)
        found.append((sums, pit))
    high, counts = (np.stack([getattr(sums[0], name) for sums, _ in found]) for name in ("high", "counts"))
    nodes = [np.zeros((*shape[1], table.shape[-1]), table.dtype) for table in (high, counts)]
    for block, (sums, _) in enumerate(found):
        nodes[0][place[block]] += sums[1].high
        nodes[1][place[block]] += sums[1].counts
    pits = (
        None if std is None else (np.stack([pit[0] for _, pit in found]), sum(pit[1].astype(int) for _, pit in found))
    )
    one, two = (device_forecast.Sums(table, 0 * table, whole) for table, whole in ((high, counts), tuple(nodes)))
    return CellSums(one, two, *((None, None) if pits is None else pits))


def same(found: CellSums, wanted: CellSums, rtol: float) -> None:
    for mine, theirs in ((found.by_horizon, wanted.by_horizon), (found.by_node, wanted.by_node)):
        np.testing.assert_array_equal(mine.counts[..., : theirs.counts.shape[-1]], theirs.counts)
        np.testing.assert_allclose(mine.high, theirs.high, rtol=rtol, atol=rtol * np.abs(theirs.high).max(initial=0))
    for mine, theirs in ((found.pit, wanted.pit), (found.node_pit, wanted.node_pit)):
        if mine is not None or theirs is None:
            np.testing.assert_array_equal(mine, theirs)


CASES = {
    "traffic": ((41, 3, 7), [0, 5, 16, 32, 41], [0, 0, 1, 1]),
    "long blocks": ((560, 1, 3), [0, 270, 560], [0, 1]),
    "one series": ((700, 1, 1), [0, 100, 700], [0, 1]),
    "wide": ((5, 2, 300), [0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0]),
    "one cell": ((1, 1, 1), [0, 1], [0]),
}


def there(arrays: tuple[Any, ...]) -> list[Any]:
    return [None if each is None else torch.as_tensor(each, device=DEVICE) for each in arrays]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("form", ["gaussian", "masked", "point"])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_the_hosts(case: str, form: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_forecast, "_CELLS", 50)
    shape, edges, place = CASES[case]
    arrays = cells(shape, dtype)
    mask = np.random.default_rng(1).random(shape) < 0.7 if form == "masked" else None
    if form == "point":
        arrays = (*arrays[:2], None)
    parts, widths = PARTS, () if form == "point" else WIDTHS
    wanted = expected(arrays, mask, np.array(edges), np.array(place), parts, widths)
    asked = Asked(parts, widths, None if form == "point" else EDGES)
    found = cell_sums(*there((*arrays, mask)), np.array(edges), np.array(place), asked)
    same(found, wanted, 1e-12)


@pytest.mark.parametrize(
    "parts",
    [("errors",), ("errors", "size", "scores"), ("errors", "bias", "over", "relative"), ("errors", "symmetric")],
)
def test_only_what_is_asked_is_summed(parts: tuple[str, ...]) -> None:
    shape, edges, place = CASES["traffic"]
    arrays = cells(shape, "float64")
    wanted = expected(arrays, None, np.array(edges), np.array(place), parts, WIDTHS)
    found = cell_sums(*there((*arrays, None)), np.array(edges), np.array(place), Asked(parts, WIDTHS))
    same(found._replace(pit=wanted.pit, node_pit=wanted.node_pit), wanted, 1e-12)
