from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from graphgauge.kernels import forecast_calibration as module
from graphgauge.kernels import threads
from graphgauge.kernels.forecast_calibration import STD_BITS, StdCells, pit_counts, places_of, std_cells
from graphgauge.kernels.forecast_ensemble import ensemble_crps

EDGES = np.array([NormalDist().inv_cdf(p / 100) for p in range(1, 100)])
SHAPES = [(50, 3, 7), (1, 1, 1), (1000, 1, 1), (7, 2, 600), (0, 2, 3), (4, 2, 0)]


def drawn(shape: tuple[int, ...], dtype: str, hidden: bool, spread: float = 1.0) -> dict[str, Any]:
    random = np.random.default_rng(0)
    y, mean = (random.standard_normal(shape).astype(dtype) for _ in range(2))
    std = np.exp(random.uniform(-spread, spread, shape)).astype(dtype)
    std[random.random(shape) < 0.3] = 1.25
    if not hidden:
        return {"y": y, "mean": mean, "std": std}
    mask = random.random(shape) < 0.7
    y[~mask], std[~mask] = np.nan, -1.0
    return {"y": y, "mean": mean, "std": std, "mask": mask}


def seen(cells: dict[str, Any]) -> Any:
    return cells.get("mask", np.ones(cells["y"].shape, bool))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hidden", [False, True])
def test_places_within_the_forecast(shape: tuple[int, ...], dtype: str, hidden: bool) -> None:
    cells = drawn(shape, dtype, hidden)
    found = pit_counts(**cells, edges=EDGES)
    y, mean, std = (np.asarray(cells[name], np.float64) for name in ("y", "mean", "std"))
    with np.errstate(invalid="ignore"):
        below = ((y - mean) / std)[..., np.newaxis] <= EDGES
    for table, others in zip(found, ((0, 2), (0, 1)), strict=True):
        counted = (below & seen(cells)[..., np.newaxis]).sum(others)
        np.testing.assert_array_equal(np.cumsum(table, axis=1)[:, :-1], counted)
        np.testing.assert_array_equal(table.sum(1), seen(cells).sum(others))


@pytest.mark.parametrize("edges", [EDGES, [0.0], [-1.0, 0.0, 1e-9, 5.0], np.array([1e-300, 1.0, 1e9])])
def test_an_edge_belongs_to_the_bin_below(edges: Any) -> None:
    edges = np.asarray(edges)
    y = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), [-1e300, 1e300]])
    shape = (1, 1, y.size)
    found, _ = pit_counts(y.reshape(shape), np.zeros(shape), np.ones(shape), edges=edges)
    expected = np.bincount(np.searchsorted(edges, y), minlength=edges.size + 1)
    assert found[0].tolist() == expected.tolist()


def listed(cells: StdCells) -> list[tuple[int, int, float, float, float]]:
    columns = cells.key, cells.count, cells.square[:, 0], cells.var[:, 0], cells.var2[:, 0]
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("most", [1 << 18, 0])
def test_errors_by_standard_deviation(
    shape: tuple[int, ...], dtype: str, hidden: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_KEYS", most)
    cells = drawn(shape, dtype, hidden)
    for horizon, found in enumerate(std_cells(**cells)):
        groups: dict[int, list[tuple[Fraction, ...]]] = {}
        for y, mean, std, counted in zip(
            *(cells[name][:, horizon].ravel().tolist() for name in ("y", "mean", "std")),
            seen(cells)[:, horizon].ravel().tolist(),
            strict=True,
        ):
            if counted:
                key = int(np.float64(std).view(np.int64)) >> (52 - STD_BITS)
                square, var = (mean - y) * (mean - y), std * std
                groups.setdefault(key, []).append(tuple(map(Fraction, (square, var, var * var))))
        expected = [
            (key, len(group), *(float(sum(column)) for column in zip(*group, strict=True)))
            for key, group in sorted(groups.items())
        ]
        assert listed(found) == expected


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_what_is_no_standard_deviation_is_left_out(bad: float) -> None:
    std = np.array([1.0, bad, 2.0]).reshape(1, 1, 3)
    assert std_cells(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), std)[0].count.tolist() == [1, 1]
    only = np.full((1, 1, 3), bad)
    assert std_cells(np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), only)[0].count.size == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hidden", [False, True])
def test_the_places_of_some_keys(dtype: str, hidden: bool) -> None:
    cells = drawn((40, 2, 70), dtype, hidden)
    of_cell = cells["std"].astype(np.float64).view(np.int64) >> (52 - STD_BITS)
    # The lowest and the highest key among them, and neither.
    for keys in (np.unique(of_cell)[[0, 3, 8, -1]], np.unique(of_cell)[3:30:5]):
        wanted = np.isin(of_cell, keys) & seen(cells)
        assert 0 < wanted.sum() < wanted.size
        found = places_of(cells["std"], cells.get("mask"), keys=keys)
        np.testing.assert_array_equal(found, np.flatnonzero(wanted))
    assert places_of(cells["std"], keys=keys[:0]).size == 0
    assert places_of(np.zeros((0, 2, 3)), keys=keys).size == 0


# ------------------------------------------------------------------------------------------------- ensembles


def pairwise(y: Any, samples: Any, fair: bool) -> Any:
    samples = samples.astype(np.float64)
    members = samples.shape[1]
    apart = np.abs(samples[:, :, np.newaxis] - samples[:, np.newaxis]).sum((1, 2)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(samples - y[:, np.newaxis]).mean(1) - apart / (members * (members - fair))


@pytest.mark.parametrize("members", [1, 2, 3, 5, 8, 31, 50, 64, 65])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("fair", [False, True])
def test_ensembles_pair_by_pair(members: int, dtype: str, fair: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BLOCK_WORK", 1000)
    random = np.random.default_rng(members)
    y = random.standard_normal(131)
    samples = np.round(3 * random.standard_normal((131, members))).astype(dtype)
    found = ensemble_crps(y, samples, fair=fair)
    np.testing.assert_allclose(found, pairwise(y, samples, fair), rtol=1e-12, atol=1e-13)


def test_ensembles_far_from_zero_keep_their_digits() -> None:
    random = np.random.default_rng(7)
    y, samples = random.standard_normal(100), random.standard_normal((100, 20))
    moved = ensemble_crps(y + 2.0**30, samples + 2.0**30)
    np.testing.assert_allclose(moved, pairwise(y + 2.0**30, samples + 2.0**30, False), rtol=1e-6)


def test_no_ensembles_and_wrong_shapes() -> None:
    assert ensemble_crps(np.zeros(0), np.zeros((0, 3))).shape == (0,)
    for y, samples in ((np.zeros(2), np.zeros((3, 2))), (np.zeros(2), np.zeros(2)), (np.zeros(2), np.zeros((2, 0)))):
        with pytest.raises(ValueError, match="members"):
            ensemble_crps(y, samples)
