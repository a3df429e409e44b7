"""Point and Gaussian forecasts on a CUDA device, by plain operations of torch: only sums come to the host."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import Floats, Ints
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.sample import Sample

Totals = tuple[Floats, Floats, Floats]


def of_one_type(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Contiguous tensors on the device of the truth, of float32 if all are floats of at most 32 bits."""
    torch = need("torch", "a tensor")
    where = arrays["y_true"].device
    tensors = {name: torch.as_tensor(array, device=where).detach() for name, array in arrays.items()}
    for name, tensor in tensors.items():
        if tensor.is_complex():
            raise InputError("has complex numbers", where=name)
    narrow = all(tensor.is_floating_point() and tensor.element_size() <= 4 for tensor in tensors.values())
    kind = torch.float32 if narrow else torch.float64
    return {name: tensor.to(kind).contiguous() for name, tensor in tensors.items()}


def kernel(sample: Sample, design: Design, shape: tuple[int, ...], place: Ints) -> tuple[Totals, Totals]:
    """The sums of `_core.error_sums`, (block, quantity, group): high parts, low parts and counts."""
    torch = need("torch", "a tensor")

    def part(array: Any) -> Any:
        return None if array is None else array.reshape(shape)

    def of(array: Any) -> Any:
        return torch.where(seen, part(array), 0).to(torch.float64)

    seen = torch.ones(shape, dtype=torch.bool, device=sample.y.device) if sample.mask is None else part(sample.mask)
    y = of(sample.y)
    f = y if sample.mean is None else of(sample.mean)
    e = f - y
    away, size = e.abs(), y.abs()
    columns = {"abs": away, "square": e * e, "error": e, "y": y, "y2": y * y, "abs_y": size}
    both = size + f.abs()
    columns |= {"ape": torch.where(y != 0, away / size, 0), "sape": torch.where(both > 0, 2 * away / both, 0)}
    counts = [seen, (y != 0) if "ape" in design.terms else torch.zeros_like(seen)]
    if sample.std is None:
        counts.append(torch.zeros_like(seen))
    else:
        given = part(sample.std).to(torch.float64)
        std = torch.where(seen, given, 1.0)
        counts.append(seen & ~((given > 0) & (given < math.inf)))
        z = e / std
        density, share = torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi), torch.erf(z / math.sqrt(2))
        columns |= {
            "std": torch.where(seen, std, 0),
            "var": torch.where(seen, std * std, 0),
            "nll": torch.where(seen, torch.log(std) + 0.5 * z * z + 0.5 * math.log(2 * math.pi), 0),
            "crps": torch.where(seen, std * (z * share + 2 * density - 1 / math.sqrt(math.pi)), 0),
        }
        for level, width in design.half_widths.items():
            columns[f"over_{level:g}"] = torch.where(seen, (away - width * std).clamp(min=0), 0)
            counts.append(seen & (away <= width * std))
    names = [term for term in design.terms if term != "over"]
    if "over" in design.terms:
        names += [f"over_{level:g}" for level in design.half_widths]
    sums = torch.stack([columns[name] for name in names])
    known = torch.stack(counts).to(torch.float64)
    return _by_group(sums, known, place, by_node=False), _by_group(sums, known, place, by_node=True)


def _by_group(sums: Any, counts: Any, place: Ints, *, by_node: bool) -> Totals:
    """Sums over (quantity, block, step, horizon, node), of blocks of one place as one by node."""
    high, whole = (each.sum(dim=(2, 3) if by_node else (2, 4)).movedim(0, 1).cpu().numpy() for each in (sums, counts))
    if by_node:
        places = int(place[-1]) + 1 if len(place) else 0
        summed = []
        for table in (high, whole):
            total = np.zeros((places, *table.shape[1:]))
            np.add.at(total, place, table)
            summed.append(total)
        high, whole = summed
    return high, np.zeros(high.shape), whole
