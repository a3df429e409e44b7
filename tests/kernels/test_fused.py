"""The Triton kernels, tested against the host's counts: on a CUDA device, or else under Triton's interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphgauge.kernels.counting import masked_counts, ragged_counts, row_counts

pytestmark = pytest.mark.gpu

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64]


def fused_counts(pos: torch.Tensor, neg: torch.Tensor, *, wide: bool = False) -> list[list[int]]:
    from graphgauge.kernels.fused import count_rows

    counts = [torch.full((len(pos),), -1, dtype=torch.int32, device=DEVICE) for _ in range(3)]
    count_rows(pos.to(DEVICE), neg.to(DEVICE), counts, wide=wide)
    return [column.tolist() for column in counts]


def readable(*scores: torch.Tensor) -> list[np.ndarray]:
    return [(each.float() if each.dtype == torch.bfloat16 else each).numpy() for each in scores]  # exact in float32


def with_odd_numbers(dtype: torch.dtype, shape: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Few distinct scores, among them NaN, infinities, both zeros and a denormal."""
    generator = torch.Generator().manual_seed(sum(shape))
    pos, neg = (torch.randint(-4, 5, size, generator=generator).to(dtype) for size in ((shape[0],), shape))
    if dtype.is_floating_point:
        # Triton's interpreter reads a denormal bfloat16 as 0.
        small = torch.finfo(dtype).tiny / (1 if (DEVICE, dtype) == ("cpu", torch.bfloat16) else 2)
        odd = torch.tensor([torch.nan, torch.inf, -torch.inf, -0.0, small], dtype=dtype)
        neg.view(-1)[: len(odd)] = odd[: neg.numel()]
        pos[:3] = torch.tensor([torch.inf, 0.0, -torch.inf], dtype=dtype)[: len(pos)]
    return pos, neg


def host_counts(pos: torch.Tensor, neg: torch.Tensor) -> list[list[int]]:
    counts = row_counts(*readable(pos, neg))
    return [np.asarray(column).tolist() for column in (counts.greater, counts.equal, counts.missing)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (40, 3), (33, 100), (3, 1023), (3, 1024), (2, 1025), (2, 5000)])
def test_counts_are_the_hosts(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    pos, neg = with_odd_numbers(dtype, shape)
    assert fused_counts(pos, neg) == host_counts(pos, neg)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(40, 3), (33, 100), (2, 1025)])
def test_masked_counts_are_the_hosts(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    from graphgauge.kernels.fused import count_rows

    pos, neg = with_odd_numbers(dtype, shape)
    valid = torch.rand(shape[::-1], generator=torch.Generator().manual_seed(1)).T < 0.6  # other strides
    counts = [torch.full((len(pos),), -1, dtype=torch.int32, device=DEVICE) for _ in range(4)]
    count_rows(pos.to(DEVICE), neg.to(DEVICE), counts, wide=False, valid=valid.to(DEVICE))
    found = masked_counts(*readable(pos, neg), valid.numpy())
    expected = (found.greater, found.equal, found.missing, found.negatives)
    assert [column.tolist() for column in counts] == [np.asarray(column).tolist() for column in expected]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("lengths", [[0, 3, 900, 0, 17, 1], [5] * 70, [3000, 1, 2100]])
def test_ragged_counts_are_the_hosts(dtype: torch.dtype, lengths: list[int]) -> None:
    from graphgauge.kernels.fused import count_rows

    pos, neg = with_odd_numbers(dtype, (len(lengths), sum(lengths)))
    neg, offsets = neg[0].repeat_interleave(2)[::2], np.r_[0, np.cumsum(lengths)]  # not contiguous
    counts = [torch.full((len(pos),), -1, dtype=torch.int32, device=DEVICE) for _ in range(3)]
    count_rows(pos.to(DEVICE), neg.to(DEVICE), counts, wide=False, offsets=torch.tensor(offsets, device=DEVICE))
    found = ragged_counts(*readable(pos, neg), offsets)
    expected = (found.greater, found.equal, found.missing)
    assert [column.tolist() for column in counts] == [np.asarray(column).tolist() for column in expected]


def test_all_scores_may_be_tied_or_missing() -> None:
    ones = torch.ones(4, 1023)
    assert fused_counts(torch.ones(4), ones) == [[0] * 4, [1023] * 4, [0] * 4]
    assert fused_counts(torch.zeros(4), ones) == [[1023] * 4, [0] * 4, [0] * 4]
    assert fused_counts(torch.ones(4), ones * torch.nan) == [[0] * 4, [0] * 4, [1023] * 4]


def test_integers_beyond_the_floats_are_compared_exactly() -> None:
    assert fused_counts(torch.tensor([2**53]), torch.tensor([[2**53 + 1, 2**53, 2**53 - 1]])) == [[1], [1], [0]]


def test_different_types_are_compared_in_float64() -> None:
    pos, neg = torch.tensor([1.0], dtype=torch.float64), torch.tensor([[1.0, 1.0 + 1e-7]], dtype=torch.float32)
    assert fused_counts(pos, neg, wide=True) == [[1], [1], [0]]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("columns", [1, 20, 1023, 1024])
def test_whole_negatives_of_real_positives(dtype: torch.dtype, columns: int) -> None:
    from graphgauge.kernels.fused import count_rows

    generator = torch.Generator().manual_seed(columns)
    pos = torch.tensor([-torch.inf, -3e9, -0.5, 0.0, 1.0, torch.inf, torch.nan], dtype=torch.float64)
    neg = torch.randint(0, 2, (len(pos), columns), generator=generator).to(dtype)
    assert fused_counts(pos, neg, wide=True) == host_counts(pos, neg)
    valid = torch.rand(neg.shape, generator=generator) < 0.5
    counts = [torch.full((len(pos),), -1, dtype=torch.int32, device=DEVICE) for _ in range(4)]
    count_rows(pos.to(DEVICE), neg.to(DEVICE), counts, wide=True, valid=valid.to(DEVICE))
    found = masked_counts(pos.numpy(), neg.numpy(), valid.numpy())
    expected = (found.greater, found.equal, found.missing, found.negatives)
    assert [column.tolist() for column in counts] == [np.asarray(column).tolist() for column in expected]


@pytest.mark.parametrize("view", ["transposed", "every other column", "every other row", "reversed order of axes"])
def test_views_are_read_where_they_are(view: str) -> None:
    generator = torch.Generator().manual_seed(0)
    scores, pos = torch.rand(60, 60, generator=generator), torch.rand(120, generator=generator)
    neg = {
        "transposed": scores.T,
        "every other column": scores[:, ::2],
        "every other row": scores[::2],
        "reversed order of axes": scores.as_strided((60, 60), (1, 60)),
    }[view]
    positives = pos[::2][: len(neg)]
    assert fused_counts(positives, neg) == host_counts(positives, neg)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("columns", [1, 40, 1024, 2500])
def test_bands_are_those_without_triton(dtype: torch.dtype, columns: int) -> None:
    from graphgauge.kernels.device import Bands
    from graphgauge.kernels.fused import count_bands

    generator = torch.Generator().manual_seed(columns)
    scores = torch.randint(-3, 4, (5, columns), generator=generator).to(dtype)
    scores[0, 0], scores[1, -1] = torch.nan, -torch.inf
    rows = torch.tensor([0, 0, 1, 2, 4, 4, 4])
    low = torch.tensor([-1.0, 0, 1, 2, 9, -9, 0], dtype=dtype)
    bands = Bands(rows, 5, low, low + 1, dtype)
    expected = sorted(zip(*(each.tolist() for each in next(iter(bands.start(scores, 7)))), strict=True))
    moved = [each.to(DEVICE) for each in (scores, bands._offsets, bands.low, bands.high)]
    for room in (len(expected) + 3, 1):
        numbers = [torch.zeros(size, dtype=torch.int32, device=DEVICE) for size in (7, 7, 1, room, room)]
        above, inside, found, band, column = numbers
        count_bands(*moved, above, inside, (found, band, column), first=7, count=True)
        assert above.tolist() == bands.above.tolist()
        assert inside.tolist() == bands.inside.tolist()
        assert int(found) == len(expected)
    numbers = [torch.zeros(size, dtype=torch.int32, device=DEVICE) for size in (7, 7, 1, 9999, 9999)]
    above, inside, found, band, column = numbers
    count_bands(*moved, above, inside, (found, band, column), first=7, count=False)
    assert above.sum() == inside.sum() == 0
    assert sorted(zip(band[: int(found)].tolist(), column[: int(found)].tolist(), strict=True)) == expected


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("score", ["dot", "l1", "l2"])
def test_near_ties_are_decided_as_on_the_host(score: str, dtype: torch.dtype) -> None:
    from graphgauge.kernels.device import ordered_scores
    from graphgauge.kernels.fused import compare_again

    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(size, 24, generator=generator).to(dtype) for size in (6, 50))
    right[25:] = right[:25]
    band, column = torch.randint(0, 9, (300,), generator=generator), torch.randint(0, 50, (300,), generator=generator)
    rows = torch.randint(0, 6, (9,), generator=generator).sort().values
    own = ordered_scores(left[rows], right[torch.arange(9)], score)
    again = ordered_scores(left[rows[band]], right[column], score)
    greater, equal = (torch.zeros(9, dtype=torch.int32, device=DEVICE) for _ in range(2))
    numbers = [each.to(DEVICE) for each in (rows.int(), band.int(), column.int(), own)]
    compare_again(left.to(DEVICE), right.to(DEVICE), score, *numbers, greater, equal)
    assert greater.tolist() == torch.bincount(band[again > own[band]], minlength=9).tolist()
    assert equal.tolist() == torch.bincount(band[again == own[band]], minlength=9).tolist()
    assert equal.sum() > 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("sizes", "shares"), [([1], 1.0), ([3, 0, 70, 200, 1], 0.3), ([500, 90], 0.9), ([40] * 60, 0.1)]
)
def test_places_are_those_without_triton(
    dtype: torch.dtype, sizes: list[int], shares: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphgauge.kernels import fused
    from graphgauge.kernels.device_lists import list_places, looked_up, marked

    generator = torch.Generator().manual_seed(len(sizes))
    size = torch.tensor(sizes)
    begin, rows = size.cumsum(0) - size, int(size.sum())
    scores = torch.randint(-9, 10, (2 * rows,), generator=generator).to(dtype)[::2]  # not contiguous
    if dtype.is_floating_point:
        scores[: min(rows, 3)] = torch.tensor([torch.inf, -torch.inf, -0.0], dtype=dtype)[:rows]
    positive = marked(torch.rand(rows, generator=generator) <= shares)
    first = torch.searchsorted(positive, torch.cat([begin, torch.tensor([rows])]))
    expected = [each.tolist() for each in list_places(scores, positive, begin, size, first)]
    moved = [each.to(DEVICE) for each in (scores, positive, begin, size, first)]
    for programs in (1, 2048):  # one for each query, or several
        monkeypatch.setattr(fused, "_PROGRAMS", programs)
        levels = moved[0][moved[1]]
        found = looked_up(fused, moved[0], levels, *moved[2:], relevant=int(first.diff().max()), longest=max(sizes))
        assert [each.tolist() for each in found] == expected


def test_scores_of_a_function_are_looked_up_among_right_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphgauge.kernels import device, fused
    from graphgauge.ranking import device_entities

    rng = np.random.default_rng(4)
    scores = torch.tensor(rng.integers(0, 6, (7, 90)).astype(np.float32), device=DEVICE)
    scores[3, 5], scores[2, :80] = -torch.inf, torch.nan  # NaN: entities that take no part
    row = np.repeat(np.arange(7), [0, 1, 5, 30, 2, 0, 64])
    own = scores[torch.as_tensor(row), torch.as_tensor(rng.integers(80, 90, len(row)))].cpu().numpy()
    given = object.__new__(device_entities.DeviceScores)
    given._torch, given._scores = torch, scores
    found = {}
    for name, kernels in (("bands", None), ("looked up", fused)):
        monkeypatch.setattr(device_entities, "fused", lambda kernels=kernels: kernels)
        monkeypatch.setattr(device, "fused", lambda kernels=kernels: kernels)
        with monkeypatch.context() as patch:
            patch.setattr(torch.Tensor, "is_cuda", kernels is not None)
            found[name] = [each.tolist() for each in given.counts(row, own)]
    assert found["looked up"] == found["bands"]


@pytest.mark.parametrize("precision", ["bf16", "tf32"])
@pytest.mark.parametrize("score", ["dot", "l2"])
def test_counted_products_are_those_of_float64(score: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphgauge.kernels import fused_products
    from graphgauge.kernels.device import ordered_scores
    from graphgauge.ranking.device_entities import OnDevice

    if DEVICE == "cpu":  # Triton's interpreter does not multiply bfloat16: the same numbers as float32
        monkeypatch.setitem(fused_products._STORED, "bf16", torch.float32)
    monkeypatch.setattr(fused_products, "_BYTES", 1 << 17)  # entities in several parts, the last of them short
    generator = torch.Generator().manual_seed(3)
    left = torch.randn(140, 21, generator=generator)
    right = torch.randn(600, 21, generator=generator).round(decimals=1)
    right[300:340] = right[:40]  # ties
    right[400:440] = right[:40] * (1 + 2.0**-22)  # near ties
    rows = torch.arange(150) % 140
    rows = rows.sort().values
    targets = torch.randint(0, 600, (150,), generator=generator)
    scores = torch.stack([ordered_scores(row.expand(600, -1), right, score) for row in left])
    own = scores[rows, targets]
    wanted = (scores[rows] > own[:, None]).sum(1), (scores[rows] == own[:, None]).sum(1)
    scorer = OnDevice(left, right, score, precision)
    bound, shift = scorer._split_bounds(scorer._norm)[rows], scorer._norm[rows] ** 2 if score == "l2" else 0.0
    low, high = ((own + shift + side * bound).float() for side in (-1.0001, 1.0001))
    given = (each.to(DEVICE) for each in (left, rows.int(), own, low, high))
    greater, equal = (torch.zeros(150, dtype=torch.int32, device=DEVICE) for _ in range(2))
    squares = None if scorer._squares is None else scorer._squares.to(DEVICE)
    fused_products.count_products(
        fused_products.Banded(*given), right.to(DEVICE), squares, score, precision, greater, equal
    )
    assert greater.tolist() == wanted[0].tolist()
    assert equal.tolist() == wanted[1].tolist()
