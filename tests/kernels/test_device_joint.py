"""Joint scores and tables of tensors, tested against the host's; on CPU tensors, or CUDA where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from graphgauge.kernels import device_joint
from graphgauge.kernels.device_spread import FineTallies, SpreadTallies
from graphgauge.kernels.device_tables import ColumnSums, Tallies, packed
from graphgauge.kernels.forecast_calibration import SHIFT, spread_by_block, std_cells
from graphgauge.kernels.forecast_joint import energy_scores, offsets, variogram_scores

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def there(array: Any) -> Any:
    return torch.as_tensor(array, device=DEVICE)


@pytest.mark.parametrize("first", [0, 7, 2**40])
@pytest.mark.parametrize("members", [1, 2, 9, 1000])
def test_offsets_are_the_hosts(first: int, members: int) -> None:
    found = device_joint.offsets(first, 5, 13, members, DEVICE)
    np.testing.assert_array_equal(found.cpu(), offsets(first, 5, 13, members))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("at_once", [1, 200, 1 << 23])
@pytest.mark.parametrize("power", [0.5, 1.0, 0.7])
def test_joint_scores_are_the_hosts(dtype: str, at_once: int, power: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_joint, "_AT_ONCE", at_once)
    rng = np.random.default_rng(0)
    y, members, mask = rng.normal(size=(7, 5)), rng.normal(size=(7, 5, 6)), rng.random((7, 5)) < 0.6
    mask[0], mask[1], mask[2] = False, True, np.arange(5) == 3
    members[1] = y[1][:, None]
    y, members = y.astype(dtype), members.astype(dtype)
    pairs = np.array([[0, 1], [1, 4], [2, 3]])
    given = there(np.where(mask, y, 0)), there(np.where(mask[..., None], members, 0)), there(mask)
    close = {"rtol": 1e-12, "atol": 1e-14}
    for found, wanted in zip(
        (
            *device_joint.energy_scores(*given, 3),
            *device_joint.variogram_scores(given[0], given[1], pairs, given[2], 3, power=power),
        ),
        (*energy_scores(y, members, mask, first=3), *variogram_scores(y, members, pairs, mask, power=power, first=3)),
        strict=True,
    ):
        np.testing.assert_allclose(found.cpu(), wanted, **close)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("spread", [1.0, 1e-150])
def test_bins_of_spread_are_the_hosts(spread: float, parts: int, masked: bool) -> None:
    rng = np.random.default_rng(1)
    shape = (12, 3, 40)
    mean, y = rng.normal(size=(2, *shape))
    std = rng.choice([rng.uniform(0.1, 3, shape), np.full(shape, 0.5)])
    std[rng.random(shape) < 0.1] *= spread
    std[0, 0, :4] = 0, -1, np.inf, np.nan
    seen = rng.random(shape) < 0.7 if masked else np.ones(shape, bool)
    arrays = [there(each) for each in (y, mean, std, seen)]
    tallies, block = SpreadTallies(3, 3), there(np.arange(12) // 4)
    for part in np.array_split(np.arange(12), parts):
        tallies.add(*(each[part[0] : part[-1] + 1] for each in arrays), block[part[0] : part[-1] + 1])
    cells, excess = tallies.copied()
    wanted = std_cells(y, mean, std, seen)
    for mine, theirs in zip(cells, wanted, strict=True):
        np.testing.assert_array_equal(mine.key, theirs.key)
        np.testing.assert_array_equal(mine.count, theirs.count)
        for name in ("square", "var", "var2"):
            np.testing.assert_allclose(getattr(mine, name).sum(1), getattr(theirs, name).sum(1), rtol=1e-12)
    by_block = spread_by_block(y, mean, std, seen, blocks=3)
    np.testing.assert_allclose(sum(excess), sum(by_block), rtol=1e-12, atol=1e-12)
    keys = [wanted[0].key[:2], wanted[0].key[1:2], np.zeros(0, np.int64), wanted[2].key]
    fine = FineTallies(keys, DEVICE)
    fine.add(*arrays)
    kept = seen & (std > 0) & (std < np.inf)
    for group, (found, some) in enumerate(zip(fine.copied(), keys, strict=True)):
        chosen = kept & np.isin(std.view(np.int64) >> SHIFT, some)
        if group:
            chosen &= (np.arange(3) == group - 1)[None, :, None]
        distinct, counts = np.unique(std[chosen], return_counts=True)
        np.testing.assert_array_equal(found.key.view(np.float64), distinct)
        np.testing.assert_array_equal(found.count, counts)


def test_tallies_count_codes_and_add_their_numbers() -> None:
    tallies = Tallies()
    assert [part.size for part in tallies.copied()] == [0, 0, 0]
    for codes, numbers in (([5, 2, 5], [1.0, 2.0, 3.0]), ([], []), ([2, 9], [4.0, 5.0])):
        tallies.add(there(np.array(codes, np.int64)), there(np.array(numbers)))
    found = tallies.copied()
    assert [part.tolist() for part in found] == [[2, 5, 9], [2, 2, 1], [[6.0], [4.0], [5.0]]]
    assert [part.tolist() for part in found.between(3, 9)] == [[2], [2], [[4.0]]]


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_added_by_block_and_horizon_and_by_place_and_node(weighted: bool) -> None:
    rng = np.random.default_rng(2)
    values, counts = rng.normal(size=(12, 2, 5)), rng.random((12, 2, 5)) < 0.5
    weights = rng.random(5) if weighted else None
    sums = ColumnSums(DEVICE, 4, 2, 2, 5, None if weights is None else there(weights))
    place = there(np.array([0, 0, 1, 1]))
    for block, blocks, rows in ((0, 2, slice(0, 6)), (2, 1, slice(6, 7)), (2, 1, slice(7, 9)), (3, 1, slice(9, 12))):
        sums.add(block, place[block : block + blocks], [there(values[rows])], [there(counts[rows])])
    by_horizon, by_node = sums.copied()
    split = values.reshape(4, 3, 2, 5).sum(1), counts.reshape(4, 3, 2, 5).sum(1)
    wide = [split[0], split[1]] if weighted else [split[0]]
    factor = np.ones(5) if weights is None else weights
    np.testing.assert_allclose(by_horizon.high, np.stack([each @ factor for each in wide], -1))
    np.testing.assert_allclose(
        by_node.high, np.stack([each.reshape(2, 2, 2, 5).sum((1, 2)) for each in wide], -1), atol=1e-14
    )
    np.testing.assert_array_equal(by_horizon.counts[..., 0], split[1].sum(2))
    np.testing.assert_array_equal(by_node.counts[..., 0], split[1].reshape(2, 2, 2, 5).sum((1, 2)))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 24])
def test_bits_are_packed_as_by_numpy(size: int) -> None:
    bits = np.random.default_rng(size).random((3, size)) < 0.5
    np.testing.assert_array_equal(packed(there(bits)).cpu().numpy(), np.packbits(bits, axis=1))
