"""All pairs by the path of CUDA devices, on the host's tensors: the counts of the host, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.kernels import device_pairs, pairs, poincare
from graphgauge.kernels.poincare import margins, squared_gaps

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@given(nodes=st.integers(0, 30), width=st.integers(1, 5), tile=st.sampled_from([1, 50, 1 << 9]), seed=st.integers(0, 9))
def test_closer_pairs_are_the_hosts(nodes: int, width: int, tile: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few places, so that distances tie, or any.
    columns = rng.choice([-0.4, -0.2, 0.0, 0.2], (width, nodes)) if seed % 2 else rng.uniform(-0.4, 0.4, (width, nodes))
    rows, margin = np.ascontiguousarray(columns.T), margins(columns)
    first, second = rng.integers(0, max(nodes, 1), (2, 12 if nodes else 0))
    squares = squared_gaps(rows, first, second)
    q = np.append(squares / (margin[first] * margin[second]), [0.0, 1e9])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_pairs, "_TILE", tile)
        found = device_pairs.closer_pairs(columns, margin, q, DEVICE)
        straight = device_pairs.closer_pairs(columns, None, np.append(squares, 0.0), DEVICE)
    for mine, theirs in zip(found, poincare.closer_pairs(columns, margin, q), strict=True):
        assert np.array_equal(mine, theirs)
    every = squared_gaps(rows, *np.triu_indices(nodes, 1))
    for value, closer, equal in zip(-straight.values, straight.greater, straight.equal, strict=True):
        assert (closer, equal) == (np.count_nonzero(every < value), np.count_nonzero(every == value))


@given(
    rows=st.integers(0, 20),
    width=st.integers(0, 9),
    side=st.sampled_from([1, 3, 2048]),
    table=st.sampled_from([1, 1 << 24]),
    seed=st.integers(0, 9),
)
def test_bits_in_common_are_the_hosts(rows: int, width: int, side: int, table: int, seed: int) -> None:
    bits = np.random.default_rng(seed).random((rows, width)) < seed / 9
    given = torch.as_tensor(bits, device=DEVICE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_pairs, "_SIDE", side)
        patch.setattr(device_pairs, "_TABLE", table)
        assert device_pairs.hamming_sums(given) == pairs.hamming_sums(bits)
        found, expected = device_pairs.common_bits(given), pairs.common_bits(bits)
    cells = [sorted(zip(*(column.tolist() for column in each[:3]), strict=True)) for each in (found, expected)]
    assert cells[0] == cells[1]
    assert found.row_similarity.tobytes() == expected.row_similarity.tobytes()


def test_the_device_is_not_waited_for_in_every_tile(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    bits, columns = rng.random((50, 12)) < 0.4, rng.uniform(-0.4, 0.4, (3, 50))
    asked = {
        "hamming": lambda: device_pairs.hamming_sums(simulated.put(bits)),
        "common": lambda: device_pairs.common_bits(simulated.put(bits)),
        "closer": lambda: device_pairs.closer_pairs(columns, margins(columns), np.array([0.1, 0.2]), "cuda"),
    }
    for ask in asked.values():
        waits = []
        for tile, side in ((40, 3), (1 << 22, 1 << 11)):
            monkeypatch.setattr(device_pairs, "_TILE", tile)
            monkeypatch.setattr(device_pairs, "_SIDE", side)
            simulated.waits = 0
            ask()
            waits.append(simulated.waits)
        assert waits[0] == waits[1] <= 2


def test_counts_are_exact_under_autocast() -> None:
    """Validation often runs inside it: products of more than 256 bits would be rounded."""
    bits = np.random.default_rng(6).random((20, 3001)) < 0.7
    given = torch.as_tensor(bits, device=DEVICE)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert device_pairs.hamming_sums(given) == pairs.hamming_sums(bits)
        found = device_pairs.common_bits(given)
    assert found.row_similarity.tobytes() == pairs.common_bits(bits).row_similarity.tobytes()
