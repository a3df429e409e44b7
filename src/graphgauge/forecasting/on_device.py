"""Which forecasts are counted on a CUDA device, and the tensors that are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_cuda, is_tensor

_FLOATS = ("torch.float16", "torch.bfloat16", "torch.float32", "torch.float64")


def device_of(y_true: Any, forecasts: Iterable[Any]) -> Any:
    """The CUDA device of point and Gaussian forecasts that are counted there; None if they are counted on the host.

    All arrays of a forecast are there, as dense floats. Truths are floats, and may be on the host.
    """
    given = [each for each in forecasts if each is not None]
    if not given or not _dense(*given):
        return None
    floats = str(y_true.dtype) in _FLOATS if is_tensor(y_true) else as_numeric(y_true, "y_true").dtype.kind == "f"
    there = _dense(given[0], y_true) if is_cuda(y_true) else floats
    return given[0].device if there else None


def tensor_of(array: Any, name: str, device: Any) -> Any:
    """The array as a tensor on the device."""
    if is_cuda(array) and str(array.layout) == "torch.strided":
        return array.detach().to(device)
    import torch

    return torch.tensor(np.ascontiguousarray(as_numeric(array, name)), device=device)


def _dense(*arrays: Any) -> bool:
    """Whether all are dense floats on one CUDA device."""
    return (
        all(map(is_cuda, arrays))
        and len({each.device for each in arrays}) == 1
        and all(str(each.dtype) in _FLOATS and str(each.layout) == "torch.strided" for each in arrays)
    )
