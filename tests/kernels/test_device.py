"""What runs on CUDA tensors, tested against the host's counts; on host tensors, so that it is tried everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.core.errors import InputError
from graphgauge.kernels.bands import threshold_counts
from graphgauge.kernels.counting import masked_counts, row_counts
from graphgauge.kernels.device import device_counts
from graphgauge.kernels.device import threshold_counts as device_threshold_counts


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


@given(
    rows=st.integers(0, 12),
    width=st.integers(0, 9),
    levels=st.integers(1, 4),
    seed=st.integers(0, 99),
    block=st.sampled_from([1, 3, 7, 1 << 20]),
    dtypes=st.tuples(*[st.sampled_from(["f2", "f4", "f8", "i2", "i8"])] * 2),
)
def test_masked_counts_are_the_hosts(
    rows: int, width: int, levels: int, seed: int, block: int, dtypes: tuple[str, str]
) -> None:
    rng = np.random.default_rng(seed)
    pos = rng.integers(0, levels, rows).astype(dtypes[0])
    neg = rng.integers(0, levels, (rows, width)).astype(dtypes[1])
    for scores in (pos, neg):
        if scores.dtype.kind == "f":
            scores[rng.random(scores.shape) < 0.1] = np.nan
    valid = rng.random(neg.shape) < 0.6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphgauge.kernels.device._BLOCK", block)
        reference = torch.tensor(pos)
        found = [
            device_counts(reference, torch.tensor(neg), valid=valid),
            device_counts(reference, torch.tensor(neg), valid=torch.tensor(valid)),
        ]
    for mine in found:
        for column, expected in zip(mine, masked_counts(pos, neg, valid), strict=True):
            assert column.dtype == expected.dtype
            assert column.tolist() == expected.tolist()


def test_whole_numbers_compare_exactly() -> None:
    large = torch.tensor([2**60 + 1])
    for pos, neg in ((large, large[None]), (large.int(), large[None]), (large, large.int()[None])):
        expected = row_counts(pos.numpy(), neg.numpy())
        assert [each.tolist() for each in device_counts(pos, neg)] == [each.tolist() for each in expected]
    for pos, neg in ((large, large.float()[None]), (large.half(), large[None])):
        with pytest.raises(InputError, match="does not compare exactly with floats"):
            device_counts(pos, neg)


def test_counts_do_not_narrow() -> None:
    """torch compares int64 with float32 in float32, where 2**24 + 1 is 2**24."""
    counts = device_counts(torch.tensor([2.0**24]), torch.tensor([[2**24 + 1, 2**24]]))
    assert (counts.greater.tolist(), counts.equal.tolist()) == ([1], [1])
    counts = device_counts(torch.tensor([1.0], dtype=torch.float64), torch.tensor([[1.0 + 1e-7]], dtype=torch.float32))
    assert counts.greater.tolist() == [1]


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_counts_around_thresholds_are_the_hosts(block: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.kernels.device._BLOCK", block)
    rng = np.random.default_rng(0)
    scores, rows = rng.integers(0, 5, (12, 9)).astype(dtype), np.sort(rng.integers(0, 12, 30))
    scores[rng.random(scores.shape) < 0.1] = np.nan
    thresholds = rng.integers(0, 5, 30).astype(dtype)
    found = device_threshold_counts(torch.tensor(scores), torch.tensor(rows), torch.tensor(thresholds))
    for mine, theirs in zip(found, threshold_counts(scores, rows, thresholds), strict=True):
        assert mine.tolist() == theirs.tolist()
