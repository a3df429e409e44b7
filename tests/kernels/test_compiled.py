"""The Triton kernels are compiled for the GPUs that people have, without one: the compiler may refuse what the
interpreter accepts. Arguments are those that the functions around the kernels would give for these shapes and types.

They run in `make gpu` without Triton's interpreter, which would take the place of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from graphgauge.kernels.device_lists import looked_up

pytestmark = pytest.mark.gpu

# Capabilities; one of them in `make test`, all in `make gpu`.
GPUS = {"A100": 80, "H200": 90, "B200": 100}
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


def counts() -> None:
    from graphgauge.kernels import fused

    for dtype in (*FLOATS, torch.int64):
        for columns in (100, 101, 1000, 5000):
            whole = [numbers(64, dtype=torch.int32) for _ in range(3)]
            fused.count_rows(numbers(64, dtype=dtype), numbers(64, columns, dtype=dtype), whole, wide=False)
    fused.count_rows(numbers(9), numbers(9, 7, dtype=torch.int32), whole, wide=True)


def masked_and_ragged_counts() -> None:
    from graphgauge.kernels import fused

    whole = [numbers(64, dtype=torch.int32) for _ in range(4)]
    for columns in (100, 5000):
        valid, offsets = numbers(9, columns, dtype=torch.bool), torch.arange(10)
        fused.count_rows(numbers(9), numbers(9, columns), whole, wide=False, valid=valid)
        fused.count_rows(numbers(9), numbers(9 * columns), whole, wide=False, offsets=offsets)


def bands() -> None:
    from graphgauge.kernels import fused

    found = [numbers(9, dtype=torch.int32) for _ in range(3)]
    for places in (None, tuple(found)):
        fused.count_bands(numbers(4, 5000), found[0], numbers(9), numbers(9), *found[1:], places, first=0, count=True)
    for score in ("dot", "l1", "l2"):
        fused.compare_again(numbers(4, 16), numbers(9, 16), score, *found, numbers(9, dtype=torch.float64), *found[:2])


def pools() -> None:
    from graphgauge.kernels import fused

    for dtype in (torch.float32, torch.float64):
        fused.distribute(numbers(5000, dtype=dtype), numbers(3, dtype=dtype))


def lists() -> None:
    from graphgauge.kernels import fused

    for dtype in (*FLOATS, torch.int64):
        begin, first = torch.tensor([0]), torch.tensor([0, 1])
        looked_up(fused, numbers(500, dtype=dtype), numbers(1, dtype=dtype), begin, begin + 500, first, 50, 9000)


def products() -> None:
    from graphgauge.kernels import fused_products

    left, right, whole = numbers(300, 128), numbers(1000, 128), numbers(300, dtype=torch.int32)
    for score, squares in (("dot", None), ("l2", numbers(1000))):
        for precision in ("bf16", "tf32"):
            banded = fused_products.Banded(left, whole, numbers(300, dtype=torch.float64), numbers(300), numbers(300))
            fused_products.count_products(banded, right, squares, score, precision, whole, whole)


WORK: dict[str, Callable[[], None]] = {
    "counts": counts,
    "masked and ragged counts": masked_and_ragged_counts,
    "bands": bands,
    "pools": pools,
    "lists": lists,
    "products": products,
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("gpu", [pytest.param(gpu, marks=[pytest.mark.slow] * (gpu != "H200")) for gpu in GPUS])
def test_kernels_compile(gpu: str, work: str) -> None:
    from tests.kernels.compiling import compiling

    with compiling(GPUS[gpu]) as found:
        WORK[work]()
    assert found
    assert max(kernel.registers for kernel in found) <= 255


def test_the_usual_kernels_keep_everything_in_registers() -> None:
    from tests.kernels.compiling import compiling

    with compiling(GPUS["H200"]) as found:
        counts()
        lists()
    assert {kernel.name: kernel.spilled for kernel in found if kernel.spilled} == {}


def test_scores_are_read_four_at_a_time() -> None:
    from tests.kernels.compiling import compiling

    from graphgauge.kernels import fused

    whole: list[Any] = [numbers(64, dtype=torch.int32) for _ in range(3)]
    with compiling(GPUS["H200"]) as found:
        fused.count_rows(numbers(64), numbers(64, 100), whole, wide=False)
    assert any("LDG.E.128" in line for line in found[0].instructions)
