from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

from graphgauge.kernels.doubled import dd_add, folded, two_sum
from graphgauge.kernels.forecast import FLOATS, Sums, error_sums

Z = (0.5, 1.0, 1.5, 2.0)
OVER = len(FLOATS)
SHAPES = [(50, 3, 7), (1, 1, 1), (1000, 1, 1), (7, 2, 300), (3, 1, 1100), (0, 2, 3), (4, 0, 3), (4, 2, 0)]


def drawn(shape: tuple[int, ...], dtype: str = "float64", seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    y = random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)
    y[random.random(shape) < 0.1] = 0.0
    mean = np.where(random.random(shape) < 0.1, y, y + random.standard_normal(shape))
    std = 10.0 ** random.uniform(-4, 4, shape)
    return {"y": y.astype(dtype), "mean": mean.astype(dtype), "std": std.astype(dtype)}


def masked(cells: dict[str, Any], seed: int = 1) -> dict[str, Any]:
    """A third of the cells masked, and in these what no evaluation could bear."""
    random = np.random.default_rng(seed)
    mask = random.random(cells["y"].shape) > 1 / 3
    spoilt = {name: array.copy() for name, array in cells.items()}
    spoilt["y"][~mask], spoilt["mean"][~mask], spoilt["std"][~mask] = np.nan, np.inf, -1.0
    return {**spoilt, "mask": mask}


def cell_values(y: Any, mean: Any, std: Any) -> dict[str, Any]:
    """What one cell adds, from the definitions."""
    y, mean, std = (np.asarray(array, np.float64) for array in (y, mean, std))
    error, z = mean - y, (y - mean) / std
    size, scale = np.abs(error), np.abs(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        crps = std * (
            z * erf(z / math.sqrt(2)) + 2 * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) - 1 / math.sqrt(math.pi)
        )
        return {
            "abs": size,
            "square": error**2,
            "error": error,
            "y": y,
            "y2": y**2,
            "abs_y": scale,
            "ape": np.where(y == 0, 0.0, size / scale),
            "sape": np.where(scale + np.abs(mean) == 0, 0.0, 2 * size / (scale + np.abs(mean))),
            "std": std,
            "var": std**2,
            "nll": np.log(std) + z**2 / 2 + math.log(2 * math.pi) / 2,
            "crps": crps,
        }


def bits(sums: tuple[Sums, Sums]) -> list[bytes]:
    return [array.tobytes() for part in sums for array in (part.high, part.counts)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("hidden", [False, True])
def test_sums_are_those_of_the_definitions(shape: tuple[int, ...], dtype: str, hidden: bool) -> None:
    cells = drawn(shape, dtype)
    seen = np.ones(shape, bool)
    given = cells
    if hidden:
        given = masked(cells)
        seen = given["mask"]
    by_horizon, by_node = error_sums(**given, z=Z)
    values = cell_values(**cells)
    for part, axis in ((by_horizon, 1), (by_node, 2)):
        others = tuple(side for side in range(3) if side != axis)
        np.testing.assert_array_equal(part.counts[:, 0], seen.sum(others))
        np.testing.assert_array_equal(part.counts[:, 1], (seen & (cells["y"] != 0)).sum(others))
        assert not part.counts[:, 2].any()
        for column, name in enumerate(FLOATS):
            expected = np.where(seen, values[name], 0.0).sum(others)
            scale = np.where(seen, np.abs(values[name]), 0.0).sum(others)
            assert (np.abs(part.high[:, column] - expected) <= 1e-11 * scale).all(), name
        for level, half in enumerate(Z):
            reach = half * cells["std"].astype(np.float64)
            inside = seen & (values["abs"] <= reach)
            np.testing.assert_array_equal(part.counts[:, 3 + level], inside.sum(others))
            over = np.where(seen & ~inside, values["abs"] - reach, 0.0).sum(others)
            np.testing.assert_allclose(part.high[:, OVER + level], over, rtol=1e-12)


@pytest.mark.parametrize("levels", range(6))
@pytest.mark.parametrize("parts", [("errors",), ("size",)])
def test_any_number_of_half_widths(levels: int, parts: tuple[str, ...]) -> None:
    cells, z = drawn((40, 2, 9), "float32"), (0.1, 0.5, 1.0, 1.5, 2.0)[:levels]
    cells["std"][3, 1, 5] = 0.0
    inside = np.abs(cells["mean"].astype(float) - cells["y"])[..., None] <= np.array(z) * cells["std"][..., None]
    _, by_node = error_sums(**cells, z=z, parts=parts)
    np.testing.assert_array_equal(by_node.counts[:, 3:], inside.sum((0, 1)))
    assert by_node.counts[:, 2].tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0]


def test_any_division_of_the_cells_has_the_same_bits() -> None:
    cells = masked(drawn((64, 3, 37)))
    whole = bits(error_sums(**cells, z=Z))
    for pieces in (2, 5, 64):
        parts = [
            error_sums(**{name: array[rows] for name, array in cells.items()}, z=Z)
            for rows in np.array_split(np.arange(64), pieces)
        ]
        merged = []
        for side in range(2):
            high, low = folded(*(np.stack([getattr(part[side], name) for part in parts]) for name in ("high", "low")))
            merged += [two_sum(high, low)[0].tobytes(), sum(part[side].counts for part in parts).tobytes()]
        assert merged == whole


def test_sums_are_rounded_once() -> None:
    """Against rational arithmetic, with cancellation that a plain sum would not survive."""
    random = np.random.default_rng(2)
    mean = np.concatenate([random.standard_normal(500) * 10.0 ** random.integers(-9, 10, 500), [1e16, -1e16, 1e-9]])
    by_horizon, _ = error_sums(np.zeros((503, 1, 1)), mean.reshape(-1, 1, 1), parts=("errors", "bias"))
    assert by_horizon.high[0, 2] == float(sum(map(Fraction, mean.tolist())))
    assert by_horizon.high[0, 0] == float(sum(map(Fraction, np.abs(mean).tolist())))


def test_squares_of_truths_lose_nothing() -> None:
    y = 1e8 + np.random.default_rng(3).random(1000)
    by_horizon, _ = error_sums(y.reshape(-1, 1, 1), np.zeros((1000, 1, 1)), parts=("size",))
    total, squares = (
        Fraction(by_horizon.high[0, FLOATS.index(name)]) + Fraction(by_horizon.low[0, FLOATS.index(name)])
        for name in ("y", "y2")
    )
    variance = float(squares / 1000 - (total / 1000) ** 2)
    assert variance == pytest.approx(float(y.var()), rel=1e-9)


@pytest.mark.parametrize("shape", [(6, 1, 2, 3), (5, 4, 3, 7), (3, 2000, 2, 5), (0, 2, 2, 2), (2, 0, 2, 2)])
def test_blocks_are_what_each_would_be_alone(shape: tuple[int, ...]) -> None:
    cells = masked(drawn(shape))
    together = error_sums(**cells, z=Z)
    assert [part.high.shape for part in together] == [(shape[0], side, OVER + len(Z)) for side in shape[2:]]
    for block in range(shape[0]):
        alone = error_sums(**{name: array[block] for name, array in cells.items()}, z=Z)
        assert bits((together[0].of_block(block), together[1].of_block(block))) == bits(alone)


# Blocks of several steps, and of one: of a few nodes, of several tiles, and of more steps than are added at once.
@pytest.mark.parametrize("shape", [(6, 4, 2, 5), (6, 1, 2, 5), (5, 1, 3, 301), (3, 1, 1, 5003), (20, 1, 2, 19)])
@pytest.mark.parametrize("hidden", [False, True])
def test_blocks_of_one_place_share_the_sums_by_node(shape: tuple[int, ...], hidden: bool) -> None:
    cells, place = drawn(shape, "float32"), np.sort(np.arange(shape[0]) % 2)
    if hidden:
        cells = masked(cells)
        cells["mask"][-1] = False
    alone, together = error_sums(**cells, z=Z), error_sums(**cells, z=Z, place=place)
    assert bits((alone[0], alone[0])) == bits((together[0], together[0]))
    for number in range(int(place[-1]) + 1):
        chosen = place == number
        high, low = folded(alone[1].high[chosen], alone[1].low[chosen])
        assert two_sum(high, low)[0].tobytes() == together[1].high[number].tobytes()
        assert (alone[1].counts[chosen].sum(0) == together[1].counts[number]).all()


def test_only_what_was_asked_is_returned() -> None:
    cells = drawn((20, 2, 5))
    whole, some = error_sums(**cells, z=Z), error_sums(**cells, z=Z, parts=("errors", "scores"), only_asked=True)
    columns = [FLOATS.index(name) for name in ("abs", "square", "nll", "crps")]
    for part, wanted in zip(some, whole, strict=True):
        assert part.high.tobytes() == wanted.high[:, columns].tobytes()


def test_layouts_and_dtypes_do_not_show() -> None:
    cells = drawn((40, 3, 5), "float32")
    expected = bits(error_sums(**cells, z=Z))
    assert bits(error_sums(**{name: array.astype(">f8") for name, array in cells.items()}, z=Z)) == expected
    strided = {name: np.repeat(array, 2, axis=2)[..., ::2] for name, array in cells.items()}
    assert bits(error_sums(**strided, z=Z)) == expected
    turned = {name: np.asfortranarray(array) for name, array in cells.items()}
    for array in turned.values():
        array.flags.writeable = False
    assert bits(error_sums(**turned, z=Z)) == expected


@pytest.mark.parametrize("bad", [0.0, -0.0, -1.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_no_standard_deviation_is_counted(bad: float, dtype: str) -> None:
    std = np.array([1e-45 if dtype == "float32" else 5e-324, 1.0, bad, 1e38], dtype).reshape(1, 1, 4)
    zeros = np.zeros((1, 1, 4), dtype)
    assert error_sums(zeros, zeros, std)[1].counts[:, 2].tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("argument", ["y", "mean"])
def test_what_is_no_number_shows_in_the_sums(bad: float, argument: str) -> None:
    cells = drawn((5, 1, 3))
    cells[argument][2, 0, 1] = bad
    columns = [FLOATS.index(name) for name in ("abs", "square", "nll", "crps")]
    finite = np.isfinite(error_sums(**cells, z=Z)[1].high[:, columns])
    assert finite[[0, 2]].all()
    assert not finite[1].any()


# -------------------------------------------------------------------------------------------------- precision


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [(-44.0, -30.0), (-4.0, 4.0), (30.0, 38.0)])
@pytest.mark.parametrize("reach", [1.0, 9.0, 1e3, 1e6])
def test_means_of_scores_are_right_to_ten_digits(dtype: str, spread: tuple[float, float], reach: float) -> None:
    """abs(z) up to a million, standard deviations from the smallest to the largest of float32."""
    random = np.random.default_rng(4)
    std = (10.0 ** random.uniform(*spread, 4000)).astype(dtype)
    with np.errstate(over="ignore"):
        mean = (std * random.uniform(-reach, reach, 4000)).astype(dtype)
    kept = np.isfinite(mean)
    std, mean = std[kept].astype(np.longdouble), mean[kept].astype(np.longdouble)
    shape = (kept.sum(), 1, 1)
    cells = [array.astype(dtype).reshape(shape) for array in (np.zeros(kept.sum()), mean, std)]
    sums, _ = error_sums(*cells, parts=("scores",))
    z = mean / std
    nll = (np.log(std) + z * z / 2 + np.log(2 * np.longdouble(np.pi)) / 2).sum()
    # The error function may be of ordinary precision: it is at most 1, and its errors are one in 10¹⁶.
    gauss = erf(np.abs(z).astype(np.float64) / math.sqrt(2)), np.exp(-z * z / 2) * np.sqrt(2 / np.longdouble(np.pi))
    crps = (std * (np.abs(z) * gauss[0] + gauss[1] - 1 / np.sqrt(np.longdouble(np.pi)))).sum()
    assert sums.high[0, FLOATS.index("nll")] == pytest.approx(float(nll), rel=1e-12)
    assert sums.high[0, FLOATS.index("crps")] == pytest.approx(float(crps), rel=1e-12)


@pytest.mark.parametrize("std", [5e-324, 1e-310, 2.0**-1022, 1e-200, 1e200, 1.7e308])
def test_standard_deviations_of_any_size(std: float) -> None:
    cell = np.zeros((1, 1, 1))
    sums, _ = error_sums(cell, cell, cell + std)
    assert sums.high[0, FLOATS.index("nll")] == pytest.approx(math.log(std) + math.log(2 * math.pi) / 2, rel=1e-15)
    assert sums.high[0, FLOATS.index("crps")] == pytest.approx((math.sqrt(2) - 1) / math.sqrt(math.pi) * std, rel=2e-14)


def test_far_away_the_crps_is_the_error() -> None:
    """z overflows, and the score does not."""
    sums, _ = error_sums(np.zeros((1, 1, 1)), np.full((1, 1, 1), 1e30), np.full((1, 1, 1), 1e-300))
    assert sums.high[0, FLOATS.index("crps")] == 1e30


# ------------------------------------------------------------------------------------------- two floats for a sum


def test_two_floats_hold_what_one_loses() -> None:
    random = np.random.default_rng(5)
    a, b = (random.standard_normal(1000) * 10.0 ** random.integers(-20, 20, 1000) for _ in range(2))
    total, lost = two_sum(a, b)
    for x, y, high, low in zip(a.tolist(), b.tolist(), total.tolist(), lost.tolist(), strict=True):
        assert Fraction(x) + Fraction(y) == Fraction(high) + Fraction(low)
    high, low = dd_add(total, lost, -a, np.zeros(1000))
    np.testing.assert_allclose(high + low, b, rtol=1e-15, atol=1e-11)


def test_errors_of_all_sizes_in_any_order() -> None:
    """More rows than are added at once, and what is left of them; against rational arithmetic."""
    random = np.random.default_rng(8)
    for rows in (1, 3, 4, 5, 11):
        mean = random.standard_normal((rows, 1, 600)) * 10.0 ** random.integers(-150, 150, (rows, 1, 600))
        for given in (mean, mean[::-1], np.sort(mean, axis=0)):
            _, by_node = error_sums(np.zeros(mean.shape), given, parts=("errors",))
            for node in range(0, 600, 50):
                cells = np.abs(mean[:, 0, node])
                assert by_node.high[node, 0] == float(sum(map(Fraction, cells.tolist())))
                assert by_node.high[node, 1] == float(sum(map(Fraction, (cells * cells).tolist())))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 64, 101])
def test_folding_any_number(size: int) -> None:
    values = np.random.default_rng(6).standard_normal((size, 2)) * 1e10
    high, low = folded(values, np.zeros_like(values))
    assert (high + low).tolist() == [float(sum(map(Fraction, column.tolist()))) for column in values.T]
