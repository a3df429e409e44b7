"""Vectors of eight numbers, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge.kernels.jit import Kernel, kernel, numba_enabled
from graphgauge.kernels.lanes import (
    LANES,
    address,
    bits,
    fill,
    first,
    lane,
    larger_first,
    load,
    load_every,
    load_some,
    of_bits,
    ones,
    root,
    some,
    store,
    store_some,
    where,
)

pytestmark = pytest.mark.skipif(not numba_enabled(), reason="numba is not there or switched off")
ROWS = 9


def _not_called(*_: Any) -> None:
    raise AssertionError


@kernel(twin=_not_called)
def work(numbers: Any, flags: Any, counts: Any, out: Any, tally: Any, count: int) -> int:
    a, to, integers = address(numbers), address(out), address(tally)
    one, other = load(a, 0), load_some(a, LANES, count)
    store(to, 0, abs(one - 2.0 * other) / (one + 1.0))
    large, small = larger_first(one, other)
    store(to, LANES, large)
    store(to, 2 * LANES, small)
    store(to, 3 * LANES, where((one <= other) & ~(other < 3.0) | (one > 2.0), root(large), fill(-1.0)))
    store(to, 4 * LANES, load_every(a, 1, 2, count))
    store_some(to, 5 * LANES, other, count)
    store(to, 6 * LANES, of_bits(((bits(one) >> 52) << 52) & -1 | 0))
    seen = first(count) & load(address(flags), 0)
    store(integers, 0, load(address(counts), 0) + ones(seen) - 1)
    store(integers, LANES, fill(7))
    return some(seen) * 1000 + int(lane(one, 3)) + lane(load(integers, LANES), 0)


def compiled(found: Kernel[Any, Any], args: tuple[Any, ...]) -> Any:
    call = found.implementation(0)
    return call._loop.dispatcher(*args)  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", range(1, LANES + 1))
def test_instructions_are_those_of_numpy(dtype: str, count: int) -> None:
    pytest.importorskip("numba")
    random = np.random.default_rng(count)
    numbers = random.uniform(0.1, 9.0, LANES + count).astype(dtype)
    flags, counts = random.random(LANES) < 0.5, np.arange(LANES)
    out, tally = np.full(ROWS * LANES, np.nan), np.zeros(2 * LANES, np.int64)
    answer = compiled(work, (numbers, flags, counts, out, tally, count))
    one, other = numbers[:LANES].astype(float), np.zeros(LANES)
    other[:count] = numbers[LANES:]
    there = np.arange(LANES) < count
    every = np.zeros(LANES)
    every[:count] = numbers[1 : 2 * count : 2]
    rows = out.reshape(ROWS, LANES)
    np.testing.assert_array_equal(rows[0], np.abs(one - 2 * other) / (one + 1))
    np.testing.assert_array_equal(rows[1], np.maximum(one, other))
    np.testing.assert_array_equal(rows[2], np.minimum(one, other))
    chosen = (one <= other) & ~(other < 3.0) | (one > 2.0)
    np.testing.assert_array_equal(rows[3], np.where(chosen, np.sqrt(rows[1]), -1.0))
    np.testing.assert_array_equal(rows[4], every)
    np.testing.assert_array_equal(rows[5], np.where(there, other, np.nan))
    np.testing.assert_array_equal(rows[6], 2.0 ** np.floor(np.log2(one)))
    np.testing.assert_array_equal(tally[:LANES], counts + (there & flags) - 1)
    assert answer == (there & flags).sum() * 1000 + int(one[3]) + 7


def test_a_nan_stays_in_the_pair() -> None:
    for pair in ((np.nan, 1.0), (1.0, np.nan)):
        assert sorted(map(str, larger_first(*pair))) == ["1.0", "nan"]
    with pytest.raises(TypeError, match="compiled loops only"):
        load(np.zeros(8), 0)
