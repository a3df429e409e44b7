"""What runs on CUDA tensors, held to the host's counts; on host tensors, so that it is tried everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.kernels.counting import joint_histogram, row_counts
from graphgauge.kernels.device import device_counts, device_histogram


@pytest.mark.parametrize("block", [1, 7, 1 << 26])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_counts_are_the_hosts(block: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.kernels.device._BLOCK", block)
    rng = np.random.default_rng(0)
    pos, neg = (rng.integers(0, 5, shape).astype(dtype) for shape in (20, (20, 6)))
    if dtype.startswith("float"):
        pos[3], neg[5, 2], neg[5, 4], neg[6] = np.nan, np.nan, np.nan, np.inf
    for found, expected in zip(device_counts(torch.tensor(pos), torch.tensor(neg)), row_counts(pos, neg), strict=True):
        assert found.tolist() == expected.tolist()
    empty = device_counts(torch.empty(0), torch.empty((0, 3)))
    assert all(len(column) == 0 for column in empty)


def test_counts_do_not_narrow() -> None:
    """torch compares int64 with float32 in float32, where 2**24 + 1 is 2**24."""
    counts = device_counts(torch.tensor([2.0**24]), torch.tensor([[2**24 + 1, 2**24]]))
    assert (counts.greater.tolist(), counts.equal.tolist()) == ([1], [1])
    counts = device_counts(torch.tensor([1.0], dtype=torch.float64), torch.tensor([[1.0 + 1e-7]], dtype=torch.float32))
    assert counts.greater.tolist() == [1]


# Counts are copied row by row, or counted on the device: in a table of all pairs, or sorted.
PATHS = [{}, {"_FEW": -1}, {"_FEW": -1, "_TABLE": 0}]


@given(
    rows=st.integers(0, 40), width=st.integers(0, 6), levels=st.integers(1, 5), seed=st.integers(0, 99),
    path=st.sampled_from(PATHS),
)  # fmt: skip
def test_the_histogram_is_the_hosts(rows: int, width: int, levels: int, seed: int, path: dict[str, int]) -> None:
    rng = np.random.default_rng(seed)
    pos, neg = (rng.integers(0, levels, shape).astype(np.float32) for shape in (rows, (rows, width)))
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in path.items():
            patch.setattr(f"graphgauge.kernels.device.{name}", limit)
        found, expected = device_histogram(torch.tensor(pos), torch.tensor(neg)), joint_histogram(pos, neg)
    assert found is not None
    assert expected is not None
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("where", ["pos", "neg"])
def test_nan_has_no_histogram(where: str, path: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in path.items():
        monkeypatch.setattr(f"graphgauge.kernels.device.{name}", limit)
    scores = {"pos": torch.ones(3), "neg": torch.ones(3, 2)}
    scores[where].view(-1)[1] = torch.nan
    assert device_histogram(**scores) is None
