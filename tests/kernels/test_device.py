"""What runs on CUDA tensors, tested against the host's counts; on host tensors, so that it is tried everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.core.errors import InputError
from graphgauge.kernels.counting import joint_histogram, masked_counts, ragged_counts, row_counts
from graphgauge.kernels.device import DeviceCells, Missing, copied_cells, device_counts, device_histogram


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
def test_masked_and_ragged_counts_are_the_hosts(
    rows: int, width: int, levels: int, seed: int, block: int, dtypes: tuple[str, str]
) -> None:
    rng = np.random.default_rng(seed)
    pos = rng.integers(0, levels, rows).astype(dtypes[0])
    neg = rng.integers(0, levels, (rows, width)).astype(dtypes[1])
    offsets = np.r_[0, np.cumsum(rng.integers(0, 2 * width + 1, rows))]
    values = rng.integers(0, levels, offsets[-1]).astype(dtypes[1])
    for scores in (pos, neg, values):
        if scores.dtype.kind == "f":
            scores[rng.random(scores.shape) < 0.1] = np.nan
    valid = rng.random(neg.shape) < 0.6
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("_BLOCK", "_FLAT"):
            patch.setattr(f"graphgauge.kernels.device.{limit}", block)
        reference = torch.tensor(pos)
        found = [
            device_counts(reference, torch.tensor(neg), valid=valid),
            device_counts(reference, torch.tensor(neg), valid=torch.tensor(valid)),
            device_counts(reference, torch.tensor(values), offsets=offsets),
        ]
    masked = masked_counts(pos, neg, valid)
    for mine, theirs in zip(found, (masked, masked, ragged_counts(pos, values, offsets)), strict=True):
        for column, expected in zip(mine, theirs, strict=True):
            assert column.dtype == expected.dtype
            assert column.tolist() == expected.tolist()


@pytest.mark.parametrize("block", [1, 2, 1 << 20])
def test_what_is_missing_is_found(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.kernels.device._BLOCK", block)
    pos, neg = torch.ones(4), torch.ones(4, 5)
    pos[1] = neg[2, 3] = neg[2, 4] = neg[3, 0] = torch.nan
    complete = DeviceCells(torch.ones(2), torch.zeros(2, 3))
    missing, cells = copied_cells([DeviceCells(pos, neg), complete])
    assert missing == Missing(positives=1, negatives=3, first_positive=1, row=2, column=3)
    assert [column.tolist() for column in cells] == [[0], [0], [2]]


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


# Counts are copied row by row, or counted on the device: in a table of all pairs, or sorted.
PATHS = [{}, {"_FEW": -1}, {"_FEW": -1, "_TABLE": 0}]


@given(
    rows=st.integers(0, 40),
    width=st.integers(0, 6),
    levels=st.integers(1, 5),
    seed=st.integers(0, 99),
    path=st.sampled_from(PATHS),
)
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
